"""Simplify expressions, and make maps from formulas."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

from morello_layouts import notations
from morello_layouts.core.checks import require_type
from morello_layouts.core.expr import (
    OPERATIONS,
    AffineExpr,
    CostModel,
    Interval,
    conversions,
    coordinate_variables,
    fewest,
    readable,
    standard,
    variable,
)
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.core.expr.substitution import substitute, with_floors
from morello_layouts.core.lazy import regex, sympy
from morello_layouts.core.maps import AffineMap
from morello_layouts.core.maps.names import checked_names
from morello_layouts.core.maps.subject import require_size_names
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.interfaces.api.layouts import Assuming, Sizes, assumptions_of, sizes_of
from morello_layouts.notations.c_expression import parse_c_expression
from morello_layouts.notations.functions import layout_of_function

Language: TypeAlias = Literal["python", "c"]
"""How the text of an expression is read."""

Bound: TypeAlias = "Int | str | sympy.Expr | None"
Bounds: TypeAlias = "Mapping[Any, tuple[Bound, Bound] | range | int | str] | str"


def simplify(
    expr: sympy.Expr | str,
    bounds: Bounds | None = None,
    *,
    assuming: Assuming | None = None,
    target: Literal["readable", "cheapest"] = "readable",
    cost: CostModel = OPERATIONS,
    verify: bool = False,
    language: Language = "python",
) -> sympy.Expr:
    """Return an index expression with fewer operations that is equal over the bounds.

    Args:
        expr: a SymPy expression of ``floor``, ``Mod``, ``Min``, ``Max`` and ``Piecewise``, or text
            such as ``"(32*i + j)//8"``, with ``min``, ``max``, ``abs``, comparisons, which are 1
            or 0, ``a if c else b`` and what compilers print for these.
        bounds: for each symbol or name the smallest and largest value, both included; None for
            no bound. An end may be a size, as text or SymPy: ``{"j": (0, "N - 1")}``. Symbols
            without an entry have the bounds of their SymPy assumptions. Sizes are positive symbols.
            A size alone means from 0 on, ``{"i": 32}``. Text is read too: of one,
            ``{"i": "0..31"}``, or of all, ``"0<=i<32, j in range(N)"``.
        assuming: what is known besides: ``"N % 8 == 0, M <= N"`` about sizes, ``"i <= j"``. A name
            that begins with a capital, divides or is divided is a size of at least 1, unless it has
            bounds.
        target: ``"readable"`` writes digits as a reference formula does; ``"cheapest"`` has the
            fewest operations.
        cost: the cost of each operation, for ``"cheapest"``.
        verify: whether ISL proves the result equal to the expression before it is returned.
        language: how a text is read: ``"python"``, or ``"c"`` for C and CUDA, whose ``/`` and ``%``
            round towards zero and whose numbers overflow; where these may matter it is refused.

    Raises:
        LayoutError: if the expression is not an index expression.
        UnsupportedError: if ``verify`` is true and ISL cannot decide.

    >>> simplify("(32*i + j)//8", {"i": (0, 31), "j": (0, 31)}, verify=True)
    4*i + floor(j/8)
    >>> simplify("32*(i//8) + i%8", {"i": (0, 31)}, target="cheapest")
    i + 24*floor(i/8)
    >>> simplify("(N*i + j) % N", {"i": (0, "M - 1"), "j": (0, "N - 1")})
    j
    >>> simplify("min(8*i + 7, 63) // 8", "i=0..31")
    Min(7, i)
    >>> simplify("(i % N) % 8 + max(M, N)", assuming="N % 8 == 0, M <= N")
    N + Mod(i, 8)
    >>> simplify("(tid & 7)*64 + tid % 64 / 8", "tid=0..127", language="c")
    64*(Mod(tid, 8)) + Mod(floor(tid/8), 8)
    """
    form, facts = assumed_form(expr, bounds or {}, assuming, language)
    if target not in ("readable", "cheapest"):
        raise LayoutError(
            f"target: expected 'readable' or 'cheapest', got {target!r}",
            "an expression is simplified for readers or for fewer operations",
            "give target='readable' or target='cheapest'",
        )
    simple = readable(form, facts.forms)[0]
    if target == "cheapest":
        simple = fewest(simple if facts.forms else form, cost)
    if verify:
        _require_equal(form, simple, facts.forms)
    return conversions.to_sympy(with_floors(facts.named(simple)), _symbols(expr))


def _symbols(expr: sympy.Expr | str | int) -> dict[str, sympy.Symbol]:
    """Return the user's symbols by name, so that the result consists of them."""
    if isinstance(expr, str | int):
        return {}
    symbols = {s.name: s for s in expr.free_symbols}
    if len(symbols) < len(expr.free_symbols):
        raise LayoutError(
            f"two symbols of {expr} have the same name",
            "names identify symbols in bounds and results",
            "rename one of them",
        )
    return symbols


