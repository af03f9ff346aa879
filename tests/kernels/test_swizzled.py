"""Kernels between swizzled, replicated and plain buffers, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels.elementwise import copy_nest
from morello_layouts.outputs.kernels.plan import plan_kernel
from tests.support.kernel_runs import QUICK, Case, need, run_all

BLOCKED = "sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [1, 0]"
LAYOUTS = [
    ("#ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 8, order = [1, 0]}>", (16, 64)),
    ("#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [0, 1]}>", (64, 32)),
    ("Sw<3,3,3> o 0 o (10,50):(50,1)", (10, 50)),
    ("Sw<2,1,3> o 0 o (33,16):(16,1)", (33, 16)),
    (f"#ttg.blocked<{{{BLOCKED}}}>", (16, 16)),  # each element in two places
]
PLAIN = ("[0, 1]", "[1, 0]", "{1,0:T(8,128)}", "{1,0:T(8,16)(2,1)}")
CASES = [
    Case(*pair, shape, itemsize, streams=turn)
    for k, (text, shape) in enumerate(LAYOUTS)
    for other in (*PLAIN, text)
    for turn, pair in enumerate([(text, other), (other, text)])
    for itemsize in ((1, 2, 4, 8)[k % 4], 2)
]


def test_some_kernels_in_c(tmp_path: Path) -> None:
    need("gcc")
    run_all(CASES[::9], tmp_path, "gcc", *QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("flags", [QUICK, ("-O3", "-march=native")], ids=["plain", "optimised"])
def test_all_kernels_in_c(flags: tuple[str, ...], tmp_path: Path) -> None:
    need("gcc")
    run_all(CASES, tmp_path, "gcc", *flags)


def test_nests_without_common_digits_are_proved() -> None:
    kernels = [case.kernel() for case in CASES]
    nests = [copy_nest(kernel) for kernel in kernels if plan_kernel(kernel).elementwise]
    assert 10 < len(nests) < len(CASES) // 4  # rows of 50, of which none is a digit
    assert all(nest.verify().holds for nest in nests)


def test_a_size_may_have_any_name_in_c() -> None:
    r = ml.relayout("f32[t,int]{1,0}", "Sw<2,1,3> o 0 o (t,int):(int,1)")
    text = r.kernel("c")
    assert "for (uint64_t d0 = 0; d0 < size_t_; ++d0) {" in text
    assert "size_t size_int_, size_t size_t_)" in text


@pytest.mark.parametrize("other", ["u16[M,64]{1,0}", "u16[M,64]{0,1:T(4,2)}"])
def test_rows_of_a_swizzle_may_be_of_any_number(other: str) -> None:
    need("gcc")
    swizzled = "Sw<3,3,3> o 0 o (M,64):(64,1)"
    for pair in ((other, swizzled), (swizzled, other)):
        r = ml.relayout(*pair)
        f = r.compile("uint16", fill=0)
        for rows in (1, 7, 8, 31, 64, 200):
            source, target = r.source.at(M=rows), r.target.at(M=rows)
            x, at = np.arange(source.size).astype(np.uint16), np.indices((rows, 64))
            expected = np.zeros(target.size, np.uint16)
            expected[target(*at)] = x[source(*at)]
            assert (f(x, M=rows) == expected).all(), (pair, rows)


def test_columns_of_swizzled_rows_are_transposed_whole(tmp_path: Path) -> None:
    """Beyond the caches one transposition moves them, whichever side is swizzled."""
    need("gcc")
    texts = [
        ("Sw<3,3,3> o 0 o (70,64):(64,1)", (70, 64), 2),
        ("Sw<3,2,3> o 0 o (72,32):(32,1)", (72, 32), 4),
        ("Sw<2,4,3> o 0 o (200,128):(128,1)", (200, 128), 1),
    ]
    cases = [
        Case(*pair, shape, itemsize)
        for text, shape, itemsize in texts
        for pair in ((text, "[1, 0]"), ("[1, 0]", text))
    ]
    for case in cases:
        nests = plan_kernel(case.kernel(), 0).nests
        turned = [nest for nest in nests if getattr(nest.micro, "swizzle", (0,))[0]]
        assert turned == list(nests) or case.shape[0] % 8, case
    run_all(cases, tmp_path, "gcc", *QUICK, near=0)


def test_a_swizzle_of_few_rows_ends() -> None:
    """A loop of one step made the blocks of a swizzle grow for ever."""
    r = ml.relayout("[1, 0]", "Sw<3,4,3> o 0 o (200,16):(16,1)", (200, 16))
    assert "relayout(" in r.kernel("c", "float32")
