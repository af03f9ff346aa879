"""TVM: ``Analyzer.simplify``, its rewriting and canonical simplifiers in turn."""

from __future__ import annotations

from functools import reduce
from typing import Any

import tvm.ir
from tvm import tirx
from tvm.sym import Analyzer

from peers.peer import Peer, Unreadable
from peers.tree import Bounds, Tree

_BUILD = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "//": tirx.floordiv, "%": tirx.floormod}
_BUILD |= {
    "min": tirx.min, "max": tirx.max, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "==": tirx.EQ, "!=": tirx.NE,
    "and": tirx.And, "or": tirx.Or,
}  # fmt: skip
_CHOOSE = {"Min": "min", "Max": "max", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "EQ": "==",
           "NE": "!=", "And": "and", "Or": "or"}  # fmt: skip
_READ = {"Add": "+", "Mul": "*", "FloorDiv": "//", "FloorMod": "%", "Div": "tdiv", "Mod": "trem"}


def peers(library: str) -> list[Peer]:
    """One peer: two steps, as TVM's own passes ask for."""
    return [Peer("TVM", solve, read, (), library)]


def solve(tree: Tree, bounds: Bounds) -> Any:
    """The tree as TVM simplifies it."""
    names = {name: tirx.Var(name, "int64") for name in bounds}
    analyzer = Analyzer()
    for name, (lo, hi) in bounds.items():
        analyzer.bind(names[name], tvm.ir.Range(lo, hi + 1))
    return analyzer.simplify(_built(tree, names), 2)


def _built(tree: Tree, names: dict[str, Any]) -> Any:
    if isinstance(tree, int):
        return tirx.IntImm("int64", tree)
    if isinstance(tree, str):
        return names[tree]
    if tree[0] == "select":
        return tirx.Select(*(_built(a, names) for a in tree[1:]))
    return reduce(_BUILD[tree[0]], [_built(a, names) for a in tree[1:]])


def read(e: Any) -> Tree:
    """An expression of TVM's as a tree."""
    kind = type(e).__name__
    if kind == "IntImm":
        return int(e.value)
    if kind == "Var":
        return str(e.name)
    if kind == "Sub":
        return ("+", read(e.a), ("*", -1, read(e.b)))
    if kind == "Select":
        return ("select", read(e.condition), read(e.true_value), read(e.false_value))
    if kind == "Cast":
        return read(e.value)
    if kind == "Not":
        return ("<=", read(e.a), 0)
    if kind in _CHOOSE:
        return (_CHOOSE[kind], read(e.a), read(e.b))
    if kind not in _READ:
        raise Unreadable(str(e))
    return (_READ[kind], read(e.a), read(e.b))
