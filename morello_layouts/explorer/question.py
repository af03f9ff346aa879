"""Questions that the explorer takes, and its presets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from morello_layouts.errors import LayoutError, ParseError

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


@dataclass(frozen=True, slots=True)
class Preset:
    """A question to begin with.

    Attributes:
        group: the heading that it stands under.
        name: what people call it.
        question: what is typed.
    """

    group: str
    name: str
    question: Question


_PLAIN: Final = "Without tiles"
_TPU: Final = "TPU tiles, in XLA's notation"
_MORELLO: Final = "Morello's notation"
_PAIRS: Final = "Compared"
_NAMES: Final = "Sizes that are names"

PRESETS: Final[tuple[Preset, ...]] = (
    Preset(_PLAIN, "row-major (C order)", Question("f32[6,8]{1,0}")),
    Preset(_PLAIN, "column-major (Fortran order)", Question("f32[6,8]{0,1}")),
    Preset(_PLAIN, "NCHW, images one plane after the other", Question("NCHW", "2x3x4x5")),
    Preset(_PLAIN, "NHWC, channels fastest", Question("NHWC", "2x3x4x5")),
    Preset(_TPU, "tiles with padding (XLA's first figure)", Question("f32[3,5]{1,0:T(2,2)}")),
    Preset(_TPU, "f32, tiles of 8 × 128", Question("f32[16,256]{1,0:T(8,128)}")),
    Preset(_TPU, "f32, few rows: tiles of 2 × 128", Question("f32[2,1000]{1,0:T(2,128)}")),
    Preset(_TPU, "f32 vector, tiles of 128", Question("f32[1000]{0:T(128)}")),
    Preset(_TPU, "bf16, rows in pairs", Question("bf16[10,200]{1,0:T(8,128)(2,1)}")),
    Preset(_TPU, "bf16, columns in pairs", Question("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}")),
    Preset(_TPU, "int8, rows in fours", Question("s8[64,256]{1,0:T(8,128)(4,1)}")),
    Preset(_TPU, "booleans as bits", Question("pred[64,512]{1,0:T(32,128)(32,1)E(1)}")),
    Preset(
        _TPU,
        "bf16, four dimensions, in fast memory",
        Question("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)S(1)}"),
    ),
    Preset(_MORELLO, "packed: columns in fours", Question("[1, 0, 1 p(4)]", "6x8")),
    Preset(_MORELLO, "packed twice", Question("[0, 1, 0 p(4), 1 p(8)]", "16x32")),
    Preset(_MORELLO, "odd-even: even columns first", Question("[0, 1, 1 oe(8)]", "4x16")),
    Preset(_MORELLO, "NCHWc: channels in fours", Question("[0, 1, 2, 3, 1 p(4)]", "1x8x4x4")),
    Preset(
        _PAIRS,
        "row-major and tiled",
        Question("f32[3,5]{1,0}", other="{1,0:T(2,2)}"),
    ),
    Preset(
        _PAIRS,
        "two notations, one layout",
        Question("f32[6,8]{1,0:T(6,4)}", other="[1, 0, 1 p(4)]"),
    ),
    Preset(
        _PAIRS,
        "is my formula right?",
        Question("[1, 0, 1 p(4)]", "6x8", other="24*(d1//4) + 4*d0 + d1%3"),
    ),
    Preset(
        _PAIRS,
        "for which sizes are they one?",
        Question("f32[M,N]{1,0:T(2,128)}", other="{1,0:T(8,128)}"),
    ),
    Preset(_NAMES, "f32, M rows and N columns", Question("f32[M,N]{1,0:T(8,128)}")),
    Preset(
        _NAMES,
        "the same, where 8 divides M",
        Question("f32[M,N]{1,0:T(8,128)}", assuming="8 | M"),
    ),
)


def presets() -> list[dict[str, Any]]:
    """The presets as the page takes them.

    >>> presets()[0]["question"]["layout"]
    'f32[6,8]{1,0}'
    """
    return [
        {
            "group": one.group,
            "name": one.name,
            "question": {key: text for key, text in one.question.to_dict().items() if text},
        }
        for one in PRESETS
    ]
