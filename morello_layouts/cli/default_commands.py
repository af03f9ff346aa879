"""The command default: what the TPU compiler chooses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from morello_layouts.cli.options import generations, json_option, text_argument
from morello_layouts.cli.results import Status
from morello_layouts.cli.terminal import print_json, print_lines
from morello_layouts.description import amount
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.explanations.rows import (
    Medium,
    Row,
    byte_row,
    line,
    section_lines,
    tpu_rows,
    word_rows,
)
from morello_layouts.notations import parse
from morello_layouts.notations.registry import describe
from morello_layouts.notations.xla import XlaShape
from morello_layouts.tpu_layouts import Suggestion, Waste, default_layout, suggest, waste
from morello_layouts.tpu_layouts.facts import tpu_facts

if TYPE_CHECKING:
    from rich.text import Text


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
In Python: tpu.default_layout, tpu.suggest.
"""
)
@text_argument("text")
@click.option(
    "--tpu", "generation", required=True, metavar="v5e", shell_complete=generations,
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
    array = _bare_array(text)
    cost = waste(default_layout(array.element_type, array.shape, generation))
    others = _others(cost.shape, generation, limit)
    if as_json:
        print_json(_facts(str(array).partition("{")[0], generation, cost, others))
    else:
        print_lines(lambda medium: _default_lines(generation, cost, others, medium))
    return Status.DONE


def _bare_array(text: str) -> XlaShape:
    value = parse(text)
    if not isinstance(value, XlaShape) or value.layout is None:
        raise LayoutError(
            f"expected one array, got {value}",
            "the compiler chooses a layout for one array at a time",
            "write a type and sizes, such as bf16[8,128]",
        )
    if "{" in text:
        raise LayoutError(
            f"{text.strip()} has a layout already",
            "the compiler chooses the layout of an array without one",
            f"write {str(value).partition('{')[0]}; the command explain explains this layout",
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
    if not limit or not shape.byte_size:
        return []
    try:
        found = suggest(shape.element_type, shape.shape, generation, limit=limit + 1)
    except UnsupportedError:  # too many dimensions to try them all
        return []
    return [each for each in found if each.changes][:limit]


def _facts(text: str, generation: str, cost: Waste, others: Sequence[Suggestion]) -> dict[str, Any]:
    layout = cost.shape.layout
    assert layout is not None
    return {
        "text": text,
        "generation": generation,
        "layout": cost.shape,
        "minor_to_major": layout.minor_to_major,
        "tiles": layout.tiles,
        "element_bits": cost.shape.bits,
        **_sizes(cost),
        "padding": cost.reasons,
        "alternatives": [
            {
                "layout": each.shape,
                "groups": each.groups,
                "changes": each.changes,
                **_sizes(each.waste),
                "hint": each.hint,
            }
            for each in others
        ],
    }


def _sizes(cost: Waste) -> dict[str, Any]:
    keys = ("data_bytes", "reserved_bytes", "padding_bytes", "factor")
    return {key: getattr(cost, key) for key in keys}


def _default_lines(
    generation: str, cost: Waste, others: Sequence[Suggestion], medium: Medium
) -> Iterator[Text]:
    """Yield the default layout, its cost, and the cost of other layouts."""
    words = describe(cost.shape)
    facts = tpu_facts(cost.shape, words.names)
    yield line(words.source, medium, "bold")
    yield line(f"TPU {generation} chooses for a parameter: {words.headline}", medium)
    yield from section_lines("Text", word_rows(words), medium)
    memory = byte_row(cost.data_bytes, cost.reserved_bytes)
    yield from section_lines("Memory", [memory], medium)
    yield from section_lines("TPU", [] if facts is None else tpu_rows(facts), medium)
    rows = [_other(each) for each in others]
    yield from section_lines("Other layouts, the smallest first", rows, medium)


def _other(each: Suggestion) -> Row:
    factor = "1" if each.waste.padding_bytes == 0 else f"{each.factor:.2f}"
    return Row(f"{factor}×", f"{amount(each.byte_size)} bytes as {each.shape}: {each.hint}")
