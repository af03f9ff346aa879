"""Mutants drawn at random over the whole package, and those that no test kills.

    python -m tests.random_mutants --seed 26 --count 100
    python -m tests.random_mutants --listed

Mutant k of a seed is always the same as long as the package is. Each is one operator, number,
keyword or branch of one module, changed in a copy of the package under ``build/random_mutants``.
The fast tests of its room run there until one fails, then those of the rooms that import it, each
within a limit of processor time; a run that was ended goes on.

``tests/random_mutants.toml`` lists those alive: with a reason if the change is equivalent, without
one if a test is still missing. ``--listed`` runs the latter again and prints which are killed now.
Ends with 1 if over 5 % are alive that the file does not explain.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from tests.mutants import MEMORY, MOST, PARTS, ROOT

PACKAGE = ROOT / "morello_layouts"
LISTED = ROOT / "tests" / "random_mutants.toml"
COPY = ROOT / "build" / "random_mutants"
LEFT_OUT: Final = {"limits.py", "__init__.py", "completion.py"}
"""Limits of work and lists of names: their mutants change how soon we refuse, not what is right."""

TESTS_OF: Final = {
    "check.py": "tests/proof/test_checker.py",
    "core": "tests/test_fields.py tests/test_plain.py tests/api",
    "machines/gpu": "tests/gpu tests/api",
    "machines/tpu_layouts": "tests/tpu",
    "proof": "tests/proof tests/fuzz",
}
"""Rooms whose tests do not stand in the folder of their name."""

OPERATORS: Final[dict[type, tuple[type, ...]]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Add,), ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,), ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.BitXor: (ast.BitOr,),
    ast.Lt: (ast.LtE,), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE,), ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
NAMES: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}


class Mutant(NamedTuple):
    """A change of a module: the line and what stands there, before and after."""

    module: str
    line: int
    old: str
    new: str

    def same(self, entry: dict[str, Any]) -> bool:
        """Return whether an entry of the list means it; the line may have moved."""
        return (self.module, self.old, self.new) == (entry["module"], entry["old"], entry["new"])


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""

    def changed(**fields: Any) -> ast.AST:
        other = copy.copy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    match node:
        case ast.Constant(value=bool(value)):
            yield changed(value=not value)
        case ast.Constant(value=int(value)):
            yield changed(value=value + 1)
            if value > 0:
                yield changed(value=value - 1)
        case ast.BinOp(op=one) | ast.AugAssign(op=one) | ast.BoolOp(op=one):
            yield from (changed(op=kind()) for kind in OPERATORS.get(type(one), ()))
        case ast.Compare(ops=ops):
            for k, op in enumerate(ops):
                for kind in OPERATORS[type(op)]:
                    yield changed(ops=[*ops[:k], kind(), *ops[k + 1 :]])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield changed(func=ast.Name(NAMES[name]))
        case ast.Call(keywords=[_, *_] as keywords):
            for k, word in enumerate(keywords):
                if word.arg not in (None, "strict"):
                    yield changed(keywords=[*keywords[:k], *keywords[k + 1 :]])
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)


def not_judged(tree: ast.Module) -> set[int]:
    """Return the nodes that are texts, types, errors, decorators or ``strict``, by their ids."""
    found: set[int] = set()
    for node in ast.walk(tree):
        parts: list[Any] = []
        match node:
            case ast.JoinedStr() | ast.Raise() | ast.Assert():
                parts = [node]
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                parts = [node]
            case ast.FunctionDef(returns=returns, decorator_list=decorators):
                parts = [returns, *decorators]
            case (
                ast.arg(annotation=part)
                | ast.AnnAssign(annotation=part)
                | ast.keyword(arg="strict", value=part)
            ):
                parts = [part]
            case ast.Call(func=ast.Name(id="LayoutError" | "cast" | "TypeVar")):
                parts = [node]
        found.update(id(x) for part in parts if part is not None for x in ast.walk(part))
    return found


def mutants(module: str, source: str) -> list[tuple[Mutant, str]]:
    """Return the mutants of a module, and its source with each."""
    tree, data = ast.parse(source), source.encode("utf-8")
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    hidden, found = not_judged(tree), []
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        for other in variants(node):
            place: Any = node
            begin = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            text = ast.unparse(other)
            put = text if isinstance(node, ast.Constant | ast.AugAssign) else f"({text})"
            whole = (data[:begin] + put.encode() + data[end:]).decode()
            old, new = (x.splitlines()[place.lineno - 1].strip() for x in (source, whole))
            found.append((Mutant(module, place.lineno, old, new), whole))
    return found


@cache
def modules() -> dict[str, int]:
    """Return the modules of the package with their lengths."""
    files = sorted(PACKAGE.rglob("*.py"))
    kept = [file for file in files if file.name not in LEFT_OUT]
    return {str(x.relative_to(PACKAGE)): len(x.read_text("utf-8").splitlines()) for x in kept}


def drawn(seed: int, number: int, within: tuple[str, ...] = ()) -> tuple[Mutant, str]:
    """Return a mutant of a seed: a line of the package, then one of the mutants of its module."""
    random = Random(f"{seed} {number}")
    lengths = {m: n for m, n in modules().items() if not within or m.startswith(within)}
    while True:
        (module,) = random.choices([*lengths], [*lengths.values()])
        every = mutants(module, (PACKAGE / module).read_text("utf-8"))
        if every:
            return random.choice(every)


def room(module: str) -> str:
    """Return the folder of a module's package."""
    parts = module.split("/")
    return "/".join(parts[:-1] or parts)


