"""Translations at small shapes, compared with every layout that exists."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations, product

import pytest

import morello_layouts as ml
from tests.support.tables import each_row
from tests.support.translation_judges import Offsets, morello_or_none, offsets

SMALL = [(4,), (6,), (8,), (12,), (16,), (2, 4), (4, 3), (6, 2), (2, 2, 2), (1, 4)]


def physical(n: int) -> Iterator[tuple[ml.morello.Packed | ml.morello.OddEven, ...]]:
    """All lists of physical dimensions of a dimension of n elements."""
    if n == 1:
        yield ()
    for size in (d for d in range(2, n + 1) if n % d == 0):
        for inner in physical(n // size):
            yield (ml.morello.Packed(size), *inner)
            if size % 2 == 0:
                yield (ml.morello.OddEven(size), *inner)


@cache
def all_morello(shape: tuple[int, ...]) -> dict[Offsets, ml.MorelloLayout]:
    """A Morello layout for every order of elements that one has, the lists tried all."""
    found: dict[Offsets, ml.MorelloLayout] = {}
    for lists in product(*(list(physical(n)) for n in shape)):
        which = [dim for dim, list_ in enumerate(lists) for _ in list_]
        for order in set(permutations(which)):
            left = [iter(list_) for list_ in lists]
            layout = ml.MorelloLayout([(dim, next(left[dim])) for dim in order])
            found.setdefault(offsets(layout, shape), layout)
    return found


def tile_lists(rank: int, sizes: tuple[int, ...], count: int) -> Iterator[tuple[ml.XlaLayout, ...]]:
    """All lists of ``count`` tiles of these sizes and ``*``, each over all the axes before it."""
    if count == 0:
        yield ()
        return
    for k in range(1, rank + 1):
        for tile in product((*sizes, ml.xla.COMBINE), repeat=k):
            if tile[-1] != ml.xla.COMBINE:
                grown = rank + sum(t != ml.xla.COMBINE for t in tile) - tile.count(ml.xla.COMBINE)
                for rest in tile_lists(min(grown, 3), sizes, count - 1):
                    yield (tile, *rest)


@cache
def all_xla(shape: tuple[int, ...], count: int) -> dict[Offsets, ml.XlaLayout]:
    """An XLA layout with ``count`` tiles for every order of elements that one has."""
    found: dict[Offsets, ml.XlaLayout] = {}
    largest = max(shape)
    sizes = tuple(t for t in range(1, largest + 1) if t <= min(4, largest) or largest % t == 0)
    for order in permutations(range(len(shape))):
        for tiles in tile_lists(len(shape), sizes, count):
            layout = ml.XlaLayout(order, tiles)
            found.setdefault(offsets(layout, shape), layout)
    return found


@each_row("shape", SMALL, ids=str)
def test_every_morello_layout_has_an_xla_layout(shape: tuple[int, ...]) -> None:
    for places, layout in all_morello(shape).items():
        found = ml.convert(layout, "xla", shape)
        assert offsets(found, shape) == places, f"{layout} is not {found}"


@pytest.mark.slow
@each_row("shape", SMALL, ids=str)
def test_no_layout_has_fewer_tiles(shape: tuple[int, ...]) -> None:
    """Neither with ``*``, nor with padding, nor with tiles that do not divide each other."""
    tiled = [all_xla(shape, count) for count in range(3)]
    for places, layout in all_morello(shape).items():
        fewest = next((count for count in range(3) if places in tiled[count]), 3)
        found = ml.convert(layout, "xla", shape)
        assert min(len(found.tiles), 3) == fewest, f"{layout} is {found}"


@pytest.mark.slow
@each_row("shape", SMALL, ids=str)
def test_none_exists_where_no_morello_layout_does(shape: tuple[int, ...]) -> None:
    """Every order of elements that XLA layouts of up to two tiles make."""
    there = all_morello(shape)
    tried = {**all_xla(shape, 0), **all_xla(shape, 1), **all_xla(shape, 2)}
    there_too = 0
    for places, layout in tried.items():
        found = morello_or_none(layout, shape)
        if found is None:
            assert places not in there, f"{layout} is {there[places]}"
        else:
            there_too += 1
            assert offsets(found, shape) == places, f"{layout} is not {found}"
    assert 0 < there_too < len(tried)
