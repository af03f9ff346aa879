"""Bank conflicts against counting lane by lane, and against facts of the hardware."""

from __future__ import annotations

import json
from itertools import product
from math import gcd
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.machines.gpu.access import Copy, Lanes
from tests.fuzz import banks
from tests.support.paths import rows
from tests.support.tables import each_row


def test_random_accesses_are_those_of_counting() -> None:
    for number in range(100):
        assert banks.fault(banks.question(3, number)) is None, number


def test_a_wrong_answer_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("morello_layouts.machines.gpu.phases.BANKS", 16)
    monkeypatch.setattr("sys.argv", ["banks", "--count", "30"])
    assert banks.main() == 1
    assert "WRONG --seed 1 --start " in capsys.readouterr().out


def test_lane_by_lane_without_numpy_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = [
        "(33,40):(40,1)",
        "(16,64):(72,1)",
        "(24,8):(1,24)",
        "(32,16):(0,1)",  # lanes share addresses, so phases merge
        "u8[20,65]{1,0:T(4,8)}",
        "(2,5,32):(160,32,1)",
        "(33,17):(20,1)",  # vectors reach past the edge
        "Swizzle<3,3,3> o 0 o (64,64):(64,1)",
    ]
    accesses = ["row", "columns", "row.b64", "column.b128", "store columns.b64", "ldmatrix.x2"]
    places = [None, (0, 0), (1, 8)]

    def asked(*question: Any) -> str:
        layout, access, bits, at = question
        try:
            found = ml.bank_conflicts(layout, access, bits=bits, at=at)
        except ml.LayoutError as error:
            return str(error)
        assert isinstance(found, ml.gpu.BankConflicts)
        return f"{found} {found.collisions}"

    questions = list(product(layouts, accesses, [4, 8, 16, 32, 96, 128], places))[::4]
    answers = [asked(*question) for question in questions]
    assert sum("conflict" in one for one in answers) > 60
    monkeypatch.setattr("morello_layouts.machines.gpu.banks.has_numpy", lambda: False)
    for question, answer in zip(questions, answers, strict=True):
        assert asked(*question) == answer, question


def test_conflicts_of_registers_are_triton_s() -> None:
    """Triton's own counter does not merge phases, whose lanes ask for addresses in pairs."""
    others = []
    for row in rows("triton_conflicts.jsonl.xz"):
        found = ml.bank_conflicts(row["shared"], row["registers"], bits=row["bits"])
        assert isinstance(found, ml.gpu.BankConflicts)
        if found.has_conflicts != bool(row["conflicts"]):
            others.append(row)
    assert len(others) == 1
    merged = ml.bank_conflicts(others[0]["shared"], others[0]["registers"], bits=16)
    assert merged.unmerged == merged.wavefronts  # the verdict alone is by the rule, and says so
    assert "as many wavefronts, in phases of fewer ways, without this rule" in str(merged)
    stored = ml.bank_conflicts(others[0]["shared"], f"store {others[0]['registers']}", bits=16)
    assert stored.has_conflicts == bool(others[0]["conflicts"])


COLUMNS = (  # lanes hold 8 halves of a column
    "tensor<32x16xf16, #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [4, 8], "
    "warpsPerCTA = [1, 4], order = [0, 1]}>>"
)


@each_row(
    "layout, registers, vector, verdict",
    [
        ("f16[32,16]{0,1}", COLUMNS, 8, "no conflicts"),
        ("f16[32,16]{1,0}", COLUMNS, 1, "4-way conflict"),
        ("f16[32,16]{0,1:T(4)}", COLUMNS, 8, "no conflicts"),
        ("f16[M,N]{0,1}", COLUMNS, 1, "2-way to 8-way conflict"),
        ("f16[32,LD]{0,1}", COLUMNS, 8, "no conflicts"),
        ("f16[16,16]{0,1}", "SM80_16x8x16_F32F16F16F32_TN A", 1, "2-way conflict"),
        (
            "f16[16,8]{0,1}",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 B",
            2,
            "2-way conflict",
        ),
    ],
)
def test_registers_that_follow_each_other_are_one_vector(
    layout: str, registers: str, vector: int, verdict: str
) -> None:
    found = ml.bank_conflicts(layout, registers)
    assert (found.vector, found.verdict) == (vector, verdict)


