"""How values are written on the command line: by the name of a parameter, or by its type."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from morello_layouts.core.checks import as_permutation
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Arrays
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations import parse, parse_shape
from morello_layouts.notations.bounds import values_by_name
from morello_layouts.notations.registry import NAMES, require_notation

File: TypeAlias = str
"""The path of a file."""

Log: TypeAlias = str
"""The text of a file."""

Shapes: TypeAlias = Sequence[Any]
"""The sizes of an array, or of several."""

Sizes: TypeAlias = str
"""The sizes of an array, as text."""

Natural: TypeAlias = int
"""A number from 0."""

Positive: TypeAlias = int
"""A number from 1."""

Tiles: TypeAlias = Mapping[str, Sequence[int]]
Order: TypeAlias = Sequence[int]


@frozen(slots=False)
class Kind:
    """How the values of an option are written."""

    metavar: str | None = None  #: an example, or a word, in the help.
    read: Callable[[Any], Any] = lambda text: text  #: what reads a text.
    adds_up: bool = False  #: whether the texts of several options are one text with commas.
    is_many: bool = False  #: whether each of several options is a value.
    type: Any = None  #: click's type.
    #: what the shell offers.
    complete: Callable[[click.Context, click.Parameter, str], list[Any]] | None = None

    def value(self, _ctx: click.Context, param: click.Parameter, given: Any) -> Any:
        """Return the value of an option, which errors name."""
        if given is None or given == ():
            return None
        try:
            if self.is_many:
                return [self.read(each) for each in given]
            return self.read(", ".join(given) if self.adds_up else given)
        except LayoutError as error:
            what = error.what if error.what.startswith("--") else f"{param.opts[0]}: {error.what}"
            raise LayoutError(what, error.why, error.fix) from None


def files(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Let the shell complete a file's name."""
    return [CompletionItem(beginning, type="file")]


def _generations(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
    from morello_layouts.machines.tpu_layouts import GENERATIONS

    return [name for name in GENERATIONS if name.startswith(beginning)]


_INDEX: Final = re.compile(r"[0-9]{1,19}")


def coordinate(text: str) -> tuple[int, ...]:
    """Read a coordinate.

    >>> coordinate("(6, 5)")
    (6, 5)
    """
    stripped = text.strip().removeprefix("(").removesuffix(")")
    parts = [part.strip() for part in stripped.split(",")] if stripped.strip(" ,") else []
    for part in parts:
        if _INDEX.fullmatch(part) is None:
            raise ShapeError(
                f"expected a coordinate, got {text!r}: {part!r} is not an index",
                "a coordinate is one index for each dimension, from 0, with commas between them",
                "write for example 6,5",
            )
    return tuple(map(int, parts))


sizes_at: Final = values_by_name(
    "[0-9]{1,19}", int, "name=number", "each symbolic size gets a number", "M=16,N=8"
)
mesh: Final = values_by_name(
    "[1-9][0-9]{0,18}", int, "an axis and its size",
    "a mesh has named axes, each with a number of devices", "data=2,model=4",
)  # fmt: skip
tiles: Final = values_by_name(
    "[1-9][0-9]{0,17}(?:/[1-9][0-9]{0,17}){0,9}",
    lambda sizes: tuple(map(int, sizes.split("/"))), "a coordinate and the size of a tile",
    "a size is a number from 1; smaller tiles within follow after a slash", "i=64,j=128/8",
)  # fmt: skip
indices: Final = values_by_name(
    "[^=,]{1,40}?", str, "pairs of names and values",
    "a pair is a name, = and a value; commas are between pairs", "i0=blockIdx.x",
)  # fmt: skip


def order(text: str) -> tuple[int, ...]:
    """Read an order of dimensions.

    >>> order("1,0")
    (1, 0)
    """
    parts = [part.strip() for part in text.strip().strip("()[]{}").split(",")]
    if not all(part.isdecimal() for part in parts):
        raise LayoutError(
            f"--transpose: expected an order of dimensions, got {text!r}",
            "a transpose names each dimension once, from 0",
            "write for example --transpose 1,0",
        )
    return as_permutation(list(map(int, parts)), "--transpose", fix="write for example 1,0")


NOTATION: Final = "morello_layouts.notation"
"""The key of the notation of all texts in click's context."""


def layout(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | Arrays | None:
    """Return the text of a layout, or the layout if ``--notation`` says how to read it."""
    if value == "-":
        value = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    elif value is not None and Path(value).suffix and os.path.isfile(value):
        raise LayoutError(
            f"expected a layout, got the name of a file: {value}",
            "the text of a layout is an argument; - reads it from standard input",
            "ask morello-layouts hlo FILE about a program, and oom FILE about a log",
        )
    notation = ctx.meta.get(NOTATION)
    return value if value is None or notation is None else parse(value, notation)


def keep_notation(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Keep the notation in which the texts are read."""
    ctx.meta[NOTATION] = None if value is None else require_notation(value)


def notations(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
    return [name for name in NAMES if name.startswith(beginning)]


LAYOUTS: Final = ("LayoutLike", "MapLike", "LayoutLike | HloInstruction", "LayoutLike | Shape")
"""The types of layouts."""

_COORDINATE: Final = Kind("6,5", coordinate)

KINDS: Final = {
    # By the name of a parameter.
    "alternatives": Kind(type=click.IntRange(0)),
    "assuming": Kind('"M % 8 == 0"', adds_up=True),
    "bounds": Kind("i=0..31,j=0..31", adds_up=True),
    "generation": Kind("v5e", complete=_generations),
    "max_columns": Kind(type=click.IntRange(5)),
    "max_rows": Kind(type=click.IntRange(5)),
    "mesh": Kind("data=2,model=4", mesh, adds_up=True),
    "names": Kind("y,x"),
    "order": Kind("i,j"),
    "notation": Kind("NAME", complete=notations),
    "shapes": Kind("SHAPES", adds_up=True),
    "colour": Kind("UNIT"),
    "element_type": Kind("bf16"),
    "transpose": Kind("1,0", order),
    # By its type.
    "Bytes": Kind("BYTES"),
    "File": Kind("FILE", complete=files),
    "Iterable[Sequence[int]]": Kind("6,5", coordinate, is_many=True),
    "Log": Kind("FILE", lambda file: file.read(), type=click.File(errors="replace")),
    "Mapping[str, int]": Kind("M=16,N=8", sizes_at, adds_up=True),
    "Mapping[str, str]": Kind("i0=blockIdx.x", indices, adds_up=True),
    "Natural": Kind(type=click.IntRange(0)),
    "Order": Kind("1,0", order),
    "Positive": Kind(type=click.IntRange(1)),
    "Sequence[int]": _COORDINATE,
    "Sequence[int | None]": _COORDINATE,
    "Shape": Kind("6x8", parse_shape),
    "Shapes": Kind("6x8", parse_shape, is_many=True),
    "Tiles": Kind("i=64,j=128/8", tiles, adds_up=True),
    "int": Kind(type=int),
    "Sizes": Kind("6x8"),
    "str": Kind(),
}
"""The kinds of values, by the name of a parameter or by its type."""
