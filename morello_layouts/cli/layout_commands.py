"""Commands about one layout: explain, shards, draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from morello_layouts import api, explanations
from morello_layouts.api.arguments import Shape
from morello_layouts.api.layouts import LayoutLike
from morello_layouts.cli.options import (
    assuming_option,
    at_option,
    checked_option,
    coordinate,
    files,
    json_option,
    names_option,
    notation_option,
    shape_option,
    text_argument,
)
from morello_layouts.cli.results import Status, in_options
from morello_layouts.cli.terminal import print_json, print_lines, print_text, say_written
from morello_layouts.plain import plain

if TYPE_CHECKING:
    from rich.text import Text

    from morello_layouts.explanations.rows import Medium
    from morello_layouts.picture.panel import Panel


@click.command(
    epilog="""\b
Examples:
  morello-layouts explain "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts explain "[1, 0, 1 p(4)]" --shape 6x8 --derivation
  morello-layouts explain "(f32[8,128], s32[])" --json
  morello-layouts explain "add.1 = bf16[8,1280]{1,0:T(8,128)(2,1)} add(a, b)"

\b
The exit status does not depend on the proofs; those of prove and equal do.

\b
JSON: text; instruction (name, opcode, meaning, is_root, literal, operands of name and type,
calls, attributes, sharding, op_name, source; null for a layout); and arrays; of each array path
(in tuples), text, kind, headline, dimensions (name, symbol, size, is_dynamic), parts (text,
meaning, is_implied), axes in memory (coordinate, size), word (what shares 32 bits: bits, slots,
offsets, text), sizes (elements, spanned_elements, element_bits, data_bytes, spanned_bytes,
reserved_bytes, padding_elements, padding_bytes, factor), index (shape, physical_shape, recipe,
reference, formula, derivation (rule, before, after, because)), proofs (bijective, injective,
verified; each as of prove), tpu (lanes, sublanes, packing, default_on, default, padding; null
outside a TPU's tiles), picture (slices; grids of at, rows, columns, offsets with null for padding
and gaps), notes. Unknown values are null.
In Python: explain.
"""
)
@text_argument("text")
@shape_option
@notation_option
@assuming_option
@names_option
@click.option("--derivation", is_flag=True, help="Show how the reference formula was simplified.")
@json_option
def explain(*, text: LayoutLike, shape: Shape | None, as_json: bool, **options: Any) -> Status:
    """Explain each part of the layout TEXT, with its formula, sizes, proof and picture.

    TEXT is a layout in any notation, a tuple of shapes, or an instruction of HLO, whose result is
    explained; - reads it from standard input.
    """
    found = explanations.explain(text, shape, **options)
    command = click.get_current_context().command
    arrays = tuple(
        replace(each, notes=tuple(in_options(note, command) for note in each.notes))
        for each in found.arrays
    )
    found = replace(found, arrays=arrays)
    if as_json:
        print_json(found)
    else:
        print_lines(found.lines)
    return Status.DONE


@click.command(
    epilog="""\b
Examples:
  morello-layouts shards "f32[10,16]{1,0:T(8,128)}, sharding={devices=[4,2]<=[8]}"
  morello-layouts shards "f32[M,N], mesh={'x': 8}, spec=P('x', None)"
  morello-layouts shards "bf16[K], mesh={'x': 8}, spec=P('x')" --blocks 32
  morello-layouts shards "f32[1000], placements=[Shard(0)], mesh=(16)" --at 999 --json

\b
JSON: text, headline, devices, copies, room, held (a formula of mesh coordinates for each
dimension), largest, buffer_bytes, total_bytes, imbalance, empty, cuts (each of dim, block,
is_cut, first, text), notes; with --at also places (each from axis to number).
In Python: shards.
"""
)
@text_argument("text")
@shape_option
@notation_option
@assuming_option
@click.option(
    "--blocks", metavar="1,32", callback=checked_option(coordinate),
    help="Blocks that no border should cut, such as those of one scale: 1,32.",
)  # fmt: skip
@click.option(
    "--at", metavar="9,15", callback=checked_option(coordinate),
    help="Also say where the element at this coordinate is.",
)  # fmt: skip
@json_option
def shards(
    *,
    text: LayoutLike,
    shape: Shape | None,
    assuming: str | None,
    blocks: tuple[int, ...] | None,
    at: tuple[int, ...] | None,
    as_json: bool,
) -> Status:
    """Say what each device holds of the array on devices TEXT: sizes, bytes, imbalance, copies.

    TEXT is an array and its sharding, as HLO, Shardy, JAX, torch or ScaLAPACK write it; - reads
    it from standard input.
    """
    found = explanations.shards(text, shape, blocks=blocks, assuming=assuming)
    place = None if at is None else api.index_map(text, shape, assuming=assuming).place(*at)
    if as_json:
        places = {} if place is None else {"places": place.holders}
        print_json({**plain(found), **places})
    else:
        print_text(f"{found}" if place is None else f"{found}\n{at} is at {place}")
    return Status.DONE


_cells: Final = checked_option(coordinate)


@click.command(
    epilog="""\b
