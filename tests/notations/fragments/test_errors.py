"""Wrong texts of fragments: the caret and what is wrong, looked at one by one."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from tests.support.tables import each_row

# The text, and below it the caret; what is wrong.
ERRORS: list[tuple[str, str, str]] = [
    ("SM80_16x8x16_F32F16F16F32_TN",
     "                            ^",
     "operand of SM80_16x8x16_F32F16F16F32_TN: expected A, B, C or D, got none"),
    ("SM80_16x8x16_F32F16F16F32_TN E",
     "                             ^",
     "operand of SM80_16x8x16_F32F16F16F32_TN: expected A, B, C or D, got 'E'"),
    ("SM80_16x8x16_F32F16F16F32_TN A B",
     "                               ^",
     "expected the end of the text, found 'B'"),
    ("SM80_16x8x16_F32F16F16F32_TN A wave64",
     "                               ^",
     "expected the end of the text, found 'wave64'"),
    ("SM80_16x8x16_F32F16F16F32_TN A, B",
     "                                ^",
     "expected the end of the text, found 'B'"),
    ("SM80_16x8x12_F32F16F16F32_TN A",
     "             ^",
     "no instruction has the name 'SM80_16x8x12_F32F16F16F32_TN'"),
    ("SM80_16x8x16_F32F16F16_TN A",
     "                       ^",
     "no instruction has the name 'SM80_16x8x16_F32F16F16_TN'"),
    ("SM80_16x8x16_F32F16F16F32_NT A",
     "                          ^",
     "no instruction has the name 'SM80_16x8x16_F32F16F16F32_NT'"),
    ("SM80_32x8x16_F32F16F16F32_TN A",
     "     ^",
     "no instruction has the name 'SM80_32x8x16_F32F16F16F32_TN'"),
    ("SM81_16x8x16_F32F16F16F32_TN A",
     "   ^",
     "no instruction has the name 'SM81_16x8x16_F32F16F16F32_TN'"),
    ("SM75_U32x3_LDSM_N Dst",
     "         ^",
     "no instruction has the name 'SM75_U32x3_LDSM_N'"),
    ("SM75_U32x4_LDSM_N A",
     "                  ^",
     "operand of SM75_U32x4_LDSM_N: expected Src, Dst or Ref, got 'A'"),
    ("SM75_U32x4_LDSM_N",
     "                 ^",
     "operand of SM75_U32x4_LDSM_N: expected Src, Dst or Ref, got none"),
    ("SM100_TMEM_LOAD_16dp256b3x Dst",
     "                         ^",
     "no instruction has the name 'SM100_TMEM_LOAD_16dp256b3x'"),
    ("SM90_64x128x16_F32F16F16_SS A",
     "                            ^",
     ("operand A of SM90_64x128x16_F32F16F16_SS lies in shared memory: give its layout, for "
     "example Sw<3,4,3> o smem_ptr[16b](unset) o …")),
    ("SM90_64x128x16_F32F16F16_RS B",
     "                            ^",
     ("operand B of SM90_64x128x16_F32F16F16_RS lies in shared memory: give its layout, for "
     "example Sw<3,4,3> o smem_ptr[16b](unset) o …")),
    ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 A",
     "                              ^",
     "no instruction has the name 'mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32'"),
    ("mma.sync.m16n8k16.row.col.f32.f16.f16.f32 A",
     "         ^",
     "no instruction has the name 'mma.sync.m16n8k16.row.col.f32.f16.f16.f32'"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16 A",
     "                                             ^",
     "no instruction has the name 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16'"),
    ("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 A",
     "                                      ^",
     "no instruction has the name 'mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32'"),
    ("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 D",
     "                                   ^",
     "no instruction has the name 'wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16'"),
    ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 B",
     "                                                    ^",
     ("operand B of wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 lies in shared "
     "memory: give its layout, for example Sw<3,4,3> o smem_ptr[16b](unset) o …")),
    ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16",
     "                                                   ^",
     ("operand of wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16: expected A, C or D, "
     "got none")),
    ("ldmatrix.sync.aligned.m8n8.x3.shared.b16",
     "                            ^",
     "no instruction has the name 'ldmatrix.sync.aligned.m8n8.x3.shared.b16'"),
    ("v_wmma_f32_16x16x16_f16 A",
     "^",
     "the generation: expected gfx11 or gfx12 before the name, got none"),
    ("gfx13 v_wmma_f32_16x16x16_f16 A",
     "    ^",
     "no instruction has the name 'gfx13 v_wmma_f32_16x16x16_f16'"),
    ("gfx11 v_wmma_f32_16x16x32_f16 A",
     "                       ^",
     "no instruction has the name 'gfx11 v_wmma_f32_16x16x32_f16'"),
    ("v_mfma_f32_32x32x9_f16 A",
     "                 ^",
     "no instruction has the name 'v_mfma_f32_32x32x9_f16'"),
    ("v_mfma_f32_32x32x8_f16 A wave16",
     "                         ^",
     "expected the end of the text, found 'wave16'"),
    ("v_mfma_f32_32x32x8_f16 Q",
     "                       ^",
     "operand of v_mfma_f32_32x32x8_f16: expected A, B, C or D, got 'Q'"),
    ("tdpbf16ps",
     "         ^",
     "operand of tdpbf16ps: expected A, B or C, got none"),
    ("tdpbf17ps A",
     "      ^",
     "no instruction has the name 'tdpbf17ps'"),
    ("tdpbf16ps D",
     "          ^",
     "operand of tdpbf16ps: expected A, B or C, got 'D'"),
    ("((4,8),(2,2,2)):((32,1),(16,8,128)) over",
     "                                        ^",
     "the shape: expected sizes such as 16x16"),
    ("((4,8),(2,2,2)):((32,1),(16,8,128)) over 16",
     "^",
     ("((4,8),(2,2,2)):((32,1),(16,8,128)): 4 of stride 32 do not walk over rows and columns "
     "of 16")),
    ("((4,8),(2,2,2)):((32,1),(16,8,128)) over 16x8",
     "^",
     ("((4,8),(2,2,2)):((32,1),(16,8,128)): 2 of stride 128 do not walk over rows and "
     "columns of 16x8")),
    ("((4,8),(2,2,2)):((32,1),(16,8,128)) over 16x32",
     "^",
     "dimension 1 of 32: expected digits that make up its coordinates, got 16 values for 32"),
    ("((4,8),(2,2,2)):((32,1),(16,8,256)) over 16x16",
     "^",
     ("((4,8),(2,2,2)):((32,1),(16,8,256)): 2 of stride 256 do not walk over rows and "
     "columns of 16x16")),
    ("((4,8),(2,2,2)):((32,1),(16,8,128) over 16x16",
     "                                   ^",
     "expected ')' or ',', found 'over'"),
    ("(4,8,2):(1,4,32) over 8x8",
     "^",
     "(4,8,2):(1,4,32): expected two modes, threads and values, with integers as strides"),
    ("((4,8),(2,2,2)):((32,1),(16,8,128)) over 16xK",
     "                                         ^",
     "the shape: expected sizes such as 16x16"),
    ("(3,4):(1,3) over 4x4",
     "^",
     "(3,4):(1,3): 4 of stride 3 do not walk over rows and columns of 4x4"),
    ("(32,1000000):(1,32) over 32x1000000",
     "^",
     "threads and values: expected up to 262,144 places, got more"),
]  # fmt: skip


@each_row("text, caret, what", ERRORS, ids=[row[0] for row in ERRORS])
def test_the_caret_and_what_is_wrong(text: str, caret: str, what: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.what == what
    assert caught.value.position == len(caret) - 1
    assert caught.value.fix


FIXES = [
    ("SM80_16x8x12_F32F16F16F32_TN A", "the nearest are SM80_16x8x16_F32F16F16F32_TN"),
    ("ldmatrix.sync.aligned.m8n8.x3.b16", "the nearest are ldmatrix.sync.aligned.m8n8.x4.b16"),
    ("v_mfma_f32_32x32x9_f16 A", "the nearest are v_mfma_f32_32x32x8_f16"),
    ("v_wmma_f32_16x16x16_f16 A", "write gfx12 v_wmma_f32_16x16x16_f16"),
    ("SM80_16x8x16_F32F16F16F32_TN", "write SM80_16x8x16_F32F16F16F32_TN A"),
]


@each_row("text, fix", FIXES, ids=[row[0] for row in FIXES])
def test_what_to_do(text: str, fix: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.fix.startswith(fix)


LONG = ["SM80_" + "1" * 10_000, "v_mfma_" + "_" * 10_000, "SM80_" + "<" * 10_000 + " A",
        "(" * 10_000 + " over 8x8", "mma." + ".satfinite" * 1000, "gfx11" + " " * 10_000 + "v_x",
        "((4,8),2):((16,1),8) over " + "8x" * 5000]  # fmt: skip


@each_row("text", LONG, ids=lambda text: text[:8])
def test_ten_kilobytes_are_refused(text: str) -> None:
    with pytest.raises(ml.ParseError):
        ml.parse(text)


def test_a_fragment_has_one_shape() -> None:
    with pytest.raises(ml.ShapeError, match=r"two shapes: the layout carries \(16, 16\)"):
        ml.index_map("SM80_16x8x16_F32F16F16F32_TN A", (16, 8))
