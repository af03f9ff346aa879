"""Texts and objects of shardings: what is read, printed, and refused with a caret."""

from __future__ import annotations

from types import SimpleNamespace as Object

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.tables import each_row

X = "f32[8,16]"


@each_row(
    ("text", "printed"),
    [
        (f"{X}, sharding={{replicated}}", "{replicated}"),
        (f"{X}, {{maximal device=3}}", "{maximal device=3}"),
        (
            (f'{X}, sharding={{devices=[2,1,2,2]<=[8] last_tile_dims={{manual, replicated}} '
            'metadata={op_name="a{b}"}}'),
            "{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}",
        ),
        (f"{X}, {{devices=[2,2]0,2,1,3 shard_as 1}}", "{devices=[2,2]0,2,1,3}"),
        (f"{X}, {{mesh['x'=2,'y'=4], [{{'x'}}, {{}}]}}", "{mesh['x'=2,'y'=4], [{'x'}, {}]}"),
        (
            ('sdy.mesh @m = <["x"=2, "y"=4], device_ids=[0, 1, 2, 3, 4, 5, 6, 7]> %a: '
            'tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}p0, {"y":(2)2, ?}], '
            'replicated={"y":(1)2}>}'),
            '#sdy.sharding<mesh<["x"=2, "y"=4]>, [{"x"}, {"y":(2)2}]>',
        ),
        (
            (f"{X}, NamedSharding(mesh=Mesh('x': 2, 'y': 4, axis_types=(Auto, Auto)), "
            "spec=P(('y', 'x'), None), memory_kind=device)"),
            "mesh={'x': 2, 'y': 4}, spec=P(('y', 'x'), None)",
        ),
        (
            f"{X}, mesh=Mesh(axis_sizes=(2,), axis_names=('x',)), spec='x'",
            "mesh={'x': 2}, spec=P('x')",
        ),
        (
            (f"{X}, placements=[Shard(0), Partial(sum)], mesh=DeviceMesh('cuda', [[0, 1], [2, 3]], "
            "mesh_dim_names=('dp', 'tp'))"),
            "placements=(Shard(dim=0), Partial()), mesh=(dp=2, tp=2)",
        ),
        (
            f"{X}, placements=(Shard(dim=1),), mesh=DeviceMesh((tp=2), 'cuda', stride=(1,))",
            "placements=(Shard(dim=1),), mesh=(tp=2)",
        ),
        (f"{X}, (BLOCK, *) ONTO 4", "(BLOCK, *) ONTO (4)"),
        ("f32[9], CYCLIC(1, first=2) ONTO 3", "(CYCLIC(1, first=2)) ONTO (3)"),
        ("n=10, nb=2, src=1, P=3", "n=(10), nb=(2), src=(1), P=(3)"),
    ],
)  # fmt: skip
def test_a_text_is_read_and_printed(text: str, printed: str) -> None:
    layout = ml.parse(text)
    assert str(layout).endswith(printed)
    assert ml.parse(str(layout)) == layout


def test_a_tuple_has_a_sharding_for_each_array() -> None:
    found = ml.parse("(f32[8], s32[4]), sharding={{devices=[2]<=[2]}, {replicated}}")
    first, second = (layout for _, layout in found.arrays())
    assert ml.index_map(first).device(5) == 1
    assert ml.index_map(second).device(3) == 0
    assert ml.parse(str(found)) == found


