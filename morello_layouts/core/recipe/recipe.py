"""Recipes: steps that lead from the axes of an array to those of its buffer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from math import prod

from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.expr.substitution import map_ints
from morello_layouts.core.fields import frozen
from morello_layouts.core.plain import Displayed
from morello_layouts.core.recipe.steps import (
    Pad,
    Renumber,
    Replicate,
    Scatter,
    Shape,
    Split,
    Step,
    Window,
    Xor,
    brackets,
)
from morello_layouts.errors import ShapeError


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
        found = {name for n in self.numbers if isinstance(n, SizeExpr) for name in n.names()}
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
        """Whether there may be slots behind the end of the axes, given what is required."""
        cut = -self.tail_padding
        factors = {1, *(abs(c) for _, c in cut.terms)} if isinstance(cut, SizeExpr) else ()
        proved = (cut, *(cut - (n - m) * factor for n, m in self.requires for factor in factors))
        return not any(map(is_nonnegative, proved))

    def map_sizes(self, change: Callable[[Int], Int]) -> Recipe:
        """Return the recipe with every size changed.

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

        shape, steps = tuple(map(change, self.shape)), tuple(map(changed, self.steps))
        tail, offset = change(self.tail_padding), change(self.offset)
        return Recipe(shape, steps, tail, offset, self.axis_names)

    def at(self, values: Mapping[str, int]) -> Recipe:
        """Return the recipe with numbers in place of its symbolic sizes.

        Raises:
            ShapeError: if a pitch has no room for what it must hold.
        """
        for pair in self.requires:
            n, m = (x if isinstance(x, int) else x.evaluate(values) for x in pair)
            if n < m:
                raise ShapeError(
                    f"sizes: expected {pair[0]} >= {pair[1]}, got {n} and {m}",
                    "a view lies in its array, and a row ends before the next one begins",
                    f"give at least {m} for {pair[0]}",
                )
        return self.map_sizes(lambda n: n if isinstance(n, int) else n.evaluate(values))

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
