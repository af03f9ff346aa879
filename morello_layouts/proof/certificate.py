"""State what is true of maps as certificates, which ``morello_layouts.check`` checks by itself.

A statement consists of the formulas that the user holds, in Python's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import canonicalize, coordinate_variables
from morello_layouts.expr.affine import AffineExpr
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.conversions import size_to_sympy, to_sympy
from morello_layouts.expr.python_text import python_text
from morello_layouts.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.proof.ask import AnyMap, isl_budget, sizes_of
from morello_layouts.proof.bijective import as_layout
from morello_layouts.proof.certificate_digits import Certificate, certified
from morello_layouts.proof.reading import limits_of
from morello_layouts.recipe import linear_index, physical_coordinates
from morello_layouts.recipe.views import with_replicas_as_dims

FORMAT: Final = "morello-layouts certificate 1"

_ZERO: Final = AffineExpr((), 0)


def certificate_of_map(m: AnyMap, claim: str) -> Certificate:
    """Return a certificate that a map is injective, surjective, bijective, padded, or verified.

    Of a map with replicas, the last coordinates say which place of an element is meant.

    Raises:
        UnsupportedError: if none was found, which says nothing about the claim.
    """
    m = m.named()
    if isinstance(m, IndexMap) and m.recipe.replicas != 1 and claim != "bijective":
        m = _with_replicas(m)
    _require_no_replicas(m)
    layout = m if isinstance(m, IndexMap) else _layout_of(m, claim)
    found = _statement(claim, m)
    found["inverse"] = [python_text(expr) for expr in layout.inverse.exprs]
    if claim == "padded":
        found["padding"] = _size(layout.recipe.size - _product(layout.recipe.shape), m)
    if claim == "verified" and isinstance(m, IndexMap):
        limits = limits_of(m.inverse.padding)
        found["limits"] = [[python_text(x), python_text(n)] for x, n in limits]
        tail = m.recipe.tail_padding
        found["end"] = _size(m.recipe.size - (0 if is_nonnegative(-tail) else tail), m)
        found["others"] = [python_text(m.reference), _form(_slot(m), m)]
    return certified(found)


def _layout_of(m: AffineMap, claim: str) -> IndexMap:
    """Return the layout that has a formula, for its inverse; the checker trusts neither."""
    layout = None
    if len(m.given) == 1 and claim != "verified":
        with isl_budget() as context:
            layout = as_layout(m, context)
    if layout is None:
        raise UnsupportedError(
            f"a certificate that {m} is {claim}: no inverse of the formula was found",
            "only an offset that is a sum of digits in nested strides has one",
            "compare the formula with a layout: certificate(layout, map)",
        )
    return layout


def certificate_of_equality(a: AnyMap, b: AnyMap) -> Certificate:
    """Return a certificate that two maps give every coordinate the same offset."""
    a, b = a.named(), b.named()
    _require_no_replicas(a, b)
    return certified({**_statement("equivalent", a, b), "others": [python_text(b.expr)]})


def certificate_of_bitcast(
    a: IndexMap, b: IndexMap, order: Sequence[int] | None = None
) -> Certificate:
    """Return a certificate that each element of b has the slot of the element of a.

    They correspond in row-major order, after a's dimensions are brought into an order.
    """
    a, b = a.named(), b.named()
    found = _statement("bitcast", a, b)
    dims = range(len(a.recipe.shape)) if order is None else order
    at = coordinate_variables(a.recipe.shape)
    position = linear_index([at[k] for k in dims], [a.recipe.shape[k] for k in dims], _ZERO)
    view: list[AffineExpr] = []
    stride: Int = 1
    for k, n in reversed(list(enumerate(b.recipe.shape))):
        view.append(position // stride if k == 0 else position // stride % n)
        stride *= n
    found["view"] = [_form(x, a) for x in reversed(view)]
    found["order"] = list(dims)
    found["other_shape"] = [_size(n, b) for n in b.recipe.shape]
    found["others"] = [python_text(b.expr)]
    return certified(found)


def certificate_of_relayout(source: IndexMap, target: IndexMap, expr: Any) -> Certificate:
    """Return a certificate that a formula of the target's offset gives the source's offset."""
    source, target = source.named(), target.named()
    found = {**_statement("relayout", source, target), "source": python_text(expr)}
    return certified({**found, "others": [python_text(target.expr)]})


def _require_no_replicas(*maps: AnyMap) -> None:
    if any(isinstance(m, IndexMap) and m.recipe.replicas != 1 for m in maps):
        raise UnsupportedError(
            "no certificate is about the one place of an element with replicas",
            "each element is on several places",
            "claim 'injective', 'surjective', 'padded' or 'verified', which are about all places",
        )


def _with_replicas(m: IndexMap) -> IndexMap:
    """Return the map from an element and the number of its place; the first has m's formulas."""
    every = replace(m, recipe=with_replicas_as_dims(m.recipe), origin=None)
    moved = canonicalize(_slot(every)) - canonicalize(_slot(m))
    return replace(every, reference_form=m.reference_form + moved)


def _statement(claim: str, m: AnyMap, *others: AnyMap) -> Certificate:
    """Return what every statement about a map holds."""
    maps = (m, *others)
    facts = {one.name: one for one in meet_all(x for one in maps for x in one.assumptions)}
    numbers = [n for one in maps for n in _numbers(one)]
    names = sorted({name for n in numbers if isinstance(n, SizeExpr) for name in n.names()})
    assumed = [facts.get(name, Assumption(name)) for name in names]
    size = m.recipe.size if isinstance(m, IndexMap) else m.buffer_size
    return {
        "format": FORMAT,
        "claim": claim,
        "about": [str(getattr(one, "source", one)) for one in maps],
        "sizes": {one.name: [one.divisor, one.lo, one.hi] for one in assumed},
        "shape": [_size(n, m) for n in sizes_of(m)],
        "size": _size(0 if size is None else size, m),
        "offset": python_text(m.expr),
    }


def _numbers(m: AnyMap) -> Iterable[Int]:
    if isinstance(m, IndexMap):
        return m.recipe.numbers
    return m.sizes if m.buffer_size is None else (*m.sizes, m.buffer_size)


def _product(sizes: Sequence[Int]) -> Int:
    total: Int = 1
    for n in sizes:
        total = total * n
    return total


def _size(n: Int, m: AnyMap) -> str:
    return str(n) if isinstance(n, int) else python_text(size_to_sympy(n, m.size_symbols))


def _form(form: AffineExpr, m: AnyMap) -> str:
    return python_text(to_sympy(form, m.size_symbols))


def _slot(m: IndexMap) -> AffineExpr:
    """Return the offset by the recipe, which nothing simplified."""
    recipe = m.recipe
    at = physical_coordinates(recipe, coordinate_variables(recipe.shape), _ZERO)
    return linear_index(at, recipe.physical_shape, _ZERO) + recipe.offset
