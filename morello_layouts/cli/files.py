"""Files that commands read and write, with a progress bar on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import click

from morello_layouts.cli.screen import console, plain, print_json, print_text, text_width
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.hlo import HloModule

__all__ = ["html_option", "module_in", "print_report", "standard_input", "write"]

_LONG: Final = 4_000_000  # bytes from which on a bar is shown

html_option = click.option("--html", metavar="OUT", help="Write a page with pictures to a file.")


class Report(Protocol):
    """What a report offers."""

    def to_dict(self) -> dict[str, Any]:
        """It as JSON takes it."""

    def html(self) -> str:
        """It as a page."""

    def text(self, width: int | None = None) -> str:
        """It as text."""


def standard_input() -> str:
    """Standard input as text, which ends with a newline, so that it is no path."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") + "\n"


def module_in(file: str) -> HloModule:
    """The HLO of a file, or of standard input where it is -.

    Raises:
        LayoutError: where it cannot be read, or is no HLO.
    """
    from morello_layouts.hlo import read_hlo

    source = standard_input() if file == "-" else Path(file)
    if not sys.stderr.isatty() or _length(source) < _LONG:
        return read_hlo(source)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(plain(f"reading {file}", sys.stderr).replace("[", "\\["), total=None)
        return read_hlo(
            source, progress=lambda done, total: bar.update(task, completed=done, total=total)
        )


def _length(source: str | Path) -> int:
    try:
        return len(source) if isinstance(source, str) else source.stat().st_size
    except (OSError, ValueError):
        return 0


def print_report(report: Report, *, as_json: bool, html: str | None) -> None:
    """Print a report, as JSON if asked for, and write its page."""
    if html is not None:
        write(html, report.html())
    if as_json:
        print_json(report.to_dict())
    elif html is None:
        width = text_width(console())
        print_text(report.text(width if width < sys.maxsize else None))


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
