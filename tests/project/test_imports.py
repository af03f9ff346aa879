"""Importing the package loads nothing heavy; import-linter checks the layers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from inspect import isfunction

import cold_starts

import morello_layouts as ml
from tests.project import lines
from tests.support.paths import ROOT
from tests.support.tables import each_row

HEAVY = "cairosvg click islpy rich sympy waitress .interfaces.cli .outputs.picture"
TEXTS = ("bf16[10,200]{1,0:T(8,128)(2,1)}", "bf16[M,N]{1,0:T(8,128)(2,1)}", "f32[M,N]{0,1:T(2,2)}")

# What runs, and what is not loaded by it.
SAYS = "print(ml.explain({0!r}), ml.is_bijective({0!r}), ml.verify({0!r}))"
FEW = """
one, other = 'f32[256,33,100]{2,1,0:T(8,128)}', 'f32[8448,100]{1,0:T(8,128)}'
assert 'slot 4224' in ml.is_bitcast(one, other).reason
assert not ml.equal('f32[99,99]{1,0:T(8,128)}', 'f32[99,99]{0,1:T(8,128)}')"""
ALL = """
import importlib, pkgutil
for m in pkgutil.walk_packages(ml.__path__, 'morello_layouts.'):
    if not any(x in m.name for x in ('__main__', 'sympy_functions', '.explorer')):
        importlib.import_module(m.name)"""
OBJECTS = """
import numpy as np
ml.index_map(np.zeros((2, 3)))
ml.parse('Layout(major_to_minor=(1, 0))'), ml.parse('make_layout(4)')"""
PLUGIN = """
import morello_layouts.interfaces.testing.plugin
assert sum(name.startswith('morello_layouts') for name in sys.modules) <= 10"""
UNASKED = ".proof.bitcast .proof.agreement .proof.access .proof.certificate"
UNLOADED = [
    ("", HEAVY),
    ("import morello_layouts.notations", HEAVY),
    # Formulas, proofs and sizes are said and judged in the package's own form.
    *((SAYS.format(text), "sympy") for text in TEXTS),
    (FEW, "numpy ctypes"),  # loading them takes longer than all verdicts about a small program
    ("assert ml.prove('f32[16,256]{1,0:T(8,128)}')", f"{UNASKED} .notations.expression_reader"),
    (ALL, "sympy"),  # loads on first use; two modules are about nothing else
    (OBJECTS, "jax torch triton cupy pandas pytest"),
    (PLUGIN, "numpy sympy islpy click"),  # pytest loads it at each start
]


@each_row("code, unasked", UNLOADED)
def test_what_is_not_asked_is_not_loaded(code: str, unasked: str) -> None:
    names = {f"morello_layouts{x}" if x.startswith(".") else x for x in unasked.split()}
    assert all(map(find_spec, [name for name in names if "." in name]))
    loaded = f"print('loaded', *({names} & sys.modules.keys()))"
    code = f"import sys, morello_layouts as ml\n{code}\n{loaded}"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert run.stdout.splitlines()[-1] == "loaded"


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
        if path.parent.name != "cli" and path.name != "__main__.py"
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