@each_row(
    ("text", "at", "what"),
    [
        ("{devices=[2,4]<=[7]}", "7]}", "devices of 8 tiles: expected 8, got 7"),
        ("{devices=[2,4]<=[4,2]T(0,0)}", "0,0)", "T: dimension 0 appears twice"),
        ("{devices=[2,2]0,1,2,1}", "2,2]", "device 1 stands at two positions"),
        ("{devices=[2,2]0,1,2}", "0,1,2", "devices of 4 tiles: expected 4, got 3"),
        ("{devices=[0,4]<=[4]}", "0,4]", "tiles[0]: expected an integer from 1, got 0"),
        ("{devices=[2,2,2]<=[8]}", "2,2,2]", "expected an array of rank 3, got rank 2"),
        ("sharding={manual}", "manual", "manual says nothing about devices"),
        ("{devices=[2,4]<=[8] last_tile_dims={foo}}", "foo", "last_tile_dims: expected replicated"),
        ("{devices=[2,4]<=[8", "8", "expected ']', found the end of the text"),
        ("{{devices=[2,1]<=[2]}}", "devices=[2", "shardings of a tuple: expected one, got 1"),
        ('#sdy.sharding<@mesh, [{"x"}, {}]>', "@mesh", "the mesh @mesh: expected its axes"),
        ('#sdy.sharding<mesh<["x"=2]>, [{"y"}, {}]>', '{"y"}', "axis: expected one of the mesh"),
        ('#sdy.sharding<mesh<["x"=4]>, [{"x":(1)3}, {}]>', '{"x"', "part x:(1)3 of an axis of 4"),
        ('#sdy.sharding<mesh<["x"=4], device_ids=[0,1]>, [{"x"}, {}]>', "0,1", "devices: expected"),
        ("mesh={'x': 2}, spec=P('x', 'x')", "mesh", "axis x of the mesh is used twice"),
        ("mesh={'x': 2}, spec=P('x', None, None)", "mesh", "expected 3 sizes, got 2"),
        ("mesh={'x': 2, 'x': 3}, spec=P('x')", "'x': 3", "x is given twice"),
        ("mesh={'x': 2}, spec=P(3)", "mesh", "an entry of the spec: expected axes"),
        ("spec=P('x')", "spec", "the mesh: expected its axes, got nothing"),
        ("P('x')", "P(", "the mesh: expected its axes, got nothing"),
        ("mesh={'x': 2}", "mesh", "the spec: expected the mesh axes of each dimension"),
        ("placements=[Shard(2)], mesh=(2)", "placements", "placement 0: expected a dimension"),
        ("placements=[Shard(0)], mesh=(2, 2)", "placements", "placements: expected 2, got 1"),
        ("[Shard()], mesh=(2)", "Shard", "Shard: expected a number, got 'None'"),
        ("(BLOCK(1), *) ONTO 2", "(BLOCK", "expected up to 2 blocks of 1 in 8 elements, got 8"),
        ("(BLOCK, FOO) ONTO 2", "FOO", "a distribution: expected BLOCK, CYCLIC or *, got 'FOO'"),
        ("(BLOCK, CYCLIC) ONTO 2", "CYCLIC", "ONTO: expected 2 sizes, got 1"),
        ("desc=[1, 0, 8, 16, 2, 2, 0, 0, 1], grid=(2, 2)", "desc", "LLD_: expected 4 or more"),
        ("desc=[1, 0, 9, 9, 2, 2, 0, 0, 9], grid=(2, 2)", "desc", "expected (9, 9), got (8, 16)"),
    ],
)  # fmt: skip
def test_a_wrong_text_is_refused_with_a_caret(text: str, at: str, what: str) -> None:
    with pytest.raises(ml.ParseError) as refused:
        ml.parse(f"{X}, {text}")
    assert what in refused.value.what
    start = f"{X}, {text}".rindex(at)
    assert start <= refused.value.position <= start + len(at)
    assert refused.value.why or refused.value.fix


def test_an_instruction_before_the_sharding_is_refused_with_the_array_to_write() -> None:
    with pytest.raises(ml.ParseError) as refused:
        ml.parse("f32[8,16]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}")
    assert refused.value.position == len("f32[8,16]{1,0} ")
    assert refused.value.why == "the array stands before its sharding, without the instruction"


def test_torch_cuts_parts_by_their_own_sizes() -> None:
    """Blocks of two sizes are refused; names of sizes are assumed to divide."""
    with pytest.raises(ml.LayoutError, match="parts of 3 and of 2 elements are cut again in 2"):
        ml.parse("f32[5], [Shard(0), Shard(0)], mesh=(2, 2)")
    for text in ("f32[8], [Shard(0), Shard(0), Shard(0)], mesh=(1, 3, 2)",
                 "f32[16], [Shard(0), Shard(0), Shard(0)], mesh=(2, 3, 2)",
                 "f32[13], [Shard(0), _StridedShard(dim=0, sf=3)], mesh=(3, 2)"):  # fmt: skip
        with pytest.raises(ml.LayoutError, match="elements are cut again"):
            ml.parse(text)
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


def test_other_objects_are_refused() -> None:
    with pytest.raises(ml.UnsupportedError, match="expected an object of JAX or torch"):
        ml.sharding(3)
    with pytest.raises(ml.UnsupportedError, match="an entry of the spec"):
        ml.sharding(Object(mesh=Object(axis_names="x", axis_sizes=(2,)), spec=(object(),)), (8,))


def test_deep_brackets_are_refused() -> None:
    for opened in ("{'a': ", "(", "["):
        with pytest.raises(ml.ParseError):
            ml.parse("f32[N,M], mesh={'x': " + opened * 3000)


@each_row(
    ("text", "same"),
    [
        ("f32[8,16] sharding={devices=[2,1]<=[2]}", "f32[8,16], sharding={devices=[2,1]<=[2]}"),
        ("f32[8,16]{1,0} mesh={'x': 2}, spec=P('x')", "f32[8,16], mesh={'x': 2}, spec=P('x')"),
        ("f32[8,16], P('x'), mesh={'x': 2}", "f32[8,16], mesh={'x': 2}, spec=P('x')"),
        ("f32[8,16], mesh=(2), PartitionSpec('x')", "f32[8,16], mesh={'x': 2}, spec=P('x')"),
    ],
)
def test_a_comma_may_be_missing_and_a_spec_may_stand_alone(text: str, same: str) -> None:
    assert ml.parse(text) == ml.parse(same)
