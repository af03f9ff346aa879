"""Texts that rows of other tables do not reach: room, refusals, element types."""

from __future__ import annotations

import numpy as np

import morello_layouts as ml
from morello_layouts.core.recipe.digits import AxisDigit
from morello_layouts.outputs.translate.source import nested_digits
from tests.support.tables import each_row


@each_row(
    ("layout", "shape", "to", "expected"),
    [
        # A digit that is always 0 has the size 1 in TVM, so it cannot make room.
        ("((2,2),6):((6,48),1)", None, "tvm", "lambda d0, d1: (48*(d0//2) + 6*(d0%2) + d1,)"),
        ("((2,2),6):((6,48),1)", None, "onednn", "AB4b2a6b"),
        ("(4,6):(9,1)", None, "tvm", "lambda d0, d1: (d0, d1%9)"),
        ("strided<[5, 2]>", (3, 2), "mlir", "affine_map<(d0, d1) -> (5*d0 + 2*d1)>"),
        ("strided<[1, 1]>", (1, 1), "einops", "1 1 -> "),
        ("strided<[8, 2]>", (1, 5), "pack", "inner_dims_pos = [0] inner_tiles = [2]"),
        (lambda i, j: 16 * i + j, (4, 8), "cute", "(4,8):(16,1)"),
        (np.zeros((4, 6))[::2, ::-1], None, "strided", "strided<[12, -1], offset: 5>"),
    ],
    ids=str,
)  # fmt: skip
def test_texts(layout: ml.Layout, shape: tuple[int, ...] | None, to: str, expected: str) -> None:
    assert str(ml.convert(layout, to, shape)) == expected


@each_row(
    ("layout", "shape", "element_type", "expected"),
    [
        ("{1,0}", (6, 8), "i8", "memref<6x8xi8>"),
        ("{0,1}", (6, 8), "bf16", "memref<6x8xbf16, strided<[1, 6]>>"),
        ("{1,0}", ("M", 8), "bf16", "memref<?x8xbf16>"),
        ("{0,1}", ("M", 8), "f32", "memref<?x8xf32, affine_map<(d0, d1) -> (d1, d0)>>"),
        ("[1, 0, 1 p(4)]", (6, 8), "f32",
         "memref<6x8xf32, affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>>"),
    ],
)  # fmt: skip
def test_memrefs(
    layout: str, shape: tuple[int | str, ...], element_type: str, expected: str
) -> None:
    assert str(ml.convert(layout, "mlir", shape, element_type)) == expected


def test_no_room_is_made_that_does_not_fit() -> None:
    placed = (AxisDigit(0, 1, 3, None, 7), AxisDigit(1, 1, 2, 2, 1))
    why = "d0 has stride 7, and the digits inside it have 2 elements"
    assert nested_digits(placed, (3, 4, 1)) == why
    assert not isinstance(nested_digits(placed[1:], (1, 4, 1), 8), str)
