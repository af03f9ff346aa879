"""A layout that is to be written in another notation: its digits, proofs and refusals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, cmp_to_key
from math import prod
from typing import Final

from morello_layouts import proof
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.expr.sizes import Int, ceil_quotient, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import sympy
from morello_layouts.core.limits import TRANSLATION_PROBES
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import delinearize, known
from morello_layouts.core.recipe.digits import (
    AxisDigit,
    Digits,
    digits_of,
    has_digits,
    index_of,
    row_major,
)
from morello_layouts.core.recipe.recognize import digits_to_read
from morello_layouts.errors import NoTranslationError, TranslationNotFoundError


def placed_digits(m: IndexMap) -> Digits | None:
    """Return the fewest digits that the elements of a layout have, each with its stride.

    A digit has as many values as elements need, whatever the room; the slowest varying is first.
    They are read off the steps; for strides that no steps have, off the formula; and if that is not
    a sum of digits as it stands, off some offsets.

    Returns:
        None if the formula is not a sum of digits of single dimensions.

    >>> from morello_layouts import index_map
    >>> digits = placed_digits(index_map("f32[3,5]{1,0:T(2,2)}"))
    >>> [(str(digit), digit.radix, digit.stride) for digit in digits]
    [('d0//2', 2, 12), ('d1//2', 3, 4), ('d0%2', 2, 2), ('d1%2', 2, 1)]
    """
    shape = m.recipe.shape
    if has_digits(m.recipe):
        found = [digit for digit in digits_of(m.recipe) if digit.radix != 1 and not digit.is_zero]
        if all(isinstance(digit.of, int) for digit in found):
            return joined(found, shape)
    summed = _digits_of(m.form, shape)
    if summed is not None:
        return joined(sorted(summed, key=cmp_to_key(_by_stride)), shape)
    probed = None if m.recipe.names else probed_digits(m)
    return probed if probed and _sums_to(m, probed) else None


def _sums_to(m: IndexMap, digits: Digits) -> bool:
    """Whether the offsets of some elements are the sums of their digits."""
    shape = known(m.recipe.shape)
    count = prod(shape)
    for element in range(0, count, -(-count // TRANSLATION_PROBES)):
        coordinate = delinearize(element, shape)  # ints: offsets may exceed 64 bits
        if index_of(digits, coordinate) + m.form.const != m(*coordinate):
            return False
    return True


def _digits_of(form: AffineExpr, shape: Sequence[Int]) -> Digits | None:
    """The digits of which a formula is the sum; None if it is not one of digits of known units."""
    found = digits_to_read(tuple(shape), form, may_fall=True)
    if found is None:
        return None
    digits: list[AxisDigit] = []
    for dim, own in enumerate(found):
        for _, unit, radix, _, stride in own:
            if not isinstance(unit, int):
                return None
            modulus = radix if isinstance(radix, int) else None
            digits.append(AxisDigit(dim, unit, radix, modulus, stride))
    return tuple(digits)


def _by_stride(one: AxisDigit, other: AxisDigit) -> int:
    if is_nonnegative(other.stride - one.stride - 1):
        return 1
    return -1 if is_nonnegative(one.stride - other.stride - 1) else 0


def probed_digits(m: IndexMap) -> Digits:
    """The only digits that a map of known sizes could have, with their strides.

    In a layout of digits, index T of a dimension lies at the stride of the digit that begins at T,
    and this digit ends at the first divisor q of the remaining extent for which index T·q does not
    lie at q times that stride. So the offsets asked for here leave one list of digits; if the map
    differs from that list, no list has the map's offsets.
    """
    found: list[AxisDigit] = []
    for dim, n in enumerate(known(m.recipe.shape)):
        begin = 1
        while begin < n:
            stride = _offset(m, dim, begin)
            left = n // begin
            inner = (q for q in _divisors(left) if 1 < q < left)
            ends = (q for q in inner if _offset(m, dim, begin * q) != q * stride)
            radix = next(ends, left)
            found.append(
                AxisDigit(dim, begin, radix, None if begin * radix == n else radix, stride)
            )
            begin *= radix
    return tuple(sorted(found, key=lambda digit: -digit.stride))


def _offset(m: IndexMap, dim: int, index: int) -> int:
    coordinate = [0] * len(m.recipe.shape)
    coordinate[dim] = index
    offset: int = m(*coordinate) - m.form.const
    return offset


def _divisors(n: int) -> Sequence[int]:
    return [int(d) for d in sympy.divisors(n)]


def joined(digits: Iterable[AxisDigit], shape: Sequence[Int]) -> Digits:
    """Return digits with the values that elements need, those joined that are one together.

    >>> halves = AxisDigit(0, 4, 4, stride=8), AxisDigit(0, 1, 4, 4, stride=2)
    >>> [(str(digit), digit.radix, digit.stride) for digit in joined(halves, (6,))]
    [('d0', 6, 2)]
    """
    found: list[tuple[int, AxisDigit]] = []
    order = sorted(enumerate(digits), key=lambda pair: (pair[1].dim, pair[1].unit))
    for place, digit in order:
        size = shape[digit.dim]
        if is_nonnegative(digit.unit - size):
            continue  # no element has an index as large as the unit
        needed = _needed(digit, size)
        low = found[-1][1] if found else needed
        joint = low.unit * low.radix, low.stride * low.radix
        whole = replace(low, radix=low.radix * needed.radix, modulus=None)
        if needed.modulus is not None and low.modulus is not None:
            whole = replace(whole, modulus=low.modulus * needed.modulus)
        # The room of N rounded up to 16 is that of two digits: no digit has 16 * ceil(N / 16).
        is_known = isinstance(needed.radix, int) or whole.unit * whole.radix == size
        if low.dim == digit.dim and joint == (digit.unit, digit.stride) and is_known:
            found[-1] = found[-1][0], _needed(whole, size)
        else:
            found.append((place, needed))
    return tuple(digit for _, digit in sorted(found, key=lambda pair: pair[0]))


def _needed(digit: AxisDigit, size: Int) -> AxisDigit:
    """The digit with as many values as the indices below a size need."""
    modulus = digit.modulus
    if modulus is not None and not is_nonnegative(digit.unit * modulus - size):
        return replace(digit, radix=modulus)
    if digit.unit * digit.radix == size:  # an exact quotient of a symbolic size stays one
        return replace(digit, modulus=None)
    return replace(digit, radix=ceil_quotient(size, digit.unit), modulus=None)


def nested_digits(placed: Digits, shape: Sequence[Int], size: Int = 0) -> Digits | str:
    """Return digits of which each begins where those inside it end, with room for padding.

    The highest digit of a dimension may get more room than it needs, then it has a modulus; or
    there is one more digit above it, always 0. With the size of the buffer there is also room for
    padding after the last element, if such digits can have it.

    Returns:
        The digits, or the reason in words why padding at the end of dimensions does not make them.
    """
    ended = {dim: 1 for dim in range(len(shape)) if shape[dim] == 1}  # the room of whole dimensions
    found: list[AxisDigit] = []
    volume: Int = 1
    for digit in reversed(placed):
        if digit.stride != volume:
            filled = _filled(found, ended, digit.stride, volume)
            if filled is None:
                return misplaced(digit, volume)
            found = filled
        found.append(digit)
        if digit.modulus is None and isinstance(digit.radix, int):
            ended[digit.dim] = digit.unit * digit.radix
        volume = digit.stride * digit.radix
    filled = _filled(found, ended, size, volume) if size != volume else None
    return row_major(reversed(filled or found))


def _filled(
    found: list[AxisDigit], ended: dict[int, int], stride: Int, volume: Int
) -> list[AxisDigit] | None:
    """The digits, the innermost first, with room up to a stride; None if none can have it."""
    last = found[-1] if found else None
    if not isinstance(stride, int) or not isinstance(volume, int) or stride < volume:
        return None
    inner = volume // last.radix if last and isinstance(last.radix, int) else 0
    if last and inner and last.modulus is None and stride % inner == 0:
        room = stride // inner
        ended[last.dim] = last.unit * room
        return [*found[:-1], replace(last, radix=room, modulus=room)]
    if stride % volume or not ended:
        return None
    dim, factor = min(ended), stride // volume
    unit, ended[dim] = ended[dim], ended[dim] * factor
    return [*found, AxisDigit(dim, unit, factor, factor)]


def misplaced(digit: AxisDigit, volume: Int) -> str:
    """Return the words for a digit that does not begin where the digits inside it end."""
    if digit.stride == 0:
        return f"elements share slots, as {digit} has stride 0"
    inside = f"the digits inside it have {volume} element{'' if volume == 1 else 's'}"
    return f"{digit} has stride {digit.stride}, and {inside}"


FORMULA: Final = 'give to="mlir": an affine map says any formula'


@frozen(slots=False)
class Writable:
    """A layout as a writer of a notation sees it."""

    m: IndexMap  #: the index map of the layout.
    title: str  #: what is to be written, in errors: ``XLA layout``.
    element_type: str | None = None  #: its name in the notation, if it is to be written.

    @property
    def shape(self) -> tuple[Int, ...]:
        return self.m.recipe.shape

    @property
    def offset(self) -> Int:
        return self.m.form.const

    @cached_property
    def placed(self) -> Digits:
        """The digits of the elements, each with its stride, the slowest varying first."""
        if isinstance(self._placed, str):
            raise self.not_found(self._placed, FORMULA)
        return self._placed

    @cached_property
    def _placed(self) -> Digits | str:
        found = placed_digits(self.m)
        no_sum = f"{self.m.form} is not a sum of digits of single dimensions"
        return no_sum if found is None else found

    @cached_property
    def nested(self) -> Digits:
        """The elements' digits with room for padding: each begins where the inner ones end."""
        if self.offset != 0:
            raise self.not_found(
                f"the first element lies at {self.offset}, behind padding",
                f"begin the buffer there; or {FORMULA}",
            )
        found = nested_digits(self.placed, self.shape, self.m.recipe.size)
        if isinstance(found, str):
            if any(digit.stride == 0 for digit in self.placed):  # padding is of no help
                raise self.none(found, f'give to="cute", where strides may be 0; or {FORMULA}')
            raise self.not_found(
                f"{found}; the notation pads only at the end of a dimension",
                f"choose sizes that the blocks divide; or {FORMULA}",
            )
        return found

    @cached_property
    def dense(self) -> Digits | str:
        """The digits of a layout without padding between elements, or the reason against it."""
        if isinstance(self._placed, str):
            return self._placed
        if self.offset != 0:
            return f"the first element lies at {self.offset}, behind padding"
        volume: Int = 1
        for digit in reversed(self._placed):
            if digit.stride != volume:
                return misplaced(digit, volume)
            volume *= digit.radix
        if volume != prod(self.shape):
            return f"{volume} slots hold {prod(self.shape)} elements"
        return self._placed

    def none(self, why: str, fix: str) -> NoTranslationError:
        """Return the error that no layout of the notation has these offsets."""
        return NoTranslationError(f"no {self.title} has the offsets of {self.m.source}", why, fix)

    def not_found(self, why: str, fix: str) -> TranslationNotFoundError:
        return TranslationNotFoundError(f"no {self.title} was found for {self.m.source}", why, fix)


def have_same_offsets(m: IndexMap, found: Layout) -> proof.Proof:
    """Prove that a layout has the offsets of a map, under the assumptions of the map."""
    shape = m.recipe.shape
    if meet_all((*m.assumptions, *found.assumptions(shape))) != m.assumptions:
        why = f"{found} assumes more of the sizes than {m.source}"
        return proof.Proof("equivalent", None, why)
    recipe = found.recipe(shape)
    other = IndexMap.of(recipe, found.reference, str(found), assumptions=m.assumptions)
    answer = proof.are_equivalent(m, other)
    if answer.holds is None and recipe == m.recipe:
        return proof.Proof(answer.claim, True, "both have the same steps", decider="")
    return answer
