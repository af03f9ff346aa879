"""SymPy expressions that users get: the value stays right whatever SymPy does to them."""

from __future__ import annotations

import itertools
import math
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.expr import cheapest, readable
from morello_layouts.core.expr.conversions import to_sympy
from morello_layouts.core.expr.sympy_functions import Mod, ceiling, floor
from tests.support.fuzz_simplify import Question, evaluate, questions

POINTS = 12
GALLERY = (
    "f32[8,64,7,7]", "f32[1000,206]", "f32[49,98,103]", "f32[14,14,196]{0,1,2}",
    "bf16[10,200]{1,0:T(8,128)(2,1)}", "s8[64,256]{1,0:T(8,128)(4,1)}", "f32[7,35]{1,0:T(3,7)}",
    "f32[2,2,5]{2,1,0:T(2,*,3)}", "u8[100,107]{0,1:T(5,7)(3,2)}", "f32[1000]{0:T(128)}",
)  # fmt: skip

Case = tuple[sympy.Expr, list[dict[str, int]], list[int]]
"""An expression, points, and the value at each point."""


def sampled(rng: Random, question: Question) -> list[dict[str, int]]:
    grid = {name: x.ravel() for name, x in question.values().items()}
    return [{name: int(rng.choice(x)) for name, x in grid.items()} for _ in range(POINTS)]


def fuzzed(seed: int, count: int) -> Iterator[Case]:
    """Random expressions as simplified by both targets, judged by Python's own arithmetic."""
    rng = Random(seed)
    for question in questions(seed, count):
        points = sampled(rng, question)
        values = [evaluate(question.tree, point) for point in points]
        for form in (readable(question.form())[0], cheapest(question.form())):
            yield to_sympy(form), points, values


