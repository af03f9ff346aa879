"""Texts and objects of shardings: what is read, printed, and refused with a caret."""

from __future__ import annotations

from types import SimpleNamespace as Object

import numpy as np
import pytest

import morello_layouts as ml

X = "f32[8,16]"


def test_a_tuple_has_a_sharding_for_each_array() -> None:
    found = ml.parse("(f32[8], s32[4]), sharding={{devices=[2]<=[2]}, {replicated}}")
    first, second = (layout for _, layout in found.arrays())
    assert ml.index_map(first).device(5) == 1
    assert ml.index_map(second).device(3) == 0
    assert ml.parse(str(found)) == found


def test_torch_cuts_parts_by_their_own_sizes() -> None:
    """Names of sizes are assumed to divide: blocks of two sizes are refused."""
    whole = ml.index_map("f32[5], [Shard(0), Shard(0)], mesh=(2, 1)")
    assert whole.device(np.arange(5)).tolist() == [0, 0, 0, 1, 1]
    m = ml.index_map("f32[N], [Shard(0), Shard(0)], mesh=(2, 2)")
    assert [str(one) for one in m.assumptions] == ["4 divides N"]
    assert m.at(N=8).device(np.arange(8)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_systems_that_agree_are_proved_equal() -> None:
    texts = (
        "{devices=[2,1,4]<=[8] last_tile_dim_replicate}",
        "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}",
        "mesh={'x': 2, 'y': 4}, spec=P('x')",
        '#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x"}, {}]>',
        "placements=(Shard(dim=0), Replicate()), mesh=(dp=2, tp=4)",
    )
    first = f"f32[10,6], {texts[0]}"
    for text in texts[1:]:
        assert ml.are_equivalent(first, f"f32[10,6], {text}").holds, text
    other = "f32[10,6], {devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"
    assert ml.are_equivalent(first, other).holds is False


def test_objects_of_jax() -> None:
    devices = np.array([Object(id=k) for k in (3, 1, 2, 0)]).reshape(2, 2)
    mesh = Object(axis_names=("x", "y"), axis_sizes=(2, 2), devices=devices)
    named = Object(mesh=mesh, spec=(("y", "x"), None))
    found = ml.sharding(named, "bf16[8,16]{1,0:T(8,128)(2,1)}")
    text = "mesh={'x': 2, 'y': 2}, devices=[3, 1, 2, 0], spec=P(('y', 'x'), None)"
    assert str(found) == f"bf16[8,16]{{1,0:T(8,128)(2,1)}}, {text}"
    array = Object(sharding=named, shape=(8, 16), dtype="bfloat16")
    assert str(ml.sharding(array)) == f"bf16[8,16]{{1,0}}, {text}"
    assert ml.index_map(ml.sharding(named, (8, 16))).device(2, 0) == 2


def test_objects_of_torch() -> None:
    class Shard:
        def __init__(self, dim: int) -> None:
            self.dim = dim

    class Partial:
        pass

    mesh = Object(mesh=np.arange(4).reshape(2, 2), mesh_dim_names=("dp", "tp"))
    array = Object(
        device_mesh=mesh, placements=[Shard(0), Partial()], shape=(9, 3), dtype="torch.float32"
    )
    found = ml.sharding(array)
    assert str(found) == "f32[9,3]{1,0}, placements=(Shard(dim=0), Partial()), mesh=(dp=2, tp=2)"
    assert "devices along dp hold" not in " ".join(found.notes((9, 3)))
    assert "devices along tp hold parts of a sum" in found.notes((9, 3))


@pytest.mark.parametrize("given", ["0[Shard(0), Replicate()]", "5", "{}", "'x'"])
def test_placements_are_calls(given: str) -> None:
    with pytest.raises(ml.LayoutError, match="expected"):
        ml.index_map(f"s32[8,9], placements={given}, mesh=(2, 3)", (8, 9))
