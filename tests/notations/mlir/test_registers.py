"""Layouts of registers: their documents' own pictures, and arrays that NumPy cuts as they say."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.mlir import TpuVectorLayout, XegpuLayout
from tests.support.paths import rows
from tests.support.tables import each_row


def test_the_pictures_of_xegpu() -> None:
    """Which subgroup or lane has each block, as the examples and tests of the dialect have it."""
    every = rows("register_layouts.tsv")
    for sizes, text, axis, block, wanted in every:
        shape, cut = (tuple(map(int, each.split("x"))) for each in (sizes, block))
        m = ml.index_map(text, shape)
        at = m.recipe.axis_names.index(axis)
        found = [
            m.physical_coordinates(*(k * n for k, n in zip(place, cut, strict=True)))[at]
            for place in product(*(range(n // c) for n, c in zip(shape, cut, strict=True)))
        ]
        assert found == np.ravel(json.loads(wanted)).tolist(), text
    assert len(every) == 9


def test_xegpu_counts_threads_in_its_order() -> None:
    """The walk in the comment of delinearizeId: 22 of [2,4,4] is layer 1, row 1, column 2."""
    m = ml.index_map("#xegpu.layout<sg_layout = [2, 4, 4], order = [2, 1, 0]>", (2, 4, 4))
    assert m.physical_coordinates(1, 1, 2) == (22, 0)


def _registers(layout: TpuVectorLayout, array: Any) -> Any:
    """The registers that hold an array: padded, cut into slices, tiles, and words, step by step."""
    shape = array.shape
    sizes = {"-2": (*shape[:-1], 1, *shape[-1:]), "-1": (*shape, 1), "-2,-1": (*shape, 1, 1)}
    array = array.reshape(sizes.get(layout.implicit, shape))
    packing, (rows_, columns) = 32 // layout.bits, layout.tile
    tiles = 1024 * packing // (rows_ * columns)
    offsets = [o or 0 for o in layout.offsets]
    for axis, o in ((-2, layout.offsets[0]), (-1, layout.offsets[1])):
        if o is None:
            array = np.take(array, [0], axis)
    ends = [o + n for o, n in zip(offsets, array.shape[-2:], strict=True)]
    slices = rows_, columns * tiles
    whole = [-(-end // n) * n for end, n in zip(ends, slices, strict=True)]
    padded = np.full((*array.shape[:-2], *whole), -1)
    padded[..., offsets[0] : ends[0], offsets[1] : ends[1]] = array
    if layout.offsets[0] is None:
        padded[...] = padded[..., :1, :]
    if layout.offsets[1] is None:
        padded[...] = padded[..., :, :1]
    found = []
    for lead in product(*map(range, padded.shape[:-2])):
        for i, j in product(range(0, whole[0], slices[0]), range(0, whole[1], slices[1])):
            part = padded[lead][i : i + slices[0], j : j + slices[1]]
            folded = [tile.reshape(-1, 128) for tile in np.split(part, tiles, 1)]
            words = np.concatenate(folded).reshape(8, packing, 128)
            found.append(words.transpose(0, 2, 1))
    return np.array(found)


def _drawn(draw: random.Random) -> tuple[TpuVectorLayout, tuple[int, ...]]:
    bits = draw.choice((4, 8, 16, 32))
    packing = 32 // bits
    rows_ = packing * draw.choice((1, 2, 4, 8))
    tile = draw.choice(((rows_, 128), (1, 128 * packing * draw.choice((1, 2, 8)))))
    columns = 1024 * packing // tile[0]
    offsets = tuple(draw.choice((0, 0, None, draw.randrange(n))) for n in (tile[0], columns))
    implicit = draw.choice(("", "", "-1", "-2", "-2,-1"))
    tiled = (draw.randint(1, 3 * tile[0]), draw.randint(1, 2 * columns))
    shape = {"": tiled, "-1": tiled[:1], "-2": tiled[1:], "-2,-1": ()}[implicit]
    return TpuVectorLayout(bits, offsets, tile, implicit), (*[2][: draw.randrange(2)], *shape)


@each_row("seed", range(60), fast=12)
def test_mosaic_registers(seed: int) -> None:
    draw = random.Random(seed)
    layout, shape = _drawn(draw)
    assert ml.parse(str(layout)) == layout
    if not shape:
        return
    array = np.arange(np.prod(shape)).reshape(shape)
    m = ml.index_map(layout, shape)
    wanted = _registers(layout, array).ravel()
    assert m.size == wanted.size
    sample = [tuple(draw.randrange(n) for n in shape) for _ in range(50)]
    sample += [tuple(n - 1 for n in shape), tuple(0 for _ in shape)]
    same = [k - 2 for k, o in enumerate(layout.offsets) if o is None]
    for at in sample:
        first = list(at)
        for k in same:
            ends = {"": k, "-2": -1 if k == -1 else None, "-1": -1 if k == -2 else None}
            if (own := ends.get(layout.implicit)) is not None:
                first[own] = 0
        assert wanted[m(*at)] == array[tuple(first)], (layout, shape, at)
    assert ml.verify(m).holds is not False


@each_row("text, xla", [
    ('#tpu.vpad<"32,{0,0},(8,128)">', "f32[20,300]{1,0:T(8,128)}"),
    ('#tpu.vpad<"16,{0,0},(16,128)">', "bf16[40,300]{1,0:T(16,128)(2,1)}"),
    ('#tpu.vpad<"8,{0,0},(32,128)">', "s8[40,300]{1,0:T(32,128)(4,1)}"),
    ('#tpu.vpad<"32,{0,0},(1,1024),-2">', "f32[3000]{0:T(1024)}"),
    ('#tpu.vpad<"16,{0,0},(1,2048),-2">', "bf16[3000]{0:T(2048)(128)(2,1)}"),
])  # fmt: skip
def test_whole_registers_lie_as_xla_s_tiles(text: str, xla: str) -> None:
    """A load of tiles that fill a register moves no element within it."""
    theirs = ml.index_map(xla)
    ours = ml.index_map(text, theirs.shape)
    assert ours.size == theirs.size
    draw = random.Random(1)
    for _ in range(200):
        at = [draw.randrange(n) for n in theirs.shape]
        assert ours(*at) == theirs(*at)


def _coordinates(layout: XegpuLayout, shape: tuple[int, ...], warp: int, lane: int) -> list[Any]:
    """What a lane of a subgroup has, by computeDistributedCoords, one level after the other."""
    rank = len(shape)
    order = layout.order or tuple(reversed(range(rank)))

    def ids(linear: int, counts: tuple[int, ...]) -> list[int]:
        found = [0] * rank
        for dim in order:
            linear, found[dim] = divmod(linear, counts[dim])
        return found

    def dealt(own: list[int], counts: Any, data: Any, whole: Any) -> Any:
        unit = [min(n, c * d) for n, c, d in zip(whole, counts, data, strict=True)]
        for base in product(*(range(0, n, u) for n, u in zip(whole, unit, strict=True))):
            yield [(b + x * d) % n for b, x, d, n in zip(base, own, data, whole, strict=True)]

    starts: list[Any] = [[0] * rank]
    left: Any = shape
    if layout.sg_layout:
        data = layout.sg_data or tuple(n // c for n, c in zip(left, layout.sg_layout, strict=True))
        starts = [*dealt(ids(warp, layout.sg_layout), layout.sg_layout, data, left)]
        left = data
    if layout.inst_data:
        steps = [*product(*(range(0, n, d) for n, d in zip(left, layout.inst_data, strict=True)))]
        starts = [[a + b for a, b in zip(s, step, strict=True)] for s in starts for step in steps]
        left = layout.inst_data
    if layout.lane_layout:
        data = layout.lane_data or tuple(
            n // c for n, c in zip(left, layout.lane_layout, strict=True)
        )
        own = [*dealt(ids(lane, layout.lane_layout), layout.lane_layout, data, left)]
        starts = [[a + b for a, b in zip(s, step, strict=True)] for s in starts for step in own]
        left = data
    inner = [*product(*map(range, left))]
    return [tuple(a + b for a, b in zip(s, x, strict=True)) for s in starts for x in inner]


@each_row("seed", range(60), fast=12)
def test_xegpu_units(seed: int) -> None:
    """Each place holds the element that the dialect's own loops give it, copies too."""
    draw = random.Random(seed)
    rank = draw.choice((1, 2, 2, 3))
    has_sg, has_inst, has_lanes = draw.choice(
        ((1, 1, 1), (1, 0, 0), (0, 1, 1), (0, 0, 1), (1, 0, 1))
    )

    def some(*numbers: int) -> tuple[int, ...]:
        return tuple(draw.choice(numbers) for _ in range(rank))

    lane_data, lanes, rounds = some(1, 1, 2), some(1, 2, 4), some(1, 2, 3)
    inst = tuple(a * b * c for a, b, c in zip(lane_data, lanes, rounds, strict=True))
    data = tuple(a * b for a, b in zip(inst, some(1, 2), strict=True)) if has_inst else inst
    groups, units = some(1, 2, 4), some(1, 1, 3)
    shares = [draw.choice([d for d in (1, 2, 4) if g % d == 0]) for g in groups]
    shape = tuple(d * g // s * (u if s == 1 else 1)
                  for d, g, s, u in zip(data, groups, shares, units, strict=True))  # fmt: skip
    shape = shape if has_sg else data
    needs_data = any(n > 1 for n in (*shares, *units))
    layout = XegpuLayout(
        groups if has_sg else (),
        data if has_sg and (needs_data or draw.random() < 0.8) else (),
        inst if has_inst else (),
        lanes if has_lanes else (),
        lane_data if has_lanes else (),
        tuple(draw.sample(range(rank), rank))
        if draw.random() < 0.5 and (has_sg or has_lanes)
        else (),
    )
    assert ml.parse(str(layout)) == layout
    m = ml.index_map(layout, shape)
    sizes = dict(zip(m.recipe.axis_names, m.recipe.physical_shape, strict=True))
    place = 0
    for warp, lane in product(range(sizes.get("warp", 1)), range(sizes.get("lane", 1))):
        held = _coordinates(layout, shape, warp, lane)
        assert len(held) == sizes["register"]
        for at in held:
            assert tuple(m.coordinates(place)) == at
            place += 1
    assert place == m.size
    assert ml.verify(m).holds is not False


