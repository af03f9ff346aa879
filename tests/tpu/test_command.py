"""The command ``default``, and what ``explain`` says of TPUs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr import standard
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.machines.tpu_layouts.facts import TpuFacts, tpu_facts
from tests.support.tables import each_row


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(
        commands, arguments, env={"COLUMNS": "200"}, input=stdin, catch_exceptions=False
    )


def default(*arguments: str) -> str:
    result = run("default", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_the_whole_answer() -> None:
    assert default("f32[9,1024]", "--tpu", "v5e", "--alternatives", "1") == (
        "f32[9,1024]{1,0:T(8,128)}\n"
        "TPU v5e chooses for a parameter: row-major, TPU tile format\n"
        "Text\n"
        "  f32       floating point of 32 bits, 4 bytes each\n"
        "  [9,1024]  d0 9, d1 1,024\n"
        "  {1,0}     row-major: d1 varies fastest, then d0\n"
        "  T(8,128)  8 × 128 tiles over (d0, d1): 2 × 8 of them; pads d0 from 9 to 16\n"
        "  (S(0))    HBM, the device's main memory (the default)\n"
        "Memory\n"
        "  bytes  36,864 of data in 65,536 (64.0 KiB) that XLA reserves: "
        "28,672 of padding, 1.78× the data\n"
        "TPU\n"
        "  lanes     d1 lies along the 128 lanes of a vector register\n"
        "  sublanes  8 rows of d0 lie along its 8 sublanes\n"
        "  packing   an element takes the 32-bit word of a lane\n"
        "  padding   second-minor dimension d0 of size 9 is padded to 16: tiles (8,128) have 8 "
        "rows\n"
        "  default   all generations choose it for a parameter\n"
        "Other layouts, the smallest first\n"
        "  1×  36,864 bytes as f32[9216]{0:T(1024)}: write jnp.reshape(a, (9216,)): "
        "d0 and d1 become one dimension of 9,216\n"
    )


def test_no_layout_is_smaller_than_that_of_no_elements() -> None:
    assert "Other layouts" not in default("f32[0,8]", "--tpu", "v5e")


def test_standard_input() -> None:
    assert run("default", "-", "--tpu", "v5e", stdin="f32[3,5]\n").stdout.startswith("f32[3,5]{")


def test_json_of_the_default() -> None:
    answer = json.loads(default("s8[64,3,1000]", "--tpu", "v5e", "--json", "--alternatives", "1"))
    (other,) = answer.pop("alternatives")
    assert answer == {
        "text": "s8[64,3,1000]",
        "generation": "v5e",
        "layout": "s8[64,3,1000]{2,0,1:T(32,128)(4,1)}",
        "minor_to_major": [2, 0, 1],
        "tiles": [[32, 128], [4, 1]],
        "element_bits": 8,
        "data_bytes": 192000,
        "reserved_bytes": 196608,
        "padding_bytes": 4608,
        "factor": 1.024,
        "padding": [
            {
                "dimensions": [2],
                "size": 1000,
                "padded": 1024,
                "text": (
                    "minor dimension d2 of size 1,000 is padded to 1,024: "
                    "tiles (32,128) have 128 columns"
                ),
            }
        ],
    }
    assert other == {
        "layout": "s8[192000]{0:T(1024)(128)(4,1)}",
        "groups": [[0, 1, 2]],
        "changes": ["fold"],
        "data_bytes": 192000,
        "reserved_bytes": 192512,
        "padding_bytes": 512,
        "factor": 192512 / 192000,
        "hint": "write jnp.reshape(a, (192000,)): d0, d1 and d2 become one dimension of 192,000",
    }


@pytest.mark.parametrize("text", ["f32[]", "f32[0,3]", f"f32[{'1,' * 8}1]"])
def test_json_has_the_same_keys_always(text: str) -> None:
    answer = json.loads(default(text, "--tpu", "v3", "--json"))
    assert set(answer) == {
        "text", "generation", "layout", "minor_to_major", "tiles", "element_bits", "data_bytes",
        "reserved_bytes", "padding_bytes", "factor", "padding", "alternatives",
    }  # fmt: skip
    assert answer["text"] == text


def test_no_alternatives() -> None:
    assert "Other layouts" not in default("f32[9,5]", "--tpu", "v5e", "--alternatives", "0")
    answer = json.loads(default("f32[9,5]", "--tpu", "v5e", "--alternatives", "0", "--json"))
    assert answer["alternatives"] == []


@pytest.mark.parametrize("limit", [1, 2, 5, 30])
def test_the_default_is_not_its_own_alternative(limit: int) -> None:
    text = ("default", "s32[8388608,8,4]", "--tpu", "v5e", "--json", "--alternatives", str(limit))
    found = json.loads(run(*text).stdout)
    layouts = [each["layout"] for each in found["alternatives"]]
    assert len(layouts) == min(limit, 10)
    assert found["layout"] not in layouts


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            ("f32[3]{0}", "--tpu", "v5e"),
            (
                "f32[3]{0} has a layout already\n"
                "the compiler chooses the layout of an array without one\n"
                "write f32[3]; the command explain explains this layout\n"
            ),
        ),
        (
            ("(f32[3], s32[])", "--tpu", "v5e"),
            (
                "expected one array, got (f32[3]{0}, s32[])\n"
                "the compiler chooses a layout for one array at a time\n"
                "write a type and sizes, such as bf16[8,128]\n"
            ),
        ),
        (
            ("token[]", "--tpu", "v5e"),
            (
                "expected one array, got token[]\n"
                "the compiler chooses a layout for one array at a time\n"
                "write a type and sizes, such as bf16[8,128]\n"
            ),
        ),
        (
            ("f32[<=8]", "--tpu", "v5e"),
            (
                "f32[<=8] has dynamic sizes\n"
                "default layouts were measured for sizes that do not change\n"
                "write a number for each size\n"
            ),
        ),
        (
            ("f32[M]", "--tpu", "v5e"),
            (
                "f32[M]{0} has sizes that are not numbers: M\n"
                "offsets and sizes are computed for sizes that are known\n"
                "write a number for each\n"
            ),
        ),
        (
            ("f32[3]", "--tpu", "v5"),
            (
                "'v5' is not a known generation of TPUs\n"
                "tiles and packing differ from one to the next\n"
                "give one of v2, v3, v4, v5e (v5litepod), v5p, v6e (Trillium), tpu7x (Ironwood)\n"
            ),
        ),
    ],
)
def test_bad_input(arguments: tuple[str, ...], lines: str) -> None:
    result = run("default", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", lines)


@pytest.mark.parametrize(
    "arguments",
    [
        ("f32[3]",),
        ("f32[3", "--tpu", "v5e"),
        ("s1[3]", "--tpu", "v5e"),
        ("[0, 1]", "--tpu", "v5e"),
        ("{1,0}", "--tpu", "v5e"),
        ("f32[3]", "--tpu", "v5e", "--alternatives", "-1"),
        ("f32[3]", "--tpu", "v5e", "--alternatives", "many"),
    ],
)
def test_more_bad_input(arguments: tuple[str, ...]) -> None:
    result = run("default", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr


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


LANES = "d1 lies along the 128 lanes of a vector register"
ONE_WORD = "an element takes the 32-bit word of a lane"


@each_row(
    ("text", "lanes", "sublanes", "packing"),
    [
        ("f32[9,9]{1,0:T(8,128)}", LANES, "8 rows of d0 lie along its 8 sublanes", ONE_WORD),
        ("f32[9,9]{1,0:T(1,128)}", LANES, "1 row of d0 lies along 1 of its 8 sublanes", ONE_WORD),
        ("f32[9,9]{1,0:T(16,128)}", LANES, "16 rows of d0 lie along the 8 sublanes of 2 registers",
         ONE_WORD),
        ("f32[9]{0:T(8,128)}", LANES.replace("d1", "d0"),
         "8 rows of an added dimension lie along its 8 sublanes",
         ONE_WORD),
        ("f64[9,9]{1,0:T(8,128)}", LANES, "8 rows of d0 lie along its 8 sublanes",
         "an element takes 2 words of 32 bits"),
        ("pred[9,9]{1,0:T(8,128)E(32)}", LANES, "8 rows of d0 lie along its 8 sublanes", ONE_WORD),
        ("bf16[9,9]{1,0:T(8,128)(2,1)}", LANES,
         "8 rows of d0 lie along 4 of its 8 sublanes, 2 to a sublane",
         "2 elements of 16 bits in the 32-bit word of a lane: neighbours along d0, in one column"),
        ("bf16[99,9]{1,0:T(8,128)(2,1,1,1)}", LANES,
         "16 rows of d0 lie along its 8 sublanes, 2 to a sublane",
         ("2 elements of 16 bits in the 32-bit word of a lane: elements 8 apart along d0, in one "
         "column")),
        ("s4[99,9]{1,0:T(64,128)(8,1)E(4)}", LANES,
         "64 rows of d0 lie along its 8 sublanes, 8 to a sublane",
         "8 elements of 4 bits in the 32-bit word of a lane: neighbours along d0, in one column"),
        ("bf16[999]{0:T(512)(128)(2,1)}",
         "128 neighbours along d0 lie along the 128 lanes of a vector register",
         "4 runs of 128 lie along 2 of its 8 sublanes",
         "2 elements of 16 bits in the 32-bit word of a lane: elements 128 apart along d0"),
        ("f32[]{:T(128)}", "the element lies in the first of the 128 lanes of a vector register",
         "and in the first of its 8 sublanes", ONE_WORD),
    ],
)  # fmt: skip
def test_registers_in_words(text: str, lanes: str, sublanes: str, packing: str) -> None:
    found = facts(text)
    assert (found.lanes, found.sublanes, found.packing) == (lanes, sublanes, packing)


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


@each_row(
    "text",
    [
        "f32[3,5]",
        "f32[3,5]{1,0:T(2,2)}",
        "f32[3,5]{1,0:T(8,64)}",
        "bf16[3,5]{1,0:T(8,128)}",
        "f32[3,5]{1,0:T(8,128)(2,1)}",
        "bf16[3,5]{1,0:T(8,128)(4,1)}",
        "bf16[3,5]{1,0:T(3,128)(2,1)}",
        "f32[3,5]{1,0:T(12,128)}",
        "f32[3,5]{1,0:T(*,128)}",
        "f32[3,5,7]{2,1,0:T(2,8,128)}",
        "f32[300]{0:T(64)}",
        "bf16[300]{0:T(128)}",
        "f32[3,5]{1,0:T(8,128)SC(0:1)}",
        "f6e2m3fn[3,5]{1,0:T(8,128)E(6)}",
        "token[]",
    ],
)
def test_other_tiles_have_no_registers(text: str) -> None:
    x = ml.parse(text)
    assert isinstance(x, ml.XlaShape)
    assert tpu_facts(x, standard(len(x.dims))) is None


@pytest.mark.parametrize(
    ("text", "default_on", "words"),
    [
        (
            "f32[8,128]{1,0:T(8,128)}",
            ml.tpu.GENERATIONS,
            "all generations choose it for a parameter",
        ),
        (
            "f32[8,128]{1,0:T(8,128)S(1)}",
            ml.tpu.GENERATIONS,
            "all generations choose it for a parameter",
        ),
        (
            "f32[7,1,128]{2,1,0:T(1,128)}",
            ml.tpu.GENERATIONS[2:],
            (
                "v4, v5e, v5p, v6e and tpu7x choose it for a parameter; "
                "v2 and v3 choose {2,0,1:T(8,128)}"
            ),
        ),
        (
            "f32[3,5]{1,0:T(8,128)}",
            (),
            "not chosen for a parameter: all generations choose {1,0:T(4,128)}",
        ),
        ("f32[<=8,128]{1,0:T(8,128)}", (), "not known for dynamic sizes"),
        (
            "f32[M,128]{1,0:T(8,128)}",
            (),
            "not known: f32[M,128]{1,0:T(8,128)} has sizes that are not numbers: M",
        ),
        (
            "u1[8,128]{1,0:T(32,128)(4,1)}",
            (),
            "not known: the default layout of u1 was not measured",
        ),
    ],
)
def test_generations_that_choose_a_layout(
    text: str, default_on: tuple[str, ...], words: str
) -> None:
    found = facts(text)
    assert (found.default_on, found.default) == (default_on, words)


def test_padding_of_symbolic_sizes() -> None:
    assert facts("f32[M,128]{1,0:T(8,128)}").padding == (
        "second-minor dimension d0 of size M is padded to 8*ceil(M/8): tiles (8,128) have 8 rows",
    )
    assert facts("f32[?,128]{1,0:T(8,128)}").padding == ()


def test_explain_has_the_facts() -> None:
    text = run("explain", "bf16[10,200]{1,0:T(8,128)(2,1)}").stdout
    assert "\nTPU\n  lanes     d1 lies along the 128 lanes of a vector register\n" in text
    assert "  padding   second-minor dimension d0 of size 10 is padded to 16: tiles (8,128)" in text
    assert "\nTPU\n" not in run("explain", "f32[3,5]{1,0:T(2,2)}").stdout


def test_json_of_the_facts() -> None:
    def tpu(text: str) -> Any:
        (array,) = json.loads(run("explain", text, "--json").stdout)["arrays"]
        return array["tpu"]

    assert tpu("f32[3,5]{1,0:T(2,2)}") is None
    assert tpu("f32[10,128]{1,0:T(8,128)}") == {
        "lanes": LANES,
        "sublanes": "8 rows of d0 lie along its 8 sublanes",
        "packing": ONE_WORD,
        "default_on": list(ml.tpu.GENERATIONS),
        "default": "all generations choose it for a parameter",
        "padding": [
            "second-minor dimension d0 of size 10 is padded to 16: tiles (8,128) have 8 rows"
        ],
    }
