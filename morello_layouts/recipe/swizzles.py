"""From a formula's ``^`` to an xor of axes: one is a digit of 2^k values, the other one's bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from morello_layouts.expr import AffineExpr, Digit, Var
from morello_layouts.expr.affine import BitXor
from morello_layouts.expr.sizes import Int, ceil_quotient, is_nonnegative
from morello_layouts.recipe.steps import Shape, Split, Step, Xor


class _Part(NamedTuple):
    """A digit ``d // unit % radix`` of a dimension."""

    dim: int
    unit: int
    radix: Int


@dataclass(frozen=True, slots=True)
class XorSteps:
    """The splits that make a changed digit an axis, and the xor.

    Attributes:
        cuts: for each dimension the sizes of the axes into which it is split.
        xor: the step after the splits.
    """

    cuts: tuple[Shape, ...]
    xor: Xor

    @property
    def shape(self) -> Shape:
        """The sizes of the axes after the splits."""
        return tuple(n for sizes in self.cuts for n in sizes)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The splits, the innermost first, and the xor."""
        splits: list[Step] = []
        for level in range(1, max(map(len, self.cuts))):
            tiles: list[Int | None] = []
            for sizes in self.cuts:
                cut = sizes[-level] if level < len(sizes) else None
                tiles += [cut, *(None,) * (min(level, len(sizes)) - 1)]
            splits.append(Split(tuple(tiles)))
        return (*splits, self.xor)

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

    >>> from morello_layouts.expr import variable
    >>> swizzled = BitXor((variable("d1", 0, 31) % 8, variable("d0", 0, 7) // 2))
    >>> for found in xor_steps((8, 32), swizzled):
    ...     print(*found.steps)
    Split(tiles=(None, 8)) xor axis 2 with (axis 0 >> 1)
    """
    if len(atom.parts) == 2:
        first, other = (_part(shape, part) for part in atom.parts)
        for target, source in ((first, other), (other, first)):
            found = target and source and _steps(shape, target, source)
            if found:
                yield found


def _part(shape: Shape, form: AffineExpr) -> _Part | None:
    atom = form.as_atom()
    inner = atom.operand.as_atom() if isinstance(atom, Digit) else atom
    if not isinstance(inner, Var):
        return None
    unit, modulus = (atom.divisor, atom.modulus) if isinstance(atom, Digit) else (1, None)
    dim = int(inner.name[1:])
    if not isinstance(unit, int):
        return None
    return _Part(dim, unit, ceil_quotient(shape[dim], unit) if modulus is None else modulus)


def _steps(shape: Shape, target: _Part, source: _Part) -> XorSteps | None:
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
