"""Pictures as SVG documents, with a legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final
from zlib import crc32

from morello_layouts.core.maps import IndexMap
from morello_layouts.outputs.picture.panel import BANKS, DARK, LIGHT, Panel, Paper
from morello_layouts.outputs.picture.svg_parts import (
    Drawn,
    GridDrawing,
    cell_width,
    dot,
    draw_scale,
    draw_strip,
    element,
    escaped,
    number,
    path,
    rect,
    scale_of,
    slot_width,
    text,
    text_width,
)

_LINE = 20
_SAMPLE = 26


def legend(panel: Panel, x: float, y: float, room: float) -> Drawn:
    """Draw samples with their meaning, in lines that fit the room."""
    parts: list[str] = []
    at, top, widest = x, y, 0.0
    for kind, meaning in _entries(panel):
        width = _SAMPLE + text_width(meaning, 11)
        if at > x and at + width > x + room:
            at, top = x, top + _LINE
        parts.append(_sample(kind, at, top))
        parts.append(text(meaning, "l", at + _SAMPLE, top + 12))
        at += width + 18
        widest = max(widest, at - 18 - x)
    return Drawn("".join(parts), widest, top + _LINE - y if parts else 0)


def _entries(panel: Panel) -> Iterator[tuple[str, str]]:
    view, style = panel.view, panel.style
    if view.axes:
        yield "cell", panel.in_cells
    for k, level in enumerate(view.levels):
        yield f"b{min(k, 2)}", f"between tiles of {level}"
    if style.colour == "word":
        yield "c0", f"one colour, one number w: one {style.word_bits}-bit word"
    elif style.colour == "bank":
        yield "c0", f"one colour, one number b: one of {BANKS} banks of {style.word_bits} bits"
    elif style.colour == "offset":
        first = len(LIGHT.pastels)
        yield f"c{first}", "first offset"
        yield f"c{first + len(LIGHT.scale) - 1}", "last offset"
    elif style.colour == "swizzle":
        yield "c0", "one colour: one value of the bits that the exclusive or changes"
    elif style.colour != "tile":
        yield "c0", f"cells of one {style.colour} have one colour"
    elif view.levels:
        yield "c0", f"one colour: one tile {view.levels[0]}"
    if any(cell.is_padding for cell in view.cells()) or any(
        slot.coordinate is None for slot in view.slots()
    ):
        yield "p", "padding"
    if style.box_tiles:
        yield "mark", f"a tile {view.levels[style.box_tiles - 1]}"
    for kind, marked in (("mark", style.boxes), ("dot", style.dots)):
        for coordinate in marked[:4]:
            yield kind, panel.place_of(coordinate)
        if len(marked) > 4:
            yield kind, f"and {len(marked) - 4} more"
    if panel.moved:
        yield "moved", panel.moved


def _sample(kind: str, x: float, y: float) -> str:
    match kind:
        case "b0" | "b1" | "b2":
            return path(kind, [f"M{x + 2:g} {y + 8:g}h16"])
        case "dot":
            return dot(x + 10, y + 8, 4)
        case "cell":
            return text("0:0", "l", x - 2, y + 12)
        case "moved":
            return path(kind, [f"M{x + 6:g} {y + 4:g}h8l-8 8z"])
        case _:
            sample = rect(kind, x + 2, y + 1, 16, 14)
            return sample if kind == "mark" else element("g", sample, class_="sample")


_MARGIN: Final = 14
_BETWEEN: Final = 36  # panels
_LINE_HEIGHT: Final = 18
_NARROWEST: Final = 400
_WIDEST: Final = 1100  # of slices side by side


_WIDE: Final = 600
"""Two panels of this width do not stand side by side on a page."""


def picture_svg(panels: Sequence[Panel]) -> str:
    """Return the panels as an SVG document, which loads nothing else.

    They stand side by side; wide ones, of which two do not fit a page, one below the other.
    """
    parts: list[str] = []
    x = y = width = height = float(_MARGIN)
    for panel in panels:
        drawn = _panel(panel, x, y)
        if parts and drawn.width > max(drawn.height, _WIDE):
            x, y = float(_MARGIN), height + _BETWEEN
            drawn = _panel(panel, x, y)
        parts.append(element("g", drawn.markup, class_="panel"))
        width, height = max(width, x + drawn.width), max(height, y + drawn.height)
        x += drawn.width + _BETWEEN
    title = " beside ".join(panel.title for panel in panels)
    return _document(parts, width + _MARGIN, height + _MARGIN, title, "ml-picture")


def compact_svg(m: IndexMap, *, widest: float = 150, tallest: float = 64) -> str:
    """Return the tiles and the padding of the last two dimensions as a small SVG, without cells.

    Its text states the sizes; it fits into a line or a table of a page.

    >>> from morello_layouts import index_map
    >>> small = compact_svg(index_map("f32[9,18]{1,0:T(8,128)}"))
    >>> small.startswith("<svg"), "9x18 in 16x128" in small
    (True, True)
    """
    if 0 in m.shape:
        none = text("no elements", "l", 2, 14)
        return _document([none], 90, 20, m.source, "ml-picture ml-compact")
    drawn = draw_scale(scale_of(m), 1, 0, widest=widest, tallest=tallest)
    title = m.source or str(m)
    return _document([drawn.markup], drawn.width + 3, drawn.height, title, "ml-picture ml-compact")


def _document(parts: Sequence[str], width: float, height: float, title: str, class_: str) -> str:
    size = f'width="{number(width)}" height="{number(height)}"'
    box = f'viewBox="0 0 {number(width)} {number(height)}"'
    # A name of its own: else a browser takes the pattern of another picture, even a hidden one.
    own = f"ml-{crc32(''.join((title, *parts)).encode('utf-8', 'backslashreplace')):08x}"
    hatch = f".{own} .p{{fill:url(#{own})}}"
    has_scale = any(f'class="c{len(LIGHT.pastels)}"' in part for part in parts)
    has_runs = any('class="cell"><title>' in part for part in parts)
    more = f"{_SCALE * has_scale}{_RUNS * has_runs}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{class_} {own}" role="img" {size} {box}>'
        f"<title>{escaped(title)}</title><style>{_STYLE}{more}{hatch}</style>"
        f'<defs><pattern id="{own}"{_HATCH}</defs>'
        f'<rect class="paper" {size}/>{"".join(parts)}</svg>\n'
    )


def _panel(panel: Panel, x: float, y: float) -> Drawn:
    """Draw the parts of a panel, one below the other."""
    grids, strip = panel.view.grids, panel.view.strip
    _, width, _ = _places(panel, cell_width(panel))
    room = max(width, _NARROWEST)
    strip_room = room
    if strip is not None:
        whole = len(strip.slots) * slot_width(panel, strip) + 1
        strip_room = max(room, min(whole, panel.style.strip))
        room = max(room, strip_room if whole > room else whole)
    stack = _Stack(y)
    stack.add(_heading(panel, x, y, room), 6)
    if not grids:
        none = "the array has no elements"
        stack.add(Drawn(text(none, "t", x, stack.y + 14), text_width(none, 12), 20))
        return stack.drawn()
    stack.add(_grids(panel, x, stack.y))
    if strip is not None:
        stack.add(draw_strip(panel, strip, x, stack.y, strip_room))
    if panel.view.is_cut:
        shown = (grids[0].rows, grids[0].columns)
        stack.add(draw_scale(scale_of(panel.map), x, stack.y, shown=shown))
    stack.add(legend(panel, x, stack.y, max(stack.width, _NARROWEST)), 0)
    return stack.drawn()


class _Stack:
    """Drawings one below the other."""

    def __init__(self, y: float) -> None:
        self.top = self.y = y
        self.width = 0.0
        self.parts: list[str] = []

    def add(self, drawn: Drawn, gap: float = 12) -> None:
        self.parts.append(drawn.markup)
        self.width = max(self.width, drawn.width)
        self.y += drawn.height + gap

    def drawn(self) -> Drawn:
        return Drawn("".join(self.parts), self.width, self.y - self.top)


def _heading(panel: Panel, x: float, y: float, room: float) -> Drawn:
    """Draw the layout's text and its formula, in lines that fit."""
    parts, widest, top = [], 0.0, y
    for heading, (class_, size) in zip(panel.headings, (("h", 13.0), ("t", 12.0)), strict=False):
        for line in _wrapped(heading, int(room / text_width("0", size))):
            top += _LINE_HEIGHT
            parts.append(text(line, class_, x, top - 5))
            widest = max(widest, text_width(line, size))
    return Drawn("".join(parts), widest, top + 4 - y)


