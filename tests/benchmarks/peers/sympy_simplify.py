"""SymPy: ``simplify``, on integers, declared nonnegative if they are."""

from __future__ import annotations

from math import lcm
from typing import Any

import sympy

from peers.peer import Peer, Unreadable
from peers.tree import Bounds, Tree


def peers(library: str) -> list[Peer]:
    """One peer."""
    return [Peer("SymPy", solve, read, (), library)]


def solve(tree: Tree, bounds: Bounds) -> Any:
    """The tree as ``sympy.simplify`` leaves it."""
    names = {
        name: sympy.Symbol(name, integer=True, nonnegative=True if lo >= 0 else None)
        for name, (lo, _) in bounds.items()
    }
    return sympy.simplify(_built(tree, names))


def _built(tree: Tree, names: dict[str, Any]) -> Any:
    if isinstance(tree, int):
        return sympy.Integer(tree)
    if isinstance(tree, str):
        return names[tree]
    op, *args = [tree[0], *(_built(a, names) for a in tree[1:])]
    match op:
        case "+":
            return sympy.Add(*args)
        case "*":
            return sympy.Mul(*args)
        case "//":
            return sympy.floor(args[0] / args[1])
        case _:
            return sympy.Mod(*args)


def read(e: Any) -> Tree:
    """An expression of SymPy's as a tree."""
    numerator, denominator = _over(e)
    if denominator != 1:
        raise Unreadable(str(e))
    return numerator


def _over(e: Any) -> tuple[Tree, int]:
    """The expression as a tree over a denominator."""
    if e.is_Rational:
        return int(e.p), int(e.q)
    if e.is_Symbol:
        return str(e.name), 1
    if e.is_Add:
        parts = [_over(a) for a in e.args]
        common = lcm(*(d for _, d in parts))
        return ("+", *(_times(common // d, t) for t, d in parts)), common
    if e.is_Mul:
        factor, rest = e.as_coeff_Mul()
        if factor != 1:
            tree, denominator = _over(rest)
            return _times(int(factor.p), tree), denominator * int(factor.q)
    if isinstance(e, sympy.floor):
        tree, denominator = _over(e.args[0])
        return (tree if denominator == 1 else ("//", tree, denominator)), 1
    if isinstance(e, sympy.Mod) and e.args[1].is_Integer:
        return ("%", read(e.args[0]), int(e.args[1])), 1
    raise Unreadable(str(e))


def _times(factor: int, tree: Tree) -> Tree:
    if factor == 1:
        return tree
    if isinstance(tree, int):
        return factor * tree
    if isinstance(tree, tuple) and tree[0] == "*" and isinstance(tree[1], int):
        return _times(factor * tree[1], tree[2])
    return ("*", factor, tree)
