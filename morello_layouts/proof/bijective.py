"""Decide whether a map is injective, surjective, bijective, by the first way that applies.

A way knows a kind of map. It says whether two coordinates share an offset and, if none do, whether
each slot holds an element. That is all that differs between kinds: bijective is both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from math import prod
from typing import Any, Final, cast

from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import NotInstalledError
from morello_layouts.core.limits import ISL_OPINION, ISL_QUOTIENTS, PROOF_COUNTED, PROOF_ELEMENTS
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.core.recipe import Pad, Recipe, has_inverse, known, linear_index, offset_of
from morello_layouts.core.recipe.views import with_replicas_as_dims, without_xors
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.proof.ask import (
    AnyMap,
    SymbolicQuestion,
    ask_isl,
    names_of,
    offsets_by_columns,
    require_few,
)
from morello_layouts.proof.comparison import (
    DIGITS,
    DIGITS_AND_ISL,
    as_layout,
    confirmed,
    has_symbolic_tiles,
    is_placed_by_steps,
    judge_formulas_too,
)
from morello_layouts.proof.conditions import SizeSet, divides, divisors, tile_of
from morello_layouts.proof.elements import (
    INJECTIVE,
    SURJECTIVE,
    collision,
    enumerated_is_injective,
    enumerated_is_surjective,
    first_padding,
    formula_is_injective,
    full_buffer,
    is_inside,
    outside_buffer,
    padded,
    sampled,
)
from morello_layouts.proof.isl import NotAffineError, Space, at_least, first_point, union
from morello_layouts.proof.library import isl
from morello_layouts.proof.relations import RecipeRelation, parameters_of, relations_of
from morello_layouts.proof.verdict import (
    ALL_SIZES,
    NO_SIZES,
    Condition,
    Proof,
    SymbolicCounterexample,
)

BIJECTIVE: Final = "bijective"


@judge_formulas_too
def is_injective(m: AnyMap, *, budget: int | None = None, confirm: bool = False) -> Proof:
    """Decide whether no two coordinates share an offset.

    Args:
        m: the map.
        budget: ISL operations after which the answer is undecided.
        confirm: whether ISL is asked too for what digits decide, as of all three questions.
    """
    return _decided(INJECTIVE, m, budget, confirm)


@judge_formulas_too
def is_surjective(m: AnyMap, *, budget: int | None = None, confirm: bool = False) -> Proof:
    """Decide whether every slot of the buffer holds an element: there is no padding."""
    _require_buffer(m)
    return _decided(SURJECTIVE, m, budget, confirm)


@judge_formulas_too
def is_bijective(m: AnyMap, *, budget: int | None = None, confirm: bool = False) -> Proof:
    """Decide whether a map is injective and surjective.

    A proof that fails because of padding still says that the map is injective, counts the padding,
    and gives its smallest slot.
    """
    _require_buffer(m)
    answer = _decided(BIJECTIVE, m, budget, confirm)
    # A decision that stays open refutes maps that are not surjective, of whatever kind.
    onto = answer
    if answer.holds is None:
        onto = is_surjective(m, budget=budget, confirm=confirm)
    if onto.holds is not False or onto is answer:
        return answer
    if onto.condition is None or onto.condition.is_never:
        return replace(onto, claim=BIJECTIVE)
    # The exact sizes are those of both halves, and one is open.
    reason = f"{onto.verdict}, and open whether injective"
    return replace(onto, claim=BIJECTIVE, reason=reason, condition=None)


def _decided(claim: str, m: AnyMap, budget: int | None, confirm: bool) -> Proof:
    """Return the answer of the first way that applies; with ISL's opinion too of one by digits."""
    answer = _ASK[claim](m, WAYS, budget=budget)
    if not confirm or answer.decider != DIGITS or m.recipe is None:
        return answer
    plain = without_xors(with_replicas_as_dims(m.recipe))  # what ISL reads
    judged: AnyMap = m
    if plain != m.recipe and isinstance(m, IndexMap):
        judged = replace(m, recipe=plain, origin=None)
    # No layout with replicas is bijective: ISL is asked whether their places differ.
    own, expected = (claim, answer) if m.replicas == 1 else (INJECTIVE, is_injective(judged))
    return confirmed(answer, expected, _ASK[own](judged, JUDGES, budget=budget or ISL_OPINION))


