"""The text of expressions over the variables of an indexing map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NoReturn

from morello_layouts.errors import ParseError, UnsupportedError
from morello_layouts.indexing.expressions import BUILDERS, Expr, add, extremum, times
from morello_layouts.limits import EXPR_NESTING, INDEXING_TEXT
from morello_layouts.notations.grammar import INT, Source, Syntax, Terminal, Token, integer

SYNTAX: Final = Syntax(
    form="an indexing map is (dims)[ranges]{runtimes} -> (results), domain: name in [lo, hi], …",
    example="write for example (d0)[s0] -> (d0 * 8 + s0), domain: d0 in [0, 3], s0 in [0, 7]",
    longest=INDEXING_TEXT,
    hints={"//": "write floordiv", "%": "write mod"},
)
NAME: Final = Terminal("a name", "(?!(in|mod|floordiv|ceildiv|domain)\\b)[A-Za-z_][A-Za-z0-9_]*")
_CALL: Final = Terminal("min or max", r"(min|max)(?=\s*\()")
_PRODUCT: Final = Terminal("'*', 'floordiv', 'ceildiv' or 'mod'", r"[*/]|(floordiv|ceildiv|mod)\b")
_SIGN: Final = Terminal("'+' or '-'", r"[+-](?!>)")


def parse_expression(text: str, names: Mapping[str, str]) -> Expr:
    """Read an expression over variables, whose inner names are given.

    >>> parse_expression("2 * row", {"row": "d0"})
    Op(kind='*', parts=('d0', 2))
    """
    reader = Reader(text)
    reader.inner = dict(names)
    found = reader.expression()
    reader.source.end()
    return found


class Reader:
    """Read expressions.

    Attributes:
        source: the text.
        inner: the inner name of each variable, by its name in the text.
    """

    def __init__(self, text: str) -> None:
        self.source = Source(text, SYNTAX)
        self.inner: dict[str, str] = {}
        self._depth = 0

    def expression(self) -> Expr:
        """Read the longest expression that begins here."""
        self._depth += 1
        if self._depth > EXPR_NESTING:
            what = f"parentheses nest deeper than {EXPR_NESTING}"
            self.refuse(what, self.source.at, "split the expression")
        parts = [self._product()]
        while sign := self.source.take(_SIGN):
            part = self._product()
            parts.append(times(part, -1) if sign == "-" else part)
        self._depth -= 1
        return add(*parts)

    def _product(self) -> Expr:
        found = self._operand()
        while sign := self.source.take(_PRODUCT, optional=True):
            at = self.source.at
            right = self._operand()
            if sign == "*":
                found = self._built("*", found, right, at)
                continue
            kind = "floordiv" if sign == "/" else str(sign)
            if not isinstance(right, int) or right == 0 or (right < 0 and kind == "mod"):
                positive = "a positive number" if kind == "mod" else "a number other than 0"
                self.refuse(f"{kind}: expected {positive}", at, f"write {positive}")
            found = self._built(kind, found, right, at)
        return found

    def _built(self, kind: str, left: Expr, right: Expr, at: int) -> Expr:
        try:
            return BUILDERS[kind](left, right)
        except UnsupportedError as error:
            self.refuse(error.what, at, error.fix)

    def _operand(self) -> Expr:
        source, is_minus = self.source, False
        while source.take("-"):
            is_minus = not is_minus
        found = self._value()
        return times(found, -1) if is_minus else found

    def _value(self) -> Expr:
        source = self.source
        if token := source.take(INT):
            return integer(token, source.text)
        if call := source.take(_CALL):
            return self._extremum(call)
        if source.take("("):
            found = self.expression()
            source.need(")")
            return found
        name = source.need(NAME)
        if name not in self.inner:
            what = f"{name} is not a variable of the map"
            self.refuse(what, name.start, f"use {', '.join(self.inner)}" if self.inner else "")
        return self.inner[name]

    def _extremum(self, call: Token) -> Expr:
        self.source.need("(")
        left, right = self._argument(","), self._argument(")")
        return extremum(str(call), left, right)

    def _argument(self, close: str) -> Expr:
        found = self.expression()
        self.source.need(close)
        return found

    def refuse(self, what: str, at: int, fix: str) -> NoReturn:
        """Refuse the text, with a caret at a place.

        Raises:
            ParseError: always.
        """
        raise ParseError(what, SYNTAX.form, fix, text=self.source.text, position=at)
