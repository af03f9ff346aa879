"""``convert``: its output, its exit statuses, its JSON."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from morello_layouts.cli.main import commands
from tests.support.tables import each_row


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(commands, ("convert", *arguments), catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@each_row(
    ("arguments", "status", "output"),
    [
        (("[1, 0, 1 p(4)]", "--shape", "6x8", "--to", "xla"), 0, "{0,1:T(4,1)}"),
        (("[1, 0, 1 p(4)]", "--shape", "6x8"), 0, "{0,1:T(4,1)}"),
        (("[1, 0, 1 p(4)]", "--shape", "MxN", "--type", "f32"), 0, "f32[M,N]{0,1:T(4,1)}"),
        (("[]", "--shape", "()"), 0, "{}"),
        (("f32[6,8]{0,1:T(4,1)}", "--to", "morello"), 0, "[1, 0, 1 p(4)]"),
        (("{0,1:T(4,1)}", "--shape", "6x8"), 0, "[1, 0, 1 p(4)]"),
        (("f32[M]{0:T(2)(2,1)}", "--assuming", "M % 4 == 0"), 0, "[0, 0 oe(4)]"),
        (("f32[3,5]{1,0:T(2,2)}",), 1, ""),
        (("f32[M,N]{1,0:T(2,2)}",), 1, ""),
        (("[0, 0 oe(4), 1, 0 p(2)]", "--shape", "M,N"), 3, ""),
        (("[0]",), 2, ""),
        (("[0]", "--shape", "2,3"), 2, ""),
        (("[0]", "--shape", "a b"), 2, ""),
        (("[0, 0 p(4)]", "--shape", "8", "--to", "morello"), 0, "[0]"),
        (("f32[2]{0:T(2)}", "--to", "xla"), 0, "{0:T(2)}"),
        (("f32[2]{0:T(2)}", "--to", "xla", "--type", "s8"), 0, "s8[2]{0:T(2)}"),
        (("f32[2]", "--to", "mlir"), 2, ""),
        (("f32[2]", "--type", "f32"), 2, ""),
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
        (("[1, 0, 1 p(4)]", "--shape", "6x8"), True, "{0,1:T(4,1)}"),
        (("f32[3,5]{1,0:T(2,2)}",), False, None),
        (("[0, 0 oe(4), 1, 0 p(2)]", "--shape", "M,N"), None, None),
    ],
)
def test_convert_json(arguments: tuple[str, ...], exists: bool | None, layout: str | None) -> None:
    _, out, err = run(*arguments, "--json")
    answer = json.loads(out)
    assert (answer["exists"], answer["layout"], err) == (exists, layout, "")
    assert answer.keys() == {"text", "to", "exists", "layout", "reason"}
