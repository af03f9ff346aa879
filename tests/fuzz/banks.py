"""Random accesses of shared memory against counting lane by lane.

    python -m tests.fuzz.banks --seed 1 --count 100000

Question k of a seed is always the same. The judge knows no layout of the package: it has its own
formula for the address of an element, and counts with sets what each bank has to give. It is
written from the CUDA programming guide (32 banks of 4 bytes, a word is given to all lanes that ask
for it) and, for 8 and 16 bytes a lane, from what NVIDIA's engineers wrote in its forum.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from random import Random
from time import perf_counter
from typing import NamedTuple

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.maps import IndexMap
from morello_layouts.machines.gpu.access import Lanes

WIDTHS = (1, 2, 4, 8, 16)
"""Bytes of a lane."""


class Tile(NamedTuple):
    """A layout of the package, and the judge's own offset of an element."""

    layout: IndexMap
    offset: Callable[[int, int], int]


class Question(NamedTuple):
    """An access: the coordinate of each lane's vector, None for a lane that takes no part."""

    tile: Tile
    element: int
    vector: int
    is_store: bool
    at: tuple[tuple[int, int] | None, ...]

    def found(self) -> ml.gpu.BankConflicts:
        access = Lanes(lambda lane: self.at[lane], self.vector, self.is_store)
        answer = ml.bank_conflicts(self.tile.layout, access, bits=8 * self.element)
        assert isinstance(answer, ml.gpu.BankConflicts)
        return answer

    def counted(self) -> tuple[int, int]:
        """The rounds of the worst phase, and of all."""
        width = self.vector * self.element
        addresses = [None if at is None else self.tile.offset(*at) * self.element for at in self.at]
        rounds = [
            len_of_worst_bank(phase, width) for phase in phases(addresses, width, self.is_store)
        ]
        return max([1, *rounds]), sum(rounds)


def phases(addresses: list[int | None], width: int, is_store: bool) -> list[list[int]]:
    """The addresses that are served together."""
    lanes = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]

    def pairs(flip: int) -> bool:
        both = [(a, addresses[lane ^ flip]) for lane, a in enumerate(addresses)]
        return all(a is None or b is None or a == b for a, b in both)

    if width > 4 and not is_store and (pairs(1) or pairs(2)):
        lanes *= 2
    groups = [addresses[k : k + lanes] for k in range(0, 32, lanes)]
    return [[a for a in group if a is not None] for group in groups]


