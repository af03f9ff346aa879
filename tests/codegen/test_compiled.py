"""C, CUDA and Rust: every formula compiled, run, and compared with the recipe's arrays."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import morello_layouts as ml
from tests.support.codegen_cases import OPTIONS, Case, cases
from tests.support.codegen_harness import (
    Runner,
    c_expression,
    c_function,
    c_program,
    run_all,
    rust_function,
    rust_program,
)

WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZERS = {
    "gcc": ["-fsanitize=undefined"],
    # Unsigned arithmetic must not wrap either, nor a conversion lose bits.
    "clang": ["-fsanitize=undefined,unsigned-integer-overflow,implicit-conversion"],
}


def require(tool: str) -> str:
    # Some installers leave these out of the path.
    homes = (Path.home() / ".cargo/bin", Path("/usr/local/cuda/bin"))
    found = shutil.which(tool) or shutil.which(tool, path=":".join(map(str, homes)))
    if found is None:
        pytest.skip(f"{tool} is not installed")
    return found


def build(command: list[str], source: Path, program: Path) -> list[str]:
    done = subprocess.run(
        [*command, "-o", str(program), str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]
    return [str(program)]


def functions(target: str, *, every: int = 1, **more: bool) -> list[Runner]:
    wanted = [(case, options | more) for case in cases() for options in OPTIONS][::every]
    return [c_function(k, case, target, **options) for k, (case, options) in enumerate(wanted)]


def c_types(case: Case) -> list[str]:
    """The types that hold a case's arguments: of its expressions any will do."""
    largest = max((max(row) for row in case.arguments if row), default=0)
    smallest = min((min(row) for row in case.arguments if row), default=0)
    kinds = [("int32_t", -(2**31), 2**31), ("uint32_t", 0, 2**32), ("int64_t", -(2**63), 2**63),
             ("uint64_t", 0, 2**64)]  # fmt: skip
    return [kind for kind, lo, end in kinds if lo <= smallest and largest < end]


def expressions() -> list[Runner]:
    runners: list[Runner] = []
    for k, case in enumerate(cases()):
        for number, kind in enumerate(c_types(case)):
            # Each type meets each of the four ways to write it, at one case or another.
            options = OPTIONS[(k + number) % len(OPTIONS)]
            runners.append(c_expression(len(runners), case, kind, **options))
    return runners


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_functions(compiler: str, tmp_path: Path) -> None:
    path = require(compiler)
    runners = functions("c")
    source = tmp_path / "functions.c"
    source.write_text(c_program(runners))
    flags = ["-std=c11", *WARNINGS, *SANITIZERS[compiler], "-fno-sanitize-recover=all"]
    run_all(build([path, *flags], source, tmp_path / "program"), runners, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("more", [["-fsanitize=undefined"], ["-DNDEBUG"]])
def test_c_functions_with_asserts(more: list[str], tmp_path: Path) -> None:
    """All arguments pass them; without them nothing is left unused."""
    path = require("gcc")
    runners = functions("c", every=5, asserts=True)
    source = tmp_path / "functions.c"
    source.write_text(c_program(runners))
    run_all(
        build([path, "-std=c11", *WARNINGS, *more], source, tmp_path / "program"), runners, tmp_path
    )


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_c_expressions_over_variables_of_any_type(compiler: str, tmp_path: Path) -> None:
    path = require(compiler)
    runners = expressions()
    source = tmp_path / "expressions.c"
    source.write_text(c_program(runners))
    flags = ["-std=c11", *WARNINGS, "-Wno-sign-compare"]
    if compiler == "gcc":  # clang would flag variables of another sign than the formula's
        flags += [*SANITIZERS[compiler], "-fno-sanitize-recover=all"]
    run_all(build([path, *flags], source, tmp_path / "program"), runners, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_functions_of_arrays_without_elements(compiler: str, tmp_path: Path) -> None:
    """No call of them is right, which their asserts say."""
    path = require(compiler)
    empty = ml.index_map("f32[0,5]{1,0:T(2,2)}")
    calls = {
        "offset(0, 0)": empty,
        "coordinates(0, &x, &y)": empty.inverse,
        "relayout(0, &x)": ml.relayout(empty, "f32[0,5]{0,1}"),
    }
    for k, (call, of) in enumerate(calls.items()):
        text = ml.code(of, "c", function=True, asserts=True)
        assert f"{'p' if k else 'd0'} has no values" in text
        source = tmp_path / f"empty{k}.c"
        source.write_text(
            f"{text}\nint main(void) {{ uint32_t x = 0, y = 0; (void){call}; return x + y > 0; }}"
        )
        for more, status in ([], -signal.SIGABRT), (["-DNDEBUG"], 0):
            program = build([path, "-std=c11", *WARNINGS, *more], source, tmp_path / f"empty{k}")
            done = subprocess.run(program, capture_output=True, check=False)
            assert done.returncode == status, done.stderr


@pytest.mark.slow
def test_cuda_functions_as_cpp(tmp_path: Path) -> None:
    """The text of device functions, run on the host."""
    path = require("g++")
    runners = functions("cuda", every=3)  # of each case at least one way
    source = tmp_path / "functions.cpp"
    source.write_text(c_program(runners))
    flags = ["-std=c++17", *WARNINGS, "-D__host__=", "-D__device__=", "-D__forceinline__=inline"]
    run_all(build([path, *flags], source, tmp_path / "program"), runners, tmp_path)


@pytest.mark.slow
def test_cuda_functions_by_nvcc(tmp_path: Path) -> None:
    """The device's compiler takes them for the device, and its host part runs."""
    path = require("nvcc")
    runners = functions("cuda", every=3)
    kernel = ["__global__ void all(uint64_t *a) {"]
    for k, runner in enumerate(runners):
        rank = runner.call.count(")get();")
        if "&r" not in runner.call and rank:
            kernel.append(f"    *a += (uint64_t)f{k}({', '.join(['*a'] * rank)});")
    source = tmp_path / "functions.cu"
    source.write_text(c_program(runners) + "\n".join([*kernel, "}"]))
    command = [path, "-Xcompiler=-Wall,-Wextra", "-Werror=all-warnings"]
    run_all(build(command, source, tmp_path / "program"), runners, tmp_path)


@pytest.mark.slow
def test_rust_functions(tmp_path: Path) -> None:
    path = require("rustc")
    wanted = [(case, options) for case in cases() for options in OPTIONS][::3]
    runners = [rust_function(k, case, **options) for k, (case, options) in enumerate(wanted)]
    source = tmp_path / "functions.rs"
    source.write_text(rust_program(runners))
    command = [path, "--edition=2021", "-Coverflow-checks=on", "-Cdebuginfo=0", "-Copt-level=0"]
    run_all(build(command, source, tmp_path / "program"), runners, tmp_path)
