"""Which lists of physical dimensions mean something, and how they expand over a shape."""

from __future__ import annotations

from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.morello.dims import Dynamic, OddEven, PhysDim

__all__ = ["applies_to", "check_dims", "check_shape", "physical_shape"]


def check_dims(dims: tuple[tuple[int, PhysDim], ...]) -> None:
    """Raise LayoutError where no shape fits the list."""
    seen: set[int] = set()
    for position, (dim, phys) in enumerate(dims):
        part = ("phys_dims", position)
        if dim < 0:
            raise LayoutError(
                f"logical dimension {dim} does not exist",
                "logical dimensions are numbered from 0, from the left",
                "count dimensions from 0",
                part=part,
            )
        if isinstance(phys, Dynamic) and dim in seen:
            raise LayoutError(
                f"dimension {dim} is Dynamic inside another physical dimension of it",
                "a Dynamic takes all that remains of its dimension, so it must be the outermost "
                "one, and two of them would be ambiguous",
                f"keep the first mention of {dim} Dynamic and give the others sizes: {dim} p(4)",
                part=part,
            )
        seen.add(dim)


def applies_to(dims: tuple[tuple[int, PhysDim], ...], shape: tuple[int, ...]) -> bool:
    """Whether the list covers the shape exactly."""
    try:
        physical_shape(dims, shape)
    except ShapeError:
        return False
    return True


def physical_shape(
    dims: tuple[tuple[int, PhysDim], ...], shape: tuple[int, ...]
) -> tuple[int, ...]:
    """Sizes of the physical dimensions at a shape, outermost first.

    Innermost first, each physical dimension takes its size from what remains of its logical
    dimension. A Packed larger than what remains takes all of it, an OddEven only if 1 remains;
    either may happen once per logical dimension.
    """
    check_shape(shape)
    remaining = list(shape)
    clipped: set[int] = set()
    sizes: list[int] = []
    for dim, phys in reversed(dims):
        if dim >= len(shape):
            raise ShapeError(
                f"the layout names dimension {dim}, the shape {_x(shape)} has {len(shape)}",
                "logical dimensions are numbered from 0, from the left",
                f"give a shape of at least {dim + 1} dimensions",
            )
        left = remaining[dim]
        size = left if isinstance(phys, Dynamic) else phys.size
        if left % size:
            if left > size or (isinstance(phys, OddEven) and left > 1) or dim in clipped:
                raise _misfit(dim, phys, left, shape)
            clipped.add(dim)
            size = left
        remaining[dim] = left // size
        sizes.append(size)
    for dim, left in enumerate(remaining):
        if left != 1:
            raise _uncovered(dim, left, shape, mentioned=any(d == dim for d, _ in dims))
    return tuple(reversed(sizes))


def check_shape(shape: tuple[int, ...]) -> None:
    """Raise ShapeError for a size that is no positive integer."""
    for dim, size in enumerate(shape):
        if not isinstance(size, int) or size < 1:
            raise ShapeError(
                f"dimension {dim} of the shape {_x(shape)} has size {size}",
                "Morello's dimensions have at least one element",
                "use sizes of 1 and more",
            )


def _misfit(dim: int, phys: PhysDim, left: int, shape: tuple[int, ...]) -> ShapeError:
    name = f"{dim}{phys}"
    assert not isinstance(phys, Dynamic)
    size = phys.size
    if left > size:
        why = f"{size} must divide what the dimensions inside it leave of dimension {dim}: {left}"
    elif isinstance(phys, OddEven):
        why = f"an OddEven of {size} cannot take {left}; it takes fewer only where 1 remains"
    else:
        why = f"only one physical dimension of dimension {dim} may be larger than what remains"
    total = shape[dim] // left * size if left > size else shape[dim]
    padded = -(-shape[dim] // total) * total
    fix = f"pad dimension {dim} to {padded}, or choose a size that divides {left}"
    return ShapeError(f"{name} does not fit dimension {dim} of the shape {_x(shape)}", why, fix)


def _uncovered(dim: int, left: int, shape: tuple[int, ...], *, mentioned: bool) -> ShapeError:
    if mentioned:
        why = f"its physical dimensions cover {shape[dim] // left} of {shape[dim]} elements"
        fix = f"put a Dynamic outside them: [{dim}, …], or make them larger"
    else:
        why = "a dimension without physical dimensions must be of size 1"
        fix = f"add {dim} to the layout"
    return ShapeError(f"the layout leaves out part of dimension {dim} of {_x(shape)}", why, fix)


def _x(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "()"

