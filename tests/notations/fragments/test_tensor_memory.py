"""Instructions of Blackwell, and sparse ones: CUTLASS's own layouts, evaluated by its C++."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import elements_by_slot
from morello_layouts.notations.cute.text import parse_cute
from morello_layouts.notations.fragments import FragmentLayout
from tests.support.paths import rows
from tests.support.tables import each_row

RECORDED = rows("cute_tensor_memory.tsv.xz")
NUMBERS = {(name, what): int(value) for name, what, value in RECORDED if what in "KV"}
LAYOUTS = [row for row in RECORDED if row[1] not in "KV"]
GROUP = {"TF32": 2, "MXF4": 8, "MXF4NVF4": 8}
"""Elements of A whose metadata are 4 bits; 4 elsewhere."""


def fragment(text: str) -> FragmentLayout:
    layout = ml.parse(text)
    assert isinstance(layout, FragmentLayout)
    return layout


def held(layout: FragmentLayout) -> np.ndarray:
    """The row-major number of the element in each place, -1 for none."""
    first, count = elements_by_slot(layout.recipe(layout.shape))
    assert (count <= 1).all()
    return np.where(count, first, -1).reshape([axis.size for axis in layout.axes])


def of_tensor_memory(name: str, operand: str, text: str) -> None:
    kind, pair = re.match(r"SM100_MMA_([A-Z0-9]+)(_2x1SM)?", name).groups()
    layout = fragment(f"{name} {operand}")
    wanted = parse_cute(text)
    rows_, columns = (prod(parse_cute(str(m)).sizes) for m in wanted.modes[0].modes)
    bits = {"E": 4 / GROUP.get(kind, 4), "SFA": 8, "SFB": 8}.get(operand, layout.type.bits)
    place = np.asarray(wanted(np.arange(rows_ * columns))).reshape(columns, rows_).T
    path, bit = np.divmod((place * bits).astype(np.int64), 1 << 21)
    own = layout.shape[0] // (2 if pair and layout.axes[0].digits[0].dim == 0 else 1)
    unit = {"E": GROUP.get(kind, 4)}.get(operand, columns // layout.shape[1])
    m, k = np.arange(rows_)[:, None] % own, np.arange(columns)[None] // unit
    found = held(layout)
    for sm in range(found.shape[0] if pair else 1):
        shift = sm * own if layout.shape[0] > own else 0
        numbers = np.full((128, 512 * 32), -1)
        numbers[path, bit] = (m + shift) * layout.shape[1] + k
        mine = found[sm] if pair else found
        parts = mine.shape[-1] if layout.axes[-1].name == "part" else 1
        mine = mine.reshape(128, -1, parts)
        places = numbers[:, :: 32 // parts][:, : mine.shape[1] * parts].reshape(mine.shape)
        assert (places == mine).all()
        assert (mine >= 0).sum() == len(np.unique(path * 10**9 + bit // (32 // parts)))


def of_registers(name: str, operand: str, text: str) -> None:
    layout = fragment(f"{name} {operand}")
    wanted = parse_cute(text)
    threads, values = wanted.sizes
    t, v = np.indices((threads, values))
    place = np.asarray(wanted((t, v)))
    rows_ = layout.shape[0]
    found = held(layout).reshape(threads, -1)
    step = values // found.shape[1]  # logical elements that one place stands for
    row, column = place % rows_, place // rows_
    unit = prod(column.max(axis=None, keepdims=True) + 1) // layout.shape[1]
    assert (found == (row * layout.shape[1] + column // unit)[:, ::step]).all()


def check(name: str, operand: str, text: str) -> None:
    (of_tensor_memory if name.startswith("SM100") else of_registers)(name, operand, text)


@each_row("name, operand, text", LAYOUTS[::9], ids=lambda value: value)
def test_some_layouts_of_cutlass(name: str, operand: str, text: str) -> None:
    check(name, operand, text)


@pytest.mark.slow
@each_row("name, operand, text", LAYOUTS, ids=lambda value: value)
def test_layouts_of_cutlass(name: str, operand: str, text: str) -> None:
    check(name, operand, text)


@each_row("name, what", sorted(NUMBERS)[::7])
def test_sizes_of_cutlass(name: str, what: str) -> None:
    if what == "V":
        assert fragment(f"{name} SFA").shape[1] == NUMBERS[name, "K"] // NUMBERS[name, "V"]
    elif "_TS" in name:
        assert fragment(f"{name} A").shape[1] == NUMBERS[name, "K"]


# What two documents say in two ways.
SAME = [
    ("tcgen05.mma.cta_group::1.kind::f16.m128n256k16 D",
     "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, UMMA::Major::K, UMMA::Major::K> C"),
    ("tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16.m256n64k64 SFA",
     "SM100_MMA_MXF4_2x1SM_SS<float_e2m1_t,float_e2m1_t,float,float_ue4m3_t,256,64,16> SFA"),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 A",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 A"),
]  # fmt: skip


@each_row("one, other", SAME)
def test_the_same_places(one: str, other: str) -> None:
    assert ml.are_equivalent(one, other).holds


def test_a_of_a_sparse_instruction_by_ptx() -> None:
    found = held(fragment("mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.u4.s32 A"))
    lane, i = np.indices(found.shape)
    row = lane // 4 + np.where((i < 8) | ((i >= 16) & (i < 24)), 0, 8)
    first = lane % 4 * 16 + np.where(i < 16, 0, 64)  # of 16 elements, of which 8 are stored
    assert (found == row * 64 + first // 2 + i % 8).all()


def loaded(wide: bool, rows: int) -> np.ndarray:
    """What lanes hold of metadata by CUTLASS: (m, word of a row) of each word of a lane.

    ``reorder_meta`` of host_reorder.h, into columns of pairs, from which ``ldmatrix`` reads: a lane
    has 32 bits, of 16 bytes for eight rows. Words have 16 bits for elements of A of 16 and 32 bits.
    """
    group, interweave = (32, 4) if wide else (16, 2)
    memory = np.zeros((rows, 2, 2), int)
    for m in range(rows):
        for k in range(2):
            row, column = m // group * group + m % 8 * interweave + m % group // 8, k
            if row % 2 == 0 and column % 2 == 1:
                row, column = row + 1, column - 1
            elif row % 2 == 1 and column % 2 == 0:
                row, column = row - 1, column + 1
            memory[row, column] = m, k
    return memory.reshape(32, -1, 2)


SPARSE = [
    ("m16n8k32.row.col.f32.f16.f16.f32", True), ("m16n8k16.row.col.f32.tf32.tf32.f32", True),
    ("m16n8k64.row.col.s32.s8.s8.s32", False), ("m16n8k128.row.col.s32.u4.u4.s32", False),
]  # fmt: skip


@each_row("name, wide", SPARSE)
def test_metadata_of_sparse_instructions_by_cutlass(name: str, wide: bool) -> None:
    m = ml.index_map(f"mma.sp.sync.aligned.{name} E")
    words, per = loaded(wide, 32 if wide else 16), 4 if wide else 8
    for lane, i in np.ndindex(32, 8):
        row, word = words[lane, i // per]
        own = row // 16  # of two instructions one below the other; the selector reads lanes of it
        assert not wide or own == lane % 4 // 2
        at = row % 16, word * per + i % per
        assert m.element(lane=lane, register=i) == at


# CuTe's mma_traits_sm80_sparse.hpp: ELayout, from lanes and elements of A to columns of rows, of
# which the first in each group of 4 bits, and the bits of an element of A.
TRAITS = [
    ("m16n8k16.row.col.f32.f16.f16.f32", 16, "((4,8),(16,2)):((0,1),(0,8))"),
    ("m16n8k32.row.col.f32.bf16.bf16.f32", 16, "((2,2,8),(16,2)):((256,0,1),(0,8))"),
    ("m16n8k8.row.col.f32.tf32.tf32.f32", 32, "((4,8),(8,2)):((0,1),(0,8))"),
    ("m16n8k16.row.col.f32.tf32.tf32.f32", 32, "((2,2,8),(8,2)):((128,0,1),(0,8))"),
    ("m16n8k32.row.col.s32.s8.s8.s32", 8, "((2,2,8),(32)):((8,0,1),(0))"),
    ("m16n8k64.row.col.s32.s8.s8.s32", 8, "((2,2,8),(32)):((8,512,1),(0))"),
    ("m16n8k64.row.col.s32.s4.s4.s32", 4, "((2,2,8),(64)):((8,0,1),(0))"),
    ("m16n8k128.row.col.s32.s4.s4.s32", 4, "((2,2,8),(64)):((8,1024,1),(0))"),
]  # fmt: skip


@each_row("name, bits, text", TRAITS)
def test_metadata_of_sparse_instructions_by_cute(name: str, bits: int, text: str) -> None:
    m, traits = ml.index_map(f"mma.sp.sync.aligned.{name} E"), parse_cute(text)
    group = {32: 2, 16: 4, 8: 4, 4: 8}[bits]
    own = 8 if bits <= 8 else 4  # groups of a row in a lane
    for lane, i in np.ndindex(32, 8):
        column, row = divmod(int(traits((lane, i // own * own * group))), 16)
        assert m.element(lane=lane, register=i) == (row, column // group + i % own)


REFUSED = [
    ("SM100_MMA_F16BF16_SS C", "expected types and sizes"),
    ("SM100_MMA_F16BF16_SS<half_t,half_t,float,100,8> C", "M of 100"),
    ("SM100_MMA_F16BF16_SS<half_t,half_t,float,64,9> C", "N of 9"),
    ("SM100_MMA_F16BF16_SS<half_t,half_t,float,64,8> A", "lies in shared memory"),
    ("SM100_MMA_F16BF16_SS_SPARSE<half_t,half_t,float,64,8> E", "128 rows of an SM only"),
    ("SM103_MXF4_ULTRA_SS_VS<e2m1,e2m1,float,ue8m0,128,64,16> SFA", "SM100_MMA_MXF4_SS"),
    ("SM100_MMA_TF32_TS<half_t,half_t,complex<float>,128,8> A", "expected"),
    ("tcgen05.mma.cta_group::1.kind::f17.m64n8k16 D", "kind f17"),
    ("tcgen05.mma.cta_group::1.kind::f16.m64n8k32 D", "K of 32: expected 16"),
    ("SM120_16x8x64_TN_VS<int,int,float> A", "expected the types"),
]  # fmt: skip


@each_row("text, what", REFUSED)
def test_what_is_refused(text: str, what: str) -> None:
    with pytest.raises(ml.ParseError, match=re.escape(what)):
        ml.parse(text)


def test_an_accumulator_of_64_rows_fills_half_of_the_paths() -> None:
    m = ml.index_map("SM100_MMA_F16BF16_SS<half_t,half_t,half_t,64,128,UMMA::Major::K> C")
    assert dict(m.place(16, 5)) == {"path": 32, "column": 5}
    assert m.element(path=16, column=0) is None
    assert "a column of 32 bits" in ml.parse(m.source).notes(())[0]


VERIFIED = [
    "SM100_MMA_F16BF16_2x1SM_TS<half_t,half_t,half_t,128,64,UMMA::Major::K> A",
    "SM100_MMA_F16BF16_2x1SM_SS<half_t,half_t,half_t,128,64,UMMA::Major::K> C",
    "tcgen05.mma.sp.cta_group::2.kind::f16.m256n64k32 E",
    "tcgen05.mma.cta_group::2.kind::mxf4.m128n64k64 SFB",
    "SM90::GMMA::SPARSE::GMMA_64x8x64_F32E4M3E4M3_RS_TN E",
    "SM120_SPARSE_16x8x128_TN_VS<e2m1,e2m1,float,ue8m0,64> SFA",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 E",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 E",
    "mma.sp.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32 E",
]


@each_row("text", VERIFIED)
def test_formulas_agree_with_steps_and_document(text: str) -> None:
    assert ml.verify(text).holds
