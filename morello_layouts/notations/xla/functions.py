"""The two functions of XLA's document "Tiled layout", as it writes them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

from morello_layouts.core.checks import as_int, as_tuple, checked_coordinate, shown, whole
from morello_layouts.core.lazy import importing, sympy
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.documents import COMBINE
from morello_layouts.notations.xla.layout import Division, tiled

_FIX: Final = "give a tuple of ints, integer arrays or SymPy symbols"

Values: TypeAlias = Sequence[Any]
"""Integers, arrays of integers, or SymPy expressions, the most major dimension first."""


def linear_index(e: Values, d: Values) -> Any:
    """Return the document's ``linear_index(e, d)``: the row-major offset of an element.

    ``e[n] d[n-1]…d[1] + e[n-1] d[n-2]…d[1] + … + e[1]``.

    Args:
        e: the element's index in each dimension.
        d: the array's bounds.

    Returns:
        An int, an array for arrays of indices, or a SymPy expression.

    Raises:
        ShapeError: if there are not as many bounds as indices, or an index is out of bounds.
        LayoutError: if a value is of another type.

    >>> import sympy
    >>> linear_index((1, 1, 0, 1), (2, 3, 2, 2))
    17
    >>> linear_index(sympy.symbols("e2 e1"), sympy.symbols("d2 d1"))
    d1*e2 + e1
    """
    of = _checked(e, d)
    return _sum(of.e, of.d)


def linear_index_with_tile(e: Values, d: Values, t: Values) -> Any:
    """Return the document's ``linear_index((⌊e/t⌋, e mod t), (⌈d/t⌉, t))``: a tiled offset.

    Args:
        e: the element's index in each dimension.
        d: the array's bounds.
        t: the tile; -1 combines a dimension with the next more minor one. A tile of fewer
            dimensions tiles the most minor ones.

    Returns:
        An int, an array for arrays of indices, or a SymPy expression.

    Raises:
        ShapeError: if the arguments do not fit each other, or an index is out of bounds.
        LayoutError: if a value is of another type, or a tile has no elements.

    >>> linear_index_with_tile((2, 3), (3, 5), (2, 2))
    17
    >>> import sympy
    >>> e, d, t = sympy.symbols("e d t", integer=True, positive=True)
    >>> linear_index_with_tile([e], [d], [t])
    t*floor(e/t) + Mod(e, t)
    """
    return _sum(*_checked(e, d, t).tiled())


def tile_index(e: Values, d: Values, t: Values) -> tuple[Any, ...]:
    """Return ``⌊e/t⌋``: which tile holds an element; arguments as ``linear_index_with_tile``.

    >>> tile_index((2, 3), (3, 5), (2, 2))
    (1, 1)
    """
    return _checked(e, d, t).parts()[0]


def within_tile_index(e: Values, d: Values, t: Values) -> tuple[Any, ...]:
    """Return ``e mod t``: where an element is in its tile; arguments as ``linear_index_with_tile``.

    >>> within_tile_index((2, 3), (3, 5), (2, 2))
    (0, 1)
    """
    return _checked(e, d, t).parts()[1]


def _sum(e: Values, d: Values) -> Any:
    offset, volume = 0, 1
    for index, bound in zip(reversed(e), reversed(d), strict=True):
        offset, volume = index * volume + offset, volume * bound
    return offset


class _Indexed(NamedTuple):
    """Checked arguments, all of one kind."""

    e: Values
    d: Values
    t: Values
    arithmetic: Division

    def tiled(self) -> tuple[list[Any], list[Any]]:
        """Return the index in the array of tiles and in the tile, and the bounds of both."""
        return tiled(self.e, self.d, self.t, 0, self.arithmetic)

    def parts(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the index in the array of tiles, and the index in the tile."""
        index, _ = self.tiled()
        cut = len(index) - sum(n != COMBINE for n in self.t)
        return tuple(index[:cut]), tuple(index[cut:])


def _checked(e: Values, d: Values, t: Values = ()) -> _Indexed:
    e, d, t = (as_tuple(v, name, _FIX) for v, name in ((e, "e"), (d, "d"), (t, "t")))
    if len(e) != len(d):
        what = f"e and d: expected as many indices as bounds, got {len(e)} and {len(d)}"
        raise ShapeError(what, "an element has an index in each dimension", "give one for each")
    if t and whole(t[-1]) == COMBINE:
        what, why = "t: expected a tile that ends in a size", "-1 combines with the next dimension"
        raise LayoutError(what, why, "end the tile in a size from 1")
    d = tuple(n if _is_symbolic(n) else as_int(n, f"d[{k}]") for k, n in enumerate(d))
    t = tuple(
        n if _is_symbolic(n) or n == COMBINE else as_int(n, f"t[{k}]", 1) for k, n in enumerate(t)
    )
    if any(map(_is_symbolic, (*e, *d, *t))):
        return _Indexed(tuple(map(_symbolic, e)), d, t, _symbolic_arithmetic())
    bounds = _Indexed((0,) * len(d), d, t, Division()).tiled()[1]
    return _Indexed(checked_coordinate(e, d, prod(bounds)), d, t, Division())


def _is_symbolic(value: object) -> bool:
    return hasattr(value, "free_symbols")


def _symbolic(value: Any) -> Any:
    """Return an index among symbols: a SymPy expression, or an int."""
    number = value if _is_symbolic(value) else whole(value)
    if number is None:
        what = f"expected an int or a SymPy expression beside symbols, got {shown(value)}"
        raise LayoutError(what, "a formula of symbols has no arrays in it", _FIX)
    return number


def _symbolic_arithmetic() -> Division:
    with importing:
        from morello_layouts.core.expr.sympy_functions import Mod, ceiling, floor

    def ratio(x: Any, n: Any) -> Any:
        return sympy.Integer(1) * x / n

    return Division(lambda x, n: floor(ratio(x, n)), Mod, lambda x, n: ceiling(ratio(x, n)))
