"""The inverse of an index map: coordinates of offsets, and padding."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given

import morello_layouts as ml
from tests.support.tables import each_row
from tests.support.xla_strategies import small_arrays

NAMED = [
    ("[1, 0, 1 p(4)]", (6, 8)),
    ("[0, 0 oe(16)]", (64,)),
    ("[0, 1, 2, 3, 1 p(16)]", (2, 32, 3, 5)),
    ("f32[3,5]{1,0:T(2,2)}", None),
    ("f32[3,5]{1,0:T(2,2)L(32)}", None),
    ("bf16[10,200]{1,0:T(8,128)(2,1)}", None),
    ("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", None),
    ("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", None),
    ("f32[20,30]{0,1:T(8,12)(3,5)(2,7)}", None),
    ("f32[]{:T(128)}", None),
    ("f32[7]{0}", None),
]


def check(m: ml.IndexMap) -> None:
    """Hold the inverse, at every offset, against the array of the recipe."""
    slots = ml.pack(m, np.arange(np.prod(m.shape, dtype=int)).reshape(m.shape), fill=-1)
    p = np.arange(m.size)
    padding = np.zeros(m.size, bool)
    for form, n in m.inverse.limits:
        padding |= form.evaluate({"p": p}) >= n
    assert (padding == (slots < 0)).all()
    at = [np.broadcast_to(f.evaluate({"p": p}), p.shape)[~padding] for f in m.inverse.forms]
    if at:
        assert (np.ravel_multi_index(at, m.shape) == slots[~padding]).all()
        assert np.array_equal(m.inverse(p[~padding]), at[0] if len(at) == 1 else at)


@each_row(("layout", "shape"), NAMED)
def test_at_every_offset(layout: str, shape: tuple[int, ...] | None) -> None:
    check(ml.index_map(layout, shape))


@given(small_arrays())
def test_of_random_layouts(array: ml.XlaShape) -> None:
    m = ml.index_map(array)
    if m.size and 0 not in m.shape:
        check(m)


def test_as_sympy() -> None:
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    p = sympy.Symbol("p", integer=True, nonnegative=True)
    found = [tuple(int(e.subs(p, k)) for e in m.inverse.exprs) for k in range(m.size)]
    for k, at in enumerate(found):
        assert m.coordinates(k) == (None if m.inverse.padding.subs(p, k) else at)
    assert m.coordinates(17) == found[17] == (2, 3)


def test_it_is_a_map_of_offsets() -> None:
    inverse = ml.index_map("f32[M,N]{1,0:T(2,2)}").inverse
    p, x = inverse.symbols[0], sympy.Symbol("x", integer=True)
    assert inverse.exprs == inverse(p) == inverse.subs()
    assert inverse.subs(p=x)[1] == inverse.exprs[1].subs(p, x)
    assert [str(n) for n in inverse.shape] == ["4*ceiling(M/2)*ceiling(N/2)"]
    with pytest.raises(ml.ShapeError, match="expected 0 to 23, got 24"):
        ml.index_map("f32[3,5]{1,0:T(2,2)}").inverse(24)


def test_without_padding_the_condition_is_false() -> None:
    assert ml.index_map("[1, 0, 1 p(4)]", (6, 8)).inverse.padding is sympy.false


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("f32[4,8]{1,0}", "p -> (p//8, p%8)"),
        (
            "f32[3,5]{1,0:T(2,2)}",
            "p -> (2*(p//12) + (p//2)%2, 2*((p//4)%3) + p%2), padding where d0 >= 3 or d1 >= 5",
        ),
        (
            "f32[M,N]{1,0:T(1,128)}",
            "p -> (p//(128*ceil(N/128)), p%(128*ceil(N/128))), padding where d1 >= N",
        ),
        ("f32[3]{0:T(2)L(8)}", "p -> p, padding where d0 >= 3"),
    ],
)
def test_as_text(layout: str, text: str) -> None:
    inverse = ml.index_map(layout).inverse
    assert str(inverse) == text
    assert repr(inverse) == f"<Inverse of {layout}: {text}>"


def test_slots_of_an_array_without_elements_are_padding() -> None:
    m = ml.index_map("lambda i, j, k: 2*i + j + 4*k", (3, 0, 8))
    assert (m.size, m.coordinates(0)) == (32, None)
    assert [x.tolist() for x in m.coordinates(np.arange(2))] == [[-1, -1]] * 3
