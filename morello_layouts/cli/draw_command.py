"""``draw``: the picture of a layout, or of two."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from morello_layouts import api
from morello_layouts.cli.options import json_option, layouts_with_shape, shape_option, text_argument
from morello_layouts.cli.screen import console, has_unicode, plain, print_json
from morello_layouts.cli.status import Status
from morello_layouts.errors import ShapeError
from morello_layouts.picture import ASCII, UNICODE, panel_lines

if TYPE_CHECKING:
    from morello_layouts.picture import Picture
    from morello_layouts.picture.panel import Panel

__all__ = ["draw"]

_INDEX: Final = re.compile(r"[0-9]{1,19}")


def _coordinates(
    _ctx: click.Context, param: click.Parameter, values: Sequence[str]
) -> list[tuple[int, ...]]:
    """The coordinates of an option that may be given several times."""
    return [_coordinate(value, f"--{param.name}") for value in values]


def _coordinate(text: str, option: str) -> tuple[int, ...]:
    stripped = text.strip().removeprefix("(").removesuffix(")")
    parts = [part.strip() for part in stripped.split(",")] if stripped.strip(" ,") else []
    for part in parts:
        if _INDEX.fullmatch(part) is None:
            raise ShapeError(
                f"{option} {text!r} is no coordinate: {part!r} is no index",
                "a coordinate is one index for each dimension, from 0, with commas between them",
                f"write for example {option} 6,5",
            )
    return tuple(map(int, parts))


@click.command(
    epilog="""\b
Examples:
  morello-layouts draw "f32[3,5]{1,0:T(2,2)}"
  morello-layouts draw "[1, 0, 1 p(4)]" --shape 6x8 -o packed.svg
  morello-layouts draw "f32[3,5]{1,0:T(2,2)}" "{1,0}" -o both.html
  morello-layouts draw "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}" --colour word -o words.svg
  morello-layouts draw "bf16[8,8]{1,0:T(2,4)(2,1,1,1)}" --mark 6,5 -o dot.png

\b
JSON: file; panels, of each text, shape, size, levels (the sizes of tiles), slices, cells
(coordinate, offset, padding, tiles), memory (offset, coordinate, null for padding; null where
slots are left out), moved (coordinate, offset in the other layout).
"""
)
@text_argument("text")
@click.argument("other", required=False)
@shape_option
@click.option("-o", "--output", metavar="FILE", help="Write x.svg, x.html, x.png or x.txt.")
@click.option(
    "--colour",
    "--color",
    type=click.Choice(("tile", "word")),
    default="tile",
    show_default=True,
    help="What one colour stands for.",
)
@click.option("--word-bits", type=int, default=32, show_default=True, help="Bits of a word.")
@click.option("--element-bits", type=int, help="Bits of an element, where no text names its type.")
@click.option("--mark", multiple=True, metavar="6,5", callback=_coordinates, help="Dot a cell.")
@click.option("--box", multiple=True, metavar="6,5", callback=_coordinates, help="Box a cell.")
@click.option("--box-tiles", type=int, default=0, help="Box each tile of a level, from 1.")
@click.option("--rows", type=click.IntRange(5), help="Show at most so many rows.")
@click.option("--columns", type=click.IntRange(5), help="Show at most so many columns.")
@json_option
def draw(
    *,
    text: str,
    other: str | None,
    shape: tuple[int, ...] | None,
    output: str | None,
    colour: Any,
    word_bits: int,
    element_bits: int | None,
    mark: list[tuple[int, ...]],
    box: list[tuple[int, ...]],
    box_tiles: int,
    rows: int | None,
    columns: int | None,
    as_json: bool,
) -> Status:
    """Draw the layout TEXT, or beside it OTHER: offsets in cells, tiles, padding, memory.

    Without -o the picture goes to the terminal.
    """
    layouts = layouts_with_shape([text] if other is None else [text, other], shape)
    picture = api.draw(
        layouts[0],
        layouts[1] if other is not None else None,
        shape,
        colour=colour,
        word_bits=word_bits,
        element_bits=element_bits,
        dots=mark,
        boxes=box,
        box_tiles=box_tiles,
        max_rows=rows,
        max_columns=columns,
    )
    if output is not None:
        picture.save(output)
    if as_json:
        print_json({"file": output, "panels": [_panel(panel) for panel in picture.panels]})
    elif output is None:
        _print(picture)
    return Status.DONE


def _print(picture: Picture) -> None:
    from rich.text import Text

    screen = console()
    glyphs = UNICODE if has_unicode(sys.stdout) else ASCII
    for k, panel in enumerate(picture.panels):
        if k:
            screen.print()
        for line in panel_lines(panel, screen.width, glyphs):
            printable = line if glyphs is UNICODE else Text(plain(line.plain, sys.stdout))
            screen.print(printable, soft_wrap=True)


def _panel(panel: Panel) -> dict[str, Any]:
    view = panel.view
    slots = view.strip.slots if view.strip is not None else ()
    return {
        "text": panel.title,
        "shape": view.shape,
        "size": panel.map.size,
        "levels": [level.sizes for level in view.levels],
        "slices": view.slices,
        "cells": [
            {
                "coordinate": cell.coordinate,
                "offset": cell.offset,
                "padding": cell.is_padding,
                "tiles": cell.tiles,
            }
            for cell in view.cells()
        ],
        "memory": [
            None if slot is None else {"offset": slot.offset, "coordinate": slot.coordinate}
            for slot in slots
        ],
        "moved": [
            {"coordinate": coordinate, "offset": offset}
            for coordinate, offset in panel.elsewhere.items()
        ],
    }
