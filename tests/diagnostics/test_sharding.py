"""Programs for several devices: shardings, groups, and what collectives move."""

from __future__ import annotations

import morello_layouts as ml
from morello_layouts.notations.sharding.reader import sharding_of
from morello_layouts.programs.diagnostics.sharding import group_size_of, partitions_of
from tests.support import tpu_dumps
from tests.support.tables import each_row


@each_row(
    ("text", "parts", "replicas", "words"),
    [
        ("{replicated}", (), None, "whole on every device"),
        ("{maximal device=3}", (), None, "whole on one device"),
        ("{manual}", (), None, "as the program says, device by device"),
        ("{devices=[4,1]<=[4]}", (4, 1), 1, "split in 4 along dimension 0, each part on 1 device"),
        (
            "{devices=[2,2]<=[2,2]T(1,0)}", (2, 2), 1,
            "split in 2 along dimension 0 and in 2 along dimension 1, each part on 1 device",
        ),
        (
            "{devices=[2,1,1,2]<=[4] last_tile_dim_replicate}", (2, 1, 1), 2,
            "split in 2 along dimension 0, each part on 2 devices",
        ),
        (
            "{devices=[1,2,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}", (1, 2), 4,
            "split in 2 along dimension 1, each part on 4 devices",
        ),
        (
            "{devices=[2,2,2]<=[8] last_tile_dims={replicated, manual}}", (2,), 4,
            "split in 2 along dimension 0, each part on 4 devices",
        ),
        ("{{devices=[2]<=[2]}, {replicated}}", (2,), 1, ("split in 2 along dimension 0, each part "
         "on 1 device")),
        ("rubbish", (), None, "whole on every device"),
    ],
)  # fmt: skip
def test_shardings(text: str, parts: tuple[int, ...], replicas: int | None, words: str) -> None:
    found = sharding_of(text)
    assert (found.parts, found.replicas, str(found)) == (parts, replicas, words)


@each_row(
    ("groups", "size"),
    [
        ("{{0,2},{1,3}}", 2), ("{{0,1,2,3}}", 4), ("{}", None), ("{{}}", None),
        ("[2,2]<=[2,2]T(1,0)", 2), ("[1,8]<=[8]", 8), ("", None),
        ("mesh['axis_0'=2,'axis_1'=1,'axis_2'=2] {'axis_2'}", 2),
        ("mesh['a'=2,'b'=4] {'a','b'}", 8), ("mesh['a'=8] {'a':(1)2}", 2),
    ],
)  # fmt: skip
def test_groups(groups: str, size: int | None) -> None:
    assert group_size_of(groups) == size


def test_a_sharded_program_is_read_and_reported() -> None:
    report = ml.diagnose(tpu_dumps.module("sharded_fsdp_tp_train.v5e"))
    assert report.devices == 4
    assert report.warnings == ()
    assert [each.held_bytes for each in report.shardings] == [2048000, 2048000, 4096000, 4096000]
    # A channel is one collective, though a dump repeats it where it starts and ends.
    assert len(report.collectives) == 5
    sent = {each.place.instruction: (each.devices, each.sent_bytes) for each in report.collectives}
    assert sent["all-reduce"] == (2, 4194304)
    assert sent["all-gather.19"] == (2, 2048000)
    text = str(report)
    assert "4 devices, each with the bytes of this report; collectives send 15.72 MiB" in text
    assert "split in 2 along dimension 0, each part on 2 devices" in text


@each_row(
    ("opcode", "result", "sent"),
    [
        ("all-gather", "f32[32,128]{1,0:T(8,128)}", 16384 * 3 // 4),
        ("all-reduce", "f32[8,128]{1,0:T(8,128)}", 2 * 4096 * 3 // 4),
        ("reduce-scatter", "f32[2,128]{1,0:T(2,128)}", 4096 * 3 // 4),
        ("all-to-all", "f32[8,128]{1,0:T(8,128)}", 4096 * 3 // 4),
        ("collective-permute", "f32[8,128]{1,0:T(8,128)}", 4096),
        ("all-gather-start", "(f32[8,128]{1,0:T(8,128)}, f32[32,128]{1,0:T(8,128)})", 12288),
    ],
)
def test_bytes_that_a_device_sends(opcode: str, result: str, sent: int) -> None:
    text = (
        "%a = f32[8,128]{1,0:T(8,128)} parameter(0)\n"
        f"%c = {result} {opcode}(%a), channel_id=1, replica_groups={{{{0,1,2,3}}}}\n"
    )
    (found,) = ml.diagnose(text).collectives
    assert (found.devices, found.sent_bytes, found.copy_before) == (4, sent, None)


def test_a_copy_that_a_collective_asks_for_is_named() -> None:
    text = (
        "%a = f32[8,128]{1,0:T(8,128)} parameter(0)\n"
        "%b = f32[8,128]{0,1:T(8,128)} copy(%a)\n"
        "%c = f32[8,128]{0,1:T(8,128)} all-reduce(%b), channel_id=1, replica_groups={{0,1}}\n"
    )
    report = ml.diagnose(text)
    assert report.collectives[0].copy_before == "b"
    assert "its layout forces b before it" in str(report)
    assert report.moves[0].because == "c reads it"


def test_a_program_for_one_device_has_neither() -> None:
    module = tpu_dumps.module("quant_fp8_matmul.v5e")
    report = ml.diagnose(module)
    assert partitions_of(module) == 1
    assert (report.shardings, report.collectives) == ((), ())
    assert "device" not in report.summary().lines[0]
