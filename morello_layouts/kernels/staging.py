"""Staged blocks: a relayout as two, through a staging buffer, each with fast loops.

Two tilings may agree on no vector, or share no digits at all. Then a block of whole tiles of both
layouts is moved to a staging buffer in a plain order of dimensions, and from there to the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import lcm, prod
from typing import Final, TypeAlias

from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.chains import DigitChains, shared_jumps
from morello_layouts.kernels.domains import LoopAxis, divide, estimate, nonzero, upper_bound
from morello_layouts.kernels.nests import Nest, cost_of, loop_order
from morello_layouts.kernels.pieces import element_domains
from morello_layouts.kernels.vectorize import vectorize
from morello_layouts.limits import KERNEL_BLOCK
from morello_layouts.recipe.digits import AxisDigit

# Bytes to which a block grows: it stays in the first cache.
_ENOUGH: Final = 1 << 14

# Along one dimension: the number of blocks, the length of one, and the number of the first one.
_Run: TypeAlias = "tuple[Int, Int, Int]"


@dataclass(frozen=True, slots=True)
class StagedBlocks:
    """Loops over blocks, each moved to a staging buffer and from there to the target."""

    #: the offsets of the first block, in bytes.
    source: Int
    target: Int
    loops: tuple[LoopAxis, ...]  #: from the outermost to the innermost, strides in bytes.
    size: int  #: bytes of the staging buffer.
    into: tuple[Nest, ...]  #: nests from a block of the source to the staging buffer.
    out: tuple[Nest, ...]  #: nests from the staging buffer to a block of the target.

    @property
    def cost(self) -> float:
        """The estimated cost, in the unit of :func:`~morello_layouts.kernels.nests.cost_of`."""
        return prod(estimate(axis.count) for axis in self.loops) * cost_of((*self.into, *self.out))


def staged_blocks(
    source: DigitChains, target: DigitChains, itemsize: int, *, far: bool
) -> tuple[StagedBlocks, ...] | None:
    """Return the blocks of an array, through the order of dimensions that costs least.

    Returns:
        None if a block of whole tiles of both layouts is too large, or if no order has nests.
    """
    blocks = _Blocks(source, target, _lengths(source, target, itemsize), itemsize, far)
    if prod(blocks.lengths) * itemsize > KERNEL_BLOCK:
        return None
    order = blocks.best_order()
    return None if order is None else blocks.through(order)


def _orders(source: DigitChains, target: DigitChains) -> list[tuple[int, ...]]:
    """Return the orders of dimensions that the strides of either layout suggest."""
    found = []
    for digits in (source, target):
        chains = digits.chains[: min(len(source.sizes), len(target.sizes))]
        steps = [[estimate(digit.stride) for digit in chain] or [0] for chain in chains]
        for by in ([chain[0] for chain in steps], [min(chain) for chain in steps]):
            found.append(tuple(sorted(range(len(chains)), key=lambda dim: -by[dim])))
    return list(dict.fromkeys(found))


def _lengths(source: DigitChains, target: DigitChains, itemsize: int) -> list[int]:
    """Return the length of a block along each dimension: whole tiles of both layouts, enlarged."""
    chains = zip(source.chains, target.chains, strict=False)
    found = [lcm(*(digit.unit for digit in (*a, *b))) for a, b in chains]
    most = [upper_bound(size) for size in source.sizes[: len(found)]]
    minor = dict.fromkeys(order[-1] for order in _orders(source, target) if order)
    longer = list(minor)
    while longer and 2 * prod(found) * itemsize <= _ENOUGH:
        for dim in longer:
            found[dim] *= 2
        longer = [dim for dim in minor if (most[dim] or found[dim] + 1) > found[dim]]
    return [n if m is None else min(n, m) for n, m in zip(found, most, strict=True)]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """An array in blocks: the digits of both buffers, and the length of a block along each axis.

    ``far`` is whether the target lies beyond the caches.
    """

    source: DigitChains
    target: DigitChains
    lengths: Sequence[int]
    itemsize: int
    far: bool

    def best_order(self) -> tuple[int, ...] | None:
        """Return the order of a staging buffer by which whole blocks cost least."""
        whole = [runs[0] for runs in self._runs if runs]
        costs = {
            order: part.cost
            for order in _orders(self.source, self.target)
            if len(whole) == len(order) and (part := self._part(order, whole)) is not None
        }
        return min(costs, key=lambda order: costs[order], default=None)

    def through(self, order: Sequence[int]) -> tuple[StagedBlocks, ...] | None:
        """Return the blocks, through a staging buffer in an order of dimensions."""
        found = [self._part(order, chosen) for chosen in product(*self._runs)]
        parts = tuple(part for part in found if part is not None)
        return parts if len(parts) == len(found) else None

    @property
    def _runs(self) -> list[list[_Run]]:
        return [_runs(*pair) for pair in zip(self.source.sizes, self.lengths, strict=False)]

    def _part(self, order: Sequence[int], runs: Sequence[_Run]) -> StagedBlocks | None:
        """Return the blocks of one length along each dimension."""
        plain: list[tuple[AxisDigit, ...]] = [()] * len(order)
        stride = 1
        for dim in reversed(order):
            plain[dim] = (AxisDigit(dim, 1, self.lengths[dim], stride=stride),)
            stride *= self.lengths[dim]
        within = tuple(length for _, length, _ in runs)
        a, stage, b = (
            DigitChains(within, tuple(chains))
            for chains in (self.source.chains, plain, self.target.chains)
        )
        into = _nests(a, stage, self.itemsize, far=False)
        out = _nests(stage, b, self.itemsize, far=self.far)
        return self._placed(runs, into, out) if into and out else None

    def _placed(
        self, runs: Sequence[_Run], into: tuple[Nest, ...], out: tuple[Nest, ...]
    ) -> StagedBlocks:
        source, target = self.source.start * self.itemsize, self.target.start * self.itemsize
        loops: list[LoopAxis] = []
        for dim, (count, _, first) in enumerate(runs):
            a, b = (
                _block_stride(digits.chains[dim], self.lengths[dim]) * self.itemsize
                for digits in (self.source, self.target)
            )
            source, target = source + first * a, target + first * b
            loops += [LoopAxis(count, a, b)] if count != 1 else []
        loops.sort(key=loop_order)
        size = prod(self.lengths) * self.itemsize
        return StagedBlocks(source, target, tuple(loops), size, into, out)


def _runs(size: Int, length: int) -> list[_Run]:
    """Return the whole blocks along a dimension, and the rest; there may be none of either."""
    full, rest = divide(size, length)
    whole: list[_Run] = [(full, length, 0)] if full != 0 else []
    return [*whole, (nonzero(rest), rest, full)] if rest != 0 else whole


@lru_cache(maxsize=64)  # the plans for near and for far targets have most nests in common
def _nests(a: DigitChains, b: DigitChains, itemsize: int, *, far: bool) -> tuple[Nest, ...]:
    read, written = a.growth, b.growth
    shared = shared_jumps(read, written) if read and written else None
    domains = None if shared is None else element_domains(a.sizes, shared)
    return tuple(
        replace(nest, domain=k)
        for k, domain in enumerate(domains or ())
        for nest in vectorize(domain, itemsize, far=far)
    )


def _block_stride(chain: Sequence[AxisDigit], length: int) -> Int:
    """Return how far a block along a dimension moves in a buffer: whole steps of the top digit."""
    top = max(chain, key=lambda digit: digit.unit, default=None)
    return 0 if top is None else length // top.unit * top.stride
