"""This library: the two targets, and the conversion to SymPy apart."""

from __future__ import annotations

from typing import Any

from morello_layouts import __version__
from morello_layouts.core.expr import AffineExpr, Call, Digit, Var, cheapest, readable, variable
from morello_layouts.core.expr.affine import comparison, is_condition
from morello_layouts.core.expr.conversions import to_sympy
from morello_layouts.core.expr.sizes import cancel_quotients
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


def size_tree(size: Any) -> Tree:
    """A symbolic size as a tree, as it is printed."""
    parts: list[Tree] = []
    for monomial, c in size.printing_order():
        count, powers = cancel_quotients(abs(c), monomial)
        bases = [b for base, power in powers for b in [_base(base)] * power]
        number = count * (1 if c > 0 else -1)
        product = [*([number] if number != 1 or not bases else []), *bases]
        parts.append(product[0] if len(product) == 1 else ("*", *product))
    return parts[0] if len(parts) == 1 else ("+", *parts)


def _base(base: Any) -> Tree:
    if isinstance(base, str):
        return base
    if not hasattr(base, "numerator"):
        return size_tree(base)
    number = base.numerator + (0 if base.exact else base.divisor - 1)
    above, below = (n if isinstance(n, int) else size_tree(n) for n in (number, base.divisor))
    return ("//", above, below)


def read(x: AffineExpr) -> Tree:
    """A form as a tree, operation for operation."""
    parts: list[Tree] = []
    for atom, factor in x.terms:
        value = _atom(atom)
        parts.append(value if factor == 1 else ("*", factor, value))
    if x.const or not parts:
        parts.append(x.const)
    return parts[0] if len(parts) == 1 else ("+", *parts)


def _call(x: Call) -> Tree:
    if len(x.parts) == 1:
        left, mark, right = comparison(x)
        return (mark, read(left), read(right))
    joins = is_condition(AffineExpr(((x, 1),), 0)) and {"min": "and", "max": "or"}
    return (joins[x.kind] if joins else x.kind, *map(read, x.parts))


def _atom(atom: Var | Digit | Call) -> Tree:
    if isinstance(atom, Var):
        return atom.name
    if isinstance(atom, Call):
        return _call(atom)
    value = read(atom.operand)
    if atom.divisor != 1:
        value = ("//", value, atom.divisor)
    return value if atom.modulus is None else ("%", value, atom.modulus)
