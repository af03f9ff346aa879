"""Decide whether a map is injective, surjective, bijective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from itertools import islice
from math import prod
from typing import Any, Final

from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.expr.sizes import Int, absolute, is_nonnegative, magnitude
from morello_layouts.lazy import numpy as np
from morello_layouts.limits import (
    PROOF_ELEMENTS,
    PROOF_FIRST,
    PROOF_FORMULA_SAMPLES,
    PROOF_FORMULA_SIZE,
)
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof import named_tiles, swizzled
from morello_layouts.proof.ask import (
    AnyMap,
    SymbolicQuestion,
    ask_isl,
    counted_without_isl,
    names_of,
    small_sizes,
)
from morello_layouts.proof.conditions import SizeSet
from morello_layouts.proof.formulas import about_formulas, first_difference, separable
from morello_layouts.proof.isl import (
    NotAffineError,
    Space,
    at_least,
    coordinates_of,
    first_point,
    relation,
    union,
    value_of_form,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.relations import RecipeRelation, parameters_of, relations_of
from morello_layouts.proof.separable import is_increasing
from morello_layouts.proof.verdict import ALL_SIZES, Proof, SymbolicCounterexample
from morello_layouts.recipe import Recipe, has_inverse, known, linear_index, offset_of
from morello_layouts.recipe.recognize import recipe_of_coordinates, recipe_of_formula

INJECTIVE: Final = "injective"
SURJECTIVE: Final = "surjective"
BIJECTIVE: Final = "bijective"


@about_formulas
@ask_isl(INJECTIVE, bounded_by_splits=False)
@counted_without_isl
def is_injective(m: AnyMap, *, context: isl.Context) -> Proof:
    """Decide whether no two coordinates share an offset."""
    if isinstance(m, AffineMap):
        layout = as_layout(m, context)
        if layout is None:
            return _formula_is_injective(m, context)
        return replace(is_injective(layout), decider=_DIGITS)
    if swizzled.is_placed_by_steps(m):
        return swizzled.is_injective(INJECTIVE, m)
    if _is_enumerable(m):
        return _enumerated_is_injective(_by_recipe(m))
    if named_tiles.has_named_tiles(m):
        return named_tiles.is_injective(INJECTIVE, m)
    return _is_injective(m, relations_of(m, context))


@about_formulas
@ask_isl(SURJECTIVE)
@counted_without_isl
def is_surjective(m: AnyMap, *, context: isl.Context) -> Proof:
    """Decide whether every slot of the buffer holds an element: there is no padding."""
    if isinstance(m, AffineMap):
        _require_buffer(m)
        layout = as_layout(m, context)
        if layout is None or not _is_inside(m, context):
            return _formula_is_surjective(m, context)
        return replace(is_surjective(layout), decider=_DIGITS)
    if swizzled.is_placed_by_steps(m):
        return swizzled.is_surjective(SURJECTIVE, m, is_surjective)
    if not has_inverse(m.recipe):
        return _scattered_is_surjective(m)
    if named_tiles.has_named_tiles(m):
        return named_tiles.is_surjective(SURJECTIVE, m, is_surjective)
    relations = relations_of(m, context)
    injective = _is_injective(m, relations)
    if not injective.holds:
        reason = f"padding is counted of injective maps only, and {injective.reason}"
        return Proof(SURJECTIVE, None, reason)
    return _is_surjective(m, relations)


def _or_not_onto(decide: Callable[..., Proof]) -> Callable[..., Proof]:
    """Make a decision that stays open refute maps that are not surjective, of whatever kind."""

    @wraps(decide)
    def ask(m: AnyMap, *, budget: int | None = None) -> Proof:
        answer = decide(m, budget=budget)
        onto = is_surjective(m, budget=budget) if answer.holds is None else answer
        if onto.holds is not False or onto is answer:
            return answer
        if onto.condition is None or onto.condition.is_never:
            return replace(onto, claim=BIJECTIVE, judged=answer.judged)
        # The exact sizes are those of both halves, and one is open.
        reason = f"{onto.verdict}, and open whether injective"
        return replace(onto, claim=BIJECTIVE, reason=reason, condition=None, judged=answer.judged)

    return ask


@_or_not_onto
@about_formulas
@ask_isl(BIJECTIVE)
@counted_without_isl
def is_bijective(m: AnyMap, *, context: isl.Context) -> Proof:
    """Decide whether a map is injective and surjective.

    A proof that fails because of padding still says that the map is injective, counts the padding,
    and gives its smallest slot.
    """
    if isinstance(m, AffineMap):
        _require_buffer(m)
        layout = as_layout(m, context)
        if layout is not None and _is_inside(m, context):
            return replace(is_bijective(layout), decider=_DIGITS)
        injective = _formula_is_injective(m, context)
        return _both(injective, lambda: _formula_is_surjective(m, context))
    if swizzled.is_placed_by_steps(m):
        return swizzled.is_bijective(BIJECTIVE, m, is_surjective)
    if _is_enumerable(m):
        injective = _enumerated_is_injective(_by_recipe(m))
        return _both(injective, lambda: _scattered_is_surjective(m))
    if named_tiles.has_named_tiles(m):
        injective = named_tiles.is_injective(INJECTIVE, m)
        return _both(injective, lambda: named_tiles.is_surjective(BIJECTIVE, m, is_bijective))
    relations = relations_of(m, context)
    injective = _is_injective(m, relations)
    if injective.condition is not None and injective.condition.depends:
        return _both_for_sizes(m, injective, context)
    return _both(injective, lambda: _is_surjective(m, relations))


def _is_enumerable(m: IndexMap) -> bool:
    """Return whether no inverse decides, but elements are few enough to look at each."""
    if has_inverse(m.recipe) or m.recipe.names:
        return False
    return max(known((prod(m.recipe.shape), m.recipe.size))) <= PROOF_ELEMENTS


def _by_recipe(m: IndexMap) -> AffineMap:
    """Return the map of the recipe's own formula."""
    variables = coordinate_variables(m.recipe.shape)
    form = offset_of(m.recipe, variables, AffineExpr((), 0))
    return replace(m.affine_map, given=(form,))


