"""The legend below a panel: what borders, hatching, colours and marks mean in it."""

from __future__ import annotations

from collections.abc import Iterator

from morello_layouts.picture.markup import element, escaped
from morello_layouts.picture.panel import Panel, coordinate_text
from morello_layouts.picture.svg_grid import Drawn, text_width

__all__ = ["legend"]

_LINE = 20
_SAMPLE = 26


def legend(panel: Panel, x: float, y: float, room: float) -> Drawn:
    """Samples with their meaning, in lines that fit the room."""
    parts: list[str] = []
    at, top, widest = x, y, 0.0
    for kind, text in _entries(panel):
        width = _SAMPLE + text_width(text, 11)
        if at > x and at + width > x + room:
            at, top = x, top + _LINE
        parts.append(_sample(kind, at, top))
        parts.append(element("text", escaped(text), class_="l", x=at + _SAMPLE, y=top + 12))
        at += width + 18
        widest = max(widest, at - 18 - x)
    return Drawn("".join(parts), widest, top + _LINE - y if parts else 0)


def _entries(panel: Panel) -> Iterator[tuple[str, str]]:
    view, style = panel.view, panel.style
    for k, level in enumerate(view.levels):
        yield f"b{min(k, 2)}", f"border of a tile {level}"
    if style.colour == "word":
        yield "c0", f"one colour, one number w: one {style.word_bits}-bit word"
    elif view.levels:
        yield "c0", f"one colour: one tile {view.levels[0]}"
    slots = view.strip.slots if view.strip is not None else ()
    if any(cell.is_padding for cell in view.cells()) or any(
        slot is not None and slot.coordinate is None for slot in slots
    ):
        yield "p", "padding"
    if style.box_tiles:
        yield "mark", f"a tile {view.levels[style.box_tiles - 1]}"
    for kind, marked in (("mark", style.boxes), ("dot", style.dots)):
        for coordinate in marked[:4]:
            yield kind, f"{coordinate_text(coordinate)} lies at offset {panel.map(*coordinate)}"
        if len(marked) > 4:
            yield kind, f"and {len(marked) - 4} more"
    if panel.moved:
        yield "moved", panel.moved


def _sample(kind: str, x: float, y: float) -> str:
    match kind:
        case "b0" | "b1" | "b2":
            return element("path", class_=kind, d=f"M{x + 2:g} {y + 8:g}h16")
        case "dot":
            return element("circle", class_="dot", cx=x + 10, cy=y + 8, r=4)
        case "moved":
            return element("path", class_="moved", d=f"M{x + 6:g} {y + 4:g}h8l-8 8z")
        case _:
            sample = element("rect", class_=kind, x=x + 2, y=y + 1, width=16, height=14)
            return sample if kind == "mark" else element("g", sample, class_="sample")
