"""``default``: the layout that the TPU compiler chooses, what it costs, what would cost less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from morello_layouts.cli.options import json_option, text_argument
from morello_layouts.cli.screen import print_json
from morello_layouts.cli.status import Status
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.notation import parse
from morello_layouts.xla import XlaShape

if TYPE_CHECKING:
    from morello_layouts.tpu import Suggestion, Waste

__all__ = ["default"]


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
        from morello_layouts.cli.default_rows import show_default

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