def _scattered_is_surjective(m: IndexMap) -> Proof:
    """Decide for a recipe without inverse formula, whose elements may share slots."""
    if _is_enumerable(m):
        return _enumerated_is_surjective(_by_recipe(m))
    try:
        padding = m.unused
    except UnsupportedError as error:
        return Proof(SURJECTIVE, None, f"{error.what}: {error.why}")
    if padding == 0:
        return Proof(SURJECTIVE, True, "every slot holds an element", "digits", unused=0)
    if isinstance(padding, int):
        return Proof(SURJECTIVE, False, f"{padding} slots are padding", "digits", unused=padding)
    reason = f"{m.unused} slots are padding"
    return Proof(SURJECTIVE, None, reason, "digits", unused=m.unused)


def _both(injective: Proof, surjective: Callable[[], Proof]) -> Proof:
    """Return the proof of both halves; injective for all sizes or for none, or open."""
    if injective.holds is None:
        return replace(injective, claim=BIJECTIVE)
    if not injective.holds:
        return replace(injective, claim=BIJECTIVE, reason=f"not injective, {injective.reason}")
    other = surjective()
    reason = f"injective, {'and' if other.holds else 'but'} {other.reason}"
    return replace(other, claim=BIJECTIVE, reason=reason)


def _both_for_sizes(m: IndexMap, injective: Proof, context: isl.Context) -> Proof:
    """Decide for a map that is injective for some sizes: there, as many slots as elements."""
    if _scattered_is_surjective(m).holds:
        return replace(injective, claim=BIJECTIVE)
    elements = prod(m.recipe.shape)
    parameters = parameters_of([m.recipe, Recipe((elements,))], m.assumptions)
    one = RecipeRelation(m.recipe, Space.of(m.recipe.shape, context, parameters))
    if one.collisions is None or not one.outside.is_empty():
        reason = (
            f"injective iff {injective.condition}, and open whether every slot holds an element"
        )
        return replace(injective, claim=BIJECTIVE, reason=reason, condition=None)
    full = one.space.number(m.recipe.size - elements).to_pw_aff().zero_set().params()
    both = one.space.sizes.subtract(one.collisions.params()).intersect(full)

    def effect(maps: Sequence[Any], proof: Proof) -> str:
        if isinstance(proof.counterexample, tuple):
            return f"gives {proof.counterexample[0]} and {proof.counterexample[1]} one offset"
        return f"leaves {proof.unused} of {maps[0].size} slots empty"

    question = SymbolicQuestion(BIJECTIVE, (m,), is_bijective, effect)
    return question.answer(SizeSet(both, one.space), "as many slots as elements, and none shared")


