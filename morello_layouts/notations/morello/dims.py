"""Morello's three kinds of physical dimension, the rules for lists of them, and what they cover."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, TypeAlias

from morello_layouts.core.checks import Part, as_int, whole
from morello_layouts.core.expr.sizes import Int, SizeExpr, round_up
from morello_layouts.core.fields import checked, frozen
from morello_layouts.core.recipe import known
from morello_layouts.errors import LayoutError, ShapeError


@frozen
class Dynamic:
    """All that the physical dimensions inside it leave of the logical dimension.

    >>> Dynamic()
    Dynamic()
    """

    def __str__(self) -> str:
        return ""


def _packed(given: Any, _: str, part: Part) -> Int:
    why = "a Packed holds at least 2 elements, as in Morello"
    fix = "leave it out, or give the number of elements packed together"
    if isinstance(given, SizeExpr):
        return given
    return as_int(given, "Packed", 2, part=part, why=why, fix=fix)


@frozen
class Packed:
    """The innermost ``size`` of what remains of the logical dimension, in order.

    >>> print(f"dimension 1, packed: 1{Packed(4)}")
    dimension 1, packed: 1 p(4)
    """

    size: Int = checked(_packed)  #: elements packed together, from 2; or a symbolic size.

    @property
    def number(self) -> int:
        """The size as a number.

        Raises:
            UnsupportedError: if it is symbolic.
        """
        return known((self.size,))[0]

    def __str__(self) -> str:
        return f" p({self.size})"


def _even(given: Any, _: str, part: Part) -> int:
    why = "an OddEven separates even from odd indices, so its size is even"
    fix = "give an even size of at least 2"
    size = as_int(given, "OddEven", 2, part=part, why=why, fix=fix)
    if size % 2:
        raise LayoutError(f"OddEven: expected an even size, got {size}", why, fix, part=part)
    return size


@frozen
class OddEven:
    """The innermost ``size`` of what remains of the logical dimension, even indices first.

    ``0 oe(8)`` lays elements 0..7 at offsets 0, 4, 1, 5, 2, 6, 3, 7. (A comment in Morello's
    source says odd first; its code does even first.)

    >>> print(f"dimension 0, even indices first: 0{OddEven(8)}")
    dimension 0, even indices first: 0 oe(8)
    """

    size: int = checked(_even)  #: elements laid out so, both halves together; even, from 2.

    @property
    def number(self) -> int:
        """The size."""
        return self.size

    def __str__(self) -> str:
        return f" oe({self.size})"


PhysDim: TypeAlias = Dynamic | Packed | OddEven

PhysDims: TypeAlias = tuple[tuple[int, PhysDim], ...]
"""Pairs (logical dimension, physical dimension), outermost first."""


def checked_dims(given: object, *_: Any) -> PhysDims:
    """The pairs of a list of physical dimensions that some shape fits."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise LayoutError(
            f"phys_dims: expected a list of pairs, got {given!r}",
            "a MorelloLayout is made of pairs (logical dimension, physical dimension)",
            "give such pairs, as in [(0, Dynamic()), (1, Packed(4))]; text goes to parse",
        )
    dims = tuple(_pair(position, entry) for position, entry in enumerate(given))
    seen: set[int] = set()
    for position, (dim, phys) in enumerate(dims):
        if isinstance(phys, Dynamic) and dim in seen:
            raise LayoutError(
                f"dimension {dim} is Dynamic inside another physical dimension of it",
                "a Dynamic takes all that remains of its dimension, so it must be the outermost "
                "one, and two of them would be ambiguous",
                f"keep the first mention of {dim} Dynamic and give the others sizes: {dim} p(4)",
                part=("phys_dims", position),
            )
        seen.add(dim)
    return dims


def _pair(position: int, entry: object) -> tuple[int, PhysDim]:
    part = ("phys_dims", position)
    match entry:
        case (dim, Dynamic() | Packed() | OddEven() as phys):
            return logical_dim(dim, part), phys
        case (dim, other):
            size = whole(other)
            raise LayoutError(
                f"phys_dims: expected a physical dimension, got {other!r}",
                "a physical dimension is Dynamic(), Packed(n) or OddEven(n)",
                f"write ({dim!r}, Dynamic()) for all that remains of the dimension, or "
                f"({dim!r}, Packed({4 if size is None else max(size, 2)}))",
                part=part,
            )
    raise LayoutError(
        f"phys_dims: expected a pair, got {entry!r}",
        "each entry pairs a logical dimension with Dynamic(), Packed(n) or OddEven(n)",
        "write for example (0, Dynamic())",
        part=part,
    )


