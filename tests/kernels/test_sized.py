"""Relayout kernels of symbolic sizes: one kernel, at many sizes, against the NumPy recipe."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.outputs.kernels import Kernel, compiled
from morello_layouts.outputs.kernels.c_loops import argument
from morello_layouts.outputs.kernels.domains import Domain, evaluate, upper_bound
from morello_layouts.outputs.kernels.elementwise import PLAIN
from morello_layouts.outputs.kernels.emit_c import c_file
from morello_layouts.outputs.kernels.plan import domains_of, plan_kernel
from tests.support.kernel_runs import (
    QUICK,
    Case,
    compilers,
    need,
    run_all,
)
from tests.support.tables import each_row

MATRICES = [
    "[0, 1]",
    "[1, 0]",
    "{1,0:T(8,128)}",
    "{0,1:T(8,128)}",
    "{1,0:T(8,128)(2,1)}",
    "{1,0:T(8,128)(4,1)}",
    "{1,0:T(3,5)(2,2)}",
    "{1,0:T(4,6)(2,1)L(100)}",
]
PACKED = ["[0, 1]", "[1, 0]", "[1, 0, 1 p(4)]", "[0, 1, 1 oe(16)]"]
IMAGES = ["NCHW", "NHWC", "[0, 1, 2, 3, 1 p(16)]"]

ENDS = (1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 140, 257)
WHOLE_TILES = ((8, 128), (24, 384), (16, 128), (400, 256))
SOME = (1, 2, 4, 7, 8, 16, 19, 35, 64, 70, 131, 200)


def matrix_sizes(heights: tuple[int, ...], widths: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    every = list(product(heights, widths))
    return (*every[::5], (1, 1), (401, 399), (16, 256))


CASES = [
    *(
        Case(a, b, ("M", "N"), 1 << (i + 2 * j) % 4, matrix_sizes(ENDS, SOME))
        for i, a in enumerate(MATRICES)
        for j, b in enumerate(MATRICES)
        if not (i == 6) ^ (j == 6) or min(i, j) < 2  # 3 and 8 share no digits
        if {i, j} not in ({6, 7}, {7, 2}, {7, 3}, {7, 4}, {7, 5})
    ),
    *(
        Case(a, b, ("M", "N"), e, tuple((m, 16 * n) for m in SOME for n in (1, 2, 3, 9)))
        for e in (2, 4)
        for a in PACKED
        for b in PACKED
    ),
    *(
        Case(a, b, ("N", "C", "H", "W"), e, tuple(
            (n, 16 * c, h, w) for n in (1, 3) for c in (1, 2) for h, w in ((1, 1), (3, 5), (14, 9))
        ))
        for e in (1, 4)
        for a in IMAGES
        for b in IMAGES
    ),
    *(
        Case(a, b, ("M", "N"), 4, WHOLE_TILES, "M%8==0, N%128==0")
        for a in MATRICES[:4]
        for b in MATRICES[:4]
    ),
    *(
        Case(a, b, ("200", "k"), 2, tuple((200, n) for n in ENDS), "k <= 300")
        for a in MATRICES[:5]
        for b in MATRICES[:5]
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("stream", "cases"), [(1 << 12, CASES[::3]), (1 << 60, CASES[1::3])])
def test_one_kernel_at_many_sizes(stream: int, cases: Any, tmp_path: Path) -> None:
    """Of some cases; ``python -m tests.fuzz.more sized_kernels`` runs all both ways."""
    need("gcc")
    run_all(cases, tmp_path, "gcc", *QUICK, near=stream)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("flags", [("-O2", "-march=native"), (*QUICK, "-DRELAYOUT_VECTOR=0")])
def test_other_compilers_and_vectors(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    cases = CASES[::9] if "-O2" in flags else CASES[::4]
    run_all(cases, tmp_path, compiler, *flags, near=1 << 12)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("flags", [("-march=native",), ("-DRELAYOUT_VECTOR=0",)])
def test_direct_transpositions(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    """Transpositions whose strides let rows share the first cache, and at the edge of those."""
    sizes = (
        (401, 399),
        (63, 100),
        (64, 17),
        (65, 3),
        (385, 70),
        (769, 33),
        (384, 65),
        (1000, 15),
        (70, 1024),
    )
    images = tuple((2, c, h, 7) for c, h in ((65, 9), (401, 3), (130, 1)))
    cases = [
        *(Case("[0, 1]", "[1, 0]", ("M", "N"), e, sizes) for e in (1, 2, 4, 8)),
        *(Case("NCHW", "NHWC", ("N", "C", "H", "W"), e, images) for e in (1, 4)),
    ]
    for case in cases:
        assert "relayout_direct(" in str(c_file(case.kernel()))
    run_all(cases, tmp_path, compiler, *QUICK, *flags, near=1 << 60)


@pytest.mark.parametrize("itemsize", [1, 3, 6, 12])
def test_buffers_of_a_kernel_are_small(itemsize: int) -> None:
    """A stack has 8 MiB; the steps that are left of a loop take as little as the others."""
    rows, columns = (ml.index_map(x, ("M", 64)).recipe for x in ("[0, 1]", "[1, 0]"))
    text = str(c_file(Kernel(rows, columns, itemsize), 0))
    sizes = [int(n) for n in re.findall(r"char image\[(\d+)\]", text)]
    assert max(sizes, default=0) <= 8192
    assert itemsize == 1 or len(sizes) == 2


def places(domains: list[Domain], values: dict[str, int]) -> list[tuple[int, int]]:
    found = []
    for domain in domains:
        at = [(evaluate(domain.source, values), evaluate(domain.target, values))]
        for axis in domain.axes:
            source, target = (evaluate(x, values) for x in (axis.source, axis.target))
            steps = range(evaluate(axis.count, values))
            assert upper_bound(axis.count) is None or len(steps) <= upper_bound(axis.count)
            at = [(s + k * source, t + k * target) for s, t in at for k in steps]
        found += at
    return found


@pytest.mark.parametrize("size", [(1, 1), (7, 127), (8, 128), (9, 129), (13, 300), (24, 5)])
def test_domains_are_exact_at_all_sizes(size: tuple[int, int]) -> None:
    r = ml.relayout("f32[M,N]{1,0}", "{1,0:T(8,128)(4,1)}")
    domains = domains_of(r.source.recipe, r.target.recipe)
    assert domains.elements is not None
    values = dict(zip("MN", size, strict=True))
    moved, filled = places(domains.elements, values), places(domains.padding, values)
    concrete = r.target.at(**values)
    order = concrete(*np.indices(size)).reshape(-1)
    assert sorted(moved) == list(enumerate(order.tolist()))
    every = sorted([t for _, t in moved] + [t for _, t in filled])
    assert every == list(range(concrete.size))


def test_inner_loops_test_no_bounds() -> None:
    r = ml.relayout("f32[M,N]{1,0}", "{1,0:T(8,128)}")
    text = r.kernel("c")
    loops = text[text.rindex("RELAYOUT_INLINE void relayout_far") : text.rindex("void relayout(")]
    tests = [line.strip() for line in loops.splitlines() if "if (" in line]
    # Whether there is an end of a row, by a number that the function computes on entry.
    assert all(re.fullmatch(r"if \((some|v)\d+\) \{", line) for line in tests), tests
    assert "?" not in loops


def test_the_main_loops_are_those_of_constant_sizes() -> None:
    for pair in (("{1,0}", "{0,1}"), ("{1,0}", "{1,0:T(8,128)(2,1)}"), ("{0,1}", "{1,0:T(8,128)}")):
        r = ml.relayout(*pair, ("M", "N"))
        sized = plan_kernel(Kernel(r.source.recipe, r.target.recipe, 2), streams=True)
        fixed = ml.relayout(*pair, (4096, 4096))
        (only,) = plan_kernel(
            Kernel(fixed.source.recipe, fixed.target.recipe, 2), streams=True
        ).nests
        first = sized.nests[0]
        assert type(first.micro) is type(only.micro)
        assert bool(first.image) == bool(only.image)
        values = {"M": 4096, "N": 4096}
        loops = [evaluate(axis.count, values) for axis in first.loops]
        assert [n for n in loops if n != 1] == [axis.count for axis in only.loops]


def test_layouts_without_common_digits_are_moved_by_a_plain_loop() -> None:
    r = ml.relayout("f32[M,N]{1,0:T(3,5)}", "{1,0:T(8,128)}")
    for language in ("cuda", "python"):  # in C blocks are staged
        assert PLAIN in r.kernel(language)
    names: dict[str, Any] = {}
    exec(r.kernel("python"), names)
    fixed = ml.relayout("f32[19,131]{1,0:T(3,5)}", "{1,0:T(8,128)}")
    buffer = np.arange(fixed.source.size, dtype=np.float32)
    found = names["relayout"](buffer, M=19, N=131)
    right = ml.pack("f32[19,131]{1,0:T(8,128)}", ml.unpack("f32[19,131]{1,0:T(3,5)}", buffer))
    assert (found == right).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["t", "s0", "stream", "target", "int", "i1", "v0", "size_t"])
def test_sizes_of_any_name(name: str, tmp_path: Path) -> None:
    need("gcc")
    if name == "int":
        assert argument(name) == "size_int_"
        return
    case = Case("[0, 1]", "{1,0:T(8,128)}", (name, "N"), 4, ((19, 131),))
    run_all([case], tmp_path, "gcc", *QUICK, near=4)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MORELLO_LAYOUTS_CACHE", str(tmp_path))


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("with_compiler", [True, False])
def test_a_function_for_all_sizes(with_compiler: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    r = ml.relayout("s32[M,N]{1,0}", "{1,0:T(8,128)(2,1)}")
    if with_compiler:
        need("gcc")
        f = r.compile(fill=3)
    else:
        monkeypatch.setenv("CC", "")
        with pytest.warns(RuntimeWarning, match="no C compiler"):
            f = r.compile(fill=3)
    assert (f.function is None) == (not with_compiler)
    assert f.names == ("M", "N")
    for m, n in ((1, 1), (19, 140), (8, 128), (19, 140)):
        x = np.arange(m * n, dtype=np.int32).reshape(m, n)
        expected = ml.pack("{1,0:T(8,128)(2,1)}", x, fill=3)
        assert (f(x) == expected).all()
        assert (f(x.reshape(-1), M=m, N=n) == expected).all()
        assert (f(x[::-1, ::-1][::-1, ::-1], M=m, N=n) == expected).all()
        out = np.zeros_like(expected)
        assert f.at(N=n, M=m)(x.reshape(-1), out) is out
        assert (out == expected).all()
    back = ml.relayout("s32[M,N]{1,0:T(8,128)(2,1)}", "{1,0}").compile()
    assert (back(expected, M=19, N=140) == x.reshape(-1)).all()


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("name", ["self", "buffer", "out", "sizes"])
def test_sizes_that_are_called_as_arguments_are(name: str) -> None:
    need("gcc")
    f = ml.relayout(f"u8[{name},N]", "{0,1}").compile()
    sizes, given, expected = {name: 2, "N": 3}, [1, 2, 3, 4, 5, 6], [1, 4, 2, 5, 3, 6]
    assert f.at(**sizes)(given).tolist() == expected
    assert f([given[:3], given[3:]]).tolist() == expected
    if name != "out":
        assert f(given, **sizes).tolist() == expected
        return
    with pytest.raises(ml.ShapeError, match="sizes: expected N, out, got N"):
        f(given, **sizes)


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_sizes_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    need("gcc")
    monkeypatch.setattr(compiled, "KERNELS_KEPT", 2)
    f = ml.relayout("u8[M,N]{1,0}", "{0,1}").compile()
    for m, n in ((2, 3), (3, 2), (2, 3), (1, 6), (6, 1), (3, 2)):
        assert f.at(M=m, N=n).source.shape == (m, n)
        assert f.at(N=n, M=m) is f.at(M=m, N=n)
        assert len(f._kept) <= 2


@pytest.mark.slow
@pytest.mark.usefixtures("own_cache")
def test_sizes_that_an_array_does_not_say() -> None:
    need("gcc")
    f = ml.relayout("{1,0}", "{0,1}", ("2*N", "N")).compile("int8")
    x = np.arange(18, dtype=np.int8).reshape(6, 3)
    assert (f(x) == x.T.reshape(-1)).all()


@each_row("layout", ["{0,1:T(3,2)}", "Sw<3,3,3> o 0 o (lambda,64):(64,1)"])
def test_python_has_other_names_of_sizes_that_are_its_own(layout: str) -> None:
    names: dict[str, Any] = {}
    r = ml.relayout("{1,0}", layout, ("lambda", 64))
    exec(r.kernel("python", "int32"), names)
    found, given = r.target.at(**{"lambda": 5}), np.arange(5 * 64, dtype=np.int32)
    moved = np.zeros(found.size, np.int32)
    moved[np.asarray(found(*np.indices(found.shape)))] = given.reshape(found.shape)
    assert (names["relayout"](given, size_lambda_=5) == moved).all()
    exec(ml.relayout("{1,0}", "{0,1}", ("source", "int")).kernel("python", "int32"), names)
    assert [*names["relayout"](given[:6], size_source_=2, size_int_=3)] == [0, 3, 1, 4, 2, 5]