def _first_answer(
    claim: str, m: AnyMap, ways: Sequence[type[Way]], *, context: isl.Context
) -> Proof:
    """Return the answer of the first way that applies, and whose libraries are installed."""
    missing: NotInstalledError | None = None
    for way in ways:
        subject = way(m, context)
        if subject.applies:
            try:
                found: Proof = getattr(subject, claim)()
            except NotInstalledError as error:
                missing = missing or error
            except NotAffineError:  # such as an exclusive or before a pad: few are counted
                counted = ByScattered(m, context)
                if m.recipe is None or m.replicas != 1 or not (counted.few or names_of(m)):
                    raise
                return cast(Proof, getattr(counted, claim)())
            else:
                return found if found.claim == claim else replace(found, claim=claim)
    raise missing or AssertionError("a bug: some way applies to each map")


@frozen
class Way(ABC):
    """A way to decide about a map, for one kind of map."""

    m: Any  #: the map; ``applies`` says whether it is one of this kind.
    context: Any  #: ISL's context.

    @property
    @abstractmethod
    def applies(self) -> bool:
        """Whether the map is of this kind."""

    @abstractmethod
    def injective(self) -> Proof:
        """Decide whether no two coordinates share an offset."""

    @abstractmethod
    def surjective(self) -> Proof:
        """Decide whether each slot holds an element."""

    def bijective(self) -> Proof:
        """Decide both, for a map that is injective for all sizes or for none."""
        one = self.injective()
        if not one.holds:
            reason = one.reason if one.holds is None else f"not injective, {one.reason}"
            return replace(one, reason=reason)
        other = self.surjective()
        reason = f"injective, {'and' if other.holds else 'but'} {other.reason}"
        return replace(other, reason=reason)


class ByFormula(Way):
    """A formula without steps: by steps that give it, by its terms, or at each element."""

    @property
    def applies(self) -> bool:
        return self.m.recipe is None

    @cached_property
    def layout(self) -> IndexMap | None:
        return as_layout(self.m, self.context)

    def injective(self) -> Proof:
        if self.layout is not None:
            return replace(is_injective(self.layout), decider=DIGITS_AND_ISL)
        return formula_is_injective(self.m, self.context)

    def surjective(self) -> Proof:
        m, fits = self.m, is_inside(self.m, self.context)
        if self.layout is not None and fits:
            return replace(is_surjective(self.layout), decider=DIGITS_AND_ISL)
        elements = prod(m.sizes)
        if fits and m.buffer_size == elements and self.injective().holds:
            reason = f"all {elements} slots hold an element: as many, none outside, none shared"
            return Proof(SURJECTIVE, True, reason, DIGITS_AND_ISL, unused=0)
        if names_of(m):
            return sampled(m, SURJECTIVE, enumerated_is_surjective)
        if max(known((elements, m.buffer_size))) > PROOF_ELEMENTS:
            if is_nonnegative(m.buffer_size - elements - 1):
                reason = f"{elements} elements do not fill {m.buffer_size} slots"
                return Proof(SURJECTIVE, False, reason, "counting")
            reason = f"its terms are not nested digits, and more than {PROOF_ELEMENTS} elements"
            return Proof(SURJECTIVE, None, reason)
        return enumerated_is_surjective(m)


