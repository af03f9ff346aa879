"""Arithmetic that writes itself: a recipe read with these coordinates gives C's expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello_layouts.recipe import Recipe, linear_index, physical_coordinates

__all__ = ["Text", "offset_text"]


@dataclass(frozen=True, slots=True)
class Text:
    """An expression of unsigned integers in C, or with ``//`` as division in Python.

    >>> str(Text("d0") // 8 * 128 + Text("d0") % 8)
    '(d0 / 8 * 128 + d0 % 8)'
    """

    text: str
    division: str = "/"

    def __add__(self, other: object) -> Text:
        return self if str(other) == "0" else Text(f"({self} + {other})", self.division)

    def __mul__(self, other: object) -> Text:
        return self if other == 1 else Text(f"{self} * {other}", self.division)

    def __floordiv__(self, other: object) -> Text:
        return self if other == 1 else Text(f"{self} {self.division} {other}", self.division)

    def __mod__(self, other: object) -> Text:
        return Text("0") if other == 1 else Text(f"{self} % {other}", self.division)

    def __str__(self) -> str:
        return self.text


def offset_text(recipe: Recipe, coordinates: Sequence[Text]) -> str:
    """The offset in elements of a coordinate, as an expression in C.

    >>> from morello_layouts import index_map
    >>> offset_text(index_map("f32[3,5]{1,0:T(2,2)}").recipe, [Text("d0"), Text("d1")])
    '(((d0 / 2 * 3 + d1 / 2) * 2 + d0 % 2) * 2 + d1 % 2)'
    """
    physical = physical_coordinates(recipe, coordinates, Text("0"))
    return str(linear_index(physical, recipe.physical_shape, Text("0")))
