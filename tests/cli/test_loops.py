"""The command ``loops``: what it prints and refuses."""

from __future__ import annotations

import json

from click.testing import CliRunner, Result

import morello_layouts as ml
from morello_layouts.cli.main import commands
from tests.support.tables import each_row

LAYOUT = "f32[M,N]{1,0:T(8,128)}"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ("loops", *arguments), catch_exceptions=False)


def test_it_prints_what_the_function_gives() -> None:
    assert run(LAYOUT).stdout == f"{ml.loops(LAYOUT)}\n"
    options = ("--names", "i,j", "--order", "j,i", "--tile", "i=64/8", "--edges", "peel")
    nest = ml.loops(LAYOUT, names=("i", "j"), order=("j", "i"), tile={"i": (64, 8)}, edges="peel")
    found = run(LAYOUT, *options, "--target", "rust", "--function", "--name", "f").stdout
    assert found == nest.code("rust", function=True, name="f") + "\n"
    copy = ml.loops({"a": LAYOUT, "b": "f32[M,N]{0,1}"}, of="b")
    assert run(LAYOUT, "f32[M,N]{0,1}", "--of", "b").stdout == f"{copy}\n"
    given = {"d0_0": "blockIdx.x"}
    found = run(LAYOUT, "--target", "cuda", "--indices", "d0_0=blockIdx.x").stdout
    assert found == ml.loops(LAYOUT).code("cuda", indices=given) + "\n"


def test_a_second_layout_has_the_shape_of_the_first() -> None:
    assert run("f32[6,8]", "[1,0]").stdout == run("f32[6,8]", "f32[6,8]{0,1}").stdout
    result = run("f32[6,8]", "f32[8,6]")
    assert result.exit_code == 2
    assert result.stderr.startswith("OTHER: expected the shape (6, 8) of TEXT, got (8, 6)")


def test_it_proves() -> None:
    result = run(LAYOUT, "--verify")
    assert result.exit_code == 0
    assert result.stdout.endswith("\n\n" + str(ml.loops(LAYOUT).verify()) + "\n")
    result = run("f32[6,8]{1,0}", "--json", "--verify", "--body", "f({d0});")
    found = json.loads(result.stdout)
    assert found["proof"]["holds"] is True
    assert found["order"] == ["d0", "d1"]
    assert "f(d0);" in found["code"]


@each_row(
    "arguments, what",
    [
        (("--tile", "i"), "--tile: expected pairs of different names and values"),
        (("--tile", "i=0"), "--tile: expected the size of a tile for i"),
        (("--tile", "i=1,i=2"), "--tile: expected pairs of different names"),
        (("--order", "i"), "order: expected each of d0, d1"),
        (("--indices", "d0=1"), "indices: expected no loops"),
        (("--indices", "d0"), "--indices: expected pairs"),
        (("--names", "if,j"), "'if' is not a name in C"),
        (("--tile", "i=" + "9" * 10_000), "--tile: expected pairs"),
    ],
)
def test_what_it_refuses(arguments: tuple[str, ...], what: str) -> None:
    result = run("f32[6,8]{1,0}", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(what)
    assert len(result.stderr) < 1000
