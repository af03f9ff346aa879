"""From the tree of an index expression to an affine expression, with a caret in errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from lark import Token
from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive

from morello_layouts.description import listed
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.expr import AffineExpr, Interval, Var, canonicalize
from morello_layouts.expr.affine import xor
from morello_layouts.expr.bounds import UNBOUNDED
from morello_layouts.expr.conversions import (
    add_fractions,
    as_number,
    divide,
    multiply,
    promote_to_sizes,
    remainder,
)
from morello_layouts.expr.sizes import Int, is_nonnegative
from morello_layouts.limits import EXPRESSION_BITS
from morello_layouts.notations.grammar import at_part, integer


def _round_up(form: AffineExpr, divisor: Int) -> AffineExpr:
    return -divide(-form, divisor)


# Python's operators, and MLIR's.
_DIVISIONS: Final[dict[str, Callable[[AffineExpr, Int], AffineExpr]]] = {
    "//": divide,
    "%": remainder,
    "floordiv": divide,
    "ceildiv": _round_up,
    "mod": remainder,
}


class Placed(NamedTuple):
    """The meaning of a part of the text, ``form / denominator``, and its place."""

    form: AffineExpr
    start: int
    denominator: Int = 1
    slash: int = 0  # the place of the last division


def read_expression(tree: Any, text: str, bounds: Mapping[str, Interval]) -> AffineExpr:
    """Return the meaning of an expression's tree, which was parsed from ``text``."""
    reader = _Reader(text, bounds)
    try:
        return promote_to_sizes(reader.transform(tree), reader.sizes)
    except VisitError as error:
        raise error.orig_exc from None


def read_function(tree: Any, text: str) -> tuple[tuple[str, ...], tuple[AffineExpr, ...]]:
    """Return the parameters and results of a function's tree, which was parsed from ``text``."""
    parameters, results = tree.children
    names: list[str] = []
    for token in parameters.children:
        if token in names:
            raise _parameter_error(f"parameter {token} appears twice", token, text)
        names.append(str(token))
    tokens = (each for tree in results.iter_subtrees() for each in tree.children)
    others = [x for x in tokens if isinstance(x, Token) and x.type == "NAME" and x not in names]
    reader = _Reader(text, {str(x): Interval(1, None) for x in others}, has_parameters=True)
    try:
        found: list[Placed] = [reader.transform(each) for each in results.children]
        forms = [promote_to_sizes(reader.whole(each).form, reader.sizes) for each in found]
    except VisitError as error:
        raise error.orig_exc from None
    # Any other name is a size if something is divided or multiplied by it.
    unknown = [x for x in others if x not in reader.sizes]
    for token in sorted(unknown, key=lambda token: token.start_pos or 0)[:1]:
        what = f"{token} is not a parameter: expected {listed(names, 'or')}"
        raise _parameter_error(what, token, text)
    return tuple(names), tuple(forms)


def _parameter_error(what: str, token: Token, text: str) -> ParseError:
    return ParseError(
        what,
        "an index map computes with its own parameters, each of another name, and integers",
        "write for example lambda i, j: (i//8, j, i%8)",
        text=text,
        position=token.start_pos or 0,
    )


