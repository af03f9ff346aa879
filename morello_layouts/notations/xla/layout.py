"""XLA's layout: dimension order, tiles, and the rest of LayoutProto; its text, recipe and formula.

Source: XLA's ``layout.h``, ``tile.h`` and the document "Tiled layout". The text is read strictly:
what XLA's compiler refuses later is refused here, with a caret.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

from morello_layouts.core.checks import LARGEST, Part, as_int, whole
from morello_layouts.core.description import count
from morello_layouts.core.expr import AffineExpr, Atom
from morello_layouts.core.expr.sizes import Int, SizeExpr, ceil_quotient, evaluated, round_up
from morello_layouts.core.fields import (
    checked,
    frozen,
    instance,
    number,
    optional,
    permutation,
    several,
)
from morello_layouts.core.layout import ElementType, Layout, type_name
from morello_layouts.core.limits import NESTED_TILES
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split, Step, Transpose, known
from morello_layouts.errors import LayoutError, ParseError, ShapeError, UnsupportedError
from morello_layouts.notations.documents import COMBINE, by_tiles
from morello_layouts.notations.grammar import NAME, Syntax, Terminal, Token, integer
from morello_layouts.notations.text import (
    NUMBER,
    FieldRule,
    Rule,
    Sign,
    either,
    field,
    group,
    made,
    many,
    row,
    word,
)  # fmt: skip

S = TypeVar("S")
N = TypeVar("N", bound=Int)

Tile: TypeAlias = tuple[Int, ...]

_TILES: Final = "give a tuple of tiles, such as ((8, 128), (2, 1))"
_SPLITS: Final = "give a tuple of SplitConfig(dimension, split_indices)"
_CUT: Final = number(1, fix="start a new piece at 1 or more")


@frozen
class SplitConfig:
    """The places at which a physical dimension is cut into pieces with buffers of their own.

    >>> print(SplitConfig(0, (16, 32)))
    (0:16,32)
    """

    #: the physical dimension, 0 the most major.
    dimension: int = checked(number(named="the split dimension"))
    #: the start of each new piece, in elements along the dimension.
    split_indices: tuple[int, ...] = checked(
        several(_CUT, "give a tuple of ints", "split index {1}")
    )

    def __str__(self) -> str:
        return _SPLIT.write(self)


def _tile_size(given: Any, _: str, part: Part) -> Int:
    if type(given) is int and 0 < given <= LARGEST:
        return given
    if isinstance(given, SizeExpr) or whole(given) == COMBINE:
        return given if isinstance(given, SizeExpr) else COMBINE
    why = "a tile holds at least one element in each dimension"
    fix = "write a size from 1, or '*' (COMBINE) to join the next more minor dimension"
    return as_int(given, "a tile size", 1, part=part, why=why, fix=fix)


_tile_sizes: Final = several(_tile_size, _TILES)


def _tile(given: Any, name: str, part: Part) -> Tile:
    tile: Tile = _tile_sizes(given, name, part)
    if not tile:
        what, why = "the tile has no sizes", "a tile acts on the last dimensions, one size for each"
        fix = "write at least one size, such as T(128), or leave the tile out"
        raise LayoutError(what, why, fix, part=part)
    if tile[-1] == COMBINE:
        why = "'*' combines a dimension with the next more minor one, and there is none"
        fix, last = "end the tile with a size", (*part, len(tile) - 1)
        raise LayoutError("'*' is in the tile's last place", why, fix, part=last)
    return tile


@frozen
class XlaLayout(Layout):
    """The part of a shape's text in braces, by XLA's field names.

    >>> print(XlaLayout((1, 0), tiles=((8, 128), (2, 1))))
    {1,0:T(8,128)(2,1)}
    """

    #: logical dimensions, the fastest varying first.
    minor_to_major: tuple[int, ...] = checked(
        permutation("name each dimension once, the fastest varying first, such as (1, 0)")
    )
    #: tiles, each acting on the last dimensions of the physical shape that the tiles before it
    #: leave; most major size first, COMBINE for ``*``.
    tiles: tuple[Tile, ...] = checked(several(_tile, _TILES, "tile {1}"), default=())
    #: ``L(n)``; acts only if there are tiles.
    tail_padding_alignment_in_elements: int = checked(number(1), default=1)
    #: ``#(type)``; XLA's parser takes any type here and its printer only integers: one that is not
    #: an integer is printed as ``#(invalid)``.
    index_primitive_type: str | None = checked(optional(type_name), default=None)
    #: ``*(type)``; printed alike.
    pointer_primitive_type: str | None = checked(optional(type_name), default=None)
    #: ``E(n)``; 0 is the type's own size.
    element_size_in_bits: int = checked(number(), default=0)
    #: ``S(n)``: 0 HBM, 1 VMEM, 2 SMEM, 4 host (TPU compiler), 5 host (XLA).
    memory_space: int = checked(number(), default=0)
    #: ``SC(…)``.
    split_configs: tuple[SplitConfig, ...] = checked(
        several(instance(SplitConfig, _SPLITS), _SPLITS), default=()
    )
    #: ``M(n)``.
    dynamic_shape_metadata_prefix_bytes: int = checked(number(), default=0)

    def __post_init__(self) -> None:
        rank = len(self.minor_to_major)
        for k, config in enumerate(self.split_configs):
            if (dim := config.dimension) >= rank:
                raise LayoutError(
                    f"SC: expected one of {count(rank, 'dimension')}, got dimension {dim}",
                    "SC names a physical dimension, 0 the most major",
                    f"name a dimension from 0 to {rank - 1}" if rank else "leave SC out",
                    part=("split_configs", k, "dimension"),
                )

    @staticmethod
    def descending(rank: int) -> XlaLayout:
        """The layout of a shape that writes none: row-major."""
        return XlaLayout(tuple(range(rank - 1, -1, -1)))

    @property
    def major_to_minor(self) -> tuple[int, ...]:
        """Logical dimensions in physical order, the slowest varying first."""
        return self.minor_to_major[::-1]

    @property
    def tile_numbers(self) -> tuple[tuple[int, ...], ...]:
        """The tiles as numbers.

        Raises:
            UnsupportedError: if a tile has a name for a size.
        """
        return tuple(map(known, self.tiles))

    def with_numbers(self, values: Mapping[str, int], /) -> XlaLayout:
        tiles = tuple(tuple(evaluated(t, values) for t in tile) for tile in self.tiles)
        return self if tiles == self.tiles else replace(self, tiles=tiles)

    @property
    def sparse_types(self) -> tuple[tuple[str, str], ...]:
        """The signs ``#`` and ``*`` of the fields that are set, each with the type that XLA prints.

        XLA reads no ``invalid``: such a text does not come back.

        >>> XlaLayout((0,), index_primitive_type="f32", pointer_primitive_type="u8").sparse_types
        (('#', 'invalid'), ('*', 'u8'))
        """
        types = (("#", self.index_primitive_type), ("*", self.pointer_primitive_type))
        return tuple((sign, _INTEGER_TYPE.write(name)) for sign, name in types if name)

    @property
    def splits_array(self) -> bool:
        """Whether SC cuts the array into pieces with buffers of their own."""
        return any(config.split_indices for config in self.split_configs)

    def physical_sizes(self, shape: Sequence[S]) -> tuple[S, ...]:
        """A shape's sizes in physical order, most major first.

        Raises:
            ShapeError: if the shape's rank is another than the layout's.
        """
        if len(shape) != len(self.minor_to_major):
            raise rank_error(len(shape), len(self.minor_to_major))
        return tuple(shape[dim] for dim in self.major_to_minor)

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """The layout at a shape: transposed to physical order, then each tile in turn.

        Raises:
            ShapeError: if the shape's rank is another than the layout's.
            UnsupportedError: if SC splits the array, or tiles nest too deep.
        """
        self._require_one_buffer()
        sizes, order = list(self.physical_sizes(shape)), self.major_to_minor
        steps: list[Step] = [] if order == tuple(range(len(sizes))) else [Transpose(order)]
        for tile in self.tiles:
            steps += _tile_steps(sizes, tile)
        tail = self.tail_padding_alignment_in_elements
        spanned: Int = prod(sizes)
        return Recipe(
            tuple(shape), tuple(steps), round_up(spanned, tail) - spanned if self.tiles else 0
        )

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """linear_index(e, d), with (⌊e/t⌋, e mod t) for e and (⌈d/t⌉, t) for d at each tile."""
        self._require_one_buffer()
        e: Sequence[Any] = self.physical_sizes(coordinates)
        d: Sequence[Any] = self.physical_sizes(shape)
        for tile in self.tiles:
            e, d = tiled(e, d, tile, _ZERO, Division())
        return _linear_index(e, d)

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        tail = self.tail_padding_alignment_in_elements
        return by_tiles(coordinate, shape, self.minor_to_major, self.tile_numbers, tail)

    def _require_one_buffer(self) -> None:
        if self.splits_array:
            raise UnsupportedError(
                f"{self} splits the array over several buffers",
                "SC gives each piece a buffer of its own, so no single formula gives the offsets",
                "leave SC out to see the layout inside a piece; byte_size counts SC",
            )
        if len(self.tiles) > NESTED_TILES:
            raise UnsupportedError(
                f"the layout has {len(self.tiles)} tiles, one within the other",
                f"offsets are computed through at most {NESTED_TILES}",
                "leave out tiles of ones, which change nothing",
            )

    @property
    def element(self) -> ElementType | None:
        bits = self.element_size_in_bits
        return ElementType(None, bits) if bits else None

    def reserved_elements(self, shape: Sequence[N]) -> N:
        """Elements that XLA reserves for an array; of one that SC splits, for the largest piece.

        In XLA's rule only the first tile pads.

        >>> XlaLayout((1, 0), ((8, 128), (2, 1))).reserved_elements((10, 200))
        4096
        """
        sizes = largest_piece(self.physical_sizes(shape), self.split_configs)
        if not self.tiles:
            return cast(N, prod(sizes))
        elements = padded_elements(sizes, self.tiles[0])
        return cast(N, round_up(elements, self.tail_padding_alignment_in_elements))

    def notes(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        return self.size_notes(shape, 0)

    def size_notes(self, shape: Sequence[Int], bits: int) -> tuple[str, ...]:
        """Notes on the buffer's size, in bytes if the bits of an element are known."""
        if not all(isinstance(n, int) for sizes in (shape, *self.tiles) for n in sizes):
            return ()
        if self.splits_array:
            return ("SC splits the array over several buffers; byte_size is that of the largest",)
        tail = self.tail_padding_alignment_in_elements
        if not self.tiles and tail != 1:
            return (f"XLA ignores L({tail}) if there are no tiles: the buffer does not grow",)
        (spanned,) = known((self.recipe(shape).size,))
        (reserved,) = known((self.reserved_elements(shape),))
        if bits:
            spanned, reserved = (bytes_of(n, bits) for n in (spanned, reserved))
        if spanned == reserved:
            return ()
        unit = "bytes" if bits else "elements"
        what = f"XLA reserves {reserved} {unit}, the tiles span {spanned}: a later tile does not "
        return (f"{what}divide the block before it, and in XLA's size only the first tile pads",)

    def __str__(self) -> str:
        return LAYOUT.write(self)


