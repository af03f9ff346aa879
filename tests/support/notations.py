"""Random layouts of each notation at shapes, many of them with their places by NumPy alone.

Some have padding, gaps, replicas, or elements that share a slot. What ``tests/fuzz/layouts.py``
draws is drawn here, too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from math import prod
from random import Random
from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume, strategies as st

import morello_layouts as ml
from morello_layouts.core.recipe import known
from morello_layouts.notations.coordinates import ORDERS
from morello_layouts.notations.cute import CuteLayout, Static
from morello_layouts.notations.cute.layout import flatten
from morello_layouts.notations.mlir import MlirPack
from morello_layouts.notations.onednn import OnednnLayout
from tests.fuzz import layouts as fuzz
from tests.support.sharding_texts import sharded_array
from tests.support.xla_strategies import small_arrays


class Case(NamedTuple):
    """A layout at a shape.

    Attributes:
        layout: the layout, or its text.
        shape: sizes of the array.
        places: the slots of each element, row-major, a row for each; None if only the package
            knows them.
        size: the slots of the buffer; None likewise.
        notation: the name that its text is read by.
    """

    layout: Any
    shape: tuple[int, ...]
    places: Any = None
    size: int | None = None
    notation: str | None = None


def at_offsets(layout: Any, shape: Any, offsets: Any, size: Any, notation: Any = None) -> Case:
    """Return a case of one place for each element."""
    return Case(layout, tuple(shape), np.asarray(offsets).reshape(-1, 1), size, notation)


def packed(layout: Any, array: Any, buffer: Any, notation: str | None = None) -> Case:
    """Return a case from a buffer that holds the numbers of an array from 1 on, and 0."""
    slots = np.empty(array.size, np.int64)
    slots[buffer[buffer > 0] - 1] = np.flatnonzero(buffer)
    return at_offsets(layout, array.shape, slots, buffer.size, notation)


def from_one(shape: tuple[int, ...]) -> Any:
    return np.arange(1, prod(shape) + 1).reshape(shape)


def of(family: Callable[[Random, bool], tuple[fuzz.Drawn, fuzz.Drawn]]) -> Any:
    """Return the strategy of a family of layouts, without formulas."""

    def drawn(random: Random) -> Case:
        found, _ = family(random, False)
        assume(isinstance(found.source, str))
        places, size = found.places({})
        return Case(found.source, found.shape, places, size)

    return st.randoms(use_true_random=False).map(drawn)


FIXED = st.one_of(
    st.sampled_from([2, 3, 4, 5]).map(ml.morello.Packed),
    st.sampled_from([2, 4, 6]).map(ml.morello.OddEven),
)


@st.composite
def logical_dims(draw: st.DrawFn) -> Any:
    """The physical dimensions of one logical dimension, outermost first, and a size they fit."""
    physes: Any = draw(st.lists(FIXED, max_size=3))
    size = prod(phys.size for phys in physes)
    clipped = bool(physes) and draw(st.booleans())
    if clipped:  # the outermost takes less than its size
        outermost = physes[0]
        most: Any = outermost.size if isinstance(outermost, ml.morello.Packed) else 1
        size = size // outermost.size * draw(st.integers(1, most))
    if draw(st.booleans()):
        physes = [ml.morello.Dynamic(), *physes]
        size *= 1 if clipped else draw(st.integers(1, 4))
    return physes, size


@st.composite
def morello(draw: st.DrawFn, largest: int = 400) -> Any:
    """A layout, all of it contiguous, and a shape that it fits."""
    columns = draw(st.lists(logical_dims(), min_size=1, max_size=3))
    shape = tuple(size for _, size in columns)
    assume(prod(shape) <= largest)
    order = draw(st.permutations([d for d, (physes, _) in enumerate(columns) for _ in physes]))
    next_of = [iter(physes) for physes, _ in columns]
    return Case(ml.MorelloLayout([(dim, next(next_of[dim])) for dim in order]), shape)


@st.composite
def cute(draw: st.DrawFn) -> CuteLayout:
    """Nested layouts, some of them with overlaps and gaps."""
    sizes = st.integers(1, 4).map(lambda n: n if draw(st.booleans()) else Static(n))
    shape = draw(st.recursive(sizes, lambda t: st.lists(t, min_size=1, max_size=3), max_leaves=5))
    strides = draw(st.lists(st.integers(0, 12), min_size=8, max_size=8))
    if draw(st.booleans()):
        order, stride = draw(st.permutations(range(len(flatten(tupled(shape)))))), 1
        for k in order:
            strides[k], stride = stride, stride * flatten(tupled(shape))[k]
    left = iter(strides)

    def stride_of(t: Any) -> Any:
        return tuple(map(stride_of, t)) if isinstance(t, tuple) else next(left)

    return CuteLayout(tupled(shape), stride_of(tupled(shape)))


def tupled(t: Any) -> Any:
    return tuple(map(tupled, t)) if isinstance(t, list) else t


def counted(layout: CuteLayout) -> dict[tuple[int, ...], int]:
    """The offset of each coordinate: digits counted one by one, the first fastest."""
    modes = []
    for mode in layout.modes:
        sizes = [range(int(n)) for n, _ in reversed(mode.leaves)]
        strides = [int(d) for _, d in reversed(mode.leaves)]
        modes.append([sum(map(int.__mul__, at, strides)) for at in product(*sizes)])
    ranges = [range(len(offsets)) for offsets in modes]
    return {at: sum(m[x] for m, x in zip(modes, at, strict=True)) for at in product(*ranges)}


def of_cute(layout: CuteLayout) -> Case:
    offsets = [*counted(layout).values()]
    shape = tuple(int(mode.size) for mode in layout.modes)
    return at_offsets(layout, shape, offsets, max(offsets) + 1, "cute")


@st.composite
def onednn(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(1, 4))
    order = draw(st.permutations(range(rank)))
    pairs = st.tuples(st.integers(0, rank - 1), st.integers(1, 4))
    blocks = tuple(draw(st.lists(pairs, max_size=4)))
    names = draw(st.sampled_from(["abcd"[:rank], *(n for n in ORDERS if len(n) == rank)]))
    array = from_one(draw(st.tuples(*[st.integers(1, 7)] * rank)))
    buffer = blocked(array, [*((k, 0) for k in order), *blocks])
    return packed(OnednnLayout(tuple(order), blocks, names), array, buffer)


def blocked(array: Any, axes: Any) -> Any:
    """The buffer by NumPy: pad, reshape into blocks, transpose; 0 in padding.

    Axes are dimensions with the size of a block, outermost first; 0 for the rest.
    """
    nested = [[n for dim, n in axes if dim == k and n] for k in range(array.ndim)]
    counts = [-(-n // prod(sizes)) for n, sizes in zip(array.shape, nested, strict=True)]
    rooms = zip(array.shape, nested, counts, strict=True)
    padded = np.pad(array, [(0, prod(sizes) * count - n) for n, sizes, count in rooms])
    levels = [(k, level) for k, sizes in enumerate(nested) for level in range(len(sizes) + 1)]
    split = padded.reshape([[counts[k], *nested[k]][level] for k, level in levels])
    seen, order = [0] * array.ndim, []
    for dim, n in axes:
        seen[dim] += bool(n)
        order.append((dim, seen[dim] if n else 0))
    return split.transpose([levels.index(axis) for axis in order]).reshape(-1)


@st.composite
def tvm(draw: st.DrawFn) -> Case:
    """Capitals and factors, these before their capitals too."""
    rank = draw(st.integers(1, 3))
    factor = st.tuples(st.integers(0, rank - 1), st.integers(1, 4))
    factors = draw(st.lists(factor, min_size=1, max_size=3))
    axes = draw(st.permutations([*((dim, 0) for dim in range(rank)), *factors]))
    text = "".join("ABC"[dim] if not n else f"{n}{'abc'[dim]}" for dim, n in axes)
    array = from_one(draw(st.tuples(*[st.integers(1, 6)] * rank)))
    return packed(text, array, blocked(array, axes), "tvm")


@st.composite
def index_maps(draw: st.DrawFn) -> Case:
    """An index map of digits and sums of them, most not injective."""

    def digit() -> str:
        text = draw(st.sampled_from(["i", "j", "(3*i + j)", "(i + 2*j)"]))
        text += draw(st.sampled_from(["", "", "//2", "//3"]))
        return text + draw(st.sampled_from(["", "", "%2", "%3"]))

    def result() -> str:
        parts = [digit() for _ in range(draw(st.integers(1, 2)))]
        return " + ".join(f"{draw(st.integers(1, 4))}*({part})" for part in parts)

    results = [result() for _ in range(draw(st.integers(1, 3)))]
    text = f"lambda i, j: ({', '.join(results)},)"
    shape = draw(st.tuples(*[st.integers(1, 5)] * 2))
    places = [eval(text)(*at) for at in np.ndindex(*shape)]  # made above
    layout: Any = ml.parse(text)
    box = layout.box(shape)
    offsets = [int(np.ravel_multi_index(place, box)) for place in places]
    return at_offsets(text, shape, offsets, prod(box))


@st.composite
def formulas(draw: st.DrawFn) -> Case:
    """The formula of an offset, with names of its own or those that need none."""
    shape = draw(st.tuples(*[st.integers(1, 5)] * 2))
    steps = draw(st.tuples(*[st.integers(0, 9)] * 2))
    unit = draw(st.integers(1, 4))
    i, j = names = draw(st.sampled_from([("i", "j"), ("d0", "d1"), ("row", "col")]))
    text = f"{steps[0]}*{i} + {steps[1]}*({j}//{unit}) + {j}%{unit}"
    if i == "row" or draw(st.booleans()):
        text = f"{', '.join(names)} -> {text}"
    grid = np.indices(shape).reshape(2, -1)
    offsets = steps[0] * grid[0] + steps[1] * (grid[1] // unit) + grid[1] % unit
    return at_offsets(text, shape, [*map(int, offsets)], int(offsets.max()) + 1)


@st.composite
def packs(draw: st.DrawFn) -> Case:
    array = from_one(tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))))
    dims = draw(st.permutations(range(array.ndim)))[: draw(st.integers(0, array.ndim))]
    order = tuple(draw(st.permutations(range(array.ndim)))) if draw(st.booleans()) else ()
    pack = MlirPack(tuple(dims), tuple(draw(st.integers(1, 9)) for _ in dims), order)
    axes = [(k, 0) for k in order or range(array.ndim)]
    axes += zip(dims, known(pack.inner_tiles), strict=True)
    return packed(pack, array, blocked(array, axes))


@st.composite
def strided(draw: st.DrawFn, memref: bool = False) -> Case:
    """Strides that may overlap, leave gaps or run backwards."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    strides = tuple(draw(st.integers(-6, 12)) for _ in shape)
    start = draw(st.integers(0, 4))
    start -= sum(min(0, s * (n - 1)) for s, n in zip(strides, shape, strict=True))
    text = f"strided<{list(strides)}, offset: {start}>"
    if memref:
        text = f"memref<{'x'.join(map(str, shape))}xf32, {text}>"
    offsets = [start + sum(map(operator.mul, at, strides)) for at in np.ndindex(*shape)]
    return at_offsets(text, shape, offsets, max(offsets) + 1)


LAYOUTS: dict[str, st.SearchStrategy[Case]] = {
    "morello": morello(),
    "xla": small_arrays().map(lambda array: Case(array, array.shape)),
    "XLA's tiles": of(fuzz.tiled),
    "cute": cute().map(of_cute),
    "swizzles": of(fuzz.nested),
    "onednn": onednn(),
    "tvm": tvm(),
    "index maps": index_maps(),
    "formula": formulas(),
    "pack": packs(),
    "memref": strided(memref=True),
    "strided": strided(),
    "blocks": of(fuzz.blocked),
    "physical dimensions": of(fuzz.packed),
    "boxes": of(fuzz.boxes),
    "named": of(fuzz.named_format),
    "einops": of(fuzz.einops),
    "triton": of(fuzz.bits),
    "sharding": of(fuzz.sharded),
    "shardings": st.randoms(use_true_random=False).map(
        lambda random: Case(sharded_array(random), None)  # type: ignore[arg-type]
    ),
    "fragment": st.sampled_from(ml.fragments()).map(lambda text: Case(text, None)),  # type: ignore[arg-type]
}
"""What draws a layout, by its notation or what it is; swizzles, tiles and shardings by two."""