def _is_injective(m: IndexMap, relations: Sequence[RecipeRelation]) -> Proof:
    """Decide by the recipe's inverse, which ISL checks, else by ISL's own test."""
    if prod(m.recipe.shape) == 0:
        return Proof(INJECTIVE, True, "the array is empty", decider="")
    for one in relations:
        if one.collisions is not None:
            if m.recipe.names:
                return _is_injective_for_sizes(m, one)
            if one.space.shape != m.recipe.shape:  # merged, or after other relations
                return _is_injective(m, relations_of(m, one.space.context, most=None))
            point, rank = first_point(one.collisions), len(m.recipe.shape)
            both = (point[:rank], point[rank:])
            reason = f"{both[0]} and {both[1]} share an offset"
            return Proof(INJECTIVE, False, reason, counterexample=both)
    condition = ALL_SIZES if m.recipe.names else None
    return Proof(INJECTIVE, True, "no two coordinates share an offset", condition=condition)


def _is_injective_for_sizes(m: IndexMap, one: RecipeRelation) -> Proof:
    assert one.collisions is not None
    sizes = one.space.sizes.subtract(one.collisions.params())

    def effect(_: Sequence[Any], proof: Proof) -> str:
        return f"gives {proof.counterexample[0]} and {proof.counterexample[1]} one offset"

    question = SymbolicQuestion(INJECTIVE, (m,), is_injective, effect)
    return question.answer(SizeSet(sizes, one.space), "no two coordinates share an offset")


def _is_surjective(m: IndexMap, relations: Sequence[RecipeRelation]) -> Proof:
    """Decide for an injective map."""
    inner = relations[:-1] if not m.recipe.names else ()
    if not all(one.outside.is_empty() and one.padding.is_empty() for one in inner):
        relations = relations_of(m, relations[0].space.context, most=None)
    if prod(m.recipe.shape) == 0:
        if m.unused == 0:
            return Proof(SURJECTIVE, True, "the buffer is empty", decider="", unused=0)
        return replace(_padded(m.unused, m.unused, 0), decider="")
    for one in relations:
        if not one.outside.is_empty():
            whole = relations_of(m, one.space.context, most=None)[0]
            at = first_point(whole.outside) if not m.recipe.names else None
            reason = f"{'an element' if at is None else at} is outside the buffer"
            return Proof(SURJECTIVE, False, reason, counterexample=at)
        if one.inverse_is_wrong:
            reason = "the recipe's inverse takes an element for padding, or padding for an element"
            return Proof(SURJECTIVE, None, reason)
    if m.recipe.names:
        return _is_surjective_for_sizes(m, relations)
    size, elements = known((m.recipe.size, prod(m.recipe.shape)))
    if size == elements:
        return Proof(SURJECTIVE, True, _full(size), unused=0)
    one = relations[-1]  # of several, the others have no padding
    start, tail = known((m.recipe.offset, m.recipe.tail_padding))
    first = size - tail
    if not one.padding.is_empty():
        first = linear_index(first_point(one.padding), known(one.recipe.physical_shape), start)
    return _padded(size - elements, size, 0 if start else first)


