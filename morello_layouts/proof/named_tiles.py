"""Questions about tiles whose sizes are names, for all sizes.

ISL does not divide by a symbol. The simplifier's rules do: they show that the inverse formula, at
the offset of a coordinate, is the coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from morello_layouts.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.expr.conversions import size_to_sympy
from morello_layouts.expr.sizes import Int, Quotient, SizeExpr, is_nonnegative
from morello_layouts.expr.substitution import substitute
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof.ask import SymbolicQuestion
from morello_layouts.proof.reading import (
    Reading,
    formulas_of,
    inverse_of,
    padding_of,
    read,
    references_of,
)
from morello_layouts.proof.verdict import ALL_SIZES, Condition, Proof
from morello_layouts.recipe import Pad, Split, has_inverse, offset_of

DECIDER: Final = "the simplifier"


def has_named_tiles(m: IndexMap | AffineMap) -> bool:
    """Return whether a map's recipe splits an axis by a symbolic size."""
    steps = m.recipe.steps if isinstance(m, IndexMap) else ()
    splits = (step for step in steps if isinstance(step, Split))
    return any(isinstance(t, SizeExpr) for step in splits for t in step.tiles)


def _by_recipe(m: IndexMap) -> AffineExpr:
    at = coordinate_variables(m.recipe.shape)
    return canonicalize(offset_of(m.recipe, at, AffineExpr((), 0)))


def is_injective(claim: str, m: IndexMap) -> Proof:
    """Decide whether the inverse gives back every coordinate."""
    if has_inverse(m.recipe):
        offset = _by_recipe(m)
        found = [canonicalize(substitute(form, {"p": offset})) for form in m.inverse.forms]
        if found == coordinate_variables(m.recipe.shape):
            reason = "the inverse formula gives back each coordinate"
            return Proof(claim, True, reason, DECIDER, condition=ALL_SIZES)
    return Proof(claim, None, "the simplifier does not see that the inverse gives coordinates back")


def is_surjective(claim: str, m: IndexMap, decide: Callable[..., Proof]) -> Proof:
    """Decide for an injective map: every slot holds an element if no step pads."""
    steps = zip(m.recipe.steps, m.recipe.shapes, strict=False)
    pads = [pair for step, before in steps if isinstance(step, Pad)
            for pair in zip(before, step.sizes, strict=True) if pair[0] != pair[1]]  # fmt: skip
    if m.recipe.tail_padding != 0 or m.recipe.offset != 0:
        return Proof(claim, None, "the padding at the ends depends on the tiles", unused=m.unused)
    divided = [(_tile_of(*pair), pair[0]) for pair in pads]
    condition = ALL_SIZES if not pads else _divides(divided, m)
    if not pads:
        return Proof(claim, True, "no step pads", DECIDER, condition=condition, unused=0)

    def effect(maps: Sequence[Any], proof: Proof) -> str:
        return f"leaves {proof.unused} of {maps[0].size} slots empty"

    question = SymbolicQuestion(claim, (m,), decide, effect)
    unknown = Proof(claim, None, "no small sizes have padding", condition=None, unused=m.unused)
    found = question.sample(unknown)
    if found.holds is None or condition is None:
        return found
    at = found.counterexample
    return Proof(claim, False, str(at), DECIDER, at, condition, m.unused)


def _tile_of(size: Int, padded: Int) -> Int | None:
    """Return the tile t of which ``t·⌈size/t⌉`` is the padded size."""
    if isinstance(padded, int):
        return None
    for atom in padded.atoms():
        if isinstance(atom, Quotient) and not atom.exact:
            tile, rest = divmod(padded, SizeExpr.named(atom))
            if rest == 0 and (atom.numerator, atom.divisor) == (size, tile):
                return tile
    return None


def _divides(pairs: Sequence[tuple[Int | None, Int]], m: IndexMap) -> Condition | None:
    """Return the condition that each tile divides its size."""
    known = [(t, n) for t, n in pairs if t is not None]
    if len(known) < len(pairs):
        return None
    text = " and ".join(dict.fromkeys(f"{t} | {n}" for t, n in known))
    return Condition(text, partial(_multiples, known, m))


def _multiples(pairs: Iterable[tuple[Int, Int]], m: IndexMap) -> Any:
    """Return that each second size is a multiple of the first, as a SymPy Boolean."""
    from sympy import And, Eq, Mod

    both = ((size_to_sympy(n, m.size_symbols), size_to_sympy(t, m.size_symbols)) for t, n in pairs)
    return And(*(Eq(Mod(n, t), 0) for n, t in both))


def are_equivalent(claim: str, a: IndexMap | AffineMap, b: IndexMap | AffineMap) -> Proof:
    """Decide whether two maps have the same simplified formula."""
    one, other = ([_by_recipe(m)] if isinstance(m, IndexMap) else m.forms for m in (a, b))
    if [*one] == [*other]:
        reason = "every coordinate has the same offset"
        return Proof(claim, True, reason, DECIDER, condition=ALL_SIZES)
    return Proof(claim, None, "the simplified formulas differ, and quotients by names may be equal")


def is_verified(claim: str, m: IndexMap) -> Proof:
    """Decide whether SymPy's formulas are the recipe's, and its inverse gives coordinates back."""
    at, offset = coordinate_variables(m.recipe.shape), _by_recipe(m)
    names = {f"d{k}": x for k, x in enumerate(at)} | {"p": offset}
    reading = Reading(names, lambda n: AffineExpr((), n), m.assumptions)
    found = [_read(reading)(formula) for _, formula in (*formulas_of(m), *references_of(m))]
    if has_inverse(m.recipe) and all(form == offset for form in found):
        back = [*map(_read(reading), inverse_of(m))]
        if back == at and not _may_be_padding(m, reading):
            reason = "formulas and recipe agree, and the inverse gives back each coordinate"
            return Proof(claim, True, reason, DECIDER, condition=ALL_SIZES)
    return Proof(claim, None, "the simplifier does not see that formulas and recipe agree")


def _read(reading: Reading) -> Callable[[Any], AffineExpr]:
    return lambda formula: canonicalize(read(formula, reading))


def _may_be_padding(m: IndexMap, reading: Reading) -> bool:
    """Return whether the condition for padding may hold at the offset of an element."""
    pairs = ((_read(reading)(x), _read(reading)(n)) for x, n in padding_of(m))
    rooms = (canonicalize(n - 1 - x).interval.lo for x, n in pairs)
    return any(room is None or not is_nonnegative(room) for room in rooms)
