"""Decide whether a map's recipe agrees with its SymPy formulas and inverse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice, product
from math import prod
from typing import Any, Final, TypeAlias

from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr, Var, variable
from morello_layouts.expr.conversions import size_to_sympy, symbol
from morello_layouts.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.expr.substitution import substitute
from morello_layouts.limits import CERTIFICATE_AXES, PROOF_SAMPLES, VERIFY_POINTS
from morello_layouts.maps import IndexMap
from morello_layouts.proof import named_tiles, swizzled
from morello_layouts.proof.ask import ask_isl, names_of, small_sizes
from morello_layouts.proof.certificate import certificate_of_map
from morello_layouts.proof.conditions import first_sizes
from morello_layouts.proof.difference import OffsetDifference, sizes_of_equality
from morello_layouts.proof.formulas import increment_difference
from morello_layouts.proof.isl import (
    MixedRadix,
    NotAffineError,
    Space,
    Value,
    at_least,
    first_point,
    offset_value,
    union,
)
from morello_layouts.proof.library import isl
from morello_layouts.proof.reading import (
    Reading,
    formulas_of,
    inverse_of,
    padding_of,
    read,
    references_of,
)
from morello_layouts.proof.relations import RecipeRelation, parameters_of, relations_of
from morello_layouts.proof.second_opinion import first_disagreement, is_padding, value_of
from morello_layouts.proof.verdict import Proof, sizes_text
from morello_layouts.recipe import Recipe, has_inverse, known, linear_index, offset_of
from morello_layouts.recipe.views import with_replicas_as_dims, without_xors

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
    found = read(formula, Reading(names, constant, space.parameters.assumptions))
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
    if answer.holds and answer.decider != named_tiles.DECIDER:
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
        certificate_of_map(m, VERIFIED)
        reason = "simplified formula, reference and inverse agree everywhere"
        return Proof(VERIFIED, True, reason, decider="a certificate")
    return None


@ask_isl(VERIFIED)
def _agreement(m: IndexMap, *, context: isl.Context) -> Proof:
    """Decide by ISL whether the formulas and the inverse agree with the recipe."""
    if named_tiles.has_named_tiles(m):
        return named_tiles.is_verified(VERIFIED, m)
    has = "inverse" if has_inverse(m.recipe) else "recipe"
    reason = f"simplified formula, reference and {has} agree everywhere"
    if swizzled.is_swizzled(m):
        answer = swizzled.verified(VERIFIED, m, reason)
        if answer.holds is None and not swizzled.has_xors(m):
            return next(_faults(m, context), Proof(VERIFIED, True, reason))
        if not answer.holds or not swizzled.is_placed_by_steps(m):
            return answer
        plain = replace(m, recipe=without_xors(with_replicas_as_dims(m.recipe)))
        proved = replace(answer, decider=f"{answer.decider}, and ISL")
        return next(_backward_faults(*relations_of(plain, context)), proved)
    return next(_faults(m, context), Proof(VERIFIED, True, reason))


def _faults(m: IndexMap, context: isl.Context) -> Iterator[Proof]:
    """Yield a proof for each part that differs from the recipe, or may differ."""
    for name, formula in (*formulas_of(m), *references_of(m)):
        yield from _formula_faults(m, name, formula, context)
    if prod(m.recipe.shape) == 0 or not has_inverse(m.recipe):
        return
    piece, *others = relations_of(m, context, most=None)
    if others:
        raise NotAffineError(
            "the formulas agree, but the inverse divides by a product of symbolic sizes",
            "quotients by symbols are outside of Presburger arithmetic",
            "ask at given sizes",
        )
    plain = replace(m, recipe=with_replicas_as_dims(m.recipe))
    yield from _backward_faults(*relations_of(plain, context))
    yield from _coordinate_faults(m, piece)
    yield from _padding_faults(m, piece)
    yield from _tail_faults(m, piece)


def _backward_faults(*pieces: RecipeRelation) -> Iterator[Proof]:
    """Check that the recipe read backwards is its inverse."""
    for piece in pieces:
        if piece.collisions is not None or not piece.outside.is_empty() or piece.inverse_is_wrong:
            yield Proof(VERIFIED, False, "the recipe read backwards is not its inverse")


def _formula_faults(m: IndexMap, name: str, formula: Any, context: isl.Context) -> Iterator[Proof]:
    """Check that a formula gives the recipe's offsets."""
    if m.recipe.names:
        with suppress(UnsupportedError):
            difference = increment_difference([m], m.recipe, formula, context)
            equal, left = sizes_of_equality(difference)
            sizes = difference.space.sizes
            if sizes.is_subset(equal):
                return
            failing = sizes.subtract(equal).subtract(left)
            found = first_sizes(failing, difference.space, names_of(m))
            if found is not None:
                for wrong in islice(_wrong_values(m, m.recipe.at(found), found), 1):
                    yield _refuted(found, wrong, "ISL")
    space = Space.of(m.recipe.shape, context, parameters_of([m.recipe], m.assumptions))
    offset = offset_value(m.recipe, space)
    yield from _unequal(name, value_of_formula(formula, space) - offset, "")


