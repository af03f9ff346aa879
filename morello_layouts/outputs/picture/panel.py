"""A panel of a picture: colours and style."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import ClassVar, Final, NamedTuple, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import renamed
from morello_layouts.core.recipe import is_inside, named_forms
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.outputs.picture.view import Cell, Slot, View

Colour: TypeAlias = str
"""Cells of one colour share the outermost tile (``tile``), a ``row``, a ``column``, a ``word`` of
memory, a ``bank`` of shared memory, the bits of an offset that a ``swizzle`` changes, or the place
along a named axis, such as ``lane`` or ``register``; or colours go from the first ``offset`` to the
last."""

COLOURS: Final = ("tile", "offset", "row", "column", "word", "bank", "swizzle")
"""What a colour stands for in any picture."""

BANKS: Final = 32
"""The banks of shared memory: word k lies in bank k mod 32."""


@frozen
class Style:
    """The colours and the marks of a picture.

    >>> Style().colour, Style(colour="word", element_bits=16).words_of(5)
    ('', (2, 2))
    """

    #: ``"tile"``, ``"offset"``, ``"row"``, ``"column"``, ``"word"``, ``"bank"``, ``"swizzle"``, or
    #: the name of an axis; empty for ``"lane"`` or ``"device"`` if the layout has such an axis,
    #: ``"swizzle"`` if it has exclusive ors, and else ``"tile"``.
    colour: Colour = ""
    word_bits: int = 32  #: bits of a word.
    element_bits: int | None = None  #: bits of an element; None if unknown.
    dots: tuple[tuple[int, ...], ...] = ()  #: coordinates of the cells with a dot.
    boxes: tuple[tuple[int, ...], ...] = ()  #: coordinates of the cells with a box around them.
    #: the level whose tiles have a box around them, 1 for the outermost; 0 for none.
    box_tiles: int = 0
    formula: bool = True  #: whether the formula is shown above the picture.
    #: the width of the memory strip, in units of the SVG, if the grid is narrower.
    strip: int = 760

    @property
    def marks(self) -> tuple[tuple[int, ...], ...]:
        """The coordinates of all marked cells, without repetition."""
        return tuple(dict.fromkeys((*self.dots, *self.boxes)))

    @property
    def has_words(self) -> bool:
        """Whether the number of a word or of a bank stands below each offset."""
        return self.colour in ("word", "bank")

    def words_of(self, offset: int) -> tuple[int, int]:
        """Return the first and the last word that the element at an offset touches."""
        bits = self.element_bits or self.word_bits
        return offset * bits // self.word_bits, (offset * bits + bits - 1) // self.word_bits


def check_style(style: Style, shape: Sequence[int], levels: int, axes: Sequence[str] = ()) -> None:
    """Check a style for an array with a number of levels of tiles and names of axes."""
    colours = (*COLOURS, *axes)
    if style.colour not in colours:
        expected = f"{', '.join(map(repr, colours[:-1]))} or {colours[-1]!r}"
        raise LayoutError(
            f"colour: expected {expected}, got {style.colour!r}",
            "cells of one colour share what it names; offsets have a scale of colours",
            'give colour="tile", for example',
        )
    for name, bits in (("word_bits", style.word_bits), ("element_bits", style.element_bits)):
        if bits is not None and bits < 1:
            raise LayoutError(
                f"{name}: expected at least 1, got {bits}",
                "a word or an element has at least one bit",
                "give 32, for example",
            )
    if style.has_words and style.element_bits is None:
        raise LayoutError(
            "the bits of an element are unknown",
            f"they decide which elements share a {style.colour}",
            "name a type, as in bf16[32,256], or give element_bits=16",
        )
    if not 0 <= style.box_tiles <= levels:
        raise LayoutError(
            f"box_tiles: expected a level from 0 to {levels}, got {style.box_tiles}",
            f"the layout has {levels or 'no'} {'level' if levels == 1 else 'levels'} of tiles",
            "give 1 for the outermost tiles, 0 for no boxes",
        )
    for coordinate in style.marks:
        if not is_inside(coordinate, shape):
            raise ShapeError(
                f"the array has no element {coordinate} to mark",
                f"its shape is {tuple(shape)}",
                "give one index for each dimension, from 0",
            )


@frozen
class Paper:
    """The colours of a picture on light or dark paper."""

    background: str  #: the paper.
    ink: str  #: text and thick borders.
    dim: str  #: labels.
    line: str  #: the lines between cells.
    red: str  #: marks.
    pastels: tuple[str, ...]  #: fills of cells.
    scale: tuple[str, ...]  #: fills from the first offset to the last.


LIGHT: Final = Paper(
    "#ffffff", "#1c1e21", "#565d66", "#b4bac2", "#d3122b",
    ("#cfe3f7", "#fde0b8", "#d0edcf", "#f6cfd8", "#ded5f3", "#f7f0b4",
     "#c3ebe6", "#ead9c8", "#f3cdee", "#dde7bd", "#c3d0ea", "#fbcdbc"),
    ("#fdf6d8", "#f0efc6", "#dfe9bb", "#cbe3b6", "#b6dbb5", "#a2d3b8", "#92c9bd", "#8bbfc3",
     "#8cb4c8", "#93a9ca", "#9c9dc8", "#a591c2"),
)  # fmt: skip

DARK: Final = Paper(
    "#15181c", "#eceff2", "#a3abb5", "#59616b", "#ff7381",
    ("#1f4468", "#6b4613", "#24532a", "#6a2c3b", "#463a70", "#524b14",
     "#1a524d", "#594633", "#66305f", "#465222", "#38476a", "#70392a"),
    ("#4a4318", "#434a1c", "#394f24", "#2d532f", "#20553b", "#175649", "#175456", "#1f5162",
     "#2c4c6b", "#3b4771", "#4a4173", "#583a70"),
)  # fmt: skip


def key_of(place: Cell | Slot, style: Style, view: View) -> Hashable:
    """Return the tile, word, bank or place along an axis that gives a place its colour."""
    match style.colour:
        case "word" | "bank":
            first = style.words_of(place.offset)[0]
            return first if style.colour == "word" else first % BANKS
        case "tile":
            return place.tiles[0] if place.tiles else ()
        case "offset":
            return place.offset
        case "swizzle":
            return place.offset & view.swizzled
        case "row" | "column":
            at = place.coordinate or ()
            return at[:-1] if style.colour == "row" else at[-1:]
    return view.place(place.offset)[style.colour]


def colour_numbers(
    view: View, style: Style, chosen: Mapping[Hashable, int] = MappingProxyType({})
) -> dict[Hashable, int]:
    """Return a pastel's number for each tile or word, other than those of its neighbours.

    What has a number in ``chosen`` keeps it.

    The numbers follow the order in which the cells are read, so a few tiles all differ. Offsets
    have the numbers after the pastels', in their order.
    """
    if style.colour == "offset":
        places: tuple[Cell | Slot, ...] = (*view.cells(), *view.slots())
        offsets = sorted({place.offset for place in places})
        steps = len(LIGHT.scale)
        return {p: len(LIGHT.pastels) + k * steps // len(offsets) for k, p in enumerate(offsets)}
    chosen = dict(chosen)
    for key, neighbours in _keys(view, style):
        if key not in chosen:
            taken = {chosen[other] for other in neighbours if other in chosen}
            start = len(chosen)
            turns = (k % len(LIGHT.pastels) for k in range(start, start + len(LIGHT.pastels)))
            chosen[key] = next(k for k in turns if k not in taken)
    return chosen


def _keys(view: View, style: Style) -> Iterator[tuple[Hashable, tuple[Hashable | None, ...]]]:
    """Yield the key of each place in reading order, with those of the places beside it."""
    for grid in view.grids:
        above: dict[int, Hashable] = {}
        left, current = None, -1
        for row, column, cell in grid.shown():
            key = key_of(cell, style, view)
            yield key, (left if row == current else None, above.get(column))
            above[column], left, current = key, key, row
    before: Hashable | None = None
    for slot in view.slots():
        key = key_of(slot, style, view)
        yield key, (before,)
        before = key


class Move(NamedTuple):
    """An element that lies elsewhere in the other layout."""

    coordinate: tuple[int, ...]
    offset: int


_MANY: Final = 512


@frozen
class Panel:
    """An index map as one picture shows it."""

    map: IndexMap  #: the index map.
    view: View  #: the cells and slots shown.
    style: Style  #: the colours and the marks.
    title: str  #: a line above.
    #: a pastel's number for each tile or word shown.
    colours: Mapping[Hashable, int] = field(hash=False)
    #: the offset in the picture's other map of each shown element that moves.
    elsewhere: Mapping[tuple[int, ...], int] = field(hash=False)
    moved: str  #: the number of all elements that move, as a sentence.
    #: whether all cells of one lane are lit together, in all panels.
    is_joined: bool = False
    #: whether padding is drawn cell by cell, as a script needs it, however many there are.
    has_each: bool = False

    json_keys: ClassVar = (
        *("text=title", "shape=view.shape", "size=map.size", "levels=tile_sizes"),
        *("slices=view.slices", "cells", "memory", "moved=moves"),
    )

    @property
    def tile_sizes(self) -> list[tuple[int, ...]]:
        """The sizes of the tiles of each level."""
        return [level.sizes for level in self.view.levels]

    @property
    def cells(self) -> list[Cell]:
        """The cells shown."""
        return [*self.view.cells()]

    @property
    def memory(self) -> Sequence[Slot | None]:
        """The slots shown; None where some are left out."""
        return () if self.view.strip is None else self.view.strip.slots

    @property
    def moves(self) -> list[Move]:
        """The elements shown that lie elsewhere in the other layout."""
        return [Move(*each) for each in self.elsewhere.items()]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions: d0, d1 and so on if the map has none."""
        return self.map.coordinate_names

    @property
    def headings(self) -> tuple[str, ...]:
        """The lines above: the title, and the formula if the style has it."""
        if not self.style.formula:
            return (self.title,)
        left, _, offset = str(self.map).partition(" -> ")
        named = [
            f"{name} {renamed(form, self.map.names)}"
            for name, form in named_forms(self.map.recipe, self.map.form)
            if name in self.view.long_axes
        ]
        return self.title, f"{left} -> {', '.join(named) or offset}"

    @property
    def in_cells(self) -> str:
        """What stands in each cell, in words: names of axes, for a layout that has them."""
        replicas = self.map.recipe.replicas
        first = f", the first of {replicas} places" if replicas > 1 else ""
        return f"in each cell: {':'.join(self.view.long_axes)}{first}"

    def colour(self, place: Cell | Slot) -> int | None:
        """Return the number of a place's pastel; None for padding."""
        is_padding = place.is_padding if isinstance(place, Cell) else place.coordinate is None
        return None if is_padding else self.colours[key_of(place, self.style, self.view)]

    def place_of(self, coordinate: tuple[int, ...]) -> str:
        """Return a sentence with the place of a marked element."""
        return f"{coordinate_text(coordinate)} lies at {self._at(self.map(*coordinate))}"

    def _at(self, offset: int) -> str:
        """Return a place in words: the offset, or the coordinates along named axes."""
        place = ", ".join(f"{name} {x}" for name, x in self.view.place(offset).items())
        return place or f"offset {offset}"

    def word_text(self, offset: int) -> str:
        """Return the word or the bank that an element lies in, such as ``w3`` or ``b3``."""
        first, last = self.style.words_of(offset)
        if self.style.colour == "bank":
            first, last = first % BANKS, last % BANKS
        word = f"{self.style.colour[0]}{first}"
        return word if first == last else f"{word}-{last}"

    def described(self, place: Cell | Slot) -> str:
        """Return a description of a place, over several lines."""
        return "\n".join(self._lines(place))

    @property
    def has_many(self) -> bool:
        """Whether the markup of cells is kept short, as there are many."""
        return len(self.cells) > _MANY

    def described_run(self, cells: Sequence[Cell]) -> str:
        """Return a description of padding whose offsets rise by equal steps."""
        first, last = cells[0], cells[-1]
        step = cells[1].offset - first.offset
        by = "" if step == 1 else f" in steps of {step}"
        outside = f"{coordinate_text(first.coordinate)} to {coordinate_text(last.coordinate)}"
        head = f"offsets {first.offset} to {last.offset}{by}: padding, {outside} are outside"
        pairs = zip(list(self._lines(first))[1:], list(self._lines(last))[1:], strict=True)
        return "\n".join(
            [head, *(a if a == b else f"{a} to {b.split('number ')[1]}" for a, b in pairs)]
        )

    def joins(self, one: Cell, other: Cell) -> bool:
        """Whether descriptions of padding are the same but for offsets and tiles within tiles."""
        lines = [list(self._lines(cell))[1:] for cell in (one, other)]
        for own in lines:
            del own[1 : len(self.view.levels)]
        return one.is_padding and other.is_padding and lines[0] == lines[1]

    def _lines(self, place: Cell | Slot) -> Iterator[str]:
        coordinate = place.coordinate
        is_padding = isinstance(place, Cell) and place.is_padding
        if coordinate is None:
            yield f"offset {place.offset}: padding"
        elif is_padding:
            yield f"offset {place.offset}: padding, {coordinate_text(coordinate)} is outside"
        else:
            yield f"{coordinate_text(coordinate)} lies at {self._at(place.offset)}"
        for level, tile in zip(self.view.levels, place.tiles, strict=False):
            yield f"tile {level}: number {coordinate_text(tile)}"
        if self.style.colour == "word":
            yield f"{self.style.word_bits}-bit word {self.word_text(place.offset)[1:]}"
        if self.style.colour == "bank":
            yield f"bank {self.word_text(place.offset)[1:]}"
        if coordinate is not None and coordinate in self.elsewhere:
            yield f"in the other layout at offset {self.elsewhere[coordinate]}"


def coordinate_text(coordinate: tuple[int, ...]) -> str:
    """Return a coordinate in parentheses.

    >>> coordinate_text((2, 3)), coordinate_text((2,))
    ('(2, 3)', '(2)')
    """
    return f"({', '.join(map(str, coordinate))})"
