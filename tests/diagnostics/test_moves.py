"""The effect of copies, transposes, reshapes and bitcasts, compared with packed arrays."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.programs.diagnostics.moves import HloMove
from tests.support.paths import rows
from tests.support.tables import each_row


def move(text: str) -> HloMove:
    (found,) = ml.diagnose(text).moves
    return found


@each_row(
    ("instruction", "effect", "holds", "moved"),
    [
        ("f32[8,16]{1,0} copy(f32[8,16]{1,0} %a)", "duplicates", True, 512),
        ("f32[8,16]{1,0:S(1)} copy(f32[8,16]{1,0} %a)", "memory space", True, 512),
        ("f32[8,16]{0,1} copy(f32[8,16]{1,0} %a)", "transposes", False, 512),
        ("f32[8,16]{1,0:T(8,128)} copy(f32[8,16]{1,0} %a)", "retiles", False, 4096),
        (
            "f32[16,1,8]{2,0,1:T(8,128)} copy(f32[16,1,8]{2,1,0:T(8,128)} %a)",
            "retiles",
            False,
            8192,
        ),
        ("f32[1,16]{0,1} copy(f32[1,16]{1,0} %a)", "duplicates", True, 64),
        ("f32[0,3]{0,1} copy(f32[0,3]{1,0:T(8,128)} %a)", "duplicates", True, 0),
        ("f32[3,0]{1,0} transpose(f32[0,3]{1,0:T(8,128)} %a), dimensions={1,0}", "free", True, 0),
        ("f32[0]{0:T(128)} reshape(f32[0,3]{1,0} %a)", "free", True, 0),
        ("f32[8,0]{1,0} bitcast(f32[0,3]{1,0:T(8,128)} %a)", "free", True, 0),
        ("f32[16,8]{1,0} transpose(f32[8,16]{1,0} %a), dimensions={1,0}", "transposes", False, 512),
        ("f32[16,8]{0,1} transpose(f32[8,16]{1,0} %a), dimensions={1,0}", "free", True, 0),
        ("f32[8,8]{1,0} transpose(f32[8,8]{1,0} %a), dimensions={0,1}", "free", True, 0),
        ("f32[8,8]{1,0} transpose(f32[8,8]{1,0} %a), dimensions={1,0}", "transposes", False, 256),
        ("f32[128]{0} reshape(f32[8,16]{1,0} %a)", "free", True, 0),
        ("f32[128]{0} reshape(f32[8,16]{0,1} %a)", "reshapes", False, 512),
        ("f32[8,16]{1,0} bitcast(f32[16,8]{0,1} %a)", "free", True, 0),
        ("f32[8,16]{1,0} bitcast(f32[8,16]{0,1} %a)", "free", True, 0),
        ("f32[8,16]{1,0} bitcast(f32[8,16]{1,0:T(8,128)} %a)", "unknown", None, 0),
        ("f32[4]{0} bitcast(f32[2,2]{1,0:T(2,2)} %a)", "free", True, 0),
        ("f32[2,2,8,128]{3,2,1,0} bitcast(f32[16,256]{1,0:T(8,128)} %a)", "free", True, 0),
        ("u32[5,200]{1,0:T(4,128)} bitcast(bf16[10,200]{1,0:T(8,128)(2,1)} %a)", "free", True, 0),
        ("f32[5,3]{1,0:T(2,2)} bitcast(f32[3,5]{1,0:T(2,2)} %a)", "free", True, 0),
        ("s32[8]{0} copy(f32[8]{0} %a)", "converts", False, 32),
        ("bf16[8,4]{0,1:S(1)} copy(f32[8,4]{1,0} %a)", "converts", False, 64),
        ("f32[1,8]{1,0:T(1,128)} reshape(bf16[8]{0:T(256)(128)(2,1)} %a)", "converts", False, 512),
        ("bf16[4,8]{1,0} transpose(f32[8,4]{1,0} %a), dimensions={1,0}", "converts", False, 64),
        ("s16[8,16,2]{2,1,0} bitcast-convert(f32[8,16]{1,0} %a)", "free", True, 0),
        ("s32[8,16]{1,0} bitcast-convert(f32[8,16]{1,0} %a)", "free", True, 0),
        ("(f32[8]{0:S(1)}, f32[8]{0}, u32[]) copy-start(f32[8]{0} %a)", "memory space", True, 32),
    ],
)
def test_effects(instruction: str, effect: str, holds: bool, moved: int) -> None:
    verdict = move(f"%r = {instruction}").verdict
    assert (verdict.effect, verdict.holds, verdict.moved_bytes) == (effect, holds, moved)


def test_a_free_bitcast_says_which_element_is_which() -> None:
    found = move("%r = f32[2,2,8,128]{3,2,1,0} bitcast(f32[16,256]{1,0:T(8,128)} %a)").verdict
    assert found.reason == "split to [2,8,2,128], then transpose [0, 2, 1, 3]"
    assert move("%r = f32[5,3]{1,0:T(2,2)} bitcast(f32[3,5]{1,0:T(2,2)} %a)").verdict.reason == (
        "by the rules of HLO; which element is which was not found"
    )


def test_a_conversion_says_whether_the_order_changes() -> None:
    for layout, words in (("{1,0}", "keep their order"), ("{0,1}", "get another order")):
        found = move(f"%r = bf16[8,4]{layout} copy(f32[8,4]{{1,0}} %a)").verdict
        assert words in found.reason
        assert found.text == "converts the type, and rewrites the array"


@pytest.mark.slow
def test_bitcasts_of_programs_are_free() -> None:
    """By HLO's rules and by the buffer assignment they take no memory; so says the proof."""
    pairs = rows("tpu_bitcasts_of_programs.tsv.xz")
    text = "".join(f"%r{k} = {y} bitcast({x} %a)\n" for k, (x, y) in enumerate(pairs))
    verdicts = [found.verdict for found in ml.diagnose(text).moves]
    assert len(verdicts) == len(pairs) > 250
    wrong = [(v.operand, v.result, v.reason) for v in verdicts if v.effect != "free" or not v.kind]
    assert wrong == []


