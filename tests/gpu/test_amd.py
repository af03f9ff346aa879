"""Bank conflicts of AMD's GPUs against counting lane by lane, in the phases as they were published.

Loads of gfx950 and its stores of 64 bits: the phases that the authors of HipKittens measured on an
MI355X. The others: AMD's page on LDS bank conflicts of CK Tile, and half waves for words.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from random import Random

import numpy as np
import pytest
from click.testing import CliRunner

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from tests.support.tables import each_row

QUARTERS = [
    [0, 1, 2, 3, 20, 21, 22, 23], [4, 5, 6, 7, 16, 17, 18, 19], [8, 9, 10, 11, 28, 29, 30, 31],
    [12, 13, 14, 15, 24, 25, 26, 27], [32, 33, 34, 35, 52, 53, 54, 55],
    [36, 37, 38, 39, 48, 49, 50, 51], [40, 41, 42, 43, 60, 61, 62, 63],
    [44, 45, 46, 47, 56, 57, 58, 59],
]  # fmt: skip
EIGHTHS = [
    [0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27],
    [4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31],
    [32, 33, 34, 35, 44, 45, 46, 47, 52, 53, 54, 55, 56, 57, 58, 59],
    [36, 37, 38, 39, 40, 41, 42, 43, 48, 49, 50, 51, 60, 61, 62, 63],
]


def neighbours(size: int) -> list[list[int]]:
    return np.arange(64).reshape(-1, size).tolist()


# The GPU, the access of 16-bit elements (or words), banks, phases.
RULES = [
    ("gfx942", "", 32, 32, neighbours(32)),
    ("gfx942", "store ", 32, 32, neighbours(32)),
    ("gfx942", "", 128, 32, QUARTERS),
    ("gfx942", "store ", 128, 32, neighbours(8)),
    ("gfx950", "", 64, 64, neighbours(32)),
    ("gfx950", "store ", 64, 32, neighbours(16)),
    ("gfx950", "", 128, 64, EIGHTHS),
    ("gfx950", "store ", 128, 32, neighbours(8)),
]


@each_row("gpu, kind, width, banks, phases", RULES)
def test_ways_are_those_of_counting(
    gpu: str, kind: str, width: int, banks: int, phases: list[list[int]]
) -> None:
    random = Random(width + banks)
    assert sorted(lane for phase in phases for lane in phase) == [*range(64)]
    for rows, order, pitch in product((64, 32), ("rows", "columns"), (64, 72, 80, 68 * 4)):
        text = f"({rows},64):({pitch},1)"
        access = f"{kind}{order}.b{width}"
        bits = random.choice([16, 32])
        vector = width // bits
        if vector * (pitch // vector) != pitch:
            continue
        places = [(i, j) for i in range(rows) for j in range(0, 64, vector)]
        if order == "columns":
            places.sort(key=lambda at: at[1])
        rounds = []
        for k in range(0, len(places), 64):
            for phase in phases:
                words: dict[int, set[int]] = {}
                for lane in phase:
                    if k + lane >= len(places):
                        continue
                    i, j = places[k + lane]
                    first = (i * pitch + j) * bits // 32
                    for word in range(first, first + width // 32):
                        words.setdefault(word % banks, set()).add(word)
                rounds.append(max(map(len, words.values()), default=0))
        found = ml.bank_conflicts(text, access, bits=bits, gpu=gpu)
        assert (found.ways, found.wavefronts) == (max(rounds), sum(rounds)), (access, text, bits)


def test_operands_of_mfma_have_64_lanes() -> None:
    found = ml.bank_conflicts("f16[32,64]", "v_mfma_f32_32x32x8_f16 A", gpu="gfx950")
    assert found.gpu == "gfx950"
    assert "no GPU of ours" in str(found)
    with pytest.raises(ml.UnsupportedError, match="expected an axis lane of 32, got"):
        ml.bank_conflicts("f16[32,64]", "v_mfma_f32_32x32x8_f16 A")


@each_row(
    "access, gpu, what",
    [
        ("column", "gfx950", "nobody says which lanes of loads of 32 bits share a phase"),
        ("ldmatrix", "gfx942", "not an instruction of this GPU"),
        ("column", "mi300", "gpu: expected nvidia, gfx942, gfx950, got 'mi300'"),
    ],
)
def test_what_is_not_known_is_refused(access: str, gpu: str, what: str) -> None:
    with pytest.raises(ml.LayoutError, match=what):
        ml.bank_conflicts("f32[64,64]", access, gpu=gpu)


def test_the_rule_that_merges_phases_is_named_where_it_decides() -> None:
    """Lanes of 16 bytes that ask for equal addresses in pairs: four phases become two."""
    found = ml.bank_conflicts("f16[64,64]", lambda lane: (0, lane // 2 % 8 * 8), vector=8)
    assert found.unmerged > found.wavefronts
    assert f"{found.unmerged} wavefronts without this rule" in str(found)
    plain = ml.bank_conflicts("f16[64,64]", "row.b128")
    assert plain.unmerged == 0
    assert "merge" not in str(plain)


@each_row("gpu, kind, width, banks, phases", RULES)
def test_the_best_swizzle_has_the_ways_of_counting(
    gpu: str, kind: str, width: int, banks: int, phases: list[list[int]]
) -> None:
    shape, bits = (64, 64), 16 if width > 32 else 32
    access = f"{kind}column.b{width}"
    best = ml.best_swizzle(shape, bits, access, gpu=gpu)
    assert f" on {gpu}" in str(best)
    m, vector = ml.index_map(best.layout, shape), width // bits
    places = [(i, j) for j in range(0, 64, vector) for i in range(64)]
    most = 0
    for k, phase in product(range(0, len(places), 64), phases):
        words: dict[int, set[int]] = {}
        for lane in phase:
            first = m(*places[k + lane]) * bits // 32
            for word in range(first, first + width // 32):
                words.setdefault(word % banks, set()).add(word)
        most = max(most, *map(len, words.values()))
    assert best.ways == (most,)
    assert best.is_best
    assert most <= best.plain_ways[0]


def test_banks_of_other_numbers_together() -> None:
    """Loads of 16 bytes have 64 banks on gfx950, stores 32."""
    best = ml.best_swizzle((64, 64), 16, ["store row.b128", "column.b128"], gpu="gfx950")
    assert (best.ways, best.plain_ways) == ((1, 1), (1, 8))


@pytest.mark.parametrize("order", ["row", "column"])
def test_amd_moves_whole_lines(order: str) -> None:
    found = ml.coalescing("f32[64,96]", order, gpu="gfx942")
    places = np.arange(64 * 96).reshape(64, 96)
    along = (places if order == "row" else places.T).reshape(-1, 64)
    lines = [len({*(each // 32).tolist()}) for each in along]
    assert (found.sectors.total, found.sectors.unit) == (sum(lines), 128)
    assert found.efficiency == along.size * 4 / (sum(lines) * 128)
    assert "sector" not in str(found)


@each_row("gpu, kind, width", [row[:3] for row in RULES])
def test_ways_with_and_without_a_swizzle(gpu: str, kind: str, width: int) -> None:
    for order, columns in product(("row", "column"), (8, 16, 32, 64)):
        access, bits = f"{kind}{order}.b{width}", 16 if width > 32 else 32
        plain = ml.bank_conflicts(f"(64,{columns}):({columns},1)", access, bits=bits, gpu=gpu)
        found = ml.best_swizzle((64, columns), bits, access, gpu=gpu)
        assert found.plain_ways == (plain.ways,)
        counted = ml.bank_conflicts(found.layout, access, bits=bits, gpu=gpu)
        assert found.ways == (counted.ways,)


@pytest.mark.parametrize("gpu", ["gfx942", "gfx950"])
def test_lanes_of_a_phase_keep_their_columns(gpu: str) -> None:
    """Lanes that are not neighbours share a phase, so their rows and columns move together."""
    random = Random(3)
    for _ in range(6):
        places = [(random.randrange(16), 8 * random.randrange(8)) for _ in range(64)]
        access = ml.gpu.Lanes(places.__getitem__, 8, lanes=64)
        found = ml.best_swizzle((16, 64), 16, access, gpu=gpu)
        plain = ml.bank_conflicts("(16,64):(64,1)", access, bits=16, gpu=gpu)
        counted = ml.bank_conflicts(found.layout, access, bits=16, gpu=gpu)
        assert (found.plain_ways, found.ways) == ((plain.ways,), (counted.ways,))


def test_the_command_asks_lines_and_swizzles_of_amd() -> None:
    """As the functions do; a CPU's cache is none of theirs."""
    wide = CliRunner(env={"COLUMNS": "100"})
    run = partial(wide.invoke, commands)
    lines = run(["banks", "f16[64,64]", "column", "--in", "global", "--gpu", "gfx942"])
    assert lines.stdout.strip() == str(ml.coalescing("f16[64,64]", "column", gpu="gfx942"))
    tile = ("--best", "--shape", "64x64", "--bits", "16", "row.b128", "column.b128")
    best = ml.best_swizzle((64, 64), 16, ["row.b128", "column.b128"], gpu="gfx950")
    assert run(["banks", *tile, "--gpu", "gfx950"]).stdout.strip() == str(best)
    refused = run(["banks", "f16[64,64]", "column", "--in", "cache", "--gpu", "gfx942"])
    assert "--gpu was given for the cache of a CPU" in refused.stderr


def test_the_fewest_lines_are_called_so() -> None:
    row, column = (str(ml.coalescing("f32[64,64]", x, gpu="gfx942")) for x in ("row", "column"))
    assert ("the fewest" in row, "the fewest" in column, "2 at best" in column) == (
        True, False, True,
    )  # fmt: skip
