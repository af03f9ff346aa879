"""Ask ISL a question within a budget, and search small sizes for a counterexample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from itertools import islice, product
from time import process_time
from typing import Any, Final, TypeAlias

import islpy as isl

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.sizes import Int
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof.conditions import Condition, first_sizes, point_of
from morello_layouts.proof.isl import NotAffineError
from morello_layouts.proof.proof import Proof, SymbolicCounterexample
from morello_layouts.recipe import Split

AnyMap: TypeAlias = IndexMap | AffineMap

_LARGEST = 2**31 - 1
BUDGET = 2_000_000
"""ISL operations that one question may take before it is called undecided; about a second."""

_MOST_AXES = 200  # logical and physical; the budget does not count the making of relations
_MOST_SETTLED = 8  # sizes left open that are asked about one by one
_MOST_SPLITS = 40  # of axes, where places in memory are compared; popular layouts have up to 8


def _splits(m: IndexMap) -> int:
    """How many axes the recipe splits into more than one piece."""
    return sum(
        t not in (None, 1) for step in m.recipe.steps if isinstance(step, Split) for t in step.tiles
    )


Deciding: TypeAlias = Callable[..., Proof]


def _operations(budget: Any) -> int:
    if budget is None:
        return BUDGET
    if not isinstance(budget, int) or isinstance(budget, bool) or not 1 <= budget <= _LARGEST:
        raise LayoutError(
            f"the budget is {budget!r}",
            "it is a number of ISL operations",
            f"give an int from 1 to {_LARGEST}, or None",
        )
    return budget


def ask_isl(question: str, bounded_by_splits: bool = True) -> Callable[[Deciding], Deciding]:
    """Ask in an ISL context of its own, with a budget; past it the answer is undecided."""

    def decorate(decide: Deciding) -> Deciding:
        @wraps(decide)
        def ask(*about: Any, budget: int | None = None) -> Proof:
            allowed = _operations(budget)
            maps = [m for m in about if isinstance(m, IndexMap)]
            if any(len(m.recipe.shape) + len(m.recipe.physical_shape) > _MOST_AXES for m in maps):
                return Proof(question, None, f"more than {_MOST_AXES} axes to relate")
            if bounded_by_splits and any(_splits(m) > _MOST_SPLITS for m in maps):
                return Proof(question, None, f"more than {_MOST_SPLITS} splits to compare")
            context = isl.Context()
            context.set_max_operations(allowed)
            try:
                answer = decide(*about, context=context)
            except isl.Error as error:
                if "maximal number of operations" not in str(error):
                    raise
                answer = Proof(question, None, f"ISL spent its budget of {allowed} operations")
            except NotAffineError as error:
                answer = Proof(question, None, f"{error.what}: {error.why}")
            known = [m for m in about if isinstance(m, IndexMap | AffineMap)]
            assumed = meet_all(one for m in known for one in m.assumptions)
            return replace(answer, assumptions=tuple(map(str, assumed)))

        return ask

    return decorate


def shape_of(m: AnyMap) -> tuple[Int, ...]:
    """The sizes of a map's array."""
    return m.recipe.shape if isinstance(m, IndexMap) else m.sizes


def parametric(
    question: str,
    condition: Condition,
    maps: tuple[AnyMap, ...],
    ask: Deciding,
    *,
    more: str = "",
    open_for: isl.Set | None = None,
) -> Proof:
    """The answer where the sizes decide, with the smallest sizes for which it is no.

    Args:
        question: what was asked.
        condition: the sizes for which it is yes.
        maps: what it was asked of.
        ask: asks it again, of maps at given sizes.
        more: what else to say.
        open_for: sizes for which it was not decided.
    """
    names = tuple(dict.fromkeys(name for m in maps for name in names_in_order(m)))

    def at(sizes: Mapping[str, int]) -> Proof:
        return ask(*(m.at(**{n: sizes[n] for n in names_in_order(m)}) for m in maps))

    left = condition.space.sizes.subtract(condition.space.sizes) if open_for is None else open_for
    condition, left = _settled(condition, left, names, at)
    named = {name: s for m in maps for name, s in m.size_symbols.items()}
    words = condition.words()
    if condition.is_always:
        reason = f"ISL: {words}{more}"
        return Proof(question, True, reason, condition=condition.sympy(named), when=words)
    apart = condition.space.sizes.subtract(condition.holds).subtract(left)
    sizes = first_sizes(apart, condition.space, names)
    if sizes is None:
        # Products of sizes are taken for independent, and these may not exist.
        reason = f"ISL: {words}, and no sizes were found for which it is not so"
        return Proof(question, None, reason)
    concrete = at(sizes)
    if concrete.holds is not False:
        # The same question of numbers is an independent check of the sizes.
        return Proof(question, None, f"ISL: {words}, which {sizes} do not show: {concrete.reason}")
    counterexample = SymbolicCounterexample(sizes, concrete.counterexample)
    equations = ", ".join(f"{name} = {n}" for name, n in sizes.items())
    more = f"; at {equations}: {concrete.reason}"
    if not left.is_empty():
        certain = words.replace("exactly", "certainly")
        return Proof(question, False, f"ISL: {certain}, other sizes are open{more}", counterexample)
    return Proof(
        question,
        False,
        f"ISL: {words}{more}",
        counterexample,
        condition=condition.sympy(named),
        when=words,
    )


def _settled(
    condition: Condition,
    left: isl.Set,
    names: tuple[str, ...],
    at: Callable[[Mapping[str, int]], Proof],
) -> tuple[Condition, isl.Set]:
    """The condition with what single sizes say that were left open, where these are few."""
    for _ in range(_MOST_SETTLED):
        sizes = first_sizes(left, condition.space, names)
        if sizes is None:
            break
        answer, point = at(sizes), point_of(sizes, condition.space)
        if answer.holds is None:
            break
        left = left.subtract(point)
        if answer.holds:
            condition = replace(condition, holds=condition.holds.union(point))
    return condition, left


def names_in_order(m: AnyMap) -> list[str]:
    """The names of sizes as they stand in the shape."""
    found = [name for n in shape_of(m) if not isinstance(n, int) for name in sorted(n.names())]
    return list(dict.fromkeys(found))


_MOST_TRIED: Final = 48  # sizes asked about one by one
_MOST_DIVISORS: Final = 6  # asked about for all sizes
_MOST_SECONDS: Final = 1.0  # of processor time, before no other divisor is asked about


def by_sampling(undecided: Proof, maps: tuple[AnyMap, ...], ask: Deciding) -> Proof:
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
    assumed = meet_all(one for m in maps for one in m.assumptions)
    for sizes in islice(small_sizes(names, assumed), _MOST_TRIED):
        found = ask(*(m.at(**{n: sizes[n] for n in names_in_order(m)}) for m in maps))
        if found.holds is False:
            words = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            reason = f"{certain}other sizes are open; at {words}: {found.reason}"
            at = SymbolicCounterexample(sizes, found.counterexample)
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
                one.holds_for(n) for one, n in zip(ones, values, strict=True)
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
