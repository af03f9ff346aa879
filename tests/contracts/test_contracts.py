"""Contracts: assertions, files, the plugin of pytest, the command, the hook and the action."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.interfaces.testing.contracts import read_contracts
from morello_layouts.notations.registry import NOTATIONS
from tests.support.paths import DATA, ROOT

PUBLIC = DATA / "contracts"


def test_assertions_return_what_they_prove() -> None:
    assert ml.testing.assert_agree("[0, 1]", "{1,0}", ("M", "N")).when.is_always
    assert ml.testing.assert_bijective("f32[8,128]").holds
    assert [x.ways for x in ml.testing.assert_no_conflicts("f32[32,33]", "row")] == [1]
    ml.testing.assert_matches(lambda i, j: 8 * i + j, "{1,0}", ("M", 8))
    ml.testing.assert_matches(lambda i, j: [0, 8, 16, 24][i] + j, "{1,0}", (4, 8))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: ml.testing.assert_agree("[0, 1, 2]", "[1, 0, 2]", ("N", "H", "D")),
         "Tests where H = 1, or N = 1 cannot see this"),
        (lambda: ml.testing.assert_agree("[0, 1]", "[0, 1]", (4, 8), producer_bytes=31),
         "outside its allocation"),
        (lambda: ml.testing.assert_bijective("f32[3,5]{1,0:T(2,2)}"), "9 of 24 slots are padding"),
        (lambda: ml.testing.assert_no_conflicts("f32[32,32]", "row", "column"), "32-way"),
        (lambda: ml.testing.assert_matches(lambda i, j: 8 * i + j, "{0,1}", (4, 8)), "not equiv"),
        (lambda: ml.testing.assert_matches(lambda i, j: 8 * i + j if i < 3 else 0, "{1,0}", (4, 8)),
         r"gives 0 for element \(3, 0\), the layout 24"),
    ],
)  # fmt: skip
def test_an_assertion_fails_with_the_answer(ask: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        ask()


def test_bad_input_is_no_failed_assertion() -> None:
    with pytest.raises(ml.ParseError):
        ml.testing.assert_bijective("hello")
    with pytest.raises(ml.LayoutError, match="no access was given"):
        ml.testing.assert_no_conflicts("f32[32,32]")


def test_conflicts_may_depend_on_what_is_assumed() -> None:
    assert ml.testing.assert_no_conflicts("f32[32,LD]", "column", assuming="LD == 33")
    with pytest.raises(AssertionError, match="no conflicts if"):
        ml.testing.assert_no_conflicts("f32[32,LD]", "column")


def test_unseen_is_said_only_where_some_sizes_hide_it() -> None:
    assert ml.agree("[0, 1]", "[1, 0]", ("M", "N")).unseen == "M = 1, or N = 1"
    assert ml.agree("[0, 1]", "{1,0}", ("M", "N")).unseen is None
    assert ml.agree("[0, 1]", "[1, 0]", (4, 8)).unseen is None


GOOD = """\
[[agree]]
name = "scales"
producer = "[0, 1]"
consumer = "{1,0}"
shapes = ["128x4", "M,K"]

[[equal]]
a = "[0, 1]"
b = "{1,0}"
shape = "M,N"
assuming = "M % 8 == 0"

[[bijective]]
layout = "f32[8,128]"

