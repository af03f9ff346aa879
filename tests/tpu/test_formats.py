"""The formats of XLA's document, by name."""

from __future__ import annotations

import pytest

from morello_layouts import tpu
from tests.support.tables import each_row


@pytest.mark.parametrize(
    ("name", "element_type", "shape", "expected"),
    [
        ("untiled", "f32", (3, 5), "f32[3,5]{1,0}"),
        ("8x128", "f32", (3, 5), "f32[3,5]{1,0:T(8,128)}"),
        ("2x128", "f32", (3, 5), "f32[3,5]{1,0:T(2,128)}"),
        ("4x128", "f32", (3, 5), "f32[3,5]{1,0:T(4,128)}"),
        ("6x128", "f32", (3, 5), "f32[3,5]{1,0:T(6,128)}"),
        ("16 bit", "bf16", (3, 5), "bf16[3,5]{1,0:T(8,128)(2,1)}"),
        ("16 bit alternative", "bf16", (32, 256), "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}"),
        ("8 bit", "s8", (3, 5), "s8[3,5]{1,0:T(8,128)(4,1)}"),
        ("1 bit", "pred", (64, 128), "pred[64,128]{1,0:T(32,128)(32,1)E(1)}"),
    ],
)
def test_formats(name: str, element_type: str, shape: tuple[int, ...], expected: str) -> None:
    assert str(tpu.format_layout(name, element_type, shape)) == expected


@each_row(
    ("size", "rows"),
    [(1, 2), (2, 2), (3, 4), (4, 4), (5, 6), (6, 6), (7, 8), (8, 8), (9, 6), (12, 6), (13, 8)],
)
def test_compact_second_minor(size: int, rows: int) -> None:
    x = tpu.format_layout("compact second minor", "f32", (7, size, 300))
    assert x.layout is not None
    assert x.layout.tiles == ((rows, 128),)
    turned = tpu.format_layout("compact second minor", "f32", (size, 7, 300), (2, 0, 1))
    assert turned.layout is not None
    assert turned.layout.tiles == ((rows, 128),)


def test_compact_second_minor_without_one() -> None:
    x = tpu.format_layout("compact second minor", "f32", (300,))
    assert str(x) == "f32[300]{0:T(8,128)}"


def test_one_bit_each() -> None:
    assert tpu.format_layout("1 bit", "pred", (64, 128)).byte_size == 64 * 128 // 8


def test_the_compiler_chooses_other_tiles_today() -> None:
    """The document's examples, compared with the measured defaults."""
    assert str(tpu.default_layout("f32", (7, 1, 128), "v5e")) == "f32[7,1,128]{2,1,0:T(1,128)}"
    assert str(tpu.default_layout("s8", (64, 128), "v5e")) == "s8[64,128]{1,0:T(32,128)(4,1)}"