class _Reader(Transformer_NonRecursive):  # type: ignore[type-arg]
    """Turn trees into forms with their places, bottom up and without recursion."""

    def __init__(
        self, text: str, bounds: Mapping[str, Interval], *, has_parameters: bool = False
    ) -> None:
        super().__init__()
        self.has_parameters = has_parameters  # the names are coordinates, and none is a size
        self.text, self.bounds = text, bounds
        self.sizes: set[str] = set()

    def number(self, children: list[Any]) -> Placed:
        (token,) = children
        return Placed(AffineExpr((), integer(token, self.text)), token.start_pos)

    def name(self, children: list[Any]) -> Placed:
        (token,) = children
        interval = self.bounds.get(str(token), UNBOUNDED)
        return Placed(AffineExpr(((Var(str(token), interval), 1),), 0), token.start_pos)

    def expression(self, children: list[Placed]) -> AffineExpr:
        return self.whole(children[0]).form

    def sum(self, children: list[Any]) -> Placed:
        parts: list[Placed] = children[::2]
        signed = zip(["+", *children[1::2]], parts, strict=True)
        forms = [(p.form if sign == "+" else -p.form, p.denominator) for sign, p in signed]
        form, common = add_fractions(forms)
        return Placed(form, parts[0].start, common, max(part.slash for part in parts))

    def xor(self, children: list[Placed]) -> Placed:
        return Placed(xor(*(self.whole(part).form for part in children)), children[0].start)

    def product(self, children: list[Any]) -> Placed:
        left: Placed = children[0]
        for sign, right in zip(children[1::2], children[2::2], strict=True):
            if sign == "*":
                form = self.multiply(left.form, right)
                slash = max(left.slash, right.slash)
                left = Placed(form, left.start, left.denominator * right.denominator, slash)
            elif sign == "/":
                left = self.ratio(left, right, sign.start_pos)
            else:
                if sign.isalpha():
                    self.require_positive(right, sign)
                left = self.by_number(_DIVISIONS[sign], self.whole(left), right)
        return left

    def unary(self, children: list[Any]) -> Placed:
        *signs, of = children
        form = -of.form if signs.count("-") % 2 else of.form
        return Placed(form, of.start, of.denominator, of.slash)

    def power(self, children: list[Any]) -> Placed:
        base, _, exponent = children
        if exponent is None:
            return Placed(*base)
        times = integer(exponent, self.text)
        if times * _bits(base.form) > EXPRESSION_BITS:
            raise ParseError(
                "the power is too large",
                f"powers are multiplied out, up to numbers of {EXPRESSION_BITS} bits",
                "write a smaller exponent",
                text=self.text,
                position=exponent.start_pos,
            )
        found = Placed(AffineExpr((), 1), base.start)
        for _ in range(times):
            form = self.multiply(found.form, base)
            by = found.denominator * base.denominator
            found = Placed(form, base.start, by, base.slash)
        return found

    def floor(self, children: list[Placed]) -> Placed:
        (of,) = children
        return Placed(divide(of.form, of.denominator), of.start)

    def ceiling(self, children: list[Any]) -> Placed:
        _, of = children
        return Placed(-divide(-of.form, of.denominator), of.start)

    def remainder(self, children: list[Placed]) -> Placed:
        return self.by_number(remainder, self.whole(children[0]), children[1])

    def multiply(self, left: AffineExpr, right: Placed) -> AffineExpr:
        try:
            return multiply(left, right.form, self.sizes)
        except LayoutError as error:
            if self.has_parameters:
                error.fix = "multiply by a number"
            raise at_part(error, self.text, {}, right.start) from None

    def by_number(
        self, operation: Callable[[AffineExpr, Int], AffineExpr], left: Placed, right: Placed
    ) -> Placed:
        number = self.as_divisor(right)
        try:
            return Placed(operation(left.form, number), left.start)
        except LayoutError as error:
            raise at_part(error, self.text, {}, right.start) from None

    def require_positive(self, right: Placed, sign: Any) -> None:
        number = as_number(self.whole(right).form)
        if not isinstance(number, int) or number < 1:
            raise ParseError(
                f"{sign}: expected a positive number, got {right.form}",
                "the divisors of floordiv, ceildiv and mod are positive numbers here",
                "write a number from 1",
                text=self.text,
                position=right.start,
            )

    def ratio(self, left: Placed, right: Placed, slash: int) -> Placed:
        number = self.as_divisor(right)
        is_negative = is_nonnegative(-number - 1)
        if not is_negative and not is_nonnegative(number - 1):
            self.by_number(divide, left, right)  # says what is wrong with it
        form, by = (-left.form, -number) if is_negative else (left.form, number)
        return Placed(form, left.start, left.denominator * by, slash)

    def as_divisor(self, placed: Placed) -> Int:
        right = canonicalize(self.whole(placed).form)
        number = as_number(right)
        if number is None:
            raise ParseError(
                f"{right} is not a divisor",
                "divisors are integers, or sizes known to be at least 1 and without an upper bound",
                "divide by a number"
                if self.has_parameters
                else "write a number, or give the size's bounds: N=1..",
                text=self.text,
                position=placed.start,
            )
        self.sizes |= {v.name for v in right.variables()}
        return number

    def whole(self, of: Placed) -> Placed:
        """Return the part as a form, if it is an integer as it is written."""
        if of.denominator == 1:
            return of
        numbers = (of.form.const, *(c for _, c in of.form.terms))
        if all(c % of.denominator == 0 for c in numbers):
            terms = tuple((atom, c // of.denominator) for atom, c in of.form.terms)
            return Placed(AffineExpr(terms, of.form.const // of.denominator), of.start)
        raise ParseError(
            "this quotient is not always an integer",
            "index expressions divide with floor",
            "write // for division that rounds down, or floor(a/b)",
            text=self.text,
            position=of.slash,
        )


def _bits(form: AffineExpr) -> int:
    """The length of the longest number in a form, at least 1."""
    numbers = (form.const, *(c for _, c in form.terms))
    parts = [c for n in numbers for c in ((n,) if isinstance(n, int) else dict(n.terms).values())]
    return max(1, *(c.bit_length() for c in parts))
