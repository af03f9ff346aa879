"""Apply the rules until none fires, and record each application."""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts.expr.affine import AffineExpr, Digit, Var
from morello_layouts.expr.rules import (
    DIGIT_RULES,
    LAST_RULES,
    OUTER_DIGIT_RULES,
    OUTER_SUM_RULES,
    READABLE_RULES,
    SUM_RULES,
    SUM_RULES_AFTER_JOIN,
    VARIABLE_RULES,
    Node,
    Rule,
    split_middle,
)
from morello_layouts.expr.sizes import Int


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """One rule at work: its name and statement, the form before and the form after.

    Attributes:
        rule: its name.
        statement: the identity and its side condition.
        before: the form that the rule saw.
        after: what it made of it.
    """

    rule: str
    statement: str
    before: AffineExpr
    after: AffineExpr

    @property
    def because(self) -> str:
        """The bounds that the rule used, in words."""
        parts = []
        for atom, _ in self.before.terms:
            if isinstance(atom, Digit):
                parts.append(f"{atom.operand} is in {atom.operand.interval}")
        return "; ".join(dict.fromkeys(parts))

    def __str__(self) -> str:
        return f"{self.rule}: {self.before} = {self.after}   ({self.because})"


def canonicalize(form: AffineExpr) -> AffineExpr:
    """The form with every rule applied until none applies.

    >>> from morello_layouts.expr.affine import variable
    >>> i, j = variable("i", 0, 31), variable("j", 0, 31)
    >>> print(canonicalize((32 * i + j) // 8))
    4*i + j//8
    """
    return _Run(None).whole(form)


def canonicalize_with_steps(form: AffineExpr) -> tuple[AffineExpr, tuple[RewriteStep, ...]]:
    """What :func:`canonicalize` gives, and the rules that fired on the way, in order."""
    steps: list[RewriteStep] = []
    return _Run(steps).whole(form), tuple(steps)


class _Run:
    """One simplification: digits seen so far, and the canonicalize_with_steps where one is kept."""

    __slots__ = ("done", "lasts", "steps")

    def __init__(self, steps: list[RewriteStep] | None) -> None:
        self.done: dict[Digit, AffineExpr] = {}
        self.lasts: dict[AffineExpr, AffineExpr] = {}
        self.steps = steps

    def linear(self, form: AffineExpr) -> AffineExpr:
        if not form.has_digits:
            after = self.first(VARIABLE_RULES, form)
            return form if after is None else after
        form = joined = self.outer(form)
        total: dict[Digit | Var, Int] = {}
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
            form = AffineExpr.from_terms(total, const)
        # Joining was tried on a form that nothing has changed since.
        return self.sum(form, SUM_RULES if form is not joined else SUM_RULES_AFTER_JOIN)

    def digit(self, d: Digit) -> AffineExpr:
        found = self.done.get(d)
        if found is None:
            found = self.done[d] = self._digit(d)
        return found

    def _digit(self, d: Digit) -> AffineExpr:
        of = self.linear(d.operand)
        if of is not d.operand:
            d = Digit(of, d.divisor, d.modulus)
        after = self.first(DIGIT_RULES, d)
        return AffineExpr(((d, 1),), 0) if after is None else self.linear(after)

    def outer(self, form: AffineExpr) -> AffineExpr:
        """The form after the rules that compare operands as they are written."""
        flat = [(self.flat(a) if isinstance(a, Digit) else a, c) for a, c in form.terms]
        if any(a is not b for (a, _), (b, _) in zip(flat, form.terms, strict=True)):
            form = AffineExpr.from_terms(flat, form.const)
        while len(form.terms) > 1 and (joined := self.first(OUTER_SUM_RULES, form)) is not None:
            form = joined
        return form

    def flat(self, d: Digit) -> Digit:
        """The digit after the rules for digits of digits."""
        while d.operand.has_digits:
            after = self.first(OUTER_DIGIT_RULES, d)
            nested = after.as_atom() if after is not None else None
            if not isinstance(nested, Digit):
                return d
            d = nested
        return d

    def sum(self, form: AffineExpr, rules: tuple[Rule[AffineExpr], ...] = SUM_RULES) -> AffineExpr:
        after = self.first(rules, form)
        return form if after is None else self.linear(after)

    def first(self, rules: tuple[Rule[Node], ...], node: Node) -> AffineExpr | None:
        """What the first rule that applies makes of a node; None if none does."""
        for rule in rules:
            after = rule.apply(node)
            if after is not None:
                if self.steps is not None:
                    before = AffineExpr(((node, 1),), 0) if isinstance(node, Digit) else node
                    self.steps.append(RewriteStep(rule.name, rule.statement, before, after))
                return after
        return None

    def whole(self, form: AffineExpr) -> AffineExpr:
        """The form simplified, the last rules too, at every depth."""
        simple = self.linear(form)
        while True:
            last = self.last(simple)
            if last is simple:
                return simple
            simple = self.linear(last)

    def last(self, form: AffineExpr) -> AffineExpr:
        """The form after the last rules; the same object where none applies."""
        if not form.has_digits:
            return form
        found = self.lasts.get(form)
        if found is None:
            found = self.lasts[form] = self._last(form)
        return form if found == form else found

    def _last(self, form: AffineExpr) -> AffineExpr:
        terms: list[tuple[Digit | Var, Int]] = []
        for atom, c in form.terms:
            inner = self.last(atom.operand) if isinstance(atom, Digit) else None
            if inner is None or not isinstance(atom, Digit) or inner is atom.operand:
                terms.append((atom, c))
            else:
                terms.append((Digit(inner, atom.divisor, atom.modulus), c))
        if any(a is not b for (a, _), (b, _) in zip(terms, form.terms, strict=True)):
            form = AffineExpr.from_terms(terms, form.const)
        return self.sum(form, LAST_RULES)


def readable(form: AffineExpr) -> tuple[AffineExpr, tuple[RewriteStep, ...]]:
    """The form simplified for reading, and the rules that fired.

    >>> from morello_layouts.expr.affine import variable
    >>> i = variable("i", 0, 31)
    >>> print(readable(2048 * (i // 8) + 256 * ((i % 8) // 2) + i % 2)[0])
    1024*(i//8) + 256*(i//2) + i%2
    """
    result, steps = canonicalize_with_steps(form)
    while (opened := split_middle(result)) is not None:
        rule = READABLE_RULES[0]
        step = RewriteStep(rule.name, rule.statement, result, opened)
        result, more = canonicalize_with_steps(opened)
        steps = (*steps, step, *more)
    return result, steps
