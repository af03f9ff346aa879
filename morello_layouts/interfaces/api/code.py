"""Print formulas as source text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from morello_layouts import notations
from morello_layouts.core.checks import shown
from morello_layouts.core.expr import (
    OPERATIONS,
    SHIFTS,
    AffineExpr,
    Interval,
    Var,
    canonicalize,
    cheapest,
    readable,
    standard,
    variable,
)
from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.core.layout import Arrays
from morello_layouts.core.maps import AffineMap, IndexMap, Inverse
from morello_layouts.core.maps.modes import Decomposition
from morello_layouts.core.maps.names import renamed
from morello_layouts.core.recipe import linear_index, named_forms
from morello_layouts.errors import LayoutError, ParseError, ShapeError
from morello_layouts.interfaces.api.formulas import Bounds, form_of
from morello_layouts.interfaces.api.layouts import LayoutLike, Shape, index_map, recognized
from morello_layouts.outputs.codegen import Formulas, Target, print_formulas
from morello_layouts.outputs.kernels.relayout import Relayout

if TYPE_CHECKING:
    import sympy


Formulable: TypeAlias = (
    "LayoutLike | Formulas | AffineMap | Inverse | Decomposition | Relayout | sympy.Expr"
)
"""A value with formulas: a layout, an index map, its inverse or parts, a relayout, or a user's."""

Several: TypeAlias = Mapping[str, Formulable] | Sequence[Formulable]
"""Values whose results one text computes, by the names of the results."""

Simplified: TypeAlias = Literal["readable", "cheapest"]


def code(
    of: Formulable | Several,
    *given: Target | str | Shape | Mapping[Any, Any] | None,
    target: Target | str | None = None,
    bounds: Bounds | None = None,
    shape: Shape | None = None,
    simplified: Simplified = "readable",
    shift: bool = False,
    function: bool = False,
    asserts: bool = False,
    name: str | None = None,
    notation: str | None = None,
    names: Sequence[str] | str | None = None,
) -> str:
    """Return a formula as source text, in integers only.

    The text of an index map or an expression is an expression. That of other values has a line for
    each result: ``d0, d1, …`` or ``source_offset`` for an inverse and a relayout, and then
    ``is_padding``, the condition that the offset ``p`` is padding; ``x0, x1, …`` for a map of
    several formulas; and for the parts of ``m.decompose()``, whose sum is the offset, ``offset0,
    offset1, …``, and ``mixed`` and ``base`` if not 0. A layout whose axes have names has a result
    for each, such as ``lane`` and ``reg`` (``register`` is a word of C), and its inverse starts
    from these. Several maps, ``{"a": m, "b": f}`` or a list, have a result each, called as the map,
    and shared parts once; a name means the same coordinate in all of them.

    Arithmetic has 32 bits if the bounds prove that nothing overflows, and otherwise 64, with
    explicit conversions; it is unsigned if nothing is negative. A value without a known bound, such
    as a symbolic size, is assumed to fit 64 bits. Expressions in C, CUDA and Triton accept
    variables of any integer type of at least 32 bits; those in Rust, and functions in C, CUDA and
    Rust, have the types that a function declares. Python's integers grow; NumPy arrays must have a
    type that holds the offsets.

    Args:
        of: a layout, its text, an index map, ``m.inverse``, ``m.decompose()``, a relayout, what
            :func:`from_sympy` gives; or an expression: SymPy, or text with ``bounds``; or several
            of these, by the names of their results.
        given: a shape, a target and bounds, in any order, if they are not given by name.
        target: ``"c"``, as by default, ``"cuda"``, ``"python"``, ``"rust"``, ``"mlir"``,
            ``"triton"``, ``"latex"`` or ``"sympy"``.
        bounds: the bounds of an expression's variables, as in :func:`simplify`. A function has all
            of them as arguments.
        shape: the array's sizes, if the layout does not carry them.
        simplified: ``"readable"``, or ``"cheapest"`` for the fewest operations.
        shift: write shifts and masks for powers of two if operands are nonnegative.
        function: write a whole function: typed arguments, a comment with the layout and the bounds,
            and names for shared parts. Symbolic sizes are arguments after the others.
        asserts: let the function check its arguments.
        name: the function's name.
        notation: the notation of a layout's text, as for ``parse``.
        names: names of a layout's coordinates, in place of d0, d1, …, as for ``index_map``.

    Raises:
        LayoutError: if there is no such target, a name is not one in it, or the layout or
            expression cannot be read.
        ShapeError: if a coordinate of several maps has another range in one of them.
        UnsupportedError: if a value does not fit 64 bits, or the target lacks an operation.

    >>> code("f32[3,5]{1,0:T(2,2)}")
    '12 * (d0 / 2) + 4 * (d1 / 2) + 2 * (d0 % 2) + d1 % 2'
    >>> code("[1, 0]", (6, 8), "python")
    '6*d1 + d0'
    >>> code("(32*i + j)//8", "python", {"i": (0, 31), "j": (0, 31)}, shift=True)
    '(i << 2) + (j >> 3)'
    >>> print(code(index_map("f32[3,5]{1,0:T(2,2)}").inverse, "python"))
    d0 = 2*(p//12) + (p//2)%2
    d1 = 2*((p//4)%3) + p%2
    is_padding = (d0 >= 3) | (d1 >= 5)
    >>> a, b = index_map("[0, 1]", (6, 8), names="i, k"), index_map("[0, 1]", (8, 5), names="k, j")
    >>> print(code({"a": a, "b": b}, "python"))
    a = 8*i + k
    b = 5*k + j
    """
    if simplified not in ("readable", "cheapest"):
        raise LayoutError(
            f"simplified: expected 'readable' or 'cheapest', got {simplified!r}",
            "a formula is simplified for reading or for computing",
            "give one of these",
        )
    target, bounds, shape = _by_kind(given, target, bounds, shape)
    if notation is not None and isinstance(of, str):
        of = notations.parse(of, notation)
    if names is not None:
        of, shape = index_map(of, shape, names=names), None  # type: ignore[arg-type]
    if isinstance(of, Mapping | list | tuple):
        found = joined(of, bounds, shape)
        found = found if name is None else replace(found, name=name)
    else:
        found = formulas_of(of, bounds, shape=shape, name=name)
    if simplified == "cheapest":
        found = _cheapest(found, shift)
    return print_formulas(found, target or "c", shift=shift, function=function, asserts=asserts)


