"""Recipes as digits, compared with the coordinates that the steps compute one by one."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Split,
    Step,
    Transpose,
    linear_index,
    physical_coordinates,
)
from morello_layouts.core.recipe.digits import (
    AxisDigit,
    Digits,
    axes_of,
    axis_text,
    digits_of,
    fused,
    index_of,
    major_order,
    stages_of,
)

MOST_ELEMENTS = 3000


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """A recipe of any steps: padding within tiles and cuts across joints included."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 5, 6, 8, 12]), max_size=3)))
    steps: list[Step] = []
    sizes = shape
    for kind in draw(st.lists(st.sampled_from([Pad, Split, Transpose, Merge]), max_size=7)):
        step = draw_step(draw, kind, sizes)
        after = step.apply(sizes)
        if len(after) <= 8 and prod(after) <= MOST_ELEMENTS:
            steps.append(step)
            sizes = tuple(map(int, after))
    return Recipe(shape, tuple(steps))


def draw_step(draw: st.DrawFn, kind: type[Step], sizes: tuple[int, ...]) -> Step:
    if kind is Pad:
        return Pad(tuple(n + draw(st.sampled_from([0, 0, 1, 2, 3])) for n in sizes))
    if kind is Split:
        divisors = [[None, *(t for t in range(1, n + 1) if n % t == 0)] for n in sizes]
        return Split(tuple(draw(st.sampled_from(some)) for some in divisors))
    if kind is Transpose:
        return Transpose(tuple(draw(st.permutations(range(len(sizes))))))
    cuts = sorted(draw(st.lists(st.integers(0, len(sizes)), max_size=3)))
    return Merge(tuple(b - a for a, b in zip([0, *cuts], [*cuts, len(sizes)], strict=True)))


def same(one: Any, other: Any, shape: tuple[int, ...]) -> bool:
    return bool((np.broadcast_to(one, shape) == np.broadcast_to(other, shape)).all())


@given(recipes())
def test_digits_are_the_physical_coordinates(recipe: Recipe) -> None:
    shape = tuple(map(int, recipe.shape))
    at = list(np.indices(shape))
    physical = physical_coordinates(recipe, at, 0)
    axes = axes_of(recipe)
    for axis, coordinate, size in zip(axes, physical, recipe.physical_shape, strict=True):
        assert prod(digit.radix for digit in axis) == size
        assert same(index_of(axis, at), coordinate, shape)
    offset = linear_index(physical, recipe.physical_shape, 0)
    assert same(index_of(digits_of(recipe), at), offset, shape)


@given(recipes())
def test_digits_stay_below_their_radix(recipe: Recipe) -> None:
    at = list(np.indices(tuple(map(int, recipe.shape))))
    for digit in digits_of(recipe):
        values = np.asarray(digit.value(at))
        assert (values >= 0).all()
        assert (values < (digit.radix if digit.modulus is None else digit.modulus)).all()
        assert not digit.is_zero or (values == 0).all()


@given(recipes())
def test_fused_digits_are_the_same_index(recipe: Recipe) -> None:
    at = list(np.indices(tuple(map(int, recipe.shape))))
    digits = digits_of(recipe)
    joined = fused(digits)
    assert same(index_of(joined, at), index_of(digits, at), tuple(map(int, recipe.shape)))
    assert len(joined) <= len(digits)
    assert fused(joined) == joined


def test_padding_keeps_digits_apart() -> None:
    digits = fused(digits_of(ml.index_map("f32[8]{0:T(2)(4)}").recipe))
    assert parts(digits) == [("d0//2", 4, 4), ("d0%2", 4, 1)]


def test_halves_that_come_together_again_are_one_digit() -> None:
    steps = (Merge((2,)), Split((4,)), Merge((2,)), Split((2,)), Merge((2,)))
    (digit,) = fused(digits_of(Recipe((SizeExpr.named("N"), 4), steps[:3])))[:1]
    assert str(digit) == "d0"
    (digit,) = fused(digits_of(Recipe((4, 6), steps)))
    assert str(digit) == "(d0,d1)"


@given(recipes())
def test_every_stage_is_read(recipe: Recipe) -> None:
    stages = stages_of(recipe)
    for k, stage in enumerate(stages):
        assert stage == axes_of(Recipe(recipe.shape, recipe.steps[:k]))
    assert len(stages) == len(recipe.steps) + 1


