"""The tests of the rules kill every mutant of the side conditions and of the intervals."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest

from morello_layouts.expr import Interval, bounds, rules
from tests.support.expr_interval_cases import CHECKS, check_levels, check_xors
from tests.support.expr_mutants import mutants_of
from tests.support.expr_rule_cases import (
    ENTRIES,
    check_examples,
    check_fires,
    check_statement,
    check_stays,
    rules_in,
)

DRAWS = 25
"""Nodes of each maker that a mutant is tried on."""

SIGNS = "no test has a factor of unknown sign; without the condition, Digit refuses it as divisor"
LEFT = "a digit that leaves both ends is also one between the ends"

SHIFT = "the quotient of the rest takes the constant back"
SPEED = "a sum of one term has no two digits; the condition saves time"
ORDER = "a digit without a modulus comes first, and the pair the other way round fires"

EQUIVALENT = {
    "reduce_factor: dict(d.operand.terms) == factors -> _is_near(dict(d.operand.terms), factors)": (
        "these are not numbers"
    ),
    "_reduced: without isinstance(factor, SizeExpr)": "the result is right, and rarely useful",
    "_reduced: without isinstance(period, SizeExpr)": "the result is right, and rarely useful",
    "_reduced: isinstance(factor, SizeExpr) or isinstance(period, SizeExpr) -> False": (
        "the result is right, and rarely useful"
    ),
    "_remainders: without not is_nonnegative(g - 1)": SIGNS,
    "statement: without ''": "every rule has a docstring",
    "_remainders: g - 1 -> 1": SIGNS,
    "_remainders: g - 1 -> g": SIGNS,
    "_remainders: g - 1 -> g - 0": SIGNS,
    "_floor: -1 -> -0": "a rest of 0 has returned before",
    "range_of_floors: [1, *radices] -> [0, *radices]": "the weight before the first floor is 0",
    "range_of_floors: [1, *radices] -> [2, *radices]": "the weight before the first floor is 0",
    "split_middle: factors.get(high, 0) -> factors.get(high, -1)": "1 is not above one stride",
    "split_middle: factors.get(high, 0) -> factors.get(high, 1)": "1 is not above one stride",
    "_reduced: factor > 0 -> factor >= 0": "no factor is 0",
    "_reduced: factor > 0 -> factor > -1": "no factor is 0",
    "best: not at_lo and (not at_hi) -> False": LEFT,
    "_xor: some[0] -> some[-1]": "there is only one",
    "_affine_quotient: AffineExpr(tuple(steps), 0) -> AffineExpr(tuple(steps), 1)": SHIFT,
    "_affine_quotient: AffineExpr(tuple(steps), 0) -> AffineExpr(tuple(steps), -1)": SHIFT,
    "_affine_quotient: c > 0 -> c >= 0": "no factor is 0",
    "_affine_quotient: c > 0 -> c > -1": "no factor is 0",
    "_wholes_and_parts: len(form.terms) < 2 -> False": SPEED,
    "_wholes_and_parts: len(form.terms) < 2 -> len(form.terms) < 1": SPEED,
    "_wholes_and_parts: len(form.terms) < 2 or not form.has_digits -> False": SPEED,
    "_wholes_and_parts: without len(form.terms) < 2": SPEED,
    "_wholes_and_parts: without not form.has_digits": SPEED,
    "join_digits: len(form.terms) < 2 -> False": SPEED,
    "join_digits: len(form.terms) < 2 -> len(form.terms) < 1": SPEED,
    "_wholes_and_parts: len(wholes) > 1 -> True": SPEED,
    "_wholes_and_parts: len(wholes) > 1 -> len(wholes) > 0": SPEED,
    "_wholes_and_parts: len(wholes) > 1 -> len(wholes) >= 1": SPEED,
    "subtract_mod: n is not None -> True": ORDER,
    "subtract_mod: without n is not None": ORDER,
    "xor_equal: len(left) == len(x.parts) -> _is_near(len(left), len(x.parts))": (
        "equal parts go in pairs"
    ),
    "best: k + 1 -> k": LEFT,
    "best: k + 1 -> 1": LEFT,
    "best: k + 1 -> k + 0": LEFT,
}
"""Mutants that no test can kill, and why."""


def check_rule(rule: Any) -> None:
    """Check a rule by its entry in the table, on nodes drawn from a seed."""
    entry = ENTRIES[rule.name]
    check_statement(rule)
    check_examples(rule)
    for check, makers in ((check_stays, entry.stays), (check_fires, entry.fires)):
        for maker in makers:
            pick = Random(maker.__name__).randint
            for _ in range(DRAWS):
                check(rule, maker(pick))


def survives_rule_checks(mutant: Any) -> Any:
    """Return whether a mutant passes the checks of its rule, or of all rules if it has none."""
    found = list(rules_in(mutant.load()).values())
    for rule in [r for r in found if r.apply.__name__ == mutant.function] or found:
        try:
            check_rule(rule)
        except Exception:
            return False
    return True


@contextmanager
def methods_of(module: Any) -> Iterator[Any]:
    """Intervals with the methods of a mutated module."""
    own = {k: f for k, f in vars(Interval).items() if isinstance(f, types.FunctionType)}
    try:
        for name in own:
            setattr(Interval, name, vars(module.Interval)[name])
        yield
    finally:
        for name, function in own.items():
            setattr(Interval, name, function)


def survives_bounds_checks(mutant: Any) -> bool:
    """Return whether a mutant of intervals and exact ranges passes all checks."""
    module = mutant.load()
    with methods_of(module):
        functions = [
            lambda: check_levels(module.range_of_floors),
            lambda: check_xors(module.range_of_xor),
        ]
        for check in (*CHECKS, *functions):
            try:
                check()
            except Exception:
                return False
    return True


MODULES = {rules: survives_rule_checks, bounds: survives_bounds_checks}


@pytest.mark.slow
def test_checks_pass_without_mutation() -> None:
    for rule in rules_in(rules).values():
        check_rule(rule)
    for check in CHECKS:
        check()
    check_levels(bounds.range_of_floors)


@pytest.mark.slow
def test_every_mutant_is_killed() -> None:
    mutants = [m for module in MODULES for m in mutants_of(module)]
    survivors = {m.name for m in mutants if MODULES[m.module](m)}
    assert len(mutants) > 700
    new, gone = sorted(survivors - {*EQUIVALENT}), sorted({*EQUIVALENT} - survivors)
    assert not new, "write a maker that kills each of these mutants:\n" + "\n".join(new)
    assert not gone, "killed, so not equivalent: " + ", ".join(gone)
