"""``code``: a layout's formulas as source text."""

from __future__ import annotations

import click

from morello_layouts import api
from morello_layouts.api.printing import Formulable
from morello_layouts.api.sizes import Shape
from morello_layouts.cli.files import write
from morello_layouts.cli.options import (
    assuming_option,
    json_option,
    layouts_with_shape,
    shape_option,
    text_argument,
)
from morello_layouts.cli.screen import print_json, print_text
from morello_layouts.cli.status import Status
from morello_layouts.codegen import TARGETS
from morello_layouts.errors import LayoutError
from morello_layouts.notation import parse_bounds

__all__ = ["code"]


@click.command(
    epilog="""\b
Examples:
  morello-layouts code "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts code "[1, 0, 1 p(4)]" --shape 6x8 --target rust --function
  morello-layouts code "f32[3,5]{1,0:T(2,2)}" --inverse --target python
  morello-layouts code "f32[M,N]{1,0:T(8,128)}" --target cuda --function --shift
  morello-layouts code "f32[M,N]{1,0:T(8,128)}" --assuming "N % 128 == 0"
  morello-layouts code "(32*i + j)//8" --bounds i=0..31,j=0..31 --target mlir

\b
JSON: text, target, code.
"""
)
@text_argument("text")
@shape_option
@assuming_option
@click.option(
    "--target", type=click.Choice(TARGETS), default="c", show_default=True, help="The language."
)
@click.option(
    "--bounds",
    metavar="i=0..31,j=0..31",
    help="TEXT is an expression over these variables; an empty text for none.",
)
@click.option("--inverse", is_flag=True, help="From an offset p to coordinates, and padding.")
@click.option("--function", is_flag=True, help="A whole function, with its types and a comment.")
@click.option("--asserts", is_flag=True, help="The function checks its arguments.")
@click.option("--name", help="What the function is called.")
@click.option("--shift", is_flag=True, help="Shifts and masks for powers of two.")
@click.option("--cheapest", is_flag=True, help="Fewest operations, instead of the most readable.")
@click.option("-o", "--output", metavar="FILE", help="Write to a file.")
@json_option
def code(
    *,
    text: str,
    shape: Shape | None,
    assuming: str | None,
    target: str,
    bounds: str | None,
    inverse: bool,
    function: bool,
    asserts: bool,
    name: str | None,
    shift: bool,
    cheapest: bool,
    output: str | None,
    as_json: bool,
) -> Status:
    """Print the index formula of the layout TEXT as source text, in integers only."""
    of: Formulable = text
    if bounds is not None:
        _refuse_for_expressions(inverse, shape, assuming)
    else:
        (layout,) = layouts_with_shape([text], shape)
        of = api.index_map(layout, shape, assuming=assuming)
        if inverse:
            of = of.inverse
    found = api.code(
        of,
        target,
        None if bounds is None else parse_bounds(bounds),
        simplified="cheapest" if cheapest else "readable",
        shift=shift,
        function=function,
        asserts=asserts,
        name=name,
    )
    if output is not None:
        write(output, f"{found}\n")
    if as_json:
        print_json({"text": text, "target": target, "code": found})
    elif output is None:
        print_text(found)
    return Status.DONE


def _refuse_for_expressions(inverse: bool, shape: Shape | None, assuming: str | None) -> None:
    options = {"--inverse": inverse or None, "--shape": shape, "--assuming": assuming}
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise LayoutError(
            f"{given[0]} was given for an expression",
            "with --bounds, TEXT is an expression, not a layout",
            "leave one of them out",
        )
