"""The best swizzle against exhaustive searches, and against the choices of CuTe and Triton."""

from __future__ import annotations

import json
import re
from itertools import product
from random import Random

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.machines.gpu import BankConflicts
from morello_layouts.machines.gpu.placements import MapSearch, row_echelon
from tests.support import swizzle_judges as judges
from tests.support.swizzle_judges import Tile
from tests.support.tables import each_row


def checked(tile: Tile) -> ml.gpu.BestSwizzle:
    """The best placement of a tile: a placement, with the ways that it says."""
    shape = (tile.rows, tile.columns)
    best = ml.best_swizzle(shape, tile.bits, tile.accesses)

    def place(i: int, j: int) -> int:
        return best.layout.by_document((i, j), shape)[0]

    slots = {place(i, j) for i in range(tile.rows) for j in range(tile.columns)}
    assert len(slots) == tile.rows * tile.columns
    assert max(slots) < tile.rows * tile.columns + best.padding
    assert tuple(judges.ways(tile, access, place) for access in tile.accesses) == best.ways
    found = [ml.bank_conflicts(best.layout, access, bits=tile.bits) for access in tile.accesses]
    assert tuple(each.ways for each in found) == best.ways
    return best


def better_ones(tile: Tile, ways: int) -> list[str]:
    """The choices of others that have fewer ways."""
    choices = {"Swizzle<B,M,S>": judges.all_swizzles(tile), "an atom": judges.atoms(tile)}
    return [
        name for name, places in choices.items()
        if any(judges.worst(tile, place) < ways for place in places)
    ]  # fmt: skip


@each_row("number", range(3))
def test_no_swizzle_of_cute_is_better(number: int) -> None:
    tile = judges.random_tile(Random(f"tile {number}"))
    best = checked(tile)
    if max(best.ways) > 1 and tile.rows * tile.columns <= 1024:
        assert not better_ones(tile, max(best.ways)), tile


@pytest.mark.slow
def test_no_swizzle_of_cute_is_better_for_many_tiles() -> None:
    assert 20 < tiles_without_conflicts(40) < 38


def tiles_without_conflicts(count: int) -> int:
    """Count random tiles without bank conflicts, and require that no swizzle is better."""
    free = 0
    for number in range(count):
        tile = judges.random_tile(Random(f"tile {number}"))
        best = checked(tile)
        free += max(best.ways) == 1
        assert max(best.ways) == 1 or not better_ones(tile, max(best.ways)), tile
    return free


@each_row(
    "tile, text",
    [  # what CuTe, Triton and NVIDIA's guides take for these
        (Tile(64, 64, 16, ("row.b128", "ldmatrix")), "Sw<3,3,3> o 0 o (64,64):(64,1)"),
        (Tile(64, 32, 16, ("row.b128", "ldmatrix")), "Sw<2,3,3> o 0 o (64,32):(32,1)"),
        (Tile(64, 16, 16, ("rows.b128", "ldmatrix")), "Sw<1,3,3> o 0 o (64,16):(16,1)"),
        (Tile(64, 128, 8, ("row.b128", "ldmatrix")), "Sw<3,4,3> o 0 o (64,128):(128,1)"),
        (Tile(32, 32, 32, ("row", "column")), "Sw<5,0,5> o 0 o (32,32):(32,1)"),
        (Tile(64, 8, 16, ("rows.b128", "ldmatrix")), "(64,8):(8,1)"),
        (Tile(10, 50, 32, ("row", "column")), "(10,50):(50,1)"),
    ],
)
def test_the_usual_tiles_get_the_usual_swizzles(tile: Tile, text: str) -> None:
    best = checked(tile)
    assert (best.cute, best.ways, best.padding) == (text, (1,) * len(tile.accesses), 0)
    assert best.is_best


@each_row(
    "shape, bits, accesses",
    [
        ((10, 50), 32, ["rows", "columns"]),
        ((64, 48), 16, ["rows.b128", "ldmatrix"]),
        ((3, 64), 32, ["row", "column"]),
        ((48, 3), 32, ["rows", "columns"]),
        ((50, 50), 64, ["row", "column"]),
        ((33, 17), 8, ["rows", "columns"]),
    ],
)
def test_tiles_of_any_size(shape: tuple[int, int], bits: int, accesses: list[str]) -> None:
    checked(Tile(*shape, bits, tuple(accesses)))


def test_48_columns_need_no_padding() -> None:
    best = ml.best_swizzle((64, 48), 16, ["rows.b128", "ldmatrix"])
    assert best.cuda == "row * 48 + (column ^ (((row >> 2) & 1) << 3))"
    assert (best.ways, best.padding, best.cute, best.triton) == ((1, 1), 0, None, None)


@each_row("number", range(150), fast=30)
def test_layouts_of_registers_have_no_conflicts(number: int) -> None:
    """Two layouts of registers, one stored and the other loaded, have no conflicts between them.

    So no other placement has fewer, Triton's ``optimalSwizzling`` of the two among them.
    """
    random = Random(f"registers {number}")
    total, bits = random.choice((10, 11, 12)), random.choice((8, 16, 32, 64))
    rows = 1 << random.choice((4, 5, 6))
    columns, warps = (1 << total) // rows, random.choice((0, 1, 2))
    pair = [judges.random_registers(random, total, warps) for _ in range(2)]
    texts = [each.text(columns) for each in pair]
    best = ml.best_swizzle((rows, columns), bits, [f"store {texts[0]}", texts[1]])
    assert best.ways == (1, 1), (number, best.ways)
    offsets = ml.index_map(best.layout)(*np.indices((rows, columns))).tolist()
    for each, access in zip(pair, best.accesses, strict=True):
        found = re.search(r"up to (\d+) element", access)
        widest = int(found[1]) if found else 128 // bits
        vector = 1
        while 2 * vector <= widest and vector.bit_length() - 1 in each.register:
            vector *= 2
        assert each.ways(columns, bits, vector, lambda i, j: offsets[i][j]) == 1, number


