"""Sizes and what is assumed of them, in whatever form users give them."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from morello_layouts import notation
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr.assumption import Assumption, merged
from morello_layouts.expr.size import Number, Size, is_nonnegative

if TYPE_CHECKING:
    import sympy

__all__ = [
    "Assuming",
    "Shape",
    "Sizes",
    "assumptions_of",
    "require_known",
    "require_names",
    "sizes_of",
]

Shape: TypeAlias = "Sequence[Number | str | sympy.Expr]"
"""Sizes: numbers, names or SymPy expressions."""

Assuming: TypeAlias = "str | sympy.Basic | Mapping[Any, tuple[int, int | None]] | Iterable[Any]"
"""Assumptions: text, SymPy, ranges by name, or several of these."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """A shape, and the SymPy symbols that stood in it, by name."""

    sizes: tuple[Number, ...]
    symbols: Mapping[str, sympy.Symbol]


def sizes_of(shape: Shape) -> Sizes:
    """Sizes as numbers and polynomials in names.

    Raises:
        ShapeError: where one is neither a number nor symbolic.
    """
    given: tuple[Any, ...] = (
        tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
    )
    symbols: dict[str, Any] = {}
    sizes = []
    for k, n in enumerate(given):
        sizes.append(_checked(k, _size(k, n)))
        symbols.update({s.name: s for s in getattr(n, "free_symbols", ())})
    return Sizes(tuple(sizes), symbols)


def _checked(k: int, n: Number) -> Number:
    if isinstance(n, Size):
        require_names(n.names())
        if not is_nonnegative(n - 1):
            raise ShapeError(
                f"size {k} of the shape is {n}",
                "it may be below 1, where the names in it are 1",
                "give the size a name of its own",
            )
    return n


def require_names(names: Iterable[str]) -> None:
    """Refuse names of sizes that stand for coordinates and offsets.

    Raises:
        ShapeError: of ``d0``, ``d1``, … and ``p``.
    """
    for name in names:
        if re.fullmatch(r"d[0-9]+|p", name):
            raise ShapeError(
                f"a size is called {name}",
                "in formulas d0, d1, … are coordinates and p is an offset",
                "choose another name, such as N",
            )


def _size(k: int, n: Any) -> Number:
    if isinstance(n, str):
        return notation.parse_number(n)
    if isinstance(n, Size):
        return n
    if hasattr(n, "free_symbols") and n.free_symbols:
        from morello_layouts.expr.sympy_bridge import number_from_sympy

        return number_from_sympy(n)
    try:
        if not isinstance(n, bool):
            return operator.index(n)
    except TypeError:
        pass
    raise ShapeError(
        f"size {k} of the shape is {n!r}",
        "sizes are integers, or names where they are symbolic, one for each dimension",
        'give a tuple such as (6, 8) or ("M", "N")',
    )


def assumptions_of(assuming: Assuming | None) -> tuple[Assumption, ...]:
    """Assumptions, one for each name.

    Raises:
        LayoutError: where something is no assumption about one size.

    >>> [str(one) for one in assumptions_of(["M % 8 == 0", {"N": (1, 128)}])]
    ['8 divides M', 'N <= 128']
    """
    return merged(_each(assuming)) if assuming is not None else ()


def require_known(assumptions: Iterable[Assumption], sizes: Iterable[Number]) -> None:
    """Refuse assumptions about names that no size has.

    Raises:
        ShapeError: with the names that there are.
    """
    names = {name for n in sizes if isinstance(n, Size) for name in n.names()}
    for one in assumptions:
        if one.name not in names:
            raise ShapeError(
                f"something is assumed of {one.name}",
                f"the symbolic sizes are {', '.join(sorted(names)) or 'none'}",
                "assume something of these, or leave it out",
            )


def _each(assuming: Any) -> list[Assumption]:
    if isinstance(assuming, Assumption):
        return [assuming]
    if isinstance(assuming, str):
        return notation.parse_assumptions(assuming)
    if isinstance(assuming, Mapping):
        return [_range(str(name), ends) for name, ends in assuming.items()]
    if hasattr(assuming, "free_symbols"):
        return _from_sympy(assuming)
    if isinstance(assuming, Iterable):
        return [one for part in assuming for one in _each(part)]
    raise _no_assumption(assuming)


def _range(name: str, ends: Any) -> Assumption:
    pair = ends if isinstance(ends, tuple | list) and len(ends) == 2 else (None, "")
    lo, hi = pair
    named = re.fullmatch(r"[A-Za-z_]\w*", name)
    if not isinstance(lo, int | None) or not isinstance(hi, int | None) or not named:
        raise _no_assumption({name: ends})
    return Assumption(name, lo=max(lo or 1, 1), hi=hi)


def _from_sympy(fact: Any) -> list[Assumption]:
    """A relation of SymPy, or several joined by And, read through its text."""
    name = getattr(fact.func, "__name__", "")
    if name == "And":
        return [one for part in fact.args for one in _from_sympy(part)]
    if fact == True:  # noqa: E712
        return []
    signs = {
        "Equality": "==",
        "GreaterThan": ">=",
        "StrictGreaterThan": ">",
        "LessThan": "<=",
        "StrictLessThan": "<",
    }
    if name in signs:
        left, right = fact.args
        if right.is_Integer and left.func.__name__ == "Mod" and left.args[0].is_Symbol:
            return notation.parse_assumptions(
                f"{left.args[0]} % {left.args[1]} {signs[name]} {right}"
            )
        return notation.parse_assumptions(f"{left} {signs[name]} {right}")
    raise _no_assumption(fact)


def _no_assumption(what: object) -> LayoutError:
    return LayoutError(
        f"{what!r} is no assumption about a size",
        "one says what divides a size, or how large it is",
        'give for example "M % 8 == 0", Eq(Mod(M, 8), 0), "N >= 2" or {"N": (1, 128)}',
    )