def inverses() -> Iterator[Case]:
    """The coordinates of offsets of layouts, judged by unravelling the packed coordinates."""
    for text in GALLERY:
        m = ml.index_map(text)
        shape = tuple(map(int, m.shape))
        slots = np.arange(0, m.size, max(1, m.size // 2000))
        slots = np.unique(np.concatenate([slots, np.arange(0, m.size, 49)]))
        for k, expr in enumerate(m.inverse.exprs):
            packed = ml.pack(m, np.indices(shape, dtype=np.int32)[k], fill=-1)
            real = [int(p) for p in slots if packed[p] >= 0]
            yield expr, [{"p": p} for p in real], [int(packed[p]) for p in real]


def wrong(cases: Iterator[Case]) -> list[str]:
    """What SymPy makes of each expression, and where its value is another."""
    found = []
    for expr, points, values in cases:
        symbols = sorted(expr.free_symbols, key=str)
        names = [str(s) for s in symbols]
        in_math = sympy.lambdify(symbols, expr, "math")
        in_numpy = sympy.lambdify(symbols, expr, "numpy")
        printed = compile(sympy.pycode(expr), "<pycode>", "eval")
        columns = [np.array([point[name] for point in points]) for name in names]
        arrays = np.broadcast_to(in_numpy(*columns), len(points))
        for k, (point, value) in enumerate(zip(points, values, strict=True)):
            at = [point[name] for name in names]
            results = {"lambdify math": in_math(*at), "lambdify numpy": arrays[k]}
            results["pycode"] = eval(printed, {"math": math}, point)  # code that we wrote
            if k < POINTS:
                for order in (symbols, symbols[::-1]):
                    results[f"subs of {order}"] = in_turn(expr, order, point)
                integers = {s: sympy.Integer(point[str(s)]) for s in symbols}
                results["xreplace"] = expr.xreplace(integers)
            found += [
                f"{how} of {expr} at {point}: {got}, not {value}"
                for how, got in results.items()
                if int(got) != value or (how == "lambdify math" and type(got) is not int)
            ]
    return found


def in_turn(expr: sympy.Expr, order: list[sympy.Symbol], point: Mapping[str, int]) -> Any:
    for s in order:
        expr = expr.subs(s, point[str(s)])
    return expr


def test_random_expressions_keep_their_values() -> None:
    assert wrong(fuzzed(1, 10)) == []


@pytest.mark.slow
def test_many_random_expressions_keep_their_values() -> None:
    assert wrong(fuzzed(2, 80)) == []


def test_inverses_keep_their_values() -> None:
    assert wrong(inverses()) == []


def test_the_hazards_are_those_of_sympy_itself() -> None:
    """Why the package has functions of its own: if this fails, SymPy needs them no longer."""
    p, j = sympy.symbols("p j", integer=True)
    assert sympy.lambdify(p, sympy.floor(p / 49), "math")(49) == 0
    assert sympy.lambdify(j, -47 * sympy.Mod(j, 4), "math")(5) != -47


def test_typed_expressions_are_equal() -> None:
    m = ml.index_map("bf16[10,200]{1,0:T(8,128)(2,1)}")
    i, j = m.symbols
    typed = (
        2048 * sympy.floor(i / 8) + 256 * sympy.Mod(sympy.floor(i / 2), 4) + sympy.Mod(i, 2)
        + 1024 * sympy.floor(j / 128) + 2 * sympy.Mod(j, 128)
    )  # fmt: skip
    assert m.expr == typed
    assert typed == m.expr
    assert hash(typed) == hash(m.expr)
    assert {typed: 1}[m.expr] == 1
    assert m.expr.subs(sympy.floor(i / 8), 0) == typed.subs(sympy.floor(i / 8), 0)
    assert floor(i / 49) != floor(i / 50)
    assert Mod(i, 3) != sympy.floor(i / 3)


def test_an_expression_typed_before_does_not_replace_the_exact_one() -> None:
    """SymPy's cache returns an equal expression that was made before."""
    p = sympy.Symbol("p", integer=True, nonnegative=True)
    typed = 3 * sympy.floor(p / 49) + 5 * sympy.Mod(p, 31)
    assert 2 * (typed + 1) == 2 * typed + 2
    m = ml.from_sympy({"p": 5000}, "3*(p//49) + 5*(p%31)")
    expr = m(p)
    assert expr == typed
    assert sympy.lambdify(p, expr, "math")(49) == 3 + 5 * (49 % 31)


def test_ceilings_of_sizes() -> None:
    n = sympy.Symbol("N", integer=True, positive=True)
    size = ml.index_map("f32[N]{0:T(107)}").size
    assert size == 107 * sympy.ceiling(n / 107)
    for how in ("math", "numpy"):
        counted = sympy.lambdify(n, size, how)
        assert [counted(k) for k in range(1, 2000)] == [-(-k // 107) * 107 for k in range(1, 2000)]
    assert ceiling(n / 3).subs(n, 7) == 3


def test_simplify_and_latex_take_them() -> None:
    m = ml.index_map("f32[6,8]{1,0:T(2,3)}")
    at = dict(zip(m.symbols, (5, 7), strict=True))
    assert sympy.simplify(m.expr).subs(at) == m(5, 7) == sympy.expand(2 * m.expr).subs(at) / 2
    assert sympy.latex(m.inverse.exprs[1]).count(r"\bmod") == 2
    assert (m.expr - m.expr) == 0


COMPILER = shutil.which("gcc") or shutil.which("cc")


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C compiler is installed")
def test_c_code_gives_the_same_values(tmp_path: Path) -> None:
    require_c_values(itertools.chain(fuzzed(3, 60), inverses()), tmp_path)


def require_c_values(found: Iterable[Case], folder: Path) -> None:
    """Require that C compiled from SymPy's printer gives the values of expressions."""
    cases = [case for case in found if case[1]]
    lines = ["#include <stdio.h>", "int main(void) {"]
    expected = []
    for expr, points, values in cases:
        names = sorted(map(str, expr.free_symbols))
        for point, value in list(zip(points, values, strict=True))[:20]:
            declared = "".join(f"long {name} = {point[name]}L; " for name in names)
            lines.append(f'{{ {declared}printf("%ld\\n", (long)({sympy.ccode(expr)})); }}')
            expected.append(value)
    (folder / "values.c").write_text("\n".join([*lines, "return 0; }"]))
    program = folder / "values"
    subprocess.run([str(COMPILER), "-O0", "-w", "-o", program, folder / "values.c"], check=True)
    run = subprocess.run([program], capture_output=True, text=True, check=True)
    assert [int(line) for line in run.stdout.split()] == expected
