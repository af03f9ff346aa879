"""Reports on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from morello_layouts.cli.screen import console, has_unicode, plain, text_width, wrapped
from morello_layouts.picture import ASCII, UNICODE, fitted_view, terminal_lines
from morello_layouts.report.rows import (
    Row,
    formula_rows,
    memory_rows,
    proof_rows,
    tpu_rows,
    word_rows,
)

if TYPE_CHECKING:
    from rich.console import Console

    from morello_layouts.report.arrays import ArrayReport

__all__ = ["Screen", "show"]

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

        self.console.print(Text(plain(text, sys.stdout), style=style), soft_wrap=True)

    def section(self, title: str, rows: Sequence[Row]) -> None:
        """A title, and below it labels with text that wraps beside them."""
        from rich.text import Text

        if not rows:
            return
        self.line(title, "bold")
        labels = [plain(row.label, sys.stdout) for row in rows]
        longest = max(map(len, labels))
        indent = min(longest, _WIDEST_LABEL) + 4 if longest else 2
        for label, row in zip(labels, rows, strict=True):
            dim = "dim" if row.is_dim else ""
            first, *others = wrapped(plain(row.text, sys.stdout), self.text_width - indent)
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
                first, *others = wrapped(plain(line, sys.stdout), self.text_width - 6)
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