@given(recipes())
def test_the_order_names_each_dimension_once(recipe: Recipe) -> None:
    assert sorted(major_order(recipe)) == list(range(len(recipe.shape)))


def parts(digits: Digits) -> list[tuple[str, Any, Any]]:
    return [(str(digit), digit.radix, digit.stride) for digit in digits if digit.radix != 1]


@pytest.mark.parametrize(
    ("layout", "digits"),
    [
        ("f32[3,5]{1,0:T(2,2)}", [("d0//2", 2), ("d1//2", 3), ("d0%2", 2), ("d1%2", 2)]),
        # The second tile does not divide the first: its digits are those of d0%6.
        ("f32[12]{0:T(6)(4)}", [("d0//6", 2), ("(d0%6)//4", 2), ("(d0%6)%4", 4)]),
        ("f32[20]{0:T(5)(4)}", [("d0//5", 4), ("(d0%5)//4", 2), ("(d0%5)%4", 4)]),
        ("f32[16]{0:T(8)(16)(4)}", [("d0//8", 2), ("(d0//4)%2", 4), ("d0%4", 4)]),
        # The second tile is larger than the first: all its other blocks are padding.
        ("f32[12]{0:T(2)(8)(4)}", [("d0//2", 6), ("0", 2), ("d0%2", 4)]),
        # The tile joins both dimensions and cuts across the joint, or along it.
        ("f32[4,6]{1,0:T(*,4)}", [("(d0,d1)//4", 6), ("(d0,d1)%4", 4)]),
        ("f32[4,6]{1,0:T(*,5)}", [("(d0,d1)//5", 5), ("(d0,d1)%5", 5)]),
        ("f32[4,6]{1,0:T(*,12)}", [("d0//2", 2), ("d0%2", 2), ("d1", 6)]),
        ("f32[5]{0:T(2,3)}", [("d0//3", 2), ("0", 2), ("d0%3", 3)]),
    ],
)
def test_digits_by_hand(layout: str, digits: list[tuple[str, int]]) -> None:
    found = parts(digits_of(ml.index_map(layout).recipe))
    assert [(text, radix) for text, radix, _ in found] == digits
    assert [stride for *_, stride in found] == [
        prod(radix for _, radix in digits[k + 1 :]) for k in range(len(digits))
    ]


def test_symbolic_digits() -> None:
    m = ml.index_map("f32[M,N]{1,0:T(8,128)(2,1)}", assuming="N % 128 == 0")
    found = digits_of(m.recipe)
    assert [(text, str(radix)) for text, radix, _ in parts(found)] == [
        ("d0//8", "ceil(M/8)"),
        ("d1//128", "N//128"),
        ("(d0//2)%4", "4"),
        ("d1%128", "128"),
        ("d0%2", "2"),
    ]
    assert str(found[0].stride) == "8*N"
    for sizes in ({"M": 10, "N": 256}, {"M": 1, "N": 128}):
        at = list(np.indices((sizes["M"], sizes["N"])))
        offsets = sum(
            (d.stride.evaluate(sizes) if isinstance(d.stride, SizeExpr) else d.stride) * d.value(at)
            for d in found
        )
        assert same(offsets, m.at(**sizes)(*at), (sizes["M"], sizes["N"]))


def test_joined_symbolic_dimensions() -> None:
    m, n = SizeExpr.named("M"), 8 * SizeExpr.named("N")
    along, across = (
        axes_of(Recipe(shape, (Merge((2,)), Split((8,))))) for shape in ((m, n), (n, m))
    )
    assert [axis_text(axis, "yx") for axis in along] == ["(y,x//8)", "x%8"]
    assert [axis_text(axis, "yx") for axis in across] == ["(y,x)//8", "(y,x)%8"]


def test_what_a_digit_says_of_padding() -> None:
    assert AxisDigit(0, 1, 6).is_exact
    assert AxisDigit(0, 2, 4, modulus=4).is_exact
    assert not AxisDigit(0, 2, 8, modulus=4).is_exact
    assert not AxisDigit((AxisDigit(0, 1, 6, 6),), 4, 2).is_exact
    assert AxisDigit((), 1, 2).is_zero
    assert AxisDigit(0, 8, 2, modulus=1).is_zero
