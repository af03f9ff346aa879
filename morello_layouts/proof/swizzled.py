"""Questions about layouts with exclusive ors and replicas.

An xor permutes the places along one axis, whatever the axis that it reads. So a layout uses its
slots exactly when it does so without its xors: that layout is asked about, by counting or by ISL,
which reads no exclusive or. Formulas are compared bit by bit (:mod:`separable`), else by
evaluation at all elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import reduce
from math import prod
from typing import Any, Final, TypeAlias

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import AffineExpr, BitXor, canonicalize, variable
from morello_layouts.expr.sizes import SizeExpr, is_nonnegative
from morello_layouts.lazy import numpy as np
from morello_layouts.limits import PROOF_FIRST
from morello_layouts.maps import IndexMap
from morello_layouts.proof.ask import AnyMap, names_of, sizes_of
from morello_layouts.proof.reading import (
    Reading,
    formulas_of,
    inverse_of,
    padding_of,
    read,
    references_of,
    size_of,
)
from morello_layouts.proof.separable import Separable
from morello_layouts.proof.verdict import ALL_SIZES, NO_SIZES, Proof, SymbolicCounterexample
from morello_layouts.recipe import (
    Pad,
    Recipe,
    Replicate,
    Xor,
    coordinates_at,
    elements_at,
    has_inverse,
    known,
    offset_of,
)
from morello_layouts.recipe.views import with_replicas_as_dims, without_xors

BITS: Final = "digits and bits"
STEPS: Final = "the steps"
Decide: TypeAlias = Callable[[IndexMap], Proof]


def is_swizzled(m: AnyMap) -> bool:
    """Return whether a map has exclusive ors or replicas."""
    if isinstance(m, IndexMap):
        return has_xors(m) or any(isinstance(step, Replicate) for step in m.recipe.steps)
    return any(has_xor(form) for form in m.given)


def has_xors(m: IndexMap) -> bool:
    """Return whether a layout has exclusive ors in its steps or in its formula."""
    return any(isinstance(s, Xor) for s in m.recipe.steps) or has_xor(m.reference_form)


def has_xor(form: AffineExpr) -> bool:
    """Return whether a form has an exclusive or."""
    return any(isinstance(atom, BitXor) for atom in form.atoms())


def is_placed_by_steps(m: IndexMap) -> bool:
    """Return whether the steps say which slots are used: nothing scatters or is cut off.

    Padding that is cut off before the first exclusive or takes no part in it.
    """
    recipe = m.recipe
    own = [k for k, step in enumerate(recipe.steps) if isinstance(step, Xor | Replicate)]
    if not own or not has_inverse(recipe) or not is_nonnegative(recipe.tail_padding):
        return False
    return not any(isinstance(step, Pad) and step.cut for step in recipe.steps[own[0] :])


def is_injective(claim: str, m: IndexMap) -> Proof:
    """Decide whether no two elements share a slot: each step keeps them apart."""
    reason = f"no two coordinates share an offset{_places(m)}"
    condition = ALL_SIZES if m.recipe.names else None
    return Proof(claim, True, reason, STEPS, condition=condition)


def is_surjective(claim: str, m: IndexMap, decide: Decide) -> Proof:
    """Decide whether every slot holds an element, by counting, else as without the xors."""
    recipe = m.recipe
    padding = recipe.size - prod(recipe.shape) * recipe.replicas
    condition = ALL_SIZES if recipe.names else None
    if padding == 0:
        reason = f"every slot holds an element{_places(m)}"
        return Proof(claim, True, reason, STEPS, condition=condition, unused=0)
    if not recipe.names:
        first = first_padding(recipe)
        where = "" if first is None else f" (first: {first})"
        reason = f"{padding} of {recipe.size} slots are padding{where}"
        return Proof(claim, False, reason, STEPS, counterexample=first, unused=padding)
    plain = without_xors(with_replicas_as_dims(recipe))
    answer = decide(replace(m, recipe=plain, origin=None))
    found = answer.counterexample
    if isinstance(found, SymbolicCounterexample):
        found = replace(found, at=first_padding(recipe.at(found.sizes)))
    return replace(answer, claim=claim, counterexample=found)


def is_bijective(claim: str, m: IndexMap, decide: Decide) -> Proof:
    """Decide whether each slot holds one element and each element has one slot."""
    onto = is_surjective(claim, m, decide)
    if m.recipe.replicas == 1:
        return replace(onto, reason=f"injective, {'and' if onto.holds else 'but'} {onto.reason}")
    reason = f"each element is on exactly {m.recipe.replicas} places"
    if not onto.holds:
        reason += f", and {onto.reason}"
    condition = NO_SIZES if m.recipe.names else None
    return Proof(claim, False, reason, STEPS, unused=onto.unused, condition=condition)


def _places(m: IndexMap) -> str:
    count = m.recipe.replicas
    return "" if count == 1 else f", and each element is on exactly {count} places"


def first_padding(recipe: Recipe) -> int | None:
    """Return the first slot of a layout that holds no element, if it is one of the first.

    >>> first_padding(Recipe((3, 4), (Pad((4, 4)), Xor(1, 0))))
    12
    """
    (size,) = known((recipe.size,))
    for slots in _chunks(size):
        _, there = elements_at(recipe, slots)
        if not there.all():
            return int(slots[there.argmin()])
    return None


def _chunks(size: int) -> Iterator[Any]:
    """Yield the first numbers in pieces, each of which is longer than the one before."""
    start, length, end = 0, 1 << 10, min(size, PROOF_FIRST)
    while start < end:
        yield np.arange(start, min(start + length, end))
        start, length = start + length, 4 * length


def are_equivalent(claim: str, a: AnyMap, b: AnyMap) -> Proof:
    """Decide whether two maps over one shape give each coordinate the same places."""
    spans = ""
    if isinstance(a, IndexMap) and isinstance(b, IndexMap):
        spans = f"; the buffers have {a.size} and {b.size} slots" if a.size != b.size else ""
        counts = [m.recipe.replicas for m in (a, b)]
        if counts[0] != counts[1]:
            reason = f"each element is on {counts[0]} and {counts[1]} places{spans}"
            return Proof(claim, False, reason, STEPS, counterexample=(0,) * len(sizes_of(a)))
        if counts[0] > 1:
            return _have_equal_places(claim, a, b, spans)
    sources = [m.recipe if isinstance(m, IndexMap) else m.given for m in (a, b)]
    reason = f"every coordinate has the same offset{spans}"
    try:
        if all(_same(a, one, other) for one, other in _paired(sources)):
            condition = ALL_SIZES if names_of(a, b) else None
            return Proof(claim, True, reason, BITS, condition=condition)
    except UnsupportedError as error:
        reason_not = f"{error.what}: {error.why}"
    else:
        reason_not = "their bits differ, or are written in ways that are not compared"
    if names_of(a, b):
        return Proof(claim, None, reason_not)
    at = first_unequal_value(a, sources)
    if at is not None:
        one, other = (m(*at) for m in (a, b))
        reason = f"{at} has offsets {one} and {other}{spans}"
        return Proof(claim, False, reason, "evaluation", counterexample=at)
    if prod(known(sizes_of(a))) <= PROOF_FIRST:
        return Proof(claim, True, reason, "enumeration")
    return Proof(claim, None, reason_not)


def verified(claim: str, m: IndexMap, reason: str) -> Proof:
    """Decide whether formulas and inverse agree with the recipe, bit by bit or by evaluation.

    The inverse undoes the recipe if it takes each offset to the element's coordinates, and calls
    padding what the recipe's own inverse does; whether that one is right is asked elsewhere.
    """
    few = not names_of(m) and max(known((prod(m.recipe.shape), m.recipe.size))) <= PROOF_FIRST
    for name, formula in (*formulas_of(m), *references_of(m)):
        if _holds(lambda formula=formula: _same(m, m.recipe, formula)):  # type: ignore[misc]
            continue
        at = None if names_of(m) else first_unequal_value(m, [m.recipe, formula])
        if at is not None:
            wrong = f"{name} differs from the recipe at {at}"
            return Proof(claim, False, wrong, "evaluation", counterexample=at)
        if not few:
            return Proof(claim, None, f"{name} was not compared bit by bit")
    if not has_inverse(m.recipe) or prod(m.recipe.shape) == 0:
        return Proof(claim, True, reason, BITS)
    if _holds(lambda: _is_undone(m) and _has_same_padding(m)):
        return Proof(claim, True, reason, BITS)
    if not few:
        return Proof(claim, None, "the inverse was not seen to undo the recipe bit by bit")
    slot = _first_wrong_slot(m)
    if slot is not None:
        wrong = f"the inverse differs from the recipe at slot {slot}"
        return Proof(claim, False, wrong, "evaluation", counterexample=slot)
    return Proof(claim, True, reason, f"{BITS}, and enumeration")


def _holds(question: Callable[[], bool]) -> bool:
    """Return whether something is seen to hold; what cannot be read is not."""
    try:
        return question()
    except UnsupportedError:
        return False


def _is_undone(m: IndexMap) -> bool:
    """Return whether the inverse takes each element's offset to its coordinates."""
    p = _separable(m, m.recipe)
    pairs = zip(inverse_of(m), p.coordinates(p.shape), strict=True)
    return all((_read_at(m, p, expr) - x).is_zero for expr, x in pairs)


