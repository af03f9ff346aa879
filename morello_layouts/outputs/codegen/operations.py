"""Operations on integers: lower affine expressions to a graph of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from math import gcd
from typing import Any, Final, TypeAlias

from morello_layouts.core.expr import AffineExpr, Atom, Call, Digit, Interval, Var
from morello_layouts.core.expr.affine import comparison, is_condition
from morello_layouts.core.expr.bounds import hull
from morello_layouts.core.expr.calls import printing_order
from morello_layouts.core.expr.sizes import (
    Int,
    Monomial,
    Quotient,
    SizeAtom,
    SizeExpr,
    absolute,
    is_nonnegative,
    sign,
)
from morello_layouts.core.expr.substitution import replace_digits
from morello_layouts.core.fields import frozen


class Op(Enum):
    """The operation of a node on its operands."""

    NAME = "name"  # value: the variable's or size's name
    CONST = "const"  # value: the int
    SUM = "sum"  # value: a sign, 1 or -1, for each operand; a condition counts as 0 or 1
    MUL = "mul"
    DIV = "div"  # for a negative operand, the target's own quotient
    MOD = "mod"  # for a negative operand, the target's own remainder
    SHL = "shl"
    SHR = "shr"
    AND = "and"  # bitwise
    XOR = "xor"  # bitwise, of any number of operands
    LT = "lt"
    LE = "le"
    GE = "ge"
    EQ = "eq"
    NE = "ne"
    ANY = "any"  # whether one of its operands is true; false without operands
    ALL = "all"  # whether each of its operands is true
    SELECT = "select"  # the second operand if the first, a condition, is true, else the third


_CONDITIONS: Final = frozenset((Op.LT, Op.LE, Op.GE, Op.EQ, Op.NE, Op.ANY, Op.ALL))
_MARKS: Final = {">=": Op.GE, "<=": Op.LE, "<": Op.LT, "==": Op.EQ, "!=": Op.NE}


class Node:
    """An operation, its operands, and the bounds of its values."""

    __slots__ = ("args", "interval", "op", "reach", "value")

    def __init__(
        self, op: Op, args: tuple[Node, ...], interval: Interval, reach: Interval, value: Any
    ) -> None:
        self.op: Final = op
        self.args: Final = args
        self.interval: Final = interval  #: the bounds of the result.
        #: the bounds of intermediate values: of a sum, of all partial sums.
        self.reach: Final = reach
        self.value: Final = value

    @property
    def is_leaf(self) -> bool:
        """Whether the node is a name or a number, which needs no computation."""
        return self.op in (Op.NAME, Op.CONST)

    @property
    def is_condition(self) -> bool:
        return self.op in _CONDITIONS

    def __repr__(self) -> str:
        return f"Node({self.op.value}, {self.value}, {list(self.args)})"


def is_known_nonnegative(interval: Interval) -> bool:
    """Whether all values are known to be at least 0."""
    return interval.lo is not None and is_nonnegative(interval.lo)


def use_counts(roots: Iterable[Node]) -> dict[Node, int]:
    """Return how often each node below some roots is used, operands before their users.

    Each root counts as one use.
    """
    count: dict[Node, int] = {}
    order: list[Node] = []
    # The stack holds a node twice: to visit its operands, then to place it after them.
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
            continue
        count[node] = count.get(node, 0) + 1
        if count[node] == 1:
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(node.args)]
    return {node: count[node] for node in order}


Term: TypeAlias = tuple[Atom | None, Int]
"""A term of a sum; its constant has no atom."""


@frozen
class TargetArithmetic:
    """The meaning of a target's operators."""

    #: whether division and remainder round down for negative operands too, as in Python; otherwise
    #: they may truncate, as in C.
    floors: bool = False
    #: whether powers of two become shifts and masks if operands are nonnegative.
    shifts: bool = False


