"""Triton's encodings value by value against triton 3.9, and against plain bit arithmetic."""

from __future__ import annotations

import random
from functools import cache
from math import prod
from typing import Any

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.recipe import bases_of_recipe, offset_of
from tests.support.paths import rows
from tests.support.tables import each_row


@cache
def recorded() -> list[Any]:
    """Rows of a type's text and the bases of its linear layout."""
    return rows("triton_encodings.jsonl.xz")


def as_lists(bases: Any) -> dict[str, list[list[int]]]:
    return {name: [list(v) for v in vectors] for name, vectors in bases.items() if vectors}


@each_row("row", recorded(), ids=lambda row: row["text"])
def test_bases_and_text(row: Any) -> None:
    layout = ml.parse(row["text"])
    assert str(layout) == row["text"]
    found = as_lists(layout.bases(layout.sizes))
    if "tensor_memory" in row["text"]:  # the wheel leaves the blocks out
        found.pop("block", None)
    assert found == row["bases"]


@each_row("row", recorded()[::3], ids=lambda row: row["text"])
def test_the_recipe_is_the_bases(row: Any) -> None:
    layout = ml.parse(row["text"])
    recipe = layout.recipe(layout.sizes)
    found = bases_of_recipe(recipe)
    if found is None:  # gaps: of tensor memory half of the places, or less, hold elements
        assert "tensor_memory" in row["text"]
        assert recipe.size >= 2 * prod(layout.sizes)
        return
    assert as_lists({k: v for k, v in found.items() if k in row["bases"]}) == row["bases"]


@each_row("row", recorded()[1::3], ids=lambda row: row["text"])
def test_recipe_reference_and_document_agree(row: Any) -> None:
    layout, source = ml.parse(row["text"]), random.Random(row["text"])
    sizes = layout.sizes
    recipe = layout.recipe(sizes)
    for _ in range(4):
        at = tuple(source.randrange(n) for n in sizes)
        offset = offset_of(recipe, at, 0)
        assert layout.by_document(at, sizes) == (offset, recipe.size)
        assert layout.reference(at, sizes) == AffineExpr((), offset)


@each_row("row", recorded()[2::6], ids=lambda row: row["text"])
def test_the_lowest_place_holds_the_element(row: Any) -> None:
    """By Triton's definition: the element at a place is the exclusive or of its bits' bases."""
    layout, source = ml.parse(row["text"]), random.Random(row["text"])
    bases = layout.bases(layout.sizes)
    names = ("offset", "register", "lane", "warp", "col", "row", "block")
    vectors = [vector for name in names for vector in bases.get(name, ())]
    for _ in range(4):
        at = tuple(source.randrange(n) for n in layout.sizes)
        offset, there = layout.by_document(at, layout.sizes)[0], [0] * len(at)
        for bit, vector in enumerate(vectors):
            if offset >> bit & 1:
                there = [x ^ y for x, y in zip(there, vector, strict=True)]
        assert tuple(there) == at