def logical_dim(value: object, part: tuple[str | int, ...] = ()) -> int:
    """The number of a logical dimension."""
    why = "logical dimensions are numbered 0, 1, … from the left"
    return as_int(value, "a logical dimension", part=part, why=why, fix="count dimensions from 0")


# ---- what a list covers at a shape

Shape: TypeAlias = tuple[Int, ...]


def as_shape(shape: object) -> tuple[int, ...]:
    return known(as_sizes(shape))


def as_sizes(shape: object) -> Shape:
    """A shape as a tuple of ints and symbolic sizes."""
    if not isinstance(shape, Iterable):
        raise ShapeError(
            f"a shape: expected a sequence of sizes, got {shape!r}",
            "a shape is a sequence of sizes, one for each dimension",
            "give a tuple of ints, such as (6, 8), or (6,) for one dimension",
        )
    sizes: list[Int] = []
    for k, size in enumerate(shape):
        n = size if isinstance(size, SizeExpr) else whole(size)
        if n is None:
            raise ShapeError(
                f"size {k} of the shape: expected an integer, got {size!r}",
                "sizes are integers, one for each dimension",
                "give a tuple of ints, such as (6, 8)",
            )
        sizes.append(n)
    return tuple(sizes)


def check_shape(shape: Shape) -> None:
    """Raise ShapeError for a size below 1."""
    for dim, size in enumerate(shape):
        if isinstance(size, int) and size < 1:
            raise ShapeError(
                f"dimension {dim} of the shape {_x(shape)} has size {size}",
                "Morello's dimensions have at least one element",
                "use sizes of 1 and more",
            )


def check_tile(parent_shape: tuple[int, ...], tile_shape: tuple[int, ...]) -> None:
    """Raise ShapeError for a tile that is not a part of its array."""
    if len(parent_shape) != len(tile_shape):
        raise ShapeError(
            f"the tile has {len(tile_shape)} dimensions, the array {len(parent_shape)}",
            "a tile has a size along each dimension of its array",
            f"give {len(parent_shape)} sizes, 1 if the tile takes one element",
        )
    for dim, (n, t) in enumerate(zip(parent_shape, tile_shape, strict=True)):
        if t > n:
            raise ShapeError(
                f"the tile has {t} elements along dimension {dim}, the array {n}",
                "a tile is a part of its array",
                f"give at most {n}",
            )


def covered(dims: PhysDims, shape: Shape) -> Shape:
    """Sizes of the physical dimensions at a shape, outermost first; raise if they do not cover it.

    >>> covered(((1, Dynamic()), (0, Dynamic()), (1, Packed(4))), (6, 8))
    (2, 6, 4)
    """
    check_shape(shape)
    for dim, _ in dims:
        if dim >= len(shape):
            raise ShapeError(
                f"the layout names dimension {dim}, which the shape {_x(shape)} does not have",
                "logical dimensions are numbered from 0, from the left",
                f"give a shape of at least {dim + 1} dimensions",
            )
    sizes: list[Int] = [0] * len(dims)
    for dim, n in enumerate(shape):
        mine = [k for k, (d, _) in enumerate(dims) if d == dim]
        taken = _cover([dims[k][1] for k in mine], n)
        if isinstance(taken, _Misfit):
            raise _error(taken, dim, shape, [dims[k][1] for k in mine])
        for k, size in zip(mine, taken, strict=True):
            sizes[k] = size
    return tuple(sizes)


@frozen
class _Misfit:
    """Why physical dimensions do not cover a logical one."""

    #: the one that does not fit; None if all fit but do not cover the dimension.
    phys: Packed | OddEven | None
    left: Int  #: the elements that those inside it leave for it.
    clipped: bool  #: whether one of those is larger than the elements left for it.


