"""Exclusive ors written as CuTe's swizzles: of its own layouts, of bases, and of Triton's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from operator import xor
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import Xor
from morello_layouts.proof.comparison import separable
from tests.support.tables import each_row

# A layout, the same as CuTe writes it, and with a swizzle of bytes for elements of 16 bits.
CONVERTED = [
    ("Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)",
     "Sw<3,3,3> o _0 o (8,64):(64,1)",
     "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)"),
    ("Sw<3,3,3> o 0 o (10,50):(50,1)",
     "Sw<3,3,3> o 0 o (10,50):(50,1)",
     "Sw<3,4,3> o smem_ptr[16b](unset) o (10,50):(50,1)"),
    ("Sw<2,1,-3> o 0 o (M,48):(48,1)",
     "Sw<2,1,-3> o 0 o (M,48):(48,1)",
     "Sw<2,2,-3> o smem_ptr[16b](unset) o (M,48):(48,1)"),
    ("Sw<2,3,2> o 0 o Sw<2,1,3> o 0 o (8,64):(64,1)",
     "Sw<2,3,2> o 0 o Sw<2,1,3> o 0 o (8,64):(64,1)",
     "Sw<2,4,2> o smem_ptr[16b](unset) o Sw<2,1,3> o 0 o (8,64):(64,1)"),
    # Groups of bits that overlap, which C++ does not compile, one bit after the other.
    ("Sw<3,0,2> o 0 o (10,50):(50,1)",
     "Sw<1,2,2> o 0 o Sw<1,1,2> o 0 o Sw<1,0,2> o 0 o (10,50):(50,1)",
     "Sw<1,3,2> o smem_ptr[16b](unset) o Sw<1,1,2> o 0 o Sw<1,0,2> o 0 o (10,50):(50,1)"),
    ("Sw<2,0,-3> o 64 o (10,50):(50,1)",
     "Sw<2,0,-3> o 64 o (10,50):(50,1)",
     "Sw<2,0,-3> o 64 o (10,50):(50,1)"),
]  # fmt: skip


@each_row("layout, in_elements, in_bytes", CONVERTED)
def test_swizzles_of_elements_and_of_bytes(layout: str, in_elements: str, in_bytes: str) -> None:
    found = str(ml.convert(layout, "cute"))
    assert found.replace("_0", "0") == in_elements.replace("_0", "0")
    assert str(ml.convert(layout, "cute", element_type="f16")).replace("_0", "0") == in_bytes


BITS = [[0, 1], [0, 4], [3, 1], [6, 1], [3, 2], [2, 4]]  # the place of each bit of an offset


def test_a_chain_of_nine_swizzles() -> None:
    """The formula of each swizzle is read at that of the one before: none may grow."""
    found = ml.convert(f"#ttg.shared_linear<{{offset = {BITS}}}>", "cute", (8, 8))
    assert str(found).count("Sw<") == 9
    m = ml.index_map(found)
    assert max(len(str(x)) for x in separable(m.recipe, (8, 8)).terms) < 2000
    for offset in range(64):
        row, column = (
            reduce(xor, (bit[k] for j, bit in enumerate(BITS) if offset >> j & 1), 0)
            for k in (0, 1)
        )
        assert m(row, column) == offset


DICTIONARY = [
    (vec, per_phase, max_phase, columns)
    for vec, per_phase, max_phase, columns in product(
        (1, 2, 4, 8), (1, 2, 4), (2, 4, 8), (32, 64, 128)
    )
    if vec * max_phase <= columns
]


@pytest.mark.slow
@each_row("vec, per_phase, max_phase, columns", DICTIONARY)
def test_the_dictionary_of_triton(vec: int, per_phase: int, max_phase: int, columns: int) -> None:
    """Sw<B,M,S> on rows of C is vec 2^M, maxPhase 2^B, perPhase 2^(S+M)/C."""
    triton = f"vec = {vec}, perPhase = {per_phase}, maxPhase = {max_phase}, order = [1, 0]"
    found = ml.convert(f"#ttg.swizzled_shared<{{{triton}}}>", "cute", (64, columns))
    b, m, s = (n.bit_length() - 1 for n in (max_phase, vec, per_phase * columns // vec))
    assert str(found) == f"Sw<{b},{m},{s}> o 0 o (64,{columns}):({columns},1)"


NVMMA = [
    (128, "false", (64, 64), "Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(64,1)"),
    (128, "true", (64, 64), "Sw<3,4,3> o smem_ptr[16b](unset) o (64,64):(1,64)"),
    (64, "false", (64, 128), "Sw<2,4,3> o smem_ptr[16b](unset) o (64,(32,4)):(32,(1,2048))"),
    (32, "false", (64, 16), "Sw<1,4,3> o smem_ptr[16b](unset) o (64,16):(16,1)"),
]


@each_row("width, transposed, shape, expected", NVMMA)
def test_the_swizzles_of_tma(
    width: int, transposed: str, shape: tuple[int, int], expected: str
) -> None:
    fields = f"swizzlingByteWidth = {width}, transposed = {transposed}, elementBitWidth = 16"
    triton = f"#ttg.nvmma_shared<{{{fields}}}>"
    assert str(ml.convert(triton, "cute", shape, "f16")) == expected


BASES = [
    ("[[0, 1], [0, 2], [1, 1], [2, 3], [4, 2]]", "Sw<2,0,3> o 0 o Sw<2,0,2> o 0 o (8,4):(4,1)"),
    ("[[1, 1], [0, 2], [1, 0], [2, 3], [4, 1]]",
     "Sw<1,0,-2> o 0 o Sw<1,1,2> o 0 o Sw<1,0,4> o 0 o Sw<1,0,3> o 0 o (8,4):(4,1)"),
]  # fmt: skip


@each_row("bases, expected", BASES)
def test_any_bases_are_some_swizzles(bases: str, expected: str) -> None:
    found = ml.convert(f"#ttg.shared_linear<{{offset = {bases}}}>", "cute", (8, 4))
    assert str(found) == expected


class Skewed(ml.Layout):
    """The second coordinate, or the last one, changed by the one before it."""

    def __init__(self, target: int) -> None:
        self.target = target

    def recipe(self, shape: Sequence[Any]) -> ml.Recipe:
        return ml.Recipe(tuple(shape), (Xor(self.target, self.target - 1),))

    def reference(self, coordinates: Sequence[Any], shape: Sequence[Any]) -> Any:
        at, t = list(coordinates), self.target
        at[t] ^= at[t - 1] % shape[t]
        return (at[0] * shape[1] + at[1]) * shape[2] + at[2]


def test_of_an_axis_with_others_before_it_only_its_own_bits_are_read() -> None:
    found = ml.convert(ml.index_map(Skewed(2), (4, 2, 8)), "cute")
    assert str(found) == "Sw<1,0,3> o 0 o (4,2,8):(16,8,1)"


def test_exclusive_ors_of_offsets_that_are_no_bits() -> None:
    m = ml.index_map(Skewed(1), (8, 4, 3))
    assert m(1, 2, 1) == 12 + 3 * 3 + 1
    with pytest.raises(ml.TranslationNotFoundError, match="exclusive ors are not those of CuTe's"):
        ml.convert(m, "cute")


@each_row(
    "layout, paddings",
    [
        ("(32,32):(33,1)", "[32:+1] {order = [1, 0], shape = [32, 32]}"),
        ("(4,8,16):(1,5,48)", "[4:+1, 32:+8] {order = [0, 1, 2], shape = [4, 8, 16]}"),
        ("f32[8,64]{1,0:T(4,128)}", "[64:+64] {order = [1, 0], shape = [8, 64]}"),
        (
            "((4,8),8):((1,36),4)",
            "[32:+4] {offset = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4], [4, 0], [8, 0], [16, 0]]}",
        ),
    ],
)
def test_padding_after_intervals_is_triton_s(layout: str, paddings: str) -> None:
    m = ml.index_map(layout)
    found = ml.convert(m, "triton")
    assert str(found) == f"#ttg.padded_shared<{paddings}>"
    for at in product(*(range(n) for n in m.shape)):
        assert ml.index_map(found, m.shape)(*at) == m(*at)