class ByDigits(Way):
    """A layout whose steps keep elements apart: each moves digits, and pads add slots.

    So it is injective, and onto if no pad adds a slot. An xor permutes the places along one axis,
    and so adds none.
    """

    @property
    def applies(self) -> bool:
        return self.m.recipe is not None and is_placed_by_steps(self.m)

    def injective(self) -> Proof:
        if 0 in self.m.recipe.shape:
            return Proof(INJECTIVE, True, "the array is empty", decider="")
        reason = f"no two coordinates share an offset{self._places}"
        return Proof(INJECTIVE, True, reason, DIGITS, condition=_always(self.m))

    def surjective(self) -> Proof:
        recipe = self.m.recipe
        padding = recipe.size - prod(recipe.shape) * recipe.replicas
        if padding == 0 and recipe.size != 0:
            if recipe.replicas == 1 and isinstance(recipe.size, int):
                return full_buffer(recipe.size, DIGITS)
            reason, condition = f"every slot holds an element{self._places}", _always(self.m)
            return Proof(SURJECTIVE, True, reason, DIGITS, condition=condition, unused=0)
        if 0 in recipe.shape:
            full = Proof(SURJECTIVE, True, "the buffer is empty", decider="", unused=0)
            return full if padding == 0 else padded(padding, padding, 0, "")
        if recipe.names:
            return self._surjective_for(padding)
        first = first_padding(recipe)
        if first is None and recipe.replicas == 1:
            with suppress(UnsupportedError, isl.Error):
                return ByRelations(self.m, self.context).surjective()
        return padded(padding, recipe.size, first, DIGITS)

    def bijective(self) -> Proof:
        onto = self.surjective()
        if self.m.recipe.replicas == 1:
            joint = "and" if onto.holds else "but"
            return replace(onto, claim=BIJECTIVE, reason=f"injective, {joint} {onto.reason}")
        reason = self._places.removeprefix(", and ") + (
            "" if onto.holds else f", and {onto.reason}"
        )
        condition = NO_SIZES if self.m.recipe.names else None
        return replace(onto, claim=BIJECTIVE, holds=False, reason=reason, decider=DIGITS,
                       counterexample=None, condition=condition)  # fmt: skip

    @property
    def _places(self) -> str:
        count = self.m.recipe.replicas
        return "" if count == 1 else f", and each element is on exactly {count} places"

    def _surjective_for(self, padding: Int) -> Proof:
        """Decide for symbolic sizes: each pad adds no slot if its tile divides what it pads."""
        m, recipe = self.m, self.m.recipe
        steps = zip(recipe.steps, recipe.shapes, strict=False)
        pads = [pair for step, before in steps if isinstance(step, Pad)
                for pair in zip(before, step.sizes, strict=True) if pair[0] != pair[1]]  # fmt: skip
        facts = [(tile_of(*pair), pair[0]) for pair in pads]
        is_cut = any(isinstance(step, Pad) and step.cut for step in recipe.steps)
        is_open = recipe.requires or is_cut
        condition = None if is_open else self._condition(facts, padding)
        if condition is not None:
            first = recipe.at(sizes := _least(m))
            slots, left = known((first.size, first.size - prod(first.shape) * first.replicas))
            if left:
                effect = f"leaves {left} of {slots} slots empty"
                at = SymbolicCounterexample(sizes, first_padding(first), effect)
                return Proof(SURJECTIVE, False, str(at), DIGITS, at, condition, padding)
        if not has_symbolic_tiles(m):
            plain = without_xors(with_replicas_as_dims(recipe))
            of_plain = m if plain == recipe else replace(m, recipe=plain, origin=None)
            return ByRelations(of_plain, self.context).surjective()
        if _has_ends(recipe):
            reason = "the padding at the ends depends on the tiles"
            return Proof(SURJECTIVE, None, reason, unused=padding)
        unknown = Proof(SURJECTIVE, None, "no small sizes have padding", unused=padding)
        found = SymbolicQuestion(SURJECTIVE, (m,), is_surjective, _effect).sample(unknown)
        condition = divides(facts, m)
        if found.holds is None or condition is None:
            return found
        at = found.counterexample
        return Proof(SURJECTIVE, False, str(at), DIGITS, at, condition, padding)

    def _condition(self, facts: Sequence[tuple[Int | None, Int]], padding: Int) -> Condition | None:
        """Return the sizes for which no pad adds a slot, if they are those that numbers divide."""
        is_always_padded = any(t is None and isinstance(n, int) for t, n in facts)
        if is_always_padded or is_nonnegative(padding - 1):
            return NO_SIZES
        found = None if _has_ends(self.m.recipe) else divisors(facts, self.m.assumptions)
        return None if not found else divides([(t, n) for n, t in found.items()], self.m)


