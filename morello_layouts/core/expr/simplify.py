"""The engine: apply the rules until none fires, and record each application as a derivation.

Rewriting ends because every rule makes its node smaller: the tests measure both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import lcm
from typing import ClassVar, TypeAlias, cast

from morello_layouts.core.expr.affine import (
    AffineExpr,
    Atom,
    BitXor,
    Call,
    Digit,
    is_condition,
    with_operands,
)
from morello_layouts.core.expr.bounds import Interval
from morello_layouts.core.expr.calls import Var
from morello_layouts.core.expr.choices import (
    Node,
    Rule,
    decided,
    facts_of,
    follows,
    narrowed,
    quotients,
    without_smaller,
)
from morello_layouts.core.expr.conversions import latex
from morello_layouts.core.expr.digit_choices import OPERATIONS
from morello_layouts.core.expr.rules import (
    DIGIT_RULES,
    LAST_RULES,
    READABLE_RULES,
    RULES_OF_CALLS,
    SUM_RULES,
    TOP_DOWN_DIGIT_RULES,
    TOP_DOWN_SUM_RULES,
)
from morello_layouts.core.expr.sizes import Int, common_divisor
from morello_layouts.core.expr.substitution import replace_atoms, substitute
from morello_layouts.core.fields import frozen


@frozen
class RewriteStep:
    """One application of a rule."""

    rule: str  #: the rule's name.
    statement: str  #: the identity and its side condition.
    before: AffineExpr  #: the form that the rule rewrote.
    after: AffineExpr  #: the form that replaced it.

    json_keys: ClassVar[tuple[str, ...]] = ("rule", "before", "after", "because")

    def mapped(self, change: Callable[[AffineExpr], AffineExpr]) -> RewriteStep:
        """Return the step with both forms changed."""
        return RewriteStep(self.rule, self.statement, change(self.before), change(self.after))

    @property
    def because(self) -> str:
        """The bounds that the rule used, in words."""
        digits = (atom for atom, _ in self.before.terms if isinstance(atom, Digit))
        parts = [f"{d.operand} is in {d.operand.interval}" for d in digits]
        return "; ".join(dict.fromkeys(parts))

    def __str__(self) -> str:
        return f"{self.rule}: {self.before} = {self.after}   ({self.because})"


def canonicalize(form: AffineExpr) -> AffineExpr:
    """Apply every rule until none applies.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i, j = variable("i", 0, 31), variable("j", 0, 31)
    >>> print(canonicalize((32 * i + j) // 8))
    4*i + j//8
    """
    return _Rewriter().run(form)


def rewriter() -> Callable[[AffineExpr], AffineExpr]:
    """Return a :func:`canonicalize` that keeps what it made of each digit for later calls."""
    return _Rewriter().run


def canonicalize_with_steps(form: AffineExpr) -> tuple[AffineExpr, tuple[RewriteStep, ...]]:
    """Return the result of :func:`canonicalize` and the rules that fired, in order.

    >>> from morello_layouts.core.expr.affine import variable
    >>> print(*canonicalize_with_steps(variable("i", 0, 7) % 8)[1])
    drop-mod: i%8 = i   (i is in 0..7)
    """
    steps: list[RewriteStep] = []
    return _Rewriter(steps).run(form), tuple(steps)


def readable(
    form: AffineExpr, facts: Sequence[AffineExpr] = ()
) -> tuple[AffineExpr, tuple[RewriteStep, ...]]:
    """Simplify a form for reading; return it with the rules that fired.

    It has the same value wherever the facts are at least 0.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i = variable("i", 0, 31)
    >>> print(readable(2048 * (i // 8) + 256 * ((i % 8) // 2) + i % 2)[0])
    1024*(i//8) + 256*(i//2) + i%2
    """
    steps: list[RewriteStep] = []
    simplifier = _Rewriter(steps)
    for fact in facts:
        if not fact.terms:  # of sizes alone: M <= N makes i < M also i < N
            form = _with_bounds(form, fact.const, simplifier.run)
    result = simplifier.run(simplifier.simplify_under(facts, form) if facts else form)
    while (after := simplifier.apply_first(READABLE_RULES, result)) is not None:
        result = simplifier.run(after)
    return result, tuple(steps)


def _with_bounds(
    form: AffineExpr, more: Int, simplify: Callable[[AffineExpr], AffineExpr]
) -> AffineExpr:
    """Return a form simplified for larger upper bounds, if it has fewer operations then."""
    wider = {
        v.name: _alone(Var(v.name, Interval(v.interval.lo, v.interval.hi + more)))
        for v in form.variables()
        if v.interval.hi is not None
    }
    own = {v.name: _alone(v) for v in form.variables() if v.name in wider}
    found = substitute(simplify(substitute(form, wider)), own)
    return min(form, found, key=lambda x: OPERATIONS.cost(simplify(x)))


class _Rewriter:
    """The rules, and what they made of the atoms met so far."""

    __slots__ = ("facts", "known", "reduced", "simple", "steps")

    def __init__(
        self, steps: list[RewriteStep] | None = None, facts: Sequence[AffineExpr] = ()
    ) -> None:
        self.facts = facts  #: forms that are at least 0 here, since a condition holds.
        #: the simplified form of each digit and exclusive or met so far.
        self.known: dict[Digit | Call, AffineExpr] = {}
        #: each form met by the last rules, and their result.
        self.reduced: dict[AffineExpr, AffineExpr] = {}
        #: operands that are simple, by id; they stay, so that no other form gets their id.
        self.simple: dict[int, AffineExpr] = {}
        self.steps = steps  #: the applications so far; None if they are not recorded.

    def run(self, form: AffineExpr) -> AffineExpr:
        """Apply all rules at every depth until none fires."""
        simple = self.simplify_sum(form)
        while True:
            reduced = self.apply_last_rules(simple)
            if reduced is simple:
                return simple
            simple = self.simplify_sum(reduced)

    def simplify_sum(self, form: AffineExpr) -> AffineExpr:
        asked = None
        if form.has_digits:
            asked = self.apply_top_down_rules(form)
            form = replace_atoms(asked, self.simplify_atom)
        return self.rewrite_sum(sum_rules(form, is_joined=form is asked), form)

    def simplify_atom(self, atom: Digit | Call) -> AffineExpr:
        found = self.known.get(atom)
        if found is None:
            if isinstance(atom, Digit):
                found = self.simplify_digit(atom)
            else:
                found = self.simplify_call(atom)
            self.known[atom] = found
        return found

    def simplify_call(self, x: Call) -> AffineExpr:
        if x.kind == "select":
            x = self.simplify_choice(x)
        elif x.kind in ("min", "max") and is_condition(_alone(x)):
            parts = list(x.parts)
            for k, part in enumerate(parts):  # where the others do not decide
                others = (one for one in (*parts[:k], *parts[k + 1 :]))
                facts = [f for one in others for f in facts_of(one, x.kind == "min")]
                found = self.simplify_under(facts, part)
                # 1 - j is a condition where j <= 1 holds; elsewhere it must be one too.
                parts[k] = found if found.interval.within(0, 1) else part
            x = Call(x.kind, parts)
        simple = with_operands(x, self.simplify_sum)
        after = self.by_facts(simple) if self.facts else None
        if after is None:
            after = self.apply_first(RULES_OF_CALLS[x.kind], simple)
        return _alone(simple) if after is None else self.simplify_sum(after)

    def simplify_choice(self, x: Call) -> Call:
        """Simplify each part of a choice where the condition says that it is taken."""
        condition = self.simplify_sum(x.parts[0])
        one, other = (
            self.simplify_under([*facts_of(condition, holds)], part)
            for part, holds in zip(x.parts[1:], (True, False), strict=True)
        )
        if one != other and not one.terms:  # i, where 3 is chosen if i is 3
            difference = self.simplify_under([*facts_of(condition, True)], other - one)
            one = one if difference.terms or difference.const else other
        return Call("select", (condition, one, other))

    def simplify_under(self, facts: Sequence[AffineExpr], form: AffineExpr) -> AffineExpr:
        """Simplify a form for the values at which some forms are at least 0."""
        if not facts or not form.terms:
            return self.simplify_sum(form)
        inner = _Rewriter(self.steps, (*self.facts, *facts))
        variables = form.variables()
        narrow = narrowed(variables, inner.facts)
        inside = inner.run(substitute(form, narrow) if narrow else form)
        own = {v.name: _alone(v) for v in variables if v.name in narrow}
        found = substitute(inside, own) if own else inside
        return found if self.facts else self.simplify_multiples(facts, found)

    def simplify_multiples(self, facts: Sequence[AffineExpr], form: AffineExpr) -> AffineExpr:
        """Simplify a form as one of quotients by numbers that divide; keep it if it is cheaper."""
        known = quotients(form.variables(), facts)
        if not known:
            return form
        own = {v.name: _alone(v) for v in form.variables() if v.name in known}
        values = {name: number * quotient for name, (quotient, number) in known.items()}
        by = {str(quotient): (own[name], number) for name, (quotient, number) in known.items()}
        steps: list[RewriteStep] = []
        inner = _Rewriter(steps)
        inside = inner.simplify_under(
            [substitute(fact, values) for fact in facts], substitute(form, values)
        )
        found = inner.run(_of_multiples(inside, by))
        if OPERATIONS.cost(found) >= OPERATIONS.cost(form):
            return form
        if self.steps is not None:
            for v, number in by.values():
                words = "x = n * (x//n) if n divides x"
                self.steps.append(RewriteStep("multiple", words, v, number * (v // number)))
            self.steps += [step.mapped(lambda x: _of_multiples(x, by)) for step in steps]
        return found

    def by_facts(self, x: Call) -> AffineExpr | None:
        """Return what the facts make of a comparison, a min or a max; None if they say nothing."""
        if len(x.parts) == 1:
            return decided(x, lambda form, least: follows(form, least, self.facts))
        if x.kind in ("min", "max"):
            return without_smaller(x, lambda more: follows(more, 0, self.facts))
        return None

    def simplify_digit(self, d: Digit) -> AffineExpr:
        simple = with_operands(d, self.simplify_operand)
        after = self.apply_first(digit_rules(simple), simple)
        found = _alone(simple) if after is None else self.simplify_sum(after)
        self.known[simple] = found
        return found

    def simplify_operand(self, operand: AffineExpr) -> AffineExpr:
        if id(operand) not in self.simple:
            operand = self.simplify_sum(operand)
            self.simple[id(operand)] = operand
        return operand

    def apply_top_down_rules(self, form: AffineExpr) -> AffineExpr:
        """Apply the rules that compare operands as they are written."""
        if any(atom.depth > 1 for atom, _ in form.terms):
            form = _map_atoms(form, self.flatten)
        while len(form.terms) > 1:
            joined = self.apply_first(TOP_DOWN_SUM_RULES, form)
            if joined is None:
                break
            form = joined
        return form

    def flatten(self, d: Digit | Call) -> Digit | Call:
        """Apply the rules for digits of digits as long as the result is a digit."""
        if isinstance(d, Call):
            return d
        while d.operand.has_digits:
            after = self.apply_first(TOP_DOWN_DIGIT_RULES, d)
            nested = after.as_atom() if after is not None else None
            if not isinstance(nested, Digit):
                return d
            d = nested
        return d

    def apply_last_rules(self, form: AffineExpr) -> AffineExpr:
        """Apply the last rules at every depth; return the same object if none fires."""
        if not form.has_digits:
            return form
        found = self.reduced.get(form)
        if found is None:
            inner = _map_atoms(form, lambda atom: with_operands(atom, self.apply_last_rules))
            found = self.reduced[form] = self.rewrite_sum(LAST_RULES, inner)
        return form if found == form else found

    def rewrite_sum(self, rules: tuple[Rule[AffineExpr], ...], form: AffineExpr) -> AffineExpr:
        """Apply the first rule that fires and simplify the result."""
        after = self.apply_first(rules, form)
        return form if after is None else self.simplify_sum(after)

    def apply_first(self, rules: tuple[Rule[Node], ...], node: Node) -> AffineExpr | None:
        """Return the result of the first rule that fires, or None."""
        for rule in rules:
            after = rule.apply(node)
            if after is not None:
                if self.steps is not None:
                    before = node if isinstance(node, AffineExpr) else _alone(node)
                    self.steps.append(RewriteStep(rule.name, rule.statement, before, after))
                return after
        return None


def digit_rules(d: Digit) -> tuple[Rule[Digit], ...]:
    """Return the rules that may fire on a digit whose operand is simple."""
    x = d.operand
    inner = x.terms[-1][0] if x.terms else None
    return _DIGIT_RULES[type(inner), x.as_atom() is not None, d.modulus is not None]


def sum_rules(form: AffineExpr, *, is_joined: bool = False) -> tuple[Rule[AffineExpr], ...]:
    """Return the rules that may fire on a sum: those of pairs of terms need two.

    If ``is_joined``, join-digits was asked before.
    """
    chooses = bool(form.terms) and type(form.terms[-1][0]) is Call
    if len(form.terms) < 2 or not form.has_digits:
        return _SUM_RULES[True, False, chooses, False]
    return _SUM_RULES[is_joined, _has_differences(form), chooses, _has_shifts(form)]


def _has_differences(form: AffineExpr) -> bool:
    """Return whether two terms may have factors of unlike signs, the operands' terms included."""
    for atom, c in form.terms:
        x = atom.operand.terms if isinstance(atom, Digit) else ()
        for factor in (c, x[0][1]) if x else (c,):
            if type(factor) is not int or factor < 0:
                return True
    return False


def _has_shifts(form: AffineExpr) -> bool:
    """Return whether a digit has an operand with a constant, as that of another one shifted."""
    for atom, _ in form.terms:  # noqa: SIM110  # each sum is asked
        if type(atom) is Digit and atom.operand.const:
            return True
    return False


def _of_multiples(form: AffineExpr, by: Mapping[str, tuple[AffineExpr, int]]) -> AffineExpr:
    """Return a form with ``x // n`` in place of quotients, where n divides x: 2*(x//8) is x//4.

    The sum of quotients is the quotient of a sum: ``x//2 + y//4`` is ``(2*x + y)//4``.
    """

    def times(c: Int, atom: Atom) -> AffineExpr:
        if isinstance(atom, Call) and atom.kind in ("min", "max") and type(c) is int and c > 0:
            return _alone(with_operands(atom, lambda part: _of_multiples(c * part, by)))
        return c * _alone(with_operands(atom, lambda part: _of_multiples(part, by)))

    result = AffineExpr((), form.const)
    floors: list[tuple[AffineExpr, Int, int]] = []
    for atom, c in form.terms:
        one = atom.operand.as_atom() if isinstance(atom, Digit) and atom.divisor == 1 else atom
        x, n = by.get(str(one), (None, 1)) if isinstance(one, Var) else (None, 1)
        shared = cast(int, common_divisor(c, n))  # as it divides n
        if x is None:
            result += times(c, atom)
        elif isinstance(atom, Digit) and atom.modulus is not None:
            result += c // shared * (x // (n // shared) % (atom.modulus * shared))
        elif shared == n:
            result += c // n * x
        else:
            floors.append((x, c // shared, n // shared))
    if len(floors) < 2:
        return sum((c * (x // n) for x, c, n in floors), result)
    common = lcm(*(n for _, _, n in floors))
    return result + sum((c * (common // n) * x for x, c, n in floors), AffineExpr((), 0)) // common


def _but(rules: tuple[Rule[Node], ...], *names: str) -> tuple[Rule[Node], ...]:
    return tuple([rule for rule in rules if rule.name not in names])


def _alone(atom: Atom) -> AffineExpr:
    return AffineExpr(((atom, 1),), 0)


def _map_atoms(form: AffineExpr, change: Callable[[Digit | Call], Digit | Call]) -> AffineExpr:
    """Return the form with digits and exclusive ors changed; the same object if none changes."""
    terms = [(a if isinstance(a, Var) else change(a), c) for a, c in form.terms]
    if all(a is b for (a, _), (b, _) in zip(terms, form.terms, strict=True)):
        return form
    return AffineExpr.from_terms(terms, form.const)


_OF_ONE = ("extract-multiples", "drop-remainder", "split-remainder")
_OF_MODS = ("drop-mod", "split-remainder", "drop-inner-mod")
_OF_XORS = ("push-into-xor",)
_OF_CHOICES = ("push-into-choice",)
_OF_DIGITS = ("flatten-nested", "drop-inner-mod", "flatten-inner-div")

_DIGIT_RULES = {
    (kind, alone, mods): _but(
        DIGIT_RULES,
        *(("turn-floor",) if mods else _OF_MODS),
        *(_OF_ONE if alone else ("flatten-nested", *_OF_XORS)),
        *(_OF_DIGITS if kind in (Var, type(None)) else ()),
        *(() if kind is BitXor else _OF_XORS),
        *(() if kind is Call else _OF_CHOICES),
    )
    for kind in (Var, Digit, BitXor, Call, type(None))
    for alone in (False, True)
    for mods in (False, True)
}
_SUM_RULES = {
    (is_joined, differences, chooses, shifts): _but(
        SUM_RULES,
        *(() if shifts else ("join-shifted",)),
        *(() if chooses else ("compare-not", "extremum-cancel")),
        *(("join-digits",) if is_joined else ()),
        *(() if differences else ("fold-div-mod", "subtract-mod")),
    )
    for is_joined in (False, True)
    for differences in (False, True)
    for chooses in (False, True)
    for shifts in (False, True)
}

Simplifier: TypeAlias = Callable[[AffineExpr], tuple[AffineExpr, tuple[RewriteStep, ...]]]
"""A function that returns a simplified form and the rules that fired."""


@frozen
class Derivation:
    """The first form, the rules that fired in order, and the last form.

    >>> from morello_layouts.core.expr import variable
    >>> print(Derivation.of(variable("d0", 0, 5) % 6))
    d0%6
      d0%6 = d0   drop-mod, since d0 is in 0..5
    = d0
    """

    start: AffineExpr  #: the reference formula.
    steps: tuple[RewriteStep, ...]  #: the rules that fired, in order.
    end: AffineExpr  #: the simplified formula.

    @staticmethod
    def of(form: AffineExpr, simplify: Simplifier = canonicalize_with_steps) -> Derivation:
        """Simplify a form and record every step."""
        end, steps = simplify(form)
        # A few rules only change the representation of a digit, not its text.
        shown = tuple(step for step in steps if str(step.before) != str(step.after))
        return Derivation(form, shown, end)

    def mapped(self, change: Callable[[AffineExpr], AffineExpr]) -> Derivation:
        """Return the derivation with each of its forms changed."""
        steps = tuple([step.mapped(change) for step in self.steps])
        return Derivation(change(self.start), steps, change(self.end))

    def __iter__(self) -> Iterator[RewriteStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<Derivation: {self.start} = {self.end} by {len(self)} steps>"

    def __str__(self) -> str:
        if not self.steps and str(self.start) == str(self.end):
            return f"{self.start}   no rule applies: it is already the simplest form"
        lines = [str(self.start)]
        for step in self.steps:
            since = f", since {step.because}" if step.because else ""
            lines.append(f"  {step.before} = {step.after}   {step.rule}{since}")
        return "\n".join([*lines, f"= {self.end}"])

    def latex(self) -> str:
        """Return the derivation as an ``aligned`` block, without dollar signs."""
        rows = [rf"& {latex(self.start)}"]
        for step in self.steps:
            rows.append(
                rf"& \quad {latex(step.before)} = {latex(step.after)}"
                rf" && \text{{{step.rule}, {_latex_text(step.because)}}}"
            )
        rows.append(rf"={{}} & {latex(self.end)}")
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$$\n{self.latex()}\n$$"


def _latex_text(words: str) -> str:
    return words.replace("%", r" \% ").replace("_", r"\_").replace("∞", r"$\infty$")
