"""Pastels for tiles and words, on light and on dark paper, and which of them each one gets."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from morello_layouts.picture.grid import Cell, View
from morello_layouts.picture.strip import Slot
from morello_layouts.picture.style import Style

__all__ = ["DARK", "LIGHT", "Paper", "colour_numbers", "key_of"]


@dataclass(frozen=True, slots=True)
class Paper:
    """The colours of a picture on one kind of paper.

    Attributes:
        background: the paper.
        ink: text and thick borders.
        dim: labels.
        line: the lines between cells.
        red: marks.
        pastels: fills of cells; neighbours differ.
    """

    background: str
    ink: str
    dim: str
    line: str
    red: str
    pastels: tuple[str, ...]


LIGHT: Final = Paper(
    "#ffffff", "#1c1e21", "#565d66", "#b4bac2", "#d3122b",
    ("#cfe3f7", "#fde0b8", "#d0edcf", "#f6cfd8", "#ded5f3", "#f7f0b4",
     "#c3ebe6", "#ead9c8", "#f3cdee", "#dde7bd", "#c3d0ea", "#fbcdbc"),
)  # fmt: skip

DARK: Final = Paper(
    "#15181c", "#eceff2", "#a3abb5", "#59616b", "#ff7381",
    ("#1f4468", "#6b4613", "#24532a", "#6a2c3b", "#463a70", "#524b14",
     "#1a524d", "#594633", "#66305f", "#465222", "#38476a", "#70392a"),
)  # fmt: skip


def key_of(place: Cell | Slot, style: Style) -> Hashable:
    """What places of one colour share."""
    if style.colour == "word":
        return style.words_of(place.offset)[0]
    return place.tiles[0] if place.tiles else ()


def colour_numbers(view: View, style: Style) -> dict[Hashable, int]:
    """A pastel for each tile or word, another than that of the cells left, above and before.

    They are given out in the order in which the cells are read, so that few tiles all differ.
    """
    given: dict[Hashable, int] = {}
    for key, neighbours in _met(view, style):
        if key not in given:
            taken = {given[other] for other in neighbours if other in given}
            start = len(given)
            turns = (k % len(LIGHT.pastels) for k in range(start, start + len(LIGHT.pastels)))
            given[key] = next(k for k in turns if k not in taken)
    return given


def _met(view: View, style: Style) -> Iterator[tuple[Hashable, list[Hashable]]]:
    """The keys in reading order, each with those of the places beside it."""
    for grid in view.grids:
        above: list[Hashable | None] = [None] * len(grid.columns)
        for row in grid.cells:
            if all(cell is None for cell in row):
                continue
            left: Hashable | None = None
            for column, cell in enumerate(row):
                if cell is None:
                    continue
                key = key_of(cell, style)
                yield key, [k for k in (left, above[column]) if k is not None]
                left = above[column] = key
    if view.strip is not None:
        yield from _in_order((slot for slot in view.strip.slots if slot is not None), style)


def _in_order(slots: Iterable[Slot], style: Style) -> Iterator[tuple[Hashable, list[Hashable]]]:
    before: Hashable | None = None
    for slot in slots:
        key = key_of(slot, style)
        yield key, [] if before is None else [before]
        before = key