[[no_conflicts]]
layout = "(32,32):(33,1)"
accesses = ["row", "column"]
bits = 32
"""

WRONG = {
    '[[agree]]\nproducer = "[0, 1"\nconsumer = "[1, 0]"\nshape = "4x8"\n': "2: producer: expected",
    '[[agree]]\nproducr = "[0, 1]"\nconsumer = "[1, 0]"\n': "2: producr: .*has no such key",
    '[[agree]]\nproducer = "[0, 1]"\n\n[[agree]]\nconsumer = "x"\n': "1: .*lacks consumer",
    '[[agree]]\nproducer = 3\nconsumer = "x"\n': "2: producer: expected a text, got 3",
    '[agree]\nproducer = "[0, 1]"\n': "1: agree: expected",
    "[[agree]]\nproducer = [0, 1\n": "3: not TOML",
    "[[agree]]\nproducer = =\n": "2: not TOML",
    '[[bijective]]\nlayout = "[0, 1]"\n': "1: no shape given",
    '[[equal]]\na = "[0, 1]"\nb = "{1,0}"\nshape = "M,N"\nassuming = "8 | K"\n': "5: assuming:",
    '[[no_conflicts]]\nlayout = "(32,32):(33,1)"\naccesses = ["row"]\n': "1: .*no element type",
    '[[no_conflicts]]\nlayout = "f32[32,32]"\naccesses = [1]\n': "3: accesses: expected a list",
    "[[bogus]]\nx = 1\n": "1: bogus: expected",
    '[[equal]]\na = "[0, 1]"\nb = "{1,0}"\nshapes = ["4x8", "4y"]\n': "4: shapes: a shape",
    '[[equal]]\na = "[0, 1]"\nb = "{1,0}"\nshape = "4x8x2"\n': "4: shape: ",
}


def test_a_file_is_checked_at_each_shape(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "kernel.layouts.toml"
    path.parent.mkdir()
    path.write_text(GOOD, "utf-8")
    found = ml.testing.check_contracts([tmp_path])
    assert [outcome.holds for outcome in found] == [True] * 5
    assert [outcome.line for outcome in found] == [1, 1, 7, 13, 16]
    assert found[1].shape == "M,K"


@pytest.mark.parametrize(("text", "words"), WRONG.items())
def test_a_wrong_file_names_file_line_and_key(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "wrong.layouts.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(ml.LayoutError, match=rf"wrong\.layouts\.toml:{words}") as caught:
        ml.testing.check_contracts([path])
    assert caught.value.fix


def test_missing_files_are_said(tmp_path: Path) -> None:
    with pytest.raises(ml.LayoutError, match=r"no file \*\.layouts\.toml"):
        ml.testing.check_contracts([tmp_path])
    with pytest.raises(ml.LayoutError, match="cannot be read"):
        ml.testing.check_contracts([tmp_path / "none.layouts.toml"])
    (tmp_path / "empty.layouts.toml").touch()
    with pytest.raises(ml.LayoutError, match=r"no contract in .*empty\.layouts\.toml"):
        ml.testing.check_contracts([tmp_path])


def test_five_public_faults_are_red_before_and_green_after() -> None:
    before, after = (
        ml.testing.check_contracts([PUBLIC / f"{name}.layouts.toml"])
        for name in ("before", "after")
    )
    assert [outcome.holds for outcome in before] == [False] * 5
    assert [outcome.holds for outcome in after] == [True] * 5
    names = [[outcome.contract.name for outcome in found] for found in (before, after)]
    assert names[0] == names[1]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True, text=True, check=False, cwd=cwd, env=environment,
    )  # fmt: skip


def test_the_plugin_has_a_test_for_each_contract(tmp_path: Path) -> None:
    (tmp_path / "good.layouts.toml").write_text(GOOD, "utf-8")
    broken = '[[equal]]\nname = "turned"\na = "[0, 1]"\nb = "[1, 0]"\nshape = "4x8"\n'
    (tmp_path / "broken.layouts.toml").write_text(broken, "utf-8")
    (tmp_path / "wrong.layouts.toml").write_text("[[bogus]]\n", "utf-8")
    module = "morello_layouts.interfaces.testing.plugin"  # also where it is not installed
    plugin = ("-p", "no:morello_layouts", "-p", module, "-p", "no:cacheprovider")
    found = run(
        "-m", "pytest", *plugin, "-q", "good.layouts.toml", "broken.layouts.toml", cwd=tmp_path
    )
    assert "1 failed, 4 passed" in found.stdout
    assert found.stdout.count("not equivalent") == 1
    assert "turned" in found.stdout
    found = run("-m", "pytest", *plugin, "-q", "wrong.layouts.toml", cwd=tmp_path)
    assert "wrong.layouts.toml:1: bogus" in found.stdout


def test_the_file_on_the_page_holds(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how_to" / "contracts_in_your_tests.md").read_text(encoding="utf-8")
    (tmp_path / "page.layouts.toml").write_text(page.split("```toml\n")[1].split("```")[0], "utf-8")
    outcomes = ml.testing.check_contracts((str(tmp_path),))
    assert [outcome.holds for outcome in outcomes] == [True] * 3


def test_hook_and_action_run_the_command() -> None:
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert hook["entry"] == "morello-layouts check-contracts"
    assert hook["files"] == r"\.layouts\.toml$"
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    steps = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert steps[-1].startswith(hook["entry"])
    assert all("${{" not in step for step in steps)  # inputs come by the environment


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (GOOD, 0, "scales at M,K: proved"),
        (GOOD.replace("{1,0}", "[1, 0]"), 1, "scales at M,K: broken"),
        ("[[bogus]]\nx = 1\n", 2, "k.layouts.toml:1: bogus"),
    ],
)
def test_the_command_has_a_status(tmp_path: Path, text: str, status: int, words: str) -> None:
    (tmp_path / "k.layouts.toml").write_text(text, "utf-8")
    found = CliRunner().invoke(commands, ["check-contracts", str(tmp_path)])
    assert (found.exit_code, words in found.output) == (status, True)


def test_the_command_lists_notations() -> None:
    found = CliRunner().invoke(commands, ["notations", "cute", "--json"])
    assert json.loads(found.stdout)["notations"][0]["example"] == "((4,2),8):((1,32),4)"
    assert CliRunner().invoke(commands, ["notations", "nothing"]).exit_code == 1
    whole = CliRunner().invoke(commands, ["notations"]).stdout
    assert all(each.example in whole for each in NOTATIONS)


def test_a_text_is_read() -> None:
    assert [each.kind for each in read_contracts(GOOD)] == [
        "agree", "equal", "bijective", "no_conflicts",
    ]  # fmt: skip
