"""Errors: each names the mistake, the rule, and the fix.

A fix writes arguments as ``name=value`` or ``the argument name``; the command rewrites both as its
options.
"""

from __future__ import annotations

from typing import Any

_WINDOW = 72  # characters of a long source line shown around the caret
_LINE = 1000  # characters of a line of an error; what somebody gave may have any number


class LayoutError(ValueError):
    """A wrong layout, shape or expression; the base of every error of this package.

    Args:
        what: the mistake in one line, often ``what: expected X, got Y``.
        why: the rule that it breaks, in one line.
        fix: the remedy, in one line.
        part: the place of the mistake in the value, as a path of field names and positions,
            e.g. ``("tiles", 0, 1)``; the parser turns it into a caret.

    >>> print(LayoutError("no tiles", "a tile has sizes", "write T(8,128)"))
    no tiles
    a tile has sizes
    write T(8,128)
    """

    def __init__(
        self, what: str, why: str = "", fix: str = "", *, part: tuple[str | int, ...] = ()
    ) -> None:
        self.what, self.why, self.fix, self.part = what, why, fix, part
        super().__init__("\n".join(_cut(line) for line in (what, why, fix) if line))

    def __eq__(self, other: object) -> bool:
        """Return whether the other is the same error, such as one that was pickled."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.what, self.why, self.fix))

    def __reduce__(self) -> Any:
        """Return what pickle and copy need: by default they keep the text of an exception alone."""
        return _restored, (type(self), self.args, self.__dict__)


def _cut(line: str) -> str:
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"


def _restored(kind: type[LayoutError], args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class ShapeError(LayoutError):
    """A shape or coordinate that does not fit the layout.

    >>> issubclass(ShapeError, LayoutError)
    True
    """


class UnsupportedError(LayoutError):
    """A valid layout or question that this package does not compute.

    >>> issubclass(UnsupportedError, LayoutError)
    True
    """


class ParseError(LayoutError):
    """Text that is not in the grammar of its notation.

    Attributes:
        text: the whole text; for a file, the wrong statement alone.
        position: the offset of the mistake in the text, from 0.
        line: the line of the mistake, from 1.
        column: its column in that line, from 1.
        first_line: the line of the file on which the text begins.
        reached: how far the reader understood the text: up to the position, or all of it if the
            text is in the grammar but its meaning is wrong.

    >>> error = ParseError("expected a size", text="f32[x,3]", position=4)
    >>> error.line, error.column
    (1, 5)
    """

    def __init__(
        self,
        what: str,
        why: str = "",
        fix: str = "",
        *,
        text: str,
        position: int,
        first_line: int = 1,
        reached: int | None = None,
    ) -> None:
        self.text, self.position = text, min(max(position, 0), len(text))
        self.reached = len(text) if reached is None else reached
        self.first_line = first_line
        before = text[: self.position]
        self.line = before.count("\n") + first_line
        self.column = self.position - (before.rfind("\n") + 1) + 1
        super().__init__(what, why, fix)
        lines = (_cut(what), self.pointer(), _cut(why), _cut(fix))
        shown = "\n".join(line for line in lines if line)
        self.args = (shown,)

    def pointer(self) -> str:
        """Return the wrong line of the text, cut to a window, with a caret below it.

        >>> print(ParseError("expected a size", text="f32[x,3]", position=4).pointer())
          f32[x,3]
              ^
        """
        source = self.text.split("\n")[self.line - self.first_line]
        at = self.column - 1
        start = max(0, at - _WINDOW // 2)
        end = min(len(source), start + _WINDOW)
        lead = "…" if start else ""
        # Control characters would move the caret or the terminal's cursor.
        shown = source[start:end]
        if not shown.isprintable():
            shown = "".join(c if c.isprintable() else "�" for c in shown)
        tail = "…" if end < len(source) else ""
        return f"  {lead}{shown}{tail}\n  {' ' * (len(lead) + at - start)}^"


class NoTranslationError(UnsupportedError):
    """No layout of the other notation has the same offsets.

    >>> issubclass(NoTranslationError, UnsupportedError)
    True
    """


class TranslationNotFoundError(UnsupportedError):
    """No layout of the other notation was found; one may exist.

    >>> issubclass(TranslationNotFoundError, UnsupportedError)
    True
    """
