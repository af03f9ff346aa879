"""CuTe's layouts: a shape and strides, nested alike.

Source: CUTLASS's documentation, "CuTe Layouts"; ``include/cute/layout.hpp`` and ``stride.hpp``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import islice, starmap, zip_longest
from math import gcd, prod
from operator import pos
from typing import Any, Final, TypeAlias

from morello_layouts.core.checks import LARGEST, Part, as_int, shown
from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.affine import names_in
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.fields import checked, frozen, number, optional, settle
from morello_layouts.core.layout import Layout
from morello_layouts.core.limits import CUTE_LEAVES, NESTED_TUPLES
from morello_layouts.core.recipe import Recipe
from morello_layouts.core.recipe.recognize import recipe_of_formula
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.notations.documents import by_strides


class Static(int):
    """An integer that is known to CuTe's compiler: ``_4``.

    >>> Static(4), Static(4) == 4
    (_4, True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"_{int(self)}"

    __str__ = __repr__


MODE: Final = number(0, CUTE_LEAVES - 1, named="the number of a mode")
"""The kind of a mode's number."""


@frozen
class ScaledBasis:
    """A stride in one mode of a coordinate: ``1@0`` moves by 1 in mode 0.

    >>> print(ScaledBasis(Static(1), (0, 2)))
    _1@2@0
    """

    value: int  #: how far.
    modes: tuple[int, ...]  #: the path to the mode, from the outermost; CuTe prints it reversed.

    def __post_init__(self) -> None:
        for mode in (len(self.modes) - 1, *self.modes):
            MODE(mode, "", ("stride",))

    def __str__(self) -> str:
        return f"{self.value}{''.join(f'@{mode}' for mode in reversed(self.modes))}"


Leaf: TypeAlias = "int | ScaledBasis"
Nested: TypeAlias = "Leaf | tuple[Nested, ...]"
"""An integer or a scaled basis element, or a tuple of nested ones: a shape, or strides."""


def is_static(value: Any, number: int | None = None) -> bool:
    """Whether a leaf is static, and the number if one is given."""
    if isinstance(value, ScaledBasis):
        return number is None and is_static(value.value)
    return isinstance(value, Static) and (number is None or value == number)


def _like(value: Any, *operands: Any) -> Any:
    """A result: static if all operands are."""
    return Static(value) if all(isinstance(x, Static) for x in operands) else value


# The operations take arrays of integers too, and these are dynamic.


def plus(a: Any, b: Any) -> Any:
    return _like(a + b, a, b)


def times(a: Any, b: Any) -> Any:
    """Return the product; a static 0 stays static.

    >>> times(Static(2), Static(3)), times(2, Static(3)), times(2, Static(0))
    (_6, 6, _0)
    >>> print(times(Static(2), ScaledBasis(Static(3), (1,))))
    _6@1
    """
    for one, other in ((a, b), (b, a)):
        if isinstance(one, ScaledBasis):
            return ScaledBasis(times(one.value, other), one.modes)
        if is_static(one, 0):
            return Static(0)
    return _like(a * b, a, b)


def quotient(a: Any, b: int) -> Any:
    """Return the quotient, rounded towards 0 as C++ does.

    >>> quotient(-7, 2), quotient(Static(7), Static(-2))
    (-3, _-3)
    """
    if is_static(a, 0):
        return a
    size = abs(b)
    found = (a + (a < 0) * (size - 1)) // size
    return _like(found if b > 0 else -found, a, b)


def remainder(a: Any, b: int) -> Any:
    """Return what the quotient leaves; it has the sign of ``a``."""
    return a - quotient(a, b) * b


def ceil_quotient(a: int, b: int) -> int:
    """Return ``(a + b - 1) / b``."""
    return quotient(plus(plus(a, b), Static(-1)), b)  # type: ignore[no-any-return]


def absolute(a: Any) -> Any:
    if isinstance(a, ScaledBasis):
        return ScaledBasis(absolute(a.value), a.modes)
    if isinstance(a, SizeExpr):
        return a
    return _like(abs(a), a)


def sign(a: int) -> int:
    return _like((a > 0) - (a < 0), a)  # type: ignore[no-any-return]


def least(a: int, b: int) -> int:
    return _like(int(min(a, b)), a, b)  # type: ignore[no-any-return]


def common_divisor(a: int, b: int) -> int:
    return _like(gcd(a, b), a, b)  # type: ignore[no-any-return]


# Tuples


def wrap(t: Nested) -> tuple[Nested, ...]:
    return t if isinstance(t, tuple) else (t,)


def unwrap(t: Nested) -> Nested:
    """Take off the tuples around a single value."""
    while isinstance(t, tuple) and len(t) == 1:
        t = t[0]
    return t


def flatten(t: Nested) -> tuple[Any, ...]:
    return tuple(x for part in t for x in flatten(part)) if isinstance(t, tuple) else (t,)


def like(leaves: Iterable[Any], profile: Nested) -> Any:
    """Return leaves in the nesting of another value."""
    left = iter(leaves)

    def build(part: Nested) -> Any:
        return tuple(map(build, part)) if isinstance(part, tuple) else next(left)

    return build(profile)


def congruent(a: Nested, b: Nested) -> bool:
    """Whether two values are nested alike."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def product(t: Nested) -> int:
    """Return the product of the leaves; static if none of them is dynamic."""
    if not isinstance(t, tuple):
        return t  # type: ignore[return-value]
    return reduce(times, map(product, t), Static(1))


def compact(shape: Nested, first: int = Static(1)) -> Nested:
    """Return the strides of a shape without gaps, the first mode fastest; static sizes 1 get 0.

    >>> compact((Static(4), Static(1), (2, 3)))
    (_1, _0, (_4, 8))
    """

    def step(n: Nested) -> int:
        nonlocal first
        if is_static(n, 1):
            return Static(0)
        stride, first = first, times(first, n)
        return stride

    return like([step(n) for n in flatten(shape)], shape)  # type: ignore[no-any-return]


def ceil_divide(a: Nested, b: int) -> Nested:
    """Divide a shape by a size, its modes one after the other.

    >>> ceil_divide((12, 32), 32)
    (1, 11)
    """
    if not isinstance(a, tuple):
        return ceil_quotient(a, b)  # type: ignore[arg-type]
    found = []
    for part in a:
        found.append(ceil_divide(part, b))
        b = ceil_quotient(b, product(part))
    return tuple(found)


def text(t: Nested) -> str:
    """Return the text as CuTe prints it."""
    return f"({','.join(map(text, t))})" if isinstance(t, tuple) else str(t)


def map_leaves(f: Callable[[Any], Any], t: Nested) -> Any:
    return tuple(map_leaves(f, part) for part in t) if isinstance(t, tuple) else f(t)


_ZERO = Static(0)


def _checked(value: Any, name: str, part: Part, level: int = 0) -> Any:
    """Return a shape or strides as nested tuples of integers; strides may be basis elements."""
    if isinstance(value, tuple | list):
        if level == NESTED_TUPLES:
            raise LayoutError(
                f"{name}: expected at most {NESTED_TUPLES} tuples inside each other, got more",
                "sizes nest a few levels deep",
                "leave out the parentheses around single values",
                part=part,
            )
        if not value:
            what = f"{name}: expected an integer or some in a tuple, got ()"
            raise LayoutError(what, "each mode has a size", "write _1 for a single element")
        return tuple(_checked(each, name, part, level + 1) for each in value)
    if isinstance(value, Static | SizeExpr) or (
        isinstance(value, ScaledBasis) and name == "stride"
    ):
        return value
    if isinstance(value, ScaledBasis):
        what = f"a size: expected an integer, got {value}"
        raise LayoutError(what, "only strides have modes", "write @ after a stride", part=part)
    least = 0 if name == "shape" else -LARGEST
    return as_int(value, "a size" if name == "shape" else "a stride", least, part=part)


@frozen(eq=False)
class CuteLayout(Layout):
    """A layout of CuTe: ``((4,2),8):((1,16),4)`` has two modes, the first of them in two parts.

    Each mode is one coordinate. Inside of a mode the first part varies fastest. Strides may
    overlap, be 0 or negative, and leave gaps. Two layouts are equal if their texts are.

    >>> layout = CuteLayout(((4, 2), 8), ((1, 16), 4))
    >>> layout.rank, layout.size, layout.cosize, layout(4), layout(((0, 1), 2))
    (2, 64, 48, 16, 24)
    >>> print(CuteLayout((4, 2)))
    (4,2):(_1,4)
    """

    #: sizes, nested: an ``int`` or a name is dynamic, a ``Static`` is known to CuTe's compiler. The
    #: algebra takes no names.
    shape: Nested = checked(_checked)
    #: for each size the elements from one index to the next, nested alike. Or for each a
    #: ``ScaledBasis``: the layout gives coordinates, and the offset of one is its place in the
    #: smallest box around all of them, the first mode fastest. None: no gaps, in that order.
    stride: Nested = checked(optional(_checked), default=None)

    def __post_init__(self) -> None:
        shape, stride = self.shape, self.stride
        if stride is None:
            stride = compact(shape)
            settle(self, stride=stride)
        if not congruent(shape, stride):
            raise LayoutError(
                f"strides: expected one for each size of {text(shape)}, got {text(stride)}",
                "strides are nested as the shape is",
                "write for example ((4,2),8):((1,16),4)",
                part=("stride",),
            )
        as_int(len(self.leaves), "the number of sizes", 0, CUTE_LEAVES, part=("shape",))
        self.coshape  # raises if coordinates do not add up  # noqa: B018

    @property
    def leaves(self) -> tuple[tuple[int, Any], ...]:
        """Pairs of a size and its stride, the fastest first.

        >>> CuteLayout(((4, 2), 8), ((1, 16), 4)).leaves
        ((4, 1), (2, 16), (8, 4))
        """
        return tuple(zip(flatten(self.shape), flatten(self.stride), strict=True))

    @property
    def modes(self) -> tuple[CuteLayout, ...]:
        """The layout of each mode."""
        return tuple(map(CuteLayout, wrap(self.shape), wrap(self.stride)))

    @property
    def rank(self) -> int:
        """The number of modes."""
        return len(wrap(self.shape))

    @property
    def depth(self) -> int:
        """How deep the shape is nested: 0 for a single size."""

        def depth(t: Nested) -> int:
            return 1 + max(map(depth, t), default=0) if isinstance(t, tuple) else 0

        return depth(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return product(self.shape)

    @property
    def coshape(self) -> Nested:
        """The sizes of the smallest box around all offsets; one size if these are integers."""
        ends = (_as_coordinate(times(plus(n, Static(-1)), absolute(d))) for n, d in self.leaves)
        return map_leaves(  # type: ignore[no-any-return]
            lambda end: plus(end, Static(1)), reduce(_add, ends, _ZERO)
        )

    @property
    def cosize(self) -> int:
        """The largest offset plus 1, or the number of coordinates in the box around all."""
        return product(self.coshape)

    @property
    def span(self) -> Int:
        """The slots of whole rows: as the cosize, with all of the pitch after the last row.

        >>> CuteLayout((10, 50), (56, 1)).cosize, CuteLayout((10, 50), (56, 1)).span
        (554, 560)
        """
        rows = (n * d for n, d in self.leaves if not isinstance(d, ScaledBasis))
        ends: list[Int] = [_number(end) for end in (self.cosize, *rows)]
        if self.is_symbolic:
            ends.append(prod(self.recipe(self.sizes).physical_shape))
        most = (end for end in ends if all(is_nonnegative(end - other) for other in ends))
        return next(most, ends[-1])

    def flatten(self) -> CuteLayout:
        """Return the layout of depth 1 with the same sizes and strides.

        >>> print(CuteLayout(((4, 2), 8), ((1, 16), 4)).flatten())
        (4,2,8):(1,16,4)
        """
        return CuteLayout(flatten(self.shape), flatten(self.stride))

    def __call__(self, coordinate: Any) -> Any:
        """Return the offset of a coordinate.

        Args:
            coordinate: an integer, the first mode fastest; or a tuple with one coordinate for each
                mode. Past the end the last mode goes on. Arrays of integers work too.

        Returns:
            An offset in elements; a coordinate if the strides are scaled basis elements.
        """
        return map_leaves(pos, _offset(coordinate, self.shape, self.stride))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(_number(product(n)) for n in wrap(self.shape))

    def bound(self, shape: Sequence[Int], /) -> CuteLayout | None:
        modes = wrap(self.shape)
        pairs = [*zip(modes, self.sizes, shape, strict=False)]
        is_open = any(_is_open(mode) for mode in modes)
        fits = len(shape) == len(modes) and all(
            _is_open(mode) or given == own for mode, own, given in pairs
        )
        if not is_open or not fits:
            return None
        sizes: Any = tuple(given if _is_open(mode) else mode for mode, _, given in pairs)
        return CuteLayout(sizes if isinstance(self.shape, tuple) else sizes[0], self.stride)

    @property
    def is_symbolic(self) -> bool:
        """Whether a size or a stride is a name."""
        return any(isinstance(x, SizeExpr) for leaf in self.leaves for x in leaf)

    def with_numbers(self, values: Mapping[str, int], /) -> CuteLayout:
        used = [x for n, d in self.leaves for x in ((n, d) if n != 1 else (n,))]
        names = {*names_in(used)}
        if not names or not names <= values.keys():
            return self

        def number(x: Any) -> Any:
            is_known = isinstance(x, SizeExpr) and x.names() <= values.keys()
            return x.evaluate(values) if is_known else x

        return CuteLayout(map_leaves(number, self.shape), map_leaves(number, self.stride))

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout as steps.

        Raises:
            ShapeError: if the shape is not the size of each mode.
            UnsupportedError: if an offset is negative.
        """
        self._require(shape)
        form = self.reference(coordinate_variables(shape), shape)
        lowest = sum((n - 1) * d for n, d in self._steps if not is_nonnegative(d))
        if lowest != 0 and self.size != 0:
            raise UnsupportedError(
                f"{self}: expected offsets from 0, got {lowest}",
                "an index map counts the slots of a buffer from its start",
                "write positive strides, and turn these modes around",
            )
        size = _number(self.cosize) if self.size != 0 else 0
        return recipe_of_formula(tuple(shape), form, size)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset as CuTe computes it: the digits of each coordinate times strides."""
        self._require(shape)
        offset, steps = AffineExpr((), 0), iter(self._steps)
        for x, mode in zip(coordinates, wrap(self.shape), strict=True):
            *inner, (most, last) = islice(steps, len(flatten(mode)))
            left = x
            for n, stride in inner:
                size = n if n != 0 else 1
                offset += left % size * stride
                left //= size
            offset += left * last if most != 1 else 0
        return offset

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        return by_strides(coordinate, wrap(self.shape), wrap(self.stride))

    @property
    def _steps(self) -> list[tuple[Any, Any]]:
        """Pairs of a size and its stride; the place in the box if strides are basis elements."""
        places = compact(self.coshape)

        def step(d: Leaf) -> Any:
            if not isinstance(d, ScaledBasis):
                return _number(d)
            place: Any = reduce(lambda t, mode: t[mode], d.modes, places)
            return int(d.value) * int(place)

        return [(_number(n), step(d)) for n, d in self.leaves]

    def _require(self, shape: Sequence[Int]) -> None:
        sizes = self.sizes
        least = min((n for n, _ in self.leaves if isinstance(n, int)), default=0)
        if least < 0:
            raise UnsupportedError(
                f"{self}: expected sizes from 0, got {least}",
                "CuTe gives negative sizes to inverses of negative strides",
                "write sizes from 0",
            )
        if len(shape) != len(sizes) or not all(map(_is_size, shape, sizes)):
            raise ShapeError(
                f"{self}: expected the shape ({', '.join(map(str, sizes))}), "
                f"got ({', '.join(map(str, shape))})",
                "each mode of a CuTe layout is one dimension, of the product of its sizes",
                "leave the shape out",
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CuteLayout) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"


def _is_open(mode: Nested) -> bool:
    """Return whether a mode is a size that CuTe prints as ``?``."""
    return isinstance(mode, SizeExpr) and re.fullmatch("N[0-9]+", str(mode)) is not None


def _is_size(given: Int, own: Int) -> bool:
    """Return whether a size is a mode's own: as it is, or as an assumption made it."""
    if isinstance(own, SizeExpr):  # 8·(N/8) prints as N; a name that is fixed is a number
        return isinstance(given, int) or str(given) == str(own)
    return given == own


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, int) else value