def _wrapped(heading: str, width: int) -> list[str]:
    return wrap(heading, max(width, 30), subsequent_indent="  ", break_on_hyphens=False)


def _places(panel: Panel, width: float) -> tuple[list[tuple[float, float]], float, float]:
    """Return the corners of the slices, side by side if there is room; their width and height."""
    places: list[tuple[float, float]] = []
    at = top = tallest = widest = 0.0
    for grid in panel.view.grids:
        wide, high = GridDrawing(panel, grid, 0, 0, width).size
        if at > 0 and at + wide > _WIDEST:
            at, top, tallest = 0.0, top + tallest + 16, 0.0
        places.append((at, top))
        widest, tallest = max(widest, at + wide), max(tallest, high)
        at += wide + 24
    return places, widest, top + tallest


def _grids(panel: Panel, x: float, y: float) -> Drawn:
    """Draw the slices, and state how many are left out."""
    width = cell_width(panel)
    places, widest, height = _places(panel, width)
    parts = [
        GridDrawing(panel, grid, x + right, y + down, width).markup()
        for grid, (right, down) in zip(panel.view.grids, places, strict=True)
    ]
    if hidden := panel.view.hidden_slices:
        more = f"and {hidden:,} more {'slice' if hidden == 1 else 'slices'}"
        parts.append(text(more, "t", x, y + height + 16))
        height += 22
        widest = max(widest, text_width(more, 12))
    return Drawn("".join(parts), widest, height)


