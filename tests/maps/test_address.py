"""Addresses in bytes and bits, against offsets counted in NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import sympy

import morello_layouts as ml
from tests.support.tables import each_row

TYPED = [
    ("bf16[10,200]{1,0:T(8,128)(2,1)}", 16),
    ("f32[3,5]{0,1:T(2,2)}", 32),
    ("c64[4,6]", 64),
    ("s4[7,9]{1,0:T(2,4)E(4)}", 4),
    ("pred[5,11]{0,1:E(1)}", 1),
    ("pred[5,11]", 8),
    ("memref<4x8xf16, strided<[16, 2], offset: 3>>", 16),
]


@each_row("layout, bits", TYPED)
def test_addresses_are_offsets_times_the_element(layout: str, bits: int) -> None:
    m = ml.index_map(layout)
    at = tuple(np.indices(m.shape, sparse=True))
    offsets = m(*at)
    assert np.array_equal(m.address("elements")(*at), offsets)
    assert np.array_equal(m.address("bits")(*at), bits * offsets)
    assert np.array_equal(m.address("bits", base=96)(*at), bits * offsets + 96)
    address = m.address(base="start").at(start=4096)
    if bits >= 8:
        assert np.array_equal(address(*at), offsets * (bits // 8) + 4096)
        assert len(address.given) == 1
        return
    byte, bit = address(*at)
    assert np.array_equal(byte, offsets * bits // 8 + 4096)
    assert np.array_equal(bit, offsets * bits % 8)
    assert m.address("bytes").results == m.address("bytes").at().results == ("byte", "bit")


def test_elements_of_six_bits_straddle_bytes() -> None:
    m = ml.index_map("[0, 1]", (5, 7))
    byte, bit = m.address(bits=6)(*np.indices((5, 7)))
    assert np.array_equal(8 * byte + bit, 6 * np.arange(35).reshape(5, 7))
    assert {*np.unique(bit)} == {0, 2, 4, 6}


def test_addresses_have_names_code_and_symbols() -> None:
    m = ml.index_map("f32[M,N]{1,0:T(8,128)}", names=("y", "x"))
    start = sympy.Symbol("start", integer=True, positive=True)
    address = m.address(base=start)
    assert start in address.expr.free_symbols
    assert sympy.simplify(address.expr - 4 * m.expr - start) == 0
    scope: dict[str, Any] = {}
    exec(ml.code(address, "python", function=True), scope)
    numbers = m.at(M=9, N=130)
    for y, x in product(range(9), range(0, 130, 13)):
        assert scope["address"](y=y, x=x, M=9, N=130, start=64) == 4 * numbers(y, x) + 64
    nibbles = ml.index_map("s4[8,6]{1,0:E(4)}", names="y, x").address()
    assert ml.code(nibbles, "python") == "byte = 3*y + x//2\nbit = 4*(x%2)"
    assert "in bytes" in ml.code(nibbles, "c", function=True)
    assert ml.is_injective(nibbles).holds


def test_the_address_on_a_device() -> None:
    m = ml.index_map("f32[10,16], sharding={devices=[4,2]<=[8]}")
    at = tuple(np.indices(m.shape))
    assert np.array_equal(m.address()(*at), 4 * np.asarray(m.offset(*at)))
