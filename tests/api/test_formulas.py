"""Formulas that users write: compared with layouts, composed, and proved by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given

import morello_layouts as ml
from tests.support.tables import each_row
from tests.support.xla_strategies import small_arrays

MORELLO_S_OWN = "6*(((d0 % 4)//2 + 2*(d0 % 2))//2) + 2*d1 + d0 % 2"
"""What Morello computes for [0 oe(4), 1, 0 p(2)]: even and odd apart before dividing."""


def test_morello_s_odd_even_collides_and_ours_does_not() -> None:
    ours = ml.index_map("[0 oe(4), 1, 0 p(2)]", (8, 3))
    theirs = ml.from_sympy({"shape": (8, 3), "size": 24}, MORELLO_S_OWN)
    collision = ml.is_injective(theirs)
    assert (collision.holds, collision.counterexample) == (False, ((0, 0), (2, 0)))
    assert theirs(0, 0) == theirs(2, 0)
    on_2x3 = [theirs(i, j) for i in range(2) for j in range(3)]
    assert on_2x3 == [0, 2, 4, 7, 9, 11]  # as data/morello_oracle.jsonl has it
    assert ml.is_bijective(theirs).holds is False
    assert ml.is_surjective(theirs).holds is False
    different = ml.are_equivalent(theirs, ours)
    assert (different.holds, different.counterexample) == (False, (1, 0))
    assert ml.is_bijective(ours).holds is True


@pytest.mark.parametrize(
    "domain",
    [{"shape": (6, 8)}, (6, 8), {"shape": (6, 8), "names": ("d0", "d1")}, {"d0": 6, "d1": 8}],
)
def test_ways_to_give_the_shape(domain: Any) -> None:
    mine = ml.from_sympy(domain, "24*(d1//4) + 4*d0 + d1%4")
    assert mine.shape == (6, 8)
    assert ml.are_equivalent(mine, "[1, 0, 1 p(4)]").holds is True
    assert str(mine) == "(d0, d1) -> 24*(d1//4) + 4*d0 + d1%4"


def test_sizes_by_name_beside_other_keys() -> None:
    mine = ml.from_sympy({"shape": {"i": 4, "j": 3}, "size": 20}, "5*i + j")
    assert (mine.shape, mine.names, ml.index_map(mine).size) == ((4, 3), ("i", "j"), 20)


def test_sympy_in_and_out() -> None:
    i, j = sympy.symbols("i j", integer=True, nonnegative=True)
    mine = ml.from_sympy({i: 6, j: 8}, 24 * sympy.floor(j / 4) + 4 * i + sympy.Mod(j, 4))
    assert ml.are_equivalent("[1, 0, 1 p(4)]", mine).holds is True
    assert mine.expr == ml.index_map("[1, 0, 1 p(4)]", (6, 8), names="i, j").expr


@given(small_arrays())
def test_a_layout_s_own_formula_is_the_layout(array: ml.XlaShape) -> None:
    m = ml.index_map(array)
    if 0 in m.shape:
        return
    again = ml.from_sympy({"shape": m.shape, "size": m.size}, m.expr)
    assert ml.are_equivalent(again, m).holds is True
    assert ml.is_injective(again).holds is True
    assert ml.is_surjective(again).padding == m.padding
    off = ml.from_sympy({"shape": m.shape}, m.expr + 1)
    answer = ml.are_equivalent(off, m)
    assert (answer.holds, answer.counterexample) == (False, (0,) * len(m.shape))


def test_for_all_sizes() -> None:
    rows = ml.from_sympy({"i": "M", "j": "N"}, "N*i + j")
    assert ml.are_equivalent(rows, "f32[M,N]{1,0}").holds is True
    assert ml.is_injective(rows).holds is True
    tiled = ml.are_equivalent(rows, "f32[M,N]{1,0:T(8,128)}")
    assert tiled.verdict == "equivalent iff N = 128, or M = 1 and N <= 128"
    pairs = ml.from_sympy({"i": "M", "j": "N"}, "N*i + 2*(j//2)")
    answer = ml.is_injective(pairs)
    assert answer.holds is False
    assert str(answer.counterexample) == "M = 1, N = 2 gives (i=0, j=0) and (i=0, j=1) one offset"


def test_large_arrays_are_not_enumerated() -> None:
    shape = (1 << 20, 1 << 12)
    assert ml.is_injective(ml.from_sympy(shape, "4096*d0 + d1")).holds is True
    swizzled = ml.from_sympy(shape, "4096*d0 + 2*(d1 % 2048) + d1//2048")
    assert ml.is_injective(swizzled).holds is True
    shared = ml.is_injective(ml.from_sympy(shape, "4095*d0 + d1"))
    assert (shared.holds, shared.decider) == (False, "ISL")
    assert shared.counterexample == ((0, 4095), (1, 0))


def test_several_formulas_are_coordinates_in_memory() -> None:
    tiles = ml.from_sympy((4, 6), ("d0//2", "d1//2", "d0%2", "d1%2"))
    assert tiles(3, 5) == (1, 2, 1, 1)
    assert ml.are_equivalent(tiles, "f32[4,6]{1,0:T(2,2)}").holds is True
    assert ml.is_injective(tiles).holds is True
    turned = ml.from_sympy((4, 6), ("d0//2", "d1//2", "d1%2", "d0%2"))
    answer = ml.are_equivalent(turned, "f32[4,6]{1,0:T(2,2)}")
    assert answer.counterexample == (0, 1)
    assert answer.reason == "(0, 1) has offsets (0, 0, 1, 0) and (0, 0, 0, 1)"


def test_composition() -> None:
    tiled = ml.index_map("f32[4,6]{1,0:T(2,2)}")
    rows = ml.from_sympy((24,), ("d0//6", "d0%6"))
    flat = tiled.compose(rows)
    assert [flat(k) for k in range(24)] == [tiled(k // 6, k % 6) for k in range(24)]
    assert (flat(np.arange(24)) == [tiled(k // 6, k % 6) for k in range(24)]).all()
    # Through memory and back: the inverse's coordinates, composed with the map, are the identity.
    back = ml.from_sympy((tiled.size,), [e.subs("p", "d0") for e in inverse_over_d0(tiled)])
    assert str(tiled.compose(back)) == "(d0) -> d0"


def inverse_over_d0(m: ml.IndexMap) -> list[sympy.Expr]:
    p = next(iter(m.inverse.exprs[0].free_symbols))
    return [e.xreplace({p: sympy.Symbol("d0", integer=True)}) for e in m.inverse.exprs]


def test_maps_that_do_not_fit_each_other() -> None:
    ml.index_map("f32[4,6]{1,0:T(2,2)}")
    assert ml.verify(ml.from_sympy((4, 6), "6*d0 + d1")).holds


RESHAPES = [
    ("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0:T(2,2)}", (2, 2, 3, 2), None),
    ("f32[4,6]{0,1:T(2,4)}", "f32[6,4]{1,0:T(8,128)}", None, (1, 0)),
    ("f32[4,6]{1,0:T(2,4)}", "f32[2,3,2,2]{3,2,1,0}", (2, 2, 3, 2), (0, 2, 1, 3)),
    ("f32[24]{0:T(5)}", "f32[4,3,2]{0,2,1}", (2, 3, 4), (2, 1, 0)),
]


@pytest.mark.parametrize(("source", "target", "reshape", "transpose"), RESHAPES)
def test_relayouts_through_a_change_of_shape(
    source: Any, target: str, reshape: Any, transpose: Any
) -> None:
    r = ml.relayout(source, target, reshape=reshape, transpose=transpose)
    a, b = ml.index_map(source), ml.index_map(target)
    elements = np.arange(np.prod(a.shape)).reshape(a.shape)
    changed = elements if reshape is None else elements.reshape(reshape)
    changed = changed if transpose is None else changed.transpose(transpose)
    there, here = ml.pack(a, elements, fill=-1), ml.pack(b, changed, fill=-1)
    for p, element in enumerate(here):
        found = r(p)
        assert (found is None) == (element < 0)
        assert found is None or there[found] == element
    assert ml.verify(r.target).holds is True


def test_a_target_without_a_shape_takes_the_changed_one() -> None:
    r = ml.relayout("f32[4,6]{1,0}", "[1, 0]", transpose=(1, 0))
    assert (r.target.source, str(r)) == ("[4,6] transposed by [1, 0] as [1, 0] at 6x4", "p -> p")


def test_formulas_under_assumptions() -> None:
    packed = ml.from_sympy({"i": "M", "j": "N"}, "4*M*(j//4) + 4*i + j%4")
    assert ml.are_equivalent(packed, "[1, 0, 1 p(4)]").holds is True
    tiles = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="M % 8 == 0")
    turned = tiles.compose(ml.from_sympy(("N", "M"), ("d1", "d0")))
    assert str(turned).startswith("(d0, d1) -> 1024*ceil(N/128)*(d1//8)")


def test_arrays_without_elements() -> None:
    assert ml.are_equivalent("f32[0,3]{1,0}", "f32[0,3]{0,1}").holds is True


def test_offsets_past_64_bits() -> None:
    far = ml.from_sympy((5,), "4611686018427387904*d0")
    assert list(far(np.array([3, 4]))) == [far(3), far(4)] == [3 << 62, 4 << 62]
    assert ml.is_injective(far).holds is True
    assert ml.is_injective(ml.from_sympy((5,), "(4611686018427387904*d0) % 4")).holds is False


def test_parts_of_an_exclusive_or_past_64_bits() -> None:
    """Arrays hold what is computed on the way, also inside of an exclusive or."""
    for bits in (62, 70):
        text = f"((d0*2**{bits} + d1)//2**{bits - 1}) ^ d1"
        m = ml.from_sympy({"shape": (4, 4), "size": 16}, text)
        at = np.indices((4, 4))
        assert (m(*at) == ((2 * at[0]) ^ at[1])).all()


def test_sizes_given_to_maps() -> None:
    assert ml.index_map("f32[self,N]{1,0}").at(self=3, N=2).size == 6
    rows = ml.from_sympy({"i": "M", "j": "N"}, "N*i + j")
    assert rows.at(M=2, N=3)(1, 2) == 5


def test_answers_are_hashed() -> None:
    answers = {ml.is_surjective("f32[M,N]{1,0:T(8,128)}"), ml.is_surjective("f32[3]{0:T(2)}")}
    assert len(answers) == 2


def test_two_formulas_are_compared_under_assumptions() -> None:
    """Neither has a recipe; what is assumed goes with the formulas."""
    one, other = ml.from_sympy(("N",), "d0"), ml.from_sympy(("N",), "d0%128")
    assert ml.are_equivalent(one, other).holds is False
    proof = ml.are_equivalent(one, other, assuming="N <= 128")
    assert proof.holds is True
    assert proof.assumptions == ("N <= 128",)
    short = other.assume([ml.Assumption("N", hi=128)])
    assert ml.are_equivalent(one, short).holds is True


def test_collisions_are_searched_at_assumed_sizes() -> None:
    late = ml.from_sympy(("N",), "d0 - d0//32")
    assert ml.is_injective(late).holds is None, "sizes up to 24 were tried"
    found = ml.is_injective(late, assuming="64 | N")
    assert found.counterexample == ml.proof.SymbolicCounterexample({"N": 64}, ((31,), (32,)))
    assert ml.is_injective(late, assuming="N <= 32").holds is True


BUFFERS = {
    "half a buffer": (("M",), "ceil(M/2)", "d0", {"M": 2}),
    "six slots": ((2, 3, "M"), "6", "3*d0 + d1 + 6*d2", {"M": 2}),
    "cut off after an element": (("M",), "2*M", "d0 + M*(d0%2)", {"M": 1}),
    "every other": (("M",), "M", "2*d0", {"M": 2}),
    "rows of a matrix": (("M", "N"), "M", "N*d0 + d1", {"M": 1, "N": 2}),
    "no digits": (("M", "N"), "M*N", "4*((d1 + d0)//3) + M*(d0%8)", {"M": 1, "N": 2}),
}


@each_row("name", BUFFERS)
def test_a_buffer_that_elements_leave_or_do_not_fill(name: str) -> None:
    shape, size, formula, sizes = BUFFERS[name]
    m = ml.from_sympy({"shape": shape, "size": size}, formula)
    for answer in (ml.is_surjective(m), ml.is_bijective(m)):
        assert answer.holds is False
        assert answer.condition is None or str(answer.condition) == "no sizes"
        assert answer.counterexample.sizes == sizes


def test_an_offset_that_grows_is_injective() -> None:
    grows = ml.from_sympy({"shape": ("M",), "size": "4*M"}, "3*d0 + 2*((d0%6)//3)")
    assert ml.is_injective(grows).holds
    falls = ml.from_sympy({"shape": ("M",), "size": "4*M"}, "d0 + 2*((d0%6)//3)")
    assert ml.is_injective(falls).counterexample.sizes == {"M": 7}


def test_assumptions_stay_when_maps_are_composed() -> None:
    rows = ml.index_map("f32[M,N]{1,0:T(8,128)}", assuming="128 | N")
    swapped = ml.from_sympy({"shape": ("M", "N")}, ("d0", "d1"))
    composed = rows.compose(swapped)
    assert composed.assumptions == rows.assumptions
    assert ml.are_equivalent(composed, rows).holds is True
    assert "assert(N % 128 == 0)" in ml.code(composed, "c", function=True, asserts=True)


def test_a_relayout_speaks_of_the_user_s_own_sizes() -> None:
    n = sympy.Symbol("N", integer=True, positive=True)
    assert n in ml.relayout("{1,0}", "{1,0:T(2,4)}", (4, n)).expr.free_symbols
