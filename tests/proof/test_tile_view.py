"""Views by what lies where, in NumPy: split, transpose, merge and crop give the other array."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.proof.bitcast import tile_view
from tests.support.tables import each_row

LAYOUTS = (
    *("s16[8,16]{1,0}", "s16[8,16]{0,1}", "s16[8,16]{1,0:T(2,4)}", "s16[8,16]{0,1:T(4,2)}"),
    *("s16[2,4,4,4]{3,2,1,0}", "s16[4,4,2,4]{3,1,2,0}", "s16[128]{0}", "s16[7,16]{1,0:T(4,4)}"),
    *("s16[8,15]{1,0:T(2,4)}", "s16[4,2,15]{2,1,0:T(2,4)}", "s16[1,8,16]{2,1,0:T(2,4)(2,1)}"),
    *("s16[7,4,4]{2,0,1:T(4,4)}", "s16[15,8]{0,1:T(2,4)}", "s16[4,7,4]{2,1,0:T(4,4)}"),
    *("s16[6,16]{1,0:T(8,16)}", "s16[3,2,16]{2,1,0:T(4,*,16)}"),
)


@pytest.mark.slow
@each_row(("one", "other"), [*product(LAYOUTS, LAYOUTS)])
def test_a_view_is_split_transpose_merge_and_crop(one: str, other: str) -> None:
    a, b = ml.index_map(one), ml.index_map(other)
    assert a.size == b.size == 128
    found = tile_view(a, b)
    if found is None:
        assert used(a) != used(b)
        return
    assert (found.kind == "padding") is (used(b) < used(a))
    buffer = np.arange(a.size, dtype=np.int16)
    array, result = ml.unpack(one, buffer), ml.unpack(other, buffer)
    for word, numbers in re.findall(
        r"(split|transpose|merge)[^\[]*\[([0-9, ]+)\]", found.correspondence
    ):
        sizes = tuple(map(int, numbers.split(",")))
        array = array.transpose(sizes) if word == "transpose" else array.reshape(sizes)
    array = array[tuple(map(slice, result.shape))]
    assert np.array_equal(array, result), found.correspondence
    assert np.array_equal(found.first(*np.indices(result.shape)), b(*np.indices(result.shape)))


@each_row(("one", "other"), [*product(LAYOUTS[::3], LAYOUTS)])
def test_any_correspondence_is_found(one: str, other: str) -> None:
    """There is one if the elements of one array are where those of the other are, or padding."""
    a, b = used(ml.index_map(one)), used(ml.index_map(other))
    try:
        answer = ml.is_bitcast(one, other, correspondence="any")
    except ml.ShapeError:  # no correspondence at all
        assert a != b
        return
    assert answer.holds is not True or a <= b or b <= a
    if a == b and len(a) == 128:
        assert answer.holds is True


def used(m: ml.IndexMap) -> set[int]:
    return set(map(int, m(*np.indices(m.shape)).ravel()))


def test_axes_that_are_cut_elsewhere_have_no_view() -> None:
    answer = ml.is_bitcast("f32[3,5]{1,0:T(2,2)}", "f32[5,3]{1,0:T(2,2)}", correspondence="any")
    assert answer.holds is None
    assert "ways remain untried" in answer.reason