def _by_kind(given: Sequence[Any], target: Any, bounds: Any, shape: Any) -> Sequence[Any]:
    """Return target, bounds and shape, of which some are given without their names."""
    named = {"target": target, "bounds": bounds, "shape": shape}
    for value in given:
        if value is not None:
            kind = "target" if isinstance(value, str) else "shape"
            kind = "bounds" if isinstance(value, Mapping) else kind
            if named[kind] is not None:
                raise LayoutError(
                    f"code: expected one {kind}, got {shown(named[kind])} and {shown(value)}",
                    "a text is a target, sizes are a shape, and a mapping has bounds",
                    "give each of them once",
                )
            named[kind] = value
    return [*named.values()]


def formulas_of(
    of: Formulable,
    bounds: Bounds | None = None,
    *,
    shape: Shape | None = None,
    name: str | None = None,
) -> Formulas:
    """Return the readable formulas of a value; the arguments are those of :func:`code`."""
    match of:
        case Formulas():
            found = of
        case Inverse():
            found = _of_inverse(of)
        case Decomposition():
            found = _of_decomposition(of)
        case Relayout():
            found = _of_relayout(of)
        case AffineMap():
            found = _of_affine_map(of)
        case _:
            found = _of_layout_or_expression(of, bounds, shape)
    return found if name is None else replace(found, name=name)


