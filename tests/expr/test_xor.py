"""Exclusive ors: simplified, bounded, printed and read, against every value of the variables."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.core.expr import (
    AffineExpr,
    Interval,
    canonicalize,
    cheapest,
    readable,
    variable,
)
from morello_layouts.core.expr.affine import xor
from morello_layouts.core.expr.conversions import form_from_sympy, latex, to_sympy
from morello_layouts.core.expr.sympy_functions import BitXor
from morello_layouts.notations import parse_expression
from tests.support.expr_judges import differences, grid_of, variables_of
from tests.support.tables import each_row

X, Y, Z = variable("i", 0, 31), variable("j", 0, 63), variable("r", -5, 9)


@st.composite
def forms(draw: st.DrawFn) -> AffineExpr:
    """Sums, digits and exclusive ors of three variables, as swizzles nest them and otherwise."""
    operands = [X, Y, Z]
    for _ in range(draw(st.integers(1, 4))):
        form = AffineExpr((), draw(st.sampled_from([0, 0, 1, -4, 12])))
        for part in draw(st.lists(st.sampled_from(operands), min_size=1, max_size=3)):
            form = form + part * draw(st.sampled_from([1, 1, -1, 2, 3, 8, 64]))
        how = draw(st.sampled_from(["//", "%", "^", "^", "both"]))
        by = draw(st.sampled_from([1, 2, 3, 4, 8, 12, 32]))
        form = form // by if how in ("//", "both") else form
        form = form % by if how in ("%", "both") else form
        form = form ^ draw(st.sampled_from(operands)) if how == "^" else form
        operands.append(form)
    return operands[-1]


@given(forms())
def test_simplified_forms_have_the_same_values(form: AffineExpr) -> None:
    for simplified in (canonicalize(form), readable(form)[0], cheapest(form)):
        assert differences(form, simplified) is None, f"{form} is not {simplified}"
    assert canonicalize(canonicalize(form)) == canonicalize(form)


@given(forms())
def test_bounds_hold_every_value(form: AffineExpr) -> None:
    values = np.asarray(form.evaluate(grid_of(variables_of(form))))
    assert form.interval.within(*form.interval)
    assert form.interval.lo is not None
    assert form.interval.hi is not None
    assert form.interval.lo <= values.min() <= values.max() <= form.interval.hi


@given(forms())
def test_text_and_sympy_are_read_back(form: AffineExpr) -> None:
    bounds = {v.name: v.interval for v in form.variables()}
    assert differences(parse_expression(str(form), bounds), form) is None
    for simple in (canonicalize(form), cheapest(form)):
        expr = to_sympy(simple)
        assert differences(form_from_sympy(expr, bounds), form) is None, expr
        assert differences(parse_expression(str(expr), bounds), form) is None, expr


@given(forms(), st.integers(0, 31), st.integers(0, 63), st.integers(-5, 9))
def test_sympy_evaluates_substitutes_and_compiles(form: AffineExpr, i: int, j: int, r: int) -> None:
    values = {"i": i, "j": j, "r": r}
    expr, names = to_sympy(canonicalize(form)), [v.name for v in form.variables()]
    symbols = {s.name: s for s in expr.free_symbols}
    wanted = form.evaluate(values)
    assert expr.subs({symbols[name]: values[name] for name in symbols}) == wanted
    for name, symbol in symbols.items():  # one at a time
        expr = expr.subs(symbol, values[name])
    assert expr == wanted
    expr = to_sympy(canonicalize(form))
    own = [symbols.get(name, sympy.Symbol(name)) for name in names]
    for modules in ("math", "numpy"):
        found = sympy.lambdify(own, expr, modules)
        assert found(*(values[name] for name in names)) == wanted
    arrays = [np.array([values[name], 3]) for name in names]
    assert np.broadcast_to(sympy.lambdify(own, expr, "numpy")(*arrays), (2,))[0] == wanted


@each_row(
    "row",
    [
        ("i ^ j", "(i ^ j)"),
        ("i ^ i", "0"),
        ("i ^ 0 ^ j", "(i ^ j)"),
        ("i ^ j ^ i", "j"),
        ("5 ^ 3", "6"),
        ("8*i ^ j % 8", "8*i + j%8"),
        ("(64*i + j) ^ 2*((j//8) % 4)", "64*i + (j ^ 2*((j//8)%4))"),
        ("(i ^ 8*j) // 8", "(j ^ i//8)"),
        ("(i ^ 8*j) % 8", "i%8"),
        ("((i ^ j) // 3) % 2", "((i ^ j)//3)%2"),
        ("(i ^ j) // 32", "j//32"),
        ("(i ^ j) % 64", "(i ^ j)"),
        ("i ^ j + 1", "(i ^ j + 1)"),  # ^ binds less than +
        ("2*(i ^ j) + 1", "2*(i ^ j) + 1"),
    ],
)  # fmt: skip
def test_simplified_text(row: tuple[str, str]) -> None:
    text, simple = row
    form = parse_expression(text, {"i": Interval(0, 31), "j": Interval(0, 63)})
    assert str(canonicalize(form)) == simple


def test_numbers_become_one_number() -> None:
    """SymPy evaluates no exclusive or of numbers that stands inside of another by itself."""
    text = "((i ^ j) % 2) ^ ((3 ^ 8) ^ (r + 15))"
    bounds = {"i": (0, 31), "j": (0, 63), "r": (-5, 9)}
    found = ml.simplify(text, bounds, target="cheapest")
    i, j, r = sorted(found.free_symbols, key=str)
    assert found.subs({i: 2, j: 7, r: 8}) == 1 ^ 11 ^ 23


def test_latex() -> None:
    form = 8 * X + xor(Y, X % 8)
    assert latex(form) == r"8 i + \left(j \oplus \left(i \bmod 8\right)\right)"
    assert latex(X ^ (Y + 1)) == r"\left(i \oplus \left(j + 1\right)\right)"
    assert sympy.latex(BitXor(*sympy.symbols("i j"))) == r"\left(i \oplus j\right)"


def test_the_xor_of_sympy_is_read_but_no_negation() -> None:
    i, j = sympy.symbols("i j", integer=True, nonnegative=True)
    assert ml.simplify(i ^ j, {i: (0, 7), j: (0, 7)}) == BitXor(i, j)
    with pytest.raises(ml.LayoutError):
        ml.simplify(~i, {i: (0, 7)})


def test_a_swizzle_in_steps_and_by_its_flat_formula() -> None:
    """Merge, split, xor is CuTe's ``Sw<3,0,3>`` on the offset, as a formula too."""
    flat = 8 * X + Y % 8
    assert canonicalize(flat ^ ((flat // 8) % 8)) == canonicalize(8 * X + ((Y % 8) ^ (X % 8)))
