"""From formulas to a recipe: digits in nested strides become steps, anything else a scatter.

A formula is a sum ``const + Σ stride * (d_k // unit % radix)``. If the digits of each dimension
make up its coordinate, and each stride is at least the reach of all smaller ones, then the offset
is row-major order of the digits, with gaps. Pad, split, transpose and merge say that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from math import prod
from typing import Any, NamedTuple, TypeAlias

from morello_layouts.core.expr import AffineExpr, Var, canonicalize, coordinate_variables
from morello_layouts.core.expr.affine import BitXor, floors_of, names_in
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, evaluated, is_nonnegative
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.recipe.digits import DimDigit, recipe_of_axes, splits_into
from morello_layouts.core.recipe.steps import (
    Merge,
    Pad,
    Recipe,
    Scatter,
    Shape,
    Step,
    Transpose,
    Window,
    Xor,
)
from morello_layouts.errors import ShapeError, UnsupportedError


class _DimPart(NamedTuple):
    """A digit ``d // unit % radix`` of a dimension."""

    dim: int
    unit: int
    radix: Int


@frozen
class XorSteps:
    """The splits that make a changed digit an axis, and the xor."""

    cuts: tuple[Shape, ...]  #: for each dimension the sizes of the axes into which it is split.
    xor: Xor  #: the step after the splits.

    @property
    def shape(self) -> Shape:
        """The sizes of the axes after the splits."""
        return tuple(n for sizes in self.cuts for n in sizes)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The splits, the innermost first, and the xor."""
        return (*splits_into(self.cuts), self.xor)

    def outer(self, at: Sequence[Any]) -> list[Any]:
        """Return the coordinates before the splits, of those after them and before the xor."""
        left, found = iter(at), []
        for sizes in self.cuts:
            joined = next(left)
            for n in sizes[1:]:
                joined = joined * n + next(left)
            found.append(joined)
        return found


def xor_steps(shape: Shape, atom: BitXor) -> Iterator[XorSteps]:
    """Yield the steps of an exclusive or of two digits, for either as the changed one.

    >>> from morello_layouts.core.expr import variable
    >>> swizzled = BitXor((variable("d1", 0, 31) % 8, variable("d0", 0, 7) // 2))
    >>> for found in xor_steps((8, 32), swizzled):
    ...     print(*found.steps)
    Split(tiles=(None, 8)) xor axis 2 with (axis 0 >> 1)
    """
    if len(atom.parts) == 2:
        first, other = (_part(shape, part) for part in atom.parts)
        for target, source in ((first, other), (other, first)):
            found = target and source and _xor_steps(shape, target, source)
            if found:
                yield found


def _part(shape: Shape, form: AffineExpr) -> _DimPart | None:
    atom = form.as_atom()
    if atom is None or not isinstance(atom.whole, Var) or not isinstance(atom.divisor, int):
        return None
    dim, modulus = int(atom.whole.name[1:]), atom.modulus
    radix = ceil_quotient(shape[dim], atom.divisor) if modulus is None else modulus
    return _DimPart(dim, atom.divisor, radix)


def _xor_steps(shape: Shape, target: _DimPart, source: _DimPart) -> XorSteps | None:
    dim, unit, radix = target
    if not isinstance(radix, int) or radix.bit_count() != 1:
        return None
    n, block, low = shape[dim], unit * radix, source.unit
    if n % block != 0:
        return None
    cuts: list[Shape] = [(size,) for size in shape]
    inner = (radix, unit) if unit != 1 else (radix,)
    above: Shape = (n // block,) if n != block else ()
    if source.dim == dim:  # bits above the changed digit
        held = _holding(n // block, low // block, source.radix, radix) if above else None
        if held is None or low % block != 0:
            return None
        low, above = low // block, held
    else:
        held = _holding(shape[source.dim], low, source.radix, radix)
        if held is None:
            return None
        cuts[source.dim] = held
    cuts[dim] = (*above, *inner)
    if low.bit_count() != 1:
        return None
    starts = [sum(map(len, cuts[:k])) for k in range(len(cuts))]
    bits = starts[source.dim] + len(held) - 1
    return XorSteps(tuple(cuts), Xor(starts[dim] + len(above), bits, low.bit_length() - 1))


def _holding(n: Int, low: int, radix: Int, most: int) -> Shape | None:
    """Return the cuts of an axis whose last has a digit as its highest bits, or all that count."""
    if radix == most or (is_nonnegative(most - radix) and is_nonnegative(low * radix - n)):
        return (n,)
    if low == 0 or not is_nonnegative(most - radix) or n % (low * radix) != 0:
        return None
    return n // (low * radix), low * radix


def recipe_of_formula(shape: Shape, form: AffineExpr, size: Int | None = None) -> Recipe:
    """Return the recipe of the layout in which a formula gives the offset.

    Args:
        shape: the sizes of the array.
        form: the offset in elements over ``d0, d1, …``, which are bounded by the shape.
        size: the elements of the buffer; by default it ends after the largest offset.

    Returns:
        Steps if the offset is a sum of digits in nested strides; otherwise a scatter.

    Raises:
        ShapeError: if an offset is outside of the buffer.

    >>> from morello_layouts.core.expr import variable
    >>> i, j = variable("d0", 0, 3), variable("d1", 0, 5)
    >>> print(recipe_of_formula((4, 6), 20 * (j // 2) + 4 * i + j % 2))
    [4,6] → split [4,3,2] → transpose [3,4,2] → pad [3,5,4] → cut to 54 elements
    >>> print(recipe_of_formula((4, 6), 6 * j - i + 3))
    [4,6] → window (-d0 + 3, d1) in [4,6] → transpose [6,4] → pad [6,6] → cut to 34 elements
    """
    if prod(shape) == 0:
        return Recipe(shape, (), 0 if size is None else size)
    simple = canonicalize(form)
    end = _end(simple, size)
    turns, (risen,) = _rising(shape, [simple])
    digits = _digits_of(shape, [risen])
    if digits is None:
        return _swizzled(shape, simple, end) or Recipe(shape, (Scatter((simple,), (end,)),))
    start = risen.const
    axes = Recipe(shape, (*turns, *_steps(shape, digits, [None])))
    return Recipe(shape, axes.steps, end - start - axes.size, start)


def _swizzled(shape: Shape, form: AffineExpr, size: Int) -> Recipe | None:
    """Return the recipe of a formula with ``^``, as an xor before the recipe of the rest."""
    swizzles = ((atom, c) for atom, c in form.terms if isinstance(atom, BitXor))
    for atom, c in swizzles:
        others = AffineExpr(tuple(term for term in form.terms if term[0] is not atom), form.const)
        for found in xor_steps(shape, atom):
            at = coordinate_variables(found.shape)
            values = {f"d{k}": value for k, value in enumerate(found.outer(at))}
            rest, changed = canonicalize(substitute(others, values)), at[found.xor.target]
            if str(changed) in {var.name for var in rest.variables()}:
                continue  # the coordinate before the xor is lost
            inner = recipe_of_formula(found.shape, rest + changed * c, size)
            if not any(isinstance(step, Scatter) for step in inner.steps):
                return replace(inner, shape=shape, steps=(*found.steps, *inner.steps))
    return None


def recipe_of_coordinates(shape: Shape, forms: Sequence[AffineExpr], sizes: Shape) -> Recipe:
    """Return the recipe of the layout in which formulas give the coordinates in an outer array.

    Args:
        shape: the sizes of the array.
        forms: the coordinate along each axis in memory over ``d0, d1, …``.
        sizes: the size of each axis in memory, most major first.

    Raises:
        ShapeError: if a coordinate is outside of its axis.

    >>> from morello_layouts.core.expr import variable
    >>> i, j = variable("d0", 0, 3), variable("d1", 0, 19)
    >>> print(recipe_of_coordinates((4, 20), (j // 16, i, j % 16), (2, 4, 16)))
    [4,20] → pad [4,32] → split [4,2,16] → transpose [2,4,16]
    """
    if prod(shape) == 0:
        return Recipe(shape, (), prod(sizes))
    simple = [canonicalize(form) for form in forms]
    for form, n in zip(simple, sizes, strict=True):
        _end(form, n)
    turns, risen = _rising(shape, simple)
    digits = _digits_of(shape, risen)
    if digits:
        starts = tuple(form.const for form in risen)
        room = tuple(n - start for n, start in zip(sizes, starts, strict=True))
        inside = Window(sizes, starts, (1,) * len(sizes))
        last = () if starts == (0,) * len(sizes) else (inside,)
        return Recipe(shape, (*turns, *_steps(shape, digits, room), *last))
    return Recipe(shape, (Scatter(tuple(simple), sizes),))


def _end(form: AffineExpr, size: Int | None) -> Int:
    """Return the size of a buffer, or of an axis, after checking that a form stays inside."""
    lo, hi = form.interval
    if lo is None or hi is None:
        raise UnsupportedError(
            f"{form}: expected known ends of its values, got {form.interval}",
            "the size of a buffer is above all of them",
            "give sizes that are numbers",
        )
    if is_nonnegative(-1 - lo) or (size is not None and is_nonnegative(hi - size)):
        raise ShapeError(
            f"{form}: expected values from 0 to {'…' if size is None else size - 1}, "
            f"got {form.interval}",
            "each element lies inside of the buffer",
            "add an offset to the formula, or make the buffer larger",
        )
    return hi + 1 if size is None else size


def _rising(
    shape: Shape, forms: Sequence[AffineExpr]
) -> tuple[tuple[Window, ...], list[AffineExpr]]:
    """Return the step that turns dimensions with falling offsets around, and formulas after it."""
    falling = (atom for form in forms for atom, c in form.terms if is_nonnegative(-c))
    names = {var.name for atom in falling for var in AffineExpr(((atom, 1),), 0).variables()}
    if not names:
        return (), list(forms)
    turned = [f"d{k}" in names for k in range(len(shape))]
    starts = tuple(n - 1 if turn else 0 for n, turn in zip(shape, turned, strict=True))
    backwards = Window(shape, starts, tuple(-1 if turn else 1 for turn in turned))
    values = dict(
        zip(
            map(str, coordinate_variables(shape)),
            backwards.outer(coordinate_variables(shape)),
            strict=True,
        )
    )
    return (backwards,), [canonicalize(substitute(form, values)) for form in forms]


_Axes: TypeAlias = "list[DimDigit]"


def _digits_of(shape: Shape, forms: Sequence[AffineExpr]) -> list[_Axes] | None:
    """Return the digits of each form, the largest stride first; None if they are not nested.

    The digits of all forms together make up every coordinate.
    """
    digits = _separate(shape, forms)
    if digits is None:
        return None
    names = frozenset(names_in(shape))
    by_form = ([x for own in digits for form, x in own if form == k] for k in range(len(forms)))
    ordered = [_nested(each, names) for each in by_form]
    return None if any(each is None for each in ordered) else [each or [] for each in ordered]


def digits_to_read(shape: Shape, form: AffineExpr, *, may_fall: bool = False) -> list[_Axes] | None:
    """Return the digits of each dimension, from the smallest unit on, by which offsets are read.

    Their strides need not be nested, and may be 0. None if a form is not a sum of digits of single
    dimensions, or if a stride is negative and may not be.

    >>> from morello_layouts.core.expr import variable
    >>> i, j = variable("d0", 0, 5), variable("d1", 0, 7)
    >>> for digits in digits_to_read((6, 8), 7 * (i // 2) + 5 - j, may_fall=True):
    ...     print([(digit.unit, digit.radix, digit.stride) for digit in digits])
    [(1, 2, 0), (2, 3, 7)]
    [(1, 8, -1)]
    """
    digits = _separate(shape, [form], may_share=True, may_fall=may_fall)
    return None if digits is None else [[digit for _, digit in own] for own in digits]


def _separate(
    shape: Shape, forms: Sequence[AffineExpr], *, may_share: bool = False, may_fall: bool = False
) -> list[list[tuple[int, DimDigit]]] | None:
    """Return each dimension's digits, with the form of each; None if a digit is in several forms.

    A stride is 0 only if elements may share slots, and negative only if offsets may fall.
    """
    floors: list[list[dict[Int, Int]]] = [[{} for _ in forms] for _ in shape]
    dims = {f"d{k}": k for k in range(len(shape))}
    for k, form in enumerate(forms):
        for atom, c in form.terms:
            if not isinstance(atom.whole, Var):
                return None
            own = floors[dims[atom.whole.name]][k]
            for s, factor in floors_of(atom, c):
                own[s] = own.get(s, 0) + factor
    digits = [_digits_along(dim, n, floors[dim], may_share) for dim, n in enumerate(shape)]
    found = [each or [] for each in digits]
    falls = any(not is_nonnegative(digit.stride) for own in found for _, digit in own)
    return None if None in digits or (falls and not may_fall) else found


def _digits_along(
    dim: int, n: Int, floors: Sequence[dict[Int, Int]], may_share: bool
) -> list[tuple[int, DimDigit]] | None:
    """Return the digits of a dimension; None if some element does not have slots of its own."""
    starts = sorted({1}.union(*floors), key=_at_three)
    if any(high % low != 0 for low, high in pairwise(starts)):
        return None
    found: list[tuple[int, DimDigit]] = []
    for start, end in zip_longest(starts, starts[1:]):
        count = ceil_quotient(n, start)
        if count == 1:
            break
        last = end is None or is_nonnegative(end - n)
        strides: list[tuple[int, Int]] = []
        for form, own in enumerate(floors):
            stride: Int = sum(c * (start // s) for s, c in own.items() if start % s == 0)
            if stride != 0:
                strides.append((form, stride))
        if may_share and not strides:
            strides = [(0, 0)]
        if len(strides) != 1:
            return None
        form, stride = strides[0]
        found.append((form, DimDigit(dim, start, count if last else end // start, stride=stride)))
    return found


def _at_three(size: Int) -> int:
    """Return a size with 3 for each name; that of a multiple is not smaller."""
    at: int = evaluated(size, dict.fromkeys(names_in([size]), 3))
    return at


def _nested(digits: Iterable[DimDigit], names: frozenset[str]) -> _Axes | None:
    """Return digits, the largest stride first; None if a stride is not past all smaller ones.

    A pitch with a name of its own, which the shape does not have, is taken for large enough.
    """
    left, found = list(digits), list[DimDigit]()
    reach: Int = 1  # of the smaller digits: their largest sum, and 1
    while left:
        least = (x for x in left if all(is_nonnegative(y.stride - x.stride) for y in left))
        digit = next(least, None)
        if digit is None:
            return None
        pitch = digit.stride
        is_pitch = isinstance(pitch, SizeExpr) and pitch.names() - names
        may_hold = is_pitch and not is_nonnegative(reach - 1 - pitch)
        if not may_hold and not is_nonnegative(pitch - reach):
            return None
        reach += pitch * (digit.radix - 1)
        left.remove(digit)
        found.insert(0, digit)
    return found


def _steps(shape: Shape, digits: Sequence[_Axes], sizes: Sequence[Int | None]) -> tuple[Step, ...]:
    """Return the steps to the axes of each form: one of a size, or one for each digit if None."""
    used = {x.dim for own in digits for x in own}
    first, *others = digits
    reach = first[0].stride * first[0].radix if first else 1
    ones = [DimDigit(dim, 1, 1, stride=reach) for dim in range(len(shape)) if dim not in used]
    digits = [[*ones, *first], *others]
    axes = recipe_of_axes(shape, [[x] for own in digits for x in own])
    steps: list[Step] = []
    rounds = [_rounds(own, size) for own, size in zip(digits, sizes, strict=True)]
    for level in range(max(map(len, rounds))):
        # Axes of a form that are done stay as they are.
        now = [r[level] if level < len(r) else ((1,) * len(r[-1][1]), r[-1][1]) for r in rounds]
        steps.append(Merge(tuple(count for counts, _ in now for count in counts)))
        steps.append(Pad(tuple(n for _, padded in now for n in padded), cut=True))
    return (*axes.steps, *_without_idle(axes.physical_shape, steps))


_Round: TypeAlias = "tuple[tuple[int, ...], Shape]"
"""The counts of a merge, and the sizes to which its axes are padded."""


def _rounds(digits: _Axes, size: Int | None) -> list[_Round]:
    """Return the merges and pads that put digits at their strides, and lead to one axis of a size.

    An axis is padded until the stride outside of it is a multiple of the stride inside. If it is
    not, all axes inside are merged before.
    """
    strides, sizes = [x.stride for x in digits], [x.radix for x in digits]
    counts, rounds = [1] * len(sizes), list[_Round]()
    if strides and strides[-1] != 1:
        strides, sizes, counts = [*strides, 1], [*sizes, 1], [*counts, 0]
    for k in reversed(range(len(strides) - 1)):
        multiple, rest = divmod(strides[k], strides[k + 1])
        if rest == 0:
            sizes[k + 1] = multiple
            continue
        rounds.append((tuple(counts), tuple(sizes)))
        counts = [*(1,) * (k + 1), len(sizes) - k - 1]
        sizes = [*sizes[: k + 1], strides[k]]
    rounds.append((tuple(counts), tuple(sizes)))
    if size is not None:
        rounds.append(((len(sizes),), (size,)))
    return rounds


def _without_idle(shape: Shape, steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps that change something."""
    for given in steps:
        step, after = given, given.apply(shape)
        if isinstance(step, Pad):
            less = (is_nonnegative(n - m - 1) for n, m in zip(shape, after, strict=True))
            step = Pad(after, cut=any(less))
        is_idle = step == Transpose(tuple(range(len(shape))))
        if not is_idle and (isinstance(step, Transpose) or after != shape):
            yield step
        shape = after
