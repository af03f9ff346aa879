"""Random index expressions that no layout makes: sums, factors, floors and remainders of any kind.

Factors and divisors are small, most of them do not divide each other, and variables have few
values; so floors that are affine on their box, and factors near a multiple of a modulus, are
common.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from peers.tree import Case, Tree, cost

__all__ = ["expressions"]

NUMBERS: Final = (2, 3, 4, 5, 6, 7, 8, 8, 10, 12, 16, 16, 20, 24, 32)
FACTORS: Final = (2, 3, 4, 5, 7, 8, 12, 16, -1, -2, -47)
SIZES: Final = (2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20, 32)
COSTS: Final = range(18, 81)


def expressions(seed: int, count: int, *, negative: bool = False) -> Iterator[Case]:
    """So many cases, the same ones for the same seed; bounds from 0, or from anywhere."""
    random = Random(f"{seed} {negative}")
    for k in range(count):
        names = ["i", "j", "k"][: random.choice((1, 2, 2, 3))]
        starts = {name: random.randint(-16, 8) if negative else 0 for name in names}
        bounds = {name: (lo, lo + random.choice(SIZES) - 1) for name, lo in starts.items()}
        yield Case(f"{seed}.{k}", "negative" if negative else "any", _tree(random, names), bounds)


def _tree(random: Random, names: list[str]) -> Tree:
    while True:
        if random.random() < 0.5:
            part = ("*", _part(random, names, 4), random.choice((-1, 1)) * random.randint(1, 16))
            tree: Tree = ("+", _part(random, names, 4), part)
        else:
            tree = _part(random, names, 5)
        if cost(tree) in COSTS and any(op in str(tree) for op in ("//", "%")):
            return tree


def _part(random: Random, names: list[str], depth: int) -> Tree:
    if depth == 0 or random.random() < 0.08:
        return _leaf(random, names)
    op = random.choice(("+", "+", "+", "//", "//", "%", "%", "*"))
    left = _part(random, names, depth - 1)
    if op == "+":
        some = random.random() < 0.75
        return ("+", left, _part(random, names, depth - 1) if some else random.randint(1, 16))
    return (op, left, random.choice(FACTORS if op == "*" else NUMBERS))


def _leaf(random: Random, names: list[str]) -> Tree:
    tree: Tree = random.choice(names)
    if random.random() < 0.7:
        tree = ("*", tree, random.randint(2, 16) * random.choice((1, 1, 1, -1)))
    return ("+", tree, random.randint(1, 16)) if random.random() < 0.4 else tree
