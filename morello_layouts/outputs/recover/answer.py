"""The answer to "what layout is this?": the layouts that fit, and what would tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.plain import Displayed
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.recover.layouts import Found, Observed, found_in, has_offsets, map_at
from morello_layouts.outputs.recover.nearest import no_layout
from morello_layouts.outputs.recover.orders import offset_of
from morello_layouts.outputs.translate.writers import WRITERS, written

MOST: Final = 20
"""Layouts that an answer has."""

_ASKED: Final = 3
"""Elements of larger arrays that an answer names."""


@frozen
class Decider:
    """An element of a larger array that lies elsewhere in each of several layouts."""

    shape: tuple[int, ...]  #: the sizes of the larger array.
    coordinate: tuple[int, ...]  #: the coordinate of the element.
    offsets: tuple[int | None, ...]  #: where it lies by each layout; None if that has one shape.

    def __str__(self) -> str:
        count = len({*self.offsets} - {None})
        sizes = "x".join(map(str, self.shape))
        first = next(offset for offset in self.offsets if offset is not None)
        return f"the element at {self.coordinate} of {sizes}, {count} offsets, {first} by the best"


@frozen(slots=False)
class Recovered(Displayed):
    """The layouts that have the offsets of what was given, each compared with all of it."""

    json_keys: ClassVar = ("layouts", "texts", "left_out", "shapes", "deciders", "unknown")

    found: tuple[Found, ...]  #: the layouts with their digits, the best first.
    given: tuple[Observed, ...]  #: the tables they were compared with.
    left_out: int = 0  #: how many more layouts fit, of at most two digits more than the shortest.

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts, the best first."""
        return tuple(one.layout for one in self.found)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes at which they have the offsets."""
        return tuple(one.shape for one in self.given)

    @cached_property
    def texts(self) -> dict[str, str]:
        """The best layout in every notation that can say it, by the notation's name."""
        found: dict[str, str] = {}
        best, shape = self.found[0].layout, self.shapes[0]
        for to in WRITERS:
            with suppress(LayoutError):
                layout = written(map_at(best, shape), to)
                if all(has_offsets(layout, one) for one in self.given):
                    found[to] = str(layout)
        return found

    @cached_property
    def deciders(self) -> tuple[Decider, ...]:
        """Elements of larger arrays that would tell the layouts apart, the first one the most."""
        orders = [one.order for one in self.found if one.order is not None]
        rank = range(len(self.shapes[0]))
        units = [{part.unit for order in orders for part in order if part.dim == k} for k in rank]
        shape = tuple(max(*units[k], *(each[k] for each in self.shapes)) + 1 for k in rank)
        places = [tuple(x if j == k else 0 for j in rank)
                  for k in rank for x in sorted({*units[k], shape[k] - 1})]  # fmt: skip
        lie = {at: [offset_of(order, shape, at) for order in orders] for at in places}
        seen: list[Any] = [() for _ in orders]
        found = list[Decider]()
        for _ in range(_ASKED if orders else 0):
            best = max(places, key=lambda at: len({*zip(seen, lie[at], strict=True)}))
            more = [*zip(seen, lie[best], strict=True)]
            if len({*more}) == len({*seen}):
                break
            offsets = iter(lie[best])
            own = tuple(None if one.order is None else next(offsets) for one in self.found)
            found.append(Decider(shape, best, own))
            seen = more
        return tuple(found)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What nothing that was given can tell."""
        found = []
        for dim in range(len(self.shapes[0])):
            if all(shape[dim] == 1 for shape in self.shapes):
                found.append(f"dimension {dim} has size 1: its order and its tiles")
        if all(one.size is None for one in self.given):
            found.append("the size of the buffer: the padding at its end")
        return tuple(found)

    def __str__(self) -> str:
        best, *others = self.layouts
        shapes = " and ".join("x".join(map(str, shape)) for shape in self.shapes)
        lines = [f"{best}    equal at {shapes}"]
        lines += [f"  {to}: {text}" for to, text in self.texts.items()]
        lines += [f"or {layout}" for layout in others]
        lines += [f"or {self.left_out} more"] if self.left_out else []
        lines += [f"would decide: {each}" for each in self.deciders]
        return "\n".join([*lines, *(f"cannot be told: {each}" for each in self.unknown)])


def recovered(given: Sequence[Observed]) -> Recovered:
    """Return the layouts of tables.

    Raises:
        NoLayoutError: if none has these offsets.
    """
    found = [*found_in(given)]
    if found:
        return Recovered(tuple(found[:MOST]), tuple(given), len(found[MOST:]))
    if len(given) > 1:
        own = (f"{'x'.join(map(str, one.shape))}: {recovered([one]).layouts[0]}" for one in given)
        raise LayoutError(
            f"no layout fits all {len(given)} shapes", "alone: " + ", ".join(own), "give fewer"
        )
    raise no_layout(given[0])
