"""Operations as a program computes them: what every target prints.

A :class:`Node` is one operation on other nodes. Equal nodes made by one :class:`Nodes` are one
object, so that a common subexpression is a node with several users, and memory stays small where
forms share their operands.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final

from morello_layouts.expr import Interval
from morello_layouts.expr.size import is_nonnegative

__all__ = ["Node", "Nodes", "Op", "is_known_nonnegative", "users"]


class Op(Enum):
    """What a node does with its operands."""

    NAME = "name"  # value: the variable's or size's name
    CONST = "const"  # value: the int
    SUM = "sum"  # value: a sign, 1 or -1, for each operand; a condition counts as 0 or 1
    MUL = "mul"
    DIV = "div"  # of a negative operand the target's own quotient
    MOD = "mod"  # of a negative operand the target's own remainder
    SHL = "shl"
    SHR = "shr"
    AND = "and"  # bits
    LT = "lt"
    LE = "le"
    GE = "ge"
    EQ = "eq"
    ANY = "any"  # whether one of its operands is true; none: false


class Node:
    """An operation, its operands, and which values it takes.

    Attributes:
        interval: the values of the result.
        reach: the values on the way to it: of a sum, all partial sums.
    """

    __slots__ = ("args", "interval", "op", "reach", "value")

    def __init__(
        self, op: Op, args: tuple[Node, ...], interval: Interval, reach: Interval, value: Any
    ) -> None:
        self.op: Final = op
        self.args: Final = args
        self.interval: Final = interval
        self.reach: Final = reach
        self.value: Final = value

    @property
    def is_leaf(self) -> bool:
        """Whether nothing is computed: a name or a number."""
        return self.op in (Op.NAME, Op.CONST)

    @property
    def is_condition(self) -> bool:
        """Whether the value is true or false."""
        return self.op in (Op.LT, Op.LE, Op.GE, Op.EQ, Op.ANY)

    def __repr__(self) -> str:
        return f"Node({self.op.value}, {self.value}, {list(self.args)})"


class Nodes:
    """Makes nodes, equal ones once.

    >>> nodes = Nodes()
    >>> nodes.const(8) is nodes.const(8)
    True
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Node] = {}

    def make(
        self,
        op: Op,
        args: Iterable[Node],
        interval: Interval,
        *,
        reach: Interval | None = None,
        value: Any = None,
    ) -> Node:
        """The node of an operation on nodes of this maker."""
        operands = tuple(args)
        key = (op, value, *map(id, operands))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Node(op, operands, interval, reach or interval, value)
        return found

    def const(self, value: int) -> Node:
        """An integer."""
        return self.make(Op.CONST, (), Interval(value, value), value=value)

    def name(self, name: str, interval: Interval) -> Node:
        """A variable, or a symbolic size."""
        return self.make(Op.NAME, (), interval, value=name)

    def truth(self, op: Op, *args: Node) -> Node:
        """A condition on nodes."""
        return self.make(op, args, Interval(0, 1))


def is_known_nonnegative(interval: Interval) -> bool:
    """Whether all values are known to be at least 0."""
    return interval.lo is not None and is_nonnegative(interval.lo)


def users(roots: Iterable[Node]) -> dict[Node, int]:
    """For each node below these how often it is used, operands before their users.

    Each root counts as one use.
    """
    count: dict[Node, int] = {}
    order: list[Node] = []
    # A node is met twice: first to visit its operands, then to take its place after them.
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
