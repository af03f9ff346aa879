"""The command ``code``: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.cli.main import commands
from morello_layouts.codegen import TARGETS
from tests.support.tables import each_row

LAYOUT = "bf16[10,200]{1,0:T(8,128)(2,1)}"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ("code", *arguments), catch_exceptions=False)


@pytest.mark.parametrize("target", TARGETS)
def test_it_prints_the_result_of_the_function(target: str) -> None:
    m = ml.index_map(LAYOUT)
    assert run(LAYOUT, "--target", target).stdout == ml.code(m, target) + "\n"
    whole = run(LAYOUT, "--target", target, "--function", "--cheapest").stdout
    assert whole == ml.code(m, target, function=True, simplified="cheapest") + "\n"
    lines = run(LAYOUT, "--target", target, "--inverse").stdout
    assert lines == ml.code(m.inverse, target) + "\n"


def test_the_options() -> None:
    assert run(LAYOUT).stdout == ml.code(LAYOUT, "c") + "\n"
    shifted = run(LAYOUT, "--shift", "--function", "--asserts", "--name", "place").stdout
    assert (
        shifted
        == ml.code(LAYOUT, "c", shift=True, function=True, asserts=True, name="place") + "\n"
    )
    assert run("[0, 1]", "--shape", "6x8").stdout == "8 * d0 + d1\n"
    bounds = ("--bounds", "i=0..31,j=0..31", "--target", "python")
    assert run("(32*i + j)//8", *bounds).stdout == "4*i + j//8\n"
    assert run("7//2", "--bounds", "").stdout == "3\n"
    assert run("(N*i + j)//N", "--bounds", "i=0..M-1,j=0..N-1").stdout == "i\n"


def test_the_inverse_names_the_layout() -> None:
    text = run(LAYOUT, "--inverse", "--function").stdout
    assert f"// Coordinates of the element at offset p of {LAYOUT}.\n" in text
    assert "coordinates(uint32_t p, uint32_t *d0, uint32_t *d1)" in text


def test_json_and_files(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    assert run(LAYOUT, "--function", "-o", str(path)).stdout == ""
    assert path.read_text() == ml.code(LAYOUT, "c", function=True) + "\n"
    found = json.loads(run(LAYOUT, "--json").stdout)
    assert found == {"text": LAYOUT, "target": "c", "code": ml.code(LAYOUT, "c")}


@each_row(
    ("arguments", "error"),
    [
        (("[0, 1]",), "no shape given for [0, 1]\n"),
        (("nothing",), "no layout begins like this\n"),
        ((LAYOUT, "--target", "latex", "--shift"), "LaTeX has no shifts\n"),
        ((LAYOUT, "--asserts"), "asserts: expected a function, got an expression\n"),
        ((LAYOUT, "--function", "--name", "int"), "'int' is not a name in C\n"),
        (("i", "--bounds", "i=0..3", "--inverse"), "--inverse was given for an expression\n"),
        (("i", "--bounds", "i=0..3", "--shape", "3"), "--shape was given for an expression\n"),
        (("N", "--bounds", "", "--assuming", "N <= 9"), "--assuming was given for an expression\n"),
        (("i*j", "--bounds", ""), "(i) * (j) is a product of two variables\n"),
        (("i", "--bounds", "i=0..18446744073709551615"), "the number is too large\n"),
        ((LAYOUT, "-o", "/nowhere/f.c"), "/nowhere/f.c could not be written\n"),
        (("s8[9223372036854775807,3]{1,0}",), "a value from 0 to "),
        (("(f32[2], f32[3])",), "expected one array, got (f32[2]{0}, f32[3]{0})\n"),
    ],
)
def test_refused(arguments: tuple[str, ...], error: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(error)
    assert len(result.stderr.splitlines()) >= 3


def test_numbers_for_symbolic_sizes() -> None:
    sized = run("f32[M,N]{1,0:T(8,128)}", "--at", "M=10,N=200").output
    assert sized == run("f32[10,200]{1,0:T(8,128)}").output


def test_an_unknown_target_is_refused() -> None:
    result = run(LAYOUT, "--target", "cobol")
    assert result.exit_code == 2
    assert "'cobol' is not one of 'c', 'cuda'" in result.stderr


@given(
    st.text(alphabet="bf16s32[]{}(),:T*LESMC0123456789xpoe -?<=ijN/%", max_size=24),
    st.sampled_from(TARGETS),
    st.sampled_from([(), ("--function",), ("--shift",), ("--inverse",), ("--bounds", "i=0..9")]),
)
def test_rubbish_never_gives_a_traceback(text: str, target: str, more: tuple[str, ...]) -> None:
    result = CliRunner().invoke(commands, ("code", "--target", target, *more, "--", text))
    assert result.exit_code in (0, 2), (text, result.exception)


@pytest.mark.parametrize("target", ["triton", "rust", "sympy", "mlir", "latex"])
def test_a_relayout_without_a_kernel_is_its_function(target: str) -> None:
    pair = ("f32[60,64]{1,0}", "{1,0:T(8,128)}")
    result = CliRunner().invoke(commands, ["relayout", *pair, "--target", target])
    printed = result.stdout
    is_function = target in ("triton", "rust")
    name = "relayout" if is_function else None
    assert printed == f"{ml.code(ml.relayout(*pair), target, function=is_function, name=name)}\n"
