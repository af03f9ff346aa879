"""Decide whether two maps are equal, and where not; which number divides all offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import gcd, prod
from typing import Any, ClassVar, Final

from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.boxes import divisor_of, greatest_number
from morello_layouts.core.expr.sizes import Int, SizeExpr, common_divisor
from morello_layouts.core.fields import Displayed, frozen, later
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import (
    ISL_OPERATIONS,
    ISL_OPINION,
    PROOF_ELEMENTS,
    PROOF_FIRST,
)
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import public_size
from morello_layouts.core.maps.places import Unit, address_of, bits_of_unit
from morello_layouts.core.recipe import (
    Recipe,
    coordinates_at,
    elements_at,
    known,
    offset_of,
    physical_coordinates,
)
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.proof.ask import (
    AnyMap,
    SymbolicQuestion,
    ask_isl,
    isl_budget,
    names_of,
)
from morello_layouts.proof.comparison import (
    BITS,
    DIGITS,
    by_isl_alone,
    compare,
    confirmed,
    first_positions,
    judge_formulas_too,
)
from morello_layouts.proof.isl import (
    Parameters,
    Space,
    at_least,
    differ,
    first_point,
    regions,
    union,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.separable import Separable
from morello_layouts.proof.verdict import ALL_SIZES, Proof

EQUAL: Final = "equal"
EQUIVALENT: Final = "equivalent"


@judge_formulas_too
def are_equivalent(
    a: AnyMap, b: AnyMap, *, budget: int | None = None, confirm: bool = False
) -> Proof:
    """Decide whether two maps over one shape give each coordinate the same offset.

    Layouts whose axes have names must give it the same coordinates along them. ``confirm`` asks
    ISL too for what digits decide.
    """
    offsets = have_equal_offsets(a, b, budget=budget)
    answer = with_places(offsets, a, b)
    if confirm and answer.decider == DIGITS:
        return confirmed(answer, answer, _by_isl(a, b, budget=budget or ISL_OPINION))
    if answer.holds is not None or not (offsets.holds and names_of(a, b)):
        return answer
    return SymbolicQuestion(EQUIVALENT, (a, b), _same_places, _places).sample(answer)


@judge_formulas_too
def have_equal_offsets(a: AnyMap, b: AnyMap, *, budget: int | None = None) -> Proof:
    """Decide whether two maps give each coordinate the same offset, whatever axes are named."""
    answer = _decided(a, b, budget=budget)
    if answer.holds is not None:
        return answer
    with isl_budget(-(-(budget or ISL_OPERATIONS) // 4)):
        return SymbolicQuestion(EQUIVALENT, (a, b), _decided, _effect).sample(answer)


@ask_isl(EQUIVALENT)
def _by_isl(a: AnyMap, b: AnyMap, *, context: isl.Context) -> Proof:
    """Return ISL's own answer; for sizes by name only that they are equal for all."""
    several = _have_several(a, b)
    found = by_isl_alone([a, b], _sources(a, several), _sources(b, several), context)
    condition = ALL_SIZES if found.equal and names_of(a, b) else None
    return Proof(EQUIVALENT, found.equal, found.why or "by its values", "ISL", condition=condition)


@ask_isl(EQUIVALENT)
def _decided(a: AnyMap, b: AnyMap, *, context: isl.Context) -> Proof:
    if a.sizes != b.sizes:
        raise ShapeError(
            f"shapes to compare: expected the same, got {a.shape} and {b.shape}",
            "maps are compared coordinate by coordinate",
            "give both at the same shape",
        )
    spans = ""
    if a.recipe is not None and b.recipe is not None and a.recipe.size != b.recipe.size:
        spans = f"; the buffers have {a.recipe.size} and {b.recipe.size} slots"
    if prod(a.sizes) == 0:
        return Proof(EQUIVALENT, True, f"the arrays are empty{spans}", decider="")
    condition = ALL_SIZES if names_of(a, b) else None
    reason = f"every coordinate has the same offset{spans}"
    if a.recipe is not None and b.recipe is not None:
        if a.recipe == b.recipe:
            return Proof(EQUIVALENT, True, reason, "", condition=condition)
        if max(a.recipe.replicas, b.recipe.replicas) > 1:
            return _have_equal_places(a, b, spans)
    several = _have_several(a, b)
    found = compare([a, b], _sources(a, several), _sources(b, several), context)
    if found.equal:
        return Proof(EQUIVALENT, True, reason, found.decider, condition=condition)
    if found.at is not None:
        at = found.at

        def offsets() -> str:
            one, other = _values_at((a, b), at)
            return f"{at} has offsets {one} and {other}{spans}"

        reason = later(offsets)
        return Proof(EQUIVALENT, False, reason, found.decider, counterexample=found.at)
    if found.sizes is None:
        return Proof(EQUIVALENT, None, found.why)
    proved, undecided = found.sizes
    if not undecided.is_empty() and proved.is_never and undecided.is_equal(proved.space.sizes):
        reason = "too many kinds of sizes, or a difference whose sign varies"
        return Proof(EQUIVALENT, None, reason)
    question = SymbolicQuestion(EQUIVALENT, (a, b), _decided, _effect)
    return replace(question.answer(proved, reason, undecided), decider=found.decider)


def _have_several(*maps: AnyMap) -> bool:
    """Return whether a map has several formulas; a layout has one."""
    return any(m.recipe is None and len(m.given) > 1 for m in maps)


