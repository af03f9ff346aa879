"""A fuzzer of the simplifier: random floors and mods, judged by every value of their variables.

    python -m tests.support.fuzz_simplify --seed 1 --count 10000

An expression that comes out wrong, or not at all, is made as small as it stays wrong, and printed
as a call of ``simplify``; the exit status is then 1. With ``--costs``, one that ``cheapest`` makes
dearer than it went in counts as wrong, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, TypeAlias

import numpy as np

from morello_layouts.core.expr import (
    SHIFTS,
    AffineExpr,
    CostModel,
    canonicalize,
    cheapest,
    readable,
    variable,
)

Tree: TypeAlias = "int | str | tuple[str, Tree, Tree]"
Ends: TypeAlias = "tuple[int | None, int | None]"

NUMBERS = (2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 24, 32, 64)
WINDOW = 40
"""How many values of a variable without end are tried."""

TARGETS: dict[str, Callable[[AffineExpr], AffineExpr]] = {
    "readable": lambda form: readable(form)[0],
    "cheapest": cheapest,
    "cheapest with shifts": lambda form: cheapest(form, SHIFTS),
}


@dataclass(frozen=True)
class Question:
    """An expression and the bounds of its variables."""

    tree: Tree
    bounds: Mapping[str, Ends]

    def __str__(self) -> str:
        used = {name: ends for name, ends in self.bounds.items() if name in names_in(self.tree)}
        return f"simplify({text_of(self.tree)!r}, {used})"

    def form(self) -> AffineExpr:
        """Return the expression as it stands."""
        return form_of(self.tree, self.bounds)

    def values(self) -> dict[str, Any]:
        """Return all values of each variable, or those nearest to the end it has."""
        return dict(zip(self.bounds, np.ix_(*map(values_of, self.bounds.values())), strict=True))


# Trees: evaluated, read as forms, and printed, each without the others


def evaluate(tree: Tree, values: Mapping[str, Any]) -> Any:
    """Return the value of a tree by Python's own arithmetic."""
    match tree:
        case int():
            return tree
        case str():
            return values[tree]
        case (op, left, right):
            a, b = evaluate(left, values), evaluate(right, values)
            return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}.get(
                op, lambda: a // b if op == "//" else a % b
            )()


def form_of(tree: Tree, bounds: Mapping[str, Ends]) -> AffineExpr:
    """Return a tree as a form, built without any rewriting."""
    match tree:
        case int():
            return AffineExpr((), tree)
        case str():
            return variable(tree, *bounds[tree])
        case (op, left, int(number)) if op in ("*", "//", "%"):
            a = form_of(left, bounds)
            return a * number if op == "*" else a // number if op == "//" else a % number
        case (op, left, right):
            a, b = form_of(left, bounds), form_of(right, bounds)
            return a + b if op == "+" else a - b


def text_of(tree: Tree) -> str:
    """Return a tree as ``simplify`` reads it."""
    if isinstance(tree, tuple):
        op, left, right = tree
        a, b = (f"({text_of(x)})" if isinstance(x, tuple) else text_of(x) for x in (left, right))
        return f"{a} {op} {b}"
    return str(tree)


def names_in(tree: Tree) -> set[str]:
    """Return the variables of a tree."""
    if isinstance(tree, tuple):
        return names_in(tree[1]) | names_in(tree[2])
    return {tree} if isinstance(tree, str) else set()


def values_of(ends: Ends) -> range:
    """Return the values within two ends, or those nearest to the end there is."""
    lo, hi = ends
    if lo is None:
        lo = -WINDOW // 2 if hi is None else hi - WINDOW
    return range(lo, (lo + WINDOW if hi is None else hi) + 1)


# Random expressions


def questions(seed: int, count: int) -> Iterator[Question]:
    """Yield random expressions with bounds, the same ones for the same seed."""
    for k in range(count):
        rng = Random(f"{seed}/{k}")
        names = ["x", "y", "z"][: rng.choice([1, 1, 2, 2, 2, 3])]
        widest = {1: 400, 2: 40, 3: 12}[len(names)]
        bounds = {name: random_ends(rng, widest) for name in names}
        make = rng.choice([random_tree, random_tree, random_digits, random_levels])
        yield Question(make(rng, names), bounds)


def random_ends(rng: Random, widest: int) -> Ends:
    """Return bounds that start at 0, below it, or anywhere; some without an end."""
    width = rng.choice([0, 1, *NUMBERS, rng.randrange(widest)])
    width = min(width, widest) - rng.choice([0, 1, 1])
    lo = rng.choice([0, 0, 0, 1, -1, -width, rng.randint(-50, 50)])
    ends = (lo, lo + max(width, 0))
    return rng.choice([ends] * 9 + [(lo, None), (None, lo), (None, None)])


def random_tree(rng: Random, names: list[str], depth: int = 4) -> Tree:
    """Return any expression."""
    if depth == 0 or rng.random() < 0.15:
        leaves: list[Tree] = [*names, *names, rng.randint(-9, 9)]
        return rng.choice(leaves)
    left = random_tree(rng, names, depth - 1)
    op = rng.choice(["+", "+", "-", "*", "//", "//", "%", "%"])
    if op == "*":
        return (op, left, rng.choice([*NUMBERS, -1, -2, -3, -8]))
    if op in ("//", "%"):
        return (op, left, rng.choice(NUMBERS) + rng.choice([0, 0, 0, 0, 1, -1]))
    return (op, left, random_tree(rng, names, depth - 1))


