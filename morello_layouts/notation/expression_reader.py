"""The reading of an expression's tree as a form. It needs lark, so it is loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive

from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr import Interval, Linear, Var, rewrite
from morello_layouts.expr.interval import EVERYTHING
from morello_layouts.expr.operations import as_number, divide, lift, multiply, remainder
from morello_layouts.expr.size import Number
from morello_layouts.notation.grammar import integer

__all__ = ["read_expression"]

Placed: TypeAlias = tuple[Linear, int]


def read_expression(tree: Any, text: str, bounds: Mapping[str, Interval]) -> Linear:
    """The form that an expression's tree stands for; ``text`` is what it was parsed from."""
    reader = _Reader(text, bounds)
    try:
        return lift(reader.transform(tree), reader.sizes)
    except VisitError as error:
        raise error.orig_exc from None


class _Reader(Transformer_NonRecursive):  # type: ignore[type-arg]
    """Trees to (form, where it stands), bottom up and without recursion."""

    def __init__(self, text: str, bounds: Mapping[str, Interval]) -> None:
        super().__init__()
        self.text, self.bounds = text, bounds
        self.sizes: set[str] = set()

    def number(self, children: list[Any]) -> Placed:
        (token,) = children
        return Linear((), integer(token, self.text)), token.start_pos

    def name(self, children: list[Any]) -> Placed:
        (token,) = children
        interval = self.bounds.get(str(token), EVERYTHING)
        return Linear(((Var(str(token), interval), 1),), 0), token.start_pos

    def expression(self, children: list[Placed]) -> Linear:
        return children[0][0]

    def sum(self, children: list[Any]) -> Placed:
        terms, const = list(children[0][0].terms), children[0][0].const
        for sign, (form, _) in zip(children[1::2], children[2::2], strict=True):
            factor = 1 if sign == "+" else -1
            terms += [(atom, factor * c) for atom, c in form.terms]
            const += factor * form.const
        return Linear.of(terms, const), children[0][1]

    def product(self, children: list[Any]) -> Placed:
        left, start = children[0]
        for sign, right in zip(children[1::2], children[2::2], strict=True):
            if sign == "*":
                left = self.multiply(left, right)
            else:
                left = self.by_number(divide if sign == "//" else remainder, left, right)
        return left, start

    def unary(self, children: list[Any]) -> Placed:
        *signs, (form, start) = children
        return -form if signs.count("-") % 2 else form, start

    def floor(self, children: list[Placed]) -> Placed:
        if len(children) == 1:
            return children[0]
        return self.by_number(divide, children[0][0], children[1]), children[0][1]

    def ceiling(self, children: list[Any]) -> Placed:
        _, (form, start), *by = children
        return -self.by_number(divide, -form, by[0]) if by else form, start

    def remainder(self, children: list[Placed]) -> Placed:
        return self.by_number(remainder, children[0][0], children[1]), children[0][1]

    def multiply(self, left: Linear, placed: Placed) -> Linear:
        right, start = placed
        try:
            return multiply(left, right, self.sizes)
        except LayoutError as error:
            raise self.at(start, error) from None

    def by_number(
        self, operation: Callable[[Linear, Number], Linear], left: Linear, placed: Placed
    ) -> Linear:
        right, start = rewrite(placed[0]), placed[1]
        number = as_number(right)
        if number is None:
            raise ParseError(
                f"{right} is no divisor",
                "divisors are integers, or sizes known to be at least 1 and without an upper bound",
                "write a number, or give the size's bounds: N=1..",
                text=self.text,
                position=start,
            )
        self.sizes |= {v.name for v in right.variables()}
        try:
            return operation(left, number)
        except LayoutError as error:
            raise self.at(start, error) from None

    def at(self, start: int, error: LayoutError) -> ParseError:
        return ParseError(error.what, error.why, error.fix, text=self.text, position=start)
