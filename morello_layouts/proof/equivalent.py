"""Decide whether two maps are equal, and where not; which number divides all offsets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from math import gcd, prod
from typing import Any, ClassVar, Final

from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.conversions import public_size
from morello_layouts.expr.divisors import divisor_of, greatest_number
from morello_layouts.expr.sizes import Int, common_divisor
from morello_layouts.fields import frozen
from morello_layouts.lazy import numpy as np
from morello_layouts.limits import ISL_OPERATIONS, PROOF_ELEMENTS, PROOF_FIRST
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.maps.places import Unit, address_of, bits_of_unit
from morello_layouts.plain import Displayed
from morello_layouts.proof import named_tiles, swizzled
from morello_layouts.proof.ask import (
    AnyMap,
    SymbolicQuestion,
    ask_isl,
    counted_without_isl,
    isl_budget,
    names_of,
    sizes_of,
)
from morello_layouts.proof.conditions import SizeSet
from morello_layouts.proof.difference import Difference, OffsetDifference, sizes_of_equality
from morello_layouts.proof.formulas import about_formulas, increment_difference, increments_between
from morello_layouts.proof.isl import (
    Space,
    Value,
    axis_values,
    differ,
    first_point,
    offset_value,
    value_of_form,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.relations import parameters_of
from morello_layouts.proof.verdict import ALL_SIZES, Proof
from morello_layouts.recipe import Recipe, elements_at, known, offset_of

EQUAL: Final = "equal"
EQUIVALENT: Final = "equivalent"


@about_formulas
def are_equivalent(a: AnyMap, b: AnyMap, *, budget: int | None = None) -> Proof:
    """Decide whether two maps over one shape give each coordinate the same offset.

    Layouts whose axes have names must give it the same coordinates along them.
    """
    offsets = have_equal_offsets(a, b, budget=budget)
    answer = with_places(offsets, a, b)
    if answer.holds is not None or not (offsets.holds and names_of(a, b)):
        return answer
    return SymbolicQuestion(EQUIVALENT, (a, b), _same_places, _places).sample(answer)


@about_formulas
def have_equal_offsets(a: AnyMap, b: AnyMap, *, budget: int | None = None) -> Proof:
    """Decide whether two maps give each coordinate the same offset, whatever axes are named."""
    answer = _decided(a, b, budget=budget)
    if answer.holds is not None:
        return answer
    with isl_budget(-(-(budget or ISL_OPERATIONS) // 4)):
        return SymbolicQuestion(EQUIVALENT, (a, b), _decided, _effect).sample(answer)


@ask_isl(EQUIVALENT)
@counted_without_isl
def _decided(a: AnyMap, b: AnyMap, *, context: isl.Context) -> Proof:
    if sizes_of(a) != sizes_of(b):
        raise ShapeError(
            f"shapes to compare: expected the same, got {a.shape} and {b.shape}",
            "maps are compared coordinate by coordinate",
            "give both at the same shape",
        )
    spans = ""
    if isinstance(a, IndexMap) and isinstance(b, IndexMap) and a.size != b.size:
        spans = f"; the buffers have {a.size} and {b.size} slots"
    if prod(sizes_of(a)) == 0:
        return Proof(EQUIVALENT, True, f"the arrays are empty{spans}", decider="")
    if any(named_tiles.has_named_tiles(m) for m in (a, b)):
        return named_tiles.are_equivalent(EQUIVALENT, a, b)
    if any(map(swizzled.is_swizzled, (a, b))):
        return swizzled.are_equivalent(EQUIVALENT, a, b)
    reason = f"every coordinate has the same offset{spans}"
    if isinstance(a, IndexMap) and isinstance(b, IndexMap) and a.recipe == b.recipe:
        condition = ALL_SIZES if names_of(a, b) else None
        return Proof(EQUIVALENT, True, reason, "", condition=condition)
    if not names_of(a, b):
        first, decider = None, "evaluation"
        if isinstance(a, IndexMap) and isinstance(b, IndexMap):
            first = first_unequal(a, b)
        if first is None:
            at, decider = _difference(a, b, context).concrete, "ISL"
            if at.is_empty():
                return Proof(EQUIVALENT, True, reason)
            first = first_point(at)
        one, other = _values_at((a, b), first)
        reason = f"{first} has offsets {one} and {other}{spans}"
        return Proof(EQUIVALENT, False, reason, decider, counterexample=first)
    difference = _symbolic_difference(a, b, context)
    equal, undecided = sizes_of_equality(difference)
    proved = SizeSet(equal, difference.space)
    if not undecided.is_empty() and proved.is_never and undecided.is_equal(proved.space.sizes):
        reason = "too many kinds of sizes, or a difference whose sign varies"
        return Proof(EQUIVALENT, None, reason)
    question = SymbolicQuestion(EQUIVALENT, (a, b), _decided, _effect)
    return question.answer(proved, reason, undecided)


def _same_places(a: AnyMap, b: AnyMap) -> Proof:
    return with_places(_decided(a, b), a, b)


def _places(_: Sequence[AnyMap], proof: Proof) -> str:
    return f"puts {proof.reason.replace('is at', 'at')}"


def _effect(maps: Sequence[AnyMap], proof: Proof) -> str:
    one, other = _values_at(maps, proof.counterexample)
    return f"puts {proof.counterexample} at offsets {one} and {other}"


@ask_isl(EQUAL)
def are_equal(a: AffineExpr, b: AffineExpr, *, context: isl.Context) -> Proof:
    """Decide whether two expressions have the same value for all values of their variables.

    A counterexample gives the variables' values by name.
    """
    bounds = {v.name: v.interval for form in (a, b) for v in form.variables()}
    space = Space.within(bounds, context)
    wrong = differ(value_of_form(a, space).function, value_of_form(b, space).function, space.domain)
    if wrong.is_empty():
        return Proof(EQUAL, True, "both have the same value everywhere")
    values = dict(zip(bounds, first_point(wrong), strict=True))
    reason = f"at {values} they are {a.evaluate(values)} and {b.evaluate(values)}"
    return Proof(EQUAL, False, reason, counterexample=values)


def _values_at(maps: Sequence[AnyMap], coordinate: tuple[int, ...]) -> list[Any]:
    """Return what each map gives at a coordinate, in the terms in which they are compared."""
    several = any(isinstance(m, AffineMap) and len(m.given) > 1 for m in maps)
    return [
        m.physical_coordinates(*coordinate)
        if several and isinstance(m, IndexMap)
        else m(*coordinate)
        for m in maps
    ]


def _symbolic_difference(a: AnyMap, b: AnyMap, context: isl.Context) -> Difference:
    """Return the difference by increments, or by ISL if they do not say it."""
    try:
        several = any(isinstance(m, AffineMap) and len(m.given) > 1 for m in (a, b))
        if several:
            return _difference(a, b, context)
        one, other = (m.recipe if isinstance(m, IndexMap) else m.given[0] for m in (a, b))
        return increment_difference([a, b], one, other, context)
    except UnsupportedError:
        return _difference(a, b, context)


def _difference(a: AnyMap, b: AnyMap, context: isl.Context) -> OffsetDifference:
    assumptions = meet_all((*a.assumptions, *b.assumptions))
    if isinstance(a, AffineMap) or isinstance(b, AffineMap):
        return _difference_of_values(a, b, assumptions, context)
    recipes = [a.recipe, b.recipe]
    space = Space.of(a.recipe.shape, context, parameters_of(recipes, assumptions))
    if recipes[0].offset != recipes[1].offset:
        one, other = (offset_value(r, space) for r in recipes)
        return OffsetDifference((one - other,), space)
    values = [list(zip(axis_values(r, space), r.physical_shape, strict=True)) for r in recipes]
    return OffsetDifference.of(values[0], values[1], space)


def _difference_of_values(
    a: AnyMap, b: AnyMap, assumptions: Sequence[Assumption], context: isl.Context
) -> OffsetDifference:
    """Return the differences of two maps, of which at least one has no recipe."""
    recipes = [m.recipe for m in (a, b) if isinstance(m, IndexMap)]
    shape = sizes_of(a)
    space = Space.of(shape, context, parameters_of([*recipes, Recipe(shape)], assumptions))
    several = any(isinstance(m, AffineMap) and len(m.given) > 1 for m in (a, b))
    one, other = (_values(m, space, several) for m in (a, b))
    if len(one) != len(other):
        raise ShapeError(
            f"formulas of two maps: expected equally many, got {len(one)} and {len(other)}",
            "several formulas are compared one by one, or with physical coordinates",
            "give equally many formulas",
        )
    return OffsetDifference(tuple(x - y for x, y in zip(one, other, strict=True)), space)


def _values(m: AnyMap, space: Space, several: bool) -> list[Value]:
    if isinstance(m, AffineMap):
        return [value_of_form(form, space) for form in m.given]
    return axis_values(m.recipe, space) if several else [offset_value(m.recipe, space)]


_FIRST_CHUNK = 1 << 10  # elements compared at once; each next chunk is four times as long


def first_unequal(a: IndexMap, b: IndexMap) -> tuple[int, ...] | None:
    """Return the first coordinate at which two layouts of one array have different offsets.

    Sums of functions of one coordinate each are compared by their increments, others element by
    element from the first on. None says nothing: the layouts may be equal, or differ later.
    """
    sizes = known(a.recipe.shape)
    if _has_large_offsets(a.recipe, b.recipe):
        return None
    with suppress(UnsupportedError):
        changes = increments_between(a, a.recipe, b.recipe)
        if not changes:
            return None
        first = changes[0]
        return tuple(first.at if dim == first.dim else 0 for dim in range(len(sizes)))
    return _scanned(a.recipe, b.recipe, sizes)


def _scanned(one: Recipe, other: Recipe, sizes: Sequence[int]) -> tuple[int, ...] | None:
    end = min(prod(sizes), PROOF_FIRST)
    start, length = 0, _FIRST_CHUNK
    while start < end:
        positions = np.arange(start, min(start + length, end))
        at = np.unravel_index(positions, tuple(sizes))
        zero = np.zeros_like(positions)
        wrong = offset_of(one, at, zero) != offset_of(other, at, zero)
        if wrong.any():
            k = int(wrong.argmax())
            return tuple(int(x[k]) for x in at)
        start, length = start + length, 4 * length
    return None


def _has_large_offsets(*recipes: Recipe) -> bool:
    """Return whether an offset may not fit 62 bits."""
    return any(max(known((r.size, *r.shape))) >= 1 << 62 for r in recipes)


def with_places(answer: Proof, a: AnyMap, b: AnyMap) -> Proof:
    """Return a proof that offsets are equal, or what refutes it for places on different axes.

    Axes of one value change no place: the only warp may be named or not.
    """
    if not (answer.holds and isinstance(a, IndexMap) and isinstance(b, IndexMap)):
        return answer
    one, other = a.recipe, b.recipe
    if have_equal_axes(one, other):
        return answer
    if one.names or other.names:
        return Proof(answer.claim, None, "the axes differ")
    size = min(known((one.size, other.size)))
    slots = np.arange(min(size, PROOF_FIRST))
    at, there = elements_at(one, slots)
    first, second = _coordinates(one, slots), _coordinates(other, slots)
    none = np.zeros_like(slots)
    wrong = np.zeros(slots.shape, bool)
    for name in {*first, *second}:
        wrong |= there & (first.get(name, none) != second.get(name, none))
    if wrong.any():
        k = int(wrong.argmax())
        found = tuple(int(np.broadcast_to(x, slots.shape)[k]) for x in at)
        texts = (
            ", ".join(f"{name} {x[k]}" for name, x in places.items()) for places in (first, second)
        )
        reason = f"{found} is at {' and at '.join(texts)}"
        return replace(
            answer, holds=False, reason=reason, decider="evaluation", counterexample=found
        )
    return answer if size <= PROOF_FIRST else Proof(answer.claim, None, "the axes differ")


def have_equal_axes(one: Recipe, other: Recipe) -> bool:
    """Whether equal offsets are equal places: one has no named axes, or both have the same."""
    axes = (zip(r.axis_names, r.physical_shape, strict=True) for r in (one, other) if r.axis_names)
    return len({tuple(pair for pair in pairs if pair[1] != 1) for pairs in axes}) < 2


def _coordinates(recipe: Recipe, slots: Any) -> dict[str, Any]:
    """The coordinates of slots along the axes of more than one value, by name."""
    sizes = known(recipe.physical_shape)
    at = np.unravel_index(np.minimum(slots, int(np.prod(sizes)) - 1), sizes)
    named = zip(recipe.axis_names, at, sizes, strict=True)
    return {name: x for name, x, n in named if n != 1}


@frozen
class Alignment(Displayed):
    """What divides every address.

    >>> from morello_layouts import alignment
    >>> found = alignment("f32[16,256]{1,0:T(8,128)}", tile=(8, 128))
    >>> print(found)
    every address is a multiple of 4096 bytes, and of no larger number. Decided by steps and ISL.
    """

    #: the largest integer known to divide each address at all sizes; 0 if the only address is 0,
    #: which every number divides.
    number: int
    #: what divides each address, for symbolic sizes an expression; ``number`` divides it.
    formula: Any
    unit: Unit  #: what addresses count.
    #: whether no larger integer divides all addresses; at symbolic sizes that is not claimed.
    is_greatest: bool
    decider: str  #: how it was proved.

    json_keys: ClassVar[tuple[str, ...]] = ("number", "formula", "unit", "is_greatest", "decider")

    def __int__(self) -> int:
        return self.number

    def __str__(self) -> str:
        if self.formula == 0:
            return "the only address is 0"
        unit = self.unit[:-1] if self.formula == 1 else self.unit
        text = f"every address is a multiple of {self.formula} {unit}"
        if self.formula != self.number:
            text += f", which is a multiple of {self.number} at all sizes"
        elif self.is_greatest:
            text += ", and of no larger number"
        return f"{text}. Decided by {self.decider}."


def alignment(
    m: IndexMap, unit: Unit = "bytes", base_alignment: int = 0, bits: int | None = None
) -> Alignment:
    """Return what divides every address of a map, as of :func:`morello_layouts.alignment`."""
    each, per = bits_of_unit(m, unit, bits)
    in_bits = each % per != 0
    address = address_of(m, "bits" if in_bits else unit, 0, bits)
    (form,) = address.forms
    if 0 in m.recipe.shape:
        raise UnsupportedError(
            f"{m.source or 'the array'} has no elements",
            "alignment is that of the addresses of elements",
            "ask about an array with elements",
        )
    found, is_greatest = divisor_of(form)
    decider = "steps"
    elements = prod(m.recipe.shape)
    if not is_greatest and isinstance(elements, int) and elements <= PROOF_ELEMENTS:
        found, is_greatest, decider = _enumerated(address), True, "enumeration"
    number = greatest_number(found)
    if decider == "steps" and number > 1:
        multiples = replace(address, given=(form // number * number,))
        answer = are_equivalent(replace(address, given=address.given), multiples)
        if answer.holds is False:
            raise AssertionError(f"a bug: {number} does not divide {form}: {answer.reason}")
        decider += " and ISL" if answer.holds else ""
    start = base_alignment * (per if in_bits else 1)
    found, number = common_divisor(found, start), gcd(number, start)
    if in_bits:
        found, number = _in_bytes(found, each), number // 8
    return Alignment(number, public_size(found, m.size_symbols), unit, is_greatest, decider)


def _enumerated(address: Any) -> int:
    import numpy as np

    at = np.indices(address.shape, sparse=True)
    return int(np.gcd.reduce(np.asarray(address(*at)), axis=None))


def _in_bytes(bits: Int, each: int) -> Int:
    if bits % 8:
        raise UnsupportedError(
            f"not every address is a whole byte: elements have {each} bits",
            f"the addresses are multiples of {bits} bits",
            'ask with unit="bits"',
        )
    return bits // 8
