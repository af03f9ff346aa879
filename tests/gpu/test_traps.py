"""Mistakes that are easily made about swizzles, lanes and banks; each was made by somebody."""

from __future__ import annotations

import numpy as np

import morello_layouts as ml
from morello_layouts.machines.gpu import BankConflicts, Fragment
from morello_layouts.notations import parse
from tests.support.tables import each_row


@each_row(
    "text, element_64",
    [
        ("Sw<3,3,3> o 0 o (64,64):(64,1)", 72),  # on the numbers of elements
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)", 72),  # on bytes
        ("Sw<3,4,3> o 0 o (64,64):(64,1)", 64),  # the swizzle of bytes on numbers of elements
    ],
)
def test_a_swizzle_acts_on_bytes_or_on_elements(text: str, element_64: int) -> None:
    m = ml.index_map(text)
    assert m(1, 0) == element_64
    found = ml.bank_conflicts(m, "ldmatrix", bits=16)
    assert isinstance(found, BankConflicts)
    # The mistaken one has conflicts: rows 0 and 1 begin at the same bank.
    assert found.ways == (1 if element_64 == 72 else 2)


def test_rows_are_rows_in_a_notation_whose_first_mode_is_fastest() -> None:
    """CuTe counts colexicographically; a row is the last dimension all the same."""
    fast_rows, fast_columns = "(32,64):(1,32)", "(32,64):(64,1)"
    assert ml.bank_conflicts(fast_rows, "row", bits=32).ways == 32
    assert ml.bank_conflicts(fast_rows, "column", bits=32).ways == 1
    assert ml.bank_conflicts(fast_columns, "row", bits=32).ways == 1
    assert ml.bank_conflicts(fast_columns, "column", bits=32).ways == 32


BROADCAST = (
    "#ttg.linear<{register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 0], [0, 0]], warp = [], "
    "block = []}>"
)


def test_lanes_that_a_zero_basis_joins_share_their_words() -> None:
    """Four lanes hold each element, so eight words go to 32 lanes in one round."""
    found = ml.bank_conflicts("(1,8):(0,32)", BROADCAST, bits=32)
    assert isinstance(found, BankConflicts)
    assert (found.ways, found.collisions[1].lanes) == (8, (1, 9, 17, 25))
    assert ml.bank_conflicts("(1,8):(0,33)", BROADCAST, bits=32).ways == 1


def test_a_layout_of_registers_goes_from_places_to_elements() -> None:
    """Triton's bases take a lane to a coordinate; read the other way it is another access."""
    text = (
        "#ttg.linear<{register = [], lane = [[1, 0], [0, 1], [2, 0], [0, 2], [4, 0]], warp = [], "
        "block = []}>"
    )
    layout = parse(text)
    assert isinstance(layout, ml.Layout)
    asked = Fragment(layout).requests((8, 4), 32, None)
    assert asked.coordinates[0, 6].tolist() == [2, 1]  # bits 1 and 2 of the lane
    m = ml.index_map(layout, (8, 4))
    at = asked.coordinates[0].T
    assert np.array_equal(m(*at), np.arange(32)), "the offset of a lane's element is the lane"


def test_dimensions_of_one_element_change_nothing() -> None:
    flat, deep = "(32,32):(33,1)", "(1,32,1,32):(5,33,7,1)"
    access = ml.bank_conflicts(deep, lambda lane: (0, lane, 0, 3), bits=32)
    assert access.ways == ml.bank_conflicts(flat, lambda lane: (lane, 3), bits=32).ways == 1


def test_equal_words_are_no_conflict() -> None:
    assert ml.bank_conflicts("f32[32,32]", lambda _: (3, 3)).ways == 1
    assert ml.bank_conflicts("f16[32,64]", lambda lane: (0, lane)).ways == 1  # two to a word


def test_the_widest_vector_does_not_look_past_a_swizzle() -> None:
    m = ml.index_map("Sw<3,3,3> o 0 o (64,64):(64,1)")
    assert ml.vector_width(m, 1) == 8
    assert ml.vector_width(m, 0) == 1
    assert ml.vector_width("Sw<3,3,3> o 0 o (64,60):(60,1)", 1) == 4
