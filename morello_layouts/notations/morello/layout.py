"""Morello layouts: lists of physical dimensions, and builders of popular ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from morello_layouts.core.checks import as_int, whole
from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.core.fields import checked, frozen, settle
from morello_layouts.core.layout import Layout
from morello_layouts.core.recipe import DimDigit, Recipe, known, recipe_of_axes
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.morello.dims import (
    Dynamic,
    OddEven,
    Packed,
    PhysDim,
    PhysDims,
    as_shape,
    as_sizes,
    check_shape,
    check_tile,
    checked_dims,
    covered,
    logical_dim,
    size_of,
)

_NHWC = ((0, Dynamic()), (2, Dynamic()), (3, Dynamic()), (1, Dynamic()))


_LETTERS: Final = "αβγδεζηθικλμνξοπρστυφχψω"


@frozen
class MorelloLayout(Layout):
    """Physical dimensions from slowest to fastest varying, each of one logical dimension.

    Built back to front: the innermost physical dimension of a logical dimension takes the low
    digit of the index, the next one the next digit, until the whole dimension is covered. A
    logical dimension that no physical dimension names must be of size 1.

    A list is read verbatim: neighbours of one logical dimension stay apart until
    ``canonicalize`` joins them. Morello's debug build panics on ``[0, 0 p(4)]``, its release build
    joins such neighbours unasked.

    >>> from morello_layouts.notations.morello import Dynamic, Packed
    >>> layout = MorelloLayout([(1, Dynamic()), (0, Dynamic()), (1, Packed(4))])
    >>> print(layout)
    [1, 0, 1 p(4)]
    >>> layout.physical_shape((6, 8))
    (2, 6, 4)
    """

    #: pairs (logical dimension, Dynamic | Packed | OddEven), outermost first.
    phys_dims: PhysDims = checked(checked_dims)
    #: how many of the innermost physical dimensions lie contiguously in memory; all of them unless
    #: the layout is that of a tile of a larger array. Offsets do not depend on it: they count
    #: within the layout's own elements.
    contig: int = None  # type: ignore[assignment]

    if TYPE_CHECKING:

        def __init__(
            self, phys_dims: Iterable[tuple[int, PhysDim]], contig: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        most, part = len(self.phys_dims), ("contig",)
        why = "it counts the contiguous physical dimensions, from the innermost on"
        given = most if self.contig is None else self.contig
        settle(self, contig=as_int(given, "contig", 0, most, part=part, why=why))

    def physical_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of the physical dimensions at a logical shape, in elements.

        Innermost first, each takes its size from what remains of its logical dimension, and must
        divide it. A Packed larger than what remains takes all of it, an OddEven only if 1 remains;
        either may happen once per logical dimension. Morello computes in 32 bits and overflows;
        sizes here are unbounded.

        Args:
            shape: the logical sizes, in elements, each at least 1.

        Raises:
            ShapeError: if the layout does not cover the shape exactly.

        >>> import morello_layouts as ml
        >>> ml.parse("[0, 1 p(4)]").physical_shape((6, 3))
        (6, 3)
        """
        return known(covered(self.phys_dims, as_shape(shape)))

    def applies_to(self, shape: Sequence[int]) -> bool:
        """Return whether the layout covers a logical shape exactly.

        Raises:
            ShapeError: if the shape is not a sequence of integers.

        >>> import morello_layouts as ml
        >>> ml.parse("[0, 0 oe(4)]").applies_to((6,))
        False
        """
        sizes = as_shape(shape)
        try:
            covered(self.phys_dims, sizes)
        except ShapeError:
            return False
        return True

    @property
    def is_row_major(self) -> bool:
        """Whether all physical dimensions are Dynamic, their logical dimensions ascending.

        Logical dimensions may be left out, as those of size 1 are. As in Morello, the list alone
        decides: a layout with packs is not row-major, even if it has the same offsets at some
        shape (``canonicalize`` it first). How many dimensions are contiguous does not matter.
        """
        dims = [dim for dim, _ in self.phys_dims]
        return self._is_dynamic and dims == sorted(dims)

    @property
    def is_col_major(self) -> bool:
        """Whether all physical dimensions are Dynamic, their logical dimensions descending.

        As for ``is_row_major``, dimensions may be left out and the list alone decides; a layout of
        one Dynamic, or of none, is both.
        """
        dims = [dim for dim, _ in self.phys_dims]
        return self._is_dynamic and dims == sorted(dims, reverse=True)

    def assumptions(self, shape: Sequence[Int], /) -> tuple[Assumption, ...]:
        """Return the assumptions that packs divide the symbolic sizes of their dimensions."""
        names = {k: n.as_atom() for k, n in enumerate(shape) if isinstance(n, SizeExpr)}
        demands = {name: self.demand(k) for k, name in names.items() if isinstance(name, str)}
        numbers = ((name, n) for name, n in demands.items() if isinstance(n, int))
        return tuple(Assumption(name, divisor=n) for name, n in numbers if n > 1)

    def with_numbers(self, values: Mapping[str, int], /) -> MorelloLayout:
        """The layout with numbers in place of names in packs; a pack of 1 is left out."""
        dims: list[tuple[int, PhysDim]] = []
        for dim, phys in self.phys_dims:
            if not isinstance(phys, Packed) or isinstance(phys.size, int):
                dims.append((dim, phys))
            elif (size := evaluated(phys.size, values)) != 1:
                dims.append((dim, Packed(size)))
        return self if tuple(dims) == self.phys_dims else MorelloLayout(dims)

    def demand(self, dim: int) -> Int:
        """Return the product of a dimension's packs; it divides every size that is not smaller.

        >>> import morello_layouts as ml
        >>> ml.parse("[0, 1, 0 p(8), 0 p(4)]").demand(0)
        32
        """
        return prod(size_of(phys) for d, phys in self.phys_dims if d == dim)

    @property
    def _is_dynamic(self) -> bool:
        return all(isinstance(phys, Dynamic) for _, phys in self.phys_dims)

    @property
    def is_fully_contiguous(self) -> bool:
        """Whether all physical dimensions are contiguous: the elements lie in one run."""
        return self.contig == len(self.phys_dims)

    def for_tile(self, parent_shape: Sequence[int], tile_shape: Sequence[int]) -> MorelloLayout:
        """The layout of a tile of an array that has this layout, with what stays contiguous.

        Tiles start at multiples of their size and lie within the array. The claim of contiguity
        holds for every such tile: if a tile may straddle a pack (3 elements of ``p(4)``),
        Morello's ``update_for_tiling`` still counts the pack as contiguous and this does not.
        Elsewhere the two agree.

        Args:
            parent_shape: the array's logical sizes, in elements.
            tile_shape: the tile's logical sizes, in elements, none above the array's.

        Returns:
            The tile's layout, canonical at the tile's shape.

        Raises:
            ShapeError: if the layout does not fit the array or the tile, or the tile is larger.

        >>> import morello_layouts as ml
        >>> print(ml.parse("[0, 1]").for_tile((6, 8), (2, 4)))
        ([0, 1], c1)
        """
        parent, tile = as_shape(parent_shape), as_shape(tile_shape)
        wholes = known(covered(self.phys_dims, parent))
        check_tile(parent, tile)
        pieces = known(covered(self.phys_dims, tile))
        first, count = len(wholes) - self.contig, 0
        # Outward, a dimension belongs to the run while all inside it are whole. The first one that
        # the tile cuts still does if the piece is a run wherever the tile starts. (Of an OddEven a
        # tile has all, or one element: a run.)
        for k in reversed(range(first, len(wholes))):
            if pieces[k] != wholes[k]:
                count += _never_breaks(self.phys_dims, wholes, first, k, pieces[k])
                break
            count += 1
        return MorelloLayout(self.phys_dims, count).canonicalize(tile)

    def canonicalize(self, shape: Sequence[int]) -> MorelloLayout:
        """A shorter list, or the same, that has the same offsets at a shape.

        Morello's rules: logical dimensions of size 1 go, a Packed that takes all that remains
        becomes Dynamic and those outside it go, neighbours of one logical dimension are joined.
        The rules do not look inside an OddEven, so two lists of one meaning may stay different.
        Morello misses neighbours that meet only when a dimension between them goes, and returns a
        list such as ``[1, 1 p(2), 0]`` that its own constructor refuses; here they are joined.

        Args:
            shape: the logical sizes, in elements.

        Raises:
            ShapeError: if the layout does not fit the shape.

        >>> import morello_layouts as ml
        >>> print(ml.parse("[1, 0, 1 p(4)]").canonicalize((6, 4)))
        [0, 1]
        """
        given = as_shape(shape)
        sizes = known(covered(self.phys_dims, given))
        kept: list[tuple[int, PhysDim] | None] = list(self.phys_dims)
        for dim, n in enumerate(given):
            mine = [k for k, (d, _) in enumerate(self.phys_dims) if d == dim]
            whole = None if n == 1 else _takes_all(self.phys_dims, sizes, mine, n)
            for k in mine:
                if n == 1 or (whole is not None and k < whole):
                    kept[k] = None
            if whole is not None:
                kept[whole] = (dim, Dynamic())
        return self._joined(kept)

    def drop_dims(self, dropped: Iterable[int]) -> MorelloLayout:
        """The layout without some logical dimensions, the others renumbered, neighbours joined.

        Args:
            dropped: logical dimensions; one that the layout does not name (of size 1) may be
                among them, and moves the numbers of those after it as any other does.

        Raises:
            LayoutError: if one is negative or is not an integer.

        >>> import morello_layouts as ml
        >>> print(ml.parse("[1 p(2), 0, 1 p(3)]").drop_dims([0]))
        [0 p(6)]
        """
        if not isinstance(dropped, Iterable):
            raise LayoutError(
                f"dropped: expected a collection of dimensions, got {dropped!r}",
                "drop_dims takes the logical dimensions to leave out",
                "give a list: drop_dims([0])",
            )
        numbers = frozenset(logical_dim(dim) for dim in dropped)
        return self._joined(
            None if dim in numbers else (dim - sum(d < dim for d in numbers), phys)
            for dim, phys in self.phys_dims
        )

    def _joined(self, kept: Iterable[tuple[int, PhysDim] | None]) -> MorelloLayout:
        """The layout without the Nones; neighbours are joined if one entry can replace both."""
        first_contiguous = len(self.phys_dims) - self.contig
        joined: list[tuple[int, PhysDim]] = []
        runs: list[bool] = []
        for k, entry in enumerate(kept):
            if entry is None:
                continue
            inside = k >= first_contiguous
            both = _both(joined[-1], entry) if joined and runs[-1] == inside else None
            if both is None:
                joined.append(entry)
                runs.append(inside)
            else:
                joined[-1] = both
        return MorelloLayout(joined, sum(runs))

    def swap_dims(self, first: int, second: int) -> MorelloLayout:
        """The layout of the array with two logical dimensions exchanged.

        Args:
            first: a logical dimension; one that the layout does not name is of size 1.
            second: the other one.

        Raises:
            LayoutError: if one is negative or is not an integer.

        >>> import morello_layouts as ml
        >>> print(ml.parse("[0, 1 p(4)]").swap_dims(0, 1))
        [1, 0 p(4)]
        """
        a, b = logical_dim(first), logical_dim(second)
        other = {a: b, b: a}
        return MorelloLayout([(other.get(d, d), phys) for d, phys in self.phys_dims], self.contig)

    def estimate_cache_lines(
        self, shape: Sequence[int], element_bytes: int, line_bytes: int = 64
    ) -> int:
        """Cache lines that the array touches: lines of one contiguous run, times the runs.

        An estimate, as Morello's is: each run is taken to start at the start of a line. Morello
        computes it in 32 bits and overflows on large arrays; this does not.

        Args:
            shape: the logical sizes, in elements.
            element_bytes: bytes of one element.
            line_bytes: bytes of one cache line.

        Raises:
            ShapeError: if the layout does not fit the shape.
            LayoutError: if a number of bytes is not positive.

        >>> import morello_layouts as ml
        >>> ml.parse("[0, 1]").estimate_cache_lines((6, 8), 4)
        3
        """
        sizes = self.physical_shape(shape)
        element, line = whole(element_bytes), whole(line_bytes)
        if element is None or line is None or element < 1 or line < 1:
            raise LayoutError(
                f"cache lines: expected positive sizes, got {element_bytes!r} and {line_bytes!r} "
                "bytes",
                "both sizes are positive numbers of bytes",
                "give for example element_bytes=4, line_bytes=64",
            )
        first = len(sizes) - self.contig
        return prod(sizes[:first]) * -(-prod(sizes[first:]) * element // line)

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """The layout at a shape as split, transpose, merge steps.

        Morello separates the even from the odd indices of an OddEven before it divides by the
        dimensions inside it, so ``[0 oe(4), 1, 0 p(2)]`` puts several elements at one offset there.
        Here an OddEven splits what remains after those inside it, which is always injective, and
        equals Morello's whenever that is injective.

        Raises:
            ShapeError: if the layout does not fit the shape.

        >>> import morello_layouts as ml
        >>> print(ml.parse("[1, 0, 1 p(4)]").recipe((6, 8)))
        [6,8] → split [6,2,4] → transpose [2,6,4]
        """
        dims, given = self.phys_dims, as_sizes(shape)
        axes: list[list[DimDigit]] = []
        within: list[Int] = [1] * len(given)
        for (dim, phys), size in reversed([*zip(dims, covered(dims, given), strict=True)]):
            unit = within[dim]
            if isinstance(phys, OddEven) and size > 1:  # the halves, then even and odd
                axes.insert(0, [DimDigit(dim, unit, 2), DimDigit(dim, 2 * unit, size // 2)])
            else:
                axes.insert(0, [DimDigit(dim, unit, size)])
            within[dim] *= size
        mentioned = {dim for dim, _ in dims}
        ones = [DimDigit(dim, 1, 1) for dim in range(len(given)) if dim not in mentioned]
        if ones:
            axes[:1] = [[*ones, *(axes[0] if axes else [])]]
        return recipe_of_axes(given, axes)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """The offset by the book's formula: Σ α·(⌊d/v⌋ mod p), back to front, unsimplified.

        An OddEven is applied to the digit ⌊d/v⌋ mod p; see ``recipe`` for how Morello differs.

        Args:
            coordinates: one form for each logical dimension.
            shape: the logical sizes, in elements.

        Raises:
            ShapeError: if the layout does not fit the shape.

        >>> import morello_layouts as ml
        >>> from morello_layouts.core.expr import variable
        >>> d0, d1 = variable("d0", 0, 5), variable("d1", 0, 7)
        >>> print(ml.parse("[1, 0, 1 p(4)]").reference((d0, d1), (6, 8)))
        24*((d1//4)%2) + 4*(d0%6) + d1%4
        """
        terms = terms_of(self.phys_dims, coordinates, as_sizes(shape))
        return sum(terms, AffineExpr((), 0))

    def document_steps(self, shape: Sequence[Int], /) -> tuple[str, ...]:
        """Return the book's partial sums: one for each physical dimension, from the innermost on.

        (The book adds b_α once more in the last of its example, where b_β holds it already.)

        >>> import morello_layouts as ml
        >>> for line in ml.parse("[1, 0, 1 p(4)]").document_steps((6, 8)):
        ...     print(line)
        b_α = d1%4
        b_β = b_α + 4*(d0%6) = b_α + 4*d0
        b = b_β + 24*((d1//4)%2) = b_β + 24*(d1//4)
        """
        sizes = as_sizes(shape)
        coordinates = coordinate_variables(sizes)
        lines, before = [], ""
        for k, term in enumerate(terms_of(self.phys_dims, coordinates, sizes), 1):
            letter = _LETTERS[k - 1] if k <= len(_LETTERS) else str(k)
            name = "b" if k == len(self.phys_dims) else f"b_{letter}"
            forms = dict.fromkeys(f"{before}{form}" for form in (term, canonicalize(term)))
            lines.append(" = ".join((name, *forms)))
            before = f"{name} + "
        return tuple(lines)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        return by_list(self.phys_dims, coordinate, shape)

    def names(self, rank: int) -> tuple[str, ...]:
        """Return n, c, h, w for NHWC; other layouts number their dimensions."""
        return tuple("nchw") if str(self) == "NHWC" else ()

    def __str__(self) -> str:
        if self.phys_dims == _NHWC and self.is_fully_contiguous:
            return "NHWC"
        text = f"[{', '.join(f'{dim}{phys}' for dim, phys in self.phys_dims)}]"
        return text if self.is_fully_contiguous else f"({text}, c{self.contig})"


def _takes_all(dims: PhysDims, sizes: tuple[int, ...], mine: list[int], n: int) -> int | None:
    """Which Packed of a logical dimension of size n leaves nothing to those outside it, if one."""
    left = n
    for k in reversed(mine):
        outside = [dims[j][1] for j in mine if j < k]
        if isinstance(dims[k][1], Packed) and sizes[k] == left:
            return None if any(isinstance(phys, OddEven) for phys in outside) else k
        left //= sizes[k]
    return None


def _both(outer: tuple[int, PhysDim], inner: tuple[int, PhysDim]) -> tuple[int, PhysDim] | None:
    """One physical dimension for two neighbours of one logical dimension, if there is one."""
    match outer, inner:
        case (d, Dynamic()), (e, Packed()) if d == e:
            return outer
        case (d, Packed(n)), (e, Packed(m)) if d == e:
            return d, Packed(n * m)
        case _:
            return None


def _never_breaks(
    dims: PhysDims, parent: tuple[int, ...], first_contiguous: int, k: int, piece: int
) -> bool:
    """Return whether pieces of a physical dimension, at multiples of their size, are runs.

    A piece that runs past the end of a pack goes on in the Dynamic outside it, as no tile that
    cuts a pack fits another pack outside: in memory too, if nothing lies between the two.
    """
    outside = [j for j in range(k) if parent[j] > 1]
    goes_on = [j for j in outside if dims[j][0] == dims[k][0]]
    if not goes_on or parent[k] % piece == 0:
        return True
    return goes_on[-1] == outside[-1] >= first_contiguous


def terms_of(
    dims: PhysDims, coordinates: Sequence[AffineExpr], shape: Sequence[Int]
) -> Iterator[AffineExpr]:
    """Yield what each physical dimension adds to the offset, from the innermost on."""
    volume: Int = 1
    within: list[Int] = [1] * len(shape)
    sizes = covered(dims, tuple(shape))
    for (dim, phys), size in reversed(list(zip(dims, sizes, strict=True))):
        index = coordinates[dim]
        if within[dim] != 1:
            index = index // within[dim]
        index = index % size
        if isinstance(phys, OddEven) and size > 1:
            index = index // 2 + (size // 2) * (index % 2)
        yield volume * index
        volume *= size
        within[dim] *= size


def row_major(shape: Sequence[int]) -> MorelloLayout:
    """Dimensions in order, the last one fastest.

    Args:
        shape: the logical sizes, in elements, each at least 1.

    Raises:
        ShapeError: if a size is below 1.

    >>> print(row_major((6, 1, 8)))
    [0, 2]
    """
    sizes = as_shape(shape)
    return _in_order(sizes, range(len(sizes)))


def col_major(shape: Sequence[int]) -> MorelloLayout:
    """Dimensions in reverse, the first one fastest.

    Args:
        shape: the logical sizes, in elements, each at least 1.

    Raises:
        ShapeError: if a size is below 1.

    >>> print(col_major((6, 8)))
    [1, 0]
    """
    sizes = as_shape(shape)
    return _in_order(sizes, reversed(range(len(sizes))))


def batched_col_major(shape: Sequence[int]) -> MorelloLayout:
    """A batch, dimension 0, of column-major arrays.

    Args:
        shape: the logical sizes, in elements, each at least 1, the batch first.

    Raises:
        ShapeError: if a size is below 1.

    >>> print(batched_col_major((2, 6, 8)))
    [0, 2, 1]
    """
    sizes = as_shape(shape)
    return _in_order(sizes, (*range(len(sizes[:1])), *reversed(range(1, len(sizes)))))


def nhwc(shape: Sequence[int]) -> MorelloLayout:
    """Channels last, of a shape given as batch, channels, height, width.

    Args:
        shape: the four logical sizes, in elements, each at least 1.

    Raises:
        ShapeError: if there are not four sizes, or one is below 1.

    >>> print(nhwc((2, 32, 14, 14)))
    NHWC
    """
    sizes = as_shape(shape)
    if len(sizes) != 4:
        raise ShapeError(
            f"NHWC takes 4 sizes, not {len(sizes)}",
            "they are batch, channels, height and width, in this order",
            "give a shape such as (2, 32, 14, 14)",
        )
    return _in_order(sizes, (0, 2, 3, 1))


def _in_order(sizes: tuple[int, ...], order: Iterable[int]) -> MorelloLayout:
    check_shape(sizes)
    return MorelloLayout([(dim, Dynamic()) for dim in order if sizes[dim] != 1])


# ---- the third hand: the book's list in integers, which calls nothing of the package


def by_list(
    phys_dims: PhysDims, coordinate: Sequence[int], shape: Sequence[int]
) -> tuple[int, int] | None:
    """Return an element's offset and the number of elements; None if the list does not fit.

    Innermost first, each takes the low digit of the rest of its dimension. A Packed larger than
    the rest takes all of it, an OddEven only if 1 is left, once for each dimension.

    >>> by_list(((1, Dynamic()), (0, Dynamic())), (2, 3), (6, 8))
    (20, 48)
    """
    at, left, offset, volume = list(coordinate), list(shape), 0, 1
    clipped = set[int]()
    for dim, phys in reversed(phys_dims):
        if dim >= len(left):
            return None
        count = left[dim] if isinstance(phys, Dynamic) else phys.number
        if left[dim] % count:
            if dim in clipped or left[dim] > count or (isinstance(phys, OddEven) and left[dim] > 1):
                return None
            clipped.add(dim)
            count = left[dim]
        digit = at[dim] % count
        if isinstance(phys, OddEven) and count > 1:
            digit = digit // 2 if digit % 2 == 0 else count // 2 + digit // 2
        offset += digit * volume
        volume *= count
        at[dim] //= count
        left[dim] //= count
    return (offset, volume) if all(n == 1 for n in left) else None
