"""The simplifier: rules applied to a fixpoint, innermost digits first, with a trace if wanted.

It ends because each rule lowers a measure of the form, compared from left to right. First the
weight: a variable weighs 1, a sum one more than its terms together, a digit twice its operand, and
1 for a division or a remainder, 5 for both. Then the product of all divisors and moduli, at all
depths. Then how many factors and constants under digits are not reduced, below 0 or from the
period s·n on, where those of an operand count twice as much as those of the digit around it. Each
part grows with its own parts, so what makes a piece smaller makes the whole smaller. The tests hold
each rule at its edges, and every step of many traces, against the measure.
"""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts.expr.form import Digit, Linear, Var
from morello_layouts.expr.rules import (
    DIGIT_RULES,
    LAST_RULES,
    OUTER_DIGIT_RULES,
    OUTER_SUM_RULES,
    SUM_RULES,
    SUM_RULES_AFTER_JOIN,
    VARIABLE_RULES,
    Node,
    Rule,
)
from morello_layouts.expr.size import Number

__all__ = ["Rewriting", "rewrite", "trace"]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One rule at work: its name and statement, the form before and the form after.

    Attributes:
        rule: its name.
        statement: the identity and its side condition.
        before: the form that the rule saw.
        after: what it made of it.
    """

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
    return _Run(None).whole(form)


def trace(form: Linear) -> tuple[Linear, tuple[Rewriting, ...]]:
    """What :func:`rewrite` gives, and the rules that fired on the way, in order."""
    steps: list[Rewriting] = []
    return _Run(steps).whole(form), tuple(steps)


class _Run:
    """One simplification: digits seen so far, and the trace where one is kept."""

    __slots__ = ("done", "lasts", "steps")

    def __init__(self, steps: list[Rewriting] | None) -> None:
        self.done: dict[Digit, Linear] = {}
        self.lasts: dict[Linear, Linear] = {}
        self.steps = steps

    def linear(self, form: Linear) -> Linear:
        if not form.has_digits:
            after = self.first(VARIABLE_RULES, form)
            return form if after is None else after
        form = joined = self.outer(form)
        total: dict[Digit | Var, Number] = {}
        const, changed = form.const, False
        for atom, c in form.terms:
            if isinstance(atom, Var):
                total[atom] = total.get(atom, 0) + c
                continue
            simple = self.digit(atom)
            if simple.as_atom() is atom:
                total[atom] = total.get(atom, 0) + c
                continue
            changed = True
            const += c * simple.const
            for a, k in simple.terms:
                total[a] = total.get(a, 0) + c * k
        if changed:
            form = Linear.of(total, const)
        # Joining was tried on a form that nothing has changed since.
        return self.sum(form, SUM_RULES if form is not joined else SUM_RULES_AFTER_JOIN)

    def digit(self, d: Digit) -> Linear:
        found = self.done.get(d)
        if found is None:
            found = self.done[d] = self._digit(d)
        return found

    def _digit(self, d: Digit) -> Linear:
        of = self.linear(d.of)
        if of is not d.of:
            d = Digit(of, d.divisor, d.modulus)
        after = self.first(DIGIT_RULES, d)
        return Linear(((d, 1),), 0) if after is None else self.linear(after)

    def outer(self, form: Linear) -> Linear:
        """The form after the rules that compare operands as they are written."""
        flat = [(self.flat(a) if isinstance(a, Digit) else a, c) for a, c in form.terms]
        if any(a is not b for (a, _), (b, _) in zip(flat, form.terms, strict=True)):
            form = Linear.of(flat, form.const)
        while len(form.terms) > 1 and (joined := self.first(OUTER_SUM_RULES, form)) is not None:
            form = joined
        return form

    def flat(self, d: Digit) -> Digit:
        """The digit after the rules for digits of digits."""
        while d.of.has_digits:
            after = self.first(OUTER_DIGIT_RULES, d)
            nested = after.as_atom() if after is not None else None
            if not isinstance(nested, Digit):
                return d
            d = nested
        return d

    def sum(self, form: Linear, rules: tuple[Rule[Linear], ...] = SUM_RULES) -> Linear:
        after = self.first(rules, form)
        return form if after is None else self.linear(after)

    def first(self, rules: tuple[Rule[Node], ...], node: Node) -> Linear | None:
        """What the first rule that applies makes of a node; None if none does."""
        for rule in rules:
            after = rule.apply(node)
            if after is not None:
                if self.steps is not None:
                    before = Linear(((node, 1),), 0) if isinstance(node, Digit) else node
                    self.steps.append(Rewriting(rule.name, rule.statement, before, after))
                return after
        return None

    def whole(self, form: Linear) -> Linear:
        """The form simplified, the last rules too, at every depth."""
        simple = self.linear(form)
        while True:
            last = self.last(simple)
            if last is simple:
                return simple
            simple = self.linear(last)

    def last(self, form: Linear) -> Linear:
        """The form after the last rules; the same object where none applies."""
        if not form.has_digits:
            return form
        found = self.lasts.get(form)
        if found is None:
            found = self.lasts[form] = self._last(form)
        return form if found == form else found

    def _last(self, form: Linear) -> Linear:
        terms: list[tuple[Digit | Var, Number]] = []
        for atom, c in form.terms:
            inner = self.last(atom.of) if isinstance(atom, Digit) else None
            if inner is None or not isinstance(atom, Digit) or inner is atom.of:
                terms.append((atom, c))
            else:
                terms.append((Digit(inner, atom.divisor, atom.modulus), c))
        if any(a is not b for (a, _), (b, _) in zip(terms, form.terms, strict=True)):
            form = Linear.of(terms, form.const)
        return self.sum(form, LAST_RULES)
