"""Which elements each step of a grid reads: Pallas's ``BlockSpec`` at a shape and a grid.

Source: JAX's "Grids and BlockSpecs". JAX is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, ClassVar, Final, NamedTuple, NoReturn

from morello_layouts.core.checks import shown, whole
from morello_layouts.core.description import amount, count, times
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import BLOCK_CELLS, BLOCK_STEPS
from morello_layouts.core.maps.subject import shape_text
from morello_layouts.core.recipe import is_inside, linear_index
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError
from morello_layouts.notations.functions import layout_of_function

_RULE: Final = (
    "a BlockSpec has the sizes of a block, and a function from a step to the block's place"
)


class _BlockSide(NamedTuple):
    """A block along one dimension."""

    size: int
    unit: int  # elements from one index to the next
    before: int = 0  # elements of virtual padding before the array
    after: int = 0


@frozen
class Blocks(Displayed):
    """Which elements of an array each step of a grid reads or writes.

    >>> found = blocks(((8, 128), lambda i, j: (i, j)), (20, 256), (3, 2))
    >>> found.reads(2, 1)
    (slice(16, 20, None), slice(128, 256, None))
    >>> found.left_out, found.overlapping, found.padding
    (0, 0, 1024)
    """

    json_keys: ClassVar = (
        *("shape", "block", "grid", "left_out", "first_left_out", "overlapping"),
        *("first_overlapping", "repeated", "outside", "padding", "start", "fits_tpu"),
    )

    shape: tuple[int, ...]  #: the sizes of the array.
    block: tuple[int, ...]  #: the sizes of a block.
    grid: tuple[int, ...]  #: the steps along each axis of the grid, the last axis fastest.
    #: for each step the first element of its block, which may lie outside of the array.
    starts: tuple[tuple[int, ...], ...]
    left_out: int  #: elements that no step reads.
    first_left_out: tuple[int, ...] | None  #: the first of them; None if there is none.
    overlapping: int  #: elements that lie in two different blocks or more.
    first_overlapping: tuple[int, ...] | None  #: the first of them; None if there is none.
    repeated: int  #: steps that read the block of an earlier step.
    outside: int  #: steps whose block lies outside of the array.
    padding: int  #: elements of all steps' blocks that are not the array's; their values are any.
    start: str = ""  #: the first element as formulas of the step; empty if they are not known.

    @property
    def fits_tpu(self) -> bool | None:
        """Whether the TPU's compiler takes such blocks, by the rule in Pallas's document.

        The last two sizes are multiples of 8 and 128, or the array's own. None for a part of an
        array of one dimension, where the rule depends on the type of the elements.
        """
        if len(self.block) < 2:
            return True if self.block == self.shape else None
        pairs = zip(self.block[-2:], self.shape[-2:], (8, 128), strict=True)
        return all(n == whole or n % unit == 0 for n, whole, unit in pairs)

    def reads(self, *step: int) -> tuple[slice, ...]:
        """Return the elements of the array that a step reads, as slices.

        Raises:
            ShapeError: if the grid has no such step.
        """
        if not is_inside(step, self.grid):
            raise ShapeError(
                f"step {step}: expected one of the grid {self.grid}, got another",
                "a step has an index for each axis of the grid, from 0",
                f"give {count(len(self.grid), 'number')} below these sizes",
            )
        starts = self.starts[linear_index(step, self.grid, 0)]
        return tuple(slice(*ends) for ends in _ends(starts, self.block, self.shape))

    def __str__(self) -> str:
        steps = prod(self.grid)
        what = f"blocks of {times(self.block)} of an array of {times(self.shape)}"
        lines = [f"{what}, in {count(steps, 'step')} of a grid of {times(self.grid)}"]
        if self.start:
            lines.append(f"a step's block begins at {self.start}")
        lines.append(
            f"left out: {count(self.left_out, 'element')}, the first {self.first_left_out}"
            if self.left_out
            else "each element is in a block"
        )
        lines.append(
            f"overlap: {count(self.overlapping, 'element')} in several blocks, "
            f"the first {self.first_overlapping}"
            if self.overlapping
            else "no two blocks overlap"
        )
        if self.repeated:
            lines.append(f"{count(self.repeated, 'step')} read the block of an earlier step")
        if self.outside:
            lines.append(f"{count(self.outside, 'step')} lie outside of the array")
        lines.append(
            f"padding: {amount(self.padding)} of {amount(steps * prod(self.block))} elements of "
            "the blocks are not the array's, and may have any value"
            if self.padding
            else "no block has padding"
        )
        if self.fits_tpu is False:
            lines.append(
                "not for a TPU: the last two sizes of a block are multiples of 8 and 128, or the "
                "array's own"
            )
        return "\n".join(lines)


def blocks(spec: Any, shape: Sequence[int], grid: Sequence[int] | int) -> Blocks:
    """Return which elements each step of a grid reads through a BlockSpec of Pallas.

    Args:
        spec: a ``BlockSpec``, or a pair of the sizes of a block and a function from a step to the
            index of its block; a size may be None, for a dimension that the kernel does not have.
        shape: the sizes of the array; numbers.
        grid: the steps along each axis, the last axis fastest.

    Raises:
        LayoutError: if the function fails, or does not fit the shape and the grid.
        UnsupportedError: if a size of a block is known only at run time, or there are too many
            steps.

    >>> print(blocks(((8, 128), lambda i, j: (i, j)), (20, 200), (2, 2)))
    blocks of 8 × 128 of an array of 20 × 200, in 4 steps of a grid of 2 × 2
    a step's block begins at (8*i, 128*j)
    left out: 800 elements, the first (16, 0)
    no two blocks overlap
    padding: 896 of 4,096 elements of the blocks are not the array's, and may have any value
    """
    sizes = _numbers((shape,) if isinstance(shape, int) else tuple(shape), "the shape")
    steps = _numbers((grid,) if isinstance(grid, int) else tuple(grid), "the grid")
    if prod(steps) > BLOCK_STEPS:
        raise UnsupportedError(
            f"the grid: expected at most {BLOCK_STEPS:,} steps, got {prod(steps):,}",
            "each step is asked for its block",
            "give a smaller grid of the same kind",
        )
    pair = (spec.block_shape, spec.index_map) if hasattr(spec, "index_map") else spec
    if not isinstance(pair, tuple) or len(pair) != 2 or isinstance(pair[0], int | str):
        _wrong(f"expected a BlockSpec, got {shown(spec)}", "give one, or (sizes, function)")
    own, function = pair
    sides = tuple(map(_side, sizes if own is None else own))
    if len(sides) != len(sizes):
        _wrong(f"the block: expected {count(len(sizes), 'size')}, got {len(sides)}")
    function = function or (lambda *_: (0,) * len(sizes))
    starts = tuple(_start(function, step, sides) for step in product(*map(range, steps)))
    block = tuple(side.size for side in sides)
    inside = [prod(hi - lo for lo, hi in _ends(start, block, sizes)) for start in starts]
    covered = _covered({*starts}, block, sizes)
    repeated, outside = len(starts) - len({*starts}), inside.count(0) if prod(block) else 0
    padding = prod(block) * len(starts) - sum(inside)
    start = _formulas(function, sides, len(steps))
    return Blocks(sizes, block, steps, starts, *covered, repeated, outside, padding, start)


def _wrong(what: str, fix: str = "give a BlockSpec for this shape and this grid") -> NoReturn:
    raise LayoutError(what, _RULE, fix)


def _numbers(given: Sequence[Any], name: str) -> tuple[int, ...]:
    found = tuple(n for n in map(whole, given) if n is not None and n >= 0)
    if len(found) < len(given):
        _wrong(f"{name}: expected numbers, got {shape_text(tuple(given))}", "give numbers from 0")
    return found


def _side(given: Any) -> _BlockSide:
    kind = type(given).__name__
    if given is None or kind == "Squeezed":
        return _BlockSide(1, 1)
    size = whole(getattr(given, "block_size", given))
    if size is None or size < 1 or kind == "BoundedSlice":
        raise UnsupportedError(
            f"a size of a block: expected a number, got {shown(given)}",
            "the elements of a block are known if its sizes are",
            "give numbers, None, or pl.Element of a number",
        )
    padding = getattr(given, "padding", (0, 0))
    return _BlockSide(size, 1, *map(int, padding)) if kind == "Element" else _BlockSide(size, size)


def _start(
    function: Callable[..., Any], step: tuple[int, ...], sides: Sequence[_BlockSide]
) -> tuple[int, ...]:
    try:
        found = function(*step)
        found = found if isinstance(found, tuple | list) else (found,)
        numbers = [int(each) for each in found]
    except Exception as error:
        raise LayoutError(
            f"the index map fails at step {step}: {type(error).__name__}: {error}",
            "it is called with the indices of a step, and returns the block's index",
            "let it take one integer for each axis of the grid, and return integers",
        ) from error
    if len(numbers) != len(sides):
        _wrong(f"the index map: expected {count(len(sides), 'number')}, got {found}")
    return tuple(at * side.unit - side.before for at, side in zip(numbers, sides, strict=True))


def _ends(
    start: Sequence[int], block: Sequence[int], sizes: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the part of a block that lies in the array: first and past the last, along each."""
    lows = [min(max(at, 0), n) for at, n in zip(start, sizes, strict=True)]
    highs = [max(min(at + b, n), 0) for at, b, n in zip(start, block, sizes, strict=True)]
    return [(lo, max(lo, hi)) for lo, hi in zip(lows, highs, strict=True)]


