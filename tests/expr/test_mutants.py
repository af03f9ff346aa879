"""The tests of the rules kill every mutant of the side conditions and of the intervals."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from random import Random
from typing import Any, TypeAlias

import pytest

from morello_layouts.core.expr import AffineExpr, Interval, bounds, rules
from morello_layouts.core.expr.choices import Rule
from tests.mutants import Change, mutants_of
from tests.support.expr_interval_cases import CHECKS, check_hull, check_levels, check_xors
from tests.support.expr_rule_cases import (
    ENTRIES,
    check_fires,
    check_statement,
    check_stays,
    node_of,
    rules_in,
)

RULES = rules_in(rules)

DRAWS = 25
"""Nodes of each maker that a mutant is tried on."""

SIGNS = "no test has a factor of unknown sign; without the condition, Digit refuses it as divisor"
TOP = "no digit lies above the top one, which is the only one without a radix"

SPEED = "a group of one term has no two digits; the condition saves time"
ORDER = "a digit without a modulus comes first, and the pair the other way round fires"

WHOLE = "an atom that is not a digit has no modulus: the question is for types"

EQUIVALENT = {
    "reduce_factor: factors == d.operand.terms -> _is_near(factors, d.operand.terms)": (
        "these are not numbers"
    ),
    "drop_inner_mod: without isinstance(atom, Digit)": WHOLE,
    "join_digits: isinstance(d, Digit) -> True": WHOLE,
    "reduce_factor: without not isinstance(d, Digit)": WHOLE,
    "_wholes_and_parts: parts[0] -> parts[-1]": "all of them have one operand",
    "_largest: [*radices, 0] -> [*radices, 1]": TOP,
    "_largest: [*radices, 0] -> [*radices, -1]": TOP,
    "_reduced: without isinstance(factor, SizeExpr)": "the result is right, and rarely useful",
    "_reduced: without isinstance(period, SizeExpr)": "the result is right, and rarely useful",
    "_reduced: isinstance(factor, SizeExpr) or isinstance(period, SizeExpr) -> False": (
        "the result is right, and rarely useful"
    ),
    "_remainders: without not is_nonnegative(g - 1)": SIGNS,
    "_remainders: g - 1 -> 1": SIGNS,
    "_remainders: g - 1 -> g": SIGNS,
    "_remainders: g - 1 -> g - 0": SIGNS,
    "_floor: -1 -> -0": "a rest of 0 has returned before",
    "range_of_floors: [1, *radices] -> [0, *radices]": "the weight before the first floor is 0",
    "range_of_floors: [1, *radices] -> [2, *radices]": "the weight before the first floor is 0",
    "_reduced: factor > 0 -> factor >= 0": "no factor is 0",
    "_reduced: factor > 0 -> factor > -1": "no factor is 0",
    "hull: 1: -> 0:": "the hull of an interval and itself is the interval",
    "_xor: some[0] -> some[-1]": "there is only one",
    "_affine_quotient: c > 0 -> c >= 0": "no factor is 0",
    "_affine_quotient: c > 0 -> c > -1": "no factor is 0",
    "_neighbors: len(group) > 1 -> True": SPEED,
    "_neighbors: len(group) > 1 -> len(group) > 0": SPEED,
    "_neighbors: len(group) > 1 -> len(group) >= 1": SPEED,
    "join_digits: len(group) < 2 -> False": SPEED,
    "join_digits: len(group) < 2 -> len(group) < 1": SPEED,
    "_floor: type(divisor) is int -> False": SPEED,
    "_floor: type(value) is int -> False": SPEED,
    "_floor: type(value) is int and type(divisor) is int -> False": SPEED,
    "constant_quotient: type(hi) is int -> False": SPEED,
    "constant_quotient: type(lo) is int -> False": SPEED,
    "constant_quotient: type(size) is int -> False": SPEED,
    "constant_quotient: type(lo) is int and type(hi) is int and (type(size) is int) -> False": (
        SPEED
    ),
    "subtract_mod: n is not None -> True": ORDER,
    "subtract_mod: without n is not None": ORDER,
    "xor_equal: len(left) == len(x.parts) -> _is_near(len(left), len(x.parts))": (
        "equal parts go in pairs"
    ),
}
"""Mutants that no test can kill, and why."""


Row: TypeAlias = "tuple[Callable[[Rule[Any], Any], object], Any, AffineExpr | None]"
"""A check of a rule, the node that it is about, and what the rule makes of the node."""


@cache
def rows_of(name: str) -> list[Row]:
    """Return what the entry of a rule asks, checked for the rule itself; first one of each kind."""
    rule, entry = RULES[name], ENTRIES[name]
    found: list[Row] = []
    for form, becomes in entry.examples:
        found.append((partial(check_text, becomes), node_of(rule, form), None))
    found.append((check_stays, node_of(rule, entry.example.stays), None))
    picks = {maker: Random(maker.__name__).randint for maker in (*entry.stays, *entry.fires)}
    for _ in range(DRAWS):
        found += [(check_stays, maker(picks[maker]), None) for maker in entry.stays]
        found += [(check_fires, maker(picks[maker]), None) for maker in entry.fires]
    for check, node, _ in found:
        check(rule, node)
    return [(check, node, rule.apply(node)) for check, node, _ in found]


def check_text(becomes: str, rule: Rule[Any], node: Any) -> None:
    """Assert that the rule rewrites the node, and to this text."""
    check_fires(rule, node)
    assert str(rule.apply(node)) == becomes


def survives_rule_checks(mutant: Change) -> bool:
    """Return whether the rules that call a mutated function pass their checks."""
    with mutant.applied() as module, suppress(Exception):
        found = rules_in(module).values()
        for rule in [r for r in found if mutant.path[-1] in names_in(r.apply)] or found:
            check_statement(rule)
            for check, node, expected in rows_of(rule.name):
                if rule.apply(node) != expected:
                    check(rule, node)
        return True
    return False


def names_in(function: Any) -> set[str]:
    """Return the names of the functions of its module that a function calls, and its own."""
    found, left = set(), [function.__name__]
    while left:
        name = left.pop()
        code = getattr(function.__globals__.get(name), "__code__", None)
        if code is not None and name not in found:
            found.add(name)
            codes = [code, *(c for c in code.co_consts if isinstance(c, types.CodeType))]
            left += [called for c in codes for called in c.co_names]
    return found


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


def survives_bounds_checks(mutant: Change) -> bool:
    """Return whether intervals and exact ranges pass the checks of what calls a mutated function.

    The check that killed the mutant before this one comes first.
    """
    with mutant.applied() as module, methods_of(module):
        for check in list(LAST_KILLER):
            about = ABOUT.get(check)
            if about and mutant.path[-1] not in names_in(vars(module)[about]):
                continue
            try:
                check(*([vars(module)[about]] if about else []))
            except Exception:
                LAST_KILLER.remove(check)
                LAST_KILLER.insert(0, check)
                return False
    return True


ABOUT = {check_hull: "hull", check_levels: "range_of_floors", check_xors: "range_of_xor"}
LAST_KILLER: list[Any] = [*ABOUT, *CHECKS]
MODULES: dict[Any, Any] = {rules: survives_rule_checks, bounds: survives_bounds_checks}


@pytest.mark.slow
def test_checks_pass_without_mutation() -> None:
    for name in RULES:
        rows_of(name)
        check_statement(RULES[name])
    for check in LAST_KILLER:
        check(*([vars(bounds)[ABOUT[check]]] if check in ABOUT else []))


@pytest.mark.slow
def test_every_mutant_is_killed() -> None:
    mutants = [(survives, m) for module, survives in MODULES.items() for m in mutants_of(module)]
    survivors = {mutant.name for survives, mutant in mutants if survives(mutant)}
    assert len(mutants) > 700
    new, gone = sorted(survivors - {*EQUIVALENT}), sorted({*EQUIVALENT} - survivors)
    assert not new, "write a maker that kills each of these mutants:\n" + "\n".join(new)
    assert not gone, "killed, so not equivalent: " + ", ".join(gone)