class Lowering:
    """A lowering of affine expressions to nodes that share their common parts.

    >>> from morello_layouts.core.expr import variable
    >>> Lowering(TargetArithmetic()).form(variable("i", 0, 7) // 4)
    Node(div, None, [Node(name, i, []), Node(const, 4, [])])
    """

    def __init__(
        self, arithmetic: TargetArithmetic, size_bounds: Mapping[str, Interval] | None = None
    ) -> None:
        """Begin without nodes; symbolic sizes without bounds are at least 1."""
        self.arithmetic = arithmetic
        self.size_bounds = size_bounds or {}
        self._known: dict[tuple[Any, ...], Node] = {}
        self._forms: dict[AffineExpr, Node] = {}
        self._raised: dict[AffineExpr, AffineExpr] = {}

    def make(
        self,
        op: Op,
        args: Iterable[Node],
        interval: Interval,
        *,
        reach: Interval | None = None,
        value: Any = None,
    ) -> Node:
        """Return the node of an operation; equal ones are made once."""
        operands = tuple(args)
        key = (op, value, *map(id, operands))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Node(op, operands, interval, reach or interval, value)
        return found

    def const(self, value: int) -> Node:
        return self.make(Op.CONST, (), Interval(value, value), value=value)

    def name(self, name: str, interval: Interval) -> Node:
        return self.make(Op.NAME, (), interval, value=name)

    def condition(self, op: Op, *args: Node) -> Node:
        return self.make(op, args, Interval(0, 1))

    def form(self, form: AffineExpr) -> Node:
        """Return the operations that compute an expression."""
        return self._form(form if self.arithmetic.floors else raised(form, self._raised))

    def at_least(self, form: AffineExpr, bound: Int) -> Node:
        """Return the condition that an expression is at least a bound."""
        return self.condition(Op.GE, self.form(form), self.number(bound))

    def number(self, value: Int) -> Node:
        """Return an integer, or the operations that compute a symbolic size."""
        if not isinstance(value, SizeExpr):
            return self.const(value)
        pieces = sorted(value.printing_order(), key=lambda piece: piece[1] < 0)
        total: Int = 0
        parts, partial = [], []
        for monomial, c in pieces:
            parts.append((self._monomial(monomial, abs(c)), 1 if c > 0 else -1))
            total = total + (SizeExpr(((monomial, c),)) if monomial else c)
            partial.append(Interval(total, total))
        return self._sum(parts, Interval(value, value), partial)

    def _monomial(self, monomial: Monomial, factor: int) -> Node:
        """Return a product of sizes and of their quotients: 4·(N // 8), if exact, as N // 2."""
        factors: list[tuple[Node, Int]] = []
        for name, power in monomial:
            shared = 1
            if isinstance(name, Quotient) and isinstance(name.divisor, int) and name.exact:
                shared = gcd(factor, name.divisor) if power == 1 else 1
                factor //= shared
            factors += [(self._size(name, shared), SizeExpr.named(name))] * power
        node = self.const(factor)
        part: Int = factor
        for one, size in factors:
            part = part * size
            node = one if node.value == 1 else self._times(node, one, Interval(part, part))
        return node

    def size(self, name: str) -> Node:
        return self.name(name, self.size_bounds.get(name, Interval(1, None)))

    def _size(self, name: SizeAtom, times: int) -> Node:
        """Return a named size, or a multiple of a quotient of sizes."""
        if isinstance(name, str):
            return self.size(name)
        up = 0 if name.exact else name.divisor - 1
        above, divisor = name.numerator + up, name.divisor // times
        if divisor == 1:
            return self.number(above)
        value = SizeExpr.named(name) * times
        return self._divide(
            self.number(above), divisor, Interval(above, above), Interval(value, value)
        )

    def _form(self, form: AffineExpr) -> Node:
        found = self._forms.get(form)
        if found is None:
            found = self._forms[form] = self._linear(form)
        return found

    def _linear(self, form: AffineExpr) -> Node:
        if not form.terms:
            return self.number(form.const)
        pieces = _ordered(form)
        parts = [
            (self.number(absolute(c)), sign(c))
            if atom is None
            else (self._scaled(self._atom(atom), absolute(c), atom.interval), sign(c))
            for atom, c in pieces
        ]
        return self._sum(parts, form.interval, _partial(pieces))

    def _sum(
        self, parts: Sequence[tuple[Node, int]], interval: Interval, partial: Sequence[Interval]
    ) -> Node:
        if len(parts) == 1 and parts[0][1] == 1:
            return parts[0][0]
        signs = tuple(s for _, s in parts)
        reach = hull((interval, *partial))
        nodes = [node for node, _ in parts]
        return self.make(Op.SUM, nodes, interval, reach=reach, value=signs)

    def _scaled(self, node: Node, factor: Int, interval: Interval) -> Node:
        if factor == 1:
            return node
        return self._times(self.number(factor), node, interval.scale(factor))

    def _times(self, factor: Node, node: Node, interval: Interval) -> Node:
        if factor.op is Op.CONST and self._shifts(factor.value) and is_known_nonnegative(interval):
            by = self.const(factor.value.bit_length() - 1)
            return self.make(Op.SHL, (node, by), interval)
        return self.make(Op.MUL, (factor, node), interval)

    def _atom(self, atom: Atom) -> Node:
        if isinstance(atom, Var):
            return self.name(atom.name, atom.interval)
        if isinstance(atom, Call):
            return self._call(atom)
        node, interval = self._form(atom.operand), atom.operand.interval
        if atom.divisor != 1:
            quotient = interval.floordiv(atom.divisor)
            node = self._divide(node, atom.divisor, interval, quotient)
            interval = quotient
        if atom.modulus is not None:
            node = self._modulo(node, atom.modulus, interval, atom.interval)
        return node

    def _call(self, x: Call) -> Node:
        if x.kind == "xor":
            return self.make(Op.XOR, map(self._form, x.parts), x.interval)
        form = AffineExpr(((x, 1),), 0)
        if is_condition(form):
            return self._choice(self._condition(form), self.number(1), self.number(0), x)
        if x.kind == "select":
            condition, one, zero = x.parts
            chosen = self._form(one), self._form(zero)
            return self._choice(self._condition(condition), *chosen, x)
        first, *others = x.parts
        node = self._form(first)
        for k, part in enumerate(others, 2):
            other = self._form(part)
            is_less = self.condition(Op.LE, node, other)
            pair = (node, other) if x.kind == "min" else (other, node)
            node = self._choice(is_less, *pair, Call(x.kind, x.parts[:k]))
        return node

    def _choice(self, condition: Node, one: Node, other: Node, x: Call) -> Node:
        return self.make(Op.SELECT, (condition, one, other), x.interval)

    def _condition(self, form: AffineExpr) -> Node:
        atom = form.as_atom()
        if not is_condition(form) or not isinstance(atom, Call):
            return self.condition(Op.NE, self._form(form), self.number(0))
        if len(atom.parts) > 1:
            op = Op.ALL if atom.kind == "min" else Op.ANY
            return self.condition(op, *map(self._condition, atom.parts))
        left, mark, right = comparison(atom)
        if mark == ">":
            left, mark, right = right, "<", left
        return self.condition(_MARKS[mark], self._form(left), self._form(right))

    def _divide(self, node: Node, by: Int, values: Interval, quotient: Interval) -> Node:
        is_plain = is_known_nonnegative(values)
        if isinstance(by, int) and is_plain and self._shifts(by):
            return self.make(Op.SHR, (node, self.const(by.bit_length() - 1)), quotient)
        divisor = self.number(by)
        if is_plain or self.arithmetic.floors:
            return self.make(Op.DIV, (node, divisor), quotient)
        # If / truncates, % is negative exactly when / is one too large; if / rounds down, % never
        # is. Neither step leaves the range of x.
        near = self.make(Op.DIV, (node, divisor), hull((quotient, Interval(0, 0))))
        rest = self.make(Op.MOD, (node, divisor), Interval(1 - by, by - 1))
        is_above = self.condition(Op.LT, rest, self.const(0))
        return self.make(Op.SUM, (near, is_above), quotient, value=(1, -1))

    def _modulo(self, node: Node, by: Int, values: Interval, result: Interval) -> Node:
        is_plain = is_known_nonnegative(values)
        if isinstance(by, int) and is_plain and self._shifts(by):
            return self.make(Op.AND, (node, self.const(by - 1)), result)
        modulus = self.number(by)
        if is_plain or self.arithmetic.floors:
            return self.make(Op.MOD, (node, modulus), result)
        # The first remainder may be negative; the operand of the second is not.
        rest = self.make(Op.MOD, (node, modulus), Interval(1 - by, by - 1))
        raised = self.make(Op.SUM, (rest, modulus), Interval(1, 2 * by - 1), value=(1, 1))
        return self.make(Op.MOD, (raised, modulus), Interval(0, by - 1))

    def _shifts(self, number: int) -> bool:
        return self.arithmetic.shifts and number > 1 and number.bit_count() == 1


