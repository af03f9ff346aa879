"""Ask ISL within a budget: at numbers, symbolic sizes, samples; count if ISL is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, wraps
from itertools import islice, product
from threading import local
from typing import Any, TypeAlias

from morello_layouts.core.checks import as_int
from morello_layouts.core.expr.assumptions import Assumption, meet_all
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import NotInstalledError
from morello_layouts.core.limits import (
    ISL_OPERATIONS,
    ISL_OPERATIONS_END,
    PROOF_AXES,
    PROOF_DIVISORS,
    PROOF_OPEN_SIZES,
    PROOF_SAMPLES,
    PROOF_SPLITS,
)
from morello_layouts.core.maps import AffineMap, CoordinateMap, IndexMap
from morello_layouts.core.recipe import Recipe, Split, offset_of
from morello_layouts.core.recipe.views import Column, filled
from morello_layouts.errors import ShapeError
from morello_layouts.proof.conditions import SizeSet, first_sizes, point_of, small_values
from morello_layouts.proof.isl import NotAffineError
from morello_layouts.proof.library import isl
from morello_layouts.proof.verdict import Proof, SymbolicCounterexample, sizes_text

AnyMap: TypeAlias = IndexMap | AffineMap

Decide: TypeAlias = Callable[..., Proof]
"""Decides a claim about one map or two."""


class LateContext:
    """ISL's context of a thread, made on first use: what digits decide needs none."""

    def __init__(self) -> None:
        self._operations = ISL_OPERATIONS

    @cached_property
    def opened(self) -> isl.Context:
        """The context; without ISL, whose names then raise an error, there is none."""
        context = isl.Context()
        context.set_max_operations(self._operations)
        return context

    @property
    def is_open(self) -> bool:
        """Whether it was made."""
        return "opened" in vars(self)

    def set_max_operations(self, operations: int) -> None:
        """Set the budget."""
        self._operations = operations
        if self.is_open:
            self.opened.set_max_operations(operations)

    def get_max_operations(self) -> int:
        """Return the budget."""
        return self._operations

    def reset_operations(self) -> None:
        """Count operations from 0."""
        if self.is_open:
            self.opened.reset_operations()


class _Query(local):
    """What a thread asks: its ISL context, whether a question is open, and one about a divisor."""

    def __init__(self) -> None:
        self.is_open = self.is_divided = False
        self.context = LateContext()


_QUERY = _Query()


@contextmanager
def isl_budget(operations: int | None = None) -> Iterator[Any]:
    """Yield the thread's ISL context with a budget, which questions inside a question share."""
    allowed = ISL_OPERATIONS
    if operations is not None:
        why = "it is a number of ISL operations"
        allowed = as_int(operations, "budget", 1, ISL_OPERATIONS_END, why=why)
    outermost = not _QUERY.is_open
    context = _QUERY.context
    if outermost:
        context.reset_operations()
        context.set_max_operations(allowed)
        _QUERY.is_open = True
    try:
        yield context
    finally:
        _QUERY.is_open = not outermost


def is_asking() -> bool:
    """Return whether a question of this thread is open."""
    return _QUERY.is_open


def ask_isl(claim: str) -> Callable[[Decide], Decide]:
    """Give a decision an ISL context, with a budget past which it is undecided."""

    def decorate(decide: Decide) -> Decide:
        @wraps(decide)
        def ask(*about: Any, budget: int | None = None) -> Proof:
            maps = [m for m in about if isinstance(m, CoordinateMap)]
            recipes = [m.recipe for m in maps if m.recipe is not None]
            with isl_budget(budget) as context:
                try:
                    answer = decide(*about, context=context)
                except (NotInstalledError, NotAffineError) as error:
                    answer = Proof(claim, None, f"{error.what}: {error.why}")
                except Exception as error:
                    if not context.is_open or not isinstance(error, isl.Error):
                        raise
                    if not _is_spent(context.opened):
                        raise
                    spent = context.get_max_operations()
                    answer = Proof(claim, None, f"ISL spent its budget of {spent} operations")
            stated = [one for m in maps for one in m.assumptions]
            required = [pair for recipe in recipes for pair in recipe.requires]
            symbols = {name: x for m in maps for name, x in m.size_symbols.items()}
            if not stated and not required and not symbols:
                return answer
            assumed = meet_all(stated)
            more = (str(one) for one in assumed if one != Assumption(one.name))
            texts = (f"{n} >= {m}" for n, m in required if not _is_assumed(n - m, assumed))
            facts = dict.fromkeys((*more, *answer.assumptions, *texts))
            return replace(answer, assumptions=tuple(facts), size_symbols=symbols)

        return ask

    return decorate


