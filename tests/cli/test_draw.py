"""The command ``draw``."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands

TILED = "f32[3,5]{1,0:T(2,2)}"


def run(*arguments: str, **more: object) -> Result:
    return CliRunner().invoke(commands, ("draw", *arguments), catch_exceptions=False, **more)


def test_the_terminal_picture() -> None:
    result = run(TILED)
    assert result.exit_code == 0
    assert result.output == f"{ml.draw(TILED).text(80)}\n"


def test_two_pictures_have_a_line_between() -> None:
    result = run("[0, 1]", "[1, 0]", "--shape", "2x3")
    assert result.output == (
        "[0, 1] at 2x3\n(d0, d1) -> 3*d0 + d1\n"
        "d0 ↓ d1 →  0  1  2\n        0  0 *1 *2\n        1 *3 *4  5\n"
        "memory   0   1   2   3   4   5\n       0,0 0,1 0,2 1,0 1,1 1,2\n"
        "* lies at another offset in the other layout: 4 of 6 elements\n"
        "\n[1, 0] at 2x3\n(d0, d1) -> 2*d1 + d0\n"
        "d0 ↓ d1 →  0  1  2\n        0  0 *2 *4\n        1 *1 *3  5\n"
        "memory   0   1   2   3   4   5\n       0,0 1,0 0,1 1,1 0,2 1,2\n"
        "* lies at another offset in the other layout: 4 of 6 elements\n"
    )


@pytest.mark.parametrize("ending", ["svg", "html", "txt"])
def test_files(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{ending}"
    result = run("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", "--mark", "6,5", "-o", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"wrote {path} ({path.stat().st_size / 1024:.1f} KiB)\n"
    written = path.read_text(encoding="utf-8")
    assert "(6, 5) lies at offset 51" in written
    if ending == "svg":
        ET.fromstring(written)


def test_numbers_for_symbolic_sizes() -> None:
    sized = run("f32[M,N]{1,0:T(2,2)}", "f32[M,N]", "--at", "M=3,N=5").output
    numbers = run("f32[3,5]{1,0:T(2,2)}", "f32[3,5]").output
    assert sized.replace("f32[M,N]", "f32[3,5]").replace(" at M = 3, N = 5", "") == numbers


def test_options_reach_the_picture(tmp_path: Path) -> None:
    path = tmp_path / "x.svg"
    run(
        "[0, 1]", "--shape", "6x8", "--colour", "word", "--bits", "8", "--word-bits", "64",
        "--box", "1,2", "--rows", "5", "--columns", "6", "-o", str(path),
    )  # fmt: skip
    expected = ml.draw(
        "[0, 1]", (6, 8), colour="word", element_bits=8, word_bits=64, boxes=[(1, 2)],
        max_rows=5, max_columns=6,
    )  # fmt: skip
    assert path.read_text(encoding="utf-8") == expected.svg()
    run("bf16[4,8]{1,0:T(2,4)(2,1)}", "--box-tiles", "2", "-o", str(path))
    boxed = ml.draw("bf16[4,8]{1,0:T(2,4)(2,1)}", box_tiles=2)
    assert path.read_text(encoding="utf-8") == boxed.svg()


def test_json() -> None:
    result = run(TILED, "{1,0}", "--json")
    found = json.loads(result.output)
    first, second = found["panels"]
    assert found["file"] is None
    assert (first["text"], first["shape"], first["size"], first["levels"]) == (
        TILED, [3, 5], 24, [[2, 2]],
    )  # fmt: skip
    cells = {tuple(cell["coordinate"]): cell for cell in first["cells"]}
    assert cells[2, 3] == {
        "coordinate": [2, 3], "offset": 17, "padding": False, "tiles": [[1, 1]],
    }  # fmt: skip
    assert cells[0, 5]["padding"]
    assert first["memory"][17] == {"offset": 17, "coordinate": [2, 3]}
    assert first["memory"][9] == {"offset": 9, "coordinate": None}
    assert {"coordinate": [2, 3], "offset": 13} in first["moved"]
    assert len(second["moved"]) == 13
