"""Where an element is, by the names of the physical axes, and which element is somewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, Final

from morello_layouts.checks import as_index, shown, spread
from morello_layouts.description import amount
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr, canonicalize
from morello_layouts.expr.sizes import Int
from morello_layouts.limits import HOLDERS
from morello_layouts.recipe import Recipe, delinearize, known, linear_index, physical_coordinates

MEMORY: Final = "offset"
"""The name of the place of an element in plain memory, whose axes have no names."""


class Place(Mapping[str, Any]):
    """The coordinates of an element along named axes; if several places hold it, of the first.

    Attributes:
        holders: all places that hold the element, each from axis name to coordinate.

    >>> Place([{"lane": 3, "register": 1}, {"lane": 7, "register": 1}])["lane"]
    3
    """

    def __init__(self, holders: Sequence[Mapping[str, Any]]) -> None:
        self.holders = tuple(dict(one) for one in holders)

    def __getitem__(self, name: str) -> Any:
        return self.holders[0][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.holders[0])

    def __len__(self) -> int:
        return len(self.holders[0])

    def __str__(self) -> str:
        first = ", ".join(f"{name} {x}" for name, x in self.items())
        more = len(self.holders) - 1
        return first if not more else f"{first}, and {more} more place{'s' if more > 1 else ''}"

    def __repr__(self) -> str:
        return f"<Place: {self}>"


def names_of_axes(recipe: Recipe) -> tuple[str, ...]:
    """Return the names by which a place is given: those of the axes, or of the offset alone."""
    return recipe.axis_names or (MEMORY,)


def number_of_axis(recipe: Recipe, axis: str) -> int:
    """Return which axis has a name.

    Raises:
        ShapeError: if none has.

    >>> number_of_axis(Recipe((8, 4), axis_names=("device", "offset")), "offset")
    1
    """
    names = names_of_axes(recipe)
    if axis in names:
        return names.index(axis)
    raise ShapeError(
        f"there is no axis {axis}",
        f"the places of this layout are given by {', '.join(names)}",
        "ask for the whole place: m.place(…)",
    )


def place_of(recipe: Recipe, coordinate: Sequence[Any]) -> Place:
    """Return the place of the element at a coordinate, of ints or arrays that broadcast.

    Raises:
        UnsupportedError: if there are too many places to list them.
    """
    replicas = known(recipe.replica_sizes)
    if prod(replicas) > HOLDERS:
        raise UnsupportedError(
            f"each element is on {amount(prod(replicas))} places",
            f"up to {HOLDERS:,} holders are listed",
            "ask for the offset of the first one: m(…)",
        )
    names, zero = names_of_axes(recipe), coordinate[0] * 0 if coordinate else 0
    shape, (start,) = known(recipe.physical_shape), known((recipe.offset,))
    holders = []
    for replica in product(*map(range, replicas)):
        at = physical_coordinates(recipe, coordinate, zero, replica)
        if not recipe.axis_names:
            at = (linear_index(at, shape, zero) + start,)
        holders.append({n: spread(x, coordinate) for n, x in zip(names, at, strict=True)})
    return Place(holders)


def slot_of(recipe: Recipe, place: Mapping[str, Any]) -> Any:
    """Return the slot at a place, of ints or arrays; an axis of one value may be left out.

    Raises:
        ShapeError: if an axis is missing or unknown, or a coordinate is outside of it.
    """
    names = names_of_axes(recipe)
    axes = zip(recipe.axis_names, recipe.physical_shape, strict=False)  # memory has no names
    place = {**{name: 0 for name, n in axes if n == 1}, **place}
    if {*place} != {*names}:
        raise ShapeError(
            f"a place: expected {', '.join(names)}, got {', '.join(place) or 'nothing'}",
            "a place has a coordinate along each axis of the layout",
            f"give {', '.join(f'{name}=…' for name in names)}",
        )
    if not recipe.axis_names:
        return place[MEMORY]
    at, shape = [], known(recipe.physical_shape)
    for name, n in zip(names, shape, strict=True):
        x = place[name] if getattr(place[name], "ndim", 0) else as_index(place[name])
        inside = (x >= 0) & (x < n)
        if not (inside if isinstance(inside, bool) else inside.all()):
            raise ShapeError(
                f"{name}={shown(x)} is outside of the axis",
                f"{name} has {n} values",
                f"give a number from 0 to {n - 1}",
            )
        at.append(x)
    return linear_index(at, shape, 0) + known((recipe.offset,))[0]


def named_forms(recipe: Recipe, offset: AffineExpr) -> tuple[tuple[str, AffineExpr], ...]:
    """Return a formula for each named axis, cut from that of the offset; none without names.

    >>> from morello_layouts.expr import variable
    >>> lanes = Recipe((8, 4), axis_names=("lane", "register"))
    >>> [f"{name}: {form}" for name, form in named_forms(lanes, 4 * variable("i", 0, 7) + 1)]
    ['lane: i', 'register: 1']
    """
    if not recipe.axis_names:
        return ()
    shape: tuple[Int, ...] = recipe.physical_shape
    digits = delinearize(offset - recipe.offset, shape)
    forms = (canonicalize(digit) for digit in digits)
    return tuple(zip(recipe.axis_names, forms, strict=True))
