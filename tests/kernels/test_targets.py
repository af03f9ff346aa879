"""Kernels in Python and CUDA are run too, and C under the sanitizers."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.kernels import Kernel, kernel_text
from tests.kernels.test_pairs import CASES, MATRICES
from tests.support.kernel_runs import QUICK, STRICT, Case, compilers, file_of, need

SMALL = [
    Case(a, b, shape, itemsize)
    for shape, itemsize in (((33, 140), 2), ((16, 130), 4), ((9, 20), 1))
    for a in MATRICES[::2]
    for b in MATRICES[1:]
]

# A host that plays the device: each block's threads are threads, with a barrier between them.
HOST = r"""
#include <barrier>
#include <thread>
#include <vector>
#include <cstring>
#define __global__ static
#define __shared__ static
struct dim3 { unsigned x, y; dim3(unsigned x, unsigned y = 1) : x(x), y(y) {} };
struct uint4 { unsigned x, y, z, w; };
static thread_local struct { unsigned x, y; } threadIdx, blockIdx;
static std::barrier<> *meeting;
static void __syncthreads() { meeting->arrive_and_wait(); }
typedef int cudaError_t;
typedef void *cudaStream_t;
static int cudaGetLastError() { return 0; }
template <class Kernel, class... Given>
static void launch(Kernel *kernel, unsigned blocks, dim3 block, bool together, Given... given) {
    for (unsigned b = 0; b < blocks; b++) {
        std::barrier<> all(block.x * block.y);
        meeting = &all;
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < block.x * block.y; i++) {
            auto one = [=] {
                threadIdx = {i % block.x, i / block.x}, blockIdx = {b, 0};
                kernel(given...);
            };
            if (together) threads.emplace_back(one); else one();
        }
        for (auto &thread : threads) thread.join();
    }
}
"""


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
        path = tmp_path / f"kernel_{k}.py"
        path.write_text(kernel_text(case.kernel(), "python"), encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
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


def on_host(text: str) -> str:
    """CUDA's text with its launches as calls."""
    parts = text.replace("#include <cuda_runtime.h>\n", "").split("<<<")
    done = parts[0]
    for part in parts[1:]:
        head, _, name = done.rpartition("    ")
        shape, _, rest = part.partition(">>>(")
        blocks, threads = shape.removesuffix(", 0, stream").split(", ", 1)
        given, _, rest = rest.partition(");")
        together = "true" if "dim3" in threads else "false"
        done = f"{head}    launch({name}, {blocks}, {threads}, {together},{given});{rest}"
    return done


@pytest.mark.slow
def test_cuda_kernels_on_the_host(tmp_path: Path) -> None:
    need("g++")
    cases = SMALL[::5]
    texts = []
    for k, case in enumerate(cases):
        plain = case.kernel()
        kernel = Kernel(plain.source, plain.target, plain.itemsize, plain.fill, f"k{k}")
        text = kernel_text(kernel, "cuda").replace("typedef unsigned long long relayout_index;", "")
        texts.append(on_host(text))
    assert any("__syncthreads" in text for text in texts)
    path, library = tmp_path / "kernels.cpp", tmp_path / "kernels.so"
    head = f"{HOST}\ntypedef unsigned long long relayout_index;\n"
    path.write_text(head + "\n".join(texts), encoding="utf-8")
    flags = ("-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread")
    subprocess.run(["g++", *flags, str(path), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))
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
        file_of(cases)
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
