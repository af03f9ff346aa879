"""Random forms as devices compute them: truncating division, 32 bits, no overflow, no wrap."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import assume, given, strategies as st

from morello_layouts.core.expr import AffineExpr, cheapest, readable, variable
from morello_layouts.core.expr.substitution import substitute
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.codegen import Formulas, print_formulas
from tests.codegen.test_python import Lane, function_of, triton

BOUNDS = st.sampled_from([
    (0, 31), (0, 0), (-7, 9), (-40, -3), (0, 70000), (-(2**31), 2**31 - 1), (0, 2**33), (None, 5),
    (-3, None), (None, None),
])  # fmt: skip
NUMBERS = st.sampled_from([1, 2, 3, 4, 7, 8, 16, 24, 128, 1000, 65536])
FACTORS = st.sampled_from([1, -1, 2, 3, -5, 8, 64, 1000, -65536])


@st.composite
def forms(draw: st.DrawFn) -> AffineExpr:
    """Sums of digits of sums of digits of up to three variables, and exclusive ors of them."""
    names = ("i", "j", "k")[: draw(st.integers(1, 3))]
    operands = [variable(name, *draw(BOUNDS)) for name in names]
    for _ in range(draw(st.integers(1, 4))):
        parts = draw(st.lists(st.sampled_from(range(len(operands))), min_size=1, max_size=3))
        form = AffineExpr((), draw(st.sampled_from([0, 0, 1, -4, 100])))
        for part in parts:
            form = form + operands[part] * draw(FACTORS)
        form = form // draw(NUMBERS) if draw(st.booleans()) else form
        form = form % draw(NUMBERS) if draw(st.booleans()) else form
        form = form ^ draw(st.sampled_from(operands)) if draw(st.booleans()) else form
        operands.append(form)
    return operands[-1]


def values_of(form: AffineExpr, r: random.Random) -> dict[str, np.ndarray]:
    values = {}
    for var in form.variables():
        lo, hi = var.interval
        least = lo if isinstance(lo, int) else -(2**34)
        most = hi if isinstance(hi, int) else 2**34
        ends = [least, most, max(least, min(most, 0)), max(least, min(most, -1))]
        values[var.name] = np.array(ends + [r.randint(least, most) for _ in range(12)])
    return values


def fits(form: AffineExpr) -> bool:
    """Whether 64 bits hold all values on the way, variables without bounds being as sampled."""
    ends = {}
    for var in form.variables():
        lo, hi = var.interval
        ends[var.name] = variable(var.name, -(2**34) if lo is None else lo, hi or 2**34)
    try:
        for shape in (form, readable(form)[0], cheapest(form)):
            bounded = substitute(shape, ends)
            formulas = Formulas("f", "", bounded.variables(), (("value", bounded),))
            print_formulas(formulas, "triton")
    except UnsupportedError:
        return False
    return True


@given(forms(), st.booleans(), st.sampled_from([None, readable, cheapest]), st.integers(0, 99))
def test_random_forms(form: AffineExpr, shift: bool, simplify: object, seed: int) -> None:
    values = values_of(form, random.Random(seed))
    assume(fits(form))
    wanted = [int(x) for x in np.broadcast_to(form.evaluate(values), (16,))]
    if simplify is readable:
        form = readable(form)[0]
    elif simplify is cheapest:
        form = cheapest(form)
    formulas = Formulas("f", "", form.variables(), (("value", form),))
    values = {var.name: values[var.name] for var in formulas.variables}
    text = print_formulas(formulas, "python", shift=shift, function=True)
    found = function_of(text, "f", {})(*values.values())
    assert [int(x) for x in np.broadcast_to(found, (16,))] == wanted, text
    text = print_formulas(formulas, "triton", shift=shift, function=True)
    lanes = [Lane(x, 32 if abs(x).max() < 2**31 else 64) for x in values.values()]
    found = function_of(text, "f", triton())(*lanes)
    assert [int(x) for x in np.broadcast_to(np.asarray(found), (16,))] == wanted, text
