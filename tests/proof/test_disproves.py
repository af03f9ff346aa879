"""Wrong formulas, inverses and recipes are disproved, and hard questions undecided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

import morello_layouts as ml
from morello_layouts import proof
from morello_layouts.core.expr import Interval, variable
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.recipe import Recipe
from morello_layouts.proof.ask import isl_budget
from morello_layouts.proof.isl import Parameters, Space, Value
from tests.support.tables import each_row

Question: TypeAlias = Callable[..., ml.Proof]

TILED = "f32[3,5]{1,0:T(2,2)}"


def test_a_wrong_formula_is_found() -> None:
    m = ml.index_map(TILED)
    wrong = ml.IndexMap(m.recipe, m.reference_form + 1)
    answer = ml.verify(wrong)
    assert answer.holds is False
    assert answer.counterexample == (0, 0)


def test_a_formula_that_is_wrong_at_one_coordinate() -> None:
    m = ml.index_map(TILED)
    d0, d1 = variable("d0", 0, 2), variable("d1", 0, 4)
    corner = (d0 + d1) // 6  # 1 at (2, 4) only
    assert ml.verify(ml.IndexMap(m.recipe, m.reference_form + corner)).counterexample == (2, 4)


def test_expressions_that_differ() -> None:
    i = variable("i", 0, 31)
    answer = proof.are_equal(i // 8, (i + 1) // 8)
    assert answer.holds is False
    assert answer.counterexample == {"i": 7}


@pytest.mark.parametrize("question", [ml.is_injective, ml.is_surjective, ml.is_bijective])
def test_a_map_that_collides(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a relation that forgets the column in the place of a recipe's: no recipe has one."""
    from morello_layouts.proof import relations

    real = relations.axis_values

    def forgetful(recipe: Recipe, space: Space) -> list[Value]:
        return [axis * int(k == 0) for k, axis in enumerate(real(recipe, space))]

    monkeypatch.setattr(relations, "axis_values", forgetful)
    assert question("f32[3,5]{1,0}").decider == "digits"
    answer = question("f32[3,5]{1,0}", confirm=True)
    if question is ml.is_surjective:
        assert answer.decider == "digits; ISL leaves it open"
    else:
        assert answer.holds is None
        assert answer.reason.startswith("a bug: digits say ")
        assert "(0, 0) and (0, 1) share an offset" in answer.reason


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        ("[" + ", ".join(["0 oe(4)"] * 8) + "]", (65536,)),
        ("f32[3,3,3,3,3]{0,1,2,3,4:T(*,*,*,*,7)(5,4)(3,2)}", None),
        ("f32[2295,40]{0,1:T(*,128)(128,7)(2)(*,*,8,3)}", None),
    ],
)
def test_many_levels_are_decided(layout: str, shape: tuple[int, ...] | None) -> None:
    """ISL's own test of injectivity takes seconds to minutes here; a left inverse does not."""
    assert ml.is_injective(layout, shape).holds is True


def test_subs_and_formula_agree() -> None:
    m = ml.index_map("u8[2,11]{0,1:T(5,5)(5,*,4)}")
    for i in range(2):
        for j in range(11):
            assert m.expr.subs(dict(zip(m.symbols, (i, j), strict=True))) == m(i, j)


def test_a_size_of_zero_has_an_inverse() -> None:
    r = ml.relayout("f32[0,5]", "f32[0,5]{0,1:T(2,2)}")
    assert str(r) == "p -> 0"
    assert [str(form) for form in r.inverse.forms] == ["0", "0"]


@pytest.mark.parametrize("expr", ["9 % (2*N+1) - 9", "(N*M) % (2*N+1) - N*M"])
def test_cheapest_keeps_symbolic_constants(expr: str) -> None:
    found = ml.simplify(expr, {"N": (1, None), "M": (1, None)}, target="cheapest")
    for n in range(1, 6):
        for m in range(1, 6):
            values = {s: {"N": n, "M": m}[s.name] for s in found.free_symbols}
            assert found.subs(values) == (9 % (2 * n + 1) - 9 if "9" in expr
                                          else n * m % (2 * n + 1) - n * m)  # fmt: skip


@pytest.mark.parametrize("fill", [300, -1, 1.5, "x", None, [1, 2]])
def test_padding_that_cannot_hold_the_fill(fill: Any) -> None:
    import numpy as np

    with pytest.raises(ml.LayoutError, match="fill: expected"):
        ml.pack("{0:T(2)}", np.zeros(3, np.uint8), fill=fill)


