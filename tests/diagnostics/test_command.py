"""The commands ``hlo`` and ``oom``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import morello_layouts as ml
from morello_layouts.interfaces.cli import programs as programs_
from morello_layouts.interfaces.cli.main import commands
from tests.diagnostics.test_comparison import AFTER, BEFORE
from tests.diagnostics.test_oom import WHOLE
from tests.support.hlo_xla import programs
from tests.support.tables import each_row

PROGRAM = programs()["v5e_small_second_minor"]


def run(*arguments: str, stdin: str | bytes | None = None, width: int | None = None) -> Result:
    columns = None if width is None else str(width)
    result = CliRunner().invoke(commands, arguments, input=stdin, env={"COLUMNS": columns})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "dump.txt"
    path.write_text(PROGRAM)
    return str(path)


def test_hlo_prints_the_report(dump: str) -> None:
    result = run("hlo", dump)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{ml.diagnose(PROGRAM)}\n"


def test_details_are_wrapped(dump: str) -> None:
    whole, narrow = run("hlo", dump).stdout, run("hlo", dump, width=100).stdout
    assert max(map(len, whole.splitlines())) > 100 >= max(map(len, narrow.splitlines()))
    assert narrow.split() == whole.split()


def test_top_and_generation(dump: str) -> None:
    found = json.loads(run("hlo", dump, "--top", "2", "--tpu", "v3", "--json").stdout)
    assert (len(found["wasteful"]), found["wasteful_count"]) == (2, 5)
    assert (found["generation"], found["generation_reason"]) == ("v3", "as given")


DYNAMIC = "%x = f32[4]{0} dynamic-slice(f32[9]{0} %a, s32[] %at), dynamic_slice_sizes={4}"


def test_indexing_of_an_instruction() -> None:
    result = run("hlo", "-", "--indexing", "%x", stdin=DYNAMIC)
    assert result.stdout.splitlines() == [
        "x: f32[4]{0} reads",
        "  a: (d0){rt0} -> (d0 + rt0), domain: d0 in [0, 3], rt0 in [0, 5]",
        "    rt0 is at[]",
        "  at: (d0) -> (), domain: d0 in [0, 3]",
    ]
    result = run("hlo", "-", "--indexing", "y", stdin=DYNAMIC)
    assert result.exit_code == 2
    assert "is not an instruction" in result.stderr


def test_json(dump: str) -> None:
    found = json.loads(run("hlo", dump, "--json").stdout)
    assert found == json.loads(json.dumps(ml.diagnose(PROGRAM).to_dict()))


def test_places_are_lines_of_the_dump(dump: str) -> None:
    found = json.loads(run("hlo", dump, "--json").stdout)
    lines = PROGRAM.splitlines()
    places = [place for array in found["wasteful"] for place in array["places"]]
    for place in places + found["moves"]:
        name = place["instruction"].partition("{")[0]
        assert f"%{name} = " in lines[place["line"] - 1]
    assert {place["source"] for place in places} == {None, "progs.py:61"}


def test_standard_input() -> None:
    assert run("hlo", "-", stdin=PROGRAM).stdout == f"{ml.diagnose(PROGRAM)}\n"
    assert run("hlo", "-", stdin="a = f32[8]{0} b(c)").exit_code == 0
    assert run("oom", "-", stdin=WHOLE).stdout.startswith("Out of memory in HBM: 41.74 GiB needed")


def test_two_dumps(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    one.write_text(BEFORE)
    other.write_text(AFTER)
    whole = ml.compare_hlo(BEFORE, AFTER)
    assert run("hlo", str(one), str(other)).stdout == f"{whole}\n"
    found = json.loads(run("hlo", str(one), str(other), "--json").stdout)
    assert found == json.loads(json.dumps(whole.to_dict()))
    assert list(found) == ["before", "after", "types", "layouts", "moves", "warnings"]
    assert run("hlo", str(one), "-", stdin=AFTER).stdout == f"{whole}\n"
    refused = run("hlo", str(one), str(other), "--tpu", "v3")
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_pages(dump: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("hlo", dump, "--html", str(page))
    assert (result.exit_code, result.stdout) == (0, "")
    assert page.read_text() == ml.diagnose(PROGRAM).html()
    log = tmp_path / "log.txt"
    log.write_text(WHOLE)
    found = run("oom", str(log), "--html", str(page), "--json")
    assert json.loads(found.stdout)["used"] == "41.74G"
    assert page.read_text() == ml.read_oom(WHOLE).html()
    assert run("hlo", dump, "--html", str(tmp_path)).exit_code == 2


def test_a_truncated_dump_gives_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "cut.txt"
    path.write_text(PROGRAM[:9000])
    result = run("hlo", str(path))
    assert result.exit_code == 0
    assert "warning: the text ends " in result.stdout
    assert json.loads(run("hlo", str(path), "--json").stdout)["warnings"]


@each_row(
    ("arguments", "stdin", "what"),
    [
        (("hlo", "/no/such/file"), None, "cannot be read"),
        (("hlo", "f32[8] = ("), None, "cannot be read"),
        (("hlo", "\0"), None, "cannot be read"),
        (("hlo", "-"), "", "holds no HLO"),
        (("hlo", "-"), "hello", "expected"),
        (("hlo", "-"), b"\xff\xfe\x00\x01", "another file of bytes, not HLO"),
        (("hlo", "-", "--tpu", "v9"), "a = f32[8]{0} b(c)", "not a known generation"),
        (("hlo", "-", "--top", "-1"), "a = f32[8]{0} b(c)", "--top"),
        (("hlo", "-", "-"), "a = f32[8]{0} b(c)", "both dumps are -"),
        (("oom", "/no/such/file"), None, "cannot be read"),
        (("oom", "-"), "", "no out-of-memory report"),
        (("oom", "-"), b"\xff\xfe\x00\x01", "no out-of-memory report"),
        (("oom", "-", "--tpu", "v9"), WHOLE, "not a known generation"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], stdin: str | bytes | None, what: str) -> None:
    result = run(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, "")
    assert what in result.stderr


def test_a_bar_is_for_terminals_and_long_dumps(
    dump: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs_.read_module(dump)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(programs_.sys.stderr, "isatty", lambda: True)
    programs_.read_module(dump)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(programs_.sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(programs_, "_LONG", 1)
    assert len(programs_.read_module(dump)) == len(ml.read_hlo(PROGRAM))
    captured = capsys.readouterr()
    assert "reading" in captured.err
    assert captured.out == ""
