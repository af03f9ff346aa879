"""``diagnose`` on 44 programs of the TPU compiler."""

from __future__ import annotations

import json
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.programs.diagnostics import moves as verdicts
from morello_layouts.programs.diagnostics.buffers import Bytes, buffers_of, fused_names
from tests.support.diagnosed_programs import NAMES, diagnosis, module
from tests.support.hlo_xla import recorded
from tests.support.tables import each_row

FACTS = recorded()
MOVES = {"copy", "transpose", "reshape", "bitcast", "bitcast-convert", "copy-start"}


def byte_size(text: str) -> int:
    return sum(array.byte_size for _, array in ml.parse(text).arrays())


@pytest.mark.slow
def test_every_bitcast_is_free() -> None:
    bitcasts = [m for name in NAMES for m in diagnosis(name).moves if m.opcode == "bitcast"]
    assert len(bitcasts) == 164
    assert [m for m in bitcasts if m.verdict.effect != "free" or not m.verdict.holds] == []
    assert sum(m.written_bytes for m in bitcasts) == 0


@pytest.mark.slow
@each_row("name", NAMES)
def test_counts_and_bytes_are_those_of_xla(name: str) -> None:
    facts, totals = FACTS[name], diagnosis(name).totals
    rows = [row for c in facts["computations"].values() for row in c["instructions"]]
    assert totals.instructions == len(rows)
    assert totals.computations == len(facts["computations"])
    entry = facts["computations"][facts["entry"]]
    parameters = [row[2] for row in entry["instructions"] if row[1] == "parameter"]
    (output,) = (row[2] for row in entry["instructions"] if row[0] == entry["root"])
    assert totals.parameters.reserved_bytes == sum(map(byte_size, parameters))
    assert totals.outputs.reserved_bytes == byte_size(output)
    fused = {
        called
        for row in rows
        if row[1] not in ("while", "conditional", "call")
        for called in row[4]
    }
    assert totals.fused_computations == len(fused)


@pytest.mark.slow
@each_row("name", NAMES)
def test_sums_agree(name: str) -> None:
    found = diagnosis(name)
    whole = found.totals.parameters + found.totals.results
    for uses in (found.layouts, found.spaces):
        assert sum((use.bytes for use in uses), Bytes()) == whole
    assert found.wasteful_count == len(found.wasteful)
    padding = sum(array.waste.padding_bytes * array.count for array in found.wasteful)
    assert padding == whole.padding_bytes
    for array in found.wasteful:
        assert array.waste.reserved_bytes > array.waste.data_bytes > 0
        assert sum(n for _, n in array.spaces) == array.count >= len(array.places) > 0
        assert array.waste.reasons
    for array in found.wasteful:
        best = array.alternative.suggestion
        assert (best is None) == bool(array.alternative.reason)
        assert best is None or best.byte_size < array.waste.reserved_bytes
        assert best is None or ("tile" not in best.changes and array.stored > 0)
        assert array.stored <= array.count
        assert array.stored == array.count or array.force or array.producer or array.readers
    order = [array.total_padding for array in found.wasteful]
    assert order == sorted(order, reverse=True)


@each_row("name", NAMES)
def test_every_move_has_a_verdict_or_a_reason_for_none(name: str) -> None:
    found = diagnosis(name)
    assert [m.instruction for m in found.moves] == [
        i for i in module(name).instructions if i.opcode in MOVES
    ]
    for move in found.moves:
        verdict = move.verdict
        assert verdict.reason
        is_explained = not move.is_fused and verdict.effect != "free"
        assert is_explained or (move.force, move.producer, move.readers) == (None, None, ())
        assert (verdict.holds is None) == (verdict.effect == "unknown")
        assert (verdict.moved_bytes > 0) == (verdict.effect not in ("free", "unknown"))
        if verdict.effect in ("free", "duplicates", "memory space"):
            assert verdict.holds is True
        if verdict.effect == "memory space":
            assert verdict.memory_spaces is not None
            assert verdict.memory_spaces[0] != verdict.memory_spaces[1]
    sums = found.move_sums
    assert sum(s.count for s in sums) == len(found.moves)
    assert sum(s.written_bytes for s in sums) == sum(m.written_bytes for m in found.moves)


def test_only_split_arrays_are_not_judged() -> None:
    unknown = [m for name in NAMES for m in diagnosis(name).moves if m.verdict.effect == "unknown"]
    assert len(unknown) == 2
    assert all("SC(0:24)} splits the array" in m.verdict.reason for m in unknown)


def test_equal_questions_are_asked_once_in_all_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counting(opcode: str, *question: Any) -> Any:
        asked.append(opcode)
        return proof(opcode, *question)

    proof = verdicts._proof
    monkeypatch.setattr(verdicts, "_proof", counting)
    verdicts._verdict.cache_clear()
    text = "\n".join(f"%c.{k} = f32[8,16]{{0,1}} copy(f32[8,16]{{1,0}} %x)" for k in range(9))
    report, again = ml.diagnose(text), ml.diagnose(text)
    assert asked == ["copy"]
    assert len(report.moves) == 9
    assert len({id(move.verdict) for move in (*report.moves, *again.moves)}) == 1
    unknown = "%b = f32[8]{0} bitcast(f32[4]{0} %x)"
    assert {ml.diagnose(unknown).moves[0].verdict.effect for _ in range(2)} == {"unknown"}
    assert asked == ["copy", "bitcast"]