def joined(several: Several, bounds: Bounds | None, shape: Shape | None) -> Formulas:
    """Return the formulas of several values as those of one function."""
    if not isinstance(several, Mapping):
        several = {f"offset{k}": one for k, one in enumerate(several)}
    found = {str(name): formulas_of(x, bounds, shape=shape) for name, x in several.items()}
    variables: dict[str, Var] = {}
    results: list[tuple[str, AffineExpr]] = []
    for name, one in found.items():
        if one.limits is not None:
            raise LayoutError(
                f"{name}: expected a map from coordinates, got an inverse",
                "a function of several maps has no condition for padding",
                "ask for the code of each inverse by itself",
            )
        results += [(name if one.is_single else f"{name}_{own}", x) for own, x in one.results]
        for var in one.variables:
            known = variables.setdefault(var.name, var)
            if known.interval != var.interval:
                raise ShapeError(
                    f"{var.name}: expected one range in all maps, got {known.interval} and, in "
                    f"{name}, {var.interval}",
                    "a name means the same coordinate in all of them",
                    f"rename it in {name}: m.named(…)",
                )
    return Formulas(
        "offsets" if len(results) > 1 else "offset",
        "\n".join([*(f"{name}: {one.about}" for name, one in found.items()), _ranges(results)]),
        tuple(variables.values()),
        tuple(results),
        more_sizes=frozenset().union(*(one.more_sizes for one in found.values())),
        assumptions=meet_all(fact for one in found.values() for fact in one.assumptions),
    )


def _ranges(results: Sequence[tuple[str, AffineExpr]]) -> str:
    """Return the smallest and largest values of results, which decide their types."""
    parts = [f"{x.interval.lo} <= {name} <= {x.interval.hi}" for name, x in results]
    return f"Results: {', '.join(parts)}" if parts else "No results"


def _of_layout_or_expression(
    of: LayoutLike | sympy.Expr, bounds: Bounds | None, shape: Shape | None
) -> Formulas:
    if isinstance(of, str) and bounds is None:
        return _of_index_map(index_map(_parsed(of, shape), shape))
    is_expression = hasattr(of, "free_symbols") and shape is None
    found = None if isinstance(of, str) or is_expression else recognized(of)
    if found is not None:
        return _of_index_map(index_map(found, shape))
    if shape is not None:
        raise LayoutError(
            "a shape was given for an expression",
            "an expression's variables have bounds, a layout has a shape",
            "leave one of them out",
        )
    return _of_expression(of, bounds or {})


def _parsed(text: str, shape: Shape | None) -> Arrays:
    try:
        found = notations.parse(text)
        if shape is None and type(found).__name__ == "OffsetFormula":
            what, why = "expected a layout, got a formula", "a formula does not say its sizes"
            raise ParseError(what, why, "give the shape of its array", text=text, position=0)
        return found
    except ParseError as error:
        fix = f"{error.fix}; for an expression give its bounds, such as {{}} for none"
        raise ParseError(
            error.what, error.why, fix, text=error.text, position=error.position
        ) from None


def _of_index_map(m: IndexMap) -> Formulas:
    variables, sizes = _coordinates(m.recipe.shape, (m.reference_form,), m.names)
    element = ", ".join(var.name for var in variables)
    if m.recipe.axis_names:
        first = "First place" if m.recipe.replicas > 1 else "Place"
        return Formulas(
            "place",
            f"{first} of element ({element}) of {m.source or m.recipe}.",
            variables,
            tuple(
                (_variable_of(name), renamed(form, m.names))
                for name, form in named_forms(m.recipe, m.form)
            ),
            more_sizes=sizes,
            assumptions=m.assumptions,
        )
    return Formulas(
        "offset",
        f"Offset of element ({element}) of {m.source or m.recipe}, in elements.",
        variables,
        (("offset", renamed(m.form, m.names)),),
        more_sizes=sizes,
        assumptions=m.assumptions,
    )


def _variable_of(axis: str) -> str:
    """Return the variable of a named axis: ``register`` is a word of C."""
    return "reg" if axis == "register" else axis


def _of_affine_map(f: AffineMap) -> Formulas:
    variables, sizes = _coordinates(f.sizes, f.given, f.names)
    forms = [renamed(form, f.names) for form in f.forms]
    is_offset = len(forms) == 1
    own = ["offset"] if is_offset else [f"x{k}" for k in range(len(forms))]
    return Formulas(
        "address" if f.results else "offset" if is_offset else "coordinates",
        f"{f}, in {f.results[0]}s" if f.results else str(f),
        variables,
        tuple(zip(f.results or own, forms, strict=True)),
        more_sizes=sizes,
        assumptions=f.assumptions,
    )