def _covered(
    starts: set[tuple[int, ...]], block: Sequence[int], sizes: Sequence[int]
) -> tuple[int, tuple[int, ...] | None, int, tuple[int, ...] | None]:
    """Return how many elements are in no block and the first; and likewise of those in several.

    Elements between the same ends of blocks lie in the same blocks, so each such cell counts once.
    """
    boxes = [_ends(start, block, sizes) for start in starts]
    cuts = [
        sorted({0, n, *(end for box in boxes for end in box[dim])}) for dim, n in enumerate(sizes)
    ]
    cells = [len(each) - 1 for each in cuts]
    if prod(cells) > BLOCK_CELLS:
        raise UnsupportedError(
            f"the blocks cut the array into {prod(cells):,} parts, more than {BLOCK_CELLS:,}",
            "each part is asked for its blocks",
            "give a smaller shape and a smaller grid of the same kind",
        )
    times_read = np.zeros(cells, np.int64)
    place = [{cut: k for k, cut in enumerate(each)} for each in cuts]
    for box in boxes:
        at = tuple(slice(where[lo], where[hi]) for where, (lo, hi) in zip(place, box, strict=True))
        times_read[at] += 1
    weights = np.ones(cells, np.int64)
    for dim, each in enumerate(cuts):
        shape = [-1 if k == dim else 1 for k in range(len(cuts))]
        weights = weights * np.diff(each).reshape(shape)

    def told(mask: Any) -> tuple[int, tuple[int, ...] | None]:
        cell = next(iter(np.argwhere(mask & (weights > 0))), None)
        first = None if cell is None else tuple(cuts[dim][k] for dim, k in enumerate(cell))
        return int(weights[mask].sum()), first

    return *told(times_read == 0), *told(times_read > 1)


def _formulas(function: Callable[..., Any], sides: Sequence[_BlockSide], axes: int) -> str:
    """Return the first element of a step's block as formulas; empty if the function has none."""
    try:
        found = layout_of_function(getattr(function, "index_map", function))
    except LayoutError:
        return ""
    if len(found.parameters) != axes or len(found.forms) != len(sides):
        return ""
    pairs = zip(found.forms, sides, strict=True)
    return shape_text([form * side.unit - side.before for form, side in pairs])