def random_digits(rng: Random, names: list[str]) -> Tree:
    """Return a sum of digits of one operand, whose factors nearly fit together."""
    operand = random_tree(rng, names, rng.choice([0, 0, 1, 2]))
    starts: list[Tree] = [0, 0, rng.randint(-20, 20), names[0]]
    total = rng.choice(starts)
    divisor, factor = rng.choice([1, 1, 2, 3]), rng.choice([1, 1, -1, 2, 4])
    for _ in range(rng.randint(2, 4)):
        n = rng.choice(NUMBERS[:11])
        term: Tree = operand if divisor == 1 else ("//", operand, divisor)
        if rng.random() < 0.7:
            term = ("%", term, n)
        total = ("+", total, ("*", term, factor * rng.choice([1, 1, 1, 1, -1, 2, 3])))
        divisor, factor = divisor * n, factor * n * rng.choice([1, 1, 1, 2, -1])
    return total if rng.random() < 0.5 else (rng.choice(["//", "%"]), total, rng.choice(NUMBERS))


def random_levels(rng: Random, names: list[str]) -> Tree:
    """Return coordinates linearised, taken apart and put together again, as layouts do."""
    axes: list[tuple[Tree, int]] = [(name, rng.choice(NUMBERS[:10])) for name in names]
    for _ in range(rng.randint(1, 3)):
        rng.shuffle(axes)
        offset: Tree = 0
        for x, n in axes:
            offset = ("+", ("*", offset, n), x)
        axes, rest = [], offset
        for _ in range(rng.randint(1, 3)):
            n = rng.choice(NUMBERS[:10])
            axes.append((("%", rest, n), n))
            rest = ("//", rest, n)
        axes.append((rest, rng.choice(NUMBERS[:10])))
    rng.shuffle(axes)
    total: Tree = 0
    for x, n in axes:
        total = ("+", ("*", total, n), x)
    return total


# Judging and shrinking


def failure(question: Question, *, costs: bool = False) -> str | None:
    """Return the error of the simplified expression, or None; ``costs`` adds a costlier result."""
    form, values = question.form(), question.values()
    expected = evaluate(question.tree, values)
    one, other = np.broadcast_arrays(expected, form.evaluate(values))
    if not np.array_equal(one, other):
        return f"the form {form} is something else"
    for name, simplify in TARGETS.items():
        try:
            result = simplify(form)
        except Exception as error:
            return f"{name} raises {error!r}"
        wrong = np.argwhere(np.broadcast_arrays(expected != result.evaluate(values), expected)[0])
        if len(wrong):
            ranges = map(values_of, question.bounds.values())
            at = {n: r[k] for n, r, k in zip(question.bounds, ranges, wrong[0], strict=False)}
            return f"{name} gives {result}, which differs at {at}"
        model = SHIFTS if "shifts" in name else CostModel()
        if costs and name != "readable" and model.cost(result) > model.cost(form):
            return f"{name} gives {result}, dearer than {form}"
    once = canonicalize(form)
    if canonicalize(once) != once:
        return f"{once} is rewritten again, to {canonicalize(once)}"
    return None


def smaller_trees(tree: Tree) -> Iterator[Tree]:
    """Yield trees with one part less, or with one number nearer to 0."""
    if isinstance(tree, int):
        yield from (n for n in (0, 1, 2, tree // 2, tree - 1, tree + 1) if abs(n) < abs(tree))
    elif isinstance(tree, str):
        yield from (0, 1, -1)
    else:
        op, left, right = tree
        yield from (0, left, right)
        yield from ((op, a, right) for a in smaller_trees(left))
        for b in smaller_trees(right):
            if op in ("+", "-") or (isinstance(b, int) and (op == "*" or b > 0)):
                yield (op, left, b)


def smaller_ends(ends: Ends) -> Iterator[Ends]:
    """Yield bounds of fewer values, or nearer to 0."""
    lo, hi = ends
    if lo is None or hi is None:
        yield (values_of(ends)[0], values_of(ends)[-1])
        return
    middle, nearer = (lo + hi) // 2, -1 if lo > 0 else 1
    tried = ((0, hi), (lo, lo), (hi, hi), (lo, middle), (middle, hi), (lo + 1, hi), (lo, hi - 1))
    for a, b in (*tried, (lo + nearer, hi + nearer)):
        if a <= b and (b - a, abs(a) + abs(b)) < (hi - lo, abs(lo) + abs(hi)):
            yield (a, b)


def smaller(question: Question) -> Iterator[Question]:
    """Yield questions with one thing less."""
    for tree in smaller_trees(question.tree):
        yield Question(tree, question.bounds)
    for name, ends in question.bounds.items():
        for less in smaller_ends(ends):
            yield Question(question.tree, {**question.bounds, name: less})


def shrunk(question: Question, fails: Callable[[Question], object]) -> Question:
    """Return the smallest question that still fails, as far as one step at a time leads."""
    while (found := next((q for q in smaller(question) if fails(q)), None)) is not None:
        question = found
    return question


def main(arguments: list[str] | None = None) -> int:
    """Ask ``--count`` questions from ``--seed``; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--costs", action="store_true")
    options = parser.parse_args(arguments)
    fails = partial(failure, costs=options.costs)
    for k, question in enumerate(questions(options.seed, options.count)):
        if fails(question) is not None:
            least = shrunk(question, fails)
            say = f"{least}\n{fails(least)}\n(question {k} of seed {options.seed})\n"
            sys.stdout.write(say)
            return 1
    sys.stdout.write(f"{options.count} expressions, none wrong\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
