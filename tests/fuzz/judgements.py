"""Random verdicts of proofs against counting in NumPy.

    python -m tests.fuzz.judgements --seed 1 --count 100000 --table judged.json

Question k of a seed is always the same. A run with ``--table`` goes on from where the file ends; a
wrong verdict, an exception and a slow question are asked again with ``--start k --count 1``. Prints
how many were right, undecided and wrong of each kind. The judge is written from XLA's document:
pad, reshape and transpose of an array of numbers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import process_time
from typing import Any, NamedTuple

import numpy as np

import morello_layouts as ml

SIZES = (1, 2, 3, 4, 5, 7, 8, 12, 16)
TILES = (1, 2, 3, 4, 5, 8)
GRID = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16)
SLOW = 1.0
"""Seconds of processor time; slower questions are printed."""
WRITE_EVERY = 500


class Layout(NamedTuple):
    """The order of dimensions, minor to major, and the tiles."""

    order: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...]

    def text(self, shape: tuple[Any, ...]) -> str:
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiles)
        order = ",".join(map(str, self.order))
        return f"f32[{','.join(map(str, shape))}]{{{order}{':T' + tiles if tiles else ''}}}"

    def buffer(self, shape: tuple[int, ...]) -> np.ndarray:
        """The row-major index of the element in each slot, -1 for padding."""
        held = np.arange(prod(shape)).reshape(shape).transpose(self.order[::-1])
        for tile in self.tiles:
            if held.ndim < len(tile):
                held = held.reshape((1,) * (len(tile) - held.ndim) + held.shape)
            keep = held.ndim - len(tile)
            ends = zip(held.shape[keep:], tile, strict=True)
            padded = np.full((*held.shape[:keep], *(n + -n % t for n, t in ends)), -1)
            padded[tuple(map(slice, held.shape))] = held
            held = padded
            parts = [x for n, t in zip(held.shape[keep:], tile, strict=True) for x in (n // t, t)]
            axes = [*range(keep), *range(keep, keep + len(parts), 2)]
            axes += range(keep + 1, keep + len(parts), 2)
            held = held.reshape(held.shape[:keep] + tuple(parts)).transpose(axes)
        return held.reshape(-1)

    def offsets(self, shape: tuple[int, ...]) -> np.ndarray:
        """The slot of each element, in row-major order."""
        held = self.buffer(shape)
        found = np.empty(prod(shape), np.int64)
        found[held[held >= 0]] = np.flatnonzero(held >= 0)
        return found


class Judged(NamedTuple):
    """A verdict, and whether it is right."""

    proof: ml.Proof
    right: bool
    text: str


def layout_of(random: Random, rank: int) -> Layout:
    tiles = [
        tuple(random.choice(TILES) for _ in range(random.randint(1, rank)))
        for _ in range(random.choice((0, 1, 1, 2, 3)))
    ]
    return Layout(tuple(random.sample(range(rank), rank)), tuple(tiles))


def shape_of(random: Random, rank: int) -> tuple[int, ...]:
    return tuple(random.choice(SIZES) for _ in range(rank))


def of_a_layout(random: Random) -> Judged:
    rank = random.choice((1, 2, 2, 3))
    shape, layout = shape_of(random, rank), layout_of(random, rank)
    held = layout.buffer(shape)
    gaps = np.flatnonzero(held < 0)
    proof = random.choice((ml.is_surjective, ml.is_bijective))(layout.text(shape))
    right = proof.holds is (not len(gaps)) and proof.padding == len(gaps)
    right &= proof.holds is not False or proof.counterexample == gaps[0]
    return Judged(proof, right, layout.text(shape))


def changed(random: Random, layout: Layout, rank: int) -> Layout:
    if random.random() < 0.3 or not layout.tiles:
        return layout_of(random, rank)
    tiles = [list(tile) for tile in layout.tiles]
    tile = random.choice(tiles)
    tile[random.randrange(len(tile))] = random.choice(TILES)
    return Layout(layout.order, tuple(map(tuple, tiles)))


def of_a_pair(random: Random) -> Judged:
    rank = random.choice((1, 2, 2, 3))
    shape, one = shape_of(random, rank), layout_of(random, rank)
    other = changed(random, one, rank)
    proof = ml.are_equivalent(one.text(shape), other.text(shape))
    differ = np.flatnonzero(one.offsets(shape) != other.offsets(shape))
    first = tuple(map(int, np.unravel_index(differ[0], shape))) if len(differ) else None
    right = proof.holds is (first is None) and proof.counterexample == first
    return Judged(proof, right, f"{one.text(shape)} {other.text(shape)}")


def of_a_bitcast(random: Random) -> Judged:
    shape = shape_of(random, random.choice((1, 2, 2, 3)))
    target = regrouped(random, shape)
    one, other = layout_of(random, len(shape)), layout_of(random, len(target))
    if random.random() < 0.6:
        one = Layout(tuple(range(len(shape)))[::-1], one.tiles[:1])
        other = Layout(tuple(range(len(target)))[::-1], other.tiles[:1])
    proof = ml.is_bitcast(one.text(shape), other.text(target))
    right = proof.holds is bool((one.offsets(shape) == other.offsets(target)).all())
    return Judged(proof, right, f"{one.text(shape)} {other.text(target)}")


def regrouped(random: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Another shape of as many elements."""
    left = prod(shape)
    found: list[int] = []
    while left > 1 and len(found) < 3:
        found.append(random.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= found[-1]
    return (*found, left) if left > 1 or not found else tuple(found)


def named(random: Random, rank: int) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    count = random.randint(1, min(rank, 2))
    dims = sorted(random.sample(range(rank), count))
    shape = [random.choice(SIZES) for _ in range(rank)]
    sizes: list[Any] = [*shape]
    for dim, name in zip(dims, "MN", strict=False):
        sizes[dim] = name
    return tuple(sizes), tuple("MN"[:count])


def grid(names: tuple[str, ...]) -> Iterator[dict[str, int]]:
    for values in product(GRID, repeat=len(names)):
        yield dict(zip(names, values, strict=True))


def at(shape: tuple[Any, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sizes[n] if isinstance(n, str) else n for n in shape)


def agrees(proof: ml.Proof, names: tuple[str, ...], truth: Callable[[Any], bool]) -> bool:
    """Whether a verdict for all sizes, or its condition, is that of counting at a grid of sizes."""
    condition = proof.condition and proof.condition.expr
    known = [(sizes, truth(sizes)) for sizes in grid(names)]
    if proof.holds is True and not all(right for _, right in known):
        return False
    if proof.holds is False:
        there = {**dict.fromkeys(names, 1), **proof.counterexample.sizes}
        if truth(there):
            return False
    if condition is None:
        return True
    return all(
        bool(condition.subs({s: sizes[s.name] for s in condition.free_symbols})) is right
        for sizes, right in known
    )


def of_names(random: Random) -> Judged:
    rank = random.choice((1, 2, 2, 3))
    shape, names = named(random, rank)
    layout = layout_of(random, rank)
    proof = ml.is_bijective(layout.text(shape))
    right = agrees(proof, names, lambda sizes: bool((layout.buffer(at(shape, sizes)) >= 0).all()))
    return Judged(proof, right, layout.text(shape))


def of_a_pair_of_names(random: Random) -> Judged:
    rank = random.choice((1, 2, 2, 3))
    shape, names = named(random, rank)
    one = layout_of(random, rank)
    other = changed(random, one, rank)
    proof = ml.are_equivalent(one.text(shape), other.text(shape))

    def equal(sizes: dict[str, int]) -> bool:
        there = at(shape, sizes)
        return bool((one.offsets(there) == other.offsets(there)).all())

    return Judged(proof, agrees(proof, names, equal), f"{one.text(shape)} {other.text(shape)}")


def formula(random: Random, rank: int, factors: tuple[str, ...]) -> str:
    terms = []
    for _ in range(random.randint(1, 4)):
        d, n = f"d{random.randrange(rank)}", random.choice((2, 3, 4, 8))
        atom = random.choice((d, d, f"({d}//{n})", f"({d}%{n})", f"(({d} + d0)//{n})",
                              f"(({d}%{2 * n})//{n})"))  # fmt: skip
        terms.append(f"{random.choice(factors)}*{atom}")
    return " + ".join(terms)


def values(text: str, shape: tuple[int, ...], sizes: Mapping[str, int]) -> np.ndarray:
    names = {f"d{k}": x for k, x in enumerate(np.indices(shape))} | dict(sizes)
    found = eval(text, {}, names)  # what this module wrote itself
    return np.broadcast_to(found, shape).reshape(-1)


def truth_of(offsets: np.ndarray, size: int) -> dict[str, bool]:
    injective = len(np.unique(offsets)) == len(offsets)
    inside = bool(((offsets >= 0) & (offsets < size)).all())
    surjective = inside and len(np.unique(offsets)) == size
    return {"injective": injective, "surjective": surjective, "bijective": injective and surjective}


QUESTIONS = (ml.is_injective, ml.is_surjective, ml.is_bijective)


def of_a_formula(random: Random) -> Judged:
    shape = shape_of(random, random.choice((1, 2, 2, 3)))
    if random.random() < 0.4:
        layout = layout_of(random, len(shape))
        m = ml.index_map(layout.text(shape))
        text, size = str(m.form), m.size
    else:
        text = formula(random, len(shape), ("1", "2", "3", "4", "8", "12", "24"))
        size = random.choice((prod(shape), int(values(text, shape, {}).max()) + 1))
    proof = random.choice(QUESTIONS)(ml.from_sympy({"shape": shape, "size": size}, text))
    right = proof.holds is truth_of(values(text, shape, {}), size)[proof.claim]
    return Judged(proof, right, f"{shape} {size} {text}")


def of_a_formula_of_names(random: Random) -> Judged:
    rank = random.choice((1, 2, 2))
    shape, names = named(random, rank)
    factors = ("1", "2", "4", *names, *(f"2*{name}" for name in names))
    text = formula(random, rank, factors)
    if random.random() < 0.5 and rank == 2:
        text = random.choice((f"({shape[1]})*d0 + d1", f"({shape[0]})*d1 + d0"))
    full = "*".join(map(str, shape))
    size = random.choice((full, full, full, f"2*{full}", names[0], f"{names[0]}+1"))
    proof = random.choice(QUESTIONS)(ml.from_sympy({"shape": shape, "size": size}, text))

    def holds(sizes: dict[str, int]) -> bool:
        there = at(shape, sizes)
        return truth_of(values(text, there, sizes), eval(size, {}, dict(sizes)))[proof.claim]

    return Judged(proof, agrees(proof, names, holds), f"{shape} {size} {text}")


KINDS: tuple[tuple[Callable[[Random], Judged], int], ...] = (
    (of_a_layout, 4), (of_a_pair, 4), (of_a_bitcast, 3), (of_a_formula, 4),
    (of_names, 2), (of_a_pair_of_names, 2), (of_a_formula_of_names, 1),
)  # fmt: skip


def ask(seed: int, number: int) -> tuple[str, Judged]:
    """Ask a question by its number."""
    random = Random(f"{seed} {number}")
    kinds, weights = zip(*KINDS, strict=True)
    (kind,) = random.choices(kinds, weights)
    return kind.__name__, kind(random)


class Table:
    """Counts of each kind, and one line for each question to look at; kept in a JSON file."""

    def __init__(self, seed: int, start: int, file: Path | None) -> None:
        self.file = file
        self.found: dict[str, Any] = {"seed": seed, "start": start, "next": start, "lines": []}
        self.found |= {"seconds": 0.0, "slowest": 0.0, "peak_mb": 0, "kinds": {}}
        if file and file.exists():
            self.found = json.loads(file.read_text(encoding="utf-8"))

    def ask_next(self) -> None:
        """Ask the next question; a wrong, slow or failing one becomes a line that repeats it."""
        seed, number = self.found["seed"], self.found["next"]
        began = process_time()
        kind, state, text = "crashed", "wrong", ""
        try:
            kind, judged = ask(seed, number)
            text = f"{judged.text}: {judged.proof}"
            holds = judged.proof.holds
            state = "undecided" if holds is None else "right" if judged.right else "wrong"
        except Exception as error:
            text = repr(error)
        took = process_time() - began
        for name, seen in (("WRONG", state == "wrong"), ("SLOW", took > SLOW)):
            if seen:
                line = f"{name} --seed {seed} --start {number} --count 1: {text}"
                self.found["lines"].append(line)
                print(line, flush=True)  # noqa: T201
        counts = self.found["kinds"].setdefault(kind, {"right": 0, "undecided": 0, "wrong": 0})
        counts[state] += 1
        self.found["next"] += 1
        self.found["seconds"] = round(self.found["seconds"] + took, 3)
        self.found["slowest"] = round(max(self.found["slowest"], took), 3)

    def write(self) -> None:
        peak = getrusage(RUSAGE_SELF).ru_maxrss // 1024
        self.found["peak_mb"] = max(self.found["peak_mb"], peak)
        if self.file:
            beside = self.file.with_suffix(".part")
            beside.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")
            beside.replace(self.file)

    def show(self) -> None:
        print(f"{'':24} {'right':>8} {'undecided':>9} {'wrong':>8}")  # noqa: T201
        for kind, counts in sorted(self.found["kinds"].items()):
            right, undecided, wrong = counts.values()
            print(f"{kind:24} {right:8} {undecided:9} {wrong:8}")  # noqa: T201
        words = "{seconds} s of processor time, slowest {slowest} s, peak {peak_mb} MB"
        print(words.format(**self.found))  # noqa: T201


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--table", type=Path, help="a file to write to, and to go on from")
    given = parser.parse_args()
    table = Table(given.seed, given.start, given.table)
    ask(given.seed, table.found["next"])  # loads what loads on first use
    for left in reversed(range(given.count)):
        table.ask_next()
        if left % WRITE_EVERY == 0:
            table.write()
    table.show()
    return int(any(counts["wrong"] for counts in table.found["kinds"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
