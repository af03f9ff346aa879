"""Reports on the memory of programs, against the compiler's own totals and a count of bytes."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

import pytest

import morello_layouts as ml
from morello_layouts.programs.diagnostics import memory_report as heaps
from morello_layouts.programs.diagnostics.memory_report import Heap, heap_of, memory_of
from morello_layouts.programs.hlo.assignment import Schedule
from morello_layouts.programs.hlo.reader import assignment_beside
from tests.support import tpu_dumps
from tests.support.tables import each_row

NAMES = tpu_dumps.names()


def test_totals_are_those_of_the_compilers_usage_report() -> None:
    path = tpu_dumps.path_of("out_of_memory.v5e")
    usage = next(path.parent.glob("out_of_memory.v5e.*memory-usage-report.txt"))
    totals = re.findall(r"\(color=([0-9]+)\)\s*\nTotal bytes: ([0-9]+)", usage.read_text())
    expected = {int(space): int(size) for space, size in totals}
    assert expected[0] == 25_971_204_096
    assert {each.space: each.total for each in ml.memory(path).spaces} == expected


@each_row("name", NAMES)
def test_the_heap_is_a_count_of_bytes(name: str) -> None:
    """Each piece between two edges of values is looked at by itself, at some instructions."""
    assignment = tpu_dumps.assignment(name)
    schedule = Schedule(tpu_dumps.module(name), assignment.values)
    for each in assignment.allocations:
        if each.kind != "temporary":
            continue
        heap = heap_of([each], schedule)
        assert heap.is_exact
        assert heap.peak <= each.size == heap.reserved
        lives = [(v, life) for v in each.values if (life := schedule.life(v)) is not None]
        edges = sorted({e for v, _ in lives for e in (v.offset, v.offset + v.size)})
        for at in range(0, len(schedule.order), 7):
            live = [v for v, (begin, end) in lives if begin <= at <= end]
            used = sum(
                high - low
                for low, high in pairwise(edges)
                if any(v.offset <= low and high <= v.offset + v.size for v in live)
            )
            assert heap.used[at] == used


@each_row("name", NAMES)
def test_what_is_alive_adds_up(name: str) -> None:
    report = memory_of(tpu_dumps.module(name), tpu_dumps.assignment(name))
    assert report.warnings == ()
    hbm = next(each for each in report.spaces if each.space == 0)
    assert hbm.total == sum(hbm.by_kind.values()) == report.total
    temporary = [each.bytes for each in report.alive if each.kind == "temporary"]
    peak = hbm.heap.peak if hbm.heap else 0
    assert sum(each.reserved_bytes for each in temporary) >= peak
    always = sum(hbm.by_kind[kind] for kind in ("parameter", "output", "constant"))
    assert report.alive_bytes.reserved_bytes >= always
    for shares in (report.by_source, report.by_op_name):
        assert sum(share.bytes.reserved_bytes for share in shares) == (
            report.alive_bytes.reserved_bytes
        )
    assert all(each.bytes.padding_bytes >= 0 for each in report.alive)
    json.dumps(report.to_dict())


def test_the_peak_of_a_program_that_did_not_fit() -> None:
    report = ml.memory(tpu_dumps.path_of("out_of_memory.v5e"))
    assert report.peak_place is not None
    assert report.peak_place.instruction == "sort.6"
    first, second = report.alive[:2]
    assert {first.shape[:3], second.shape[:3]} == {"f32", "s32"}
    assert first.bytes.reserved_bytes == second.bytes.reserved_bytes == 12 << 30
    assert report.by_source[0].name == "prog/ooms.py:37"
    text = str(report)
    assert text.splitlines()[1].startswith("24.19 GiB of HBM: 24.00 GiB temporaries")
    assert "peak at 24.00 GiB, at main.5/sort.6 (prog/ooms.py:37)" in text
    page = report.html()
    assert page.count('<svg class="heap"') == 2
    assert "HBM: peak 24.00 GiB at sort.6, of 24.00 GiB" in page


def test_without_the_program_there_are_totals() -> None:
    path = assignment_beside(tpu_dumps.path_of("quant_fp8_matmul.v5e"))
    assert path is not None
    whole, alone = ml.memory(path), ml.memory(path.read_text())
    assert whole.warnings == ()
    assert [each.total for each in alone.spaces] == [each.total for each in whole.spaces]
    assert alone.peak_place is None
    assert "not beside it" in alone.warnings[0]
    assert alone.figure() == ""
    assert ml.memory(path.read_text(), tpu_dumps.path_of("quant_fp8_matmul.v5e")).alive


def test_a_click_on_the_chart_says_what_is_live_there() -> None:
    report = ml.memory(tpu_dumps.path_of("beam_search.v5e"))
    html = report.html()
    links, told = (re.findall(x, html) for x in ('href="#([^"]+)"', 'class="moment" id="([^"]+)"'))
    assert links == told
    assert len(set(told)) == len(told)
    heap = report.spaces[0].heap
    assert heap is not None
    peak = heap.moments[heap.peak_at]  # the program is short: a moment for each instruction
    assert peak.startswith(f"{heap.peak_at + 1} of {len(heap.used)}, ")
    assert report.peak_place is not None
    assert report.peak_place.instruction in peak
    largest = max(
        (x for x in report.alive if x.kind == "temporary"), key=attrgetter("bytes.reserved_bytes")
    )
    assert f"largest: {largest.place.instruction} (" in peak


def test_the_memory_of_a_cpu_is_not_called_hbm() -> None:
    program = (
        "HloModule m, is_scheduled=true\n\nENTRY %e (a: f32[8]) -> f32[8] {\n"
        "  %a = f32[8]{0} parameter(0)\n  ROOT %b = f32[8]{0} negate(%a)\n}\n"
    )
    assignment = (
        "BufferAssignment:\nallocation 0: size 32, parameter 0, shape |f32[8]| at ShapeIndex {}:\n"
        " value: <1 a @0> (size=32,offset=0): f32[8]{0}\n"
    )
    report = ml.memory(assignment, program)
    assert report.summary().lines[0] == "32 B of memory: 32 B parameters"
    alone = str(ml.memory(assignment)).splitlines()[-1]
    assert alone.split()[-2:] == ["?", "HBM"], "without a schedule no heap says what is live"


def test_another_program_is_noticed() -> None:
    one, other = (tpu_dumps.path_of(f"{n}.v5e") for n in ("quant_fp8_matmul", "beam_search"))
    report = ml.memory(one, other)
    assert any("does not define" in warning for warning in report.warnings)


def test_a_heap_past_the_budget_is_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    assignment = tpu_dumps.assignment("beam_search.v5e")
    schedule = Schedule(tpu_dumps.module("beam_search.v5e"), assignment.values)
    temporary = [each for each in assignment.allocations if each.kind == "temporary"]
    exact = heap_of(temporary, schedule)
    monkeypatch.setattr(heaps, "HEAP_STEPS", 0)
    rough = heap_of(temporary, schedule)
    assert (exact.is_exact, rough.is_exact) == (True, False)
    assert (rough.used >= exact.used).all()
    assert rough.peak <= rough.reserved


def test_a_chart_of_nothing_is_empty() -> None:
    import numpy as np

    empty = Heap(np.zeros(0, np.int64), 0, is_exact=True)
    assert (empty.peak, empty.columns(), empty.line(), heaps.heap_svg(empty, "x", "y")) == (
        0, [], "", "",
    )  # fmt: skip


def test_a_folder_is_told_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(ml.LayoutError, match="expected a file, got the folder"):
        ml.memory(tmp_path)
