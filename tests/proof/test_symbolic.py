"""Proofs for all sizes, compared with every offset at small sizes.

``HYPOTHESIS_PROFILE=fuzz`` tries more layouts, other ones at every run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import morello_layouts as ml
from tests.support.symbolic_cases import (
    CASES,
    Case,
    at_sizes,
    examples,
    held,
    offsets,
    pairs,
    text_holds,
)
from tests.support.tables import each_row

ISL_TEXT = "the sizes are in"  # a condition without a short form


def first_gap(case: Case, sizes: Mapping[str, int]) -> tuple[int | None, int]:
    """Return the first padding slot, None without padding, and the number of padding slots."""
    gaps = np.flatnonzero(held(case.concrete(sizes)) < 0)
    return (int(gaps[0]) if gaps.size else None), int(gaps.size)


def first_difference(one: Case, other: Case, sizes: Mapping[str, int]) -> Any:
    """Return the first coordinate at which two layouts have different offsets; None if none."""
    differ = np.argwhere(offsets(one.concrete(sizes)) != offsets(other.concrete(sizes)))
    return tuple(map(int, differ[0])) if len(differ) else None


def check(proof: Any, truth: Mapping[tuple[int, ...], Any], case: Case, find: Any) -> None:
    """Compare a decided proof with the counterexamples at each of some sizes.

    Args:
        proof: the proof.
        truth: the counterexample or None, by sizes in the order of the names.
        case: the layout, for its names.
        find: finds the counterexample at any sizes.
    """
    if case.free_names == ():  # the assumptions fix all sizes: an answer as for numbers
        ((_, wrong),) = truth.items()
        assert (proof.holds, proof.counterexample) == (wrong is None, wrong)
        return
    if proof.holds is True:
        assert not any(wrong is not None for wrong in truth.values())
        assert proof.counterexample is None
        assert str(proof.condition) == "all sizes"
    else:
        assert tuple(proof.counterexample.sizes) == case.free_names
        smallest = case.fixed | proof.counterexample.sizes
        assert proof.counterexample.at == find(smallest) is not None
    if proof.condition is None:
        assert "open for other sizes" in proof.reason
        return
    if proof.condition.expr is None:
        assert str(proof.condition).startswith(ISL_TEXT)
        return
    for values, wrong in truth.items():
        sizes = dict(zip(case.names, values, strict=True))
        assert bool(at_sizes(proof.condition.expr, sizes)) is (wrong is None), sizes
        assert text_holds(str(proof.condition), sizes) is (wrong is None), sizes
    first = next((values for values, wrong in truth.items() if wrong is not None), None)
    if proof.holds is False:
        found = tuple(smallest[name] for name in case.names)
        # Past the grid there may be smaller ones: M = 1, N = 50 comes before M = 2, N = 1.
        assert found == first or (found not in truth and (first is None or found < first))


@pytest.mark.slow
def test_padding_for_all_sizes_agrees_with_every_size() -> None:
    seen: Counter[bool | None] = Counter()

    @examples(150)
    @given(CASES)
    def each(case: Case) -> None:
        m = case.symbolic()
        assert ml.is_injective(m).holds is True
        surjective, both = ml.is_surjective(m), ml.is_bijective(m)
        seen[surjective.holds] += 1
        assert (both.holds, both.condition, both.counterexample, both.padding) == (
            surjective.holds,
            surjective.condition,
            surjective.counterexample,
            surjective.padding,
        )
        found = {tuple(sizes.values()): first_gap(case, sizes) for sizes in case.grid()}
        for values, (_, count) in found.items():
            sizes = dict(zip(case.names, values, strict=True))
            assert at_sizes(both.padding, sizes) == count == case.concrete(sizes).padding
        truth = {values: gap for values, (gap, _) in found.items()}
        check(both, truth, case, lambda sizes: first_gap(case, sizes)[0])

    each()
    assert seen[None] == 0
    assert min(seen[True], seen[False]) > 0.2 * seen.total()


@pytest.mark.slow
def test_equivalence_for_all_sizes_agrees_with_every_size() -> None:
    seen: Counter[str] = Counter()

    @examples(120)
    @given(pairs())
    def each(both: tuple[Case, Case]) -> None:
        one, other = both
        proof = ml.are_equivalent(one.symbolic(), other.symbolic())
        back = ml.are_equivalent(other.symbolic(), one.symbolic())
        assert (proof.holds, proof.counterexample) == (back.holds, back.counterexample)
        seen[str(proof.holds)] += 1
        truth = {
            tuple(sizes.values()): first_difference(one, other, sizes) for sizes in one.grid(2000)
        }
        if proof.holds is None:
            assert proof.condition is proof.counterexample is None
        else:
            check(proof, truth, one, lambda sizes: first_difference(one, other, sizes))
            if proof.condition is not None and len({w is None for w in truth.values()}) == 2:
                seen["depends"] += 1

    each()
    asked = seen["True"] + seen["False"] + seen["None"]
    assert seen["None"] < 0.1 * asked
    assert min(seen["True"], seen["False"]) > 0.2 * asked
    assert seen["depends"] > 0.02 * asked


@pytest.mark.slow
def test_formulas_of_symbolic_sizes_agree_with_every_size() -> None:
    @examples(40)
    @given(CASES, st.randoms(use_true_random=False))
    def each(case: Case, random: Any) -> None:
        m = case.symbolic()
        assert ml.verify(m).holds is not False
        grid = list(case.grid(2000))
        for sizes in random.sample(grid, min(2, len(grid))):
            c, at = case.concrete(sizes), np.indices(case.at(sizes))
            there = offsets(c)
            assert np.array_equal(m.at(**sizes)(*at), there)
            named = {f"d{k}": x for k, x in enumerate(at)} | sizes
            assert np.array_equal(m.form.evaluate(named) + np.zeros_like(there), there)
            for name in ("shape", "physical_shape", "strides"):
                found = tuple(at_sizes(n, sizes) for n in getattr(m, name))
                assert found == getattr(c, name) == getattr(m.at(**sizes), name)
            assert c.strides == np.zeros(c.physical_shape, np.int8).strides
            for name in ("size", "padding"):
                assert at_sizes(getattr(m, name), sizes) == getattr(c, name)
            assert at_sizes(m.size, sizes) == len(held(c))
            for x in random.sample(list(np.ndindex(c.shape)), min(4, prod(c.shape))):
                values = {f"d{k}": n for k, n in enumerate(x)} | sizes
                assert at_sizes(m.expr, values) == there[x]
                # An unevaluated part stays so if none of its symbols is replaced.
                assert at_sizes(m.reference, values).doit() == there[x]

    each()


@pytest.mark.slow
def test_inverses_of_symbolic_sizes_agree_with_every_size() -> None:
    seen: Counter[bool] = Counter()

    @examples(40)
    @given(CASES, st.randoms(use_true_random=False))
    def each(case: Case, random: Any) -> None:
        m = case.symbolic()
        grid = [sizes for sizes in case.grid(300) if case.concrete(sizes).size <= 3000]
        assume(grid)
        sizes = random.choice(grid)
        buffer = held(case.concrete(sizes))
        given = m.at(**sizes)
        coordinates = [at_sizes(x, sizes) for x in m.inverse.exprs]
        padding = at_sizes(m.inverse.padding, sizes)
        for p in random.sample(range(buffer.size), min(12, buffer.size)):
            element = int(buffer[p])
            seen[element < 0] += 1
            assert bool(at_sizes(padding, {"p": p})) is (element < 0)
            if element < 0:
                assert given.coordinates(p) is None
            else:
                expected = tuple(map(int, np.unravel_index(element, case.at(sizes))))
                assert tuple(at_sizes(x, {"p": p}) for x in coordinates) == expected
                assert given.coordinates(p) == expected

    each()
    assert min(seen.values()) > 0.1 * seen.total()


@pytest.mark.slow
def test_equivalence_of_concrete_layouts_agrees_with_every_offset() -> None:
    seen: Counter[bool | None] = Counter()

    @examples(150)
    @given(pairs(), st.randoms(use_true_random=False))
    def each(both: tuple[Case, Case], random: Any) -> None:
        one, other = both
        grid = list(one.grid(2000))
        assume(grid)
        sizes = random.choice(grid)
        proof = ml.are_equivalent(one.concrete(sizes), other.concrete(sizes))
        seen[proof.holds] += 1
        first = first_difference(one, other, sizes)
        if proof.holds is not None:
            assert proof.holds is (first is None)
            assert proof.counterexample == first

    each()
    assert seen[None] <= 0.02 * seen.total()
    assert min(seen[True], seen[False]) > 0.2 * seen.total()


NAMES_OF = "f32[M,N]{1,0:T(8,128)}"


@pytest.mark.parametrize(
    ("assuming", "sizes"),
    [
        ("M % 8 == 0", {"M": 16, "N": 1}),
        ("N <= 200", {"M": 1, "N": 200}),
        ("N >= 2", {"M": 1, "N": 2}),
        ("1 < N < 3", {"M": 1, "N": 2}),
    ],
)
def test_sizes_at_the_edge_of_what_is_assumed(assuming: str, sizes: dict[str, int]) -> None:
    m = ml.index_map(NAMES_OF, assuming=assuming)
    assert m.at(**sizes).shape == tuple(sizes.values())


def test_a_morello_layout_assumes_its_divisors() -> None:
    m = ml.index_map("[1, 0, 0 oe(6), 1 p(4)]", ("M", "N"))
    assert [str(one) for one in m.assumptions] == ["6 divides M", "4 divides N"]
    assert m.at(M=6, N=8).shape == (6, 8)


def in_sympy(*facts: str) -> Any:
    """Return facts about M and N as SymPy relations."""
    import sympy

    scope = {name: getattr(sympy, name) for name in ("Eq", "Mod", "And", "Ge", "Le")}
    scope |= {name: sympy.Symbol(name, integer=True, positive=True) for name in "MN"}
    found = [eval(fact, scope) for fact in facts]
    return found[0] if len(found) == 1 else found


@each_row(
    "assuming",
    [
        lambda: "M % 8 == 0, N <= 100",
        lambda: "8 divides M and 1 <= N <= 100",
        lambda: "8 | M; N < 101",
        lambda: ["M % 8 == 0", "N <= 100"],
        lambda: ["M % 4 == 0", ["M % 8 == 0", {"N": (None, 100)}]],
        lambda: ("M % 8 == 0", {"N": (1, 100)}),
        lambda: in_sympy("Eq(Mod(M, 8), 0)", "N <= 100"),
        lambda: in_sympy("And(Eq(Mod(M, 8), 0), N < 101)"),
        lambda: in_sympy("And(Eq(Mod(M, 8), 0), Ge(100, N))"),
        lambda: [in_sympy("Eq(Mod(M, 8), 0)"), "N >= 1", {"N": [1, 100]}],
        lambda: ml.index_map("f32[M,N]{1,0}", assuming="8 divides M, N <= 100").assumptions,
    ],
)
def test_forms_of_assumptions(assuming: Any) -> None:
    m = ml.index_map(NAMES_OF, assuming=assuming())
    assert [str(one) for one in m.assumptions] == ["8 divides M", "N <= 100"]
    proof = ml.is_bijective(m)
    assert proof.assumptions == ("8 divides M", "N <= 100")
    assert str(proof.condition) == "no sizes"  # N = 128 is not among them
    assert proof.counterexample.sizes == {"M": 8, "N": 1}
    with pytest.raises(ml.ShapeError):
        m.at(M=4, N=100)
    with pytest.raises(ml.ShapeError):
        m.at(M=8, N=101)


@each_row(
    "assuming",
    [
        lambda: 8,
        lambda: {"M": 8},
        lambda: {"M": (1, 2, 3)},
        lambda: {"M": ("1", "2")},
        lambda: in_sympy("Eq(M, N)"),
        lambda: in_sympy("M"),
        lambda: in_sympy("Eq(Mod(M, 8), 1)"),
        lambda: ["M % 8 == 0", 8],
        lambda: ["M >= 9", "M <= 8"],
        lambda: "M % 8 == 0, M <= 7",
        lambda: "M % 8 == 0, 9 <= M <= 15",
    ],
)
def test_values_that_are_not_assumptions(assuming: Any) -> None:
    with pytest.raises(ml.LayoutError):
        ml.index_map(NAMES_OF, assuming=assuming())


# Regressions that random layouts found.


@pytest.mark.parametrize(
    ("text", "assuming", "sizes", "padding"),
    [
        ("f32[M,N]{1,0}", "M == 3", {"M": 3, "N": 5}, 0),
        ("f32[M]{0:T(3)}", "M % 8 == 0, M <= 8", {"M": 8}, 1),
        ("f32[M,N]{1,0:T(8,9)}", "N % 8 == 0, 3 <= N <= 8", {"M": 8, "N": 8}, 8),
        ("f32[M,N]{1,0:T(*,6)}", "N == 2, M % 3 == 0", {"M": 6, "N": 2}, 0),
        ("f32[M,N]{0,1:T(8,4)(*,3)}", "M % 8 == 0, M <= 8", {"M": 8, "N": 8}, 2),
        ("f32[M]{0:T(4)L(32)}", "M <= 8", {"M": 8}, 24),
    ],
)
def test_an_assumption_that_leaves_one_value(
    text: str, assuming: str, sizes: dict[str, int], padding: int
) -> None:
    m = ml.index_map(text, assuming=assuming)
    assert m.at(**sizes).padding == padding
    assert at_sizes(ml.is_bijective(m).padding, sizes) == padding
    assert ml.is_surjective(m).holds is (padding == 0)


def test_a_claim_is_disproved_only_with_a_counterexample() -> None:
    import sympy

    M = sympy.Symbol("M", integer=True, positive=True)
    proof = ml.is_surjective(ml.index_map("{1,0:T(*,2)}", (M, M + 1)))
    assert proof.holds is not False  # M·(M + 1) is even


@pytest.mark.parametrize(
    ("text", "assuming", "sizes", "at"),
    [
        ("f32[M,N]{1,0:T(*,50)}", "M >= 60", {"M": 60, "N": 1}, 60),
        ("f32[M,N,K]{0,2,1:T(*,6)(*,6)}", "M >= 3, K >= 4", {"M": 3, "N": 1, "K": 5}, 15),
        ("f32[M,N]{1,0:T(8,1)}", "N >= 5", {"M": 1, "N": 5}, 1),
        ("f32[M,N]{1,0:T(8,1)}", "N % 6 == 0", {"M": 1, "N": 6}, 1),
    ],
)
def test_the_smallest_sizes_where_products_decide(
    text: str, assuming: str, sizes: dict[str, int], at: int
) -> None:
    found = ml.is_surjective(ml.index_map(text, assuming=assuming)).counterexample
    assert (found.sizes, found.at) == (sizes, at)


def test_sizes_are_tried_as_assumed_where_products_decide() -> None:
    one, other = (
        ml.index_map(f"{{0,1:T(*,1)({tile}6)}}", ("M", "N"), assuming="M % 4 == 0")
        for tile in ("", "*,")
    )
    assert ml.are_equivalent(one, other).counterexample.sizes == {"M": 4, "N": 1}


def test_a_single_open_size_is_decided() -> None:
    m, rows = ml.index_map("{1,0:T(8,2)}", (8, "N")), ml.index_map("{1,0}", (8, "N"))
    assert ml.are_equivalent(m, rows).verdict == "equivalent iff N = 2"


def test_a_condition_with_two_remainders() -> None:
    one, other = (ml.index_map(f"{{1,0:T({n})}}", ("M", "N"), assuming="M >= 3") for n in (2, 8))
    proof = ml.are_equivalent(one, other)
    truth = [bool(at_sizes(proof.condition.expr, {"M": 3, "N": n})) for n in range(1, 17)]
    assert truth == [n % 8 in (0, 7) for n in range(1, 17)]


def test_maps_with_different_assumptions_are_compared() -> None:
    packed = ml.index_map("[1, 0, 1 p(4)]", ("M", "N"))
    assert ml.are_equivalent(packed, ml.index_map("f32[M,N]{0,1:T(4,1)}")).holds is True


def test_a_condition_with_a_negative_constant() -> None:
    one, other = (
        ml.index_map(f"{{0,1:T({n})}}", ("M", "N"), assuming="M % 2 == 0, N % 2 == 0")
        for n in (9, 3)
    )
    proof = ml.are_equivalent(one, other)
    for m in range(2, 38, 2):
        assert text_holds(str(proof.condition), {"M": m, "N": 2}) is (m % 9 in (0, 7, 8))


def test_tiled_and_untiled_rows_of_one() -> None:
    proof = ml.are_equivalent("pred[M,N]{1,0:T(32,128)(32,1)}", "pred[M,N]{1,0}")
    assert str(proof.condition) == "M <= 32 and N = 1"


@each_row("assumed", [{"integer": True, "nonnegative": True}, {"integer": True, "positive": True}])
def test_a_condition_is_about_the_symbols_that_were_given(assumed: dict[str, bool]) -> None:
    import sympy

    sizes = [sympy.Symbol(name, **assumed) for name in "MN"]
    for text in ("{1,0:T(8,128)}", "{1,0:T(*,6)}"):
        condition = ml.is_surjective(text, (sizes[0], sizes[1])).condition
        assert condition.expr.free_symbols == {*sizes}
        assert condition.expr.subs(dict(zip(sizes, (24, 128), strict=True))) == True  # noqa: E712


def _pair(one: str, other: str, assuming: str | None = None) -> list[ml.IndexMap]:
    return [ml.index_map(text, assuming=assuming) for text in (one, other)]


# A claim, its maps, and an assumption: each answer has a condition that multiplies no sizes.
SMALLEST: list[tuple[Any, list[ml.IndexMap]]] = [
    (ml.are_equivalent, _pair("f32[M,N]{1,0:T(8,128)}", "f32[M,N]{1,0:T(2,128)}")),
    (ml.are_equivalent, _pair("f32[M,N]{1,0:T(4,8)}", "f32[M,N]{1,0}")),
    (ml.are_equivalent, _pair("f32[M,N]{0,1}", "f32[M,N]{1,0}")),
    (ml.are_equivalent, _pair("f32[M,N]{0,1:T(2,4)}", "f32[M,N]{0,1:T(6,4)}")),
    (ml.are_equivalent, _pair("f32[M,N,K]{2,1,0:T(2,4)}", "f32[M,N,K]{2,1,0}")),
    (ml.agree, _pair("u8[M,N]{1,0}", "u8[M,N]{1,0:T(8,16)}")),
    (ml.agree, _pair("u8[M,N]{1,0}", "u8[M,N]{0,1}", "N >= 3")),
    (ml.is_injective, [ml.index_map("strided<[3, 1]>", ("M", "N"))]),
    (ml.is_injective, [ml.index_map("strided<[1, 5]>", ("M", "N"))]),
    (ml.is_surjective, [ml.index_map("f32[M,N]{1,0:T(3,2)}")]),
    (ml.is_surjective, [ml.index_map("f32[M,N]{1,0:T(3,2)}", assuming="M % 3 == 0")]),
    (ml.is_bijective, [ml.index_map("f32[M,N]{1,0:T(2,4)(2,1)}")]),
]


@each_row("ask, maps", SMALLEST)
def test_counterexamples_are_the_smallest_by_enumeration(ask: Any, maps: list[ml.IndexMap]) -> None:
    """No smaller sizes fail, name by name; at these, the coordinate is the first in row-major."""
    answer = ask(*maps)
    condition = answer.when if ask is ml.agree else answer.condition
    assert condition is not None
    assert condition.depends
    found = answer.counterexample
    names = [*found.sizes]
    assert names == ["M", "N", "K"][: len(names)]
    wanted = tuple(found.sizes.values())
    ends = [wanted[0], *(20 if len(names) > 2 else 140 for _ in names[1:])]
    for sizes in product(*(range(1, end + 1) for end in ends)):
        there = dict(zip(names, sizes, strict=True))
        if not all(one.holds_for(there[one.name]) for m in maps for one in m.assumptions):
            continue
        tables = [_offsets(m.at(**there)) for m in maps]
        size, count = maps[0].at(**there).size, len(tables[0])
        if len(maps) == 2:
            wrong = np.flatnonzero(tables[0] != tables[1])
        elif ask is ml.is_injective:
            wrong = np.arange(count - len(np.unique(tables[0])))
        else:
            wrong = np.setdiff1d(np.arange(size), tables[0])
        if sizes == wanted:
            assert len(wrong)
            if len(maps) == 2:
                first = np.unravel_index(wrong[0], maps[0].at(**there).shape)
                assert found.at == tuple(map(int, first))
            elif ask is not ml.is_injective:
                assert found.at == wrong[0]
            return
        assert not len(wrong), there
    pytest.fail("the sizes were not reached")


def _offsets(m: ml.IndexMap) -> Any:
    return np.asarray(m(*np.indices(m.shape))).ravel()


def test_what_is_not_the_smallest_is_not_called_so() -> None:
    """At M = 1, N = 4 these differ too: without a condition the sizes are some that fail."""
    pair = _pair("f32[M,N]{1,0:T(5,8)}", "f32[M,N]{1,0:T(2,*,3)}")
    answer = ml.are_equivalent(*pair)
    assert answer.condition is None
    assert not ml.are_equivalent(*(m.at(**answer.counterexample.sizes) for m in pair)).holds
    assert not ml.are_equivalent(*(m.at(M=1, N=4) for m in pair)).holds
    assert "smallest" not in str(answer) + str(ml.agree(*pair))
