"""The layouts of TPU generations: the formats that XLA names, and the compiler's defaults.

The rule of the defaults is not documented: it follows the layouts that the compiler printed.

``tpu_facts`` says in words where an array lies in a TPU's vector registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from math import prod
from typing import Final, NamedTuple

from morello_layouts.core.checks import as_tuple
from morello_layouts.core.description import count, listed
from morello_layouts.core.expr.sizes import round_up
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import VERDICTS_KEPT
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.machines.tpu_layouts.waste import waste_formula
from morello_layouts.notations.xla import COMBINE, XlaLayout, XlaShape, bits_of
from morello_layouts.notations.xla.words import FORMATS, Format

GENERATIONS: Final = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x")
"""The known generations of TPUs, oldest first."""

LANES: Final = 128
"""Columns of a vector register: the minor dimension lies along them."""

SUBLANES: Final = 8
"""Rows of a vector register, each of one 32-bit word in every lane."""

WORD: Final = 32
"""Bits of one lane in one sublane."""

_OLD: Final = ("v2", "v3")

# Other names of the generations.
_ALIASES: Final = {"v5e": " (v5litepod)", "v6e": " (Trillium)", "tpu7x": " (Ironwood)"}

# Bits that a value needs; on v2 and v3 those of less than a byte take a whole one.
_NARROW: Final = {"s2": 2, "u2": 2, "s4": 4, "u4": 4, "f4e2m1fn": 4}

TYPES: Final = (
    "pred",
    *("s2", "u2", "s4", "u4", "f4e2m1fn"),
    *("s8", "u8", "f8e3m4", "f8e4m3", "f8e4m3b11fnuz", "f8e4m3fn", "f8e4m3fnuz"),
    *("f8e5m2", "f8e5m2fnuz", "f8e8m0fnu", "f6e2m3fn", "f6e3m2fn"),
    *("s16", "u16", "f16", "bf16"),
    *("s32", "u32", "f32"),
    *("s64", "u64", "f64", "c64", "c128"),
)
"""The element types whose layouts were measured."""


@frozen
class Packing:
    """How a generation stores one element type."""

    bits: int  #: bits that a value needs, such as 4 of s4.
    stored: int  #: bits that it takes in memory: on v2 and v3 a byte at least.
    is_old: bool  #: whether the generation is v2 or v3.

    @property
    def per_word(self) -> int:
        """Elements in a 32-bit word; 1 for wider types, which use the tiles of 32-bit ones."""
        return max(1, WORD // self.stored)

    @property
    def element_size_in_bits(self) -> int:
        """The layout's ``E(bits)``; 0 without one."""
        return self.stored if self.stored < 8 else 0

    @property
    def least_rows(self) -> int:
        """Rows of the smallest tile."""
        if not self.is_old:
            return self.per_word
        return {2: 16, 4: 8, 8: 8, 16: 4}.get(self.bits, 2)

    @property
    def register_rows(self) -> int:
        """Rows that fill the sublanes of a vector register."""
        return SUBLANES * self.per_word


