"""``convert``: its output, its exit statuses, its JSON."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from morello_layouts.api.conversions import NOTATIONS
from morello_layouts.cli.main import commands
from tests.support.tables import each_row


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(commands, ("convert", *arguments), catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@each_row(
    ("arguments", "status", "output"),
    [
        (("[1, 0, 1 p(4)]", "--shape", "6x8", "--to", "xla"), 0, "{0,1:T(4,1)}"),
        (("[1, 0, 1 p(4)]", "--shape", "MxN", "--type", "f32"), 0, "f32[M,N]{0,1:T(4,1)}"),
        (("[]", "--shape", "()", "--to", "xla"), 0, "{}"),
        (("[1, 0, 1 p(4)]", "--shape", "6x8", "--to", "onednn"), 0, "Ba4b"),
        (("f32[6,8]{0,1:T(4,1)}", "--to", "morello"), 0, "[1, 0, 1 p(4)]"),
        (("{0,1:T(4,1)}", "--shape", "6x8", "--to", "morello"), 0, "[1, 0, 1 p(4)]"),
        (("f32[M]{0:T(2)(2,1)}", "--to", "morello", "--assuming", "M % 4 == 0"), 0, "[0, 0 oe(4)]"),
        (("f32[3,5]{1,0:T(2,2)}", "--to", "morello"), 1, ""),
        (("f32[M,N]{1,0:T(2,2)}", "--to", "morello"), 1, ""),
        (("[0, 0 oe(4), 1, 0 p(2)]", "--shape", "M,N", "--to", "xla"), 3, ""),
        (("[0]",), 2, ""),
        (("[0]", "--shape", "2,3"), 2, ""),
        (("[0]", "--shape", "a b"), 2, ""),
        (("[0, 0 p(4)]", "--shape", "8", "--to", "morello"), 0, "[0]"),
        (("f32[2]{0:T(2)}", "--to", "xla"), 0, "{0:T(2)}"),
        (("f32[2]{0:T(2)}", "--to", "xla", "--type", "s8"), 0, "s8[2]{0:T(2)}"),
        (("f32[2]", "--to", "x86"), 2, ""),
        (("f32[2]", "--to", "morello", "--type", "f32"), 2, ""),
        (("nothing",), 2, ""),
    ],
)
def test_convert(arguments: tuple[str, ...], status: int, output: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out.strip()) == (status, output)
    assert bool(err) == (status != 0)


@pytest.mark.parametrize(
    ("arguments", "exists", "layout"),
    [
        (("[1, 0, 1 p(4)]", "--shape", "6x8", "--to", "xla"), True, "{0,1:T(4,1)}"),
        (("f32[3,5]{1,0:T(2,2)}", "--to", "morello"), False, None),
        (("[0, 0 oe(4), 1, 0 p(2)]", "--shape", "M,N", "--to", "xla"), None, None),
    ],
)
def test_convert_json(arguments: tuple[str, ...], exists: bool | None, layout: str | None) -> None:
    _, out, err = run(*arguments, "--json")
    answer = json.loads(out)
    assert (answer["exists"], answer["layout"], err) == (exists, layout, "")
    assert answer.keys() == {"text", "to", "exists", "layout", "reason"}
    assert (answer["reason"] is None) == (exists is True)


def test_without_a_notation_all_are_tried() -> None:
    code, out, err = run("f32[3,5]{1,0:T(2,2)}")
    assert (code, err) == (0, "")
    lines = dict(re.findall(r"^  (\w+) +(.+)", out, re.MULTILINE))
    assert [*lines] == [*NOTATIONS]
    assert lines["onednn"] == "AB2a2b"
    assert lines["morello"].startswith("none: 9 of 24 slots are padding")
    assert run("f32[3,5]{1,0:T(2,2)}", "--to", "all") == (code, out, err)
    code, out, _ = run("f32[3,5]{1,0:T(2,2)}", "--json")
    answer = json.loads(out)
    assert [each["to"] for each in answer["conversions"]] == [*NOTATIONS]
    assert all(
        each.keys() == {"to", "exists", "layout", "reason"} for each in answer["conversions"]
    )