def largest_piece(sizes: Sequence[N], configs: Sequence[SplitConfig]) -> tuple[N, ...]:
    """Return sizes of the largest piece, by ``LayoutUtil::MaxSplitSize``.

    XLA takes cuts in the order in which they are written, and of two configs for one dimension
    the first.

    >>> largest_piece((8, 10), (SplitConfig(1, (3,)),))
    (8, 7)
    """
    largest = list(sizes)
    for config in reversed(configs):
        cuts: tuple[Any, ...] = (0, *config.split_indices, sizes[config.dimension])
        largest[config.dimension] = max(end - start for start, end in pairwise(cuts))
    return tuple(largest)


def rank_error(dims: int, ordered: int) -> ShapeError:
    """Return the error of a layout that orders another number of dimensions than a shape has."""
    return ShapeError(
        f"minor_to_major: expected {count(dims, 'dimension')}, got {ordered}",
        "minor_to_major names every dimension once",
        f"order the dimensions 0 to {dims - 1}, the fastest varying first"
        if dims
        else "leave a scalar's layout out, or begin it with ':'",
        part=("layout",),
    )


# ---- the recipe


def _tile_steps(sizes: list[Int], tile: Tile) -> list[Step]:
    """The steps of one tile over axes of these sizes, which are brought up to date."""
    steps: list[Step] = []
    counts = [0] * max(0, len(tile) - len(sizes)) + [1] * len(sizes)
    plain = len(counts) - len(tile)
    counts, tile = _combine(counts, plain, tile)
    if any(n != 1 for n in counts):
        merge = Merge(tuple(counts))
        steps.append(merge)
        sizes[:] = merge.apply(tuple(sizes))
    padded = sizes[:plain] + [round_up(n, t) for n, t in zip(sizes[plain:], tile, strict=True)]
    if padded != sizes:
        steps.append(Pad(tuple(padded)))
    steps.append(Split((*(None,) * plain, *tile)))
    k = len(tile)
    order = (*range(plain), *range(plain, plain + 2 * k, 2), *range(plain + 1, plain + 2 * k, 2))
    if order != tuple(range(plain + 2 * k)):
        steps.append(Transpose(order))
    outer = [n // t for n, t in zip(padded[plain:], tile, strict=True)]
    sizes[:] = [*sizes[:plain], *outer, *tile]
    return steps


def _combine(counts: list[int], plain: int, tile: Tile) -> tuple[list[int], Tile]:
    """Add each starred axis to the next more minor one."""
    merged, kept, carried = counts[:plain], [], 0
    for n, t in zip(counts[plain:], tile, strict=True):
        carried += n
        if t != COMBINE:
            merged.append(carried)
            kept.append(t)
            carried = 0
    return merged, tuple(kept)


# ---- the document's formula

_ZERO: Final = AffineExpr((), 0)


def _quotient(e: Any, t: Any) -> Any:
    """⌊e/t⌋, which for a tile of size 1 is written e."""
    return e if t == 1 else e // t


class Division(NamedTuple):
    """How values of a kind are divided: rounded down, its remainder, and rounded up."""

    quotient: Callable[[Any, Any], Any] = _quotient
    remainder: Callable[[Any, Any], Any] = operator.mod
    ceiling: Callable[[Any, Any], Any] = ceil_quotient


def tiled(
    e: Sequence[Any], d: Sequence[Any], tile: Sequence[Any], zero: Any, of: Division
) -> tuple[list[Any], list[Any]]:
    """Return (⌊e/t⌋, e mod t) and (⌈d/t⌉, t), for values of any kind.

    Args:
        e: an index in each dimension, the most major first.
        d: the bounds.
        tile: the tile of the most minor dimensions.
        zero: the index in a dimension that the tile has before those of the array.
        of: how the values are divided.
    """
    missing = max(0, len(tile) - len(e))
    e, d = [zero] * missing + [*e], [*(1,) * missing, *d]
    first = len(e) - len(tile)
    e_tiled, d_tiled, t = _subsume(e[first:], d[first:], tile)
    return (
        [*e[:first], *map(of.quotient, e_tiled, t), *map(of.remainder, e_tiled, t)],
        [*d[:first], *map(of.ceiling, d_tiled, t), *t],
    )


def _linear_index(e: Sequence[AffineExpr], d: Sequence[Int]) -> AffineExpr:
    """e[0]·d[1]·d[2]·… + e[1]·d[2]·… + …, as one sum, so that a long one is quickly made."""
    stride: Int = 1
    const: Int = 0
    terms: list[tuple[Atom, Int]] = []
    for x, n in zip(reversed(e), reversed(d), strict=True):
        terms += [(atom, c * stride) for atom, c in x.terms]
        const += x.const * stride
        stride *= n
    return AffineExpr.from_terms(terms, const)


def _subsume(
    e: Sequence[Any], d: Sequence[Any], tile: Sequence[Any]
) -> tuple[list[Any], list[Any], list[Any]]:
    """Remove each starred dimension, from the most minor one on: d[i+1] becomes d[i]·d[i+1]."""
    e, d, t = list(e), list(d), list(tile)
    for i in range(len(t) - 2, -1, -1):
        if t[i] == COMBINE:
            e[i + 1] = e[i] * d[i + 1] + e[i + 1]
            d[i + 1] *= d[i]
            del e[i], d[i], t[i]
    return e, d, t


def bytes_of(elements: N, bits: int) -> N:
    """Return the whole bytes that hold elements of some bits.

    >>> bytes_of(3, 4)
    2
    """
    return cast(N, ceil_quotient(elements * bits, 8))


def padded_elements(sizes: Sequence[Int], tile: Tile) -> Int:
    """Return the elements of an array whose sizes, most major first, are rounded up to a tile's."""
    missing = max(0, len(tile) - len(sizes))
    padded = [*(1,) * missing, *sizes]
    first = len(padded) - len(tile)
    carried: Int = 1
    elements: Int = prod(padded[:first])
    for n, t in zip(padded[first:], tile, strict=True):
        carried *= n
        if t != COMBINE:
            elements *= round_up(carried, t)
            carried = 1
    return elements


# ---- the text

HINTS: Final = {
    # XLA's sizes are numbers; ours may also be names, but not products or sums.
    **dict.fromkeys("*+∗", 'write it out, or give sizes beside the layout: "{0}", ("8*N",)'),
    "{}": "'{}' alone is not a layout: leave it out",
    "/*": "a comment ends with */",
}
FORM: Final = "{minor_to_major:attributes}, attributes in the order D T L # * E S SC M"
_SYNTAX: Final = Syntax(f"an XLA layout is {FORM}", "write for example {1,0:T(8,128)(2,1)}", HINTS)
SKIPPED: Final = r"(?:[ \t\r\n]+|/\*(?:[^*]|\*(?!/))*\*/)*"


def _tile_number(token: Token, text: str) -> int:
    value = integer(token, text)
    if value < 0:
        raise ParseError(
            f"a tile size: expected an integer from 1, got {value}",
            "a tile holds at least one element in each dimension",
            "XLA's document writes -1 for a combined dimension; in text it is '*'",
            text=text,
            position=token.start,
        )
    return value


TYPE: Final = Terminal("an element type (f32, bf16, s8, pred, …)", "[A-Za-z_][A-Za-z0-9_]*")
_NUMBER: Final = word(Terminal("a number", "-?[0-9]+"), integer)
_METADATA: Final = word(Terminal("a number", "-?[0-9]+"), lambda *at: max(integer(*at), 0))
_STAR: Final = Sign("*", "'*'", "[*∗]")  # the document also has an operator's star
_TILE: Final = row(
    "(",
    many(
        either(
            (Terminal("a number", "-?[0-9]+"), _tile_number),
            (_STAR, lambda *_: COMBINE),
            (NAME, lambda token, _: SizeExpr.named(str(token))),
            written=lambda size: "*" if size == COMBINE else str(size),
        ),
        ",",
        ")",
    ),
)
_SPLIT: Final = made(
    SplitConfig,
    *("(", field("dimension", NUMBER), ":", field("split_indices", many(NUMBER, ",", ")"))),
)
_LEVELS: Final = many(word(Terminal("one of D, C, S, H", r"[DCSH]\+?~?")), ",", ")", least=1)
_INTEGER_TYPE: Final = word(TYPE, written=lambda name: name if name[0] in "su" else "invalid")
_DEFAULTS: Final = {each.name: each.default for each in fields(XlaLayout)}


def _attribute(letter: str | Sign, name: str, *pieces: Rule | str, unless: str = "") -> FieldRule:
    """A letter, and its value; after the letter some other does not follow."""
    if isinstance(letter, str) and letter.isalpha():
        letter = Sign(letter, f"{letter}(…)", letter + unless)
    return field(name, letter, *pieces, default=_DEFAULTS.get(name))


PIECES: Final = (
    # A brace opens a layout only before a number or a colon; that after a computation does not.
    Sign("{", "a layout '{…}'", r"\{(?=\s*[0-9:])", quiet=True),
    field("minor_to_major", many(NUMBER, ",")),
    group(
        ":",
        _attribute("D", "", "(", _LEVELS),  # of sparse arrays: XLA reads and drops them
        _attribute("T", "tiles", many(_TILE, least=1)),
        _attribute("L", "tail_padding_alignment_in_elements", "(", _NUMBER, ")"),
        _attribute("#", "index_primitive_type", "(", _INTEGER_TYPE, ")"),
        _attribute(_STAR, "pointer_primitive_type", "(", _INTEGER_TYPE, ")"),
        _attribute("E", "element_size_in_bits", "(", _NUMBER, ")"),
        _attribute("S", "memory_space", "(", _NUMBER, ")", unless="(?!C)"),
        _attribute("SC", "split_configs", many(_SPLIT, least=1)),
        _attribute("M", "dynamic_shape_metadata_prefix_bytes", "(", _METADATA, ")"),  # drops M(-1)
    ),
    "}",
)
"""The pieces of a layout's text."""

LAYOUT: Final = made(XlaLayout, *PIECES)


def tile_text(tile: Sequence[Int]) -> str:
    """A tile as XLA writes it.

    >>> tile_text((COMBINE, 2, 128))
    '(*,2,128)'
    """
    return _TILE.write(tile)


def parse_xla_layout(text: str) -> XlaLayout:
    layout: XlaLayout = LAYOUT.parse(text, _SYNTAX, SKIPPED)
    return layout
