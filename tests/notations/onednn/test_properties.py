"""Padded dimensions, proofs for all sizes, and other notations."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given

import morello_layouts as ml
from morello_layouts.notations.onednn import OnednnLayout
from tests.support.notations import Case, onednn


@given(onednn())
def test_bytes_are_those_of_the_padded_array(case: Case) -> None:
    assert case.size == prod(case.layout.padded_dims(case.shape))


@pytest.mark.parametrize(
    ("tag", "shape", "condition"),
    [
        ("nChw16c", ("N", "C", "H", "W"), "16 | C"),
        ("nhwc", ("N", "C", "H", "W"), "always"),
        ("OIhw4i16o4i", ("O", "I", 3, 3), "16 | I and 16 | O"),
        ("gOIhw8i8o", ("G", "O", "I", 1, 1), "8 | I and 8 | O"),
    ],
)
def test_proofs_for_all_sizes(tag: str, shape: tuple[str | int, ...], condition: str) -> None:
    assert ml.verify(tag, shape).holds
    assert ml.is_injective(tag, shape).holds
    answer = ml.is_bijective(tag, shape)
    assert answer.holds is (condition == "always")
    assert condition == "always" or str(answer.condition) == condition


def test_equal_to_other_notations() -> None:
    shape = ("N", "C", "H", "W")
    assert ml.are_equivalent("nhwc", "NHWC", shape).holds
    assert ml.are_equivalent("nchw", "[0, 1, 2, 3]", shape).holds
    assert ml.are_equivalent("AB8a128b", "f32[M,N]{1,0:T(8,128)}").holds
    assert ml.are_equivalent("AB8b16a", "f32[64,64]{0,1:T(8,16)}").counterexample == (0, 8)


def test_capitals_alone_are_morellos() -> None:
    assert isinstance(ml.parse("NHWC"), ml.MorelloLayout)
    assert isinstance(ml.parse("nhwc"), OnednnLayout)
