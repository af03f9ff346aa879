"""How an offset grows along each dimension: digits of a buffer, and the jumps that two share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import gcd, lcm
from typing import TypeAlias

from morello_layouts.core.expr import AffineExpr, Digit, Var, canonicalize, coordinate_variables
from morello_layouts.core.expr.affine import Atom, BitXor, floors_of
from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import KERNEL_DOMAINS, KERNEL_PERIOD
from morello_layouts.core.recipe import Recipe, known, offset_of
from morello_layouts.core.recipe.digits import AxisDigit, digits_of, has_digits
from morello_layouts.core.recipe.recognize import digits_to_read


@frozen
class Jump:
    """A part of an offset: ``stride * ((d + phase) // unit)`` of a coordinate d.

    The offset jumps by the stride at each coordinate that lies ``phase`` before a multiple.
    """

    unit: int
    phase: int
    stride: Int


@frozen
class Growth:
    """An offset as a sum of functions of one coordinate each, as jumps."""

    sizes: tuple[Int, ...]  #: the size of each dimension.
    jumps: tuple[tuple[Jump, ...], ...]  #: for each dimension the jumps whose sum is its part.
    #: the offset at the coordinate 0, but for jumps with a phase, which add 0 there.
    start: Int = 0


@frozen
class DimensionDigits:
    """For each dimension its size, and its digits from the smallest unit on.

    Dimensions past the array's rank are of size 1; their digits are axes that hold padding only.
    The first element lies at ``start`` in the buffer.
    """

    sizes: tuple[Int, ...]
    chains: tuple[tuple[AxisDigit, ...], ...]
    start: Int = 0

    @property
    def growth(self) -> Growth | None:
        """The same as jumps; None for too many of them.

        >>> from morello_layouts import index_map
        >>> chains_of(index_map("f32[16]{0:T(2)(4)}").recipe).growth.jumps
        ((Jump(unit=1, phase=0, stride=1), Jump(unit=2, phase=0, stride=2)),)
        """
        jumps = [_of_digits(chain) for chain in self.chains]
        if any(own is None for own in jumps):
            return None
        return Growth(self.sizes, tuple(tuple(own or ()) for own in jumps), self.start)


def _of_digits(chain: Sequence[AxisDigit]) -> list[Jump] | None:
    """Return the jumps of digits; blocks of 3 within blocks of 5 begin anew with these."""
    cut = max((k for k in range(1, len(chain)) if chain[k].unit % chain[k - 1].unit), default=0)
    found: list[Jump] | None = []
    if cut:
        end = chain[cut].unit
        if end > KERNEL_PERIOD:
            return None
        values = [_digits_at(chain[:cut], x) for x in range(end)]
        found = _read_off([*values, chain[cut].stride])
    if found is None:
        return None
    if not cut:
        found += [Jump(digit.unit, 0, digit.stride) for digit in chain[:1]]
    for inner, digit in pairwise(chain[cut:]):
        less = inner.stride * (digit.unit // inner.unit)
        found.append(Jump(digit.unit, 0, digit.stride - less))
    return found


def _digits_at(chain: Sequence[AxisDigit], x: int) -> Int:
    offset: Int = 0
    for digit in reversed(chain):
        offset, x = offset + x // digit.unit * digit.stride, x % digit.unit
    return offset


def _read_off(values: Sequence[Int]) -> list[Jump] | None:
    """Return the jumps of a function by its values until it repeats itself; None if too many."""
    period = len(values) - 1
    steps = [b - a for a, b in pairwise(values)]
    slope = max(dict.fromkeys(steps), key=steps.count)
    found = [Jump(1, 0, slope)] if slope != 0 else []
    for x, step in enumerate(steps, 1):
        if step != slope:
            found.append(Jump(period, -x % period, step - slope))
    return found if len(found) <= KERNEL_DOMAINS else None


def chains_of(recipe: Recipe) -> DimensionDigits | None:
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
    return DimensionDigits(tuple(sizes), ordered, recipe.offset)


def chains_to_read(recipe: Recipe) -> DimensionDigits | None:
    """The digits of a buffer that is only read: elements may share slots, as along a stride of 0.

    None if some digit has no stride of 0 or more.

    >>> from morello_layouts.core.recipe import recipe_of_formula
    >>> from morello_layouts.core.expr import coordinate_variables
    >>> window, k = coordinate_variables((4, 3))
    >>> [chain[0].stride for chain in chains_to_read(recipe_of_formula((4, 3), window + k)).chains]
    [1, 1]
    """
    found = chains_of(recipe)
    if found is not None:
        return found
    form = offset_form(recipe)
    digits = digits_to_read(recipe.shape, form)
    if digits is None:
        return None
    chains = tuple(
        tuple(AxisDigit(dim, known((x.unit,))[0], x.radix, None, x.stride) for x in own)
        for dim, own in enumerate(digits)
    )
    return DimensionDigits(recipe.shape, chains, form.const)


@lru_cache(maxsize=64)
def offset_form(recipe: Recipe) -> AffineExpr:
    """Return the simplified offset of an element, over its coordinates ``d0, d1, …``.

    >>> from morello_layouts import index_map
    >>> print(offset_form(index_map("f32[16,256]{1,0:T(8,128)}")[8:].recipe))
    1024*(d1//128) + 128*d0 + d1%128 + 2048
    """
    zero = AffineExpr((), 0)
    return canonicalize(zero + offset_of(recipe, coordinate_variables(recipe.shape), zero))


def growth_of(recipe: Recipe) -> Growth | None:
    """The jumps of a buffer's offset along each dimension, of digits or of any formula.

    None if a part of the formula depends on several coordinates.

    >>> from morello_layouts import index_map
    >>> for jump in growth_of(index_map("f32[16,2]{0,1:T(8,1)}")[::-1, 1].recipe).jumps[0]:
    ...     print(jump)
    Jump(unit=1, phase=0, stride=-8)
    >>> for jump in growth_of(index_map("f32[16,4]{1,0:T(8,2)}")[3:, 0].recipe).jumps[0]:
    ...     print(jump)
    Jump(unit=1, phase=0, stride=2)
    Jump(unit=8, phase=3, stride=-16)
    Jump(unit=8, phase=3, stride=32)
    """
    chains = chains_of(recipe)
    if chains is not None:
        return chains.growth
    return _growth_of(recipe.shape, offset_form(recipe))


def _growth_of(shape: tuple[Int, ...], form: AffineExpr) -> Growth | None:
    found: list[list[Jump]] = [[] for _ in shape]
    dims = {f"d{k}": k for k in range(len(shape))}
    start = form.const
    for atom, c in form.terms:
        used = {var.name for var in AffineExpr(((atom, 1),), 0).variables()}
        part = _grown(atom, c) if len(used) == 1 else None
        if part is None:
            return None
        start += part[0]
        found[dims[used.pop()]] += part[1]
    return Growth(shape, tuple(map(tuple, found)), start)


@frozen
class XorDigit:
    """A digit ``d // unit % radix`` of a dimension, multiplied by a power of two."""

    dim: int
    unit: int
    radix: int | None  #: None if nothing follows the digit.
    scale: int


# The stride of an exclusive or, and its digits, whose multiples share no bits in any of its parts.
Xors: TypeAlias = "tuple[tuple[Int, tuple[XorDigit, ...]], ...]"


def swizzled_growth(recipe: Recipe) -> tuple[Growth, Xors] | None:
    """Return the jumps of a buffer's offset without its exclusive ors of digits, and these.

    None if a part of the formula is neither.

    >>> from morello_layouts import index_map
    >>> growth, xors = swizzled_growth(index_map("Sw<1,0,2> o 0 o (4,4):(4,1)").recipe)
    >>> growth.jumps[0], xors[0][0], [(x.dim, x.unit, x.radix) for x in xors[0][1]]
    ((Jump(unit=1, phase=0, stride=4),), 1, [(0, 1, 2), (1, 1, 2)])
    """
    plain = growth_of(recipe)
    if plain is not None:
        return plain, ()
    form, found = offset_form(recipe), list[tuple[Int, tuple[XorDigit, ...]]]()
    rest = [term for term in form.terms if not isinstance(term[0], BitXor)]
    for atom, c in form.terms:
        if isinstance(atom, BitXor):
            parts = [_bits_of(part) for part in atom.parts]
            if any(part is None for part in parts):
                return None
            found.append((c, tuple(x for part in parts for x in part or ())))
    growth = _growth_of(recipe.shape, AffineExpr(tuple(rest), form.const))
    return None if growth is None else (growth, tuple(found))


def _bits_of(form: AffineExpr) -> list[XorDigit] | None:
    """Return a form as digits times powers of two that share no bits; None if it is not one."""
    found, end = list[XorDigit](), 1
    terms = sorted(form.terms, key=lambda term: term[1] if isinstance(term[1], int) else 0)
    for atom, c in terms:
        digit = atom if isinstance(atom, Digit) else Digit(AffineExpr(((atom, 1),), 0), 1, None)
        (unit, radix), high = (digit.divisor, digit.modulus), atom.interval.hi
        if len(digit.operand.terms) != 1 or digit.operand.const != 0 or end == 0:
            return None
        ((var, factor),) = digit.operand.terms
        if not isinstance(var, Var) or factor != 1 or not isinstance(c, int):
            return None
        if not isinstance(unit, int) or not isinstance(radix, int | None):
            return None
        if c < end or c.bit_count() != 1:
            return None
        end = (high + 1) * c if isinstance(high, int) else 0
        found.append(XorDigit(int(var.name[1:]), unit, radix, c))
    return found if form.const == 0 else None


def _grown(atom: Atom, c: Int) -> tuple[Int, list[Jump]] | None:
    """Return what a term of one coordinate is at 0, and its jumps."""
    if isinstance(atom, Var):
        return 0, [Jump(1, 0, c)]
    start: Int = 0
    found: list[Jump] = []
    for divisor, factor in floors_of(atom, c):
        whole = Digit(atom.operand, divisor, None) if isinstance(atom, Digit) else atom
        part = _simple(whole, factor) or _sampled(whole, factor)
        if part is None:
            return None
        start += part[0]
        found += part[1]
    return start, found


def _simple(atom: Atom, c: Int) -> tuple[Int, list[Jump]] | None:
    """Return what ``(±d + b) // u`` is at 0, and its jumps; None for anything else."""
    if not isinstance(atom, Digit) or len(atom.operand.terms) != 1:
        return None
    (inner, k), b, u = atom.operand.terms[0], atom.operand.const, atom.divisor
    if not (isinstance(k, int) and isinstance(b, int) and isinstance(u, int)):
        return None
    common = gcd(k, u)
    k, b, u = k // common, b // common, u // common
    if not isinstance(inner, Var) or abs(k) != 1:
        return None
    # Backwards, (b - d) // u is -((d - b + u - 1) // u).
    shift = b if k == 1 else u - 1 - b
    return k * (shift // u) * c, [Jump(u, shift % u, k * c)]


def _sampled(atom: Atom, c: Int) -> tuple[Int, list[Jump]] | None:
    """Return the start and jumps of any function that repeats itself but for a slope."""
    form = AffineExpr(((atom, 1),), 0)
    cycle = _cycle(form)
    if cycle is None:
        return None
    (name,) = {var.name for var in form.variables()}
    values: list[Int] = [form.evaluate({name: x}) * c for x in range(cycle[0] + 1)]
    jumps = _read_off(values)
    return None if jumps is None else (values[0], jumps)


def _cycle(form: AffineExpr) -> tuple[int, int] | None:
    """Return a period of a form of one coordinate, and by how much it grows in one."""
    parts: list[tuple[int, int, int]] = []
    if not isinstance(form.const, int):
        return None
    for atom, c in form.terms:
        period, growth = 1, 1
        if isinstance(atom, Digit):
            inner = _cycle(atom.operand)
            block = atom.divisor * (atom.modulus or 1)
            if inner is None or not isinstance(block, int):
                return None
            times = block // gcd(inner[1], block)
            period = inner[0] * times
            growth = 0 if atom.modulus else inner[1] * times // block
        elif not isinstance(atom, Var):
            return None
        if not isinstance(c, int) or period > KERNEL_PERIOD:
            return None
        parts.append((period, growth, c))
    every = lcm(*(period for period, _, _ in parts))
    if every > KERNEL_PERIOD:
        return None
    return every, sum(c * growth * (every // period) for period, growth, c in parts)


def _place(digit: AxisDigit) -> tuple[int, int] | None:
    """The one dimension of a digit, and the digit's unit in it."""
    if isinstance(digit.of, int):
        return digit.of, digit.unit
    place = _place(digit.of[0]) if len(digit.of) == 1 else None
    return None if place is None else (place[0], place[1] * digit.unit)


@frozen
class SharedJump:
    """A jump at one phase of a unit, in the source's buffer and in the target's."""

    unit: int
    phase: int
    source: Int
    target: Int


def shared_jumps(
    source: Growth, target: Growth, cuts: Iterable[tuple[int, int]] = ()
) -> tuple[tuple[SharedJump, ...], ...] | None:
    """For each dimension the jumps of two layouts, from the largest unit to the smallest.

    Pairs of a dimension and a unit are jumps too, by 0; then no jump may have a phase.

    Returns:
        None if one unit does not divide another one: tiles of 3 and of 8 share no loops.

    >>> from morello_layouts import index_map
    >>> rows = growth_of(index_map("f32[16]{0}").recipe)
    >>> for jump in shared_jumps(rows, growth_of(index_map("f32[16]{0:T(2)(4)}").recipe))[0]:
    ...     print(jump)
    SharedJump(unit=2, phase=0, source=0, target=2)
    SharedJump(unit=1, phase=0, source=1, target=1)
    >>> shapes = ("f32[16,4]{1,0:T(3,2)}", "f32[16,4]{1,0:T(8,2)}")
    >>> shared_jumps(*(growth_of(index_map(text).recipe) for text in shapes))
    """
    rank = min(len(source.sizes), len(target.sizes))
    if source.sizes[:rank] != target.sizes[:rank]:
        return None
    found = []
    for dim, (size, a, b) in enumerate(zip(source.sizes, source.jumps, target.jumps, strict=False)):
        both = tuple(_joined(size, a, b, {unit for own, unit in cuts if own == dim}))
        if cuts and any(jump.phase for jump in both):
            return None
        if any(high.unit % low.unit for high, low in pairwise(both)):
            return None
        found.append(both)
    return tuple(found)


def _joined(
    size: Int, source: Iterable[Jump], target: Iterable[Jump], cuts: set[int]
) -> Iterator[SharedJump]:
    strides: dict[tuple[int, int], tuple[Int, Int]] = {(unit, 0): (0, 0) for unit in cuts}
    for jumps, k in ((source, 0), (target, 1)):
        for jump in jumps:
            at, step = (jump.unit, jump.phase), (jump.stride * (1 - k), jump.stride * k)
            so_far = strides.get(at, (0, 0))
            strides[at] = so_far[0] + step[0], so_far[1] + step[1]
    for (unit, phase), step in sorted(strides.items(), reverse=True):
        if (step != (0, 0) or unit in cuts) and not is_nonnegative(
            unit - phase - size
        ):  # past the last coordinate
            yield SharedJump(unit, phase, *step)