def test_the_words_name_memory_spaces() -> None:
    found = move("%r = f32[8,16]{0,1:S(1)} copy(f32[8,16]{1,0:S(5)} %a)").verdict
    assert found.text == "rewrites the array in another order of dimensions, host to VMEM"
    assert found.memory_spaces == (5, 1)


@each_row(
    ("instruction", "reason"),
    [
        ("f32[8]{0} copy(%a)", "operand's type is not in the text"),
        ("f32[8]{0} copy()", "operand's type is not in the text"),
        (
            "f32[8]{0} reshape(f32[9]{0} %a)",
            "reshape: expected a result with the elements of f32[9]{0}, got f32[8]{0}",
        ),
        ("f32[8]{0} copy(f32[9]{0} %a)", "copy: expected a result with the elements"),
        ("s32[8]{0} copy(f32[9]{0} %a)", "copy: expected a result with the elements"),
        ("f32[8]{0} bitcast(f32[16]{0} %a)", "equally many elements"),
        ("f32[8]{0} bitcast(f32[9,9]{1,0} %a)", "equally many elements"),
        ("f32[8,2]{1,0} transpose(f32[2,8]{1,0} %a)", "is not an order of dimensions"),
        (
            "f32[8,2]{1,0} transpose(f32[2,8]{1,0} %a), dimensions={0,0}",
            "transpose: dimension 0 appears twice",
        ),
        (
            "f32[8,2]{1,0} transpose(f32[2,8]{1,0} %a), dimensions={7,9}",
            "transpose: expected dimensions 0 to 1, got 7",
        ),
        ("f32[8,2]{1,0} transpose(f32[2,8]{1,0} %a), dimensions={99999999999}", "not an order"),
        ("(f32[8]{0}) copy((f32[8]{0}) %a)", "value is a tuple"),
        ("token[] copy(token[] %a)", "token"),
        ("f32[N]{0} copy(f32[N]{0} %a)", "sizes that are not numbers"),
        ("f32[8]{0:SC(0:4)} copy(f32[8]{0} %a)", "splits the array"),
    ],
)
def test_undecided_moves_have_a_reason(instruction: str, reason: str) -> None:
    verdict = move(f"%r = {instruction}").verdict
    assert (verdict.effect, verdict.holds, verdict.moved_bytes) == ("unknown", None, 0)
    assert reason in verdict.reason
    assert "\n" not in verdict.reason


ORDERS = tuple(permutations(range(3)))
TILES = ("", ":T(2,2)", ":T(2,4)(2,1)")


@pytest.mark.slow
@pytest.mark.parametrize("dimensions", ORDERS)
def test_transposes_are_those_of_numpy(dimensions: tuple[int, ...]) -> None:
    shape = (2, 4, 3)
    array = np.arange(1, 25, dtype=np.int32).reshape(shape)
    result = array.transpose(dimensions)
    for one, other, tile in product(ORDERS, ORDERS[::2], TILES):
        x = f"s32[{_list(shape)}]{{{_list(one)}{tile}}}"
        y = f"s32[{_list(result.shape)}]{{{_list(other)}{tile}}}"
        text = f"%r = {y} transpose({x} %a), dimensions={{{_list(dimensions)}}}"
        same = np.array_equal(ml.pack(x, array), ml.pack(y, result))
        assert move(text).verdict.holds is same, text


