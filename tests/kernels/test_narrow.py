"""Relayouts of elements narrower than a byte, against elements moved one by one in integers."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels.narrow import (
    BitDigit,
    NarrowRelayout,
)


def drawn(random: Random) -> NarrowRelayout:
    """Digits of random radices in two random orders, with gaps between bytes."""
    width = random.choice([1, 2, 4])
    inside = {1: 3, 2: 2, 4: 1}[width]
    radices = [random.choice([2, 2, 4, 3, 5]) for _ in range(random.randint(2, 5))] + [2] * inside
    sides, starts, sizes = [], [], []
    for _ in range(2):
        order = random.sample(range(len(radices)), len(radices))
        low = [k for k in order if radices[k] == 2][:inside]
        strides, stride = [0] * len(radices), width
        for k in [*low, *(k for k in order if k not in low)]:
            strides[k], stride = stride, stride * radices[k]
            stride += 8 * random.randint(1, 3) * (stride > 8 and random.random() < 0.2)
        sides.append(strides)
        starts.append(8 * random.randint(0, 3))
        sizes.append((starts[-1] + stride) // 8 + 1)
    digits = tuple(BitDigit(*row) for row in zip(radices, *sides, strict=True))
    return NarrowRelayout(width, digits, (starts[0], starts[1]), (sizes[0], sizes[1]))


def moved(relayout: NarrowRelayout, data: bytes) -> bytes:
    """Each element moved by itself."""
    found, mask = bytearray(relayout.sizes[1]), (1 << relayout.width) - 1
    for at in product(*(range(digit.radix) for digit in relayout.digits)):
        source, target = (
            start + sum(i * digit[side] for i, digit in zip(at, relayout.digits, strict=True))
            for side, start in ((1, relayout.starts[0]), (2, relayout.starts[1]))
        )
        found[target // 8] |= (data[source // 8] >> source % 8 & mask) << target % 8
    return bytes(found)


@pytest.mark.parametrize("seed", range(4))
def test_elements_are_moved_as_one_by_one(seed: int) -> None:
    random = Random(seed)
    for _ in range(6):
        relayout = drawn(random)
        data = random.randbytes(relayout.sizes[0])
        wanted = moved(relayout, data)
        assert relayout.compile()(data).tobytes() == wanted
        by_numpy = np.zeros(relayout.sizes[1], np.uint8)
        relayout.by_numpy(np.frombuffer(data, np.uint8), by_numpy, {})
        assert by_numpy.tobytes() == wanted


def nibbles(array: np.ndarray, bits: int) -> bytes:
    """Numbers packed from the lowest bits."""
    rows = array.reshape(-1, 8 // bits).astype(np.uint8) << np.arange(0, 8, bits, dtype=np.uint8)
    return bytes(np.bitwise_or.reduce(rows, axis=1))


@pytest.mark.parametrize("kind", ["u4", "s4", "f4e2m1fn", "u2", "s2", "pred"])
def test_layouts_of_few_bits_are_moved_as_bytes(kind: str) -> None:
    bits = {"4": 4, "2": 2}.get(kind[1], 1) if kind != "f4e2m1fn" else 4
    numbers = np.random.default_rng(0).integers(0, 1 << bits, (16, 64), np.uint8)
    for target, order in (("{0,1", numbers.T), ("{1,0:T(8,16)", None)):
        wanted = numbers.reshape(2, 8, 4, 16).swapaxes(1, 2) if order is None else order
        end = f"E({bits})}}"
        move = ml.relayout(f"{kind}[16,64]{{1,0:{end}", f"{target}{':' * (order is not None)}{end}")
        assert move.compile()(nibbles(numbers, bits)).tobytes() == nibbles(wanted, bits)


def test_other_bytes_of_the_target_stay() -> None:
    relayout = NarrowRelayout(4, (BitDigit(2, 4, 4), BitDigit(3, 8, 16)), (0, 8), (3, 7))
    out = np.full(7, 0xEE, np.uint8)
    relayout.compile()(bytes([1, 2, 3]), out)
    assert out.tolist() == [0xEE, 1, 0xEE, 2, 0xEE, 3, 0xEE]


@pytest.mark.parametrize(
    ("source", "target", "shape"),
    [
        ("s4[10,200]{1,0:T(8,128)(8,1)E(4)}", "{1,0:E(4)}", (10, 200)),
        ("s4[10,200]{1,0:E(4)}", "{1,0:T(8,128)(8,1)E(4)}", (10, 200)),
        ("u4[3,5]{1,0:E(4)}", "{0,1:E(4)}", (3, 5)),
        ("u2[5,7]{1,0:T(2,4)E(2)}", "{0,1:E(2)}", (5, 7)),
        ("pred[9,40]{1,0:E(1)}", "{1,0:T(8,32)E(1)}", (9, 40)),
    ],
)
def test_padded_layouts_are_moved_by_their_formulas(
    source: str, target: str, shape: tuple[int, ...]
) -> None:
    low = -8 if source.startswith("s4") else 0
    bits = {"s": 4, "u": int(source[1]), "p": 1}[source[0]] if source[0] != "p" else 1
    array = np.random.default_rng(1).integers(low, low + (1 << bits), shape)
    array = array.astype(bool) if bits == 1 else array
    kind = source.partition("[")[0]
    sized = f"{kind}[{','.join(map(str, shape))}]{target}"
    relayout = ml.relayout(source, target)
    wanted = ml.pack(sized, array, as_bytes=True).tobytes()
    data = ml.pack(source, array, as_bytes=True)
    assert relayout.compile()(data).tobytes() == wanted
