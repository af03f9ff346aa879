"""Read the shapes and assumptions that users pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from morello_layouts import notations
from morello_layouts.checks import shown, whole
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import AffineExpr, Interval
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.fields import frozen
from morello_layouts.lazy import importing
from morello_layouts.maps.subject import require_size_names

if TYPE_CHECKING:
    import sympy

Shape: TypeAlias = "Sequence[Int | str | sympy.Expr]"
"""Sizes: numbers, names or SymPy expressions."""

Assuming: TypeAlias = "str | sympy.Basic | Mapping[Any, tuple[int, int | None]] | Iterable[Any]"
"""Assumptions: text, SymPy, ranges by name, or several of these."""


@frozen
class Sizes:
    """The sizes of a shape, and its SymPy symbols by name."""

    sizes: tuple[Int, ...]
    symbols: Mapping[str, sympy.Symbol]


_SEVERAL: Final = re.compile(r",|\A\s*[0-9]{1,19}\s*[x×]\s*[0-9]")  # 6x8, or M,N


def sizes_of(shape: Shape) -> Sizes:
    """Return the sizes of a shape as numbers and polynomials in names; text may hold several."""
    if isinstance(shape, str) and _SEVERAL.search(shape):
        shape = notations.parse_shape(shape)
    given: tuple[Any, ...] = (
        tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
    )
    sizes = tuple(_size(k, n) for k, n in enumerate(given))
    symbols = {s.name: s for n in given for s in getattr(n, "free_symbols", ())}
    return Sizes(sizes, symbols)


def _size(k: int, given: Any) -> Int:
    n = _number(given)
    if n is None:
        raise ShapeError(
            f"size {k} of the shape: expected an integer or a name, got {shown(given)}",
            "a shape has one size for each dimension",
            "give for example shape=(6, 8)",
        )
    if isinstance(n, SizeExpr):
        require_size_names(n.names())
        if not is_nonnegative(n - 1):
            raise ShapeError(
                f"size {k} of the shape: expected at least 1, got {n}",
                "it is below 1 if the names in it are 1",
                'give the size a name of its own; a slice of K elements is m[3:"K + 3"]',
            )
    elif n < 0:
        raise ShapeError(
            f"size {k} of the shape: expected at least 0, got {n}",
            "a size is a number of elements",
            "give the size of the array, as its shape says it",
        )
    return n


def _number(given: Any) -> Int | None:
    if isinstance(given, str):
        return notations.parse_number(given)
    if isinstance(given, SizeExpr):
        return given
    if getattr(given, "free_symbols", None):
        with importing:
            from morello_layouts.expr.conversions import number_from_sympy

        for symbol in given.free_symbols:
            if symbol.is_positive is False or symbol.is_integer is False:
                raise ShapeError(
                    f"{symbol}: expected a positive integer, got a symbol that SymPy knows is not",
                    "a symbolic size is an integer of at least 1",
                    f'make it with Symbol("{symbol}", integer=True, positive=True)',
                )
        return number_from_sympy(given)
    return whole(given)


def form_of(given: Any, name: str) -> AffineExpr:
    """Return a number of bytes as a form over the names of sizes.

    >>> print(form_of("M*K//32", "bytes"))
    (K*M)//32
    """
    count, text = whole(given), str(given)
    form = None
    if count is not None:
        form = AffineExpr((), count)
    elif isinstance(given, SizeExpr | str):
        names = re.findall(r"[A-Za-z_]\w*", text, re.ASCII)
        form = notations.parse_expression(text, dict.fromkeys(names, Interval(1, None)))
    elif getattr(given, "free_symbols", None):
        with importing:
            from morello_layouts.expr.conversions import form_from_sympy

        form = form_from_sympy(given, {s.name: Interval(1, None) for s in given.free_symbols})
    if form is not None and (form.terms or not is_nonnegative(-1 - form.const)):
        return form
    raise LayoutError(
        f"{name}: expected a number of bytes, got {shown(given)}",
        "an allocation has 0 or more bytes",
        f'give {name}=4096, or an expression of sizes such as "M*ceil(K/32)"',
    )


def assumptions_of(assuming: Assuming | None) -> tuple[Assumption, ...]:
    """Return assumptions, one for each name.

    >>> [str(one) for one in assumptions_of(["M % 8 == 0", {"N": (1, 128)}])]
    ['8 divides M', 'N <= 128']
    """
    return () if assuming is None else meet_all(_assumptions(assuming))


def _assumptions(assuming: Any) -> list[Assumption]:
    if isinstance(assuming, Assumption):
        return [assuming]
    if isinstance(assuming, str):
        return notations.parse_assumptions(assuming)
    if isinstance(assuming, Mapping):
        return [_range(str(name), ends) for name, ends in assuming.items()]
    if hasattr(assuming, "free_symbols"):
        return _from_sympy(assuming)
    if isinstance(assuming, Iterable):
        return [one for part in assuming for one in _assumptions(part)]
    raise _not_an_assumption(assuming)


def _range(name: str, ends: Any) -> Assumption:
    pair = ends if isinstance(ends, tuple | list) and len(ends) == 2 else (None, "")
    lo, hi = pair
    is_name = re.fullmatch(r"[A-Za-z_]\w*", name)
    if not isinstance(lo, int | None) or not isinstance(hi, int | None) or not is_name:
        raise _not_an_assumption({name: ends})
    return Assumption(name, lo=max(lo or 1, 1), hi=hi)


_SIGNS: Final = {
    "Equality": "==",
    "GreaterThan": ">=",
    "StrictGreaterThan": ">",
    "LessThan": "<=",
    "StrictLessThan": "<",
}


def _from_sympy(relation: Any) -> list[Assumption]:
    """Return the assumptions of a SymPy relation, or of several joined by And, by its text."""
    name = getattr(relation.func, "__name__", "")
    if name == "And":
        return [one for part in relation.args for one in _from_sympy(part)]
    if relation == True:  # noqa: E712
        return []
    if name not in _SIGNS:
        raise _not_an_assumption(relation)
    left, right = relation.args
    if right.is_Integer and left.func.__name__ == "Mod" and left.args[0].is_Symbol:
        left = f"{left.args[0]} % {left.args[1]}"
    return notations.parse_assumptions(f"{left} {_SIGNS[name]} {right}")


def _not_an_assumption(given: object) -> LayoutError:
    return LayoutError(
        f"expected an assumption about a size, got {shown(given)}",
        "an assumption says what divides a size, or how large it is",
        'give for example "M % 8 == 0", Eq(Mod(M, 8), 0), "N >= 2" or {"N": (1, 128)}',
    )