def test_the_generation_is_guessed() -> None:
    guesses = {name: diagnosis(name).generation for name in NAMES}
    told = {n: g.name for n, g in guesses.items() if g.reason.startswith("a guess")}
    assert all((found == "v3") == name.startswith("v3_") for name, found in told.items())
    assert sum(g.reason.startswith("a guess: scalars") for g in guesses.values()) == 24
    # All that v3 and the others lay out alike.
    assert {n.partition("_")[2] for n in guesses.keys() - told.keys()} == {"matmul_bf16"}
    assert all(guesses[n].reason.startswith("assumed") for n in guesses.keys() - told.keys())


@pytest.mark.parametrize(
    ("types", "name", "reason"),
    [
        ("f32[1,200]{1,0:T(2,128)}", "v3", "a guess: parameters and outputs lie as v2"),
        ("f32[1,200]{1,0:T(1,128)S(5)}", "v5e", "a guess: parameters and outputs lie as v4"),
        ("f32[1,200]{1,0:T(2,128)}, f32[1,8]{1,0:T(1,128)}", "v5e", "assumed"),
        ("f32[1,200]{1,0:T(8,128)}, f32[8,128]{1,0:T(8,128)}", "v5e", "assumed"),
        (
            "f32[<=1,200]{1,0:T(2,128)}, f32[?,200]{1,0:T(2,128)}, u1[8]{0}, token[]",
            "v5e",
            "assumed",
        ),
    ],
)
def test_parameters_tell_the_generation(types: str, name: str, reason: str) -> None:
    header = f"HloModule m, entry_computation_layout={{({types})->pred[]}}\n\nENTRY %e {{\n}}\n"
    found = ml.diagnose(header).generation
    assert (found.name, found.reason[: len(reason)]) == (name, reason)


def test_nothing_is_suggested_for_dynamic_sizes() -> None:
    (found,) = ml.diagnose("%a = f32[<=8,3]{1,0:T(8,128)} parameter(0)").wasteful
    assert found.waste.factor == 8 * 128 / 24
    assert found.alternative.suggestion is None
    assert "sizes that change" in found.alternative.reason


def test_a_fusion_whose_caller_was_cut_off_is_known_by_its_name() -> None:
    body = "{\n  %a = f32[8]{0} parameter(0)\n  ROOT %b = f32[8]{0} negate(%a)\n}\n"
    written = [
        ml.diagnose(f"%{name} (a: f32[8]) -> f32[8] {body}").totals.results.arrays
        for name in ("fused_computation.3", "region_0.5")
    ]
    assert written == [0, 1]


def test_moves_rank_by_all_that_they_write() -> None:
    one = "%x = f32[8,24]{0,1} copy(f32[8,24]{1,0} %a)\n"
    many = "".join(f"%y{k} = f32[8,16]{{0,1}} copy(f32[8,16]{{1,0}} %a)\n" for k in range(2))
    (table,) = (t for t in ml.diagnose(one + many).tables() if "not free" in t.title)
    assert [row.cells[0].value for row in table.rows] == [1024, 768]


@pytest.mark.parametrize("width", [-1, 0, 7])
def test_the_least_width_is_40(width: int) -> None:
    report = diagnosis("v5e_transposes")
    assert report.text(width) == report.text(40) != report.text(41)


def test_a_buffer_is_counted_once() -> None:
    found = module("v5e_small_second_minor")
    names = [b.instruction.opcode for b in buffers_of(found, fused_names(found))]
    assert {"bitcast", "tuple", "get-tuple-element", "copy-done"}.isdisjoint(names)
    # The destination and the context; the source is an operand of it.
    started = [
        b.path
        for b in buffers_of(found, fused_names(found))
        if b.instruction.opcode == "copy-start"
    ]
    assert started == [(0,), (2,)] * 5


@pytest.mark.parametrize("name", NAMES[::6])
def test_reports_print(name: str) -> None:
    report = diagnosis(name)
    whole = json.loads(json.dumps(report.to_dict()))
    assert whole["module"] == module(name).name
    assert len(whole["moves"]) == len(report.moves)
    text = str(report)
    assert text.splitlines()[0] == module(name).name
    assert "Memory spaces" in text
    for array in report.wasteful:
        assert f"  {array.waste.shape}\n" in text
        assert array.waste.reasons[0].text in text


def test_what_to_change_comes_first_and_is_worth_a_percent() -> None:
    found = ml.diagnose("%a = s32[1024,8,4]{2,1,0:T(8,128)} parameter(0)", "v5e")
    (change,) = found.changes
    assert change.saved_bytes == found.wasteful[0].saved_bytes > 0
    assert "not tried" in change.write
    lines = str(found).splitlines()
    assert lines.index("What to change") < lines.index(
        "Bytes: results inside fusions and names for other buffers are left out"
    )
    nothing = ml.diagnose("%a = f32[1024,1024]{1,0:T(8,128)} parameter(0)", "v5e")
    assert nothing.changes == ()
    assert str(nothing).splitlines()[1].startswith("nothing to change")
