"""Today's out-of-memory messages, as libtpu, the run time and GPU allocators print them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.programs.diagnostics.oom_messages import (
    OOM_PATTERNS,
    bytes_of_text,
    messages_of,
)
from tests.support.tables import each_row

G, M = 1 << 30, 1 << 20
HBM = "Ran out of memory on HBM, the total memory required for HLO temporaries ({}) exceeds "
ALLOCATION = (
    "JaxRuntimeError: RESOURCE_EXHAUSTED: Allocation (size={}) would exceed memory (size={}) :: "
    "#allocation2 [shape = '{}', space={}, size = 0x927c000, scoped, tag = '{}'] :: f.1"
)

# Recorded from libtpu 0.0.42 and 0.0.52, from XLA's pages about errors, and from users' logs:
# text, memory space, bytes needed, bytes available, bytes too much, words of kind and next step.
ROWS: list[Any] = [
    (
        f"JaxRuntimeError: RESOURCE_EXHAUSTED: {HBM.format('24.19G')}available HBM (15.75G).",
        ("hbm", 24.19 * G, 15.75 * G, 8.44 * G), "compile time", "oom_intermediate_module",
    ),
    (
        (f"RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: {HBM.format('27.01G')}available HBM "
        "(15.75G). HLO module: jit__lambda.\nSee https://openxla.org/xla/errors/error_1000 for "
        "more details."),
        ("hbm", 27.01 * G, 15.75 * G, 11.26 * G), "compile time", "oom_intermediate_module",
    ),
    (
        ALLOCATION.format(
            153600000, 134217728, "bf16[300000,130]{1,0:T(8,128)(2,1)}", "vmem", "scratch operand"
        ),
        ("vmem", 153600000, 134217728, 19382272), "one allocation", "Pallas",
    ),
    (
        ALLOCATION.format(12000256, 1048576, "u8[12000256]{0}", "smem", "prefetched SMEM operand"),
        ("smem", 12000256, 1048576, 10951680), "one allocation", "Pallas",
    ),
    (
        ALLOCATION.format(8192, 2048, "s32[2048]{0:S(4)}", "sflag", "semaphores"),
        ("sflag", 8192, 2048, 6144), "one allocation", "Pallas",
    ),
    (
        "Allocation (size=135291469824) would exceed memory (size=34359738368)",
        (None, 135291469824, 34359738368, 100931731456), "one allocation", "Pallas",
    ),
    (
        ("XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 49.34G of "
        "32.00G hbm. Exceeded hbm capacity by 17.34G."),
        ("hbm", 49.34 * G, 32 * G, 17.34 * G), "compile time", "oom_intermediate_module",
    ),
    (
        ("Ran out of memory in memory space vmem while allocating on stack for %gmm.1 = "
        "f32[16384,512]{1,0:T(8,128)} custom-call(%a), custom_call_target=\"tpu_custom_call\""),
        ("vmem", None, None, None), "on the stack", "scoped_vmem_limit",
    ),
    (
        "Scoped allocation with size 18.00M and limit 16.00M exceeded scoped vmem limit by 2.00M.",
        ("vmem", 18 * M, 16 * M, 2 * M), "scoped", "scoped_vmem_limit",
    ),
    (
        "Mosaic failed to compile TPU kernel: Insufficient scoped vmem: 44.05M > 32M",
        ("vmem", 44.05 * M, 32 * M, 12.05 * M), "scoped", "scoped_vmem_limit",
    ),
    (
        ("TPU TensorCore Hbm usage: 34.82G, SparseCore Hbm usage 174.10G, exceeding available "
        "bytes: 95.74G"),
        ("hbm", 34.82 * G, 95.74 * G, 113.18 * G), "both cores", "oom_intermediate_module",
    ),
    (
        ("ValueError: RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate "
        "4.00G. That was not possible. There are 3.20G free.; (0x0x1_HBM0)"),
        ("hbm", 4 * G, 3.2 * G, 0.8 * G), "run time", "after_optimizations",
    ),
    (
        ("RESOURCE_EXHAUSTED: Error loading program 'jit_f': Attempting to reserve 29.49G at the "
        "bottom of memory. That was not possible. There are 147.64M free, 0B reserved, and "
        "147.64M reservable. Scope: unknown..: while running replica 0"),
        ("hbm", 29.49 * G, 147.64 * M, 29.49 * G - 147.64 * M), "loading", "after_optimizations",
    ),
    (
        ("W bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate "
        "4.00GiB (rounded to 4294967296)requested by op dot.3"),
        ("gpu", 4 * G, None, None), "GPU", "PREALLOCATE",
    ),
    (
        "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 33762398024 bytes.",
        ("gpu", 33762398024, None, None), "GPU", "PREALLOCATE",
    ),
    ("Out of memory trying to allocate 16.00GiB.", ("gpu", 16 * G, None, None), "GPU", "dump"),
    (
        "failed to allocate 15.00G (16106127360 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
        ("gpu", 15 * G, None, None), "GPU", "dump",
    ),
    (
        "Failed to allocate request for 2.50GiB (2684354560B) on device ordinal 0",
        ("gpu", 2.5 * G, None, None), "GPU", "dump",
    ),
    (
        ("OOM when allocating tensor with shape[64,64,3,3] and type float on /device:GPU:0 by "
        "allocator GPU_0_bfc"),
        ("gpu", None, None, None), "GPU", "dump",
    ),
    (
        ("Can't reduce memory use below 2.58GiB by rematerialization; only reduced to 31.49GiB "
        "(33811139404 bytes)"),
        (None, 31.49 * G, 2.58 * G, 28.91 * G), "rematerialization", "after_optimizations",
    ),
]  # fmt: skip


@each_row(("text", "numbers", "kind", "step"), ROWS)
def test_each_message_gives_its_numbers_and_the_next_step(
    text: str, numbers: tuple[str | None, float | None, float | None, float | None],
    kind: str, step: str,
) -> None:  # fmt: skip
    (found,) = messages_of(text)
    space, *sizes = numbers
    assert found.memory_space == space
    for size, expected in zip((found.needed, found.available, found.missing), sizes, strict=True):
        assert size == (None if expected is None else pytest.approx(expected, rel=1e-6))
    assert kind in found.kind
    assert step in found.next_step
    assert "{" not in found.meaning
    assert "?" not in found.meaning
    report = ml.read_oom(text + "\n")
    assert report.messages == (found,)
    assert str(report).startswith("Out of memory")
    json.dumps(report.to_dict())


def test_every_pattern_has_a_message() -> None:
    kinds = {found.kind for text, *_ in ROWS for found in messages_of(text)}
    others = {"run time, arena", "run time, host", "compile time, without numbers"}
    assert {pattern.kind for pattern in OOM_PATTERNS} - kinds == others
    arena = "Failed to allocate 300 bytes. Memory limit: 1000 bytes. Used: 900 bytes.)"
    assert messages_of(arena)[0].missing == 200
    assert messages_of("terminate called: std::bad_alloc")[0].memory_space == "host"


def test_an_allocation_with_a_layout_is_explained() -> None:
    report = ml.read_oom(ROWS[2][0])
    (found,) = report.allocations
    assert found.wastes[0].factor == pytest.approx(256 / 130)
    assert found.agrees
    assert found.alternative is None  # it is scratch: the user chose its shape
    assert found.instruction == "f.1"
    text = str(report)
    assert "minor dimension d1 of size 130 is padded to 256" in text
    assert "146.48 MiB needed of 128.00 MiB" in text


def test_an_error_code_leads_to_its_page() -> None:
    (found,) = messages_of(ROWS[1][0])
    assert found.code == "E1000: CompileTimeHbmOom"
    assert found.page == "https://openxla.org/xla/errors/error_1000"
    assert found.name == "jit__lambda"
    above = "E1001: CompileTimeScopedVmemOom:\n" + ROWS[8][0]
    assert messages_of(above)[0].page == "https://openxla.org/xla/errors/error_1001"
    assert messages_of("E1000: X\n\n\n" + ROWS[8][0])[0].page is None


def test_a_log_repeats_messages_and_each_is_told_once() -> None:
    log = "\n".join([ROWS[0][0], "noise", ROWS[0][0], ROWS[8][0]])
    found = messages_of(log)
    assert [(each.line, each.memory_space) for each in found] == [(1, "hbm"), (4, "vmem")]
    report = ml.read_oom(log)
    assert report.memory_space == "hbm"
    _, _, others = str(report).partition("Messages: after the first\n")
    row = " ".join(others.splitlines()[1].split())
    assert row == "18.00 MiB 16.00 MiB vmem 4 compile time, scoped"


def test_the_command_reads_them() -> None:
    for text, *_ in ROWS:
        result = CliRunner().invoke(commands, ["oom", "-"], input=text)
        assert result.exit_code == 0, text


@each_row(
    "text",
    [
        "(size=" * 1600,
        "attempting to allocate 1" + "0" * 10000,
        "Allocation (size=1) would exceed memory (size=1) :: #allocation1 [shape = '" + "x" * 9000,
        "Allocation (size=1) would exceed memory (size=1) :: #allocation1 [shape = 'x', " * 120,
        "ran out of memory on " + "a " * 5000,
        "ran out of memory in memory space v " * 300,
        "allocator (" + "a" * 10000,
    ],
)
def test_rubbish_is_read_in_work_that_is_bounded(text: str) -> None:
    assert all(len(found.names) < 8 for found in messages_of(text))


@each_row(
    ("text", "size"),
    [("4.00G", 4 * G), ("8B", 8), ("33 bytes", 33), ("2.5GiB", 2560 * M), ("1K", 1024), ("x", None),
     ("", None), ("12000256", 12000256), ("0B", 0)],
)  # fmt: skip
def test_sizes(text: str, size: int | None) -> None:
    assert bytes_of_text(text) == size


# Recorded from libtpu 0.0.42: Pallas kernels on v5e.
WINDOW = ALLOCATION.format(
    402653184, 134217728, "u8[402653184]{0}", "vmem",
    "input window allocation for operator input 0. The window shape is f32[16384,3000], while the "
    "full shape is f32[65536,3000]. The u8 shape/size shown above represents the raw byte size of "
    "this window in VMEM. This allocation has 2 buffering levels.",
)  # fmt: skip
SCRATCH = """
RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. \
Used 148.45M of 128.00M vmem. Exceeded vmem capacity by 20.45M.

  Largest program allocations in vmem:

  1. Size: 78.12M
     Operator: op_name="jit(f)/pallas_call"
     Shape: f32[20000,900]{1,0:T(8,128)}
     Unpadded size: 68.66M
     Extra memory due to padding: 9.46M (1.1x expansion)
     Tag: scratch operand
     XLA label: f.1 = custom-call(x.1), custom_call_target="tpu_custom_call"
     Allocation type: scoped
     ==========================
