"""Fifty swizzled layouts: code in four languages, run over every element."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import morello_layouts as ml
from tests.codegen.test_compiled import WARNINGS, build, require
from tests.codegen.test_python import columns, compare, function_of
from tests.support.codegen_cases import OPTIONS, Case
from tests.support.codegen_harness import (
    Runner,
    c_function,
    c_program,
    run_all,
    rust_function,
    rust_program,
)
from tests.support.swizzled_layouts import swizzled_layouts


def cases() -> list[Case]:
    """Formula and inverse of every layout, with their values by the vendors' formulas."""
    found = []
    for one in swizzled_layouts():
        m = ml.index_map(one.text, one.shape)
        rows = list(np.ndindex(*one.shape))
        offsets = [int(one.offsets[at]) for at in rows]
        found.append(Case(one.text, m, rows, [(p,) for p in offsets], names=("d0", "d1")))
        back = [(*at, 0) for at in rows]
        slots = [(p,) for p in offsets]
        found.append(
            Case(f"{one.text} back", m.inverse, slots, back, names=("p",), statements=True)
        )
    return found


def in_turn(make: object) -> list[Runner]:
    """A function of each case, written in one of the four ways, in turn."""
    assert callable(make)
    return [make(k, case, **OPTIONS[k // 2 % len(OPTIONS)]) for k, case in enumerate(cases())]


def test_there_are_fifty() -> None:
    layouts = list(swizzled_layouts())
    assert len(layouts) == 50
    assert all("^" in str(ml.index_map(x.text, x.shape).form) for x in layouts[::7])


def test_offsets_and_proofs() -> None:
    for one in list(swizzled_layouts())[::3]:
        m = ml.index_map(one.text, one.shape)
        assert (m(*np.indices(one.shape)) == one.offsets).all(), one.text
        assert ml.is_injective(m).holds


@pytest.mark.slow
def test_every_layout_is_verified() -> None:
    for one in swizzled_layouts():
        m = ml.index_map(one.text, one.shape)
        assert ml.verify(m).holds, one.text
        padding = len(set(range(m.size)) - set(one.offsets.reshape(-1).tolist()))
        assert ml.is_bijective(m).holds == (padding == 0), one.text
        assert m.padding == padding


@pytest.mark.slow
def test_python() -> None:
    for k, case in enumerate(cases()):
        options = OPTIONS[k // 2 % len(OPTIONS)]
        text = case.code("python", function=True, name="f", **options)
        compare(case, function_of(text, "f", {})(*columns(case)), text)


@pytest.mark.slow
def test_c(tmp_path: Path) -> None:
    runners = in_turn(lambda k, case, **how: c_function(k, case, "c", **how))
    source = tmp_path / "functions.c"
    source.write_text(c_program(runners))
    flags = ["-std=c11", *WARNINGS, "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    program = build([require("gcc"), *flags], source, tmp_path / "program")
    run_all(program, runners, tmp_path)


@pytest.mark.slow
def test_cuda_by_nvcc_on_the_host(tmp_path: Path) -> None:
    path = require("nvcc")
    runners = in_turn(lambda k, case, **how: c_function(k, case, "cuda", **how))
    source = tmp_path / "functions.cu"
    source.write_text(c_program(runners))
    command = [path, "-Xcompiler=-Wall,-Wextra", "-Werror=all-warnings"]
    run_all(build(command, source, tmp_path / "program"), runners, tmp_path)


@pytest.mark.slow
def test_rust(tmp_path: Path) -> None:
    path = require("rustc")
    runners = in_turn(rust_function)
    source = tmp_path / "functions.rs"
    source.write_text(rust_program(runners))
    command = [path, "--edition=2021", "-Coverflow-checks=on", "-Cdebuginfo=0", "-Copt-level=0"]
    run_all(build(command, source, tmp_path / "program"), runners, tmp_path)
