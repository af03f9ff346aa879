"""``explain``, as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from morello_layouts.interfaces.cli.main import commands
from morello_layouts.interfaces.explanations.report import Proofs
from morello_layouts.interfaces.explanations.rows import proof_rows
from morello_layouts.proof import Proof

MAIN = "bf16[10,200]{1,0:T(8,128)(2,1)}"


def run(*arguments: str, width: int = 100, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(
        commands, arguments, env={"COLUMNS": str(width)}, input=stdin, catch_exceptions=False
    )


def explain(*arguments: str, width: int = 100) -> str:
    result = run("explain", *arguments, width=width)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def explained(*arguments: str) -> dict[str, Any]:
    (array,) = json.loads(explain(*arguments, "--json"))["arrays"]
    return array  # type: ignore[no-any-return]


@pytest.mark.parametrize("shape", ["6x8", "6,8", "(6, 8)", "[6,8]", "6×8", " 6 x 8 "])
def test_shapes_as_one_types_them(shape: str) -> None:
    assert explained("[0, 1]", "--shape", shape)["index"]["shape"] == [6, 8]


def test_scalars() -> None:
    assert explained("[]", "--shape", "()")["index"]["formula"] == "0"
    assert "Offsets\n   0\n" in explain("f32[]")


def test_a_layout_without_a_shape_is_explained_as_far_as_that_goes() -> None:
    array = explained("{1,0:T(8,128)}")
    assert array["parts"][1]["meaning"] == "8 × 128 tiles over (d0, d1)"
    assert array["index"] is array["sizes"] is array["proofs"] is array["picture"] is None


def test_proofs_that_do_not_hold() -> None:
    """No layout that parses has such proofs."""
    wrong = Proof("injective", False, "(0,) and (1,) share an offset")
    unknown = Proof("verified", None, "ISL spent its budget of 5 operations")
    rows = [(row.label, row.text) for row in proof_rows(Proofs(wrong, wrong, unknown))]
    assert rows == [
        ("layout", "not injective: (0,) and (1,) share an offset"),
        ("formulas", "undecided whether the formulas agree: ISL spent its budget of 5 operations"),
    ]


@pytest.mark.parametrize(
    ("arguments", "prove"),
    [
        (("[1, 0]", "--shape", "4x6"), 0),
        (("f32[3,5]{1,0:T(2,2)}",), 1),  # padding: no bijection
        (("f32[M,N]{1,0:T(8,128)}",), 1),
        (("f32[3,5]{0}",), 2),
    ],
)
def test_explaining_is_done_whatever_the_proofs_say(arguments: tuple[str, ...], prove: int) -> None:
    runner = CliRunner()
    assert runner.invoke(commands, ["prove", "--bijective", *arguments]).exit_code == prove
    for more in ([], ["--json"]):
        status = runner.invoke(commands, ["explain", *arguments, *more]).exit_code
        assert status == (2 if prove == 2 else 0)


KEYS = {
    "path", "text", "kind", "headline", "dimensions", "parts", "axes", "word", "sizes", "index",
    "proofs", "tpu", "picture", "notes",
}  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [(MAIN,), ("[0, 1]", "--shape", "6x8"), ("[0, 1]",), ("token[]",), ("f32[?]",), ("f32[0]",)],
)
def test_json_has_the_same_keys_always(arguments: tuple[str, ...]) -> None:
    whole = json.loads(explain(*arguments, "--json"))
    assert set(whole) == {"text", "instruction", "arrays"}
    assert [set(array) for array in whole["arrays"]] == [KEYS]


def test_json_of_the_main_example() -> None:
    array = explained(MAIN)
    assert array["text"] == MAIN
    assert array["dimensions"][1] == {
        "name": "d1", "symbol": "d1", "size": 200, "is_dynamic": False,
    }  # fmt: skip
    assert array["parts"][0] == {
        "text": "bf16",
        "meaning": "brain floating point of 16 bits, 2 bytes each",
        "is_implied": False,
    }
    assert array["axes"][2] == {"coordinate": "(d0//2)%4", "size": 4}
    assert array["word"]["offsets"] == [[0, 0], [1, 0]]
    assert array["sizes"]["reserved_bytes"] == 8192
    assert array["index"]["physical_shape"] == [2, 2, 4, 128, 2, 1]
    assert array["index"]["derivation"] is None
    assert array["proofs"]["injective"]["holds"] is True
    assert array["proofs"]["bijective"]["holds"] is False
    assert array["proofs"]["bijective"]["padding"] == 2096
    assert array["proofs"]["verified"]["holds"] is True
    (grid,) = array["picture"]["grids"]
    assert grid["offsets"][1][:2] == [1, 3]
    assert grid["offsets"][-1][0] is None


def test_json_of_a_derivation_and_of_a_tuple() -> None:
    array = explained("[1, 0, 1 p(4)]", "--shape", "6x8", "--derivation")
    assert {"rule", "before", "after", "because"} == set(array["index"]["derivation"][0])
    whole = json.loads(explain("(f32[2], (s32[], f32[2]))", "--json"))
    assert [array["path"] for array in whole["arrays"]] == [[0], [1, 0], [1, 1]]
    assert json.loads(explain("()", "--json")) == {
        "text": "()", "instruction": None, "arrays": [],
    }  # fmt: skip


@pytest.mark.parametrize("text", [MAIN, f"  {MAIN}\n", MAIN.encode()])
def test_standard_input(text: str | bytes) -> None:
    result = run("explain", "-", stdin=text)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{MAIN}\n")
    assert run("draw", "-", stdin=text).stdout.startswith(f"{MAIN}\n")


def test_a_record_comes_from_standard_input_too() -> None:
    text = "r: 1 bytes { a: u4[2] at byte 0 }"
    assert run("explain", "-", stdin=text).stdout.startswith("r: 1 bytes {\n")
    assert run("draw", "-", stdin="q4_0[B]").stdout.startswith("q4_0: 18 bytes")


@pytest.mark.parametrize("width", [1, 40, 60, 80, 120])
def test_lines_fit_the_terminal(width: int) -> None:
    for line in explain(MAIN, "--derivation", width=width).splitlines():
        assert len(line) <= max(width, 45), line


def test_lines_of_a_pipe_are_whole() -> None:
    result = CliRunner().invoke(commands, ["explain", MAIN], env={"COLUMNS": None})
    assert (
        "  reference   2048*(d0//8) + 1024*(d1//128) + 256*((d0%8)//2) + 2*(d1%128) + (d0%8)%2 + "
        "(d1%128)%1\n"
    ) in result.stdout