def _unequal(name: str, difference: Value, where: str) -> Iterator[Proof]:
    space = difference.space
    if space.parameters.monomials:
        equal, _ = sizes_of_equality(OffsetDifference((difference,), space))
        if not space.sizes.is_subset(equal):
            yield Proof(VERIFIED, None, f"{name} may differ from the recipe at some sizes")
        return
    points = OffsetDifference((difference,), space).concrete
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
    elements = replace(piece.physical, domain=piece.physical.domain.subtract(piece.padding))
    expected, _ = piece.inverse(elements.coordinates, elements)
    names = {"p": _position(piece, elements)}
    for k, (expr, x) in enumerate(zip(inverse_of(m), expected, strict=True)):
        found = value_of_formula(_from_box(m, expr), elements, names)
        yield from _unequal(f"coordinate {k} of the inverse", found - x, "physical ")


def _padding_faults(m: IndexMap, piece: RecipeRelation) -> Iterator[Proof]:
    """Check that the inverse's condition for padding holds at padding, and only there."""
    space = piece.physical
    names = {"p": _position(piece, space)}
    none = isl.Set.empty(space.domain.get_space())
    limits = [(_from_box(m, x), _from_box(m, n)) for x, n in padding_of(m)]
    claimed = union((_points(x, n, space, names) for x, n in limits), none.get_space())
    wrong = claimed.intersect(space.domain).subtract(piece.padding)
    wrong = wrong.union(piece.padding.subtract(claimed))
    wrong = wrong.subtract(piece.cut)
    if wrong.is_empty():
        return
    reason = "the padding of the inverse differs from the recipe"
    if m.recipe.names:
        yield Proof(VERIFIED, False, reason)
    else:
        sizes, (start,) = known(piece.recipe.physical_shape), known((m.recipe.offset,))
        slot = start + linear_index(first_point(wrong), sizes, 0)
        yield Proof(VERIFIED, False, f"{reason} at slot {slot}", counterexample=slot)


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
    p, least = names["p"], value_of_formula(n, space, names)
    if _is_below_zero(x, n):
        return isl.Set.empty(space.domain.get_space())
    if isinstance(p, MixedRadix) and str(x) == "p":
        # An offset in the box is below the box's size, which may be a product of sizes.
        above = least - Value.constant(prod(p.sizes), space)
        if all(f.is_cst() and not f.get_constant_val().is_neg() for f in above.parts.values()):
            return isl.Set.empty(space.domain.get_space())
    return at_least((value_of_formula(x, space, names) - least).function, 0)


def _is_below_zero(x: Any, n: Any) -> bool:
    """Return whether a form is ``n - p - c`` with c above 0: the offset p is not negative."""
    is_form = isinstance(x, AffineExpr) and len(x.terms) == 1 and isinstance(x.terms[0][0], Var)
    return is_form and x.terms[0][1] == -1 and is_nonnegative(n - x.const - 1)


def _refuted_at_small_sizes(m: IndexMap, left: int) -> Proof | None:
    """Return a proof that a formula or the inverse is wrong at small sizes, if one is found.

    At most ``left`` elements and slots are looked at.
    """
    for sizes in islice(small_sizes(names_of(m), m.assumptions), PROOF_SAMPLES):
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
