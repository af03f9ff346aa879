"""Formulas with an exclusive or as steps: their values, their inverse, and what is none."""

from __future__ import annotations

from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.core.recipe import Xor, has_inverse
from tests.support.tables import each_row


def values(shape: tuple[int, ...], formula: str) -> np.ndarray:
    given = {f"d{k}": x for k, x in enumerate(np.indices(shape))}
    found: np.ndarray = eval(formula, {}, given)
    return found


@each_row(
    "shape, formula, xors",
    [
        ((8, 8), "8*d0 + (d1 ^ d0)", 1),
        ((8, 8), "8*d0 + (d0 ^ d1) + 3", 1),
        ((6, 8), "8*d0 + (d0 ^ d1)", 1),
        ((12, 8), "8*d0 + (d1 ^ (d0 % 8))", 1),
        ((16, 8), "8*d0 + (d1 ^ (d0 % 4))", 1),
        ((64, 64), "64*d0 + 8*((d1//8) ^ (d0 % 8)) + d1 % 8", 1),
        ((16, 32), "32*d0 + 4*((d1//4) ^ (d0//2)) + d1 % 4", 1),
        ((64,), "8*(d0//8) + (d0 % 8 ^ (d0//8))", 1),
        ((256,), "(d0 % 8 ^ ((d0//8) % 4)) + 8*(d0//8)", 1),
        ((4, 4), "(d0 ^ d1) + 4*d1", 1),
        ((64, 64), "64*d0 + 16*((d1//16) ^ (d0 % 4)) + 4*((d1//4 % 4) ^ (d0//4 % 4)) + d1 % 4", 2),
        ((8, 6), "8*d0 + (d0 ^ d1)", 0),  # six is not a power of two
        ((16, 8), "8*d0 + (d1 ^ (d0 % 3))", 0),
        ((4, 4), "16*d0 + 4*d1 + (d0 ^ d1)", 0),  # both coordinates are needed as they are
        ((24, 8), "8*d0 + (d1 ^ (d0//3))", 0),
    ],
)
def test_values_and_inverse(shape: tuple[int, ...], formula: str, xors: int) -> None:
    m = ml.index_map(ml.from_sympy({"shape": shape}, formula))
    right = values(shape, formula)
    assert sum(isinstance(step, Xor) for step in m.recipe.steps) == xors
    assert has_inverse(m.recipe) == bool(xors)
    assert (m(*np.indices(shape)) == right).all()
    assert (ml.unpack(m, np.arange(m.size)) == right).all()
    found: Any = m.coordinates(right.reshape(-1))
    assert (np.stack(found) == np.indices(shape).reshape(len(shape), -1)).all()
