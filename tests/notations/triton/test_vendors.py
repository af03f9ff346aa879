"""One layout in two vendors' words, proved equal: NVIDIA's CuTe and PTX against Triton."""

from __future__ import annotations

from itertools import product
from math import log2
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import Recipe, Transpose, bases_of_recipe
from tests.support.tables import each_row

MMA = (
    "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], "
    "instrShape = [16, 8]}>"
)
INSTRUCTIONS = [
    ("SM80_16x8x16_F32F16F16F32_TN", "m16n8k16.row.col.f32.f16.f16.f32", 16, 2),
    ("SM80_16x8x8_F32TF32TF32F32_TN", "m16n8k8.row.col.f32.tf32.tf32.f32", 8, 1),
    ("SM80_16x8x32_S32S8S8S32_TN", "m16n8k32.row.col.s32.s8.s8.s32", 32, 4),
    ("SM89_16x8x32_F32E4M3E4M3F32_TN", "m16n8k32.row.col.f32.e4m3.e4m3.f32", 32, 4),
]

every = pytest.mark.parametrize(("cute", "ptx", "k", "width"), INSTRUCTIONS)


def operand(number: int, width: int) -> str:
    return f"#ttg.dot_op<{{opIdx = {number}, parent = {MMA}, kWidth = {width}}}>"


@every
def test_operands_of_an_instruction(cute: str, ptx: str, k: int, width: int) -> None:
    mma = f"mma.sync.aligned.{ptx}"
    for text in (f"{cute} A", f"{mma} A"):
        assert ml.are_equivalent(text, operand(0, width), (16, k)).holds
    assert ml.are_equivalent(f"{mma} B", operand(1, width), (k, 8)).holds
    for text in (f"{cute} C", f"{mma} C"):
        assert ml.are_equivalent(text, MMA, (16, 8)).holds


@every
def test_cute_has_the_second_operand_transposed(cute: str, ptx: str, k: int, width: int) -> None:
    """CuTe's B is columns by k, Triton's k by columns: they agree when the dimensions swap."""
    del ptx
    fragment = ml.index_map(f"{cute} B").recipe
    turned = Recipe(
        (k, 8), (Transpose((1, 0)), *fragment.steps), axis_names=fragment.axis_names
    )  # fmt: skip
    bases = bases_of_recipe(turned)
    wanted = ml.parse(operand(1, width)).bases((k, 8))
    assert bases is not None
    assert all(bases[name] == wanted[name] for name in ("lane", "register"))
    if k == 8:
        assert ml.are_equivalent(f"{cute} B", operand(1, width), (k, 8)).holds is False


def test_another_width_is_another_fragment() -> None:
    cute = INSTRUCTIONS[0][0]
    assert ml.are_equivalent(f"{cute} A", operand(0, 4), (16, 16)).holds is False


def dictionary() -> list[tuple[int, int, int, int]]:
    """Swizzle<B, M, S> on rows of so many columns, where it does not leave a row's vectors."""
    found = []
    for bits, base, shift, columns in product(
        (1, 2, 3), range(5), range(1, 7), (8, 16, 32, 64, 128)
    ):
        rows_per_phase = (1 << shift + base) // columns
        if shift >= bits and rows_per_phase in (1, 2, 4) and 1 << bits + base <= columns:
            found.append((bits, base, shift, columns))
    return found


def swizzled(bits: int, base: int, shift: int, columns: int) -> tuple[str, str, tuple[int, int]]:
    """The words of CuTe and of Triton, and the shape."""
    per_phase = (1 << shift + base) // columns
    shape = (4 * per_phase << bits, columns)
    cute = f"Sw<{bits},{base},{shift}> o 0 o ({shape[0]},{columns}):({columns},1)"
    triton = (
        f"#ttg.swizzled_shared<{{vec = {1 << base}, perPhase = {per_phase}, "
        f"maxPhase = {1 << bits}, order = [1, 0]}}>"
    )
    return cute, triton, shape


def test_the_dictionary_is_large_enough() -> None:
    assert len(dictionary()) >= 81


@each_row(("bits", "base", "shift", "columns"), dictionary(), fast=4)
def test_the_dictionary_of_swizzles(bits: int, base: int, shift: int, columns: int) -> None:
    cute, triton, shape = swizzled(bits, base, shift, columns)
    assert ml.are_equivalent(cute, triton, shape).holds
    assert str(ml.convert(cute, "triton")) == triton
    assert str(ml.convert(triton, "cute", shape)) == cute


