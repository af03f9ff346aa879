"""Ask ISL within a budget: of numbers, of symbolic sizes, and of samples of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from itertools import islice, product
from time import process_time
from typing import Any, TypeAlias

import islpy as isl

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.sizes import Int
from morello_layouts.limits import (
    ISL_OPERATIONS,
    ISL_OPERATIONS_END,
    PROOF_AXES,
    PROOF_DIVISOR_SECONDS,
    PROOF_DIVISORS,
    PROOF_OPEN_SIZES,
    PROOF_SAMPLES,
    PROOF_SPLITS,
)
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof.conditions import SizeSet, first_sizes, point_of, small_values
from morello_layouts.proof.isl import NotAffineError
from morello_layouts.proof.proof import Proof, SymbolicCounterexample, sizes_text
from morello_layouts.recipe import Split

AnyMap: TypeAlias = IndexMap | AffineMap

Decide: TypeAlias = Callable[..., Proof]
"""Decides a claim about one map or two."""

Effect: TypeAlias = Callable[[Sequence[AnyMap], Proof], str]
"""Says what disproves a claim about maps of numbers, as a verb and its object."""


def ask_isl(claim: str, bounded_by_splits: bool = True) -> Callable[[Decide], Decide]:
    """Give a decision an ISL context of its own, with a budget past which it is undecided."""

    def decorate(decide: Decide) -> Decide:
        @wraps(decide)
        def ask(*about: Any, budget: int | None = None) -> Proof:
            allowed = _operations(budget)
            recipes = [m.recipe for m in about if isinstance(m, IndexMap)]
            if any(len(r.shape) + len(r.physical_shape) > PROOF_AXES for r in recipes):
                return Proof(claim, None, f"more than {PROOF_AXES} axes to relate")
            splits = (
                sum(t not in (None, 1) for step in r.steps if isinstance(step, Split)
                    for t in step.tiles)
                for r in recipes
            )  # fmt: skip
            if bounded_by_splits and max(splits, default=0) > PROOF_SPLITS:
                return Proof(claim, None, f"more than {PROOF_SPLITS} splits to compare")
            context = isl.Context()
            context.set_max_operations(allowed)
            try:
                answer = decide(*about, context=context)
            except isl.Error as error:
                if "maximal number of operations" not in str(error):
                    raise
                answer = Proof(claim, None, f"ISL spent its budget of {allowed} operations")
            except NotAffineError as error:
                answer = Proof(claim, None, f"{error.what}: {error.why}")
            maps = [m for m in about if isinstance(m, IndexMap | AffineMap)]
            assumed = meet_all(one for m in maps for one in m.assumptions)
            return replace(answer, assumptions=tuple(map(str, assumed)))

        return ask

    return decorate


def _operations(budget: object) -> int:
    if budget is None:
        return ISL_OPERATIONS
    if (
        not isinstance(budget, int)
        or isinstance(budget, bool)
        or not 1 <= budget <= ISL_OPERATIONS_END
    ):
        raise LayoutError(
            f"budget: expected a number of ISL operations, got {budget!r}",
            "the budget limits the work of one question",
            f"give an int from 1 to {ISL_OPERATIONS_END}, or None",
        )
    return budget


def sizes_of(m: AnyMap) -> tuple[Int, ...]:
    """Return the sizes of a map's array."""
    return m.recipe.shape if isinstance(m, IndexMap) else m.sizes


def names_of(*maps: AnyMap) -> tuple[str, ...]:
    """Return the names of symbolic sizes in the order of the shapes."""
    symbolic = (n for m in maps for n in sizes_of(m) if not isinstance(n, int))
    return tuple(dict.fromkeys(name for n in symbolic for name in sorted(n.names())))


def at_sizes(maps: Sequence[AnyMap], sizes: Mapping[str, int]) -> list[AnyMap]:
    """Return the maps at given sizes."""
    return [m.at(**{name: sizes[name] for name in names_of(m)}) for m in maps]


