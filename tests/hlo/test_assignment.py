"""Buffer assignments of the TPU compiler: their sizes, and the lives of values."""

from __future__ import annotations

from pathlib import Path

import morello_layouts as ml
from morello_layouts.notations.xla import XlaShape
from morello_layouts.programs.hlo.assignment import PlacedValue, Schedule, read_assignment
from morello_layouts.programs.hlo.reader import assignment_beside, program_beside, program_name
from tests.support import tpu_dumps
from tests.support.tables import each_row

NAMES = tpu_dumps.names()


@each_row("name", NAMES)
def test_every_value_has_the_bytes_that_the_layout_gives(name: str) -> None:
    values = [v for v in tpu_dumps.assignment(name).values if isinstance(v.shape, XlaShape)]
    assert values
    wrong = {
        (str(v.shape), v.size)
        for v in values
        if isinstance(v.shape, XlaShape) and ml.tpu.buffer_waste(v.shape).reserved_bytes != v.size
    }
    assert wrong == set()


@each_row("name", NAMES)
def test_values_lie_inside_their_allocations(name: str) -> None:
    found = tpu_dumps.assignment(name)
    assert found.warnings == ()
    assert [each.number for each in found.allocations] == [*range(len(found.allocations))]
    for each in found.allocations:
        assert all(0 <= v.offset <= each.size - v.size for v in each.values)
    header = tpu_dumps.module(name).entry_computation_layout
    assert header is not None
    numbers = {each.parameter for each in found.allocations if each.kind == "parameter"}
    assert numbers == set(range(len(header.parameters)))


@each_row("name", NAMES)
def test_values_that_live_together_lie_apart(name: str) -> None:
    """The compiler lets two values share bytes only if it saw that they never live together."""
    module, found = tpu_dumps.module(name), tpu_dumps.assignment(name)
    schedule = Schedule(module, found.values)
    for each in found.allocations:
        lives = [(v, schedule.life(v)) for v in each.values if each.kind == "temporary" and v.size]
        for k, (one, life) in enumerate(lives):
            assert life is not None, one.name
            for other, its in lives[:k]:
                if its is None or not _overlap(one, other) or "gather_offload" in one.name:
                    continue
                # At one instruction they may: it works in place.
                assert max(life[0], its[0]) >= min(life[1], its[1]), (one.name, other.name)


def _overlap(one: PlacedValue, other: PlacedValue) -> bool:
    first, second = sorted((one, other), key=lambda v: v.offset)
    return second.offset < first.offset + first.size


def test_the_schedule_has_loops_and_the_lives_of_what_they_carry() -> None:
    module = ml.read_hlo(LOOP)
    values = read_assignment(LOOP_ASSIGNMENT)
    schedule = Schedule(module, values.values)
    order = [i.name for i in schedule.order]
    assert order == ["a", "c", "start", "q", "flag", "p", "x", "y", "t", "w", "r"]
    lives = {v.name: [order[k] for k in schedule.life(v) or ()] for v in values.values}
    assert lives == {"c": ["c", "q"], "p{0}": ["p", "y"], "y": ["y", "r"]}


LOOP = """HloModule m, is_scheduled=true

%body (p: (f32[8])) -> (f32[8]) {
  %p = (f32[8]) parameter(0)
  %x = f32[8] get-tuple-element(%p), index=0
  %y = f32[8] negate(%x)
  ROOT %t = (f32[8]) tuple(%y)
}

%condition (q: (f32[8])) -> pred[] {
  %q = (f32[8]) parameter(0)
  ROOT %flag = pred[] constant(false)
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8] parameter(0)
  %c = f32[8] copy(%a)
  %start = (f32[8]) tuple(%c)
  %w = (f32[8]) while(%start), condition=%condition, body=%body
  ROOT %r = f32[8] get-tuple-element(%w), index=0
}
"""
LOOP_ASSIGNMENT = """BufferAssignment:
allocation 0: size 32, preallocated-temp:
 value: <1 c @0> (size=32,offset=0): f32[8]{0}
 value: <2 p{0} (phi) @0> (size=32,offset=0): f32[8]{0}
 value: <3 y @0> (size=32,offset=0): f32[8]{0}
"""


@each_row(
    ("name", "program"),
    [
        ("jit_f.after_optimizations.txt", "jit_f"),
        ("jit_f.cl_9.after_optimizations-buffer-assignment.txt", "jit_f.cl_9"),
        ("jit_f.oom_intermediate_module.txt", "jit_f"),
        ("jit_f.cpu_after_optimizations.txt", "jit_f"),
        ("jit_f.sm_8.0_gpu_after_optimizations-memory-usage-report.txt", "jit_f"),
        ("f.v5e.buffer-assignment.txt", "f.v5e"),
        ("dump.txt", "dump"),
    ],
)
def test_the_files_of_a_program_begin_alike(name: str, program: str) -> None:
    assert program_name(Path(name)) == program


def test_files_beside_a_program_are_found(tmp_path: Path) -> None:
    name = "module_0000.jit_f.cl_9"
    program = tmp_path / f"{name}.after_optimizations.txt"
    assert assignment_beside(program) is None
    for end in (
        "after_optimizations.txt",
        "after_optimizations-buffer-assignment.txt",
        "after_optimizations-memory-usage-report.txt",
        "oom_intermediate_module.txt",
    ):
        (tmp_path / f"{name}.{end}").write_text("x")
    assigned = tmp_path / f"{name}.after_optimizations-buffer-assignment.txt"
    assert assignment_beside(program) == assigned
    assert assignment_beside(tmp_path / f"{name}.oom_intermediate_module.txt") == assigned
    assert program_beside(assigned) == program


def test_lines_of_other_kinds_are_skipped_and_wrong_types_reported() -> None:
    found = read_assignment(
        "BufferAssignment:\nallocation 0: size 8, constant:\n value: <1 a @0> (size=8,offset=0): "
        "f99[2]\n value: <2 b{1,0} @3> (size=8,offset=0): s32[2]{0}\n\nTotal bytes used: 8\n"
        "Used values:\n<1 a @0>\n positions:\n  a\n"
    )
    assert [v.name for v in found.values] == ["b{1}{0}"]
    (warning,) = found.warnings
    assert "line 3 is left out" in warning