def form_of(
    expr: sympy.Expr | str,
    bounds: Bounds,
    language: Language = "python",
    *,
    choices: bool = True,
    known: Mapping[str, Int] = MappingProxyType({}),
) -> AffineExpr:
    """Return an expression as the simplifier's own form; arguments as of :func:`simplify`.

    Names in ``known`` are these sizes. Without ``choices`` it has no min, max, comparison or
    choice, as formulas of layouts.
    """
    if isinstance(bounds, str):
        bounds = notations.parse_bounds(bounds)
    require_type(bounds, Mapping, "bounds", 'give for example bounds={"i": (0, 7)}')
    intervals = {str(name): _interval(name, ends) for name, ends in bounds.items()}
    # Names in the bounds of others are sizes, of at least 1 if they have no bounds of their own.
    sizes = {size for i in intervals.values() for end in i if isinstance(end, SizeExpr)
             for size in end.names()}  # fmt: skip
    intervals = dict.fromkeys(sizes, Interval(1, None)) | intervals
    if known:
        intervals = {
            name: Interval(*(end if end is None else evaluated(end, known) for end in ends))
            for name, ends in intervals.items()
        }
    if isinstance(expr, str):
        if language not in get_args(Language):
            raise LayoutError(
                f"language: expected 'python' or 'c', got {language!r}",
                "a text is read as Python's or as C's",
                "give language='c' for C and CUDA",
            )
        if language == "c":
            form = parse_c_expression(expr, intervals)
        else:
            form = notations.parse_expression(expr, intervals, choices=choices, sizes=known)
    else:
        expr = sympy.Integer(expr) if isinstance(expr, int) else expr
        # SymPy takes i ^ j of symbols for one of truth values.
        if not isinstance(expr, sympy.Expr | sympy.Xor):
            raise LayoutError(
                f"expected an expression, got {expr!r}",
                "an index expression is text or a SymPy expression",
                'give for example "(32*i + j)//8"',
            )
        form = conversions.form_from_sympy(expr, intervals, choices=choices, sizes=known)
    return conversions.promote_to_sizes(form, sizes)


def assumed_form(
    expr: sympy.Expr | str, bounds: Bounds, assuming: Assuming | None, language: Language = "python"
) -> tuple[AffineExpr, notations.Facts]:
    """Return an expression over sizes as they are assumed to be, and what else is assumed."""
    if assuming is None:
        return form_of(expr, bounds, language), notations.Facts({}, {}, ())
    bounds = notations.parse_bounds(bounds) if isinstance(bounds, str) else bounds
    intervals = {str(name): _interval(name, ends) for name, ends in bounds.items()}
    ends = {name: ends for name, ends in intervals.items() if ends != (1, None)}
    facts = notations.parse_facts(_assumed_text(assuming), ends)
    others = {name: ends for name, ends in intervals.items() if name not in facts.sizes}
    return form_of(expr, others, language, known=facts.sizes), facts


def _assumed_text(assuming: Any) -> str:
    if isinstance(assuming, str):
        return assuming
    if isinstance(assuming, list | tuple | set):
        return ", ".join(map(_assumed_text, assuming))
    return ", ".join(str(one).replace(" = ", " == ") for one in assumptions_of(assuming))