def require_few(*recipes: Recipe, splits: bool = True) -> None:
    """Refuse to relate by ISL more axes, or to compare more splits, than it does in good time."""
    axes = max(len(r.shape) + len(r.physical_shape) for r in recipes)
    many = f"more than {PROOF_AXES} axes to relate" if axes > PROOF_AXES else ""
    if splits and max(len(_splits(r)) for r in recipes) > PROOF_SPLITS:
        many = many or f"more than {PROOF_SPLITS} splits to compare"
    if many:
        raise NotAffineError(many, "ISL's work grows with them", "ask about fewer dimensions")


def _is_assumed(value: Int, assumptions: Iterable[Assumption]) -> bool:
    """Return whether a number is at least 0 if assumed sizes have their least and largest value."""
    if isinstance(value, int):
        return value >= 0
    ends = {one.name: one for one in assumptions}
    total: Int = 0
    for monomial, c in value.terms:
        term: Int = SizeExpr(((monomial, c),))
        if len(monomial) == 1 and monomial[0][0] in ends:
            one = ends[str(monomial[0][0])]
            end = one.lo if c > 0 else one.hi
            term = term if end is None else c * end ** monomial[0][1]
        total = total + term
    return is_nonnegative(total)


def _is_spent(context: isl.Context) -> bool:
    """Return whether a budget is spent: then nothing can be made; ISL's messages do not tell."""
    try:
        isl.Val.int_from_si(context, 1)
    except isl.Error:
        return True
    return False


def _splits(recipe: Recipe) -> list[tuple[Int, Int]]:
    """Return the sizes of the axes that a recipe splits, and by what, but by 1."""
    steps = zip(recipe.steps, recipe.shapes, strict=False)
    tiles = ((sizes, step.tiles) for step, sizes in steps if isinstance(step, Split))
    pairs = (pair for both in tiles for pair in zip(*both, strict=True))
    return [(n, t) for n, t in pairs if t is not None and t != 1]


def names_of(*maps: AnyMap) -> tuple[str, ...]:
    """Return the names of symbolic sizes in the order of the shapes."""
    symbolic = (n for m in maps for n in m.sizes if not isinstance(n, int))
    others = (name for m in maps for name in m.size_names)  # such as a pitch
    names = (name for n in symbolic for name in sorted(n.names()))
    return tuple(dict.fromkeys((*names, *others)))


