"""Blocks that pass through the first caches: a relayout as two, each of which has fast loops.

Between two tilings that agree on no vector, or on no digits at all, lies a plain order of
dimensions. A block of the array that starts at whole tiles of both layouts is brought into that
order, and from there into the target's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import lcm, prod
from typing import TypeAlias

from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.digits import DigitChains, shared_digits
from morello_layouts.kernels.domains import Axis, element_boxes, estimate, parted, positive, upper
from morello_layouts.kernels.nests import SMALL_BLOCK, Nest, cost_of, outermost
from morello_layouts.kernels.plan import nests
from morello_layouts.recipe.digits import Digit

# Bytes to which a block grows, and those of the largest that is taken: it lies on the stack.
_ENOUGH = 1 << 14
_MOST = 1 << 18

# Along one dimension: how many blocks, how long one is, and where the first one starts.
_Run: TypeAlias = "tuple[Int, Int, Int]"


@dataclass(frozen=True, slots=True)
class Staged:
    """Loops over blocks, each of which is moved to a scratch, and from there to the target.

    Attributes:
        source, target: where the first block starts, in bytes.
        loops: from the outermost on, strides in bytes.
        size: bytes of the scratch.
        into: loops from a block of the source to the scratch.
        out: loops from the scratch to a block of the target.
    """

    source: Int
    target: Int
    loops: tuple[Axis, ...]
    size: int
    into: tuple[Nest, ...]
    out: tuple[Nest, ...]

    @property
    def nests(self) -> tuple[Nest, ...]:
        """The loops of both ways."""
        return (*self.into, *self.out)

    @property
    def cost(self) -> float:
        """What it takes, as :func:`~morello_layouts.kernels.nests.cost_of` says."""
        return prod(estimate(axis.count) for axis in self.loops) * cost_of(self.nests)


def staged(
    source: DigitChains, target: DigitChains, itemsize: int, block: int
) -> tuple[Staged, ...] | None:
    """The blocks of an array, by the order of dimensions that costs least.

    Args:
        source: the digits of the buffer that is read.
        target: the digits of the buffer that is written.
        itemsize: bytes of an element.
        block: bytes along the target that are transposed at once.

    Returns:
        None where a block that holds whole tiles of both layouts is too large, or there is no way.
    """
    blocks = _Blocks(source, target, _lengths(source, target, itemsize), itemsize, block)
    if prod(blocks.lengths) * itemsize > _MOST:
        return None
    order = blocks.best_order()
    return None if order is None else blocks.by_way_of(order)


def _orders(source: DigitChains, target: DigitChains) -> list[tuple[int, ...]]:
    """Orders of the dimensions that either layout suggests: by their shortest, or first, steps."""
    found = []
    for digits in (source, target):
        chains = digits.chains[: min(len(source.sizes), len(target.sizes))]
        steps = [[estimate(digit.stride) for digit in chain] or [0] for chain in chains]
        for by in ([chain[0] for chain in steps], [min(chain) for chain in steps]):
            found.append(tuple(sorted(range(len(chains)), key=lambda dim: -by[dim])))
    return list(dict.fromkeys(found))


def _lengths(source: DigitChains, target: DigitChains, itemsize: int) -> list[int]:
    """How long a block is along each dimension: whole tiles of both layouts, and a few KiB."""
    chains = zip(source.chains, target.chains, strict=False)
    found = [lcm(*(digit.unit for digit in (*a, *b))) for a, b in chains]
    most = [upper(size) for size in source.sizes[: len(found)]]
    minor = dict.fromkeys(order[-1] for order in _orders(source, target) if order)
    longer = list(minor)
    while longer and 2 * prod(found) * itemsize <= _ENOUGH:
        for dim in longer:
            found[dim] *= 2
        longer = [dim for dim in minor if (most[dim] or found[dim] + 1) > found[dim]]
    return [n if m is None else min(n, m) for n, m in zip(found, most, strict=True)]


@dataclass(frozen=True, slots=True)
class _Blocks:
    """An array in blocks: the digits of both buffers, and how long a block is along each dimension.

    ``block`` is how many bytes along the target are transposed at once.
    """

    source: DigitChains
    target: DigitChains
    lengths: Sequence[int]
    itemsize: int
    block: int

    def best_order(self) -> tuple[int, ...] | None:
        """The order of a scratch by which whole blocks cost least; None where there is no way."""
        whole = [runs[0] for runs in self._runs if runs]
        costs = {
            order: part.cost
            for order in _orders(self.source, self.target)
            if len(whole) == len(order) and (part := self._part(order, whole)) is not None
        }
        return min(costs, key=lambda order: costs[order], default=None)

    def by_way_of(self, order: Sequence[int]) -> tuple[Staged, ...] | None:
        """The blocks, through a scratch in an order of dimensions; None where there is no way."""
        found = [self._part(order, chosen) for chosen in product(*self._runs)]
        parts = tuple(part for part in found if part is not None)
        return parts if len(parts) == len(found) else None

    @property
    def _runs(self) -> list[list[_Run]]:
        return [_runs(*pair) for pair in zip(self.source.sizes, self.lengths, strict=False)]

    def _part(self, order: Sequence[int], runs: Sequence[_Run]) -> Staged | None:
        """Blocks of one length along each dimension."""
        plain: list[tuple[Digit, ...]] = [()] * len(order)
        stride = 1
        for dim in reversed(order):
            plain[dim] = (Digit(dim, 1, self.lengths[dim], stride=stride),)
            stride *= self.lengths[dim]
        within = tuple(length for _, length, _ in runs)
        a, scratch, b = (
            DigitChains(within, tuple(chains))
            for chains in (self.source.chains, plain, self.target.chains)
        )
        into = _ways(a, scratch, self.itemsize, SMALL_BLOCK)
        out = _ways(scratch, b, self.itemsize, self.block)
        return self._placed(runs, into, out) if into and out else None

    def _placed(
        self, runs: Sequence[_Run], into: tuple[Nest, ...], out: tuple[Nest, ...]
    ) -> Staged:
        source: Int = 0
        target: Int = 0
        loops: list[Axis] = []
        for dim, (count, _, first) in enumerate(runs):
            a, b = (
                _step(digits.chains[dim], self.lengths[dim]) * self.itemsize
                for digits in (self.source, self.target)
            )
            source, target = source + first * a, target + first * b
            loops += [Axis(count, a, b)] if count != 1 else []
        loops.sort(key=outermost)
        size = prod(self.lengths) * self.itemsize
        return Staged(source, target, tuple(loops), size, into, out)


def _runs(size: Int, length: int) -> list[_Run]:
    """Whole blocks along a dimension, and what is left; each perhaps none."""
    full, rest = parted(size, length)
    whole: list[_Run] = [(full, length, 0)] if full != 0 else []
    return [*whole, (positive(rest), rest, full)] if rest != 0 else whole


@lru_cache(maxsize=64)  # loops for near targets and for far ones have most ways in common
def _ways(a: DigitChains, b: DigitChains, itemsize: int, block: int) -> tuple[Nest, ...]:
    shared = shared_digits(a, b)
    boxes = None if shared is None else element_boxes(a.sizes, shared)
    return tuple(
        replace(nest, box=k)
        for k, box in enumerate(boxes or ())
        for nest in nests(box, itemsize, block)
    )


def _step(chain: Sequence[Digit], length: int) -> Int:
    """How far a block along a dimension moves in a buffer: a multiple of the largest unit."""
    top = max(chain, key=lambda digit: digit.unit, default=None)
    return 0 if top is None else length // top.unit * top.stride
