"""What commands answer beside the text that tests/data/recorded/cli has: JSON, files, languages."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.interfaces.api.conversions import NOTATIONS
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.outputs.codegen import TARGETS


def run(line: str) -> Result:
    return CliRunner().invoke(commands, shlex.split(line), catch_exceptions=False)


X = "bf16[10,200]{1,0:T(8,128)(2,1)}"


@pytest.mark.parametrize("name", ["convert f32[3,5]{1,0:T(2,2)}"])
def test_without_a_notation_all_are_tried(name: str) -> None:
    lines = dict(re.findall(r"^  (\w+) +(.+)", run(name).stdout, re.MULTILINE))
    assert [*lines] == [*NOTATIONS]
    assert lines["morello"].startswith("none: 9 of 24 slots are padding")
    assert run(f"{name} --to all").stdout == run(name).stdout
    answer = json.loads(run(f"{name} --json").stdout)
    assert [each["to"] for each in answer["conversions"]] == [*NOTATIONS]


@pytest.mark.parametrize(
    ("line", "exists"),
    [
        ("convert '[1, 0, 1 p(4)]' --shape 6x8 --to xla", True),
        ("convert f32[3,5]{1,0:T(2,2)} --to morello", False),
        ("convert '[0, 0 oe(4), 1, 0 p(2)]' --shape M,N --to xla", None),
    ],
)
def test_json_of_what_does_not_exist(line: str, exists: bool | None) -> None:
    result = run(f"{line} --json")
    answer = json.loads(result.stdout)
    assert (answer["exists"], result.stderr) == (exists, "")
    assert (answer["reason"] is None) == (answer["layout"] is not None) == (exists is True)


def test_code_goes_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    assert run(f"code {X} --function -o {path}").stdout == ""
    assert path.read_text() == ml.code(X, "c", function=True) + "\n"


def test_numbers_for_symbolic_sizes() -> None:
    sized = run("code f32[M,N]{1,0:T(8,128)} --at M=10,N=200").stdout
    assert sized == run("code f32[10,200]{1,0:T(8,128)}").stdout


@pytest.mark.parametrize("target", TARGETS)
def test_each_language(target: str) -> None:
    found = run(f"code {X} --language {target} --function --cheapest").stdout
    assert found == ml.code(X, target, function=True, simplified="cheapest") + "\n"
    pair = ("f32[60,64]{1,0}", "{1,0:T(8,128)}")
    printed = run(f"relayout {pair[0]} {pair[1]} --language {target}").stdout
    if target == "triton":
        assert printed == ml.relayout(*pair).kernel("triton", fill=0)
        sized = [text.replace("60,64", "M,64") for text in pair]
        printed = run(f"relayout {sized[0]} {sized[1]} --language triton").stdout
        assert printed == ml.relayout(*sized).kernel("triton", fill=0)
    elif target not in ("c", "cuda", "python"):
        is_code = target not in ("latex", "sympy", "mlir")
        name = "relayout" if is_code else None
        assert printed == f"{ml.code(ml.relayout(*pair), target, function=is_code, name=name)}\n"


@given(
    st.text(alphabet="bf16s32[]{}(),:T*LESMC0123456789xpoe -?<=ijN/%", max_size=24),
    st.sampled_from(TARGETS),
    st.sampled_from([(), ("--function",), ("--shift",), ("--inverse",), ("--bounds", "i=0..9")]),
)
def test_rubbish_never_gives_a_traceback(text: str, target: str, more: tuple[str, ...]) -> None:
    result = CliRunner().invoke(commands, ("code", "--language", target, *more, "--", text))
    assert result.exit_code in (0, 2), (text, result.exception)
