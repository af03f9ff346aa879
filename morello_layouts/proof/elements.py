"""Formulas without steps: their terms, ISL's own test, each element; the first empty slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from math import prod
from typing import Any, Final

from morello_layouts.core.checks import as_integers
from morello_layouts.core.expr import AffineExpr, canonicalize
from morello_layouts.core.expr.calls import magnitude
from morello_layouts.core.expr.sizes import Int, absolute, is_nonnegative
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import (
    PROOF_ELEMENTS,
    PROOF_FIRST,
    PROOF_FORMULA_SAMPLES,
    PROOF_FORMULA_SIZE,
)
from morello_layouts.core.maps import AffineMap
from morello_layouts.core.recipe import Pad, Recipe, Window, Xor, elements_at, known
from morello_layouts.core.recipe.digits import has_digits, row_major, stages_of
from morello_layouts.core.recipe.views import with_replicas_as_dims, without_xors
from morello_layouts.errors import UnsupportedError
from morello_layouts.proof.ask import names_of, small_sizes
from morello_layouts.proof.comparison import DIGITS_AND_ISL, first_positions, separable
from morello_layouts.proof.isl import NotAffineError, Space, coordinates_of, relation, value_of_form
from morello_layouts.proof.library import isl
from morello_layouts.proof.relations import parameters_of
from morello_layouts.proof.separable import is_increasing
from morello_layouts.proof.verdict import Proof, SymbolicCounterexample

INJECTIVE: Final = "injective"
SURJECTIVE: Final = "surjective"


def formula_is_injective(m: AffineMap, context: isl.Context) -> Proof:
    """Decide for a map without a recipe: by digits, by ranges and ISL, else at each element."""
    if len(m.forms) == 1 and m.form.terms and _is_mixed_radix(m.form, m.sizes):
        space = Space.of(m.sizes, context, parameters_of([Recipe(m.sizes)], m.assumptions))
        with suppress(NotAffineError):  # the digits decide; their strides do not matter
            digits = [value_of_form(AffineExpr(((atom, 1),), 0), space) for atom, _ in m.form.terms]
            if relation([x.function for x in digits], space).is_injective():
                reason = (
                    "the terms are digits of a mixed radix, and no two coordinates share them all"
                )
                return Proof(INJECTIVE, True, reason, decider=DIGITS_AND_ISL)
    if len(m.given) == 1 and _is_increasing(m):
        return Proof(INJECTIVE, True, "each offset is above the one before", decider=DIGITS_AND_ISL)
    if names_of(m):
        return sampled(m, INJECTIVE, enumerated_is_injective)
    if prod(known(m.sizes)) > PROOF_ELEMENTS:
        return _flat_is_injective(m, context)
    allowed = context.get_max_operations()
    try:
        context.set_max_operations(allowed // 32)  # looking at each element is quick
        return _flat_is_injective(m, context)
    except (NotAffineError, isl.Error):  # ISL does not read it, or the budget is spent
        return enumerated_is_injective(m)
    finally:
        context.set_max_operations(allowed)


def _flat_is_injective(m: AffineMap, context: isl.Context) -> Proof:
    """Decide by ISL's own test on the formulas as they are."""
    space = Space.of(m.sizes, context)
    image = relation([value_of_form(form, space).function for form in m.given], space)
    if image.is_injective():
        return Proof(INJECTIVE, True, "no two coordinates share an offset")
    corner = enumerated_is_injective(replace(m, sizes=_corner(known(m.sizes))))
    if corner.holds is False:
        return replace(corner, decider="ISL")
    shared = image.apply_range(image.reverse())
    shared = shared.intersect(isl.Map.lex_lt(shared.get_space().domain()))
    # Any pair: the budget does not bound ISL's search for the first one.
    point, rank = coordinates_of(shared.wrap().flatten().sample_point()), len(m.sizes)
    return collision(point[:rank], point[rank:], f"offset {m(*point[:rank])}", "ISL")


