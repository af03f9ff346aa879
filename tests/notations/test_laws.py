"""Laws that random layouts of every notation keep, judged by their places in NumPy."""

from __future__ import annotations

import copy
import json
import pickle
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.notations.registry import NOTATIONS
from tests.fuzz.judgements import truth_of
from tests.support.notations import LAYOUTS, Case

each = pytest.mark.parametrize("name", LAYOUTS)
some = settings(max_examples=max(4, settings.default.max_examples // 3))
"""Fewer examples, of questions that take longer."""


def drawn(data: st.DataObject, name: str) -> tuple[Case, Any, ml.IndexMap]:
    """Return a case, its layout, and its map."""
    case = data.draw(LAYOUTS[name])
    layout = ml.parse(case.layout, case.notation) if isinstance(case.layout, str) else case.layout
    return case, layout, ml.index_map(layout, case.shape)


def offsets_of(m: ml.IndexMap) -> Any:
    """The offset of each element by the formula, row-major."""
    return np.asarray(m(*np.indices(m.shape)), np.int64).reshape(-1)


def test_every_notation_has_a_strategy() -> None:
    kinds = {"mlir": "memref"}
    assert {kinds.get(n.name, n.name) for n in NOTATIONS} <= {*LAYOUTS}


@each
@given(data=st.data())
def test_parse_inverts_print(name: str, data: st.DataObject) -> None:
    case, layout, m = drawn(data, name)
    again = ml.parse(str(layout), case.notation)
    assert again == layout
    assert (str(again), hash(again)) == (str(layout), hash(layout))
    assert pickle.loads(pickle.dumps(layout)) == copy.deepcopy(layout) == layout
    assert ml.index_map(again, case.shape) == m


@each
@given(data=st.data())
def test_offsets_are_numpy_s(name: str, data: st.DataObject) -> None:
    case, _, m = drawn(data, name)
    if case.size is not None:
        assert m.size == case.size
    if case.places is not None and prod(m.shape):
        offsets = offsets_of(m)[:, None]
        assert (case.places == offsets).any(axis=1).all()
        if case.places.shape[1] == 1:
            assert (case.places == offsets).all()
    for at in list(np.ndindex(*m.shape))[:20]:
        physical = m.physical_coordinates(*at)
        if m.recipe.replicas == 1 and not m.recipe.offset:
            box = known_box(m)
            assert np.ravel_multi_index(physical, box) == m(*at)


def known_box(m: ml.IndexMap) -> tuple[int, ...]:
    return tuple(int(n) for n in m.physical_shape)


@each
@given(data=st.data())
def test_verdicts_are_those_of_counting(name: str, data: st.DataObject) -> None:
    case, _, m = drawn(data, name)
    places = case.places
    if places is None:
        assume(m.recipe.replicas == 1)
        places = offsets_of(m).reshape(-1, 1) if prod(m.shape) else np.empty((0, 1), np.int64)
    asked = {"injective": ml.is_injective, "surjective": ml.is_surjective}
    answers = {claim: ask(m) for claim, ask in (asked | {"bijective": ml.is_bijective}).items()}
    assume(all(answer.holds is not None for answer in answers.values()))
    truth = truth_of(places, int(m.size))
    assert {claim: answer.holds for claim, answer in answers.items()} == truth
    gaps = np.setdiff1d(np.arange(m.size), places)
    onto = answers["surjective"]
    assert onto.padding in (None, len(gaps))
    if not onto.holds:
        assert onto.counterexample == gaps[0]


@each
@some
@given(data=st.data())
def test_formulas_are_verified(name: str, data: st.DataObject) -> None:
    *_, m = drawn(data, name)
    assert ml.verify(m).holds is not False


@each
@given(data=st.data())
def test_arrays_come_back_from_buffers(name: str, data: st.DataObject) -> None:
    *_, m = drawn(data, name)
    if m.recipe.axis_names:
        return  # the elements are in registers or on devices
    array = np.arange(prod(m.shape)).reshape(m.shape)
    offsets = offsets_of(m) if array.size else np.empty(0, np.int64)
    buffer = np.arange(m.size) * 7
    assert np.array_equal(ml.unpack(m, buffer).reshape(-1), buffer[offsets])
    if len(np.unique(offsets)) < array.size:
        with pytest.raises(ml.LayoutError, match="share slot"):
            ml.pack(m, array)
        return
    packed = ml.pack(m, array, fill=-1)
    assert packed.shape == (m.size,)
    assert np.array_equal(packed[offsets], array.reshape(-1))
    assert (packed == -1).sum() == m.size - array.size == m.padding
    found = {int(p): at for p, at in zip(offsets, np.ndindex(*m.shape), strict=True)}
    for offset in range(0, m.size, max(1, m.size // 50)):
        assert m.coordinates(offset) == found.get(offset)


@each
@given(data=st.data())
def test_places_along_named_axes_hold_each_element_as_often(name: str, data: st.DataObject) -> None:
    *_, m = drawn(data, name)
    if not m.recipe.axis_names or not m.shape:
        return
    for at in list(np.ndindex(*m.shape))[:20]:
        assert all(m.element(**place) == at for place in m.place(*at).holders)
    slots = np.indices(known_box(m))
    there = m.element(**dict(zip(m.recipe.axis_names, slots, strict=True)))
    held = np.stack([x[there[0] >= 0] for x in there], -1)
    elements, counts = np.unique(held, axis=0, return_counts=True)
    assert len(elements) == prod(m.shape)
    assert {*counts.tolist()} == {m.recipe.replicas}


@each
@some
@given(data=st.data())
def test_texts_of_other_notations_have_the_same_offsets(name: str, data: st.DataObject) -> None:
    _, layout, m = drawn(data, name)
    if not prod(m.shape) or m.recipe.axis_names:
        return
    for other in ("morello", "xla", "cute", "strided", "mlir", "onednn"):
        try:
            text = ml.convert(layout, other, m.shape)
        except (ml.UnsupportedError, ml.ShapeError):
            continue
        assert np.array_equal(offsets_of(ml.index_map(text, m.shape)), offsets_of(m)), text


@each
@some
@given(data=st.data())
def test_reports_are_json_of_the_same_keys(name: str, data: st.DataObject) -> None:
    *_, m = drawn(data, name)
    found = plain(ml.explain(m))
    json.dumps(found)
    assert found.keys() == plain(ml.explain("f32[3,5]{1,0:T(2,2)}")).keys()