class ByScattered(Way):
    """A layout without an inverse, whose elements may share slots: at each element, or counted."""

    @property
    def applies(self) -> bool:
        return self.m.recipe is not None and not has_inverse(self.m.recipe)

    @property
    def few(self) -> bool:
        recipe = self.m.recipe
        return not recipe.names and max(known((prod(recipe.shape), recipe.size))) <= PROOF_ELEMENTS

    @property
    def own(self) -> AffineMap:
        recipe = self.m.recipe
        form = offset_of(recipe, coordinate_variables(recipe.shape), AffineExpr((), 0))
        own: AffineMap = self.m.affine_map
        return replace(own, given=(form,))

    def injective(self) -> Proof:
        if self.few:
            return enumerated_is_injective(self.own)
        try:
            return ByRelations(self.m, self.context).injective()
        except NotAffineError as error:  # such as a pitch by name
            return self._sampled(INJECTIVE, enumerated_is_injective, error)

    def surjective(self) -> Proof:
        if self.few:
            return enumerated_is_surjective(self.own)
        try:
            padding = self.m.unused
        except UnsupportedError as error:
            return self._sampled(SURJECTIVE, enumerated_is_surjective, error)
        if not isinstance(padding, int):
            found = sampled(self.own, SURJECTIVE, enumerated_is_surjective)
            return replace(found, unused=padding)
        reason = "every slot holds an element" if padding == 0 else f"{padding} slots are padding"
        return Proof(SURJECTIVE, padding == 0, reason, DIGITS, unused=padding)

    def bijective(self) -> Proof:
        if self.few:
            return super().bijective()
        try:
            return ByRelations(self.m, self.context).bijective()
        except UnsupportedError:  # a pitch by name, or no inverse formula
            return super().bijective()

    def _sampled(
        self, claim: str, decide: Callable[[AffineMap], Proof], why: UnsupportedError
    ) -> Proof:
        """Look for small sizes at which a claim fails, which is open for others."""
        reason = f"{why.what}: {why.why}"
        found = sampled(self.own, claim, decide) if names_of(self.m) else Proof(claim, None, "")
        return found if found.holds is False else Proof(claim, None, reason)


