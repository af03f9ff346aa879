"""``ml.simplify``: what it reads, text and SymPy, with bounds of every kind; what it refuses."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import sympy
from sympy import Mod, Symbol, ceiling, floor

import morello_layouts as ml
from morello_layouts.core.expr import (
    SHIFTS,
    AffineExpr,
    CostModel,
    Digit,
    cheapest,
    digit,
    variable,
)
from morello_layouts.core.expr.conversions import form_from_sympy, to_sympy
from tests.support.expr_judges import agree
from tests.support.fuzz_simplify import questions
from tests.support.tables import each_row

TARGETS = ("readable", "cheapest")
x, y = Symbol("x", integer=True), Symbol("y", integer=True)
OPEN = {"x": (None, None), "y": (None, None)}


def value_of(expr: Any, values: Any) -> Any:
    """Return the value of a SymPy expression by SymPy's own arithmetic."""
    at = {s: values[s.name] for s in expr.free_symbols}
    return int(expr.subs(at, simultaneous=True))


def python_value(text: Any, values: Any) -> Any:
    """Return the value of a text of Python's operators by Python."""
    return eval(text, {"floor": lambda q: q.__floor__(), "Mod": lambda a, n: a % n}, values)


# Text

TEXTS = [
    "x//-4",
    "-x//4",
    "(-x)//4",
    "x%-4",
    "(x+7)%-3",
    "-(x%-6)//2",
    "x//-3%5",
    "(3*x-2*y)//-5",
    "(x//-2)//-3",
    "x%-8//3",
    "(x%-12)%-4",
    "((x-9)//-4)%-3",
    "- - x//3",
    "x - -3*y//2",
    "(x//4)%8*4 + x%4",
    "x*3//2*2",
    "2*x%3*4",
    "x//(8//2)",
    "x%(2+3)",
    "x*(3-1)//4",
]


@pytest.mark.slow
@each_row("text", TEXTS)
@each_row(
    "bounds",
    [
        {"x": (-20, 20), "y": (-3, 3)},
        {"x": (-17, -2), "y": (0, 3)},
        {"x": (0, None), "y": (None, 2)},
        {"x": (None, -1)},
        {},
    ],
)
def test_text_by_the_semantics_of_floor(text: str, bounds: Any) -> None:
    results = [ml.simplify(text, bounds, target=target) for target in TARGETS]
    window = {"x": (-20, 20), "y": (-3, 3)}
    ranges = []
    for name, (low, high) in window.items():
        lo, hi = bounds.get(name, (None, None))
        ranges.append(range(low if lo is None else lo, (high if hi is None else hi) + 1))
    for a, b in list(product(*ranges))[::19]:
        values = {"x": a, "y": b}
        expected = python_value(text, values)
        for result in results:
            assert value_of(result, values) == expected, f"{text} is not {result} at {values}"


@each_row(
    ("text", "bounds", "printed"),
    [
        ("floor((32*i + j)/8)", {"i": (0, 31), "j": (0, 31)}, "4*i + floor(j/8)"),
        ("Mod(32*i + j, 8)", {"i": (0, 31), "j": (0, 7)}, "j"),
        ("d0%42", {"d0": (53, 71)}, "d0 - 42"),
        ("d0%5", {"d0": (-5, -1)}, "d0 + 5"),
        ("d0%5", {"d0": (-4, 0)}, "Mod(d0, 5)"),
        ("d0%5", {"d0": (None, -1)}, "Mod(d0, 5)"),
        ("d0%5", {"d0": (0, None)}, "Mod(d0, 5)"),
        ("d0//5", {"d0": (3, 4)}, "0"),
        ("x//1 + x%1", {}, "x"),
        ("0*(x//3)", {}, "0"),
        ("5", {}, "5"),
        ("x - x", {}, "0"),
    ],
)
def test_text_and_what_it_becomes(text: str, bounds: Any, printed: str) -> None:
    assert str(ml.simplify(text, bounds)) == printed


def test_factors_that_are_computed_are_numbers() -> None:
    assert str(ml.simplify("7//2*x + y*(17%4)", OPEN)) == "3*x + y"


@pytest.mark.parametrize("lo", [0, 1, 40])
def test_an_integer_factor_makes_no_size_of_a_variable(lo: Any) -> None:
    assert str(ml.simplify("2*x - 16*(x//8)", {"x": (lo, None)})) == "2*(Mod(x, 8))"


@pytest.mark.parametrize("target", TARGETS)
def test_unbounded_variables_of_large_values(target: str) -> None:
    result = ml.simplify("(16*x + y)//8", OPEN, target=target)
    for a, b in product([10**30, -(10**30) - 7, 0], [10**18 + 3, -(10**18) - 3]):
        assert value_of(result, {"x": a, "y": b}) == (16 * a + b) // 8


# SymPy


@each_row(
    ("expr", "printed"),
    [
        (floor(x / -4, evaluate=False), "floor(-x/4)"),
        (floor((3 * x + 1) / 2 - x), "floor(x/2 + 1/2)"),
        (ceiling(x / 8), "-floor(-x/8)"),
        (Mod(4 * x + y, 4), "Mod(y, 4)"),
        (floor(floor(x / 4) / 8), "floor(x/32)"),
        (4 * Mod(floor(x / 4), 8) + Mod(x, 4), "Mod(x, 32)"),
        (x - 8 * floor(x / 8), "Mod(x, 8)"),
        (sympy.Integer(7), "7"),
        (7, "7"),
        (2 * (x + y) - 2 * x, "2*y"),
    ],
)
def test_sympy_and_what_it_becomes(expr: Any, printed: str) -> None:
    assert str(ml.simplify(expr, OPEN)) == printed


