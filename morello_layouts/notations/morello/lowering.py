"""Morello layouts to recipes: expansion, contiguity and the canonical form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import TypeAlias

from morello_layouts.core.checks import whole
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int, SizeExpr, round_up
from morello_layouts.core.fields import frozen
from morello_layouts.core.recipe import DimDigit, Recipe, known, recipe_of_axes
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.morello.dims import Dynamic, OddEven, Packed, PhysDim, PhysDims

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


def applies_to(dims: PhysDims, shape: tuple[int, ...]) -> bool:
    """Return whether the list covers the shape exactly."""
    try:
        physical_shape(dims, shape)
    except ShapeError:
        return False
    return True


def physical_shape(dims: PhysDims, shape: Shape) -> Shape:
    """Sizes of the physical dimensions at a shape, outermost first.

    >>> physical_shape(((1, Dynamic()), (0, Dynamic()), (1, Packed(4))), (6, 8))
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
            f"its physical dimensions cover {prod(_size(p) for p in physes)} elements",
            f"put a Dynamic outside them: [{dim}, …], or give that number as the size",
        )
    whole = prod(_size(p) for p in physes)
    return ShapeError(
        f"{dim}{phys} does not fit dimension {dim} of the shape {_x(shape)}",
        f"{whole} must divide it, and {shape[dim]} is not known to be a multiple",
        f"assume that {whole} divides {shape[dim]}"
        if isinstance(whole, int)
        else f"give the size as a multiple: {whole}*{shape[dim]}",
    )


def _size(phys: PhysDim) -> Int:
    return 1 if isinstance(phys, Dynamic) else phys.size


def demand(dims: PhysDims, dim: int) -> Int:
    """Return the divisor of a logical dimension: the product of its Packed and OddEven sizes.

    >>> demand(((0, Dynamic()), (1, Packed(4)), (0, Packed(2))), 0)
    2
    """
    return prod(_size(phys) for d, phys in dims if d == dim)


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
    fitting = _fitting_size(physes, n)
    if fitting is None:
        padded = round_up(n, prod(map(_size, physes)))
        return f"put a Dynamic outside: [{dim}, …], and pad dimension {dim} to {padded}"
    if left == 1:
        return f"pad dimension {dim} to {fitting}, or leave {dim}{phys} out"
    if isinstance(phys, Packed):
        return f"pad dimension {dim} to {fitting}, or choose a size that divides {left}"
    if left % 2:
        return f"pad dimension {dim} to {fitting}"
    return f"pad dimension {dim} to {fitting}, or choose an even size that divides {left}"


def _fitting_size(physes: Sequence[PhysDim], n: int) -> int | None:
    """The smallest size of at least n that fills some of the innermost dimensions, and fits."""
    inner, candidates = 1, []
    for phys in reversed(physes):
        inner *= known((_size(phys),))[0]
        candidates.append(round_up(n, inner))
    fits = (size for size in candidates if not isinstance(_cover(physes, size), _Misfit))
    return min(fits, default=None)