def sizes_of(element_type: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of an array."""
    dims = as_tuple(shape, "shape", "give a tuple of sizes, such as (3, 5)", ("shape",))
    return XlaShape(element_type, dims).shape


def packing(element_type: str, generation: str) -> Packing:
    """Return how a generation stores an element type.

    >>> packing("s4", "v5e").per_word, packing("s4", "v3").per_word
    (8, 4)
    """
    if not isinstance(generation, str) or generation not in GENERATIONS:
        raise LayoutError(
            f"{generation!r} is not a known generation of TPUs",
            "tiles and packing differ from one to the next",
            f"give one of {', '.join(g + _ALIASES.get(g, '') for g in GENERATIONS)}",
        )
    own = bits_of(element_type)
    if element_type not in TYPES:
        raise UnsupportedError(
            f"the default layout of {element_type} was not measured",
            "its elements may be packed in another way than those of other types",
            f"give one of {', '.join(TYPES)}",
        )
    bits = _NARROW.get(element_type, own)
    is_old = generation in _OLD
    return Packing(bits, max(bits, 8) if is_old else bits, is_old)


COMPACT: Final = "compact second minor"

# The second-minor sizes for which the document has a smaller tile, and the rows of that tile.
_COMPACT_ROWS: Final = {1: 2, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 9: 6, 10: 6, 11: 6, 12: 6}


def format_layout(
    name: str, element_type: str, shape: Sequence[int], minor_to_major: Sequence[int] | None = None
) -> XlaShape:
    """Return an array in one of the document's formats, by default in row-major order.

    The format ``compact second minor`` takes the tile by the second-minor size: 2x128 for 1 and 2,
    4x128 for 3 and 4, 6x128 for 5, 6 and 9 to 12 as the document proposes, 8x128 for others.

    Raises:
        LayoutError: if the format, the type, a size or the order is unknown.
        UnsupportedError: if the format is for types of another width.

    >>> print(format_layout("16 bit", "bf16", (10, 200)))
    bf16[10,200]{1,0:T(8,128)(2,1)}
    >>> print(format_layout("compact second minor", "f32", (16, 3, 128)))
    f32[16,3,128]{2,1,0:T(4,128)}
    """
    sizes = sizes_of(element_type, shape)
    layout = XlaLayout.descending(len(sizes))
    if minor_to_major is not None:
        layout = XlaLayout(minor_to_major)  # type: ignore[arg-type]
    chosen = _compact(layout, sizes) if name == COMPACT else FORMATS.get(str(name))
    if chosen is None:
        raise LayoutError(
            f"{name!r} is not a format of XLA's document",
            "the document names tile formats of TPUs",
            f"give one of {', '.join([*FORMATS, COMPACT])}",
        )
    bits = bits_of(element_type)
    only_pred = chosen.element_size_in_bits == 1
    if chosen.bits not in (None, bits) or (only_pred and element_type != "pred"):
        kind = "pred" if only_pred else f"elements of {chosen.bits} bits"
        raise UnsupportedError(
            f"the format {chosen.name!r} is not for {element_type}",
            f"its tiles fill 32-bit words with {kind}",
            "give another type, or the format 8x128, which does not pack elements",
        )
    stored = chosen.element_size_in_bits
    return XlaShape(
        element_type, sizes, replace(layout, tiles=chosen.tiles, element_size_in_bits=stored)
    )


def _compact(layout: XlaLayout, sizes: Sequence[int]) -> Format:
    physical = layout.physical_sizes(sizes)
    rows = _COMPACT_ROWS.get(physical[-2], 8) if len(physical) > 1 else 8
    return FORMATS[f"{rows}x128"]


_LARGEST_TILE: Final = 1024  # elements, of an array of one dimension


def default_layout(element_type: str, shape: Sequence[int], generation: str) -> XlaShape:
    """Return the layout that the TPU compiler chooses for a parameter of a type and shape.

    The compiler takes the pair of minor and second-minor dimension that pads the fewest bytes. On
    a tie the minor dimension nearest the end wins, then the second-minor dimension nearest it. For
    2-bit types a pair without padding wins; if there is none, bytes count as if tiles had 8 rows.

    Args:
        element_type: XLA's name of the type, such as ``bf16``; one of :data:`TYPES`.
        shape: sizes in elements, dimension 0 first.
        generation: one of :data:`GENERATIONS`.

    Raises:
        LayoutError: if the type, a size or the generation is unknown.
        UnsupportedError: if the type was not measured, or a size is not a number.

    >>> print(default_layout("bf16", (8, 1, 1280, 1000), "v5e"))
    bf16[8,1,1280,1000]{2,3,1,0:T(8,128)(2,1)}
    >>> print(default_layout("s4", (256, 512), "v5e"))
    s4[256,512]{1,0:T(64,128)(8,1)E(4)}
    """
    kind = packing(element_type, generation)
    sizes = sizes_of(element_type, shape)
    if 0 in sizes:  # without elements there are no tiles
        order = tuple(range(len(sizes)))[::-1]
        layout = XlaLayout(order, element_size_in_bits=kind.element_size_in_bits)
        return XlaShape(element_type, sizes, layout)
    if len(sizes) < 2:
        return _of_one_dimension(element_type, sizes, kind)
    pair = best_pair(sizes, kind)
    return tiled(element_type, sizes, pair, fewest_rows(sizes[pair[1]], kind), kind)


def tiled(
    element_type: str, sizes: Sequence[int], pair: tuple[int, int], rows: int, kind: Packing
) -> XlaShape:
    """Return an array with a pair of minor and second-minor dimension, and the rows of its tile.

    >>> print(tiled("f32", (16, 3, 128), (2, 0), 8, packing("f32", "v5e")))
    f32[16,3,128]{2,0,1:T(8,128)}
    """
    others = (dim for dim in range(len(sizes) - 1, -1, -1) if dim not in pair)
    words = ((kind.per_word, 1),) if kind.per_word > 1 else ()
    bits = kind.element_size_in_bits
    layout = XlaLayout((*pair, *others), ((rows, LANES), *words), element_size_in_bits=bits)
    return XlaShape(element_type, tuple(sizes), layout)


def pairs(rank: int) -> Iterator[tuple[int, int]]:
    """Return the pairs of minor and second-minor dimension, those nearest the end first.

    >>> list(pairs(3))
    [(2, 1), (2, 0), (1, 2), (1, 0), (0, 2), (0, 1)]
    """
    return permutations(range(rank - 1, -1, -1), 2)


def fewest_rows(size: int, kind: Packing, least: int | None = None) -> int:
    """Return the rows of the tile for a second-minor dimension of a size.

    >>> [fewest_rows(n, packing("f32", "v5e")) for n in (1, 2, 3, 5, 9)]
    [1, 2, 4, 8, 8]
    """
    if not kind.is_old and kind.stored <= 8 and size % kind.register_rows == 0:
        return kind.register_rows
    return max(min(SUBLANES, _power_of_two(size)), kind.least_rows if least is None else least)


def best_pair(sizes: Sequence[int], kind: Packing) -> tuple[int, int]:
    """Return the pair of minor and second-minor dimension that the compiler chooses.

    For 2-bit types it takes a pair without padding if there is one. If not, it counts bytes as if
    tiles had 8 rows, although they have 16 and more.
    """
    whole, is_2_bit = prod(sizes), kind.bits == 2
    least = SUBLANES if is_2_bit else kind.least_rows

    def cost(pair: tuple[int, int]) -> tuple[bool, int]:
        minor, second = sizes[pair[0]], sizes[pair[1]]
        rows = round_up(second, fewest_rows(second, kind, least))
        pads = is_2_bit and bool(minor % LANES or second % kind.least_rows)
        return pads, whole // (minor * second) * rows * round_up(minor, LANES)

    return min(pairs(len(sizes)), key=cost)


def _of_one_dimension(element_type: str, sizes: tuple[int, ...], kind: Packing) -> XlaShape:
    register = LANES * kind.per_word
    shortest = min(2 * register, _LARGEST_TILE) if kind.is_old else register
    longest = 2 * _LARGEST_TILE if kind.bits == 2 else _LARGEST_TILE
    size = min(max(_power_of_two(sizes[0]), shortest), longest) if sizes else shortest
    words = ((LANES,), (kind.per_word, 1)) if sizes and kind.per_word > 1 else ()
    bits = kind.element_size_in_bits
    layout = XlaLayout(tuple(range(len(sizes))), ((size,), *words), element_size_in_bits=bits)
    return XlaShape(element_type, sizes, layout)


def _power_of_two(n: int) -> int:
    """Return the smallest power of two that is not below a number from 1."""
    return 1 << (n - 1).bit_length()


# A generation for each of the two kinds of layouts: the tiles of its scalars, and its kin.
_KINDS: Final = {"v3": (((256,),), "v2 and v3"), "v5e": (((128,),), "v4 and later")}


class Generation(NamedTuple):
    """A generation of TPUs, and the reason to assume it."""

    name: str  #: such as ``v5e``.
    reason: str  #: one line.


def generation_of(
    given: str | None, shapes: Iterable[XlaShape], entry: Iterable[XlaShape] = ()
) -> Generation:
    """Return the given generation, or a guess from the layouts of a program.

    Args:
        given: its name; None to guess.
        shapes: the arrays of the program; the tiles of a scalar differ between old and new
            generations.
        entry: the program's parameters and outputs, whose layouts the compiler chose; these decide
            if there is no such scalar.
    """
    if given is not None:
        packing("f32", given)  # raises if the name is not a generation
        return Generation(given, "as given")
    for shape in shapes:
        for name, (tiles, kin) in _KINDS.items():
            if _is_short(shape) and shape.layout is not None and shape.layout.tiles == tiles:
                tile = f"T({tiles[0][0]})"
                return Generation(name, f"a guess: scalars lie in {tile}, as on {kin}")
    chosen_by = set(map(_chosen_by, entry)) - {None}
    for name, (_, kin) in _KINDS.items():
        if chosen_by == {name}:
            return Generation(name, f"a guess: parameters and outputs lie as {kin} choose")
    return Generation("v5e", "assumed: the text does not tell")


@lru_cache(VERDICTS_KEPT)
def _chosen_by(x: XlaShape) -> str | None:
    """Return the one of an old and a new generation that chooses this layout; None if not one."""
    if x.layout is None:
        return None
    if x.layout.memory_space:
        x = replace(x, layout=replace(x.layout, memory_space=0))
    try:
        found = [g for g in _KINDS if default_layout(x.element_type, x.shape, g) == x]
    except LayoutError:
        return None
    return found[0] if len(found) == 1 else None


def _is_short(x: XlaShape) -> bool:
    """Whether an array is a 32-bit scalar, or as short: it takes the smallest tile."""
    if x.element_type not in ("f32", "s32", "u32"):
        return False
    return not x.dims or (len(x.dims) == 1 and isinstance(n := x.dims[0], int) and n <= LANES)


@frozen
class TpuFacts:
    """A layout on a TPU, in words."""

    lanes: str  #: the dimension along the 128 lanes of a vector register.
    sublanes: str  #: the dimension along its 8 sublanes.
    packing: str  #: how elements share the 32-bit words of a lane, or take several.
    #: the generations whose compiler chooses this layout for a parameter.
    default_on: tuple[str, ...]
    default: str  #: the same in words, and the choice of the other generations.
    padding: tuple[str, ...]  #: the reasons for padding.


@frozen
class _PackedTile:
    """A tile of a TPU: its rows, and the elements that are packed into a 32-bit word."""

    rows: int
    packed: int
    is_flat: bool = False
    is_across: bool = False

    @property
    def sublanes(self) -> int:
        """Rows of 32-bit words."""
        return self.rows // self.packed


def tpu_facts(x: XlaShape, names: Sequence[str]) -> TpuFacts | None:
    """Return the facts about an array in tiles of a TPU; None for other arrays.

    >>> x = XlaShape("bf16", (10, 200), XlaLayout((1, 0), ((8, 128), (2, 1))))
    >>> facts = tpu_facts(x, ("y", "x"))
    >>> facts.lanes
    'x lies along the 128 lanes of a vector register'
    >>> facts.sublanes
    '8 rows of y lie along 4 of its 8 sublanes, 2 to a sublane'
    >>> facts.packing
    '2 elements of 16 bits in the 32-bit word of a lane: neighbours along y, in one column'
    """
    if x.layout is None or x.layout.splits_array:
        return None
    tile = _tile_of(x.layout, x.bits)
    if tile is None:
        return None
    default_on, default = _defaults(x)
    where = _places(x, names, tile)
    reasons = () if None in x.dims else waste_formula(x).reasons
    return TpuFacts(*where, default_on, default, tuple(reason.text for reason in reasons))


def _tile_of(layout: XlaLayout, bits: int) -> _PackedTile | None:
    """Return the tile if every lane of it holds whole 32-bit words, else None."""
    packed = WORD // bits if 0 < bits < WORD and WORD % bits == 0 else 1
    if (bits < WORD and packed == 1) or bits % min(bits, WORD) or not layout.tiles:
        return None
    first, *others = layout.tile_numbers
    within, across = [(packed, 1)], [(packed, 1, 1, 1)]
    tile: _PackedTile | None = None
    if len(first) == 1 and first[0] % (LANES * packed) == 0:
        flat = [(LANES,), *within]
        if others == (flat if packed > 1 else []):
            tile = _PackedTile(first[0] // LANES, packed, is_flat=True)
    elif len(first) == 2 and first[1] == LANES and first[0] != COMBINE:
        if others == (within if packed > 1 else []) and first[0] % packed == 0:
            tile = _PackedTile(first[0], packed)
        elif packed > 1 and others == across:
            tile = _PackedTile(first[0] * packed, packed, is_across=True)
    if tile is not None and tile.sublanes > SUBLANES and tile.sublanes % SUBLANES:
        return None
    return tile


def _places(x: XlaShape, names: Sequence[str], tile: _PackedTile) -> tuple[str, str, str]:
    """Return the texts on lanes, sublanes and packing."""
    assert x.layout is not None
    order = [names[dim] for dim in x.layout.minor_to_major]
    if not order:
        lanes = f"the element lies in the first of the {LANES} lanes of a vector register"
        return lanes, f"and in the first of its {SUBLANES} sublanes", _packing(x.bits, "", "", tile)
    minor = order[0]
    second = order[1] if len(order) > 1 else "an added dimension"
    return _lanes(minor, tile), _sublanes(second, tile), _packing(x.bits, minor, second, tile)


def _lanes(minor: str, tile: _PackedTile) -> str:
    lie = f"the {LANES} lanes of a vector register"
    if not tile.is_flat:
        return f"{minor} lies along {lie}"
    return f"{LANES} neighbours along {minor} lie along {lie}"


def _sublanes(second: str, tile: _PackedTile) -> str:
    used = tile.sublanes
    if used > SUBLANES:
        where = f"the {SUBLANES} sublanes of {count(used // SUBLANES, 'register')}"
    elif used == SUBLANES:
        where = f"its {SUBLANES} sublanes"
    else:
        where = f"{used} of its {SUBLANES} sublanes"
    if tile.is_flat:
        return f"{count(tile.rows, 'run')} of {LANES} lie{'s' * (tile.rows == 1)} along {where}"
    each = f", {tile.packed} to a sublane" if tile.packed > 1 else ""
    return f"{count(tile.rows, 'row')} of {second} lie{'s' * (tile.rows == 1)} along {where}{each}"


def _packing(bits: int, minor: str, second: str, tile: _PackedTile) -> str:
    if bits > WORD:
        return f"an element takes {bits // WORD} words of 32 bits"
    if tile.packed == 1:
        return "an element takes the 32-bit word of a lane"
    words = f"{tile.packed} elements of {count(bits, 'bit')} in the 32-bit word of a lane"
    if not minor:
        return f"the 32-bit word of a lane has room for {tile.packed} of {count(bits, 'bit')}"
    if tile.is_flat:
        return f"{words}: elements {LANES} apart along {minor}"
    if tile.is_across:
        return f"{words}: elements {tile.rows // tile.packed} apart along {second}, in one column"
    return f"{words}: neighbours along {second}, in one column"


def _defaults(x: XlaShape) -> tuple[tuple[str, ...], str]:
    """Return the generations that choose the layout, and all choices in words."""
    if any(x.dynamic_dimensions) or x.layout is None:
        return (), "not known for dynamic sizes"
    try:
        chosen = {g: default_layout(x.element_type, x.shape, g).layout for g in GENERATIONS}
    except LayoutError as error:
        return (), f"not known: {error.what}"
    own = replace(x.layout, memory_space=0)
    agree = tuple(g for g, layout in chosen.items() if layout == own)
    groups: dict[str, list[str]] = {}
    for generation, layout in chosen.items():
        if layout != own:
            groups.setdefault(str(layout), []).append(generation)
    others = [f"{_generations(names)} choose {layout}" for layout, names in groups.items()]
    if not agree:
        return (), f"not chosen for a parameter: {'; '.join(others)}"
    return agree, "; ".join([f"{_generations(agree)} choose it for a parameter", *others])


def _generations(names: Sequence[str]) -> str:
    return "all generations" if len(names) == len(GENERATIONS) else listed(names)
