"""Layouts that are linear over F2, between their bases and their recipes; matrices over F2.

Triton calls such a layout a linear layout. Each bit of a place, such as a bit of the lane's number,
has a *basis*: the coordinate of the element there if only this bit is set. The element at any place
is at the exclusive or of the bases of the place's bits. A basis of zero, or one that others make
up, replicates: several places hold one element.

A matrix over F2 is the sequence of its columns, integers: bit i of column j is the entry in row i.
It takes a vector, an integer too, to the exclusive or of the columns that the vector's bits choose.

Source: Zhou et al., "Linear Layouts", arXiv 2505.23819.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from math import prod
from typing import Final, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.recipe.digits import splits_into
from morello_layouts.core.recipe.readings import delinearize, linear_index, logical_coordinates
from morello_layouts.core.recipe.steps import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Scatter,
    Step,
    Transpose,
    Window,
    Xor,
)
from morello_layouts.errors import ShapeError


def bits_of(vector: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, the lowest first.

    >>> list(bits_of(0b1010))
    [1, 3]
    """
    while vector:
        lowest = vector & -vector
        yield lowest.bit_length() - 1
        vector ^= lowest


def apply(columns: Sequence[int], vector: int) -> int:
    """Return the matrix times a vector.

    >>> apply((0b01, 0b11), 0b11)
    2
    """
    total = 0
    for bit in bits_of(vector):
        total ^= columns[bit]
    return total


def compose(outer: Sequence[int], inner: Sequence[int]) -> tuple[int, ...]:
    """Return the product of two matrices: the inner one acts first.

    >>> compose((0b10, 0b01), (0b01, 0b11))
    (2, 3)
    """
    return tuple(apply(outer, column) for column in inner)


def transposed(columns: Sequence[int], rows: int) -> tuple[int, ...]:
    """Return the ``rows`` rows of a matrix: the columns of its transpose.

    >>> transposed((0b01, 0b11), 2)
    (3, 2)
    """
    return tuple(
        sum((column >> row & 1) << k for k, column in enumerate(columns)) for row in range(rows)
    )


class Span:
    """The vectors that are sums of given ones.

    >>> plane = Span([0b011, 0b110, 0b101])    # the third is the sum of the others
    >>> plane.rank, 0b101 in plane, 0b001 in plane, plane.relations
    (2, True, False, (7,))
    """

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._basis: list[tuple[int, int]] = []
        self._count = 0
        self.relations: tuple[int, ...] = ()
        """Sums of given vectors that are zero: bit k of a relation stands for vector k."""
        for vector in vectors:
            self.add(vector)

    @property
    def rank(self) -> int:
        """The number of independent vectors."""
        return len(self._basis)

    @property
    def basis(self) -> tuple[int, ...]:
        """Independent vectors of the same span, the highest first."""
        return tuple(member for member, _ in self._basis)

    def add(self, vector: int) -> bool:
        """Add a vector; return whether the span grows."""
        rest, used = self.reduced(vector)
        used ^= 1 << self._count
        self._count += 1
        if rest:
            self._basis.append((rest, used))
            self._basis.sort(reverse=True)
        else:
            self.relations += (used,)
        return bool(rest)

    def reduced(self, vector: int) -> tuple[int, int]:
        """Return the least vector that differs by one of the span, and the sum that differs.

        The sum is a number whose bit k stands for the k-th vector given. The least vector is the
        same for all that differ by a vector of the span: it names their class in the quotient.
        """
        used = 0
        for member, sources in self._basis:
            if vector ^ member < vector:
                vector ^= member
                used ^= sources
        return vector, used

    def __contains__(self, vector: int) -> bool:
        return self.reduced(vector)[0] == 0


def rank(vectors: Iterable[int]) -> int:
    """Return how many of the vectors are independent.

    >>> rank((0b011, 0b110, 0b101))
    2
    """
    return Span(vectors).rank


def kernel(columns: Iterable[int]) -> tuple[int, ...]:
    """Return independent vectors that the matrix takes to zero, and that sum to all such vectors.

    >>> kernel((0b01, 0b01, 0b10))
    (3,)
    """
    return Span(columns).relations


def inverse(columns: Sequence[int]) -> tuple[int, ...] | None:
    """Return the inverse of a square matrix; None if it has none.

    >>> inverse((0b01, 0b11))
    (1, 3)
    """
    span = Span(columns)
    if span.rank < len(columns) or max(columns, default=0) >> len(columns):
        return None
    return tuple(span.reduced(1 << k)[1] for k in range(len(columns)))


