"""Morello's three kinds of physical dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.errors import LayoutError

__all__ = ["Dynamic", "OddEven", "Packed", "PhysDim"]


@dataclass(frozen=True, slots=True)
class Dynamic:
    """All that the physical dimensions inside it leave of the logical dimension."""

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Packed:
    """The innermost ``size`` of what remains of the logical dimension, in order."""

    size: int

    def __post_init__(self) -> None:
        if self.size < 2:
            raise LayoutError(
                f"p({self.size}) packs nothing",
                "a Packed holds at least 2 elements, as in Morello",
                "leave it out, or give the number of elements packed together",
            )

    def __str__(self) -> str:
        return f" p({self.size})"


@dataclass(frozen=True, slots=True)
class OddEven:
    """The innermost ``size`` of what remains of the logical dimension, even indices first.

    ``0 oe(8)`` lays elements 0..7 at offsets 0, 4, 1, 5, 2, 6, 3, 7. (A comment in Morello's
    source says odd first; its code does even first.)
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 2 or self.size % 2:
            raise LayoutError(
                f"oe({self.size}) has no two halves",
                "an OddEven separates even from odd indices, so its size is even",
                "give an even size of at least 2",
            )

    def __str__(self) -> str:
        return f" oe({self.size})"


PhysDim: TypeAlias = Dynamic | Packed | OddEven