def folders_of(room: str) -> list[str]:
    """Return the folders of a room's tests, without its group's name, and those of its texts."""
    last = Path(room).name
    named = f"tests/{last}"
    if room.startswith("notations/"):
        named = f"tests/{room} tests/notations/test_laws.py"
    found = [x for x in TESTS_OF.get(room, named).split() if (ROOT / x).exists()]
    kept = ROOT / "tests" / "data" / "recorded" / ("notations" if "notations" in room else last)
    return [*found, "tests/test_recorded.py"] if found and kept.exists() else found


def tests_of(module: str) -> list[str]:
    """Return the tests of a module's room, its examples first."""
    stem = Path(module).stem
    own = f"tests/{module.removesuffix('.py')}"  # a module with a folder of tests, as a notation
    found = folders_of(own[6:] if (ROOT / own).is_dir() else room(module))
    found = found or [
        str(x.relative_to(ROOT))
        for x in sorted((ROOT / "tests").glob("**/test_*.py"))
        if re.search(rf"\b{stem}\b", x.read_text("utf-8"))
    ]
    return [f"morello_layouts/{module}", *found]


def tests_of_importers(module: str) -> list[str]:
    """Return the tests of rooms that import a module's room, those that do most often first."""
    own, counts = room(module), Counter[str]()
    name = re.escape(own.removesuffix(".py").replace("/", "."))
    imports = re.compile(rf"from morello_layouts\.{name}\b|import morello_layouts\.{name}\b")
    for other in modules():
        text = (PACKAGE / other).read_text("utf-8")
        if room(other) != own:
            counts[room(other)] += len(imports.findall(text))
    found = [x for name, count in counts.most_common() if count for x in folders_of(name)]
    found = list(dict.fromkeys([*found, "tests/api", "tests/cli"]))
    return [x for x in found if not any(x.startswith(f"{y}/") for y in found)]


def run_tests(tests: list[str], seconds: int) -> str:
    """Run tests in the copy: ``killed``, ``alive``, or ``late`` if they took too much time."""
    arguments = ["-p", "tests.mutants_plugin", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    arguments += ["-o", "addopts=--import-mode=importlib --doctest-modules", "-m", "not slow"]
    settings = {"HYPOTHESIS_PROFILE": "mutants", "PYTHONDONTWRITEBYTECODE": "1"}
    path = os.pathsep.join([str(COPY), str(COPY / "tests" / "benchmarks")])

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, *tests],
            cwd=COPY,
            env={**os.environ, **settings, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=6 * seconds,
            preexec_fn=limits,
        )
    except subprocess.TimeoutExpired:
        return "late"
    if ran.returncode in (0, 5):
        return "alive"
    return "late" if ran.returncode < 0 else "killed"


