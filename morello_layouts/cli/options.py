"""Arguments and options that several commands share."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from morello_layouts.api.sizes import Shape
from morello_layouts.errors import ShapeError
from morello_layouts.morello import MorelloLayout
from morello_layouts.notation import parse
from morello_layouts.notation.dispatch import Layout
from morello_layouts.xla import XlaLayout

__all__ = [
    "assuming_option",
    "json_option",
    "layouts_with_shape",
    "parse_shape",
    "shape_option",
    "text_argument",
]

_SIZE = re.compile(r"[0-9]{1,19}")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def parse_shape(text: str) -> tuple[int | str, ...]:
    """A shape as one types it: ``6x8``, ``6,8``, ``[6, 8]``, ``MxN``; ``()`` is a scalar's.

    Raises:
        ShapeError: for anything else.

    >>> parse_shape("6x8"), parse_shape("(6, 8)"), parse_shape("6"), parse_shape("[]")
    ((6, 8), (6, 8), (6,), ())
    >>> parse_shape("MxN")
    ('M', 'N')
    """
    stripped = text.strip()
    bracketed = stripped[:1] + stripped[-1:] in ("()", "[]")
    inner = stripped[1:-1] if bracketed else stripped
    if bracketed and not inner.strip():
        return ()
    sizes = [
        size.strip() for size in re.split(r"[x×,]", inner.rstrip(", ") if bracketed else inner)
    ]
    for size in sizes:
        if _SIZE.fullmatch(size) is None and _NAME.fullmatch(size) is None:
            raise ShapeError(
                f"--shape {text!r} is no shape: {size!r} is no size",
                "a shape is one size for each dimension, with x or a comma between them",
                "write for example --shape 6x8, --shape M,N, or --shape '()' for a scalar",
            )
    return tuple(int(size) if size.isdigit() else size for size in sizes)


def _shape(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    return None if value is None else parse_shape(value)


def _text(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if value != "-":
        return value
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def layouts_with_shape(texts: Sequence[str], shape: Shape | None) -> list[Layout]:
    """The layouts of some texts, one of which carries a shape if none is given.

    Raises:
        ShapeError: where there is no shape.
    """
    layouts = [parse(text) for text in texts]
    if shape is None and all(isinstance(x, MorelloLayout | XlaLayout) for x in layouts):
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
