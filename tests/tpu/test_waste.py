"""Bytes, factors and reasons, against the compiler's reports and every measured row."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, prod

import pytest
from hypothesis import given

import morello_layouts as ml
from morello_layouts import tpu
from tests.support.paths import table
from tests.support.xla_strategies import arrays


def wasted(text: str) -> tpu.Waste:
    x = ml.parse(text)
    assert isinstance(x, ml.XlaShape)
    return tpu.waste(x)


def reasons(text: str) -> list[str]:
    return [reason.text for reason in wasted(text).reasons]


M, G = 1 << 20, 1 << 30

# Out-of-memory reports of the compiler: "Unpadded size", "Size", and the factor that they print.
REPORTS = [
    ("bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}", G, 4 * G, 4.0),
    ("s32[8388608,8,4]{2,1,0:T(8,128)}", G, 32 * G, 32.0),
    ("u32[12582912,1]{1,0:T(8,128)}", 48 * M, 6 * G, 128.0),
    ("pred[64,512,2048]{2,1,0:T(8,128)E(32)}", 64 * M, 256 * M, 4.0),
    ("s32[2048,1,128,128,4]{4,3,2,0,1:T(8,128)}", 512 * M, 16 * G, 32.0),
    ("f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)}", 81 * M // 2, 512 * M, 12.6),
]


@pytest.mark.parametrize(("text", "unpadded", "size", "factor"), REPORTS)
def test_reports_of_the_compiler(text: str, unpadded: int, size: int, factor: float) -> None:
    found = wasted(text)
    assert (found.data_bytes, found.reserved_bytes) == (unpadded, size)
    assert found.padding_bytes == size - unpadded
    assert round(found.factor, 1) == factor


def test_a_reason_names_its_dimensions() -> None:
    (rows, tail) = wasted("f32[3,5,8]{2,1,0:T(*,2,4)L(100)}").reasons
    assert (rows.dimensions, rows.size, rows.padded) == ((0, 1), 15, 16)
    assert (tail.dimensions, tail.size, tail.padded) == ((), 128, 200)


def accounted(found: tpu.Waste) -> int:
    """What the reasons multiply the data to, in whole bytes."""
    x = found.shape
    total = Fraction(8 * found.data_bytes)
    if x.bits < 8:  # the data's last byte may be half full
        total = Fraction(prod(x.shape) * x.bits)
    for reason in found.reasons:
        assert isinstance(reason.padded, int)
        assert isinstance(reason.size, int)
        total *= Fraction(reason.padded, reason.size)
    return ceil(total / 8)


@pytest.mark.slow
def test_the_reasons_account_for_every_measured_byte() -> None:
    rows = table("tpu_buffer_sizes.tsv.gz")
    rows = [row for row in rows if (row["kind"], row["shape_with_layout"], row["bytes"]) != (
        "program_value", "s32[]", "4096"  # the sparse core's own rounding
    )]  # fmt: skip
    assert len(rows) == 9562
    padded = 0
    for row in rows:
        found = wasted(row["shape_with_layout"])
        assert found.reserved_bytes == int(row["bytes"])
        assert found.factor >= 1
        if found.shape.bits >= 8:  # else the padding may fit the data's last byte
            assert bool(found.reasons) == (found.padding_bytes > 0)
        assert accounted(found) == found.reserved_bytes, row
        padded += bool(found.reasons)
    assert padded > 8000


@given(arrays())
def test_the_reasons_account_for_every_byte(x: ml.XlaShape) -> None:
    found = tpu.waste(x)
    assert found.factor >= 1
    assert bool(found.reasons) == (found.padding_bytes > 0)
    assert accounted(found) == found.reserved_bytes == x.byte_size


def test_a_waste_prints_itself() -> None:
    assert str(wasted("f32[7,3,128]{2,1,0:T(8,128)}")) == (
        "f32[7,3,128]{2,1,0:T(8,128)}: 10,752 bytes of data in 28,672, 2.67x\n"
        "  second-minor dimension d1 of size 3 is padded to 8: tiles (8,128) have 8 rows"
    )


def test_factors_past_a_float() -> None:
    assert wasted(f"f32[1]{{0:T({2**62},{2**62},{2**62})}}").factor == 2.0**186
    tile = ",".join([str(2**62)] * 17)
    assert wasted(f"f32[1]{{0:T({tile})}}").factor == float("inf")


def test_data_is_counted_at_the_narrower_width() -> None:
    assert ml.XlaShape("s4", (8,)).data_bytes == 8
    packed = ml.XlaLayout((0,), element_size_in_bits=4)
    assert ml.XlaShape("s4", (8,), packed).data_bytes == 4


def test_text_is_read() -> None:
    assert tpu.waste("f32[9,3]{1,0:T(8,128)}").reserved_bytes == 2 * 4096
    assert tpu.buffer_waste("f32[]").reserved_bytes == 4096
    assert str(tpu.waste_formula("f32[M]{0:T(128)}").reserved_bytes) == "512*ceiling(M/128)"