def _cover(physes: Sequence[PhysDim], n: Int) -> Shape | _Misfit:
    """The sizes of one logical dimension's physical dimensions, given and returned outermost first.

    Innermost first, each takes its size from what remains. A Packed larger than what remains takes
    all of it, an OddEven only if 1 remains; either may happen once.
    """
    left, clipped = n, False
    sizes: list[Int] = []
    for phys in reversed(physes):
        size: Int = left if isinstance(phys, Dynamic) else phys.size
        if left % size and not isinstance(phys, Dynamic):
            small = isinstance(left, int) and isinstance(phys.size, int) and left < phys.size
            may_clip = left == 1 or (small and isinstance(phys, Packed))
            if clipped or not may_clip:
                return _Misfit(phys, left, clipped)
            size, clipped = left, True
        left //= size
        sizes.append(size)
    return tuple(reversed(sizes)) if left == 1 else _Misfit(None, left, clipped)


def _error(misfit: _Misfit, dim: int, shape: Shape, physes: Sequence[PhysDim]) -> ShapeError:
    phys, left, n = misfit.phys, misfit.left, shape[dim]
    size = 1 if phys is None else phys.size
    if not isinstance(left, int) or not isinstance(n, int) or not isinstance(size, int):
        return _not_a_multiple(phys, dim, shape, physes)
    if phys is None:
        return _leaves_some(left, n, dim, shape, physes)
    if left > size:
        why = f"{size} does not divide the remaining extent {left} of dimension {dim}"
    elif misfit.clipped or isinstance(phys, Packed):
        why = f"{left} is left for it, and only one of a dimension's packs may be larger than that"
    else:
        why = f"{left} is left for it, and an OddEven takes less than its size only where 1 is left"
    return ShapeError(
        f"{dim}{phys} does not fit dimension {dim} of the shape {_x(shape)}",
        why,
        _remedy(phys, left, dim, n, physes),
    )


def _not_a_multiple(
    phys: PhysDim | None, dim: int, shape: Shape, physes: Sequence[PhysDim]
) -> ShapeError:
    if phys is None:
        return ShapeError(
            f"the layout holds a fixed part of dimension {dim} of the shape {_x(shape)}",
            f"its physical dimensions cover {prod(size_of(p) for p in physes)} elements",
            f"put a Dynamic outside them: [{dim}, …], or give that number as the size",
        )
    whole = prod(size_of(p) for p in physes)
    return ShapeError(
        f"{dim}{phys} does not fit dimension {dim} of the shape {_x(shape)}",
        f"{whole} must divide it, and {shape[dim]} is not known to be a multiple",
        f"assume that {whole} divides {shape[dim]}"
        if isinstance(whole, int)
        else f"give the size as a multiple: {whole}*{shape[dim]}",
    )


def size_of(phys: PhysDim) -> Int:
    return 1 if isinstance(phys, Dynamic) else phys.size


def _leaves_some(
    left: int, n: int, dim: int, shape: Shape, physes: Sequence[PhysDim]
) -> ShapeError:
    what = f"the layout leaves out part of dimension {dim} of the shape {_x(shape)}"
    if physes:
        why = f"its physical dimensions cover {n // left} of {n} elements"
        return ShapeError(what, why, f"put a Dynamic outside them: [{dim}, …], or make them larger")
    why = "a dimension without physical dimensions must be of size 1"
    return ShapeError(what, why, f"add dimension {dim} to the layout: [{dim}, …]")


def _remedy(phys: Packed | OddEven, left: int, dim: int, n: int, physes: Sequence[PhysDim]) -> str:
    fitting = _fittingsize_of(physes, n)
    if fitting is None:
        padded = round_up(n, prod(map(size_of, physes)))
        return f"put a Dynamic outside: [{dim}, …], and pad dimension {dim} to {padded}"
    if left == 1:
        return f"pad dimension {dim} to {fitting}, or leave {dim}{phys} out"
    if isinstance(phys, Packed):
        return f"pad dimension {dim} to {fitting}, or choose a size that divides {left}"
    if left % 2:
        return f"pad dimension {dim} to {fitting}"
    return f"pad dimension {dim} to {fitting}, or choose an even size that divides {left}"


def _fittingsize_of(physes: Sequence[PhysDim], n: int) -> int | None:
    """The smallest size of at least n that fills some of the innermost dimensions, and fits."""
    inner, candidates = 1, []
    for phys in reversed(physes):
        inner *= known((size_of(phys),))[0]
        candidates.append(round_up(n, inner))
    fits = (size for size in candidates if not isinstance(_cover(physes, size), _Misfit))
    return min(fits, default=None)


def _x(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "()"
