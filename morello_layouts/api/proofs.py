"""Prove facts about layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from morello_layouts import notations
from morello_layouts.api.layouts import (
    Assuming,
    LayoutLike,
    Shape,
    assumptions_of,
    index_map,
    index_maps,
    needs_shape,
)
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.maps.index_map import split_elements
from morello_layouts.notations.xla import XlaShape

if TYPE_CHECKING:
    from morello_layouts.proof import Proof
    from morello_layouts.proof.bitcast import Bitcast, Correspondence


def is_bitcast(
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None = None,
    *,
    correspondence: Correspondence = "row-major",
    assuming: Assuming | None = None,
    budget: int | None = None,
) -> Bitcast:
    """Whether the bytes of one array serve another, tiles and padding taken into account.

    Args:
        a: the layout of the array that is there.
        b: the layout of the array that it is to be seen as.
        shape: the shape of layouts whose text carries none.
        correspondence: ``"row-major"``: the element at a place in row-major order is the same in
            both, which a reshape keeps. An order of dimensions: b is a transposed, as by NumPy.
            ``"any"``: whichever is free, row-major first, then the dimensions as they come in
            memory, then transposes, sizes of 1 aside; so HLO's ``bitcast`` is meant.
        assuming: what is known of symbolic sizes, as for ``index_map``.
        budget: ISL operations before the answer is undecided.

    Returns:
        A proof with the kind of the bitcast; of a copy, the first slot that differs. Elements of
        different widths correspond as in HLO's ``bitcast-convert``: the wide array has one
        dimension less.

    >>> is_bitcast("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}").kind
    'reshape'
    >>> answer = is_bitcast("f32[2,2,3,2]", "f32[2,3,2,2]", correspondence=(0, 2, 1, 3))
    >>> answer.kind, answer.slot
    ('copy', 2)
    >>> is_bitcast("f32[M,N]{1,0:T(1,128)}", "f32[M,N]{1,0}").when
    'exactly when 128 divides N, or M = 1'
    """
    from morello_layouts.proof.bitcast import QUESTION
    from morello_layouts.proof.bitcast import Bitcast as Answer
    from morello_layouts.proof.bitcast import is_bitcast as decide

    one, other = (notations.parse(x) if isinstance(x, str) else x for x in (a, b))
    first, second = index_maps(one, other, shape, assuming)
    shapes = [x for x in (one, other) if isinstance(x, XlaShape)]
    if len(shapes) == 2:
        wide, narrow = (x.bits for x in shapes)
        if wide % narrow and narrow % wide:
            raise ShapeError(
                f"elements of {wide} and of {narrow} bits do not correspond",
                "one width must be a multiple of the other",
                "give types of such widths",
            )
        if wide != narrow and shapes[0].element_type == shapes[1].element_type:
            reason = f"elements take {wide} bits in one and {narrow} in the other"
            return Answer(QUESTION, False, reason, kind="copy", memory_spaces=_spaces(shapes))
        first = split_elements(first, wide // narrow) if wide > narrow else first
        second = split_elements(second, narrow // wide) if narrow > wide else second
    answer = decide(first, second, correspondence, budget=budget)
    if len(shapes) == 2:
        return replace(answer, memory_spaces=_spaces(shapes))
    return answer


def _spaces(shapes: Sequence[XlaShape]) -> tuple[int, int]:
    first, second = (x.layout.memory_space if x.layout else 0 for x in shapes)
    return first, second


MapLike: TypeAlias = "LayoutLike | AffineMap"
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

    if isinstance(a, AffineMap) or isinstance(b, AffineMap):
        sizes = a.sizes if isinstance(a, AffineMap) else b.sizes  # type: ignore[union-attr]
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

    The simplified and the reference formula are held against the recipe at every coordinate, the
    inverse and its padding against it at every offset, all as SymPy holds them.

    >>> print(verify("bf16[10,200]{1,0:T(8,128)(2,1)}").holds)
    True
    """
    from morello_layouts import proof

    m = _map(layout, shape, assuming)
    if isinstance(m, AffineMap):
        raise UnsupportedError(
            "a map that a formula gives has nothing to be held against",
            "verify compares the formulas of a layout with its recipe",
            "ask whether it is equivalent to a layout: are_equivalent(map, layout)",
        )
    return proof.verify(m, budget=budget)


def _map(layout: MapLike, shape: Shape | None, assuming: Assuming | None) -> IndexMap | AffineMap:
    if isinstance(layout, AffineMap):
        return layout.assume(assumptions_of(assuming))
    return index_map(layout, shape, assuming=assuming)


def _map_at(
    layout: MapLike, shape: Shape | None, lent: Shape, assuming: Assuming | None
) -> IndexMap | AffineMap:
    """A map, at the shape of the one that it is compared with where it has none of its own."""
    if isinstance(layout, AffineMap):
        return layout
    lent = shape if shape is not None else lent
    carries = not needs_shape(layout)
    return index_map(layout, shape if carries else lent, assuming=assuming)
