"""What is asked of the explorer: a few short texts, as they were typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError

__all__ = ["LONGEST", "FieldError", "Question", "error_dict", "failure", "parse_sizes"]

LONGEST: Final = 4000
"""Characters that a field may hold."""

_SIZE: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([0-9]{1,19})\s*", re.ASCII)


class FieldError(Exception):
    """What is wrong with one field of the question."""

    def __init__(self, field: str, error: LayoutError) -> None:
        super().__init__(field, error)
        self.field, self.error = field, error


@dataclass(frozen=True, slots=True)
class Question:
    """What was typed. Every field but the layout may be empty.

    Attributes:
        layout: a layout in any notation, or an instruction of HLO.
        shape: the sizes of a layout that carries none: ``6x8``, ``M,N``.
        assuming: what is known of symbolic sizes: ``8 | M``.
        at: sizes to draw a layout of symbolic sizes at: ``M=16, N=256``.
        other: a second layout, to compare with, or a formula over d0, d1, ….
        array: which array of a tuple, from 0.
    """

    layout: str
    shape: str = ""
    assuming: str = ""
    at: str = ""
    other: str = ""
    array: str = ""

    @staticmethod
    def of(values: Mapping[str, str]) -> Question:
        """A question from the fields by name.

        Raises:
            FieldError: where a field is too long, or none of a question's.

        >>> Question.of({"layout": "f32[3,5]", "other": "{0,1}"}).other
        '{0,1}'
        """
        names = {field.name for field in fields(Question)}
        for name, value in values.items():
            if name not in names:
                raise FieldError("layout", _unknown(name))
            if len(value) > LONGEST:
                raise FieldError(name, _too_long(value))
        return Question(**{"layout": "", **values})

    def to_dict(self) -> dict[str, str]:
        """The fields by name."""
        return asdict(self)

    @property
    def position(self) -> int:
        """Which array of a tuple is asked about."""
        text = self.array.strip() or "0"
        if not re.fullmatch(r"[0-9]{1,6}", text):
            raise FieldError(
                "array",
                LayoutError("this is no number of an array", "arrays count from 0", "write 0"),
            )
        return int(text)


def _unknown(name: str) -> LayoutError:
    return LayoutError(
        f"a question has no field {name[:40]!r}",
        f"its fields are {', '.join(field.name for field in fields(Question))}",
        "leave it out",
    )


def _too_long(value: str) -> LayoutError:
    return LayoutError(
        f"the text is too long: {len(value):,} characters",
        f"a field holds at most {LONGEST:,}, so that every answer comes at once",
        "ask about one array at a time; the command takes longer text",
    )


def failure(what: str, why: str, fix: str, field: str = "layout") -> dict[str, Any]:
    """An answer that says why there is none."""
    return {"errors": [error_dict(FieldError(field, LayoutError(what, why, fix)))]}


def error_dict(wrong: FieldError) -> dict[str, Any]:
    """An error as the page takes it; ``pointer`` is the wrong line with a caret below it."""
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
    """Sizes by name, as one types them.

    Raises:
        ParseError: with a caret at what is none.

    >>> parse_sizes("M=16, N = 256")
    {'M': 16, 'N': 256}
    """
    sizes: dict[str, int] = {}
    position = 0
    for part in text.split(",") if text.strip() else ():
        match = _SIZE.fullmatch(part)
        if match is None or int(match[2]) < 1:
            raise ParseError(
                f"{part.strip()[:40]!r} is no size of a name",
                "a picture needs a number of at least 1 for each name",
                "write for example M=16, N=256",
                text=text,
                position=position + len(part) - len(part.lstrip()),
            )
        sizes[match[1]] = int(match[2])
        position += len(part) + 1
    return sizes
