"""Print rows, errors and files to a terminal."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from morello_layouts.errors import LayoutError
from morello_layouts.explanations.rows import (
    Row,
    formula_rows,
    memory_rows,
    proof_rows,
    tpu_rows,
    word_rows,
)
from morello_layouts.picture import ASCII, UNICODE, fitted_view, terminal_lines
from morello_layouts.plain import plain

if TYPE_CHECKING:
    from rich.console import Console

    from morello_layouts.explanations.report import ArrayReport

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


def printable(text: str, stream: TextIO) -> str:
    """Return the text in characters that a stream can encode."""
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
    print(printable(text, sys.stdout))  # noqa: T201


def print_json(value: Any) -> None:
    """Print a value as JSON, in ASCII, which every stream can encode."""
    print(json.dumps(plain(value), indent=2))  # noqa: T201


def print_error(error: LayoutError) -> None:
    """Print an error's own text to standard error."""
    print(printable(str(error), sys.stderr), file=sys.stderr)  # noqa: T201


def write(path: str, text: str) -> None:
    """Write a file.

    Raises:
        LayoutError: where that cannot be done.
    """
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except (OSError, ValueError) as error:
        raise LayoutError(
            f"{path} could not be written", str(error), "write it to another place"
        ) from None


_WIDEST_LABEL = 22


def show(
    source: str,
    reports: Iterable[ArrayReport],
    *,
    derivation: bool,
    instruction: Sequence[Row] = (),
) -> None:
    """Print the reports on the arrays of a text; the same array a second time only by name.

    The rows of an instruction, if any, come before them.
    """
    screen = Screen(console())
    screen.section("Instruction", instruction)
    seen: dict[str, str] = {}
    count = 0
    for count, report in enumerate(reports, 1):
        place = "".join(f"[{k}]" for k in report.path)
        if count > 1:
            screen.line("")
        if report.path:
            text = report.explanation.source
            if text in seen:
                screen.line(f"{place} {text}: as {seen[text]}", "bold")
                continue
            seen[text] = place
        screen.report(report, place, derivation)
    if count == 0:
        screen.line(f"{source}: a tuple without arrays")


class Screen:
    """A console, and what its stream can take."""

    def __init__(self, screen: Console) -> None:
        self.console = screen
        self.glyphs = UNICODE if has_unicode(sys.stdout) else ASCII
        self.text_width = text_width(screen)

    def line(self, text: str, style: str = "") -> None:
        """A line that the terminal may break where it likes."""
        from rich.text import Text

        self.console.print(Text(printable(text, sys.stdout), style=style), soft_wrap=True)

    def section(self, title: str, rows: Sequence[Row]) -> None:
        """A title, and below it labels with text that wraps beside them."""
        from rich.text import Text

        if not rows:
            return
        self.line(title, "bold")
        labels = [printable(row.label, sys.stdout) for row in rows]
        longest = max(map(len, labels))
        indent = min(longest, _WIDEST_LABEL) + 4 if longest else 2
        for label, row in zip(labels, rows, strict=True):
            dim = "dim" if row.is_dim else ""
            first, *others = wrapped(printable(row.text, sys.stdout), self.text_width - indent)
            line = Text("  ").append(label, style=dim or "cyan")
            line.append("  " if len(label) + 4 > indent > 2 else " " * (indent - len(label) - 2))
            self.console.print(line.append(first, style=row.style or dim), soft_wrap=True)
            for other in others:
                rest = Text(" " * indent).append(other, style=row.style or dim)
                self.console.print(rest, soft_wrap=True)

    def report(self, report: ArrayReport, place: str, derivation: bool) -> None:
        """A report on one array, section by section."""
        words = report.explanation
        self.line(f"{place} {words.source}".lstrip(), "bold")
        self.line(f"{words.kind}: {words.headline}")
        self.section("Text", word_rows(words))
        self.section("Memory", memory_rows(report))
        if report.tpu is not None:
            self.section("TPU", tpu_rows(report.tpu))
        if report.index is not None:
            self.section("Offset", formula_rows(report.index, words))
        if report.index is not None and derivation:
            self.line("Derivation", "bold")
            for line in str(report.index.derivation).splitlines():
                first, *others = wrapped(printable(line, sys.stdout), self.text_width - 6)
                self.line(f"  {'  ' if line.startswith(' ') else ''}{first}")
                for other in others:
                    self.line(f"      {other}")
        if report.proofs is not None:
            self.section("Proof by ISL", proof_rows(report.proofs))
        self.section("Note", [Row("", note) for note in report.notes])
        if report.index is not None and report.sizes is not None:
            self.picture(report)

    def picture(self, report: ArrayReport) -> None:
        """The offsets that fit the screen."""
        assert report.index is not None
        names = report.explanation.names
        self.line("Offsets", "bold")
        picture = fitted_view(report.index, names, self.console.width - 2)
        for line in terminal_lines(picture, names, self.glyphs):
            line.pad_left(2)
            self.console.print(line, soft_wrap=True)
