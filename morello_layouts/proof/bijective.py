"""Decide whether a map is injective, surjective, bijective."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any, Final

import islpy as isl
import numpy as np

from morello_layouts.errors import ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.sizes import Int, absolute, is_nonnegative, magnitude
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof import isl as relation
from morello_layouts.proof.ask import AnyMap, ask_isl, parametric, small_sizes
from morello_layouts.proof.conditions import Condition
from morello_layouts.proof.isl import (
    Parameters,
    Space,
    Value,
    at_least,
    differ,
    first_point,
    together,
    union,
    value_of_form,
)
from morello_layouts.proof.proof import Proof, SymbolicCounterexample
from morello_layouts.recipe import Merge, Recipe, known, linear_index, logical_coordinates


@dataclass(frozen=True)
class Stage:
    """A recipe, or a piece of one, between two boxes, with what ISL finds of it.

    Attributes:
        recipe: the steps, without tail padding.
        space: the coordinates that it starts from.
    """

    recipe: Recipe
    space: Space

    @cached_property
    def forward(self) -> list[isl.Aff]:
        """The physical coordinates as functions of the logical ones."""
        return [x.function for x in relation.physical_coordinates(self.recipe, self.space)]

    def back(self, axes: Sequence[isl.Aff], space: Space) -> tuple[list[Value], list[_Limit]]:
        """The claim: logical coordinates at physical ones, and where these hold an element."""
        at, limits = logical_coordinates(self.recipe, [Value.of(x, space) for x in axes])
        return list(at), [(x.function, n) for x, n in limits]

    @cached_property
    def collisions(self) -> isl.Set | None:
        """Pairs of coordinates that share a physical one, as one set; None if there are none."""
        back, _ = self.back(self.forward, self.space)
        pairs = zip(back, self.space.coordinates, strict=True)
        if all(differ(x.function, d, self.space.domain).is_empty() for x, d in pairs):
            return None
        image = together(self.forward, self.space)
        if image.is_injective():
            return None
        shared = image.apply_range(image.reverse())
        shared = shared.intersect(isl.Map.lex_lt(shared.get_space().domain()))
        return shared.wrap().flatten()

    @cached_property
    def outside(self) -> isl.Set:
        """Coordinates whose place is not in the box that the recipe ends in."""
        sizes = self.recipe.physical_shape
        bounds = zip(self.forward, map(self.space.number, sizes), strict=True)
        wrong = (
            part.intersect(self.space.domain)
            for x, n in bounds
            for part in (at_least(x.neg(), 1), at_least(x.sub(n), 0))
        )
        return union(wrong, self.space.domain.get_space())

    @cached_property
    def physical(self) -> Space:
        """The box that the recipe ends in."""
        return Space.of(self.recipe.physical_shape, self.space.context, self.space.parameters)

    @cached_property
    def padding(self) -> isl.Set:
        """The places of the box that the claim calls padding."""
        _, limits = self.back(self.physical.coordinates, self.physical)
        return self._beyond(limits, self.physical)

    @cached_property
    def misjudged(self) -> bool:
        """Whether an element lies where the claim says padding, or none where it says element."""
        _, limits = self.back(self.forward, self.space)
        if not self._beyond(limits, self.space).is_empty():
            return True
        back, _ = self.back(self.physical.coordinates, self.physical)
        reached = self.physical.domain.subtract(self.padding)
        at = [x.function for x in back]
        for x, n in zip(at, map(self.physical.number, self.recipe.shape), strict=True):
            if not at_least(x.neg(), 1).union(at_least(x.sub(n), 0)).is_disjoint(reached):
                return True
        inner = Space(
            self.space.context,
            self.physical.domain,
            {f"d{k}": x for k, x in enumerate(at)},
            self.space.parameters,
        )
        again = relation.physical_coordinates(self.recipe, inner)
        pairs = zip(again, self.physical.coordinates, strict=True)
        return any(not differ(x.function, y, reached).is_empty() for x, y in pairs)

    def _beyond(self, limits: Sequence[_Limit], space: Space) -> isl.Set:
        places = (at_least(x.sub(space.number(n)), 0).intersect(space.domain) for x, n in limits)
        return union(places, space.domain.get_space())


_Limit = tuple[isl.Aff, Int]


def stages(recipe: Recipe, parameters: Parameters, context: Any) -> list[Stage]:
    """A recipe as pieces between merges of symbolic sizes; most recipes are one piece."""
    return [Stage(p, Space.of(p.shape, context, parameters)) for p, _ in pieces(recipe)]


def parameters_of(recipes: Sequence[Recipe], assumptions: Sequence[Assumption]) -> Parameters:
    """The parameters that the sizes along some recipes need."""
    numbers = [n for r in recipes for shape in r.shapes for n in shape]
    return Parameters.of([*numbers, *(r.tail_padding for r in recipes)], assumptions)


def pieces(recipe: Recipe) -> Iterator[tuple[Recipe, Merge | None]]:
    """Recipes between the merges that multiply by symbolic sizes, each with the merge after it.

    Such a merge is no part of them: the next piece starts from the box of its axes joined.
    """
    start, shape = 0, recipe.shape
    for k, step in enumerate(recipe.steps):
        if isinstance(step, Merge):
            inner = (n for run in step.groups(recipe.shapes[k]) for n in run[1:])
            if not all(isinstance(n, int) for n in inner):
                yield Recipe(shape, recipe.steps[start:k]), step
                start, shape = k + 1, recipe.shapes[k + 1]
    yield Recipe(shape, recipe.steps[start:]), None


_MOST_ELEMENTS: Final = 1 << 22
_LARGEST_TRIED: Final = 6  # sizes for which a symbolic map is looked at
_MOST_TRIED: Final = 500


def formula_is_injective(m: AffineMap, question: str, context: Any) -> Proof:
    """Whether no two coordinates have the same value."""
    symbolic = any(not isinstance(n, int) for n in m.sizes)
    if not symbolic and prod(known(m.sizes)) <= _MOST_ELEMENTS:
        return _by_looking(m, question)
    if len(m.forms) == 1 and m.form.terms and _tells_terms_apart(m.form):
        parameters = parameters_of([Recipe(m.sizes)], m.assumptions)
        space = Space.of(m.sizes, context, parameters)
        # A factor does not matter to whether terms tell coordinates apart.
        terms = [value_of_form(AffineExpr(((atom, 1),), 0), space) for atom, _ in m.form.terms]
        if together([x.function for x in terms], space).is_injective():
            return Proof(
                question,
                True,
                "terms are apart by their ranges; ISL: no two coordinates share all of them",
            )
    if symbolic:
        return _for_some_sizes(m, question, context)
    return Proof(question, None, f"more than {_MOST_ELEMENTS} elements, and no recipe to read")


def _by_looking(m: AffineMap, question: str) -> Proof:
    values = _values(m)
    if values.dtype == object:  # integers past 64 bits: what matters is which of them are equal
        numbers: dict[Any, int] = {}
        values = np.array([[numbers.setdefault(x, len(numbers)) for x in row] for row in values])
    _, first, inverse = np.unique(values, axis=1, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse.reshape(-1)] != np.arange(values.shape[1]))
    if not len(again):
        return Proof(question, True, f"all {values.shape[1]} elements were looked at")
    # Of all that share a value with an earlier one, the pair that comes first.
    earlier = first[inverse.reshape(-1)[again]]
    one = int(earlier.min())
    other = int(again[earlier == one].min())
    both = tuple(tuple(map(int, np.unravel_index(k, known(m.sizes)))) for k in (one, other))
    shared = m(*both[0])
    what = f"the offset {shared}" if len(m.given) == 1 else f"{shared}"
    reason = f"{both[0]} and {both[1]} share {what}"
    return Proof(question, False, reason, both)


def _values(m: AffineMap) -> Any:
    """What the map gives at every coordinate, one column each, in row-major order."""
    shape = known(m.sizes)
    at = np.indices(shape).reshape(len(shape), prod(shape))
    given = m(*at) if shape else m()
    rows = given if isinstance(given, tuple) else (given,)
    return np.stack([np.asarray(row).reshape(-1) for row in rows])


def _for_some_sizes(m: AffineMap, question: str, context: Any) -> Proof:
    """A collision at small sizes; without one nothing is decided."""
    names = list(dict.fromkeys(x for n in m.sizes if not isinstance(n, int) for x in n.names()))
    for sizes in islice(small_sizes(names, m.assumptions, _LARGEST_TRIED), _MOST_TRIED):
        found = formula_is_injective(m.at(**sizes), question, context)
        if found.holds is False:
            at = SymbolicCounterexample(sizes, found.counterexample)
            words = ", ".join(f"{name} = {n}" for name, n in sizes.items())
            return Proof(question, False, f"at {words}: {found.reason}", at)
    return Proof(question, None, "no collision at small sizes, and no recipe to read")


def _tells_terms_apart(form: AffineExpr) -> bool:
    """Whether each term's factor is above the range of all terms with smaller ones."""
    steps: list[tuple[Int, Int]] = []
    for atom, c in form.terms:
        lo, hi = atom.interval
        if lo is None or hi is None:
            return False
        steps.append((absolute(c), hi - lo))
    reach: Int = 0
    for step, most in sorted(steps, key=lambda pair: magnitude(pair[0])):
        if not is_nonnegative(step - reach - 1):
            return False
        reach = reach + step * most
    return True


