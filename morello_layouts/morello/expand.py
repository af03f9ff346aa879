"""How a list of physical dimensions expands over a shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from morello_layouts.errors import ShapeError
from morello_layouts.expr.size import Number, Size
from morello_layouts.morello.dims import Dynamic, OddEven, Packed, PhysDim, PhysDims, as_integer
from morello_layouts.recipe import known

__all__ = ["applies_to", "as_shape", "as_sizes", "check_shape", "demand", "physical_shape"]


Shape: TypeAlias = tuple[Number, ...]


def as_shape(shape: object) -> tuple[int, ...]:
    """A shape as a tuple of ints.

    Raises:
        ShapeError: where it is no sequence of integers.
        UnsupportedError: where a size is symbolic.

    >>> as_shape([6, 8])
    (6, 8)
    """
    return known(as_sizes(shape))


def as_sizes(shape: object) -> Shape:
    """A shape as a tuple of ints and symbolic sizes.

    Raises:
        ShapeError: where it is no sequence of these.
    """
    if not isinstance(shape, Iterable):
        raise ShapeError(
            f"{shape!r} is no shape",
            "a shape is a sequence of sizes, one for each dimension",
            "give a tuple of ints, such as (6, 8), or (6,) for one dimension",
        )
    sizes: list[Number] = []
    for k, size in enumerate(shape):
        n = size if isinstance(size, Size) else as_integer(size)
        if n is None:
            raise ShapeError(
                f"size {k} of the shape is {size!r}",
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
    """Whether the list covers the shape exactly."""
    try:
        physical_shape(dims, shape)
    except ShapeError:
        return False
    return True


def physical_shape(dims: PhysDims, shape: Shape) -> Shape:
    """Sizes of the physical dimensions at a shape, outermost first.

    Raises:
        ShapeError: where they do not cover the shape exactly.

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
    sizes: list[Number] = [0] * len(dims)
    for dim, n in enumerate(shape):
        mine = [k for k, (d, _) in enumerate(dims) if d == dim]
        taken = _cover([dims[k][1] for k in mine], n)
        if isinstance(taken, _Misfit):
            raise _error(taken, dim, shape, [dims[k][1] for k in mine])
        for k, size in zip(mine, taken, strict=True):
            sizes[k] = size
    return tuple(sizes)


@dataclass(frozen=True, slots=True)
class _Misfit:
    """Why physical dimensions do not cover a logical one.

    Attributes:
        phys: the one that does not fit; None where all fit and yet leave some.
        left: what those inside it leave for it.
        clipped: whether one of those is larger than what it found.
    """

    phys: Packed | OddEven | None
    left: Number
    clipped: bool


def _cover(physes: Sequence[PhysDim], n: Number) -> Shape | _Misfit:
    """The sizes of one logical dimension's physical dimensions, given and returned outermost first.

    Innermost first, each takes its size from what remains. A Packed larger than what remains takes
    all of it, an OddEven only if 1 remains; either may happen once.
    """
    left, clipped = n, False
    sizes: list[Number] = []
    for phys in reversed(physes):
        size: Number = left if isinstance(phys, Dynamic) else phys.size
        if left % size and not isinstance(phys, Dynamic):
            small = isinstance(left, int) and left < phys.size
            may_clip = left == 1 or (small and isinstance(phys, Packed))
            if clipped or not may_clip:
                return _Misfit(phys, left, clipped)
            size, clipped = left, True
        left //= size
        sizes.append(size)
    return tuple(reversed(sizes)) if left == 1 else _Misfit(None, left, clipped)


def _error(misfit: _Misfit, dim: int, shape: Shape, physes: Sequence[PhysDim]) -> ShapeError:
    phys, left, n = misfit.phys, misfit.left, shape[dim]
    if not isinstance(left, int) or not isinstance(n, int):
        return _not_a_multiple(phys, dim, shape, physes)
    if phys is None:
        return _leaves_some(left, n, dim, shape, physes)
    if left > phys.size:
        why = f"{phys.size} must divide what is left for it of dimension {dim}: {left}"
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
        f"assume that {whole} divides {shape[dim]}",
    )


def _size(phys: PhysDim) -> int:
    return 1 if isinstance(phys, Dynamic) else phys.size


def demand(dims: PhysDims, dim: int) -> int:
    """What must divide a logical dimension: the product of its Packed and OddEven sizes.

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
        whole = prod(map(_size, physes))
        padded = -(-n // whole) * whole
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
        inner *= _size(phys)
        candidates.append(-(-n // inner) * inner)
    fits = (size for size in candidates if not isinstance(_cover(physes, size), _Misfit))
    return min(fits, default=None)


def _x(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "()"
