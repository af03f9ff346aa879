"""Parse index expressions, bounds, shapes and assumptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive

from morello_layouts.errors import LayoutError, ParseError, ShapeError
from morello_layouts.expr import AffineExpr, Atom, Interval, Var, canonicalize
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.bounds import UNBOUNDED
from morello_layouts.expr.conversions import (
    as_number,
    divide,
    multiply,
    promote_to_sizes,
    remainder,
)
from morello_layouts.expr.sizes import Int, common_divisor, is_nonnegative
from morello_layouts.notations.grammar import Syntax, integer, parse_tree
from morello_layouts.notations.xla.types import shown

_SYNTAX = Syntax(
    form="an expression is made of integers, names, + - * // %, floor(a/b), ceil(a/b), Mod(a, b)",
    example="write for example (32*i + j)//8",
    names={
        "INT": "a number",
        "NAME": "a name",
        "SUM_OP": "'+' or '-'",
        "PRODUCT_OP": "'*', '/', '//' or '%'",
        "POWER": "'**'",
        "FLOOR": "floor(…)",
        "CEIL": "ceil(…)",
        "MOD": "Mod(…)",
    },
    hints={"^": "write a product"},
)

_BOUND = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*?)\.\.(.*)", re.ASCII | re.DOTALL)


def parse_expression(text: str, bounds: Mapping[str, Interval]) -> AffineExpr:
    """An index expression as a form; names without bounds may be any integer.

    Raises:
        ParseError: with a caret at what is wrong.

    >>> print(parse_expression("floor((32*i + j)/8) % 4", {}))
    ((32*i + j)//8)%4
    """
    return read_expression(parse_tree("expression.lark", "expression", text, _SYNTAX), text, bounds)


def parse_number(text: str) -> Int:
    """An integer or a symbolic size: a polynomial in names that stand for positive integers.

    >>> print(parse_number("8*N - 1"))
    8*N - 1
    """
    names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text, re.ASCII), Interval(1, None))
    number = as_number(parse_expression(text, names))
    if number is None:
        raise ParseError(
            f"{text.strip()!r} is no size",
            "a size is an integer, or made of names with +, - and *",
            "write for example 31 or N - 1",
            text=text,
            position=0,
        )
    return number


def parse_bounds(text: str) -> dict[str, Interval]:
    """Inclusive bounds such as ``i=0..31,j=-4..4,k=0..N-1``; an end may be left out.

    >>> parse_bounds("i=0..31, n=1..")
    {'i': Interval(lo=0, hi=31), 'n': Interval(lo=1, hi=None)}
    """
    bounds: dict[str, Interval] = {}
    position = 0
    for part in text.split(",") if text.strip() else ():
        match = _BOUND.fullmatch(part)
        if match is None:
            raise ParseError(
                f"{part.strip()!r} is no bound",
                "a bound is a name and the smallest and largest value",
                "write i=0..31,j=0..31",
                text=text,
                position=position,
            )
        name, *ends = match.groups()
        try:
            lo, hi = (parse_number(end) if end.strip() else None for end in ends)
        except ParseError as error:
            start = position + part.index(error.text, len(name))
            raise ParseError(
                error.what, error.why, error.fix, text=text, position=start + error.position
            ) from None
        if isinstance(lo, int) and isinstance(hi, int) and hi < lo:
            raise ParseError(
                f"{name} has no values",
                f"{lo} is above {hi}",
                "write the smaller end first",
                text=text,
                position=position,
            )
        bounds[name] = Interval(lo, hi)
        position += len(part) + 1
    return bounds


_MOST_BITS: Final = 1024


class Placed(NamedTuple):
    """What a part of the text stands for: ``form / denominator``, and where it stands."""

    form: AffineExpr
    start: int
    denominator: Int = 1
    slash: int = 0  # where the last division stands


def read_expression(tree: Any, text: str, bounds: Mapping[str, Interval]) -> AffineExpr:
    """The form that an expression's tree stands for; ``text`` is what it was parsed from."""
    reader = _Reader(text, bounds)
    try:
        return promote_to_sizes(reader.transform(tree), reader.sizes)
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
        return Placed(AffineExpr((), integer(token, self.text)), token.start_pos)

    def name(self, children: list[Any]) -> Placed:
        (token,) = children
        interval = self.bounds.get(str(token), UNBOUNDED)
        return Placed(AffineExpr(((Var(str(token), interval), 1),), 0), token.start_pos)

    def expression(self, children: list[Placed]) -> AffineExpr:
        return self.whole(children[0]).form

    def sum(self, children: list[Any]) -> Placed:
        parts: list[Placed] = children[::2]
        common: Int = 1
        for part in parts:
            if part.denominator != 1:
                common = common * part.denominator // common_divisor(common, part.denominator)
        terms: list[tuple[Atom, Int]] = []
        const: Int = 0
        for sign, part in zip(["+", *children[1::2]], parts, strict=True):
            factor = common // part.denominator
            factor = factor if sign == "+" else -factor
            terms += [(atom, factor * c) for atom, c in part.form.terms]
            const += factor * part.form.const
        slash = max(part.slash for part in parts)
        return Placed(AffineExpr.from_terms(terms, const), parts[0].start, common, slash)

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
                operation = divide if sign == "//" else remainder
                left = self.by_number(operation, self.whole(left), right)
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
        if times * _bits(base.form) > _MOST_BITS:
            raise ParseError(
                "the power is too large",
                f"powers are multiplied out, up to numbers of {_MOST_BITS} bits",
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
            raise self.at(right.start, error) from None

    def by_number(
        self, operation: Callable[[AffineExpr, Int], AffineExpr], left: Placed, right: Placed
    ) -> Placed:
        number = self.as_divisor(right)
        try:
            return Placed(operation(left.form, number), left.start)
        except LayoutError as error:
            raise self.at(right.start, error) from None

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
                f"{right} is no divisor",
                "divisors are integers, or sizes known to be at least 1 and without an upper bound",
                "write a number, or give the size's bounds: N=1..",
                text=self.text,
                position=placed.start,
            )
        self.sizes |= {v.name for v in right.variables()}
        return number

    def whole(self, of: Placed) -> Placed:
        """The part as a form, where it is an integer as it is written."""
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

    def at(self, start: int, error: LayoutError) -> ParseError:
        return ParseError(error.what, error.why, error.fix, text=self.text, position=start)


def _bits(form: AffineExpr) -> int:
    """The length of the longest number in a form, at least 1."""
    numbers = (form.const, *(c for _, c in form.terms))
    parts = [c for n in numbers for c in ((n,) if isinstance(n, int) else dict(n.terms).values())]
    return max(1, *(c.bit_length() for c in parts))


_NAME: Final = r"([A-Za-z_]\w*)"
_MULTIPLE: Final = re.compile(rf"{_NAME}\s*%\s*(\d+)\s*==\s*0", re.ASCII)
_DIVIDES: Final = re.compile(rf"(\d+)\s*(?:\||divides)\s*{_NAME}", re.ASCII)
_RANGE: Final = re.compile(
    rf"(?:(\d+)\s*(<=|<|==|>=|>)\s*)?{_NAME}(?:\s*(<=|<|==|>=|>)\s*(\d+))?", re.ASCII
)
_MIRRORED: Final = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "=="}


