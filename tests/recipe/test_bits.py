"""Buffers as bytes: element order and bit order as on the device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml

WIDTHS = (1, 2, 4)


def bit_by_bit(buffer: list[int], bits: int) -> list[int]:
    """The bytes, written out one bit at a time."""
    data = [0] * (-(-len(buffer) * bits // 8))
    for k, value in enumerate(buffer):
        for b in range(bits):
            place = k * bits + b
            data[place // 8] |= (value >> b & 1) << place % 8
    return data


@given(st.sampled_from(WIDTHS), st.lists(st.integers(0, 255), min_size=1, max_size=40))
def test_narrow_elements_are_packed_low_bits_first(bits: int, values: list[int]) -> None:
    array = np.array(values, np.uint8) % (1 << bits)
    text = f"u{bits}[{len(values)}]{{0:E({bits})}}"
    data = ml.pack(text, array, as_bytes=True)
    assert data.tolist() == bit_by_bit(array.tolist(), bits)
    assert data.size == ml.parse(text).byte_size
    assert ml.unpack(text, data, as_bytes=True).tolist() == array.tolist()


def test_negative_numbers_keep_their_sign() -> None:
    array = np.arange(-8, 8, dtype=np.int8)
    data = ml.pack("s4[16]{0:E(4)}", array, as_bytes=True)
    assert data.size == 8
    assert ml.unpack("s4[16]{0:E(4)}", data, as_bytes=True).tolist() == array.tolist()


def test_a_boolean_in_four_bytes() -> None:
    data = ml.pack("pred[3]{0:E(32)}", [True, False, True], as_bytes=True)
    assert data.view("<u4").tolist() == [1, 0, 1]


@pytest.mark.parametrize("name", ["f32", "f64", "s16", "u32", "pred", "c64", "f16"])
def test_whole_bytes_are_those_of_numpy(name: str) -> None:
    text = f"{name}[3,5]{{1,0:T(2,2)}}"
    empty = np.zeros(0, np.uint8)
    dtype = ml.unpack(f"{name}[0]", empty, as_bytes=True).dtype
    array = np.arange(15).reshape(3, 5).astype(dtype)
    data = ml.pack(text, array, as_bytes=True)
    assert data.tobytes() == ml.pack(text, array).tobytes()
    assert (ml.unpack(text, data, as_bytes=True) == array).all()


def test_thirty_two_rows_of_one_bit_share_a_word() -> None:
    text = "pred[32,128]{1,0:T(32,128)(32,1)E(1)}"
    array = np.zeros((32, 128), bool)
    array[5, 7] = True
    word = ml.pack(text, array, as_bytes=True).view("<u4")
    assert word[7] == 1 << 5
    assert word.sum() == 1 << 5


def test_a_layout_without_a_type() -> None:
    assert ml.unpack("[0]", b"abcd", (4,), as_bytes=True, dtype="u1").tolist() == [97, 98, 99, 100]