"""


def test_windows_are_read_as_their_buffers() -> None:
    """Twice 16,384 rows of 3,000, padded to 3,072."""
    (found,) = ml.read_oom(WINDOW, "v5e").allocations
    assert [each.reserved_bytes for each in found.wastes] == [16384 * 3072 * 4] * 2
    assert (found.reserved_bytes, found.padding_bytes) == (402653184, 2 * 16384 * 72 * 4)
    assert found.alternative is None
    text = str(ml.read_oom(WINDOW, "v5e"))
    assert "2 x f32[16384,3000]{1,0:T(8,128)}" in text
    assert "2 buffers of the window f32[16384,3000]{1,0:T(8,128)}, 192.00 MiB each" in text
    other = WINDOW.replace("2 buffering", "3 buffering")
    assert ml.read_oom(other, "v5e").allocations[0].padding_bytes == 0


def test_memory_of_kernels_has_its_own_next_step_and_no_reshape() -> None:
    report = ml.read_oom(SCRATCH)
    (found,) = report.allocations
    assert (found.reported["tag"], found.alternative) == ("scratch operand", None)
    assert found.padding_bytes == 20000 * 124 * 4
    text = str(report)
    assert "next: make the blocks or scratch of this kernel smaller" in text
    assert "oom_intermediate_module" not in text
    assert "jnp.reshape" not in text
    assert "1. scratch operand f.1" in text
    assert "oom_intermediate_module" in str(ml.read_oom(SCRATCH.replace("vmem", "hbm")))
