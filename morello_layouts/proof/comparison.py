"""Where two offsets of one array differ: by digits, at the first elements, else by ISL.

Recipes, the formulas that users get, and those of two maps are all compared here. The simplifier's
rules take no part in it, but for tiles whose sizes are names: ISL does not divide by a symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, wraps
from itertools import cycle, pairwise
from math import prod
from typing import Any, Final, TypeAlias

from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.core.expr.assumptions import Assumption, meet_all
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import has_numpy, numpy as np
from morello_layouts.core.limits import PROOF_COUNTED, PROOF_FIRST, PROOF_WIDE
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Split,
    Transpose,
    Window,
    Xor,
    delinearize,
    has_inverse,
    known,
    linear_index,
)
from morello_layouts.core.recipe.digits import digits_of, has_digits
from morello_layouts.core.recipe.recognize import recipe_of_coordinates, recipe_of_formula
from morello_layouts.core.recipe.views import Column, filled
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.proof.ask import AnyMap, Decide, ask_isl, is_asking, names_of, require_few
from morello_layouts.proof.conditions import SizeSet
from morello_layouts.proof.difference import (
    OffsetDifference,
    sizes_of_equality,
    sizes_without_changes,
)
from morello_layouts.proof.isl import Parameters, Space, Value, axis_values, first_point
from morello_layouts.proof.library import isl
from morello_layouts.proof.relations import (
    AtOffset,
    Interpreter,
    NamedExpr,
    formulas_of,
    has_formulas,
    parameters_of,
    read,
)
from morello_layouts.proof.second_opinion import value_of
from morello_layouts.proof.separable import Increment, Separable, increments
from morello_layouts.proof.verdict import Proof

BITS: Final = "digits and bits"
DIGITS: Final = "digits"
DIGITS_AND_ISL: Final = "digits and ISL"
SIMPLIFIER: Final = "the simplifier"

_FEW: Final = 32  # elements that are looked at first

Pairs: TypeAlias = Sequence[tuple[Any, Any]]
"""What is compared: recipes, forms, or SymPy's expressions."""


def has_symbolic_tiles(*maps: AnyMap) -> bool:
    """Return whether a recipe splits an axis by a symbolic size."""
    recipes = (m.recipe for m in maps if m.recipe is not None)
    splits = (step for r in recipes for step in r.steps if isinstance(step, Split))
    return any(isinstance(t, SizeExpr) for step in splits for t in step.tiles)


def is_swizzled(m: AnyMap) -> bool:
    """Return whether a map has exclusive ors or replicas."""
    if m.recipe is not None:
        return has_xors(m) or any(isinstance(step, Replicate) for step in m.recipe.steps)
    return any(map(_has_bits, m.given))


def has_xors(m: IndexMap) -> bool:
    """Return whether a layout has exclusive ors in its steps or in its formula."""
    return _has_bits(m.recipe) or _has_bits(m.reference_form)


def is_placed_by_steps(m: IndexMap) -> bool:
    """Return whether the steps keep elements apart: nothing scatters, and no element is cut off."""
    return has_inverse(m.recipe) and _loses_nothing(m.recipe)


def _loses_nothing(recipe: Recipe) -> bool:
    """Return whether each element has a slot, by a bound on its place along each axis."""
    cuts = any(isinstance(step, Pad) and step.cut for step in recipe.steps)
    if not cuts and is_nonnegative(recipe.tail_padding):
        return True
    ends: list[Int] = [n - 1 for n in recipe.shape]  # the last place of an element
    for step, before, sizes in zip(recipe.steps, recipe.shapes, recipe.shapes[1:], strict=False):
        match step:
            case Pad():
                pairs = zip(sizes, ends, strict=True)
                if step.cut and not all(is_nonnegative(n - 1 - end) for n, end in pairs):
                    return False
            case Split(tiles):
                parts = zip(ends, tiles, strict=True)
                ends = [x for end, t in parts for x in ((end,) if t is None else _halves(end, t))]
            case Transpose(order):
                ends = [ends[axis] for axis in order]
            case Merge():
                groups = zip(step.groups(ends), step.groups(before), strict=True)
                ends = [linear_index(at, own, 0) for at, own in groups]
            case Window():
                ends = [n - 1 for n in sizes]
            case Replicate(more):
                ends += [n - 1 for n in more]
            case Xor(axis) | Renumber(axis):
                ends[axis] = sizes[axis] - 1
    last = recipe.offset + linear_index(ends, recipe.physical_shape, 0)
    return is_nonnegative(recipe.size - 1 - last)


