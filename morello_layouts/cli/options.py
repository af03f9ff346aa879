"""Options that commands share, and exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any

import click

from morello_layouts.api.layouts import Shape, needs_shape
from morello_layouts.errors import ShapeError
from morello_layouts.layout import Arrays
from morello_layouts.notations import parse, parse_shape


def _shape(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    try:
        return None if value is None else parse_shape(value)
    except ShapeError as error:
        raise ShapeError(
            f"--shape {error.what}",
            error.why,
            "write for example --shape 6x8, --shape M,N, or --shape '()' for a scalar",
        ) from None


def _text(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if value != "-":
        return value
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def layouts_with_shape(texts: Sequence[str], shape: Shape | None) -> list[Arrays]:
    """The layouts of some texts, one of which carries a shape if none is given.

    Raises:
        ShapeError: where there is no shape.
    """
    layouts = [parse(text) for text in texts]
    if shape is None and all(map(needs_shape, layouts)):
        raise ShapeError(
            f"{' and '.join(map(str, layouts))}: no shape is known",
            "a layout alone does not say how large the array is",
            "add --shape 6x8 with the sizes of yours",
        )
    return layouts


shape_option = click.option(
    "--shape",
    metavar="6x8",
    callback=_shape,
    help="Sizes of the array, for a layout whose text carries none; 6x8, or names: M,N.",
)

assuming_option = click.option(
    "--assuming", metavar="FACTS",
    help='What is known of symbolic sizes, such as "M % 8 == 0, N <= 128".',
)  # fmt: skip

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def text_argument(name: str) -> Callable[[Any], Any]:
    """An argument that holds a layout; ``-`` reads standard input."""
    return click.argument(name, callback=_text)


class Status(IntEnum):
    """What the command's exit status says."""

    DONE = 0
    DISPROVED = 1
    BAD_INPUT = 2
    UNDECIDED = 3


def status_of(verdicts: Iterable[bool | None]) -> Status:
    """The status of some proofs together: one disproved outweighs one undecided.

    >>> status_of([True, None, False])
    <Status.DISPROVED: 1>
    """
    found = set(verdicts)
    if False in found:
        return Status.DISPROVED
    return Status.UNDECIDED if None in found else Status.DONE
