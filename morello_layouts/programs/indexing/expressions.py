"""Index expressions as MLIR writes them: the order of their parts is kept.

An expression is an int, the name of a variable (``d0``, ``s0``, ``rt0``), or an operation. The
functions that build operations fold numbers and put them last, as MLIR does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import partial, reduce
from typing import Any, Final, NoReturn, TypeAlias

from morello_layouts.core.expr import AffineExpr, Interval, Var, canonicalize
from morello_layouts.core.expr.affine import Atom, Call, Digit
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import EXPR_NESTING, INDEXING_TEXT
from morello_layouts.errors import ParseError, UnsupportedError
from morello_layouts.notations.grammar import INT, Source, Syntax, Terminal, integer

Expr: TypeAlias = "int | str | IndexOperation"


@frozen
class IndexOperation:
    """An operation: ``+`` of two parts or more, and ``* floordiv ceildiv mod min max`` of two.

    Raises:
        UnsupportedError: if operations nest too deep.
    """

    kind: str  #: the operation.
    parts: tuple[Expr, ...]  #: its operands.
    #: the nesting of operations, from 1.
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max(
            (part.depth for part in self.parts if isinstance(part, IndexOperation)), default=0
        )
        object.__setattr__(self, "depth", depth)
        if depth > EXPR_NESTING:
            raise UnsupportedError(
                f"operations nest deeper than {EXPR_NESTING}",
                "simplifying them would take too long",
                "split the expression",
            )


def is_symbolic(x: Expr) -> bool:
    """Whether no dimension occurs in an expression."""
    return all(not name.startswith("d") for name in names_of(x))


def names_of(x: Expr) -> Iterator[str]:
    """Yield the variables of an expression, each as often as it occurs."""
    if isinstance(x, str):
        yield x
    elif isinstance(x, IndexOperation):
        for part in x.parts:
            yield from names_of(part)


def add(*parts: Expr) -> Expr:
    """Return a sum: equal parts are joined, the number is last, symbols follow dimensions.

    >>> text_of(add("s0", 3, "d0", times("d0", 3), -1))
    'd0 * 4 + s0 + 2'
    """
    const, factors = 0, dict[Expr, int]()
    for part in parts:
        for one in summands(part):
            if isinstance(one, int):
                const += one
                continue
            core, factor = factored(one)
            if core not in factors and not is_symbolic(core) and all(map(is_symbolic, factors)):
                factors = {core: 0, **factors}
            factors[core] = factors.get(core, 0) + factor
    terms = [times(core, factor) for core, factor in factors.items() if factor]
    terms += [const] if const or not terms else []
    return terms[0] if len(terms) == 1 else IndexOperation("+", tuple(terms))


def summands(x: Expr) -> tuple[Expr, ...]:
    """Return the parts of a sum; of another expression itself."""
    return x.parts if isinstance(x, IndexOperation) and x.kind == "+" else (x,)


def factored(x: Expr) -> tuple[Expr, int]:
    """Return an expression as another one and a number by which it is multiplied."""
    if isinstance(x, IndexOperation) and x.kind == "*" and isinstance(x.parts[1], int):
        return x.parts[0], x.parts[1]
    return x, 1


def times(x: Expr, y: Expr) -> Expr:
    """Return a product, its number last.

    >>> text_of(times(3, times("d0", -2)))
    'd0 * -6'
    """
    if isinstance(x, int) or (is_symbolic(x) and not isinstance(y, int) and not is_symbolic(y)):
        x, y = y, x
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    if isinstance(y, int):
        x, factor = factored(x)
        y *= factor
        if y in (0, 1):
            return x if y else 0
    return IndexOperation("*", (x, y))


def floordiv(x: Expr, y: int) -> Expr:
    """Return ``x floordiv y``, rounded down; y is not 0."""
    core, factor = factored(x)
    if isinstance(x, int) or y == 1:
        return x // y if isinstance(x, int) else x
    return IndexOperation("floordiv", (x, y)) if factor % y else times(core, factor // y)


def ceildiv(x: Expr, y: int) -> Expr:
    """Return ``x ceildiv y``, rounded up; y is not 0."""
    if isinstance(x, int) or y == 1:
        return -(-x // y) if isinstance(x, int) else x
    return IndexOperation("ceildiv", (x, y))


def mod(x: Expr, y: int) -> Expr:
    """Return ``x mod y``, from 0 to y - 1; y is positive.

    >>> mod(add("d0", -5), 1), mod(times("d0", 8), 4), mod(-3, 4)
    (0, 0, 1)
    """
    if isinstance(x, int):
        return x % y
    return IndexOperation("mod", (x, y)) if factored(x)[1] % y else 0


def extremum(kind: str, x: Expr, y: Expr) -> Expr:
    if isinstance(x, int) and isinstance(y, int):
        return min(x, y) if kind == "min" else max(x, y)
    return IndexOperation(kind, (x, y))


BUILDERS: Final[Mapping[str, Callable[..., Expr]]] = {
    "+": add,
    "*": times,
    "floordiv": floordiv,
    "ceildiv": ceildiv,
    "mod": mod,
    "min": partial(extremum, "min"),
    "max": partial(extremum, "max"),
}
"""The function that builds each operation."""


def substitute(x: Expr, values: Mapping[str, Expr]) -> Expr:
    """Return an expression with others in place of some variables."""
    if isinstance(x, str):
        return values.get(x, x)
    if isinstance(x, int):
        return x
    return BUILDERS[x.kind](*(substitute(part, values) for part in x.parts))


def evaluate(x: Expr, values: Mapping[str, Any]) -> Any:
    """Return the value at ints, or at NumPy arrays, which broadcast."""
    if isinstance(x, str):
        return values[x]
    if isinstance(x, int):
        return x
    return reduce(_OPERATORS[x.kind], [evaluate(part, values) for part in x.parts])


def _least_or_most(kind: str, left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return extremum(kind, left, right)
    import numpy as np

    return np.minimum(left, right) if kind == "min" else np.maximum(left, right)


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "*": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": lambda left, right: -(-left // right),
    "mod": operator.mod,
    "min": partial(_least_or_most, "min"),
    "max": partial(_least_or_most, "max"),
}
_COSTS: Final = {"+": 1, "*": 1, "min": 1, "max": 1}


def cost_of(x: Expr) -> int:
    """Return the number of operations, each division and remainder counted twice.

    >>> cost_of(add(times(floordiv("d0", 8), 24), "d0"))
    4
    """
    if not isinstance(x, IndexOperation):
        return 0
    each = 0 if x.kind == "*" and x.parts[1] == -1 else _COSTS.get(x.kind, 2)
    return sum(map(cost_of, x.parts)) + each * (len(x.parts) - 1)


def weight_of(x: Expr) -> int:
    """Return the sum of the numbers in an expression, without their signs.

    >>> weight_of(floordiv(add("d0", 8), 8)), weight_of(add(floordiv("d0", 8), 1))
    (16, 9)
    """
    if isinstance(x, IndexOperation):
        return sum(map(weight_of, x.parts))
    return abs(x) if isinstance(x, int) else 0


def text_of(x: Expr, names: Mapping[str, str] | None = None) -> str:
    """Return an expression as XLA prints it, with other names for some variables.

    >>> text_of(add(times(floordiv("d0", 2), -1), times(mod("s0", 3), -4), 9), {"d0": "row"})
    '-(row floordiv 2) - (s0 mod 3) * 4 + 9'
    """
    return _AsXla(names or {}).text(x)


class _AsXla:
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def text(self, x: Expr) -> str:
        if isinstance(x, str):
            return self.names.get(x, x)
        if isinstance(x, int):
            return str(x)
        if x.kind == "+":
            return self.text(x.parts[0]) + "".join(map(self.summand, x.parts[1:]))
        left, right = x.parts
        if x.kind in ("min", "max"):
            return f"{x.kind}({self.text(left)}, {self.text(right)})"
        if x.kind == "*" and right == -1:
            return f"-{self.operand(left)}"
        return f"{self.operand(left)} {x.kind} {self.operand(right)}"

    def operand(self, x: Expr) -> str:
        is_bare = not isinstance(x, IndexOperation) or x.kind in ("min", "max")
        return self.text(x) if is_bare else f"({self.text(x)})"

    def summand(self, x: Expr) -> str:
        if isinstance(x, int):
            return f" - {-x}" if x < 0 else f" + {x}"
        core, factor = factored(x)
        if factor == -1:
            is_sum = isinstance(core, IndexOperation) and core.kind == "+"
            return f" - {self.operand(core) if is_sum else self.text(core)}"
        if factor < 0:
            return f" - {self.operand(core)} * {-factor}"
        return f" + {self.text(x)}"


class Forms:
    """Expressions as affine forms, which the simplifier knows, and back.

    A product of variables, a minimum or a maximum is a variable of its own in a form, unless one
    of two values is always the smaller.

    >>> forms = Forms({"d0": (0, 31), "d1": (0, 7)})
    >>> form = forms.form(add(times(floordiv("d0", -2), 8), "d1"))
    >>> print(form.interval)
    -128..7
    >>> text_of(forms.expr(form))
    'd1 + ((-d0) floordiv 2) * 8'
    """

    def __init__(self, bounds: Mapping[str, tuple[int, int]]) -> None:
        self.bounds = {name: Interval(*ends) for name, ends in bounds.items()}
        self.hidden: dict[str, Expr] = {}

    def form(self, x: Expr) -> AffineExpr:
        """Return an expression as a form over variables with bounds."""
        if isinstance(x, int):
            return AffineExpr((), x)
        if isinstance(x, str):
            return AffineExpr(((Var(x, self.bounds[x]), 1),), 0)
        parts = [self.form(part) for part in x.parts]
        if x.kind == "+":
            return sum(parts, AffineExpr((), 0))
        left, right = parts
        if x.kind in ("min", "max"):
            least, most = canonicalize(left - right).interval
            if isinstance(most, int) and most <= 0:
                return left if x.kind == "min" else right
            if isinstance(least, int) and least >= 0:
                return right if x.kind == "min" else left
        if right.terms or not isinstance(right.const, int) or x.kind in ("min", "max"):
            return self._hide(x, left.interval, right.interval)
        number = right.const
        if x.kind == "*":
            return left * number
        if x.kind == "mod":
            return left % number
        sign = -1 if number < 0 else 1
        if x.kind == "ceildiv":
            return ((left * -sign) // abs(number)) * -1
        return (left * sign) // abs(number)

    def _hide(self, x: IndexOperation, left: Interval, right: Interval) -> AffineExpr:
        """Return a new variable for an operation that forms do not have."""
        whole = substitute(x, self.hidden)
        for name, known in self.hidden.items():
            if known == whole:
                return self.form(name)
        return self.name(whole, _range_of(x.kind, left, right))

    def name(self, x: Expr, interval: Interval) -> AffineExpr:
        """Return a new variable in place of an expression with known bounds."""
        name = f"x{len(self.hidden)}"
        self.hidden[name], self.bounds[name] = x, interval
        return self.form(name)

    def expr(self, form: AffineExpr) -> Expr:
        """Return a form as an expression: dimensions, symbols, quotients, remainders, a number."""
        return form.fold(self)

    def variable(self, v: Var) -> Expr:
        return self.hidden.get(v.name, v.name)

    def digit(self, d: Digit, operand: Expr) -> Expr:
        assert isinstance(d.divisor, int)
        assert isinstance(d.modulus, int | None)
        found = operand if d.divisor == 1 else floordiv(operand, d.divisor)
        return found if d.modulus is None else mod(found, d.modulus)

    def call(self, x: Call, parts: list[Expr]) -> NoReturn:
        raise AssertionError(f"a bug: XLA has no {x} in indices")

    def sum(self, terms: list[tuple[Atom, Int, Expr]], const: Int) -> Expr:
        terms.sort(key=_print_key)
        assert isinstance(const, int)
        return add(*(times(x, c) for _, c, x in terms), const)  # type: ignore[arg-type]


def _print_key(term: tuple[Atom, Int, Expr]) -> tuple[Any, ...]:
    atom, factor, _ = term
    if isinstance(atom, Var):
        kind = "".join(c for c in atom.name if c.isalpha())
        return 0, ("d", "s", "rt", "x").index(kind), int(atom.name[len(kind) :])
    return 1, atom.modulus is not None, -abs(factor), atom.key  # type: ignore[arg-type]


def _range_of(kind: str, left: Interval, right: Interval) -> Interval:
    """Return the range of a product, a minimum or a maximum of bounded operands."""
    ends = [(a, b) for a in left for b in right if isinstance(a, int) and isinstance(b, int)]
    if kind == "*":
        products = [a * b for a, b in ends]
        return Interval(min(products), max(products))
    choose = min if kind == "min" else max
    return Interval(choose(ends[0]), choose(ends[-1]))


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
    IndexOperation(kind='*', parts=('d0', 2))
    """
    reader = ExpressionParser(text)
    reader.inner = dict(names)
    found = reader.expression()
    reader.source.end()
    return found


