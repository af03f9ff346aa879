"""Where output goes: colour and Unicode where the terminal has them, plain ASCII where not."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from typing import TYPE_CHECKING, Any, Final, TextIO

from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "console",
    "has_unicode",
    "plain",
    "print_error",
    "print_json",
    "print_text",
    "text_width",
    "wrapped",
]

_NARROWEST: Final = 40

# Everything outside ASCII that this package writes.
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
    """Whether a stream takes the characters that pictures and formulas use."""
    try:
        "→×…│─┼⋮░↓".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def plain(text: str, stream: TextIO) -> str:
    """The text as a stream can take it."""
    if has_unicode(stream):
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def console() -> Console:
    """Standard output as rich sees it: without markup, so that brackets stay brackets."""
    from rich.console import Console

    class Quitting(Console):
        """A console that leaves a broken pipe to the command; rich would end it with status 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    found = Quitting(markup=False, highlight=False, emoji=False)
    found.width = max(found.width, _NARROWEST)
    return found


def text_width(screen: Console) -> int:
    """How wide text may be; where it goes to a file or a pipe, as wide as it is."""
    return screen.width if screen.is_terminal or "COLUMNS" in os.environ else sys.maxsize


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most a width, broken at spaces where there are some.

    >>> wrapped("8*(d0//2) + d1", 10)
    ['8*(d0//2)', '+ d1']
    """
    lines = textwrap.wrap(text, max(width, 10), break_on_hyphens=False)
    return lines or [""]


def print_text(text: str) -> None:
    """Print to standard output."""
    print(plain(text, sys.stdout))  # noqa: T201


def print_json(value: Any) -> None:
    """Print a value as JSON, in ASCII, so that every stream takes it."""
    print(json.dumps(value, indent=2))  # noqa: T201


def print_error(error: LayoutError) -> None:
    """Print an error's own text to standard error."""
    print(plain(str(error), sys.stderr), file=sys.stderr)  # noqa: T201
