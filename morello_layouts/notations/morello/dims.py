"""Morello's three kinds of physical dimension, and the rules for lists of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from morello_layouts.core.checks import Part, as_int, whole
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import checked, frozen
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError


@frozen
class Dynamic:
    """All that the physical dimensions inside it leave of the logical dimension.

    >>> Dynamic()
    Dynamic()
    """

    def __str__(self) -> str:
        return ""


def _packed(given: Any, _: str, part: Part) -> Int:
    why = "a Packed holds at least 2 elements, as in Morello"
    fix = "leave it out, or give the number of elements packed together"
    if isinstance(given, SizeExpr):
        return given
    return as_int(given, "Packed", 2, part=part, why=why, fix=fix)


@frozen
class Packed:
    """The innermost ``size`` of what remains of the logical dimension, in order.

    >>> print(f"dimension 1, packed: 1{Packed(4)}")
    dimension 1, packed: 1 p(4)
    """

    size: Int = checked(_packed)  #: elements packed together, from 2; or a symbolic size.

    @property
    def number(self) -> int:
        """The size as a number.

        Raises:
            UnsupportedError: if it is symbolic.
        """
        return known((self.size,))[0]

    def __str__(self) -> str:
        return f" p({self.size})"


def _even(given: Any, _: str, part: Part) -> int:
    why = "an OddEven separates even from odd indices, so its size is even"
    fix = "give an even size of at least 2"
    size = as_int(given, "OddEven", 2, part=part, why=why, fix=fix)
    if size % 2:
        raise LayoutError(f"OddEven: expected an even size, got {size}", why, fix, part=part)
    return size


@frozen
class OddEven:
    """The innermost ``size`` of what remains of the logical dimension, even indices first.

    ``0 oe(8)`` lays elements 0..7 at offsets 0, 4, 1, 5, 2, 6, 3, 7. (A comment in Morello's
    source says odd first; its code does even first.)

    >>> print(f"dimension 0, even indices first: 0{OddEven(8)}")
    dimension 0, even indices first: 0 oe(8)
    """

    size: int = checked(_even)  #: elements laid out so, both halves together; even, from 2.

    @property
    def number(self) -> int:
        """The size."""
        return self.size

    def __str__(self) -> str:
        return f" oe({self.size})"


PhysDim: TypeAlias = Dynamic | Packed | OddEven

PhysDims: TypeAlias = tuple[tuple[int, PhysDim], ...]
"""Pairs (logical dimension, physical dimension), outermost first."""


def checked_dims(given: object, *_: Any) -> PhysDims:
    """The pairs of a list of physical dimensions that some shape fits."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise LayoutError(
            f"phys_dims: expected a list of pairs, got {given!r}",
            "a MorelloLayout is made of pairs (logical dimension, physical dimension)",
            "give such pairs, as in [(0, Dynamic()), (1, Packed(4))]; text goes to parse",
        )
    dims = tuple(_pair(position, entry) for position, entry in enumerate(given))
    seen: set[int] = set()
    for position, (dim, phys) in enumerate(dims):
        if isinstance(phys, Dynamic) and dim in seen:
            raise LayoutError(
                f"dimension {dim} is Dynamic inside another physical dimension of it",
                "a Dynamic takes all that remains of its dimension, so it must be the outermost "
                "one, and two of them would be ambiguous",
                f"keep the first mention of {dim} Dynamic and give the others sizes: {dim} p(4)",
                part=("phys_dims", position),
            )
        seen.add(dim)
    return dims


def _pair(position: int, entry: object) -> tuple[int, PhysDim]:
    part = ("phys_dims", position)
    match entry:
        case (dim, Dynamic() | Packed() | OddEven() as phys):
            return logical_dim(dim, part), phys
        case (dim, other):
            size = whole(other)
            raise LayoutError(
                f"phys_dims: expected a physical dimension, got {other!r}",
                "a physical dimension is Dynamic(), Packed(n) or OddEven(n)",
                f"write ({dim!r}, Dynamic()) for all that remains of the dimension, or "
                f"({dim!r}, Packed({4 if size is None else max(size, 2)}))",
                part=part,
            )
    raise LayoutError(
        f"phys_dims: expected a pair, got {entry!r}",
        "each entry pairs a logical dimension with Dynamic(), Packed(n) or OddEven(n)",
        "write for example (0, Dynamic())",
        part=part,
    )


def logical_dim(value: object, part: tuple[str | int, ...] = ()) -> int:
    """The number of a logical dimension."""
    why = "logical dimensions are numbered 0, 1, … from the left"
    return as_int(value, "a logical dimension", part=part, why=why, fix="count dimensions from 0")
