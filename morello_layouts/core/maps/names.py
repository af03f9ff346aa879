"""Names of coordinates: inside they are ``d0, d1, …``; a user's names are put on here alone.

A map has either no names, which means ``d0, d1, …``, or one for each dimension. A dimension
without a name of its own among named ones is called ``d`` and its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from morello_layouts.core.checks import as_tuple, shown
from morello_layouts.core.expr import AffineExpr, canonicalize, standard, variable
from morello_layouts.core.expr.affine import names_in
from morello_layouts.core.expr.conversions import size_to_sympy
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.lazy import regex, sympy
from morello_layouts.errors import ShapeError

_NAME = regex(r"[A-Za-z_]\w*", re.ASCII)
_STANDARD = regex(r"d[0-9]+", re.ASCII)


def checked_names(
    given: Any, sizes: Sequence[Int], others: Iterable[str] = (), offset: str = ""
) -> tuple[str, ...]:
    """Return names of coordinates; nothing if they are ``d0, d1, …`` themselves.

    Args:
        given: a name for each dimension.
        sizes: the sizes of the dimensions; their names mean something else.
        others: names of sizes that formulas have besides.
        offset: the name of the offset in formulas beside.

    >>> checked_names(("y", "x"), (6, 8)), checked_names(("d0", "d1"), (6, 8))
    (('y', 'x'), ())
    """
    fix = f"give for example names=({', '.join(map(repr, 'zyx'[-len(sizes) :]))})"
    names = tuple(map(str, as_tuple(given, "names", fix)))
    if len(names) != len(sizes):
        raise ShapeError(
            f"names: expected {len(sizes)} name{'' if len(sizes) == 1 else 's'}, got {len(names)}",
            "each dimension has a name of its own",
            "give as many names as sizes, or leave them out",
        )
    own = standard(len(sizes))
    of_sizes = {*names_in(sizes)}.union(others)
    for k, name in enumerate(names):
        what = _mistake(name, names[:k], of_sizes, own[k], offset)
        if what:
            raise ShapeError(f"names: {what}", "each name has one meaning", fix)
    return () if names == own else names


def _mistake(name: str, before: Sequence[str], sizes: set[str], own: str, offset: str) -> str:
    if not _NAME.fullmatch(name):
        return f"expected letters, digits and underscores, got {shown(name)}"
    if name in before:
        return f"expected different names, got {name} twice"
    if name in sizes:
        return f"expected different names for coordinates and sizes, got {name} for both"
    if name != own and _STANDARD.fullmatch(name):
        return f"expected a name that is not {name}, which is another dimension in formulas"
    return f"expected a name that is not {name}, which is the offset" if name == offset else ""


def own_names(given: Sequence[str], sizes: Sequence[Int]) -> tuple[str, ...]:
    """Return the names that a layout's text has, where they can be a formula's variables.

    >>> own_names(("b", "(h w)", "p"), (2, 3, 4)), own_names((), (2, 3))
    (('b', 'd1', 'd2'), ())
    """
    own = standard(len(sizes))
    of_sizes = {*names_in(sizes)}
    found = [
        inside if _mistake(name, given[:k], of_sizes, inside, "p") else name
        for k, (name, inside) in enumerate(zip(given, own, strict=False))
    ]
    return () if len(found) < len(own) or tuple(found) == own else tuple(found)


def without_offset(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of a map's coordinates in which ``p`` is free to mean the offset.

    >>> without_offset(("y", "p"))
    ('y', 'd1')
    """
    return tuple(f"d{k}" if name == "p" else name for k, name in enumerate(names))


def as_names(given: str | Sequence[str], what: str = "names") -> Sequence[str]:
    """Return names that may be one text."""
    if isinstance(given, str):
        return given.replace(",", " ").split()
    return as_tuple(given, what, 'give for example ("y", "x")')


def renamed(form: AffineExpr, names: Sequence[str]) -> AffineExpr:
    """Return a form over ``d0, d1, …`` as one over these names; the form itself without names.

    >>> from morello_layouts.core.expr import coordinate_variables
    >>> i, j = coordinate_variables((6, 8))
    >>> print(renamed(24 * (j // 4) + 4 * i + j % 4, ("y", "x")))
    24*(x//4) + 4*y + x%4
    """
    if not names:
        return form
    to = dict(zip(standard(len(names)), names, strict=True))
    inside = [v for v in form.variables() if v.name in to]
    return substitute(form, {v.name: variable(to[v.name], *v.interval) for v in inside})


def kept_names(
    names: Sequence[str], rank: int, coordinates: Sequence[AffineExpr]
) -> tuple[str, ...]:
    """Return the names of a view's dimensions: those of the array's that it keeps.

    A dimension is kept if one coordinate of the array depends on it, and on nothing else.

    >>> from morello_layouts.core.expr import coordinate_variables
    >>> i, j = coordinate_variables((6, 8))
    >>> kept_names(("y", "x"), 2, (7 - j, i)), kept_names(("y", "x"), 2, (i + j, j))
    (('x', 'y'), ())
    """
    own = standard(rank)
    if not names:
        return ()
    used = [[v.name for v in _without_rest(x).variables()] for x in coordinates]
    everything = [name for one in used for name in one]
    named = {
        one[0]: name
        for name, one in zip(names, used, strict=True)
        if len(one) == 1 and everything.count(one[0]) == 1 and not _STANDARD.fullmatch(name)
    }
    found = tuple(named.get(name, name) for name in own)
    return () if found == own else found


def _without_rest(form: AffineExpr) -> AffineExpr:
    """Return a form simplified unless it is one variable, which may have one value only."""
    return form if len(form.variables()) == 1 else canonicalize(form)


def in_order(coordinate: Sequence[Any], named: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return a coordinate given by names in the order of dimensions."""
    if coordinate or {*named} != {*names}:
        got = [*map(shown, coordinate), *(f"{name}=…" for name in named)]
        raise ShapeError(
            f"a coordinate: expected {', '.join(f'{name}=…' for name in names) or 'nothing'}, "
            f"got {', '.join(got)}",
            "a coordinate is given in order, or all of it by names",
            "give each name of the map once",
        )
    return tuple(named[name] for name in names)


def at_text(names: Sequence[str], at: Sequence[Any]) -> str:
    """Return a coordinate as text: ``(3, 2)``, or ``(y=3, x=2)`` with names.

    >>> at_text(("y", "x"), (3, 2)), at_text((), (3, 2))
    ('(y=3, x=2)', '(3, 2)')
    """
    if not names or len(names) != len(at):
        return str(tuple(at))
    return f"({', '.join(f'{name}={x}' for name, x in zip(names, at, strict=True))})"


def public_size(value: Int, named: Mapping[str, sympy.Symbol]) -> Any:
    """Return a size as users see it: an int, or a SymPy expression if it is symbolic.

    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> public_size(8, {}), public_size(SizeExpr.named("N") * 2, {})
    (8, 2*N)
    """
    return value if isinstance(value, int) else size_to_sympy(value, named)
