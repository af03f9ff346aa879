"""Commands about one layout: explain, default, draw."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from morello_layouts import api
from morello_layouts.api.layouts import Shape
from morello_layouts.cli.options import (
    Status,
    json_option,
    layouts_with_shape,
    shape_option,
    text_argument,
)
from morello_layouts.cli.terminal import Screen, console, has_unicode, print_json, printable
from morello_layouts.description import amount
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.explanations.rows import Row, byte_row, tpu_rows, word_rows
from morello_layouts.notations import parse
from morello_layouts.notations.registry import describe
from morello_layouts.notations.xla import XlaShape
from morello_layouts.picture import ASCII, UNICODE, panel_lines
from morello_layouts.tpu import Suggestion, Waste
from morello_layouts.tpu.facts import tpu_facts

if TYPE_CHECKING:
    from morello_layouts.picture import Picture
    from morello_layouts.picture.panel import Panel


@click.command(
    epilog="""\b
Examples:
  morello-layouts explain "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts explain "[1, 0, 1 p(4)]" --shape 6x8 --derivation
  morello-layouts explain "(f32[8,128], s32[])" --json
  morello-layouts explain "add.1 = bf16[8,1280]{1,0:T(8,128)(2,1)} add(a, b)"

\b
Exit status: 0 done, whatever the proofs say (prove and equal tell), 2 bad input.

