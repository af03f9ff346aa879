"""``convert``: from one notation to the other."""

from __future__ import annotations

import re
from typing import Any

import click

from morello_layouts import api
from morello_layouts.api.untranslated import NoTranslationError, TranslationNotFoundError
from morello_layouts.cli.options import json_option, layouts_with_shape, parse_shape, text_argument
from morello_layouts.cli.screen import print_error, print_json, print_text
from morello_layouts.cli.status import Status
from morello_layouts.errors import LayoutError
from morello_layouts.morello import MorelloLayout
from morello_layouts.notation.dispatch import Layout

__all__ = ["convert"]

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
    layout: Layout,
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
