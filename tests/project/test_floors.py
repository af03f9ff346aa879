"""Imports go down only: the floors of docs/architecture.md, read out of the source with ast."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.tables import each_row

TOP = "morello_layouts"

FLOOR = {
    # 3: what users call
    TOP: 3,
    "__main__": 3,
    "api": 3,
    "cli": 3,
    "hlo": 3,
    "doctor": 3,
    "exercises": 3,
    "report": 3,
    "explorer": 3,
    # 2: text, proofs, drawings, printers: each takes values of floor 1 or 0
    "notation": 2,
    "proof": 2,
    "picture": 2,
    "codegen": 2,
    "words": 2,
    # 1: layouts and index maps
    "morello": 1,
    "xla": 1,
    "tpu": 1,
    "formula": 1,
    # 0: what everything is made of
    "recipe": 0,
    "expr": 0,
    "errors": 0,
}

# Neighbours on one floor that may be imported; every other pair on one floor is a fault.
NEIGHBOURS = {
    "__main__": {"cli"},
    "cli": {TOP, "api", "hlo", "doctor", "report", "explorer"},
    "explorer": {TOP, "api", "report"},
    "report": {"api", "hlo"},
    "doctor": {"api", "hlo"},
    "api": {"hlo"},
    "exercises": {"api"},
    TOP: {"api", "hlo", "doctor", "exercises"},
    "tpu": {"xla"},
    "recipe": {"errors", "expr"},  # symbolic sizes
    "expr": {"errors"},
}

# Lower floors that these must not see: they read recipes and index maps, whatever the notation.
UNSEEN = {
    "proof": {"morello", "xla", "tpu"},
    "picture": {"morello", "xla", "tpu"},
}

# Heavy libraries, and the only packages that may import them; None is any package, and lazily.
HEAVY: dict[str, set[str] | None] = {
    "cairosvg": {"picture"},
    "click": {"cli"},
    "islpy": {"proof"},
    "lark": {"notation"},
    "rich": {"cli", "picture"},
    "sympy": None,
    "waitress": {"explorer"},
}


@dataclass(frozen=True)
class Import:
    """One name imported by one module."""

    module: str
    line: int
    target: str
    lazy: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted((ROOT / TOP).rglob("*.py")):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports_of(module: str, source: str, *, is_package: bool = False) -> list[Import]:
    """The imports of a module; lazy are those in functions and under TYPE_CHECKING."""
    found: list[Import] = []
    _visit(ast.parse(source), False, module if is_package else module.rpartition(".")[0], found)
    return [Import(module, i.line, i.target, i.lazy) for i in found]


def _visit(node: ast.AST, lazy: bool, package: str, found: list[Import]) -> None:
    match node:
        case ast.Import(names=names):
            found += [Import("", node.lineno, name.name, lazy) for name in names]
        case ast.ImportFrom(module=base, names=names, level=level):
            if level:
                above = package.split(".")[: len(package.split(".")) - level + 1]
                base = ".".join([*above, *([base] if base else [])])
            for name in names:
                inner = f"{base}.{name.name}"
                target = inner if inner in MODULES else str(base)
                found.append(Import("", node.lineno, target, lazy))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            lazy = True
        case ast.If(test=test) if ast.unparse(test).endswith("TYPE_CHECKING"):
            for child in node.body:
                _visit(child, True, package, found)
            for child in node.orelse:
                _visit(child, lazy, package, found)
            return
    for child in ast.iter_child_nodes(node):
        _visit(child, lazy, package, found)


def package_of(dotted: str) -> str:
    """The part of the package that a module belongs to: ``notation`` for its modules."""
    _, _, rest = dotted.partition(".")
    return rest.split(".")[0] or TOP


def all_imports() -> Iterator[Import]:
    for module, path in MODULES.items():
        source = path.read_text(encoding="utf-8")
        yield from imports_of(module, source, is_package=path.name == "__init__.py")


IMPORTS = tuple(all_imports())


def fault(found: Import) -> str | None:
    """What is wrong with an import inside the package, None where nothing is."""
    if found.target.split(".")[0] != TOP:
        return None
    here, there = package_of(found.module), package_of(found.target)
    if here == there:
        return None
    if FLOOR[there] > FLOOR[here]:
        return f"{found}: up, from floor {FLOOR[here]} to {FLOOR[there]}"
    if FLOOR[there] == FLOOR[here] and there not in NEIGHBOURS.get(here, ()):
        return f"{found}: a neighbour on floor {FLOOR[here]}"
    if there in UNSEEN.get(here, ()):
        return f"{found}: {here} sees recipes and index maps, never notations"
    return None


def test_every_package_has_a_floor() -> None:
    without = {package_of(module) for module in MODULES} - FLOOR.keys()
    assert not without, f"give these a floor, here and in docs/architecture.md: {without}"


def test_imports_go_down() -> None:
    assert not [found for i in IMPORTS if (found := fault(i))]


@pytest.mark.parametrize("library", HEAVY)
def test_heavy_imports_stay_where_they_are_used(library: str) -> None:
    users = HEAVY[library]
    faults = []
    for i in IMPORTS:
        if i.target.split(".")[0] != library:
            continue
        if users is None and not i.lazy:
            faults.append(f"{i} when loaded; import it in the function that needs it")
        if users is not None and package_of(i.module) not in users:
            faults.append(f"{i}; only {', '.join(sorted(users))} may")
    assert not faults


@pytest.mark.slow
def test_import_loads_nothing_heavy() -> None:
    code = f"import sys, {TOP}; print(*sorted({set(HEAVY)} & sys.modules.keys()))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == [], f"import {TOP} loads what only some calls need"


@each_row(
    ("module", "statement"),
    [
        ("recipe.steps", "from morello_layouts.notations.xla import XlaShape"),
        ("recipe.steps", "from morello_layouts import maps"),
        ("expr.form", "from morello_layouts.recipe.steps import Recipe"),
        ("xla.layout", "import morello_layouts.notations.morello"),
        ("morello.layout", "from ..formula import IndexMap"),
        ("maps.index_map", "def f():\n    from morello_layouts.notations.xla import XlaShape"),
        ("maps.index_map", "if TYPE_CHECKING:\n    from morello_layouts.proof import Proof"),
        ("proof.bijection", "from morello_layouts.notations import parse"),
        ("picture.draw", "from morello_layouts.notations.xla import XlaShape"),
        ("notations.xla", "from morello_layouts import index_map"),
        ("api", "from morello_layouts.cli import main"),
    ],
)
def test_the_judge_finds_faults(module: str, statement: str) -> None:
    (found,) = imports_of(f"{TOP}.{module}", statement)
    assert fault(found) is not None


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("recipe.steps", "from morello_layouts.errors import ShapeError"),
        ("notations.xla", "from morello_layouts.notations.xla import XlaShape"),
        ("proof.bijection", "from .relation import Space"),
        ("api", "from morello_layouts import notations"),
        ("cli.main", "from morello_layouts import index_map"),
        ("cli.main", "import numpy"),
    ],
)
def test_the_judge_lets_the_rest_pass(module: str, statement: str) -> None:
    (found,) = imports_of(f"{TOP}.{module}", statement)
    assert fault(found) is None


def test_lazy_is_known_from_eager() -> None:
    source = (
        "import a\nif TYPE_CHECKING:\n    import b\nelse:\n    import c\n"
        "def f():\n    import d\nclass C:\n    import e\ntry:\n    import g\nexcept E:\n    pass\n"
    )
    found = imports_of(TOP, source, is_package=True)
    assert {i.target: i.lazy for i in found} == {
        "a": False, "b": True, "c": False, "d": True, "e": False, "g": False,
    }  # fmt: skip
