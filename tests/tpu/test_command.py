"""The command ``default``, and what ``explain`` says of TPUs; sentences are recorded."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr import standard
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.machines.tpu_layouts.layouts import TpuFacts, tpu_facts


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(
        commands, arguments, env={"COLUMNS": "200"}, input=stdin, catch_exceptions=False
    )


def default(*arguments: str) -> str:
    result = run("default", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_standard_input() -> None:
    assert run("default", "-", "--tpu", "v5e", stdin="f32[3,5]\n").stdout.startswith("f32[3,5]{")


@pytest.mark.parametrize("text", ["f32[]", "f32[0,3]", f"f32[{'1,' * 8}1]"])
def test_json_has_the_same_keys_always(text: str) -> None:
    answer = json.loads(default(text, "--tpu", "v3", "--json"))
    assert set(answer) == {
        "text", "generation", "layout", "minor_to_major", "tiles", "element_bits", "data_bytes",
        "reserved_bytes", "padding_bytes", "factor", "padding", "alternatives",
    }  # fmt: skip
    assert answer["text"] == text


@pytest.mark.parametrize("limit", [1, 2, 5, 30])
def test_the_default_is_not_its_own_alternative(limit: int) -> None:
    text = ("default", "s32[8388608,8,4]", "--tpu", "v5e", "--json", "--alternatives", str(limit))
    found = json.loads(run(*text).stdout)
    layouts = [each["layout"] for each in found["alternatives"]]
    assert len(layouts) == min(limit, 10)
    assert found["layout"] not in layouts


RUBBISH = st.one_of(
    st.text(max_size=20),
    st.from_regex(
        r"(f32|s4|pred|u2|c128|s1)\[(<=)?[0-9M?]{0,20}(,[0-9]{1,19}){0,3}\]", fullmatch=True
    ),
)


@given(RUBBISH.filter(lambda text: not text.startswith("-")), st.sampled_from(ml.tpu.GENERATIONS))
def test_any_text_gives_an_answer_or_an_error(text: str, generation: str) -> None:
    result = run("default", text, "--tpu", generation, "--json")
    assert result.exit_code in (0, 2)
    assert bool(result.stdout) == (result.exit_code == 0)


def facts(text: str) -> TpuFacts:
    x = ml.parse(text)
    assert isinstance(x, ml.XlaShape)
    found = tpu_facts(x, standard(len(x.dims)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("bf16[32,256]{1,0:T(8,128)(2,1)}", (1, 0)),
        ("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", (8, 0)),
        ("s8[64,256]{1,0:T(32,128)(4,1)}", (1, 0)),
        ("bf16[1024]{0:T(512)(128)(2,1)}", (128,)),
    ],
)
def test_words_of_packing_agree_with_the_index_map(text: str, apart: tuple[int, ...]) -> None:
    """Neighbours in memory lie as far apart in the array as the words say."""
    m = ml.index_map(text)
    assert m.coordinates(0) == (0,) * len(apart)
    assert m.coordinates(1) == apart
    packing = facts(text).packing
    distance = max(apart)
    said = "neighbours along" if distance == 1 else f"elements {distance} apart along"
    assert said in packing
