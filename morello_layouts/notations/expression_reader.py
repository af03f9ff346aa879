"""From the text of an index expression to an affine expression, with a caret in errors.

One loop reads operand after operand. What is open is a list of groups, one for each parenthesis,
so expressions of any depth and length are read without recursion, and each sum at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from math import inf
from typing import Final, NamedTuple

from morello_layouts.core.expr import AffineExpr, Var, canonicalize
from morello_layouts.core.expr.affine import call, is_condition, xor
from morello_layouts.core.expr.bitwise import bits_of, both, chosen, either, shift_left, shift_right
from morello_layouts.core.expr.choices import compared
from morello_layouts.core.expr.conversions import (
    add_fractions,
    as_number,
    divide,
    multiply,
    remainder,
)
from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import EXPRESSION_BITS
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.grammar import INT, NAME, Source, Terminal, Token, at_part, integer


class Placed(NamedTuple):
    """The meaning of a part of the text, ``form / denominator``, and its place."""

    form: AffineExpr
    start: int
    denominator: Int = 1
    slash: int = 0  # the place of the last division


@frozen(slots=False)
class Dialect:
    """A language of index expressions."""

    token: re.Pattern[str]  #: a number, a function, a name and a sign, each in a group of its own.
    #: the operators with a number on their right.
    divisions: Mapping[str, Callable[[AffineExpr, Int], AffineExpr]]
    operands: tuple[str | Terminal, ...]  #: what an operand begins with, in errors.
    operators: tuple[str | Terminal, ...]  #: what may follow an operand, in errors.
    bitwise: Mapping[str, Callable[..., AffineExpr]] = field(
        default_factory=lambda: {
            "<<": shift_left,
            ">>": shift_right,
            "&": bits_of,
            "^": xor,
            "|": either,
        }
    )  #: the operators on bits, and those that compare and choose.
    #: how loosely these operators bind, from 1; what is absent ends an expression.
    levels: dict[str, int] = field(
        default_factory=lambda: {"<<": 2, ">>": 2, "&": 5, "^": 6, "|": 8}
    )


def _words(*words: str) -> tuple[str | Terminal, ...]:
    return tuple(Terminal(each, "") for each in words)


_TRUTH: Final = {"True": 1, "true": 1, "False": 0, "false": 0}
_BEGINNINGS: Final[tuple[str | Terminal, ...]] = (INT, NAME, "(", *_words("'+' or '-'"))

_TOKEN: Final = (
    r"(0[xX][0-9A-Fa-f]+|[0-9]+)|((?:floor|Mod|BitXor|FloorDiv|CleanDiv|ModularIndexing|(?:ceil(?:ing)?|T\.u?int(?:8|16|32|64))(?=\s*\())\b)"
    r"|([A-Za-z_][A-Za-z0-9_]*)|(\*\*|//|<<|>>|[-+*/%^&|~(,])"
)

_BY_WORDS: Final[Mapping[str, Callable[[AffineExpr, Int], AffineExpr]]] = {
    "floordiv": divide, "ceildiv": lambda form, by: -divide(-form, by), "mod": remainder,
}  # fmt: skip

PYTHON: Final = Dialect(
    regex(_TOKEN, re.ASCII),
    {"//": divide, "%": remainder, **_BY_WORDS},
    _BEGINNINGS + _words("floor(…)", "ceil(…)", "Mod(…)", "BitXor(…)", "T.int64(…)"),
    _words("an operator"),
)
"""Python's and SymPy's expressions, with the casts of TVM and the words of MLIR."""

MLIR: Final = Dialect(
    regex(r"([0-9]+)|((?!))|([A-Za-z_][A-Za-z0-9_$]*)|([-+*(])"),
    _BY_WORDS,
    _BEGINNINGS,
    _words("'+' or '-'", "'*', 'floordiv', 'ceildiv' or 'mod'"),
)
"""The expressions of MLIR's affine maps."""

