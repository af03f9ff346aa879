"""MLIR: maps and sets parsed and evaluated by MLIR, functions compiled and run by IREE."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

import morello_layouts as ml
from tests.support.codegen_cases import Case, signed_cases
from tests.support.mlir_bindings import mlir

PER_CASE = 12


def samples(case: Case) -> list[int]:
    r = random.Random(case.label)
    count = len(case.arguments)
    return sorted({0, count - 1, *(r.randrange(count) for _ in range(PER_CASE))})


def evaluate(ir: Any, affine_map: Any, row: tuple[int, ...]) -> list[int]:
    """The results of a map at numbers, as MLIR folds them."""
    dims, symbols = affine_map.n_dims, affine_map.n_symbols
    assert dims + symbols == len(row)
    for k, x in enumerate(row):
        name = ir.AffineDimExpr.get(k) if k < dims else ir.AffineSymbolExpr.get(k - dims)
        affine_map = affine_map.replace(name, ir.AffineConstantExpr.get(x), dims, symbols)
    return [ir.AffineConstantExpr(expr).value for expr in affine_map.results]


def as_map(ir: Any, affine_set: str) -> tuple[Any, list[bool]]:
    """MLIR's own text of a set as a map to what must be at least, or equal to, zero."""
    text = str(ir.Attribute.parse(affine_set))
    equal = [sign == "==" for sign in re.findall(r"(>=|==) 0", text)]
    text = re.sub(r" (?:>=|==) 0", "", text.replace("affine_set", "affine_map"))
    return ir.Attribute.parse(text.replace(" : (", " -> (")).value, equal


@pytest.mark.parametrize("simplified", ["readable", "cheapest"])
def test_maps_and_sets(simplified: str) -> None:
    ir = mlir()
    with ir.Context():
        for case in (one for one in signed_cases() if "^" not in one.label):
            text, *more = case.code("mlir", simplified=simplified).splitlines()
            affine_map = ir.Attribute.parse(text).value
            for k in samples(case):
                found = evaluate(ir, affine_map, case.arguments[k])
                if more:
                    conditions, equal = as_map(ir, more[0])
                    values = evaluate(ir, conditions, case.arguments[k])
                    pairs = zip(values, equal, strict=True)
                    is_element = all(x == 0 if e else x >= 0 for x, e in pairs)
                    found.append(int(not is_element))
                for value, wanted in zip(found, case.results[k], strict=True):
                    assert wanted is None or value == wanted, (case.label, case.arguments[k], text)


def wrapped(case: Case, k: int) -> str:
    """A function, and one around it whose arguments and results are i64."""
    text = case.code("mlir", function=True, name=f"f{k}")
    rank = len(case.names)
    width = len(case.results[0])
    kinds = ["index"] * (width - case.statements) + ["i1"] * case.statements
    lines = [f"%a{i} = arith.index_cast %q{i} : i64 to index" for i in range(rank)]
    inner = ", ".join(f"%a{i}" for i in range(rank))
    result = f"%r:{width}" if width > 1 else "%r"
    signature = f"({', '.join(['index'] * rank)}) -> ({', '.join(kinds)})"
    lines.append(f"{result} = call @f{k}({inner}) : {signature}")
    for i, kind in enumerate(kinds):
        cast = "arith.index_cast" if kind == "index" else "arith.extui"
        value = f"%r#{i}" if width > 1 else "%r"
        lines.append(f"%x{i} = {cast} {value} : {kind} to i64")
    values = ", ".join(f"%x{i}" for i in range(width))
    types = ", ".join(["i64"] * width)
    arguments = ", ".join(f"%q{i}: i64" for i in range(rank))
    body = "\n".join(f"  {line}" for line in lines)
    private = text.replace("func.func @", "func.func private @")
    head = f"func.func @run{k}({arguments}) -> ({types}) {{"
    return f"{private}\n{head}\n{body}\n  return {values} : {types}\n}}"


def test_functions() -> None:
    compiler = pytest.importorskip("iree.compiler", reason="iree-base-compiler is not installed")
    runtime = pytest.importorskip("iree.runtime", reason="iree-base-runtime is not installed")
    some = [case for k, case in enumerate(signed_cases()) if k % 2 == 0]
    text = "\n".join(wrapped(case, k) for k, case in enumerate(some))
    binary = compiler.compile_str(text, target_backends=["vmvx"])
    module = runtime.load_vm_flatbuffer(binary, driver="local-sync")
    for k, case in enumerate(some):
        function = getattr(module, f"run{k}")
        for at in samples(case):
            found = function(*case.arguments[at])
            found = found if isinstance(found, tuple) else (found,)
            for value, wanted in zip(found, case.results[at], strict=True):
                assert wanted is None or int(value) == wanted, (case.label, case.arguments[at])


def test_an_exclusive_or_is_a_value_between_maps() -> None:
    bounds = {"i": (0, 7), "j": (0, 7)}
    text = ml.code("8*i + (j ^ i)%6", "mlir", bounds, function=True, name="f")
    assert [line.strip() for line in text.splitlines() if "=" in line and "//" not in line] == [
        "%r0 = affine.apply affine_map<(i, j) -> (i)>(%i, %j)",
        "%r1 = affine.apply affine_map<(i, j) -> (j)>(%i, %j)",
        "%r2 = arith.xori %r0, %r1 : index",
        "%r3 = affine.apply affine_map<(i, j, r2) -> (8 * i + r2 mod 6)>(%i, %j, %r2)",
    ]