def test_too_many_splits_for_isl_are_left_to_digits() -> None:
    tiles = "(2,3)(3,2)" * 15
    m = ml.index_map(f"f32[1000,1000]{{1,0:T{tiles}}}")
    assert ml.verify(m).decider.startswith("digits and bits; ISL does not say")
    for question in (ml.is_bijective, ml.is_surjective):
        assert question(m).decider == "digits"
        assert question(m, confirm=True).decider == "digits; ISL leaves it open"
    packs = ", ".join(f"{k % 3} p({2 + k % 5})" for k in range(45))
    assert ml.are_equivalent(f"[{packs}]", f"[{packs}]", pack_shape()).holds is True


def pack_shape() -> tuple[int, ...]:
    sizes = [1, 1, 1]
    for k in range(45):
        sizes[k % 3] *= 2 + k % 5
    return tuple(sizes)


def with_inverse(layout: str, **changes: Any) -> ml.IndexMap:
    m = ml.index_map(layout)
    m.__dict__["inverse"] = replace(m.inverse, **changes)
    return m


TAILED = "f32[4,6]{1,0:T(2,2)L(32)}"


def test_a_wrong_inverse_is_found() -> None:
    """verify reads the inverse too: its coordinates, its padding, and the buffer's end."""
    row, column = ml.index_map(TILED).inverse.forms
    at_one_slot = column + variable("p", 0, 23) // 17
    answer = ml.verify(with_inverse(TILED, forms=(row, at_one_slot)))
    assert answer.holds is False
    assert answer.reason.startswith("coordinate 1 of the inverse differs from the recipe")
    for layout in (TILED, TAILED):
        assert ml.verify(layout).holds is True
        limits = ml.index_map(layout).inverse.limits
        for k, limit in enumerate(limits):
            answer = ml.verify(with_inverse(layout, limits=limits[:k] + limits[k + 1 :]))
            assert answer.holds is False, limit
            assert answer.reason.startswith("the padding of the inverse")
        tighter = tuple((form, n - 1) for form, n in limits)
        assert ml.verify(with_inverse(layout, limits=tighter)).holds is False


