"""Make index maps from text, layouts and shapes."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from morello_layouts import notations
from morello_layouts.checks import shown
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption, apply_divisibility, meet_all
from morello_layouts.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.kernels.relayout import Relayout
from morello_layouts.layout import Arrays, Layout, as_layout, checked_recipe
from morello_layouts.maps import IndexMap
from morello_layouts.maps.index_map import reshape_view

if TYPE_CHECKING:
    import sympy

Shape: TypeAlias = "Sequence[Int | str | sympy.Expr]"
"""Sizes: numbers, names or SymPy expressions."""

Assuming: TypeAlias = "str | sympy.Basic | Mapping[Any, tuple[int, int | None]] | Iterable[Any]"
"""Assumptions: text, SymPy, ranges by name, or several of these."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """A shape, and the SymPy symbols that stood in it, by name."""

    sizes: tuple[Int, ...]
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


def _checked(k: int, n: Int) -> Int:
    if isinstance(n, SizeExpr):
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


def _size(k: int, n: Any) -> Int:
    if isinstance(n, str):
        return notations.parse_number(n)
    if isinstance(n, SizeExpr):
        return n
    if hasattr(n, "free_symbols") and n.free_symbols:
        from morello_layouts.expr.conversions import number_from_sympy

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
    return meet_all(_each(assuming)) if assuming is not None else ()


def require_known(assumptions: Iterable[Assumption], sizes: Iterable[Int]) -> None:
    """Refuse assumptions about names that no size has.

    Raises:
        ShapeError: with the names that there are.
    """
    names = {name for n in sizes if isinstance(n, SizeExpr) for name in n.names()}
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
        return notations.parse_assumptions(assuming)
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
            return notations.parse_assumptions(
                f"{left.args[0]} % {left.args[1]} {signs[name]} {right}"
            )
        return notations.parse_assumptions(f"{left} {signs[name]} {right}")
    raise _no_assumption(fact)


def _no_assumption(what: object) -> LayoutError:
    return LayoutError(
        f"{what!r} is no assumption about a size",
        "one says what divides a size, or how large it is",
        'give for example "M % 8 == 0", Eq(Mod(M, 8), 0), "N >= 2" or {"N": (1, 128)}',
    )


LayoutLike: TypeAlias = "str | Arrays | IndexMap"


def index_map(
    layout: LayoutLike, shape: Shape | None = None, *, assuming: Assuming | None = None
) -> IndexMap:
    """The index map of a layout at a shape: from coordinates to offsets in elements.

    Args:
        layout: text in Morello's or XLA's notation, a layout, also one of a notation of your own
            (:class:`~morello_layouts.Layout`), or an index map (returned as is).
        shape: the sizes; XLA shapes carry their own. A size may be a name or a SymPy expression:
            it is symbolic then, an unknown number of at least 1.
        assuming: what is known of symbolic sizes: ``"M % 8 == 0, N <= 128"``, a SymPy relation, a
            range ``{"N": (1, 128)}``, or several of these. A Morello layout assumes by itself
            that its packs divide their dimensions.

    Raises:
        ParseError: where text is in no notation.
        ShapeError: where the shape is missing, or does not fit the layout.

    >>> m = index_map("[1, 0, 1 p(4)]", (6, 8))
    >>> print(m)
    (d0, d1) -> 24*(d1//4) + 4*d0 + d1%4
    >>> m(0, 5)
    25
    >>> print(index_map("f32[M,N]{1,0:T(8,128)}", assuming="N % 128 == 0"))
    (d0, d1) -> 8*N*(d0//8) + 1024*(d1//128) + 128*(d0%8) + d1%128
    """
    given = None if shape is None else sizes_of(shape)
    known = assumptions_of(assuming)
    layout = _array_layout(layout)
    if isinstance(layout, IndexMap):
        own = layout.recipe.shape
    elif layout.sizes is not None:
        own = _bounded(layout, layout.sizes)
        require_names(name for n in own if isinstance(n, SizeExpr) for name in n.names())
    elif given is not None:
        own = given.sizes
    else:
        raise ShapeError(
            f"no shape given for {layout}",
            "the layout's text does not carry the sizes of the array",
            "give the shape as well: index_map(layout, (6, 8))",
        )
    if assuming is not None and not _is_passed_on(assuming):
        require_known(known, own)
    if isinstance(layout, IndexMap):
        m = layout.assume(known)
    else:
        m = _lowered(layout, own, given, known)
    if given is not None:
        _require_same_shape(m, given)
    return m


def _bounded(layout: Layout, sizes: Sequence[Int | None]) -> tuple[Int, ...]:
    found = tuple(n for n in sizes if n is not None)
    if len(found) < len(sizes):
        raise UnsupportedError(
            f"{layout} has sizes that are not numbers: ?",
            "offsets and sizes are computed for sizes that are known",
            "write a number for each",
        )
    return found


def _array_layout(layout: LayoutLike) -> Layout | IndexMap:
    """The layout of the one array that is meant.

    Raises:
        UnsupportedError: if it is a tuple's, or not a layout.
    """
    value = notations.parse(layout) if isinstance(layout, str) else layout
    if isinstance(value, IndexMap):
        return value
    if isinstance(value, Arrays):
        found = list(islice(value.arrays(), 2))
        if len(found) == 1 and found[0][0] == ():
            return found[0][1]
        raise UnsupportedError(
            f"{value} is not one array",
            "an index map belongs to one array",
            "ask about each array of it by itself",
        )
    found_layout = as_layout(value)
    if found_layout is None:
        raise UnsupportedError(
            f"{shown(value)} is not a layout",
            "a layout is text, a parsed layout, or a value with recipe(shape) and "
            "reference(coordinates, shape)",
            'give for example "[1, 0, 1 p(4)]", and a shape',
        )
    return found_layout


def _lowered(
    layout: Layout, sizes: tuple[Int, ...], given: Sizes | None, known: tuple[Assumption, ...]
) -> IndexMap:
    known = meet_all((*known, *layout.assumptions(sizes)))
    sizes = tuple(apply_divisibility(known, n) for n in sizes)

    def reference(coordinates: Sequence[AffineExpr], shape: Sequence[Int]) -> AffineExpr:
        form = layout.reference(coordinates, shape)
        # The formula of a scalar may be the number 0.
        return form if isinstance(form, AffineExpr) else AffineExpr((), form)

    return IndexMap.of(
        checked_recipe(layout, sizes),
        reference,
        str(layout) if layout.sizes is not None else f"{layout} at {_times(sizes)}",
        layout.notes(sizes),
        assumptions=known,
        size_symbols=given.symbols if given is not None else None,
        element_type=layout.element,
    )


def _is_passed_on(assuming: Assuming) -> bool:
    """Whether assumptions come from another map, which may have other names."""
    return isinstance(assuming, tuple) and all(isinstance(one, Assumption) for one in assuming)


def _times(sizes: Iterable[Int]) -> str:
    return "x".join(map(str, sizes)) or "()"


def _require_same_shape(m: IndexMap, given: Sizes) -> None:
    own = m.recipe.shape
    if tuple(apply_divisibility(m.assumptions, n) for n in given.sizes) != own:
        raise ShapeError(
            f"the layout carries the shape {_shape(own)}, {_shape(given.sizes)} was given too",
            "an array has one shape",
            "leave the shape out, or give the same one",
        )


def _shape(sizes: Sequence[Int]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def index_maps(
    a: LayoutLike, b: LayoutLike, shape: Shape | None, assuming: Assuming | None = None
) -> tuple[IndexMap, IndexMap]:
    """Index maps of two layouts at one shape, which one of them may carry for both.

    What one of them assumes of a symbolic size, the other assumes too.
    """
    layouts = [_array_layout(x) for x in (a, b)]
    carried = [sizes for x in layouts if (sizes := _carried(x)) is not None]
    lent = (
        shape if shape is not None or not carried else tuple(n for n in carried[0] if n is not None)
    )
    first, second = ((x, shape if _carried(x) is not None else lent) for x in layouts)
    return _under_both(first, second, assuming)


def _under_both(
    first: tuple[LayoutLike, Shape | None],
    second: tuple[LayoutLike, Shape | None],
    assuming: Assuming | None,
) -> tuple[IndexMap, IndexMap]:
    """Index maps of two layouts at shapes, each under what the other assumes too."""
    one, other = (index_map(x, shape, assuming=assuming) for x, shape in (first, second))
    if one.assumptions == other.assumptions:
        return one, other
    both = meet_all((*one.assumptions, *other.assumptions))
    one, other = (index_map(x, shape, assuming=both) for x, shape in (first, second))
    return one, other


def needs_shape(layout: LayoutLike) -> bool:
    """Whether a layout is written without the sizes of the array."""
    value = notations.parse(layout) if isinstance(layout, str) else layout
    return (own := as_layout(value)) is not None and _carried(own) is None


def _carried(layout: Layout | IndexMap) -> tuple[Int | None, ...] | None:
    """The sizes that a layout itself carries."""
    return layout.recipe.shape if isinstance(layout, IndexMap) else layout.sizes


def relayout(
    source: LayoutLike,
    target: LayoutLike,
    shape: Shape | None = None,
    *,
    reshape: Shape | None = None,
    transpose: Sequence[int] | None = None,
    assuming: Assuming | None = None,
) -> Relayout:
    """Where each offset of the target's buffer is found in the source's.

    Args:
        source: the layout of the buffer that is read.
        target: the layout of the buffer that is written.
        shape: the source's shape, where no text carries it. A layout whose text carries no shape
            takes that of the other one.
        reshape: the array's shape in the target, before a transpose, where it is reshaped
            between; a target whose text carries a shape need not have it said.
        transpose: the order of dimensions after that, as NumPy's ``transpose`` takes it.
        assuming: what is known of symbolic sizes, as for ``index_map``.

    Raises:
        ShapeError: where the shapes do not fit each other.

    >>> print(relayout("[0, 1]", "[1, 0]", (4, 8)))
    p -> 8*(p%4) + p//4
    >>> print(relayout("f32[4,6]", "f32[2,3,2,2]", transpose=(0, 2, 1, 3), reshape=(2, 2, 3, 2)))
    p -> 12*(p//12) + 6*((p//2)%2) + 2*((p//4)%3) + p%2
    """
    if reshape is None and transpose is None:
        return Relayout(*index_maps(source, target, shape, assuming))
    first = index_map(source, shape, assuming=assuming)
    between = first.recipe.shape if reshape is None else sizes_of(reshape).sizes
    order = _order(transpose, len(between))
    lent = tuple(between[axis] for axis in order) if needs_shape(target) else None
    known = first.assumptions if assuming is None else assumptions_of(assuming)
    first, second = _under_both((source, shape), (target, lent), known)
    changed = tuple(apply_divisibility(second.assumptions, between[axis]) for axis in order)
    if changed != second.recipe.shape:
        raise ShapeError(
            f"the target has the shape {_shape(second.recipe.shape)}",
            f"reshaped and transposed the array has the shape {_shape(changed)}",
            "give the reshape and the transpose that lead to the target's shape",
        )
    seen = reshape_view(second, first.recipe.shape, order if transpose is not None else None)
    return Relayout(first, seen)


def _order(given: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """A transpose as a tuple; that of none leaves the dimensions where they are."""
    if given is None:
        return tuple(range(rank))
    order = tuple(given) if isinstance(given, list | tuple) else (None,)
    if not all(type(dim) is int for dim in order) or sorted(order) != list(range(rank)):
        raise ShapeError(
            f"{list(order)} is no order of {rank} dimensions",
            "a transpose names each dimension once, from 0",
            f"give for example {list(reversed(range(rank)))}",
        )
    return order
