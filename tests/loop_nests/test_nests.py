"""Nests in Python: which elements, in which order, at which offsets; NumPy is the judge."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
from formats import FORMATS, Format

import morello_layouts as ml
from morello_layouts.core.fields import plain
from morello_layouts.outputs.loop_nests import LoopNest
from tests.support.loop_cases import Case, random_cases
from tests.support.tables import each_row

NUMBERS = [
    ("f32[8,32]{1,0:T(4,16)}", None),
    ("f32[10,50]{1,0:T(8,32)}", None),
    ("bf16[10,20]{1,0:T(8,8)(2,1)}", None),
    ("f32[3,5,7]{0,2,1:T(2,4)}", None),
    ("[1, 0, 1 p(4)]", (6, 12)),
    ("[0, 1]", (1, 9)),
    ("f32[0,3]{1,0}", None),
    ("f32[]", None),
    ("nChw16c", (2, 20, 3, 3)),
]

SYMBOLIC = [
    ("f32[M,N]{1,0:T(4,8)}", {"M": 6, "N": 13}),
    ("f32[M,N]{1,0:T(4,8)}", {"M": 8, "N": 16}),
    ("bf16[M,N]{1,0:T(8,8)(2,1)}", {"M": 11, "N": 9}),
    ("f32[M,N]{0,1}", {"M": 5, "N": 1}),
]

EDGES = ("bounds", "guards", "peel")


def wrong(nest: LoopNest, m: ml.IndexMap, sizes: dict[str, int]) -> str | None:
    """What a nest of one map does wrong, by visiting everything."""
    visits = list(nest(**sizes))
    elements = [element for element, _ in visits]
    if sorted(elements) != list(product(*map(range, m.shape))):
        return f"visits {elements[:20]}"
    offsets = [offsets["x"] for _, offsets in visits]
    for element, offset in zip(elements, offsets, strict=True):
        if m(*element) != offset:
            return f"{element} is at {m(*element)}, not {offset}"
    if any(a >= b for a, b in pairwise(offsets)):
        return f"offsets are not in order: {offsets[:20]}"
    return None


@each_row("layout, shape, edges", [(*row, edges) for row in NUMBERS for edges in EDGES])
def test_physical_order_visits_each_element_once_with_offsets_that_ascend(
    layout: str, shape: Any, edges: Any
) -> None:
    nest = ml.loops(layout, shape, edges=edges)
    assert wrong(nest, ml.index_map(layout, shape), {}) is None


@each_row("layout, sizes, edges", [(*row, edges) for row in SYMBOLIC for edges in EDGES])
def test_symbolic_nests_at_numbers(layout: str, sizes: dict[str, int], edges: Any) -> None:
    assert wrong(ml.loops(layout, edges=edges), ml.index_map(layout).at(**sizes), sizes) is None


@each_row("case", list(random_cases(30, 5)), ids=str)
def test_random_nests_visit_in_the_order_of_their_digits(case: Case) -> None:
    at, offsets = case.expected()
    visits = list(case.nest()(**case.sizes))
    assert [element for element, _ in visits] == [*zip(*at.tolist(), strict=True)]
    assert [each["x"] for _, each in visits] == list(offsets)


@each_row("case", list(random_cases(30, 6)), ids=str)
def test_runs_are_contiguous(case: Case) -> None:
    """In whole tiles, each run of visits has offsets one after the other; the run is longest."""
    if case.sizes:
        return
    nest = case.nest()
    run = nest.runs["x"]
    offsets = [each["x"] for _, each in nest]
    if nest.digits.limits or run == len(offsets):
        return
    starts = range(0, len(offsets), run)
    assert all(offsets[k : k + run] == [*range(offsets[k], offsets[k] + run)] for k in starts)


@each_row("one", FORMATS, ids=lambda one: one.name)
def test_no_popular_format_divides_in_its_inner_loop(one: Format) -> None:
    nest = ml.loops(one.index_map())
    assert nest.costs.divisions == 0
    assert nest.costs.inner <= max(nest.costs.plain, 1)
    small = one.index_map(one.at)
    if one.name != "combined dims" and small.size < 1000:
        assert wrong(ml.loops(small), small, {}) is None


def test_several_maps_share_coordinates() -> None:
    a, b = np.arange(42).reshape(6, 7), np.arange(35).reshape(7, 5)
    nest = ml.loops({"a": "f32[6,7]{1,0}", "b": "f32[7,5]{0,1:T(2,2)}", "c": "f32[6,5]{1,0}"},
                    over={"a": ("i", "k"), "b": ("k", "j"), "c": ("i", "j")})  # fmt: skip
    packed = ml.pack("f32[7,5]{0,1:T(2,2)}", b)
    c = np.zeros(30, int)
    for _, at in nest:
        c[at["c"]] += a.ravel()[at["a"]] * packed[at["b"]]
    assert np.array_equal(c.reshape(6, 5), a @ b)


def test_swizzled_elements_in_the_order_of_the_buffer() -> None:
    m = ml.index_map(ml.from_sympy({"i": 16, "j": 64}, "64*i + 8*((i%8) ^ (j//8)) + j%8"))
    assert wrong(ml.loops(m), m, {}) is None
    assert ml.loops(m).maps == {"x": "512*i0 + 64*i1 + 8*j0 + j1"}
    assert ml.loops(m).coordinates["j"] == "8*(i1 ^ j0) + j1"
    assert ml.loops(m, order=("i", "j")).maps == {"x": "512*i0 + 64*i1 + 8*(i1 ^ j0) + j1"}


def test_reversed_elements_in_the_order_of_the_buffer() -> None:
    m = ml.index_map("f32[10,20]{1,0:T(4,8)}").view(reverse=(0, 1))
    assert wrong(ml.loops(m, edges="peel"), m, {}) is None


def test_offsets_are_hoisted_and_factors_of_sizes_computed_once() -> None:
    text = ml.loops("f32[M,N]{1,0:T(8,128)}", names=("i", "j")).code("python")
    assert [line.strip() for line in text.splitlines() if "x" in line and "#" not in line] == [
        "x_i0 = 1024*((N + 127)//128)",
        "x1 = x_i0*i0",
        "x2 = x1 + 1024*j0",
        "x3 = x2 + 128*i1",
    ]


@each_row(
    "text, names, name",
    [("f32[6,8]", "y,x", "a"), ("f32[x,a]", None, "a0"), ("f32[6,8]", "i,j", "x")],
)
def test_the_name_of_one_map_is_free(text: str, names: str | None, name: str) -> None:
    assert list(ml.loops(text, names=names).maps) == [name]


def test_a_copy_writes_each_element_once() -> None:
    maps = {"a": ml.index_map("f32[6,8]", names="i,j"), "b": ml.index_map("f32[6]", names="i")}
    assert ml.loops(maps).code().count("// a[a1 + j], b[i]") == 1
    assert "// a[%t0], b[%i]" in ml.loops(maps).code("MLIR")
    back = ml.loops({"b": maps["b"], "a": maps["a"]})
    assert "a[a1 + j] = b[i];" in back.code("C")


def test_assumptions_of_one_map_hold_for_all() -> None:
    m, k, n = 3, 5, 32
    b = ml.index_map("[1,0,1 p(16)]", ("K", "N"), names=("k", "j"), assuming="N % 16 == 0")
    maps = {
        "a": ml.index_map("f32[M,K]", names=("i", "k")),
        "b": b,
        "c": ml.index_map("f32[M,N]", names=("i", "j"), assuming="N <= 64"),
    }
    nest = ml.loops(maps, order=("i", "k", "j"))
    a, c = np.arange(m * k).reshape(m, k), np.arange(m * n).reshape(m, n)
    packed = np.arange(k * n).reshape(n // 16, k, 16).transpose(1, 0, 2).reshape(k, n)
    for (i, inner, j), offsets in nest(M=m, K=k, N=n):
        expected = {"a": a[i, inner], "b": packed[inner, j], "c": c[i, j]}
        assert offsets == expected, (i, inner, j)


def test_json() -> None:
    found = plain(ml.loops("f32[10,200]{1,0:T(8,128)}", names=("i", "j")))
    assert found.pop("code").startswith("// i0: tiles of 8 i")
    assert found == {
        "order": ["i0", "j0", "i1", "j1"],
        "coordinates": {"i": "8*i0 + i1", "j": "128*j0 + j1"},
        "edges": "bounds",
        "maps": {"x": "2048*i0 + 1024*j0 + 128*i1 + j1"},
        "runs": {"x": 128},
        "costs": {"inner": 1, "plain": 14, "divisions": 0, "plain_divisions": 4},
    }


def test_the_body_names_offsets_and_coordinates() -> None:
    body = "if ({i} < {j}) { f({x}, x[{x}], {1}); }"
    text = ml.loops("f32[6,8]{0,1}", names=("i", "j"), body=body).code()
    assert "if (i < j) { f((x1 + i), x[x1 + i], {1}); }" in text


@each_row(
    "formula, counters",
    [
        ("(5*i//2)%2 + 7*i", 0),
        ("(7*i//3)%5 + 9*(7*i%3)", 1),
        ("(5*i//3) + 40*((5*i)%3)", 1),
        ("(i//3)%4 + 7*(i%5) + 40*(i//7)", 2),
        ("((i%7) ^ (i//7)) + 40*i", 0),
        ("(i//6) + 99*(5*i//7) + 3*(5*i%7)", 1),
    ],
)
def test_quotients_that_no_loop_removes_are_counted(formula: str, counters: int) -> None:
    f = ml.from_sympy({"i": 40}, formula)
    nest = ml.loops(f, order=("i",))
    assert [(element, at["x"]) for element, at in nest] == [((i,), f(i)) for i in range(40)]
    assert len(nest.walk.plan.counters) == counters
    scope: dict[str, Any] = {}
    text = ml.loops(f, order=("i",), body="out.append({x})").code(
        "python", function=True, arguments="out"
    )
    exec(text, scope)
    out: list[int] = []
    scope["nest"](out)
    assert out == [f(i) for i in range(40)]


def test_sums_are_split_where_they_are_divided() -> None:
    f = ml.from_sympy({"i": 6, "j": 10}, "(10*i + j)//5 + 99*((10*i + j)%5)")
    nest = ml.loops(f)
    assert nest.maps == {"x": "99*j1 + 2*i + j0"}
    visits = {element: at["x"] for element, at in nest}
    assert visits == {(i, j): f(i, j) for i in range(6) for j in range(10)}


def test_tiles_come_first_each_level_in_the_order_of_the_buffer() -> None:
    nest = ml.loops("f32[64,64]{0,1}", names=("i", "j"), tile={"i": (16, 4), "j": 8})
    assert nest.order == ("j0", "i0", "i1", "j1", "i2")
    nest = ml.loops("f32[64,64]{0,1}", names=("i", "j"), tile={"i": 16, "j": 8}, order=("i", "j"))
    assert nest.order == ("i0", "j0", "i1", "j1")
    nest = ml.loops("f32[64,64]{0,1}", names=("i", "j"), tile={"i": 16}, order=("i1", "j", "i"))
    assert nest.order == ("i1", "j", "i0")


def test_a_stride_of_more_names_is_the_larger_one() -> None:
    m = ml.index_map("strided<[64,N,ld]>", ("L", "M", "N"), names=("i", "j", "k"))
    assert ml.loops(m).order[-1] == "i"


@each_row("edges", EDGES)
def test_symbolic_arrays_backwards(edges: Any) -> None:
    m = ml.index_map("f32[M,N]{1,0:T(4,8)}", names=("i", "j")).view(reverse=(0, 1))
    nest = ml.loops(m, order=("i", "j"), edges=edges)
    at = m.at(M=6, N=13)
    visits = list(nest(M=6, N=13))
    assert sorted(element for element, _ in visits) == list(product(range(6), range(13)))
    assert all(offsets["x"] == at(*element) for element, offsets in visits)


def test_peeled_loops_have_no_checks() -> None:
    text = ml.loops("bf16[M,N]{1,0:T(8,128)(2,1)}", edges="peel").code("c")
    assert "_end" not in text
    assert " ? " not in text


def test_a_loop_says_that_it_runs_backwards() -> None:
    m = ml.index_map("f32[16,256]{1,0:T(8,128)}", names=("i", "j"))[::-1]
    text = ml.loops(m, body="f({i});").code()
    assert "// i0: tiles of 8 i, backwards; contiguous in x: 4096 elements" in text
    assert "const uint32_t i = 15 - 8 * i0 - i1;" in text
    assert "backwards" not in ml.loops(m, order=("i", "j")).code()