def _halves(end: Int, tile: Int) -> tuple[Int, Int]:
    """Return the last places along the two axes that one becomes."""
    if not isinstance(end, int) or not isinstance(tile, int):
        return ceil_quotient(end + 1, tile) - 1, tile - 1
    return end // tile, min(end, tile - 1)


def _has_bits(source: Any) -> bool:
    """Return whether an offset has exclusive ors, which ISL does not read."""
    if isinstance(source, Recipe):
        return any(isinstance(step, Xor) for step in source.steps)
    if isinstance(source, AffineExpr):
        return source.has_xors
    if isinstance(source, AtOffset):
        return _has_bits(source.offset) or _has_bits(source.formula)
    if isinstance(source, NamedExpr):
        return _has_bits(source.expr)
    name = getattr(getattr(source, "func", None), "__name__", "")
    return name == "BitXor" or any(map(_has_bits, getattr(source, "args", ())))


@frozen
class Comparison:
    """Where two offsets differ."""

    equal: bool | None  #: whether they are equal everywhere, at all sizes; None if that is open.
    decider: str = ""  #: what decided.
    at: tuple[int, ...] | None = None  #: the first coordinate at which they differ, at numbers.
    #: the symbolic sizes for which they are equal, and those that stay open.
    sizes: tuple[SizeSet, isl.Set] | None = None
    why: str = ""  #: why it is open.

    @property
    def unequal_sizes(self) -> isl.Set | None:
        """The symbolic sizes at which the offsets certainly differ, if any are known."""
        if self.sizes is None:
            return None
        proved, left = self.sizes
        found = proved.space.sizes.subtract(proved.sizes).subtract(left)
        return None if found.is_empty() else found


def compare(
    maps: Sequence[AnyMap], one: Any, other: Any, context: isl.Context, by_isl: bool = True
) -> Comparison:
    """Compare two offsets of maps over one array.

    Args:
        maps: those whose offsets they are; they say the array's sizes and what is assumed.
        one: a recipe, a form, or an expression of SymPy; or a tuple of such.
        other: what it is compared with, of the same length.
        context: ISL's, for what digits and evaluation leave open.
        by_isl: whether ISL is asked about that.

    Raises:
        NotAffineError: ISL cannot read one of them.
    """
    m, pairs = maps[0], _pairs(one, other)
    if 0 in m.sizes:
        return Comparison(True)
    if has_symbolic_tiles(*maps):
        return _by_simplifier(m, pairs)
    has_bits = any(_has_bits(x) for pair in pairs for x in pair)
    changes: tuple[Increment, ...] | None = None
    why = "could not compare the XOR bits symbolically"
    try:
        changes = tuple(x for pair in pairs for x in _increments(m, *pair))
    except UnsupportedError as error:
        why = f"{error.what}: {error.why}"
    if changes == ():
        return Comparison(True, BITS if has_bits else DIGITS)
    if not names_of(*maps):
        if changes and len(pairs) == 1:
            dims = range(len(m.sizes))
            at = tuple(changes[0].at if k == changes[0].dim else 0 for k in dims)
            return Comparison(False, "evaluation", at)
        seen = _evaluated(m, pairs)
        if seen is not None and (has_bits or not seen.equal or context is None):
            return seen
    if has_bits or not by_isl:
        return Comparison(None, why=why)
    return _by_isl(maps, pairs, changes if len(pairs) == 1 else None, context)


def by_isl_alone(maps: Sequence[AnyMap], one: Any, other: Any, context: isl.Context) -> Comparison:
    """Compare two offsets by ISL's values alone: a second opinion."""
    pairs = _pairs(one, other)
    if any(_has_bits(x) for pair in pairs for x in pair):
        return Comparison(None, why="ISL reads no exclusive ors")
    return _by_isl(maps, pairs, None, context)


