"""Where an element is, by names of the physical axes; which element is somewhere; addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Final, Literal, TypeAlias, get_args

from morello_layouts.core.checks import as_index, as_int, as_integers, shown, spread
from morello_layouts.core.description import amount, listed
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import HOLDERS
from morello_layouts.core.maps.map import AffineMap
from morello_layouts.core.maps.view import number_of
from morello_layouts.core.recipe import (
    Recipe,
    coordinates_at,
    elements_at,
    elements_by_slot,
    has_inverse,
    known,
    linear_index,
    named_forms,
    physical_coordinates,
)
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError

MEMORY: Final = "offset"
"""The name of the place of an element in plain memory, whose axes have no names."""


_HOLDERS_SHOWN: Final = 8


class Place(Mapping[str, Any]):
    """The coordinates of an element along named axes; if several places hold it, of the first.

    >>> Place([{"lane": 3, "register": 1}, {"lane": 7, "register": 1}])["lane"]
    3
    """

    def __init__(self, holders: Sequence[Mapping[str, Any]]) -> None:
        #: all places that hold the element, each from axis name to coordinate.
        self.holders = tuple(dict(one) for one in holders)

    def __getitem__(self, name: str) -> Any:
        return self.holders[0][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.holders[0])

    def __len__(self) -> int:
        return len(self.holders[0])

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))  # equal to any mapping of the same coordinates

    def __str__(self) -> str:
        more = len(self.holders) - 1
        values = {name: [*dict.fromkeys(str(one[name]) for one in self.holders)] for name in self}
        if 0 < more < _HOLDERS_SHOWN and sum(len(own) > 1 for own in values.values()) == 1:
            return ", ".join(f"{n}{'s' * (len(v) > 1)} {listed(v)}" for n, v in values.items())
        first = ", ".join(f"{name} {x}" for name, x in self.items())
        return first if not more else f"{first}, and {more} more place{'s' if more > 1 else ''}"

    def __repr__(self) -> str:
        return f"<Place: {self}>"


def names_of_axes(recipe: Recipe) -> tuple[str, ...]:
    """Return the names by which a place is given: those of the axes, or of the offset alone."""
    return recipe.axis_names or (MEMORY,)


def number_of_axis(recipe: Recipe, axis: str) -> int:
    """Return which axis has a name."""
    names = names_of_axes(recipe)
    if axis in names:
        return names.index(axis)
    raise ShapeError(
        f"there is no axis {axis}",
        f"the places of this layout are given by {', '.join(names)}",
        "ask for the whole place: m.place(…)",
    )


def place_of(recipe: Recipe, coordinate: Sequence[Any]) -> Place:
    """Return the place of the element at a coordinate, of ints or arrays that broadcast."""
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
    """Return the slot at a place, of ints or arrays; an axis of one value may be left out."""
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


def coordinates_of(recipe: Recipe, offset: Any) -> Any:
    """Return the coordinate of the element at an offset; at padding, arrays have -1, ints None."""
    (size,) = known((recipe.size,))
    is_array = isinstance(offset, list) or getattr(offset, "ndim", 0) > 0
    p: Any = as_integers(offset, "the offset", size) if is_array else as_index(offset)
    ends = [p] if not is_array else [p.min(), p.max()] if p.size else []
    for x in ends:
        if not 0 <= x < size:
            raise ShapeError(
                f"offset {x} is outside of the buffer",
                f"the buffer spans {size} elements",
                f"give an offset from 0 to {size - 1}",
            )
    if 0 in (shape := known(recipe.shape)):  # all slots are padding
        return tuple(np.full(p.shape, -1) for _ in shape) if is_array else None
    if not has_inverse(recipe):
        return _looked_up(recipe, p)
    if is_array:
        return _of_array(recipe, p)
    at, limits = coordinates_at(recipe, p)
    return at if all(x < n for x, n in limits) else None


def _of_array(recipe: Recipe, p: Any) -> tuple[Any, ...]:
    at, is_element = elements_at(recipe, p)
    return tuple(np.where(is_element, x, -1) for x in at)


def _looked_up(recipe: Recipe, p: Any) -> Any:
    """Return the coordinate of each offset that holds one element."""
    first, counts = elements_by_slot(recipe)
    shared = np.extract(counts[p] > 1, p)
    if len(shared):
        raise UnsupportedError(
            f"offset {shared[0]} holds {counts[shared[0]]} elements",
            "an offset has one coordinate if no two elements share it",
            "ask for the offsets of coordinates instead",
        )
    if np.ndim(p):
        return _of_array(recipe, p)
    if first[p] < 0:
        return None
    return tuple(map(int, np.unravel_index(first[p], known(recipe.shape))))


Unit: TypeAlias = Literal["elements", "bytes", "bits"]
"""What offsets count."""


def bits_of_unit(m: Any, unit: Unit, bits: int | None) -> tuple[int, int]:
    """Return the bits of an element and of a unit; both are 1 if elements are counted."""
    if unit not in get_args(Unit):
        raise LayoutError(
            f"unit: expected elements, bytes or bits, got {shown(unit)}",
            "offsets count one of these",
            'give unit="bytes"',
        )
    if unit == "elements":
        return 1, 1
    if bits is None and m.element_type is None:
        raise LayoutError(
            f"unit: {m.source or 'the layout'} does not say how many bits an element has",
            f"an address in {unit} needs the element's type",
            'give bits=16, or unit="elements"',
        )
    own: int = 0 if m.element_type is None else m.element_type.bits
    each = own if bits is None else as_int(bits, "bits", 1, 2**16, fix="give bits=16")
    return each, 8 if unit == "bytes" else 1


def address_of(m: Any, unit: Unit, base: Any, bits: int | None) -> AffineMap:
    """Return the map from coordinates to addresses; arguments as of :meth:`IndexMap.address`."""
    each, per = bits_of_unit(m, unit, bits)
    offset = memory_form(m)
    whole_units = each % per == 0
    forms = [offset * (each // per)] if whole_units else [offset * each // per, offset * each % per]
    results = {"elements": (), "bits": ("bit",)}.get(unit, ("byte", "bit")[: len(forms)])
    start = number_of(base)
    if start is None:
        raise LayoutError(
            f"base: expected an integer, a name or a SymPy expression, got {shown(base)}",
            "the base is where the buffer begins",
            'give for example base="base" or base=4096',
        )
    symbols = {s.name: s for s in getattr(base, "free_symbols", ())}
    size = m.recipe.size * (each // per) if start == 0 and len(forms) == 1 else None
    found: AffineMap = replace(
        m.affine_map,
        given=(forms[0] + start, *forms[1:]),
        buffer_size=size,
        size_symbols={**m.size_symbols, **symbols},
        results=results,
    )
    return found.named(*m.names)


def memory_form(m: Any) -> AffineExpr:
    """Return the offset in memory: in that of one device, if the array is on several."""
    plain: AffineExpr = m.reference_form
    if not m.recipe.axis_names:
        return plain
    for name, form in named_forms(m.recipe, m.form):
        if name == MEMORY:
            return form
    raise UnsupportedError(
        f"{m.source or 'the layout'} has no addresses",
        f"its elements lie along {', '.join(m.recipe.axis_names)}, not in memory",
        "ask for their place: m.place(…)",
    )
