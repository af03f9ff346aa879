"""Index expressions that belong to no simplifier: what all of them are given and judged by.

A tree is an integer, a name, or a tuple ``(op, a, b, …)`` with op one of ``+ * // %``; floor
division and its remainder. Those that choose have ``min max select``, comparisons, ``and or`` too.
``tdiv`` and ``trem``, C's division and remainder, appear only in what a peer gives back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import numpy as np

__all__ = [
    "Bounds",
    "Case",
    "Tree",
    "cost",
    "evaluate",
    "first_difference",
    "recorded",
    "show",
    "size",
]

Tree: TypeAlias = "int | str | tuple[Any, ...]"
Bounds: TypeAlias = dict[str, tuple[int, int]]

EXHAUSTIVE: Final = 50_000
SAMPLES: Final = 5_000
"""Domains of up to this number of points are evaluated everywhere; larger ones at random points."""

RECORDED: Final = Path(__file__).parents[2] / "data" / "simplify_cases.json"


CHOOSING: Final[Mapping[str, Any]] = {
    "min": np.minimum, "max": np.maximum, "select": np.where, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "and": np.logical_and, "or": np.logical_or,
}  # fmt: skip
"""Operations that compare and choose; each counts once."""


@dataclass(frozen=True, slots=True)
class Case:
    """An expression over bounded integers, bounds included."""

    name: str
    origin: str
    tree: Tree
    bounds: Bounds

    def renamed(self, suffix: str) -> Case:
        """The same case over other names, which no cache has seen."""
        bounds = {name + suffix: ends for name, ends in self.bounds.items()}
        return Case(self.name, self.origin, _renamed(self.tree, suffix), bounds)


def recorded() -> list[tuple[Case, dict[str, int], int]]:
    """The recorded cases: each with the cost that each peer reached, and the best cost known."""
    found = []
    for row in json.loads(RECORDED.read_text()):
        bounds = {name: (lo, hi) for name, (lo, hi) in row["bounds"].items()}
        case = Case(row["id"], row["origin"], _tuples(row["expr"]), bounds)
        found.append((case, row["cost"], row["best_known"]))
    return found


def _tuples(tree: Any) -> Tree:
    return tuple(map(_tuples, tree)) if isinstance(tree, list) else tree


def _renamed(tree: Tree, suffix: str) -> Tree:
    if isinstance(tree, tuple):
        return (tree[0], *(_renamed(a, suffix) for a in tree[1:]))
    return tree + suffix if isinstance(tree, str) else tree


def cost(tree: Tree) -> int:
    """Operations, with each division and remainder counted twice; a factor -1 is free."""
    if not isinstance(tree, tuple):
        return 0
    op, *args = tree
    total = sum(map(cost, args))
    if op == "+":
        return total + len(args) - 1
    if op in CHOOSING:
        return total + (1 if op == "select" else len(args) - 1)
    if op == "*":
        return total + max(sum(a not in (1, -1) for a in args) - 1, 0)
    return total + 2


def size(tree: Tree) -> int:
    """Nodes of the tree."""
    return 1 + sum(map(size, tree[1:])) if isinstance(tree, tuple) else 1


def show(tree: Tree, binding: int = 0) -> str:
    """The tree as Python writes it."""
    if not isinstance(tree, tuple):
        return str(tree)
    op, *args = tree
    if op == "+":
        text, own = " + ".join(show(a) for a in args).replace("+ -", "- "), 1
    elif op == "*":
        text, own = _product(args), 2
    elif op in ("min", "max", "select"):
        return f"{op}({', '.join(map(show, args))})"
    elif op in CHOOSING:
        return f"({f' {op} '.join(show(a) for a in args)})"
    else:
        sign = {"tdiv": "/", "trem": "rem"}.get(op, op)
        text, own = f"{show(args[0], 2)}{sign}{show(args[1], 3)}", 2
    return text if own > binding else f"({text})"


def _product(args: list[Tree]) -> str:
    sign = "-" if args.count(-1) % 2 else ""
    factors = [a for a in args if a != -1] or [1]
    factors.sort(key=lambda a: not isinstance(a, int))
    return sign + "*".join(show(a, 2 if k else 1) for k, a in enumerate(factors))


def evaluate(tree: Tree, values: Mapping[str, Any]) -> Any:
    """The value at integers, or at arrays of them."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return values[tree]
    op, *args = tree
    if op == "select":
        return np.where(*(evaluate(a, values) for a in args))
    first, *rest = (evaluate(a, values) for a in args)
    for value in rest:
        first = _operation(op, first, value)
    return first


def _operation(op: str, a: Any, b: Any) -> Any:
    match op:
        case "+":
            return a + b
        case "*":
            return a * b
        case "//":
            return a // b
        case "%":
            return a % b
        case "tdiv":
            return np.sign(a) * (abs(a) // b)
        case "trem":
            return np.sign(a) * (abs(a) % b)
    return CHOOSING[op](a, b)


def first_difference(a: Tree, b: Tree, bounds: Bounds) -> dict[str, int] | None:
    """A point at which the trees differ; None if none was found."""
    points = _points(bounds)
    shape = next(iter(points.values())).shape if points else (1,)
    different = np.broadcast_to(evaluate(a, points) != evaluate(b, points), shape)
    if not different.any():
        return None
    at = int(np.argmax(different))
    return {name: int(values[at]) for name, values in points.items()}


def _points(bounds: Bounds) -> dict[str, Any]:
    """Every point of the box if they are few; else its corners and random points."""
    names = list(bounds)
    sizes = [hi - lo + 1 for lo, hi in bounds.values()]
    if prod(sizes) <= EXHAUSTIVE:
        axes = [np.arange(lo, hi + 1) for lo, hi in bounds.values()]
        grid = np.meshgrid(*axes, indexing="ij")
        return {name: g.ravel() for name, g in zip(names, grid, strict=True)}
    random = Random(0)
    corners = list(product(*bounds.values()))
    some = [[random.randint(*ends) for ends in bounds.values()] for _ in range(SAMPLES)]
    columns = np.array([*corners, *some], dtype=np.int64).T
    return dict(zip(names, columns, strict=True))