def _as_coordinate(value: Leaf) -> Nested:
    """Return a scaled basis element as a coordinate: its value at its place, zeros before."""
    if not isinstance(value, ScaledBasis):
        return value
    found: Nested = value.value
    for mode in reversed(value.modes):
        found = (*(_ZERO,) * mode, found)
    return found


def _add(a: Any, b: Any) -> Any:
    """Add two integers or two coordinates, the shorter one filled up with zeros."""
    a, b = _as_coordinate(a), _as_coordinate(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(starmap(_add, zip_longest(a, b, fillvalue=_ZERO)))
    for one, other in ((a, b), (b, a)):
        if is_static(one, 0):
            return other
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise LayoutError(
            "strides: expected integers only, or basis elements of one coordinate only",
            "an offset is the sum of what all strides give, and no integer adds to a coordinate",
            "write for example (4,8):(1@0,1@1)",
            part=("stride",),
        )
    return plus(a, b)


def _offset(x: Any, shape: Any, stride: Any) -> Any:
    """Return the offset of a coordinate, as CuTe's ``crd2idx`` does."""
    if isinstance(x, tuple | list):
        if not isinstance(shape, tuple) or len(shape) != len(x):
            raise ShapeError(
                f"coordinate {shown(x)}: expected one of the shape {text(shape)}",
                "a coordinate is an integer, or has one coordinate for each mode",
                "give an integer, or a tuple of them",
            )
        return reduce(_add, map(_offset, x, shape, stride), _ZERO)
    if not isinstance(shape, tuple):
        return times(x, stride)
    found = _ZERO
    for n, d in zip(shape[:-1], stride[:-1], strict=True):
        size = product(n)
        found = _add(found, _offset(remainder(x, size), n, d))
        x = quotient(x, size)
    return _add(found, _offset(x, shape[-1], stride[-1])) if shape else found
