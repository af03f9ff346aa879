"""einops' rearrange as a layout: the left side is the array, the right side the memory.

Source: einops' documentation, "rearrange", and ``einops/parsing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from math import prod
from typing import Final, TypeAlias

from morello_layouts.checks import as_int, require_rank
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.conversions import divide
from morello_layouts.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.notations.coordinates import CoordinateLayout
from morello_layouts.notations.einops.document import by_pattern

ELLIPSIS: Final = "..."

Entry: TypeAlias = tuple[str, ...]
"""A dimension: the names of its axes, the slowest varying first; ``1`` is an axis of size 1."""


@dataclass(frozen=True, slots=True, repr=False)
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
    lengths: tuple[tuple[str, Int], ...] = ()

    kind = "einops pattern"

    def __post_init__(self) -> None:
        _require_axes("left", self.left, {*chain(*self.right)})
        _require_axes("right", self.right, {*chain(*self.left)})
        known: dict[str, Int] = {}
        for k, (axis, n) in enumerate(self.lengths):
            if axis in known or axis not in chain(*self.left):
                wrong = "has a size already" if axis in known else "is not an axis of the pattern"
                raise _error(f"{axis} {wrong}", ("lengths", k))
            why = "an axis holds at least one element"
            named = isinstance(n, SizeExpr)
            part = ("lengths", k)
            known[axis] = n if named else as_int(n, f"the size of {axis}", 1, part=part, why=why)
        for k, entry in enumerate(self.left):
            free = [axis for axis in entry if axis not in known and axis != "1"]
            if len(free) > 1:
                fix = ", ".join(f"{axis}=2" for axis in free[1:])
                what = f"({' '.join(entry)}): expected a size for all axes but one"
                raise _error(what, ("left", k), f"write sizes at the end: , {fix}")
        object.__setattr__(self, "lengths", tuple(sorted(known.items(), key=lambda item: item[0])))
        for side in ("left", "right"):
            short = tuple(_without_ones(entry) for entry in getattr(self, side))
            object.__setattr__(self, side, short)

    def _sides(self, rank: int) -> tuple[list[Entry], list[Entry]]:
        """Return both sides for arrays of a rank: a name for each dimension of an ellipsis."""
        dots = tuple(f"{ELLIPSIS}{k}" for k in range(rank - len(self.left) + 1))

        def written(entries: Sequence[Entry]) -> Iterator[Entry]:
            for entry in entries:
                if entry == (ELLIPSIS,):
                    yield from ((dot,) for dot in dots)
                else:
                    axes = (dots if axis == ELLIPSIS else (axis,) for axis in entry if axis != "1")
                    yield tuple(chain.from_iterable(axes))

        return [*written(self.left)], [*written(self.right)]

    def _digits(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int]
    ) -> dict[str, tuple[AffineExpr, Int]]:
        """Return the coordinate and the size of each axis."""
        least, known = len(self.left) - 1, dict(self.lengths)
        if (ELLIPSIS,) not in self.left:
            require_rank(shape, len(self.left), str(self))
        elif len(shape) < least:
            raise ShapeError(
                f"{self}: expected at least {least} sizes, got {len(shape)}",
                "a shape has one size for each dimension of the left side",
                "give the shape of the left side",
            )
        found: dict[str, tuple[AffineExpr, Int]] = {}
        left, _ = self._sides(len(shape))
        for x, n, entry in zip(coordinates, shape, left, strict=True):
            product = prod(known.get(axis, 1) for axis in entry)
            _require_size(n, product, {*entry} - {*known}, f"{self}: {_text(entry)}")
            inner: Int = 1
            for axis in reversed(entry):
                size = known.get(axis, n // product)
                digit = divide(x, inner)
                found[axis] = (digit if axis == entry[0] else digit % size, size)
                inner = inner * size
        return found

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        """Return the coordinate of each axis of the right side."""
        digits = self._digits(coordinates, shape)
        return tuple(digits[axis][0] for axis in self.texts(len(shape)))

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the size of each axis of the right side."""
        digits = self._digits([AffineExpr((), 0)] * len(shape), shape)
        return tuple(digits[axis][1] for axis in self.texts(len(shape)))

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Return an element's offset and the result's size by einops' documentation."""
        lengths = {axis: n for axis, n in self.lengths if isinstance(n, int)}
        return by_pattern(coordinate, shape, self.left, self.right, lengths)

    def result_shape(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the shape of einops' result.

        >>> import morello_layouts as ml
        >>> ml.parse("b (h p) -> (b h) p, p=2").result_shape((3, 8))
        (12, 2)
        """
        digits = self._digits([AffineExpr((), 0)] * len(shape), shape)
        _, right = self._sides(len(shape))
        return tuple(prod(digits[axis][1] for axis in entry) for entry in right)

    def assumptions(self, shape: Sequence[Int], /) -> tuple[Assumption, ...]:
        """Return the assumptions that the sizes of axes divide those of their dimensions."""
        known, (left, _) = dict(self.lengths), self._sides(len(shape))
        pairs = (
            (n.as_atom(), prod(known.get(axis, 1) for axis in entry))
            for n, entry in zip(shape, left, strict=False)
            if isinstance(n, SizeExpr)
        )
        return tuple(
            Assumption(name, divisor=divisor)
            for name, divisor in pairs
            if isinstance(name, str) and isinstance(divisor, int) and divisor > 1
        )

    def with_numbers(self, values: Mapping[str, int], /) -> EinopsLayout:
        """Return the pattern with numbers in place of the names of axes' sizes."""
        return replace(
            self, lengths=tuple((axis, evaluated(n, values)) for axis, n in self.lengths)
        )

    def names(self, rank: int) -> tuple[str, ...]:
        """Return the names of the left side."""
        return tuple(map(_text, self._sides(rank)[0]))

    def texts(self, rank: int) -> tuple[str, ...]:
        """Return the axes of the right side."""
        return tuple(chain(*self._sides(rank)[1]))

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


def _require_axes(side: str, entries: Sequence[Entry], other: AbstractSet[str]) -> None:
    """Raise if an axis is not a name, appears twice, or is not on the other side."""
    seen: set[str] = set()
    for k, entry in enumerate(entries):
        for position, axis in enumerate(entry):
            what = ""
            if axis == ELLIPSIS and side == "left" and len(entry) > 1:
                what = "an ellipsis in parentheses on the left side"
            elif axis not in (ELLIPSIS, "1") and not (
                axis.isidentifier() and axis == axis.strip("_")
            ):
                what = f"an axis: expected a name or 1, got {axis}"
            elif axis in seen:
                what = f"{axis} appears twice on the {side} side"
            elif axis not in other and axis != "1":
                what = f"{axis} is only on the {side} side"
            if what:
                raise _error(what, (side, k, position))
            seen |= {axis} - {"1"}


def _require_size(n: Int, product: Int, free: AbstractSet[str], what: str) -> None:
    """Raise if the sizes of axes do not multiply to the size of their dimension."""
    if (n % product if free else n - product) != 0:
        raise ShapeError(
            f"{what}: expected {f'a multiple of {product}' if free else product}, got {n}",
            "the sizes of the axes multiply to the size of their dimension",
            f"give it as {product * n}" if isinstance(product, SizeExpr) else "give other sizes",
        )


_RULE: Final = "both sides have the same axes, each once; 1 and ... may stand for others"


def _error(what: str, part: tuple[str | int, ...], fix: str = "") -> LayoutError:
    return LayoutError(what, _RULE, fix or "write for example (h p) w -> h w p, p=2", part=part)
