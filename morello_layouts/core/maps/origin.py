"""What an index map was made from, as the user gave it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from operator import eq, ge, gt, le, lt, mod
from typing import Any, Final

from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeAtom
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout


@frozen(slots=False)
class Origin:
    """A layout, the sizes of its array, and facts about them, before anything is computed."""

    layout: Layout  #: the layout.
    shape: tuple[Int, ...]  #: the sizes as given; no assumption is applied to them.
    #: assumptions as given: text, SymPy, ranges by name, or assumptions.
    stated: tuple[Any, ...] = ()

    def assume(self, assumptions: Iterable[Assumption]) -> Origin:
        """Return the origin under more assumptions."""
        return replace(self, stated=(*self.stated, *assumptions))

    def at(self, values: Mapping[str, int]) -> Origin:
        """Return the origin at sizes that are numbers."""
        return Origin(self.layout.with_numbers(values), self.sizes(values))

    def sizes(self, values: Mapping[str, int]) -> tuple[int, ...]:
        """Return the sizes as numbers, by arithmetic of their own."""
        return tuple(_size(n, values) for n in self.shape)

    def allows(self, values: Mapping[str, int]) -> bool:
        """Return whether sizes are as stated, by a reading apart from the assumptions'.

        What is stated about other names is left out.

        >>> from morello_layouts import parse
        >>> origin = Origin(parse("[0]"), (), ("M % 8 == 0 and 1 <= N < 9", {"N": (2, None)}))
        >>> origin.allows({"M": 16, "N": 8}), origin.allows({"M": 16, "N": 9})
        (True, False)
        """
        return all(_allows(fact, values) for fact in self.stated)


def _size(n: Int, values: Mapping[str, int]) -> int:
    if isinstance(n, int):
        return n
    return sum(c * prod(_factor(x, values) ** power for x, power in m) for m, c in n.terms)


def _factor(x: SizeAtom, values: Mapping[str, int]) -> int:
    if isinstance(x, str):
        return values[x]
    return -(-_size(x.numerator, values) // _size(x.divisor, values))


_COMPARISONS: Final = {ast.LtE: le, ast.Lt: lt, ast.GtE: ge, ast.Gt: gt, ast.Eq: eq}


def _allows(fact: Any, values: Mapping[str, int]) -> bool:
    if isinstance(fact, str):
        text = re.sub(r"(?<!\d)(\d++)\s*+(?:\||divides)\s*(\w+)", r"\2 % \1 == 0", fact)
        parts = re.split(r"[,;&]|\band\b", text)
        trees = (ast.parse(part.strip(), mode="eval").body for part in parts)
        return all(_number(tree, values) for tree in trees if _names(tree) <= values.keys())
    if isinstance(fact, Assumption):
        if fact.name not in values:
            return True
        n = values[fact.name]
        return n >= fact.lo and (fact.hi is None or n <= fact.hi) and n % fact.divisor == 0
    if isinstance(fact, Mapping):
        ends = [(values[str(n)], lo, hi) for n, (lo, hi) in fact.items() if str(n) in values]
        return all(n >= (lo or 1) and (hi is None or n <= hi) for n, lo, hi in ends)
    if hasattr(fact, "free_symbols"):
        given = {s: values[s.name] for s in fact.free_symbols if s.name in values}
        return bool(fact.subs(given) != False)  # noqa: E712
    return all(_allows(part, values) for part in fact)


def _names(tree: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _number(node: ast.expr, values: Mapping[str, int]) -> Any:
    """Return the value of a comparison of numbers, names and remainders."""
    match node:
        case ast.Compare(left, signs, others):
            numbers = [_number(one, values) for one in (left, *others)]
            pairs = zip(numbers, signs, numbers[1:], strict=False)
            return all(_COMPARISONS[type(sign)](a, b) for a, sign, b in pairs)
        case ast.BinOp(left, ast.Mod(), right):
            return mod(_number(left, values), _number(right, values))
        case ast.Name(name):
            return values[name]
        case ast.Constant(int() as number):
            return number
    raise ValueError(ast.unparse(node))
