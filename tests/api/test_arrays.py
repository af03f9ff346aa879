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


@each_row(
    ("shape", "values", "what"),
    [
        ("u4[1]{0:E(4)}", [16], "expected values of u4, got 16"),
        ("u4[1]", [16], "expected values of u4, got 16"),
        ("s4[1]", [-9], "expected values of s4, got -9"),
        ("u8[1]{0:E(4)}", [16], "expected values of u8, got 16"),
        ("pred[1]", [2], "expected values of pred, got 2"),
        ("u8[2]", [3, -1], "expected values of u8, got -1"),
        ("s8[1]", [1.5], "expected an array of s8, got float64"),
        ("f32[1]", [1j], "expected an array of f32, got complex128"),
        ("bf16[1]", np.array([1], np.float16), "expected an array of bf16, got float16"),
        ("bf16[1]", [1.0], "expected an array of bf16, got float64"),
    ],
)
def test_values_that_do_not_fit(shape: str, values: Any, what: str) -> None:
    with pytest.raises(ml.LayoutError) as caught:
        ml.pack(shape, values, as_bytes=True)
    assert caught.value.what == what


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


def test_mistakes() -> None:
    with pytest.raises(ml.LayoutError, match="expected an array, got lists of different lengths"):
        ml.pack("[0, 1]", [[1, 2], [3]])
    with pytest.raises(ml.LayoutError, match="dtype: expected a type of NumPy, got 'nonsense'"):
        ml.unpack("[0]", b"ab", (2,), as_bytes=True, dtype="nonsense")
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    with pytest.raises(ml.ShapeError, match=r"coordinates of the shapes \(2,\), \(3,\)"):
        m(np.arange(2), np.arange(3))
    with pytest.raises(ml.LayoutError, match="coordinate 0 is an array of bool"):
        m(np.array([True, False]), 0)
    with pytest.raises(ml.LayoutError, match=r"coordinate 0 is \[\[0\], \[1, 2\]\]"):
        m([[0], [1, 2]], 0)
    with pytest.raises(ml.LayoutError, match="the offset is an array of float64"):
        m.coordinates(np.zeros(2))
    with pytest.raises(ml.ShapeError, match="offset 24 is outside of the buffer"):
        m.coordinates(np.array([3, 24]))


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
