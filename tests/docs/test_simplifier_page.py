"""Forms in LaTeX, as the documentation shows them."""

from __future__ import annotations


def test_latex_of_a_group_keeps_its_parentheses() -> None:
    from morello_layouts.core.expr import variable
    from morello_layouts.core.expr.affine import digit
    from morello_layouts.core.expr.conversions import latex

    group = digit(variable("i") + variable("j"), 1, None)
    assert latex(4 * group) == r"4 \left(i + j\right)"
    assert latex(group) == r"\left(i + j\right)"
    assert latex(digit(variable("i"), 1, None)) == "i"
