"""Rewriting ends: each step makes the form smaller, and a simplified form does not change."""

from __future__ import annotations

from typing import Any

import pytest

from morello_layouts.core.expr import (
    AffineExpr,
    Digit,
    canonicalize,
    canonicalize_with_steps,
    digit,
    readable,
    variable,
)
from morello_layouts.core.expr.cheapest import expand_digits
from morello_layouts.core.limits import EXPR_NESTING
from morello_layouts.errors import UnsupportedError
from tests.support.expr_judges import agree
from tests.support.expr_measure import measure
from tests.support.fuzz_simplify import questions
from tests.support.tables import each_row

SEED, COUNT = 31, 400
x, i = variable("x"), variable("i", 0, 31)


def random_forms() -> list[AffineExpr]:
    return [question.form() for question in questions(SEED, COUNT)]


def test_the_measure_of_two_forms() -> None:
    assert measure((x % 12) // 4) == (14, 48, 0, 0, 0, 0)
    assert measure(digit(x, 4, 3)) == (10, 12, 0, 0, 0, 0)


@pytest.mark.slow
def test_every_step_is_an_identity_that_makes_the_form_smaller() -> None:
    fired = set()
    for form in random_forms():
        result, steps = readable(form)
        assert measure(result) <= measure(form)
        for step in steps:
            fired.add(step.rule)
            assert measure(step.after) < measure(step.before), str(step)
            assert agree(step.before, step.after), str(step)
            # Inside of a larger form, the surroundings may grow, but not the whole.
            before, after = ((part * 3 + 15) // 16 for part in (step.before, step.after))
            assert measure(after) < measure(before), str(step)
    assert len(fired) >= 12  # all but the rarest


def test_a_simplified_form_stays_as_it_is() -> None:
    for form in random_forms():
        once = canonicalize(form)
        assert canonicalize(once) == once
        assert canonicalize_with_steps(once) == (once, ())


@pytest.mark.slow
def test_a_readable_form_stays_as_it_is() -> None:
    for form in random_forms():
        shown = readable(form)[0]
        assert readable(shown)[0] == shown, str(form)


def test_expanded_digits_are_equal_floors() -> None:
    for form in random_forms():
        expanded = expand_digits(form)
        assert agree(form, expanded), str(form)
        digits = [atom for atom in expanded.atoms() if isinstance(atom, Digit)]
        assert all(d.modulus is None for d in digits), str(form)


@pytest.mark.slow
def test_tracing_changes_nothing() -> None:
    for form in random_forms():
        assert canonicalize_with_steps(form)[0] == canonicalize(form)


def nested(depth: Any, step: Any) -> Any:
    form = x
    for k in range(depth):
        form = step(form, k)
    return form


@pytest.mark.parametrize(
    "step",
    [
        lambda f, k: f // (2 + k % 3),
        lambda f, k: f % (300 - k),
        lambda f, k: (f + k) // 3,
        lambda f, k: (f * 3 + variable(f"y{k}", -2, 2)) % (k + 5),
        lambda f, k: digit(f + variable(f"y{k}"), 2, 7) * 3 + 1,
        lambda f, k: (f + 1) // 2 - k,
    ],
)
def test_deep_forms_end(step: Any) -> None:
    form = nested(60, step)
    result = canonicalize(form)
    assert canonicalize(result) == result
    for k in range(-40, 40):
        values = {"x": 7 * k} | {f"y{n}": (n + k) % 5 - 2 for n in range(60)}
        assert result.evaluate(values) == form.evaluate(values)


def test_forms_past_the_greatest_depth_are_refused() -> None:
    nested(EXPR_NESTING, lambda f, _: f // 2)
    with pytest.raises(UnsupportedError, match=r"floors, mods and \^ nest deeper than 100"):
        nested(EXPR_NESTING + 1, lambda f, _: f // 2)


@each_row(
    ("form", "printed"),
    [
        (x // 8, "x//8"),
        (x // 4 // 8, "(x//4)//8"),
        ((x % 32) // 4, "(x%32)//4"),
        (x % 32 % 4, "(x%32)%4"),
        (digit(x, 4, 8), "(x//4)%8"),
        ((i * 32 + i) // 8, "(33*i)//8"),
        (i // 32, "i//32"),
        (i % 64, "i%64"),
        ((x + 16) // 8, "(x + 16)//8"),
        ((x // 4) % 8 * 4 + x % 4, "4*((x//4)%8) + x%4"),
        (x - 8 * (x // 8), "-8*(x//8) + x"),
        ((x * 9) % 8, "(9*x)%8"),
    ],
)
def test_constructors_do_not_rewrite(form: Any, printed: str) -> None:
    assert str(form) == printed


def test_even_trivial_digits_stand_until_they_are_simplified() -> None:
    for trivial in (x % 1, x // 1, (x * 0 + 3) // 4):
        assert isinstance(trivial.as_atom(), Digit)
    assert [str(canonicalize(form)) for form in (x % 1, x // 1, (x * 0 + 9) // 4)] == [
        "0",
        "x",
        "2",
    ]