class ByRelations(Way):
    """A layout as ISL's relation between coordinates and slots, with the recipe's inverse."""

    @property
    def applies(self) -> bool:
        return self.m.recipe is not None

    @cached_property
    def relations(self) -> list[RecipeRelation]:
        return relations_of(self.m, self.context)

    @cached_property
    def whole(self) -> list[RecipeRelation]:
        return relations_of(self.m, self.context, most=None)

    def injective(self) -> Proof:
        return self._injective

    @cached_property
    def _injective(self) -> Proof:
        terms = self.m.reference_form.terms if self.m.recipe.names else ()
        if not any(atom.operands for atom, _ in terms):
            return self._injective_within
        allowed = self.context.get_max_operations()
        share = allowed // ISL_QUOTIENTS
        try:
            self.context.set_max_operations(share)
            return self._injective_within
        except isl.Error as error:
            what = "quotients of sizes by name, which share offsets"
            why = f"ISL spent its budget of {share} operations"
            raise NotAffineError(what, why, "ask at given sizes") from error
        finally:
            self.context.set_max_operations(allowed)

    @cached_property
    def _injective_within(self) -> Proof:
        if prod(self.m.recipe.shape) == 0:
            return Proof(INJECTIVE, True, "the array is empty", decider="")
        reason, shape = "no two coordinates share an offset", self.m.recipe.shape
        for one in self.relations:
            pairs = one.collisions
            if pairs is None:
                continue
            if self.m.recipe.names:
                sizes = one.space.sizes.subtract(pairs.params())
                question = SymbolicQuestion(INJECTIVE, (self.m,), _judged(INJECTIVE), _effect)
                return question.answer(SizeSet(sizes, one.space), reason)
            if one.space.shape != shape:  # merged, or after other relations
                pairs = next(x.collisions for x in self.whole if x.collisions is not None)
            point, rank = first_point(pairs), len(shape)
            return collision(point[:rank], point[rank:], "an offset", "ISL")
        return Proof(INJECTIVE, True, reason, condition=_always(self.m))

    def bijective(self) -> Proof:
        condition = self.injective().condition
        if condition is None or not condition.depends:
            return super().bijective()
        return self._bijective_for(condition)

    def _bijective_for(self, condition: Condition) -> Proof:
        """Decide for a map that is injective for some sizes: there, as many slots as elements."""
        m, injective = self.m, self.injective()
        if ByScattered(m, self.context).surjective().holds:
            return injective
        elements = prod(m.recipe.shape)
        parameters = parameters_of([m.recipe, Recipe((elements,))], m.assumptions)
        one = RecipeRelation(m.recipe, Space.of(m.recipe.shape, self.context, parameters))
        if one.collisions is None or not one.outside.is_empty():
            reason = f"injective iff {condition}, and open whether every slot holds an element"
            return replace(injective, reason=reason, condition=None)
        full = one.space.number(m.recipe.size - elements).to_pw_aff().zero_set().params()
        both = one.space.sizes.subtract(one.collisions.params()).intersect(full)
        question = SymbolicQuestion(BIJECTIVE, (m,), _judged(BIJECTIVE), _effect)
        reason = "as many slots as elements, and none shared"
        return question.answer(SizeSet(both, one.space), reason)

    def surjective(self) -> Proof:
        m, recipe, injective = self.m, self.m.recipe, self.injective()
        require_few(recipe)
        if not injective.holds:
            reason = f"padding is only counted for injective maps; here {injective.reason}"
            return Proof(SURJECTIVE, None, reason)
        if prod(recipe.shape) == 0:
            full = Proof(SURJECTIVE, True, "the buffer is empty", decider="", unused=0)
            return full if m.unused == 0 else padded(m.unused, m.unused, 0, "")
        inner = self.relations[:-1] if not recipe.names else ()
        has_padding = not all(one.outside.is_empty() and one.padding.is_empty() for one in inner)
        relations = self.whole if has_padding else self.relations
        for one in relations:
            if not one.outside.is_empty():
                at = None if recipe.names else first_point(self.whole[0].outside)
                reason = f"{'an element' if at is None else at} is outside the buffer"
                return Proof(SURJECTIVE, False, reason, counterexample=at)
            if one.inverse_is_wrong:
                wrong = (
                    "the recipe's inverse takes an element for padding, or padding for an element"
                )
                return Proof(SURJECTIVE, None, wrong)
        if recipe.names:
            return self._surjective_for(relations)
        size, elements = known((recipe.size, prod(recipe.shape)))
        if size == elements:
            return full_buffer(size)
        one = relations[-1]  # of several, the others have no padding
        first = first_padding(recipe)
        if first is None:
            start, tail = known((recipe.offset, recipe.tail_padding))
            first = size - tail
            if not one.padding.is_empty():
                at = first_point(one.padding)
                first = linear_index(at, known(one.recipe.physical_shape), start)
        return padded(size - elements, size, first)

    def _surjective_for(self, relations: Sequence[RecipeRelation]) -> Proof:
        """Decide for symbolic sizes: padding is in the relations, or at an end of the buffer."""
        space, recipe = relations[0].space, self.m.recipe
        failing = [one.padding.subtract(one.cut).params() for one in relations]
        tail = recipe.tail_padding if is_nonnegative(recipe.tail_padding) else _after_last(recipe)
        failing += [at_least(space.number(n), 1).params() for n in (recipe.offset, tail)]
        holds = space.sizes.subtract(union(failing, space.sizes.get_space()))
        question = SymbolicQuestion(SURJECTIVE, (self.m,), _judged(SURJECTIVE), _effect)
        answer = question.answer(SizeSet(holds, space), "every slot holds an element")
        return replace(answer, unused=self.m.unused)


