"""The fields of the explorer's page, and errors in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.limits import EXPLORER_TEXT

_SIZE: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([0-9]{1,19})\s*", re.ASCII)


class FieldError(Exception):
    """An error in one field of the question."""

    def __init__(self, field: str, error: LayoutError) -> None:
        super().__init__(field, error)
        self.field, self.error = field, error


@dataclass(frozen=True, slots=True)
class Question:
    """The texts in the page's fields. Every field but the layout may be empty.

    Attributes:
        layout: a layout in any notation, or an HLO instruction.
        shape: the sizes of a layout that carries none: ``6x8``, ``M,N``.
        assuming: assumptions about symbolic sizes: ``8 | M``.
        at: sizes at which to draw a layout of symbolic sizes: ``M=16, N=256``.
        other: a second layout to compare with, or a formula over d0, d1, ….
        array: the position of an array in a tuple, from 0.
    """

    layout: str
    shape: str = ""
    assuming: str = ""
    at: str = ""
    other: str = ""
    array: str = ""

    @staticmethod
    def of(values: Mapping[str, str]) -> Question:
        """Return the question with these fields.

        Raises:
            FieldError: if a field is unknown or too long.

        >>> Question.of({"layout": "f32[3,5]", "other": "{0,1}"}).other
        '{0,1}'
        """
        names = [field.name for field in fields(Question)]
        for name, value in values.items():
            if name not in names:
                what = f"a question does not have a field {name[:40]!r}"
                raise FieldError(
                    "layout",
                    LayoutError(what, f"its fields are {', '.join(names)}", "leave it out"),
                )
            if len(value) > EXPLORER_TEXT:
                what = f"the text is too long: {len(value):,} characters"
                raise FieldError(
                    name,
                    LayoutError(
                        what,
                        f"a field holds at most {EXPLORER_TEXT:,}",
                        "ask about one array at a time; the command takes longer text",
                    ),
                )
        return Question(**{"layout": "", **values})

    def filled(self) -> dict[str, str]:
        """Return the fields that are not empty, by name."""
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in texts.items() if text}

    @property
    def position(self) -> int:
        """The position in a tuple of the array that the question is about."""
        text = self.array.strip() or "0"
        if not re.fullmatch(r"[0-9]{1,6}", text):
            what = f"array: expected a number, got {text[:40]!r}"
            raise FieldError("array", LayoutError(what, "arrays count from 0", "write 0"))
        return int(text)


def failure(what: str, why: str, fix: str, field: str = "layout") -> dict[str, Any]:
    """Return an answer that consists of an error."""
    return {"errors": [error_dict(FieldError(field, LayoutError(what, why, fix)))]}


def error_dict(wrong: FieldError) -> dict[str, Any]:
    """Return an error as the page shows it; ``pointer`` is the wrong line with a caret below it."""
    error = wrong.error
    at = error if isinstance(error, ParseError) else None
    return {
        "field": wrong.field,
        "what": error.what,
        "why": error.why,
        "fix": error.fix,
        "pointer": None if at is None else at.pointer(),
        "position": None if at is None else at.position,
    }


def parse_sizes(text: str) -> dict[str, int]:
    """Read sizes by name.

    Raises:
        ParseError: with a caret at the part that is not a size.

    >>> parse_sizes("M=16, N = 256")
    {'M': 16, 'N': 256}
    """
    sizes: dict[str, int] = {}
    position = 0
    for part in text.split(",") if text.strip() else ():
        match = _SIZE.fullmatch(part)
        if match is None or int(match[2]) < 1:
            raise ParseError(
                f"expected a name and its size, got {part.strip()[:40]!r}",
                "a picture needs a number of at least 1 for each name",
                "write for example M=16, N=256",
                text=text,
                position=position + len(part) - len(part.lstrip()),
            )
        sizes[match[1]] = int(match[2])
        position += len(part) + 1
    return sizes
