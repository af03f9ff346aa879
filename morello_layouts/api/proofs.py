"""Questions about layouts, answered by ISL, which is loaded at the first one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from morello_layouts.api.layouts import LayoutLike, index_map, index_maps

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = ["are_equivalent", "is_bijective", "is_injective", "is_surjective", "verify"]


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

    first, second = index_maps(a, b, shape)
    return proof.are_equivalent(first, second)


def verify(layout: LayoutLike, shape: Sequence[int] | None = None) -> Proof:
    """Whether the simplified and the textbook formula equal the recipe at every coordinate.

    >>> print(verify("bf16[10,200]{1,0:T(8,128)(2,1)}").holds)
    True
    """
    from morello_layouts import proof

    return proof.verify(index_map(layout, shape))