def test_a_map_of_registers_is_an_access_as_its_text_is() -> None:
    text = "SM80_16x8x16_F32F16F16F32_TN A"
    for ask in (ml.bank_conflicts, ml.coalescing):
        assert str(ask("f16[64,64]", ml.index_map(text))) == str(ask("f16[64,64]", text))
    assert ml.best_swizzle((64, 64), 16, ml.index_map(text)).ways == (1,)


@each_row(
    "layout, access, vector, lanes",
    [
        ("(33,17):(18,1)", lambda lane: (lane, 16), 2, 32),
        ("(33,17):(18,1)", lambda lane: (lane, 14), 2, 0),
        ("(33,17):(18,1)", "row.b32", 1, 33),
        ("(33,17):(LD,1)", "row.b32", 1, 1),
        ("(33,16):(24,1)", "row.b128", 1, 0),
    ],
)
def test_vectors_past_the_edge_are_told(layout: str, access: Any, vector: int, lanes: int) -> None:
    even = "LD % 2 == 0" if "LD" in layout else None
    found = ml.bank_conflicts(layout, access, bits=16, vector=vector, assuming=even)
    assert found.past_edge == lanes
    assert ("past the array's edge" in str(found)) == bool(lanes)


@each_row(
    "layout, bits, access, ways",
    [
        ("(32,32):(32,1)", 32, "row", 1),
        ("(32,32):(32,1)", 32, "column", 32),
        ("(32,32):(33,1)", 32, "column", 1),  # the padding of every tutorial
        ("(32,32):(34,1)", 32, "column", 2),
        ("(32,32):(1,32)", 32, "column", 1),
        ("(64,64):(64,1)", 16, "row.b32", 1),
        ("(64,64):(64,1)", 16, "row.b128", 1),
        ("(64,64):(64,1)", 16, "column.b128", 8),
        ("(64,64):(72,1)", 16, "column.b128", 1),  # rows of 144 bytes
        ("(64,64):(64,1)", 16, "ldmatrix", 8),
        ("(64,64):(72,1)", 16, "ldmatrix", 1),
        ("(64,32):(32,1)", 16, "ldmatrix.x1", 4),
        ("(64,16):(16,1)", 16, "ldmatrix.x2", 2),
        ("(64,8):(8,1)", 16, "ldmatrix.x4", 1),
        ("(32,32):(32,1)", 64, "column", 16),  # a half-warp at a time
        ("(32,32):(33,1)", 64, "column", 1),
        ("(32,32):(32,1)", 128, "column", 8),  # a quarter-warp at a time
        ("(32,128):(128,1)", 8, "row", 1),  # four lanes share each word
        ("(32,32):(36,1)", 8, "column", 1),
        ("(32,96):(96,1)", 8, "column.b32", 8),
    ],
)
def test_known_cases(layout: str, bits: int, access: str, ways: int) -> None:
    found = ml.bank_conflicts(layout, access, bits=bits)
    assert found.ways == ways, found
    assert found.verdict == ("no conflicts" if ways == 1 else f"{ways}-way conflict")
    assert found.has_conflicts == (ways > 1)


@each_row("step", [*range(1, 130), 160, 192, 599])
def test_an_unswizzled_pitch_has_gcd_ways(step: int) -> None:
    found = ml.bank_conflicts(f"(32,{step}):({step},1)", Lanes(lambda lane: (lane, 0)), bits=32)
    assert found.ways == gcd(step, 32)


