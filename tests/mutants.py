"""Mutants of modules that their tests do not kill.

    python -m tests.mutants recipe/steps.py check.py

mutmut changes one operator, number or argument at a time, in a copy of the package under
``build/mutants``, and runs the tests that ``tests/mutants.toml`` lists for the module; without a
module, all that are listed are run. The file also lists survivors that were read, by a part of the
line that they put in, with the reason why no test kills them. Mutants that change only a text, as
of an error, or whether ``zip`` is strict, are not run.

What was found is kept, and a run that was ended goes on: mutants that were killed stay so until
their function changes, and the others are run again (``--again`` runs all). Ends with a table, and
with 1 if over 5 % of a module's mutants survive unlisted.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).parents[1]
MOST: Final = 0.05
"""The share of a module's mutants that may survive without a reason."""

MEMORY: Final = 6 << 30
"""Bytes that a mutant may take: one that never ends must not take all there are."""

PARTS = ("morello_layouts", "tests", "docs", "notebooks", "README.md", "CONTRIBUTING.md")
TEXT = re.compile(r"""[rf]*("([^"\\]|\\.)*"|'([^'\\]|\\.)*')""")
SURVIVED: Final = (0, 5, 33)
"""Exit codes of mutants that no test kills; the last two had no test."""

GENERATE = """
import json, os
from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants, setup_source_paths
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.utils.file_utils import walk_mutatable_files
os.makedirs("mutants", exist_ok=True)
copy_src_dir(), copy_also_copy_files(), setup_source_paths(), create_mutants(1)
(path,) = walk_mutatable_files()
data = SourceFileMutationData(path=path)
data.load()
changes = {name: get_diff_for_mutant(name, path=path) for name in data.exit_code_by_key}
with open("mutants/changes.json", "w") as file:
    json.dump(changes, file)
"""


def undecorated(source: str) -> str:
    """Return a module in which decorators are called below their functions.

    mutmut leaves functions with a decorator alone.

    >>> print(undecorated("@cache\\n@log(1)\\ndef f(x):\\n    return x"), end="")
    def f(x):
        return x
    f = cache(log(1)(f))
    """
    tree, lines = ast.parse(source), source.splitlines()
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    found = [x for body in bodies for x in body if isinstance(x, ast.FunctionDef)]
    for f in sorted(found, key=lambda f: -f.lineno):
        names = [ast.unparse(decorator) for decorator in f.decorator_list]
        if not names or names in (["classmethod"], ["staticmethod"], ["overload"]):
            continue
        call = "(".join([*names, f.name]) + ")" * len(names)
        assert f.end_lineno is not None
        lines.insert(f.end_lineno, f"{' ' * f.col_offset}{f.name} = {call}")
        del lines[f.decorator_list[0].lineno - 1 : f.lineno - 1]
    return "\n".join(lines) + "\n"


def configuration(module: str, tests: list[str]) -> str:
    idle = ("cacheprovider", "unraisableexception", "threadexception")  # most of a short run
    arguments = ["-p", "tests.mutants_plugin", *(f"-pno:{name}" for name in idle)]
    arguments += ["-o", "addopts=--import-mode=importlib", "-m", "not slow"]
    values = {
        "source_paths": ["morello_layouts"],
        "only_mutate": [f"morello_layouts/{module}"],
        "also_copy": PARTS[2:],
        "process_isolation": "forkserver",  # no result of the sound package is in a cache
        "timeout_multiplier": 3,
        "timeout_constant": 5.0,
        "pytest_add_cli_args": arguments,
        "pytest_add_cli_args_test_selection": tests,
    }
    return "\n[tool.mutmut]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in values.items())


