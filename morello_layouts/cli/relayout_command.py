"""``relayout``: a kernel that moves one layout's buffer to another's."""

from __future__ import annotations

from pathlib import Path

import click

from morello_layouts import api
from morello_layouts.cli.options import json_option, layouts_with_shape, shape_option, text_argument
from morello_layouts.cli.screen import print_json, print_text
from morello_layouts.cli.status import Status
from morello_layouts.codegen.kernel import KERNEL_TARGETS
from morello_layouts.errors import LayoutError

__all__ = ["relayout"]


@click.command(
    epilog="""\b
Examples:
  morello-layouts relayout "f32[1000,1000]{1,0}" "{1,0:T(8,128)}" -o tile.c
  morello-layouts relayout NCHW NHWC --shape 8x64x56x56 --dtype float32 --target cuda
  morello-layouts relayout "[0, 1]" "[1, 0]" --shape 6x8 --dtype bf16 --target python

\b
JSON: source, target (the layouts), language, dtype, formula, kernel.
"""
)
@text_argument("source")
@text_argument("target")
@shape_option
@click.option(
    "--target",
    "language",
    type=click.Choice(KERNEL_TARGETS),
    default="c",
    show_default=True,
    help="The language.",
)
@click.option("--dtype", help="Type of an item, NumPy's or XLA's name, where no text names it.")
@click.option(
    "--padding",
    type=click.Choice(("zero", "leave")),
    default="zero",
    show_default=True,
    help="What becomes of the target's padding.",
)
@click.option("--name", default="relayout", show_default=True, help="What the function is called.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
@json_option
def relayout(
    *,
    source: str,
    target: str,
    shape: tuple[int, ...] | None,
    language: str,
    dtype: str | None,
    padding: str,
    name: str,
    output: str | None,
    as_json: bool,
) -> Status:
    """Print a function that moves a buffer in the layout SOURCE to one in the layout TARGET."""
    first, second = layouts_with_shape([source, target], shape)
    found = api.relayout(first, second, shape)
    fill = 0 if padding == "zero" else None
    text = found.kernel(language, dtype, fill=fill, name=name)
    if output is not None:
        _write(output, text)
    if as_json:
        print_json(
            {
                "source": str(first),
                "target": str(second),
                "language": language,
                "dtype": dtype or found.element_type,
                "formula": str(found),
                "kernel": text,
            }
        )
    elif output is None:
        print_text(text.rstrip("\n"))
    return Status.DONE


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise LayoutError(
            f"{path} could not be written", str(error), "write it to another place"
        ) from None
