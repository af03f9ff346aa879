"""Importing the package loads nothing heavy; import-linter checks the layers."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
