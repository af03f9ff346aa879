"""Commands about formulas: simplify, code, convert, relayout."""

from __future__ import annotations

import re
from typing import Any, Literal

import click

from morello_layouts import api
from morello_layouts.api.arguments import Shape
from morello_layouts.api.code import Formulable, Simplified, code as code_of
from morello_layouts.api.conversions import NOTATIONS, To, conversion
from morello_layouts.api.formulas import form_of
from morello_layouts.api.layouts import LayoutLike, parsed
from morello_layouts.cli.options import (
    assuming_option,
    at_option,
    json_option,
    names_option,
    notation_option,
    output_option,
    shape_option,
    text_argument,
)
from morello_layouts.cli.results import Status, error_in_options, status_of
from morello_layouts.cli.terminal import (
    print_error,
    print_json,
    print_lines,
    print_result,
    print_text,
)
from morello_layouts.codegen import TARGETS
from morello_layouts.errors import LayoutError
from morello_layouts.explanations.rows import Row, section_lines
from morello_layouts.expr import Interval, cheapest as cheapest_form, readable
from morello_layouts.expr.simplify import Derivation
from morello_layouts.kernels import KERNEL_TARGETS
from morello_layouts.notations import parse_bounds
from morello_layouts.plain import plain


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
In Python: code.
"""
)
@text_argument("text")
@shape_option
@notation_option
@assuming_option
@names_option
@at_option
@click.option(
    "--target",
    type=click.Choice(TARGETS, case_sensitive=False),
    default="c",
    show_default=True,
    help="The language.",
)
@click.option(
    "--bounds",
    metavar="i=0..31,j=0..31",
    help="TEXT is an expression over these variables; an empty text for none.",
)
@click.option("--inverse", is_flag=True, help="From an offset p to coordinates, and padding.")
@click.option("--function", is_flag=True, help="A whole function, with its types and a comment.")
@click.option("--asserts", is_flag=True, help="The function checks its arguments.")
@click.option("--name", help="The name of the function.")
@click.option("--shift", is_flag=True, help="Shifts and masks for powers of two.")
@click.option("--cheapest", is_flag=True, help="Fewest operations, instead of the most readable.")
@output_option
@json_option
def code(
    *,
    text: LayoutLike,
    shape: Shape | None,
    assuming: str | None,
    names: str | None,
    at: dict[str, int] | None,
    target: str,
    bounds: str | None,
    inverse: bool,
    cheapest: bool,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> Status:
    """Print the index formula of the layout TEXT as source text, in integers only."""
    of: Formulable = text
    if bounds is None:
        m = api.index_map(text, shape, assuming=assuming, names=names)
        m = m if at is None else m.at(**at)
        of = m.inverse if inverse else m
    else:
        _refuse_for_expressions(inverse, shape, assuming, names)
    intervals = None if bounds is None else _intervals(bounds, text)
    simplified: Simplified = "cheapest" if cheapest else "readable"
    found = code_of(of, target, intervals, simplified=simplified, **options)
    facts = {"text": text, "target": target, "code": found}
    print_result(found, facts, output=output, as_json=as_json)
    return Status.DONE


def _intervals(bounds: str, expr: object) -> dict[str, Interval]:
    """Read bounds; say which of them are for no name, and which a smallest value makes stronger."""
    found = parse_bounds(bounds)
    words = re.findall(r"\w+", f"{expr} {bounds}")
    for name, interval in found.items():
        if words.count(name) == 1:
            print_error(f"bounds: {name} is not in the expression {expr}")
        elif interval.lo is None and interval.hi is not None:
            print_error(
                f"bounds: {name} may be negative; if it is not, write 0<={name}<={interval.hi}"
            )
    return found


def _refuse_for_expressions(inverse: bool, *others: Any) -> None:
    options = ("--inverse", "--shape", "--assuming", "--names")
    values = (inverse or None, *others)
    given = [name for name, x in zip(options, values, strict=True) if x is not None]
    if given:
        raise LayoutError(
            f"{given[0]} was given for an expression",
            "with --bounds, TEXT is an expression, not a layout",
            f"leave out --bounds or {given[0]}",
        )


@click.command(
    epilog="""\b
Examples:
  morello-layouts convert "bf16[64,256]{1,0:T(8,128)(2,1)}"
  morello-layouts convert "[1, 0, 1 p(4)]" --shape M,N --to xla --type f32
  morello-layouts convert nChw16c --shape N,C,H,W --to xla
  morello-layouts convert "f32[M,N]{1,0:T(8,128)}" --assuming "M % 8 == 0, N % 128 == 0"

