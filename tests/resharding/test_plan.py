"""Plans: kinds, steps, symbolic sizes, verdicts, lines of logs."""

from __future__ import annotations

import json
from collections import deque
from itertools import product
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.machines.resharding import Plan, Schedule
from tests.fuzz.resharding import question
from tests.support.tables import each_row

MESH = "f32[64,64], mesh={'x': 2, 'y': 4}, spec="
TILED = "f32[64,64]{1,0:T(8,128)}, mesh={'x': 2, 'y': 4}, spec="


def on_mesh(source: str, target: str) -> Plan:
    return ml.reshard(f"{MESH}P({source})", f"{MESH}P({target})")


@each_row(
    "source, target, verdict, moved",
    [
        ("'x', 'y'", "'x', 'y'", "nothing moves", 0),
        ("'x'", "'x', 'y'", "slice over y: nothing moves", 0),
        ("", "'y'", "slice over y: nothing moves", 0),
        ("'x', 'y'", "'x'", "all-gather over y", 3 * 4096),
        ("'x', 'y'", "", "all-gather over x, y", 7 * 4096),
        ("('x', 'y')", "('y', 'x')", "permute over x, y", 6 * 512),
        ("'x', 'y'", "('x', 'y')", "all-to-all over y", 4096 * 3 // 4),
        ("'x', 'y'", "'y', 'x'", "all-to-all over x, y", 4096 * 3 // 4),
        ("'x'", "None, 'x'", "all-to-all over x", 4 * 2048),
        ("'x'", "'y'", "general over x, y", 8 * 1024 - 4 * 1024),
    ],
)
def test_kinds(source: str, target: str, verdict: str, moved: int) -> None:
    plan = on_mesh(source, target)
    assert plan.verdict == verdict
    assert plan.totals is not None
    assert plan.totals.moved == moved
    assert sum(message.size for message in plan.table()) == moved
    assert plan.minimal.holds is True


def test_local_layouts() -> None:
    """A tile of a part moves within the device; a tile as wide as the part does not."""
    assert ml.reshard(TILED + "P('x')", MESH + "P('x')").kind == "local relayout"
    assert ml.reshard(TILED + "P('x')", TILED + "P('x')").kind == "nothing"
    narrow = TILED.replace("(8,128)", "(8,64)")
    assert ml.reshard(narrow + "P('x')", MESH + "P('x')").kind == "nothing"
    uneven = "f32[5,6], mesh={'x': 2}, spec=P('x'), "
    assert ml.reshard(uneven.rstrip(", "), uneven.rstrip(", ")).kind == "nothing"


def test_the_pair_that_xla_gathers() -> None:
    """xla#15207: one all-to-all over both axes, or one after the other."""
    array = "f32[16,16,16]{2,1,0}, sharding="
    plan = ml.reshard(array + "{devices=[2,1,4]<=[4,2]T(1,0)}", array + "{devices=[1,8,1]<=[8]}")
    assert (plan.kind, plan.axes, plan.moved_bytes) == ("all-to-all", ("m0", "m1"), 14336)
    assert [step.spec for step in plan.steps] == [
        "P('m1', 'm0', None)",
        "P(None, ('m0', 'm1'), None)",
    ]
    assert all(len([*plan.sends(device)]) == 7 for device in range(8))


@pytest.mark.parametrize(
    ("source", "target", "steps"),
    [
        ("'x', 'y'", "('x', 'y')", ["all-to-all over y of d1 to d0: P(('x', 'y'), None)"]),
        ("'x'", "'x', 'y'", ["slice over y of d1: P('x', 'y')"]),
        ("('x', 'y')", "('y', 'x')", ["permute over x, y: P(('y', 'x'), None)"]),
        ("'x', 'y'", "None, 'y'", ["all-gather over x of d0: P(None, 'y')"]),
        ("None, 'x'", "'y'",
         ["slice over y of d0: P('y', 'x')", "all-gather over x of d1: P('y', None)"]),
    ],
)  # fmt: skip
def test_steps(source: str, target: str, steps: list[str]) -> None:
    assert [str(step) for step in on_mesh(source, target).steps] == steps


def test_uneven_parts_have_no_steps() -> None:
    uneven = MESH.replace("64,64", "63,64")
    assert ml.reshard(uneven + "P('x')", uneven + "P(None, 'x')").steps == ()
    second = ml.reshard(
        "f64[16,16], (CYCLIC(8, first=1), *) ONTO 2", "f64[16,16], (*, BLOCK) ONTO 2"
    )
    assert second.steps == (), "the first block is on the second device"


def test_formulas_are_the_messages() -> None:
    """The box, at coordinates of sender and receiver, has the elements of the message."""
    pairs = [("'x', 'y'", "('y', 'x')"), ("('x', 'y')", "'y'"), ("'y'", "'x', 'y'")]
    for shape, (a, b) in product(("9,7", "64,64"), pairs):
        text = MESH.replace("64,64", shape)
        plan = ml.reshard(f"{text}P({a})", f"{text}P({b})")
        for message in plan.table():
            sender, receiver = divmod(message.sender, 4), divmod(message.receiver, 4)
            values = dict(zip(("x", "y", "x'", "y'"), (*sender, *receiver), strict=True))
            for each, runs in zip(plan.formulas.message, message.runs, strict=True):
                low = max(_value(form, values) for form in each.lows)
                high = min(_value(form, values) for form in each.highs)
                (run,) = runs
                assert (run.start, run.start + run.block) == (low, high), (a, b, message)


def _value(form: ml.expr.AffineExpr, values: dict[str, int]) -> int:
    return int(form.evaluate(values))


def test_formulas_of_cycles_are_conditions() -> None:
    plan = ml.reshard("f32[40], (CYCLIC(4)) ONTO 3", "f32[40], (CYCLIC(3)) ONTO 2")
    (along,) = plan.formulas.message
    assert along.period == 12
    assert str(along) == "p = (d0//4)%3 and p' = (d0//3)%2 and d0 < 40 (repeats after 12)"
    for message in plan.table():
        values = {"p": message.sender, "p'": message.receiver}
        wanted = [
            x
            for x in range(40)
            if all(each.form.evaluate({"d0": x}) == values[each.axis] for each in along.owners)
        ]
        assert sorted(x for run in message.runs[0] for x in run) == wanted


def test_symbolic_sizes() -> None:
    rows, columns = (f"bf16[M,N], mesh={{'x': 4}}, spec=P({x})" for x in ("'x'", "None, 'x'"))
    plan = ml.reshard(rows, columns)
    assert plan.verdict == "all-to-all over x"
    assert str(plan.totals) == "3*M*N/4 of M*N if 4 | M and 4 | N"
    assert str(plan.moved_bytes) == "3*M*N/2"
    assert plan.minimal.verdict.startswith("minimal for all sizes")
    known = ml.reshard(rows, columns, assuming="M % 4 == 0, N % 8 == 0")
    assert str(known.totals) == "3*M*N/4 of M*N"
    at = plan.at(M=9, N=10)
    assert at.moved_bytes == 2 * sum(message.size for message in at.table())


def test_symbolic_totals_are_those_at_numbers() -> None:
    pairs = [("'x', 'y'", "'y', 'x'"), ("('x', 'y')", "None, 'y'"), ("", "'x'"), ("'y'", "")]
    for (a, b), n in product(pairs, (8, 24, 64)):
        text = MESH.replace("64,64", "N,40")
        plan = ml.reshard(f"{text}P({a})", f"{text}P({b})")
        assert plan.totals is not None
        at = plan.at(N=n).totals
        assert at is not None
        size = plan.totals.moved.free_symbols
        assert plan.totals.moved.subs(dict.fromkeys(size, n)) == at.moved


def test_what_is_not_said_of_symbolic_sizes() -> None:
    plan = ml.reshard("f32[N], (BLOCK(8)) ONTO 4", "f32[N], (CYCLIC(2)) ONTO 4", assuming="N <= 32")
    assert plan.totals is None
    assert "not counted: for symbolic sizes" in str(plan)


def test_parts_of_axes_have_names_of_their_own() -> None:
    four, two = (f"f32[64,64], sharding={{devices=[{x}]<=[8]}}" for x in ("1,8", "8,1"))
    plan = ml.reshard(four, two)
    assert plan.axes == ("m0",)
    cut = "f32[64,64], mesh={'x': 2, 'y': 6}, spec=P('x', 'y')"
    other = "f32[64,64], mesh={'p': 4, 'q': 3}, spec=P('p', 'q')"
    assert ml.reshard(cut, other).axes == ("y.0", "q")
    assert str(ml.reshard(cut, other).formulas.needs[0]) == "x' = d0//32"


def test_other_devices() -> None:
    """From six devices to four, and from one to all."""
    six, four = "f32[12,5], (BLOCK, *) ONTO 6", "f32[12,5], (*, BLOCK) ONTO 4"
    plan = ml.reshard(six, four)
    assert (plan.kind, plan.devices, plan.axes) == ("general", 6, ())
    assert [m.sender for m in plan.receives(3)] == []
    assert not [*plan.receives(5)]
    scatter = ml.reshard(
        "f32[8], sharding={maximal device=2}", "f32[8], sharding={devices=[4]<=[4]}"
    )
    assert "before  device 2 has all" in str(scatter)
    assert {m.sender for m in scatter.table()} == {2}
    assert {m.receiver for m in scatter.table()} == {0, 1, 3}
    whole = ml.reshard("f32[8], sharding={replicated}", "f32[8], sharding={devices=[4]<=[4]}")
    assert whole.kind == "slice"


@pytest.mark.parametrize("devices", [3, "01", None, [None], [-1], [4], [1.5], [10**30]])
def test_received_takes_devices_that_are_there(devices: Any) -> None:
    array = "f32[8,8], mesh={'x': 4}, spec="
    plan = ml.reshard(array + "P('x', None)", array + "P(None, 'x')")
    if devices is None:
        assert len(plan.received(devices).sender) == len(plan.received(range(4)).sender) == 12
        return
    with pytest.raises(ml.LayoutError, match="device"):
        plan.received(devices)


def test_2_to_the_40_elements_on_65536_devices() -> None:
    text = "f32[1048576,1048576], mesh={'x': 256, 'y': 256}, spec="
    plan = ml.reshard(text + "P('x', 'y')", text + "P(('x', 'y'))")
    assert plan.moved_bytes == 4 * 2**40 * 255 // 256
    assert len([*plan.sends(65535)]) == 255
    assert len(str(plan)) < 1000
    assert len(json.dumps(plain(plan))) < 5000


def test_arrays_of_no_elements_and_scalars() -> None:
    empty = ml.reshard("f32[0,4], (BLOCK, *) ONTO 2", "f32[0,4], (*, BLOCK) ONTO 2")
    assert empty.moved_bytes == 0
    assert not empty.table()
    blocks = ml.reshard("f32[0], (BLOCK) ONTO 3", "f32[0], (CYCLIC(3)) ONTO 2")
    assert blocks.minimal.holds
    scalar = "f32[], mesh={'x': 2}, spec=P()"
    assert ml.reshard(scalar, scalar).kind == "nothing"


REMATERIALIZED = """\
[spmd] Involuntary full rematerialization. The compiler was not able to go from sharding \
{devices=[2,1,4]<=[4,2]T(1,0)} to {devices=[1,8,1]<=[8]} without doing a full rematerialization of \
the tensor. You probably want to enrich the sharding annotations to prevent this from happening.
[SPMD] Involuntary full rematerialization. The compiler cannot go from sharding \
{devices=[2,32,4]<=[2,8,4,4]T(0,2,1,3) last_tile_dim_replicate} to {devices=[1,256]<=[256]} \
efficiently for HLO operation %param = f32[1024,512]{1,0} parameter(0), sharding={devices=[2,32,4]\
<=[2,8,4,4]T(0,2,1,3) last_tile_dim_replicate}, metadata={op_name="x"}. As the last resort, SPMD
[spmd] … not able to go from sharding {devices=[1,1,2,2]<=[4] last_tile_dim_replicate} to \
{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate} without doing a full rematerialization of the \
tensor for HLO operation: %pad = f64[96]{0} pad(%broadcast.690, %constant), padding=8_7
"""


def test_lines_of_a_log() -> None:
    first, second, third = ml.rematerializations(REMATERIALIZED * 2)
    assert first.plan is not None
    assert first.plan.verdict == "all-to-all over m0, m1"
    assert "7*n0*n1*n2/8 of n0*n1*n2 bytes move if 2 | n0 and 8 | n1 and 4 | n2" in str(first)
    assert "P('m1', 'm0', None)" in first.advice
    assert (second.line, second.operation) == (2, "param")
    assert second.plan is not None
    assert second.plan.moved_bytes == 4 * sum(m.size for m in second.plan.table(2**16))
    assert third.plan is None
    assert "expected an array of rank 3, got rank 1" in third.reason
    assert ml.rematerializations("nothing of the kind\n" * 100) == ()


def test_hostile_logs_are_read_quickly() -> None:
    for text in ("go from sharding " + "{" * 20_000, "go from sharding {" + "{}" * 20_000):
        assert ml.rematerializations(text) == ()


def test_pieces_in_their_order_never_wait_for_ever() -> None:
    """Each device does its next piece only: all arrive, those of one distance at one time."""
    for number in range(60):
        found = question(33, number, devices=12, elements=80)
        schedule = Schedule(found, 0, 0, 32, 1 + number % 7)
        devices = max(int(str(end.sharding.mesh.devices)) for end in found.ends)
        sends, receives = (
            [deque(way(device)) for device in range(devices)]
            for way in (schedule.sends, schedule.receives)
        )
        every = [piece for queue in receives for piece in queue]
        assert all(0 < piece.size <= schedule.piece for piece in every)
        messages = [message for device in range(devices) for message in found.receives(device)]
        assert sum(piece.size for piece in every) == sum(message.size for message in messages)
        turns = [(m.sender, (m.receiver - m.sender) % devices) for m in messages]
        assert len({*turns}) == len(turns)
        while any(sends):
            ready = [q for q in sends if q and q[0] == next(iter(receives[q[0].receiver]), None)]
            assert ready, found
            for queue in ready:
                receives[queue[0].receiver].popleft()
                queue.popleft()
        assert not any(receives)


def test_a_schedule_keeps_to_its_limit() -> None:
    array = "bf16[30,22]{1,0:T(8,128)(2,1)}, sharding={devices="
    plan = ml.reshard(array + "[4,1]<=[4]}", array + "[1,4]<=[4]}")
    whole = plan.schedule()
    buffers = 8 * 128 * 2 + 32 * 128 * 2
    assert (whole.before_bytes, whole.after_bytes, whole.piece) == (2048, 8192, 8 * 6)
    assert whole.peak_bytes == buffers + 4 * 96
    for limit in (buffers + 8, buffers + 100, buffers + 383, buffers + 10_000):
        found = plan.schedule(limit)
        assert found.peak_bytes <= limit
        assert found.piece == whole.piece or found.peak_bytes + 4 * 2 > limit
        assert max(piece.size for piece in found.sends(0)) <= found.piece
    with pytest.raises(ml.LayoutError, match=f"from {buffers + 8}, got"):
        plan.schedule(buffers + 7)
    with pytest.raises(ml.LayoutError, match="device"):
        list(whole.sends(4))
