"""The public functions: layout text, layouts and index maps alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from morello_layouts import notation
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.expr import OPERATIONS, CostModel, Interval, Linear, cheapest, readable
from morello_layouts.expr.operations import lift
from morello_layouts.expr.size import Number, Size
from morello_layouts.expr.sympy_bridge import from_sympy, number_from_sympy, to_sympy
from morello_layouts.formula import IndexMap
from morello_layouts.morello import MorelloLayout
from morello_layouts.notation.dispatch import Layout
from morello_layouts.recipe import pack_array, unpack_array
from morello_layouts.xla import XlaLayout, XlaShape

if TYPE_CHECKING:
    import sympy

    from morello_layouts.proof import Proof

__all__ = [
    "Bound",
    "LayoutLike",
    "are_equivalent",
    "index_map",
    "is_bijective",
    "is_injective",
    "is_surjective",
    "pack",
    "simplify",
    "unpack",
    "verify",
]

LayoutLike: TypeAlias = "str | Layout | IndexMap"
Bound: TypeAlias = "int | str | sympy.Expr | None"


def index_map(layout: LayoutLike, shape: Sequence[int] | None = None) -> IndexMap:
    """The index map of a layout at a shape: from coordinates to offsets in elements.

    Args:
        layout: text in Morello's or XLA's notation, a layout, or an index map (returned as is).
        shape: the sizes; XLA shapes carry their own.

    Raises:
        ParseError: where text is in no notation.
        ShapeError: where the shape is missing, or does not fit the layout.

    >>> m = index_map("[1, 0, 1 p(4)]", (6, 8))
    >>> print(m)
    (d0, d1) -> 24*(d1//4) + 4*d0 + d1%4
    >>> m(0, 5)
    25
    """
    if isinstance(layout, str):
        layout = notation.parse(layout)
    sizes = None if shape is None else _sizes(shape)
    match layout:
        case IndexMap():
            return _same_shape(layout, layout.shape, sizes)
        case XlaShape():
            m = IndexMap.of(layout.recipe(), layout.textbook, str(layout), layout.warnings)
            return _same_shape(m, layout.shape, sizes)
        case XlaLayout():
            # The element type does not matter to offsets in elements.
            return index_map(XlaShape("u8", _required(sizes, layout), layout))
        case MorelloLayout():
            sizes = _required(sizes, layout)
            source = f"{layout} at {'x'.join(map(str, sizes)) or '()'}"
            return IndexMap.of(layout.recipe(sizes), layout.textbook, source)
        case _:
            raise UnsupportedError(
                f"{layout} is not one array",
                "an index map belongs to one array",
                "ask about each array of it by itself",
            )


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    sizes: tuple[object, ...] = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    for k, n in enumerate(sizes):
        if not isinstance(n, int | np.integer) or isinstance(n, bool):
            raise ShapeError(
                f"size {k} of the shape is {n!r}",
                "sizes are integers, one for each dimension",
                "give a tuple of ints, such as (6, 8)",
            )
    return tuple(int(n) for n in sizes if isinstance(n, int | np.integer))


def _required(sizes: tuple[int, ...] | None, layout: object) -> tuple[int, ...]:
    if sizes is None:
        raise ShapeError(
            f"{layout} has no shape",
            "this notation writes the layout without the sizes of the array",
            "give the shape as well: index_map(layout, (6, 8))",
        )
    return sizes


def _same_shape(m: IndexMap, own: tuple[int, ...], given: tuple[int, ...] | None) -> IndexMap:
    if given is not None and given != own:
        raise ShapeError(
            f"the layout carries the shape {own}, {given} was given too",
            "an array has one shape",
            "leave the shape out, or give the same one",
        )
    return m


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
    form = _form(expr, bounds or {})
    if target not in ("readable", "cheapest"):
        raise LayoutError(
            f"no target is named {target!r}",
            "an expression is simplified for reading or for computing",
            "give target='readable' or target='cheapest'",
        )
    simple = cheapest(form, cost) if target == "cheapest" else readable(form)[0]
    if verify:
        _require_equal(form, simple)
    return to_sympy(simple)


def _form(expr: sympy.Expr | str, bounds: Mapping[Any, tuple[Bound, Bound]]) -> Linear:
    intervals = {str(name): _interval(name, ends) for name, ends in bounds.items()}
    # Names in the bounds of others are sizes, of at least 1 unless said otherwise.
    sizes = {size for i in intervals.values() for end in i if isinstance(end, Size)
             for size in end.names()}  # fmt: skip
    intervals = dict.fromkeys(sizes, Interval(1, None)) | intervals
    if isinstance(expr, str):
        form = notation.parse_expression(expr, intervals)
    else:
        import sympy

        form = from_sympy(sympy.Integer(expr) if isinstance(expr, int) else expr, intervals)
    return lift(form, sizes)


def _interval(name: object, ends: tuple[Bound, Bound]) -> Interval:
    lo, hi = (_end(end) for end in ends)
    if isinstance(lo, int) and isinstance(hi, int) and hi < lo:
        raise LayoutError(
            f"{name} has no values", f"{lo} is above {hi}", "give the smaller end first"
        )
    return Interval(lo, hi)


def _end(end: Bound) -> Number | None:
    if end is None or isinstance(end, int):
        return end
    if isinstance(end, str):
        return notation.parse_number(end)
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


def is_injective(layout: LayoutLike, shape: Sequence[int] | None = None) -> Proof:
    """Whether no two coordinates share an offset, proved by ISL.

    >>> print(is_injective("[1, 0, 1 p(4)]", (6, 8)).holds)
    True
    """
    from morello_layouts import proof

    return proof.is_injective(index_map(layout, shape))


def is_surjective(layout: LayoutLike, shape: Sequence[int] | None = None) -> Proof:
    """Whether every offset of the buffer holds an element, proved by ISL.

    >>> is_surjective("f32[3,5]{1,0:T(2,2)}").counterexample
    9
    """
    from morello_layouts import proof

    return proof.is_surjective(index_map(layout, shape))


def is_bijective(layout: LayoutLike, shape: Sequence[int] | None = None) -> Proof:
    """Whether coordinates and offsets correspond one to one, proved by ISL.

    >>> is_bijective("f32[3,5]{1,0:T(2,2)}").padding
    9
    """
    from morello_layouts import proof

    return proof.is_bijective(index_map(layout, shape))


def are_equivalent(a: LayoutLike, b: LayoutLike, shape: Sequence[int] | None = None) -> Proof:
    """Whether two layouts give every coordinate the same offset, proved by ISL.

    A layout whose text carries no shape takes that of the other one.

    >>> print(are_equivalent("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]").holds)
    True
    """
    from morello_layouts import proof

    first, second = _pair(a, b, shape)
    return proof.are_equivalent(first, second)


def _pair(a: LayoutLike, b: LayoutLike, shape: Sequence[int] | None) -> tuple[IndexMap, IndexMap]:
    layouts = [notation.parse(x) if isinstance(x, str) else x for x in (a, b)]
    if shape is None:
        carried = [x.shape for x in layouts if isinstance(x, IndexMap | XlaShape)]
        shape = carried[0] if carried else None
    first, second = (index_map(x, shape) for x in layouts)
    return first, second


def verify(layout: LayoutLike, shape: Sequence[int] | None = None) -> Proof:
    """Whether the simplified and the textbook formula equal the recipe at every coordinate.

    >>> print(verify("bf16[10,200]{1,0:T(8,128)(2,1)}").holds)
    True
    """
    from morello_layouts import proof

    return proof.verify(index_map(layout, shape))


def pack(layout: LayoutLike, array: Any, *, fill: Any = 0) -> NDArray[Any]:
    """The buffer that holds an array in a layout: 1-D, one item for each slot.

    Args:
        layout: text, a layout, or an index map.
        array: the array, of the layout's shape.
        fill: what padding holds.

    >>> pack("{1,0:T(2,2)}", [[1, 2, 3]], fill=0)
    array([1, 2, 0, 0, 3, 0, 0, 0])
    """
    array = np.asarray(array)
    m = index_map(layout, array.shape)
    return pack_array(m.recipe, array, fill)


def unpack(layout: LayoutLike, buffer: Any, shape: Sequence[int] | None = None) -> NDArray[Any]:
    """The array that lies in a 1-D buffer in a layout; what padding holds does not matter.

    >>> unpack("u8[1,3]{1,0:T(2,2)}", [1, 2, 9, 9, 3, 9, 9, 9])
    array([[1, 2, 3]])
    """
    m = index_map(layout, shape)
    buffer = np.asarray(buffer)
    if buffer.shape != (m.size,):
        raise ShapeError(
            f"the buffer has the shape {buffer.shape}",
            f"the layout spans {m.size} elements",
            f"give a 1-D array of {m.size} items",
        )
    return unpack_array(m.recipe, buffer)
