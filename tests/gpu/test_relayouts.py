"""Changes of the layout of registers, element by element."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

import morello_layouts as ml
from morello_layouts.core.recipe import Recipe, delinearize, linear_index, recipe_of_bases
from morello_layouts.machines.gpu.relayouts import register_relayout

Place = tuple[int, int, int, int]
"""Register, lane, warp and block."""

NAMES = ("block", "warp", "lane", "register")
ORDER = ("nothing", "registers", "shuffle", "shared memory", "between blocks")


def random_pairs(count: int, seed: int) -> Iterator[tuple[Recipe, Recipe]]:
    """Two layouts of one array on the same threads; some bits are permuted, mixed or copied."""
    source = random.Random(seed)
    for _ in range(count):
        bits = source.randrange(1, 6)
        threads = [source.randrange(2), source.randrange(2), source.randrange(1, 4)]
        shape = (1 << bits // 2, 1 << bits - bits // 2)
        sides = []
        for _ in range(2):
            registers = max(bits - sum(threads), 0) + source.randrange(2)
            vectors = [1 << k for k in range(bits)]
            if source.random() < 0.5:
                for _ in range(source.randrange(4) if bits > 1 else 0):
                    one, other = source.sample(range(bits), 2)
                    vectors[one] ^= vectors[other]
            while len(vectors) < sum(threads) + registers:
                vectors.append(source.choice([0, source.randrange(1 << bits)]))
            if source.random() < 0.7:
                source.shuffle(vectors)
            at = iter(vectors)
            sizes = (*threads, registers)
            parts = [[delinearize(next(at), shape) for _ in range(n)] for n in sizes]
            sides.append(recipe_of_bases(shape, dict(zip(NAMES, parts, strict=True))))
        yield sides[0], sides[1]


@cache
def elements(recipe: Recipe) -> dict[Place, int]:
    """The element at each place, from the reading of the recipe backwards."""
    from morello_layouts.core.recipe import logical_coordinates

    found = {}
    for at in product(*map(range, recipe.physical_shape)):
        coordinate = logical_coordinates(recipe, at)[0]
        found[at[3], at[2], at[1], at[0]] = linear_index(coordinate, recipe.shape, 0)
    return found


def least_kind(source: Recipe, target: Recipe) -> str:
    """The kind by looking for a holder of each place's element."""
    have: dict[int, list[Place]] = {}
    for place, element in elements(source).items():
        have.setdefault(element, []).append(place)
    kinds = {
        "nothing": slice(0, 4),
        "registers": slice(1, 4),
        "shuffle": slice(2, 4),
        "shared memory": slice(3, 4),
        "between blocks": slice(4, 4),
    }
    return next(
        kind
        for kind, fixed in kinds.items()
        if all(
            any(place[fixed] == holder[fixed] for holder in have[element])
            for place, element in elements(target).items()
        )
    )


def test_the_kind_is_the_least_that_suffices() -> None:
    seen = set()
    for source, target in random_pairs(150, seed=1):
        found = register_relayout(source, target, 32)
        assert found.kind == least_kind(source, target), (str(source), str(target))
        seen.add(found.kind)
    assert seen == {*ORDER}


def shuffled_pairs(count: int, seed: int) -> Iterator[tuple[Recipe, Recipe]]:
    pairs = random_pairs(100 * count, seed)
    shuffled = (p for p in pairs if register_relayout(*p, 32).kind == "shuffle")
    for _ in range(count):
        yield next(shuffled)


