"""Verdicts hold for the formulas that users get: a fault in them is never called proved."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.fields import plain
from tests.support.planted_bugs import BUGS, LAYOUTS, Bug, map_of
from tests.support.tables import each_row

IN_FORMULAS = [bug for bug in BUGS if bug.where in ("rule", "bounds", "formula", "bridge")]
TILED = "f32[3,5]{1,0:T(2,2)}"


def questions(m: ml.IndexMap) -> list[Callable[[], ml.Proof]]:
    return [
        lambda: ml.is_injective(m),
        lambda: ml.is_surjective(m, confirm=True),
        lambda: ml.is_bijective(m),
        lambda: ml.are_equivalent(m, m),
    ]


@each_row("bug", IN_FORMULAS, ids=lambda bug: bug.name)
def test_a_planted_bug_leaves_nothing_proved(bug: Bug) -> None:
    assert ml.is_injective(map_of(*bug.shown_by), confirm=True).judged == "formulas"
    with bug.planted():
        m = map_of(*bug.shown_by)
        assert m.expr is not None  # what SymPy holds is judged once a user has it
        for ask in questions(m):
            assert ask().holds is None


@pytest.mark.slow
@pytest.mark.parametrize("bug", IN_FORMULAS, ids=lambda bug: bug.name)
def test_no_expression_that_a_bug_spoils_is_proved(bug: Bug) -> None:
    with bug.planted():
        for row in LAYOUTS:
            try:
                m = map_of(*row)
            except ml.LayoutError:
                continue  # the bug divides a size that nothing divides
            assert m.expr is not None
            injective, bijective = ml.is_injective(m), ml.is_bijective(m)
            for sizes in product((1, 2, 8, 64), repeat=len(m.recipe.names)):
                values = dict(zip(m.recipe.names, sizes, strict=True))
                with suppress(ml.ShapeError):  # sizes that are not as assumed
                    if prod(m.at(**values).recipe.shape) > 600:
                        continue
                    offsets, size = offsets_of_expression(m, values)
                    assert not injective.holds or len(set(offsets)) == len(offsets), row
                    assert not bijective.holds or set(offsets) == set(range(size)), row


def offsets_of_expression(m: ml.IndexMap, sizes: dict[str, int]) -> tuple[list[int], int]:
    concrete = m.at(**sizes)
    names = {s: sizes[s.name] for s in m.expr.free_symbols if s.name in sizes}
    expr = m.expr.subs(names)
    at = product(*map(range, concrete.recipe.shape))
    found = [int(expr.subs(dict(zip(m.symbols, x, strict=True)))) for x in at]
    return found, concrete.size


def test_a_wrong_expression_is_named() -> None:
    m = ml.index_map("[1, 0, 1 p(4)]", (6, 8))
    d0, d1 = m.symbols
    m.__dict__["expr"] = 4 * d0 + d1 % 4
    answer = ml.is_bijective(m)
    assert answer.holds is None
    assert answer.reason == "the SymPy expression differs from the recipe at (0, 4); ask verify"


def test_a_wrong_formula_is_named() -> None:
    m = ml.index_map(TILED)
    wrong = replace(m, reference_form=m.reference_form + 1)
    assert ml.is_bijective(wrong).judged == ""  # nobody asked for the formula
    assert ml.is_bijective(wrong, confirm=True).reason == (
        "the simplified formula differs from the recipe at (0, 0); ask verify"
    )
    assert ml.are_equivalent(wrong, m).holds is None


def test_an_expression_made_later_is_looked_at_again() -> None:
    m = ml.index_map("f32[M,N]{1,0:T(8,128)}")
    assert ml.is_injective(m).judged == ""
    assert ml.is_injective(m, confirm=True).judged == "formulas"
    m.__dict__["expr"] = m.expr + 1
    assert ml.is_injective(m).holds is None


def test_what_cannot_be_compared_is_said() -> None:
    """Floors of several symbolic coordinates are equal if they are written alike."""
    m = ml.index_map("f32[A,B]{1,0:T(*,2)}", assuming="B % 2 == 0")
    assert ml.is_injective(m, confirm=True).judged == "formulas"
    wide = ml.index_map("f32[A,B]{1,0:T(*,2)}")
    d0, d1 = wide.symbols
    size = next(s for s in wide.expr.free_symbols if s.name == "B")
    x = d0 * size + d1
    wide.__dict__["expr"] = (x + 1) // 2 + x // 2  # which is x
    answer = ml.is_injective(wide)
    assert answer.holds is True
    assert "Judged: the recipe only: the SymPy expression was not compared" in str(answer)


def test_json_says_what_was_judged() -> None:
    assert plain(ml.is_bijective(TILED, confirm=True))["judged"] == "formulas"
    assert plain(ml.verify(TILED))["judged"] == ""


BLOG = "bf16[8,1,1280,16384]{3,2,1,0:T(8,128)(2,1)}"
TABLE: list[tuple[Any, str, Any, str, bool | None]] = [
    (("M", "N"), "N*d0 + d1", "M*N", "all sizes", True),
    (("M", "N"), "M*d1 + d0", "M*N", "all sizes", True),
    (("M", "N"), "M*N - 1 - N*d0 - d1", "M*N", "all sizes", True),
    (("M", "N"), "2*N*d0 + d1", "2*M*N", "no sizes", False),
    (("M", 56), "56*d0 + 8*(d1%7) + d1//7", "56*M", "all sizes", True),
    ((1 << 14, 1 << 14), "16384*d0 + d1", 1 << 28, "", True),
    ((1 << 40, 1 << 40), "2^40*d0 + d1".replace("2^40", str(1 << 40)), 1 << 80, "", True),
    ((1 << 14, 1 << 14), "16383*d0 + d1", 1 << 28, "", False),
    ((1 << 14, 1 << 14), "16384*d0 + 2*(d1%8192) + d1//8192", 1 << 28, "", True),
    ((1 << 14, 21), "21*d0 + 3*(d1%7) + d1//7", 21 << 14, "", True),
]  # fmt: skip


@each_row(("shape", "text", "size", "condition", "holds"), TABLE)
def test_formulas_of_users_are_proved(
    shape: Any, text: str, size: Any, condition: str, holds: bool
) -> None:
    answer = ml.is_bijective(ml.from_sympy({"shape": shape, "size": size}, text))
    assert answer.holds is holds
    assert answer.judged == "formulas"
    assert str(answer.condition or "") == condition


def test_the_formula_of_a_large_layout_is_proved() -> None:
    m = ml.index_map(BLOG)
    answer = ml.is_bijective(ml.from_sympy({"shape": m.shape, "size": m.size}, m.expr))
    assert answer.holds is True
    tiled = ml.index_map("f32[M,N]{1,0:T(8,128)}")
    again = ml.is_bijective(ml.from_sympy({"shape": ("M", "N"), "size": tiled.size}, tiled.expr))
    assert str(again.condition) == "8 | M and 128 | N"


def test_a_collision_past_enumeration_is_found_by_isl() -> None:
    answer = ml.is_injective(ml.from_sympy((1 << 20, 1 << 12), "(4096*d0 + d1) % 16777215"))
    assert answer.holds is False
    one, other = answer.counterexample
    assert (4096 * one[0] + one[1] - 4096 * other[0] - other[1]) % 16777215 == 0
    assert one != other


@each_row("text", ["a b -> b a", "lambda i, j: (j, i)", "affine_map<(d0, d1) -> (d1, d0)>", "ba"])
def test_an_array_without_elements_has_no_fault(text: str) -> None:
    m = ml.index_map(text, (0, 3))
    assert all(ask().holds for ask in questions(m))
    assert ml.agree(m, m).holds


FEW: Any = {
    "i ^ 2": {"i": 4},
    "j ^ i": {"i": 2, "j": 5},
    "5*(j%8) ^ j": {"i": 4, "j": 6},
    "(i ^ j) + 3*i": {"i": 3, "j": 3},
    "7*(i ^ 5) + (j ^ 3)": {"i": 6, "j": 5},
    "4*(i ^ j) + i": {"i": 2, "j": 4},
}


@each_row("text", FEW)
def test_few_elements_are_counted_where_isl_does_not_read(text: str) -> None:
    shape, python = FEW[text], compile(text, "", "eval")
    offsets = [
        eval(python, dict(zip(shape, at, strict=True)))
        for at in product(*map(range, shape.values()))
    ]
    answer = ml.is_injective(ml.from_sympy(shape, text))
    assert answer.holds is (len({*offsets}) == len(offsets))
    size = max(offsets) + 1
    numbered = text.replace("i", "d0").replace("j", "d1")
    given = {"shape": tuple(shape.values()), "size": size}
    onto = ml.is_bijective(ml.from_sympy(given, numbered))
    assert onto.holds is (sorted(offsets) == [*range(size)])


OPEN_ENDS = ["(3 - i)//4", "i//-2", "(j - i)//8", "(i//3 - i)//4", "j - (j//-2)//8", "i - (M*j)//2"]


@each_row("text", OPEN_ENDS)
def test_formulas_that_fall_without_a_known_end_have_a_verdict(text: str) -> None:
    """A counterexample of the verdict collides by Python's own integers."""
    answer = ml.is_injective(ml.from_sympy({"i": "M", "j": "N"}, text))
    assert answer.holds is not True
    if answer.holds is False:
        sizes, pair = answer.counterexample.sizes, answer.counterexample.at
        one, other = (eval(text, {**sizes, **dict(zip("ij", at, strict=True))}) for at in pair)
        assert one == other


@each_row(("text", "size"), [("(i - i)%M", 3), ("(i ^ i)%N", 3), ("i + (i - i)//K", "N")])
def test_names_that_cancel_are_tried_too(text: str, size: Any) -> None:
    m = ml.index_map(ml.from_sympy({"i": size}, text))
    assert ml.verify(m).holds is True
    assert "verified" in str(ml.explain(m))
