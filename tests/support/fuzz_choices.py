"""Random expressions that compare and choose, as compilers print them, judged by NumPy at values.

    python -m tests.support.fuzz_choices --seed 1 --count 20000

Half of them have a size by name, N, which bounds, divides and multiplies; it takes several values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import numpy as np

from morello_layouts.core.expr import AffineExpr, cheapest, readable
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.api.formulas import assumed_form, form_of

Tree: TypeAlias = "int | str | tuple[Any, ...]"

NUMBERS = (1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16)
SIZES = (1, 2, 3, 4, 7, 8, 12)
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "min": ("min({}, {})", "T.min({}, {})", "tl.minimum({}, {})", "Min({}, {})"),
    "max": ("max({}, {})", "T.max({}, {})", "tl.maximum({}, {})", "Max({}, {})"),
    "select": ("select({}, {}, {})", "tl.where({}, {}, {})", "T.Select({}, {}, {})",
               "T.if_then_else(T.likely({}), {}, {})", "({1} if {0} else {2})"),
    "abs": ("abs({})",),
    "ceildiv": ("ceildiv({}, {})", "cdiv({}, {})", "CeilDiv({}, {})", "ceil({}/{})", "-(-{}//{})"),
    "//": ("{}//{}", "FloorDiv({}, {})", "floor({}/{})", "T.floordiv({}, {})"),
    "truncdiv": ("T.truncdiv({}, {})",),
    "truncmod": ("T.truncmod({}, {})",),
    "%": ("{}%{}", "Mod({}, {})", "T.floormod({}, {})", "ModularIndexing({}, 1, {})"),
    "and": ("({} and {})", "({} & {})", "({} && {})"),
    "or": ("({} or {})", "({} | {})", "({} || {})"),
    "not": ("(not {})", "(!{})"),
    "mask": ("({})",),
    "masked": ("({})*({})",),
}  # fmt: skip

OPERATIONS: Mapping[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod,
    "min": np.minimum, "max": np.maximum, "select": np.where, "abs": np.abs,
    "ceildiv": lambda a, n: -(-a // n), "truncmod": np.fmod,
    "truncdiv": lambda a, n: np.sign(a) * (np.abs(a) // n),
    "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal, "and": np.logical_and,
    "or": np.logical_or, "not": np.logical_not, "mask": lambda c: np.asarray(c) * 1,
    "masked": lambda a, c: a * np.asarray(c),
}  # fmt: skip


@dataclass(frozen=True)
class Question:
    """An expression as a tree and as text, and the bounds of its variables."""

    tree: Tree
    text: str
    bounds: Mapping[str, tuple[int, int | str | None]]
    divisors: tuple[tuple[str, int], ...]  #: of variables, where one more answer is asked.

    def __str__(self) -> str:
        return f"simplify({self.text!r}, {dict(self.bounds)})"

    def grids(self) -> Iterator[dict[str, Any]]:
        """Yield all values of the variables, for each size if the expression has one."""
        has_size = "N" in self.bounds
        names = [name for name in self.bounds if name != "N"]
        for n in SIZES if has_size else (0,):
            ends = [self.bounds[name] for name in names]
            every = [range(lo, (hi if isinstance(hi, int) else n - 1) + 1) for lo, hi in ends]
            yield dict(zip(names, np.ix_(*every), strict=True)) | ({"N": n} if has_size else {})


def questions(seed: int, count: int) -> Iterator[Question]:
    """Yield random questions, the same ones for the same seed."""
    for k in range(count):
        rng = Random(f"choices {seed}/{k}")
        names = ["i", "j", "k"][: rng.choice((1, 2, 2, 3))]
        sized = rng.random() < 0.5
        bounds: dict[str, tuple[int, int | str | None]] = {}
        for name in names:
            lo = rng.choice((0, 0, 0, 1, -5, rng.randint(-20, 9)))
            bounds[name] = (lo, lo + rng.choice(NUMBERS) * rng.choice((1, 1, 2)) - 1)
            if sized and rng.random() < 0.5:
                bounds[name] = (0, "N - 1")
        if sized:
            bounds["N"] = (1, None)
        tree = value(rng, names, rng.choice((2, 3, 3, 4)), sized)
        yield Question(tree, text(rng, tree), bounds, assumed(rng, names))


def assumed(rng: Random, names: list[str]) -> tuple[tuple[str, int], ...]:
    """Return variables, each with a number that divides it."""
    return tuple((name, rng.choice((2, 3, 4, 8, 16))) for name in names[: rng.choice((1, 1, 2))])


def value(rng: Random, names: list[str], depth: int, sized: bool) -> Tree:
    """Return an expression; a divisor or factor is a number, or N if ``sized``."""
    if depth == 0 or rng.random() < 0.1:
        leaves: list[Tree] = [*names, *names, *names, rng.randint(-9, 20)]
        leaf = rng.choice([*leaves, *(["N"] if sized else [])])
        if isinstance(leaf, str) and rng.random() < 0.3:
            by = "N" if sized and leaf != "N" else 8
            return ("*", rng.choice((2, 3, 4, 8, -1, -2, by)), leaf)
        return leaf

    def part() -> Tree:
        return value(rng, names, depth - 1, sized)

    op = rng.choice(["+", "+", "-", "*", "//", "//", "%", "min", "min", "max", "max", "select",
                     "select", "abs", "ceildiv", "truncdiv", "truncmod", "mask",
                     "masked"])  # fmt: skip
    if op in ("+", "-", "min", "max"):
        return (op, part(), part())
    if op == "*":
        return (op, rng.choice((2, 3, 4, -1, -2)), part())
    if op in ("//", "%", "ceildiv", "truncdiv", "truncmod"):
        return (op, part(), rng.choice([*NUMBERS, *(["N"] * 3 if sized else [])]))
    if op == "select":
        return (op, condition(rng, names, depth - 1, sized), part(), part())
    if op == "mask":
        return (op, condition(rng, names, depth - 1, sized))
    return (op, part(), condition(rng, names, depth - 1, sized)) if op == "masked" else (op, part())


def condition(rng: Random, names: list[str], depth: int, sized: bool) -> Tree:
    """Return a comparison, or some of them joined."""
    if depth > 0 and rng.random() < 0.35:
        op = rng.choice(("and", "or", "not"))
        parts = [condition(rng, names, depth - 1, sized) for _ in range(1 + (op != "not"))]
        return (op, *parts)
    left, right = (value(rng, names, min(depth, 1), sized) for _ in range(2))
    return (rng.choice(("<", "<=", ">", ">=", "==", "!=")), left, right)


def text(rng: Random, tree: Tree) -> str:
    """Return a tree in one of the spellings of compilers."""
    if not isinstance(tree, tuple):
        return f"({tree})" if str(tree).startswith("-") else str(tree)
    op, *parts = tree
    texts = [text(rng, part) for part in parts]
    if op in SPELLINGS:
        return "(" + rng.choice(SPELLINGS[op]).format(*texts) + ")"
    return f"({texts[0]} {op} {texts[1]})"


def evaluate(tree: Tree, at: Mapping[str, Any]) -> Any:
    """Return the value of a tree, by NumPy."""
    if isinstance(tree, tuple):
        return OPERATIONS[tree[0]](*(evaluate(part, at) for part in tree[1:]))
    return at[tree] if isinstance(tree, str) else tree


def failure(question: Question) -> str | None:
    """Return what is wrong with the answers; None if nothing is; "refused" if it is not read."""
    try:
        form = form_of(question.text, question.bounds)
    except LayoutError as error:
        return f"refused: {error.what}"
    forms: dict[str, AffineExpr] = {"read": form}
    try:
        forms |= {"readable": readable(form)[0], "cheapest": cheapest(form)}
        forms |= {"read again": form_of(str(forms["readable"]), question.bounds)}
        said = ", ".join(f"{name} % {number} == 0" for name, number in question.divisors)
        form, facts = assumed_form(question.text, question.bounds, said)
        simple = facts.named(readable(form, facts.forms)[0])
    except LayoutError as error:
        if "never true" not in error.what:
            return f"refused: {error.what}"
        simple = form
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for at in question.grids():
        wanted = evaluate(question.tree, at)
        for name, found in forms.items():
            if not np.all(wanted == found.evaluate(at)):
                return f"{name} gives {found} (N = {at.get('N')})"
        fails = sum(at[name] % number for name, number in question.divisors)
        if not np.all((wanted == simple.evaluate(at)) | (fails > 0)):
            return f"{said} gives {simple} (N = {at.get('N')})"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Ask ``--count`` questions from ``--seed``; 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20_000)
    options = parser.parse_args(arguments)
    refused = 0
    for k, question in enumerate(questions(options.seed, options.count)):
        found = failure(question)
        if found is not None and found.startswith("refused"):
            refused += 1
        elif found is not None:
            sys.stdout.write(f"{question}\n{found}\n(question {k} of seed {options.seed})\n")
            return 1
    sys.stdout.write(f"{options.count} expressions, {refused} refused, none wrong\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