_COMPARISONS: Final = ("<", "<=", ">", ">=", "==", "!=")
BY_CONDITIONS: Final[Mapping[str, Callable[..., AffineExpr]]] = {
    **{sign: partial(compared, sign) for sign in _COMPARISONS},
    **dict.fromkeys(("and", "&&"), both),
    **dict.fromkeys(("or", "||"), partial(both, kind="max")),
    **dict.fromkeys(("else", ":"), chosen),
}
_AFTER_BITS: Final = {"not": 11, "and": 12, "&&": 12, "or": 14, "||": 14}

CHOICES: Final = replace(
    PYTHON,
    token=regex(
        _TOKEN.replace(
            "(?:floor|",
            r"(?:(?:(?:T|tir|tirx|tl|np|torch|triton)\.)?(?:[mM]in|[mM]ax|minimum|maximum|[aA]bs|[sS]elect|where"
            r"|if_then_else|likely|ceildiv|CeilDiv|cdiv|floordiv|floormod|truncdiv|truncmod)(?=\s*\()|floor|",
        ).replace(r"(\*\*|", r"([<>=!]=|[<>](?![<>])|&&|\|\||!|\*\*|"),
        re.ASCII,
    ),
    bitwise={**PYTHON.bitwise, **BY_CONDITIONS},
    levels=PYTHON.levels | dict.fromkeys(_COMPARISONS, 10) | _AFTER_BITS | {"else": 18, "if": 20},
)
"""Python's expressions with what compilers print: choices, comparisons, min and max."""

_NAMES: Final = {
    "minimum": "min", "Min": "min", "maximum": "max", "Max": "max", "Abs": "abs", "where": "select",
    "Select": "select", "if_then_else": "select", "CeilDiv": "ceildiv", "cdiv": "ceildiv",
    "floordiv": "FloorDiv", "floormod": "Mod",
}  # fmt: skip
_FEWEST: Final = {
    **dict.fromkeys(("Mod", "BitXor", "FloorDiv", "CleanDiv", "ceildiv", "min", "max"), 2),
    **dict.fromkeys(("truncdiv", "truncmod"), 2),
    **dict.fromkeys(("ModularIndexing", "select"), 3),
}
_MOST: Final = {**_FEWEST, "BitXor": inf, "min": inf, "max": inf}
_LOOSEST: Final = 30


def _towards_zero(x: AffineExpr, n: Int) -> AffineExpr:
    zero = AffineExpr((), 0)
    return divide(call("max", x, zero), n) - divide(call("max", -x, zero), n)


_TRUNCATED: Final[Mapping[str, Callable[[AffineExpr, Int], AffineExpr]]] = {
    "truncdiv": _towards_zero,
    "truncmod": lambda x, n: x - n * _towards_zero(x, n),
}


class _Group:
    """What was read after an open parenthesis."""

    def __init__(self, call: str) -> None:
        word = call.rpartition(".")[2]
        self.call = _NAMES.get(word, word)  # the function before it
        self.arguments: list[Placed] = []
        self.bits: list[tuple[Placed, str]] = []  # what precedes operators on bits, and these
        self.parts: list[Placed] = []  # of a sum
        self.is_minus = False  # the sign before the next part
        self.left: Placed | None = None  # a product up to the operator below
        self.sign, self.at = "", 0  # that operator, and its place
        self.signs = ""  # before an operand

    def add(self, product: Placed) -> None:
        negated = product._replace(form=-product.form) if self.is_minus else product
        self.parts.append(negated)

    def end_sum(self) -> Placed:
        first, *others = self.parts
        if others:
            form, common = add_fractions([(part.form, part.denominator) for part in self.parts])
            first = Placed(form, first.start, common, max(part.slash for part in self.parts))
        self.parts, self.is_minus = [], False
        return first


