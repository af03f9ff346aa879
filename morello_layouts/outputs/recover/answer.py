"""The answer to "what layout is this?": the layouts that fit, and what would tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.plain import Displayed
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.recover.few import common
from morello_layouts.outputs.recover.layouts import (
    Found,
    Known,
    Observed,
    found_in,
    has_offsets,
    map_at,
)
from morello_layouts.outputs.recover.nearest import Box, boxes_of, no_layout
from morello_layouts.outputs.recover.orders import MORE, offset_of
from morello_layouts.outputs.translate.writers import WRITERS, written

MOST: Final = 20
"""Layouts that an answer has."""

BOX: Final = 16
"""Elements for each box, at least, where offsets are cut into boxes."""

_ASKED: Final = 3
"""Elements of larger arrays that an answer names."""


@frozen
class Decider:
    """An element that lies elsewhere in each of several layouts."""

    json_keys: ClassVar = ("*",)

    shape: tuple[int, ...]  #: the sizes of its array, which may be larger than those given.
    coordinate: tuple[int, ...]  #: the coordinate of the element.
    offsets: tuple[int | None, ...]  #: where it lies by each layout; None if that has one shape.

    def __str__(self) -> str:
        count = len({*self.offsets} - {None})
        sizes = "x".join(map(str, self.shape))
        first = next(offset for offset in self.offsets if offset is not None)
        return f"the element at {self.coordinate} of {sizes}, {count} offsets, {first} by the best"


class Text(NamedTuple):
    """The text of a layout in a notation."""

    notation: str
    text: str


@frozen(slots=False)
class Recovered(Displayed):
    """The layouts that have the offsets of what was given, each compared with all of it."""

    json_keys: ClassVar = (
        "layouts", "texts=by_notation", "left_out", "boxes", "shapes", "deciders", "unknown",
    )  # fmt: skip

    found: tuple[Found, ...]  #: the layouts with their digits, the best first.
    given: tuple[Observed | Known, ...]  #: the tables they were compared with.
    left_out: int = 0  #: how many more layouts fit, of at most two digits more than the shortest.
    #: if no layout has all offsets: boxes of coordinates, each with a number for each step.
    boxes: tuple[Box, ...] = ()

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
        best, shape = self.layouts[:1], self.shapes[0]
        for to in WRITERS if best else ():
            with suppress(LayoutError):
                layout = written(map_at(best[0], shape), to)
                if all(has_offsets(layout, one) for one in self.given):
                    found[to] = str(layout)
        return found

    @property
    def by_notation(self) -> tuple[Text, ...]:
        """The texts with the names of their notations."""
        return tuple(Text(*each) for each in self.texts.items())

    @cached_property
    def deciders(self) -> tuple[Decider, ...]:
        """Elements that would tell the layouts apart, the first one the most.

        They are elements of a larger array, if all elements of one were given.
        """
        if isinstance(self.given[0], Known):
            return self._deciding(self.shapes[0])
        largest = [max(sizes) for sizes in zip(*self.shapes, strict=True)]
        for dim, size in enumerate(largest):
            units = (part.unit for one in self.found for part in one.order or () if part.dim == dim)
            largest[dim] = max(size, 0, *units)
        tried = (self._deciding(tuple(n + more for n in largest)) for more in (1, 2, 3, 5))
        return next(filter(None, tried), ())

    def _deciding(self, shape: tuple[int, ...]) -> tuple[Decider, ...]:
        """Elements of an array of a shape that tell the layouts apart."""
        orders = [one.order for one in self.found if one.order is not None]
        rank = range(len(shape))
        units = [{part.unit for order in orders for part in order if part.dim == k} for k in rank]
        places = [tuple(x if j == k else 0 for j in rank)
                  for k in rank for x in sorted({*units[k], shape[k] - 1})
                  if x < shape[k]]  # fmt: skip
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

    @property
    def _held(self) -> str:
        """Where the layouts have the offsets."""
        one = self.given[0]
        shapes = " and ".join("x".join(map(str, shape)) for shape in self.shapes)
        if isinstance(one, Known):
            return f"fits {len(one.values):,} elements of {shapes}, of layouts in common use"
        inner = f", the last dimension is the {one.inner}" if one.inner else ""
        bits = f", in slots of {one.bits} bit{'s' * (one.bits > 1)}" if one.bits else ""
        return f"equal at {shapes}{inner}{bits}"

    def __str__(self) -> str:
        if self.boxes:
            boxes = (f"  {box}" for box in self.boxes)
            return "\n".join([f"{len(self.boxes)} boxes, {self._held}", *boxes])
        best, *others = self.layouts
        lines = [f"{best}    {self._held}"]
        lines += [f"  {to}: {text}" for to, text in self.texts.items()]
        lines += [f"or {layout}" for layout in others]
        lines += [f"or {self.left_out} more"] if self.left_out else []
        lines += [f"would decide: {each}" for each in self.deciders]
        return "\n".join([*lines, *(f"cannot be told: {each}" for each in self.unknown)])


def recovered(given: Sequence[Observed | Known]) -> Recovered:
    """Return the layouts of tables, or of some elements whose places are known.

    Raises:
        NoLayoutError: if none has these offsets.
    """
    tables = [one for one in given if isinstance(one, Observed)]
    found = [*found_in(tables)] if tables else [*common(given[0])]  # type: ignore[arg-type]
    if not tables:
        found = [one for one in found if one.digits <= found[0].digits + MORE]
    if found:
        return Recovered(tuple(found[:MOST]), tuple(given), len(found[MOST:]))
    if len(tables) > 1:
        own = (f"{'x'.join(map(str, one.shape))}: {_in_short(recovered([one]))}" for one in tables)
        raise LayoutError(
            f"no layout fits all {len(given)} shapes", "alone: " + ", ".join(own), "give fewer"
        )
    one = tables[0]
    is_bits = one.inner == "bit"
    error = None if is_bits else no_layout(one)
    if error is None or BOX * error.unlike > one.table.size or error.near is None:
        boxes = boxes_of(one.table, MOST if is_bits else min(MOST, one.table.size // BOX))
        if boxes:
            return Recovered((), tuple(given), boxes=boxes)
    raise error or no_layout(one)


def _in_short(one: Recovered) -> str:
    return str(one.layouts[0]) if one.layouts else f"{len(one.boxes)} boxes"
