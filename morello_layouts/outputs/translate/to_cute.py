"""The swizzles of a recipe, apart from the rest, as CuTe writes them: ``Sw o 0 o layout``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod

from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Split,
    Step,
    Transpose,
    Xor,
    known,
    offset_of,
    recipe_of_formula,
)
from morello_layouts.core.recipe.bases import bases_of_recipe
from morello_layouts.core.recipe.binary import bits_of
from morello_layouts.errors import LayoutError
from morello_layouts.notations.cute import Swizzle


def without_swizzles(m: IndexMap) -> tuple[IndexMap, list[Swizzle]] | None:
    """Return a layout before its swizzles, and the swizzles of its offsets, the first one first.

    Returns:
        None if its exclusive ors are not swizzles after all other steps, nor one swizzle of bits.

    >>> from morello_layouts import index_map
    >>> plain, swizzles = without_swizzles(index_map("Sw<3,3,3> o 0 o (10,50):(50,1)"))
    >>> print(plain.form, swizzles[0])
    50*d0 + d1 Sw<3,3,3>
    """
    if not _has_xor(m.recipe):
        return m, []
    recipe, xors = _last_steps(m.recipe)
    swizzles = _swizzles(recipe, xors)
    if swizzles is None or any(recipe.offset % swizzle.period != 0 for swizzle in swizzles):
        return _one_swizzle(m)
    plain = _read(replace(recipe, steps=tuple(_unpadded(recipe)), offset=0, tail_padding=0), m)
    if not _has_xor(recipe):
        return plain, swizzles
    before = without_swizzles(plain) if _has_xor(plain.recipe) else None
    return (before[0], [*before[1], *swizzles]) if before else _one_swizzle(m)


def _has_xor(recipe: Recipe) -> bool:
    return any(isinstance(step, Xor) for step in recipe.steps)


def _read(recipe: Recipe, m: IndexMap) -> IndexMap:
    """The index map of a recipe alone, with the assumptions of another one."""
    zero = AffineExpr((), 0)
    return IndexMap.of(
        recipe, lambda x, _: offset_of(recipe, x, zero), m.source, assumptions=m.assumptions
    )


def _last_steps(recipe: Recipe) -> tuple[Recipe, list[Xor]]:
    """The recipe without its last xors, and these as if they were its last steps."""
    steps = _unmerged(recipe.steps)
    xors, orders = list[Xor](), list[Step]()
    last = list(range(len(recipe.shapes[len(steps)])))  # where each axis lies after all of them
    while steps:
        match steps.pop():
            case Xor(target, source, shift):
                xors.insert(0, Xor(last[target], last[source], shift))
            case Transpose(order) as step:
                orders.insert(0, step)
                last = [last[order.index(axis)] for axis in range(len(order))]
            case step:
                steps.append(step)
                break
    return replace(recipe, steps=(*steps, *orders), axis_names=()), xors


def _unmerged(steps: Iterable[Step]) -> list[Step]:
    """Steps without merges and splits at the end, which leave offsets as they are."""
    found = list(steps)
    while found and isinstance(found[-1], Merge | Split):
        found.pop()
    return found


def _unpadded(recipe: Recipe) -> list[Step]:
    """Steps without those at the end that leave offsets as they are: also a pad at the far end."""
    found = _unmerged(recipe.steps)
    while found and isinstance(found[-1], Pad):
        if found[-1].sizes[1:] != recipe.shapes[len(found) - 1][1:]:
            break
        found = _unmerged(found[:-1])
    return found


def _swizzles(recipe: Recipe, xors: Iterable[Xor]) -> list[Swizzle] | None:
    """The xors of a recipe's axes as swizzles of its offset; None if they change no bits of it."""
    shape = recipe.physical_shape
    pairs = list[tuple[int, int]]()  # of a bit that is read and one that is changed
    for xor in xors:
        low, base = (_exponent(prod(shape[axis + 1 :])) for axis in (xor.source, xor.target))
        count, size = _exponent(shape[xor.target]), shape[xor.source]
        if low is None or base is None or count is None:
            return None
        if prod(shape[: xor.source]) != 1 and size % (1 << count + xor.shift) != 0:
            bits = _exponent(size)  # those of the axes before it follow
            if bits is None:
                return None
            count = min(count, bits - xor.shift)
        pairs += ((low + xor.shift + k, base + k) for k in range(count))
    if {source for source, _ in pairs} & {target for _, target in pairs}:
        return [Swizzle(1, min(pair), pair[0] - pair[1]) for pair in pairs]
    return _joined(sorted(pairs, key=lambda pair: (pair[0] - pair[1], pair)))


def _exponent(n: Int) -> int | None:
    return n.bit_length() - 1 if isinstance(n, int) and n.bit_count() == 1 else None


def _joined(pairs: Iterable[tuple[int, int]]) -> list[Swizzle]:
    """Swizzles of neighbouring pairs of bits, which do not change what others read."""
    found = list[Swizzle]()
    for source, target in pairs:
        shift, place = source - target, min(source, target)
        one = found[-1] if found else Swizzle(0, 0, 0)
        if one.shift == shift and place == one.base + one.bits and one.bits < abs(shift):
            found[-1] = replace(one, bits=one.bits + 1)
        else:
            found.append(Swizzle(1, place, shift))
    return found


def _one_swizzle(m: IndexMap) -> tuple[IndexMap, list[Swizzle]] | None:
    """A layout that is linear over F2 as one of digits and one swizzle behind it."""
    recipe = m.recipe
    if bases_of_recipe(recipe) is None:
        return None
    shape = known(recipe.shape)
    at = [
        (dim, 1 << k, offset_of(recipe, [(j == dim) << k for j in range(len(shape))], 0))
        for dim, n in enumerate(shape)
        for k in range(n.bit_length() - 1)
    ]
    pairs = [tuple(bits_of(place)) for _, _, place in at if place.bit_count() > 1]
    for is_down in (True, False):
        swizzle = _of_pairs([pair if is_down else pair[::-1] for pair in pairs])
        if swizzle is None or any(swizzle(place).bit_count() != 1 for *_, place in at):
            continue
        form = AffineExpr((), 0)
        variables = coordinate_variables(shape)
        for dim, unit, place in at:
            form += variables[dim] // unit % 2 * swizzle(place)
        plain = recipe_of_formula(shape, form, max(1, prod(shape)))
        return _read(plain, m), [swizzle]
    return None


def _of_pairs(pairs: Sequence[tuple[int, ...]]) -> Swizzle | None:
    """The swizzle that changes the first bit of each pair by the second one, if there is one."""
    if any(len(pair) != 2 for pair in pairs) or len({b - a for a, b in pairs}) != 1:
        return None
    changed = [pair[0] for pair in pairs]
    shift = pairs[0][1] - pairs[0][0]
    try:
        found = Swizzle(max(changed) - min(changed) + 1, min(map(min, pairs)), shift)
        found.require_apart()
    except LayoutError:
        return None
    return found
