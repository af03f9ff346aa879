"""How a picture is drawn: what is coloured alike, and what is marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from morello_layouts.errors import LayoutError, ShapeError

__all__ = ["COLOURS", "Colour", "Style", "checked_style"]

Colour = Literal["tile", "word"]
"""What cells of one colour share: the outermost tile, or a word of memory."""

COLOURS: Final = ("tile", "word")


@dataclass(frozen=True, slots=True)
class Style:
    """What is coloured alike, and what is marked.

    Attributes:
        colour: ``"tile"``, or ``"word"``.
        word_bits: bits of a word.
        element_bits: bits of an element, None where they are not known.
        dots: coordinates of the cells with a dot.
        boxes: coordinates of the cells with a box around them.
        box_tiles: the level whose tiles have a box around them, 1 for the outermost; 0 for none.
        formula: whether the formula stands above; one may wish to guess it first.

    >>> Style().colour, Style(colour="word", element_bits=16).words_of(5)
    ('tile', (2, 2))
    """

    colour: Colour = "tile"
    word_bits: int = 32
    element_bits: int | None = None
    dots: tuple[tuple[int, ...], ...] = ()
    boxes: tuple[tuple[int, ...], ...] = ()
    box_tiles: int = 0
    formula: bool = True

    @property
    def marks(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of all cells that are marked, each once."""
        return tuple(dict.fromkeys((*self.dots, *self.boxes)))

    def words_of(self, offset: int) -> tuple[int, int]:
        """The first and the last word that the element at an offset touches."""
        bits = self.element_bits or self.word_bits
        return offset * bits // self.word_bits, (offset * bits + bits - 1) // self.word_bits


def checked_style(style: Style, shape: Sequence[int], levels: int) -> Style:
    """The style itself, if it fits an array.

    Raises:
        LayoutError: where it means nothing, or nothing for this array.
    """
    if style.colour not in COLOURS:
        raise LayoutError(
            f"{style.colour!r} is nothing to colour by",
            "cells of one colour share a tile or a word",
            'give colour="tile" or colour="word"',
        )
    for name, bits in (("word_bits", style.word_bits), ("element_bits", style.element_bits)):
        if bits is not None and bits < 1:
            raise LayoutError(
                f"{name} is {bits}", "a word or an element has at least one bit", "give 32, say"
            )
    if style.colour == "word" and style.element_bits is None:
        raise LayoutError(
            "the bits of an element are not known",
            "which elements share a word depends on how wide they are",
            "name a type, as in bf16[32,256], or give element_bits=16",
        )
    if not 0 <= style.box_tiles <= levels:
        raise LayoutError(
            f"there is no level {style.box_tiles} of tiles",
            f"the layout has {levels} {'level' if levels == 1 else 'levels'} of tiles"
            if levels
            else "the layout has no tiles",
            f"give a level from 1 to {levels}" if levels else "leave box_tiles out",
        )
    for coordinate in style.marks:
        inside = len(coordinate) == len(shape) and all(
            0 <= x < n for x, n in zip(coordinate, shape, strict=False)
        )
        if not inside:
            raise ShapeError(
                f"there is no element {coordinate} to mark",
                f"the array has the shape {tuple(shape)}",
                "give one index for each dimension, from 0",
            )
    return style
