"""The recipe step by step, for cells: the coordinate and the position after each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from morello_layouts.picture.strip import integers
from morello_layouts.recipe import (
    Merge,
    Pad,
    Recipe,
    Split,
    Step,
    Transpose,
    delinearize,
    known,
    linear_index,
    logical_coordinates,
)

__all__ = ["Stage", "stages_of"]


@dataclass(frozen=True, slots=True)
class Stage:
    """The array after some steps of its recipe.

    Attributes:
        name: of the step that leads here.
        shape: the sizes of the axes now.
        words: what the step did.
        coordinates: of each place over these axes; None where it is not there yet.
        numbers: of each place its row-major position in this shape; None as above.
    """

    name: str
    shape: tuple[int, ...]
    words: str
    coordinates: tuple[tuple[int, ...] | None, ...]
    numbers: tuple[int | None, ...]


def stages_of(recipe: Recipe, offsets: Sequence[int]) -> tuple[Stage, ...]:
    """The array, and what it is after each step, at places given by their offsets.

    >>> from morello_layouts import index_map
    >>> recipe = index_map("f32[3,5]{1,0:T(2,2)}").recipe
    >>> [(stage.name, stage.coordinates[0], stage.numbers[0]) for stage in stages_of(recipe, [17])]
    [('array', (2, 3), 13), ('pad', (2, 3), 15), ('split', (1, 0, 1, 1), 15), \
('transpose', (1, 1, 0, 1), 17)]
    """
    (size,) = known((recipe.size,))
    physical = delinearize(integers(list(offsets), size), recipe.physical_shape)
    stages = []
    for k, sizes in enumerate(recipe.shapes):
        shape = known(sizes)
        rest = Recipe(sizes, recipe.steps[k:])
        at, _ = logical_coordinates(rest, physical)
        columns = [np.broadcast_to(x, (len(offsets),)).tolist() for x in at]
        places = list(zip(*columns, strict=True)) if columns else [()] * len(offsets)
        there = [all(x < n for x, n in zip(place, shape, strict=True)) for place in places]
        pairs = list(zip(places, there, strict=True))
        stages.append(
            Stage(
                recipe.steps[k - 1].name if k else "array",
                shape,
                _words(recipe.steps[k - 1], known(recipe.shapes[k - 1]), shape) if k else _ARRAY,
                tuple(place if is_there else None for place, is_there in pairs),
                tuple(_number(place, shape) if is_there else None for place, is_there in pairs),
            )
        )
    return tuple(stages)


_ARRAY = "the array in row-major order: the last index moves fastest"


def _number(place: tuple[int, ...], shape: tuple[int, ...]) -> int:
    number: Any = linear_index(place, shape, 0)
    return int(number)


def _words(step: Step, before: tuple[int, ...], after: tuple[int, ...]) -> str:
    """What a step did, for people."""
    match step:
        case Pad():
            added = prod(after) - prod(before)
            return f"whole tiles need {added:,} more places, which hold nothing"
        case Split(tiles):
            parts = [f"{n} = {n // t}·{t}" for n, t in zip(before, tiles, strict=True) if t]
            return f"axes in two: {', '.join(parts)}; every place keeps its number"
        case Transpose(order):
            return f"the axes in the order {list(order)}; the last one moves fastest now"
        case Merge():
            groups = [group for group in step.groups(before) if len(group) != 1]
            parts = [f"{'·'.join(map(str, group)) or '1'}" for group in groups]
            return f"axes joined: {', '.join(parts)}; every place keeps its number"
