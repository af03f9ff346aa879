"""What a relayout does, before it is written in any language: loops over exact boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from morello_layouts.codegen.kernel.boxes import Axis, Box, element_boxes, padding_boxes
from morello_layouts.codegen.kernel.cost import APART, cost_of, work
from morello_layouts.codegen.kernel.digits import common_digits, digits_of
from morello_layouts.codegen.kernel.extents import estimate
from morello_layouts.codegen.kernel.fusion import Tree, fused
from morello_layouts.codegen.kernel.micro import (
    Copy,
    Micro,
    Move,
    Transposition,
    Unzip,
    Zip,
)
from morello_layouts.codegen.kernel.nest import SMALL_BLOCK, TARGET_BLOCK, WIDEST, Nest
from morello_layouts.codegen.kernel.plan import fill_nest, nests
from morello_layouts.codegen.kernel.staging import Staged, staged
from morello_layouts.codegen.kernel.strips import stripped
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.expr.assumption import Assumption
from morello_layouts.expr.size import Number
from morello_layouts.recipe import Recipe, known

__all__ = ["HASTE", "STREAM_FROM", "Apart", "Kernel", "Moves", "boxes_of", "moves_of"]

# Bytes of a target from which stores go past the caches. Transpositions write to many places at
# once, and gain from it at a quarter of that.
STREAM_FROM = 1 << 23
HASTE = 4

# From this cost on, as a multiple of a copy's, another way is looked for.
_STAGED_FROM = 2.2


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is asked for.

    Attributes:
        source: the recipe of the buffer that is read.
        target: the recipe of the buffer that is written.
        itemsize: bytes of an element.
        fill: the bytes of an element that padding holds; None leaves padding as it is.
        name: the function's name.
        comment: what the file says of the layouts.
        assumptions: what is assumed of symbolic sizes.
    """

    source: Recipe
    target: Recipe
    itemsize: int
    fill: bytes | None = None
    name: str = "relayout"
    comment: str = ""
    assumptions: tuple[Assumption, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Symbolic sizes, which are arguments of the function.

        >>> from morello_layouts import index_map
        >>> Kernel(*(index_map(text).recipe for text in ("f32[M,8]", "f32[M,8]{0,1}")), 4).names
        ('M',)
        """
        return tuple(sorted({*self.source.names, *self.target.names}))


@dataclass(frozen=True, slots=True)
class Apart:
    """Two layouts without common digits: each coordinate is taken through both recipes."""

    source: Recipe
    target: Recipe


@dataclass(frozen=True)
class Moves:
    """Loops that fill the padding, loops that move elements, or what moves one by one.

    Attributes:
        itemsize: bytes of an element.
        fill: the bytes of an element that padding holds; None leaves padding as it is.
        fills: loops over padding.
        nests: loops over elements.
        staged: blocks that pass through a scratch, in place of ``nests``.
        apart: the recipes, where no loops over digits serve both.
        conditions: what must be whole cache lines for stores to go past the caches, where only the
            call says so.
    """

    itemsize: int
    fill: bytes | None
    fills: tuple[Nest, ...]
    nests: tuple[Nest, ...]
    staged: tuple[Staged, ...]
    apart: Apart | None
    conditions: tuple[Number, ...] = ()

    @property
    def trees(self) -> tuple[Tree, ...]:
        """All loops but those over blocks, those that several have around them."""
        return fused((*self.fills, *self.nests))

    @property
    def streams(self) -> bool:
        """Whether some stores go past the caches where the target starts at a cache line."""
        return any(nest.stream for nest in self.every_nest)

    @property
    def every_nest(self) -> tuple[Nest, ...]:
        """The loops that move elements, also those within blocks."""
        return (*self.nests, *(nest for part in self.staged for nest in part.nests))


def boxes_of(source: Recipe, target: Recipe) -> tuple[list[Box] | None, list[Box]]:
    """Boxes of elements, and boxes of what to fill.

    The first is None where there are no common digits, or too many boxes. The second may then hold
    elements, and is filled before they are moved.
    """
    if source.shape != target.shape:
        raise ShapeError(
            f"the layouts are of arrays of shapes {source.shape} and {target.shape}",
            "a relayout moves each element of one array",
            "give both layouts at the same shape",
        )
    shape, size, tail = source.shape, target.size, target.tail_padding
    if 0 in shape and size == tail:
        return [], [Box(0, 0, (Axis(tail, 0, 1),))] if tail else []
    a, b = digits_of(source), digits_of(target)
    mixed = common_digits(a, b) if a and b else None
    elements = None if mixed is None else element_boxes(shape, mixed)
    padding = padding_boxes(b, tail, size) if b else None
    if target.names and (elements is None or padding is None):
        raise UnsupportedError(
            f"no kernel moves {source} to {target} at all sizes",
            "the layouts have no digits in common, or too many boxes of them",
            f"give the sizes: {', '.join(f'{name}=…' for name in target.names)}",
        )
    if padding is None:
        return None, [Box(0, 0, (Axis(size, 0, 1),))]
    return elements, padding


def moves_of(kernel: Kernel, stream_from: int = STREAM_FROM, *, large: bool | None = None) -> Moves:
    """The loops from one layout's buffer to the other's.

    Args:
        kernel: what is asked for.
        stream_from: bytes of a target from which stores go past the caches.
        large: whether to plan for a target larger than the caches; left out, its size says so.
    """
    source, target, itemsize, fill = kernel.source, kernel.target, kernel.itemsize, kernel.fill
    elements, padding = boxes_of(source, target)
    reach = target.size * itemsize
    if large is None:
        large = estimate(reach) * HASTE >= stream_from
    block = TARGET_BLOCK if large else SMALL_BLOCK
    found = [
        replace(nest, box=k)
        for k, box in enumerate(elements or ())
        for nest in nests(box, itemsize, block)
    ]
    fills = () if fill is None else tuple(fill_nest(box, itemsize) for box in padding)
    if elements is None or cost_of(found) > _STAGED_FROM * estimate(reach):
        blocks = _blocks(kernel, None if elements is None else cost_of(found), padding, block)
        if blocks:
            placed = [_placed(part, nest) for part in blocks for nest in part.out]
            conditions = _conditions(placed) if large else []
            ways = (
                _streaming(part, reach, stream_from, conditions) if large else part
                for part in blocks
            )
            return Moves(itemsize, fill, fills, (), tuple(ways), None, tuple(conditions))
    found = found if large else [stripped(nest) for nest in found]
    conditions = _conditions(found) if large else []
    found = [
        replace(nest, stream=large and _large(nest, reach, stream_from, conditions))
        for nest in found
    ]
    apart = Apart(source, target) if elements is None and 0 not in source.shape else None
    return Moves(itemsize, fill, fills, tuple(found), (), apart, tuple(conditions))


def _blocks(
    kernel: Kernel, direct: float | None, padding: list[Box], block: int
) -> tuple[Staged, ...]:
    """Blocks that cost less than the loops without them, of a cost; None if there are no loops."""
    source, target = kernel.source, kernel.target
    if direct is None:
        held = prod(known(target.shape))
        if sum(box.size for box in padding) + held != target.size:
            return ()  # what is filled before holds elements
        direct = APART * held
    a, b = digits_of(source), digits_of(target)
    found = staged(a, b, kernel.itemsize, block) if a and b else None
    return found if found and sum(part.cost for part in found) < direct else ()


def _streaming(part: Staged, reach: Number, stream_from: int, conditions: list[Number]) -> Staged:
    """Blocks out of which stores may go past the caches, where all are whole lines."""
    out = (
        replace(nest, stream=_large(_placed(part, nest), reach, stream_from, conditions))
        for nest in part.out
    )
    return replace(part, out=tuple(out))


def _placed(part: Staged, nest: Nest) -> Nest:
    """A way out of blocks, and the loops over these."""
    return replace(nest, target=nest.target + part.target, loops=(*part.loops, *nest.loops))


def _conditions(found: Sequence[Nest]) -> list[Number]:
    """What must be whole lines for the largest of some loops to go past the caches."""
    main = max(filter(_streamable, found), key=work, default=None)
    return _uneven(main) if main is not None else []


def _large(nest: Nest, reach: Number, stream_from: int, conditions: list[Number]) -> bool:
    """Whether stores may go past the caches; of a symbolic reach the call says whether they do."""
    haste = HASTE if isinstance(nest.micro, Transposition) else 1
    far = not isinstance(reach, int) or reach * haste >= stream_from
    return far and all(number in conditions for number in _uneven(nest))


def _streamable(nest: Nest) -> bool:
    return not any(isinstance(number, int) for number in _uneven(nest))


def _uneven(nest: Nest) -> list[Number]:
    """What moves within the target by no multiple of a cache line, as far as is known."""
    strides = [nest.target, *(axis.target for axis in nest.loops), *_within(nest.micro)]
    return list(dict.fromkeys(stride for stride in strides if stride % WIDEST != 0))


def _within(micro: Micro) -> list[Number]:
    match micro:
        case Copy(size) | Move(size):
            return [size]
        case Zip(width=width):
            return [width]
        case Unzip(width=width) | Transposition(width=width):
            return [width, *(stride for count, stride in micro.target if count > 1)]
    return [1]
