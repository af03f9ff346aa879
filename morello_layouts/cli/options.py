"""Options that commands share; they load the notations, which the command itself does not need."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.layout import Arrays
from morello_layouts.notations import parse, parse_shape
from morello_layouts.notations.registry import NAMES, require_notation


def checked_option(read: Callable[[str], Any]) -> Callable[..., Any]:
    """Return a callback of click that reads an option's text, and names the option in errors."""

    def callback(_ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if value is None:
            return None
        try:
            return read(value) if isinstance(value, str) else [read(each) for each in value]
        except LayoutError as error:
            what = f"{param.opts[-1]}: {error.what}"
            raise LayoutError(what, error.why, error.fix) from None

    return callback


def files(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Let the shell complete a file's name."""
    return [CompletionItem(beginning, type="file")]


def generations(_ctx: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
    """Return the generations of TPUs that begin so."""
    from morello_layouts.tpu_layouts import GENERATIONS

    return [name for name in GENERATIONS if name.startswith(beginning)]


def file_argument(name: str, *, required: bool = True) -> Callable[[Any], Any]:
    """Return an argument that is the path of a file."""
    return click.argument(name, required=required, shell_complete=files)


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


def _text(ctx: click.Context, _param: click.Parameter, value: str | None) -> str | Arrays | None:
    if value == "-":
        value = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    elif value is not None and Path(value).suffix and os.path.isfile(value):
        raise LayoutError(
            f"expected a layout, got the name of a file: {value}",
            "the text of a layout is an argument; - reads it from standard input",
            "ask morello-layouts hlo FILE about a program, and oom FILE about a log",
        )
    notation = ctx.meta.get(_NOTATION)
    return value if value is None or notation is None else parse(value, notation)


_NOTATION: Final = "morello_layouts.notation"


def _keep_notation(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    ctx.meta[_NOTATION] = None if value is None else require_notation(value)


notation_option = click.option(
    "--notation",
    is_eager=True,  # texts are read after it
    expose_value=False,
    callback=_keep_notation,
    metavar="NAME",
    shell_complete=lambda _ctx, _param, beginning: [n for n in NAMES if n.startswith(beginning)],
    help=f"The notation of each text, if a text does not tell: {', '.join(NAMES)}.",
)


shape_option = click.option(
    "--shape",
    metavar="6x8",
    callback=checked_option(parse_shape),
    help="Sizes of the array, if no text carries them: 6x8, or names: M,N.",
)

assuming_option = click.option(
    "--assuming", metavar="FACTS",
    help='Assumptions about symbolic sizes, such as "M % 8 == 0, N <= 128".',
)  # fmt: skip

names_option = click.option(
    "--names", metavar="y,x", help="Names of the coordinates, in place of d0,d1."
)
_AT: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([0-9]{1,19})\s*", re.ASCII)


def sizes_at(text: str) -> dict[str, int]:
    """Read numbers for symbolic sizes.

    >>> sizes_at("M=16, N=8")
    {'M': 16, 'N': 8}
    """
    found = {}
    for part in text.split(","):
        match = _AT.fullmatch(part)
        if match is None:
            raise ShapeError(
                f"expected name=number, got {part.strip()!r}",
                "each symbolic size gets a number",
                "write for example M=16,N=8",
            )
        found[match[1]] = int(match[2])
    return found


at_option = click.option(
    "--at", metavar="M=16,N=8", callback=checked_option(sizes_at),
    help="Numbers for the symbolic sizes.",
)  # fmt: skip


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

output_option = click.option(
    "-o", "--output", metavar="FILE", shell_complete=files, help="Write to a file."
)


def text_argument(name: str, *, required: bool = True) -> Callable[[Any], Any]:
    """Return an argument that holds a layout; ``-`` reads standard input.

    Its value is text, or a layout if ``--notation`` says how to read the text.
    """
    return click.argument(name, callback=_text, required=required)
