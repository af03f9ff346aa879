"""The list of fragments: every text is read, and says what it is."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from morello_layouts.notations.fragments import FragmentLayout
from tests.support.tables import each_row

# How many instructions have names that begin so. Those of CuTe are as many as CUTLASS has traits
# (August 2026), those of AMD without sparse ones as many as its calculator has, and CDNA 4's.
COUNTS = [
    ("SM50_", 2), ("SM61_", 2), ("SM70_", 8), ("SM75_", 10), ("SM80_", 38), ("SM89_", 8),
    ("SM90_", 924), ("SM90::", 912), ("SM100_", 205), ("SM103_", 2), ("SM120_", 6), ("mma.", 184),
    ("wgmma.", 930),
    ("ldmatrix.", 12), ("stmatrix.", 9), ("tcgen05.", 102), ("v_mfma", 60), ("gfx11 v_wmma", 12),
    ("gfx12 v_wmma", 22), ("tdp", 10), ("tmm", 1), ("simdgroup_", 3),
]  # fmt: skip


def instructions(beginning: str) -> set[str]:
    return {text.rpartition(" ")[0] for text in ml.fragments(beginning)}


@each_row("beginning, count", COUNTS)
def test_how_many_instructions(beginning: str, count: int) -> None:
    assert len(instructions(beginning)) == count


def test_a_beginning_in_any_case() -> None:
    assert ml.fragments("sm80_16X8x16_f32F16") == ml.fragments("SM80_16x8x16_F32F16")
    assert ml.fragments("SM99") == ()


@each_row("text", ml.fragments()[::29])
def test_some_texts_are_read(text: str) -> None:
    layout = ml.parse(text)
    assert isinstance(layout, FragmentLayout)
    assert str(layout) == text
    assert layout.recipe(layout.shape).axis_names[-1] in {"register", "column", "part", "element"}


@pytest.mark.slow
@each_row("text", ml.fragments())
def test_every_text_is_read(text: str) -> None:
    layout = ml.parse(text)
    assert isinstance(layout, FragmentLayout)
    layout.recipe(layout.shape)


def test_places_of_an_element() -> None:
    m = ml.index_map("SM80_16x8x16_F32F16F16F32_TN A")
    assert dict(m.place(3, 5)) == {"lane": 14, "register": 1}
    assert m.element(lane=14, register=1) == (3, 5)
    shared = ml.index_map("gfx11 v_wmma_f32_16x16x16_f16 A").place(3, 5)
    assert [dict(each) for each in shared.holders] == [
        {"lane": 3, "register": 5},
        {"lane": 19, "register": 5},
    ]


def test_quad_pairs_and_op_sel_are_told() -> None:
    told = {text: ml.parse(text).notes(()) for text in (
        "SM70_8x8x4_F32F16F16F32_NT C", "gfx11 v_wmma_f16_16x16x16_f16 D",
        "SM80_16x8x16_F32F16F16F32_TN A", "SM75_U32x1_MOVM_T Dst")}  # fmt: skip
    assert "quad pair" in told["SM70_8x8x4_F32F16F16F32_NT C"][0]
    assert "op_sel" in told["gfx11 v_wmma_f16_16x16x16_f16 D"][0]
    assert told["SM80_16x8x16_F32F16F16F32_TN A"] == ()
    assert "leave the transpose out" in told["SM75_U32x1_MOVM_T Dst"][0]
