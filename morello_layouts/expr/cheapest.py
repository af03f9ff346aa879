"""The form of least cost: a search over the digit boundaries of each operand.

Each operand's digits can be written in many ways (:mod:`morello_layouts.expr.writings`). Factors
that are equal across operands are multiplied once, so the ways that are near the least cost by
themselves are kept, and chosen together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from morello_layouts.expr.cost import OPERATIONS, CostModel
from morello_layouts.expr.engine import rewrite
from morello_layouts.expr.form import Digit, Linear, Var
from morello_layouts.expr.writings import Term, collapse, writings

__all__ = ["cheapest"]

_SLACK = 1  # how much dearer than the best a candidate may be and still win by sharing a factor
_COMBINATIONS = 64  # of candidates tried exhaustively; beyond, each operand is improved in turn


@dataclass(frozen=True, slots=True)
class _Choice:
    """One way to write the digits of an operand; ``whole`` is the factor of the operand itself."""

    terms: tuple[Term, ...]
    whole: int
    const: int

    @staticmethod
    def of(terms: Sequence[Term], const: int, is_variable: bool) -> _Choice:
        """Terms and a constant; a sum as operand is not a term but merges with the other terms."""
        if is_variable:
            return _Choice(tuple(terms), 0, const)
        whole = sum(t.factor for t in terms if t.is_operand)
        return _Choice(tuple([t for t in terms if not t.is_operand]), whole, const)


def cheapest(form: Linear, model: CostModel = OPERATIONS) -> Linear:
    """An equal form of least cost, as far as the search sees.

    >>> from morello_layouts.expr.form import variable
    >>> i = variable("i", 0, 31)
    >>> print(cheapest(32 * (i // 8) + i % 8))
    24*(i//8) + i
    """
    simple = rewrite(form)
    return _cheapest(simple, model)


def _cheapest(simple: Linear, model: CostModel) -> Linear:
    digits = [a for a, _ in simple.terms if isinstance(a, Digit)]
    found = [_factored(simple, model)]
    if digits:
        found.append(_Sum(simple, model).best())
    return min(found, key=model.cost)


class _Sum:
    """The search over one sum."""

    def __init__(self, form: Linear, model: CostModel) -> None:
        self.model = model
        self.const = form.const
        self.factors: dict[Var, int] = {}
        self.levels: dict[Linear, dict[int, int]] = {}
        self.written: dict[Linear, list[Term]] = {}
        for atom, c in form.terms:
            if isinstance(atom, Var):
                self.factors[atom] = c
            else:
                self.add_digit(atom, c)
        self.operands = {x: _cheapest(x, model) for x in self.levels}

    def add_digit(self, d: Digit, c: int) -> None:
        self.written.setdefault(d.of, []).append(Term(c, d.divisor, d.modulus))
        levels = self.levels.setdefault(d.of, {})
        self.add_level(d.of, levels, d.divisor, c)
        if d.modulus is not None:
            self.add_level(d.of, levels, d.divisor * d.modulus, -c * d.modulus)

    def add_level(self, x: Linear, levels: dict[int, int], s: int, c: int) -> None:
        lo, hi = x.interval.floordiv(s)
        if lo is not None and lo == hi:
            self.const += c * lo
        else:
            levels[s] = levels.get(s, 0) + c

    def best(self) -> Linear:
        """The cheapest way found to write the sum."""
        mixed = [x for x in self.levels if not isinstance(x.as_atom(), Var)]
        choices = [self.choices(x, self.levels[x], self.written[x]) for x in mixed]
        found = [self.with_mixed(mixed, chosen) for chosen in _combinations(choices)]
        return min(found, key=self.model.cost)

    def with_mixed(self, mixed: Sequence[Linear], chosen: Sequence[_Choice]) -> Linear:
        """The best sum where operands that are sums are written as chosen."""
        factors, const = dict(self.factors), self.const
        others: dict[Digit, int] = {}
        for x, choice in zip(mixed, chosen, strict=True):
            const += choice.const + choice.whole * x.const
            for atom, c in x.terms:
                if isinstance(atom, Var):
                    factors[atom] = factors.get(atom, 0) + choice.whole * c
                elif choice.whole:
                    others[atom] = others.get(atom, 0) + choice.whole * c
        fixed = [(x, c) for x, c in zip(mixed, chosen, strict=True)]
        plain: list[tuple[Linear, list[_Choice]]] = []
        for v in {*factors, *(x.terms[0][0] for x in self.levels if x not in mixed)}:
            assert isinstance(v, Var)
            x = Linear(((v, 1),), 0)
            levels = dict(self.levels.get(x, {}))
            levels[1] = levels.get(1, 0) + factors.get(v, 0)
            written = [*self.written.get(x, ()), Term(factors.get(v, 0), 1)]
            plain.append((x, self.choices(x, levels, written)))
        plain.sort(key=lambda entry: entry[0].key)
        picked = self.pick(plain, fixed)
        return self.build([*fixed, *picked], others, const)

    def choices(self, x: Linear, levels: dict[int, int], written: Sequence[Term]) -> list[_Choice]:
        """Ways to write an operand's digits whose cost is near the least, best first."""
        is_variable = isinstance(x.as_atom(), Var)
        operand = self.model.cost(self.operands.get(x, x))
        costs: dict[_Choice, int] = {}
        found = [collapse(x, terms) for terms in writings(levels)]
        found.append(collapse(x, [t for t in written if t.factor]))
        for terms, const in found:
            choice = _Choice.of(terms, const, is_variable)
            total = sum(t.cost(self.model) + self.model.times(t.factor) for t in choice.terms)
            total += operand * len(choice.terms)
            if choice.whole:
                total += operand + self.model.add
            costs[choice] = total + (self.model.add if const else 0)
        least = min(costs.values())
        near = [c for c, cost in costs.items() if cost <= least + _SLACK]
        return sorted(near, key=lambda c: (costs[c], len(c.terms)))

    def pick(
        self,
        plain: Sequence[tuple[Linear, list[_Choice]]],
        fixed: Sequence[tuple[Linear, _Choice]],
    ) -> list[tuple[Linear, _Choice]]:
        """One choice for each variable, so that the whole costs least with shared factors."""
        common = [choice for _, choice in fixed]
        options = [choices for _, choices in plain]
        if prod(map(len, options)) <= _COMBINATIONS:
            best = min(product(*options), key=lambda some: self.cost([*common, *some]))
        else:
            chosen = [choices[0] for choices in options]
            for k, choices in enumerate(options):
                before, after = chosen[:k], chosen[k + 1 :]
                chosen[k] = min(choices, key=lambda c: self.cost([*common, *before, c, *after]))
            best = tuple(chosen)
        return [(x, choice) for (x, _), choice in zip(plain, best, strict=True)]

    def cost(self, chosen: Iterable[_Choice]) -> int:
        """The cost of the terms together, each factor multiplied once, operands left out."""
        total, factors, const = 0, set(), self.const
        for choice in chosen:
            const += choice.const
            for term in choice.terms:
                total += term.cost(self.model)
                factors.add(abs(term.factor))
        return total + sum(map(self.model.times, factors)) + (self.model.add if const else 0)

    def build(
        self,
        chosen: Sequence[tuple[Linear, _Choice]],
        others: dict[Digit, int],
        const: int,
    ) -> Linear:
        terms: list[tuple[Var | Digit, int]] = list(others.items())
        for x, choice in chosen:
            operand = self.operands.get(x, x)
            if x not in self.levels or isinstance(x.as_atom(), Var):
                const += choice.const
            terms += [(term.atom(operand), term.factor) for term in choice.terms]
        return _factored(Linear.of(terms, const), self.model)


def _combinations(choices: Sequence[list[_Choice]]) -> Iterator[tuple[_Choice, ...]]:
    """All combinations where they are few; else each list cut to its best."""
    if prod(map(len, choices)) > _COMBINATIONS:
        choices = [some[:2] for some in choices[:4]] + [some[:1] for some in choices[4:]]
    return product(*choices)


def _factored(form: Linear, model: CostModel) -> Linear:
    """The sum with terms of equal factor in a group, multiplied once."""
    groups: dict[int, list[tuple[Var | Digit, int]]] = {}
    for atom, c in form.terms:
        groups.setdefault(abs(c), []).append((atom, c))
    terms: list[tuple[Var | Digit, int]] = []
    for size, members in groups.items():
        if len(members) == 1 or model.times(size) == 0:
            terms += members
            continue
        sign = 1 if any(c > 0 for _, c in members) else -1
        inner = Linear.of([(a, sign * (1 if c > 0 else -1)) for a, c in members])
        terms.append((Digit(inner, 1, None), sign * size))
    return Linear.of(terms, form.const)
