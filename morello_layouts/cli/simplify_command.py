"""``simplify``: index arithmetic with fewer divisions."""

from __future__ import annotations

import click

from morello_layouts.api.expressions import form_of
from morello_layouts.cli.options import json_option
from morello_layouts.cli.screen import print_json, print_text
from morello_layouts.cli.status import Status
from morello_layouts.expr import cheapest as cheapest_form
from morello_layouts.expr import readable
from morello_layouts.expr.size import Number, Size
from morello_layouts.formula import Derivation
from morello_layouts.notation import parse_bounds
from morello_layouts.report.derivations import derivation_steps

__all__ = ["simplify"]


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


def _end(value: Number | None) -> int | str | None:
    """An end of a bound as JSON takes it: a symbolic size is text."""
    return str(value) if isinstance(value, Size) else value
