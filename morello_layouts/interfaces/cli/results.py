"""Exit statuses, and error texts that name options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from rich.text import Text

    from morello_layouts.interfaces.explanations.rows import Medium

_ARGUMENT: Final = re.compile(
    r"\b([a-z_]+)=(\([^()]*\)|\{[^{}]*\}|\"[^\"]*\"|'[^']*'|[\w.-]+)|the argument ([a-z_]+)"
)
_FORMULA: Final = re.compile(r"give the map of the formula: from_sympy\(.*, (\"[^\"]*\")\)")
_AT: Final = re.compile(r"\.?\bat\((\w+=…(?:, \w+=…)*)\)")


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
        text = _AT.sub(lambda call: f"--at {call[1].replace('…', '16').replace(' ', '')}", text)
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


class Answer(NamedTuple):
    """An answer of which several functions have a part."""

    facts: Mapping[str, Any]  #: what JSON has.
    #: what is printed: a text, or lines for a medium.
    text: str | Callable[[Medium], Iterable[Text]]
    holds: bool | None = True  #: whether it is proved, found or true; None if undecided.
    refusal: str | None = None  #: why there is no answer, which is printed in its place.
    status: Status | None = None  #: the exit status, if it does not follow from ``holds``.
    #: what writes it to a file in a format of its own.
    saves: Callable[[str], object] | None = None
