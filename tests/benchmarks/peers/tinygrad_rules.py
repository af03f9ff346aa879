"""tinygrad: its table of rewrite rules, to the fixpoint."""

from __future__ import annotations

from functools import reduce
from typing import Any

from tinygrad.uop.ops import Ops, UOp, graph_rewrite
from tinygrad.uop.symbolic import sym

from peers.peer import Peer, Unreadable
from peers.tree import Bounds, Tree

_BUILD = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_READ = {
    Ops.ADD: "+",
    Ops.MUL: "*",
    Ops.FLOORDIV: "//",
    Ops.FLOORMOD: "%",
    Ops.CDIV: "tdiv",
    Ops.CMOD: "trem",
}


def peers(library: str) -> list[Peer]:
    """One peer: ``simplify``, and its larger table ``sym``."""
    return [Peer("tinygrad", solve, read, (solve, solve_sym), library)]


def solve(tree: Tree, bounds: Bounds) -> Any:
    """The tree as ``UOp.simplify`` leaves it."""
    return _whole(tree, bounds).simplify()


def solve_sym(tree: Tree, bounds: Bounds) -> Any:
    """The tree after the rules of ``sym``."""
    return graph_rewrite(_whole(tree, bounds), sym)


def _whole(tree: Tree, bounds: Bounds) -> Any:
    return _built(tree, {name: UOp.variable(name, *ends) for name, ends in bounds.items()})


def _built(tree: Tree, names: dict[str, Any]) -> Any:
    if isinstance(tree, int):
        return next(iter(names.values())).const_like(tree)
    if isinstance(tree, str):
        return names[tree]
    return reduce(_BUILD[tree[0]], [_built(a, names) for a in tree[1:]])


def read(e: Any) -> Tree:
    """An expression of tinygrad's as a tree."""
    if e.op is Ops.CONST:
        return int(e.arg)
    if getattr(e.arg, "name", None) is not None:
        return str(e.arg.name)
    if e.op not in _READ:
        raise Unreadable(str(e.op))
    return (_READ[e.op], *map(read, e.src))
