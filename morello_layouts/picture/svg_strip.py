"""The memory strip as SVG: slots in order, over as many lines as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from morello_layouts.picture.borders import border_between
from morello_layouts.picture.markup import element, escaped, number
from morello_layouts.picture.panel import Panel
from morello_layouts.picture.strip import Slot, Strip, slots_per_line
from morello_layouts.picture.svg_grid import Drawn, dots, text_width

__all__ = ["draw_strip", "slot_width"]

_HEIGHT = 24
_LINE = 50  # with the offsets above


def slot_width(strip: Strip) -> float:
    """The width of each slot: room for its coordinate inside and its offset above."""
    slots = [slot for slot in strip.slots if slot is not None]
    inside = max((len(_inside(slot)) for slot in slots), default=1)
    above = max((len(str(slot.offset)) for slot in slots), default=1)
    return max(24, text_width("0" * inside, 11) + 9, text_width("0" * above, 10) + 6)


def draw_strip(panel: Panel, strip: Strip, x: float, y: float, room: float) -> Drawn:
    """The strip, its upper left corner at (x, y), in lines that fit the room."""
    width = slot_width(strip)
    count = slots_per_line(strip, int(room // width))
    parts = [element("text", _title(strip), class_="t", x=x, y=y + 11)]
    lines = [strip.slots[k : k + count] for k in range(0, len(strip.slots), count)]
    before: Slot | None = None
    for k, line in enumerate(lines):
        top = y + 34 + k * _LINE
        parts += _line(panel, (before, *line), x, top, width)
        before = line[-1]
    longest = max((len(line) for line in lines), default=0)
    widest = max(longest * width + 2, text_width(_title(strip), 12))
    return Drawn("".join(parts), widest, 34 + len(lines) * _LINE - 14)


def _title(strip: Strip) -> str:
    shown = sum(slot is not None for slot in strip.slots)
    some = f", {shown:,} of them shown" if strip.is_cut else ""
    return f"memory: {strip.size:,} {'slot' if strip.size == 1 else 'slots'}{some}"


def _inside(slot: Slot) -> str:
    """The coordinate of the element in a slot; a scalar's has no numbers."""
    return "" if slot.coordinate is None else ",".join(map(str, slot.coordinate)) or "()"


def _border(panel: Panel, before: Slot | None, slot: Slot | None) -> int | None:
    """The level of the border between slots; where colours show words, that between words."""
    if panel.style.colour != "word" or before is None or slot is None:
        return border_between(before, slot)
    words = panel.style.words_of(before.offset), panel.style.words_of(slot.offset)
    return None if words[0] == words[1] else 0


def _line(
    panel: Panel, line: tuple[Slot | None, ...], x: float, y: float, width: float
) -> Iterator[str]:
    """A line of slots, after the slot before them, which is not drawn."""
    edges: dict[int, list[str]] = {}
    for k, (before, slot) in enumerate(pairwise(line)):
        left = x + k * width
        middle = left + width / 2
        if slot is None:
            yield dots(middle, y + _HEIGHT / 2, 5, 0)
        else:
            yield _slot(panel, slot, left, y, width)
        border = _border(panel, before, slot)
        if border is not None:
            edges.setdefault(min(border, 2), []).append(f"M{number(left)} {number(y)}v{_HEIGHT}")
    for level in sorted(edges, reverse=True):
        yield element("path", class_=f"b{level}", d="".join(edges[level]))
    frame = {"x": x, "y": y, "width": (len(line) - 1) * width, "height": _HEIGHT}
    yield element("rect", class_="b1", **frame)


def _slot(panel: Panel, slot: Slot, x: float, y: float, width: float) -> str:
    colour = panel.colour(slot)
    fill = "p" if colour is None else f"c{colour}"
    middle = number(x + width / 2)
    inside = escaped(_inside(slot))
    text = f'<text class="s" x="{middle}" y="{number(y + 16)}">{inside}</text>' if inside else ""
    is_dotted = slot.coordinate in panel.style.dots
    dot = element("circle", class_="dot", cx=x + width - 5, cy=y + 5, r=3) if is_dotted else ""
    is_moved = slot.coordinate in panel.elsewhere
    corner = f"M{number(x + 1)} {number(y + 1)}h6l-6 6z"
    moved = element("path", class_="moved", d=corner) if is_moved else ""
    return (
        f'<g class="slot" data-o="{slot.offset}"><title>{escaped(panel.described(slot))}</title>'
        f'<rect class="{fill}" x="{number(x)}" y="{number(y)}" width="{number(width)}" '
        f'height="{_HEIGHT}"/><text class="n" x="{middle}" y="{number(y - 4)}">{slot.offset}</text>'
        f"{text}{moved}{dot}</g>"
    )
