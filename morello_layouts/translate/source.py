"""A layout that is to be written in another notation: its digits, proofs and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final

from morello_layouts import proof
from morello_layouts.errors import NoTranslationError, TranslationNotFoundError
from morello_layouts.expr.assumptions import meet_all
from morello_layouts.expr.sizes import Int
from morello_layouts.layout import Layout
from morello_layouts.maps import IndexMap
from morello_layouts.recipe.digits import Digits
from morello_layouts.translate.digits import misplaced, nested_digits, placed_digits

FORMULA: Final = 'give to="mlir": an affine map says any formula'


@dataclass(frozen=True)
class Source:
    """A layout as a writer of a notation sees it.

    Attributes:
        m: the index map of the layout.
        title: what is to be written, in errors: ``XLA layout``.
        element_type: its name in the notation, if it is to be written.
    """

    m: IndexMap
    title: str
    element_type: str | None = None

    @property
    def shape(self) -> tuple[Int, ...]:
        """The sizes of the array."""
        return self.m.recipe.shape

    @property
    def offset(self) -> Int:
        """The offset of the first element."""
        return self.m.form.const

    @cached_property
    def placed(self) -> Digits:
        """The digits of the elements, each with its stride, the slowest varying first.

        Raises:
            TranslationNotFoundError: if the formula is not a sum of digits of single dimensions.
        """
        if isinstance(self._placed, str):
            raise self.not_found(self._placed, FORMULA)
        return self._placed

    @cached_property
    def _placed(self) -> Digits | str:
        found = placed_digits(self.m)
        no_sum = f"{self.m.form} is not a sum of digits of single dimensions"
        return no_sum if found is None else found

    @cached_property
    def nested(self) -> Digits:
        """The digits of the elements with room for padding: each begins where the inner ones end.

        Raises:
            NoTranslationError: if elements share slots.
            TranslationNotFoundError: if padding at the end of dimensions does not make them.
        """
        if self.offset != 0:
            raise self.not_found(
                f"the first element lies at {self.offset}, behind padding",
                f"begin the buffer there; or {FORMULA}",
            )
        found = nested_digits(self.placed, self.shape, self.m.recipe.size)
        if isinstance(found, str):
            if any(digit.stride == 0 for digit in self.placed):  # padding is of no help
                raise self.none(found, f'give to="cute", where strides may be 0; or {FORMULA}')
            raise self.not_found(
                f"{found}; the notation pads only at the end of a dimension",
                f"choose sizes that the blocks divide; or {FORMULA}",
            )
        return found

    @cached_property
    def dense(self) -> Digits | str:
        """The digits of a layout without padding between elements, or the reason against it."""
        if isinstance(self._placed, str):
            return self._placed
        if self.offset != 0:
            return f"the first element lies at {self.offset}, behind padding"
        volume: Int = 1
        for digit in reversed(self._placed):
            if digit.stride != volume:
                return misplaced(digit, volume)
            volume *= digit.radix
        if volume != prod(self.shape):
            return f"{volume} slots hold {prod(self.shape)} elements"
        return self._placed

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
    answer = proof.are_equivalent(m, other)
    if answer.holds is None and recipe == m.recipe:
        return proof.Proof(answer.claim, True, "both have the same steps", decider="")
    return answer
