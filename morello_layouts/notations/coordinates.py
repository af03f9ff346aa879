"""Layouts that say where each element lies: by coordinates of a row-major box, or by blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache, partial
from math import gcd, prod
from typing import Final, TypeAlias

from morello_layouts.core.checks import require_rank
from morello_layouts.core.description import (
    Description,
    Part,
    axes_in_words,
    dimensions,
    memory_axes,
    sizes_in,
)
from morello_layouts.core.expr import (
    AffineExpr,
    Call,
    Interval,
    Var,
    canonicalize,
    coordinate_variables,
    standard,
)
from morello_layouts.core.expr.assumptions import apply_divisibility
from morello_layouts.core.expr.bounds import range_of_xor
from morello_layouts.core.expr.sizes import Int, ceil_quotient, evaluated, is_nonnegative, round_up
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.recipe import DimDigit, Recipe, recipe_of_axes
from morello_layouts.core.recipe.readings import linear_index
from morello_layouts.core.recipe.recognize import recipe_of_formula
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.notations.documents import by_formulas


class CoordinateLayout(Layout):
    """A layout that puts each element at a coordinate of a row-major box."""

    __slots__ = ()

    kind = "index map"
    """The kind of the layout, in words."""

    @abstractmethod
    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        """Return the coordinate in the box, one expression for each of its dimensions."""

    def names(self, rank: int) -> tuple[str, ...]:
        """Return the names of the array's dimensions; rank is 0 if no sizes are known.

        A notation whose arrays have one rank returns that many names even then.
        """
        return standard(rank)

    def texts(self, rank: int) -> tuple[str, ...]:
        """Return the text of each coordinate in the box; none if a text has no such parts."""
        return ()

    @property
    def headline(self) -> str:
        """The layout in a few words."""
        return ""

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """Return the sizes of the box.

        A remainder counts with all its values, also those that no element has: ``c % 16`` is 16
        places, where an array of 3 channels fills 3. So does TVM's ``map_shape`` where results are
        digits that nest, as in tilings. Of other maps it takes plain bounds, or rounds a size up,
        and the box may differ.
        """
        return _box(self, tuple(shape))

    def extents(
        self, forms: Sequence[AffineExpr], shape: Sequence[Int], *, whole_steps: bool
    ) -> tuple[Int, ...]:
        """Return the sizes of a box for coordinates in it.

        Args:
            forms: the coordinates over ``d0, d1, …``.
            shape: the sizes of the array.
            whole_steps: whether coordinates that are all multiples of a number take up its
                multiples, as mostly in TVM; in MLIR a dimension ends at the largest coordinate.
        """
        bounds = {f"d{k}": Interval(0, n - 1) for k, n in enumerate(shape)}
        values = dict(zip(bounds, coordinate_variables(shape), strict=True))
        return tuple(
            _extent(substitute(form, values), bounds, f"{self}: result {k}", whole_steps)
            for k, form in enumerate(forms)
        )

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the layout at a shape as steps, found in its formula."""
        form = self.reference(coordinate_variables(shape), shape)
        return recipe_of_formula(tuple(shape), form, prod(self.box(shape)))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the row-major position in the box."""
        zero = AffineExpr((), 0)
        return zero + linear_index(self.results(coordinates, shape), self.box(shape), zero)


@lru_cache(maxsize=64)
def _box(layout: CoordinateLayout, shape: tuple[Int, ...]) -> tuple[Int, ...]:
    """Return the sizes of the box that a layout's results need; recipe and reference ask for it."""
    results = layout.results(coordinate_variables(shape), shape)
    return layout.extents(results, shape, whole_steps=True)


def _extent(form: AffineExpr, bounds: Mapping[str, Interval], what: str, whole_steps: bool) -> Int:
    """Return the size of the dimension of a box that a form gives the coordinate of."""
    least, largest = canonicalize(form).interval.lo, _intended(form, bounds).hi
    if least is None or largest is None:
        raise UnsupportedError(
            f"{what} = {form} has no known bounds",
            "the sizes of the box are the bounds of the coordinates in it",
            "give sizes that are numbers",
        )
    if not is_nonnegative(least):
        raise ShapeError(
            f"{what} = {form} may be {least}",
            "coordinates count from 0",
            "add a constant, so that the smallest value is 0",
        )
    if isinstance(largest, int) and largest < 0:
        return 0  # the array has no elements
    if not whole_steps:
        return largest + 1
    steps = [c for _, c in form.terms if isinstance(c, int)]
    step = gcd(*steps) if len(steps) == len(form.terms) and form.const == 0 else 1
    return round_up(largest + 1, step or 1)


def _intended(form: AffineExpr, bounds: Mapping[str, Interval]) -> Interval:
    """Return the interval of a form if every remainder takes all its values."""
    total = Interval(form.const, form.const)
    for atom, c in form.terms:
        if isinstance(atom, Var):
            found = bounds[atom.name]
        elif isinstance(atom, Call):  # layouts have no other operation than ^
            found = range_of_xor([_intended(part, bounds) for part in atom.parts])
        elif atom.modulus is not None:
            found = Interval(0, atom.modulus - 1)
        else:
            found = _intended(atom.operand, bounds).floordiv(atom.divisor)
        total = total + found.scale(c)
    return total