@each_row(
    "element, vector, lane, rounds",
    [
        (4, 2, lambda lane: lane, 2),  # two half-warps
        (4, 2, lambda lane: lane // 2, 1),  # lanes 2k and 2k + 1 agree
        (4, 2, lambda lane: lane // 4 * 2 + lane % 2, 1),  # lanes l and l xor 2 agree
        (4, 2, lambda lane: lane % 16, 2),  # lanes l and l xor 16 agree, which does not count
        (4, 2, lambda lane: None if lane % 2 else lane // 2, 1),  # the others take no part
        (4, 4, lambda lane: lane, 4),  # four quarter-warps
        (4, 4, lambda lane: lane // 2, 2),
        (4, 4, lambda _: 0, 2),  # two halves, even if all agree
        (4, 1, lambda _: 0, 1),  # one word for all
        (1, 1, lambda lane: lane, 1),
    ],
)
def test_phases_of_wide_loads(element: int, vector: int, lane: object, rounds: int) -> None:
    def at(number: int) -> tuple[int, int] | None:
        place = lane(number)
        return None if place is None else (0, place * vector)

    tile = f"(1,{32 * vector}):(0,1)"
    load = ml.bank_conflicts(tile, at, vector=vector, bits=8 * element)
    assert (load.wavefronts, load.phases, load.ways) == (rounds, rounds, 1)
    store = ml.bank_conflicts(tile, Lanes(at, vector, is_store=True), bits=8 * element)
    assert store.wavefronts == max(1, element * vector // 4), "stores do not merge"


def test_a_witness_says_which_lanes_collide() -> None:
    found = ml.bank_conflicts("(32,32):(32,1)", lambda lane: (lane, 5), bits=64)
    assert isinstance(found, ml.gpu.BankConflicts)
    assert found.bank == 10
    assert found.collisions[:2] == (
        ml.gpu.Collision(10, (0,), (0, 5)),
        ml.gpu.Collision(74, (1,), (1, 5)),
    )
    assert found.ranks == (5, 1)
    assert str(found).splitlines()[0] == (
        "16-way conflict: load <lambda>(lane) of (32,32):(32,1), 64 bits"
    )


def test_a_value_reads_well_everywhere() -> None:
    found = ml.bank_conflicts("f32[32,32]", "column")
    assert repr(found) == (
        "<BankConflicts: 32-way conflict: load column of f32[32,32]{1,0}, 32 bits>"
    )
    assert "<pre>32-way conflict" in found._repr_html_()
    encoded = json.loads(json.dumps(plain(found)))
    assert encoded["ways"] == 32
    assert encoded["collisions"][1] == {"word": 32, "lanes": [1], "coordinate": [1, 0]}


def test_an_access_begins_where_it_is_told() -> None:
    odd = "(32,40):(33,1)"  # rows of 66 bytes: an odd column begins in the middle of a word
    assert ml.bank_conflicts(odd, "column", bits=16, at=(0, 0)).instructions == 1
    ways = {at: ml.bank_conflicts(odd, "column", bits=16, at=(0, at)).ways for at in (0, 1)}
    assert ml.bank_conflicts(odd, "column", bits=16).ways == max(ways.values())
    late = ml.bank_conflicts("f32[64,64]", lambda lane: (lane, 0), at=(32, 7))
    assert isinstance(late, ml.gpu.BankConflicts)
    assert late.at == (32, 7)


def test_a_large_tile_is_looked_at_in_part() -> None:
    found = ml.bank_conflicts("f32[4096,4096]", "row")
    assert isinstance(found, ml.gpu.BankConflicts)
    assert (found.counted, found.instructions) == (4096, 4096 * 128)
    assert "the first 4,096 instructions of 524,288" in str(found)


@each_row(
    "layout, access, bits, formula",
    [
        ("f32[M,N]", "column", None, "gcd(N, 32)"),
        ("f64[M,N]", "column", None, "gcd(N, 16)"),
        ("c128[M,N]", "column", None, "gcd(N, 8)"),
        ("f32[M,2048]{0,1}", "row", None, "gcd(M, 32)"),
    ],
)
def test_ways_are_a_formula_of_the_pitch(
    layout: str, access: str, bits: int | None, formula: str
) -> None:
    found = ml.bank_conflicts(layout, access, bits=bits)
    assert isinstance(found, ml.gpu.BankFormula)
    assert found.formula == formula
    assert found.verdict == f"{formula}-way conflict"
    name = found.pitch
    for n in (1, 2, 7, 24, 32, 33, 48, 64, 100, 512):
        at = found.at(
            **{"M": 64, "N": 64, name: n} if "M" in layout and "N" in layout else {name: n}
        )
        if n >= 32:
            assert at.ways == found.ways[n % len(found.ways)], n


@each_row("bits, vector", [(b, v) for b in (8, 16, 32, 64) for v in (1, 2, 4) if b * v <= 128])
def test_a_formula_holds_at_every_pitch(bits: int, vector: int) -> None:
    access = Copy("column", bits * vector)
    found = ml.bank_conflicts(f"u{bits}[64,N]", access, assuming=f"N % {vector} == 0")
    assert isinstance(found, ml.gpu.BankFormula)
    assert found.pitch == ("N" if vector == 1 else f"N//{vector}")
    for n in [*range(found.least, 12), 15, 16, 20, 24, 31, 33, 40, 48, 63, 64, 65, 96, 130]:
        counted = ml.bank_conflicts(f"u{bits}[64,{vector * n}]", access, at=(0, 0))
        assert counted.ways == found.ways[n % len(found.ways)], n


def test_a_formula_for_registers_counts_all_their_instructions() -> None:
    """Of an odd pitch the second row begins in the middle of a word."""
    found = ml.bank_conflicts("f16[M,16]{0,1}", COLUMNS)
    assert isinstance(found, ml.gpu.BankFormula)
    for m in (64, 65, 96, 97, 98, 161):
        shared = ml.index_map(f"f16[{m},16]{{0,1}}")
        one_each = ml.gpu.Fragment(ml.index_map(COLUMNS), widest=1)
        counted = ml.bank_conflicts(shared, one_each, at=(0, 0))
        assert counted.ways == found.ways[m % len(found.ways)], m


@each_row(
    "arguments, more, words",
    [
        (("f32[8,8]", "diagonal"), {}, "expected the name of an access or a function"),
        (("f32[8,8]", "colum"), {}, "did you mean column?"),
        (("f32[8,8]", "row.b24"), {}, "expected the name of an access or a function"),
        (("f32[8,8]", None), {}, "expected the name of an access or a function"),
        (("(8,8):(8,1)", "row"), {}, "names no element type"),
        (("f32[8,8]", "row"), {"bits": 0}, "expected an integer from 1 to 1024"),
        (("f32[8,8]", "row"), {"bits": 12}, "expected a multiple of 8 from 8 on, got 12"),
        (("f32[8,8]", "row.b16"), {}, "expected a multiple of 32 bits, got 16"),
        (("f32[8,8]{0,1}", "row.b128"), {}, "are not one vector"),
        (("f32[8,9]", "row.b128"), {}, "are not one vector"),
        (("f32[8,8,8]", "ldmatrix"), {}, "expected a tile of 2 dimensions"),
        (("f32[8,8]", lambda lane: (lane, 0)), {}, "coordinate 0: expected 0 to 7, got 8"),
        (("f32[32,8]", lambda lane: (lane, 0)), {"at": (1, 0)}, "lanes leave the tile"),
        (("f32[32,8]", lambda _: "x"), {}, "expected a coordinate, got 'x'"),
        (
            ("f32[32,8]", lambda lane: ((lane, lane), 0)),
            {},
            "expected a coordinate, got ((0, 0), 0)",
        ),
        (("f32[32,8]", lambda lane: (x for x in (lane, 0))), {}, "expected a coordinate, got <gen"),
        (("f32[32,8]", lambda lane: 1 // lane), {}, "ZeroDivisionError"),
        (("f32[32,8]", lambda lane: lane), {}, "a coordinate: expected 2 numbers, got 1"),
        (("f32[8,8]", "row.b128"), {"at": (0, 1)}, "expected a multiple of 4 at the end, got 1"),
        (("f32[8,8]", "row"), {"at": (8, 0)}, "coordinate 0: expected 0 to 7, got 8"),
        (("f32[8,N]", "row"), {"at": (0, 0)}, "in an array of symbolic sizes"),
        (("f32[8,N]", "column.b128"), {}, "not aligned for every value of N"),
        (("f32[8,N]{0,1}", "row.b128"), {}, "are not one vector"),
        (("f32[]", "row"), {}, "expected one dimension or more"),
        (("f32[]", lambda _: ()), {}, "expected one dimension or more"),
        (("f32[0,N]{0,1}", "row"), {}, "has no elements, whatever N is"),
        (("f32[8,8]", lambda _: None), {"vector": 0}, "expected an integer from 1 to 128"),
    ],
)
def test_wrong_questions_are_refused(
    arguments: tuple[object, ...], more: dict[str, object], words: str
) -> None:
    with pytest.raises(ml.LayoutError) as error:
        ml.bank_conflicts(*arguments, **more)
    assert words in str(error.value), error.value
    assert len(str(error.value).splitlines()) >= 2, error.value


@each_row("ask", [ml.bank_conflicts, ml.coalescing, ml.cache_lines])
def test_addresses_past_64_bits_are_refused(ask: Any) -> None:
    """Lanes 2^64 bytes apart were taken for one word, and for one line."""
    for pitch in ("4611686018427387904, 1", "LD, 4611686018427387904"):
        with pytest.raises(ml.UnsupportedError, match="64 bits"):
            ask(f"strided<[{pitch}]>", "column", (32, 2), bits=32)
    far = 2**48 // 32
    assert (
        "conflict" in ml.bank_conflicts(f"strided<[{far}, 1]>", "column", (32, 1), bits=32).verdict
    )