@each_row(("vec", "per_phase", "most", "columns"), product((1, 2, 8), (1, 2, 4), (2, 4, 8), (64,)))
def test_the_dictionary_backwards(vec: int, per_phase: int, most: int, columns: int) -> None:
    bits, base = int(log2(most)), int(log2(vec))
    shift = int(log2(per_phase * columns)) - base
    cute, triton, shape = swizzled(bits, base, shift, columns)
    assert f"vec = {vec}, perPhase = {per_phase}, maxPhase = {most}," in triton
    assert ml.are_equivalent(cute, triton, shape).holds


@each_row(("width", "bits"), product((32, 64, 128), (8, 16, 32)))
def test_atoms_of_wgmma_are_hoppers_shared_memory(width: int, bits: int) -> None:
    """CuTe's K-major atoms GMMA::Layout_K_SW32, 64 and 128; their swizzles act on bytes."""
    columns = 8 * width // bits
    swizzle = {32: 1, 64: 2, 128: 3}[width]
    atom = f"Sw<{swizzle},4,3> o smem_ptr[{bits}b](unset) o (8,{columns}):({columns},1)"
    shared = (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = false, "
        f"elementBitWidth = {bits}}}>"
    )
    assert ml.are_equivalent(atom, shared, (8, columns)).holds
    if bits > 8:  # bytes are not elements
        wrong = atom.replace(f"smem_ptr[{bits}b](unset)", "0")
        assert ml.are_equivalent(wrong, shared, (8, columns)).holds is not True


@each_row(("width", "bits"), product((32, 64, 128), (8, 16, 32)))
def test_atoms_along_the_other_dimension_are_transposed(width: int, bits: int) -> None:
    """CuTe's MN-major atoms GMMA::Layout_MN_SW32, 64 and 128."""
    rows = 8 * width // bits
    swizzle = {32: 1, 64: 2, 128: 3}[width]
    atom = f"Sw<{swizzle},4,3> o smem_ptr[{bits}b](unset) o ({rows},8):(1,{rows})"
    shared = (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {width}, transposed = true, "
        f"elementBitWidth = {bits}}}>"
    )
    assert ml.are_equivalent(atom, shared, (rows, 8)).holds


def mfma(rows: int, k: int) -> str:
    shape = [rows, rows, k]
    return (
        f"#ttg.amd_mfma<{{version = 3, warpsPerCTA = [1, 1], instrShape = {shape}, "
        "isTransposed = false}>"
    )


def wmma(version: int) -> str:
    return f"#ttg.amd_wmma<{{version = {version}, isTranspose = false, ctaLayout = {{}}}}>"


HOPPER = (
    "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
    "instrShape = [16, 64, 16]}>"
)

# The instruction, Triton's result, and kWidth. The document of gfx12 gives a lane two runs of 4
# along k. Triton takes 8 neighbours: products are summed in another order.
OTHERS = [
    ("v_mfma_f32_32x32x8_f16", mfma(32, 8), 4, "ABCD"),
    ("v_mfma_f32_16x16x16_f16", mfma(16, 16), 4, "ABCD"),
    ("gfx11 v_wmma_f32_16x16x16_f16", wmma(1), 16, "ABCD"),
    ("gfx12 v_wmma_f32_16x16x16_f16", wmma(2), 4, "ABCD"),
    ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", HOPPER, 2, "AD"),
]


@each_row(
    ("instruction", "result", "width", "operand_name"),
    [(name, result, width, each) for name, result, width, names in OTHERS for each in names],
)
def test_other_instructions(instruction: str, result: str, width: int, operand_name: str) -> None:
    fragment = ml.parse(f"{instruction} {operand_name}")
    number = {"A": 0, "B": 1}.get(operand_name)
    encoding = result
    if number is not None:
        encoding = f"#ttg.dot_op<{{opIdx = {number}, parent = {result}, kWidth = {width}}}>"
    assert ml.are_equivalent(fragment, encoding, fragment.sizes).holds


TENSOR_MEMORY = [  # the operand of tcgen05 as CUTLASS has it, and Triton's fields
    ("cta_group::1.kind::f16.m128n64k16 D", "blockM = 128, blockN = 64, colStride = 1"),
    ("cta_group::1.kind::f16.m64n64k16 D", "blockM = 64, blockN = 64, colStride = 1"),
    ("cta_group::2.kind::f16.m256n64k16 D",
     "blockM = 128, blockN = 64, colStride = 1, CGALayout = [[1, 0]], twoCTAs = true"),
    ("cta_group::2.kind::f16.m128n64k16 D",
     "blockM = 64, blockN = 64, colStride = 1, CGALayout = [[1, 0]], twoCTAs = true"),
    ("cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X.m128n128k32 SFA", ""),
    ("cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X.m128n128k64 SFB", ""),
]  # fmt: skip