def parse_assumptions(text: str) -> list[Assumption]:
    """Assumptions from text, separated by commas, semicolons or ``and``.

    Raises:
        ParseError: with a caret at what is no assumption.

    >>> [str(one) for one in parse_assumptions("M % 8 == 0, 1 <= N <= 128")]
    ['8 divides M', 'N >= 1', 'N <= 128']
    """
    found: list[Assumption] = []
    position = 0
    for part in re.split(r"(\s*(?:,|;|\band\b|&)\s*)", text):
        if position == 0 or not re.fullmatch(r"\s*(?:,|;|and|&)\s*", part):
            found += _one(part, text, position)
        position += len(part)
    return found


def _one(part: str, text: str, position: int) -> list[Assumption]:
    stripped = part.strip()
    if match := _MULTIPLE.fullmatch(stripped):
        return [Assumption(match[1], divisor=_positive(int(match[2]), text, position))]
    if match := _DIVIDES.fullmatch(stripped):
        return [Assumption(match[2], divisor=_positive(int(match[1]), text, position))]
    match = _RANGE.fullmatch(stripped)
    if match is None or match[2] is match[4] is None:
        raise ParseError(
            f"{stripped!r} is no assumption",
            "one says what divides a size, or how large it is",
            "write for example M % 8 == 0, N >= 2 or 1 <= N <= 128",
            text=text,
            position=position + len(part) - len(part.lstrip()),
        )
    bounds = [(_MIRRORED[match[2]], match[1])] if match[2] else []
    bounds += [(match[4], match[5])] if match[4] else []
    return [_bound(match[3], sign, int(end), text, position) for sign, end in bounds]


def _bound(name: str, sign: str, end: int, text: str, position: int) -> Assumption:
    lo = {">=": end, ">": end + 1, "==": end}.get(sign, 1)
    hi = {"<=": end, "<": end - 1, "==": end}.get(sign)
    if hi is not None and hi < 1:
        _positive(0, text, position)
    return Assumption(name, lo=max(lo, 1), hi=hi)


def _positive(number: int, text: str, position: int) -> int:
    if number < 1:
        raise ParseError(
            "no size is as assumed",
            "symbolic sizes are at least 1, and so is what divides them",
            "write a positive number",
            text=text,
            position=position,
        )
    return number


_SIZE: Final = re.compile(r"[0-9]{1,19}")
_SIZE_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def parse_shape(text: str) -> tuple[int | str, ...]:
    """A shape as one types it: ``6x8``, ``6,8``, ``[6, 8]``, ``MxN``; ``()`` is a scalar's.

    Raises:
        ShapeError: for anything else.

    >>> parse_shape("6x8"), parse_shape("(6, 8)"), parse_shape("6"), parse_shape("[]")
    ((6, 8), (6, 8), (6,), ())
    >>> parse_shape("MxN")
    ('M', 'N')
    """
    stripped = text.strip()
    bracketed = stripped[:1] + stripped[-1:] in ("()", "[]")
    inner = stripped[1:-1] if bracketed else stripped
    if bracketed and not inner.strip():
        return ()
    sizes = [
        size.strip() for size in re.split(r"[x×,]", inner.rstrip(", ") if bracketed else inner)
    ]
    for size in sizes:
        if _SIZE.fullmatch(size) is None and _SIZE_NAME.fullmatch(size) is None:
            raise ShapeError(
                f"{shown(text)} is no shape: {shown(size)} is no size",
                "a shape is one size for each dimension, with x or a comma between them",
                "write for example 6x8, or names as in M,N, or () for a scalar",
            )
    return tuple(int(size) if size.isdigit() else size for size in sizes)
