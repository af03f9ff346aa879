"""Options that commands share, exit statuses, and error texts that name options."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from enum import IntEnum
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
    from morello_layouts.tpu import GENERATIONS

    return [name for name in GENERATIONS if name.startswith(beginning)]


def file_argument(name: str, *, required: bool = True) -> Callable[[Any], Any]:
    """Return an argument that is the path of a file."""
    return click.argument(name, required=required, shell_complete=files)


_INDEX: Final = re.compile(r"[0-9]{1,19}")


def coordinate(text: str) -> tuple[int, ...]:
    """Read a coordinate.

    Raises:
        ShapeError: if a part is not an index.

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

    Raises:
        ShapeError: if a part is not a name and its number.

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


_ARGUMENT: Final = re.compile(
    r"\b([a-z_]+)=(\([^()]*\)|\{[^{}]*\}|\"[^\"]*\"|'[^']*'|[\w.-]+)|the argument ([a-z_]+)"
)
_FORMULA: Final = re.compile(r"give the map of the formula: from_sympy\(.*, (\"[^\"]*\")\)")
_PLACE: Final = re.compile(r"\.?\bat\((\w+=…(?:, \w+=…)*)\)")


def in_options(text: str, command: click.Command) -> str:
    """Return a text with the arguments of Python as options of a command.

    An argument is written ``name=value`` or ``the argument name``.

    >>> from morello_layouts.cli.main import commands
    >>> explain = commands.commands["explain"]
    >>> in_options("give the sizes, such as shape=(6, 8), or compiled=True", explain)
    'give the sizes, such as --shape 6x8, or compiled=True'
    >>> in_options("leave out the argument shape", explain)
    'leave out --shape'
    >>> in_options("give tile={'i': 32, 'j': 128}", commands.commands["loops"])
    'give --tile i=32,j=128'
    """
    options = {
        param.name: max(param.opts, key=len)
        for param in command.params
        if isinstance(param, click.Option)
    }

    def option(found: re.Match[str]) -> str:
        name, value, alone = found.groups()
        if (name or alone) not in options:
            return found[0]
        if alone:
            return options[alone]
        if value.startswith("("):
            sizes = [size.strip(" \"'") for size in value.strip("()").split(",") if size.strip()]
            value = ("x" if name == "shape" else ",").join(sizes)
        elif value.startswith("{"):
            value = re.sub(r"[{}'\" ]", "", value).replace(":", "=")
        elif " " not in value:
            value = value.strip("\"'")
        return options[name] + ("" if value == "True" else f" {value}")

    text = _FORMULA.sub(r"print it as code: code \1 --bounds i=0..31,j=0..31", text)
    if "at" in options:
        text = _PLACE.sub(lambda call: f"--at {call[1].replace('…', '16').replace(' ', '')}", text)
    return _ARGUMENT.sub(option, text)


def error_in_options(error: LayoutError, command: click.Command) -> str:
    """Return an error's text, with a fix that names the options of a command."""
    return str(error).removesuffix(error.fix) + in_options(error.fix, command)


class Status(IntEnum):
    """The exit statuses of the command."""

    DONE = 0
    DISPROVED = 1
    BAD_INPUT = 2
    UNDECIDED = 3


def status_of(verdicts: Iterable[bool | None]) -> Status:
    """Return the status of several proofs: one disproved outweighs one undecided.

    >>> status_of([True, None, False])
    <Status.DISPROVED: 1>
    """
    found = set(verdicts)
    if False in found:
        return Status.DISPROVED
    return Status.UNDECIDED if None in found else Status.DONE
