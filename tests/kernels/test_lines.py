"""Targets beyond the caches: written as whole lines, from any start, without a byte beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kernel_runs import QUICK, Case, need, run_all

ROWS, COLUMNS, TILES, PAIRS = "[0, 1]", "[1, 0]", "{1,0:T(8,128)}", "{1,0:T(8,128)(2,1)}"

# Of 4 bytes, a tile has 16 rows and columns, a panel 1024 columns, and an image 4 KiB.
CASES = [
    Case(source, target, shape, itemsize, streams=True)
    for source, target, shape, itemsize in (
        (ROWS, COLUMNS, (260, 150), 4),  # the last tile has four rows
        (ROWS, COLUMNS, (150, 1100), 4),  # ragged rows, two panels
        (ROWS, COLUMNS, (160, 1100), 4),  # rows of whole lines
        (ROWS, COLUMNS, (33, 1100), 4),  # short rows, in images of several pieces
        (ROWS, COLUMNS, (17, 1100), 4),  # few rows, each read in its order
        (ROWS, COLUMNS, (48, 150), 4),  # short rows, dense in the target
        (ROWS, COLUMNS, (300, 5), 4),  # columns that are narrower than a tile
        (ROWS, COLUMNS, (5, 300), 4),  # rows that are shorter than a line
        (ROWS, COLUMNS, (150, 77), 8),
        (ROWS, COLUMNS, (523, 300), 2),
        (ROWS, COLUMNS, (1100, 150), 1),
        (TILES, "{0,1:T(8,128)}", (300, 200), 4),  # digits in the rows and in the columns
        ("{2,1,0}", "{0,2,1:T(8,128)(2,1)}", (130, 3, 17), 2),
        (ROWS, TILES, (20, 1500), 4),
        (ROWS, PAIRS, (20, 1500), 2),
        (PAIRS, ROWS, (20, 5000), 2),  # an image for a part of a row, and one for the rest
        ("{1,0:T(8,128)(4,1)}", ROWS, (20, 1500), 1),  # runs of four rows each
        ("{1,0}", PAIRS, (21, 300), 2),  # padding of one item between items, of equal bytes
        ("NCHW", "NHWC", (2, 3, 9, 40), 4),
        ("NHWC", "NCHW", (2, 5, 9, 40), 2),
        ("NHWC", "NCHW", (2, 7, 9, 40), 8),
        ("NCHW", "NHWC", (2, 6, 9, 40), 1),
        ("[0, 1, 2]", "[1, 0, 2]", (3, 50, 4), 4),  # words of 16 bytes
    )
]


def test_lines_are_written_whole(tmp_path: Path) -> None:
    need("gcc")
    run_all(CASES, tmp_path, "gcc", *QUICK, "-march=native")


@pytest.mark.slow
def test_lines_are_written_whole_without_vectors(tmp_path: Path) -> None:
    need("gcc")
    run_all(CASES, tmp_path, "gcc", *QUICK, "-DRELAYOUT_VECTOR=0")


# Of 4 bytes, lines of 16 rows: runs that begin at lines.
NEAR = [
    Case(ROWS, COLUMNS, shape, itemsize)
    for shape, itemsize in (
        ((64, 64), 4),
        ((96, 20), 4),  # columns that end within a line
        ((48, 5), 4),
        ((32, 16), 4),  # runs of two lines
        ((75, 61), 4),  # ragged runs, 16 bytes of rows at a time
        ((1000, 40), 4),  # in three blocks
        ((75, 1024), 4),  # ragged, and rows that evict each other
        ((80, 4096), 4),  # and whole lines
        ((81, 2049), 4),
        ((9, 70), 4),  # vectors of 16 bytes
        ((256, 70), 1),
        ((401, 99), 1),
        ((192, 1024), 1),
        ((96, 50), 2),
        ((99, 50), 2),
        ((130, 2048), 2),
        ((40, 30), 8),
        ((41, 30), 8),
        ((24, 4096), 8),
        ((12, 4100), 8),
    )
] + [
    Case("[0, 1, 2]", "[0, 2, 1]", (3, 64, 48), 4),
    Case("[0, 1, 2]", "[2, 1, 0]", (32, 128, 24), 4),  # the last columns start early
    Case("NCHW", "NHWC", (2, 17, 9, 8), 2),
    Case("[1, 0, 2]", "[0, 1, 2]", (3, 9, 4001), 1),  # runs of more than 2 KiB, from any byte on
    *(Case("aBcd16b", "acdb", (2, 3, 9, 11), itemsize) for itemsize in (1, 2)),  # words overlap
]


def test_runs_within_the_caches_begin_at_lines(tmp_path: Path) -> None:
    need("gcc")
    run_all(NEAR, tmp_path, "gcc", *QUICK, "-march=native")
