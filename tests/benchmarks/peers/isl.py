"""ISL: the expression that its code generator prints for a quasi-affine function on a box."""

from __future__ import annotations

from itertools import product
from typing import Any

import islpy as isl

from peers.peer import Peer, Unreadable
from peers.tree import Bounds, Tree

BUDGET = 2_000_000
"""Operations of ISL after which an equality counts as undecided."""

_CONTEXT = isl.DEFAULT_CONTEXT
_OPS = isl.ast_expr_op_type
_SUMS = {_OPS.add: 1, _OPS.sub: -1}
_CHOICES = {
    _OPS.max: "max", _OPS.min: "min", _OPS.le: "<=", _OPS.lt: "<", _OPS.ge: ">=", _OPS.gt: ">",
    _OPS.eq: "==", _OPS.and_: "and", _OPS.or_: "or", _OPS.and_then: "and", _OPS.or_else: "or",
    _OPS.cond: "select", _OPS.select: "select",
}  # fmt: skip
_DIVISIONS = {
    _OPS.fdiv_q: "//",
    _OPS.pdiv_q: "tdiv",
    _OPS.div: "tdiv",
    _OPS.pdiv_r: "trem",
    _OPS.zdiv_r: "trem",
}


def peers(library: str) -> list[Peer]:
    """ISL with the function made by calls, and by parsing text as most callers do."""
    variants = tuple(_variant(gist=bool(gist), pdiv=pdiv) for gist, pdiv in product((0, 1), (0, 1)))
    return [
        Peer("ISL", _variant(gist=True, pdiv=0), read, variants, library),
        Peer("ISL, from text", solve_text, read, (), library),
    ]


def _variant(*, gist: bool, pdiv: int) -> Any:
    def solve(tree: Tree, bounds: Bounds) -> Any:
        domain = box(bounds)
        return _printed(function(tree, bounds).intersect_domain(domain), domain, gist, pdiv)

    return solve


def solve_text(tree: Tree, bounds: Bounds) -> Any:
    """The same through ISL's notation."""
    names = ",".join(bounds)
    f = isl.PwAff(f"{{ [{names}] -> [{_text(tree)}] : {_limits(bounds)} }}")
    return _printed(f, f.domain(), True, 0)


def _printed(f: isl.PwAff, domain: isl.Set, gist: bool, pdiv: int) -> Any:
    _CONTEXT.set_ast_build_prefer_pdiv(pdiv)
    f = f.coalesce()
    if gist:
        f = f.gist(domain)
    return isl.AstBuild.from_context(domain).expr_from_pw_aff(f)


def box(bounds: Bounds) -> isl.Set:
    """The integer points within the bounds."""
    return isl.Set(f"{{ [{','.join(bounds)}] : {_limits(bounds)} }}")


def _limits(bounds: Bounds) -> str:
    return " and ".join(f"{lo} <= {name} <= {hi}" for name, (lo, hi) in bounds.items())


def function(tree: Tree, bounds: Bounds) -> isl.PwAff:
    """The tree as a quasi-affine function of the coordinates, on all of space."""
    space = isl.Space.set_alloc(_CONTEXT, 0, len(bounds))
    for k, name in enumerate(bounds):
        space = space.set_dim_name(isl.dim_type.set, k, name)
    local = isl.LocalSpace.from_space(space)
    names = {
        name: isl.Aff.var_on_domain(local, isl.dim_type.set, k) for k, name in enumerate(bounds)
    }
    return isl.PwAff.from_aff(_aff(tree, names, local))


def _aff(tree: Tree, names: dict[str, isl.Aff], local: isl.LocalSpace) -> isl.Aff:
    if isinstance(tree, int):
        return isl.Aff.val_on_domain(local, isl.Val(tree))
    if isinstance(tree, str):
        return names[tree]
    op, *args = tree
    if op == "+":
        total = _aff(args[0], names, local)
        for a in args[1:]:
            total = total.add(_aff(a, names, local))
        return total
    if op == "*":
        return _scaled(args, names, local)
    divisor = isl.Val(args[1])
    value = _aff(args[0], names, local)
    return value.scale_down_val(divisor).floor() if op == "//" else value.mod_val(divisor)


def _scaled(args: list[Tree], names: dict[str, isl.Aff], local: isl.LocalSpace) -> isl.Aff:
    factor, rest = 1, None
    for a in args:
        if isinstance(a, int):
            factor *= a
        else:
            rest = _aff(a, names, local)
    if rest is None:
        return isl.Aff.val_on_domain(local, isl.Val(factor))
    return rest.scale_val(isl.Val(factor))


def _text(tree: Tree) -> str:
    if not isinstance(tree, tuple):
        return str(tree)
    op, *args = tree
    if op in "+*":
        return "(" + f" {op} ".join(map(_text, args)) + ")"
    first, second = map(_text, args)
    return f"floor({first}/{second})" if op == "//" else f"(({first}) mod {second})"


def read(e: isl.AstExpr) -> Tree:
    """An expression of ISL's as a tree."""
    kind = e.get_type()
    if kind == isl.ast_expr_type.int:
        return int(e.int_get_val().to_python())
    if kind == isl.ast_expr_type.id:
        return str(e.id_get_id().get_name())
    op = e.op_get_type()
    args = [read(e.op_get_arg(k)) for k in range(e.op_get_n_arg())]
    if op in _SUMS:
        return ("+", args[0], args[1] if _SUMS[op] > 0 else ("*", -1, args[1]))
    if op == _OPS.mul:
        return ("*", *args)
    if op == _OPS.minus:
        return ("*", -1, *args)
    if op in _CHOICES:
        return (_CHOICES[op], *args)
    if op in _DIVISIONS:
        return (_DIVISIONS[op], *args)
    raise Unreadable(e.to_C_str())


def equal(a: Tree, b: Tree, bounds: Bounds) -> bool | None:
    """Whether the trees are equal on the box, as ISL decides; None past its budget."""
    context = isl.DEFAULT_CONTEXT
    domain = box(bounds)
    context.set_max_operations(BUDGET)
    try:
        difference = function(a, bounds).sub(function(b, bounds))
        return bool(domain.is_subset(difference.zero_set()))
    except isl.Error:
        return None
    finally:
        context.set_max_operations(0)
        context.reset_operations()