def formula_is_surjective(m: AffineMap, question: str) -> Proof:
    """Whether every offset of the buffer is reached.

    Raises:
        ShapeError: where the size of the buffer was not given.
    """
    if m.buffer_size is None:
        raise ShapeError(
            "the map has no buffer",
            "whether every offset is reached depends on how many there are",
            'give "size" with the shape: from_sympy({"shape": …, "size": 24}, …)',
        )
    if len(m.given) != 1:
        raise ShapeError(
            f"the map gives {len(m.given)} numbers",
            "offsets of a buffer are one number each",
            "compose it with the index map of the array that it leads into",
        )
    if not isinstance(m.buffer_size, int) or any(not isinstance(n, int) for n in m.sizes):
        return Proof(question, None, "sizes are symbolic, and there is no recipe to read")
    if max(prod(known(m.sizes)), m.buffer_size) > _MOST_ELEMENTS:
        return Proof(question, None, f"more than {_MOST_ELEMENTS} elements, and no recipe to read")
    reached = np.zeros(m.buffer_size, bool)
    offsets = _values(m)[0]
    inside = (offsets >= 0) & (offsets < m.buffer_size)
    if not inside.all():
        at = tuple(map(int, np.unravel_index(int(inside.argmin()), known(m.sizes))))
        return Proof(question, False, f"the element at {at} lies outside of the buffer", at)
    reached[offsets] = True
    padding = m.buffer_size - int(reached.sum())
    if padding == 0:
        return Proof(question, True, f"all {m.buffer_size} offsets were looked at", padding=0)
    first = int(reached.argmin())
    reason = f"{padding} of {m.buffer_size} offsets hold padding, the first is {first}"
    return Proof(question, False, reason, first, padding=padding)


