"""What ISL finds of a recipe: that it is one-to-one, and what it reaches.

A recipe is read forward by :mod:`morello_layouts.proof.relation`; the reading backwards, which
:mod:`morello_layouts.recipe` offers, is taken as a claim. ISL holds both against each other: the
claim leads back from every coordinate, and forth from every place that it calls an element's.

Where symbolic sizes are merged, the position ``i·N + j`` is not affine. The recipe is cut there:
row-major order of a box is one-to-one and onto, so the pieces before and after decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import islpy as isl

from morello_layouts.expr.assumption import Assumption
from morello_layouts.expr.size import Number
from morello_layouts.proof import relation
from morello_layouts.proof.space import Parameters, Space, at_least
from morello_layouts.proof.value import Value, differ, together, union
from morello_layouts.recipe import Merge, Recipe, logical_coordinates

__all__ = ["Stage", "parameters_of", "pieces", "stages"]


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


_Limit = tuple[isl.Aff, Number]


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
