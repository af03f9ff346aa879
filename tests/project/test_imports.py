"""Importing the package loads nothing heavy; import-linter checks the layers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import isfunction

import cold_starts
import pytest

import morello_layouts as ml
from tests.project import lines
from tests.support.paths import ROOT

HEAVY = {"cairosvg", "click", "islpy", "rich", "sympy", "waitress"}


@pytest.mark.parametrize("module", ["morello_layouts", "morello_layouts.notations"])
def test_import_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({HEAVY} & sys.modules.keys()))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == [], f"import {module} loads what only some calls need"


TEXTS = ("bf16[10,200]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(2,1)}", "f32[M,N]{0,1:T(2,2)}")


@pytest.mark.parametrize("text", TEXTS)
def test_explain_loads_no_sympy(text: str) -> None:
    """Formulas, proofs and sizes are said and judged in the package's own form."""
    code = (
        "import sys, morello_layouts as ml\n"
        f"print(ml.explain({text!r}), ml.is_bijective({text!r}), ml.verify({text!r}))\n"
        "assert 'sympy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_few_elements_are_compared_without_numpy() -> None:
    """Its import takes longer than all verdicts about a small program."""
    code = (
        "import sys, morello_layouts as ml\n"
        "one, other = 'f32[256,33,100]{2,1,0:T(8,128)}', 'f32[8448,100]{1,0:T(8,128)}'\n"
        "assert 'slot 4224' in ml.is_bitcast(one, other).reason\n"
        "assert not ml.equal('f32[99,99]{1,0:T(8,128)}', 'f32[99,99]{0,1:T(8,128)}')\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_prove_loads_what_it_asks() -> None:
    unasked = "proof.bitcast proof.agreement proof.access proof.certificate"
    unasked += " notations.expression_reader"
    code = (
        "import sys, morello_layouts as ml\n"
        "assert ml.prove('f32[16,256]{1,0:T(8,128)}')\n"
        f"print(*({{f'morello_layouts.{{x}}' for x in {unasked.split()}}} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == []


def test_no_module_loads_sympy() -> None:
    """SymPy loads on first use, whatever is imported; two modules are about nothing else."""
    code = (
        "import importlib, pkgutil, sys, morello_layouts as ml\n"
        "for m in pkgutil.walk_packages(ml.__path__, 'morello_layouts.'):\n"
        "    if not any(x in m.name for x in ('__main__', 'sympy_functions', '.explorer')):\n"
        "        importlib.import_module(m.name)\n"
        "        assert 'sympy' not in sys.modules, m.name\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def _late(tree: ast.AST, inside: bool = False, held: bool = False) -> Iterator[int]:
    """Yield the lines on which functions import modules of the package without holding its lock."""
    for node in ast.iter_child_nodes(tree):
        is_late = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        holds = held or (isinstance(node, ast.With) and "importing" in ast.unparse(node.items[0]))
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            module = "morello_layouts." if "morello_layouts" in ast.unparse(node) else ""
            module = module or ("morello_layouts." if "{__name__}" in ast.unparse(node) else "")
        else:
            module = ""
        if is_late and not holds and module.startswith("morello_layouts."):
            yield node.lineno
        yield from _late(node, is_late, holds)


def test_no_module_is_imported_late_without_the_lock() -> None:
    """Two threads that ask first would wait for each other; the command has one."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "morello_layouts").rglob("*.py"))
        if path.parent.name != "cli"
        for line in _late(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == [], "import it inside of `with importing:`, from morello_layouts.core.lazy"


def test_two_threads_may_ask_first() -> None:
    """About half of the starts of this pair failed; cold_starts.py asks all pairs."""
    pair = "is_bijective('f32[M,N]{1,0:T(8,3)}')", "agree('[0, 1, 0 p(4)]', '[0, 1]', (16, 8))"
    for _ in range(5):
        assert cold_starts.failure(*pair) is None


def test_cold_starts_ask_every_public_function() -> None:
    public = {x for x in ml._MODULE_OF if isfunction(getattr(ml, x))}
    asked = {re.split(r"[.(]", question)[0] for question in cold_starts.QUESTIONS}
    assert public <= asked


def test_packages_keep_to_their_lines() -> None:
    assert lines.faults() == [], "raise a budget in [tool.lines] of pyproject.toml with its reason"