def _first_wrong_slot(m: IndexMap) -> int | None:
    """Return the first slot at which the inverse is wrong, by evaluation at all of them."""
    expanded = with_replicas_as_dims(m.recipe)
    for slots in _chunks(known((m.recipe.size,))[0]):
        at, there = elements_at(expanded, slots)
        reading = Reading({"p": slots}, lambda n: n)
        wrong = there == _any(read(x, reading) >= int(n) for x, n in padding_of(m))
        for formula, x in zip(inverse_of(m), at, strict=False):
            wrong = wrong | (there & (read(formula, reading) != x))
        inside = [np.where(there, x, 0) for x in at]
        wrong = wrong | (there & (offset_of(expanded, inside, 0) != slots))
        if wrong.any():
            return int(slots[wrong.argmax()])
    return None


def _any(conditions: Iterable[Any]) -> Any:
    return reduce(operator.or_, conditions, np.asarray(False))


def _has_same_padding(m: IndexMap) -> bool:
    """Return whether the inverse calls the same slots padding as the recipe read backwards."""
    p = Separable.coordinates((m.recipe.size,))[0]
    _, limits = coordinates_at(m.recipe, p)
    _, forms = coordinates_at(m.recipe, variable("p", 0, m.recipe.size - 1))
    stated = [(x, n if isinstance(n, int | SizeExpr) else size_of(n)) for x, n in padding_of(m)]
    claimed = [((_read_at(m, p, x) + p * 0).key, n) for x, n in stated]
    left = list(claimed)
    for (x, n), (form, _) in zip(limits, forms, strict=True):
        key, highest = (x + p * 0).key, canonicalize(form).interval.hi
        same = [(other, least) for other, least in claimed if other == key]
        left = [one for one in left if one != (key, n)]
        is_implied = any(is_nonnegative(n - least) for _, least in same)
        if not is_implied and (highest is None or not is_nonnegative(n - 1 - highest)):
            return False
    return not left