def _pairs(one: Any, other: Any) -> Pairs:
    both = [source if isinstance(source, tuple) else (source,) for source in (one, other)]
    if len(both[0]) != len(both[1]):
        raise ShapeError(
            f"formulas of two maps: expected equally many, got {len(both[0])} and {len(both[1])}",
            "several formulas are compared one by one, or with physical coordinates",
            "give equally many formulas",
        )
    return list(zip(*both, strict=True))


def simplified(source: Any, m: AnyMap) -> AffineExpr:
    """Return what is compared in the simplifier's normal form."""
    names = {f"d{k}": x for k, x in enumerate(coordinate_variables(m.sizes))}
    return canonicalize(
        read(source, Interpreter(names, lambda n: AffineExpr((), n), m.assumptions))
    )


def _by_simplifier(m: AnyMap, pairs: Pairs) -> Comparison:
    if all(simplified(one, m) == simplified(other, m) for one, other in pairs):
        return Comparison(True, SIMPLIFIER)
    why = "the simplified formulas differ, and quotients by names may be equal"
    return Comparison(None, why=why)


def at_offsets(m: IndexMap, formulas: Iterable[Any]) -> list[AtOffset]:
    """Return formulas of the offset ``p`` at the offsets that the recipe gives."""
    offset = simplified(m.recipe, m) if has_symbolic_tiles(m) else m.recipe
    return [AtOffset(formula, offset) for formula in formulas]


def is_undone(
    m: IndexMap, inverse: Iterable[Any], context: isl.Context, by_isl: bool = True
) -> bool:
    """Return whether an inverse, at the offset of each element, is seen to be its coordinates."""
    pairs = zip(at_offsets(m, inverse), coordinate_variables(m.recipe.shape), strict=True)
    return all(compare([m], found, x, context, by_isl).equal for found, x in pairs)


def _increments(m: AnyMap, one: Any, other: Any) -> Sequence[Increment]:
    """Return the increments of the difference of two offsets: none if they are equal."""
    if isinstance(one, Recipe) and isinstance(other, Recipe):
        first_change = _first_change(one, other)
        if first_change is not None:
            return first_change
    first, second = (separable(x, m.sizes, m.assumptions) for x in (one, other))
    difference = first - second
    return () if difference.is_zero else increments(difference)