def _interval(name: object, ends: tuple[Bound, Bound] | range | int | str) -> Interval:
    if isinstance(ends, range) and ends.step == 1:
        ends = (ends.start, ends.stop - 1)
    elif isinstance(ends, str) and re.search(r"\.\.|[<>=]|range", ends):  # 0..7, 0<=i<8
        found = notations.parse_bounds(ends if str(name) in ends else f"{name}={ends}")
        if [*found] == [str(name)]:
            return found[str(name)]
    elif isinstance(ends, int | str):
        ends = (0, notations.parse_number(str(ends)) - 1)
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise LayoutError(
            f"bounds of {name}: expected a pair, got {ends!r}",
            "bounds are the smallest and the largest value",
            "give for example (0, 31), with None for no bound, or range(32)",
        )
    lo, hi = (_end(end) for end in ends)
    if isinstance(lo, int) and isinstance(hi, int) and hi < lo:
        raise LayoutError(
            f"{name} has no values", f"{lo} is above {hi}", "give the smaller end first"
        )
    return Interval(lo, hi)


def _end(end: Bound) -> Int | None:
    if end is None or isinstance(end, int | SizeExpr):
        return end
    if isinstance(end, str):
        return notations.parse_number(end)
    if not isinstance(end, sympy.Expr):
        try:
            return operator.index(end)
        except TypeError:
            pass
        raise LayoutError(
            f"bounds: expected an integer or a size, got {end!r}",
            "a bound is an integer, or a size as text or SymPy; None for no bound",
            'give for example 31, "N - 1" or None',
        )
    return conversions.number_from_sympy(end)


def _require_equal(form: AffineExpr, simple: AffineExpr, facts: Sequence[AffineExpr] = ()) -> None:
    from morello_layouts import proof

    answer = proof.are_equal(form, simple, facts)
    if answer.holds is None:
        raise UnsupportedError(
            "the result was not proved equal to the expression",
            answer.reason,
            "leave verify out, or simplify parts of the expression",
        )
    if not answer.holds:
        raise AssertionError(f"a bug of the simplifier: {form} is not {simple}: {answer.reason}")


_KEYS = {"shape", "size", "names", "sizes"}

_NAME: Final = regex(r"\b[A-Za-z_]\w*\b(?!\s*\()", re.ASCII)


def from_sympy(
    domain: Mapping[Any, Any] | Sequence[Any],
    expr: sympy.Expr | str | Sequence[sympy.Expr | str] | Callable[..., Any],
    *,
    language: Language = "python",
) -> AffineMap:
    """Return the map from coordinates to offsets of a formula, to be compared with layouts.

    Args:
        domain: ``{"shape": (6, 8)}``, with the coordinates ``d0, d1, …``. Optional keys are
            ``"names"``, for other names such as ``("i", "j")``, ``"size"``, the elements of the
            buffer, and ``"sizes"``, names of sizes that the shape lacks, such as the pitch of rows;
            in a text, a factor of a coordinate is one anyway. A pitch of its own is taken for large
            enough that rows lie apart. A shape alone is a domain too, and so are sizes by name:
            ``{"i": 6, "j": 8}``, alone or as ``"shape"``.
        expr: the offset, as SymPy, as text, or as a Python function of the coordinates, which is
            called with symbols; several expressions make a map to coordinates.
        language: how texts are read, as for ``simplify``.

    Raises:
        ShapeError: if the domain has no shape.
        LayoutError: if an expression has other names, or is not an index expression.

    >>> import morello_layouts as ml
    >>> mine = from_sympy({"i": 6, "j": 8}, "24*(j//4) + 4*i + j%4")
    >>> ml.equal(mine, "[1, 0, 1 p(4)]").holds
    True
    >>> wrong = from_sympy({"i": 6, "j": 8}, "24*(j//4) + 4*i + j%3")
    >>> ml.equal(wrong, "[1, 0, 1 p(4)]").counterexample
    (0, 3)
    >>> print(from_sympy((6, 8), lambda i, j: 24 * (j // 4) + 4 * i + j % 4))
    (d0, d1) -> 24*(d1//4) + 4*d0 + d1%4
    >>> pitched = from_sympy(("M", "N"), "ld*d0 + d1")
    >>> print(ml.index_map(pitched)[2:, 3])
    (d0) -> ld*d0 + 2*ld + 3
    """
    names, given, size, others = _domain(domain)
    own = checked_names(names, given.sizes) if names else ()
    inside = coordinate_variables(given.sizes)
    coordinates = dict(zip(own or standard(len(inside)), inside, strict=True))
    bounds: dict[str, tuple[Any, Any]] = {
        name: (x.interval.lo, x.interval.hi) for name, x in coordinates.items()
    }
    if isinstance(size, int) and size < 0:
        raise ShapeError(
            f"size: expected 0 or more elements, got {size}",
            "the size is that of the whole buffer",
            "give its size in elements",
        )
    known = {n for sized in given.sizes if not isinstance(sized, int) for n in sized.names()}
    known |= others
    bounds |= dict.fromkeys(known, (1, None))
    if callable(expr) and not hasattr(expr, "free_symbols"):
        expr = _called(expr, [*coordinates])
    exprs = (
        [expr]
        if isinstance(expr, str | int | AffineExpr) or hasattr(expr, "free_symbols")
        else expr
    )
    if not isinstance(exprs, list | tuple) or not exprs:
        raise LayoutError(
            f"expected a formula, got {expr!r}",
            "a map has one expression, or several in a tuple",
            'give for example "8*d0 + d1"',
        )
    # In a text, another name that is a factor of a coordinate is a size, such as a pitch.
    texts = " ".join(one for one in exprs if isinstance(one, str))
    bounds |= dict.fromkeys({*_NAME.findall(texts)} - bounds.keys(), (1, None))
    forms = tuple(_form(one, bounds, coordinates, known, language) for one in exprs)
    require_size_names(name for form in forms for name in form.sizes())
    return AffineMap(given.sizes, forms, size, given.symbols).named(*names)