def len_of_worst_bank(addresses: list[int], width: int) -> int:
    """The different words that the busiest bank gives."""
    banks: dict[int, set[int]] = {}
    for address in addresses:
        for byte in range(address, address + width):
            banks.setdefault(byte // 4 % 32, set()).add(byte // 4)
    return max(map(len, banks.values()), default=0)


def plain(random: Random, vector: int) -> tuple[Tile, int, int]:
    """Rows or columns one after the other, with or without padding at their ends."""
    rows, columns = random.randint(1, 80), vector * random.randint(1, 40)
    pitch = columns + vector * random.choice((0, 0, 1, 1, 2, 3, 5))
    if vector == 1 and random.random() < 0.4:
        pitch = rows + random.choice((0, 0, 1, 2, 3))
        layout = f"({rows},{columns}):(1,{pitch})"
        return Tile(ml.index_map(layout), lambda i, j: i + j * pitch), rows, columns
    layout = f"({rows},{columns}):({pitch},1)"
    return Tile(ml.index_map(layout), lambda i, j: i * pitch + j), rows, columns


def tiled(random: Random, vector: int) -> tuple[Tile, int, int]:
    """Tiles of rows and columns, as XLA writes them."""
    rows, columns = random.randint(1, 40), vector * random.randint(1, 20)
    r, c = random.choice((1, 2, 4, 8, 3)), vector * random.choice((1, 2, 4, 8, 5))
    across = -(-columns // c)
    layout = f"u8[{rows},{columns}]{{1,0:T({r},{c})}}"

    def offset(i: int, j: int) -> int:
        return ((i // r) * across + j // c) * r * c + i % r * c + j % c

    return Tile(ml.index_map(layout), offset), rows, columns


def swizzled(random: Random, vector: int) -> tuple[Tile, int, int]:
    """Rows whose vectors are permuted by an xor with bits of the row."""
    bits, shift = random.randint(1, 5), random.randint(0, 3)
    blocks = random.randint(1, 4)
    rows, columns = random.randint(1, 80), (blocks << bits) * vector
    steps = (
        ml.Split((None, vector << bits)),
        ml.Split((None, None, vector)),
        ml.recipe.Xor(2, 0, shift),
        ml.Merge((1, 3)),
    )
    recipe = ml.Recipe((rows, columns), steps)

    def offset(i: int, j: int) -> int:
        chunk = j // vector
        high, low = chunk >> bits, chunk % (1 << bits)
        return (
            i * columns
            + ((high << bits) + (low ^ (i >> shift) % (1 << bits))) * vector
            + j % vector
        )

    return Tile(IndexMap(recipe, AffineExpr((), 0), "swizzled"), offset), rows, columns


def lanes(
    random: Random, rows: int, columns: int, vector: int
) -> tuple[tuple[int, int] | None, ...]:
    """Coordinates of lanes: along rows or columns, on a grid, anywhere, in pairs."""
    across = columns // vector
    kind = random.choice(("row", "column", "grid", "random", "few", "pairs"))
    i, j = random.randrange(rows), random.randrange(across)
    step, wide = random.randint(1, 5), random.choice((1, 2, 4, 8, 16, 32))
    found: list[tuple[int, int] | None] = []
    for lane in range(32):
        place = {
            "row": (i, j + lane * step),
            "column": (i + lane * step, j),
            "grid": (i + lane // wide, j + lane % wide),
            "random": (random.randrange(rows), random.randrange(across)),
            "few": (random.randrange(min(rows, 3)), random.randrange(min(across, 3))),
            "pairs": (i + (lane // 4 * 2 + lane % 2 if step % 2 else lane // 2), j),
        }[kind]
        found.append((place[0] % rows, place[1] % across * vector))
    if random.random() < 0.3:
        absent = random.random()
        found = [None if random.random() < absent else at for at in found]
    return tuple(found)


def question(seed: int, number: int) -> Question:
    """Return question ``number`` of a seed."""
    random = Random(f"{seed} {number}")
    element = random.choice(WIDTHS)
    vector = random.choice([w // element for w in WIDTHS if w >= element])
    maker = random.choice((plain, plain, tiled, swizzled))
    tile, rows, columns = maker(random, vector)
    at = lanes(random, rows, columns, vector)
    return Question(tile, element, vector, random.random() < 0.3, at)


def fault(asked: Question) -> str | None:
    """Return what is wrong with the answer to a question, or None."""
    answer, (ways, rounds) = asked.found(), asked.counted()
    if (answer.ways, answer.wavefronts) != (ways, rounds):
        return f"{answer.ways} ways in {answer.wavefronts} rounds; counted {ways} in {rounds}"
    if answer.ranks is not None and 2 ** (answer.ranks[0] - answer.ranks[1]) != ways:
        return f"{answer.reason}; counted {ways}"
    words = {each.word for each in answer.collisions}
    if rounds and (len(words) != ways or {word % 32 for word in words} != {answer.bank}):
        return f"the witness {answer.collisions} does not show {ways} ways"
    for each in answer.collisions:
        for lane in each.lanes:
            at = asked.at[lane]
            first = None if at is None else asked.tile.offset(*at) * asked.element
            if (
                first is None
                or not first <= 4 * each.word + 3
                or (4 * each.word >= first + asked.vector * asked.element)
            ):
                return f"lane {lane} does not ask for word {each.word}"
    return None


def main() -> int:
    """Ask random questions; return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    wrong, ways, began = 0, dict[int, int](), perf_counter()
    for number in range(options.start, options.start + options.count):
        asked = question(options.seed, number)
        found = fault(asked)
        if found is not None:
            wrong += 1
            print(f"WRONG --seed {options.seed} --start {number} --count 1: {found}")  # noqa: T201
        ways[asked.counted()[0]] = ways.get(asked.counted()[0], 0) + 1
    print(f"{options.count} accesses, {wrong} wrong, {perf_counter() - began:.0f} s")  # noqa: T201
    print("ways:", ", ".join(f"{k}: {n}" for k, n in sorted(ways.items())))  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
