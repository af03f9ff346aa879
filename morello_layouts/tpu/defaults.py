"""The layout that the TPU compiler chooses for a parameter, and the generation that chose one.

The rule is not documented: it follows the layouts that the compiler printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from math import prod
from typing import Final, NamedTuple

from morello_layouts.errors import LayoutError
from morello_layouts.expr.sizes import round_up
from morello_layouts.notations.xla import XlaLayout, XlaShape
from morello_layouts.tpu.generations import LANES, SUBLANES, Packing, packing, sizes_of

_LARGEST_TILE: Final = 1024  # elements, of an array of one dimension


def default_layout(element_type: str, shape: Sequence[int], generation: str) -> XlaShape:
    """Return the layout that the TPU compiler chooses for a parameter of a type and shape.

    The compiler takes the pair of minor and second-minor dimension that pads the fewest bytes. On
    a tie the minor dimension nearest the end wins, then the second-minor dimension nearest it.

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
    if 0 in sizes:
        layout = XlaLayout.descending(len(sizes))
        return XlaShape(element_type, sizes, layout)
    if len(sizes) < 2:
        return _of_one_dimension(element_type, sizes, kind)
    pair = _best_pair(sizes, kind)
    return tiled(element_type, sizes, pair, fewest_rows(sizes[pair[1]], kind), kind)


def tiled(
    element_type: str, sizes: Sequence[int], pair: tuple[int, int], rows: int, kind: Packing
) -> XlaShape:
    """Return an array with a pair of minor and second-minor dimension, and the rows of its tile.

    >>> print(tiled("f32", (16, 3, 128), (2, 0), 8, packing("f32", "v5e")))
    f32[16,3,128]{2,0,1:T(8,128)}
    """
    layout = XlaLayout(
        _ordered(len(sizes), pair),
        _tiles((rows, LANES), kind),
        element_size_in_bits=kind.element_size_in_bits,
    )
    return XlaShape(element_type, tuple(sizes), layout)


def _ordered(rank: int, pair: tuple[int, int]) -> tuple[int, ...]:
    """Return the minor-to-major order that begins with a pair; the other dimensions descend.

    >>> _ordered(4, (0, 2))
    (0, 2, 3, 1)
    """
    return (*pair, *(dim for dim in range(rank - 1, -1, -1) if dim not in pair))


def _tiles(first: tuple[int, int], kind: Packing) -> tuple[tuple[int, ...], ...]:
    """Return a tile of rows and columns and, for packed types, the tile of 32-bit words.

    >>> _tiles((8, 128), packing("bf16", "v5e"))
    ((8, 128), (2, 1))
    """
    return (first, (kind.per_word, 1)) if kind.per_word > 1 else (first,)


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


def _best_pair(sizes: Sequence[int], kind: Packing) -> tuple[int, int]:
    # The compiler chooses for 2-bit types as if their tiles had 8 rows; they have 16 and more.
    least = SUBLANES if kind.bits == 2 else kind.least_rows
    whole = prod(sizes)

    def elements(pair: tuple[int, int]) -> int:
        minor, second = sizes[pair[0]], sizes[pair[1]]
        rows = round_up(second, fewest_rows(second, kind, least))
        return whole // (minor * second) * rows * round_up(minor, LANES)

    return min(pairs(len(sizes)), key=elements)


def _of_one_dimension(element_type: str, sizes: tuple[int, ...], kind: Packing) -> XlaShape:
    """Return the layout of an array of at most one dimension; a scalar takes the smallest tile."""
    register = LANES * kind.per_word
    shortest = min(2 * register, _LARGEST_TILE) if kind.is_old else register
    longest = 2 * _LARGEST_TILE if kind.bits == 2 else _LARGEST_TILE
    tiles: tuple[tuple[int, ...], ...]
    if sizes:
        tiles = ((min(max(_power_of_two(sizes[0]), shortest), longest),),)
        if kind.per_word > 1:
            tiles = (*tiles, (LANES,), (kind.per_word, 1))
    else:
        tiles = ((shortest,),)
    layout = XlaLayout(
        tuple(range(len(sizes))), tiles, element_size_in_bits=kind.element_size_in_bits
    )
    return XlaShape(element_type, sizes, layout)


def _power_of_two(n: int) -> int:
    """Return the smallest power of two that is not below a number from 1."""
    return 1 << (n - 1).bit_length()


# A generation for each of the two kinds of layouts: the tiles of its scalars, and its kin.
_KINDS: Final = {"v3": (((256,),), "v2 and v3"), "v5e": (((128,),), "v4 and later")}


class Generation(NamedTuple):
    """A generation of TPUs, and the reason to assume it.

    Attributes:
        name: such as ``v5e``.
        reason: one line.
    """

    name: str
    reason: str


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

    Raises:
        LayoutError: if the given name is not a generation.

    >>> from morello_layouts.notations import parse
    >>> generation_of(None, [parse("f32[]{:T(256)}")]).name
    'v3'
    >>> generation_of(None, [], [parse("f32[1,200]{1,0:T(2,128)}")]).name
    'v3'
    >>> generation_of("v6e", []).reason
    'as given'
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


def _chosen_by(x: XlaShape) -> str | None:
    """Return the one of an old and a new generation that chooses this layout; None if not one."""
    if x.layout is None:
        return None
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