@each_row("number", range(10))
def test_texts_of_cute_and_triton_are_the_layout(number: int) -> None:
    tile = judges.random_tile(Random(f"text {number}"))
    best = ml.best_swizzle((tile.rows, tile.columns), tile.bits, tile.accesses)
    at = np.indices(best.shape)
    offsets = ml.index_map(best.layout)(*at)
    for text in filter(None, (best.cute, best.triton)):
        shape = best.shape if text == best.triton else None
        assert np.array_equal(ml.index_map(text, shape)(*at), offsets), text
    assert best.triton or max(n & (n - 1) for n in best.shape) or best.padding


def test_three_accesses_and_a_diagonal_have_a_linear_placement() -> None:
    accesses = ["rows.b128", "columns.b128", lambda lane: (lane, lane), "ldmatrix"]
    best = ml.best_swizzle((64, 64), 16, accesses)
    assert (best.ways, best.cute) == ((1,) * 4, "Sw<2,4,5> o 0 o Sw<3,3,3> o 0 o (64,64):(64,1)")
    assert best.triton
    at = np.indices((64, 64))
    offsets = ml.index_map(best.layout)(*at)
    for text, shape in ((best.cute, None), (best.triton, (64, 64))):
        assert np.array_equal(ml.index_map(text, shape)(*at), offsets), text


@pytest.mark.slow
def test_a_linear_placement_is_proved() -> None:
    accesses = ["rows.b128", "columns.b128", lambda lane: (lane, lane), "ldmatrix"]
    assert ml.verify(ml.best_swizzle((64, 64), 16, accesses).layout).holds


BITS, BANKS = 5, 2


def loses_nothing(images: tuple[int, ...], spaces: list[tuple[int, ...]]) -> bool:
    """Whether the sums of a space's vectors all have different images."""
    for space in spaces:
        sums = [0]
        for vector in space:
            sums += [x ^ vector for x in sums]
        if len({judges.image_of(images, x) for x in sums}) < len(sums):
            return False
    return True


@each_row("number", range(25))
def test_a_map_to_banks_is_found_if_there_is_one(number: int) -> None:
    random = Random(f"spaces {number}")
    spaces = [row_echelon(random.sample(range(1, 1 << BITS), random.choice((1, 2))))
              for _ in range(random.randint(1, 14))]  # fmt: skip
    maps = list(product(range(1 << BANKS), repeat=BITS))
    good = [images for images in maps if loses_nothing(images, spaces)]
    none = [0] * len(spaces)
    found = MapSearch(spaces, BITS, BANKS, 0).anyhow(none)
    assert (found is not None) == bool(good)
    assert found is None or found in good
    by_rows = MapSearch(spaces, BITS, BANKS, 0).by_rows(none)
    assert (by_rows is not None) == any(images[:BANKS] == (1, 2) for images in good)
    assert by_rows is None or (by_rows in good and by_rows[:BANKS] == (1, 2))
    kept = MapSearch(spaces, BITS, BANKS, 1).by_rows(none)
    rest = [x for x in good if x[:BANKS] == (1, 2) and not any(y & 1 for y in x[1:])]
    assert (kept is not None) == bool(rest)


def test_none_exists_where_it_is_said() -> None:
    """Sixteen vectors that must all be apart, and banks for eight."""
    pairs = [lambda lane, x=x: ((0, 0), (x, 0), *[None] * 30)[lane] for x in range(1, 16)]
    accesses = [ml.gpu.Lanes(pair, 4) for pair in pairs]
    best = ml.best_swizzle((16, 4), 32, accesses)
    assert sorted(best.ways) == [1] * 14 + [2]
    assert best.is_best
    assert best.reason == "no linear placement is better: the search was complete"
    fewer = ml.best_swizzle((16, 4), 32, accesses[:-1])
    assert (set(fewer.ways), fewer.is_best) == ({1}, True)


def test_tiles_of_less_than_a_word_and_of_one_dimension() -> None:
    for shape, bits in [((1, 2), 8), ((2, 1), 8), ((2,), 16), ((1, 1), 4), ((64,), 32)]:
        best = ml.best_swizzle(shape, bits, ["row", "column"])
        assert max(best.ways) == 1
        assert best.cute is not None
        assert ml.are_equivalent(best.cute, best.layout).holds, best.cute
    assert ml.best_swizzle((64,), 32, "row").cute == "64:1"


def test_the_smallest_pitch_has_as_few_ways_as_vectors_allow() -> None:
    best = ml.best_swizzle((64, 8), 64, ["column", "ldmatrix"])
    assert (best.ways, best.padded) == ((2, 1), 10)
    padded = ml.bank_conflicts("(64,8):(10,1)", "column", bits=64)
    assert isinstance(padded, BankConflicts)
    assert padded.ways == 2


def test_values_read_well() -> None:
    best = ml.best_swizzle((64, 64), 16, "ldmatrix")
    assert repr(best) == "<BestSwizzle: no conflicts: 64x64 elements of 16 bits>"
    assert "<pre>no conflicts" in best._repr_html_()
    encoded = json.loads(json.dumps(plain(best)))
    assert encoded["cute"] == "Sw<3,3,3> o 0 o (64,64):(64,1)"
    assert encoded["layout"] == encoded["cute"]


def test_padding_is_counted_in_bytes() -> None:
    best = ml.best_swizzle((33, 17), 8, ["rows", "columns"])
    assert best.padding_bytes == best.padding == 33 * (best.pitch - 17)
    assert "bytes of padding" in str(best)
