"""Coordinates as SymPy expressions: a map's formulas with other symbols, or with some numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from morello_layouts.checks import require_inside, require_rank, whole
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import AffineExpr, Interval, canonicalize
from morello_layouts.expr.conversions import form_from_sympy, public_size, symbol, to_sympy
from morello_layouts.expr.sizes import Int

if TYPE_CHECKING:
    import sympy


def is_symbolic(coordinate: Sequence[Any]) -> bool:
    """Whether one of the values is a SymPy expression with symbols."""
    return any(getattr(x, "free_symbols", None) for x in coordinate)


def forms_of(
    coordinate: Sequence[Any], shape: Sequence[Int], names: Sequence[str] = ()
) -> tuple[list[AffineExpr], dict[str, sympy.Symbol]]:
    """Return a coordinate's values as affine expressions, and their symbols by name.

    A symbol alone has the bounds of its dimension. Symbols in an expression have those of their
    own SymPy assumptions, and the expression is taken to lie within its dimension.

    Raises:
        ShapeError: if their number is another than that of the sizes, or a number lies outside.
        LayoutError: if a value is not an index expression.
    """
    require_rank(coordinate, len(shape), "the coordinate")
    forms: list[AffineExpr] = []
    symbols: dict[str, sympy.Symbol] = {}
    for k, (x, n) in enumerate(zip(coordinate, shape, strict=True)):
        number = whole(x)
        if number is not None:
            if isinstance(n, int):
                require_inside(k, n, number, number, names)
            forms.append(AffineExpr((), number))
            continue
        if not hasattr(x, "free_symbols"):
            raise LayoutError(
                f"coordinate {k}: expected an int or a SymPy expression, got {x!r}",
                "coordinates with symbols have no arrays among them",
                "give the map integer arrays only, or evaluate its formula with SymPy",
            )
        given = {s.name: s for s in x.free_symbols}
        if any(symbols.get(name, s) != s for name, s in given.items()):
            raise LayoutError(
                "two symbols have the same name", "names identify symbols", "rename one of them"
            )
        symbols |= given
        forms.append(form_from_sympy(x, {x.name: Interval(0, n - 1)} if x.is_Symbol else {}))
    return forms, symbols


def exprs_of(
    forms: Sequence[AffineExpr], symbols: Mapping[str, sympy.Symbol]
) -> tuple[sympy.Expr, ...]:
    """Return affine expressions simplified, as SymPy expressions of these symbols."""
    return tuple(to_sympy(canonicalize(form), symbols) for form in forms)


def coordinate_with(
    names: Sequence[str], values: Mapping[Any, Any] | None, named: Mapping[str, Any]
) -> list[Any]:
    """Return the coordinate of these names with values in place of some of its symbols.

    Raises:
        ShapeError: if a name is not that of a coordinate.
    """
    at: dict[str, Any] = {name: symbol(name) for name in names}
    for name, value in {**{str(key): x for key, x in (values or {}).items()}, **named}.items():
        if name not in at:
            raise ShapeError(
                f"{name} is not a coordinate of the map",
                f"its coordinates are {', '.join(at) or 'none'}",
                "give values of these; sizes get theirs by .at(…)",
            )
        at[name] = value
    return list(at.values())


def bounds_of(
    shape: Sequence[Int], symbols: Mapping[str, sympy.Symbol], names: Sequence[str]
) -> dict[sympy.Symbol, tuple[Any, Any]]:
    """Return the smallest and the largest value of each coordinate, as ``simplify`` takes them."""
    ends = [public_size(n - 1, symbols) for n in shape]
    return {symbol(name): (0, end) for name, end in zip(names, ends, strict=True)}
