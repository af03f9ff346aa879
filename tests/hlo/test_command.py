"""``explain`` of an instruction of HLO."""

from __future__ import annotations

import json

import pytest

from morello_layouts.interfaces.explanations.report import _SIZES
from tests.cli.test_explain import explain, run

ADD = "add.936 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)} add(exponential.183, broadcast.3115)"
FUSION = (
    "ROOT %fusion.3 = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}\n"
    "   fusion(bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)} %fusion.32),\n"
    "   kind=kCustom, calls=%all-reduce-scatter.3, "
    'metadata={op_name="jit(f)/psum" source_file="f.py" source_line=3}'
)


def test_the_instruction_comes_before_its_result() -> None:
    shape = "bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}"
    assert explain(ADD) == (
        "Instruction\n"
        "  name      add.936\n"
        "  opcode    add: each element from those at its place\n"
        "  operands  exponential.183, broadcast.3115\n"
    ) + explain(shape)


def test_rows_of_an_instruction() -> None:
    assert explain(FUSION, width=120).startswith(
        "Instruction\n"
        "  name       fusion.3, the root of its computation\n"
        "  opcode     fusion: several operations compiled as one; values inside do not reach "
        "memory; kCustom: as the target\n"
        "             chooses\n"
        "  operands   fusion.32: bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)}\n"
        "  calls      all-reduce-scatter.3\n"
        "  operation  jit(f)/psum\n"
        "  source     f.py:3\n"
        "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}\n"
    )


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("%p = f32[8]{0} parameter(3)", "  number  3"),
        ("c = f32[2]{0} constant({1, 2})", "  value   {1, 2}"),
        (
            "s = (f32[8]{0}, f32[8]{0:S(1)}, u32[]) copy-start(%h)",
            "  opcode    copy-start: begins: the same elements, in another layout",
        ),
        (
            "a = f32[8]{0} negate(b), sharding={replicated}",
            f"  sharding  {{replicated}}: whole on every device; {_SIZES}",
        ),
        ("a = f32[8]{0} an-operation-of-tomorrow(b)", "  opcode    an-operation-of-tomorrow"),
    ],
)
def test_rows_of_other_instructions(text: str, row: str) -> None:
    assert row in explain(text, width=200).splitlines()


def test_json_of_an_instruction() -> None:
    whole = json.loads(explain(FUSION, "--json"))
    assert whole["text"] == "bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}"
    assert [array["sizes"]["reserved_bytes"] for array in whole["arrays"]] == [8388608]
    found = whole["instruction"]
    assert found.pop("meaning").startswith("several operations compiled as one")
    assert found.pop("sharding") is None
    assert found.pop("attributes")["kind"] == "kCustom"
    assert found == {
        "name": "fusion.3",
        "opcode": "fusion",
        "is_root": True,
        "literal": None,
        "operands": [{"name": "fusion.32", "type": "bf16[32,32,8192]{2,1,0:T(8,128)(2,1)S(1)}"}],
        "calls": ["all-reduce-scatter.3"],
        "op_name": "jit(f)/psum",
        "source": "f.py:3",
    }
    assert json.loads(explain("f32[8]", "--json"))["instruction"] is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = f32[8]{1} abs(y)", "expected dimensions 0 to 0, got 1"),
        ("x = f32[8]{0:T(8", "expected the whole of this type"),
        ("x = f32[8] abs(y)\nz = f32[8] abs(x)", "expected one instruction, got 2"),
    ],
)
def test_wrong_instructions(text: str, what: str) -> None:
    result = run("explain", text)
    assert result.exit_code == 2
    assert what in result.stderr


def test_a_shape_beside_an_instruction_is_refused() -> None:
    assert run("explain", ADD, "--shape", "6x8").exit_code == 2