ONE_TO_ONE: Final = "do different coordinates have different offsets?"
ONTO: Final = "does every offset hold an element?"
BOTH: Final = "is the map one-to-one and onto its buffer?"


@ask_isl(ONE_TO_ONE, bounded_by_splits=False)
def is_injective(m: AnyMap, *, context: Any) -> Proof:
    """Whether no two coordinates share an offset."""
    if isinstance(m, AffineMap):
        return formula_is_injective(m, ONE_TO_ONE, context)
    return _one_to_one(m, _stages(m, context))


@ask_isl(ONTO)
def is_surjective(m: AnyMap, *, context: Any) -> Proof:
    """Whether every offset of the buffer holds an element: there is no padding."""
    if isinstance(m, AffineMap):
        return formula_is_surjective(m, ONTO)
    pieces = _stages(m, context)
    injective = _one_to_one(m, pieces)
    if not injective.holds:
        return Proof(ONTO, None, f"not counted: {injective.reason}")
    return _onto(m, pieces)


@ask_isl(BOTH)
def is_bijective(m: AnyMap, *, context: Any) -> Proof:
    """Whether coordinates and offsets of the buffer correspond one to one.

    Where they do not because of padding, the proof still says that no two coordinates share an
    offset, counts the padding, and gives its smallest offset.
    """
    if isinstance(m, AffineMap):
        one_to_one = formula_is_injective(m, BOTH, context)
        return formula_is_surjective(m, BOTH) if one_to_one.holds else one_to_one
    pieces = _stages(m, context)
    injective = _one_to_one(m, pieces)
    if not injective.holds:
        return Proof(BOTH, False, injective.reason, injective.counterexample)
    onto = _onto(m, pieces)
    return replace(onto, question=BOTH, reason=f"{injective.reason}; {onto.reason}")


