"""Mutants of the package: one operator, number, condition or branch changed; which test sees it?

    python -m tests.mutants --seed 26 --count 100
    python -m tests.mutants check.py core/recipe/steps.py --count 60
    python -m tests.mutants --listed

Mutants are drawn at random over the whole package, or over the modules and rooms that are named.
Mutant k of a seed is always the same as long as these are. Each is changed in a copy of the package
under ``build/mutants``. The tests that ``tests/mutants.toml`` lists for its module run there until
one fails, else the fast tests of its room; then those of the rooms that import it, each within a
limit of processor time.

``tests/mutants.toml`` also lists those alive: with a reason if the change is equivalent, without
one if a test is still missing. ``--listed`` runs the latter again and prints which are killed now.
Ends with 1 if over 5 % are alive that the file does not explain.

``mutants_of`` changes functions in the running process: ``tests/expr/test_mutants.py`` judges every
loosened condition of the simplifier's rules so.
"""
# ruff: noqa: T201

from __future__ import annotations
import __future__

import argparse
import ast
import copy
import inspect
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import tomllib
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from morello_layouts.core.expr import AffineExpr

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "morello_layouts"
LISTED = ROOT / "tests" / "mutants.toml"
COPY = ROOT / "build" / "mutants"
PARTS = (
    "morello_layouts", "tests", "docs", "notebooks", "README.md", "CONTRIBUTING.md",
    "pyproject.toml", "noxfile.py", "CHANGELOG.md", ".github",
)  # fmt: skip
MOST: Final = 0.05
"""The share of mutants that may live without a reason."""

MEMORY: Final = 6 << 30
"""Bytes that a mutant may take: one that never ends must not take all there are."""

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


_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
_NO_CODE = {"annotation", "returns", "decorator_list"}
_NEAR = "_is_near"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression stands, or an assignment such as ``+=``.

    Attributes:
        node: what stands there.
        parent: the node that holds it, in a field, or as an item of one.
        field: the name of the field.
        index: the number of the item.
        path: the names of the classes and the outermost function around it; empty in defaults.
        function: the name of the innermost function.
    """

    node: Any
    parent: ast.AST
    field: str
    index: int | None
    path: tuple[str, ...]
    function: str

    def put(self, value: ast.AST) -> None:
        """Let another node stand here."""
        if self.index is None:
            setattr(self.parent, self.field, value)
        else:
            getattr(self.parent, self.field)[self.index] = value


def places(node: ast.AST, path: tuple[str, ...] = (), function: str = "") -> Iterator[Place]:
    """Yield the places of a tree, but no texts, types, errors, decorators or ``strict``."""
    for name, value in ast.iter_fields(node):
        for k, child in enumerate(value if isinstance(value, list) else [value]):
            if name in _NO_CODE or not isinstance(child, ast.AST) or _is_no_code(child):
                continue
            if isinstance(child, ast.expr | ast.AugAssign):
                index = k if isinstance(value, list) else None
                yield Place(child, node, name, index, path if function else (), function)
            match child:
                case ast.ClassDef(name=own) if not function:
                    yield from places(child, (*path, own))
                case ast.FunctionDef(name=own):
                    yield from places(child, path if function else (*path, own), own)
                case ast.arguments():
                    yield from places(child)
                case _:
                    yield from places(child, path, function)


def _is_no_code(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert() | ast.keyword(arg="strict"):
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name("LayoutError" | "cast" | "TypeVar")):
            return True
    return False


def changed_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node with another operator, number, name, keyword or branch."""

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


