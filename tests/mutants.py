"""Mutants of one module that its tests do not kill.

    python -m tests.mutants recipe/steps.py

mutmut changes one operator, number, text or argument at a time, in a copy of the package under
``build/mutants``, and runs the tests that ``tests/mutants.toml`` lists for the module; without an
entry, all fast tests. The file also lists survivors that were read, by a line of their change, with
the reason why no test kills them. Mutants that change only a text, as of an error, or whether
``zip`` is strict, are counted apart. Ends with 1 if over 5 % of the others survive unlisted.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MOST = 0.05
"""The share of a module's mutants that may survive without a reason."""

PARTS = ("morello_layouts", "tests", "docs", "notebooks", "README.md", "CONTRIBUTING.md")
TEXT = re.compile(r"""[rf]*("([^"\\]|\\.)*"|'([^'\\]|\\.)*')""")


def copied(module: str, tests: list[str]) -> Path:
    """Copy what the tests need, with mutmut's configuration; return the folder."""
    place = ROOT / "build" / "mutants" / module.replace("/", "_").removesuffix(".py")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for part in PARTS:
        source = ROOT / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, place / part)
    arguments = ["-p", "no:xdist", "-o", "addopts=--import-mode=importlib", "-m", "not slow"]
    lines = [
        "[tool.mutmut]",
        'source_paths = ["morello_layouts"]',
        f'only_mutate = ["morello_layouts/{module}"]',
        f"also_copy = {json.dumps(PARTS[2:])}",
        f"pytest_add_cli_args = {json.dumps(arguments)}",
        f"pytest_add_cli_args_test_selection = {json.dumps(tests)}",
    ]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (place / "pyproject.toml").write_text(project + "\n" + "\n".join(lines) + "\n", "utf-8")
    return place


def mutmut(place: Path, *arguments: str) -> str:
    """Run mutmut in a folder and return what it prints."""
    command = [sys.executable, "-m", "mutmut", *arguments]
    ran = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, text=True, check=False)
    return ran.stdout


def changes(place: Path, names: list[str]) -> list[tuple[str, str]]:
    """Return the lines that each mutant takes out, and those it puts in."""
    code = (
        "import json, sys; from mutmut.mutation.diff_apply import get_diff_for_mutant as diff;"
        "print(json.dumps([diff(name).splitlines()[2:] for name in json.load(sys.stdin)]))"
    )
    command = [sys.executable, "-c", code]
    ran = subprocess.run(
        command, cwd=place, input=json.dumps(names), capture_output=True, text=True, check=True
    )
    return [(_lines(diff, "-"), _lines(diff, "+")) for diff in json.loads(ran.stdout)]


def _lines(diff: list[str], sign: str) -> str:
    return " ".join(line[1:].strip() for line in diff if line.startswith(sign))


def plain(line: str) -> str:
    """Return a line without its texts and without whether ``zip`` is strict, a guard alone."""
    return re.sub(r",( strict=\w+)?\s*\)", ")", TEXT.sub("''", line))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("module", help="a file of the package, such as recipe/steps.py")
    module = parser.parse_args().module
    listed = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    entry = listed.get(module, {})
    place = copied(module, entry.get("tests", ["tests"]))
    mutmut(place, "run", "--max-children", "2")
    return report(module, place, entry)


def report(module: str, place: Path, entry: dict[str, Any]) -> int:
    """Print the survivors of a module, and return 1 if too many have no reason."""
    found = [
        x.strip().rsplit(": ", 1) for x in mutmut(place, "results", "--all", "true").splitlines()
    ]
    alive = [name for name, state in found if state in {"survived", "no tests"}]
    texts, left, known = 0, [], 0
    for name, (out, put) in zip(alive, changes(place, alive), strict=True):
        if plain(out) == plain(put):
            texts += 1
        elif any(part in put for part in entry.get("reasons", {})):
            known += 1
        else:
            left.append(f"{name}\n  - {out}\n  + {put}")
    print(*left, sep="\n")
    unchecked = sum(state == "not checked" for _, state in found)
    killed = len(found) - len(alive) - unchecked
    counts = f"{len(found)} mutants, {killed} killed, {unchecked} not checked"
    print(f"{module}: {counts}, {texts} change a text or a guard, {known} listed, {len(left)} left")
    return int(not found or unchecked > 0 or len(left) > MOST * len(found))


if __name__ == "__main__":
    raise SystemExit(main())
