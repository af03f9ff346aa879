"""Each rule fires at the edge of its side condition, and does not fire past it."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from morello_layouts.core.expr import AffineExpr, Digit, canonicalize, rules, variable
from morello_layouts.core.expr.choices import Rule
from morello_layouts.core.expr.rules import DIGIT_RULES, SUM_RULES
from morello_layouts.core.expr.simplify import digit_rules, sum_rules
from morello_layouts.core.expr.sizes import SizeExpr, common_divisor, is_nonnegative
from tests.support.expr_rule_cases import (
    ENTRIES,
    Maker,
    check_examples,
    check_fires,
    check_statement,
    check_stays,
    rules_in,
)
from tests.support.expr_rule_makers import Pick
from tests.support.fuzz_simplify import questions
from tests.support.tables import each_row

RULES = rules_in(rules)
FIRES = [(name, maker) for name, entry in ENTRIES.items() for maker in entry.fires]
STAYS = [(name, maker) for name, entry in ENTRIES.items() for maker in entry.stays]


def picker(data: st.DataObject) -> Pick:
    """Return a function that draws a maker's numbers from Hypothesis."""
    return lambda lo, hi: data.draw(st.integers(lo, hi))


def test_every_rule_has_an_entry() -> None:
    assert set(RULES) == set(ENTRIES)


@pytest.mark.parametrize(("name", "maker"), FIRES, ids=lambda x: getattr(x, "__name__", x))
@given(data=st.data())
def test_rule_fires_at_the_edge(name: str, maker: Maker, data: st.DataObject) -> None:
    check_fires(RULES[name], maker(picker(data)))


@pytest.mark.parametrize(("name", "maker"), STAYS, ids=lambda x: getattr(x, "__name__", x))
@given(data=st.data())
def test_rule_stays_past_the_edge(name: str, maker: Maker, data: st.DataObject) -> None:
    check_stays(RULES[name], maker(picker(data)))


@each_row("rule", RULES.values(), ids=list(RULES))
def test_rule_examples(rule: Rule[Any]) -> None:
    check_examples(rule)


def test_common_divisors_of_sizes_are_positive() -> None:
    n = SizeExpr.named("N")
    for a, b in ((-1, 2 * n), (2 * n, -1), (-2 * n, 4 * n), (4, -8 * n), (0, -n), (-6, 4)):
        assert is_nonnegative(common_divisor(a, b) - 1), (a, b)
    r, y = variable("r", -1, 1), variable("y", 0, 4)
    assert str(canonicalize((y * (2 * n) - r) // (4 * n))) == "(2*N*y - r)//(4*N)"


@each_row("rule", RULES.values(), ids=list(RULES))
def test_statement_is_an_identity(rule: Rule[Any]) -> None:
    check_statement(rule)


def first_to_fire(rules: Iterable[Rule[Any]], node: Any) -> tuple[str, AffineExpr] | None:
    """Return the name and the result of the first rule that fires on a node."""
    results = ((rule.name, rule.apply(node)) for rule in rules)
    return next(((name, after) for name, after in results if after is not None), None)


def test_the_rules_that_are_not_asked_would_not_fire() -> None:
    nodes: list[Any] = []
    for _, maker in (*FIRES, *STAYS):
        pick = Random(maker.__name__).randint
        nodes += [maker(pick) for _ in range(5)]
    for question in questions(5, 300):
        form = question.form()
        for x in (form, canonicalize(form)):
            nodes += [x, *x.atoms(), *(a.operand for a in x.atoms() if isinstance(a, Digit))]
    fired = set()
    for node in nodes:
        if isinstance(node, Digit | AffineExpr):
            every, asked = (
                (DIGIT_RULES, digit_rules(node))
                if isinstance(node, Digit)
                else (SUM_RULES, sum_rules(node))
            )
            expected = first_to_fire(every, node)
            assert first_to_fire(asked, node) == expected, node
            fired |= {expected and expected[0]}
    assert fired >= {rule.name for rule in (*DIGIT_RULES, *SUM_RULES)}
