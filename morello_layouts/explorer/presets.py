"""Popular formats to begin with: a name, and what is typed for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from morello_layouts.explorer.question import Question

__all__ = ["PRESETS", "Preset", "presets"]


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
