"""Swizzled layouts: CUTLASS's own C++, and the traps of bytes, elements and column-major order."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import elements_by_slot
from morello_layouts.notations.cute import ComposedLayout, CuteLayout, Swizzle
from tests.support.paths import rows
from tests.support.tables import each_row

# The layout as C++ prints it, the same in elements, the offsets in colexicographic order.
ROWS = [row[2:] for row in rows("cute_atoms.tsv.xz") if row[0] == "smem"]
ROWS += rows("cute_swizzles.tsv.xz")


def offsets(m: ml.IndexMap) -> list[int]:
    """The offset of each element, the first dimension fastest."""
    shape = tuple(n for n in m.recipe.shape if isinstance(n, int))
    at = np.indices(shape, sparse=True)
    return np.broadcast_to(m(*at), shape).reshape(-1, order="F").tolist()


def swizzled(x: int, b: int, m: int, s: int) -> int:
    """CuTe's swizzle bit by bit, also where its C++ does not compile."""
    bits = [x >> m + k + max(0, s) & 1 for k in range(b)]
    return x ^ sum(bit << m + k + max(0, -s) for k, bit in enumerate(bits))


def test_the_tables_are_complete() -> None:
    assert len(ROWS) == 12 + 120


@each_row("text, in_elements, expected", ROWS, ids=lambda value: value[:60], fast=3)
def test_layouts_that_cutlass_prints(text: str, in_elements: str, expected: str) -> None:
    layout = ml.parse(text)
    assert isinstance(layout, ComposedLayout)
    assert str(layout) == text
    m = ml.index_map(layout)
    found = offsets(m)
    wanted = [*map(int, expected.split())]
    assert found[: len(wanted)] == wanted
    if layout.swizzle.bits:
        assert str(layout.in_elements) == in_elements
    first, count = elements_by_slot(m.recipe)
    assert np.bincount(found, minlength=first.size).tolist() == count.tolist()
    last = tuple(n - 1 for n in layout.sizes)
    for at in {last, (0, *last[1:])}:
        assert layout.by_document(at, layout.sizes) == (m(*at), m.size)
        assert count.max() > 1 or m.coordinates(m(*at)) == at
    assert first.size == m.size
    assert (count.max() > 1) == ("_10):(_8" in text)  # these overlap before the swizzle


ALL = [
    (b, m, s, rows, columns)
    for b, m, s in product(range(4), range(4), range(-4, 5))
    for rows, columns in ((10, 50), (8, 64), (3, 24))
    if s or not b
]


