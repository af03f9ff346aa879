"""Kernels in Python and CUDA are run too, and C under the sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.kernels import test_sized, test_swizzled
from tests.kernels.test_pairs import CASES, MATRICES
from tests.support import cuda_host
from tests.support.kernel_runs import (
    QUICK,
    Case,
    compilers,
    cuda_functions,
    cuda_texts,
    need,
    python_functions,
    python_kernel,
    run_each,
    run_sanitized,
)

SMALL = [
    Case(a, b, shape, itemsize)
    for shape, itemsize in (((33, 140), 2), ((16, 130), 4), ((9, 20), 1))
    for a in MATRICES[::2]
    for b in MATRICES[1:]
]


TABLES = {
    "pairs": SMALL,
    "sizes by name": test_sized.CASES,
    "swizzled and replicated": test_swizzled.CASES,
}
"""The cases of each kind; the tests of this file take some of them."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_python_kernels(kind: str, tmp_path: Path) -> None:
    cases = TABLES[kind][:: {"pairs": 1, "sizes by name": 7}.get(kind, 5)]
    run_each(cases, python_functions(cases, tmp_path))


@pytest.mark.slow
def test_python_kernels_make_their_target(tmp_path: Path) -> None:
    for k, case in enumerate(SMALL[::4]):
        source, expected = case.buffers(0)
        found = python_kernel(case.kernel(), tmp_path / f"kernel_{k}.py").relayout(source)
        assert found.tobytes() == expected.tobytes()


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
@pytest.mark.parametrize("kind", TABLES)
def test_cuda_kernels_on_the_host(kind: str, tmp_path: Path) -> None:
    need("g++")
    cases = [case for case in TABLES[kind] if case.itemsize != 8 or kind != "sizes by name"]
    cases = cases[:: 9 if kind == "sizes by name" else 5]
    assert kind[:2] == "sw" or any("__syncthreads" in text for text in cuda_texts(cases))
    run_each(cases, cuda_functions(cases, tmp_path), 10_000)


@pytest.mark.slow
def test_cuda_s_own_compiler_takes_them(tmp_path: Path) -> None:
    need("nvcc")
    texts = cuda_texts([SMALL[3], *test_sized.CASES[3::40]])
    path = tmp_path / "kernels.cu"
    plain = "\n".join(text.replace(cuda_host.INDEX, "") for text in texts)
    path.write_text(f"{cuda_host.INDEX}\n{plain}", encoding="utf-8")
    flags = ("-Werror", "all-warnings", "-c", str(path), "-o", str(tmp_path / "kernels.o"))
    subprocess.run(["nvcc", *flags], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers()[:1])
@pytest.mark.parametrize("vector", [(), ("-DRELAYOUT_VECTOR=0",)], ids=["vectors", "plain"])
def test_sanitizers_find_nothing(compiler: str, vector: tuple[str, ...], tmp_path: Path) -> None:
    cases = [case for case in CASES if case.shape != (1000, 1000)][:: 17 if vector else 9]
    run_sanitized(cases, tmp_path, compiler, *QUICK, *vector)


@pytest.mark.slow
def test_sanitizers_find_nothing_at_sizes_by_name(tmp_path: Path) -> None:
    need("gcc")
    run_sanitized(test_sized.CASES[::5], tmp_path, "gcc", *QUICK, near=1 << 12)