IREE = "tensor<4xf32, #iree_gpu.gpu_encoding_resolver<configuration = "
WRONG = [
    ('#tpu.vpad<"16,{0,0},(1,128)">', (8, 128), "got 1 by 128"),
    ('#tpu.vpad<"32,{0,0},(4,256)">', (8, 128), "got 4 by 256"),
    ('#tpu.vpad<"24,{0,0},(8,128)">', (8, 128), "got 24"),
    ('#tpu.vpad<"32,{8,0},(8,128)">', (8, 128), "below 8, got 8"),
    ('#tpu.vpad<"32,{0,0}">', (8, 128), "expected bits, offsets and a tile"),
    ('#tpu.vpad<"none">', (8, 128), "the value has no layout"),
    ('#tpu.vpad<"32,{0,0},(8,128)">', (128,), "expected at least 2 sizes"),
    ("#xegpu.layout<lane_layout = [1, 16]>", (8, 24), "which 16 does not divide"),
    ("#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 2]>", (8, 16),
     "8 units, which 16 does not divide"),
    ("#xegpu.layout<sg_layout = [4], sg_data = [18]>", (24,), "which 18 does not divide"),
    ("#xegpu.layout<lane_layout = [1, 16], lane_data = [1]>", (8, 16), "expected 2 numbers"),
    ("#xegpu.layout<lane_data = [1]>", (8,), "expected sg_layout, inst_data or lane_layout"),
    ("#xegpu.layout<inst_data = [8], order = [0]>", (8,), "order without a layout"),
    ("#xegpu.layout<lanes = [1, 16]>", (8, 16), "has no field lanes"),
    ("#xegpu.slice<#xegpu.layout<lane_layout = [1, 16]>, dims = [2]>", (8,), "a slice names"),
    ("!xegpu.tensor_desc<8x16xf16, #xegpu.block_tdesc_attr<array_length = 2 : i64>>", None,
     "several blocks are loaded together"),
    ('vector<16x256xf32, #tpu.vpad<"16,{0,0},(16,128)">>', None, "elements of 16 bits"),
    ('#xegpu.slice<#xegpu.layout<lane_layout = [4]>, dims = ["x"]>', (4,), "another kind of value"),
    ("#xegpu.slice<#xegpu.layout<lane_layout = [4]>, dims = [[0]]>", (4,), "another kind of value"),
    ("#xegpu.layout<lane_layout = [4], lane_layout = [5]>", (4,), "lane_layout is given twice"),
    (f"{IREE}{'[' * 1900}", None, "attributes nest deeper than 100"),
    (f"{IREE}{{encoding_info = {{innerDimsPos = 5, innerTileSizes = [4], outerDimsPerm = [0]}}}}>>",
     None, "another kind of value"),
    ('memref<16x256xf32, #tpu.vpad<"32,{0,0},(8,128)">>', None, "lays out a vector, not a memref"),
]  # fmt: skip


@each_row("text, shape, what", WRONG, ids=[row[0] for row in WRONG])
def test_what_they_refuse(text: str, shape: tuple[int, ...] | None, what: str) -> None:
    with pytest.raises(ml.LayoutError, match="(?s)" + what):
        ml.index_map(text, shape)


@each_row("text", ['#tpu.vpad<"16,{3,*},(16,128)">', "#xegpu.layout<lane_layout = [1, 16]>"])
def test_no_size_is_too_small_or_too_large(text: str) -> None:
    for shape in ((0, 128), (8, 0), (1, 16), (10**6, 16 * 10**6)):
        assert ml.verify(ml.index_map(text, shape)).holds


def test_without_a_shape_the_parts_are_told() -> None:
    said = str(ml.explain("#xegpu.layout<lane_layout = [1, 16]>"))
    assert "lane_layout = [1, 16]  lanes of a subgroup" in said
    assert "all columns are the same" in str(ml.explain('#tpu.vpad<"32,{0,*},(8,128)">'))