@frozen
class FormulaLayout(CoordinateLayout):
    """A layout given by formulas: ``lambda i, j: (i//8, j, i%8)``."""

    parameters: tuple[str, ...]  #: the names of the array's dimensions.
    forms: tuple[AffineExpr, ...]  #: the coordinate in the box, as forms over these names.
    text: str = ""  #: the text of the layout if it is not these formulas.
    #: what kind of layout the text is.
    title: str = field(default="TVM index map", compare=False)
    words: str = field(default="", compare=False)  #: the layout in a few words.
    #: the text of each coordinate in the box, if it is not its formula.
    parts: tuple[str, ...] = field(default=(), compare=False)

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        require_rank(shape, len(self.parameters), str(self))
        values = dict(zip(self.parameters, coordinates, strict=True))
        return tuple(substitute(form, values) for form in self.forms)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        at, sizes = (dict(zip(self.parameters, x, strict=True)) for x in (coordinate, shape))
        return by_formulas(self.forms, at, sizes)

    def with_numbers(self, values: Mapping[str, int], /) -> FormulaLayout:
        at_values = partial(evaluated, values=values)
        return replace(self, forms=tuple(map_ints(form, at_values) for form in self.forms))

    def names(self, rank: int) -> tuple[str, ...]:
        return self.parameters

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.title

    @property
    def headline(self) -> str:
        return self.words or f"{', '.join(self.parameters)} at ({', '.join(map(str, self.forms))})"

    def texts(self, rank: int) -> tuple[str, ...]:
        return self.parts or tuple(map(str, self.forms))

    def __str__(self) -> str:
        if self.text:
            return self.text
        forms = ", ".join(map(str, self.forms))
        one = "," if len(self.forms) == 1 else ""
        return f"lambda {', '.join(self.parameters)}: ({forms}{one})"


@frozen
class OffsetLayout(FormulaLayout):
    """A layout given by the formula of its offset; the buffer ends at the largest offset."""

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        (size,) = CoordinateLayout.box(self, shape)  # raises if an offset may be negative
        largest = canonicalize(self.reference(coordinate_variables(shape), shape)).interval.hi
        return (0,) if 0 in shape else (size if largest is None else largest + 1,)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        return self.results(coordinates, shape)[0]

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> None:
        """Return None: the formula of a user has no document."""

    @property
    def headline(self) -> str:
        return f"the offset is {self.forms[0]}"

    def __str__(self) -> str:
        return f"lambda {', '.join(self.parameters)}: {self.forms[0]}"


def describe(layout: CoordinateLayout, sizes: Sequence[int] | None = None) -> Description:
    """Say what each coordinate in the box means."""
    names = layout.names(0 if sizes is None else len(sizes))
    dims = dimensions((None,) * len(names) if sizes is None else sizes, names=names)
    shape = sizes_in(dims) if sizes is None else tuple(sizes)
    shape = tuple(apply_divisibility(layout.assumptions(shape), n) for n in shape)
    try:
        recipe = layout.recipe(shape)
        axes = memory_axes(recipe, dims)
    except LayoutError:
        if sizes is not None:
            raise
        parts = tuple(Part(text, "") for text in layout.texts(len(shape)))
        return Description(str(layout), layout.kind, layout.headline, dims, parts)
    # If the recipe ends in the box itself, its axes are the coordinates in it.
    texts = layout.texts(len(shape)) if recipe.physical_shape == layout.box(shape) else ()
    parts = tuple(map(Part, texts or [axis.label for axis in axes], axes_in_words(axes, dims)))
    return Description(str(layout), layout.kind, layout.headline, dims, parts, axes)


Blocks: TypeAlias = Sequence[tuple[int, Int]]
"""Pairs (logical dimension, size), outermost first."""


def blocks_of(dim: int, blocks: Blocks) -> list[Int]:
    """Return the sizes of a dimension's blocks, the innermost first."""
    return [size for each, size in reversed(blocks) if each == dim]


def padded_dims(shape: Sequence[Int], blocks: Blocks) -> tuple[Int, ...]:
    """Return the sizes rounded up to the product of each dimension's blocks."""
    return tuple(round_up(n, prod(blocks_of(dim, blocks))) for dim, n in enumerate(shape))


def blocked_recipe(shape: Sequence[Int], order: Sequence[int], blocks: Blocks) -> Recipe:
    """Return the steps: pad, split off the blocks from the innermost on, transpose.

    >>> print(blocked_recipe((2, 20, 3), (0, 1, 2), [(1, 16)]))
    [2,20,3] → pad [2,32,3] → split [2,2,16,3] → transpose [2,2,3,16]
    """
    axes: list[list[DimDigit]] = []
    units: dict[int, Int] = dict.fromkeys(order, 1)
    for dim, size in blocks[::-1]:
        axes.insert(0, [DimDigit(dim, units[dim], size)])
        units[dim] *= size
    rest = [[DimDigit(dim, units[dim], ceil_quotient(shape[dim], units[dim]))] for dim in order]
    return recipe_of_axes(shape, [*rest, *axes])


ALPHABET: Final = "abcdefghijkl"
"""Letters of the dimensions of any array, in their order."""

ORDERS: Final = (
    *("x", "nc", "ncw", "nchw", "ncdhw"),
    *("oi", "oiw", "oihw", "oidhw", "goiw", "goihw", "goidhw"),
    *("tn", "tnc", "ldnc", "ldio", "ldgo", "ldigo"),
)
"""Letters of activations, weights and states, in the order of the dimensions."""

NAMES: Final = {
    "n": "batch", "c": "channels", "d": "depth", "h": "height", "w": "width",
    "g": "groups", "o": "output channels", "i": "input channels", "t": "time", "l": "layers",
}  # fmt: skip
"""What each letter of these means."""


def logical_order(letters: str) -> str:
    """Return letters in the order of the array's dimensions; unknown ones keep theirs.

    >>> logical_order("nhwc"), logical_order("hwio"), logical_order("ba"), logical_order("mk")
    ('nchw', 'oihw', 'ab', 'mk')
    """
    known = (ALPHABET[: len(letters)], *ORDERS)
    return next((order for order in known if sorted(order) == sorted(letters)), letters)
