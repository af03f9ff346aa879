"""Kernels between recipes of formulas: gaps, ends that are cut, offsets, elements that overlap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from morello_layouts.core.expr import coordinate_variables
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import recipe_of_formula
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.kernels.domains import Domain
from morello_layouts.outputs.kernels.plan import domains_of
from morello_layouts.outputs.kernels.relayout import Relayout
from tests.recipe.test_recognize import Formula, strided, values
from tests.support.tables import each_row


def places(domain: Domain) -> np.ndarray:
    found = np.array([domain.target])
    for axis in domain.axes:
        found = (found[:, None] + np.arange(axis.count) * axis.target).reshape(-1)
    return found


@settings(max_examples=60)
@given(strided(), st.data())
def test_every_place_is_written_once(given: Formula, data: st.DataObject) -> None:
    shape, form = given
    pair = data.draw(strided().filter(lambda other: len(other[0]) == len(shape)))
    other = pair[1] if pair[0] == shape else coordinate_variables(shape)[0] * 1
    source = IndexMap.of(recipe_of_formula(shape, other), lambda *_: other)
    target = IndexMap.of(recipe_of_formula(shape, form), lambda *_: form)
    slots = values(shape, form)
    move = Relayout(source, target)
    if len(np.unique(slots)) < slots.size:
        with pytest.raises(UnsupportedError, match="share slot"):
            move.kernel("python", "int32")
        return
    found = domains_of(source.recipe, target.recipe)
    if found.elements is not None and not found.overlap:
        written = np.concatenate([places(domain) for domain in (*found.elements, *found.padding)])
        assert sorted(written) == list(range(target.size))
    buffer = np.arange(source.size, dtype=np.int32) + 10
    expected = np.full(target.size, -1)
    expected[slots] = buffer[values(shape, other)]
    names: dict[str, object] = {}
    exec(move.kernel("python", "int32", fill=-1), names)
    assert (names["relayout"](buffer) == expected).all()


M, N, LD = map(SizeExpr.named, ("M", "N", "LD"))
ROW, COLUMN = coordinate_variables((M, N))
FORMS = {
    "row-major": ROW * N + COLUMN,
    "column-major": COLUMN * M + ROW,
    "pitch": ROW * LD + COLUMN,
    "pitch and start": ROW * LD + COLUMN + 5,
    "every other": ROW * N * 2 + COLUMN * 2 + 1,
}


@pytest.mark.slow
@each_row("source, target", [(a, b) for a in FORMS for b in FORMS])
def test_one_kernel_for_all_sizes(source: str, target: str) -> None:
    forms = FORMS[source], FORMS[target]
    a, b = (IndexMap.of(recipe_of_formula((M, N), f), lambda *_, f=f: f) for f in forms)
    move = Relayout(a, b).compile("int16", fill=-1)
    for m, n, ld in ((1, 1, 1), (3, 5, 5), (4, 7, 9), (70, 33, 40)):
        given = {"M": m, "N": n, "LD": ld}
        sizes = {name: given[name] for name in {*a.recipe.names, *b.recipe.names}}
        at = dict(zip(("d0", "d1"), np.indices((m, n)), strict=True))
        read, write = (form.evaluate({**given, **at}) for form in forms)
        buffer = np.arange(read.max() + 1, dtype=np.int16)
        expected = np.full(write.max() + 1, -1)
        expected[write] = buffer[read]
        assert (move(buffer, **sizes) == expected).all(), given


SHARED = {
    "rows repeated": (0, 1),
    "columns repeated": (1, 0),
    "windows": (1, 1),
    "strided windows": (2, 1),
    "rows that overlap": (30, 1),
    "one element": (0, 0),
}


@pytest.mark.slow
@each_row("name", SHARED)
def test_elements_that_share_slots_are_read_in_loops(name: str) -> None:
    rows, columns = SHARED[name]
    i, j = coordinate_variables((33, 40))
    form = i * rows + j * columns + 7
    source = IndexMap.of(recipe_of_formula((33, 40), form), lambda *_: form)
    target = IndexMap.of(recipe_of_formula((33, 40), j * 36 + i), lambda *_: j * 36 + i)
    assert domains_of(source.recipe, target.recipe).elements is not None
    buffer = np.arange(source.size, dtype=np.uint16)
    found = Relayout(source, target).compile("uint16")(buffer)
    at = np.indices((33, 40))
    assert (found[36 * at[1] + at[0]] == buffer[rows * at[0] + columns * at[1] + 7]).all()