def _full(size: int) -> str:
    return "the only slot holds an element" if size == 1 else f"all {size} slots hold an element"


def _padded(padding: Int, size: Int, first: int) -> Proof:
    reason = f"{padding} of {size} slots are padding (first: {first})"
    return Proof(SURJECTIVE, False, reason, counterexample=first, unused=padding)


def _is_surjective_for_sizes(m: IndexMap, relations: Sequence[RecipeRelation]) -> Proof:
    space = relations[0].space
    recipe = m.recipe
    failing = [one.padding.subtract(one.cut).params() for one in relations]
    may_be_cut = not is_nonnegative(recipe.tail_padding)
    ends = (recipe.offset, _after_last(recipe) if may_be_cut else recipe.tail_padding)
    failing += [at_least(space.number(n), 1).params() for n in ends]
    holds = space.sizes.subtract(union(failing, space.sizes.get_space()))

    def effect(maps: Sequence[Any], proof: Proof) -> str:
        return f"leaves {proof.unused} of {maps[0].size} slots empty"

    question = SymbolicQuestion(SURJECTIVE, (m,), is_surjective, effect)
    answer = question.answer(SizeSet(holds, space), "every slot holds an element")
    return replace(answer, unused=m.unused)


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


_DIGITS: Final = "digits and ISL"


def as_layout(m: AffineMap, context: isl.Context) -> IndexMap | None:
    """Return the map with steps that are proved to give its formula; None without such steps."""
    forms = [canonicalize(form) for form in m.given]
    try:
        if len(forms) == 1:
            recipe = recipe_of_formula(m.sizes, m.given[0], m.buffer_size)
        else:
            ends = [form.interval.hi for form in forms]
            sizes = tuple(0 if hi is None else hi + 1 for hi in ends)
            recipe = recipe_of_coordinates(m.sizes, m.given, sizes)
        if not has_inverse(recipe):
            return None
        wanted = (
            m.given[0]
            if len(forms) == 1
            else linear_index(m.given, recipe.physical_shape, AffineExpr((), 0))
        )
        layout = IndexMap(recipe, wanted, "", (), m.assumptions, m.size_symbols)
        return None if first_difference(layout, recipe, wanted, context) else layout
    except (ShapeError, UnsupportedError):
        return None


