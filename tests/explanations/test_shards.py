"""What each device holds, against counting element by element."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest
from sympy import sympify

import morello_layouts as ml
from tests.support.tables import each_row

TEXTS = (
    "f32[10,16]{1,0:T(8,128)}, {devices=[4,2]<=[8]}",
    "f32[5,7], {devices=[8,1,2]<=[2,8]T(1,0) last_tile_dim_replicate}",
    "f32[7], {devices=[4]3,1,0,2}",
    "f32[13], mesh={'x': 2, 'y': 3}, spec=P(('y', 'x'))",
    'f32[5,3], #sdy.sharding<mesh<["a"=2, "b"=4]>, [{"b":(2)2}, {}]>',
    "f32[11], placements=(_StridedShard(dim=0, sf=2), Shard(dim=0)), mesh=(dp=2, tp=2)",
    "f32[9,4], placements=(Shard(dim=0), Replicate()), mesh=(dp=4, tp=2)",
    "f64[20,9], (CYCLIC(3, first=1), BLOCK) ONTO (2, 4)",
    "f32[7,3], (CYCLIC, *) ONTO (3)",
    "desc=[1, 0, 20, 9, 4, 2, 1, 0, 12], grid=(2, 3)",
    "f32[17,5], [Shard(0), Shard(0), Shard(1), Shard(0)], mesh=(2, 3, 2, 2)",
    "f32[11,4], (GEN_BLOCK(2, 0, 9, 1), BLOCK) ONTO (4, 3)",
)


def counted(m: ml.IndexMap) -> Counter[int]:
    """The elements on each device, each looked at by itself."""
    found: Counter[int] = Counter()
    for at in np.ndindex(*m.shape):
        found.update(place["device"] for place in m.place(*at).holders)
    return found


def at_sizes(value: Any, sizes: dict[str, int]) -> Any:
    """The value of an expression at sizes of its symbols."""
    return sympify(value).subs(
        {symbol: sizes[str(symbol)] for symbol in sympify(value).free_symbols}
    )


@each_row("text", TEXTS)
def test_counts(text: str) -> None:
    m, found = ml.index_map(text), ml.shards(text)
    on = counted(m)
    assert {*on} <= {*range(found.devices)}
    assert sum(on.values()) == np.prod(m.shape) * found.copies
    assert max(on.values()) == found.largest
    assert found.devices - len(on) == found.empty
    assert found.imbalance * sum(on.values()) == found.largest * found.devices
    if found.buffer_bytes is not None:
        bits = 64 if "f64" in text else 32
        assert found.buffer_bytes == m.physical_shape[1] * bits // 8
    layout = ml.parse(text)
    sharding: Any = layout.placement.sharding(len(m.shape))
    for device in range(found.devices):
        at = dict(zip(sharding.mesh.names, sharding.mesh.coordinate(device), strict=True))
        held = [int(at_sizes(h, at)) for h in found.held]
        assert held == [*sharding.local_shape(m.shape, device)]
        assert int(np.prod(held)) == on[device]


@each_row("text", TEXTS)
def test_a_device_holds_what_places_say(text: str) -> None:
    m, found = ml.index_map(text), ml.shards(text)
    numbers, is_own = np.arange(int(np.prod(m.shape))).reshape(m.shape), "Shard" in text
    there: dict[int, dict[int, int]] = {device: {} for device in range(found.devices)}
    for number, at in enumerate(np.ndindex(*m.shape)):
        for place in m.place(*at).holders:
            there[place["device"]][number] = place["offset"]
    for device, offsets in there.items():
        part = m.local(device)
        assert part.shape == tuple(map(len, part.indices))
        own = numbers[np.ix_(*part.indices)]
        assert [*own.reshape(-1)] == sorted(offsets)
        if own.size and not is_own and "ONTO" not in text:
            assert [*part.map.table().reshape(-1)] == [offsets[x] for x in own.reshape(-1)]
        with suppress(ml.UnsupportedError):
            assert (numbers[part.index] == own).all()


def chunks(x: Any, counts: list[int]) -> list[Any]:
    """What ``torch.chunk`` of chunks gives: parts of the ceiling, a smaller one, and none."""
    for n in counts:
        size = -(-len(x) // n)
        yield_from = [x[k * size : (k + 1) * size] for k in range(n)]
        return [part for each in yield_from for part in chunks(each, counts[1:])]
    return [x]


def test_a_chunk_of_an_uneven_chunk_is_cut_by_its_own_size() -> None:
    for n, counts in product(range(1, 40), ([2, 2], [3, 2], [2, 4, 3])):
        words, mesh = ", ".join(["Shard(0)"] * len(counts)), ", ".join(map(str, counts))
        m = ml.index_map(f"f32[{n}], placements=[{words}], mesh=({mesh})")
        wanted = [[*part] for part in chunks(np.arange(n), counts)]
        assert [[*m.local(k).indices[0]] for k in range(len(wanted))] == wanted
        assert n % 7 or ml.verify(m).holds


def test_numbers_of_lists_must_fit() -> None:
    for text in ("f32[9], (GEN_BLOCK(4, 4)) ONTO 2", "f32[9], (GEN_BLOCK(9)) ONTO 2"):
        with pytest.raises(ml.LayoutError, match="expected 2 sizes that add up to 9"):
            ml.index_map(text)


@each_row(
    ("text", "values"),
    [
        ("f32[M,N]{1,0:T(8,128)}, mesh={'x': 8}, spec=P('x')", {"M": 21, "N": 5}),
        ("f32[M,N], mesh={'x': X, 'y': Y}, spec=P('x', 'y')", {"M": 7, "N": 9, "X": 2, "Y": 4}),
        ("f32[M], mesh={'x': X, 'y': 2}, spec=P('x')", {"M": 10, "X": 4}),
        ("f64[N], (CYCLIC(4)) ONTO (P)", {"N": 27, "P": 3}),
    ],
)
def test_formulas_for_all_sizes_are_those_of_each(text: str, values: dict[str, int]) -> None:
    """What holds for all sizes is, at numbers, what counting says."""
    m = ml.index_map(text)
    assert ml.verify(m).holds
    there, found = m.at(**values), ml.shards(text)
    on = counted(there)
    devices = there.physical_shape[0]
    assert at_sizes(found.largest, values) == max(on.values())
    assert at_sizes(found.empty, values) == devices - len(on)
    assert at_sizes(found.devices, values) == devices
    assert set(there.place(0, *(0,) * (len(m.shape) - 1)).holders[0]) == {"device", "offset"}


@each_row(
    ("text", "blocks", "n"),
    [
        (
            "f32[N], mesh={'x': 8}, spec=P('x')",
            32,
            (1, 2, 3, 8, 9, 31, 32, 33, 225, 248, 249, 255, 256, 257, 300, 505, 512),
        ),
        (
            "f32[N], (CYCLIC(48)) ONTO (2)",
            32,
            (1, 2, 47, 48, 49, 63, 64, 65, 96, 97, 128, 129, 192),
        ),
        (
            "f32[N], (CYCLIC(64)) ONTO (2)",
            32,
            (1, 2, 47, 48, 49, 63, 64, 65, 96, 97, 128, 129, 192),
        ),
    ],
)
def test_borders_in_blocks(text: str, blocks: int, n: tuple[int, ...]) -> None:
    """A border cuts a block if its first and its last element are on different devices."""
    (cut,) = ml.shards(text, blocks=[blocks]).cuts
    wrong = []
    for size in n:
        device = ml.index_map(text.replace("[N]", f"[{size}]")).device(np.arange(size))
        starts = np.arange(size) // blocks
        is_cut = any(len({*device[starts == k]}) > 1 for k in range(starts[-1] + 1))
        (one,) = ml.shards(text.replace("[N]", f"[{size}]"), blocks=[blocks]).cuts
        stated = at_sizes(sympify(cut.is_cut), {"N": size})
        if one.is_cut != is_cut or bool(stated) != is_cut:
            wrong.append((size, is_cut, one.is_cut, stated))
        if is_cut:
            assert cut.first is not None
            assert cut.first <= size
    assert not wrong


def test_one_device_has_no_borders() -> None:
    assert not ml.shards("f32[6], (CYCLIC(5)) ONTO (1)", blocks=[3]).cuts[0].is_cut
    strided = "f32[4], placements=(_StridedShard(dim=0, sf=4),), mesh=(x=2)"
    assert not ml.shards(strided, blocks=[2]).cuts[0].is_cut


def test_empty_arrays_and_empty_devices() -> None:
    empty = ml.shards("f32[0,3]{1,0:T(2,4)}, {devices=[4,1]<=[4]}")
    assert (empty.room, empty.buffer_bytes, empty.empty) == ((0, 3), 0, 4)
    one = ml.shards("f32[16], {maximal device=2}")
    assert (one.devices, one.empty, one.imbalance) == (3, 2, 3)


@each_row(
    ("text", "held"),
    [
        ("f32[7], (GEN_BLOCK(3, 4)) ONTO (2)", "3 if p == 0 else 4"),
        ("f32[N], mesh={'x': 8}, spec=P('x')", "max(0, min(N - x*ceil(N/8), ceil(N/8)))"),
    ],
)
def test_formulas_are_told_in_words_of_the_package(text: str, held: str) -> None:
    assert f"  held     {held}\n" in str(ml.shards(text))