def test_the_shuffles_bring_every_element() -> None:
    kinds = set()
    for source, target in shuffled_pairs(60, seed=2):
        found = register_relayout(source, target, 32)
        kinds.add((found.are_xors, found.is_least))
        before, after = elements(source), elements(target)
        assert [*found.rounds()] == [*found.rounds(warp=0, block=0)]
        _, blocks, warps = None, *target.physical_shape[:2]
        for block, warp in product(range(blocks), range(warps)):
            rounds = [*found.rounds(warp, block)]
            assert len(rounds) == found.shuffles
            lanes = len(rounds[0])
            held: list[set[int]] = [
                {x for place, x in before.items() if place[1:] == (lane, warp, block)}
                for lane in range(lanes)
            ]
            for moves in rounds:
                sent = {(move[1], move[2]) for move in moves if move}
                assert len({lane for lane, _ in sent}) == len(sent), "a lane sends one register"
                for lane, move in enumerate(moves):
                    if move is None:
                        continue
                    element = before[move[2], move[1], warp, block]
                    assert after[move[0], lane, warp, block] == element
                    held[lane].add(element)
                    if found.are_xors:
                        assert lane ^ move[1] in found.lanes
            lacks = 0
            for lane in range(lanes):
                own = [x for place, x in after.items() if place[1:] == (lane, warp, block)]
                assert {*own} <= held[lane]
                first = {x for place, x in before.items() if place[1:] == (lane, warp, block)}
                lacks = max(lacks, len({*own} - first))
            assert lacks <= found.shuffles
        most = max(
            len(
                {after[p] for p in after if p[1:] == thread}
                - {before[p] for p in before if p[1:] == thread}
            )
            for thread in {p[1:] for p in after}
        )
        assert not found.is_least or most == found.shuffles
    assert len(kinds) >= 2


BLOCKED = (
    "#ttg.blocked<{{sizePerThread = {}, threadsPerWarp = {}, warpsPerCTA = {}, order = [1, 0]}}>"
)
ROWS = BLOCKED.format([1, 4], [8, 4], [4, 1])


@pytest.mark.parametrize(
    ("other", "verdict"),
    [
        (ROWS, "nothing moves"),
        (
            BLOCKED.format([1, 2], [8, 4], [4, 1]),
            "8 shuffles in each warp, from lanes 0, 2, 1, 3, 4, 6, 5, 7, …",
        ),
        (
            BLOCKED.format([1, 4], [8, 4], [1, 4]),
            "through shared memory, 4,096 bytes for each block",
        ),
        (
            BLOCKED.format([2, 2], [8, 4], [4, 1]),
            "through shared memory, 4,096 bytes for each block",
        ),
    ],
)
def test_examples(other: str, verdict: str) -> None:
    assert str(ml.register_relayout(ROWS, other, (64, 16), bits=32)) == verdict


MMA = "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [4, 1], instrShape = [16, 8]}>"


@pytest.mark.parametrize(
    ("width", "kind", "shuffles"), [(2, "nothing", 0), (4, "shuffle", 16), (1, "shuffle", 16)]
)
def test_a_product_as_the_next_operand(width: int, kind: str, shuffles: int) -> None:
    """Attention's second product takes the first one's result as it lies, at 16 bits."""
    found = ml.register_relayout(
        MMA, f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = {width}}}>", (64, 32), bits=32
    )
    assert (found.kind, found.shuffles) == (kind, shuffles)


def test_another_vendors_fragment_is_the_same() -> None:
    one_warp = MMA.replace("[4, 1]", "[1, 1]")
    found = ml.register_relayout("SM80_16x8x16_F32F16F16F32_TN C", one_warp)
    assert found.kind == "nothing"


def test_narrow_elements_share_shuffles_and_wide_ones_take_two() -> None:
    bases = "#ttg.linear<{{register = [{}], lane = [{}], warp = []}}>"
    one = bases.format("[1], [2], [4]", "[8], [16], [32], [64], [128]")
    other = bases.format("[1], [2], [8]", "[4], [16], [32], [64], [128]")
    counts = {
        bits: ml.register_relayout(one, other, (256,), bits=bits).shuffles
        for bits in (8, 16, 32, 64)
    }
    assert counts == {8: 1, 16: 2, 32: 4, 64: 8}


def test_many_registers_take_no_longer() -> None:
    bits = [f"[{1 << k}]" for k in range(40)]
    text = "#ttg.linear<{{register = [{}], lane = [{}], warp = []}}>"
    one = text.format(", ".join(bits[5:]), ", ".join(bits[:5]))
    other = text.format(", ".join([*bits[6:], bits[0]]), ", ".join(bits[1:6]))
    assert ml.register_relayout(one, one, (1 << 40,)).kind == "nothing"
    found = ml.register_relayout(one, other, (1 << 40,), bits=32)
    assert (found.kind, found.shuffles) == ("shuffle", 1 << 35)
