"""Blocks of a grid: counted element by element."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from types import SimpleNamespace as Object
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml


def element(size: int, padding: tuple[int, int] = (0, 0)) -> Any:
    """A stand-in for ``pl.Element``."""
    return type("Element", (), {"block_size": size, "padding": padding})()


CASES: list[tuple[Any, Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = [
    ((8, 128), lambda i, j: (i, j), (20, 256), (3, 2)),
    ((8,), lambda i: (i,), (30,), (4,)),
    ((8,), lambda i: (i // 2,), (30,), (4,)),
    ((None, 8), lambda i, j: (j, i), (3, 16), (2, 3)),
    ((element(8),), lambda i: (4 * i,), (30,), (4,)),
    ((element(8, (2, 6)),), lambda i: (4 * i,), (30,), (4,)),
    ((4, 4), lambda i, j: (i if i > j else j, j), (8, 8), (2, 2)),
    ((4,), lambda i: (i + 3,), (12,), (2,)),
]


@pytest.mark.parametrize(("block", "function", "shape", "grid"), CASES)
def test_counts_are_those_of_every_element(
    block: Any, function: Any, shape: Any, grid: Any
) -> None:
    found = ml.tpu.blocks((block, function), shape, grid)
    read, starts = np.zeros(shape, int), set()
    padding = outside = repeated = 0
    for step in product(*map(range, grid)):
        start, size = [], []
        for own, at in zip(block, function(*step), strict=True):
            is_element = type(own).__name__ == "Element"
            n = own.block_size if is_element else own or 1
            start.append(at - own.padding[0] if is_element else at * n)
            size.append(n)
        cells = product(*(range(a, a + n) for a, n in zip(start, size, strict=True)))
        inside = [c for c in cells if all(0 <= x < n for x, n in zip(c, shape, strict=True))]
        padding += int(np.prod(size)) - len(inside)
        outside += not inside
        repeated += tuple(start) in starts
        if tuple(start) not in starts:
            for c in inside:
                read[c] += 1
        starts.add(tuple(start))
        marked = np.zeros(shape, bool)
        marked[found.reads(*step)] = True
        assert {*map(tuple, np.argwhere(marked))} == {*inside}
    assert found.left_out == int((read == 0).sum())
    assert found.overlapping == int((read > 1).sum())
    assert (found.padding, found.outside, found.repeated) == (padding, outside, repeated)
    for mask, first in ((read == 0, found.first_left_out), (read > 1, found.first_overlapping)):
        assert first == (tuple(np.argwhere(mask)[0]) if mask.any() else None)


def test_a_block_spec_and_its_words() -> None:
    spec = Object(block_shape=(8, 128), index_map=lambda i, j: (i, j))
    found = ml.tpu.blocks(spec, (20, 200), (2, 2))
    assert "a step's block begins at (8*i, 128*j)" in str(found)
    assert "left out: 800 elements, the first (16, 0)" in str(found)
    assert found.fits_tpu
    assert ml.tpu.blocks(((4, 64), lambda i: (i, 0)), (20, 200), 5).fits_tpu is False
    assert ml.tpu.blocks(((4,), lambda i: (i,)), (20,), 5).fits_tpu is None
    whole = ml.tpu.blocks(Object(block_shape=None, index_map=None), (4, 8), 2)
    assert (whole.block, whole.repeated, whole.left_out) == ((4, 8), 1, 0)


@pytest.mark.parametrize(
    ("spec", "shape", "grid", "what"),
    [
        (5, (4,), 1, "expected a BlockSpec, got 5"),
        (((8,), lambda i: (i, 0)), (4,), 1, "expected 1 number"),
        (((8, 8), lambda i: (i,)), (4,), 1, "expected 1 size, got 2"),
        (((8,), lambda i, j: (i + j,)), (4,), 1, r"the index map fails at step \(0,\)"),
        (((0,), lambda i: (i,)), (4,), 1, "a size of a block"),
        (((8,), lambda i: (i,)), ("M",), 1, "expected numbers"),
        (((8,), lambda i: (i,)), (1 << 40,), 1 << 20, "at most 65,536 steps"),
    ],
)
def test_what_does_not_fit_is_refused(spec: Any, shape: Any, grid: Any, what: str) -> None:
    with pytest.raises(ml.LayoutError, match=what) as caught:
        ml.tpu.blocks(spec, shape, grid)
    assert caught.value.fix


def test_a_step_outside_of_the_grid_is_refused() -> None:
    with pytest.raises(ml.ShapeError, match="expected one of the grid"):
        ml.tpu.blocks(((8,), lambda i: (i,)), (30,), 4).reads(4)
