"""This library: the two targets, and the conversion to SymPy apart."""

from __future__ import annotations

from typing import Any

from morello_layouts import __version__
from morello_layouts.core.expr import AffineExpr, Digit, Var, cheapest, readable, variable
from morello_layouts.core.expr.conversions import to_sympy
from peers.peer import Peer
from peers.tree import Bounds, Tree


def peers() -> list[Peer]:
    """The readable target and the cheapest one."""
    library = f"morello_layouts {__version__}"
    return [
        Peer("readable", solve_readable, read, (), library),
        Peer("cheapest", solve_cheapest, read, (), library),
    ]


def solve_readable(tree: Tree, bounds: Bounds) -> AffineExpr:
    """The tree as the readable target writes it."""
    return readable(form(tree, bounds))[0]


def solve_cheapest(tree: Tree, bounds: Bounds) -> AffineExpr:
    """The tree as the cheapest target writes it."""
    return cheapest(form(tree, bounds))


def converted(tree: Tree, bounds: Bounds) -> Any:
    """The cheapest form as a SymPy expression."""
    return to_sympy(solve_cheapest(tree, bounds))


def form(tree: Tree, bounds: Bounds) -> AffineExpr:
    """The tree as a linear form, unsimplified."""
    return _built(tree, {name: variable(name, *ends) for name, ends in bounds.items()})


def _built(tree: Tree, names: dict[str, AffineExpr]) -> AffineExpr:
    if isinstance(tree, int):
        return AffineExpr((), tree)
    if isinstance(tree, str):
        return names[tree]
    op, *args = tree
    if op == "+":
        parts = [_built(a, names) for a in args]
        terms = [term for part in parts for term in part.terms]
        return AffineExpr.from_terms(terms, sum(part.const for part in parts))
    if op == "//":
        return _built(args[0], names) // args[1]
    if op == "%":
        return _built(args[0], names) % args[1]
    factor, rest = 1, AffineExpr((), 1)
    for a in args:
        if isinstance(a, int):
            factor *= a
        else:
            rest = _built(a, names)
    return rest * factor


def read(x: AffineExpr) -> Tree:
    """A form as a tree, operation for operation."""
    parts: list[Tree] = []
    for atom, factor in x.terms:
        value = _atom(atom)
        parts.append(value if factor == 1 else ("*", factor, value))
    if x.const or not parts:
        parts.append(x.const)
    return parts[0] if len(parts) == 1 else ("+", *parts)


def _atom(atom: Var | Digit) -> Tree:
    if isinstance(atom, Var):
        return atom.name
    value = read(atom.operand)
    if atom.divisor != 1:
        value = ("//", value, atom.divisor)
    return value if atom.modulus is None else ("%", value, atom.modulus)
