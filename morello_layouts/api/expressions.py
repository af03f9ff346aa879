"""Simplifying index expressions given as text or as SymPy."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from morello_layouts import notation
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr import OPERATIONS, CostModel, Interval, Linear, cheapest, readable
from morello_layouts.expr.operations import lift
from morello_layouts.expr.size import Number, Size
from morello_layouts.expr.sympy_bridge import from_sympy, number_from_sympy, to_sympy

if TYPE_CHECKING:
    import sympy

__all__ = ["Bound", "form_of", "simplify"]

Bound: TypeAlias = "Number | str | sympy.Expr | None"


def simplify(
    expr: sympy.Expr | str,
    bounds: Mapping[Any, tuple[Bound, Bound]] | None = None,
    *,
    target: Literal["readable", "cheapest"] = "readable",
    cost: CostModel = OPERATIONS,
    verify: bool = False,
) -> sympy.Expr:
    """An index expression with fewer floors and mods, equal to it over the bounds.

    Args:
        expr: a SymPy expression of ``floor`` and ``Mod``, or text such as ``"(32*i + j)//8"``.
        bounds: for each symbol or name the smallest and largest value, both included; None for
            no bound. An end may be a size, as text or SymPy: ``{"j": (0, "N - 1")}``. Symbols
            without an entry are bounded by their assumptions only. Sizes are positive symbols.
        target: ``"readable"`` writes digits as a textbook does; ``"cheapest"`` spends the fewest
            operations.
        cost: what an operation costs, for ``"cheapest"``.
        verify: prove by ISL that the result equals the expression before returning it.

    Raises:
        LayoutError: where the expression is no index expression.
        UnsupportedError: where ``verify`` asks for a proof that ISL cannot give.

    >>> simplify("(32*i + j)//8", {"i": (0, 31), "j": (0, 31)}, verify=True)
    4*i + floor(j/8)
    >>> simplify("32*(i//8) + i%8", {"i": (0, 31)}, target="cheapest")
    i + 24*floor(i/8)
    >>> simplify("(N*i + j) % N", {"i": (0, "M - 1"), "j": (0, "N - 1")})
    j
    """
    form = form_of(expr, bounds or {})
    if target not in ("readable", "cheapest"):
        raise LayoutError(
            f"no target is named {target!r}",
            "an expression is simplified for reading or for computing",
            "give target='readable' or target='cheapest'",
        )
    simple = cheapest(form, cost) if target == "cheapest" else readable(form)[0]
    if verify:
        _require_equal(form, simple)
    return to_sympy(simple, _symbols(expr))


def _symbols(expr: sympy.Expr | str | int) -> dict[str, sympy.Symbol]:
    """The user's symbols by name, so that the result is made of them."""
    if isinstance(expr, str | int):
        return {}
    symbols = {s.name: s for s in expr.free_symbols}
    if len(symbols) < len(expr.free_symbols):
        raise LayoutError(
            f"two symbols of {expr} have one name",
            "bounds and results go by the names of symbols",
            "rename one of them",
        )
    return symbols


def form_of(expr: sympy.Expr | str, bounds: Mapping[Any, tuple[Bound, Bound]]) -> Linear:
    """An expression as the simplifier's own form; arguments as of :func:`simplify`."""
    intervals = {str(name): _interval(name, ends) for name, ends in bounds.items()}
    # Names in the bounds of others are sizes, of at least 1 unless said otherwise.
    sizes = {size for i in intervals.values() for end in i if isinstance(end, Size)
             for size in end.names()}  # fmt: skip
    intervals = dict.fromkeys(sizes, Interval(1, None)) | intervals
    if isinstance(expr, str):
        form = notation.parse_expression(expr, intervals)
    else:
        import sympy

        expr = sympy.Integer(expr) if isinstance(expr, int) else expr
        if not isinstance(expr, sympy.Expr):
            raise LayoutError(
                f"{expr!r} is no expression",
                "an index expression is text or a SymPy expression",
                'give for example "(32*i + j)//8"',
            )
        form = from_sympy(expr, intervals)
    return lift(form, sizes)


def _interval(name: object, ends: tuple[Bound, Bound]) -> Interval:
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise LayoutError(
            f"the bounds of {name} are {ends!r}",
            "bounds are a pair: the smallest and the largest value",
            "give for example (0, 31), None for an end that is open",
        )
    lo, hi = (_end(end) for end in ends)
    if isinstance(lo, int) and isinstance(hi, int) and hi < lo:
        raise LayoutError(
            f"{name} has no values", f"{lo} is above {hi}", "give the smaller end first"
        )
    return Interval(lo, hi)


def _end(end: Bound) -> Number | None:
    if end is None or isinstance(end, int | Size):
        return end
    if isinstance(end, str):
        return notation.parse_number(end)
    import sympy

    if not isinstance(end, sympy.Expr):
        try:
            return operator.index(end)
        except TypeError:
            pass
        raise LayoutError(
            f"{end!r} is no bound",
            "a bound is an integer, or a size as text or SymPy",
            'give for example 31, "N - 1" or None',
        )
    return number_from_sympy(end)


def _require_equal(form: Linear, simple: Linear) -> None:
    from morello_layouts import proof

    answer = proof.are_equal(form, simple)
    if answer.holds is None:
        raise UnsupportedError(
            "the result was not proved equal to the expression",
            answer.reason,
            "leave verify out, or simplify parts of the expression",
        )
    if not answer.holds:
        raise AssertionError(f"a bug of the simplifier: {form} is not {simple}: {answer.reason}")