def loosened(node: ast.AST, is_test: bool) -> Iterator[ast.expr]:
    """Yield what is looser or stricter in the place of a node.

    - a comparison: ``<`` by ``<=`` and back, ``==`` by "equal or next to each other", and each
      comparison by True and by False;
    - ``lo // n == hi // n`` by ``hi - lo < n``: as long as a block at most, maybe across its end;
    - a test of an ``if`` or of a filter by True and by False;
    - an operand of ``and`` and ``or``: dropped;
    - an operand of an arithmetic operation: dropped, so that ``x - 1`` becomes ``x``;
    - an integer by the next one either way.
    """
    match node:
        case ast.Compare(left, [operator], [right]):
            if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                yield ast.Compare(left, [OPERATORS[type(operator)][0]()], [right])
            if isinstance(operator, ast.Eq):
                yield ast.Call(ast.Name(_NEAR, ast.Load()), [left, right], [])
            match operator, left, right:
                case ast.Eq(), ast.BinOp(lo, ast.FloorDiv(), n), ast.BinOp(hi, ast.FloorDiv(), _):
                    yield ast.Compare(ast.BinOp(hi, ast.Sub(), lo), [ast.Lt()], [n])
            yield from (ast.Constant(True), ast.Constant(False))
        case ast.BoolOp(operator, values):
            for k in range(len(values)):
                kept = values[:k] + values[k + 1 :]
                yield kept[0] if len(kept) == 1 else ast.BoolOp(operator, kept)
        case ast.BinOp(left, operator, right) if isinstance(operator, _ARITHMETIC):
            yield from (left, right)
        case ast.Constant(value=number) if type(number) is int:
            yield from (ast.Constant(number + 1), ast.Constant(number - 1))
    if is_test and not isinstance(node, ast.Compare):
        yield from (ast.Constant(True), ast.Constant(False))


# Functions that are changed in the running process


@dataclass(frozen=True, slots=True)
class Change:
    """A module with one expression of one function replaced.

    Attributes:
        name: the innermost function that holds the expression, and the replacement.
        copy: a copy of the module, which the changes of the module share.
        path: where the copy has the function, or the one that it is defined in.
        code: the changed code of the function at the path.
    """

    name: str
    copy: types.ModuleType
    path: tuple[str, ...]
    code: types.CodeType

    @contextmanager
    def applied(self) -> Iterator[types.ModuleType]:
        """Give the copy, in which the function is changed for the time."""
        found: Any = self.copy
        for name in self.path:
            found = vars(found)[name]
        clear = getattr(found, "cache_clear", lambda: None)
        function = getattr(found, "fget", None) or getattr(found, "__wrapped__", found)
        own = function.__code__
        function.__code__ = self.code
        clear()
        try:
            yield self.copy
        finally:
            function.__code__ = own
            clear()


def mutants_of(module: types.ModuleType) -> Iterator[Change]:
    """Yield what is looser or stricter in the functions of a module."""
    source = inspect.getsource(module)
    copied = types.ModuleType(module.__name__)
    copied.__dict__[_NEAR] = _is_near
    exec(compile(source, module.__name__, "exec"), copied.__dict__)
    tree = ast.parse(source)
    for place in [x for x in places(tree) if x.path]:
        original = place.node
        is_number = isinstance(original, ast.Constant) and type(original.value) is int
        shown = place.parent if is_number and isinstance(place.parent, ast.expr) else None
        before = ast.unparse(shown or original)
        for other in loosened(original, place.field in ("test", "ifs")):
            place.put(ast.fix_missing_locations(ast.copy_location(other, original)))
            code = _code_of(_function_at(tree, place.path))
            change = f"{before} -> {ast.unparse(shown or other)}"
            place.put(original)
            if isinstance(original, ast.BoolOp) and not isinstance(other, ast.Constant):
                kept = other.values if isinstance(other, ast.BoolOp) else [other]
                dropped = next(v for v in original.values if v not in kept)
                change = f"without {ast.unparse(dropped)}"
            yield Change(f"{place.function}: {change}", copied, place.path, code)


def _function_at(tree: Any, path: tuple[str, ...]) -> ast.FunctionDef:
    for name in path:
        tree = next(x for x in tree.body if getattr(x, "name", None) == name)
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _code_of(function: ast.FunctionDef) -> types.CodeType:
    flags = __future__.annotations.compiler_flag
    module = ast.Module([function], [])
    code = compile(module, f"<{function.name}>", "exec", flags, dont_inherit=True)
    codes = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return next(c for c in codes if c.co_name == function.name)


