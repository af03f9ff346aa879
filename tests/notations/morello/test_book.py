"""Morello's book, its named layouts, and the form in which the popular ones come out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sympy import Mod, floor

import morello_layouts as ml
from tests.support.tables import each_row


def at(text: Any, shape: Any) -> Any:
    m = ml.index_map(text, shape)
    return (m, *m.symbols)


def test_row_major() -> None:
    m, d0, d1 = at("[0, 1]", (6, 8))
    assert m.expr == 8 * d0 + d1
    assert m(2, 5) == 21


def test_column_major() -> None:
    m, d0, d1 = at("[1, 0]", (6, 8))
    assert m.expr == d0 + 6 * d1
    assert m(2, 5) == 32


def test_packed() -> None:
    m, d0, d1 = at("[1, 0, 1 p(4)]", (6, 8))
    assert m.expr == Mod(d1, 4) + 4 * d0 + 24 * floor(d1 / 4)
    assert m.physical_shape == (2, 6, 4)
    assert [m(0, j) for j in range(8)] == [0, 1, 2, 3, 24, 25, 26, 27]
    assert m.physical_coordinates(2, 5) == (1, 2, 1)


def test_the_packed_reference_formula_and_the_parts_that_its_derivation_drops() -> None:
    m = ml.index_map("[1, 0, 1 p(4)]", (6, 8))
    assert str(m.reference_form) == "24*((d1//4)%2) + 4*(d0%6) + d1%4"
    dropped = {str(step.before): step.because for step in m.derivation if step.rule == "drop-mod"}
    assert dropped.keys() == {"d0%6", "(d1//4)%2"}
    assert dropped["d0%6"] == "d0 is in 0..5"
    assert re.fullmatch(r"d1//4 is in 0\.\.1|d1 is in 0\.\.7", dropped["(d1//4)%2"])
    assert m.derivation.end == m.form


def test_nchw_and_nhwc() -> None:
    m, n, c, h, w = at("NCHW", (2, 32, 14, 7))
    assert m.expr == 3136 * n + 98 * c + 7 * h + w
    m, n, c, h, w = at("NHWC", (2, 32, 14, 7))
    assert m.expr == 3136 * n + 224 * h + 32 * w + c


def test_nchwc() -> None:
    m, n, c, h, w = at("[0, 1, 2, 3, 1 p(16)]", (2, 32, 14, 7))
    assert m.physical_shape == (2, 2, 14, 7, 16)
    assert m.expr == 3136 * n + 1568 * floor(c / 16) + 112 * h + 16 * w + Mod(c, 16)


def test_odd_even_puts_even_indices_first() -> None:
    m, d0 = at("0 oe(8)", (8,))
    assert [m(i) for i in range(8)] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert m.expr == 4 * Mod(d0, 2) + floor(d0 / 2)
    assert ml.pack("0 oe(8)", np.arange(8)).tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_odd_even_over_an_inner_dimension_splits_what_remains() -> None:
    # Morello reaches 6 offsets for these 24 elements.
    m = ml.index_map("[0 oe(4), 1, 0 p(2)]", (8, 3))
    assert [m(i, 0) for i in range(8)] == [0, 1, 12, 13, 6, 7, 18, 19]
    assert ml.is_bijective(m).holds is True
    # On 2x3 it leaves the buffer.
    small = ml.index_map("[0 oe(4), 1, 0 p(2)]", (2, 3))
    assert [small(i, j) for i in range(2) for j in range(3)] == [0, 2, 4, 1, 3, 5]


POPULAR = [
    ("[0, 1]", (6, 8), "8*d0 + d1"),
    ("[1, 0]", (6, 8), "6*d1 + d0"),
    ("[0, 2, 1]", (4, 6, 8), "48*d0 + 6*d2 + d1"),
    ("NCHW", (2, 32, 14, 14), "6272*d0 + 196*d1 + 14*d2 + d3"),
    ("NHWC", (2, 32, 14, 14), "6272*d0 + 448*d2 + 32*d3 + d1"),
    ("[0, 1, 2, 3, 1 p(16)]", (2, 32, 14, 14), "6272*d0 + 3136*(d1//16) + 224*d2 + 16*d3 + d1%16"),
    ("[0, 1, 2, 3, 1 p(16)]", (2, 16, 14, 14), "3136*d0 + 224*d2 + 16*d3 + d1"),
    ("[0, 1, 2, 3, 1 p(16)]", (1, 32, 14, 14), "3136*(d1//16) + 224*d2 + 16*d3 + d1%16"),
    ("[1, 0, 1 p(4)]", (6, 8), "24*(d1//4) + 4*d0 + d1%4"),
    ("[1, 0, 1 p(4)]", (6, 4), "4*d0 + d1"),
    ("[1, 0, 1 p(4)]", (6, 3), "3*d0 + d1"),
    ("[0, 1, 0 p(4), 1 p(8)]", (64, 64), "256*(d0//4) + 32*(d1//8) + 8*(d0%4) + d1%8"),
    ("[0, 0 p(4)]", (64,), "d0"),
    ("[0 oe(8)]", (8,), "4*(d0%2) + d0//2"),
    ("[0 oe(2)]", (2,), "d0"),
    ("[0, 0 oe(8)]", (32,), "8*(d0//8) + 4*(d0%2) + (d0//2)%4"),
    ("[1, 0, 1 oe(16)]", (8, 64), "128*(d1//16) + 16*d0 + 8*(d1%2) + (d1//2)%8"),
    ("[]", (1, 1), "0"),
]


@each_row(("text", "shape", "form"), POPULAR)
def test_popular_formats_have_their_simplest_formula(text: str, shape: Any, form: Any) -> None:
    m = ml.index_map(text, shape)
    assert str(m.form) == form
    assert ml.verify(m).holds is True


@each_row(
    ("builder", "shape", "text"),
    [
        (ml.morello.row_major, (6, 8), "[0, 1]"),
        (ml.morello.row_major, (6, 1, 8), "[0, 2]"),
        (ml.morello.row_major, (1, 1), "[]"),
        (ml.morello.row_major, (), "[]"),
        (ml.morello.col_major, (6, 8), "[1, 0]"),
        (ml.morello.col_major, (6, 1, 8), "[2, 0]"),
        (ml.morello.batched_col_major, (2, 6, 8), "[0, 2, 1]"),
        (ml.morello.batched_col_major, (1, 6, 8), "[2, 1]"),
        (ml.morello.batched_col_major, (2, 6, 1, 8), "[0, 3, 1]"),
        (ml.morello.batched_col_major, (), "[]"),
        (ml.morello.nhwc, (2, 32, 14, 7), "NHWC"),
        (ml.morello.nhwc, (1, 32, 14, 7), "[2, 3, 1]"),
        (ml.morello.nhwc, [2, 1, 14, 7], "[0, 2, 3]"),
        (ml.morello.row_major, np.array([6, 8]), "[0, 1]"),
    ],
)
def test_builders_leave_out_dimensions_of_size_1(builder: Any, shape: Any, text: str) -> None:
    layout = builder(shape)
    assert str(layout) == text
    assert layout == ml.parse(text)
    assert layout.applies_to(shape)


def test_huge_sizes() -> None:
    m = ml.index_map("[0, 1, 0 p(4)]", (2**40, 2**30))
    assert m(2**40 - 1, 2**30 - 1) == 2**70 - 1
    assert ml.is_bijective(m).holds is True


# As the book writes lists, and our shorthand.
RUST = {
    "Layout::new(vec![(0, PhysDim::Dynamic), (1, PhysDim::Dynamic), (2, PhysDim::Dynamic)])":
        "[0, 1, 2]",
    "Layout::new(vec![\n    (1, PhysDim::Dynamic),\n    (0, PhysDim::Dynamic)\n])": "[1, 0]",
    "Layout::new(vec![\n  (1, PhysDim::Dynamic),\n  (0, PhysDim::Dynamic),\n"
    "  (1, PhysDim::Packed(nz!(4u32))),\n])": "[1, 0, 1 p(4)]",
    "Layout::new(vec![(0, Dynamic), (0, OddEven(nz!(16)))])": "[0, 0 oe(16)]",
    "layout![1, 0, 1 p(4)]": "[1, 0, 1 p(4)]",
    "Layout::new(vec![])": "[]",
}  # fmt: skip


@each_row(("rust", "text"), RUST.items())
def test_lists_as_the_book_writes_them(rust: str, text: str) -> None:
    assert ml.parse(rust) == ml.parse(text)
    assert str(ml.parse(rust)) == text


def test_the_partial_sums_of_the_book() -> None:
    lines = ml.parse("[1, 0, 1 p(4)]").document_steps((6, 8))
    assert lines == (
        "b_α = d1%4",
        "b_β = b_α + 4*(d0%6) = b_α + 4*d0",
        "b = b_β + 24*((d1//4)%2) = b_β + 24*(d1//4)",
    )
    report = ml.explain("[1, 0, 1 p(4)]", (6, 8), derivation=True)
    assert all(f"  {line}\n" in str(report) for line in lines)
    assert "b_α" not in str(ml.explain("[1, 0, 1 p(4)]", (6, 8)))


@each_row("text", ["[0, 1, 0 oe(8)]", "[0, 1, 0 p(4), 1 p(3), 0 p(2)]", "[1, 0]"])
def test_partial_sums_add_up(text: str) -> None:
    coordinates = dict(zip(("d0", "d1"), np.indices((16, 6)), strict=True))
    total = np.zeros((16, 6), dtype=int)
    for line in ml.parse(text).document_steps((16, 6)):
        _, *forms = line.split(" = ")
        terms = [re.sub(r"b_\w+ \+ ", "", form) for form in forms]
        added = [eval(term, {}, coordinates) for term in terms]
        assert all(np.array_equal(each, added[0]) for each in added)
        total += added[0]
    assert np.array_equal(total, ml.index_map(text, (16, 6))(*coordinates.values()))
