"""Shardings against what the systems themselves say: JAX, XLA, ScaLAPACK and torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

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


def strided(mesh: Sequence[int], factors: Sequence[int]) -> str:
    words = (f"_StridedShard(0, split_factor={f})" if f > 1 else "Shard(0)" for f in factors)
    return f"[{', '.join(words)}], mesh=({', '.join(map(str, mesh))})"


def parts(text: str) -> list[list[int]]:
    """The elements of each device, in the order of its buffer."""
    m = ml.index_map(text)
    devices, size = m.physical_shape
    places = [[m.element(device=d, offset=p) for p in range(size)] for d in range(devices)]
    return [[x[0] for x in row if x] for row in places]


def test_orders_in_which_torch_cuts_a_dimension() -> None:
    """DTensorSpec's placements for an order of the mesh's axes cut it in that order."""
    for line in lines("torch_shard_orders.tsv"):
        mesh, order, factors = ([int(x) for x in part.split(",")] for part in line.split("\t"))
        n, wanted = 2 * prod(mesh), []
        for at in product(*map(range, mesh)):
            held = np.arange(n)
            for axis in order:
                held = np.split(held, mesh[axis])[at[axis]]
            wanted.append(held.tolist())
        assert parts(f"f32[{n}], {strided(mesh, factors)}") == wanted


UNEVEN = [
    (13, (3, 2), (8, 1)), (26, (2, 2), (4, 1)), (31, (4, 3), (6, 1)), (17, (1, 2, 2), (4, 2, 1)),
    (38, (1, 2), (8, 1)), (31, (4, 3, 2), (6, 2, 1)), (17, (2, 4), (8, 1)), (29, (2, 2), (2, 2)),
    (24, (2, 2, 2), (2, 4, 1)), (31, (2, 2, 2, 2), (2, 4, 1, 1)), (16, (2, 1, 2), (2, 8, 2)),
]  # fmt: skip


@each_row("n, mesh, factors", UNEVEN)
def test_pieces_with_padding_are_cut_again(
    n: int, mesh: tuple[int, ...], factors: tuple[int, ...]
) -> None:
    held: dict[tuple[int, ...], np.ndarray] = {(): np.arange(n)}
    for count, factor in zip(mesh, factors, strict=True):
        held = {(*at, d): part for at, own in held.items()
                for d, part in enumerate(columns(own, factor, count))}  # fmt: skip
    wanted = [[x for x in held[at].tolist() if x >= 0] for at in product(*map(range, mesh))]
    assert parts(f"f32[{n}], {strided(mesh, factors)}") == wanted


def columns(held: np.ndarray, factor: int, count: int) -> list[np.ndarray]:
    """Unflatten with padding to rows, chunk the columns, flatten; -1 is padding."""
    width = -(-len(held) // factor)
    step = -(-width // count)
    rows_ = np.full((factor, step * count), -1)
    rows_[:, :width] = np.append(held, np.full(factor * width - len(held), -1)).reshape(factor, -1)
    return [rows_[:, d * step : (d + 1) * step].reshape(-1) for d in range(count)]


def unflattened(n: int, factor: int, count: int) -> list[list[int]]:
    """What pytorch#168134 asks for, without the padding."""
    parts = columns(np.arange(n), factor, count)
    return [[x for x in part.tolist() if x >= 0] for part in parts]


def test_rows_that_cross_pieces_are_refused() -> None:
    """Pieces of an odd number of elements, of which later factors want two rows, or two again."""
    for n, mesh, factors in ((12, (2, 2, 2), (2, 4, 1)), (28, (2, 1, 2), (2, 8, 2))):
        with pytest.raises(ml.LayoutError, match="elements are cut again in"):
            parts(f"f32[{n}], {strided(mesh, factors)}")
