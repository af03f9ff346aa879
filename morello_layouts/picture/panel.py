"""One index map in a picture: all that renderers read."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from morello_layouts.formula import IndexMap
from morello_layouts.picture.colours import colour_numbers, key_of
from morello_layouts.picture.grid import Cell, View
from morello_layouts.picture.strip import Slot
from morello_layouts.picture.style import Style

__all__ = ["Panel", "coordinate_text", "panel_of"]


@dataclass(frozen=True, slots=True)
class Panel:
    """An index map with what is shown of it, in which colours, and what is marked.

    Attributes:
        map: the index map.
        view: the cells and slots shown.
        style: what is coloured alike, and what is marked.
        title: a line above.
        colours: a pastel's number for each tile or word shown.
        elsewhere: of cells that lie at another offset in the other map of the picture, that
            offset.
        moved: how many of all elements do, in words.
    """

    map: IndexMap
    view: View
    style: Style
    title: str
    colours: Mapping[Hashable, int]
    elsewhere: Mapping[tuple[int, ...], int] = field(default_factory=dict)
    moved: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions: d0, d1 and so on."""
        return tuple(f"d{k}" for k in range(len(self.view.shape)))

    @property
    def headings(self) -> tuple[str, ...]:
        """The lines above: the title, and the formula if it is wanted."""
        return (self.title, str(self.map)) if self.style.formula else (self.title,)

    def colour(self, place: Cell | Slot) -> int | None:
        """The number of a place's pastel, None for padding."""
        is_padding = place.is_padding if isinstance(place, Cell) else place.coordinate is None
        return None if is_padding else self.colours[key_of(place, self.style)]

    def word_text(self, offset: int) -> str:
        """The word that an element lies in, such as ``w3``."""
        first, last = self.style.words_of(offset)
        return f"w{first}" if first == last else f"w{first}-{last}"

    def described(self, place: Cell | Slot) -> str:
        """A place in words, over several lines."""
        return "\n".join(self._lines(place))

    def _lines(self, place: Cell | Slot) -> Iterator[str]:
        coordinate = place.coordinate
        is_padding = isinstance(place, Cell) and place.is_padding
        if coordinate is None:
            yield f"offset {place.offset}: padding"
        elif is_padding:
            yield f"offset {place.offset}: padding, {coordinate_text(coordinate)} is outside"
        else:
            yield f"{coordinate_text(coordinate)} lies at offset {place.offset}"
        for level, tile in zip(self.view.levels, place.tiles, strict=False):
            yield f"tile {level}: number {coordinate_text(tile)}"
        if self.style.colour == "word":
            yield f"{self.style.word_bits}-bit word {self.word_text(place.offset)[1:]}"
        if coordinate is not None and coordinate in self.elsewhere:
            yield f"in the other layout at offset {self.elsewhere[coordinate]}"


def coordinate_text(coordinate: tuple[int, ...]) -> str:
    """A coordinate in parentheses.

    >>> coordinate_text((2, 3)), coordinate_text((2,))
    ('(2, 3)', '(2)')
    """
    return f"({', '.join(map(str, coordinate))})"


def panel_of(
    m: IndexMap,
    view: View,
    style: Style,
    title: str,
    *,
    elsewhere: Mapping[tuple[int, ...], int] | None = None,
    moved: str = "",
) -> Panel:
    """The panel of a view, its colours chosen."""
    return Panel(m, view, style, title, colour_numbers(view, style), elsewhere or {}, moved)
