"""Morello's three kinds of physical dimension, and the lists of them that mean something."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.checks import whole
from morello_layouts.errors import LayoutError


@dataclass(frozen=True, slots=True)
class Dynamic:
    """All that the physical dimensions inside it leave of the logical dimension.

    >>> Dynamic()
    Dynamic()
    """

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Packed:
    """The innermost ``size`` of what remains of the logical dimension, in order.

    Attributes:
        size: how many elements are packed together, at least 2.

    Raises:
        LayoutError: where the size is less, or no integer.

    >>> print(f"dimension 1, packed: 1{Packed(4)}")
    dimension 1, packed: 1 p(4)
    """

    size: int

    def __post_init__(self) -> None:
        size = _size(self.size, "Packed")
        if size < 2:
            raise LayoutError(
                f"p({size}) packs nothing",
                "a Packed holds at least 2 elements, as in Morello",
                "leave it out, or give the number of elements packed together",
            )
        object.__setattr__(self, "size", size)

    def __str__(self) -> str:
        return f" p({self.size})"


@dataclass(frozen=True, slots=True)
class OddEven:
    """The innermost ``size`` of what remains of the logical dimension, even indices first.

    ``0 oe(8)`` lays elements 0..7 at offsets 0, 4, 1, 5, 2, 6, 3, 7. (A comment in Morello's
    source says odd first; its code does even first.)

    Attributes:
        size: how many elements are laid out so, both halves together; even, at least 2.

    Raises:
        LayoutError: where the size is less, odd, or no integer.

    >>> print(f"dimension 0, even indices first: 0{OddEven(8)}")
    dimension 0, even indices first: 0 oe(8)
    """

    size: int

    def __post_init__(self) -> None:
        size = _size(self.size, "OddEven")
        if size < 2 or size % 2:
            raise LayoutError(
                f"oe({size}) has no two halves",
                "an OddEven separates even from odd indices, so its size is even",
                "give an even size of at least 2",
            )
        object.__setattr__(self, "size", size)

    def __str__(self) -> str:
        return f" oe({self.size})"


PhysDim: TypeAlias = Dynamic | Packed | OddEven

PhysDims: TypeAlias = tuple[tuple[int, PhysDim], ...]
"""Pairs (logical dimension, physical dimension), outermost first."""


def checked_dims(given: object) -> PhysDims:
    """The pairs of a list of physical dimensions that some shape fits.

    Raises:
        LayoutError: where an entry is no such pair, or where no shape could fit the list.

    >>> checked_dims([[1, Dynamic()], [0, Packed(4)]])
    ((1, Dynamic()), (0, Packed(size=4)))
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise LayoutError(
            f"{given!r} is no list of physical dimensions",
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
                f"{other!r} is no physical dimension",
                "a physical dimension is Dynamic(), Packed(n) or OddEven(n)",
                f"write ({dim!r}, Dynamic()) for all that remains of the dimension, or "
                f"({dim!r}, Packed({4 if size is None else max(size, 2)}))",
                part=part,
            )
    raise LayoutError(
        f"{entry!r} is no pair",
        "each entry pairs a logical dimension with Dynamic(), Packed(n) or OddEven(n)",
        "write for example (0, Dynamic())",
        part=part,
    )


def logical_dim(value: object, part: tuple[str | int, ...] = ()) -> int:
    """The number of a logical dimension.

    Raises:
        LayoutError: where it is negative or no integer.

    >>> logical_dim(1)
    1
    """
    dim = whole(value)
    if dim is None or dim < 0:
        raise LayoutError(
            f"logical dimension {value!r} does not exist",
            "logical dimensions are numbered 0, 1, … from the left",
            "count dimensions from 0",
            part=part,
        )
    return dim


def _size(value: object, kind: str) -> int:
    size = whole(value)
    if size is None:
        raise LayoutError(
            f"{value!r} is no size", f"{kind} takes a number of elements", f"write {kind}(4)"
        )
    return size