def _is_near(a: object, b: object) -> bool:
    """Return whether numbers or constants of forms differ by at most one, or values are equal."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a - b) <= 1
    if isinstance(a, AffineExpr) and isinstance(b, AffineExpr):
        return a.terms == b.terms and _is_near(a.const, b.const)
    return a == b


# Modules that are changed in a copy of the package


class Mutant(NamedTuple):
    """A change of a module: the line and what stands there, before and after."""

    module: str
    line: int
    old: str
    new: str

    def same(self, entry: dict[str, Any]) -> bool:
        """Return whether an entry of the list means it; the line may have moved."""
        own = (self.module, self.old, self.new)
        return own == (entry["module"], entry.get("old", self.old), entry["new"])


def mutants(module: str, source: str) -> list[tuple[Mutant, str]]:
    """Return the mutants of a module, and its source with each."""
    data, starts = source.encode("utf-8"), [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = dict[Mutant, str]()
    for place in places(ast.parse(source)):
        node = place.node
        looser = loosened(node, place.field in ("test", "ifs"))
        for other in [*changed_in(node), *looser]:
            if isinstance(other, ast.Call) and getattr(other.func, "id", None) == _NEAR:
                continue  # the name is known only in the running process
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            text = ast.unparse(other)
            put = text if isinstance(node, ast.Constant | ast.AugAssign) else f"({text})"
            whole = (data[:begin] + put.encode() + data[end:]).decode()
            old, new = (x.splitlines()[node.lineno - 1].strip() for x in (source, whole))
            found.setdefault(Mutant(module, node.lineno, old, new), whole)
    return [*found.items()]


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
    """Return the tests that are listed for a module, or those of its room; its examples first."""
    if module in listed()["tests"]:
        return [f"morello_layouts/{module}", *listed()["tests"][module]]
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
    arguments = ["-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    arguments += ["-o", "addopts=--import-mode=importlib --doctest-modules", "-m", "not slow"]
    settings = {"HYPOTHESIS_PROFILE": "mutants", "PYTHONDONTWRITEBYTECODE": "1"}
    settings["MUTANT_UNDER_TEST"] = "one"  # the first row that fails is enough
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
    for part in PARTS:
        source, to = ROOT / part, COPY / part
        if source.is_dir():
            shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to)


@cache
def listed() -> dict[str, Any]:
    """Return the tests of modules, and the mutants that live."""
    return tomllib.loads(LISTED.read_text("utf-8"))


def of_entry(entry: dict[str, Any]) -> tuple[Mutant, str] | None:
    """Return the mutant that an entry of the list means, None if its code has gone."""
    file = PACKAGE / entry["module"]
    every = mutants(entry["module"], file.read_text("utf-8")) if file.exists() else []
    return next((x for x in every if x[0].same(entry)), None)


def asked(given: argparse.Namespace) -> Iterator[tuple[str, Mutant, str]]:
    """Yield the mutants to run with the words that repeat them."""
    if not given.listed:
        for number in range(given.start, given.start + given.count):
            yield (
                f"--seed {given.seed} --start {number}",
                *drawn(given.seed, number, tuple(given.modules)),
            )
        return
    for entry in listed()["alive"]:
        found = of_entry(entry)
        if found is None:
            print(f"gone: {entry['module']}: {entry['old']}")
        elif "reason" not in entry:
            yield "--listed", *found


def main() -> int:
    parser = argparse.ArgumentParser(description="Run mutants drawn at random.")
    parser.add_argument("modules", nargs="*", help="modules or rooms, such as core/recipe/steps.py")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=150, help="processor time of each run")
    parser.add_argument("--listed", action="store_true", help="run those that the list has")
    given = parser.parse_args()
    copied()
    counts, explained = Counter[str](), [x for x in listed()["alive"] if "reason" in x]
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
