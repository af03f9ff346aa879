"""A panel in a terminal: title, formula, grid, memory strip and what marks mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING

from morello_layouts.picture.borders import border_between
from morello_layouts.picture.fit import fitted_view
from morello_layouts.picture.grid import View
from morello_layouts.picture.panel import Panel, coordinate_text
from morello_layouts.picture.strip import Slot, Strip, slots_per_line
from morello_layouts.picture.terminal import UNICODE, Glyphs, terminal_lines

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["panel_lines"]

_TALLEST = 40
_LABEL = "memory "
_MOST_SLOTS = 64


def panel_lines(panel: Panel, width: int, glyphs: Glyphs = UNICODE) -> list[Text]:
    r"""The lines of a panel, at most about so wide.

    >>> from morello_layouts import draw
    >>> (panel,) = draw("f32[2,3]{0,1}", dots=[(1, 2)]).panels
    >>> print(*(line.plain for line in panel_lines(panel, 80)[2:]), sep="\n")
    d0 ↓ d1 →  0  1  2
            0  0  2  4
            1  1  3 •5
    memory   0   1   2   3   4   5
           0,0 1,0 0,1 1,1 0,2 1,2
    • (1, 2) lies at offset 5
    """
    return list(_lines(panel, width, glyphs))


def _lines(panel: Panel, width: int, glyphs: Glyphs) -> Iterator[Text]:
    from rich.text import Text

    for text, style in zip(panel.headings, ("bold", ""), strict=False):
        for line in wrap(text, max(width, 30), break_on_hyphens=False):
            yield Text(line, style=style)
    marks = dict.fromkeys(panel.elsewhere, glyphs.moved)
    marks |= dict.fromkeys(panel.style.boxes, glyphs.box)
    marks |= dict.fromkeys(panel.style.dots, glyphs.dot)
    lines = terminal_lines(panel.view, panel.names, glyphs, marks)
    if len(lines) > _TALLEST or any(len(line) > width for line in lines):
        # A mark is one character more in each cell.
        fitted = fitted_view(panel.map, panel.names, max(width - len(_LABEL), 20))
        lines = terminal_lines(fitted, panel.names, glyphs, marks)
    yield from lines
    yield from _strip(panel.view, width, glyphs)
    for coordinate in panel.style.dots[:4]:
        yield Text(_marked(panel, glyphs.dot, coordinate))
    for coordinate in panel.style.boxes[:4]:
        yield Text(_marked(panel, glyphs.box, coordinate))
    if panel.style.colour == "word":
        yield Text(
            f"{panel.style.word_bits}-bit words hold elements of {panel.style.element_bits} bits"
        )
    if panel.moved:
        yield Text(f"{glyphs.moved} {panel.moved}")


def _marked(panel: Panel, mark: str, coordinate: tuple[int, ...]) -> str:
    return f"{mark} {coordinate_text(coordinate)} lies at offset {panel.map(*coordinate)}"


def _strip(view: View, width: int, glyphs: Glyphs) -> Iterator[Text]:
    """Two lines for each line of the strip: offsets, and below them coordinates."""
    from rich.text import Text

    strip = view.strip
    if strip is None or not view.grids:
        return
    slots = _few(strip)
    inside = [_inside(slot, glyphs) for slot in slots]
    above = [glyphs.gap if slot is None else str(slot.offset) for slot in slots]
    each = max(map(len, (*inside, *above)), default=1)
    edges = sum(border_between(a, b) == 0 for a, b in pairwise(slots))
    spacing = 3 if 4 * edges > len(slots) else 1.5  # a border takes two characters more
    count = slots_per_line(strip, int((width - len(_LABEL)) / (each + spacing)))
    before: Slot | None = None
    for start in range(0, len(slots), count):
        first, second = _LABEL if start == 0 else " " * len(_LABEL), " " * len(_LABEL)
        for k in range(start, min(start + count, len(slots))):
            slot = slots[k]
            lead = "" if k == start else " "
            if k > start and border_between(before, slot) == 0:
                lead = f" {glyphs.vertical} "
            filler = glyphs.padding * each
            is_padding = slot is not None and slot.coordinate is None
            first += lead + above[k].rjust(each)
            second += lead + (filler if is_padding else inside[k].rjust(each))
            before = slot
        yield Text(first, style="dim")
        yield Text(second)


def _few(strip: Strip) -> list[Slot | None]:
    """The slots that a terminal shows: the first ones, and the last."""
    slots = list(strip.slots)
    if len(slots) <= _MOST_SLOTS:
        return slots
    return [*slots[: _MOST_SLOTS - 3], None, *slots[-2:]]


def _inside(slot: Slot | None, glyphs: Glyphs) -> str:
    if slot is None:
        return glyphs.gap
    return "" if slot.coordinate is None else ",".join(map(str, slot.coordinate)) or "()"
