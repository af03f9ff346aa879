"""einops' rearrange as a layout: the left side is the array, the right side the memory.

Source: einops' documentation, "rearrange", and ``einops/parsing.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Final, TypeAlias

from morello_layouts.checks import as_int, require_rank
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.conversions import divide
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.notations.coordinates import CoordinateLayout

ELLIPSIS: Final = "..."

Entry: TypeAlias = tuple[str, ...]
"""A dimension: the names of its axes, the slowest varying first; ``1`` is an axis of size 1."""


@dataclass(frozen=True, slots=True)
class EinopsLayout(CoordinateLayout):
    """A pattern of einops' rearrange: ``(h p) w -> h w p, p=2``.

    Attributes:
        left: the dimensions of the array.
        right: the dimensions of the result, whose row-major order is the memory.
        lengths: sizes of axes by name; one axis of each dimension needs none.

    Raises:
        LayoutError: if the sides do not have the same axes, or a size is missing.

    >>> print(EinopsLayout((("h", "p"), ("w",)), (("h",), ("w",), ("p",)), (("p", 2),)))
    (h p) w -> h w p, p=2
    """

    left: tuple[Entry, ...]
    right: tuple[Entry, ...]
    lengths: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        for side in ("left", "right"):
            _require_axes(getattr(self, side), side)
        _require_same_axes("left", self.left, self.right)
        _require_same_axes("right", self.right, self.left)
        known: dict[str, int] = {}
        for k, (axis, n) in enumerate(self.lengths):
            if axis in known or axis not in chain(*self.left):
                twice = "has a size already" if axis in known else "is not an axis of the pattern"
                raise _error(f"{axis} {twice}", ("lengths", k))
            known[axis] = as_int(
                n,
                f"the size of {axis}",
                1,
                part=("lengths", k),
                why="an axis holds at least one element",
            )
        for k, entry in enumerate(self.left):
            free = [axis for axis in entry if axis not in known and axis != "1"]
            if len(free) > 1:
                fix = ", ".join(f"{axis}=2" for axis in free[1:])
                what = f"({' '.join(entry)}): expected a size for all axes but one"
                raise _error(what, ("left", k), f"write sizes at the end: , {fix}")
        object.__setattr__(self, "lengths", tuple(sorted(known.items())))
        for side in ("left", "right"):
            short = tuple(_without_ones(entry) for entry in getattr(self, side))
            object.__setattr__(self, side, short)

    def _digits(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int]
    ) -> dict[str, list[tuple[AffineExpr, Int]]]:
        """Return each axis as pairs of coordinate and size; an ellipsis is several."""
        known, found = dict(self.lengths), dict[str, list[tuple[AffineExpr, Int]]]()
        dots = len(shape) - len(self.left) + 1  # the dimensions of an ellipsis
        if (ELLIPSIS,) not in self.left:
            require_rank(shape, len(self.left), str(self))
        elif dots < 0:
            raise ShapeError(
                f"{self}: expected at least {len(self.left) - 1} sizes, got {len(shape)}",
                "a shape has one size for each dimension of the left side",
                "give the shape of the left side",
            )
        left = iter(zip(coordinates, shape, strict=True))
        for entry in self.left:
            if entry == (ELLIPSIS,):
                found[ELLIPSIS] = [next(left) for _ in range(dots)]
                continue
            x, n = next(left)
            _require_size(n, [known.get(axis) for axis in entry], f"{self}: {_text(entry)}")
            inner: Int = 1
            rest = n // prod(known.get(axis, 1) for axis in entry)
            for axis in reversed(entry):
                size = known.get(axis, rest)
                digit = divide(x, inner)
                found[axis] = [(digit if axis == entry[0] else digit % size, size)]
                inner = inner * size
        return found

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        """Return the coordinate of each axis of the right side."""
        digits = self._digits(coordinates, shape)
        return tuple(x for axis in chain(*self.right) for x, _ in digits.get(axis, ()))

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the size of each axis of the right side."""
        return tuple(chain(*self._sizes_of_right(shape)))

    def result_shape(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the shape of einops' result.

        >>> import morello_layouts as ml
        >>> ml.parse("b (h p) -> (b h) p, p=2").result_shape((3, 8))
        (12, 2)
        """
        dots = [k for k, entry in enumerate(self.right) if entry == (ELLIPSIS,)]
        found: list[Int] = []
        for k, sizes in enumerate(self._sizes_of_right(shape)):
            found += sizes if k in dots else [prod(sizes)]
        return tuple(found)

    def _sizes_of_right(self, shape: Sequence[Int]) -> list[list[Int]]:
        digits = self._digits([AffineExpr((), 0)] * len(shape), shape)
        return [[n for axis in entry for _, n in digits.get(axis, ())] for entry in self.right]

    def assumptions(self, shape: Sequence[Int], /) -> tuple[Assumption, ...]:
        """Return the assumptions that the sizes of axes divide those of their dimensions."""
        known = dict(self.lengths)
        if (ELLIPSIS,) in self.left or len(shape) != len(self.left):
            return ()
        pairs = ((n, prod(known.get(axis, 1) for axis in entry))
                 for n, entry in zip(shape, self.left, strict=True))  # fmt: skip
        return tuple(
            Assumption(name, divisor=divisor)
            for n, divisor in pairs
            if isinstance(n, SizeExpr) and isinstance(name := n.as_atom(), str) and divisor > 1
        )

    def names(self, rank: int) -> tuple[str, ...]:
        """Return the names of the left side."""
        found: list[str] = []
        for entry in self.left:
            dots = [f"{ELLIPSIS}{k}" for k in range(rank - len(self.left) + 1)]
            found += dots if entry == (ELLIPSIS,) else [_text(entry)]
        return tuple(found)

    def texts(self, rank: int) -> tuple[str, ...]:
        """Return the axes of the right side."""
        dots = tuple(f"{ELLIPSIS}{k}" for k in range(rank - len(self.left) + 1))
        return tuple(
            text for axis in chain(*self.right) for text in (dots if axis == ELLIPSIS else (axis,))
            if text != "1"
        )  # fmt: skip

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kind of the layout, in words."""
        return "einops pattern"

    @property
    def headline(self) -> str:
        """The two sides in words."""
        return f"the array is {_texts(self.left)}, the memory {_texts(self.right)}"

    def __str__(self) -> str:
        sizes = "".join(f", {axis}={n}" for axis, n in self.lengths)
        return f"{_texts(self.left)} -> {_texts(self.right)}{sizes}"


def _text(entry: Entry) -> str:
    if len(entry) == 1:
        return entry[0]
    return f"({' '.join(axis for axis in entry if axis != '1')})" if entry else "1"


def _texts(entries: Sequence[Entry]) -> str:
    return " ".join(map(_text, entries))


def _without_ones(entry: Entry) -> Entry:
    """Return a dimension without its axes of size 1; ``(...)`` keeps one, ``...`` has none."""
    rest = tuple(axis for axis in entry if axis != "1")
    return entry if rest == (ELLIPSIS,) else rest


def _require_axes(entries: Sequence[Entry], side: str) -> None:
    seen: set[str] = set()
    for k, entry in enumerate(entries):
        for position, axis in enumerate(entry):
            part = (side, k, position)
            if axis != "1" and axis in seen:
                raise _error(f"{axis} appears twice on the {side} side", part)
            seen.add(axis)
            if axis == ELLIPSIS:
                if side == "left" and len(entry) > 1:
                    raise _error("an ellipsis in parentheses on the left side", part)
            elif axis != "1" and (not axis.isidentifier() or axis.strip("_") != axis):
                raise _error(f"an axis: expected a name or 1, got {axis}", part)


def _require_same_axes(side: str, own: Sequence[Entry], other: Sequence[Entry]) -> None:
    for k, entry in enumerate(own):
        for position, axis in enumerate(entry):
            if axis != "1" and axis not in chain(*other):
                raise _error(f"{axis} is only on the {side} side", (side, k, position))


def _require_size(n: Int, sizes: Sequence[int | None], what: str) -> None:
    """Raise if the sizes of axes do not multiply to the size of their dimension."""
    product = prod(size for size in sizes if size is not None)
    left = n % product if None in sizes else n - product
    if left != 0:
        rule = f"a multiple of {product}" if None in sizes else str(product)
        raise ShapeError(
            f"{what}: expected {rule}, got {n}",
            "the sizes of the axes multiply to the size of their dimension",
            "give other sizes",
        )


_RULE: Final = "both sides have the same axes, each once; 1 and ... may stand for others"


def _error(what: str, part: tuple[str | int, ...], fix: str = "") -> LayoutError:
    return LayoutError(what, _RULE, fix or "write for example (h p) w -> h w p, p=2", part=part)