def test_symbols_are_bounded_by_their_assumptions() -> None:
    n = Symbol("n", integer=True, positive=True)
    z = Symbol("z", integer=True, nonnegative=True)
    assert ml.simplify(floor((x - z) / 4), {"x": (0, 3), z: (0, 0)}) == 0
    assert str(ml.simplify(floor(-n / (n + 1)), {})) != "0"
    assert str(ml.simplify(Mod(z, 4), {z: (None, 3)})) in {"z", "Mod(z, 4)"}


@pytest.mark.slow
def test_negative_divisors_in_sympy() -> None:
    for expr in (floor(x / -3), Mod(x, -5), floor((2 * x + 1) / -4), -Mod(-x, 7)):
        for target in TARGETS:
            result = ml.simplify(expr, {x: (-30, 30)}, target=target)
            for at in range(-30, 31, 3):
                assert value_of(result, {"x": at}) == int(expr.subs(x, at))


# Refused expressions


# There and back


def forms() -> Any:
    return [q.form() for q in questions(8, 150)]


@pytest.mark.slow
def test_sympy_round_trip_keeps_the_value() -> None:
    for form in forms():
        bounds = {v.name: v.interval for v in form.variables()}
        assert agree(form_from_sympy(to_sympy(form), bounds), form), str(form)


@pytest.mark.slow
def test_text_round_trip_keeps_the_value() -> None:
    for question in questions(9, 150):
        form = question.form()
        bounds = {v.name: v.interval for v in form.variables()}
        assert agree(ml.notations.parse_expression(str(form), bounds), form), str(form)


def groups_in(form: Any) -> Any:
    return [a for a in form.atoms() if isinstance(a, Digit) and a.is_group]


@pytest.mark.slow
def test_grouped_factors_survive_sympy() -> None:
    i, j, k = (variable(name, 0, 31) for name in "ijk")
    form = 24 * (i // 8) + 24 * (j // 8) - 24 * (k % 8) + i
    result = cheapest(form)
    assert groups_in(result)
    assert agree(result, form)
    written = to_sympy(result)
    assert sum(arg.is_Mul and any(a.is_Add for a in arg.args) for arg in written.args) == 1
    for a, b, c in product(range(0, 32, 5), repeat=3):
        values = {"i": a, "j": b, "k": c}
        assert value_of(written, values) == form.evaluate(values)


@pytest.mark.slow
def test_random_cheapest_forms_survive_sympy() -> None:
    seen = 0
    for form in forms():
        result = cheapest(form)
        bounds = {v.name: v.interval for v in form.variables()}
        seen += bool(groups_in(result))
        assert agree(form_from_sympy(to_sympy(result), bounds), form), str(form)
    assert seen > 0


def test_verified_results_are_the_same() -> None:
    for target in TARGETS:
        plain = ml.simplify("(32*i + j)//8 + j%8", {"i": (0, 31), "j": (0, 31)}, target=target)
        proved = ml.simplify(
            "(32*i + j)//8 + j%8", {"i": (0, 31), "j": (0, 31)}, target=target, verify=True
        )
        assert plain == proved


# Costs


def test_costs_of_forms() -> None:
    i, j = variable("i"), variable("j")
    cost = CostModel().cost
    assert cost(i) == cost(i * 0 + 5) == cost(-i) == 0
    assert cost(i + j) == cost(i - j) == cost(i * 2) == cost(i + 1) == 1
    assert cost(i // 8) == cost(i % 8) == 2
    assert cost(digit(i, 4, 8)) == 4
    assert cost(24 * (i // 8) + i) == 4
    assert cost((i + 3 * j) // 8) == 4
    assert cost(AffineExpr.from_terms({(i + j).terms[0][0]: 1, Digit(i + j, 1, None): 5})) == 3


def test_shifts_prefer_powers_of_two() -> None:
    i = variable("i", 0, 1023)
    form = 512 * (i // 8) + i % 8
    few, shifted = cheapest(form), cheapest(form, SHIFTS)
    assert str(few) == "504*(i//8) + i"
    assert str(shifted) == "512*(i//8) + i%8"
    assert CostModel().cost(few) < CostModel().cost(shifted)
    assert SHIFTS.cost(shifted) < SHIFTS.cost(few)
    assert agree(few, shifted)


def test_powers_of_two_under_shifts() -> None:
    assert [SHIFTS.times(n) for n in (1, -1, 2, -8, 3, 24)] == [0, 0, 1, 1, 3, 3]
    assert [SHIFTS.digit(*d) for d in ((1, 8), (8, None), (3, None), (4, 6))] == [1, 1, 12, 13]


def test_a_model_of_the_user_chooses() -> None:
    i = variable("i", 0, 1023)
    form = 32 * (i // 8) + i % 8
    no_mod, no_times = CostModel(modulo=9), CostModel(multiply=9, modulo=1)
    assert "%" not in str(cheapest(form, no_mod))
    assert "%" not in str(ml.simplify("i%8", {"i": (0, 63)}, target="cheapest", cost=no_mod))
    for model in (no_mod, no_times, CostModel(add=0), CostModel(divide=50), SHIFTS):
        result = cheapest(form, model)
        assert agree(result, form)
        assert model.cost(result) <= min(model.cost(form), model.cost(cheapest(form)))