def _first_change(one: Recipe, other: Recipe) -> Sequence[Increment] | None:
    """Return the first increment of a difference at numbers; None unless digits show it.

    Where each cut of a dimension divides the next, a layout has a stride from each cut to the next.
    """
    if one.names or other.names or not (has_digits(one) and has_digits(other)):
        return None
    if one.offset != other.offset:
        return None
    sides = digits_of(one), digits_of(other)
    if any(isinstance(digit.of, tuple) for side in sides for digit in side):
        return None
    for dim in reversed(range(len(one.shape))):
        (n,) = known(one.shape[dim : dim + 1])
        runs = [
            [
                (x.unit, x.unit * x.modulus if x.modulus else n, known((x.stride,))[0])
                for x in side
                if x.of == dim and x.unit < n
            ]
            for side in sides
        ]
        if runs[0] == runs[1]:
            continue
        cuts = sorted({at for run in runs for *ends, _ in run for at in ends if at < n})
        if any(after % before for before, after in pairwise(cuts)):
            return None
        for at in cuts:
            here, there = (
                sum(at // unit * stride for unit, end, stride in run if unit <= at < end)
                for run in runs
            )
            if here != there:
                return [Increment(dim, at, here - there)]
    return ()


def separable(
    source: Any, shape: Sequence[Int], assumptions: Sequence[Assumption] = ()
) -> Separable:
    """Return an offset as a sum of functions of one coordinate each, as far as it is one."""
    names = {f"d{k}": x for k, x in enumerate(Separable.coordinates(shape))}
    found: Separable = read(
        source, Interpreter(names, lambda n: Separable({}, n, tuple(shape)), assumptions)
    )
    return found


def first_positions(size: int, start: int = 0) -> Iterator[Any]:
    """Yield the first numbers in pieces, each of which is longer than the one before."""
    length, end = 1 << 10, min(size, PROOF_FIRST)
    while start < end:
        yield np.arange(start, min(start + length, end))
        start, length = start + length, 4 * length


def _evaluated(m: AnyMap, pairs: Pairs) -> Comparison | None:
    """Compare the first elements; None if others are left, or offsets do not fit 62 bits."""
    shape = known(m.sizes)
    count = prod(shape)
    sizes = known([x.size for pair in pairs for x in pair if isinstance(x, Recipe)])
    if max((count, *sizes)) >= 1 << 62:
        return None
    # In Python, so that NumPy need not be loaded for them.
    few = min(count, PROOF_WIDE if has_numpy() else PROOF_COUNTED)
    for piece in (range(min(few, _FEW)), range(min(few, _FEW), few)):
        at = delinearize(Column(piece), shape)
        lists = [[filled(x, len(piece)) for x in both] for both in _values(pairs, at)]
        for k, *values in zip(piece, *(zip(*both, strict=True) for both in lists), strict=True):
            if any(one != other for one, other in values):
                return Comparison(False, "evaluation", delinearize(k, shape))
    for positions in first_positions(count, few):
        at = np.unravel_index(positions, shape) if shape else ()
        wrong = np.zeros(positions.shape, bool)
        try:
            for one, other in _values(pairs, at):
                wrong |= np.asarray(one) != np.asarray(other)
        except OverflowError:  # a factor past 64 bits
            return None
        if wrong.any():
            return Comparison(False, "evaluation", tuple(int(x[wrong.argmax()]) for x in at))
    return Comparison(True, "enumeration") if count <= PROOF_FIRST else None


def _values(pairs: Pairs, at: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    reading = Interpreter({f"d{k}": x for k, x in enumerate(at)}, lambda n: n)
    return ((read(one, reading), read(other, reading)) for one, other in pairs)


def _by_isl(
    maps: Sequence[AnyMap],
    pairs: Pairs,
    changes: tuple[Increment, ...] | None,
    context: isl.Context,
) -> Comparison:
    """Compare for all sizes by increments if there are some, else by ISL's values."""
    recipes = [m.recipe or Recipe(m.sizes) for m in maps]
    require_few(*recipes)
    shape, assumed = maps[0].sizes, meet_all(one for m in maps for one in m.assumptions)
    if changes is not None:
        required = [pair for m in maps for pair in m.requires]
        symbolic = (change.by for change in changes if isinstance(change.by, SizeExpr))
        numbers = [*shape, *(SizeExpr.named(x) for by in symbolic for x in by.atoms())]
        space = Space.of((), context, Parameters.of(numbers, assumed, required))
        equal, left = sizes_without_changes(changes, shape, space)
    else:
        space = Space.of(shape, context, parameters_of(recipes, assumed))
        difference = _values_difference(maps[0], pairs, space)
        if not names_of(*maps):
            points = difference.concrete
            at = None if points.is_empty() else first_point(points)
            return Comparison(at is None, "ISL", at)
        equal, left = sizes_of_equality(difference)
    holds = True if space.sizes.is_subset(equal) else None
    decider = "ISL" if changes is None else DIGITS_AND_ISL
    return Comparison(holds, decider, sizes=(SizeSet(equal, space), left))


def _values_difference(m: AnyMap, pairs: Pairs, space: Space) -> OffsetDifference:
    if len(pairs) == 1 and all(isinstance(x, Recipe) for x in pairs[0]):
        one, other = pairs[0]
        if one.offset == other.offset:
            first, second = (
                list(zip(axis_values(r, space), r.physical_shape, strict=True))
                for r in (one, other)
            )
            return OffsetDifference.of(first, second, space)
    names = {name: Value.of(x, space) for name, x in space.variables.items()}
    reading = Interpreter(names, partial(Value.constant, space=space), m.assumptions)
    return OffsetDifference(tuple(read(x, reading) - read(y, reading) for x, y in pairs), space)


def confirmed(answer: Proof, expected: Proof, judge: Proof) -> Proof:
    """Return an answer by digits with what ISL says of it."""
    is_partial = judge.holds == expected.holds and (judge.condition is None) > (
        expected.condition is None
    )
    if judge.holds is None or judge.decider == DIGITS or is_partial:
        why = "gave up at its budget" if judge.reason.startswith("ISL spent") else "leaves it open"
        return replace(answer, decider=f"{DIGITS}; ISL {why}")
    if (judge.holds, judge.condition) == (expected.holds, expected.condition):
        return replace(answer, decider=f"{DIGITS}, confirmed by {judge.decider}")
    reason = f"a bug: digits say {expected.verdict}, and ISL says {judge.verdict}"
    return Proof(answer.claim, None, reason, assumptions=answer.assumptions)


def judge_formulas_too(decide: Decide) -> Decide:
    """Make a decision about recipes hold for the formulas that users get, or say that it may not.

    Questions inside of a question are about maps that no user holds, and stay as they are. So does
    what digits decide, unconfirmed, about a map whose formula nobody asked for.
    """

    @wraps(decide)
    def ask(*maps: Any, budget: int | None = None, **how: bool) -> Proof:
        answer = decide(*maps, budget=budget, **how)
        if is_asking() or answer.holds is None:
            return answer
        names = next((m.names for m in maps if m.names), ())
        answer = answer.with_names(names) if names else answer
        if len(maps) == 1 and answer.decider == DIGITS and not has_formulas(*maps):
            return answer
        if answer.holds is False and _differ_at(maps, answer.counterexample):
            return replace(answer, judged="formulas")
        found = [agreement(m, budget) for m in maps]
        wrong = next((one for one in found if one.holds is False), None)
        if wrong is not None:
            reason = f"{wrong.reason}; ask verify"
            return Proof(answer.claim, None, reason, assumptions=answer.assumptions)
        if all(one.holds for one in found):
            return replace(answer, judged="formulas")
        why = next(one.reason for one in found if one.holds is None)
        return replace(answer, judged=f"the recipe only: {why}")

    return ask


def _differ_at(maps: Sequence[AnyMap], at: Any) -> bool:
    """Return whether the formulas of two layouts have offsets that differ at a coordinate."""
    if len(maps) != 2 or not isinstance(at, tuple):
        return False
    if not all(m.recipe is not None and len(m.sizes) == len(at) for m in maps):
        return False
    d = {f"d{k}": x for k, x in enumerate(at)}
    one, other = ({value_of(formula, d) for _, formula in formulas_of(m)} for m in maps)
    return len(one) == len(other) == 1 and one != other


def agreement(m: AnyMap, budget: int | None = None) -> Proof:
    """Decide whether the simplified formulas, and SymPy's if a user got them, are those judged."""
    formulas = [formula for _, formula in formulas_of(m)]
    kept = vars(m).get(_KEPT)
    if kept is None or kept[0] != formulas:
        kept = vars(m)[_KEPT] = formulas, _agreement(m, budget=budget)
    found: Proof = kept[1]
    return found


_KEPT: Final = "_agreement"
"""The key of an agreement and its formulas among a map's cached values."""


@ask_isl("formulas and recipe agree")
def _agreement(m: AnyMap, *, context: isl.Context) -> Proof:
    claim = "formulas and recipe agree"
    judged = [*m.given] if m.recipe is None else [m.recipe]
    what = "the formula as given" if m.recipe is None else "the recipe"
    undecided = ""
    for (name, formula), one in zip(formulas_of(m), cycle(judged), strict=False):
        try:
            found = compare([m], one, formula, context)
        except UnsupportedError as error:
            found = Comparison(None, why=error.what)
        if found.at is not None or found.unequal_sizes is not None:
            where = "some sizes" if found.at is None else found.at
            return Proof(claim, False, f"{name} differs from {what} at {where}")
        if not found.equal:
            why = found.why or "the formulas may differ at some sizes"
            undecided = undecided or f"{name} was not compared with {what}: {why}"
    return Proof(claim, None if undecided else True, undecided)


def as_layout(m: AffineMap, context: isl.Context) -> IndexMap | None:
    """Return the map with steps that are proved to give its formula; None without such steps."""
    forms = [canonicalize(form) for form in m.given]
    try:
        if len(forms) == 1:
            recipe, wanted = recipe_of_formula(m.sizes, m.given[0], m.buffer_size), m.given[0]
        else:
            ends = [form.interval.hi for form in forms]
            sizes = tuple(0 if hi is None else hi + 1 for hi in ends)
            recipe = recipe_of_coordinates(m.sizes, m.given, sizes)
            wanted = linear_index(m.given, recipe.physical_shape, AffineExpr((), 0))
        if not has_inverse(recipe):
            return None
        layout = IndexMap(recipe, wanted, "", (), m.assumptions, m.size_symbols)
        return layout if compare([layout], recipe, wanted, context).equal else None
    except (ShapeError, UnsupportedError):
        return None
