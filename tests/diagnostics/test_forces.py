"""What forces a layout: the instruction near a value, in small programs and in recorded ones."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from morello_layouts.programs.diagnostics.forces import Neighbours
from tests.support import tpu_dumps
from tests.support.tables import each_row

TEXT = """HloModule m, is_scheduled=true

%fused (p: f32[8,8], q: f32[8,8]) -> f32[8,8] {
  %p = f32[8,8]{1,0} parameter(0)
  %q = f32[8,8]{1,0} parameter(1)
  %n = f32[8,8]{1,0} negate(%p)
  ROOT %d = f32[8,8]{1,0} dot(%n, %n), lhs_contracting_dims={0}, rhs_contracting_dims={1}
}

%body (s: (f32[8,8])) -> (f32[8,8]) {
  %s = (f32[8,8]{0,1}) parameter(0)
  %in = f32[8,8]{0,1} get-tuple-element(%s), index=0
  %sorted = f32[8,8]{0,1} sort(%in), dimensions={0}
  ROOT %out = (f32[8,8]{0,1}) tuple(%sorted)
}

%condition (c: (f32[8,8])) -> pred[] {
  %c = (f32[8,8]{0,1}) parameter(0)
  ROOT %flag = pred[] constant(false)
}

ENTRY %main (a: f32[8,8], b: f32[8,8]) -> f32[8,8] {
  %a = f32[8,8]{1,0} parameter(0), metadata={op_name="a"}
  %b = f32[8,8]{1,0} parameter(1)
  %f = f32[8,8]{1,0} fusion(%a, %b), kind=kOutput, calls=%fused,
    metadata={source_file="m.py" source_line=3}
  %e = f32[8,8]{1,0} exponential(%f)
  %copy.1 = f32[8,8]{0,1} copy(%e)
  %t = (f32[8,8]{0,1}) tuple(%copy.1)
  %w = (f32[8,8]{0,1}) while(%t), condition=%condition, body=%body
  %g = f32[8,8]{0,1} get-tuple-element(%w), index=0
  %copy.2 = f32[8,8]{1,0} copy(%g)
  %h = f32[8,8]{1,0} negate(%copy.2)
  ROOT %copy.3 = f32[8,8]{0,1} copy(%h)
}
"""


@each_row(
    ("name", "text"),
    [
        ("a", "d of f reads it (m.py:3)"),
        ("b", None),  # the fusion does nothing with it that asks for a layout
        ("f", "d of f makes it (m.py:3)"),
        ("e", "d of f makes it (m.py:3)"),
        ("copy.1", "sorted reads it"),  # inside the loop
        ("g", "sorted makes it"),
        ("copy.3", "copy.3 is an output, whose layout is given"),
    ],
)
def test_the_nearest_instruction_that_asks_for_a_layout(name: str, text: str | None) -> None:
    near = Neighbours(ml.read_hlo(TEXT))
    found = near.force(near.module.instruction(name))
    assert (None if found is None else str(found)) == text


def test_producer_and_readers_are_behind_those_that_only_name_values() -> None:
    near = Neighbours(ml.read_hlo(TEXT))
    producer = near.producer(near.module.instruction("copy.2"))
    assert producer is not None
    assert producer.name == "w"
    assert [i.name for i in near.readers(near.module.instruction("copy.1"))] == ["w"]
    assert near.producer(near.module.instruction("a")) is None


def test_the_report_says_why_a_copy_is_there() -> None:
    report = ml.diagnose(TEXT)
    because = {move.name: move.because for move in report.moves if move.opcode == "copy"}
    assert because["copy.1"] == "sorted reads it"
    assert "because sorted reads it" in str(report)
    assert "made by e; read by w" in str(report)


@pytest.mark.parametrize(
    ("program", "name", "words"),
    [
        # What the user found by compiling variants: the matrix product forces it, not the shape.
        ("a9_batchlast_einsum.v5e", "copy.1", "convolution"),
        ("sharded_fsdp_tp_train.v5e", "copy.4", "convolution.11 of convolution_bitcast_fusion"),
        ("sharded_fsdp_tp_train.v5e", "fusion.45", "convolution.13 of fusion.45 makes it"),
        ("kv_decode_head80_mqa.v5e", "copy.30", "convolution-base-dilated.7 of fusion.109 reads"),
    ],
)
def test_recorded_programs(program: str, name: str, words: str) -> None:
    near = Neighbours(tpu_dumps.module(program))
    assert words in str(near.force(near.module.instruction(name)))


@pytest.mark.slow
@each_row("program", [n for n in tpu_dumps.names() if "lbfgs" not in n])
def test_no_shape_is_offered_inside_and_no_tile_anywhere(program: str) -> None:
    report = ml.diagnose(tpu_dumps.module(program), top=None)
    assert report.undecided == 0
    for found in report.wasteful:
        best = found.alternative.suggestion
        assert best is None or (found.stored and "tile" not in best.changes)
    text = str(report)
    assert "tiling=" not in text
    assert "for a value inside" not in text


STORED = """
HloModule jit_f, entry_computation_layout={{(f32[4000,7,33]{{2,1,0:T(8,128)}}, f32[4000,7,33]{{2,1,0:T(8,128)}}, f32[])->f32[4000,7,33]{{2,1,0:T(8,128)}}}}
%fused (p: f32[4000,7,33], q: f32[4000,7,33], s: f32[]) -> (f32[4000,7,33], f32[4000,7,33]) {{
  %p = f32[4000,7,33]{{2,1,0:T(8,128)}} parameter(0)
  %q = f32[4000,7,33]{{2,1,0:T(8,128)}} parameter(1)
  %s = f32[] parameter(2)
  %every = f32[4000,7,33]{{2,1,0:T(8,128)}} broadcast(%s), dimensions={{}}
  %sum = f32[4000,7,33]{{2,1,0:T(8,128)}} {inside}
  %twice = f32[4000,7,33]{{2,1,0:T(8,128)}} add(%sum, %every)
  ROOT %both = (f32[4000,7,33]{{2,1,0:T(8,128)}}, f32[4000,7,33]{{2,1,0:T(8,128)}}) tuple(%sum, %twice)
}}
ENTRY %main (a: f32[4000,7,33], b: f32[4000,7,33], c: f32[]) -> f32[4000,7,33] {{
  %a = f32[4000,7,33]{{2,1,0:T(8,128)}} parameter(0)
  %b = f32[4000,7,33]{{2,1,0:T(8,128)}} parameter(1)
  %c = f32[] parameter(2)
  %large = f32[{large},1024]{{1,0:T(8,128)}} iota(), iota_dimension=0
  %f = (f32[4000,7,33]{{2,1,0:T(8,128)}}, f32[4000,7,33]{{2,1,0:T(8,128)}}) fusion(%a, %b, %c), kind=kLoop, calls=%fused
  %kept = f32[4000,7,33]{{2,1,0:T(8,128)}} get-tuple-element(%f), index=1
  ROOT %result = f32[4000,7,33]{{2,1,0:T(8,128)}} {root}
}}
"""  # noqa: E501


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "write jnp.reshape(a, (924000,))"),
        ({"inside": "reverse(%p), dimensions={1}"}, "moved for sum, which"),
        ({"inside": "copy(%p)"}, "moved for sum, which"),
        ({"root": "sort(%kept), dimensions={0}"}, "moved for result, which"),
        ({"large": "1600000"}, "less than 1 percent of the program"),
    ],
)
def test_hints_are_told_where_no_relayout_follows(given: dict[str, str], said: str) -> None:
    """Of three arrays, two are parameters; of a fusion's two results, one is an output."""
    usual = {"inside": "multiply(%p, %q)", "root": "copy-done(%kept)", "large": "8"}
    text = STORED.format(**{**usual, **given}).replace("copy-done(%kept)", "negate(%kept)")
    (found,) = (x for x in ml.diagnose(text, "v5e").wasteful if x.waste.shape.shape[:1] == (4000,))
    assert said in str(found.alternative)
    assert "better" not in str(found.alternative)
    told = found.alternative.told
    assert (told is None) == bool(given)
    assert told is None or (told["tried"] is False and told["hint"].endswith("not tried"))
    assert found.count == 5
    assert found.stored == 3


def test_one_leaf_of_a_fusion_is_an_output() -> None:
    text = STORED.format(inside="multiply(%p, %q)", root="negate(%kept)", large="8")
    text = text.replace("ROOT %result = f32[4000,7,33]{2,1,0:T(8,128)} negate(%kept)", "")
    text = text.replace("  %kept =", "  ROOT %kept =")
    (found,) = (x for x in ml.diagnose(text, "v5e").wasteful if x.waste.shape.shape[:1] == (4000,))
    assert (found.count, found.stored) == (4, 3)
