"""The list of rules in docs/simplifier.md is that of the rule tables."""

from __future__ import annotations

from simplify_page import part
from simplify_rules import report


def test_the_page_lists_the_rules_as_they_are() -> None:
    assert part("rules") == report(), "run: python tests/benchmarks/simplify_rules.py --write"


def test_latex_of_a_group_keeps_its_parentheses() -> None:
    from morello_layouts.expr import variable
    from morello_layouts.expr.affine import digit
    from morello_layouts.expr.conversions import latex

    group = digit(variable("i") + variable("j"), 1, None)
    assert latex(4 * group) == r"4 \left(i + j\right)"
    assert latex(group) == r"\left(i + j\right)"
    assert latex(digit(variable("i"), 1, None)) == "i"
