"""Morello's analyses on chosen layouts: contiguity of tiles, canonical forms, cache lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.tables import each_row


@each_row(
    ("text", "row_major", "col_major"),
    [
        ("[]", True, True),
        ("[1]", True, True),
        ("[0, 1]", True, False),
        ("[0, 2]", True, False),
        ("([0, 1], c0)", True, False),
        ("[1, 0]", False, True),
        ("[2, 0]", False, True),
        ("[0, 2, 1]", False, False),
        ("[0, 1 p(4)]", False, False),
        ("[1, 0 oe(2)]", False, False),
    ],
)
def test_row_and_column_major(text: str, row_major: Any, col_major: Any) -> None:
    layout = ml.parse(text)
    assert (layout.is_row_major, layout.is_col_major) == (row_major, col_major)


@pytest.mark.parametrize(
    ("dims", "contig", "text"),
    [
        ((0, 2, 3, 1), 4, "NHWC"),
        ((0, 2, 3, 1), 2, "([0, 2, 3, 1], c2)"),
        ((0, 1, 2, 3), 4, "[0, 1, 2, 3]"),
        ((), 0, "[]"),
    ],
)
def test_printing(dims: Any, contig: Any, text: str) -> None:
    layout = ml.MorelloLayout([(dim, ml.morello.Dynamic()) for dim in dims], contig)
    assert str(layout) == text
    assert ml.parse(text) == layout


# What the tile of an array keeps contiguous. Morello counts one dimension more where the last
# column says that a tile straddles a pack: there the test finds its second tile broken.
TILES = [
    ("[0, 1]", (6, 8), (6, 8), "[0, 1]", False),
    ("[0, 1]", (6, 8), (2, 8), "[0, 1]", False),
    ("[0, 1]", (6, 8), (2, 4), "([0, 1], c1)", False),
    ("[0, 1]", (6, 8), (2, 3), "([0, 1], c1)", False),
    ("[0, 1]", (6, 8), (1, 4), "[1]", False),
    ("[0, 1]", (6, 8), (2, 1), "([0], c0)", False),
    ("[0, 1]", (6, 8), (1, 1), "[]", False),
    ("[1, 0]", (128, 128), (8, 1), "[0]", False),
    ("([0, 1], c1)", (6, 8), (2, 8), "([0, 1], c1)", False),
    ("([0, 1], c0)", (6, 8), (6, 8), "([0, 1], c0)", False),
    ("[1, 0, 1 p(4)]", (6, 8), (6, 4), "[0, 1]", False),
    ("[1, 0, 1 p(4)]", (6, 8), (3, 8), "([1, 0, 1 p(4)], c2)", False),
    ("[0, 1, 0 p(4)]", (12, 5), (2, 5), "([1, 0], c1)", False),
    ("[0, 1, 0 p(4)]", (12, 5), (3, 5), "([1, 0], c0)", True),
    ("[0, 1, 0 p(4)]", (4, 5), (3, 5), "([1, 0], c1)", False),
    ("[0, 1, 0 p(4), 2]", (12, 5, 7), (3, 5, 7), "([1, 0, 2], c1)", True),
    ("[0, 0 p(3), 0 p(2)]", (12,), (4,), "[0]", False),
    ("[0, 1, 0 p(3)]", (12, 1), (2, 1), "[0]", False),
    ("[0, 1, 0 p(3), 0 p(2)]", (12, 5), (4, 5), "([1, 0, 0 p(2)], c1)", True),
    ("([0, 0 p(3)], c1)", (12,), (2,), "([0], c0)", False),
    ("[0 oe(4), 1]", (4, 5), (1, 5), "[1]", False),
    ("[0, 0 oe(2)]", (4,), (2,), "([0, 0 oe(2)], c2)", False),
]


@each_row(("text", "shape", "tile", "expected", "straddles"), TILES)
def test_tiles(text: str, shape: Any, tile: Any, expected: Any, straddles: Any) -> None:
    tiled = ml.parse(text).for_tile(shape, tile)
    assert tiled == ml.parse(expected)
    if straddles:
        packed = next(
            d for d, phys in ml.parse(text).phys_dims if isinstance(phys, ml.morello.Packed)
        )
        one = [slice(0, 1)] * len(shape)
        one[packed] = slice(tile[packed], 2 * tile[packed])  # the second tile's pack
        offsets = ml.index_map(text, shape)(*np.indices(shape))[tuple(one)].ravel()
        assert np.diff(offsets).max() > np.diff(offsets).min()


@each_row(
    ("text", "shape", "expected"),
    [
        ("[1, 0, 1 p(4)]", (6, 8), "[1, 0, 1 p(4)]"),
        ("[1, 0, 1 p(4)]", (6, 4), "[0, 1]"),
        ("[1, 0, 1 p(4)]", (6, 3), "[0, 1]"),
        ("[1, 0, 1 p(4)]", (1, 8), "[1]"),
        ("[0, 0 p(4)]", (8,), "[0]"),
        ("[0 p(2), 0 p(4)]", (8,), "[0]"),
        ("[0, 0 oe(4), 0 p(2), 0 p(3)]", (24,), "[0, 0 oe(4), 0 p(6)]"),
        ("[0, 0 oe(4), 0 p(3)]", (3,), "[0, 0 oe(4), 0 p(3)]"),
        ("[0, 1, 0 p(2), 1 p(2), 0 p(2)]", (2, 8), "[1, 0]"),
        ("([0, 1, 2], c1)", (6, 1, 8), "([0, 2], c1)"),
        ("([0, 1, 2], c2)", (6, 1, 8), "([0, 2], c1)"),
        ("([0, 0 p(4)], c1)", (8,), "([0, 0 p(4)], c1)"),
        ("([1 p(2), 0, 1 p(2), 1 p(2)], c1)", (1, 8), "([1, 1 p(2)], c1)"),
        ("[]", (1, 1), "[]"),
    ],
)
def test_canonical_forms(text: str, shape: Any, expected: Any) -> None:
    assert ml.parse(text).canonicalize(shape) == ml.parse(expected)


@pytest.mark.parametrize(
    ("text", "dropped", "expected"),
    [
        ("[1, 0, 1 p(4)]", [], "[1, 0, 1 p(4)]"),
        ("[1, 0, 1 p(4)]", [0], "[0]"),
        ("[1 p(2), 0, 1 p(3)]", {0}, "[0 p(6)]"),
        ("[1 oe(2), 0, 1 p(3)]", (0,), "[0 oe(2), 0 p(3)]"),
        ("([1 p(2), 0, 1 p(3)], c1)", [0], "([0 p(2), 0 p(3)], c1)"),
        ("[0, 2]", [1], "[0, 1]"),
        ("[0, 2]", [7], "[0, 2]"),
        ("[0, 2]", [np.int64(0), 0], "[1]"),
        ("[1, 0]", [0, 1], "[]"),
    ],
)
def test_dropping_dimensions(text: str, dropped: Any, expected: Any) -> None:
    assert ml.parse(text).drop_dims(dropped) == ml.parse(expected)


@pytest.mark.parametrize(
    ("text", "dims", "expected"),
    [
        ("([0, 1 p(4)], c1)", (0, 1), "([1, 0 p(4)], c1)"),
        ("[0, 1, 0 oe(2)]", (2, 0), "[2, 1, 2 oe(2)]"),
        ("[0, 1]", (1, 1), "[0, 1]"),
        ("[0]", (np.int64(0), 3), "[3]"),
    ],
)
def test_swapping_dimensions(text: str, dims: Any, expected: Any) -> None:
    assert ml.parse(text).swap_dims(*dims) == ml.parse(expected)


@pytest.mark.parametrize(
    ("text", "shape", "element_bytes", "line_bytes", "lines"),
    [
        ("[0, 1]", (6, 8), 4, 64, 3),
        ("([0, 1], c1)", (6, 8), 4, 64, 6),
        ("([0, 1], c1)", (6, 17), 4, 64, 12),
        ("([0, 1], c0)", (6, 8), 4, 64, 48),
        ("[0, 1]", (6, 8), 4, 32, 6),
        ("[]", (1, 1), 1, 64, 1),
        ("[0, 1]", (2**20, 2**20), 4, 64, 2**36),  # Morello's 32 bits overflow here
    ],
)
def test_cache_lines(
    text: str, shape: Any, element_bytes: Any, line_bytes: Any, lines: Any
) -> None:
    layout = ml.parse(text)
    assert layout.estimate_cache_lines(shape, element_bytes, line_bytes) == lines