def parametric(
    claim: str,
    proved: SizeSet,
    maps: Sequence[AnyMap],
    ask: Decide,
    effect: Effect,
    *,
    reason: str,
    undecided: isl.Set | None = None,
) -> Proof:
    """Return the proof of a claim that depends on the sizes, with the smallest ones that fail.

    Args:
        claim: the claim.
        proved: the sizes for which ISL proved it.
        maps: the maps that it is about.
        ask: decides the claim for maps of numbers.
        effect: says what disproves it.
        reason: why it holds, if it does for all sizes.
        undecided: the sizes for which ISL did not decide.
    """
    space, names = proved.space, names_of(*maps)
    left = space.sizes.subtract(space.sizes)
    if undecided is not None:
        proved, left = _decide_single_sizes(proved, undecided, maps, ask)
    condition = proved.condition({k: s for m in maps for k, s in m.size_symbols.items()})
    if condition.is_always:
        return Proof(claim, True, reason, condition=condition)
    sizes = first_sizes(space.sizes.subtract(proved.sizes).subtract(left), space, names)
    if sizes is None:
        # ISL takes products of sizes for independent: the other sizes may not exist.
        return Proof(claim, None, f"proved if {condition}, and no other sizes were found")
    there = at_sizes(maps, sizes)
    concrete = ask(*there)
    if concrete.holds is not False:
        # The question for numbers checks the condition independently.
        reason = f"proved if {condition}, but not disproved at {sizes_text(sizes)}"
        return Proof(claim, None, f"{reason}: {concrete.reason}")
    found = SymbolicCounterexample(sizes, concrete.counterexample, effect(there, concrete))
    if left.is_empty():
        return Proof(claim, False, str(found), counterexample=found, condition=condition)
    certain = "" if condition.is_never else f"proved if {condition}, "
    return Proof(claim, False, f"{certain}open for other sizes", counterexample=found)


def _decide_single_sizes(
    proved: SizeSet, undecided: isl.Set, maps: Sequence[AnyMap], ask: Decide
) -> tuple[SizeSet, isl.Set]:
    """Return what is proved and undecided after asking about some undecided sizes one by one."""
    for _ in range(PROOF_OPEN_SIZES):
        sizes = first_sizes(undecided, proved.space, names_of(*maps))
        if sizes is None:
            break
        answer = ask(*at_sizes(maps, sizes))
        if answer.holds is None:
            break
        point = point_of(sizes, proved.space)
        undecided = undecided.subtract(point)
        if answer.holds:
            proved = replace(proved, sizes=proved.sizes.union(point))
    return proved, undecided


def by_sampling(undecided: Proof, maps: Sequence[AnyMap], ask: Decide, effect: Effect) -> Proof:
    """Look for a counterexample at small sizes, and for a divisor that makes the claim hold.

    Args:
        undecided: the proof for all sizes.
        maps: the maps that it is about.
        ask: decides the claim.
        effect: says what disproves it.
    """
    names = names_of(*maps)
    if not names:
        return undecided
    certain = _proved_if_divisible(maps, ask)
    assumed = meet_all(one for m in maps for one in m.assumptions)
    for sizes in islice(small_sizes(names, assumed), PROOF_SAMPLES):
        there = at_sizes(maps, sizes)
        found = ask(*there)
        if found.holds is False:
            return replace(
                undecided,
                holds=False,
                reason=f"{certain}open for other sizes",
                decider="ISL at sampled sizes",
                counterexample=SymbolicCounterexample(
                    sizes, found.counterexample, effect(there, found)
                ),
            )
    return replace(undecided, reason=f"{certain}{undecided.reason}")


def small_sizes(
    names: Sequence[str], assumptions: Iterable[Assumption], reach: int = PROOF_SAMPLES - 1
) -> Iterator[dict[str, int]]:
    """Yield the assumed sizes in growing boxes, each box in lexicographic order.

    Args:
        names: the names of the sizes.
        assumptions: the facts about them.
        reach: the number of values of each size in the last box.

    >>> [*small_sizes(["N"], [Assumption("N", divisor=8)], 3)]
    [{'N': 8}, {'N': 16}, {'N': 24}]
    """
    assumed = {one.name: one for one in assumptions}
    values = [small_values(assumed.get(name, Assumption(name)), reach) for name in names]
    for box in range(reach):
        for steps in product(*(range(len(each[: box + 1])) for each in values)):
            if max(steps, default=0) == box:
                yield {n: each[k] for n, each, k in zip(names, values, steps, strict=True)}


def _proved_if_divisible(maps: Sequence[AnyMap], ask: Decide) -> str:
    """Return that the claim holds if some tile divides some size, or nothing."""
    recipes = [m for m in maps if isinstance(m, IndexMap)]
    if len(recipes) < len(maps):
        return ""
    tiles = {
        t for m in recipes for step in m.recipe.steps if isinstance(step, Split)
        for t in step.tiles if t is not None and t > 1
    }  # fmt: skip
    names = dict.fromkeys(name for m in recipes for name in m.recipe.names)
    until = process_time() + PROOF_DIVISOR_SECONDS
    for name, tile in islice(product(names, sorted(tiles)), PROOF_DIVISORS):
        if process_time() > until:
            break
        with suppress(ShapeError):  # no such size is left
            divided = [m.assume([Assumption(name, divisor=tile)]) for m in recipes]
            is_new = [n.assumptions for n in divided] != [m.assumptions for m in recipes]
            if is_new and ask(*divided).holds:
                return f"proved if {tile} | {name}, "
    return ""