@pytest.mark.slow
@pytest.mark.parametrize("opcode", ["copy", "reshape"])
def test_copies_and_reshapes_are_those_of_numpy(opcode: str) -> None:
    shape = (2, 4, 3)
    array = np.arange(1, 25, dtype=np.int32).reshape(shape)
    result = array.reshape((4, 2, 3)) if opcode == "reshape" else array
    for one, other, tile in product(ORDERS, ORDERS, TILES):
        x = f"s32[{_list(shape)}]{{{_list(one)}{tile}}}"
        y = f"s32[{_list(result.shape)}]{{{_list(other)}}}"
        same = np.array_equal(ml.pack(x, array), ml.pack(y, result))
        assert move(f"%r = {y} {opcode}({x} %a)").verdict.holds is same, (x, y)


def _list(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


def test_the_operand_is_looked_up_in_the_dump() -> None:
    text = "%a = f32[8,16]{1,0} parameter(0)\n%r = f32[8,16]{0,1} copy(%a)"
    assert move(text).verdict.operand == "f32[8,16]{1,0}"


FUSED = """
%fused (p: f32[8,16]) -> f32[16,8] {
  %p = f32[8,16]{1,0} parameter(0)
  ROOT %t = f32[16,8]{1,0} transpose(%p), dimensions={1,0}
}
ENTRY %main (a: f32[8,16]) -> f32[16,8] {
  %a = f32[8,16]{1,0} parameter(0)
  ROOT %f = f32[16,8]{1,0} fusion(%a), kind=kLoop, calls=%fused
}
"""


def test_moves_in_fusions_write_nothing() -> None:
    found = move(FUSED)
    assert found.is_fused
    assert (found.verdict.moved_bytes, found.written_bytes) == (512, 0)
    report = ml.diagnose(FUSED)
    assert report.totals.results.reserved_bytes == 512  # of the fusion alone
    assert [(s.count, s.fused, s.written_bytes) for s in report.move_sums] == [(1, 1, 0)]
    assert "in a fusion" in str(report)


def test_a_loop_body_is_not_a_fusion() -> None:
    text = FUSED.replace("fusion(%a), kind=kLoop, calls=%fused", "while(%a), body=%fused")
    found = move(text)
    assert not found.is_fused
    assert found.written_bytes == 512


CONDITIONAL = """
%branch (p: f32[8,16]) -> f32[8,16] {
  %p = f32[8,16]{1,0} parameter(0)
  ROOT %n = f32[8,16]{1,0} negate(%p)
}
ENTRY %main (a: f32[8,16], i: s32[]) -> f32[8,16] {
  %a = f32[8,16]{1,0} parameter(0)
  %i = s32[] parameter(1)
  ROOT %c = f32[8,16]{1,0} conditional(%i, %a, %a), branch_computations={%branch, %branch}
}
"""


def test_the_result_of_a_branch_is_counted_once() -> None:
    totals = ml.diagnose(CONDITIONAL).totals
    assert (totals.results.arrays, totals.results.reserved_bytes) == (1, 512)
    assert (totals.parameters.arrays, totals.fused_computations) == (2, 0)


@each_row(
    ("instruction", "size"),
    [
        ("(f32[8]{0}, f32[16]{0}) all-gather-start(f32[8]{0} %a)", 64),
        ("f32[16]{0} all-gather-done((f32[8]{0}, f32[16]{0}) %a)", 0),
        ("f32[8]{0} all-reduce-start(f32[8]{0} %a)", 32),
        ("((f32[8]{0}), f32[4]{0}, u32[]) async-start(f32[8]{0} %a)", 20),
        ("((f32[8]{0}), f32[4]{0}, u32[]) async-update(%a)", 0),
        ("((f32[8]{0}), f32[4]{0}, u32[]) slice-start(f32[8]{0} %a)", 20),
        ("((f32[8]{0}), f32[4]{0}, u32[]) slice-update(%a)", 0),
        ("f32[4]{0} slice-done(%a)", 0),
        ("(f32[8]{0}, f32[4]{0}) all-reduce-start(f32[8]{0} %a, f32[4]{0} %b)", 48),
        ("() custom-call-start()", 0),
        ("(f32[8]{0}, f32[9]{0}, u32[]) collective-permute-start(f32[8]{0} %a)", 40),
        ("(f32[8]{0}, f32[9]{0}, u32[]) copy-start(f32[9]{0} %a)", 36),
        ("f32[8]{0} dynamic-update-slice(f32[8]{0} %a, f32[1]{0} %b, s32[] %i)", 32),
        ("(f32[8]{0}, f32[8]{0}) fusion(f32[8]{0} %a)", 64),
        ("(f32[8]{0}, f32[8]{0}) tuple(%a, %a)", 0),
        ("f32[8]{0} get-tuple-element((f32[8]{0}) %a), index=0", 0),
        ("token[] after-all()", 0),
    ],
)
def test_bytes_that_are_written(instruction: str, size: int) -> None:
    report = ml.diagnose(f"%r = {instruction}")
    assert report.totals.results.reserved_bytes == size