def _corner(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return sizes of as much of the array, from its first rows on, as elements are looked at."""
    left, kept = PROOF_FIRST, list[int]()
    for n in reversed(sizes):
        kept.insert(0, min(n, max(left, 1)))
        left //= max(n, 1)
    return tuple(kept)


def enumerated_is_injective(m: AffineMap) -> Proof:
    """Decide at every element, in integers of any size; the first pair refutes it."""
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
    return collision(first, second, f"offset {m(*first)}", decider)


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


def sampled(m: AffineMap, claim: str, decide: Callable[[AffineMap], Proof]) -> Proof:
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


def is_inside(m: AffineMap, context: isl.Context) -> bool:
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


def enumerated_is_surjective(m: AffineMap) -> Proof:
    """Decide by marking the slot of every element; the first one outside the buffer refutes it."""
    (size,) = known((m.buffer_size or 0,))
    reached = np.zeros(size, bool)
    offsets = _values(m)[0]
    inside = (offsets >= 0) & (offsets < size)
    if not inside.all():
        at = tuple(map(int, np.unravel_index(int(inside.argmin()), known(m.sizes))))
        return outside_buffer(at, "enumeration")
    reached[offsets] = True
    padding = size - int(reached.sum())
    first, decider = int(reached.argmin()), "enumeration"
    return padded(padding, size, first, decider) if padding else full_buffer(size, decider)


def full_buffer(size: int, decider: str = "ISL") -> Proof:
    """Return the proof that each of some slots holds an element."""
    reason = "the only slot holds" if size == 1 else f"all {size} slots hold"
    return Proof(SURJECTIVE, True, f"{reason} an element", decider, unused=0)


def padded(padding: Int, size: Int, first: int | None, decider: str = "ISL") -> Proof:
    """Return the proof that slots are empty, with the first of them if it is known."""
    where = "" if first is None else f" (first: {first})"
    reason = f"{padding} of {size} slots are padding{where}"
    return Proof(SURJECTIVE, False, reason, decider, first, unused=padding)


def outside_buffer(at: tuple[int, ...], decider: str) -> Proof:
    """Return the proof that an element has no slot."""
    return Proof(SURJECTIVE, False, f"{at} is outside the buffer", decider, counterexample=at)


def collision(one: tuple[int, ...], other: tuple[int, ...], what: Any, decider: str) -> Proof:
    """Return the proof that two coordinates have one place, ``what`` in words."""
    reason = f"{one} and {other} share {what}"
    return Proof(INJECTIVE, False, reason, decider, counterexample=(one, other))


def first_padding(recipe: Recipe) -> int | None:
    """Return the first slot of a layout that holds no element, if one is found.

    >>> from morello_layouts.core.recipe import Xor
    >>> first_padding(Recipe((3, 4), (Pad((4, 4)), Xor(1, 0))))
    12
    """
    start, tail, size = known((recipe.offset, recipe.tail_padding, recipe.size))
    if start:
        return 0
    with suppress(UnsupportedError):
        if tail >= 0:
            return min([*([size - tail] if tail else []), *_padding_of_pads(recipe)], default=None)
    for slots in first_positions(size):
        _, there = elements_at(recipe, as_integers(slots, "slots", size))
        if not there.all():
            return int(slots[there.argmin()])
    return None


def _padding_of_pads(recipe: Recipe) -> Iterator[int]:
    """Yield the slots among which is the first that each pad leaves empty.

    Raises:
        UnsupportedError: if an element may be cut off, or digits of several axes mix.
    """
    shapes = [known(shape) for shape in recipe.shapes]
    for k, (step, before) in enumerate(zip(recipe.steps, shapes, strict=False)):
        if isinstance(step, Window) or (isinstance(step, Pad) and step.cut):
            raise UnsupportedError(f"{step}: which slots it leaves empty depends on its elements")
        sizes = shapes[k + 1]
        if not isinstance(step, Pad) or sizes == before:
            continue
        rest = plain = Recipe(sizes, recipe.steps[k + 1 :])
        if not has_digits(rest):
            rest = with_replicas_as_dims(rest)
            plain = without_xors(rest)
        stages = stages_of(plain)
        last, at = row_major(chain(*stages[-1])), 0
        mixed = {dim for x in last if not isinstance(x.of, int) for dim in x.dims}
        # An exclusive or permutes the places along other axes.
        for later in rest.steps if rest is not plain else ():
            if isinstance(later, Xor):
                mixed |= {dim for x in stages[at][later.target] for dim in x.dims}
            at += not isinstance(later, Xor)
        for axis, (n, end) in enumerate(zip(before, sizes, strict=True)):
            if n < end and axis in mixed:
                raise UnsupportedError(f"axis {axis}: its digits mix with those of others")
            digits = [x for x in last if x.of == axis] if n < end else []
            # Other digits are 0. One of these places is the least in each digit, so in any order.
            for x in {-(-n // digit.unit) * digit.unit for digit in digits}:
                if x < end:
                    places = known([x // d.unit % (d.modulus or end) * d.stride for d in digits])
                    yield sum(places)
