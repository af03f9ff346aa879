"""XlaShape and XlaLayout as values: what they take, refuse, print, and say about sizes."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.xla import bits_of
from tests.support.tables import each_row

L, S = ml.XlaLayout, ml.XlaShape
F32 = S("f32", (2, 3))


class TestWhatTheConstructorsTake:
    def test_lists_arrays_and_numpy_integers(self) -> None:
        x = S("f32", [np.int64(3), np.uint8(5)], L(np.array([1, 0]), [[np.int32(2), 2]]))
        assert x == ml.parse("f32[3,5]{1,0:T(2,2)}")
        assert {type(n) for n in x.dims} == {int}
        assert isinstance(x.layout.tiles[0], tuple)
        assert hash(x) == hash(ml.parse("f32[3,5]{1,0:T(2,2)}"))

    def test_dims_of_an_array(self) -> None:
        assert S("f32", np.zeros((3, 5)).shape).dims == (3, 5)
        assert S("f32", iter((3, 5))).dims == (3, 5)

    def test_a_layout_by_default(self) -> None:
        assert F32.layout == L((1, 0))
        assert S("f32", ()).layout == L(())
        assert S("token", ()).layout is None
        assert S("f32", ()) == ml.parse("f32[]") == ml.parse("f32[]{:}")

    def test_unbounded_sizes_are_dynamic(self) -> None:
        assert S("f32", (None, 3)).dynamic_dimensions == (True, False)
        assert S("f32", (None, 3)) == ml.parse("f32[?,3]")
        assert S("f32", (2, 3), None, (np.True_, False)) == ml.parse("f32[<=2,3]")

    def test_values_are_frozen_and_equal_by_parts(self) -> None:
        with pytest.raises(AttributeError):
            F32.dims = (1,)  # type: ignore[misc]
        others = [S("f32", (2, 3), L((0, 1))), S("f16", (2, 3)), ml.parse("f32[<=2,3]")]
        assert F32 not in others
        assert len({F32, S("f32", [2, 3], L([1, 0]))}) == 1
        assert pickle.loads(pickle.dumps(F32)) == F32
        assert copy.deepcopy(F32) == F32


def test_dynamic_sizes_count_as_their_bounds() -> None:
    x = ml.parse("f32[<=3,5]{1,0:T(2,2)}")
    assert (x.shape, x.byte_size) == ((3, 5), 96)
    assert ml.index_map(x).expr == ml.index_map("f32[3,5]{1,0:T(2,2)}").expr


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("bf16[8,1,1280,16384]", 3),
        ("f32[]", 0),
        ("f32[1,1]", 0),
        ("f32[0,2]", 1),
        ("f32[?,N,1]", 2),
    ],
)
def test_true_rank_counts_sizes_above_one(text: str, rank: int) -> None:
    assert ml.parse(text).true_rank == rank


@pytest.mark.parametrize("space", [0, 1, 2, 4, 5, 17])
def test_memory_spaces_are_kept(space: int) -> None:
    x = ml.parse(f"f32[2]{{0:S({space})}}")
    assert x.layout.memory_space == space
    assert str(x) == (f"f32[2]{{0:S({space})}}" if space else "f32[2]{0}")
    assert ml.are_equivalent(x, "f32[2]").holds is True


@each_row(
    ("text", "byte_size"),
    [
        ("s4[3]", 3),  # a byte each where E does not pack them
        ("s4[3]{0:E(4)}", 2),
        ("u1[9]{0:E(1)}", 2),
        ("c128[3]", 48),
        ("f8e4m3b11fnuz[7]", 7),
        ("f32[40,300]{0,1:T(8,128)SC(0:128)}", 90112),  # pieces of 128 and 172
        ("f32[40,300]{1,0:T(8,128)SC(0:8)(1:128)}", 32768),
        ("f32[64,3]{1,0:SC(0:48,24)}", 576),  # XLA takes the cuts as they are written
        ("f32[64,3]{1,0:SC(0:)}", 768),
        ("f32[64,3]{1,0:SC(0:16)(0:32)}", 576),  # of two cuts of one dimension the first
        ("f32[0,3]{1,0:T(8,128)}", 0),
    ],
)
def test_byte_sizes(text: str, byte_size: int) -> None:
    assert ml.parse(text).byte_size == byte_size


def test_bits_of_types() -> None:
    assert {t: bits_of(t) for t in ("pred", "s1", "u4", "bf16", "f32", "c64", "c128")} == {
        "pred": 8, "s1": 8, "u4": 8, "bf16": 16, "f32": 32, "c64": 64, "c128": 128,
    }  # fmt: skip
    assert ml.parse("pred[8]{0:E(1)}").bits == 1


def test_a_split_without_cuts_splits_nothing() -> None:
    x = ml.parse("f32[64,3]{1,0:SC(0:)}")
    assert str(x) == "f32[64,3]{1,0:SC(0:)}"
    assert (x.warnings, ml.index_map(x)(1, 1)) == ((), 4)


def test_a_warning_reaches_the_index_map() -> None:
    m = ml.index_map("f32[8,8]{1,0:T(4,4)(3,1)}")
    assert m.size == 96
    assert m.warnings == ml.parse("f32[8,8]{1,0:T(4,4)(3,1)}").warnings != ()
