"""Answers and exit statuses; print lines, JSON and errors that name options; write files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

import click

from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.cli.table import SAID

if TYPE_CHECKING:
    from rich.console import Console

    from morello_layouts.interfaces.explanations.rows import Medium
    from morello_layouts.outputs.picture import Line


_NARROWEST: Final = 40  # columns below which tables and pictures are not readable

# Every character outside ASCII that this package writes.
_ASCII: Final = str.maketrans(
    {
        "→": "->",
        "×": "x",
        "…": "...",
        "·": ".",
        "∞": "inf",
        "⌊": "floor(",
        "⌋": ")",
        "�": "?",
        "≤": "<=",
        "≥": ">=",
        "Σ": "sum",
        "α": "alpha",
    }
)


def has_unicode(stream: TextIO) -> bool:
    """Return whether a stream takes the characters of pictures and formulas."""
    try:
        "→×…│─┼⋮░↓".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def printable(text: str, stream: TextIO) -> str:
    """Return a text without the characters that a stream does not take."""
    if has_unicode(stream):
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def is_terminal() -> bool:
    """Whether standard output shows colours: a terminal, or what the environment takes for one."""
    given = (os.environ.get(name) for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))
    return any(given) or (sys.stdout is not None and sys.stdout.isatty())


def screen_width() -> int:
    """Return the columns of the screen around, 80 without one."""
    if is_terminal():
        return console().width
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal():
        return max(int(columns), _NARROWEST)
    for stream in range(3):
        with suppress(OSError):
            return max(os.get_terminal_size(stream).columns or 80, _NARROWEST)
    return 80


def console() -> Console:
    """Return standard output as a console of rich without markup: brackets stay brackets."""
    from rich.console import Console

    class Quitting(Console):
        """A console that leaves a broken pipe to the command; rich would end it with status 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    found = Quitting(markup=False, highlight=False, emoji=False)
    found.width = max(found.width, _NARROWEST)
    return found


def text_width() -> int:
    """Return the width of text; it is unlimited in a file or a pipe."""
    return screen_width() if is_terminal() or "COLUMNS" in os.environ else sys.maxsize


def print_text(text: str) -> None:
    print(printable(text, sys.stdout))  # noqa: T201


def print_json(value: Any) -> None:
    """Print a value as JSON, in ASCII, so that every stream takes it."""
    import json

    from morello_layouts.core.fields import plain

    print(json.dumps(plain(value), indent=2))  # noqa: T201


def print_error(text: str) -> None:
    print(printable(text, sys.stderr), file=sys.stderr)  # noqa: T201


def print_lines(lines: Callable[[Medium], Iterable[Line]]) -> None:
    """Print lines in the width and characters of standard output."""
    from morello_layouts.interfaces.explanations.rows import Medium
    from morello_layouts.outputs.picture import ASCII, UNICODE

    glyphs = UNICODE if has_unicode(sys.stdout) else ASCII
    every = lines(
        Medium(text_width(), screen_width() - 2, glyphs, lambda text: printable(text, sys.stdout))
    )
    if not is_terminal():  # rich takes longer to load than most answers
        for line in every:
            print(line.plain.expandtabs())  # noqa: T201
        return
    from rich.text import Text

    screen = console()
    for line in every:
        screen.print(Text.assemble(*line.pieces), soft_wrap=True)


def print_answer(answer: Any, *, as_json: bool) -> None:
    """Print an answer: JSON, lines, a report, or a text, in the width of the terminal."""
    if as_json:
        print_json(answer.facts if isinstance(answer, Answer) else answer)
        return
    if isinstance(answer, Answer) and answer.refusal:
        print_error(answer.refusal)
        return
    shown: Any = answer.text if isinstance(answer, Answer) else answer
    if callable(shown) or hasattr(shown, "lines"):
        print_lines(getattr(shown, "lines", shown))
    elif hasattr(shown, "tables"):
        width = text_width()
        print_text(shown.text(width if width < sys.maxsize else None))
    else:
        print_text(str(shown))


def write(path: str, text: str) -> None:
    from morello_layouts.core.files import written

    with written(path) as beside:
        beside.write_text(text, encoding="utf-8", errors="backslashreplace")
    say_written(path)


def say_written(path: str) -> None:
    """Say on standard error that a file was written, and its length."""
    kib = max(Path(path).stat().st_size / 1024, 0.1)
    size = f"{kib / 1024:,.1f} MiB" if kib >= 1024 else f"{kib:,.1f} KiB"
    print_error(f"wrote {path} ({size})")


_ARGUMENT: Final = regex(
    r"\b([a-z_]+)=(\([^()]*\)|\{[^{}]*\}|\"[^\"]*\"|'[^']*'|[\w.-]+)|the argument ([a-z_]+)"
)
_FORMULA: Final = regex(r"give the map of the formula: from_sympy\(.*, (\"[^\"]*\")\)")
_AT: Final = regex(r"\.?\bat\((\w+=…(?:, \w+=…)*)\)")


def in_options(text: str, command: click.Command) -> str:
    """Return a text with the arguments of Python as options of a command.

    An argument is written ``name=value`` or ``the argument name``.

    >>> from morello_layouts.interfaces.cli.main import commands
    >>> explain = commands.commands["explain"]
    >>> in_options("give the sizes, such as shape=(6, 8), or compiled=True", explain)
    'give the sizes, such as --shape 6x8, or compiled=True'
    >>> in_options("leave out the argument shape", explain)
    'leave out --shape'
    >>> in_options("give tile={'i': 32, 'j': 128}", commands.commands["loops"])
    'give --tile i=32,j=128'
    """
    options = _options(command)

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
    if options.get("at") == "--at":  # elsewhere it is a coordinate
        text = _AT.sub(lambda call: f"--at {call[1].replace('…', '16').replace(' ', '')}", text)
    text = _AT.sub(lambda call: f"write a number for {call[1].replace('=…', '')}", text)
    return _ARGUMENT.sub(option, text)


def _options(command: click.Command) -> dict[str | None, str]:
    """Return the options of a command by the names of their arguments in Python."""
    options = [param for param in command.params if isinstance(param, click.Option)]
    flags = {param.name: max(param.opts, key=len) for param in options}
    said: dict[str | None, str] = {name: f"--{word}" for name, word in SAID.items()}
    return {name: flag for name, flag in said.items() if flag in flags.values()} | flags


def error_in_options(error: LayoutError, command: click.Command) -> str:
    """Return an error's text, with options of a command in its fix, and first of all."""
    name, text = error.what.partition(":")[0], str(error).removesuffix(error.fix)
    if name in SAID:
        text = _options(command).get(name, name) + text.removeprefix(name)
    return text + in_options(error.fix, command)


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


class Answer(NamedTuple):
    """An answer of which several functions have a part."""

    facts: Mapping[str, Any]  #: what JSON has.
    #: what is printed: a text, or lines for a medium.
    text: str | Callable[[Medium], Iterable[Line]]
    holds: bool | None = True  #: whether it is proved, found or true; None if undecided.
    refusal: str | None = None  #: why there is no answer, which is printed in its place.
    status: Status | None = None  #: the exit status, if it does not follow from ``holds``.
    #: what writes it to a file in a format of its own.
    saves: Callable[[str], object] | None = None