def _formula_is_injective(m: AffineMap, context: isl.Context) -> Proof:
    """Decide for a map without a recipe: by digits, by ranges and ISL, else at each element."""
    if len(m.forms) == 1 and m.form.terms and _is_mixed_radix(m.form, m.sizes):
        space = Space.of(m.sizes, context, parameters_of([Recipe(m.sizes)], m.assumptions))
        with suppress(NotAffineError):  # the digits decide; their strides do not matter
            digits = [value_of_form(AffineExpr(((atom, 1),), 0), space) for atom, _ in m.form.terms]
            if relation([x.function for x in digits], space).is_injective():
                reason = (
                    "the terms are digits of a mixed radix, and no two coordinates share them all"
                )
                return Proof(INJECTIVE, True, reason, decider=_DIGITS)
    if len(m.given) == 1 and _is_increasing(m):
        return Proof(INJECTIVE, True, "each offset is above the one before", decider=_DIGITS)
    if names_of(m):
        return _sampled(m, INJECTIVE, _enumerated_is_injective)
    if context is None or prod(known(m.sizes)) > PROOF_ELEMENTS:
        return _flat_is_injective(m, context)
    allowed = context.get_max_operations()
    try:
        context.set_max_operations(allowed // 32)  # looking at each element is quick
        return _flat_is_injective(m, context)
    except (NotAffineError, isl.Error):  # ISL does not read it, or the budget is spent
        return _enumerated_is_injective(m)
    finally:
        context.set_max_operations(allowed)


def _flat_is_injective(m: AffineMap, context: isl.Context) -> Proof:
    """Decide by ISL's own test on the formulas as they are."""
    space = Space.of(m.sizes, context)
    image = relation([value_of_form(form, space).function for form in m.given], space)
    if image.is_injective():
        return Proof(INJECTIVE, True, "no two coordinates share an offset")
    corner = _enumerated_is_injective(replace(m, sizes=_corner(known(m.sizes))))
    if corner.holds is False:
        return replace(corner, decider="ISL")
    shared = image.apply_range(image.reverse())
    shared = shared.intersect(isl.Map.lex_lt(shared.get_space().domain()))
    # Any pair: the budget does not bound ISL's search for the first one.
    point, rank = coordinates_of(shared.wrap().flatten().sample_point()), len(m.sizes)
    return _shared(m, point[:rank], point[rank:], "ISL")


def _corner(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return sizes of as much of the array, from its first rows on, as elements are looked at."""
    left, kept = PROOF_FIRST, list[int]()
    for n in reversed(sizes):
        kept.insert(0, min(n, max(left, 1)))
        left //= max(n, 1)
    return tuple(kept)


def _shared(m: AffineMap, one: tuple[int, ...], other: tuple[int, ...], decider: str) -> Proof:
    reason = f"{one} and {other} share offset {m(*one)}"
    return Proof(INJECTIVE, False, reason, decider, counterexample=(one, other))


def _enumerated_is_injective(m: AffineMap) -> Proof:
    decider = "enumeration"
    values = _values(m)
    if values.dtype == object:  # integers past 64 bits: number the different ones
        numbers: dict[Any, int] = {}
        values = np.array([[numbers.setdefault(x, len(numbers)) for x in row] for row in values])
    if not _has_equal_columns(values):
        reason = f"all {values.shape[1]} elements have offsets of their own"
        return Proof(INJECTIVE, True, reason, decider)
    _, index, inverse = np.unique(values, axis=1, return_index=True, return_inverse=True)
    again = np.flatnonzero(index[inverse.reshape(-1)] != np.arange(values.shape[1]))
    # The first pair, out of all elements that share a value with an earlier one.
    earlier = index[inverse.reshape(-1)[again]]
    one = int(earlier.min())
    other = int(again[earlier == one].min())
    first, second = (tuple(map(int, np.unravel_index(k, known(m.sizes)))) for k in (one, other))
    return _shared(m, first, second, decider)


def _has_equal_columns(values: Any) -> bool:
    if len(values) == 1:  # NumPy sorts numbers ten times as fast as their places
        in_order = np.sort(values[0])
        return bool((in_order[1:] == in_order[:-1]).any())
    return bool(np.unique(values, axis=1).shape[1] < values.shape[1])


def _values(m: AffineMap) -> Any:
    shape = known(m.sizes)
    at = np.indices(shape).reshape(len(shape), prod(shape))
    given = m(*at) if shape else m()
    rows = given if isinstance(given, tuple) else (given,)
    return np.stack([np.asarray(row).reshape(-1) for row in rows])


def _sampled(m: AffineMap, claim: str, decide: Callable[[AffineMap], Proof]) -> Proof:
    """Look for small sizes at which a claim fails; without any the proof is undecided."""
    samples = small_sizes(names_of(m), m.assumptions, PROOF_FORMULA_SIZE)
    for sizes in islice(samples, PROOF_FORMULA_SAMPLES):
        there = m.at(**sizes)
        if max(known((prod(there.sizes), there.buffer_size or 0))) > PROOF_FIRST:
            break
        found = decide(there)
        if found.holds is False:
            shown = SymbolicCounterexample(sizes, found.counterexample, _effect(there, found))
            return Proof(claim, False, "open for other sizes", "sampling", counterexample=shown)
    return Proof(claim, None, f"{claim} at small sizes, and no recipe to read")


def _effect(m: AffineMap, refuted: Proof) -> str:
    if refuted.claim == INJECTIVE:
        one, other = refuted.counterexample
        return f"gives {one} and {other} one offset"
    if refuted.unused is None:
        return f"puts {refuted.counterexample} outside the buffer"
    return f"leaves {refuted.unused} of {m.buffer_size} slots empty"


def _is_mixed_radix(form: AffineExpr, shape: Sequence[Int]) -> bool:
    """Return whether each term's stride is above the range of all terms of smaller strides."""
    steps: list[tuple[Int, Int]] = []
    for atom, c in form.terms:
        try:
            most = separable(AffineExpr(((atom, 1),), 0), shape).most
        except UnsupportedError:  # a sum of bits that carries
            return False
        if most is None:
            return False
        steps.append((absolute(c), most))
    reach: Int = 0
    for step, most in sorted(steps, key=lambda pair: magnitude(pair[0])):
        if not is_nonnegative(step - reach - 1):
            return False
        reach = reach + step * most
    return True


def _is_increasing(m: AffineMap) -> bool:
    """Return whether the offset certainly grows along the only dimension of several elements."""
    try:
        return is_increasing(separable(m.given[0], m.sizes, m.assumptions))
    except UnsupportedError:
        return False


def _is_inside(m: AffineMap, context: isl.Context) -> bool:
    """Return whether all offsets are in the buffer, by the bounds of the formula or by ISL."""
    lo, hi = canonicalize(m.given[0]).interval
    end = m.buffer_size or 0
    if lo is not None and hi is not None and is_nonnegative(lo) and is_nonnegative(end - 1 - hi):
        return True
    space = Space.of(m.sizes, context, parameters_of([Recipe(m.sizes)], m.assumptions))
    try:
        offset = value_of_form(m.given[0], space).function
        outside = offset.lt_set(space.number(0)).union(offset.ge_set(space.number(end)))
    except NotAffineError:
        return False
    return bool(outside.is_disjoint(space.domain))


def _require_buffer(m: AffineMap) -> None:
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


def _formula_is_surjective(m: AffineMap, context: isl.Context) -> Proof:
    """Decide for a map without a recipe: by counting elements inside, else at each slot."""
    assert m.buffer_size is not None
    elements = prod(m.sizes)
    fits = m.buffer_size == elements and _is_inside(m, context)
    if fits and _formula_is_injective(m, context).holds:
        reason = f"all {elements} slots hold an element: as many, none outside, none shared"
        return Proof(SURJECTIVE, True, reason, _DIGITS, unused=0)
    if names_of(m):
        return _sampled(m, SURJECTIVE, _enumerated_is_surjective)
    if max(known((elements, m.buffer_size))) > PROOF_ELEMENTS:
        if is_nonnegative(m.buffer_size - elements - 1):
            reason = f"{elements} elements do not fill {m.buffer_size} slots"
            return Proof(SURJECTIVE, False, reason, "counting")
        reason = f"its terms are not nested digits, and more than {PROOF_ELEMENTS} elements"
        return Proof(SURJECTIVE, None, reason)
    return _enumerated_is_surjective(m)


def _enumerated_is_surjective(m: AffineMap) -> Proof:
    (size,) = known((m.buffer_size or 0,))
    decider = "enumeration"
    reached = np.zeros(size, bool)
    offsets = _values(m)[0]
    inside = (offsets >= 0) & (offsets < size)
    if not inside.all():
        at = tuple(map(int, np.unravel_index(int(inside.argmin()), known(m.sizes))))
        reason = f"{at} is outside the buffer"
        return Proof(SURJECTIVE, False, reason, decider, counterexample=at)
    reached[offsets] = True
    padding = size - int(reached.sum())
    if padding:
        return replace(_padded(padding, size, int(reached.argmin())), decider=decider)
    return Proof(SURJECTIVE, True, _full(size), decider, unused=0)
