"""Repacking GGUF's blocks into other formats, against the packers of those formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.errors import LayoutError
from tests.records.test_formats import awq, gptq, marlin

ROWS, COLUMNS = 64, 128  # 64 outputs of 128 weights each


def blocks(name: str) -> tuple[Any, Any, bytes]:
    """A GGUF record of random blocks, its weights as a matrix, and its bytes."""
    size = {"q4_0": 32, "q4_1": 32, "iq4_nl": 32}[name]
    record = ml.record(f"{name}[N, B]").at(N=ROWS, B=COLUMNS // size)
    data = np.random.default_rng(5).bytes(int(record.byte_size))
    return record, record.unpack(data)["qs"].reshape(ROWS, COLUMNS), data


@pytest.mark.parametrize("name", ["q4_0", "q4_1", "iq4_nl"])
@pytest.mark.parametrize("pack", [awq, gptq, marlin])
def test_blocks_become_what_the_packers_write(name: str, pack: Any) -> None:
    source, weights, data = blocks(name)
    target = ml.record(pack.__name__).at(K=COLUMNS, N=ROWS)
    move = source.repack(target, "n b l -> (b l) n").compile()
    assert move(data).tobytes() == pack(weights.T)


def test_the_way_back_leaves_the_scales() -> None:
    record, weights, data = blocks("q4_0")
    source = ml.record("awq").at(K=COLUMNS, N=ROWS)
    out = np.frombuffer(data, np.uint8).copy()
    source.repack(record, "(b l) n -> n b l").compile()(awq(15 - weights.T), out)
    found = record.unpack(out)
    assert (found["qs"].reshape(ROWS, COLUMNS) == 15 - weights).all()
    assert (found["d"] == record.unpack(data)["d"]).all()


def test_two_bits_move_too() -> None:
    source = ml.record("tq2_0[N, B]").at(N=4, B=2)
    target = ml.record("r: { q: u2[K, N] at byte 0 }").at(K=512, N=4)
    data = np.random.default_rng(6).bytes(int(source.byte_size))
    weights = source.unpack(data)["qs"].reshape(4, 512)
    move = source.repack(target, "n b l -> (b l) n").compile()
    assert (target.unpack(move(data))["q"][0] == weights.T).all()


@pytest.mark.parametrize(
    ("source", "pattern", "what"),
    [
        ("q4_0[64, 4]", "n b l -> (b l) m", "a pattern: expected the same names"),
        ("q4_0[64, 4]", "n b l (b l) n", "a pattern: expected the same names"),
        ("q4_0[64, 4]", "((n b l -> (b l) n", "a pattern: expected the same names"),
        ("q4_0[64, 4]", "n b l) -> (b l) n", "a pattern: expected the same names"),
        ("q4_0[64, 4]", 5, "a pattern: expected str"),
        ("q4_0[64, 4]", "n b -> b n", "expected 3 and 2 dimensions"),
        ("q4_0[64, 8]", "n b l -> (b l) n", r"\(b l\) is a dimension of 128"),
        ("q5_0[64, 4]", "n b l -> (b l) n", "expected fields of 1, 2 or 4 bits"),
        ("q8_0[64, 4]", "n b l -> (b l) n", "expected fields of 1, 2 or 4 bits"),
    ],
)
def test_wrong_repackings(source: str, pattern: Any, what: str) -> None:
    target = ml.record("awq").at(K=128, N=64)
    with pytest.raises(LayoutError, match=what):
        ml.record(source).repack(target, pattern)


@pytest.mark.parametrize("fields", [("qs",), ("qs", "qweight", "d"), "qs", 5, (None, "qweight")])
def test_fields_are_one_of_each_record(fields: Any) -> None:
    target = ml.record("awq").at(K=128, N=64)
    with pytest.raises(LayoutError, match="field"):
        ml.record("q4_0[64, 4]").repack(target, "n b l -> (b l) n", fields)
