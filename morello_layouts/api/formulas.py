"""Index maps that users write by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from morello_layouts.api.expressions import form_of
from morello_layouts.api.sizes import Sizes, sizes_of
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import Linear
from morello_layouts.expr.substitute import substitute
from morello_layouts.formula import FormulaMap
from morello_layouts.formula.index_map import coordinates_of

if TYPE_CHECKING:
    import sympy

__all__ = ["from_sympy"]

_KEYS = {"shape", "size", "names"}


def from_sympy(
    domain: Mapping[Any, Any] | Sequence[Any], expr: sympy.Expr | str | Sequence[sympy.Expr | str]
) -> FormulaMap:
    """A map from coordinates to offsets that is given by a formula, to be held against layouts.

    Args:
        domain: ``{"shape": (6, 8)}``, with the coordinates named ``d0, d1, …``, and perhaps
            ``"names": ("i", "j")`` for other names, and ``"size"``, the elements of the buffer.
            A shape alone serves, and so do sizes by name: ``{"i": 6, "j": 8}``.
        expr: the offset, as SymPy or as text; several make a map to coordinates.

    Raises:
        ShapeError: where the domain has no shape.
        LayoutError: where an expression holds other names, or is no index expression.

    >>> import morello_layouts as ml
    >>> mine = from_sympy({"i": 6, "j": 8}, "24*(j//4) + 4*i + j%4")
    >>> ml.are_equivalent(mine, "[1, 0, 1 p(4)]").holds
    True
    >>> wrong = from_sympy({"i": 6, "j": 8}, "24*(j//4) + 4*i + j%3")
    >>> ml.are_equivalent(wrong, "[1, 0, 1 p(4)]").counterexample
    (0, 3)
    """
    names, given, size = _domain(domain)
    standard = coordinates_of(given.sizes)
    coordinates = dict(zip(names, standard, strict=True))
    bounds: dict[str, tuple[Any, Any]] = {
        name: (x.interval.lo, x.interval.hi) for name, x in coordinates.items()
    }
    if isinstance(size, int) and size < 0:
        raise ShapeError(
            f"the buffer spans {size} elements", "it spans 0 or more", "give its size in elements"
        )
    known = {n for sized in given.sizes if not isinstance(sized, int) for n in sized.names()}
    bounds |= dict.fromkeys(known, (1, None))
    clash = known & set(names)
    if clash:
        raise ShapeError(
            f"{', '.join(sorted(clash))} names a coordinate and a size",
            "each name stands for one thing",
            "rename one of them",
        )
    exprs = [expr] if isinstance(expr, str | int) or hasattr(expr, "free_symbols") else expr
    if not isinstance(exprs, list | tuple) or not exprs:
        raise LayoutError(
            f"{expr!r} is no formula",
            "a map has one expression, or several in a tuple",
            'give for example "8*d0 + d1"',
        )
    forms = tuple(_form(one, bounds, coordinates) for one in exprs)
    return FormulaMap(given.sizes, forms, size, given.symbols)


def _domain(domain: Any) -> tuple[list[str], Sizes, Any]:
    """The coordinates' names, the shape, and the size of the buffer."""
    if not isinstance(domain, Mapping):
        domain = {"shape": domain}
    if "shape" not in domain:
        if not domain or set(map(str, domain)) & _KEYS:
            raise _no_shape(domain)
        given = sizes_of(tuple(domain.values()))
        return [str(name) for name in domain], given, None
    if set(domain) - _KEYS:
        raise _no_shape(domain)
    given = sizes_of(domain["shape"])
    named = domain.get("names", ())
    if isinstance(named, str) or not isinstance(named, Iterable):
        raise _no_shape(domain)
    names = [str(n) for n in named] or [f"d{k}" for k in range(len(given.sizes))]
    if len(names) != len(given.sizes) or len(set(names)) < len(names):
        raise ShapeError(
            f"the names {', '.join(names)} are given for {len(given.sizes)} dimensions",
            "each dimension has a name of its own",
            "give as many names as sizes, or leave them out",
        )
    size = sizes_of((domain["size"],)).sizes[0] if "size" in domain else None
    return names, given, size


def _no_shape(domain: object) -> ShapeError:
    return ShapeError(
        f"{domain!r} has no shape",
        "a map is given over the coordinates of an array",
        'give {"shape": (6, 8)}, with "names" and "size" if wanted, or {"i": 6, "j": 8}',
    )


def _form(expr: Any, bounds: Mapping[str, Any], coordinates: Mapping[str, Linear]) -> Linear:
    form = form_of(expr, bounds)
    unknown = {v.name for v in form.variables()} - set(coordinates)
    if unknown:
        raise LayoutError(
            f"{expr} holds {', '.join(sorted(unknown))}",
            f"the coordinates are {', '.join(coordinates)}",
            'use these, or give "names" with the shape',
        )
    return substitute(form, coordinates)
