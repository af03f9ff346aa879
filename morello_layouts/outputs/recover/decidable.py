"""Functions as layouts that proofs can decide: what is not a formula of digits is recovered first.

At sizes that are numbers, a function is compared at each element. At named sizes it is recovered at
two shapes, and what is found counts only if it is proved equal to the function's formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any, Final

from morello_layouts import proof
from morello_layouts.core.expr import AffineExpr, coordinate_variables, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.maps import AffineMap
from morello_layouts.core.maps.subject import Subject, met_formulas
from morello_layouts.errors import LayoutError
from morello_layouts.notations.coordinates import FormulaLayout, OffsetLayout
from morello_layouts.notations.functions import CalledFunction
from morello_layouts.outputs.recover.answer import recovered
from morello_layouts.outputs.recover.functions import observed
from morello_layouts.outputs.recover.layouts import Observed

_LARGEST: Final = 1 << 20
"""Elements of an array at which a function is called before it is asked about."""

_TRIED: Final = 4
"""Layouts that are compared with a formula."""


def decidable(layout: Layout, sizes: Sequence[Int], known: Sequence[Assumption]) -> Layout:
    """Return a layout that has the offsets of a function, and a formula of digits.

    Args:
        layout: the function's layout; others are returned as they are.
        sizes: the sizes of the array.
        known: what is assumed of them.

    Raises:
        LayoutError: if the function has no formula and no layout was found, or what was found at
            some shapes is not proved for all of them.
    """
    if isinstance(layout, CalledFunction):
        why = layout.error
    elif isinstance(layout, FormulaLayout):
        try:
            layout.box(sizes)
        except LayoutError as error:
            why = error
        else:
            return _ending(layout, tuple(sizes), tuple(known))
        if not isinstance(layout, OffsetLayout):
            raise why
    else:
        return layout
    try:
        return _recovered(layout, tuple(sizes), tuple(known))
    except LayoutError as error:
        if any(isinstance(n, SizeExpr) for n in sizes):
            rule = "for named sizes, what was found at two shapes is proved equal to the formula"
            raise LayoutError(error.what, f"{rule}; {why.why}", error.fix) from None
        if isinstance(layout, OffsetLayout):
            raise why from None
        if why.__cause__ is not None:  # symbols are nothing to it: it packs arrays, or looks up
            raise LayoutError(error.what, f"{error.why}; {why.what}", error.fix) from None
        raise LayoutError(why.what, f"{why.why}; {error.what}", why.fix) from None


def _ending(layout: FormulaLayout, sizes: tuple[Int, ...], known: tuple[Assumption, ...]) -> Layout:
    """The layout; or one recovered, if exclusive ors hide where its buffer ends."""
    if isinstance(layout, OffsetLayout) and layout.forms[0].has_xors:
        with suppress(LayoutError):
            shapes = _shapes(sizes, known)
            largest = (int(_observed(layout, *each).table.max()) for each in shapes)
            boxes = (layout.box(shape) for shape, _ in shapes)
            if any(n != m + 1 for (n,), m in zip(boxes, largest, strict=True)):
                return _recovered(layout, sizes, known)
    return layout


def _recovered(
    layout: CalledFunction | OffsetLayout, sizes: tuple[Int, ...], known: tuple[Assumption, ...]
) -> Layout:
    shapes = _shapes(sizes, known)
    given = [_observed(layout, *each) for each in shapes]
    answer = recovered(given)
    if given[0].inner or not answer.layouts:
        raise LayoutError("no layout of the elements alone has its offsets")
    if len(shapes) == 1 and given[0].size is not None:
        for one in answer.layouts:
            if Subject(one, sizes if one.sizes is None else None).map().size == given[0].size:
                return one
        raise LayoutError("no layout that was found fills its buffer")
    text = f"at {' and '.join('x'.join(map(str, shape)) for shape, _ in shapes)} the function is "
    if len(shapes) > 1 and isinstance(layout, CalledFunction):
        fix = f'ask about "{answer.layouts[0]}", or give numbers as sizes'
        raise LayoutError(f"{text}{answer.layouts[0]}, and nothing says so elsewhere", "", fix)
    verdict = ""
    for one in answer.layouts[:_TRIED]:
        m = Subject(one, sizes if one.sizes is None else None, known).map()
        if len(shapes) > 1:
            own = Subject(AffineMap(sizes, _forms(layout, sizes)), known=known)
            equal = proof.are_equivalent(*met_formulas(Subject(one, sizes, known), own))
            if not equal.holds:
                verdict = verdict or f"{text}{one}; {equal.verdict}"
                continue
        names = _names(layout, len(sizes))
        own_names = {f"d{k}": variable(name) for k, name in enumerate(names)}
        found = OffsetLayout(names, (substitute(m.form, own_names),), title="Python function")
        found.box(sizes)
        return found
    raise LayoutError(verdict, "", "assume what it says of the sizes")


def _names(layout: CalledFunction | OffsetLayout, rank: int) -> tuple[str, ...]:
    found = layout.parameters
    return found if len(found) == rank else tuple(f"d{k}" for k in range(rank))


def _forms(layout: Any, sizes: Sequence[Int]) -> tuple[AffineExpr, ...]:
    return tuple(layout.results(coordinate_variables(sizes), sizes))


def _observed(
    layout: CalledFunction | OffsetLayout, shape: tuple[int, ...], values: dict[str, int]
) -> Observed:
    if prod(shape) > _LARGEST:
        raise LayoutError(f"{prod(shape)} elements: it is called at up to {_LARGEST}")
    if isinstance(layout, CalledFunction):
        return observed(layout.function, shape)
    (form,) = _forms(layout, shape)
    form = map_ints(form, lambda n: evaluated(n, values))
    at = dict(
        zip((f"d{k}" for k in range(len(shape))), np.indices(shape, sparse=True), strict=True)
    )
    return Observed(form.evaluate(at) + np.zeros(shape, np.int64))


def _shapes(
    sizes: tuple[Int, ...], known: Sequence[Assumption]
) -> list[tuple[tuple[int, ...], dict[str, int]]]:
    """The shape, or two of numbers for its names, as they are assumed."""
    names = sorted({name for n in sizes if isinstance(n, SizeExpr) for name in n.names()})
    if not names:
        return [(tuple(n for n in sizes if isinstance(n, int)), {})]
    unit = 64 if len(sizes) < 3 else 8
    found = []
    for times in (2, 3):
        values = {}
        for k, name in enumerate(names):
            one = next((x for x in known if x.name == name), Assumption(name))
            n = -(-unit // one.divisor) * one.divisor * (times + k % 2)
            values[name] = max(one.lo, n if one.hi is None else min(n, one.hi))
        found.append((tuple(int(evaluated(n, values)) for n in sizes), values))
    return found