def _sources(m: AnyMap, several: bool) -> Any:
    """Return what is compared: a recipe, or formulas; of several the physical coordinates."""
    if m.recipe is not None:
        if not several:
            return m.recipe
        zero = AffineExpr((), 0)
        return tuple(physical_coordinates(m.recipe, coordinate_variables(m.recipe.shape), zero))
    return m.given if several else m.given[0]


def _same_places(a: AnyMap, b: AnyMap) -> Proof:
    return with_places(_decided(a, b), a, b)


def _places(_: Sequence[AnyMap], proof: Proof) -> str:
    return f"puts {proof.reason.replace('is at', 'at')}"


def _effect(maps: Sequence[AnyMap], proof: Proof) -> str:
    one, other = _values_at(maps, proof.counterexample)
    return f"puts {proof.counterexample} at offsets {one} and {other}"


@ask_isl(EQUAL)
def are_equal(
    a: AffineExpr, b: AffineExpr, facts: Sequence[AffineExpr] = (), *, context: isl.Context
) -> Proof:
    """Decide whether two expressions have the same value for all values of their variables.

    Only values count at which the facts are at least 0. A counterexample gives the variables'
    values by name.
    """
    bounds = {v.name: v.interval for form in (a, b, *facts) for v in form.variables()}
    ends = (end for interval in bounds.values() for end in interval)
    sizes = {name for end in ends if isinstance(end, SizeExpr) for name in end.names()}
    sizes |= {name for form in (a, b, *facts) for name in form.sizes()}
    parameters = Parameters.of([SizeExpr.named(name) for name in sorted(sizes)])
    space = Space.within(bounds, context, parameters)
    everything = space.domain.get_space()
    for fact in facts:
        held = (at_least(x, 0).intersect(here) for here, x in regions(fact, space))
        space = replace(space, domain=union(held, everything))
    parts = (
        differ(x, y, both)
        for here, x in regions(a, space)
        for both, y in regions(b, replace(space, domain=here))
    )
    wrong = union(parts, everything)
    if wrong.is_empty():
        return Proof(EQUAL, True, "both have the same value everywhere")
    if sizes:
        return Proof(EQUAL, False, "they differ at some sizes")
    values = dict(zip(bounds, first_point(wrong), strict=True))
    reason = f"at {values} they are {a.evaluate(values)} and {b.evaluate(values)}"
    return Proof(EQUAL, False, reason, counterexample=values)


def _have_equal_places(a: IndexMap, b: IndexMap, spans: str) -> Proof:
    """Decide whether two replicated layouts have the same element in every slot."""
    counts = [m.recipe.replicas for m in (a, b)]
    if counts[0] != counts[1]:
        reason = f"each element is on {counts[0]} and {counts[1]} places{spans}"
        return Proof(EQUIVALENT, False, reason, DIGITS, counterexample=(0,) * len(a.sizes))
    reason = f"every element has the same places{spans}"
    try:
        if a.size == b.size and _elements(a.recipe) == _elements(b.recipe):
            condition = ALL_SIZES if names_of(a, b) else None
            return Proof(EQUIVALENT, True, reason, BITS, condition=condition)
    except UnsupportedError as error:
        if names_of(a, b):
            return Proof(EQUIVALENT, None, f"{error.what}: {error.why}")
    if names_of(a, b):
        return Proof(EQUIVALENT, None, "could not compare the XOR bits symbolically")
    sizes = known((a.recipe.size, b.recipe.size))
    for slots in first_positions(min(sizes)):
        (at, here), (other, there) = (elements_at(m.recipe, slots) for m in (a, b))
        wrong = here != there
        for x, y in zip(at, other, strict=True):
            wrong = wrong | (here & there & (x != y))
        if wrong.any():
            k = int(wrong.argmax())
            found = tuple(int(x[k]) for x in (at if here[k] else other))
            reason = f"slot {slots[k]} holds other elements, such as {found}{spans}"
            return Proof(EQUIVALENT, False, reason, "evaluation", counterexample=found)
    if min(sizes) <= PROOF_FIRST:  # all places are there: none is left for the longer buffer
        return Proof(EQUIVALENT, True, reason, "enumeration")
    return Proof(
        EQUIVALENT,
        None,
        "too many slots to look at, and could not compare the XOR bits symbolically",
    )


def _elements(recipe: Recipe) -> Any:
    """Return what each slot holds, its coordinate and the limits, in a normal form."""
    p = Separable.coordinates((recipe.size,))[0]
    at, limits = coordinates_at(recipe, p)
    return [(p * 0 + x).key for x in at], {((p * 0 + x).key, n) for x, n in limits}


def _values_at(maps: Sequence[AnyMap], coordinate: tuple[int, ...]) -> list[Any]:
    """Return what each map gives at a coordinate, in the terms in which they are compared."""
    several = _have_several(*maps)
    if several:
        return [(m if m.recipe is None else m.physical_coordinates)(*coordinate) for m in maps]
    return [
        m(*coordinate) if m.recipe is None else offset_of(m.recipe, coordinate, 0) for m in maps
    ]


def with_places(answer: Proof, a: AnyMap, b: AnyMap) -> Proof:
    """Return a proof that offsets are equal, or what refutes it for places on different axes.

    Axes of one value change no place: the only warp may be named or not.
    """
    if not answer.holds or a.recipe is None or b.recipe is None:
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