class ExpressionReader:
    """Read expressions from a source.

    Attributes:
        sizes: the names by which something was multiplied or divided.
    """

    def __init__(
        self,
        source: Source,
        dialect: Dialect,
        variable: Callable[[str, int], Var | AffineExpr],
        factor_fix: str = "",
    ) -> None:
        self.source, self.dialect, self.variable = source, dialect, variable
        self.text, self.factor_fix = source.text, factor_fix
        self.sizes: set[str] = set()

    def read(self) -> AffineExpr:
        """Read the longest expression that begins here."""
        groups = [_Group("")]
        while True:
            value = self._operand(groups)
            while not self._operator(groups[-1], value):
                group = groups.pop()
                if not groups:
                    return self._whole(group.arguments[0]).form
                if len(group.arguments) < _FEWEST.get(group.call, 1):
                    self.source.fail()
                self.source.need(")")
                value = self._called(group)

    def _operand(self, groups: list[_Group]) -> Placed:
        """Read signs and open parentheses, up to a number or a name."""
        source, dialect = self.source, self.dialect
        while True:
            found, start = dialect.token.match(self.text, source.at), source.at
            kind, token = (found.lastindex, found[0]) if found else (4, "")
            is_sign = token in ("+", "-", "!") or (token == "~" and dialect is not MLIR)
            if kind == 4 and not is_sign and token != "(":
                source.fail(*dialect.operands)
            source.move(start + len(token))
            if kind == 1:
                return Placed(AffineExpr((), integer(token, self.text, start)), start)
            if token == "not" and token in dialect.levels:
                self._begin_not(groups[-1], start)
                continue
            if kind == 3 and token in _TRUTH:
                return Placed(AffineExpr((), _TRUTH[token]), start)
            if kind == 3:
                named = self.variable(token, start)
                if isinstance(named, Var):
                    named = AffineExpr(((named, 1),), 0)
                return Placed(named, start)
            if kind == 2:
                source.need("(")
            if is_sign:
                groups[-1].signs = token + groups[-1].signs
            else:
                groups.append(_Group(token))

    def _operator(self, group: _Group, value: Placed) -> bool:
        """Keep an operand, and the operator after it; False if the group ends there."""
        source, dialect = self.source, self.dialect
        found = dialect.token.match(self.text, source.at)
        if found and found[0] == "**":
            source.move(found.end())
            value = self._power(value, source.need(INT))
            found = dialect.token.match(self.text, source.at)
        sign = found[0] if found else ""
        for unary in group.signs:  # the innermost first
            if unary == "~":
                self._not_a_condition(value)
                value = Placed(-self._whole(value).form - 1, value.start)
            elif unary == "!":
                value = Placed(call("==", self._whole(value).form), value.start)
            elif unary == "-":
                value = value._replace(form=-value.form)
        group.signs = ""
        if group.left is not None:
            value, group.left = self._product(group.left, value, group.sign, group.at), None
        if sign in ("*", "/") or sign in dialect.divisions:
            group.left, group.sign, group.at = value, sign, source.at
        else:
            group.add(value)
            group.is_minus = sign == "-"
            if sign not in ("+", "-"):
                value = self._bitwise(group.bits, self._sum(group), sign)
                is_open = bool(group.bits) and group.bits[-1][1] in ("if", "?")
                if sign not in dialect.levels or (sign in ("else", ":") and not is_open):
                    if is_open:
                        source.fail("else" if group.bits[-1][1] == "if" else ":")
                    self._not_an_operator(value, found)
                    source.note(*dialect.operators)
                    return self._argument(group, value)
                group.bits.append((value, sign))
        source.move(source.at + len(sign))
        return True

    def _sum(self, group: _Group) -> Placed:
        return group.end_sum()

    def _bitwise(self, bits: list[tuple[Placed, str]], value: Placed, sign: str) -> Placed:
        """Combine a sum with what precedes it, by operators that bind as tightly as the next."""
        levels = self.dialect.levels
        level = 17 if sign in ("if", "?") else levels.get(sign, _LOOSEST)
        while bits and levels[bits[-1][1]] <= level and (sign != "^" or bits[-1][1] != "^"):
            if bits[-1][1] in ("if", "?"):
                break
            operator = bits[-1][1]
            parts = [value]
            if operator == "not":
                bits.pop()
                value = Placed(call("==", self._condition(value)), value.start)
                continue
            if operator in ("else", ":"):  # a choice has two operators
                condition, one = bits.pop()[0], bits.pop()[0]
                condition, one = (one, condition) if operator == ":" else (condition, one)
                parts = [value, one, condition._replace(form=self._condition(condition))]
            while bits and bits[-1][1] == operator and (operator == "^" or len(parts) < 2):
                parts.append(bits.pop()[0])
            is_chain = operator in _COMPARISONS and sign in _COMPARISONS and self.dialect is CHOICES
            last = value
            try:
                value = self._merged(operator, parts[::-1])
            except ParseError:
                raise
            except LayoutError as error:
                raise at_part(error, self.text, {}, value.start) from None
            if is_chain:  # i < j < k is i < j and j < k
                bits.append((value, "and"))
                return last
        return value

    def _condition(self, value: Placed) -> AffineExpr:
        """Return a condition as 1 or 0: a comparison, or whether a number is not 0."""
        form = self._whole(value).form
        return form if form.interval.within(0, 1) else call("!=", form)

    def _begin_not(self, group: _Group, start: int) -> None:
        if group.parts or group.left or group.signs:
            raise ParseError(
                "not: expected it before a condition",
                "not binds more loosely than + - * // % and comparisons",
                "write (not …)",
                text=self.text,
                position=start,
            )
        group.bits.append((Placed(AffineExpr((), 0), start), "not"))

    def _not_a_condition(self, value: Placed) -> None:
        if is_condition(value.form):
            raise ParseError(
                "~ of a condition",
                "of the number 1 it is -2, and of a truth value False",
                "write not (…), or the opposite comparison",
                text=self.text,
                position=value.start,
            )

    def _merged(self, operator: str, parts: list[Placed]) -> Placed:
        forms = [self._whole(part).form for part in parts]
        return Placed(self.dialect.bitwise[operator](*forms), parts[0].start)

    def _argument(self, group: _Group, value: Placed) -> bool:
        """Keep an argument of a group; return whether another follows."""
        group.arguments.append(value)
        has_more = len(group.arguments) < _MOST.get(group.call, 1)
        return has_more and bool(self.source.take(","))

    def _called(self, group: _Group) -> Placed:
        of, *others = group.arguments
        if group.call == "floor":
            return Placed(divide(of.form, of.denominator), of.start)
        if group.call in ("ceil", "ceiling"):
            return Placed(-divide(-of.form, of.denominator), of.start)
        if group.call in ("min", "max", "select"):
            forms = [self._whole(each).form for each in group.arguments]
            if group.call == "select":
                forms[0] = self._condition(of)
            return Placed(call(group.call, *forms), of.start)
        if group.call == "abs":
            return Placed(call("max", self._whole(of).form, -self._whole(of).form), of.start)
        if group.call == "ceildiv":
            return self._by_number(lambda x, n: -divide(-x, n), self._whole(of), others[0])
        if group.call in ("truncdiv", "truncmod"):
            return self._by_number(_TRUNCATED[group.call], self._whole(of), others[0])
        if group.call == "Mod":
            return self._by_number(remainder, self._whole(of), others[0])
        if others and group.call != "BitXor":  # Inductor's
            whole = self._by_number(divide, self._whole(of), others[0])
            return whole if len(others) == 1 else self._by_number(remainder, whole, others[1])
        if group.call == "BitXor":
            return Placed(xor(*(self._whole(each).form for each in group.arguments)), of.start)
        return of

    def _not_an_operator(self, value: Placed, found: re.Match[str] | None) -> None:
        """Refuse a name or a parenthesis after a number."""
        before = self.text[value.start : self.source.at].strip()
        if found and self.dialect is PYTHON and (found[3] or found[0] == "(") and before.isdigit():
            raise ParseError(
                f"expected an operator after {before}, got {found[0]}",
                "a product is written with *",
                f"write {before}*{found[0]}",
                text=self.text,
                position=self.source.at,
            )

    def _product(self, left: Placed, right: Placed, sign: str, at: int) -> Placed:
        if sign == "*":
            by = left.denominator * right.denominator
            slash = max(left.slash, right.slash)
            return Placed(self._multiply(left.form, right), left.start, by, slash)
        if sign == "/" and sign not in self.dialect.divisions:
            return self._ratio(left, right, at)
        if sign.isalpha():
            self._require_positive(right, sign)
        return self._by_number(self.dialect.divisions[sign], self._whole(left), right)

    def _power(self, base: Placed, exponent: Token) -> Placed:
        times = integer(exponent, self.text)
        if times * _bits(base.form) > EXPRESSION_BITS:
            raise ParseError(
                "the power is too large",
                f"powers are multiplied out, up to numbers of {EXPRESSION_BITS} bits",
                "write a smaller exponent",
                text=self.text,
                position=exponent.start,
            )
        found = Placed(AffineExpr((), 1), base.start)
        for _ in range(times):
            found = self._product(found, base, "*", 0)
        return found

    def _multiply(self, left: AffineExpr, right: Placed) -> AffineExpr:
        try:
            return multiply(left, right.form, self.sizes)
        except LayoutError as error:
            error.fix = self.factor_fix or error.fix
            raise at_part(error, self.text, {}, right.start) from None

    def _by_number(
        self, operation: Callable[[AffineExpr, Int], AffineExpr], left: Placed, right: Placed
    ) -> Placed:
        number = self._as_divisor(right)
        try:
            return Placed(operation(left.form, number), left.start)
        except LayoutError as error:
            raise at_part(error, self.text, {}, right.start) from None

    def _require_positive(self, right: Placed, sign: str) -> None:
        number = as_number(self._whole(right).form)
        if not isinstance(number, int) or number < 1:
            raise ParseError(
                f"{sign}: expected a positive number, got {right.form}",
                "the divisors of floordiv, ceildiv and mod are positive numbers here",
                "write a number from 1",
                text=self.text,
                position=right.start,
            )

    def _ratio(self, left: Placed, right: Placed, slash: int) -> Placed:
        number = self._as_divisor(right)
        is_negative = is_nonnegative(-number - 1)
        if not is_negative and not is_nonnegative(number - 1):
            self._by_number(divide, left, right)  # says what is wrong with it
        form, by = (-left.form, -number) if is_negative else (left.form, number)
        by *= left.denominator
        if any(c % by != 0 for c in (form.const, *(c for _, c in form.terms))):
            return Placed(form, left.start, by, slash)
        terms = tuple((atom, c // by) for atom, c in form.terms)
        return Placed(AffineExpr(terms, form.const // by), left.start)

    def _as_divisor(self, placed: Placed) -> Int:
        form = placed.form
        if placed.denominator == 1 and not form.terms:
            return form.const
        right = canonicalize(self._whole(placed).form)
        number = as_number(right)
        if number is None:
            raise ParseError(
                f"{right} is not a divisor",
                "divisors are integers, or sizes known to be at least 1 and without an upper bound",
                "divide by a number"
                if self.factor_fix
                else "write a number, or give the size's bounds: N=1..",
                text=self.text,
                position=placed.start,
            )
        self.sizes |= {v.name for v in right.variables()}
        return number

    def _whole(self, of: Placed) -> Placed:
        """Return the part as a form, if each of its quotients is an integer: of (i/8)*8 none is."""
        if of.denominator == 1:
            return of
        raise ParseError(
            "a/b may not be an integer",
            "index expressions divide with floor",
            "write a//b, which rounds down, or floor(a/b)",
            text=self.text,
            position=of.slash,
        )


def _bits(form: AffineExpr) -> int:
    """The length of the longest number in a form, at least 1."""
    numbers = (form.const, *(c for _, c in form.terms))
    parts = [c for n in numbers for c in ((n,) if isinstance(n, int) else dict(n.terms).values())]
    return max(1, *(c.bit_length() for c in parts))
