"""What can be said for all sizes where a question leaves ISL's theory.

A counterexample at small sizes answers it, and it may be decided where a tile divides a size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, product
from time import process_time
from typing import Final

from morello_layouts.errors import ShapeError
from morello_layouts.expr.assumption import Assumption, merged
from morello_layouts.formula import IndexMap
from morello_layouts.proof.asking import AnyMap, Deciding, names_in_order
from morello_layouts.proof.proof import AtSizes, Proof
from morello_layouts.recipe import Split

__all__ = ["by_trial", "small_sizes"]

_MOST_TRIED: Final = 48  # sizes asked about one by one
_MOST_DIVISORS: Final = 6  # asked about for all sizes
_MOST_SECONDS: Final = 1.0  # of processor time, before no other divisor is asked about


def by_trial(undecided: Proof, maps: tuple[AnyMap, ...], ask: Deciding) -> Proof:
    """A counterexample at small sizes, and a divisor of a size for which it holds, if there are.

    Args:
        undecided: the answer for all sizes.
        maps: what was asked about.
        ask: asks it again.
    """
    names = tuple(dict.fromkeys(name for m in maps for name in names_in_order(m)))
    if not names:
        return undecided
    certain = _divisible(maps, ask)
    assumed = merged(one for m in maps for one in m.assumptions)
    for sizes in islice(small_sizes(names, assumed), _MOST_TRIED):
        found = ask(*(m.at(**{n: sizes[n] for n in names_in_order(m)}) for m in maps))
        if found.holds is False:
            words = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            reason = f"{certain}other sizes are open; at {words}: {found.reason}"
            at = AtSizes(sizes, found.counterexample)
            return replace(undecided, holds=False, reason=reason, counterexample=at)
    return replace(undecided, reason=f"{certain}{undecided.reason}")


def small_sizes(
    names: Sequence[str], assumptions: Iterable[Assumption], reach: int = _MOST_TRIED - 1
) -> Iterator[dict[str, int]]:
    """Sizes as they are assumed, in growing boxes, each box in lexicographic order.

    Args:
        names: of the sizes.
        assumptions: what is assumed of them.
        reach: how many of each size the last box has.

    >>> [*small_sizes(["N"], [Assumption("N", divisor=8)], 3)]
    [{'N': 8}, {'N': 16}, {'N': 24}]
    """
    assumed = {one.name: one for one in assumptions}
    ones = [assumed.get(name, Assumption(name)) for name in names]
    for box in range(1, reach + 1):
        for steps in product(range(box), repeat=len(names)):
            values = [one.lo + step * one.divisor for one, step in zip(ones, steps, strict=True)]
            if max(steps, default=0) == box - 1 and all(
                one.holds_of(n) for one, n in zip(ones, values, strict=True)
            ):
                yield dict(zip(names, values, strict=True))


def _divisible(maps: tuple[AnyMap, ...], ask: Deciding) -> str:
    """That it certainly holds where a tile divides a size, in words."""
    recipes = [m for m in maps if isinstance(m, IndexMap)]
    if len(recipes) < len(maps):
        return ""
    tiles = {
        t for m in recipes for step in m.recipe.steps if isinstance(step, Split)
        for t in step.tiles if t is not None and t > 1
    }  # fmt: skip
    names = dict.fromkeys(name for m in recipes for name in m.recipe.names)
    until = process_time() + _MOST_SECONDS
    for name, tile in islice(product(names, sorted(tiles)), _MOST_DIVISORS):
        if process_time() > until:
            break
        with suppress(ShapeError):  # where no such size is left
            divided = [m.assume([Assumption(name, divisor=tile)]) for m in recipes]
            if all(n.assumptions == m.assumptions for n, m in zip(divided, recipes, strict=True)):
                continue
            if not ask(*divided).holds:
                continue
            return f"certainly when {tile} divides {name}, "
    return ""