@cache
def is_sound(tests: str, seconds: int) -> bool:
    """Return whether tests pass without a mutant: those that fail would kill all of them."""
    found = run_tests([tests], seconds)
    if found != "alive":
        print(f"left out: {tests}, {found} without a mutant", flush=True)
    return found == "alive"


def judge(mutant: Mutant, source: str, seconds: int) -> str:
    """Return what became of a mutant: who killed it, or ``alive``.

    Tests that took no longer than they may without it, and too long with it, kill it, too.
    """
    target, sound = COPY / "morello_layouts" / mutant.module, (PACKAGE / mutant.module).read_text()
    own, others = tests_of(mutant.module), tests_of_importers(mutant.module)
    words = "killed by its room"
    for every in (own, *([x] for x in others)):
        tests = [x for x in every if not x.startswith("tests/") or is_sound(x, seconds)]
        target.write_text(source, encoding="utf-8")
        try:
            found = run_tests(tests, seconds)
        finally:
            target.write_text(sound, encoding="utf-8")
        if found != "alive":
            return words if found == "killed" else f"{words}, late"
        words = "killed by a room that imports it"
    return "alive"


def copied() -> None:
    """Copy the package and its tests, so that mutants never stand in the sources."""
    shutil.rmtree(COPY, ignore_errors=True)
    for part in (*PARTS, "pyproject.toml", "noxfile.py", "CHANGELOG.md", ".github"):
        source, to = ROOT / part, COPY / part
        if source.is_dir():
            shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to)


def entries() -> list[dict[str, Any]]:
    """Return the mutants of the list."""
    found: list[dict[str, Any]] = tomllib.loads(LISTED.read_text("utf-8")).get("alive", [])
    return found


def of_entry(entry: dict[str, Any]) -> tuple[Mutant, str] | None:
    """Return the mutant that an entry of the list means, None if its code is no longer there."""
    file = PACKAGE / entry["module"]
    every = mutants(entry["module"], file.read_text("utf-8")) if file.exists() else []
    return next((x for x in every if x[0].same(entry)), None)


def asked(given: argparse.Namespace) -> Iterator[tuple[str, Mutant, str]]:
    """Yield the mutants to run with the words that repeat them."""
    if not given.listed:
        for number in range(given.start, given.start + given.count):
            yield f"--seed {given.seed} --start {number}", *drawn(given.seed, number, given.within)
        return
    for entry in entries():
        found = of_entry(entry)
        if found is None:
            print(f"gone: {entry['module']}: {entry['old']}")
        elif "reason" not in entry:
            yield "--listed", *found


def main() -> int:
    parser = argparse.ArgumentParser(description="Run mutants drawn at random.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=150, help="processor time of each run")
    parser.add_argument("--within", default=(), type=lambda x: tuple(x.split(",")), help="rooms")
    parser.add_argument("--listed", action="store_true", help="run those that the list has")
    given = parser.parse_args()
    copied()
    counts, explained = Counter[str](), [x for x in entries() if "reason" in x]
    for words, mutant, source in asked(given):
        began = time.perf_counter()
        equivalent = any(mutant.same(entry) for entry in explained)
        state = "equivalent" if equivalent else judge(mutant, source, given.seconds)
        counts[state] += 1
        line = {"words": words, "state": state, "seconds": round(time.perf_counter() - began)}
        print(json.dumps(line | mutant._asdict(), ensure_ascii=False), flush=True)
    print(dict(counts))
    return int(counts["alive"] > MOST * counts.total())


if __name__ == "__main__":
    raise SystemExit(main())