def _stages(m: IndexMap, context: Any) -> list[Stage]:
    return stages(m.recipe, parameters_of([m.recipe], m.assumptions), context)


def _one_to_one(m: IndexMap, pieces: Sequence[Stage]) -> Proof:
    """Injectivity: by a left inverse that ISL holds against the coordinates, else by ISL alone."""
    if prod(m.recipe.shape) == 0:
        return Proof(ONE_TO_ONE, True, "the array has no elements")
    for piece in pieces:
        if piece.collisions is not None:
            if m.recipe.names:
                return Proof(ONE_TO_ONE, False, "ISL: coordinates share a physical coordinate")
            point, rank = first_point(piece.collisions), len(m.recipe.shape)
            both = (point[:rank], point[rank:])
            return Proof(ONE_TO_ONE, False, f"{both[0]} and {both[1]} share an offset", both)
    reason = "ISL: no two coordinates share a physical coordinate"
    if m.recipe.names:
        always = Condition(pieces[0].space.sizes, pieces[0].space)
        return _always(Proof(ONE_TO_ONE, True, reason), always)
    return Proof(ONE_TO_ONE, True, reason)


def _always(proof: Proof, condition: Condition) -> Proof:
    return replace(proof, condition=condition.sympy({}), when=condition.words())


def _onto(m: IndexMap, pieces: Sequence[Stage]) -> Proof:
    """Onto-ness of a map that is injective."""
    if prod(m.recipe.shape) == 0:
        padding = m.padding
        reason = f"the array has no elements, the buffer has {padding}"
        return Proof(ONTO, padding == 0, reason, 0 if padding else None, padding=padding)
    for piece in pieces:
        if not piece.outside.is_empty():
            at = first_point(piece.outside) if not m.recipe.names else None
            reason = f"the element at {at} lies outside of the buffer"
            return Proof(ONTO, False, reason, at)
        if piece.misjudged:
            return Proof(ONTO, None, "an element lies where the recipe, read back, finds padding")
    if m.recipe.names:
        return _onto_for_sizes(m, pieces)
    size, elements = known((m.recipe.size, prod(m.recipe.shape)))
    if size == elements:
        return Proof(ONTO, True, "as many offsets as elements", padding=0)
    (piece,) = pieces
    first = size - m.recipe.tail_padding
    if not piece.padding.is_empty():
        first = linear_index(first_point(piece.padding), m.recipe.physical_shape, 0)
    reason = f"{size - elements} of {size} offsets hold padding, the first is {first}"
    return Proof(ONTO, False, reason, first, padding=size - elements)


def _onto_for_sizes(m: IndexMap, pieces: Sequence[Stage]) -> Proof:
    space = pieces[0].space
    failing = [piece.padding.params() for piece in pieces]
    failing.append(at_least(space.number(m.recipe.tail_padding), 1).params())
    holds = space.sizes.subtract(union(failing, space.sizes.get_space()))
    answer = parametric(ONTO, Condition(holds, space), (m,), is_surjective)
    return replace(answer, padding=m.padding)
