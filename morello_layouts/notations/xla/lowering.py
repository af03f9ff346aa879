"""XLA layouts to recipes, their reference formula, and the bytes that XLA reserves."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, overload

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import AffineExpr, Atom
from morello_layouts.expr.sizes import Int, ceil_quotient, round_up
from morello_layouts.limits import NESTED_TILES
from morello_layouts.notations.xla.types import COMBINE, Tile
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Step, Transpose

_ZERO: Final = AffineExpr((), 0)


def recipe(
    shape: Sequence[Int], order: Sequence[int], tiles: Sequence[Tile], tail_alignment: int
) -> Recipe:
    """Transpose to physical order; then for each tile merge, pad, split, transpose.

    Args:
        shape: logical sizes.
        order: logical dimensions, the slowest varying first.
        tiles: the tiles in order.
        tail_alignment: the buffer's size is padded to a multiple of it, if there are tiles.
    """
    _check_count(tiles)
    sizes = [shape[dim] for dim in order]
    steps: list[Step] = []
    if tuple(order) != tuple(range(len(sizes))):
        steps.append(Transpose(tuple(order)))
    for tile in tiles:
        steps += _tile_steps(sizes, tile)
    tail: Int = round_up(prod(sizes), tail_alignment) - prod(sizes) if tiles else 0
    return Recipe(tuple(shape), tuple(steps), tail)


def _tile_steps(sizes: list[Int], tile: Tile) -> list[Step]:
    """The steps of one tile over axes of these sizes, which are brought up to date."""
    steps: list[Step] = []
    counts = [0] * max(0, len(tile) - len(sizes)) + [1] * len(sizes)
    plain = len(counts) - len(tile)
    counts, tile = _combine(counts, plain, tile)
    if any(count != 1 for count in counts):
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
    for count, t in zip(counts[plain:], tile, strict=True):
        carried += count
        if t != COMBINE:
            merged.append(carried)
            kept.append(t)
            carried = 0
    return merged, tuple(kept)


def reference(
    coordinates: Sequence[AffineExpr],
    shape: Sequence[Int],
    order: Sequence[int],
    tiles: Sequence[Tile],
) -> AffineExpr:
    """linear_index(e, d), with (⌊e/t⌋, e mod t) for e and (⌈d/t⌉, t) for d at each tile."""
    _check_count(tiles)
    e, d = [coordinates[dim] for dim in order], [shape[dim] for dim in order]
    for tile in tiles:
        e, d = tiled(e, d, tile, _ZERO, Arithmetic())
    return _linear_index(e, d)


def _quotient(e: Any, t: Any) -> Any:
    """⌊e/t⌋, which for a tile of size 1 is written e."""
    return e if t == 1 else e // t


class Arithmetic(NamedTuple):
    """How values of a kind are divided: rounded down, its remainder, and rounded up."""

    quotient: Callable[[Any, Any], Any] = _quotient
    remainder: Callable[[Any, Any], Any] = operator.mod
    ceiling: Callable[[Any, Any], Any] = ceil_quotient


def tiled(
    e: Sequence[Any], d: Sequence[Any], tile: Sequence[Any], zero: Any, of: Arithmetic
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


def _check_count(tiles: Sequence[Tile]) -> None:
    if len(tiles) > NESTED_TILES:
        raise UnsupportedError(
            f"the layout has {len(tiles)} tiles, one within the other",
            f"offsets are computed through at most {NESTED_TILES}",
            "leave out tiles of ones, which change nothing",
        )


@overload
def bytes_of(elements: int, bits: int) -> int: ...


@overload
def bytes_of(elements: Int, bits: int) -> Int: ...


def bytes_of(elements: Int, bits: int) -> Int:
    """Return the whole bytes that hold elements of some bits.

    >>> bytes_of(3, 4)
    2
    """
    return ceil_quotient(elements * bits, 8)


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