@pytest.mark.parametrize("wrong", ["more padding", "less padding", "another element"])
def test_a_wrong_inverse_of_the_recipe_is_found(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ISL compares the recipe read backwards with the relation; a lie decides nothing."""
    from morello_layouts.proof import relations

    real = relations.logical_coordinates

    def lying(recipe: Recipe, physical: Sequence[Any]) -> tuple[Any, Any]:
        at, limits = real(recipe, physical)
        if wrong == "more padding":
            return at, tuple((x, n - 1) for x, n in limits)
        if wrong == "less padding":
            return at, limits[:1]
        return (at[0], at[1] * 1 + at[1] // 4), limits

    monkeypatch.setattr(relations, "logical_coordinates", lying)
    assert ml.is_surjective(TILED, confirm=True).decider == "digits; ISL leaves it open"
    answer = ml.verify(TILED)
    assert answer.holds is False
    assert answer.reason == "the recipe read backwards is not its inverse"


def test_quotients_by_a_symbolic_size_need_a_smaller_value() -> None:
    """For d0 < N, d0 mod N is d0; ISL does not decide other remainders of N."""
    within = ml.from_sympy({"shape": ("N",)}, "d0 % N")
    assert ml.are_equivalent(within, ml.from_sympy({"shape": ("N",)}, "d0")).holds is True
    past = ml.from_sympy({"shape": ("N",)}, "(d0 + 1) % N")
    assert ml.are_equivalent(past, ml.from_sympy({"shape": ("N",)}, "d0 + 1")).holds is not True


@each_row("text", ["f32[M,N]{1,0:T(8,128)}", "f32[M,N]{0,1:T(2,2)}", "f32[N]{0:T(6)(4)}"])
def test_wrong_formulas_of_symbolic_sizes_are_refuted(text: str) -> None:
    """ISL alone says that they may differ; small sizes show it."""
    m = replace(ml.index_map(text), origin=None)
    rows, sizes = m.symbols[0], m.recipe.names
    one = variable("d0", 0, None)
    added = replace(m, reference_form=m.reference_form + one // 3)
    answer = ml.verify(added)
    assert answer.holds is False
    assert tuple(answer.counterexample) == tuple(sorted(sizes, key=m.source.index))
    assert answer.reason.startswith("if ")
    for attribute, wrong in (("expr", m.expr + rows // 2), ("reference", m.reference + 1)):
        changed = replace(m)
        changed.__dict__[attribute] = wrong
        assert ml.verify(changed).holds is False, attribute
    for k in range(len(m.inverse.limits)):
        limits = m.inverse.limits[:k] + m.inverse.limits[k + 1 :]
        changed = replace(m)
        changed.__dict__["inverse"] = replace(m.inverse, limits=limits)
        assert ml.verify(changed).holds is False, "padding"
    assert ml.verify(m).holds is True


def test_a_formula_that_is_right_for_some_sizes_is_not_verified() -> None:
    """ISL must prove all sizes, not find that some of them are equal."""
    m = replace(ml.index_map("f32[M,N]{1,0}"), origin=None)
    changed = replace(m)
    _d0, d1 = m.symbols
    changed.__dict__["expr"] = m.expr + d1 // 100
    answer = ml.verify(changed)
    assert answer.holds is not True
    assert ml.verify(changed, assuming="N <= 100").holds is not False


class Negated(ml.Layout):
    """Row-major in one dimension, by a formula that divides by a negative number."""

    def __init__(self, form: Callable[[Any], Any]) -> None:
        self.form = form

    def recipe(self, shape: Any) -> ml.Recipe:
        return ml.Recipe(tuple(shape))

    def reference(self, coordinates: Any, shape: Any) -> Any:
        assert len(shape) == 1
        return self.form(coordinates[0])

    def __str__(self) -> str:
        return "negated"


@each_row(
    ("form", "right"),
    [
        (lambda x: -((-3 * x) // 3), True),
        (lambda x: -((-x) // 3), False),
        (lambda x: -((2 - 3 * x) // 3), True),
        (lambda x: -((-2 * x) // 2) + (-x) // 7 - (-x) // 7, True),
    ],
)
def test_quotients_of_negative_numbers(form: Callable[[Any], Any], right: bool) -> None:
    """SymPy writes ``(-x)//3`` as the floor of a product with -1/3."""
    assert ml.verify(ml.index_map(Negated(form), (9,))).holds is right
    assert ml.verify(ml.index_map(Negated(form), ("N",))).holds is right


@pytest.mark.slow
@each_row("budget", [1, 2, 3, 5, 10, 30, 100, 300, 1000, 3000])
def test_no_budget_ends_in_an_error_of_isl(budget: int) -> None:
    names = ml.index_map("f32[M,N]{1,0:T(8,128)}")
    other = ml.index_map("f32[M,N]{1,0:T(5,7)}")
    large = ml.index_map(f"f32[{2**40},{2**41}]{{1,0:T(8,128)}}")
    for m in (names, large):
        for question in (ml.is_injective, ml.is_surjective, ml.is_bijective, ml.verify):
            question(m, budget=budget)
    assert ml.are_equivalent(names, other, budget=budget).holds is not True
    assert ml.is_bitcast(names, other, budget=budget).holds is not True


def test_one_budget_is_for_the_whole_question() -> None:
    """Neither samples nor candidates get a budget of their own."""
    one, other = (f"f32[M,N,K]{{2,1,0:T(7,*,13)(3,5,2){tile}}}" for tile in ("", "(1)"))
    spent = ml.is_bijective(one, budget=40, confirm=True)
    assert spent.decider == "digits; ISL gave up at its budget"
    assert ml.is_bitcast(one, other, correspondence="any", budget=40).holds


def test_prime_tiles_are_compared_by_increments() -> None:
    """ISL took seconds, and left sizes open."""
    one, other = "f32[M,N,K]{2,1,0:T(7,11,13)(3,5,2)}", "f32[M,N,K]{0,1,2:T(5,3,7)(2,2,9)}"
    answer = ml.are_equivalent(one, other, budget=200_000)
    assert str(answer.condition) == "K = 1 and M = 1 and N = 1"


def test_split_tiles_are_verified_within_a_budget() -> None:
    assert ml.verify("u8[64,30]{1,0:T(3,2)(3,8)}", budget=10_000).holds


def test_an_inverse_that_is_right_for_some_sizes_is_not_verified() -> None:
    m = replace(ml.index_map("f32[N]{0}"), origin=None)  # without a second opinion
    assert ml.verify(m).holds is True
    (form,) = m.inverse.forms
    m.__dict__["inverse"] = replace(m.inverse, forms=(form + form // 1000,))
    assert ml.verify(m).holds is not True


def test_a_size_alone_is_a_function() -> None:
    size = SizeExpr.named("N")
    with isl_budget() as context:
        space = Space.within({"x": Interval(0, size - 1)}, context, Parameters.of([size]))
        function = Value.constant(size, space).function
        assert function.ge_set(space.number(size + 1)).is_empty()
        assert function.le_set(space.number(size - 1)).is_empty()
