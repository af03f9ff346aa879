"""The iteration domains of a relayout: pieces of dimensions, on which both offsets are linear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, product
from math import prod
from typing import TypeAlias

from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import KERNEL_DOMAINS
from morello_layouts.core.recipe import Recipe, Window
from morello_layouts.core.recipe.digits import AxisDigit
from morello_layouts.outputs.kernels.chains import (
    DimensionDigits,
    SharedJump,
    XorDigit,
    Xors,
    chains_of,
)
from morello_layouts.outputs.kernels.domains import (
    CopyAxis,
    DerivedCount,
    Domain,
    LoopSwizzle,
    XorTerm,
    at_least,
    divide,
    estimate,
    if_below,
    nonzero,
    upper_bound,
)


@frozen
class DimensionPiece:
    """Coordinates of one dimension: what the first adds to both offsets, and loops over them."""

    source: Int
    target: Int
    axes: tuple[CopyAxis, ...] = ()
    digits: tuple[
        tuple[int, Int, int], ...
    ] = ()  #: units, first values, and their loops' number from the end, 0 for none.

    def moved(
        self, source: Int, target: Int, digit: tuple[int, Int], *axes: CopyAxis
    ) -> DimensionPiece:
        own = *axes, *self.axes
        digits = (*digit, len(own) if axes else 0), *self.digits
        return DimensionPiece(self.source + source, self.target + target, own, digits)


class TooManyPiecesError(Exception):
    """There are more than ``KERNEL_DOMAINS`` pieces."""


def element_domains(
    sizes: Sequence[Int],
    shared: Sequence[Sequence[SharedJump]],
    starts: tuple[Int, Int] = (0, 0),
    xors: tuple[Xors, Xors] = ((), ()),
) -> list[Domain] | None:
    """Return domains that together hold every element once, over common digits.

    The buffers hold the first element at the given starts. Strides in the target are positive, so
    those in the source are negative if one of both runs backwards. Exclusive ors of digits, of
    which each is a jump, make a loop of their own.

    None for more than ``KERNEL_DOMAINS``.

    >>> jumps = SharedJump(8, 0, 0, -31), SharedJump(1, 0, 1, 4)
    >>> domains = element_domains((20,), (jumps,))
    >>> [(domain.target, domain.size) for domain in domains]
    [(0, 16), (2, 4)]
    """
    try:
        pairs = zip(sizes, shared, strict=False)
        per_dim = [list(_pieces(_by_unit(jumps), 0, n)) for n, jumps in pairs]
    except TooManyPiecesError:
        return None
    if prod(map(len, per_dim)) > KERNEL_DOMAINS:
        return None
    if any(xors):
        found = [_swizzled(choice, starts, xors) for choice in product(*per_dim)]
        return [one for one in found if one] if all(found) else None
    return [_domain(choice, starts) for choice in product(*per_dim)]


def _swizzled(
    pieces: Sequence[DimensionPiece], starts: tuple[Int, Int], xors: tuple[Xors, Xors]
) -> Domain | None:
    """Return the domain of pieces, whose digits of exclusive ors are one loop."""
    left, parts = list(pieces), dict[tuple[int, int], tuple[CopyAxis | None, Int]]()

    def within(x: XorDigit) -> Iterator[tuple[CopyAxis | None, Int, int]]:
        """Yield the levels of a piece that make a digit, with their powers of two."""
        for unit, start, back in pieces[x.dim].digits:
            if unit < x.unit or (x.radix is not None and unit >= x.unit * x.radix):
                continue
            axis = pieces[x.dim].axes[-back] if back else None
            if axis is not None and upper_bound(axis.count) == 1:
                axis = None  # it guards the domain
            parts[x.dim, unit] = axis, start
            yield axis, start, x.scale * (unit // x.unit)

    terms = [
        [(stride, [part for x in digits for part in within(x)]) for stride, digits in own]
        for own in xors
    ]
    scales = [scale for own in terms for _, digits in own for *_, scale in digits]
    found = [axis for axis, _ in parts.values() if axis is not None]
    strides = [x for axis in found for x in (axis.source, axis.target) if x != 0]
    if any(n.bit_count() != 1 for n in scales) or not all(map(is_nonnegative, strides)):
        return None
    for (dim, _), (axis, _) in parts.items():
        kept = tuple(a for a in left[dim].axes if a is not axis)
        left[dim] = replace(left[dim], axes=kept)
    loops = sorted(found, key=lambda axis: -estimate(axis.source + axis.target))
    numbers = {id(axis): k for k, axis in enumerate(loops)}
    source, target = (
        tuple(
            XorTerm(stride, tuple((numbers.get(id(axis)), at, scale) for axis, at, scale in digits))
            for stride, digits in own
        )
        for own in terms
    )
    swizzle = LoopSwizzle(tuple(loops) or (CopyAxis(1, 0, 0),), source, target)
    domain = _domain(left, starts)
    return replace(domain, axes=(*domain.axes, swizzle.axis()))


def _domain(pieces: Sequence[DimensionPiece], starts: tuple[Int, Int]) -> Domain:
    source: Int = sum((piece.source for piece in pieces), starts[0])
    target: Int = sum((piece.target for piece in pieces), starts[1])
    axes = []
    for axis in (axis for piece in pieces for axis in piece.axes if axis.count != 1):
        if upper_bound(axis.count) == 1:  # no strides: it guards the domain
            axes.append(CopyAxis(axis.count, 0, 0))
        elif axis.target != 0 and is_nonnegative(-axis.target):
            source += (axis.count - 1) * axis.source
            target += (axis.count - 1) * axis.target
            axes.append(CopyAxis(axis.count, -axis.source, -axis.target))
        else:
            axes.append(axis)
    return Domain(source, target, tuple(axes))


_Levels: TypeAlias = "list[list[SharedJump]]"
"""The jumps of each unit, the largest unit first."""


def _by_unit(jumps: Sequence[SharedJump]) -> _Levels:
    return [list(group) for _, group in groupby(jumps, key=lambda jump: jump.unit)]


def _pieces(levels: _Levels, first: int, count: Int) -> Iterator[DimensionPiece]:
    """Yield the pieces of the coordinates from ``first`` on, and what each adds to the offsets."""
    if count == 0:
        return
    if not levels:
        yield DimensionPiece(0, 0)
        return
    (level, *inner), unit = levels, levels[0][0].unit
    source: Int = sum(jump.source * (unit // jump.unit) for one in levels for jump in one)
    target: Int = sum(jump.target * (unit // jump.unit) for one in levels for jump in one)
    cuts = sorted({-jump.phase % unit for jump in level})
    parts: list[tuple[int, Int, Int, Int]]
    if isinstance(count, int):
        parts = list(_repeated(cuts, unit, first, count))
    else:
        parts = list(_repeated_of_any(cuts, unit, first, count))
    if len(parts) > KERNEL_DOMAINS:
        raise TooManyPiecesError
    for at, length, times, block in parts:
        if times == 0:
            continue
        own = [(jump, (at + jump.phase) // unit) for jump in level]
        start = source * block, target * block
        start = (start[0] + sum(jump.source * k for jump, k in own),
                 start[1] + sum(jump.target * k for jump, k in own))  # fmt: skip
        loop = (CopyAxis(times, source, target),) if times != 1 else ()
        digit = unit, block
        yield from (piece.moved(*start, digit, *loop) for piece in _pieces(inner, at, length))


def _repeated(
    cuts: Sequence[int], unit: int, first: int, count: int
) -> Iterator[tuple[int, Int, Int, Int]]:
    """Yield the runs of ``[first, first + count)`` between cuts, which repeat after a unit.

    Each is where it begins in its block, its length, how many blocks have it, and the first block.

    >>> list(_repeated([0, 5], 8, 3, 20))    # [3,5) [5,8), [8,13) [13,16), [16,21) [21,23)
    [(3, 2, 1, 0), (0, 5, 2, 1), (5, 3, 2, 0), (5, 2, 1, 2)]
    """
    end = first + count
    for a, b in pairwise([*cuts, cuts[0] + unit]):
        least, most = -((b - 1 - first) // unit), (end - 1 - a) // unit
        whole = range(-((a - first) // unit), (end - b) // unit + 1)
        for block in range(least, min(whole.start, most + 1)):
            begin = max(first - block * unit, a)
            yield begin, min(end - block * unit, b) - begin, 1, block
        if whole:
            yield a, b - a, len(whole), whole.start
        for block in range(max(whole.stop, whole.start), most + 1):
            yield a, end - block * unit - a, 1, block


def _repeated_of_any(
    cuts: Sequence[int], unit: int, first: int, count: Int
) -> Iterator[tuple[int, Int, Int, Int]]:
    """Yield the runs of :func:`_repeated`, of a count known only at run time.

    >>> from morello_layouts.outputs.kernels.domains import evaluate
    >>> parts = list(_repeated_of_any([0, 5], 8, 0, SizeExpr.named("N")))
    >>> [tuple(evaluate(x, {"N": 15}) for x in part) for part in parts]    # the same, where N = 15
    [(0, 5, 1, 0), (0, 5, 1, 1), (5, 3, 1, 0), (5, 2, 1, 1)]
    """
    starts = sorted((cut - first) % unit for cut in cuts)
    head = starts[0]
    if head:
        least = if_below(count, head) + head * at_least(count, head)
        yield first, least, 1, 0
        count = count - least
    full, left = divide(count, unit)
    for start, end in pairwise([*starts, head + unit]):
        a, b = start - head, end - head  # from the first cut on
        yield first + start, b - a, full, 0
        reached = if_below(left, b) + b * at_least(left, b) if b < unit else left
        inside = at_least(left, a) if a else 1
        yield first + start, (reached - a) * inside, 1, full


# The first value and the count of each digit, from the largest unit to the smallest.
_Ranges: TypeAlias = "tuple[tuple[Int, Int], ...]"


@frozen
class Held:
    """The box of digit coordinates whose slots in a target hold elements."""

    digits: DimensionDigits  #: the digits of the whole buffer.
    #: for each of their dimensions the first coordinate of the box, and the one past it.
    ends: tuple[tuple[Int, Int], ...]


def held_by(target: Recipe) -> Held | None:
    """Return which slots of a target hold elements; None if they are no box of digits.

    >>> from morello_layouts import index_map
    >>> held_by(index_map("f32[16,256]{1,0:T(8,128)}")[2:5, ::-1].recipe).ends
    ((2, 5), (0, 256))
    """
    windows = [k for k, step in enumerate(target.steps) if isinstance(step, Window)]
    if not windows:
        digits = chains_of(target)
        return None if digits is None else Held(digits, tuple((0, n) for n in digits.sizes))
    last, window = windows[-1], target.steps[windows[-1]]
    before, after = target.shapes[last], target.shapes[last + 1]
    whole = replace(target, shape=after, steps=target.steps[last + 1 :], axis_names=())
    digits = chains_of(whole)
    if digits is None or not isinstance(window, Window) or prod(before) != prod(target.shape):
        return None
    ends: list[tuple[Int, Int]] = []
    for n, start, stride in zip(before, window.starts, window.strides, strict=True):
        if stride not in (1, -1):
            return None
        ends.append((start, start + n) if stride == 1 else (start + 1 - n, start + 1))
    return Held(digits, (*ends, *((0, 1) for _ in digits.sizes[len(ends) :])))


def padding_domains(target: Held, tail: Int, size: Int) -> list[Domain] | None:
    """Return domains of the places without an element, ``tail`` of them at the end of the buffer.

    If the tail is negative, the buffer ends before the axes do. None for more than
    ``KERNEL_DOMAINS``, or if it is not known which places lie before the end.

    >>> from morello_layouts import index_map
    >>> held = held_by(index_map("f32[3,5]{1,0:T(2,2)}").recipe)
    >>> first, *_ = padding_domains(held, 0, 24)
    >>> first.target, [(axis.count, axis.target) for axis in first.axes]
    (14, [(3, 4), (2, 1)])
    """
    chains = [chain[::-1] for chain in target.digits.chains]
    order = sorted(range(len(chains)), key=lambda dim: _reach(chains[dim]))[::-1]
    strides = [digit.stride for dim in order for digit in chains[dim]]
    start = target.digits.start
    domains: list[Domain] = []
    for k in range(len(order)):
        parts: list[list[_Ranges]] = []
        for j, dim in enumerate(order):
            chain, (low, high) = chains[dim], target.ends[dim]
            units = [digit.unit for digit in chain]
            if j > k:
                parts.append([tuple((0, digit.radix) for digit in chain)])
                continue
            found = _between(units, low, high) if j < k else _outside(chain, high)
            if found is None:
                return None
            parts.append(found if j < k else [*_within(units, low), *found])
        if prod(map(len, parts)) + len(domains) > KERNEL_DOMAINS:
            return None
        domains += (_box(strides, choice, start) for choice in product(*parts))
    if start:
        domains.append(_run(0, start))
    if _is_proved(tail):
        return [*domains, _run(size - tail, tail)] if tail else domains
    kept = [_before(domain, size) for domain in domains]
    if any(part is None for part in kept):
        return None
    return [domain for part in kept for domain in part or ()]


def _box(strides: Sequence[Int], choice: Sequence[_Ranges], start: Int) -> Domain:
    """Return the places of one part of the ranges of each dimension's digits."""
    pairs = list(zip(strides, (r for part in choice for r in part), strict=True))
    at: Int = sum((stride * low for stride, (low, _) in pairs), start)
    # An axis of at most one step has no strides: it guards the domain.
    axes = [
        CopyAxis(n, 0, 0 if upper_bound(n) == 1 else stride) for stride, (_, n) in pairs if n != 1
    ]
    return Domain(0, at, tuple(sorted(axes, key=lambda axis: -estimate(axis.target))))


