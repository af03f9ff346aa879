"""Arrays in buffers and back, also where elements share slots or are looked up one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morello_layouts.core.expr import coordinate_variables, variable
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.recipe import Merge, Pad, Recipe, Scatter, Transpose, occupied
from morello_layouts.core.recipe.readings import (
    delinearize,
    elements_at,
    elements_by_slot,
    from_bytes,
    offset_of,
    pack_array,
    require_own_slots,
    to_bytes,
    unpack_array,
)
from morello_layouts.errors import LayoutError, UnsupportedError
from tests.support.tables import each_row

ROW, COL = coordinate_variables((3, 4))
N = SizeExpr.named("N")


def scatter(form: Any, size: int, shape: tuple[int, ...] = (3, 4), **more: Any) -> Recipe:
    return Recipe(shape, (Scatter((form,), (size,)),), **more)


RECIPES: dict[str, Recipe] = {
    "a mirror": scatter(11 - 4 * ROW - COL, 12),
    "gaps": scatter(ROW * 8 + COL * 2, 24, tail_padding=2, offset=3),
    "one dimension is not read": scatter(COL * 2, 8),
    "all share a slot": scatter(ROW * 0 + 5, 9),
    "rows overlap": scatter(ROW * 2 + COL, 9),
    "a scatter of a view": Recipe(
        (4, 3), (Transpose((1, 0)), Scatter((ROW, COL), (3, 4)), Merge((2,)), Pad((14,)))
    ),
    "two scatters": Recipe(
        (3, 4),
        (Scatter((ROW, COL * 2), (3, 8)), Merge((2,)), Scatter((variable("d0", 0, 23),), (25,))),
    ),
    "a scatter that joins": Recipe(
        (3, 4), (Scatter((ROW, COL), (3, 4)), Scatter((variable("d0", 0, 2),), (3,)))
    ),
    "one element": scatter(coordinate_variables((1, 1))[0], 1, (1, 1)),
    "no elements": scatter(coordinate_variables((0, 4))[1], 4, (0, 4)),
    "a pad and a tail": Recipe((3, 4), (Pad((3, 5)),), tail_padding=2, offset=1),
}  # fmt: skip


@each_row("name", RECIPES)
def test_every_slot_is_as_the_offsets_say(name: str) -> None:
    recipe = RECIPES[name]
    shape = tuple(int(n) for n in recipe.shape if isinstance(n, int))
    offsets = [int(offset_of(recipe, at, 0)) for at in np.ndindex(*shape)]
    size = int(str(recipe.size))
    first, counts = elements_by_slot(recipe)
    assert counts.tolist() == np.bincount(offsets, minlength=size).tolist()
    assert first.tolist() == [offsets.index(p) if p in offsets else -1 for p in range(size)]
    assert occupied(recipe) == len(set(offsets))
    at, there = elements_at(recipe, np.arange(size))
    assert there.tolist() == [p in offsets for p in range(size)]
    if offsets:
        found = np.ravel_multi_index(tuple(x[there] for x in at), shape)
        assert found.tolist() == first[there].tolist()
    buffer = np.arange(100, 100 + size)
    assert unpack_array(recipe, buffer).reshape(-1).tolist() == buffer[offsets].tolist()
    array = np.arange(len(offsets)).reshape(shape)
    if len(set(offsets)) < len(offsets):
        with pytest.raises(UnsupportedError, match="share slot"):
            require_own_slots(recipe)
        with pytest.raises(UnsupportedError, match="share slot"):
            pack_array(recipe, array, -1)
    else:
        require_own_slots(recipe)
        packed = pack_array(recipe, array, -1)
        assert packed[offsets].tolist() == array.reshape(-1).tolist()
        assert packed.size == size
        assert (packed == -1).sum() == size - len(offsets)


def test_a_buffer_is_memory_of_its_own() -> None:
    for recipe in (Recipe((3, 4)), Recipe((4, 3), (Transpose((1, 0)),))):
        array = np.arange(12).reshape([n for n in recipe.shape if isinstance(n, int)])
        buffer = pack_array(recipe, array, 0)
        assert not np.may_share_memory(buffer, array)
        assert not np.may_share_memory(unpack_array(recipe, buffer), buffer)


def test_a_buffer_may_end_within_the_axes() -> None:
    recipe = Recipe((3,), (Pad((6,)),), tail_padding=-2)
    assert pack_array(recipe, np.arange(3), 9).tolist() == [0, 1, 2, 9]
    assert unpack_array(recipe, np.arange(4)).tolist() == [0, 1, 2]


def test_what_is_looked_up_needs_numbers_and_few_elements() -> None:
    large = scatter(coordinate_variables((3, 1 << 30))[1], 1 << 30, (3, 1 << 30))
    assert occupied(large) == 1 << 30


@each_row("bits, dtype", [(72, np.uint64), (80, np.int64), (3, np.int8), (12, np.uint16)])
def test_elements_of_any_width_come_back(bits: int, dtype: Any) -> None:
    values = np.array([1, 2, 3, 0, 2], dtype)
    data = to_bytes(values, bits)
    assert data.size == -(-len(values) * bits // 8)
    whole = int.from_bytes(data.tobytes(), "little")
    assert [whole >> bits * k & ((1 << bits) - 1) for k in range(5)] == values.tolist()
    if bits <= 64:
        assert from_bytes(data, bits, 5, dtype).tolist() == values.tolist()
    else:
        with pytest.raises(LayoutError, match="bits"):
            from_bytes(data, bits, 5, dtype)


def test_digits_of_a_form_do_not_nest() -> None:
    """Sorting sums of digits of digits took the square of their depth for each pair."""
    digits = delinearize(variable("p", 0, 2**50 - 1), (2,) * 50)
    assert {atom.depth for form in digits for atom in form.atoms() if atom.operands} == {1}
