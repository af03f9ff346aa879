"""Relayout kernels in C against the recipe in NumPy: every ordered pair, every size of element."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase, assume, given, settings, strategies as st

import morello_layouts as ml
from morello_layouts.outputs.kernels.plan import Kernel, plan_kernel
from tests.support.kernel_runs import QUICK, Case, compilers, need, run_all
from tests.support.xla_strategies import LARGEST_SPAN, sizes, tiles

MATRICES = [
    "[0, 1]",
    "[1, 0]",
    "{1,0:T(8,128)}",
    "{0,1:T(8,128)}",
    "{1,0:T(16,128)(2,1)}",
    "{1,0:T(8,128)(2,1)}",
    "{1,0:T(8,128)(4,1)}",
    "{1,0:T(8,128)(2,1,1,1)}",
    "{1,0:T(3,5)(2,2)}",
]
# Pairs of these share few bytes, or in another order: blocks go through a staging buffer.
TURNED = [
    "{0,1:T(8,128)}",
    "{0,1:T(8,128)(2,1)}",
    "{0,1:T(8,128)(4,1)}",
    "{1,0:T(32,128)(4,1)}",
    "{1,0:T(8,128)(2,1,1,1)}",
    "{1,0:T(3,5)(2,2)}",
]
PACKED = ["[0, 1]", "[0, 1, 1 oe(16)]", "[1, 0, 1 p(4)]", "[0, 1, 1 p(4)]"]
IMAGES = ["NCHW", "NHWC", "[0, 1, 2, 3, 1 p(16)]"]
ODD = [
    "{1,0}",
    "{0,1}",
    "{1,0:T(*,6)}",
    "{1,0:T(4,6)(2,1)L(100)}",
    "{1,0:T(2)}",
    "{1,0:T(3,2)(2,4)}",
    "{1,0:T(2,8,4)}",
]
# More domains than a kernel has loop nests for.
MANY = ["{4,3,2,1,0:T(5,5,5,5,5)(3,3,3,3,3)}", "{0,1,2,3,4}"]

GROUPS = [
    (MATRICES, (64, 256)),
    (MATRICES, (1000, 1000)),
    (MATRICES, (401, 399)),
    (TURNED, (401, 399)),
    (TURNED, (513, 1283)),
    (PACKED, (64, 256)),
    (IMAGES, (2, 32, 14, 14)),
    (ODD, (9, 31)),
    (ODD, (0, 3)),
    (MANY, (7, 7, 7, 7, 7)),
]

CASES = [
    Case(a, b, shape, itemsize, streams=(i + j) % 2 == 0)
    for layouts, shape in GROUPS
    for itemsize in (1, 2, 4, 8)
    for i, a in enumerate(layouts)
    for j, b in enumerate(layouts)
]
SOME = CASES[::11]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_pairs_of_every_kind(part: int, tmp_path: Path) -> None:
    """A third of all; ``python -m tests.fuzz.more pairs`` runs every pair."""
    need("gcc")
    run_all(CASES[part::13], tmp_path, "gcc", *QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize(
    "flags",
    [
        ("-O1", "-march=native"),
        (*QUICK, "-march=native"),
        (*QUICK, "-DRELAYOUT_VECTOR=0"),
        ("-O1", "-DRELAYOUT_VECTOR=0"),
    ],
    ids=["inlined", "native", "plain", "plain, inlined"],
)
def test_other_compilers_and_vectors(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    """``python -m tests.fuzz.more pairs`` runs every pair without vectors, too."""
    every = 4 if "-O0" not in flags else 2 if "-DRELAYOUT_VECTOR=0" in flags else 1
    run_all(SOME[::every], tmp_path, compiler, *flags)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize(
    ("flags", "feature"),
    [
        (("-mavx2",), "avx2"),
        (("-mavx512bw",), "avx512bw"),
        (("-mavx512bw", "-mavx512dq"), "avx512dq"),
    ],
    ids=["32 bytes", "64 bytes", "64 bytes, lanes from memory"],
)
def test_vectors_of_each_width(
    compiler: str, flags: tuple[str, ...], feature: str, tmp_path: Path
) -> None:
    """A row longer than a vector is moved by halves."""
    told = Path("/proc/cpuinfo")
    if not told.exists() or feature not in told.read_text(encoding="utf-8").split():
        pytest.skip(f"this processor has no {feature}")
    run_all(SOME[1::4], tmp_path, compiler, *QUICK, *flags)


@pytest.mark.slow
def test_all_the_optimisation_that_users_get(tmp_path: Path) -> None:
    need("gcc")
    run_all(SOME[::8], tmp_path, "gcc", "-O3", "-march=native")


@pytest.mark.slow
@pytest.mark.parametrize("itemsize", [3, 6, 12, 16, 24])
def test_items_of_other_sizes(itemsize: int, tmp_path: Path) -> None:
    need("gcc")
    layouts = ["[0, 1]", "[1, 0]", "{0,1:T(8,128)}", "{1,0:T(8,128)(2,1)}"]
    run_all(
        [Case(a, b, (19, 139), itemsize) for a in layouts for b in layouts], tmp_path, "gcc", *QUICK
    )


@st.composite
def layouts(draw: st.DrawFn, rank: int) -> ml.XlaLayout:
    count = draw(st.integers(0, 2))
    return ml.XlaLayout(
        tuple(draw(st.permutations(range(rank)))),
        tiles=tuple(draw(st.lists(tiles(), min_size=count, max_size=count))),
        tail_padding_alignment_in_elements=draw(st.sampled_from([1, 1, 7, 100])),
    )


# An example is a file of up to 40 kernels, which a compiler takes a second or more to build.
FEW = settings(max_examples=8, phases=(Phase.explicit, Phase.generate))


@st.composite
def pairs(draw: st.DrawFn) -> Case:
    """Two random layouts of one array."""
    shape = draw(sizes())
    source, target = draw(layouts(len(shape))), draw(layouts(len(shape)))
    itemsize, streams = draw(st.sampled_from((1, 2, 4, 8))), draw(st.booleans())
    case = Case(source, target, shape, itemsize, streams=streams)
    kernel = case.kernel()
    assume(max(kernel.source.size, kernel.target.size) < LARGEST_SPAN)
    return case


@pytest.mark.slow
@given(cases=st.lists(pairs(), min_size=20, max_size=40))
@FEW
def test_random_pairs(cases: list[Case], tmp_path_factory: pytest.TempPathFactory) -> None:
    need("gcc")
    run_all(cases, tmp_path_factory.mktemp("random"), "gcc", *QUICK)


@st.composite
def staged_pairs(draw: st.DrawFn) -> Case:
    """Two random tilings, often with staged blocks; sizes of a few blocks."""
    shape = (*draw(st.lists(st.integers(1, 3), max_size=1)), draw(st.integers(1, 300)),
             draw(st.integers(1, 300)))  # fmt: skip
    edges = st.sampled_from([1, 2, 3, 4, 5, 8, 16, 32, 128])
    small = st.sampled_from([(), ((2, 1),), ((4, 1),), ((2, 2),), ((2, 1, 1, 1),), ((3, 2),)])
    found = []
    for _ in range(2):
        tile, order = (draw(edges), draw(edges)), draw(st.permutations(range(len(shape))))
        found.append(ml.XlaLayout(tuple(order), tiles=(tile, *draw(small))))
    itemsize, streams = draw(st.sampled_from((1, 2, 4, 8))), draw(st.booleans())
    return Case(found[0], found[1], shape, itemsize, streams=streams)


@pytest.mark.slow
@given(cases=st.lists(staged_pairs(), min_size=20, max_size=40))
@FEW
def test_random_pairs_through_a_staging_buffer(
    cases: list[Case], tmp_path_factory: pytest.TempPathFactory
) -> None:
    need("gcc")
    cases = [case for case in cases if plan_kernel(case.kernel()).staged]
    assume(cases)
    run_all(cases, tmp_path_factory.mktemp("staged"), "gcc", *QUICK)


@pytest.mark.slow
def test_an_empty_array_writes_nothing(tmp_path: Path) -> None:
    need("gcc")
    layouts = ["{1,0,2:T(*,5)}", "{2,0,1:T(4,*,8,6)(*,4)}", "{2,1,0:T(2,4)L(7)}", "{0,1,2}"]
    cases = [Case(a, b, (0, 3, 7), e) for a in layouts for b in layouts for e in (1, 2, 4)]
    run_all(cases, tmp_path, "gcc", *QUICK)


def test_very_many_domains_become_one_loop() -> None:
    source, target = (ml.index_map(layout, (7, 7, 7, 7, 7)).recipe for layout in MANY)
    assert plan_kernel(Kernel(source, target, 4)).elementwise
    assert plan_kernel(Kernel(target, source, 4)).elementwise
    few = (ml.index_map(layout, (7, 7)).recipe for layout in ("[0, 1]", "{1,0:T(5,5)(3,3)}"))
    assert plan_kernel(Kernel(*few, 4)).elementwise is None