def plu(columns: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Return ``(order, lower, upper)`` of an invertible matrix; None if it has no inverse.

    The matrix is ``upper``, then ``lower``, then a reordering that puts bit k at ``order[k]``.
    Both triangles have ones on the diagonal, so each entry beside it is one exclusive or of bits:
    ``upper`` adds higher bits to lower ones, and ``lower`` lower bits to higher ones.

    >>> plu((0b10, 0b01))    # the matrix swaps two bits
    ((1, 0), (1, 2), (1, 2))
    """
    size = len(columns)
    if max(columns, default=0) >> size:
        return None
    rows = list(transposed(columns, size))
    order = list(range(size))
    below = [0] * size
    for k in range(size):
        pivots = [i for i in range(k, size) if rows[i] >> k & 1]
        if not pivots:
            return None
        pivot = min(pivots, key=lambda i: rows[i].bit_count())  # a lighter row gives fewer sums
        for values in (rows, order, below):
            values[k], values[pivot] = values[pivot], values[k]
        for i in range(k + 1, size):
            if rows[i] >> k & 1:
                rows[i] ^= rows[k]
                below[i] |= 1 << k
    lower = transposed([row | 1 << i for i, row in enumerate(below)], size)
    return tuple(order), lower, transposed(rows, size)


MEMORY: Final = "offset"
"""The name of the axis of plain memory in bases; the axes of its recipe have no names."""

Bases: TypeAlias = Mapping[str, Sequence[Sequence[int]]]
"""For each named axis, the most major first, the bases of its bits, the lowest bit first."""


def recipe_of_bases(shape: Sequence[int], bases: Bases) -> Recipe:
    """Return the recipe of a layout that is given by its bases.

    An element's first holder is the one of the lowest offset.

    Args:
        shape: sizes in elements, all of them powers of two.
        bases: for each named axis the bases of its bits; the axes are in row-major order.

    Raises:
        ShapeError: if a size is not a power of two, a basis is not a coordinate, or elements have
            no place.

    >>> print(recipe_of_bases((2, 4), {"offset": [(0, 1), (0, 2), (1, 1)]}))    # a swizzle
    [2,4] → split [2,2,2] → xor axis 2 with axis 0
    >>> print(recipe_of_bases((4,), {"lane": [(1,), (0,)], "register": [(2,)]}))
    [4] → split [2,2] → replicate [2,2,2] → transpose [2,2,2] → merge [4,2] (lane, register)
    """
    columns = [linear_index(each, shape, 0) for each in _checked(shape, bases)]
    replicas = _reduced(Span(kernel(columns)))
    return _Linear(tuple(shape), places_of_bases(shape, bases), replicas, bases).recipe()


def places_of_bases(shape: Sequence[int], bases: Bases) -> tuple[int, ...]:
    """Return the lowest offset of the element at each bit of a row-major number, the lowest first.

    The lowest offset of any element is the exclusive or of those of its bits.

    >>> places_of_bases((4,), {"lane": [(1,), (0,)], "register": [(2,)]})
    (2, 1)
    """
    columns = [linear_index(each, shape, 0) for each in _checked(shape, bases)]
    zeros, span = Span(kernel(columns)), Span(columns)
    return tuple(zeros.reduced(span.reduced(1 << k)[1])[0] for k in range(_bits(prod(shape))))


def bases_of_recipe(recipe: Recipe) -> dict[str, tuple[tuple[int, ...], ...]] | None:
    """Return the bases of a layout; None if it is not linear over F2, or has padding.

    >>> from morello_layouts.core.recipe import Split, Xor
    >>> bases_of_recipe(Recipe((2, 4), (Split((None, 2)), Xor(2, 0))))
    {'offset': ((0, 1), (0, 2), (1, 1))}
    >>> bases_of_recipe(Recipe((2, 3)))
    """
    if not _is_linear(recipe):
        return None
    sizes = [n for n in recipe.physical_shape if isinstance(n, int)]
    names = recipe.axis_names or (MEMORY,)
    found, bit = {}, prod(sizes)
    for name, size in zip(names, sizes if recipe.axis_names else [bit], strict=True):
        bit //= size
        places = (delinearize(bit << k, tuple(sizes)) for k in range(_bits(size)))
        found[name] = tuple(logical_coordinates(recipe, place)[0] for place in places)
    return found


def _is_linear(recipe: Recipe) -> bool:
    """Whether each step permutes bits or adds some to others."""
    powers = all(isinstance(n, int) and n.bit_count() == 1 for s in recipe.shapes for n in s)
    kept = all(
        not isinstance(step, Renumber | Scatter | Window)
        and (not isinstance(step, Pad) or step.sizes == shape)
        for step, shape in zip(recipe.steps, recipe.shapes, strict=False)
    )
    return powers and kept and recipe.offset == 0 == recipe.tail_padding


def _bits(size: int) -> int:
    """The number of bits of a coordinate along an axis of 2^k values."""
    return size.bit_length() - 1


def _checked(shape: Sequence[int], bases: Bases) -> list[Sequence[int]]:
    """Return all bases, of the lowest bit of an offset first."""
    for k, n in enumerate(shape):
        if not isinstance(n, int) or n.bit_count() != 1:
            raise ShapeError(
                f"size of dimension {k}: expected a power of two, got {n}",
                "bits of a place choose bits of a coordinate, so every size is a power of two",
                f"pad the dimension to {1 << (n - 1).bit_length()}" if isinstance(n, int) else "",
            )
    every = [basis for name in reversed([*bases]) for basis in bases[name]]
    for basis in every:
        if len(basis) != len(shape) or not all(
            0 <= x < n for x, n in zip(basis, shape, strict=True)
        ):
            raise ShapeError(
                f"basis: expected a coordinate in {tuple(shape)}, got {tuple(basis)}",
                "a basis is the coordinate of the element at one bit",
                "give one number for each dimension, each below its size",
            )
    reached = Span(linear_index(each, shape, 0) for each in every)
    for k in range(_bits(prod(shape))):
        if 1 << k not in reached:
            at = delinearize(1 << k, tuple(shape))
            raise ShapeError(
                f"the element at {at} has no place",
                "the bases' exclusive ors are the coordinates of all elements that have one",
                "give more bases, or a smaller shape",
            )
    return every


def _reduced(span: Span) -> tuple[int, ...]:
    """The basis of a span in which no vector has another one's highest bit."""
    found: list[int] = []
    for member in sorted(span.basis):
        found.append(Span(found).reduced(member)[0])
    return tuple(found)


@frozen(slots=False)
class _Linear:
    """A layout that puts bits of coordinates, then bits of replicas, at sums of bits of a place.

    Bits of coordinates are numbered from the last dimension's lowest bit on, and bits of replicas
    after them.
    """

    shape: tuple[int, ...]
    places: tuple[int, ...]
    replicas: tuple[int, ...]
    bases: Bases

    def recipe(self) -> Recipe:
        """Split into runs of bits, add some runs to others, and reorder them."""
        replicas = [run for run in self.runs[::-1] if run.start >= len(self.places)]
        axes = [*(run for dim in self.dims for run in dim or [range(0)]), *replicas]
        steps = splits_into([[1 << len(run) for run in runs] or [1] for runs in self.dims])
        if replicas:
            steps.append(Replicate(tuple(1 << len(run) for run in replicas)))
        order, lower, upper = self.factors
        for rows, runs in ((upper, self.runs), (lower, self.runs[::-1])):
            for run in runs:  # none is changed before it has changed the others
                steps += _xors(axes, run, rows[run.start])
        places = [order[run.start] if run else len(order) for run in axes]
        moved = sorted(range(len(axes)), key=lambda axis: -places[axis])
        if moved != list(range(len(axes))):
            steps.append(Transpose(tuple(moved)))
        if tuple(self.bases) == (MEMORY,):
            return Recipe(self.shape, tuple(steps))
        names = [*self.axis_of, next(iter(self.bases))]
        counts = [sum(names[place] == name for place in places) for name in self.bases]
        if any(count != 1 for count in counts):
            steps.append(Merge(tuple(counts)))
        return Recipe(self.shape, tuple(steps), axis_names=tuple(self.bases))

    @cached_property
    def dims(self) -> list[list[range]]:
        """The runs of each dimension, the highest first."""
        found, high = [], len(self.places)
        for n in self.shape:
            low = high - _bits(n)
            found.append([run for run in self.runs[::-1] if low <= run.start < high])
            high = low
        return found

    @cached_property
    def factors(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Where each bit goes, and the bits that are added to it: lower ones, higher ones."""
        columns = (*self.places, *self.replicas)
        found = plu(columns)
        assert found is not None, "each place holds one element and is one of its replicas"
        order, lower, upper = found
        return order, transposed(lower, len(columns)), transposed(upper, len(columns))

    @cached_property
    def axis_of(self) -> list[str]:
        """The named axis of each bit of an offset."""
        return [name for name in reversed([*self.bases]) for _ in self.bases[name]]

    @cached_property
    def runs(self) -> list[range]:
        """The bits in runs that stay together, the lowest first: each is an axis of the recipe."""
        order, *sums = self.factors
        count = len(order)
        sizes = accumulate(map(_bits, reversed(self.shape)))
        starts = {0, *sizes}  # each dimension, and the replicas
        for k in range(1, count):
            follows = order[k] == order[k - 1] + 1
            same_axis = self.axis_of[order[k]] == self.axis_of[order[k - 1]]
            same_sums = all(rows[k] == rows[k - 1] << 1 for rows in sums)
            if not (follows and same_axis and same_sums):
                starts.add(k)
        while more := _split_by_sources(starts, sums, count):
            starts |= more
        edges = [*sorted(starts - {count}), count]
        return [range(*pair) for pair in pairwise(edges)]


def _split_by_sources(starts: set[int], sums: Sequence[Sequence[int]], count: int) -> set[int]:
    """Where runs must be split, for each to be changed by bits of one run, another than itself."""
    run_of = [max(start for start in starts if start <= k) for k in range(count)]
    more = set()
    for k in range(1, count):
        for rows in sums:
            for source in bits_of(rows[k] & ~(1 << k)):
                if run_of[k] == run_of[k - 1] and (
                    run_of[source] != run_of[source - 1] or run_of[source] == run_of[k]
                ):
                    more.add(k)
    return more


def _xors(axes: list[range], run: range, sums: int) -> list[Step]:
    """The steps that add bits of other runs to those of a run, given those of its lowest bit."""
    found: list[Step] = []
    for bit in bits_of(sums & ~(1 << run.start)):
        source = next(axis for axis, each in enumerate(axes) if bit in each)
        found.append(Xor(axes.index(run), source, bit - axes[source].start))
    return found
