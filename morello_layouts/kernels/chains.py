"""The digits of a buffer by dimension, and those that two layouts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello_layouts.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.expr.sizes import Int
from morello_layouts.recipe import Recipe, known, offset_of
from morello_layouts.recipe.digits import AxisDigit, digits_of, has_digits
from morello_layouts.recipe.recognize import digits_to_read


@dataclass(frozen=True, slots=True)
class DigitChains:
    """For each dimension its size, and its digits from the smallest unit on.

    Dimensions past the array's rank are of size 1; their digits are axes that hold padding only.
    The first element lies at ``start`` in the buffer.
    """

    sizes: tuple[Int, ...]
    chains: tuple[tuple[AxisDigit, ...], ...]
    start: Int = 0


@dataclass(frozen=True, slots=True)
class SharedDigit:
    """A digit that two layouts share: its unit, and its stride in either buffer.

    >>> SharedDigit(unit=8, source=1024, target=64)
    SharedDigit(unit=8, source=1024, target=64)
    """

    unit: int
    source: Int
    target: Int


def chains_of(recipe: Recipe) -> DigitChains | None:
    """The digits of each dimension; None if an axis is not a digit of one dimension.

    That is so if a tile joins dimensions and cuts across the joint, and of scattered elements.

    >>> from morello_layouts import index_map
    >>> for chain in chains_of(index_map("f32[3,5]{1,0:T(2,2)}").recipe).chains:
    ...     print([(digit.unit, digit.radix, digit.stride) for digit in chain])
    [(1, 2, 2), (2, 2, 12)]
    [(1, 2, 1), (2, 3, 4)]
    """
    if not has_digits(recipe):
        return None
    sizes = list(recipe.shape)
    chains: list[list[AxisDigit]] = [[] for _ in sizes]
    for digit in digits_of(recipe)[::-1]:
        if digit.radix == 1:
            continue
        place = (len(sizes), 1) if digit.is_zero else _place(digit)
        if place is None:
            return None
        dim, unit = place
        if digit.is_zero:
            sizes.append(1)
            chains.append([])
        chains[dim].append(AxisDigit(dim, unit, digit.radix, digit.modulus, digit.stride))
    ordered = tuple(tuple(sorted(chain, key=lambda digit: digit.unit)) for chain in chains)
    return DigitChains(tuple(sizes), ordered, recipe.offset)


def chains_to_read(recipe: Recipe) -> DigitChains | None:
    """The digits of a buffer that is only read: elements may share slots, as along a stride of 0.

    None if some digit has no stride of 0 or more.

    >>> from morello_layouts.recipe import recipe_of_formula
    >>> from morello_layouts.expr import coordinate_variables
    >>> window, k = coordinate_variables((4, 3))
    >>> [chain[0].stride for chain in chains_to_read(recipe_of_formula((4, 3), window + k)).chains]
    [1, 1]
    """
    found = chains_of(recipe)
    if found is not None:
        return found
    form = canonicalize(offset_of(recipe, coordinate_variables(recipe.shape), AffineExpr((), 0)))
    digits = digits_to_read(recipe.shape, form)
    if digits is None:
        return None
    chains = tuple(
        tuple(AxisDigit(x.dim, known((x.unit,))[0], x.radix, None, x.stride) for x in own)
        for own in digits
    )
    return DigitChains(recipe.shape, chains, form.const)


def _place(digit: AxisDigit) -> tuple[int, int] | None:
    """The one dimension of a digit, and the digit's unit in it."""
    if isinstance(digit.of, int):
        return digit.of, digit.unit
    place = _place(digit.of[0]) if len(digit.of) == 1 else None
    return None if place is None else (place[0], place[1] * digit.unit)


def shared_digits(
    source: DigitChains, target: DigitChains
) -> tuple[tuple[SharedDigit, ...], ...] | None:
    """For each dimension digits that make up those of both layouts, from the smallest unit on.

    Returns:
        None if there are none: tiles of 3 and of 8 share no digits but the coordinate itself.

    >>> from morello_layouts import index_map
    >>> rows = chains_of(index_map("f32[16]{0}").recipe)
    >>> shared_digits(rows, chains_of(index_map("f32[16]{0:T(2)(4)}").recipe))
    ((SharedDigit(unit=1, source=1, target=1), SharedDigit(unit=2, source=2, target=4)),)
    >>> thirds = chains_of(index_map("f32[16]{0:T(3)(2)}").recipe)
    >>> shared_digits(thirds, chains_of(index_map("f32[16]{0:T(8)(4)}").recipe))
    """
    rank = min(len(source.sizes), len(target.sizes))
    if source.sizes[:rank] != target.sizes[:rank]:
        return None
    found = []
    for size, a, b in zip(source.sizes, source.chains, target.chains, strict=False):
        units = sorted({digit.unit for digit in (*a, *b) if digit.unit < size})
        strides = [(_stride(a, unit), _stride(b, unit)) for unit in units]
        if any(s is None or t is None for s, t in strides):
            return None
        found.append(
            tuple(SharedDigit(u, s or 0, t or 0) for u, (s, t) in zip(units, strides, strict=True))
        )
    return tuple(found)


def _stride(chain: Sequence[AxisDigit], unit: int) -> Int | None:
    """Elements that a step of the unit moves; None if the chain has no digit that divides it."""
    own = next((digit for digit in reversed(chain) if digit.unit <= unit), None)
    if own is None:
        return 0
    return None if unit % own.unit else own.stride * (unit // own.unit)
