"""``linear_index`` and ``linear_index_with_tile`` as XLA's document states them."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from hypothesis import given, strategies as st

import morello_layouts as ml

E, D, T = (sympy.symbols(f"{x}2 {x}1", integer=True, positive=True) for x in "edt")


def test_the_examples_of_the_document() -> None:
    assert ml.xla.tile_index((2, 3), (3, 5), (2, 2)) == (1, 1)
    assert ml.xla.within_tile_index((2, 3), (3, 5), (2, 2)) == (0, 1)
    assert ml.xla.linear_index((1, 1, 0, 1), (2, 3, 2, 2)) == 17
    assert ml.xla.linear_index((1, 1), (2, 3)) * 4 + ml.xla.linear_index((0, 1), (2, 2)) == 17
    assert ml.xla.linear_index_with_tile((2, 3), (3, 5), (2, 2)) == 17
    assert ml.xla.linear_index_with_tile((3, 1, 0, 1), (4, 2, 2, 4), (2, 1, 1, 1)) == 51
    assert ml.xla.linear_index((1, 1, 0, 1, 1, 0, 0, 0), (2, 2, 2, 4, 2, 1, 1, 1)) == 51


def test_the_formulas_of_the_document() -> None:
    e, d = sympy.symbols("e3 e2 e1"), sympy.symbols("d3 d2 d1")
    assert ml.xla.linear_index(e, d) == e[0] * d[1] * d[2] + e[1] * d[2] + e[2]
    floors = tuple(sympy.floor(x / t) for x, t in zip(E, T, strict=True))
    rests = tuple(sympy.Mod(x, t) for x, t in zip(E, T, strict=True))
    assert ml.xla.tile_index(E, D, T) == floors
    assert ml.xla.within_tile_index(E, D, T) == rests
    tiles = [sympy.ceiling(n / t) for n, t in zip(D, T, strict=True)]
    last = ml.xla.linear_index(floors, tiles) * T[0] * T[1] + ml.xla.linear_index(rests, T)
    assert sympy.expand(ml.xla.linear_index_with_tile(E, D, T) - last) == 0


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    d = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    rank = draw(st.integers(1, len(d)))
    t = [draw(st.sampled_from([-1, 1, 2, 3, 4])) for _ in range(rank - 1)]
    return d, (*t, draw(st.integers(1, 4)))


@given(cases())
def test_every_element_is_where_the_layout_puts_it(case: Any) -> None:
    d, t = case
    order = ",".join(str(k) for k in reversed(range(len(d))))
    tile = ",".join("∗" if n == -1 else str(n) for n in t)
    m = ml.index_map(f"F32[{','.join(map(str, d))}]{{{order}:T({tile})}}")
    e = np.indices(d)
    offsets = ml.xla.linear_index_with_tile([*e], d, t)
    assert np.array_equal(offsets, m(*e))
    last = tuple(n - 1 for n in d)
    assert ml.xla.linear_index_with_tile(last, d, t) == m(*last)
    tile_at, within = ml.xla.tile_index(last, d, t), ml.xla.within_tile_index(last, d, t)
    assert (*tile_at, *within) == m.physical_coordinates(*last)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=2, max_size=2), st.data())
def test_symbols_hold_for_every_value(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    d, t = ([row[k] for row in rows] for k in (0, 1))
    e = [data.draw(st.integers(0, n - 1)) for n in d]
    values = dict(zip((*E, *D, *T), (*e, *d, *t), strict=True))
    formula = ml.xla.linear_index_with_tile(E, D, T)
    assert formula.subs(values) == ml.xla.linear_index_with_tile(e, d, t)
    mixed = ml.xla.linear_index_with_tile(E, d, t)
    assert mixed.subs(values) == formula.subs(values)


def test_arrays_of_any_integers() -> None:
    assert ml.xla.linear_index_with_tile([np.uint8([200])], [256], [8]) == [200]
    far = ml.xla.linear_index_with_tile([np.array([2**40]), 1], [2**41, 2**40], [8, 128])
    assert far.tolist() == [2**80 + 1]
    assert ml.xla.linear_index((), ()) == 0
    assert ml.xla.linear_index([np.int64(1), True + 0], [3, 5]) == 6


def test_the_documents_way_to_write_shapes() -> None:
    assert str(ml.parse("F32[3,5]{1,0:T(2,2)}")) == "f32[3,5]{1,0:T(2,2)}"
    assert str(ml.parse("BF16[32,256]{1,0}")) == "bf16[32,256]{1,0}"
    shape = "F32[2,7,8,11,10]{4,3,2,1,0:T(∗,∗,2,∗,3)}"
    assert str(ml.parse(shape)) == "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"
