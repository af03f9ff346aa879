"""Repacking GGUF's blocks into other formats, against the packers of those formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.records.test_formats import PACKERS

ROWS, COLUMNS = 64, 128  # 64 outputs of 128 weights each


def blocks(name: str) -> tuple[Any, Any, bytes]:
    """A GGUF record of random blocks, its weights as a matrix, and its bytes."""
    size = {"q4_0": 32, "q4_1": 32, "iq4_nl": 32}[name]
    record = ml.record(f"{name}[N, B]").at(N=ROWS, B=COLUMNS // size)
    data = np.random.default_rng(5).bytes(int(record.byte_size))
    return record, record.unpack(data)["qs"].reshape(ROWS, COLUMNS), data


@pytest.mark.parametrize("name", ["q4_0", "q4_1", "iq4_nl"])
@pytest.mark.parametrize("to", PACKERS)
def test_blocks_become_what_the_packers_write(name: str, to: str) -> None:
    source, weights, data = blocks(name)
    target = ml.record(to).at(K=COLUMNS, N=ROWS)
    move = source.repack(target, "n b l -> (b l) n").compile()
    assert move(data).tobytes() == PACKERS[to](weights.T).tobytes()


def test_the_way_back_leaves_the_scales() -> None:
    record, weights, data = blocks("q4_0")
    source = ml.record("awq").at(K=COLUMNS, N=ROWS)
    out = np.frombuffer(data, np.uint8).copy()
    source.repack(record, "(b l) n -> n b l").compile()(
        PACKERS["awq"](15 - weights.T).tobytes(), out
    )
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
