"""The door: read layouts, shapes and assumptions that users pass, and make index maps of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from morello_layouts import notations
from morello_layouts.core.checks import as_permutation, shown, whole
from morello_layouts.core.expr import AffineExpr, Interval
from morello_layouts.core.expr.assumptions import Assumption, apply_divisibility, meet_all
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Arrays, Layout
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.core.maps.names import as_names
from morello_layouts.core.maps.subject import (
    Subject,
    met,
    require_names_of,
    require_size_names,
    reshape_view,
    shape_text,
)
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.notations.coordinates import FormulaLayout, OffsetLayout
from morello_layouts.notations.functions import CalledFunction, called_or_formula, is_function

if TYPE_CHECKING:
    import sympy
    from numpy.typing import NDArray

    from morello_layouts.outputs.kernels.relayout import Relayout
    from morello_layouts.programs.records import Record


Shape: TypeAlias = "Sequence[Int | str | sympy.Expr]"
"""Sizes: numbers, names or SymPy expressions."""

Assuming: TypeAlias = "str | sympy.Basic | Mapping[Any, tuple[int, int | None]] | Iterable[Any]"
"""Assumptions: text, SymPy, ranges by name, or several of these."""


@frozen
class Sizes:
    """The sizes of a shape, and its SymPy symbols by name."""

    sizes: tuple[Int, ...]
    symbols: Mapping[str, sympy.Symbol]


_SEVERAL: Final = regex(r",|\A\s*[0-9]{1,19}\s*[x×]\s*[0-9]")  # 6x8, or M,N


def sizes_of(shape: Shape) -> Sizes:
    """Return the sizes of a shape as numbers and polynomials in names; text may hold several."""
    if isinstance(shape, str) and _SEVERAL.search(shape):
        shape = notations.parse_shape(shape)
    if isinstance(shape, Mapping | AbstractSet):
        raise ShapeError(
            f"the shape: expected sizes in their order, got {shown(shape)}",
            "keys are not sizes, and a set has no order",
            "give for example shape=(6, 8)",
        )
    given: tuple[Any, ...] = (
        tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
    )
    sizes = tuple(_size(k, n) for k, n in enumerate(given))
    symbols = {s.name: s for n in given for s in getattr(n, "free_symbols", ())}
    return Sizes(sizes, symbols)


def _size(k: int, given: Any) -> Int:
    n = given if type(given) is int else _number(given)
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
            from morello_layouts.core.expr.conversions import number_from_sympy

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
            from morello_layouts.core.expr.conversions import form_from_sympy

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


LayoutLike: TypeAlias = "str | Arrays | IndexMap | AffineMap | NDArray[Any] | Callable[..., Any]"
"""Text in any notation, a layout, an array, an index map, a formula, or a function."""

MapLike: TypeAlias = "LayoutLike | AffineMap"
"""A layout, or the map of a formula, which keeps its formulas where no recipe is needed."""


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
    m = subject(layout, shape, assuming=assuming, notation=notation).map()
    return m if names is None else m.named(*as_names(names))


def subject(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> Subject:
    """Return the subject of a question, whose map is made on need. Arguments of ``index_map``."""
    given = None if shape is None else sizes_of(shape)
    assuming = tuple(assuming) if isinstance(assuming, Iterator) else assuming
    known = () if assuming is None else assumptions_of(assuming)
    return _subject(_one_array(layout, notation), given, known, assuming)


def _subject(
    value: Layout | IndexMap | AffineMap,
    given: Sizes | None,
    known: tuple[Assumption, ...],
    stated: Assuming | None,
) -> Subject:
    if given is None:
        return Subject(value, None, known, stated)
    if isinstance(value, CalledFunction | FormulaLayout):
        value = _decidable(value, given.sizes, known)
    if isinstance(value, Layout) and value.sizes is not None:
        value = value.bound(given.sizes) or value
    return Subject(value, given.sizes, known, stated, given.symbols)


def _decidable(value: Layout, sizes: Sequence[Int], known: tuple[Assumption, ...]) -> Layout:
    """Return the layout of a function, recovered if its formula has no recipe."""
    has_xors = isinstance(value, OffsetLayout) and value.forms[0].has_xors
    if isinstance(value, FormulaLayout) and not has_xors:
        with suppress(LayoutError):
            value.box(sizes)
            return value
    with importing:
        from morello_layouts.outputs.recover import decidable

    return decidable(value, sizes, known)


_RECORD: Final = re.compile(
    r"^\s*([A-Za-z]\w+)\s*(?:\[[^\]]*\]\s*)?$|\{[^{}]*\bat\s+(?:byte|bit)\s"
)


def recognized(layout: Any, notation: str | None = None) -> Arrays | IndexMap | AffineMap | None:
    """Return what has the places of elements: of text, arrays and functions the layout they have.

    None for other values, such as an expression.
    """
    if isinstance(layout, str):
        return notations.parse(layout, notation)
    if isinstance(layout, Arrays | IndexMap | AffineMap):
        return layout
    if is_function(layout):
        return called_or_formula(layout)
    if type(layout).__module__ == "numpy":
        with importing:
            from morello_layouts.notations.strided import of
        return of(layout)
    with importing:
        from morello_layouts.notations.objects import layout_of
    return layout_of(layout)


def record_in(given: Any, shape: Any = None) -> Record | None:
    """Return the record that a value, a text or the name of a packed format is; None if none.

    Raises:
        ParseError: if a text with fields in braces is not a record.
        LayoutError: if a name is one of packed weights that have no record.
        ShapeError: if a shape was given with a record.
    """
    is_record = type(given).__module__ == "morello_layouts.programs.records.records"
    found: Record | None = given if is_record else None
    name = _RECORD.search(given) if isinstance(given, str) else None
    if name is not None:
        with importing:
            from morello_layouts.programs.records.records import named, record

        row = None if name[1] is None else named(name[1])
        is_record = name[1] is None or (row is not None and "is_type" not in row)
        found = record(given) if is_record else None
    if found is not None and shape is not None:
        raise ShapeError(
            f"a shape was given for the record {found.name}",
            "its text has the sizes of each field",
            "leave the shape out, or write how many blocks after its name",
        )
    return found


def parsed(layout: MapLike, notation: str | None = None) -> Arrays | IndexMap | AffineMap:
    """Return a layout, layouts in tuples, or a map, which text, an array or a function means.

    Raises:
        ParseError: if a text is not in any notation.
        UnsupportedError: if a value has no places of elements.
    """
    found = recognized(layout, notation)
    if found is not None:
        return found
    raise UnsupportedError(
        f"expected a layout, got {shown(layout)}",
        "a layout is text, a parsed layout, a function of coordinates, or a value with "
        "recipe(shape) and reference(coordinates, shape)",
        'give for example "[1, 0, 1 p(4)]", and a shape',
    )


def arrays_of(
    value: Arrays | IndexMap | AffineMap,
) -> Iterable[tuple[tuple[int, ...], Layout | IndexMap | AffineMap]]:
    """Return the layout of each array with its position in the tuples around it."""
    return value.arrays() if isinstance(value, Arrays) else [((), value)]


def _one_array(layout: MapLike, notation: str | None = None) -> Layout | IndexMap | AffineMap:
    value = parsed(layout, notation)
    if isinstance(value, Layout) or not isinstance(value, Arrays):
        return value
    found = list(islice(arrays_of(value), 2))
    if len(found) == 1 and found[0][0] == ():
        return found[0][1]
    raise UnsupportedError(
        f"expected one array, got {value}",
        "an index map belongs to one array",
        "ask about each array by itself",
    )


def _two_arrays(
    a: MapLike, b: MapLike, notation: str | None = None
) -> tuple[Layout | IndexMap | AffineMap, Layout | IndexMap | AffineMap]:
    """Return the arrays of two layouts; text that is given twice is read once."""
    one = _one_array(a, notation)
    is_one = b is a or (isinstance(a, str) and isinstance(b, str) and a == b)
    return one, one if is_one else _one_array(b, notation)


def subjects(
    a: MapLike,
    b: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> tuple[Subject, Subject]:
    """Return two layouts at one shape, which one of them may carry for both."""
    one, other = _two_arrays(a, b, notation)
    carried = next((x.sizes for x in (one, other) if x.sizes is not None), None)
    given = None if shape is None else sizes_of(shape)
    known = () if assuming is None else assumptions_of(assuming)
    lent = given
    if given is None and carried is not None and None in (one.sizes, other.sizes):
        lent = sizes_of(tuple(n for n in carried if n is not None))
    first = _subject(one, lent if one.sizes is None else given, known, assuming)
    if other is one:
        return first, first
    return first, _subject(other, lent if other.sizes is None else given, known, assuming)


def index_maps(
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> tuple[IndexMap, IndexMap]:
    """Return the index maps of two layouts at one shape, which one of them may carry for both.

    Assumptions of one about a symbolic size hold for the other too.
    """
    return met(*subjects(a, b, shape, assuming=assuming, notation=notation))


def own_subjects(
    a: LayoutLike, b: LayoutLike, shape: Shape | None, assuming: Assuming | None = None
) -> tuple[Subject, Subject]:
    """Return two layouts, each at the shape that it carries, if it does.

    The other arguments are those of :func:`subjects`.
    """
    layouts = _two_arrays(a, b)
    if all(x.sizes is not None for x in layouts) == (shape is not None):
        return subjects(*layouts, shape, assuming=assuming)  # one shape for both, given or lent
    known, given = assumptions_of(assuming), None if shape is None else sizes_of(shape)
    one, other = (_subject(x, given if x.sizes is None else None, known, known) for x in layouts)
    require_names_of(known, one, other)
    return one, one if layouts[0] is layouts[1] else other


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
    with importing:
        from morello_layouts.outputs.kernels.relayout import Relayout

    if reshape is None and transpose is None:
        return Relayout(*index_maps(source, target, shape, assuming, notation))
    one = subject(source, shape, assuming=assuming, notation=notation)
    own = one.changed(one.sizes)
    between = own if reshape is None else sizes_of(reshape).sizes
    rank = len(between)
    order = as_permutation(range(rank) if transpose is None else transpose, "transpose", rank)
    lent = tuple(between[axis] for axis in order)
    known = one.assumptions if assuming is None else one.known
    other = subject(target, assuming=known, notation=notation)
    if other.value.sizes is None:
        other = replace(other, shape=lent)
    first, second = met(one, other)
    changed = tuple(apply_divisibility(second.assumptions, n) for n in lent)
    if changed != second.recipe.shape:
        raise ShapeError(
            f"the target: expected the shape {shape_text(changed)}, got "
            f"{shape_text(second.recipe.shape)}",
            "the target has the shape of the reshaped and transposed source",
            "give the reshape and the transpose that lead to the target's shape",
        )
    view = reshape_view(second, first.recipe.shape, order if transpose is not None else None)
    return Relayout(first, view)
