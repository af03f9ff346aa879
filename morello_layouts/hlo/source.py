"""Where the lines of a dump come from: a text, a file, a stream."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from morello_layouts.errors import LayoutError
from morello_layouts.xla.checks import shown

__all__ = ["Lines", "Progress", "opened"]

Progress: TypeAlias = Callable[[int, int], object]
"""Called with what was read and all there is, in bytes of a file, in characters of a text."""

_EACH: Final = 4096  # lines between two calls of it
# A line that is no path: blank, the beginning of a module or computation, an instruction.
_TEXT: Final = re.compile(
    r"\s*+(?:\Z|HloModule\s|(?:ROOT\s++)?+%?+[\w.\-]++\s++=\s|[^=]++=[^(]*+\(|[^{]++\{\s*+\Z)",
    re.ASCII,
)


class Lines:
    """The lines of a dump, one at a time, and how many there were.

    Args:
        lines: the lines, each with its newline.
        progress: called now and then with ``position()`` and ``total``.
    """

    def __init__(
        self,
        lines: Iterator[str],
        progress: Progress | None,
        position: Callable[[], int],
        total: int,
    ) -> None:
        self.lines, self.progress, self.position, self.total = lines, progress, position, total
        self.number = 0
        self.ahead: str | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line, self.ahead = self.ahead, None
        if line is None:
            line = next(self.lines)
        self.number += 1
        if self.progress is not None and self.number % _EACH == 0:
            self.progress(min(self.position(), self.total), self.total)
        return line

    def peek(self) -> str | None:
        """The line that comes next, None at the end."""
        if self.ahead is None:
            self.ahead = next(self.lines, None)
        return self.ahead

    def finish(self) -> None:
        """Report that all was read."""
        if self.progress is not None:
            self.progress(self.total, self.total)


@contextmanager
def opened(source: str | os.PathLike[str], progress: Progress | None) -> Iterator[Lines]:
    """The lines of a text, or of the file that a path names.

    Raises:
        LayoutError: where there is no such file, or it cannot be read.
    """
    if isinstance(source, str) and ("\n" in source or _TEXT.match(source)):
        stream = io.StringIO(source, newline=None)
        yield Lines(iter(stream), progress, stream.tell, len(source))
        return
    with _binary(source) as binary:
        size = os.fstat(binary.fileno()).st_size
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="replace")
        yield Lines(iter(text), progress, binary.tell, size)


def _binary(source: str | os.PathLike[str]) -> io.BufferedReader:
    if not isinstance(source, str | os.PathLike):
        fix = "give a path, or the text of a dump"
        raise LayoutError(f"{shown(source)} is no HLO", "it is neither text nor a path", fix)
    try:
        return Path(source).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LayoutError(
            f"{shown(os.fspath(source))} cannot be read: {reason}",
            "text without newline, '=' or HloModule is taken for the path of a dump",
            "give the path of a file with HLO text, or the text itself",
        ) from None
