"""Canonical digits, the same for all layouts with the same offsets, and the proof that they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from morello_layouts import proof
from morello_layouts.expr.assumptions import meet_all
from morello_layouts.expr.sizes import Int, ceil_quotient
from morello_layouts.layout import Layout
from morello_layouts.maps import IndexMap
from morello_layouts.recipe import Recipe
from morello_layouts.recipe.digits import AxisDigit, Digits, digits_of, fused, row_major


def canonical_digits(recipe: Recipe) -> Digits | None:
    """The canonical digits of a recipe, read off its steps; sizes may be symbolic.

    None if the steps pad, or cut an axis within a digit: the layout may have digits all the same.

    >>> from morello_layouts import index_map
    >>> [str(digit) for digit in canonical_digits(index_map("[1, 0, 1 p(4)]", (6, 8)).recipe)]
    ['d1//4', 'd0', 'd1%4']
    """
    is_padded = prod(recipe.physical_shape) != prod(recipe.shape)
    return None if is_padded else padded_digits(recipe)


def padded_digits(recipe: Recipe) -> Digits | None:
    """The canonical digits of the array with its padding; None if padding lies within digits.

    The highest digit of a dimension has a modulus if it has more values than the dimension needs:
    an index beyond them, always 0, is higher.

    >>> from morello_layouts import index_map
    >>> [digit.radix for digit in padded_digits(index_map("f32[3,5]{1,0:T(2,2)}").recipe)]
    [2, 3, 2, 2]
    """
    digits = fused(digits_of(recipe))
    if not all(digit.is_exact for digit in digits):
        return None
    dims = range(len(recipe.shape))
    padded = [prod(digit.radix for digit in digits if digit.dim == dim) for dim in dims]
    return tuple(_fit(digit, recipe.shape[digit.dim]) for digit in canonical(digits, padded))


def _fit(digit: AxisDigit, size: Int) -> AxisDigit:
    radix = digit.radix
    if isinstance(radix, int) and ceil_quotient(size, digit.unit) != radix:
        return replace(digit, modulus=radix)
    return digit


def canonical(digits: Iterable[AxisDigit], shape: Sequence[Int]) -> Digits:
    """Digits of dimensions of these sizes, neighbours joined that are one digit together."""
    joined = (_digit(digit.dim, digit.unit, digit.radix, shape) for digit in fused(digits))
    return row_major(joined)


def _digit(dim: int, unit: int, radix: Int, shape: Sequence[Int]) -> AxisDigit:
    # A symbolic radix is that of a highest digit: only the end of a dimension is symbolic.
    if isinstance(radix, int) and unit * radix != shape[dim]:
        return AxisDigit(dim, unit, radix, modulus=radix)
    return AxisDigit(dim, unit, radix)


def probed_digits(m: IndexMap) -> Digits | str:
    """The only canonical digits that a map of known sizes could have, from some of its offsets.

    In a layout of digits, index T of a dimension lies at the stride of the digit that begins at T,
    and this digit ends at the first divisor q of the remaining extent for which index T·q does not
    lie at q times that stride. So the offsets asked for here leave one list of digits; if the map
    differs from that list, no list has the map's offsets.

    Returns:
        The digits; if no list has the strides found, the reason in words.

    >>> from morello_layouts import index_map
    >>> [str(digit) for digit in probed_digits(index_map("f32[3]{0:T(4)}"))]
    ['d0']
    >>> probed_digits(index_map("f32[2,3]{1,0:T(1,4)}"))
    'd0 has stride 4, and the digits inside it have 3 elements'
    """
    found: list[tuple[int, AxisDigit]] = []
    shape = m.recipe.shape
    for dim, n in enumerate(shape):
        assert isinstance(n, int)
        begin = 1
        while begin < n:
            stride = _offset(m, dim, begin)
            left = n // begin
            inner = (q for q in _divisors(left) if 1 < q < left)
            ends = (q for q in inner if _offset(m, dim, begin * q) != q * stride)
            radix = next(ends, left)
            found.append((stride, _digit(dim, begin, radix, shape)))
            begin *= radix
    found.sort(key=lambda pair: pair[0])
    volume: Int = 1
    for stride, digit in found:
        if stride != volume:
            return f"{digit} has stride {stride}, and the digits inside it have {volume} elements"
        volume *= digit.radix
    assert volume == prod(shape)
    return canonical((digit for _, digit in reversed(found)), shape)


def _offset(m: IndexMap, dim: int, index: int) -> int:
    coordinate = [0] * len(m.recipe.shape)
    coordinate[dim] = index
    offset: int = m(*coordinate)
    return offset


def _divisors(n: int) -> Sequence[int]:
    from sympy import divisors

    return [int(d) for d in divisors(n)]


def have_same_offsets(m: IndexMap, found: Layout) -> proof.Proof:
    """Prove that a layout has the offsets of a map, under the assumptions of the map.

    Raises:
        ShapeError: if the layout does not fit the map's shape.

    >>> from morello_layouts import index_map, parse
    >>> have_same_offsets(index_map("f32[6,8]{0,1:T(4,1)}"), parse("[1, 0, 1 p(4)]")).holds
    True
    """
    shape = m.recipe.shape
    if meet_all((*m.assumptions, *found.assumptions(shape))) != m.assumptions:
        why = f"{found} assumes more of the sizes than {m.source}"
        return proof.Proof("equivalent", None, why)
    recipe = found.recipe(shape)
    other = IndexMap.of(recipe, found.reference, str(found), assumptions=m.assumptions)
    return proof.are_equivalent(m, other)
