"""Arrays and buffers: values in XLA's types, and mistakes in what is given."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.tables import each_row


@each_row(
    ("shape", "values", "expected"),
    [
        ("f32[2]", [1, 2], np.array([1, 2], "<f4").tobytes()),
        ("f16[2]", np.array([1.5, 2], "f8"), np.array([1.5, 2], "<f2").tobytes()),
        ("c64[1]", [1.5], np.array([1.5], "<c8").tobytes()),
        ("pred[3]", [0, 1, 1], bytes([0, 1, 1])),
        ("pred[3]{0:E(32)}", [True, False, True], np.array([1, 0, 1], "<u4").tobytes()),
        ("s4[2]{0:E(4)}", [-8, 7], bytes([0x78])),
        ("s4[2]", [-8, 7], bytes([0xF8, 7])),
        ("u2[4]{0:E(2)}", [0, 1, 2, 3], bytes([0b11100100])),
        ("s64[1]", [2**63 - 1], b"\xff" * 7 + b"\x7f"),
        ("bf16[1]", np.array([0x3F80], np.uint16), b"\x80\x3f"),
    ],
)
def test_bytes_are_of_the_element_type(shape: str, values: Any, expected: bytes) -> None:
    assert ml.pack(shape, values, as_bytes=True).tobytes() == expected


def test_an_index_map_knows_its_element_type() -> None:
    m = ml.index_map("u4[4]{0:E(4)}")
    assert ml.pack(m, [1, 2, 3, 4], as_bytes=True).tobytes() == b"!C"
    assert ml.unpack(m, b"!C", as_bytes=True).tolist() == [1, 2, 3, 4]


def test_types_of_other_libraries() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bf16 for NumPy is in ml_dtypes")
    ones = np.ones(2, ml_dtypes.bfloat16)
    assert ml.pack("bf16[2]", ones, as_bytes=True).tobytes() == b"\x80\x3f" * 2
    with pytest.raises(ml.LayoutError, match="expected an array of f8e4m3fn"):
        ml.pack("f8e4m3fn[2]", ones, as_bytes=True)
    eight = np.ones(2, ml_dtypes.float8_e4m3fn)
    assert ml.pack("f8e4m3fn[2]", eight, as_bytes=True).tobytes() == eight.tobytes()


@pytest.mark.parametrize("text", ["f32[x,3", "f32[3,5]{1,1}", "nonsense"])
def test_errors_are_copied_and_pickled(text: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    error = caught.value
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert (again.line, again.column, again.pointer()) == (1, error.column, error.pointer())


@pytest.mark.parametrize("offset", [[1], np.arange(6), 1.5, True, None])
def test_a_relayout_answers_about_one_offset(offset: object) -> None:
    move: Any = ml.relayout("{1,0}", "{0,1}", (2, 3))
    assert move(np.int64(2)) == 1
    with pytest.raises(ml.LayoutError, match="is not an integer"):
        move(offset)
