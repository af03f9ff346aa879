"""Commands about formulas: simplify, code, convert, relayout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from morello_layouts import api
from morello_layouts.api.code import Formulable
from morello_layouts.api.formulas import form_of
from morello_layouts.api.layouts import Shape
from morello_layouts.cli.options import (
    Status,
    assuming_option,
    json_option,
    layouts_with_shape,
    shape_option,
    text_argument,
)
from morello_layouts.cli.terminal import print_error, print_json, print_text, write
from morello_layouts.codegen import TARGETS
from morello_layouts.errors import LayoutError, NoTranslationError, TranslationNotFoundError
from morello_layouts.explanations.rows import derivation_steps
from morello_layouts.expr import cheapest as cheapest_form
from morello_layouts.expr import readable
from morello_layouts.expr.derivation import Derivation
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.kernels import KERNEL_TARGETS
from morello_layouts.layout import Arrays
from morello_layouts.notations import parse_bounds
from morello_layouts.notations.expression import parse_shape
from morello_layouts.notations.morello import MorelloLayout


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


_NAMED = re.compile(r"[A-Za-wyz_]")  # x stands between sizes


def _shape(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    if value is None or not _NAMED.search(value):
        return None if value is None else parse_shape(value)
    return tuple(size.strip() for size in re.split(r"[x×,]", value.strip().strip("()[]")))


@click.command(
    epilog="""\b
Examples:
  morello-layouts convert "[1, 0, 1 p(4)]" --shape 6x8 --to xla
  morello-layouts convert "[1, 0, 1 p(4)]" --shape M,N --to xla --type f32
  morello-layouts convert "bf16[64,256]{1,0:T(8,128)(2,1)}" --to morello
  morello-layouts convert "f32[M,N]{1,0:T(8,128)}" --assuming "M % 8 == 0, N % 128 == 0"

\b
JSON: text, to, exists (true, false, or null for not known), layout, reason.
Exit status: 0 converted, 1 no such layout exists, 2 bad input, 3 none was found.
"""
)
@text_argument("text")
@click.option(
    "--shape",
    metavar="6x8",
    callback=_shape,
    help="Sizes of the array, for a layout whose text carries none; names for any size: M,N.",
)
@click.option(
    "--to",
    type=click.Choice(["xla", "morello"]),
    help="The notation to convert to; if left out, the one that TEXT is not in.",
)
@click.option("--type", "element_type", metavar="bf16", help="Write an XLA shape of this type.")
@click.option(
    "--assuming", metavar="TEXT", help='What is known of named sizes: "M % 8 == 0, N <= 128".'
)
@json_option
def convert(
    *,
    text: str,
    shape: tuple[int | str, ...] | None,
    to: str | None,
    element_type: str | None,
    assuming: str | None,
    as_json: bool,
) -> Status:
    """Write the layout TEXT in the other notation, proved to have the same offsets."""
    (layout,) = layouts_with_shape([text], None if shape is None else (0,) * len(shape))
    to = to or ("xla" if isinstance(layout, MorelloLayout) else "morello")
    status, found, error = _converted(layout, shape, to, element_type, assuming)
    if as_json:
        exists = {Status.DONE: True, Status.DISPROVED: False}.get(status)
        reason = str(error) if error is not None else "proved to have the same offsets"
        print_json({"text": text, "to": to, "exists": exists, "layout": found, "reason": reason})
    elif error is not None:
        print_error(error)
    else:
        print_text(str(found))
    return status


def _converted(
    layout: Arrays,
    shape: tuple[int | str, ...] | None,
    to: str,
    element_type: str | None,
    assuming: str | None,
) -> tuple[Status, str | None, LayoutError | None]:
    """The exit status, the layout found, and why there is none."""
    try:
        if to == "morello":
            return Status.DONE, str(_to_morello(layout, shape, element_type, assuming)), None
        return Status.DONE, str(_to_xla(layout, shape, element_type, assuming)), None
    except NoTranslationError as error:
        return Status.DISPROVED, None, error
    except TranslationNotFoundError as error:
        return Status.UNDECIDED, None, error


def _to_xla(layout: Any, shape: Any, element_type: str | None, assuming: str | None) -> object:
    if element_type is None:
        return api.to_xla(layout, shape or (), assuming=assuming)
    return api.to_xla(layout, shape or (), element_type, assuming=assuming)


def _to_morello(layout: Any, shape: Any, element_type: str | None, assuming: str | None) -> object:
    if element_type is not None:
        raise LayoutError(
            f"--type {element_type} with --to morello",
            "Morello's notation says nothing of element types",
            "leave --type out",
        )
    return api.to_morello(layout, shape, assuming=assuming)


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
                "dtype": dtype or (found.element_type and found.element_type.name),
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


@click.command(
    # An expression may begin with a minus.
    context_settings={"ignore_unknown_options": True},
    epilog="""\b
Examples:
  morello-layouts simplify "(32*i + j)//8" --bounds i=0..31,j=0..31
  morello-layouts simplify "(N*i + j)//N" --bounds i=0..M-1,j=0..N-1
  morello-layouts simplify "floor(i/8)*8 + Mod(i, 8)" --bounds i=0.. --derivation

\b
JSON: expression, bounds (name to [smallest, largest], null for none,
text for a symbolic size), simplified, derivation
(null, or steps of rule, before, after, because).
""",
)
@click.argument("expr")
@click.option(
    "--bounds",
    metavar="i=0..31,j=0..31",
    default="",
    help="Smallest and largest values, inclusive.",
)
@click.option("--cheapest", is_flag=True, help="Fewest operations, instead of the most readable.")
@click.option("--derivation", is_flag=True, help="Show each rule that fired.")
@json_option
def simplify(expr: str, bounds: str, cheapest: bool, derivation: bool, as_json: bool) -> Status:
    """Simplify the index expression EXPR of + - * // %, floor(a/b) and Mod(a, b)."""
    intervals = parse_bounds(bounds)
    form = form_of(expr, intervals)
    steps = Derivation.of(form, readable)
    simplified = str(cheapest_form(form) if cheapest else steps.end)
    if as_json:
        print_json(
            {
                "expression": str(form),
                "bounds": {name: [_end(i.lo), _end(i.hi)] for name, i in intervals.items()},
                "simplified": simplified,
                "derivation": derivation_steps(steps) if derivation else None,
            }
        )
    elif derivation:
        print_text(str(steps))
        if cheapest:
            print_text(f"= {simplified}   cheapest")
    else:
        print_text(simplified)
    return Status.DONE


def _end(value: Int | None) -> int | str | None:
    """An end of a bound as JSON takes it: a symbolic size is text."""
    return str(value) if isinstance(value, SizeExpr) else value