def _read_at(m: IndexMap, p: Separable, expr: Any) -> Any:
    """Return the value of a formula of the offset, at an offset."""
    return read(expr, Reading({"p": p}, lambda n: p * 0 + n, m.assumptions))


def _paired(sources: list[Any]) -> Iterator[tuple[Any, Any]]:
    one, other = (source if isinstance(source, tuple) else (source,) for source in sources)
    yield from zip(one, other, strict=True)


def _same(m: AnyMap, one: Any, other: Any) -> bool:
    """Return whether two offsets are seen to be equal bit by bit."""
    return (_separable(m, one) - _separable(m, other)).is_zero


def _separable(m: AnyMap, source: Any) -> Separable:
    shape = tuple(sizes_of(m))
    names = {f"d{k}": x for k, x in enumerate(Separable.coordinates(shape))}
    found = read(source, Reading(names, lambda n: Separable({}, n, shape), m.assumptions))
    assert isinstance(found, Separable)
    return found


def first_unequal_value(m: AnyMap, sources: list[Any]) -> tuple[int, ...] | None:
    """Return the first of the first coordinates at which two offsets differ, by evaluation."""
    shape = known(sizes_of(m))
    for positions in _chunks(prod(shape)):
        at = np.unravel_index(positions, shape) if shape else ()
        reading = Reading({f"d{k}": x for k, x in enumerate(at)}, lambda n: n)
        for one, other in _paired(sources):
            first, second = (np.asarray(read(x, reading)) for x in (one, other))
            wrong = np.broadcast_to(first != second, positions.shape)
            if wrong.any():
                return tuple(int(x[wrong.argmax()]) for x in at)
    return None


def _have_equal_places(claim: str, a: IndexMap, b: IndexMap, spans: str) -> Proof:
    """Decide whether two replicated layouts have the same element in every slot."""
    reason = f"every element has the same places{spans}"
    try:
        if a.size == b.size and _elements(a.recipe) == _elements(b.recipe):
            condition = ALL_SIZES if names_of(a, b) else None
            return Proof(claim, True, reason, BITS, condition=condition)
    except UnsupportedError as error:
        if names_of(a, b):
            return Proof(claim, None, f"{error.what}: {error.why}")
    if names_of(a, b):
        return Proof(claim, None, "their bits differ, or are written in ways not compared")
    sizes = known((a.recipe.size, b.recipe.size))
    for slots in _chunks(min(sizes)):
        (at, here), (other, there) = (elements_at(m.recipe, slots) for m in (a, b))
        wrong = here != there
        for x, y in zip(at, other, strict=True):
            wrong = wrong | (here & there & (x != y))
        if wrong.any():
            k = int(wrong.argmax())
            found = tuple(int(x[k]) for x in (at if here[k] else other))
            reason = f"slot {slots[k]} holds other elements, such as {found}{spans}"
            return Proof(claim, False, reason, "evaluation", counterexample=found)
    if min(sizes) <= PROOF_FIRST:  # all places are there: none is left for the longer buffer
        return Proof(claim, True, reason, "enumeration")
    return Proof(claim, None, "too many slots, whose bits are written in ways not compared")


def _elements(recipe: Recipe) -> Any:
    """Return what a slot holds: the coordinate and the limits, as values in a normal form."""
    p = Separable.coordinates((recipe.size,))[0]
    at, limits = coordinates_at(recipe, p)
    return [(p * 0 + x).key for x in at], {((p * 0 + x).key, n) for x, n in limits}
