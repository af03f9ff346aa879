"""What a relayout does, before it is written in any language: loops over exact boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from morello_layouts.codegen.kernel.boxes import Axis, Box, element_boxes, padding_boxes
from morello_layouts.codegen.kernel.digits import common_digits, digits_of
from morello_layouts.codegen.kernel.fusion import Tree, fused
from morello_layouts.codegen.kernel.micro import (
    Copy,
    Micro,
    Move,
    Transposition,
    Unzip,
    Zip,
    offsets,
)
from morello_layouts.codegen.kernel.plan import (
    SMALL_BLOCK,
    TARGET_BLOCK,
    WIDEST,
    Nest,
    fill_nest,
    nests,
)
from morello_layouts.errors import ShapeError
from morello_layouts.recipe import Recipe, known

__all__ = ["STREAM_FROM", "Apart", "Kernel", "Moves", "boxes_of", "moves_of"]

# Bytes of a target from which stores go past the caches. Transpositions write to many places at
# once, and gain from it at a quarter of that.
STREAM_FROM = 1 << 23
_HASTE = 4


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
    """

    source: Recipe
    target: Recipe
    itemsize: int
    fill: bytes | None = None
    name: str = "relayout"
    comment: str = ""


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
        apart: the recipes, where no loops over digits serve both.
    """

    itemsize: int
    fill: bytes | None
    fills: tuple[Nest, ...]
    nests: tuple[Nest, ...]
    apart: Apart | None

    @property
    def trees(self) -> tuple[Tree, ...]:
        """All loops, those that several have around them."""
        return fused((*self.fills, *self.nests))

    @property
    def streams(self) -> bool:
        """Whether some stores go past the caches where the target starts at a cache line."""
        return any(nest.stream for nest in self.nests)


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
    shape, (size, tail) = known(source.shape), known((target.size, target.tail_padding))
    if 0 in shape and size == tail:
        return [], [Box(0, 0, (Axis(tail, 0, 1),))] if tail else []
    a, b = digits_of(source), digits_of(target)
    mixed = common_digits(a, b) if a and b else None
    elements = None if mixed is None else element_boxes(shape, mixed)
    padding = padding_boxes(b, tail, size) if b else None
    if padding is None:
        return None, [Box(0, 0, (Axis(size, 0, 1),))]
    return elements, padding


def moves_of(kernel: Kernel, stream_from: int = STREAM_FROM) -> Moves:
    """The loops from one layout's buffer to the other's.

    Args:
        kernel: what is asked for.
        stream_from: bytes of a target from which stores go past the caches.
    """
    source, target, itemsize, fill = kernel.source, kernel.target, kernel.itemsize, kernel.fill
    elements, padding = boxes_of(source, target)
    (size,) = known((target.size,))
    reach = size * itemsize
    block = TARGET_BLOCK if reach * _HASTE >= stream_from else SMALL_BLOCK
    found = [nest for box in elements or () for nest in nests(box, itemsize, block)]
    fills = () if fill is None else tuple(fill_nest(box, itemsize) for box in padding)
    found = [replace(nest, stream=_large(nest, reach, stream_from)) for nest in found]
    empty = 0 in known(source.shape)
    apart = Apart(source, target) if elements is None and not empty else None
    return Moves(itemsize, fill, fills, tuple(found), apart)


def _large(nest: Nest, reach: int, stream_from: int) -> bool:
    haste = _HASTE if isinstance(nest.micro, Transposition) else 1
    return reach * haste >= stream_from and _aligned(nest)


def _aligned(nest: Nest) -> bool:
    """Whether every store is of whole cache lines, the target's start being one."""
    strides = [nest.target, *(axis.target for axis in nest.loops), *_within(nest.micro)]
    return all(stride % WIDEST == 0 for stride in strides)


def _within(micro: Micro) -> list[int]:
    match micro:
        case Copy(size) | Move(size):
            return [size]
        case Zip(width=width):
            return [width]
        case Unzip(width=width) | Transposition(width=width):
            return [width, *offsets(micro.target)]
    return [1]
