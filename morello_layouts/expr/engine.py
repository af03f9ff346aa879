"""The simplifier: rules applied to a fixpoint, innermost digits first, with a trace if wanted.

It ends because every rule makes the form smaller in one measure, compared lexicographically:
(number of digits and moduli at all depths, sum of the logarithms of divisors and moduli, sum of
the sizes of coefficients and constants under digits). unwrap, one-value, nest, absorb-mod,
drop-mod and join-digits lower the first, drop-remainder and split-remainder the second
(split-remainder may split one digit in two, but the modulus of what stays under mod shrinks, and
the quotient that it leaves is of a part of the operand), pull-multiples the third.
"""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts.expr.form import Digit, Linear, Var
from morello_layouts.expr.rules import DIGIT_RULES, SUM_RULES

__all__ = ["Rewriting", "rewrite", "trace"]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One rule at work: its name and statement, the form before and the form after."""

    rule: str
    statement: str
    before: Linear
    after: Linear

    @property
    def because(self) -> str:
        """The bounds that the rule used, in words."""
        parts = []
        for atom, _ in self.before.terms:
            if isinstance(atom, Digit):
                parts.append(f"{atom.of} is in {atom.of.interval}")
        return "; ".join(dict.fromkeys(parts))

    def __str__(self) -> str:
        return f"{self.rule}: {self.before} = {self.after}   ({self.because})"


def rewrite(form: Linear) -> Linear:
    """The form with every rule applied until none applies.

    >>> from morello_layouts.expr.form import variable
    >>> i, j = variable("i", 0, 31), variable("j", 0, 31)
    >>> print(rewrite((32 * i + j) // 8))
    4*i + j//8
    """
    return _Run(None).linear(form)


def trace(form: Linear) -> tuple[Linear, tuple[Rewriting, ...]]:
    """What :func:`rewrite` gives, and the rules that fired on the way, in order."""
    steps: list[Rewriting] = []
    return _Run(steps).linear(form), tuple(steps)


class _Run:
    """One simplification: digits seen so far, and the trace where one is kept."""

    __slots__ = ("done", "steps")

    def __init__(self, steps: list[Rewriting] | None) -> None:
        self.done: dict[Digit, Linear] = {}
        self.steps = steps

    def linear(self, form: Linear) -> Linear:
        total: dict[Digit | Var, int] = {}
        const, changed = form.const, False
        for atom, c in form.terms:
            if isinstance(atom, Var):
                total[atom] = total.get(atom, 0) + c
                continue
            simple = self.digit(atom)
            changed |= simple.as_atom() is not atom
            const += c * simple.const
            for a, k in simple.terms:
                total[a] = total.get(a, 0) + c * k
        if changed:
            form = Linear.of(total, const)
        return self.sum(form)

    def digit(self, d: Digit) -> Linear:
        found = self.done.get(d)
        if found is None:
            found = self.done[d] = self._digit(d)
        return found

    def _digit(self, d: Digit) -> Linear:
        of = self.linear(d.of)
        if of is not d.of:
            d = Digit(of, d.divisor, d.modulus)
        for rule in DIGIT_RULES:
            after = rule.apply(d)
            if after is not None:
                if self.steps is not None:
                    before = Linear(((d, 1),), 0)
                    self.steps.append(Rewriting(rule.name, rule.statement, before, after))
                return self.linear(after)
        return Linear(((d, 1),), 0)

    def sum(self, form: Linear) -> Linear:
        for rule in SUM_RULES:
            after = rule.apply(form)
            if after is not None:
                if self.steps is not None:
                    self.steps.append(Rewriting(rule.name, rule.statement, form, after))
                return self.linear(after)
        return form
