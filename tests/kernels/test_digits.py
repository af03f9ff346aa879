"""Recipes as digits, compared with the recipes' own offsets."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe.digits import AxisDigit
from morello_layouts.outputs.kernels.chains import chains_of
from tests.support.kernel_runs import QUICK, Case, need, run_all

# A later tile pads what an earlier one left, and is cut again: some of the cuts hold padding only.
GROWN = [
    "{0:T(2)(8)(4)}",
    "{0:T(3)(8)(4)}",
    "{0:T(2)(6)(3)}",
    "{0:T(2)(4)(*,3)}",
    "{0:T(4)(8)(2)}",
    "{0:T(2)(16)(8)(4)}",
]


def reached(chain: tuple[AxisDigit, ...], coordinates: np.ndarray) -> np.ndarray:
    """Offsets: each digit is taken from what the larger ones leave."""
    offsets, left = np.zeros_like(coordinates), coordinates
    for digit in reversed(chain):
        offsets, left = offsets + left // digit.unit * digit.stride, left % digit.unit
    return offsets


def agree(layout: str, shape: tuple[int, ...]) -> bool:
    """Whether there are digits; they must then be right."""
    m = ml.index_map(layout, shape)
    digits = chains_of(m.recipe)
    if digits is None:
        return False
    at = np.indices(shape)
    found = sum(reached(chain, x) for chain, x in zip(digits.chains, at, strict=False))
    assert (found == m(*at)).all(), (layout, shape)
    assert np.prod([d.radix for chain in digits.chains for d in chain]) == m.size, (layout, shape)
    return True


@pytest.mark.slow
def test_digits_of_three_tiles() -> None:
    tiles = (1, 2, 3, 4, 6, 8)
    cases = [
        (f"{{0:T({a})({b})({c})}}", (n,))
        for a, b, c in product(tiles, repeat=3)
        for n in (1, 5, 8, 13, 24)
    ]
    assert sum(agree(*case) for case in cases) > len(cases) // 2


@pytest.mark.slow
def test_digits_of_two_dimensions() -> None:
    tiles = ("(2,3)", "(3,2)", "(2,8)", "(4)", "(*,6)", "(2,2)", "(*,4)", "(3)")
    cases = [
        (f"{{{order}:T{''.join(parts)}}}", (5, 13))
        for order in ("1,0", "0,1")
        for parts in product(tiles, repeat=3)
    ]
    assert sum(agree(*case) for case in cases) > len(cases) // 4


@pytest.mark.slow
def test_kernels_of_tiles_that_grow(tmp_path: Path) -> None:
    need("gcc")
    pairs = [(a, b) for a in ("{0}", *GROWN) for b in ("{0}", *GROWN)]
    run_all([Case(*pair, (n,), 4) for pair in pairs for n in (1, 5, 17)], tmp_path, "gcc", *QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("itemsize", [1, 4])
def test_kernels_of_tiles_that_grow_at_all_sizes(itemsize: int, tmp_path: Path) -> None:
    need("gcc")
    sizes = tuple((n,) for n in (1, 2, 3, 5, 8, 16, 17, 64))
    ends = [*(("{0}", b) for b in GROWN), *((a, "{0}") for a in GROWN)]
    cases = [Case(*pair, ("M",), itemsize, sizes) for pair in ends]
    run_all(cases, tmp_path, "gcc", *QUICK, near=4)
