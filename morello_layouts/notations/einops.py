"""einops' rearrange as a layout: ``(h p) w -> h w p, p=2``.

The left side is the array, the right side the memory.

Source: einops' documentation, "rearrange", and ``einops/parsing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from itertools import chain
from math import prod
from typing import Any, Final, TypeAlias

from morello_layouts.core.checks import as_int, require_rank
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.conversions import divide
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.core.fields import frozen, settle
from morello_layouts.core.limits import MAP_TEXT
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.coordinates import CoordinateLayout
from morello_layouts.notations.documents import by_pattern
from morello_layouts.notations.grammar import END, NAME, Source, Syntax, Terminal, integer
from morello_layouts.notations.text import ABSENT, Note, Rule, either, field, made, many, word

ELLIPSIS: Final = "..."

Entry: TypeAlias = tuple[str, ...]
"""A dimension: the names of its axes, the slowest varying first; ``1`` is an axis of size 1."""


@frozen
class EinopsLayout(CoordinateLayout):
    """A pattern of einops' rearrange: ``(h p) w -> h w p, p=2``.

    Both sides have the same axes, and one axis of each dimension of the array needs no length.

    >>> print(EinopsLayout((("h", "p"), ("w",)), (("h",), ("w",), ("p",)), (("p", 2),)))
    (h p) w -> h w p, p=2
    """

    left: tuple[Entry, ...]  #: the dimensions of the array.
    right: tuple[Entry, ...]  #: the dimensions of the result, whose row-major order is the memory.
    lengths: tuple[tuple[str, Int], ...] = ()  #: sizes of axes by name.

    kind = "einops pattern"

    def __post_init__(self) -> None:
        left, right = _sides(self.left, self.right)
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
        settle(
            self,
            left=left,
            right=right,
            lengths=tuple(sorted(known.items(), key=lambda item: item[0])),
        )

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
        digits = self._digits(coordinates, shape)
        return tuple(digits[axis][0] for axis in self.texts(len(shape)))

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        digits = self._digits([AffineExpr((), 0)] * len(shape), shape)
        return tuple(digits[axis][1] for axis in self.texts(len(shape)))

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
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
        return replace(
            self, lengths=tuple((axis, evaluated(n, values)) for axis, n in self.lengths)
        )

    def names(self, rank: int) -> tuple[str, ...]:
        return tuple(map(_text, self._sides(rank)[0]))

    def texts(self, rank: int) -> tuple[str, ...]:
        return tuple(chain(*self._sides(rank)[1]))

    @property
    def headline(self) -> str:
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


def _sides(left: tuple[Entry, ...], right: tuple[Entry, ...]) -> tuple[tuple[Entry, ...], ...]:
    """Return both sides without axes of size 1; raise unless both have the same axes."""
    _require_axes("left", left, {*chain(*right)})
    _require_axes("right", right, {*chain(*left)})
    return tuple(map(_without_ones, left)), tuple(map(_without_ones, right))


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


# ---- the text

_SYNTAX: Final = Syntax(
    form="a pattern is the array's dimensions, ->, and the same axes as they lie in memory",
    example="write for example (h p) w -> h w p, p=2",
    hints={"'": "leave the quotes out", '"': "leave the quotes out"},
    longest=MAP_TEXT,
)

_NUMBER: Final = Terminal("a number", r"[0-9]+(?![A-Za-z_])")
_AXES: Final = (
    (NAME, lambda token, _: str(token)),
    (_NUMBER, lambda token, _: str(token)),
    (Terminal("'...'", r"\.\.\.|…"), lambda *_: ELLIPSIS),
)
_INNER: Final = many(either(*_AXES))
_OUTER: Final = either(*_AXES, ("(", lambda *_: "("), quiet=True)
_LENGTH: Final = made(
    lambda axis, size: (axis, size),
    field("axis", word(NAME)),
    "=",
    field("size", either((_NUMBER, integer), (NAME, lambda name, _: SizeExpr.named(str(name))))),
)


def _entry(source: Source, note: Note | None, _: bool) -> Entry | Any:
    """Read an axis, or axes in parentheses."""
    axis = _OUTER.read(source, note and note.part(0), False)
    if axis != "(":
        return ABSENT if axis is ABSENT else (axis,)
    axes: Entry = _INNER.read(source, note, False)
    source.need(")")
    return (*axes, "1") if axes == (ELLIPSIS,) else axes


def _lengths(source: Source, note: Note | None, _: bool) -> tuple[tuple[str, Int], ...]:
    """Read sizes after commas, the last of which may stand alone."""
    found: list[tuple[str, Int]] = []
    while source.take(","):
        if (one := _LENGTH.read(source, note and note.part(len(found)), False)) is ABSENT:
            break
        found.append(one)
    return tuple(found)


_ARROW: Final = field("left", many(Rule(_entry))), "->", field("right", many(Rule(_entry)))
_PATTERN: Final = made(EinopsLayout, *_ARROW, field("lengths", Rule(_lengths)), END)
_SIDES: Final = made(_sides, *_ARROW, END)


def parse_sides(text: str) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """Parse both sides of a pattern whose sizes are known from arrays on both of them."""
    left, right = _SIDES.parse(text, _SYNTAX)
    return left, right


def parse_einops(text: str) -> EinopsLayout:
    """Parse a pattern of einops' ``rearrange``, with sizes of axes, or names, after commas."""
    pattern: EinopsLayout = _PATTERN.parse(text, _SYNTAX)
    return pattern
