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


def test_the_whole_explanation() -> None:
    assert explain("f32[3,5]{1,0:T(2,2)}") == (
        "f32[3,5]{1,0:T(2,2)}\n"
        "XLA array: row-major, tiled\n"
        "Text\n"
        "  f32     floating point of 32 bits, 4 bytes each\n"
        "  [3,5]   d0 3, d1 5\n"
        "  {1,0}   row-major: d1 varies fastest, then d0\n"
        "  T(2,2)  2 × 2 tiles over (d0, d1): 2 × 3 of them; "
        "pads d0 from 3 to 4 and d1 from 5 to 6\n"
        "Memory\n"
        "  shape     [2,3,2,2]\n"
        "  axes      d0//2, d1//2, d0%2, d1%2\n"
        "  recipe    [3,5] → pad [4,6] → split [2,2,3,2] → transpose [2,3,2,2]\n"
        "  elements  15 in a buffer of 24: 9 of padding, 1.60× the data\n"
        "  bytes     60 of data in 96 that XLA reserves: 36 of padding, 1.60× the data\n"
        "Offset\n"
        "  formula    12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2\n"
        "  reference  the same formula: it is already the simplest\n"
        "Proof\n"
        "  layout    not bijective: injective, but 9 of 24 slots are padding (first: 9)\n"
        "  formulas  verified: simplified formula, reference and inverse agree everywhere\n"
        "Offsets\n"
        "  d0 ↓ d1 →  0  1 │  2  3 │  4  5\n"
        "          0  0  1 │  4  5 │  8 ░░\n"
        "          1  2  3 │  6  7 │ 10 ░░\n"
        "           ───────┼───────┼──────\n"
        "          2 12 13 │ 16 17 │ 20 ░░\n"
        "          3 ░░ ░░ │ ░░ ░░ │ ░░ ░░\n"
        "  ░ padding\n"
    )


@pytest.mark.parametrize(
    "row",
    [
        "(2,1)     within each tile of 8 × 128: 2 × 1 blocks of (d0%8, d1%128), each in one piece",
        "32-bit word  (2r, c) and (2r+1, c) share a 32-bit word, the first in its lowest bits",
        "shape        [2,2,4,128,2,1], without ones [2,2,4,128,2]",
        "elements     2,000 in a buffer of 4,096: 2,096 of padding, 2.05× the data",
        "bytes        4,000 of data in 8,192 (8.0 KiB) that XLA reserves: 4,192 of padding",
    ],
)
def test_a_16_bit_tiling_at_a_glance(row: str) -> None:
    assert f"  {row}" in explain(MAIN, width=200)


def test_a_morello_layout_with_its_derivation() -> None:
    text = explain("[1, 0, 1 p(4)]", "--shape", "6x8", "--derivation")
    assert "  1       slowest: what remains of d1: 2 blocks of 4\n" in text
    assert "  reference   24*((d1//4)%2) + 4*(d0%6) + d1%4\n" in text
    assert "  simplified  24*(d1//4) + 4*d0 + d1%4\n" in text
    assert "drop-mod, since d0 is in 0..5" in text
    assert "  b_β = b_α + 4*(d0%6) = b_α + 4*d0\n" in text
    assert "  layout    bijective: injective, and all 48 slots hold an element\n" in text
    assert "        5 20 21 22 23 │ 44 45 46 47\n" in text


@pytest.mark.parametrize("shape", ["6x8", "6,8", "(6, 8)", "[6,8]", "6×8", " 6 x 8 "])
def test_shapes_as_one_types_them(shape: str) -> None:
    assert explained("[0, 1]", "--shape", shape)["index"]["shape"] == [6, 8]


def test_scalars() -> None:
    assert explained("[]", "--shape", "()")["index"]["formula"] == "0"
    assert "Offsets\n   0\n" in explain("f32[]")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "[0, 1]",
            "sizes, formula, proof and picture need a shape: give the sizes, such as --shape",
        ),
        (
            "{1,0:T(8,128)}",
            "sizes, formula, proof and picture need a shape: give the sizes, such as --shape",
        ),
        ("bf16[?,8]", "no formula: "),
        ("token[]", "no formula: token[] is not an array; "),
        ("f32[8]{0:SC(0:4)}", "XLA reserves 16 bytes"),
        ("f32[4,6]{1,0:T(4,6)(3,1)}", "XLA reserves 96 bytes, the tiles span 144"),
    ],
)
def test_notes_name_what_is_missing(text: str, note: str) -> None:
    _, notes = explain(text, width=400).split("Note\n")
    assert f"  {note}" in notes


def test_a_layout_without_a_shape_is_explained_as_far_as_that_goes() -> None:
    array = explained("{1,0:T(8,128)}")
    assert array["parts"][1]["meaning"] == "8 × 128 tiles over (d0, d1)"
    assert array["index"] is array["sizes"] is array["proofs"] is array["picture"] is None


def test_an_xla_layout_at_a_shape() -> None:
    text = explain("{1,0:T(2,2)}", "--shape", "3x5")
    assert "XLA layout: row-major, tiled\n" in text
    assert "  elements  15 in a buffer of 24: 9 of padding, 1.60× the data\n" in text
    assert "bytes" not in text
    assert "        2 12 13 │ 16 17 │ 20 ░░\n" in text
    misfit = run("explain", "{1,0}", "--shape", "3x5x7")
    assert (misfit.exit_code, misfit.stdout) == (2, "")


def test_each_array_of_a_tuple_is_explained_once() -> None:
    text = explain("(f32[2,2], (s32[], token[]), f32[2,2])")
    assert text.startswith("[0] f32[2,2]{1,0}\nXLA array: row-major, untiled\n")
    assert "\n\n[1][0] s32[]\nXLA array: scalar, untiled\n" in text
    assert "\n\n[1][1] token[]\nno array: a token" in text
    assert text.endswith("\n\n[2] f32[2,2]{1,0}: as [0]\n")


def test_buffers_and_empty_tuples() -> None:
    assert explain("b(f32[8,128]{1,0:S(1)})").startswith("f32[8,128]{1,0:S(1)}\n")
    assert explain("()") == "(): a tuple without arrays\n"


def test_no_elements() -> None:
    text = explain("f32[0,5]")
    assert "elements  0, no padding" in text
    assert text.endswith("the array has no elements\n")


def test_huge_shapes() -> None:
    side = 2**63 - 1
    text = explain(f"u8[{','.join([str(side)] * 6)}]", width=400)
    assert "elements  about 10^113, no padding" in text
    assert "bytes     about 10^113 that XLA reserves, no padding" in text
    tile = f"u8[1,1]{{1,0:T({side},{side})}}"
    assert "about 10^37 of padding, about 10^37× the data" in explain(tile, width=400)


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


def test_an_answer_that_depends_on_sizes() -> None:
    rows = explain("bf16[M,N]{1,0:T(8,128)(2,1)}")
    assert "  layout    bijective iff 8 | M and 128 | N\n" in rows
    assert (
        "slots        1024*ceil(M/8)*ceil(N/128), -M*N + 1024*ceil(M/8)*ceil(N/128) of padding"
        in rows
    )
    assert "  layout    bijective for all sizes: " in explain("[1, 0, 1 p(4)]", "--shape", "MxN")


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
