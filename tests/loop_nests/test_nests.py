"""Nests in Python: which elements, in which order, at which offsets; NumPy is the judge."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import morello_layouts as ml
from morello_layouts.loop_nests import LoopNest
from tests.support.tables import each_row

NUMBERS = [
    ("f32[16,256]{1,0:T(8,128)}", None),
    ("f32[10,200]{1,0:T(8,128)}", None),
    ("bf16[10,20]{1,0:T(8,8)(2,1)}", None),
    ("f32[3,5,7]{0,2,1:T(2,4)}", None),
    ("[1, 0, 1 p(4)]", (6, 12)),
    ("[0, 1]", (1, 9)),
    ("f32[0,3]{1,0}", None),
    ("f32[]", None),
    ("nChw16c", (2, 20, 3, 3)),
]

SYMBOLIC = [
    ("f32[M,N]{1,0:T(4,8)}", {"M": 6, "N": 13}),
    ("f32[M,N]{1,0:T(4,8)}", {"M": 8, "N": 16}),
    ("bf16[M,N]{1,0:T(8,8)(2,1)}", {"M": 11, "N": 9}),
    ("f32[M,N]{0,1}", {"M": 5, "N": 1}),
]

EDGES = ("bounds", "guards", "peel")


def wrong(nest: LoopNest, m: ml.IndexMap, sizes: dict[str, int]) -> str | None:
    """What a nest of one map does wrong, by visiting everything."""
    visits = list(nest(**sizes))
    elements = [element for element, _ in visits]
    if sorted(elements) != list(product(*map(range, m.shape))):
        return f"visits {elements[:20]}"
    offsets = [offsets["x"] for _, offsets in visits]
    for element, offset in zip(elements, offsets, strict=True):
        if m(*element) != offset:
            return f"{element} is at {m(*element)}, not {offset}"
    if any(a >= b for a, b in pairwise(offsets)):
        return f"offsets are not in order: {offsets[:20]}"
    return None


@each_row("layout, shape, edges", [(*row, edges) for row in NUMBERS for edges in EDGES])
def test_physical_order_visits_each_element_once_with_offsets_that_ascend(
    layout: str, shape: Any, edges: Any
) -> None:
    nest = ml.loops(layout, shape, edges=edges)
    assert wrong(nest, ml.index_map(layout, shape), {}) is None


@each_row("layout, sizes, edges", [(*row, edges) for row in SYMBOLIC for edges in EDGES])
def test_symbolic_nests_at_numbers(layout: str, sizes: dict[str, int], edges: Any) -> None:
    assert wrong(ml.loops(layout, edges=edges), ml.index_map(layout).at(**sizes), sizes) is None