@each_row("operand, fields", TENSOR_MEMORY)
def test_tensor_memory_of_two_vendors(operand: str, fields: str) -> None:
    """The axes have other names; the places are the same."""
    one = ml.index_map(f"tcgen05.mma.{operand}")
    kind = "tensor_memory_encoding" if fields else "tensor_memory_scales_encoding"
    other = ml.index_map(f"#ttng.{kind}<{fields}>", one.shape)
    at = np.indices(one.shape)
    assert (one(*at) == other(*at)).all()
    assert (one.size, one.recipe.replicas) == (other.size, other.recipe.replicas)


# Intel's dpas, as the pictures of TritonIntelGPUAttrDefs.td show it: no machine of ours ran it.
DPAS = (
    "#ttig.dpas<{{repeatCount = 8, systolicDepth = 8, executionSize = 16, opsPerChan = {ops}, "
    "threadsPerWarp = {threads}, warpsPerCTA = [{warps}], repCluster = [{cluster}]}}>"
)


def dpas(operand: int | None, shape: tuple[int, int], **given: Any) -> list[list[dict[str, int]]]:
    usual = {"ops": 2, "threads": 16, "warps": "1, 1", "cluster": "1, 1"}
    text = DPAS.format(**usual | given)
    if operand is not None:
        text = f"#ttg.dot_op<{{opIdx = {operand}, parent = {text}, kWidth = 1}}>"
    m = ml.index_map(text, shape)
    return [[dict(m.place(i, j).holders[0]) for j in range(shape[1])] for i in range(shape[0])]


LANES = [  # operand, operands of a channel, threads, shape, the lane of a row and column
    (0, 2, 16, (8, 16), lambda _, j: j),
    (0, 1, 16, (8, 8), lambda i, j: i % 2 * 8 + j),
    (0, 4, 16, (8, 32), lambda _, j: j // 2),
    (0, 2, 32, (8, 16), lambda i, j: i % 2 * 16 + j),
    (1, 2, 16, (16, 16), lambda _, j: j),
    (1, 2, 32, (16, 16), lambda i, j: i // 2 % 2 * 16 + j),
    (None, 2, 16, (8, 16), lambda _, j: j),
    (None, 2, 32, (8, 16), lambda i, j: i % 2 * 16 + j),
]


@each_row("operand, ops, threads, shape, lane", LANES)
def test_lanes_of_dpas(
    operand: int | None, ops: int, threads: int, shape: tuple[int, int], lane: Any
) -> None:
    places = dpas(operand, shape, ops=ops, threads=threads)
    for i, row in enumerate(places):
        for j, place in enumerate(row):
            assert place["lane"] == lane(i, j)
    per = shape[0] * shape[1] // threads
    assert {place["register"] for row in places for place in row} == {*range(per)}


# The picture of warps and their registers, of 8 registers each: C of 64x128, A and B of f16.
TILES = [
    (None, (64, 128), (8, 16), lambda i, j: (2 * (i // 2 % 2) + j // 2 % 2,
                                             j % 2 + 2 * (i % 2) + 4 * (j // 4) + 8 * (i // 4))),
    (0, (64, 32), (8, 16), lambda i, j: (2 * (i // 2 % 2), i % 2 + 2 * j + 4 * (i // 4))),
    (1, (32, 128), (16, 16), lambda i, j: (j // 2 % 2, j % 2 + 2 * i + 4 * (j // 4))),
]  # fmt: skip


@each_row("operand, shape, tile, wanted", TILES)
def test_tiles_of_dpas(
    operand: int | None, shape: tuple[int, int], tile: tuple[int, int], wanted: Any
) -> None:
    places = dpas(operand, shape, warps="2, 2", cluster="2, 2")
    own = tile[0] * tile[1] // 16
    for i, row in enumerate(places):
        for j, place in enumerate(row):
            warp, registers = place["warp"], place["register"] // own
            assert (warp, registers) == wanted(i // tile[0], j // tile[1])


def test_old_spellings_of_dpas() -> None:
    new = DPAS.format(ops=2, threads=16, warps="4, 1", cluster="1, 1")
    old = new.replace("#ttig", "#triton_intel_gpu").replace(
        ", repCluster = [1, 1]", ", A = [8, 16], B = [16, 16], C = [8, 16]"
    )
    assert ml.equal(ml.index_map(new, (32, 16)), ml.index_map(old, (32, 16))).holds
    with pytest.raises(ml.ParseError, match="systolicDepth"):
        ml.parse(new.replace("systolicDepth = 8", "systolicDepth = 4"))