def _run(start: Int, count: Int) -> Domain:
    return Domain(0, start, (CopyAxis(count, 0, 1),) if count != 1 else ())


def _before(domain: Domain, end: Int) -> list[Domain] | None:
    """Return the places of a target that lie before an end; None if that is not known."""
    last = domain.target + sum((axis.count - 1) * axis.target for axis in domain.axes)
    if _is_proved(end - 1 - last):
        return [domain]
    if _is_proved(domain.target - end):
        return []
    if not domain.axes:
        return None
    axis, *inner = sorted(domain.axes, key=lambda axis: -estimate(axis.target))
    final = domain.target + (axis.count - 1) * axis.target
    parts = (
        _before(Domain(0, domain.target, (replace(axis, count=axis.count - 1), *inner)), end),
        _before(Domain(0, final, tuple(inner)), end),
    )
    return None if None in parts else [one for part in parts for one in part or ()]


def _is_proved(number: Int) -> bool:
    """Return whether a number is at least 0 for all sizes, which are at least 1.

    Derived counts, and a size less 1, may be 0.
    """
    if isinstance(number, SizeExpr):
        number = number.fold(
            lambda name: SizeExpr.named(name) - int(isinstance(name, DerivedCount))
        )
    return is_nonnegative(number)


def _reach(chain: Sequence[AxisDigit]) -> int:
    return max((estimate(digit.stride) for digit in chain), default=0)