def _x(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "()"


def canonical_dims(dims: PhysDims, contig: int, shape: tuple[int, ...]) -> tuple[PhysDims, int]:
    """The dims that matter at a shape, and how many of the innermost of them are contiguous."""
    sizes = known(physical_shape(dims, shape))
    kept: list[tuple[int, PhysDim] | None] = list(dims)
    for dim, n in enumerate(shape):
        mine = [k for k, (d, _) in enumerate(dims) if d == dim]
        if n == 1:
            for k in mine:
                kept[k] = None
            continue
        whole = _takes_all(dims, sizes, mine, n)
        if whole is not None:
            kept[whole] = (dim, Dynamic())
            for k in mine:
                if k < whole:
                    kept[k] = None
    return _join(kept, contig)


def _takes_all(dims: PhysDims, sizes: tuple[int, ...], mine: list[int], n: int) -> int | None:
    """Which Packed of a logical dimension of size n leaves nothing to those outside it, if one."""
    left = n
    for k in reversed(mine):
        outside = [dims[j][1] for j in mine if j < k]
        if isinstance(dims[k][1], Packed) and sizes[k] == left:
            return None if any(isinstance(phys, OddEven) for phys in outside) else k
        left //= sizes[k]
    return None


def without_dims(dims: PhysDims, contig: int, dropped: frozenset[int]) -> tuple[PhysDims, int]:
    """The dims of the other logical dimensions, renumbered."""
    kept: list[tuple[int, PhysDim] | None] = [
        None if dim in dropped else (dim - sum(d < dim for d in dropped), phys)
        for dim, phys in dims
    ]
    return _join(kept, contig)


def _join(kept: list[tuple[int, PhysDim] | None], contig: int) -> tuple[PhysDims, int]:
    """Drop the Nones and join neighbours of one logical dimension if one entry can replace both."""
    first_contiguous = len(kept) - contig
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
    return tuple(joined), sum(runs)


def _both(outer: tuple[int, PhysDim], inner: tuple[int, PhysDim]) -> tuple[int, PhysDim] | None:
    """One physical dimension for two neighbours of one logical dimension, if there is one."""
    match outer, inner:
        case (d, Dynamic()), (e, Packed()) if d == e:
            return outer
        case (d, Packed(n)), (e, Packed(m)) if d == e:
            return d, Packed(n * m)
        case _:
            return None


def contig_of_tile(
    dims: PhysDims, contig: int, parent_shape: tuple[int, ...], tile_shape: tuple[int, ...]
) -> int:
    """Count the innermost physical dimensions of every tile that form one run in the parent.

    Walking outward, a dimension belongs to the run while all inside it are whole. The first one
    that the tile cuts still does if the cut piece is a run wherever the tile starts, which it is
    not across the end of a pack. (Of an OddEven a tile has all, or one element: a run.)

    >>> from morello_layouts.notations.morello.dims import Dynamic, Packed
    >>> packed = ((0, Dynamic()), (1, Dynamic()), (0, Packed(4)))
    >>> contig_of_tile(packed, 3, (12, 5), (2, 5)), contig_of_tile(packed, 3, (12, 5), (3, 5))
    (1, 0)
    """
    parent = known(physical_shape(dims, parent_shape))
    _check_tile(parent_shape, tile_shape)
    tile = known(physical_shape(dims, tile_shape))
    first_contiguous = len(dims) - contig
    count = 0
    for k in reversed(range(first_contiguous, len(dims))):
        if tile[k] != parent[k]:
            return count + _never_breaks(dims, parent, first_contiguous, k, tile[k])
        count += 1
    return count


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


def _check_tile(parent_shape: tuple[int, ...], tile_shape: tuple[int, ...]) -> None:
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


def cache_lines(sizes: tuple[int, ...], contig: int, element_bytes: int, line_bytes: int) -> int:
    """Lines of ``line_bytes`` bytes that runs of the innermost ``contig`` dimensions touch.

    >>> cache_lines((6, 8), 1, 4, 64), cache_lines((6, 8), 2, 4, 64)
    (6, 3)
    """
    element, line = whole(element_bytes), whole(line_bytes)
    if element is None or line is None or element < 1 or line < 1:
        raise LayoutError(
            f"cache lines: expected positive sizes, got {element_bytes!r} and {line_bytes!r} bytes",
            "both sizes are positive numbers of bytes",
            "give for example element_bytes=4, line_bytes=64",
        )
    first = len(sizes) - contig
    run_bytes = prod(sizes[first:]) * element
    return prod(sizes[:first]) * -(-run_bytes // line)


def reference(
    dims: PhysDims, coordinates: Sequence[AffineExpr], shape: Sequence[Int]
) -> AffineExpr:
    """Back to front, add α·(⌊d/v⌋ mod p) for each physical dimension.

    α is the volume covered so far, v the volume covered so far of this logical dimension, p the
    physical size. For an OddEven the digit y = ⌊d/v⌋ mod p lies at ⌊y/2⌋ + p/2·(y mod 2). (Morello
    separates even from odd before it divides by v, which is not a bijection where v > 1.)

    >>> from morello_layouts.core.expr import variable
    >>> print(reference(((0, OddEven(8)),), [variable("d0", 0, 7)], (8,)))
    4*((d0%8)%2) + (d0%8)//2
    """
    return sum(terms_of(dims, coordinates, shape), AffineExpr((), 0))


def terms_of(
    dims: PhysDims, coordinates: Sequence[AffineExpr], shape: Sequence[Int]
) -> Iterator[AffineExpr]:
    """Yield what each physical dimension adds to the offset, from the innermost on."""
    volume: Int = 1
    within: list[Int] = [1] * len(shape)
    sizes = physical_shape(dims, tuple(shape))
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


def recipe(dims: PhysDims, shape: Sequence[Int]) -> Recipe:
    """The steps: split each logical dimension into its digits, bring them into physical order.

    An OddEven is split once more, into halves and (even, odd), and these two change places.

    >>> print(recipe(((0, OddEven(8)),), (8,)))
    [8] → split [4,2] → transpose [2,4] → merge [8]
    """
    axes: list[list[DimDigit]] = []
    within: list[Int] = [1] * len(shape)
    sizes = physical_shape(dims, tuple(shape))
    for (dim, phys), size in zip(dims[::-1], sizes[::-1], strict=True):
        unit = within[dim]
        if isinstance(phys, OddEven) and size > 1:
            axes.insert(0, [DimDigit(dim, unit, 2), DimDigit(dim, 2 * unit, size // 2)])
        else:
            axes.insert(0, [DimDigit(dim, unit, size)])
        within[dim] *= size
    mentioned = {dim for dim, _ in dims}
    ones = [DimDigit(dim, 1, 1) for dim in range(len(shape)) if dim not in mentioned]
    if ones:
        axes[:1] = [[*ones, *(axes[0] if axes else [])]]
    return recipe_of_axes(shape, axes)
