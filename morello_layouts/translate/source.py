"""A layout that is to be written in another notation: its digits, proofs and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from morello_layouts import proof
from morello_layouts.errors import NoTranslationError, TranslationNotFoundError
from morello_layouts.expr.assumptions import meet_all
from morello_layouts.expr.sizes import Int
from morello_layouts.layout import Layout
from morello_layouts.maps import IndexMap
from morello_layouts.recipe.digits import Digits
from morello_layouts.translate.digits import misplaced, nested_digits, placed_digits


@dataclass(frozen=True)
class Source:
    """A layout as a writer of a notation sees it.

    Attributes:
        m: the index map of the layout.
        title: what is to be written, in errors: ``XLA layout``.
    """

    m: IndexMap
    title: str

    @property
    def shape(self) -> tuple[Int, ...]:
        """The sizes of the array."""
        return self.m.recipe.shape

    @cached_property
    def placed(self) -> Digits:
        """The digits of the elements, each with its stride, the slowest varying first.

        Raises:
            TranslationNotFoundError: if steps cut across dimensions of symbolic sizes.
        """
        found = placed_digits(self.m)
        if found is None:
            raise self.not_found(
                "its steps cut across dimensions, and a size is symbolic",
                "give numbers for the sizes",
            )
        return found

    @cached_property
    def nested(self) -> Digits:
        """The digits of the elements with room for padding: each begins where the inner ones end.

        Raises:
            TranslationNotFoundError: if padding at the end of dimensions does not make them.
        """
        found = nested_digits(self.placed, self.shape, self.m.recipe.size)
        if isinstance(found, str):
            raise self.not_found(
                f"{found}, which is no padding at the end of a dimension",
                "choose sizes that the blocks divide",
            )
        return found

    @cached_property
    def dense(self) -> Digits | str:
        """The digits of a layout without padding between elements, or the reason against it."""
        volume: Int = 1
        for digit in reversed(self.placed):
            if digit.stride != volume:
                return misplaced(digit, volume)
            volume *= digit.radix
        if volume != prod(self.shape):
            return f"its digits have {volume} values, and the array has {prod(self.shape)} elements"
        return self.placed

    def none(self, why: str, fix: str) -> NoTranslationError:
        """Return the error that no layout of the notation has these offsets."""
        return NoTranslationError(f"no {self.title} has the offsets of {self.m.source}", why, fix)

    def not_found(self, why: str, fix: str) -> TranslationNotFoundError:
        """Return the error that no layout of the notation was found."""
        return TranslationNotFoundError(f"no {self.title} was found for {self.m.source}", why, fix)


def have_same_offsets(m: IndexMap, found: Layout) -> proof.Proof:
    """Prove that a layout has the offsets of a map, under the assumptions of the map.

    Raises:
        ShapeError: if the layout does not fit the map's shape.

    >>> from morello_layouts import index_map, parse
    >>> have_same_offsets(index_map("f32[6,8]{0,1:T(4,1)}"), parse("[1, 0, 1 p(4)]")).holds
    True
    """
    shape = m.recipe.shape
    if meet_all((*m.assumptions, *found.assumptions(shape))) != m.assumptions:
        why = f"{found} assumes more of the sizes than {m.source}"
        return proof.Proof("equivalent", None, why)
    recipe = found.recipe(shape)
    other = IndexMap.of(recipe, found.reference, str(found), assumptions=m.assumptions)
    return proof.are_equivalent(m, other)
