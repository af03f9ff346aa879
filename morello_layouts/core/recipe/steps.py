"""Recipes: steps that lead from the axes of an array to those of its buffer.

A step changes the axes of an array as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, TypeAlias, TypeVar

from morello_layouts.core.expr.affine import AffineExpr, names_in, variable
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated, is_nonnegative
from morello_layouts.core.expr.substitution import map_ints
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import NUMBER_JUMPS
from morello_layouts.errors import ShapeError, UnsupportedError


def renumbered(numbers: Sequence[int], place: Any) -> Any:
    """Return the new number of a place, of any kind of coordinate.

    As a formula it is the place and a jump of ``floor((place + n - k) / n)`` at each place k whose
    number is not the one after that of place k - 1.

    >>> from morello_layouts.core.expr import variable
    >>> print(renumbered((1, 0), variable("d", 0, 1)), renumbered((1, 0), 1))
    -2*((d + 1)//2) + d + 1 0
    """
    size = len(numbers)
    if isinstance(place, int):  # slots at the ends of a buffer may be past the axis
        return numbers[min(max(place, 0), size - 1)]
    if hasattr(place, "dtype"):
        import numpy as np

        return np.asarray(numbers).take(place.astype(np.int64), mode="clip")
    jumps = [b - a - 1 for a, b in pairwise(numbers)]
    if (count := sum(map(bool, jumps))) > NUMBER_JUMPS:
        raise too_many_jumps(size, count)
    found = place + numbers[0]
    for k, jump in enumerate(jumps, 1):
        if jump:
            found = found + (place + (size - k)) // size * jump
    return found


def too_many_jumps(size: int, count: int) -> UnsupportedError:
    """Return the error for an order of places that would be too long a formula."""
    return UnsupportedError(
        f"{size} devices in an order of {count} jumps",
        f"a formula has up to {NUMBER_JUMPS} jumps",
        "give the devices in the order of the mesh, or as digits: <=[4,2]T(1,0)",
    )


Shape: TypeAlias = tuple[Int, ...]
"""Sizes of axes in elements; some may be symbolic."""


def known(shape: Sequence[Int]) -> tuple[int, ...]:
    """Return the sizes as ints."""
    numbers = tuple(n for n in shape if isinstance(n, int))
    if len(numbers) < len(shape):
        names = sorted(names_in(shape))
        raise UnsupportedError(
            f"sizes are symbolic: {', '.join(names)}",
            "this is computed for sizes that are numbers",
            f"give the sizes: .at({', '.join(f'{name}=…' for name in names)})",
        )
    return numbers


T = TypeVar("T")


@frozen
class Pad:
    """Grow each axis to the given size; the elements keep their coordinates.

    >>> Pad((4, 6)).apply((3, 5))
    (4, 6)
    """

    sizes: Shape  #: the size of each axis after the step, in elements.
    #: whether an axis may lose padding at its end instead: every other column of 7 is 4 pairs
    #: without the last place.
    cut: bool = False
    name: ClassVar[str] = "pad"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step."""
        _require(len(self.sizes) == len(shape), self, shape)
        # A symbolic size is refused only if it certainly shrinks: N may be at most 128.
        less = (n - m for n, m in zip(shape, self.sizes, strict=True))
        _require(self.cut or not any(is_nonnegative(lost - 1) for lost in less), self, shape)
        return self.sizes


@frozen
class Split:
    """Break axis i of size n into (n / t, t) if ``tiles[i]`` is t, and leave it whole if None.

    >>> Split((2, None)).apply((4, 6))
    (2, 2, 6)
    """

    #: for each axis the size of its new inner axis; None for no split.
    tiles: tuple[Int | None, ...]
    name: ClassVar[str] = "split"

    @property
    def numbers(self) -> tuple[int | None, ...]:
        """The tiles as numbers.

        Raises:
            UnsupportedError: if one is symbolic.
        """
        known(tuple(t for t in self.tiles if t is not None))
        return tuple(t for t in self.tiles if t is None or isinstance(t, int))

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step."""
        _require(len(self.tiles) == len(shape), self, shape)
        sizes: list[Int] = []
        for n, t in zip(shape, self.tiles, strict=True):
            if t is None:
                sizes.append(n)
            else:
                _require(is_nonnegative(t - 1) and not n % t, self, shape)
                sizes += (n // t, t)
        return tuple(sizes)


@frozen
class Transpose:
    """Reorder the axes: new axis k is old axis ``order[k]``.

    >>> Transpose((0, 2, 1)).apply((2, 3, 4))
    (2, 4, 3)
    """

    order: tuple[int, ...]  #: for each new axis the old one.
    name: ClassVar[str] = "transpose"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step."""
        _require(sorted(self.order) == list(range(len(shape))), self, shape)
        return tuple(shape[axis] for axis in self.order)


@frozen
class Merge:
    """Join runs of neighbouring axes, ``counts[k]`` of them into new axis k.

    A count of 0 makes a new axis of size 1, the empty product: a tile with more dimensions than the
    array gets its leading axes from it.

    >>> Merge((0, 2, 1)).apply((2, 3, 4))
    (1, 6, 4)
    """

    counts: tuple[int, ...]  #: for each new axis the number of old ones that it joins.
    name: ClassVar[str] = "merge"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step."""
        _require(sum(self.counts) == len(shape), self, shape)
        return tuple(prod(group) for group in self.groups(shape))

    def groups(self, axes: Iterable[T]) -> list[tuple[T, ...]]:
        """Return the axes, or their sizes, in runs: one run for each new axis."""
        left = iter(axes)
        return [tuple(next(left) for _ in range(count)) for count in self.counts]


@frozen
class Scatter:
    """Put each element of the axes at the place that formulas give, one for each new axis.

    This is the general step, for layouts that the others cannot say: elements may share a slot,
    as along a stride of 0, and lie in any order.

    >>> from morello_layouts.core.expr import variable
    >>> Scatter((variable("d0", 0, 5),) * 2, (6, 6)).apply((6,))
    (6, 6)
    """

    #: the coordinate along each new axis as an affine expression over ``d0, d1, …``.
    forms: tuple[AffineExpr, ...]
    sizes: Shape  #: the size of each new axis.
    name: ClassVar[str] = "scatter"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step."""
        axes = {f"d{k}" for k in range(len(shape))}
        used = {var.name for form in self.forms for var in form.variables()}
        _require(axes >= used and len(self.forms) == len(self.sizes), self, shape)
        return self.sizes

    def __str__(self) -> str:
        forms = ", ".join(map(str, self.forms))
        one = len(self.forms) == 1
        return f"{self.name} {forms if one else f'({forms})'} in {brackets(self.sizes)}"


@frozen
class Xor:
    """Change the bits of one axis by those of another: ``target ^= (source >> shift) mod 2^k``.

    This is the swizzle of shared memory. The target has 2^k values, so each row of the source is a
    permutation of them, whatever the size of the source: the step is its own inverse, and moves
    elements and padding within their axes only.

    >>> Xor(target=1, source=0).apply((6, 4))
    (6, 4)
    >>> [Xor(1, 0).new_target((i, 3), (6, 4)) for i in range(6)]
    [3, 2, 1, 0, 3, 2]
    """

    target: int  #: the axis whose coordinates change; its size is 2^k.
    source: int  #: another axis, of any size.
    shift: int = 0  #: the bits of the source's coordinate that are passed over.
    name: ClassVar[str] = "xor"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step, which is the one before it."""
        axes = range(len(shape))
        fits = self.target in axes and self.source in axes and self.target != self.source
        size = shape[self.target] if fits else 0
        if not fits or self.shift < 0 or not isinstance(size, int) or size.bit_count() != 1:
            raise ShapeError(
                f"{self} does not fit the shape {brackets(shape)}",
                "an xor changes an axis of 2^k values by another one, shifted by 0 bits or more",
                "split an axis of a power of two off before it, and name two different axes",
            )
        return shape

    def new_target(self, at: Sequence[Any], shape: Shape) -> Any:
        """Return the coordinate along the target after the step, of coordinates of any kind."""
        bits, size = at[self.source], shape[self.target]
        room = size << self.shift if isinstance(size, int) else size
        if not is_nonnegative(room - shape[self.source]):
            bits = bits % room
        return at[self.target] ^ (bits // (1 << self.shift) if self.shift else bits)

    def __str__(self) -> str:
        shifted = f"axis {self.source}"
        if self.shift:
            shifted = f"({shifted} >> {self.shift})"
        return f"xor axis {self.target} with {shifted}"


@frozen
class Renumber:
    """Give the places along one axis other numbers: place k becomes place ``numbers[k]``.

    >>> Renumber(1, (2, 0, 1)).apply((6, 3)), [Renumber(1, (2, 0, 1)).value(k) for k in range(3)]
    ((6, 3), [2, 0, 1])
    """

    axis: int  #: the axis.
    numbers: tuple[int, ...]  #: for each of its places the new number, a permutation.
    name: ClassVar[str] = "renumber"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step, which is the one before it."""
        size = shape[self.axis] if self.axis in range(len(shape)) else None
        _require(size == len(self.numbers), self, shape)
        _require(sorted(self.numbers) == list(range(len(self.numbers))), self, shape)
        return shape

    @property
    def inverse(self) -> Renumber:
        """The step that takes each place back."""
        places = range(len(self.numbers))
        return Renumber(self.axis, tuple(sorted(places, key=self.numbers.__getitem__)))

    def value(self, place: Any) -> Any:
        """Return the new number of a place, of any kind of coordinate.

        >>> from morello_layouts.core.expr import canonicalize, variable
        >>> print(canonicalize(Renumber(0, (2, 3, 0, 1)).value(variable("d0", 0, 3))))
        (d0 + 2)%4
        """
        return renumbered(self.numbers, place)

    def __str__(self) -> str:
        shown = ",".join(map(str, self.numbers[:16])) + (",…" if len(self.numbers) > 16 else "")
        return f"renumber axis {self.axis} as {shown}"


@frozen
class Replicate:
    """Append axes that no coordinate fixes: each element is at every place along them.

    Its *holders* are these places; the first one is at 0 along each new axis.

    >>> Replicate((2,)).apply((3, 4))
    (3, 4, 2)
    """

    sizes: Shape  #: the size of each new axis.
    name: ClassVar[str] = "replicate"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step."""
        _require(all(is_nonnegative(n - 1) for n in self.sizes), self, shape)
        return (*shape, *self.sizes)


@frozen
class Window:
    """Put the elements of each axis at regular places of a longer one: a slice, seen from inside.

    Element x of axis k goes to ``starts[k] + strides[k] * x``. The places between are padding.

    >>> Window((8,), (6,), (-2,)).apply((3,))
    (8,)
    """

    sizes: Shape  #: the size of each axis after the step, in elements.
    starts: Shape  #: the place of the first element along each axis.
    #: the places from one element to the next; if negative, the axis runs backwards.
    strides: Shape
    name: ClassVar[str] = "window"

    def apply(self, shape: Shape) -> Shape:
        """Return the shape after the step."""
        ranks = {len(shape), len(self.sizes), len(self.starts), len(self.strides)}
        _require(len(ranks) == 1, self, shape)
        for n, m, start, stride in zip(shape, *self._parts, strict=True):
            last = start + stride * (n - 1)
            _require(is_nonnegative(stride - 1) or is_nonnegative(-1 - stride), self, shape)
            outside = (-1 - start, start - m, -1 - last, last - m)
            _require(n == 0 or not any(map(is_nonnegative, outside)), self, shape)
        return self.sizes

    @property
    def _parts(self) -> tuple[Shape, Shape, Shape]:
        return self.sizes, self.starts, self.strides

    def requires(self, shape: Shape) -> Iterator[tuple[Int, Int]]:
        """Yield pairs (n, m) with n >= m if every element of the shape has its place."""
        for n, m, start, stride in zip(shape, *self._parts, strict=True):
            if n != 0:
                ends = start, start + stride * (n - 1)
                least, most = ends if is_nonnegative(stride) else ends[::-1]
                yield least, 0
                yield m, most + 1

    def outer(self, at: Sequence[Any]) -> list[Any]:
        """Return the coordinate along the longer axes, of coordinates of any kind."""
        axes = zip(at, self.starts, self.strides, strict=False)  # apply compares their numbers
        return [x if (a, b) == (0, 1) else x * b + a for x, a, b in axes]

    def inner(self, at: Sequence[Any], shape: Shape) -> tuple[list[Any], list[tuple[Any, Int]]]:
        """Return the coordinate of the element at a place, and the conditions for one there.

        Args:
            at: the coordinate along the longer axes, of any kind.
            shape: the shape before the step.

        Returns:
            The coordinate, and pairs (x, n) such that an element lies there if every x < n.
        """
        found: list[Any] = []
        limits: list[tuple[Any, Int]] = []
        for y, n, m, start, stride in zip(at, shape, *self._parts, strict=True):
            forward = is_nonnegative(stride)
            sign = 1 if forward else -1
            step, over, room = stride * sign, start * -sign, m - start if forward else start + 1
            gone = y if (sign, over) == (1, 0) else y * sign + over  # since the first place
            if not is_nonnegative((n - 1) * step + 1 - room):
                limits.append((gone, (n - 1) * step + 1))
            if not is_nonnegative(over if forward else 1 - m - over):
                limits.append((gone * -1, 1))
            if step != 1:
                limits.append((gone % step, 1))
            found.append(gone if step == 1 else gone // step)
        return found, limits

    def with_axes(self, before: Shape, after: Shape) -> Window:
        """Return the step with more axes at both ends, which stay as they are."""
        idle = (before, after), ((0,) * len(before), (0,) * len(after))
        ones = (1,) * len(before), (1,) * len(after)
        parts = zip(self._parts, (*idle, ones), strict=True)
        return Window(*((*left, *own, *right) for own, (left, right) in parts))

    def slices(self, shape: Sequence[int]) -> tuple[slice, ...]:
        """Return the places of the elements as slices of an array; sizes must be numbers."""
        starts, strides = known(self.starts), known(self.strides)
        parts = zip(shape, starts, strides, strict=True)
        ends = [(a, a + b * n, b) if n else (0, 0, 1) for n, a, b in parts]
        return tuple(slice(a, None if end < 0 else end, b) for a, end, b in ends)

    def __str__(self) -> str:
        at = self.outer([variable(f"d{k}") for k in range(len(self.sizes))])
        return f"{self.name} ({', '.join(map(str, at))}) in {brackets(self.sizes)}"


Step: TypeAlias = Pad | Split | Transpose | Merge | Scatter | Xor | Renumber | Replicate | Window


def brackets(shape: Sequence[Int]) -> str:
    """Return sizes in brackets, as in ``[6,8]``."""
    return f"[{','.join(map(str, shape))}]"


def _require(fits: bool, step: Step, shape: Shape) -> None:
    if not fits:
        raise ShapeError(
            f"{step} does not fit the shape {brackets(shape)}",
            "each step must fit the shape that the step before it leaves",
            "pad an axis to a multiple before splitting it, and name every axis once",
        )


@frozen(slots=False)
class Recipe(Displayed):
    """A layout at a shape: steps over axes, then row-major order of the resulting axes.

    >>> from morello_layouts.core.recipe.steps import Transpose
    >>> print(Recipe((3, 5), (Pad((4, 6)), Split((2, 2)), Transpose((0, 2, 1, 3)))))
    [3,5] → pad [4,6] → split [2,2,3,2] → transpose [2,3,2,2]
    """

    shape: Shape  #: logical sizes.
    steps: tuple[Step, ...] = ()  #: the steps in order.
    #: elements of padding at the end of the buffer, after those of the axes. If it is negative, the
    #: buffer ends so many slots before the end of the axes: a view of columns ends at its last
    #: element, not at the end of the last row.
    tail_padding: Int = 0
    offset: Int = 0  #: elements of padding at the start of the buffer, before those of the axes.
    #: a different name for each physical axis, such as ``lane`` and ``register``; none for memory,
    #: whose axes have no names.
    axis_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.shapes  # raises if a step does not fit  # noqa: B018
        self._require_names()
        room: Int = 0
        if not is_nonnegative(self.tail_padding) and not any(map(_loses_places, self.steps)):
            room = prod(self.physical_shape) + self.tail_padding - prod(self.shape) * self.replicas
        for name, number in (("offset", self.offset), ("room", room)):
            if is_nonnegative(-1 - number):
                raise ShapeError(
                    f"{name} of a buffer of {self.size} elements: expected 0 or more, got {number}",
                    "a buffer begins at 0, and a negative tail padding cuts off padding only",
                    "give an offset of 0 or more, and a tail padding that leaves the elements",
                )

    def _require_names(self) -> None:
        names, axes = self.axis_names, len(self.physical_shape)
        if names and (len(names) != axes or len(set(names)) < axes):
            raise ShapeError(
                f"names of axes: expected {axes} different names, got {', '.join(names)}",
                "each physical axis has one name, or none has",
                "give a name for each axis after the last step, or merge axes of one name before",
            )

    @cached_property
    def replica_sizes(self) -> Shape:
        """The sizes of all axes that no coordinate fixes, in the order of the steps."""
        return tuple(n for s in self.steps if isinstance(s, Replicate) for n in s.sizes)

    @cached_property
    def replicas(self) -> Int:
        """The number of places that hold each element."""
        return prod(self.replica_sizes)

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The logical shape, and the shape after each step."""
        shapes = [self.shape]
        for step in self.steps:
            shapes.append(step.apply(shapes[-1]))
        return tuple(shapes)

    @property
    def physical_shape(self) -> Shape:
        """The sizes of the axes in memory, most major first."""
        return self.shapes[-1]

    @cached_property
    def size(self) -> Int:
        """The number of elements that the buffer spans, padding included."""
        return self.offset + prod(self.physical_shape) + self.tail_padding

    @cached_property
    def numbers(self) -> tuple[Int, ...]:
        """Every size, start and stride along the steps, and the padding at both ends."""
        within = (n for s in self.steps if isinstance(s, Window) for n in s.starts + s.strides)
        sizes = (n for shape in self.shapes for n in shape)
        return (*sizes, *within, self.tail_padding, self.offset)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in its symbolic sizes, sorted."""
        found = {*names_in(self.numbers)}
        forms = (form for s in self.steps if isinstance(s, Scatter) for form in s.forms)
        return tuple(sorted(found.union(*(form.sizes() for form in forms))))

    @cached_property
    def requires(self) -> tuple[tuple[Int, Int], ...]:
        """Pairs (n, m) of sizes for which n >= m is taken for granted.

        A symbolic pitch has room for a row: otherwise rows would overlap. A slice lies inside of
        its array.

        >>> rows, columns, pitch = map(SizeExpr.named, ("M", "N", "LD"))
        >>> Recipe((rows, columns), (Pad((rows, pitch)),)).requires
        ((SizeExpr(LD), SizeExpr(N)),)
        """
        pairs: list[tuple[Int, Int]] = []
        for step, before, after in zip(self.steps, self.shapes, self.shapes[1:], strict=False):
            if isinstance(step, Pad) and not step.cut:
                pairs += zip(after, before, strict=True)
            elif isinstance(step, Window):
                pairs += step.requires(before)
        open_pairs = ((n, m) for n, m in pairs if not is_nonnegative(n - m) and n != m)
        return tuple(dict.fromkeys(open_pairs))

    @cached_property
    def has_tail(self) -> bool:
        """Whether there may be slots after the end of the axes, given what is required."""
        cut = -self.tail_padding
        factors = {1, *(abs(c) for _, c in cut.terms)} if isinstance(cut, SizeExpr) else ()
        proved = (cut, *(cut - (n - m) * factor for n, m in self.requires for factor in factors))
        return not any(map(is_nonnegative, proved))

    def map_sizes(self, change: Callable[[Int], Int]) -> Recipe:
        """Return the recipe with every size changed.

        Raises:
            ShapeError: if a pitch has certainly no room for what it must hold.

        >>> tiled = Recipe((SizeExpr.named("N"),), (Pad((8 * SizeExpr.named("N"),)), Split((4,))))
        >>> print(tiled.map_sizes(lambda n: n if isinstance(n, int) else n.evaluate({"N": 3})))
        [3] → pad [24] → split [6,4]
        """

        def changed(step: Step) -> Step:
            match step:
                case Pad(sizes, cut):
                    return Pad(tuple(map(change, sizes)), cut)
                case Split(tiles):
                    return Split(tuple(t if t is None else change(t) for t in tiles))
                case Scatter(forms, sizes):
                    own = tuple(map_ints(form, change) for form in forms)
                    return Scatter(own, tuple(map(change, sizes)))
                case Window():
                    return Window(*(tuple(map(change, each)) for each in step._parts))
                case Replicate(sizes):
                    return Replicate(tuple(map(change, sizes)))
            return step

        for pair in self.requires:
            n, m = map(change, pair)
            if is_nonnegative(m - n - 1):
                raise ShapeError(
                    f"sizes: expected {pair[0]} >= {pair[1]}, got {n} and {m}",
                    "a view lies in its array, and a row ends before the next one begins",
                    f"give at least {m} for {pair[0]}",
                )
        shape, steps = tuple(map(change, self.shape)), tuple(map(changed, self.steps))
        tail, offset = change(self.tail_padding), change(self.offset)
        return Recipe(shape, steps, tail, offset, self.axis_names)

    def at(self, values: Mapping[str, int]) -> Recipe:
        """Return the recipe with numbers in place of its symbolic sizes; as :meth:`map_sizes`."""
        return self.map_sizes(cache(partial(evaluated, values=values)))

    def __str__(self) -> str:
        parts = [brackets(self.shape)]
        for step, shape in zip(self.steps, self.shapes[1:], strict=True):
            says_all = isinstance(step, Scatter | Xor | Renumber | Window)
            parts.append(str(step) if says_all else f"{step.name} {brackets(shape)}")
        if self.axis_names:
            parts[-1] += f" ({', '.join(self.axis_names)})"
        if self.offset:
            parts.append(f"start at {self.offset}")
        if self.tail_padding:
            how = "cut" if is_nonnegative(-self.tail_padding) else "tail pad"
            parts.append(f"{how} to {self.size} elements")
        return " → ".join(parts)


def _loses_places(step: Step) -> bool:
    """Whether there may be fewer places after a step than before."""
    return isinstance(step, Scatter) or (isinstance(step, Pad) and step.cut)
