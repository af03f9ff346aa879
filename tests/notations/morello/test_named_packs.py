"""Packs whose sizes are names: Morello's formula for any pack."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np

import morello_layouts as ml
from tests.support.tables import each_row

LAYOUTS: list[tuple[str, tuple[int | str, ...]]] = [
    ("[0, 1, 0 p(P)]", ("M*P", "N")),
    ("[1, 0, 1 p(P), 0 p(S)]", ("M*S", "N*P")),
    ("[0, 0 p(P), 0 p(2)]", ("2*M*P",)),
    ("[0, 1, 0 p(P), 1 p(4), 0 p(2)]", ("2*M*P", "4*N")),
    ("[1, 0 p(P)]", ("P", "N")),
]


@each_row("text, shape", LAYOUTS)
def test_formula_inverse_and_proofs(text: str, shape: Any) -> None:
    m = ml.index_map(text, shape)
    assert str(ml.parse(text)) == text
    assert ml.is_bijective(m).holds
    assert ml.verify(m).holds
    assert ml.are_equivalent(m, text, shape).holds
    for values in product((1, 2, 3, 4), repeat=len(m.recipe.names)):
        names = dict(zip(m.recipe.names, values, strict=True))
        packed = text
        for name, size in names.items():
            packed = packed.replace(f"p({name})", f"p({size})")
        expected_text = re.sub(r"(, )?\d p\(1\)", "", packed)  # Morello has no packs of 1
        sizes = [n.evaluate(names) if not isinstance(n, int) else n for n in m.recipe.shape]
        expected = ml.index_map(expected_text, tuple(sizes)) if expected_text != "[1]" else None
        sized = m.at(**names)
        grid, slots = np.indices(sizes), np.arange(sized.size)
        if expected is not None:
            assert (sized(*grid) == expected(*grid)).all(), names
            for x, y in zip(sized.coordinates(slots), expected.coordinates(slots), strict=True):
                assert (x == y).all(), names
        general = m.form.evaluate({**names, **{f"d{k}": x for k, x in enumerate(grid)}})
        assert (np.broadcast_to(general, sizes) == sized(*grid)).all(), names


def test_packs_are_tiles() -> None:
    answer = ml.are_equivalent("[0, 1, 0 p(S), 1 p(T)]", "{1,0:T(S,T)}", ("S*M", "T*N"))
    assert answer.holds
    assert str(answer.condition) == "all sizes"
