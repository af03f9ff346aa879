"""Make index maps and relayouts from text, layouts and shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from morello_layouts import notations
from morello_layouts.api.arguments import (
    Assuming,
    Shape,
    Sizes,
    assumptions_of,
    require_names_of,
    require_size_names,
    sizes_of,
)
from morello_layouts.checks import as_permutation, shown
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr.assumptions import Assumption, apply_divisibility, meet_all
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.kernels.relayout import Relayout
from morello_layouts.layout import Arrays, Layout, as_layout, checked_recipe
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.maps.derived import map_of_formula, reshape_view
from morello_layouts.maps.names import as_names, own_names
from morello_layouts.maps.origin import Origin
from morello_layouts.notations import strided
from morello_layouts.notations.functions import is_function, layout_of_function

if TYPE_CHECKING:
    from numpy.typing import NDArray

LayoutLike: TypeAlias = "str | Arrays | IndexMap | AffineMap | NDArray[Any] | Callable[..., Any]"
"""Text in any notation, a layout, an array, an index map, a formula, or a function."""


def index_map(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    names: Sequence[str] | str | None = None,
) -> IndexMap:
    """Return the index map of a layout at a shape: from coordinates to offsets in elements.

    Args:
        layout: text in any notation, a layout, also one of a notation of your own
            (:class:`~morello_layouts.Layout`), an array of NumPy or PyTorch, whose strides count,
            or an index map, which is returned as it is; or a function of coordinates, which gives
            the offset in elements, or the coordinates in a row-major box. It is called once, with
            symbolic coordinates.
        shape: the sizes; XLA shapes carry their own. A size may be a name or a SymPy expression:
            then it is symbolic, an unknown number of at least 1.
        assuming: assumptions about symbolic sizes, such as "M % 8 == 0, N <= 128". In Python also a
            SymPy relation, a range ``{"N": (1, 128)}``, or several of these. A Morello layout
            assumes by itself that its packs divide their dimensions, and strides that a pitch has
            room for a row, which ``"ld >= N"`` states.
        notation: the notation of a text, as for :func:`~morello_layouts.parse`; by default the text
            tells.
        names: names of the coordinates, one for each dimension, as ``("y", "x")`` or ``"y, x"``;
            by default those of the layout's text, such as n, c, h, w of NHWC, or d0, d1, ….

    Raises:
        ParseError: if the text is not in any notation.
        ShapeError: if the shape is missing, or does not fit the layout.

    >>> m = index_map("[1, 0, 1 p(4)]", (6, 8))
    >>> print(m)
    (d0, d1) -> 24*(d1//4) + 4*d0 + d1%4
    >>> m(0, 5)
    25
    >>> print(index_map("f32[M,N]{1,0:T(8,128)}", assuming="N % 128 == 0", names=("y", "x")))
    (y, x) -> 8*N*(y//8) + 1024*(x//128) + 128*(y%8) + x%128
    >>> print(index_map(lambda i, j: (i // 8, j, i % 8), (32, 5)).recipe)
    [32,5] → split [4,8,5] → transpose [4,5,8]
    """
    given = None if shape is None else sizes_of(shape)
    assuming = tuple(assuming) if isinstance(assuming, Iterator) else assuming
    known = assumptions_of(assuming)
    value = _one_array(parsed(layout, notation))
    own = _carried(value)
    if own is not None:
        sizes = _bounded(value, own)
        require_size_names(name for n in sizes if isinstance(n, SizeExpr) for name in n.names())
    elif given is not None:
        sizes = given.sizes
    else:
        raise ShapeError(
            f"no shape given for {value}",
            "the layout's text does not carry the sizes of the array",
            "give the sizes, such as shape=(6, 8)",
        )
    m = _under(value, sizes, given, known, assuming)
    if assuming is not None and not _is_passed_on(assuming):
        require_names_of(known, (*sizes, *map(SizeExpr.named, m.recipe.names)))
    if given is not None:
        _require_same_shape(m, given)
    return m if names is None else m.named(*as_names(names))


def _bounded(layout: Layout | IndexMap, sizes: Sequence[Int | None]) -> tuple[Int, ...]:
    found = tuple(n for n in sizes if n is not None)
    if len(found) < len(sizes):
        raise UnsupportedError(
            f"{layout} has an unbounded size: ?",
            "offsets are computed for sizes that are numbers or names",
            "write a number or a name instead of each ?",
        )
    return found


def parsed(layout: LayoutLike, notation: str | None = None) -> Arrays | IndexMap:
    """Return text, arrays and functions as the layout that they have; other values as they are."""
    if is_function(layout):
        return layout_of_function(layout)
    if isinstance(layout, AffineMap):
        return map_of_formula(layout)
    if isinstance(layout, str):
        return notations.parse(layout, notation)
    found = None if isinstance(layout, Arrays | IndexMap) else strided.of(layout)
    return cast("Arrays | IndexMap", layout) if found is None else found


def arrays_of(value: Arrays | IndexMap) -> Iterable[tuple[tuple[int, ...], Layout | IndexMap]]:
    """Return the layout of each array with its position in the tuples around it."""
    if isinstance(value, IndexMap):
        return [((), value)]
    if isinstance(value, Arrays):
        return value.arrays()
    layout = as_layout(value)
    if layout is None:
        raise UnsupportedError(
            f"expected a layout, got {shown(value)}",
            "a layout is text, a parsed layout, a function of coordinates, or a value with "
            "recipe(shape) and reference(coordinates, shape)",
            'give for example "[1, 0, 1 p(4)]", and a shape',
        )
    return [((), layout)]


def _one_array(layout: LayoutLike) -> Layout | IndexMap:
    value = parsed(layout)
    found = list(islice(arrays_of(value), 2))
    if len(found) == 1 and found[0][0] == ():
        return found[0][1]
    raise UnsupportedError(
        f"expected one array, got {value}",
        "an index map belongs to one array",
        "ask about each array by itself",
    )


def _under(
    layout: Layout | IndexMap,
    sizes: tuple[Int, ...],
    given: Sizes | None,
    known: tuple[Assumption, ...],
    stated: Assuming | None,
) -> IndexMap:
    """Return the index map of a layout at sizes, under assumptions."""
    if isinstance(layout, IndexMap):
        return layout.assume(known)
    own = layout.assumptions(sizes)
    origin = Origin(layout, sizes, (*own, *(() if stated is None else (stated,))))
    known = meet_all((*known, *own))
    sizes = tuple(apply_divisibility(known, n) for n in sizes)

    at = "" if layout.sizes is not None else f" at {'x'.join(map(str, sizes)) or '()'}"
    m = IndexMap.of(
        checked_recipe(layout, sizes),
        layout.reference,
        f"{layout}{at}",
        layout.notes(sizes),
        assumptions=known,
        size_symbols=given.symbols if given is not None else None,
        element_type=layout.element,
    )
    require_size_names(m.recipe.names)
    return replace(m, origin=origin, names=own_names(layout.names(len(sizes)), m.recipe.shape))


def _is_passed_on(assuming: Assuming) -> bool:
    """Return whether the assumptions are another map's, which may have other names."""
    return isinstance(assuming, tuple) and all(isinstance(one, Assumption) for one in assuming)


def _require_same_shape(m: IndexMap, given: Sizes) -> None:
    own = m.recipe.shape
    if tuple(apply_divisibility(m.assumptions, n) for n in given.sizes) != own:
        raise ShapeError(
            f"two shapes: the layout carries {_shape(own)}, and {_shape(given.sizes)} was given",
            "an array has one shape",
            "leave out the argument shape, or give the same sizes",
        )


def _shape(sizes: Sequence[Int]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def index_maps(
    a: LayoutLike, b: LayoutLike, shape: Shape | None, assuming: Assuming | None = None
) -> tuple[IndexMap, IndexMap]:
    """Return the index maps of two layouts at one shape, which one of them may carry for both.

    Assumptions of one about a symbolic size hold for the other too.
    """
    layouts = [_one_array(x) for x in (a, b)]
    carried = [sizes for x in layouts if (sizes := _carried(x)) is not None]
    lent = (
        shape if shape is not None or not carried else tuple(n for n in carried[0] if n is not None)
    )
    first, second = ((x, shape if _carried(x) is not None else lent) for x in layouts)
    return _under_both(first, second, assuming)


def own_maps(
    a: LayoutLike, b: LayoutLike, shape: Shape | None, assuming: Assuming | None = None
) -> tuple[IndexMap, IndexMap]:
    """Return the index maps of two layouts, each at the shape that it carries, if it does.

    The other arguments are those of :func:`index_maps`.
    """
    layouts = [_one_array(x) for x in (a, b)]
    carried = [sizes is not None for x in layouts for sizes in [_carried(x)]]
    if all(carried) == (shape is not None):  # one shape for both, given or lent
        return index_maps(a, b, shape, assuming)
    known = assumptions_of(assuming)
    one, other = ((x, None if own else shape) for x, own in zip(layouts, carried, strict=True))
    first, second = _under_both(one, other, known)
    own = [n for x in layouts for n in _carried(x) or () if n is not None]  # not yet numbers
    stated = () if shape is None else sizes_of(shape).sizes
    require_names_of(known, (*stated, *own, *first.recipe.shape, *second.recipe.shape))
    return first, second


def _under_both(
    first: tuple[LayoutLike, Shape | None],
    second: tuple[LayoutLike, Shape | None],
    assuming: Assuming | None,
) -> tuple[IndexMap, IndexMap]:
    """Return the index maps of two layouts at shapes, each under the assumptions of both."""
    one = index_map(*first, assuming=assuming)
    is_one = second[0] is first[0] and second[1] is first[1]
    other = one if is_one else index_map(*second, assuming=assuming)
    if one.assumptions == other.assumptions:
        return one, other
    both = meet_all((*one.assumptions, *other.assumptions))
    one, other = (index_map(x, shape, assuming=both) for x, shape in (first, second))
    return one, other


def needs_shape(layout: LayoutLike) -> bool:
    """Return whether a layout does not carry the sizes of its array.

    >>> needs_shape("[0, 1]"), needs_shape("f32[3,5]")
    (True, False)
    """
    value = parsed(layout)
    own = None if isinstance(value, IndexMap) else as_layout(value)
    return own is not None and own.sizes is None


def _carried(layout: Layout | IndexMap) -> tuple[Int | None, ...] | None:
    """Return the sizes that a layout itself carries."""
    return layout.recipe.shape if isinstance(layout, IndexMap) else layout.sizes


def relayout(
    source: LayoutLike,
    target: LayoutLike,
    shape: Shape | None = None,
    *,
    reshape: Shape | None = None,
    transpose: Sequence[int] | None = None,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> Relayout:
    """Return the relayout of an array: for each offset of the target's buffer, the source's.

    Args:
        source: the layout of the buffer that is read.
        target: the layout of the buffer that is written.
        shape: the source's shape, if no text carries it. A layout whose text carries no shape
            takes that of the other one.
        reshape: the shape that the array is reshaped to, before a transpose; optional if the
            target's text carries a shape.
        transpose: the order of dimensions after that, as NumPy's ``transpose`` takes it.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of each text, as for ``parse``.

    Raises:
        ShapeError: if the shapes do not fit each other.

    >>> print(relayout("[0, 1]", "[1, 0]", (4, 8)))
    p -> 8*(p%4) + p//4
    >>> print(relayout("f32[4,6]", "f32[2,3,2,2]", transpose=(0, 2, 1, 3), reshape=(2, 2, 3, 2)))
    p -> 12*(p//12) + 6*((p//2)%2) + 2*((p//4)%3) + p%2
    """
    source, target = (parsed(x, notation) for x in (source, target))
    if reshape is None and transpose is None:
        return Relayout(*index_maps(source, target, shape, assuming))
    first = index_map(source, shape, assuming=assuming)
    between = first.recipe.shape if reshape is None else sizes_of(reshape).sizes
    rank = len(between)
    order = as_permutation(range(rank) if transpose is None else transpose, "transpose", rank)
    lent = tuple(between[axis] for axis in order) if needs_shape(target) else None
    known = first.assumptions if assuming is None else assumptions_of(assuming)
    first, second = _under_both((source, shape), (target, lent), known)
    changed = tuple(apply_divisibility(second.assumptions, between[axis]) for axis in order)
    if changed != second.recipe.shape:
        raise ShapeError(
            f"the target: expected the shape {_shape(changed)}, got {_shape(second.recipe.shape)}",
            "the target has the shape of the reshaped and transposed source",
            "give the reshape and the transpose that lead to the target's shape",
        )
    view = reshape_view(second, first.recipe.shape, order if transpose is not None else None)
    return Relayout(first, view)