\b
JSON: text; instruction (name, opcode, is_root, literal, operands of name and type, calls,
attributes, op_name, source; null for a layout); and arrays; of each array path (in tuples),
text, kind, headline, dimensions (name, symbol, size, is_dynamic), parts (text, meaning,
is_implied), axes in memory (coordinate, size), word (what shares 32 bits: bits, slots, offsets,
text), sizes (elements, spanned_elements, element_bits, data_bytes, spanned_bytes,
reserved_bytes, padding_elements, padding_bytes, factor), index (shape, physical_shape, recipe,
reference, formula, derivation), proofs (bijective, injective, verified; each as of prove), tpu
(lanes, sublanes, packing, default_on, default, padding; null outside a TPU's tiles), picture
(slices; grids of at, rows, columns, offsets with null for padding and gaps), notes. What is not
known is null.
"""
)
@text_argument("text")
@shape_option
@click.option("--derivation", is_flag=True, help="Show how the reference formula was simplified.")
@json_option
def explain(text: str, shape: Shape | None, derivation: bool, as_json: bool) -> Status:
    """Say what each part of the layout TEXT means, with its formula, sizes, proof and picture.

    TEXT is an XLA shape or layout, a tuple of shapes, an instruction of HLO, of which the result
    is explained, or a Morello layout; - reads it from standard input.
    """
    # Imported here: SymPy and ISL load with these, and the help does not need them.
    from morello_layouts.cli.terminal import show
    from morello_layouts.explanations.report import reports_of
    from morello_layouts.explanations.rows import (
        array_dict,
        instruction_dict,
        instruction_in,
        instruction_rows,
    )

    found = instruction_in(text)
    source, reports = reports_of(text if found is None else str(found.shape), shape)
    if as_json:
        arrays = [array_dict(report, derivation=derivation) for report in reports]
        instruction = None if found is None else instruction_dict(found)
        print_json({"text": source, "instruction": instruction, "arrays": arrays})
    else:
        rows = () if found is None else instruction_rows(found)
        show(source, reports, derivation=derivation, instruction=rows)
    return Status.DONE


@click.command(
    epilog="""\b
Examples:
  morello-layouts default "bf16[8,1,1280,1000]" --tpu v5e
  morello-layouts default "s32[8388608,8,4]" --tpu v5e --alternatives 3
  morello-layouts default "f32[16,3,128]" --tpu tpu7x --json

\b
JSON: text, generation, layout (the shape with its layout), minor_to_major, tiles, element_bits,
data_bytes, reserved_bytes, padding_bytes, factor, padding (each of dimensions, size, padded,
text), alternatives (each of layout, groups (dimensions folded into each), changes (of fold,
order, tile), data_bytes, reserved_bytes, padding_bytes, factor, hint).
"""
)
@text_argument("text")
@click.option(
    "--tpu", "generation", required=True, metavar="v5e",
    help="The generation: v2, v3, v4, v5e, v5p, v6e or tpu7x.",
)  # fmt: skip
@click.option(
    "--alternatives", "limit", type=click.IntRange(0), default=5, show_default=True,
    help="How many other orders, foldings and tiles to show, the smallest first.",
)  # fmt: skip
@json_option
def default(text: str, generation: str, limit: int, as_json: bool) -> Status:
    """Say which layout the TPU compiler chooses for a parameter of the type and shape TEXT.

    TEXT is an array without a layout, such as "bf16[8,1,1280,1000]"; - reads it from standard
    input.
    """
    from morello_layouts.tpu import default_layout, waste

    array = _bare_array(text)
    cost = waste(default_layout(array.element_type, array.shape, generation))
    others = _others(cost.shape, generation, limit)
    if as_json:
        print_json(_as_json(str(array).partition("{")[0], generation, cost, others))
    else:
        show_default(generation, cost, others)
    return Status.DONE


def _bare_array(text: str) -> XlaShape:
    value = parse(text)
    if not isinstance(value, XlaShape) or value.layout is None:
        raise LayoutError(
            f"{value} is no array",
            "the compiler chooses a layout for one array at a time",
            "write a type and sizes, such as bf16[8,128]",
        )
    if "{" in text:
        raise LayoutError(
            f"{text.strip()} has a layout already",
            "the layout is what the compiler is asked to choose",
            f"write {str(value).partition('{')[0]}, or explain this one with: explain",
        )
    if any(value.dynamic_dimensions):
        raise UnsupportedError(
            f"{text.strip()} has dynamic sizes",
            "default layouts were measured for sizes that do not change",
            "write a number for each size",
        )
    return value


def _others(shape: XlaShape, generation: str, limit: int) -> list[Suggestion]:
    """The suggestions other than the default itself."""
    from morello_layouts.tpu import suggest

    if not limit or not shape.byte_size:
        return []
    try:
        found = suggest(shape.element_type, shape.shape, generation, limit=limit + 1)
    except UnsupportedError:  # too many dimensions to try them all
        return []
    return [each for each in found if each.changes][:limit]


def _as_json(text: str, generation: str, cost: Waste, others: list[Suggestion]) -> dict[str, Any]:
    from dataclasses import asdict

    x = cost.shape
    assert x.layout is not None
    return {
        "text": text,
        "generation": generation,
        "layout": str(x),
        "minor_to_major": x.layout.minor_to_major,
        "tiles": x.layout.tiles,
        "element_bits": x.bits,
        **_sizes(cost),
        "padding": [asdict(reason) for reason in cost.reasons],
        "alternatives": [
            {
                "layout": str(each.shape),
                "groups": each.groups,
                "changes": each.changes,
                **_sizes(each.waste),
                "hint": each.hint,
            }
            for each in others
        ],
    }


def _sizes(cost: Waste) -> dict[str, Any]:
    return {
        "data_bytes": cost.data_bytes,
        "reserved_bytes": cost.reserved_bytes,
        "padding_bytes": cost.padding_bytes,
        "factor": cost.factor,
    }


def show_default(generation: str, cost: Waste, others: Sequence[Suggestion]) -> None:
    """Print the default layout, what it costs, and what other layouts would cost."""
    words = describe(cost.shape)
    facts = tpu_facts(cost.shape, words.names)
    screen = Screen(console())
    screen.line(words.source, "bold")
    screen.line(f"TPU {generation} chooses for a parameter: {words.headline}")
    screen.section("Text", word_rows(words))
    screen.section("Memory", [byte_row(cost.data_bytes, cost.reserved_bytes)])
    if facts is not None:
        screen.section("TPU", tpu_rows(facts))
    screen.section("Other layouts, the smallest first", [_other(each) for each in others])


def _other(each: Suggestion) -> Row:
    factor = "1" if each.waste.padding_bytes == 0 else f"{each.factor:.2f}"
    return Row(f"{factor}×", f"{amount(each.byte_size)} bytes as {each.shape}: {each.hint}")


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
            shown = line if glyphs is UNICODE else Text(printable(line.plain, sys.stdout))
            screen.print(shown, soft_wrap=True)


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
