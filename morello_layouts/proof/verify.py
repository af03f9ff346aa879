"""Decide whether a map's recipe agrees with its formulas and its inverse.

Questions that neither counting nor ISL decides, as where ISL is not installed, get a certificate.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce, wraps
from importlib.util import find_spec
from itertools import islice, product
from math import prod
from typing import Any, Final, TypeAlias

from morello_layouts.core.expr import AffineExpr, Var, canonicalize, variable
from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.expr.conversions import size_to_sympy, symbol
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.lazy import loader, numpy as np
from morello_layouts.core.limits import (
    CERTIFICATE_AXES,
    ISL_OPINION,
    PROOF_FIRST,
    PROOF_SAMPLES,
    VERIFY_POINTS,
)
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import (
    Recipe,
    coordinates_at,
    elements_at,
    has_inverse,
    known,
    linear_index,
    offset_of,
)
from morello_layouts.core.recipe.views import with_replicas_as_dims, without_xors
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.proof import bijective, equivalent
from morello_layouts.proof.ask import (
    AnyMap,
    Decide,
    ask_isl,
    names_of,
    require_few,
    small_sizes,
)
from morello_layouts.proof.comparison import (
    BITS,
    SIMPLIFIER,
    Comparison,
    at_offsets,
    compare,
    first_positions,
    has_symbolic_tiles,
    has_xors,
    is_placed_by_steps,
    is_swizzled,
    is_undone,
    simplified,
)
from morello_layouts.proof.conditions import first_sizes
from morello_layouts.proof.difference import OffsetDifference, sizes_of_equality
from morello_layouts.proof.isl import (
    MixedRadix,
    NotAffineError,
    Space,
    Value,
    at_least,
    differ,
    first_point,
    intersection,
    union,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.relations import (
    Interpreter,
    RecipeRelation,
    formulas_of,
    inverse_of,
    padding_of,
    read,
    references_of,
    relations_of,
    size_of,
)
from morello_layouts.proof.second_opinion import first_disagreement, is_padding, value_of
from morello_layouts.proof.separable import Separable
from morello_layouts.proof.verdict import ALL_SIZES, Proof, SymbolicCounterexample, sizes_text

DECIDER: Final = "a certificate"

_certificates: Final = loader(
    "morello_layouts.proof", {"certificate": "certificate_of_equality certificate_of_map"}
)


def has_isl() -> bool:
    """Return whether ISL is installed."""
    return find_spec("islpy") is not None


def _or_certified(decide: Decide, certified: Decide) -> Decide:
    @wraps(decide)
    def ask(*maps: AnyMap, budget: int | None = None, **how: bool) -> Proof:
        answer = decide(*maps, budget=budget, **how)
        if answer.holds is None and not has_isl():
            with suppress(UnsupportedError):  # there is none
                found = certified(*maps)
                return replace(found, claim=answer.claim, assumptions=answer.assumptions)
        return answer

    return ask


def _injective(m: AnyMap) -> Proof:
    _certificates("certificate_of_map")(m, "injective")
    return Proof("injective", True, "no two coordinates share an offset", DECIDER)


def _padded(m: AnyMap) -> Proof:
    """Return whether a map without collisions reaches all slots: their number tells."""
    if m.recipe is None:
        _certificates("certificate_of_map")(m, "bijective")
        return Proof("bijective", True, "injective, and all slots hold an element", DECIDER)
    _certificates("certificate_of_map")(m, "padded")
    found = Proof("bijective", True, "injective, and all slots hold an element", DECIDER)
    if m.unused == 0:
        return replace(found, unused=0)
    if not names_of(m):
        reason = f"injective, but {m.unused} of {m.recipe.size} slots are padding"
        return replace(found, holds=False, reason=reason, unused=m.unused)
    at = next(_sizes_with_padding(m), None)
    reason = "injective for all sizes, but not without padding"
    return replace(found, holds=None if at is None else False, reason=reason, counterexample=at)


def _sizes_with_padding(m: IndexMap) -> Iterator[SymbolicCounterexample]:
    names = names_of(m)
    for sizes in islice(small_sizes(names, meet_all(m.assumptions)), PROOF_SAMPLES):
        (padding,) = known((m.at(**sizes).unused,))
        if padding:
            yield SymbolicCounterexample(sizes, None, f"leaves {padding} slots of padding")


def _equivalent(a: AnyMap, b: AnyMap) -> Proof:
    _certificates("certificate_of_equality")(a, b)
    return Proof("equivalent", True, "every coordinate has the same offset", DECIDER)


is_injective = _or_certified(bijective.is_injective, _injective)
is_surjective = _or_certified(bijective.is_surjective, _padded)
is_bijective = _or_certified(bijective.is_bijective, _padded)
are_equivalent = _or_certified(equivalent.are_equivalent, _equivalent)


Readable: TypeAlias = Value | MixedRadix


def value_of_formula(
    formula: Any, space: Space, names: Mapping[str, Readable] | None = None
) -> Value:
    """Return a form, or a SymPy expression, of coordinates and sizes as a value.

    Args:
        formula: the form or expression.
        space: the space of the coordinates; symbols without a name are its parameters.
        names: the values of symbols; by default the space's own coordinates.
    """
    if names is None:
        names = {name: Value.of(x, space) for name, x in space.variables.items()}
    constant = partial(Value.constant, space=space)
    found = read(formula, Interpreter(names, constant, space.parameters.assumptions))
    return found.value if isinstance(found, MixedRadix) else found


VERIFIED: Final = "verified"


def verify(m: IndexMap, *, budget: int | None = None) -> Proof:
    """Decide whether the simplified formula, the reference and the inverse agree with the recipe.

    ``m.expr``, ``m.reference`` and what else SymPy holds are judged too if a user got them before:
    of what nobody holds, nothing is said. All are then compared with the notation's document at
    coordinates, which can only refute. What stays undecided for all sizes,
    or is decided by the simplifier, which is judged here, is tried at small ones. What is still
    undecided is proved by a certificate if one is found.
    """
    return _verify(m, budget).with_names(m.names)


def _verify(m: IndexMap, budget: int | None) -> Proof:
    answer = _agreement(m, budget=budget)
    if answer.holds is False:
        return answer
    wrong = first_disagreement(m)
    if wrong is not None:
        reason, at = wrong
        answer = replace(answer, holds=False, reason=reason, counterexample=at)
        return replace(answer, decider="the document")
    if answer.holds and answer.decider != SIMPLIFIER:
        return answer
    found = _refuted_at_small_sizes(m, VERIFY_POINTS // 8 if answer.holds else VERIFY_POINTS)
    if answer.holds is None and found is None and budget is None:
        found = _certified(m)
    return answer if found is None else replace(found, assumptions=answer.assumptions)


def _certified(m: IndexMap) -> Proof | None:
    """Return a proof by a certificate that the checker accepted, if there is one."""
    if len(m.recipe.physical_shape) > CERTIFICATE_AXES:
        return None
    with suppress(UnsupportedError):  # there is none, or no inverse
        _certificates("certificate_of_map")(m, VERIFIED)
        reason = "simplified formula, reference and inverse agree everywhere"
        return Proof(VERIFIED, True, reason, decider="a certificate")
    return None


@ask_isl(VERIFIED)
def _agreement(m: IndexMap, *, context: isl.Context) -> Proof:
    """Decide whether the formulas and the inverse agree with the recipe."""
    deciders = []
    for name, formula in (*formulas_of(m), *references_of(m)):
        found = compare([m], m.recipe, formula, context)
        if not found.equal:
            return _wrong_formula(m, name, found)
        deciders.append(found.decider)
    has = "inverse" if has_inverse(m.recipe) else "recipe"
    proved = Proof(VERIFIED, True, f"simplified formula, reference and {has} agree everywhere")
    if not has_inverse(m.recipe) or prod(m.recipe.shape) == 0:
        return replace(proved, decider=_joined(deciders))
    if has_symbolic_tiles(m):
        if is_undone(m, inverse_of(m), context) and not _may_be_padding(m):
            return replace(proved, decider=SIMPLIFIER, condition=ALL_SIZES)
        reason = "the simplifier does not see that the inverse gives coordinates back"
        return Proof(VERIFIED, None, reason)
    if is_swizzled(m):
        answer = _inverse_by_bits(m, proved, context)
        if answer.holds and is_placed_by_steps(m):
            plain = replace(m, recipe=without_xors(with_replicas_as_dims(m.recipe)))
            proved = replace(answer, decider=_joined([*deciders, answer.decider, "ISL"]))
            return next(_backward_faults(*relations_of(plain, context)), proved)
        if answer.holds is not None or has_xors(m):
            return answer
    by_isl = replace(proved, decider=_joined([*deciders, "ISL"]))
    allowed, why = context.get_max_operations(), ""
    try:
        context.set_max_operations(min(allowed, ISL_OPINION))
        return next(_inverse_faults(m, context), by_isl)
    except NotAffineError as error:
        why = f"does not say, {error.what}"
    except isl.Error:
        why = "gave up at its budget"
    finally:
        context.set_max_operations(allowed)
    answer = _inverse_by_bits(m, proved, context)
    if answer.holds is None:
        return next(_inverse_faults(m, context), by_isl)
    return replace(answer, decider=f"{_joined([*deciders, answer.decider])}; ISL {why}")


def _joined(deciders: Iterable[str]) -> str:
    """Return who decided, each once."""
    each = [*dict.fromkeys(deciders)]
    each = [x for x in each if not any(x != other and x in other for other in each)]
    return (", and " if any(" and " in x for x in each) else " and ").join(each)


def _wrong_formula(m: IndexMap, name: str, found: Comparison) -> Proof:
    """Return the proof for a formula that differs from the recipe, or may differ."""
    if found.at is not None:
        reason = f"{name} differs from the recipe at {found.at}"
        return Proof(VERIFIED, False, reason, found.decider, counterexample=found.at)
    if found.sizes is None:
        return Proof(VERIFIED, None, f"{name} was not compared: {found.why}")
    failing, space = found.unequal_sizes, found.sizes[0].space
    sizes = None if failing is None else first_sizes(failing, space, names_of(m))
    if sizes is not None:
        for wrong in _wrong_values(m, m.recipe.at(sizes), sizes):
            return _refuted(sizes, wrong, found.decider)
    return Proof(VERIFIED, None, f"{name} may differ from the recipe at some sizes")


def _may_be_padding(m: IndexMap) -> bool:
    """Return whether the condition for padding may hold at the offset of an element."""
    limits = [at_offsets(m, pair) for pair in padding_of(m)]
    rooms = (canonicalize(simplified(n, m) - 1 - simplified(x, m)).interval.lo for x, n in limits)
    return any(room is None or not is_nonnegative(room) for room in rooms)


def _inverse_by_bits(m: IndexMap, proved: Proof, context: isl.Context) -> Proof:
    """Decide whether the inverse undoes the recipe, by its bits or by evaluation at all slots.

    It does if it takes each offset to the element's coordinates, and calls padding what the
    recipe's own inverse does; whether that one is right is asked elsewhere.
    """
    with suppress(UnsupportedError):  # what cannot be read is evaluated
        by_isl = is_swizzled(m)  # else it was asked before, and for all of the inverse
        if is_undone(m, inverse_of(m), context, by_isl) and _has_same_padding(m):
            return replace(proved, decider=BITS)
    if names_of(m) or max(known((prod(m.recipe.shape), m.recipe.size))) > PROOF_FIRST:
        reason = "the inverse was not seen to undo the recipe bit by bit"
        return Proof(VERIFIED, None, reason)
    slot = _first_wrong_slot(m)
    if slot is not None:
        wrong = f"the inverse differs from the recipe at slot {slot}"
        return Proof(VERIFIED, False, wrong, "evaluation", counterexample=slot)
    return replace(proved, decider=f"{BITS}, and enumeration")


def _first_wrong_slot(m: IndexMap) -> int | None:
    """Return the first slot at which the inverse is wrong, by evaluation at all of them."""
    expanded = with_replicas_as_dims(m.recipe)
    for slots in first_positions(known((m.recipe.size,))[0]):
        at, there = elements_at(expanded, slots)
        reading = Interpreter({"p": slots}, lambda n: n)
        claimed = [read(x, reading) >= int(n) for x, n in padding_of(m)]
        wrong = there == reduce(operator.or_, claimed, np.asarray(False))
        for formula, x in zip(inverse_of(m), at, strict=False):
            wrong = wrong | (there & (read(formula, reading) != x))
        inside = [np.where(there, x, 0) for x in at]
        wrong = wrong | (there & (offset_of(expanded, inside, 0) != slots))
        if wrong.any():
            return int(slots[wrong.argmax()])
    return None


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
    return read(expr, Interpreter({"p": p}, lambda n: p * 0 + n, m.assumptions))


def _inverse_faults(m: IndexMap, context: isl.Context) -> Iterator[Proof]:
    """Yield a proof for each part of the inverse that differs from the recipe, or may differ."""
    require_few(m.recipe)
    plain = replace(m, recipe=with_replicas_as_dims(m.recipe))
    pieces = relations_of(plain, context)
    is_whole = plain.recipe == m.recipe and len(pieces) == 1
    piece, *others = pieces if is_whole else relations_of(m, context, most=None)
    if others:
        raise NotAffineError(
            "the formulas agree, but the inverse divides by a product of symbolic sizes",
            "quotients by symbols are outside of Presburger arithmetic",
            "ask at given sizes",
        )
    yield from _backward_faults(*pieces)
    yield from _coordinate_faults(m, piece)
    yield from _padding_faults(m, piece)
    yield from _tail_faults(m, piece)


def _backward_faults(*pieces: RecipeRelation) -> Iterator[Proof]:
    """Check that the recipe read backwards is its inverse."""
    for piece in pieces:
        if piece.collisions is not None or not piece.outside.is_empty() or piece.inverse_is_wrong:
            yield Proof(VERIFIED, False, "the recipe read backwards is not its inverse")


def _unequal(name: str, difference: Value, where: str) -> Iterator[Proof]:
    space = difference.space
    if all(function.plain_is_zero() for function in difference.parts.values()):
        return
    if space.parameters.monomials:
        equal, _ = sizes_of_equality(OffsetDifference((difference,), space))
        if not space.sizes.is_subset(equal):
            yield Proof(VERIFIED, None, f"{name} may differ from the recipe at some sizes")
        return
    points = differ(difference.function, space.number(0), space.domain)
    if not points.is_empty():
        at = first_point(points)
        reason = f"{name} differs from the recipe at {where}{at}"
        yield Proof(VERIFIED, False, reason, counterexample=at)


def _from_box(m: IndexMap, expr: Any) -> Any:
    """Return a formula of the offset p as one of the position in the box of axes."""
    start = m.recipe.offset
    if start == 0 or isinstance(expr, int | SizeExpr):
        return expr
    if isinstance(expr, AffineExpr):
        return substitute(expr, {"p": variable("p") + start})
    p = symbol("p")
    return expr.subs(p, p + size_to_sympy(start, m.size_symbols))


def _position(piece: RecipeRelation, space: Space) -> MixedRadix:
    """Return the position in the box of axes by its digits, the physical coordinates."""
    digits = tuple(Value.of(x, space) for x in space.coordinates)
    return MixedRadix(digits, piece.recipe.physical_shape, space)


def _coordinate_faults(m: IndexMap, piece: RecipeRelation) -> Iterator[Proof]:
    """Check that the inverse gives the coordinate of the element at each slot."""
    elements = replace(piece.physical, domain=piece.elements)
    expected, _ = piece.inverse(elements.coordinates, elements)
    names = {"p": _position(piece, elements)}
    for k, (expr, x) in enumerate(zip(inverse_of(m), expected, strict=True)):
        found = value_of_formula(_from_box(m, expr), elements, names)
        yield from _unequal(f"coordinate {k} of the inverse", found - x, "physical ")


def _padding_faults(m: IndexMap, piece: RecipeRelation) -> Iterator[Proof]:
    """Check that the inverse's condition for padding holds at padding, and only there.

    Limits that both state are not looked at. A difference of two unions may be very long, so each
    other limit is compared with what the other side calls an element.
    """
    space = piece.physical
    names = {"p": _position(piece, space)}
    none = space.domain.get_space()
    limits = [(_from_box(m, x), _from_box(m, n)) for x, n in padding_of(m)]
    stated = [x for pair in limits if (x := _excess(*pair, space, names)) is not None]
    own = [x.sub(space.number(n)) for x, n in piece.limits]
    wrong = union((at_least(x, 0).intersect(piece.elements) for x in _unshared(stated, own)), none)
    if missing := _unshared(own, stated):
        below = [at_least(x.neg(), 1) for x in stated]
        said = intersection([space.domain, *below])
        wrong = wrong.union(union((at_least(x, 0).intersect(said) for x in missing), none))
    if wrong.is_empty() or (wrong := wrong.subtract(piece.cut)).is_empty():
        return
    reason = "the padding of the inverse differs from the recipe"
    if m.recipe.names:
        yield Proof(VERIFIED, False, reason)
    else:
        sizes, (start,) = known(piece.recipe.physical_shape), known((m.recipe.offset,))
        slot = start + linear_index(first_point(wrong), sizes, 0)
        yield Proof(VERIFIED, False, f"{reason} at slot {slot}", counterexample=slot)


def _unshared(some: Sequence[isl.Aff], others: Sequence[isl.Aff]) -> list[isl.Aff]:
    """Return the functions that are not among others, which mostly come in the same order."""
    found, at = [], 0
    for one in some:
        turns = (k % len(others) for k in range(at, at + len(others)))
        same = next((k for k in turns if one.sub(others[k]).plain_is_zero()), None)
        if same is None:
            found.append(one)
        else:
            at = same + 1
    return found


def _tail_faults(m: IndexMap, piece: RecipeRelation) -> Iterator[Proof]:
    """Check that the inverse calls both ends of the buffer padding."""
    recipe = m.recipe
    yield from _end_faults(m, piece, 0, recipe.offset)
    if recipe.has_tail:
        tail = recipe.tail_padding
        yield from _end_faults(m, piece, recipe.size - tail, tail)


def _end_faults(m: IndexMap, piece: RecipeRelation, start: Int, count: Int) -> Iterator[Proof]:
    space = Space.of((count,), piece.space.context, piece.space.parameters)
    names = {"p": Value.of(space.coordinates[0], space) + start}
    claimed = isl.Set.empty(space.domain.get_space())
    for x, n in padding_of(m):
        # A part that cannot be read can only call more slots padding.
        with suppress(NotAffineError):
            claimed = claimed.union(_points(x, n, space, names))
    if not space.domain.is_subset(claimed):
        yield Proof(VERIFIED, False, "the padding of the inverse misses an end of the buffer")


def _points(x: Any, n: Any, space: Space, names: Mapping[str, Readable]) -> isl.Set:
    """Return the points at which a formula is a number at least."""
    found = _excess(x, n, space, names)
    return isl.Set.empty(space.domain.get_space()) if found is None else at_least(found, 0)


def _excess(x: Any, n: Any, space: Space, names: Mapping[str, Readable]) -> isl.Aff | None:
    """Return a formula minus a number, as a function; None if it is below 0 everywhere."""
    p, least = names["p"], value_of_formula(n, space, names)
    if _is_below_zero(x, n):
        return None
    if isinstance(p, MixedRadix) and str(x) == "p":
        # An offset in the box is below the box's size, which may be a product of sizes.
        above = least - Value.constant(prod(p.sizes), space)
        if all(f.is_cst() and not f.get_constant_val().is_neg() for f in above.parts.values()):
            return None
    return (value_of_formula(x, space, names) - least).function


def _is_below_zero(x: Any, n: Any) -> bool:
    """Return whether a form is ``n - p - c`` with c above 0: the offset p is not negative."""
    is_form = isinstance(x, AffineExpr) and len(x.terms) == 1 and isinstance(x.terms[0][0], Var)
    return is_form and x.terms[0][1] == -1 and is_nonnegative(n - x.const - 1)


def _refuted_at_small_sizes(m: IndexMap, left: int) -> Proof | None:
    """Return a proof that a formula or the inverse is wrong at small sizes, if one is found.

    At most ``left`` elements and slots are looked at.
    """
    names = dict.fromkeys((*names_of(m), *sorted(m.reference_form.sizes())))  # N of (i - i) % N too
    for sizes in islice(small_sizes(tuple(names), m.assumptions), PROOF_SAMPLES):
        with suppress(ShapeError):  # sizes that the layout does not take
            recipe = m.recipe.at(sizes)
            (count,) = known((prod(recipe.shape) + recipe.size,))
            left -= count
            if left < 0:
                return None
            wrong = next(_wrong_values(m, recipe, sizes), None)
            if wrong is not None:
                return _refuted(sizes, wrong, "sampling")
    return None


def _refuted(sizes: Mapping[str, int], wrong: tuple[str, Any], decider: str) -> Proof:
    reason, at = wrong
    if not sizes:
        return Proof(VERIFIED, False, reason, decider, counterexample=at)
    reason = f"if {sizes_text(sizes)}, {reason}"
    return Proof(VERIFIED, False, reason, decider, counterexample=sizes)


def _wrong_values(
    m: IndexMap, recipe: Recipe, sizes: Mapping[str, int]
) -> Iterator[tuple[str, Any]]:
    """Yield where formulas and inverse differ from a recipe at given sizes: in words, and where."""
    held: dict[int, tuple[int, ...]] = {}
    for at in product(*map(range, known(recipe.shape))):
        p = int(offset_of(recipe, at, 0))
        for copy in product(*map(range, known(recipe.replica_sizes))):
            held[int(offset_of(recipe, at, 0, copy))] = at
        values = {**sizes, **{f"d{k}": x for k, x in enumerate(at)}}
        for name, formula in (*formulas_of(m), *references_of(m)):
            if value_of(formula, values) != p:
                yield f"{name} differs from the recipe at {at}", at
    if not has_inverse(recipe):
        return
    for p in range(*known((recipe.size,))):
        values = {**sizes, "p": p}
        if is_padding(m, values) != (p not in held):
            yield f"the padding of the inverse differs from the recipe at slot {p}", p
        elif p in held and held[p] != tuple(value_of(x, values) for x in inverse_of(m)):
            yield f"the inverse differs from the recipe at slot {p}", p