class ExpressionParser:
    """Expressions of a text, whose operators keep their order: products of variables, too."""

    def __init__(self, text: str) -> None:
        self.source = Source(text, SYNTAX)  #: the text.
        #: the inner name of each variable, by its name in the text.
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
            at, kind = self.source.at, "floordiv" if sign == "/" else str(sign)
            right = self._operand()
            is_number = isinstance(right, int) and right != 0 and (right > 0 or kind != "mod")
            if kind != "*" and not is_number:
                positive = "a positive number" if kind == "mod" else "a number other than 0"
                self.refuse(f"{kind}: expected {positive}", at, f"write {positive}")
            try:
                found = BUILDERS[kind](found, right)
            except UnsupportedError as error:
                self.refuse(error.what, at, error.fix)
        return found

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
            source.need("(")
            return extremum(str(call), self._argument(","), self._argument(")"))
        if source.take("("):
            return self._argument(")")
        name = source.need(NAME)
        if name not in self.inner:
            what = f"{name} is not a variable of the map"
            self.refuse(what, name.start, f"use {', '.join(self.inner)}" if self.inner else "")
        return self.inner[name]

    def _argument(self, close: str) -> Expr:
        found = self.expression()
        self.source.need(close)
        return found

    def refuse(self, what: str, at: int, fix: str) -> NoReturn:
        """Refuse the text, with a caret at a place."""
        raise ParseError(what, SYNTAX.form, fix, text=self.source.text, position=at)