def _called(function: Callable[..., Any], names: Sequence[str]) -> Any:
    """Return the formulas of a function of coordinates; one may also compute with SymPy."""
    try:
        found = layout_of_function(function)
    except LayoutError as error:
        try:
            return function(*map(conversions.symbol, names))
        except TypeError:
            raise error from None
    if len(found.parameters) != len(names):
        raise ShapeError(
            f"{found}: expected {len(names)} parameters, got {len(found.parameters)}",
            "a function has a parameter for each coordinate of the domain",
            "give the domain as many sizes",
        )
    values = dict(zip(found.parameters, map(variable, names), strict=True))
    return [substitute(form, values) for form in found.forms]


def _domain(domain: Any) -> tuple[list[str], Sizes, Any, set[str]]:
    """Return the coordinates' names, the shape, the size of the buffer, and names of sizes."""
    if not isinstance(domain, Mapping):
        domain = {"shape": domain}
    if "shape" not in domain:
        if not domain or set(map(str, domain)) & _KEYS:
            raise _no_shape(domain)
        given = sizes_of(tuple(domain.values()))
        return [str(name) for name in domain], given, None, set()
    shape, named = domain["shape"], domain.get("names", ())
    if isinstance(shape, Mapping) and not named:  # sizes by name here too
        shape, named = tuple(shape.values()), tuple(shape)
    if set(domain) - _KEYS:
        raise _no_shape(domain)
    given = sizes_of(shape)
    others = domain.get("sizes", ())
    others = (others,) if isinstance(others, str) else others
    if isinstance(named, str) or not all(isinstance(x, Iterable) for x in (named, others)):
        raise _no_shape(domain)
    pitches = set(map(str, others))
    require_size_names(pitches)
    size = sizes_of((domain["size"],)).sizes[0] if "size" in domain else None
    return [str(n) for n in named], given, size, pitches


def _no_shape(domain: object) -> ShapeError:
    return ShapeError(
        f"domain: expected a shape, got {domain!r}",
        "the domain of a map is the coordinates of an array",
        'give {"shape": (6, 8)}, optionally with "names", "size", "sizes", or {"i": 6, "j": 8}',
    )


def _form(
    expr: Any,
    bounds: Mapping[str, Any],
    coordinates: Mapping[str, AffineExpr],
    sizes: AbstractSet[str],
    language: Language,
) -> AffineExpr:
    form = expr if isinstance(expr, AffineExpr) else form_of(expr, bounds, language, choices=False)
    form = conversions.promote_to_sizes(form, sizes)
    unknown = {v.name for v in form.variables()} - set(coordinates)
    if unknown:
        raise LayoutError(
            f"{expr}: expected the coordinates {', '.join(coordinates)}, got "
            f"{', '.join(sorted(unknown))}",
            "a formula consists of the coordinates of its domain and of sizes",
            'use these, or give "names", or "sizes" such as {"shape": (6, 8), "sizes": "ld"}',
        )
    return substitute(form, coordinates)