@pytest.mark.slow
@each_row("b, m, s, rows, columns", ALL)
def test_every_swizzle_of_small_numbers(b: int, m: int, s: int, rows: int, columns: int) -> None:
    layout = ComposedLayout(Swizzle(b, m, s), 0, CuteLayout((rows, columns), (columns, 1)))
    wanted = [swizzled(i * columns + j, b, m, s) for j in range(columns) for i in range(rows)]
    found = ml.index_map(layout)
    assert offsets(found) == wanted
    assert (
        max(wanted)
        < found.size
        == -(-rows * columns // layout.swizzle.block) * (layout.swizzle.block)
    )


OFFSETS = [(3, 3, 3, 512), (3, 3, 3, 8), (2, 0, 3, 5), (2, 1, -3, 64), (3, 0, 2, 7)]


@each_row("b, m, s, start", OFFSETS)
def test_an_offset_is_added_before_the_swizzle(b: int, m: int, s: int, start: int) -> None:
    layout = ComposedLayout(Swizzle(b, m, s), start, CuteLayout((10, 50), (50, 1)))
    wanted = [swizzled(start + i * 50 + j, b, m, s) for j in range(50) for i in range(10)]
    m_ = ml.index_map(layout)
    assert offsets(m_) == wanted
    assert all(m_.coordinates(m_(i, j)) == (i, j) for i, j in ((0, 0), (9, 49), (3, 17)))


def test_two_swizzles() -> None:
    text = "Sw<2,4,2> o smem_ptr[16b](unset) o Sw<2,1,3> o 0 o (8,64):(64,1)"
    wanted = [swizzled(swizzled(i * 64 + j, 2, 1, 3), 2, 3, 2) for j in range(64) for i in range(8)]
    assert offsets(ml.index_map(text)) == wanted


def test_an_offset_before_two_swizzles() -> None:
    text = "Sw<2,0,-2> o 5 o Sw<2,1,-3> o 64 o (10,50):(50,1)"
    wanted = [
        swizzled(5 + swizzled(64 + i * 50 + j, 2, 1, -3), 2, 0, -2)
        for j in range(50)
        for i in range(10)
    ]
    assert offsets(ml.index_map(text)) == wanted
    assert ml.verify(text).holds


# ---- traps: what users asked in public


def test_a_swizzle_of_bytes_is_not_one_of_elements() -> None:
    """Of 16 bits Sw<3,4,3> on bytes is Sw<3,3,3> on elements; read as elements it differs."""
    in_bytes = ml.index_map("Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_8):(_1,_64)")
    in_elements = ml.index_map("Sw<3,3,3> o _0 o (_64,_8):(_1,_64)")
    misread = ml.index_map("Sw<3,4,3> o _0 o (_64,_8):(_1,_64)")
    assert [in_bytes(0, k) for k in range(3)] == [0, 72, 144]
    assert [in_elements(0, k) for k in range(3)] == [0, 72, 144]
    assert [misread(0, k) for k in range(3)] == [0, 64, 144]


def test_one_number_counts_the_first_mode_fastest() -> None:
    layout = ml.parse("Sw<3,3,3> o 0 o (8,64):(64,1)")
    assert isinstance(layout, ComposedLayout)
    m = ml.index_map(layout)
    assert [layout(k) for k in range(16)] == offsets(m)[:16]
    assert layout(8) == m(0, 1) == 1
    assert layout(1) == m(1, 0) == 72


def test_of_128_bytes_the_eight_rows_of_a_column_lie_in_eight_chunks() -> None:
    """The swizzle of 128 bytes with 16-bit elements: chunk c of row r lies at c ^ r."""
    m = ml.index_map("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)")
    assert [[m(r, 8 * c) % 64 // 8 for c in range(8)] for r in range(8)] == [
        [c ^ r for c in range(8)] for r in range(8)
    ]


def test_ptx_says_36_and_cute_says_32() -> None:
    """Of 32-bit elements, PTX counts where the bytes lie, a print in elements where they would."""
    in_bytes = ml.index_map("Sw<3,4,3> o smem_ptr[32b](unset) o (8,32):(32,1)")
    misread = ml.index_map("Sw<3,4,3> o 0 o (8,32):(32,1)")
    assert (in_bytes(1, 0), misread(1, 0)) == (36, 32)


# ---- names


SYMBOLIC = [
    "Sw<3,3,3> o 0 o (M,K):(K,1)",
    "Sw<3,4,3> o smem_ptr[16b](unset) o (M,64):(64,1)",
    "Sw<2,1,-3> o 64 o (M,K):(1,M)",
    "Sw<2,0,3> o 0 o (M,K):(LD,1)",
]


@each_row("text", SYMBOLIC)
def test_names_are_numbers_later(text: str) -> None:
    sizes = {"M": 10, "K": 50, "LD": 56}
    plain = text
    for name, n in sizes.items():
        plain = plain.replace(f"{name},", f"{n},").replace(f"{name})", f"{n})")
        plain = plain.replace(f"({name}", f"({n}")
    m, numbers = ml.index_map(text), ml.index_map(plain)
    own = {name: n for name, n in sizes.items() if name in m.recipe.names}
    assert ml.verify(m).holds or (ml.verify(m).holds is None and "LD" in text)
    assert ml.is_injective(m).holds
    assert offsets(m.at(**own)) == offsets(numbers)
    assert m.at(**own).size == numbers.size


PROVED = [
    "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)",
    "Sw<2,1,-3> o 8 o (10,50):(50,1)",
    "Sw<3,0,2> o 0 o (10,50):(56,1)",
    "Sw<3,0,-2> o 5 o (10,50):(50,1)",
    "Sw<2,0,3> o 0 o ((4,2),8):((8,32),1)",
    "Sw<2,0,3> o 0 o (4,8):(0,1)",
]


@each_row("text", PROVED)
def test_formulas_agree_with_steps_and_document(text: str) -> None:
    m = ml.index_map(text)
    assert ml.verify(m).holds
    assert ml.is_injective(m).holds == ("(0,1)" not in text)


@pytest.mark.slow
def test_a_large_array() -> None:
    m = ml.index_map("Sw<3,3,3> o 0 o (32768,32768):(32768,1)")
    at = 12345, 6789
    assert m(*at) == swizzled(12345 * 32768 + 6789, 3, 3, 3)
    assert m.coordinates(m(*at)) == at
    assert ml.is_bijective(m).holds
    assert prod(n for n in m.recipe.shape if isinstance(n, int)) == 1 << 30
