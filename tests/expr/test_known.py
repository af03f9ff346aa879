"""Expressions that simplifiers are known to find hard, each by name; round trips and relayouts."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr import (
    AffineExpr,
    CostModel,
    canonicalize,
    cheapest,
    digit,
    readable,
    variable,
)
from morello_layouts.core.expr.cheapest import fewest
from morello_layouts.notations import parse_bounds, parse_expression
from tests.support.expr_judges import agree, equal_by_isl, grid_of

COST = CostModel().cost


def simplified(text: Any, bounds: Any) -> Any:
    """Return the readable form of a text; both targets must equal the text."""
    form = parse_expression(text, parse_bounds(bounds))
    simple = readable(form)[0]
    for result in (simple, cheapest(form)):
        assert agree(form, result), f"{form} is not {result}"
        assert equal_by_isl(form, result)
    return str(simple)


def test_two_digits_and_a_quotient_of_one_offset() -> None:
    text = "((d1*2+d0//64)%3)*256+(d0%64)*4+((d1*128+d0)//192)*768"
    assert simplified(text, "d0=0..127,d1=0..3071") == "512*d1 + 4*d0"


def test_difference_of_two_quotients_is_constant() -> None:
    assert simplified("-(s0//144)+(s0*32+4639)//4608", "s0=0..10000") == "1"


def test_quotient_of_a_sum_leaves_what_is_no_multiple() -> None:
    bounds = "d0=0..9,d1=0..9,d2=0..9"
    assert simplified("(d0*16+d1*4+d2)//8", bounds) == "2*d0 + (4*d1 + d2)//8"
    assert simplified("(d0*16+d1*4+d2)%8", bounds) == "(4*d1 + d2)%8"


@pytest.mark.parametrize("bounds", ["x=0..999", "x=-999..5", "x=..", "x=7.."])
def test_digits_of_digits(bounds: Any) -> None:
    assert simplified("x//4//8", bounds) == "x//32"
    assert simplified("(x%32)//4", bounds) == "(x//4)%8"
    assert simplified("(x//4)%8*4+x%4", bounds) == "x%32"
    assert simplified("(x//8)*8+x%8", bounds) == "x"
    assert simplified("x-8*(x//8)", bounds) == "x%8"


def test_mod_that_does_not_wrap() -> None:
    assert simplified("d0%42", "d0=53..71") == "d0 - 42"
    assert simplified("d0%42", "d0=42..83") == "d0 - 42"
    assert simplified("d0%42", "d0=42..84") == "d0%42"
    assert simplified("d0%42", "d0=41..83") == "d0%42"


def test_mod_of_a_negative_range() -> None:
    assert simplified("d0%5", "d0=-5..-1") == "d0 + 5"
    assert simplified("d0%5", "d0=-4..0") == "d0%5"
    assert simplified("d0%5", "d0=-6..-1") == "d0%5"


# Delinearising and linearising

shapes = st.lists(st.integers(1, 6), min_size=1, max_size=5)


def strides_of(shape: Any) -> Any:
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def linearised(coordinates: Any, shape: Any) -> Any:
    """Return the row-major offset of coordinates, as a sum of products."""
    total = AffineExpr((), 0)
    for x, stride in zip(coordinates, strides_of(shape), strict=True):
        total = total + x * stride
    return total


def delinearised(x: Any, shape: Any) -> Any:
    """Return the coordinates of a row-major offset: each a digit of it."""
    pairs = zip(strides_of(shape), shape, strict=True)
    return [digit(x, stride, size) for stride, size in pairs]


def delinearised_by_steps(x: Any, shape: Any) -> Any:
    """Return the coordinates of a row-major offset, taken off one after the other as loops do."""
    found = []
    for size in reversed(shape[1:]):
        found.append(x % size)
        x = x // size
    return [x, *reversed(found)]


def coordinates_of(shape: Any) -> Any:
    return [variable(f"d{k}", 0, size - 1) for k, size in enumerate(shape)]


take_apart = st.sampled_from([delinearised, delinearised_by_steps])


@given(shapes, take_apart)
def test_offset_to_coordinates_and_back(shape: Any, take: Any) -> None:
    p = variable("p", 0, prod(shape) - 1)
    assume(prod(shape) > 1)
    assert canonicalize(linearised(take(p, shape), shape)) == p
    assert cheapest(linearised(take(p, shape), shape)) == p


@given(shapes, take_apart)
def test_coordinates_to_offset_and_back(shape: Any, take: Any) -> None:
    at = coordinates_of(shape)
    for x, size, back in zip(at, shape, take(linearised(at, shape), shape), strict=True):
        assert canonicalize(back) == (x if size > 1 else AffineExpr((), 0))


@given(st.data(), take_apart, take_apart)
def test_offset_through_another_shape_and_back(
    data: st.DataObject, take: Any, take_again: Any
) -> None:
    shape = data.draw(shapes)
    assume(prod(shape) > 1)
    other = data.draw(st.permutations(shape))
    at = coordinates_of(shape)
    middle = take(linearised(at, shape), other)
    back = take_again(linearised(middle, other), shape)
    for x, size, found in zip(at, shape, back, strict=True):
        assert canonicalize(found) == (x if size > 1 else AffineExpr((), 0))


# Relayouts between tiled forms


@st.composite
def tiled_forms(draw: st.DrawFn, sizes: Any) -> Any:
    """Digits of the coordinates, outermost first, as (dimension, divisor, number of values)."""
    digits = []
    for dim, size in enumerate(sizes):
        tile = draw(st.sampled_from([t for t in range(1, size + 1) if size % t == 0]))
        digits += [(dim, tile, size // tile), (dim, 1, tile)]
    return draw(st.permutations([d for d in digits if d[2] > 1]))


def offset_in(digits: Any, at: Any) -> Any:
    """Return the offset of coordinates in a tiled form."""
    return linearised([digit(at[d], s, n) for d, s, n in digits], [n for *_, n in digits])


def coordinates_in(digits: Any, p: Any, rank: Any) -> Any:
    """Return the coordinates of an offset in a tiled form."""
    at = [AffineExpr((), 0)] * rank
    for (d, s, _), x in zip(digits, delinearised(p, [n for *_, n in digits]), strict=True):
        at[d] = at[d] + x * s
    return at


def positions(digits: Any, sizes: Any) -> Any:
    """Return the offset of each element in a tiled form, by transposing an array."""
    split = sorted(digits, key=lambda t: (t[0], -t[1]))
    axes = np.arange(prod(sizes)).reshape([n for *_, n in split])
    packed = axes.transpose([split.index(t) for t in digits]).ravel()
    return np.argsort(packed).reshape(sizes)


sizes_of_arrays = st.lists(st.sampled_from([1, 2, 4, 6, 8, 12]), min_size=1, max_size=3)


@given(st.data())
def test_relayouts_of_tiled_forms(data: st.DataObject) -> None:
    sizes = data.draw(sizes_of_arrays)
    assume(prod(sizes) > 1)
    first, second = data.draw(tiled_forms(sizes)), data.draw(tiled_forms(sizes))
    at = [variable(f"d{k}", 0, n - 1) for k, n in enumerate(sizes)]
    direct = cheapest(offset_in(first, at))
    through = offset_in(first, coordinates_in(second, offset_in(second, at), len(sizes)))
    for result in (readable(through)[0], cheapest(through)):
        found = np.broadcast_to(result.evaluate(grid_of(at_variables(at))), sizes)
        assert np.array_equal(found, positions(first, sizes))
    assert COST(cheapest(through)) <= COST(direct)


def at_variables(forms: Any) -> Any:
    return [form.terms[0][0] for form in forms]


@given(st.data())
def test_relayout_there_and_back(data: st.DataObject) -> None:
    # Tiles of 2 and 3 along one dimension share no digits; equal ones, or of one another, do.
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=1, max_size=3))
    assume(prod(sizes) > 1)
    first, second = data.draw(tiled_forms(sizes)), data.draw(tiled_forms(sizes))
    p = variable("p", 0, prod(sizes) - 1)
    there = offset_in(first, coordinates_in(second, p, len(sizes)))
    assert canonicalize(offset_in(second, coordinates_in(first, there, len(sizes)))) == p


@pytest.mark.parametrize(
    ("text", "bounds", "cost"),
    [  # random ones; what TVM prints costs 15, 18 and 14
        ("((16*i//4)//7 + (i + 29)//7)%4 + (j - 28*i + 6)%20", "i=0..19,j=0..5", 15),
        ("4*((5*((i + 12)%8))//32) - 15*(((7*j)%32 + (-9*i)//32)%24%32)", "i=0..4,j=0..5", 18),
        ("(j + 23 + 7*i)//2 - 3*(((j%4)%2 + (-7*j)//7//8)%4)", "i=0..2,j=5..12", 15),
    ],
)
def test_multiples_leave_a_division_below_a_remainder(text: Any, bounds: Any, cost: int) -> None:
    simplified(text, bounds)
    assert COST(fewest(parse_expression(text, parse_bounds(bounds)))) <= cost


def test_what_is_simplified_by_a_wider_bound_keeps_its_own() -> None:
    """Of M <= N the remainder is below N; that M bounds it must be known afterwards, too."""
    answer = ml.simplify("select(N*j + i < N, N*j + i, 0)", "0<=i<M, j=0..7", assuming="M <= N")
    assert str(answer) == "Piecewise((i, j <= 0), (0, True))"