def _within(units: Sequence[int], size: Int) -> list[_Ranges]:
    """Return the ranges of the digits of 0 … size - 1, units from the largest on."""
    if size == 0:
        return []
    if not units:
        return [()]
    full, rest = divide(size, units[0])
    found: list[_Ranges] = []
    if full:
        found += [((0, full), *inner) for inner in _within(units[1:], units[0])]
    if rest:
        found += [((full, 1), *inner) for inner in _within(units[1:], rest)]
    return found


def _between(units: Sequence[int], low: Int, high: Int) -> list[_Ranges] | None:
    """Return the ranges of the digits of low … high - 1; None if known only at run time."""
    if low == 0 or not units:
        return _within(units, high)
    unit, inner = units[0], units[1:]
    if unit == 1:
        return [((low, high - low),)]
    if not isinstance(low, int) or not isinstance(high, int):
        return None
    (a, first), (b, last) = divmod(low, unit), divmod(high, unit)
    if a == b:
        return [((a, 1), *part) for part in _between(inner, first, last) or ()]
    begun = [((a, 1), *part) for part in _between(inner, first, unit) or ()]
    whole = [((a + 1, b - a - 1), *part) for part in _within(inner, unit)] if b > a + 1 else []
    return [*begun, *whole, *(((b, 1), *part) for part in _within(inner, last))]


def _outside(chain: Sequence[AxisDigit], size: Int) -> list[_Ranges]:
    """Return the ranges of digits that no coordinate below the size has, largest unit first."""
    if not chain:
        return [] if size != 0 else [()]
    first, *minor = chain
    full, rest = divide(size, first.unit)
    found: list[_Ranges] = []
    if full:
        found += [((0, full), *inner) for inner in _outside(minor, first.unit)]
    if rest:
        found += [((full, nonzero(rest)), *inner) for inner in _outside(minor, rest)]
    start = ceil_quotient(size, first.unit) if _is_size(size) else full + nonzero(rest)
    if start != first.radix:
        every: _Ranges = tuple((0, digit.radix) for digit in minor)
        found.append(((start, first.radix - start), *every))
    return found


def _is_size(size: Int) -> bool:
    """Whether a number is a symbolic size of a recipe, which is at least 1."""
    return isinstance(size, SizeExpr) and not any(
        isinstance(name, DerivedCount) for name in size.atoms()
    )