def raised(form: AffineExpr, known: dict[AffineExpr, AffineExpr] | None = None) -> AffineExpr:
    """Return the form with operands made nonnegative by multiples of their divisors.

    x // s = (x + k·s) // s - k, and x mod n = (x + k·n) mod n, for a k that is large enough but
    does not exceed the type that holds x. ``known`` keeps what was found.

    >>> from morello_layouts.core.expr import variable
    >>> print(raised((variable("i", 0, 7) - 6) // 4))
    (i + 2)//4 - 2
    """
    kept = {} if known is None else known

    def of_digit(digit: Digit) -> AffineExpr:
        operand, step = raised(digit.operand, kept), digit.divisor * (digit.modulus or 1)
        k = 0 if digit.is_group else _missing(operand, step)
        found = Digit(operand + k * step, digit.divisor, digit.modulus)
        return AffineExpr(((found, 1),), 0 if digit.modulus is not None else -k)

    if form not in kept:
        kept[form] = replace_digits(form, of_digit)
    return kept[form]


def _missing(of: AffineExpr, step: Int) -> Int:
    """Return how many steps, of at least 1 each, make values nonnegative; 0 if none is known."""
    lo, hi = of.interval
    if lo is None or is_nonnegative(lo) or not is_nonnegative(-lo):
        return 0
    if isinstance(lo, int) and isinstance(step, int):
        k = -(lo // step)
        if hi is None:  # nothing can be added to the largest signed integer
            return k if all(is_known_nonnegative(a.interval.scale(c)) for a, c in of.terms) else 0
        return 0 if isinstance(hi, int) and _outgrows(lo, hi, hi + k * step) else k
    for k in (1, 2):
        if is_nonnegative(lo + k * step):
            return k
    return -lo


def _outgrows(lo: int, hi: int, raised: int) -> bool:
    """Whether a raised end needs a wider signed type than the values themselves."""
    return any(-end <= lo and hi < end <= raised for end in (2**31, 2**63))


def _ordered(form: AffineExpr) -> list[Term]:
    """Return the terms as people write them, or positive ones first if this avoids a sign."""
    pieces: list[Term] = [*printing_order(form.terms)]
    if form.const:
        pieces.append((None, form.const))
    if all(is_known_nonnegative(i) for i in _partial(pieces)[:-1]):
        return pieces
    return sorted(pieces, key=lambda piece: sign(piece[1]) < 0)


def _partial(pieces: Sequence[Term]) -> list[Interval]:
    """Return the bounds of the sums of the first terms."""
    sums = []
    for k in range(len(pieces)):
        terms = [(atom, c) for atom, c in pieces[: k + 1] if atom is not None]
        const = sum((c for atom, c in pieces[: k + 1] if atom is None), start=0)
        sums.append(AffineExpr.from_terms(terms, const).interval)
    return sums