class ByCounting(Way):
    """A small map where ISL or NumPy is not installed: each element, in Python's integers."""

    @property
    def applies(self) -> bool:
        m = self.m
        if names_of(m) or m.replicas != 1:
            return False
        return max(known((prod(m.sizes), m.buffer_size or 0))) <= PROOF_COUNTED

    @cached_property
    def _places(self) -> list[tuple[tuple[int, ...], Any]]:
        places = list(product(*map(range, known(self.m.sizes))))
        return list(zip(places, offsets_by_columns(self.m, places), strict=True))

    def injective(self) -> Proof:
        holder: dict[Any, tuple[int, ...]] = {}
        for at, offset in self._places:
            if (first := holder.setdefault(offset, at)) != at:
                return collision(first, at, "an offset", "counting")
        reason = "no two coordinates share an offset"
        return Proof(INJECTIVE, True, reason, "counting")

    def surjective(self) -> Proof:
        held, (slots,) = {p for _, p in self._places}, known((self.m.buffer_size or 0,))
        outside = next((at for at, p in self._places if not 0 <= p < slots), None)
        if outside is not None:
            return outside_buffer(outside, "counting")
        first = next((p for p in range(slots) if p not in held), None)
        if first is None:
            return full_buffer(slots, "counting")
        return padded(slots - len(held), slots, first, "counting")


JUDGES: Final = (ByFormula, ByScattered, ByRelations, ByCounting)
"""The ways that ask ISL, and those for what it does not read."""

WAYS: Final = (ByDigits, *JUDGES)
"""The ways in the order in which they are tried; the next one if a library is not installed."""

_ASK: Final = {
    claim: ask_isl(claim)(partial(_first_answer, claim))
    for claim in (INJECTIVE, SURJECTIVE, BIJECTIVE)
}


def _judged(claim: str) -> Callable[[AnyMap], Proof]:
    """Return the question to ISL's ways alone: it judges what digits say."""
    return lambda m: _ASK[claim](m, JUDGES)


def _always(m: AnyMap) -> Condition | None:
    return ALL_SIZES if names_of(m) else None


def _effect(maps: Sequence[Any], proof: Proof) -> str:
    if isinstance(proof.counterexample, tuple):
        return f"gives {proof.counterexample[0]} and {proof.counterexample[1]} one offset"
    return f"leaves {proof.unused} of {maps[0].size} slots empty"


def _after_last(recipe: Recipe) -> Int:
    """Return the slots after the last element, for a buffer that ends within the axes.

    If no corner of the array is known to be that element, return all slots without an element.
    """
    variables, zero = coordinate_variables(recipe.shape), AffineExpr((), 0)
    largest = canonicalize(offset_of(recipe, variables, zero)).interval.hi
    corner = [AffineExpr((), n - 1) for n in recipe.shape]
    last = canonicalize(offset_of(recipe, corner, zero)).interval
    if largest is not None and last.lo == last.hi == largest:
        return recipe.size - 1 - largest
    return recipe.size - prod(recipe.shape)


def _require_buffer(m: AnyMap) -> None:
    """Raise ShapeError if the size of the buffer is unknown, or slots are several numbers."""
    if m.buffer_size is None:
        raise ShapeError(
            "the map has no buffer",
            "a map is surjective if it reaches every slot, so their number matters",
            'give "size" with the shape: from_sympy({"shape": …, "size": 24}, …)',
        )
    if len(m.given) != 1:
        raise ShapeError(
            f"a slot of a buffer: expected one number, got {len(m.given)}",
            "a slot of a buffer has one offset",
            "compose the map with the index map of the array that it leads into",
        )


def _least(m: IndexMap) -> dict[str, int]:
    """Return the smallest sizes."""
    assumed = {one.name: one for one in m.assumptions}
    return {name: assumed.get(name, Assumption(name)).lo for name in names_of(m)}


def _has_ends(recipe: Recipe) -> bool:
    """Return whether there are slots before the axes or behind them."""
    return bool(recipe.tail_padding != 0 or recipe.offset != 0)
