"""Axes of an array in memory, each a digit of one dimension's index, with a name to read."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Axis"]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of the array in memory: coordinate ``(of // stride) % modulus``.

    Attributes:
        of: what it is a digit of: a dimension's name, or several joined.
        size: how many coordinates it has, None where that depends on a size that is no number.
        dims: the logical dimensions behind it; none for an axis that a tile added.
        stride: steps along ``of`` for one step along the axis.
        modulus: None for the outermost digit.
        exact: whether it is a plain digit of one logical index.

    >>> [axis.label for axis in Axis("y", 16, (0,)).split(8)]
    ['y//8', 'y%8']
    """

    of: str
    size: int | None
    dims: tuple[int, ...]
    stride: int = 1
    modulus: int | None = None
    exact: bool = True

    @property
    def label(self) -> str:
        """The axis's coordinate as text."""
        if self.modulus == 1 or not self.dims:
            return "0"
        inner = self.of if self.stride == 1 else f"{self.of}//{self.stride}"
        if self.modulus is None:
            return inner
        return f"{inner}%{self.modulus}" if self.stride == 1 else f"({inner})%{self.modulus}"

    def split(self, t: int) -> tuple[Axis, Axis]:
        """The axis in tiles of t: the tile's index, and the index in the tile."""
        outer_size = None if self.size is None else -(-self.size // t)
        if self.modulus is None:
            outer, rest = self, None
        elif self.modulus % t == 0:
            outer, rest = self, self.modulus // t
        else:  # the tile does not divide the block, so its digits are not digits of the index
            outer, rest = Axis(f"({self.label})", self.size, self.dims, exact=False), None
        stride = outer.stride
        return (
            Axis(outer.of, outer_size, outer.dims, stride * t, rest, outer.exact),
            Axis(outer.of, t, outer.dims, stride, t, outer.exact),
        )

    @staticmethod
    def joined(axes: tuple[Axis, ...]) -> Axis:
        """Neighbouring axes as one; of none an axis of size 1."""
        if len(axes) == 1:
            return axes[0]
        size: int | None = 1
        for axis in axes:
            size = None if size is None or axis.size is None else size * axis.size
        name = f"({','.join(axis.label for axis in axes)})"
        return Axis(name, size, tuple(d for axis in axes for d in axis.dims), exact=False)