\b
JSON: text; to, exists (true, false, or null if unknown), layout, reason; for all
notations conversions, each of these four.
Exit status: 0 converted, 1 no such layout exists, 2 bad input, 3 none was found.
In Python: convert, convert_all.
"""
)
@text_argument("text")
@shape_option
@notation_option
@click.option(
    "--to",
    type=click.Choice((*NOTATIONS, "all"), case_sensitive=False),
    help="The notation to convert to; by default all that can say it.",
)
@click.option(
    "--type", "element_type", metavar="bf16", help="Write an XLA shape or a memref of this type."
)
@assuming_option
@json_option
def convert(
    *,
    text: LayoutLike,
    shape: Shape | None,
    to: To | Literal["all"] | None,
    element_type: str | None,
    assuming: str | None,
    as_json: bool,
) -> Status:
    """Write the layout TEXT in another notation, proved to have the same offsets."""
    if to == "all" or (to is None and element_type is None):
        return _convert_to_all(text, shape, assuming, as_json)
    found = conversion(text, to or "xla", shape, element_type, assuming=assuming)
    command = click.get_current_context().command
    reason = None if found.error is None else error_in_options(found.error, command)
    if as_json:
        print_json({"text": text} | plain(found) | {"reason": reason})
    elif reason is not None:
        print_error(reason)
    else:
        print_text(str(found.layout))
    return status_of([found.exists])


def _convert_to_all(
    text: LayoutLike, shape: Shape | None, assuming: str | None, as_json: bool
) -> Status:
    found = api.convert_all(text, shape, assuming=assuming)
    if as_json:
        print_json({"text": text, "conversions": found})
        return Status.DONE
    rows = [
        Row(each.to, str(each.layout))
        if each.error is None
        else Row(each.to, f"none: {each.error.why}", is_dim=True)
        for each in found
    ]
    print_lines(lambda medium: section_lines(str(text), rows, medium))
    return Status.DONE


@click.command(
    epilog="""\b
Examples:
  morello-layouts relayout "f32[1000,1000]{1,0}" "{1,0:T(8,128)}" -o tile.c
  morello-layouts relayout NCHW NHWC --shape 8x64x56x56 --dtype float32 --target cuda
  morello-layouts relayout "[0, 1]" "[1, 0]" --shape 6x8 --dtype bf16 --target python
  morello-layouts relayout "f32[60,64]{1,0}" "{1,0:T(8,128)}" --target triton

\b
JSON: source, target (the layouts), language, dtype, formula, kernel.
In Python: relayout, Relayout.kernel.
"""
)
@text_argument("source")
@text_argument("target")
@shape_option
@notation_option
@click.option(
    "--target",
    "language",
    type=click.Choice(TARGETS, case_sensitive=False),
    default="c",
    show_default=True,
    help=f"A kernel in {', '.join(KERNEL_TARGETS)}; in others the function from target to source.",
)
@click.option("--dtype", help="Type of an item, NumPy's or XLA's name, if no text names it.")
@click.option(
    "--padding",
    type=click.Choice(("zero", "leave")),
    default="zero",
    show_default=True,
    help="Whether padding of the target is set to zero.",
)
@click.option("--name", default="relayout", show_default=True, help="The name of the function.")
@output_option
@json_option
def relayout(
    *,
    source: LayoutLike,
    target: LayoutLike,
    shape: Shape | None,
    language: str,
    dtype: str | None,
    padding: str,
    name: str,
    output: str | None,
    as_json: bool,
) -> Status:
    """Print a function that moves a buffer in the layout SOURCE to one in the layout TARGET.

    In languages without kernels it is the function for one of your own: from an offset of the
    target to that of the source, and whether it holds padding.
    """
    first, second = parsed(source), parsed(target)
    found = api.relayout(first, second, shape)
    fill = 0 if padding == "zero" else None
    if language in KERNEL_TARGETS:
        text = found.kernel(language, dtype, fill=fill, name=name)
    else:
        is_code = language not in ("latex", "sympy", "mlir")
        text = code_of(found, language, function=is_code, name=name if is_code else None)
    facts = {
        "source": first,
        "target": second,
        "language": language,
        "dtype": dtype or found.element_type,
        "formula": found,
        "kernel": text,
    }
    print_result(text.rstrip("\n"), facts, output=output, as_json=as_json)
    return Status.DONE


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
In Python: simplify.
""",
)
@click.argument("expr")
@click.option(
    "--bounds",
    metavar="i=0..31,j=0..31",
    default="",
    help="Values of variables: 0..31 with both ends, 0<=i<32, range(32), or a size: i=32.",
)
@click.option("--cheapest", is_flag=True, help="Fewest operations, instead of the most readable.")
@click.option("--derivation", is_flag=True, help="Show each rule that fired.")
@json_option
def simplify(expr: str, bounds: str, cheapest: bool, derivation: bool, as_json: bool) -> Status:
    """Simplify the index expression EXPR of + - * // %, floor(a/b) and Mod(a, b)."""
    intervals = _intervals(bounds, expr)
    form = form_of(expr, intervals)
    steps = Derivation.of(form, readable)
    simplified = str(cheapest_form(form) if cheapest else steps.end)
    if as_json:
        print_json(
            {
                "expression": form,
                "bounds": {name: [i.lo, i.hi] for name, i in intervals.items()},
                "simplified": simplified,
                "derivation": steps.steps if derivation else None,
            }
        )
    elif derivation:
        print_text(str(steps))
        if cheapest:
            print_text(f"= {simplified}   cheapest")
    else:
        print_text(simplified)
    return Status.DONE
