"""Questions about layouts, answered by ISL, which is loaded at the first one.

Layouts may have symbolic sizes; the answer is then for all of them, and says for which it is yes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from morello_layouts.api.layouts import LayoutLike, index_map, index_maps, needs_shape
from morello_layouts.api.sizes import Assuming, Shape, assumptions_of
from morello_layouts.errors import UnsupportedError
from morello_layouts.formula import FormulaMap, IndexMap

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = [
    "MapLike",
    "are_equivalent",
    "is_bijective",
    "is_injective",
    "is_surjective",
    "verify",
]

MapLike: TypeAlias = "LayoutLike | FormulaMap"
"""A layout, or a map that a formula gives."""


def is_injective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    budget: int | None = None,
) -> Proof:
    """Whether no two coordinates share an offset, proved by ISL.

    Args:
        layout: a layout, or a map that a formula gives.
        shape: the sizes, where the layout's text carries none.
        assuming: what is known of symbolic sizes, as for ``index_map``.
        budget: ISL operations before the answer is undecided; None for about a second of them.

    >>> print(is_injective("[1, 0, 1 p(4)]", (6, 8)).holds)
    True
    """
    from morello_layouts import proof

    return proof.is_injective(_map(layout, shape, assuming), budget=budget)


def is_surjective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    budget: int | None = None,
) -> Proof:
    """Whether every offset of the buffer holds an element, proved by ISL; see ``is_injective``.

    >>> is_surjective("f32[3,5]{1,0:T(2,2)}").counterexample
    9
    >>> is_surjective("bf16[M,N]{1,0:T(8,128)(2,1)}").when
    'exactly when 8 divides M and 128 divides N'
    """
    from morello_layouts import proof

    return proof.is_surjective(_map(layout, shape, assuming), budget=budget)


def is_bijective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    budget: int | None = None,
) -> Proof:
    """Whether coordinates and offsets correspond one to one, by ISL; see ``is_injective``.

    >>> is_bijective("f32[3,5]{1,0:T(2,2)}").padding
    9
    """
    from morello_layouts import proof

    return proof.is_bijective(_map(layout, shape, assuming), budget=budget)


def are_equivalent(
    a: MapLike,
    b: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    budget: int | None = None,
) -> Proof:
    """Whether two layouts give every coordinate the same offset, by ISL; see ``is_injective``.

    A layout whose text carries no shape takes that of the other one. A map of several formulas is
    compared with another, or with a layout's coordinates over its axes in memory.

    >>> print(are_equivalent("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]").holds)
    True
    >>> are_equivalent("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}").when
    'exactly when N <= 128'
    """
    from morello_layouts import proof

    if isinstance(a, FormulaMap) or isinstance(b, FormulaMap):
        sizes = a.sizes if isinstance(a, FormulaMap) else b.sizes  # type: ignore[union-attr]
        one, other = (_map_at(x, shape, sizes, assuming) for x in (a, b))
        known = [*assumptions_of(assuming), *one.assumptions, *other.assumptions]
        return proof.are_equivalent(one.assume(known), other.assume(known), budget=budget)
    first, second = index_maps(a, b, shape, assuming)
    return proof.are_equivalent(first, second, budget=budget)


def verify(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    budget: int | None = None,
) -> Proof:
    """Whether formulas, inverse and recipe agree everywhere, by ISL; see ``is_injective``.

    The simplified and the textbook formula are held against the recipe at every coordinate, the
    inverse and its padding against it at every offset, all as SymPy holds them.

    >>> print(verify("bf16[10,200]{1,0:T(8,128)(2,1)}").holds)
    True
    """
    from morello_layouts import proof

    m = _map(layout, shape, assuming)
    if isinstance(m, FormulaMap):
        raise UnsupportedError(
            "a map that a formula gives has nothing to be held against",
            "verify compares the formulas of a layout with its recipe",
            "ask whether it is equivalent to a layout: are_equivalent(map, layout)",
        )
    return proof.verify(m, budget=budget)


def _map(layout: MapLike, shape: Shape | None, assuming: Assuming | None) -> IndexMap | FormulaMap:
    if isinstance(layout, FormulaMap):
        return layout.assume(assumptions_of(assuming))
    return index_map(layout, shape, assuming=assuming)


def _map_at(
    layout: MapLike, shape: Shape | None, lent: Shape, assuming: Assuming | None
) -> IndexMap | FormulaMap:
    """A map, at the shape of the one that it is compared with where it has none of its own."""
    if isinstance(layout, FormulaMap):
        return layout
    lent = shape if shape is not None else lent
    carries = not needs_shape(layout)
    return index_map(layout, shape if carries else lent, assuming=assuming)