def _coordinates(
    shape: Sequence[Int], forms: Sequence[AffineExpr], names: Sequence[str]
) -> tuple[tuple[Var, ...], frozenset[str]]:
    """Return all coordinates of an array by their names, and all sizes."""
    known = {var.name: var for form in forms for var in form.variables()}
    variables, sizes = [], frozenset().union(*(form.sizes() for form in forms))
    inside = standard(len(shape))
    for own, name, n in zip(inside, names or inside, shape, strict=True):
        if isinstance(n, SizeExpr):
            sizes |= n.names()
        # A dimension of size 0 has no coordinate; forms have 0 in its place.
        is_known = own in known and n != 0
        variables.append(Var(name, known[own].interval if is_known else Interval(0, n - 1)))
    return tuple(variables), sizes


def _of_inverse(inverse: Inverse) -> Formulas:
    results = tuple(zip(inverse.coordinate_names, inverse.forms, strict=True))
    source = f" of {inverse.source}" if inverse.source else ""
    if inverse.axes:
        return _of_named_inverse(inverse, source)
    return Formulas(
        "coordinates",
        f"Coordinates of the element at offset p{source}.",
        (_offset(inverse),),
        results,
        inverse.limits,
        assumptions=inverse.assumptions,
    )


def _of_named_inverse(inverse: Inverse, source: str) -> Formulas:
    """Return the formulas of the coordinates along named axes instead of the offset."""
    axes = [variable(_variable_of(name), 0, n - 1) for name, n in inverse.axes]
    offset = {"p": linear_index(axes, [n for _, n in inverse.axes], AffineExpr((), 0))}
    forms = [canonicalize(substitute(form, offset)) for form in inverse.forms]
    limits = [(canonicalize(substitute(form, offset)), n) for form, n in inverse.limits]
    return Formulas(
        "coordinates",
        f"Coordinates of the element at a place{source}.",
        tuple(var for axis in axes for var in axis.variables()),
        tuple(zip(inverse.coordinate_names, forms, strict=True)),
        tuple(limits),
        assumptions=inverse.assumptions,
    )


def _of_decomposition(parts: Decomposition) -> Formulas:
    results = [(f"offset{k}", form) for k, form in enumerate(parts.forms)]
    results += [("mixed", parts.mixed)] if parts.mixed.terms else []
    results += [("base", AffineExpr((), parts.const))] if parts.const or not results else []
    known = {var.name: var for _, form in results for var in form.variables()}
    of = f" of {parts.source}" if parts.source else ""
    return Formulas(
        "parts",
        f"The contribution of each coordinate to the offset{of}, in elements.",
        tuple(known[name] for name in parts.names if name in known),
        tuple(results),
        assumptions=parts.assumptions,
    )


def _of_relayout(r: Relayout) -> Formulas:
    about = (
        f"Offset in {r.source.source} of the element at offset p of {r.target.source}, in elements."
    )
    known = meet_all((*r.source.assumptions, *r.target.assumptions))
    results = (("source_offset", r.form),)
    return Formulas(
        "relayout", about, (_offset(r.inverse),), results, r.inverse.limits, assumptions=known
    )


def _offset(inverse: Inverse) -> Var:
    return Var("p", Interval(0, inverse.size - 1))


def _of_expression(expr: Any, bounds: Bounds) -> Formulas:
    bounds = notations.parse_bounds(bounds) if isinstance(bounds, str) else bounds
    form = form_of(expr, bounds)
    # The order of the bounds, then others by name; sizes are not variables.
    known = {var.name: var for key in bounds for var in form_of(key, bounds).variables()}
    known |= {var.name: var for var in form.variables()}
    sizes = form.sizes()
    return Formulas(
        "value",
        str(form),
        tuple(var for name, var in known.items() if name not in sizes),
        (("value", readable(form)[0]),),
        more_sizes=sizes,
    )


def _cheapest(found: Formulas, shift: bool) -> Formulas:
    model = SHIFTS if shift else OPERATIONS
    limits = found.limits
    return replace(
        found,
        results=tuple((name, cheapest(form, model)) for name, form in found.results),
        limits=None if limits is None else tuple((cheapest(x, model), n) for x, n in limits),
    )
