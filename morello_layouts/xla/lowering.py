"""From an XLA layout to the recipe, and to the document's own formula.

Both are written from XLA's document "Tiled layout": the recipe from its section on tiling as
pad-reshape-transpose, the formula from its section on linear index formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import Atom, Linear
from morello_layouts.expr.size import Number, ceil_quotient
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Step, Transpose
from morello_layouts.xla.layout import COMBINE, Tile, XlaLayout

__all__ = ["recipe", "textbook"]

_ZERO: Final = Linear((), 0)
_MOST_TILES: Final = 100


def recipe(layout: XlaLayout, shape: Sequence[Number]) -> Recipe:
    """Transpose to physical order; then for each tile merge, pad, split, transpose."""
    _check_supported(layout)
    sizes = list(layout.physical_sizes(shape))
    steps: list[Step] = []
    if layout.major_to_minor != tuple(range(len(sizes))):
        steps.append(Transpose(layout.major_to_minor))
    for tile in layout.tiles:
        steps += _tile_steps(sizes, tile)
    tail: Number = 0
    if layout.tiles:
        tail = _round_up(prod(sizes), layout.tail_padding_alignment_in_elements) - prod(sizes)
    return Recipe(tuple(shape), tuple(steps), tail)


def _tile_steps(sizes: list[Number], tile: Tile) -> list[Step]:
    """The steps of one tile over axes of these sizes, which are brought up to date."""
    steps: list[Step] = []
    counts = [0] * max(0, len(tile) - len(sizes)) + [1] * len(sizes)
    plain = len(counts) - len(tile)
    counts, tile = _combine(counts, plain, tile)
    if any(count != 1 for count in counts):
        merge = Merge(tuple(counts))
        steps.append(merge)
        sizes[:] = merge.apply(tuple(sizes))
    padded = sizes[:plain] + [_round_up(n, t) for n, t in zip(sizes[plain:], tile, strict=True)]
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


def _round_up(n: Number, multiple: int) -> Number:
    return ceil_quotient(n, multiple) * multiple


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


def textbook(layout: XlaLayout, coordinates: Sequence[Linear], shape: Sequence[Number]) -> Linear:
    """linear_index(e, d), with (⌊e/t⌋, e mod t) for e and (⌈d/t⌉, t) for d at each tile."""
    _check_supported(layout)
    e = [coordinates[dim] for dim in layout.major_to_minor]
    d = list(layout.physical_sizes(shape))
    for tile in layout.tiles:
        missing = max(0, len(tile) - len(e))
        e, d = [_ZERO] * missing + e, [*(1,) * missing, *d]
        first = len(e) - len(tile)
        e_tiled, d_tiled, t = _subsume(e[first:], d[first:], tile)
        tiled = [*map(_quotient, e_tiled, t), *(x % y for x, y in zip(e_tiled, t, strict=True))]
        e = [*e[:first], *tiled]
        d = [*d[:first], *(ceil_quotient(x, y) for x, y in zip(d_tiled, t, strict=True)), *t]
    return _linear_index(e, d)


def _quotient(e: Linear, t: int) -> Linear:
    """⌊e/t⌋, which for a tile of size 1 is written e."""
    return e if t == 1 else e // t


def _linear_index(e: Sequence[Linear], d: Sequence[Number]) -> Linear:
    """e[0]·d[1]·d[2]·… + e[1]·d[2]·… + …, as one sum, so that a long one is quickly made."""
    stride: Number = 1
    const: Number = 0
    terms: list[tuple[Atom, Number]] = []
    for x, n in zip(reversed(e), reversed(d), strict=True):
        terms += [(atom, c * stride) for atom, c in x.terms]
        const += x.const * stride
        stride *= n
    return Linear.of(terms, const)


def _subsume(
    e: Sequence[Linear], d: Sequence[Number], tile: Tile
) -> tuple[list[Linear], list[Number], list[int]]:
    """Remove each starred dimension, from the most minor one on: d[i+1] becomes d[i]·d[i+1]."""
    e, d, t = list(e), list(d), list(tile)
    for i in range(len(t) - 2, -1, -1):
        if t[i] == COMBINE:
            e[i + 1] = e[i] * d[i + 1] + e[i + 1]
            d[i + 1] *= d[i]
            del e[i], d[i], t[i]
    return e, d, t


def _check_supported(layout: XlaLayout) -> None:
    if len(layout.tiles) > _MOST_TILES:
        raise UnsupportedError(
            f"the layout has {len(layout.tiles)} tiles, one within the other",
            f"offsets are computed through at most {_MOST_TILES}",
            "leave out tiles of ones, which change nothing",
        )
    if layout.splits_array:
        raise UnsupportedError(
            f"{layout} splits the array over several buffers",
            "SC gives each piece a buffer of its own, so there is no one offset",
            "leave SC out to see the layout inside a piece; byte_size counts SC",
        )
