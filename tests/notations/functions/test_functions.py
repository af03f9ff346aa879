"""Python functions of coordinates as layouts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

import morello_layouts as ml
from tests.support.tables import each_row

WRITTEN: list[tuple[str, Callable[..., Any], tuple[int, ...]]] = [
    ("row-major", lambda i, j: 8 * i + j, (4, 8)),
    ("pitch", lambda i, j: 16 * i + j, (4, 8)),
    ("tiles", lambda i, j: (i // 8, j // 128, i % 8, j % 128), (10, 200)),
    ("one coordinate", lambda i: (i,), (5,)),
    ("a list", lambda i, j: [j, i], (3, 4)),
    ("shifts and masks", lambda i, j: (i >> 1 << 4) + ((i & 1) << 3) + (7 & j), (4, 8)),
    ("divmod", lambda i: divmod(i, 4), (10,)),
    ("a default", lambda i, j, t=4: (i // t, j, i % t), (8, 3)),
    ("a constant", lambda: 0, ()),
    ("reversed", lambda i: 5 - i, (6,)),
    ("from the right", lambda i: 16 - 2 * (+i) + -1, (4,)),
    ("NumPy's integers", lambda i, j: np.int64(8) * i + j * np.int32(1), (4, 8)),
    ("a part of another", partial(lambda t, i: t * i, 4), (3,)),
    ("remainders of numbers", lambda i: 7 % 4 * i, (3,)),
]


@each_row(("function", "shape"), [row[1:] for row in WRITTEN], ids=[row[0] for row in WRITTEN])
def test_functions_say_what_python_computes(
    function: Callable[..., Any], shape: tuple[int, ...]
) -> None:
    m = ml.index_map(function, shape)
    found = [function(*at) for at in product(*map(range, shape))]
    if not isinstance(found[0], int | np.integer):
        box = [1 + max(places) for places in zip(*found, strict=True)]
        found = [int(np.ravel_multi_index(place, box)) for place in found]
    assert [m(*at) for at in product(*map(range, shape))] == found
    assert m.size >= max(found) + 1
    assert ml.verify(m).holds


@given(st.lists(st.integers(0, 12), min_size=2, max_size=2), st.integers(1, 4), st.integers(0, 9))
def test_random_formulas(strides: list[int], unit: int, start: int) -> None:
    def offset(i: Any, j: Any) -> Any:
        return start + strides[0] * (i // unit) + i % unit + strides[1] * j

    m = ml.index_map(offset, (5, 3))
    expected = [offset(*at) for at in np.ndindex(5, 3)]
    assert [m(*at) for at in np.ndindex(5, 3)] == expected
    assert m.size == max(expected) + 1
    assert ml.is_injective(m).holds == (len({*expected}) == len(expected))


def test_a_function_is_called_once() -> None:
    calls = []

    def tiled(i: Any, j: Any) -> Any:
        calls.append((i, j))
        return i // 2, j, i % 2

    m = ml.index_map(tiled, (4, 3))
    assert len(calls) == 1
    assert ml.verify(m).holds
    assert len(calls) == 1


def test_wherever_a_layout_is_taken() -> None:
    def rows(i: Any, j: Any) -> Any:
        return 8 * i + j

    assert ml.are_equivalent(rows, "[0, 1]", (4, 8)).holds
    assert ml.are_equivalent(rows, "f32[4,8]").holds
    assert ml.is_bitcast(rows, "[0, 1]", (4, 8)).kind == "same"
    assert ml.code(rows, "c", shape=(4, 8)) == "8 * i + j"
    assert ml.pack(lambda i, j: (j, i), [[1, 2], [3, 4]]).tolist() == [1, 3, 2, 4]
    assert ml.unpack(lambda i: 3 - i, [1, 2, 3, 4], (4,)).tolist() == [4, 3, 2, 1]
    assert str(ml.relayout(rows, "[1, 0]", (4, 8))) == "p -> 8*(p%4) + p//4"
    assert ml.draw(rows, (4, 8)).svg().startswith("<svg")
    assert str(ml.convert(rows, "morello", (4, 8))) == "[0, 1]"
    report = ml.explain(rows, (4, 8)).arrays[0]
    assert report.description.kind == "Python function"
    assert report.description.source == "lambda i, j: 8*i + j"
    assert ml.explain(rows).arrays[0].index is None


def test_symbolic_sizes() -> None:
    n = sympy.Symbol("N", integer=True, positive=True)
    m = ml.index_map(lambda i, j: n * i + j, ("M", n))
    assert ml.verify(m).holds
    assert ml.is_bijective(m).holds
    assert ml.is_bijective(lambda i, j: (i // 8, j, i % 8), ("M", "N")).condition is not None
    assert (
        ml.index_map(lambda i, j: (i // 8, j, i % 8), ("M", "N"), assuming="M % 8 == 0").padding
        == 0
    )


def test_empty_arrays() -> None:
    assert ml.index_map(lambda i, j: 8 * i + j, (3, 0)).size == 0
    assert ml.index_map(lambda i, j: (j // 4, i, j % 4), (0, 3)).size == 0


# Others are in tests/data/recorded/notations/functions.txt.
ERRORS: list[tuple[str, Callable[..., Any], str]] = [
    ("calls NumPy", lambda i: np.floor(i + 1), "TypeError"),
    ("fails", lambda i: 1 // 0 + i, "ZeroDivisionError"),
    ("a dictionary", lambda i: {i: 1}[i], "unhashable"),
]


@each_row(("function", "what"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_what_python_refuses(function: Callable[..., Any], what: str) -> None:
    with pytest.raises(ml.LayoutError, match=what) as caught:
        ml.index_map(function, (4, 8))
    assert caught.value.why
    assert caught.value.fix


def metadata(m: Any) -> Callable[[Any, Any], Any]:
    """The order of 2:4 metadata of CUTLASS as tilelang had it (tilelang#2606), of m rows."""

    def at(i: Any, j: Any) -> Any:
        i = i // 32 * 32 + (i % 8) * 4 + (i % 32) // 8
        topright = (1 - (i % 2)) & (j % 2)
        bottomleft = (i % 2) & (1 - (j % 2))
        i = i + topright - bottomleft
        j = j - (topright - bottomleft)
        return (j // 2) * m * 2 + i * 2 + (j % 2)

    return at


@pytest.mark.parametrize("shape", [(64, 8), (48, 8), (32, 7), (40, 5)])
def test_a_formula_that_is_recovered_first_has_all_offsets(shape: tuple[int, int]) -> None:
    """Its smallest offset is not found from the formula, so that it has no recipe."""
    function = metadata(shape[0])
    table = function(*np.indices(shape))
    m = ml.index_map(function, shape)
    assert np.array_equal(m(*np.indices(shape)), table)
    assert m.size == table.max() + 1
    assert ml.is_bijective(function, shape).holds == (
        sorted(table.reshape(-1)) == [*range(table.max() + 1)]
    )
    assert ml.verify(function, shape).holds
    assert ml.draw(function, shape).panels


def test_what_is_recovered_is_proved_for_all_sizes() -> None:
    rows = sympy.Symbol("M", integer=True, positive=True)
    function = metadata(rows)
    answer = ml.is_bijective(function, ("M", "K"), assuming="M % 32 == 0")
    assert str(answer.condition) == "2 | K"
    assert ml.is_bijective(metadata(64), (64, "K")).condition is not None
    with pytest.raises(ml.LayoutError, match=r"equivalent iff 32 \| M, or K <= 2"):
        ml.is_bijective(function, ("M", "K"))


def swapped(m: Any) -> Callable[[Any, Any], Any]:
    """Blocks of 2x2, transposed by exclusive ors, of m rows."""

    def at(i: Any, j: Any) -> Any:
        turn = (i & 1) ^ (j & 1)
        return (j ^ turn) // 2 * 2 * m + 2 * (i ^ turn) + (j ^ turn) % 2

    return at


def test_exclusive_ors_do_not_hide_the_end_of_the_buffer() -> None:
    """The bounds of 0..5 ^ 0..1 are 0..7: a formula of it alone would have a longer buffer."""
    for shape in ((6, 6), (5, 6), (5, 5)):
        function = swapped(shape[0])
        offsets = function(*np.indices(shape))
        assert ml.index_map(function, shape).size == offsets.max() + 1
        assert ml.is_surjective(function, shape).holds == (
            len({*offsets.reshape(-1)}) == offsets.max() + 1
        )
    rows = sympy.Symbol("M", integer=True, positive=True)
    even = "M % 2 == 0, K % 2 == 0"
    assert ml.is_bijective(swapped(rows), ("M", "K"), assuming=even).holds


def test_functions_without_a_formula_are_called() -> None:
    order = [0, 2, 4, 6, 1, 3, 5, 7]

    def table(i: Any, j: Any) -> Any:
        return 16 * i + j // 8 * 8 + order.index(j % 8)

    def pack(a: Any) -> Any:
        return a.reshape(a.shape[0], -1, 4, 2).swapaxes(2, 3)

    assert ml.are_equivalent(table, "[0, 1, 1 oe(8)]", (4, 16)).holds
    assert ml.agree(table, pack, (4, 16)).holds
    answer = ml.agree(pack, lambda i, j: 16 * i + j, (4, 16))
    assert not answer.holds
    assert "is written at offset 4" in str(answer)
    assert ml.is_bijective(pack, (4, 16)).holds
    with pytest.raises(ml.LayoutError, match="and nothing says so elsewhere"):
        ml.is_bijective(pack, ("M", "N"))


@given(st.integers(0, 63), st.integers(0, 63), st.integers(0, 5))
def test_operators_on_bits(mask: int, other: int, by: int) -> None:
    """Masks, shifts and exclusive ors, and what joins two bits."""

    def offset(i: Any, j: Any) -> Any:
        bit, last = i >> 1 & 1, j % 2
        low = (i & mask) + ((i ^ other) << by) + (~j & 7)
        return low + (bit & last) + 2 * (bit | last) + (8 * i | j % 8)

    m = ml.index_map(offset, (6, 9))
    assert [m(*at) for at in np.ndindex(6, 9)] == [offset(*at) for at in np.ndindex(6, 9)]
