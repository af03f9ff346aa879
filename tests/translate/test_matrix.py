"""Layouts of all families in every notation: as recorded, read back, and of equal offsets."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import numpy as np

import morello_layouts as ml
from morello_layouts.interfaces.api.conversions import NOTATIONS
from morello_layouts.outputs.translate.writers import WRITERS
from tests.support.conversion_cases import CASES, Case, converted, map_of
from tests.support.paths import DATA, rows
from tests.support.tables import each_row

RECORD = rows("convert_matrix.jsonl")
TEXTS = {(layout, repr(shape), assuming): texts for layout, shape, assuming, texts in RECORD}

SIZES = (1, 2, 15, 16, 33)
"""Of symbolic dimensions; times the number that divides them."""


def sizes_to_try(m: ml.IndexMap) -> list[dict[str, int]]:
    """A few sizes for each name: all of them if there is one or two, else some."""
    divisors = {one.name: one.divisor for one in m.assumptions}
    names = m.recipe.names
    grid = [*product(SIZES, repeat=len(names))]
    return [
        {name: divisors.get(name, 1) * n for name, n in zip(names, sizes, strict=True)}
        for sizes in grid[:: 1 + len(grid) // 12]
    ]


@each_row("case", CASES, ids=lambda case: case.layout, fast=10)
def test_layouts_in_every_notation(case: Case) -> None:
    m = map_of(case)
    shape = None if case.shape is None else [*case.shape]
    recorded = TEXTS[case.layout, repr(shape), case.assuming]
    found = converted(case)
    assert {each.to: str(each.layout) for each in found if each.error is None} == recorded
    for to, text in recorded.items():
        # XLA's reader leaves the layout of a scalar out.
        layout = ml.XlaLayout(()) if text == "{}" else ml.parse(text, to)
        assert str(layout) == text
        for sizes in sizes_to_try(m):
            try:
                known = m.at(**sizes)
            except ml.ShapeError:  # rows longer than the stride
                continue
            # Sizes and strides may have names.
            other = ml.index_map(layout, None if to == "cute" else known.shape)
            if other.recipe.names:
                other = other.at(**{name: sizes[name] for name in other.recipe.names})
            places = np.indices(known.shape, sparse=True)
            assert np.array_equal(known(*places), other(*places)), f"{to}: {text} at {sizes}"
    for each in found:
        if each.error is not None:
            assert each.error.why, f"{each.to} gives no reason"
            assert each.error.fix, f"{each.to} gives no fix"


def test_the_notations_are_those_of_the_writers() -> None:
    assert tuple(WRITERS) == NOTATIONS


def test_other_systems_read_the_same() -> None:
    """What `tests/benchmarks/convert_peers.py` recorded is about these texts, and all agree."""
    record = json.loads((DATA / "convert_peers.json").read_text())
    for to, entry in record.items():
        assert entry["equal"] == sum(to in texts for *_, texts in RECORD), to
        assert entry["different"] == entry["refused"] == []
    assert [*record] == ["cute", "strided", "pack", "mlir", "tvm", "einops"]


def test_the_counts() -> None:
    """How many of the layouts each notation can say."""
    assert len(RECORD) == len(CASES)
    counts = Counter(to for *_, texts in RECORD for to in texts)
    assert [counts[to] for to in NOTATIONS] == [58, 31, 51, 40, 26, 41, 70, 67, 32, 25, 12]