@dataclass
class Run:
    """The mutants of a module, in a folder that outlives the command."""

    module: str
    entry: dict[str, Any]
    changes: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> Path:
        name = self.module.replace("/", "_").removesuffix(".py")
        return ROOT / "build" / "mutants" / name

    @property
    def codes(self) -> dict[str, int | None]:
        """The exit code of the tests for each mutant, None if they were not run."""
        meta = self.place / "mutants" / "morello_layouts" / f"{self.module}.meta"
        found: dict[str, int | None] = json.loads(meta.read_text("utf-8"))["exit_code_by_key"]
        return found

    def update(self) -> None:
        """Bring the copy up to date."""
        tests = self.entry.get("tests", ["tests"])
        files = {x.relative_to(ROOT): x.read_bytes() for part in PARTS for x in _files(ROOT / part)}
        module, project = Path("morello_layouts", self.module), Path("pyproject.toml")
        files[module] = undecorated(files[module].decode("utf-8")).encode("utf-8")
        settings = configuration(self.module, tests)
        files[project] = (ROOT / project).read_bytes() + settings.encode("utf-8")
        old = [x for part in PARTS for x in _files(self.place / part)]
        for name in {x.relative_to(self.place) for x in old} - files.keys():
            (self.place / name).unlink()
            (self.place / "mutants" / name).unlink(missing_ok=True)
        for name, content in files.items():
            copy = self.place / name
            if not copy.exists() or copy.read_bytes() != content:
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)
                # mutmut copies files that are missing, and then asks again which tests run what.
                (self.place / "mutants" / name).unlink(missing_ok=True)
                (self.place / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)

    def go_on(self, every: int, processes: int) -> None:
        """Run the tests on every n-th mutant that is not known to be killed, and on survivors."""
        self.update()
        self.python("-c", GENERATE, to=subprocess.DEVNULL)
        codes = self.codes
        names = self.judged()
        asked = {*names[::every], *(name for name in names if codes[name] in SURVIVED)}
        left = [name for name in names if name in asked and codes[name] in (None, *SURVIVED)]
        print(f"{self.module}: {len(codes)} mutants, {len(left)} to run", flush=True)
        if left:
            to = None if sys.stdout.isatty() else subprocess.PIPE  # a log needs no moving line
            ran = self.python("-m", "mutmut", "run", "--max-children", str(processes), *left, to=to)
            if ran.returncode:
                print((ran.stdout or "").replace("\r", "\n")[-3000:], flush=True)

    def python(self, *arguments: str, to: int | None) -> subprocess.CompletedProcess[str]:
        settings = {"HYPOTHESIS_PROFILE": "mutants", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.place,
            env={**os.environ, **settings},
            stdout=to,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )

    def judged(self) -> list[str]:
        """Return the mutants that change more than a text or a guard."""
        file = self.place / "mutants" / "changes.json"
        self.changes = json.loads(file.read_text("utf-8"))
        return [x for x in self.changes if not same(self.line(x, "-"), self.line(x, "+"))]

    def line(self, name: str, sign: str) -> str:
        """Return the lines that a mutant takes out, or those that it puts in."""
        diff = self.changes[name].splitlines()[2:]
        return " ".join(line[1:].strip() for line in diff if line.startswith(sign))

    def report(self, every: int) -> tuple[str, bool]:
        """Print the survivors, and return a row of the table, and whether few are left."""
        names, codes = self.judged(), self.codes
        is_done = all(codes[x] is not None for x in names[::every])
        ran = [x for x in names if codes[x] is not None]
        alive = [x for x in ran if codes[x] in SURVIVED]
        reasons = self.entry.get("reasons", {})
        left = [x for x in alive if not any(part in self.line(x, "+") for part in reasons)]
        for name in left:
            print(f"{name}\n  - {self.line(name, '-')}\n  + {self.line(name, '+')}")
        share = len(left) / max(1, len(ran))
        counts = [len(names), len(ran), len(ran) - len(alive), len(alive) - len(left)]
        row = [f"`{self.module}`", *map(str, counts), f"{len(left)} ({share:.1%})"]
        return f"| {' | '.join(row)} |", is_done and share <= MOST


def _files(part: Path) -> Iterator[Path]:
    if part.is_file():
        yield part
    for file in part.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            yield file


def plain(line: str) -> str:
    """Return a line without its texts and without whether ``zip`` is strict, a guard alone."""
    return re.sub(r",( strict=\w+)?\s*\)", ")", TEXT.sub("''", line))


def same(out: str, put: str) -> bool:
    """Return whether lines differ in texts or guards alone, as in the advice of an error."""
    one, other = plain(out), plain(put)
    return one == other or (one.strip(" ,)") == "''" and other.strip(" ,)") in {"", "None"})


def main() -> int:
    parser = argparse.ArgumentParser(description="Print the mutants that no test kills.")
    parser.add_argument("modules", nargs="*", help="files of the package, such as recipe/steps.py")
    parser.add_argument("--again", action="store_true", help="run what was killed, too")
    parser.add_argument("--report", action="store_true", help="run nothing, print what was found")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="run only every N-th mutant"
    )
    parser.add_argument("--processes", type=int, default=2, help="mutants at a time")
    given = parser.parse_args()
    listed = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    runs = [Run(module, listed.get(module, {})) for module in given.modules or listed]
    for run in runs:
        if given.again:
            shutil.rmtree(run.place, ignore_errors=True)
        if not given.report:
            run.go_on(given.every, given.processes)
    rows = [run.report(given.every) for run in runs if run.place.exists()]
    print("\n| module | mutants | run | killed | listed | left |\n|---|---|---|---|---|---|")
    print(*(row for row, _ in rows), sep="\n")
    return int(not rows or not all(few for _, few in rows))


if __name__ == "__main__":
    raise SystemExit(main())
