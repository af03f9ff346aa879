"""Completion by the shell: commands, options, and values that have a list."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from morello_layouts.interfaces.cli.main import commands
from morello_layouts.tpu import GENERATIONS


def completed(*typed: str) -> list[tuple[str, str]]:
    """What a shell offers for the last word: kind and value."""
    *before, last = typed
    shell = ShellComplete(commands, {}, "mlay", "_MLAY_COMPLETE")
    return [(item.type, item.value) for item in shell.get_completions(before, last)]


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        (("exp",), ["explain", "explore"]),
        (("hlo", "dump.txt", "--tr"), ["--tree"]),
        (("default", "--tpu", "v5"), ["v5e", "v5p"]),
        (("hlo", "--tpu", ""), [*GENERATIONS]),
        (("explain", "--notation", "m"), ["morello", "mlir"]),
        (("code", "[0]", "--language", "ru"), ["rust"]),
        (("convert", "[0]", "--to", "x"), ["xla"]),
    ],
)
def test_words(typed: tuple[str, ...], values: list[str]) -> None:
    assert [value for _, value in completed(*typed)] == values


def test_files() -> None:
    for typed in (("hlo", ""), ("oom", ""), ("check", ""), ("hlo", "a", "--html", ""),
                  ("draw", "[0]", "-o", ""), ("memory", "a", ""), ("tpu-compile", "")):  # fmt: skip
        assert completed(*typed) == [("file", "")], typed
    assert completed("explain", "") == []  # a layout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mlay", "morello-layouts"])
def test_the_script_is_for_the_name_that_was_typed(name: str) -> None:
    variable = f"_{name.upper().replace('-', '_')}_COMPLETE"
    main = "from morello_layouts.interfaces.cli import main"
    code = f"import sys; {main}; sys.argv = sys.argv[1:]; main()"
    run = subprocess.run(
        [sys.executable, "-c", code, name],
        env=os.environ | {variable: "zsh_source"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert f"#compdef {name}" in run.stdout
