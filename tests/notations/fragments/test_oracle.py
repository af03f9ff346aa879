"""CUTLASS's traits of instructions and copies, and AMD's calculator: every row."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import elements_by_slot
from morello_layouts.notations.cute.text import parse_cute
from morello_layouts.notations.fragments import FragmentLayout
from tests.support.paths import rows
from tests.support.tables import each_row

OPERANDS = {"mma": ("A", "B", "C"), "copy": ("Src", "Dst", "Ref")}
TRAITS = [
    (kind, name, operand, threads, layout)
    for kind, name, first, *columns in rows("cute_atoms.tsv.xz")
    if kind != "smem"
    for threads in [columns[0] if kind == "mma" else first]
    for operand, layout in zip(OPERANDS[kind], columns[kind == "mma" :], strict=True)
]
CALCULATOR = rows("amd_fragments.jsonl.xz")


def fragment(text: str) -> FragmentLayout:
    layout = ml.parse(text)
    assert isinstance(layout, FragmentLayout)
    return layout


def elements(layout: FragmentLayout) -> Any:
    """The row-major number of the element in each place: threads down, registers to the right.

    Threads whose places hold nothing have -1.
    """
    first, count = elements_by_slot(layout.recipe(layout.shape))
    assert (count <= 1).all()
    return np.where(count, first, -1).reshape(-1, layout.axes[-1].size)


def test_the_tables_are_complete() -> None:
    assert len(TRAITS) == 3 * 133
    assert len(CALCULATOR) == 339


SOME = [row for row in TRAITS if "TMEM" not in row[1]] + [row for row in TRAITS if "b4x" in row[1]]


@each_row("kind, name, operand, threads, text", SOME, ids=lambda value: value)
def test_some_traits(kind: str, name: str, operand: str, threads: str, text: str) -> None:
    check_trait(kind, name, operand, threads, text)


@pytest.mark.slow
@each_row("kind, name, operand, threads, text", TRAITS, ids=lambda value: value)
def test_traits(kind: str, name: str, operand: str, threads: str, text: str) -> None:
    check_trait(kind, name, operand, threads, text)


def check_trait(kind: str, name: str, operand: str, threads: str, text: str) -> None:
    layout = fragment(f"{name} {operand}")
    every = elements(layout)
    lane_of = parse_cute(threads)
    lanes = [int(lane_of(t)) for t in range(prod(lane_of.sizes))]
    found = every[lanes]
    assert (found >= 0).all()
    assert (np.delete(every, lanes, axis=0) == -1).all()
    # CuTe accepts one more pair of parentheses around the strides of one row.
    wanted = parse_cute(text.replace("((_16,_8)))", "(_16,_8))"))
    bits = layout.type.bits if layout.type and kind == "copy" else 1
    count, values = wanted.sizes
    assert found.shape == (count, values // bits)
    t, v = np.indices(found.shape, sparse=True)
    offsets = np.asarray(wanted((t, v * bits)))
    if kind == "mma":  # column-major places of the operand
        rows, columns = layout.shape
        offsets = offsets % rows * columns + offsets // rows
    else:  # bits of the elements, row by row
        assert (np.asarray(wanted((t, v * bits + bits - 1))) == offsets + bits - 1).all()
        offsets //= bits
    assert (found == offsets).all()


def name_of(row: dict[str, Any]) -> str:
    return f"{row['arch']} {row['name']} {row['matrix']} {row['wave']}"


@each_row("row", CALCULATOR, ids=name_of, fast=4)
def test_amd_calculator(row: dict[str, Any]) -> None:
    generation = {"rdna3": "gfx11 ", "rdna4": "gfx12 "}.get(row["arch"], "")
    wave = " wave64" if generation and row["wave"] == 64 else ""
    layout = fragment(f"{generation}{row['name']} {row['matrix']}{wave}")
    assert list(layout.shape) == row["shape"]
    assert layout.type is not None
    found = elements(layout)
    # On gfx11 an element of 16 bits of D has 32 bits, which the calculator counts.
    step = 2 if row["arch"] == "rdna3" and row["matrix"] == "D" and layout.type.bits == 16 else 1
    lanes = np.array([lane for _, *lane in row["places"]])
    values = np.array([value for value, *_ in row["places"]]) // step
    numbers = np.arange(prod(layout.shape))
    assert (found[lanes, values[:, None]] == numbers[:, None]).all()
    assert found.size == lanes.size


SPELLINGS = [
    ("v_mfma_f32_32x32x8_f16 A", "V_MFMA_F32_32X32X8F16 A"),
    ("SM80_16x8x32_S32S8S8S32_TN B", "cute::SM80_16x8x32_S32S8S8S32_TN_SATURATE B"),
    (
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 A",
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 A",
    ),
    (
        "ldmatrix.sync.aligned.m8n8.x4.trans.b16",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 Dst",
    ),
    (
        "SM90_64x128x16_F32F16F16_RS A",
        "SM90::GMMA::MMA_64x128x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K> A",
    ),
    ("gfx12 v_wmma_f32_16x16x16_f16 A", "gfx1201 v_wmma_f32_16x16x16_f16 A wave32"),
]


@each_row("one, other", SPELLINGS)
def test_spellings_of_one_fragment(one: str, other: str) -> None:
    assert (elements(fragment(one)) == elements(fragment(other))).all()


# What two documents say in two ways.
SAME = [
    ("((4,8),(2,2,2)):((32,1),(16,8,128)) over 16x16", "SM80_16x8x16_F32F16F16F32_TN A"),
    ("((4,8,4),(2,2,8)):((128,1,16),(64,8,512)) over 64x64",
     "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 D"),
    ("SM75_U32x4_LDSM_N Dst", "ldmatrix.sync.aligned.m8n8.x4.shared.b16"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 A", "SM80_16x8x16_F16F16F16F16_TN A"),
    ("tcgen05.ld.sync.aligned.16x256b.x2.b32", "SM100_TMEM_LOAD_16dp256b2x Dst"),
]  # fmt: skip


def dot(number: int, width: int) -> str:
    return f"#ttg.dot_op<{{opIdx = {number}, parent = {MMA}, kWidth = {width}}}>"


MMA = (
    "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], "
    "instrShape = [16, 8]}>"
)
# CuTe's A and C, PTX's B (k by n), and Triton's encodings with one warp.
VENDORS = [
    pair
    for cute, ptx, k, width in (
        ("SM80_16x8x16_F32F16F16F32_TN", "m16n8k16.row.col.f32.f16.f16.f32", 16, 2),
        ("SM80_16x8x8_F32TF32TF32F32_TN", "m16n8k8.row.col.f32.tf32.tf32.f32", 8, 1),
        ("SM80_16x8x32_S32S8S8S32_TN", "m16n8k32.row.col.s32.s8.s8.s32", 32, 4),
        ("SM89_16x8x32_F32E4M3E4M3F32_TN", "m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 4),
    )
    for pair in (
        (f"{cute} A", dot(0, width), (16, k)),
        (f"mma.sync.aligned.{ptx} B", dot(1, width), (k, 8)),
        (f"{cute} C", MMA, (16, 8)),
    )
]
MFMA = (
    "#ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], "
    "isTransposed = false}>"
)
VENDORS += [
    ("v_mfma_f32_32x32x8_f16 D", MFMA, (32, 32)),
    ("v_mfma_f32_32x32x8_f16 A", dot(0, 4).replace(MMA, MFMA), (32, 8)),
    ("v_mfma_f32_32x32x8_f16 B", dot(1, 4).replace(MMA, MFMA), (8, 32)),
]


@pytest.mark.slow
@each_row("instruction, triton, shape", VENDORS)
def test_triton_s_encodings(instruction: str, triton: str, shape: tuple[int, int]) -> None:
    assert ml.are_equivalent(instruction, ml.index_map(triton, shape)).holds


@each_row("one, other", SAME)
def test_the_same_places(one: str, other: str) -> None:
    assert ml.are_equivalent(one, other).holds


def test_b_of_ptx_is_k_by_n() -> None:
    ptx = fragment("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 B")
    cute = fragment("SM80_16x8x16_F32F16F16F32_TN B")
    assert (ptx.shape, cute.shape) == ((16, 8), (8, 16))
    numbers = np.arange(128).reshape(16, 8).T.reshape(-1)
    assert (elements(ptx) == numbers[elements(cute)]).all()


def test_of_movmatrix_cute_leaves_the_transpose_out() -> None:
    source = elements(fragment("movmatrix.sync.aligned.m8n8.trans.b16 Src"))
    moved = elements(fragment("movmatrix.sync.aligned.m8n8.trans.b16 Dst"))
    assert (np.arange(64).reshape(8, 8).T.reshape(-1)[source] == moved).all()
    assert (elements(fragment("SM75_U32x1_MOVM_T Dst")) == source).all()


def test_vnni_packing_of_amx() -> None:
    # Two rows of B side by side: the pair of k, then n, then which of the pair.
    m = ml.index_map("tdpbf16ps B")
    assert [m(k, n) for k, n in ((0, 0), (1, 0), (0, 1), (2, 0))] == [0, 1, 2, 32]
    assert fragment("tdpbssd B").shape == (64, 16)


VERIFIED = [
    "SM70_8x8x4_F32F16F16F32_NT C", "SM80_16x8x32_S32S8S8S32_TN A", "SM100_U8x8_LDSM_T Src",
    "SM75_U16x4_LDSM_T Dst", "SM100_TMEM_LOAD_16dp64b2x Dst", "SM100_TMEM_LOAD_16dp32b2x Src",
    "v_mfma_f32_4x4x4_16b_f16 D", "gfx12 v_wmma_f32_16x16x16_f16 A wave64", "tdpbssd B",
    "((4,8,4),(2,2,2)):((128,1,16),(64,8,512)) over 64x16",
]  # fmt: skip


@each_row("text", VERIFIED)
def test_formulas_agree_with_steps_and_document(text: str) -> None:
    assert ml.verify(text).holds


@pytest.mark.slow
def test_the_document_of_every_instruction_says_the_same() -> None:
    from morello_layouts.notations.fragments.instructions import instructions

    faults = []
    for each in instructions().values():
        for name, operand in each.operands().items():
            *outer, registers = (axis.size for axis in operand.axes)
            if prod(outer) * registers > 1 << 12:
                continue
            layout = FragmentLayout(each.name, operand.shape, operand.axes)
            threads = range(prod(outer))
            said = [[operand.document(t, v) for v in range(registers)] for t in threads]
            numbers = [
                [int(np.ravel_multi_index(at, operand.shape)) if at else -1 for at in row]
                for row in said
            ]
            if (elements(layout) != np.array(numbers).reshape(len(threads), registers)).any():
                faults.append(f"{each.name} {name}")
    assert not faults


def test_volta_s_threads_are_lanes_of_a_quad_pair() -> None:
    m = ml.index_map("SM70_8x8x4_F16F16F16F16_TN A")
    assert str(m.place(4, 0)) == "lane 16, register 0"
    assert (m.element(lane=16, register=0), m.element(lane=4, register=0)) == ((4, 0), None)
    shown = str(ml.explain("SM70_8x8x4_F16F16F16F16_TN A"))
    assert "lane        16*(m//4) + m%4" in shown
    assert "        4 16:0 16:1 16:2 16:3" in shown
    assert "32 lanes: (m//4,m%4), the first part slowest; 8 of them hold elements" in shown
    asked = ml.gpu.Fragment(m).requests((8, 4), 16, None)
    assert asked.active[0].nonzero()[0].tolist() == [0, 1, 2, 3, 16, 17, 18, 19]