def _rules(paper: Paper) -> Iterator[str]:
    yield f".paper{{fill:{paper.background}}}"
    yield f"text{{fill:{paper.ink}}}"
    yield f"text.l,text.n{{fill:{paper.dim}}}"
    yield f".cell rect,.slot rect,.sample rect{{stroke:{paper.line}}}"
    yield f".b0,.b1{{stroke:{paper.ink}}}"
    yield f".b2,.dots{{stroke:{paper.dim}}}"
    yield f".mark{{stroke:{paper.red}}}"
    yield f".dot{{fill:{paper.red};stroke:{paper.background}}}"
    yield f".moved,.bar{{fill:{paper.ink}}}"
    yield f".hatch{{fill:{paper.background}}}"
    yield f".stripe{{stroke:{paper.dim}}}"
    for k, pastel in enumerate(paper.pastels):
        yield f".c{k}{{fill:{pastel}}}"


def _scoped(rules: Iterable[str]) -> str:
    """Return rules that apply inside pictures only, in any page."""
    scoped = []
    for rule in rules:
        selectors, _, body = rule.partition("{")
        names = ",".join(f".ml-picture {name}" for name in selectors.split(","))
        scoped.append(f"{names}{{{body}")
    return "".join(scoped)


def _in_both(rules: Callable[[Paper], Iterable[str]]) -> str:
    """Return rules of the light paper, and of the dark one."""
    light, dark = (_scoped(rules(paper)) for paper in (LIGHT, DARK))
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


_SHAPES: Final = (
    'text{font:12px "DejaVu Sans Mono",ui-monospace,Menlo,Consolas,monospace}',
    "text.h{font-size:13px;font-weight:bold}",
    "text.l{font-size:11px}",
    "text.o{font-size:13px;text-anchor:middle}",
    "text.s{font-size:11px;text-anchor:middle}",
    "text.n,text.w{font-size:10px;text-anchor:middle}",
    "text.m{text-anchor:middle}",
    "text.e{text-anchor:end}",
    ".b0,.b1,.b2,.mark{fill:none;stroke-linecap:square}",
    ".b0{stroke-width:2.6}",
    ".b1{stroke-width:1.2}",
    ".b2{stroke-width:.9;stroke-dasharray:2 2}",
    ".mark{stroke-width:2}",
    ".dot{stroke-width:1}",
    ".stripe{stroke-width:1;fill:none}",
    ".dots{stroke-width:2;stroke-linecap:round;fill:none}",
)

_STYLE: Final = f"{_scoped(iter(_SHAPES))}{_in_both(_rules)}"


_SCALE: Final = _in_both(
    lambda paper: (
        f".c{k}{{fill:{colour}}}" for k, colour in enumerate(paper.scale, len(LIGHT.pastels))
    )
)
"""The styles of colours by offset, for the pictures that have them."""

_RUNS: Final = _in_both(lambda paper: [f".cell path{{stroke:{paper.line}}}"])
"""The styles of runs of padding, likewise."""

_HATCH: Final = (
    ' width="8" height="8" patternUnits="userSpaceOnUse">'
    '<rect class="hatch" width="8" height="8"/>'
    '<path class="stripe" d="M-2 2l4-4M0 8l8-8M6 10l4-4"/></pattern>'
)