@frozen(slots=False)
class SymbolicQuestion:
    """A claim about maps with symbolic sizes, decided by asking at numbers too."""

    claim: str  #: the claim.
    #: the maps that it is about, or values that know their sizes, assumptions and symbols, and that
    #: have a method ``at``.
    maps: Sequence[Any]
    decide: Decide  #: decides the claim.
    #: says what disproves it for maps of numbers, as a verb and its object.
    effect: Callable[[Sequence[Any], Proof], str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sizes."""
        return names_of(*self.maps)

    def at(self, sizes: Mapping[str, int]) -> tuple[Proof, SymbolicCounterexample | None]:
        """Return the proof at given sizes, and a counterexample if it is disproved there."""
        maps = [
            m.steps_at(sizes)
            if isinstance(m, IndexMap)
            else m.at(**{name: sizes[name] for name in names_of(m)})
            for m in self.maps
        ]
        proof = self.decide(*maps)
        if proof.holds is not False:
            return proof, None
        effect = self.effect(maps, proof)
        return proof, SymbolicCounterexample(sizes, proof.counterexample, effect)

    def answer(self, proved: SizeSet, reason: str, undecided: isl.Set | None = None) -> Proof:
        """Return the proof for all sizes, with the first sizes that are known to fail."""
        left = isl.Set.empty(proved.sizes.get_space()) if undecided is None else undecided
        if undecided is not None:
            proved, left = self._decide_single_sizes(proved, undecided)
        condition = proved.condition(*self.maps)
        if condition.is_always:
            return Proof(self.claim, True, reason, condition=condition)
        space, is_all = proved.space, left.is_empty()
        failing = space.sizes.subtract(proved.sizes)
        failing = failing if is_all else failing.subtract(left)
        sizes = first_sizes(failing, space, self.names)
        if sizes is None:
            # ISL takes products of sizes for independent: the other sizes may not exist.
            reason = f"proved if {condition}, and no other sizes were found"
            return Proof(self.claim, None, reason)
        concrete, found = self.at(sizes)
        if found is None:
            # The question for numbers checks the condition independently.
            reason = f"proved if {condition}, but not disproved at {sizes_text(sizes)}"
            return Proof(self.claim, None, f"{reason}: {concrete.reason}")
        if is_all:
            return Proof(self.claim, False, str(found), counterexample=found, condition=condition)
        certain = "" if condition.is_never else f"proved if {condition}, "
        return Proof(self.claim, False, f"{certain}open for other sizes", counterexample=found)

    def _decide_single_sizes(self, proved: SizeSet, undecided: isl.Set) -> tuple[SizeSet, isl.Set]:
        """Return what is proved and undecided after asking about some undecided sizes."""
        for _ in range(PROOF_OPEN_SIZES):
            sizes = first_sizes(undecided, proved.space, self.names)
            holds = None if sizes is None else self.at(sizes)[0].holds
            if sizes is None or holds is None:
                break
            point = point_of(sizes, proved.space)
            undecided = undecided.subtract(point)
            if holds:
                proved = replace(proved, sizes=proved.sizes.union(point))
        return proved, undecided

    def sample(self, undecided: Proof) -> Proof:
        """Look for a counterexample at small sizes, and for a divisor that makes the claim hold."""
        if not self.names:
            return undecided
        certain = self._proved_if_divisible()
        assumed = meet_all(one for m in self.maps for one in m.assumptions)
        for sizes in islice(small_sizes(self.names, assumed), PROOF_SAMPLES):
            found = None
            with suppress(ShapeError):  # a pitch that has no room for a row
                _, found = self.at(sizes)
            if found is not None:
                return replace(
                    undecided,
                    holds=False,
                    reason=f"{certain}open for other sizes",
                    decider="ISL at sampled sizes",
                    counterexample=found,
                )
        return replace(undecided, reason=f"{certain}{undecided.reason}")

    def _proved_if_divisible(self) -> str:
        """Return that the claim holds if some tile divides some size, or nothing."""
        if any(getattr(m, "recipe", None) is None for m in self.maps):
            return ""
        if _QUERY.is_divided:  # asked for a divisor: the verdict is wanted, and no other divisors
            return ""
        _QUERY.is_divided = True
        try:
            return self._proved_by_a_divisor(self.maps)
        finally:
            _QUERY.is_divided = False

    def _proved_by_a_divisor(self, recipes: Sequence[IndexMap]) -> str:
        order = list(dict.fromkeys(name for m in recipes for name in m.recipe.names))
        pairs = {(order.index(x), t) for m in recipes for n, t in _splits(m.recipe)
                 if isinstance(n, SizeExpr) and isinstance(t, int) for x in n.names()}  # fmt: skip
        for k, tile in sorted(pairs)[:PROOF_DIVISORS]:
            name = order[k]
            with suppress(ShapeError):  # no such size is left
                divided = [m.assume([Assumption(name, divisor=tile)]) for m in recipes]
                is_new = [n.assumptions for n in divided] != [m.assumptions for m in recipes]
                if is_new and self.decide(*divided).holds:
                    return f"proved if {tile} | {name}, "
        return ""


def small_sizes(
    names: Sequence[str], assumptions: Iterable[Assumption], reach: int = PROOF_SAMPLES - 1
) -> Iterator[dict[str, int]]:
    """Yield the assumed sizes in growing boxes, each box in lexicographic order.

    >>> [*small_sizes(["N"], [Assumption("N", divisor=8)], 3)]
    [{'N': 8}, {'N': 16}, {'N': 24}]
    """
    assumed = {one.name: one for one in assumptions}
    values = [small_values(assumed.get(name, Assumption(name)), reach) for name in names]
    for box in range(reach):
        for steps in product(*(range(len(each[: box + 1])) for each in values)):
            if max(steps, default=0) == box:
                yield {n: each[k] for n, each, k in zip(names, values, steps, strict=True)}


def offsets_by_columns(m: AnyMap, places: list[tuple[int, ...]]) -> list[Any]:
    """Return the offsets at coordinates, in Python's integers."""
    at: Any = [Column(line) for line in zip(*places, strict=True)]
    if m.recipe is not None:
        return filled(offset_of(m.recipe, at, 0), len(places)) if places else []
    names = {f"d{k}": x for k, x in enumerate(at)}
    lines = [filled(form.evaluate(names), len(places)) for form in m.given]
    return lines[0] if len(lines) == 1 else list(zip(*lines, strict=True))
