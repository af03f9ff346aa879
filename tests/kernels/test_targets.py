"""Kernels in Python and CUDA are run too, and C under the sanitizers."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels import kernel_text
from morello_layouts.outputs.kernels.emit_c import join
from tests.kernels.test_pairs import CASES, MATRICES
from tests.support import cuda_host
from tests.support.kernel_runs import QUICK, STRICT, Case, compilers, files_of, need, python_kernel

SMALL = [
    Case(a, b, shape, itemsize)
    for shape, itemsize in (((33, 140), 2), ((16, 130), 4), ((9, 20), 1))
    for a in MATRICES[::2]
    for b in MATRICES[1:]
]


def check(case: Case, run: Callable[[Any, Any], None]) -> None:
    """Run a kernel that takes target and source, at addresses that are multiples of 64."""
    source, expected = case.buffers(0)
    buffers = []
    for buffer in (np.zeros_like(expected), source):
        room = np.zeros(buffer.nbytes + 64, np.uint8)
        start = -room.ctypes.data % 64
        buffers.append(room[start : start + buffer.nbytes].view(buffer.dtype))
        buffers[-1][...] = buffer
    run(*buffers)
    assert buffers[0].tobytes() == expected.tobytes(), case


@pytest.mark.slow
def test_python_kernels(tmp_path: Path) -> None:
    for k, case in enumerate(SMALL):
        module = python_kernel(case.kernel(), tmp_path / f"kernel_{k}.py")
        check(case, lambda target, source, m=module: m.relayout(source, target))  # type: ignore[misc]
        source, expected = case.buffers(0)
        assert module.relayout(source).tobytes() == expected.tobytes()


@pytest.mark.parametrize("layout", ["{1,0:T(2,2)}", "{1,0:T(3,2)(2,4)}"])
def test_python_kernels_on_buffers_that_are_not_in_one_piece(layout: str) -> None:
    names: dict[str, Any] = {}
    exec(ml.relayout("[0, 1]", layout, (3, 5)).kernel("python", "float32"), names)
    for step in (2, -1, -3):
        x = np.arange(15 * abs(step), dtype=np.float32)[::step]
        expected = ml.pack(layout, x.reshape(3, 5))
        assert (names["relayout"](x) == expected).all()
        out = np.zeros(len(expected) * abs(step), np.float32)[::step]
        assert names["relayout"](x, out) is out
        assert (out == expected).all()


@pytest.mark.slow
def test_cuda_kernels_on_the_host(tmp_path: Path) -> None:
    need("g++")
    cases = SMALL[::5]
    kernels = [replace(case.kernel(), name=f"k{k}", comment="") for k, case in enumerate(cases)]
    texts = [kernel_text(kernel, "cuda") for kernel in kernels]
    assert any("__syncthreads" in text for text in texts)
    loaded = cuda_host.library(texts, tmp_path)
    for k, case in enumerate(cases):
        function = getattr(loaded, f"k{k}")
        function.argtypes = (ctypes.c_void_p,) * 3
        check(case, lambda t, s, f=function: f(t.ctypes.data, s.ctypes.data, None))  # type: ignore[misc]


@pytest.mark.slow
def test_cuda_s_own_compiler_takes_them(tmp_path: Path) -> None:
    need("nvcc")
    path = tmp_path / "kernel.cu"
    kernel = SMALL[3].kernel()
    path.write_text(kernel_text(kernel, "cuda"), encoding="utf-8")
    flags = ("-Werror", "all-warnings", "-c", str(path), "-o", str(tmp_path / "kernel.o"))
    subprocess.run(["nvcc", *flags], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers()[:1])
@pytest.mark.parametrize("vector", [(), ("-DRELAYOUT_VECTOR=0",)], ids=["vectors", "plain"])
def test_sanitizers_find_nothing(compiler: str, vector: tuple[str, ...], tmp_path: Path) -> None:
    """A program that runs the kernels on buffers of exactly their sizes."""
    cases = [case for case in CASES if case.shape != (1000, 1000)][:: 17 if vector else 9]
    calls = []
    for k, case in enumerate(cases):
        kernel = case.kernel()
        sizes = [recipe.size * case.itemsize for recipe in (kernel.source, kernel.target)]
        calls.append(f"    run(k{k}, {sizes[0]}, {sizes[1]});\n")
    program = (
        join(files_of(cases))
        + "\n#include <stdlib.h>\n"
        + "static void run(void (*kernel)(void *, const void *), size_t have, size_t want)\n{\n"
        "    unsigned char *room = aligned_alloc(64, (have + want + 191) / 64 * 64);\n"
        "    unsigned char *s = malloc(have), *t = malloc(want);\n"
        "    if (!room || (have && !s) || (want && !t)) exit(2);\n"
        "    for (size_t i = 0; i < have; i++) s[i] = (unsigned char)i;\n"
        "    kernel(t, s);\n    kernel(room, s);\n    free(room), free(s), free(t);\n}\n"
        "int main(void)\n{\n" + "".join(calls) + "    return 0;\n}\n"
    )
    path, built = tmp_path / "kernels.c", tmp_path / "kernels"
    path.write_text(program, encoding="utf-8")
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    strict = [flag for flag in STRICT if flag not in ("-fPIC", "-shared")]
    words = [compiler, *QUICK, *vector, *checks, *strict, str(path), "-o", str(built)]
    subprocess.run(words, check=True)
    subprocess.run([str(built)], check=True)
