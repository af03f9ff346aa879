"""Xor and Replicate in every reading of a recipe, against one place at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings

from morello_layouts.core.recipe import (
    Merge,
    Recipe,
    Replicate,
    Split,
    Xor,
    coordinates_at,
    elements_at,
    elements_by_slot,
    known,
    occupied,
    offset_of,
    pack_array,
    physical_coordinates,
    unpack_array,
)
from tests.support.recipes import places, recipes


def slots(recipe: Recipe) -> dict[int, tuple[int, ...]]:
    """The element at each slot that holds one."""
    found: dict[int, tuple[int, ...]] = {}
    for element, holders in places(recipe):
        for at in holders:
            slot = int(np.ravel_multi_index(at, known(recipe.physical_shape)))
            slot += known((recipe.offset,))[0]
            assert slot not in found
            found[slot] = element
    return found


@settings(max_examples=50)
@given(recipes())
def test_coordinates_and_their_inverse(recipe: Recipe) -> None:
    for element, holders in places(recipe):
        assert physical_coordinates(recipe, element, 0) == holders[0]
        copies = np.indices(recipe.replica_sizes).reshape(-1, recipe.replicas)
        rows: list[Any] = list(physical_coordinates(recipe, element, 0, list(copies)))
        table = np.stack(np.broadcast_arrays(*rows, np.zeros(recipe.replicas, int))[:-1], axis=1)
        assert table.tolist() == [list(one) for one in holders]
    expected = slots(recipe)
    for slot in range(known((recipe.size,))[0]):
        at, limits = coordinates_at(recipe, slot)
        assert expected.get(slot) == (at if all(x < n for x, n in limits) else None)


@settings(max_examples=50)
@given(recipes())
def test_arrays_and_their_buffers(recipe: Recipe) -> None:
    expected = slots(recipe)
    array = np.arange(np.prod(known(recipe.shape))).reshape(known(recipe.shape))
    buffer = pack_array(recipe, array, -1)
    size = known((recipe.size,))[0]
    wanted = [-1 if k not in expected else array[expected[k]] for k in range(size)]
    assert buffer.tolist() == wanted
    assert (unpack_array(recipe, buffer) == array).all()
    first, counts = elements_by_slot(recipe)
    assert first.tolist() == wanted
    assert counts.max(initial=0) <= 1
    at, there = elements_at(recipe, np.arange(size))
    assert array[tuple(x[there] for x in at)].tolist() == [x for x in wanted if x >= 0]
    assert occupied(recipe) == len(expected)


def test_a_swizzle_and_its_text() -> None:
    recipe = Recipe((8, 8), (Xor(1, 0),))
    assert str(recipe) == "[8,8] → xor axis 1 with axis 0"
    assert offset_of(recipe, (3, 5), 0) == 8 * 3 + (5 ^ 3)
    shifted = Recipe((8, 8), (Split((None, 4)), Xor(2, 0, 1), Merge((1, 2))))
    assert str(shifted) == ("[8,8] → split [8,2,4] → xor axis 2 with (axis 0 >> 1) → merge [8,8]")


def test_named_axes_and_replicas() -> None:
    recipe = Recipe((2, 2), (Merge((2,)), Replicate((8,)), Merge((2,))), axis_names=("lane",))
    assert str(recipe) == "[2,2] → merge [4] → replicate [4,8] → merge [32] (lane)"
    assert recipe.map_sizes(lambda n: n) == recipe
    assert recipe.replicas == 8