Examples:
  morello-layouts draw "f32[3,5]{1,0:T(2,2)}"
  morello-layouts draw "[1, 0, 1 p(4)]" --shape 6x8 -o packed.svg
  morello-layouts draw "f32[3,5]{1,0:T(2,2)}" "{1,0}" -o both.html
  morello-layouts draw "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}" --colour word -o words.svg
  morello-layouts draw "f32[M,N]{1,0:T(2,2)}" --at M=3,N=5
  morello-layouts draw "SM80_16x8x16_F32F16F16F32_TN C" -o lanes.svg
  morello-layouts draw "bf16[8,8]{1,0:T(2,4)(2,1,1,1)}" --mark 6,5 -o dot.png

\b
JSON: file; panels, of each text, shape, size, levels (the sizes of tiles), slices, cells
(coordinate, offset, padding, tiles), memory (offset, coordinate, null for padding; null where
slots are left out), moved (coordinate, offset in the other layout).
In Python: draw.
"""
)
@text_argument("text")
@text_argument("other", required=False)
@shape_option
@notation_option
@names_option
@at_option
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=files,
    help="Write x.svg, .html, .png, .pdf or .txt.",
)
@click.option(
    "--colour",
    "--color",
    metavar="UNIT",
    default="",
    help="What a colour stands for: tile, offset, row, column, word, bank, or an axis. By default "
    "the lane of a fragment, and else the tile.",
)
@click.option("--word-bits", type=int, default=32, show_default=True, help="Bits of a word.")
@click.option("--element-bits", type=int, help="Bits of an element, if no text names its type.")
@click.option("--mark", "dots", multiple=True, metavar="6,5", callback=_cells, help="Dot a cell.")
@click.option("--box", "boxes", multiple=True, metavar="6,5", callback=_cells, help="Box a cell.")
@click.option("--box-tiles", type=int, default=0, help="Box each tile of a level, from 1.")
@click.option("--rows", "max_rows", type=click.IntRange(5), help="The most rows to show.")
@click.option("--columns", "max_columns", type=click.IntRange(5), help="The most columns to show.")
@json_option
def draw(
    *,
    text: LayoutLike,
    other: LayoutLike | None,
    shape: Shape | None,
    output: str | None,
    as_json: bool,
    **style: Any,
) -> Status:
    """Draw the layout TEXT, or beside it OTHER: offsets in cells, tiles, padding, memory.

    Without -o the picture goes to the terminal.
    """
    picture = api.draw(text, other, shape, **style)
    if output is not None:
        picture.save(output)
        say_written(output)
    if as_json:
        print_json({"file": output, "panels": [_panel(panel) for panel in picture.panels]})
    elif output is None:
        print_lines(lambda medium: _picture_lines(picture.panels, medium))
    return Status.DONE


def _picture_lines(panels: Sequence[Panel], medium: Medium) -> Iterator[Text]:
    from morello_layouts.explanations.rows import line
    from morello_layouts.picture import panel_lines

    for k, panel in enumerate(panels):
        if k:
            yield line("", medium)
        for found in panel_lines(panel, medium.picture_width + 2, medium.glyphs):
            plain = medium.encode(found.plain)
            yield found if plain == found.plain else line(plain, medium)


def _panel(panel: Panel) -> dict[str, Any]:
    view = panel.view
    return {
        "text": panel.title,
        "shape": view.shape,
        "size": panel.map.size,
        "levels": [level.sizes for level in view.levels],
        "slices": view.slices,
        "cells": [*view.cells()],
        "memory": [] if view.strip is None else view.strip.slots,
        "moved": [
            {"coordinate": coordinate, "offset": offset}
            for coordinate, offset in panel.elsewhere.items()
        ],
    }
