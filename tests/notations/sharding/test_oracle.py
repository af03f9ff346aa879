"""Shardings against what the systems themselves say: JAX, XLA, ScaLAPACK and torch."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.notations.sharding import HloSharding, ShardedLayout
from morello_layouts.notations.sharding.reader import parse_sharding
from tests.support.paths import lines, rows
from tests.support.tables import each_row


def entry(axes: list[str] | None) -> str:
    if axes is None:
        return "None"
    return repr(axes[0]) if len(axes) == 1 else f"({', '.join(map(repr, axes))})"


@each_row("row", rows("jax_shardings.jsonl.xz"), fast=12)
def test_jax_says_the_same_slices(row: dict[str, Any]) -> None:
    mesh = dict(zip(row["axes"], row["mesh"], strict=True))
    array = f"f32[{','.join(map(str, row['shape']))}]"
    spec = f"mesh={mesh}, devices={row['devices']}, spec=P({', '.join(map(entry, row['spec']))})"
    m = ml.index_map(f"{array}, {spec}")
    at = np.indices(row["shape"])
    first = m.device(*at)
    copies = len(row["devices"]) // prod_of_parts(row)
    assert m.recipe.replicas == copies
    for device, slices in row["slices"].items():
        box = tuple(slice(*one) for one in slices)
        corner = tuple(s[0] for s in slices)
        holders = {place["device"] for place in m.place(*corner).holders}
        assert int(device) in holders
        assert len({*first[box].reshape(-1)}) == 1
        assert len(holders) == copies
        last = tuple(s[1] - 1 for s in slices)
        there = m.offset(*last)
        assert m.element(device=int(device), offset=there) == last
    # JAX gives HLO positions in its mesh, not the numbers of its devices.
    hlo = ml.index_map(f"{array}, sharding={row['hlo']}, num_partitions={len(row['devices'])}")
    places = np.asarray(row["devices"])[hlo.device(*at)]
    if copies == 1:
        assert np.array_equal(places, first)


def prod_of_parts(row: dict[str, Any]) -> int:
    return int(np.prod([n // (s[1] - s[0]) for n, s in zip(row["shape"], box(row), strict=True)]))


def box(row: dict[str, Any]) -> Any:
    return next(iter(row["slices"].values()))


@each_row("row", [row for row in rows("hlo_sharding_text.jsonl") if row["devices"]])
def test_xla_lists_the_same_devices(row: dict[str, Any]) -> None:
    layout = parse_sharding(row["text"])
    assert isinstance(layout, ShardedLayout)
    assert isinstance(layout.placement, HloSharding)
    if "maximal" in row["text"]:
        assert ml.index_map(layout, (3,)).device(2) == row["devices"][0]
        return
    shape = row["dims"][:-1] if row["last_replicated"] else row["dims"]
    m = ml.index_map(layout, shape)
    tiles = [m.place(*at) for at in product(*map(range, shape))]
    assert [p["device"] for place in tiles for p in place.holders] == row["devices"]


@each_row("line", lines("scalapack_block_cyclic.tsv.xz"))
def test_scalapack_has_the_same_owners_and_sizes(line: str) -> None:
    n, nb, src, count, *lists = line.split("\t")
    owners, local, sizes = ([int(x) for x in one.split(",")] for one in lists)
    m = ml.index_map(f"n={n}, nb={nb}, src={src}, P={count}")
    at = np.arange(int(n))
    assert m.device(at).tolist() == owners
    assert m.offset(at).tolist() == local
    layout = parse_sharding(f"f64[{n}], CYCLIC({nb}, first={src}) ONTO {count}")
    assert isinstance(layout, ShardedLayout)
    sharding = layout.placement.sharding(1)
    assert [sharding.local_shape((int(n),), p)[0] for p in range(int(count))] == sizes


@each_row("row", rows("torch_dtensor_splits.jsonl.xz"))
def test_torch_has_the_same_parts_where_it_is_right(row: dict[str, Any]) -> None:
    n, factor, count = row["n"], row["split_factor"] or 1, row["chunks"]
    m = ml.index_map(f"f32[{n}], [_StridedShard(0, split_factor={factor})], mesh=({count})")
    size = m.physical_shape[1]
    ours = [
        [x[0] for p in range(size) if (x := m.element(device=d, offset=p))] for d in range(count)
    ]
    assert ours == unflattened(n, factor, count)
    if ours != row["local"]:
        # pytorch#168134: torch is wrong only if parts are uneven and strided.
        assert factor > 1
        assert n % (factor * count)
        assert any("168134" in note for note in m.warnings)


def unflattened(n: int, factor: int, count: int) -> list[list[int]]:
    """What pytorch#168134 asks for: unflatten with padding, chunk the columns, flatten."""
    width = -(-n // factor)
    step = -(-width // count)
    padded = np.full(factor * width, -1)
    padded[:n] = np.arange(n)
    columns = [padded.reshape(factor, width)[:, d * step : (d + 1) * step] for d in range(count)]
    return [[int(x) for x in part.reshape(-1) if x >= 0] for part in columns]
