"""Find the cheapest way to compute a form under a cost model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

from morello_layouts.expr.affine import AffineExpr, Atom, Digit, Var, digit
from morello_layouts.expr.cost import OPERATIONS, CostModel
from morello_layouts.expr.digit_choices import Term, digit_choices, fuse_digits
from morello_layouts.expr.simplify import canonicalize
from morello_layouts.expr.sizes import Int, SizeExpr, absolute, sign


def opened(form: AffineExpr) -> AffineExpr:
    """The form with every digit, at every depth, as floors: x mod n = x - n·(x // n).

    It holds more operations, but digits of digits fall apart into floors that may meet again.

    >>> from morello_layouts.expr.affine import variable
    >>> print(opened((variable("i", 0, 31) % 8 + 5 * variable("j", 0, 3)) // 4))
    -2*(i//8) + j + (i + j)//4
    """
    return _opened(form, {})


def _opened(form: AffineExpr, known: dict[Digit, AffineExpr]) -> AffineExpr:
    terms: list[tuple[Atom, Int]] = []
    const = form.const
    for atom, c in form.terms:
        if isinstance(atom, Digit):
            part = known.get(atom)
            if part is None:
                part = known[atom] = _floors(atom, known)
            terms += [(a, c * k) for a, k in part.terms]
            const = const + c * part.const
        else:
            terms.append((atom, c))
    return AffineExpr.from_terms(terms, const)


def _floors(d: Digit, known: dict[Digit, AffineExpr]) -> AffineExpr:
    of = _opened(d.operand, known)
    low = _floor(of, d.divisor)
    if d.modulus is None:
        return low
    return low - _floor(of, d.divisor * d.modulus) * d.modulus


def _floor(x: AffineExpr, s: Int) -> AffineExpr:
    """X // s, what s goes into pulled out of each factor and of the constant."""
    if s == 1:
        return x
    quotients = AffineExpr.from_terms([(a, c // s) for a, c in x.terms], x.const // s)
    rest = x - quotients * s
    q = rest.interval.constant_quotient(s)
    if q is not None:
        return quotients + q
    inner = rest.as_atom()
    if isinstance(inner, Digit) and inner.modulus is None:
        rest, s = inner.operand, inner.divisor * s
    return quotients + AffineExpr(((Digit(rest, s, None), 1),), 0)


_SLACK = 1  # how much dearer than the best a candidate may be and still win by sharing a factor
_COLLAPSE = 2  # how much dearer a writing may be whose digits may yet fuse_digits into one
_LONG = 64  # terms of a sum up to which a second start is tried
_COMBINATIONS = 64  # of candidates tried exhaustively; beyond, each operand is improved in turn


@dataclass(frozen=True, slots=True)
class _Choice:
    """One way to write the digits of an operand; ``whole`` is the factor of the operand itself."""

    terms: tuple[Term, ...]
    whole: Int
    const: Int

    @staticmethod
    def of(x: AffineExpr, terms: Iterable[Term], const: Int) -> _Choice:
        """Terms and a constant; a sum as operand is not a term but merges with the other terms."""
        if isinstance(x.as_atom(), Var):
            return _Choice(tuple(terms), 0, const)
        terms = list(terms)
        whole = sum(t.factor for t in terms if t.is_operand)
        return _Choice(tuple([t for t in terms if not t.is_operand]), whole, const)


def cheapest(form: AffineExpr, model: CostModel = OPERATIONS) -> AffineExpr:
    """An equal form of least cost, as far as the search sees.

    >>> from morello_layouts.expr.affine import variable
    >>> i = variable("i", 0, 31)
    >>> print(cheapest(32 * (i // 8) + i % 8))
    24*(i//8) + i
    """
    simple, search = canonicalize(form), _Search(model)
    if all(atom.depth <= 1 for atom, _ in simple.terms):
        return min(search.best(simple), form, key=model.cost)
    # Digits of digits have more ways to be written than one search sees.
    starts = (simple, opened(simple)) if len(simple.terms) <= _LONG else (simple,)
    return min(*(search.repeated(start) for start in starts), form, key=model.cost)


class _Search:
    """What a search has found, so that an operand is searched once however often it stands."""

    def __init__(self, model: CostModel) -> None:
        self.model = model
        self.known: dict[AffineExpr, AffineExpr] = {}

    def best(self, simple: AffineExpr) -> AffineExpr:
        """The cheapest way found to write a simplified form."""
        found = self.known.get(simple)
        if found is None:
            found = self.known[simple] = min(self.ways(simple), key=self.model.cost)
        return found

    def ways(self, simple: AffineExpr) -> Iterator[AffineExpr]:
        yield _factored(simple, self.model)
        if simple.has_digits:
            as_written = _Sum(simple, self, pull=False)
            yield as_written.best()
            if as_written.has_mixed:
                pulled = _Sum(simple, self, pull=True)
                if (pulled.levels, pulled.factors) != (as_written.levels, as_written.factors):
                    yield pulled.best()

    def repeated(self, form: AffineExpr) -> AffineExpr:
        """Search again from what the search found, as long as that gains."""
        best = self.best(form)
        while True:
            found = self.best(canonicalize(best))
            if self.model.cost(found) >= self.model.cost(best):
                return best
            best = found


class _Sum:
    """The search over one sum.

    Attributes:
        factors: the factor of each variable.
        levels: for each operand x, the factor c of each x // s, by s.
        written: for each operand, its digits as the sum has them.
    """

    def __init__(self, form: AffineExpr, search: _Search, *, pull: bool) -> None:
        """With ``pull``, floors of sums are simplified, so that parts meet in other operands."""
        self.search, self.model = search, search.model
        self.const = form.const
        self.factors: dict[Var, Int] = {}
        self.levels: dict[AffineExpr, dict[Int, Int]] = {}
        self.written: dict[AffineExpr, list[Term]] = {}
        self.folded: set[AffineExpr] = set()
        for atom, c in form.terms:
            if isinstance(atom, Var):
                self.factors[atom] = self.factors.get(atom, 0) + c
            elif pull:
                self.add_pulled(atom, c)
            else:
                self.written.setdefault(atom.operand, []).append(
                    Term(c, atom.divisor, atom.modulus)
                )
                self.add_digit(atom, c)
        for x in self.folded:  # a level of known value is in the constant, not in the digits
            self.written.pop(x, None)

    @cached_property
    def operands(self) -> dict[AffineExpr, AffineExpr]:
        """Each operand in its own cheapest form."""
        return {x: x if isinstance(x.as_atom(), Var) else self.search.best(x) for x in self.levels}

    @property
    def has_mixed(self) -> bool:
        """Whether an operand is not a variable."""
        return any(not isinstance(x.as_atom(), Var) for x in self.levels)

    def add_digit(self, d: Digit, c: Int) -> None:
        self.add_level(d.operand, d.divisor, c)
        if d.modulus is not None:
            self.add_level(d.operand, d.divisor * d.modulus, -c * d.modulus)

    def add_level(self, x: AffineExpr, s: Int, c: Int) -> None:
        lo, hi = x.interval.floordiv(s)
        if lo is not None and lo == hi:
            self.const += c * lo
            self.folded.add(x)
        else:
            levels = self.levels.setdefault(x, {})
            levels[s] = levels.get(s, 0) + c

    def add_pulled(self, d: Digit, c: Int) -> None:
        """Add the digit's floors, each simplified by itself."""
        floors: list[tuple[Int, Int]] = [(d.divisor, c)]
        if d.modulus is not None:
            floors.append((d.divisor * d.modulus, -c * d.modulus))
        for s, factor in floors:
            simple = canonicalize(digit(d.operand, s, None)) if s != 1 else d.operand
            self.const += factor * simple.const
            for atom, k in simple.terms:
                self.add_opened(atom, factor * k)

    def add_opened(self, atom: Atom, c: Int) -> None:
        """Add a floor in terms of operands that other digits may share."""
        if isinstance(atom, Var):
            self.factors[atom] = self.factors.get(atom, 0) + c
            return
        opened = None if atom.modulus is not None else _expand_digit(atom.operand, atom.divisor)
        if opened is None:
            self.add_digit(atom, c)
            return
        for x, s, k in opened:
            if s != 1:
                self.add_level(x, s, c * k)
            else:
                for a, f in x.terms:
                    self.add_opened(a, c * k * f)

    def best(self) -> AffineExpr:
        """The cheapest way found to write the sum."""
        mixed = [x for x in self.levels if not isinstance(x.as_atom(), Var)]
        choices = [self.choices(x, self.levels[x], self.written.get(x, ())) for x in mixed]
        found = [self.with_mixed(mixed, chosen) for chosen in _combinations(choices)]
        return min(found, key=self.model.cost)

    def with_mixed(self, mixed: Sequence[AffineExpr], chosen: Sequence[_Choice]) -> AffineExpr:
        """The best sum where operands that are sums are written as chosen."""
        factors, const = dict(self.factors), self.const
        others: dict[Digit, Int] = {}
        for x, choice in zip(mixed, chosen, strict=True):
            const += choice.const + choice.whole * x.const
            for atom, c in x.terms:
                if isinstance(atom, Var):
                    factors[atom] = factors.get(atom, 0) + choice.whole * c
                elif choice.whole:
                    others[atom] = others.get(atom, 0) + choice.whole * c
        fixed = [(x, c) for x, c in zip(mixed, chosen, strict=True)]
        plain: list[tuple[AffineExpr, list[_Choice]]] = []
        for v in {*factors, *(x.terms[0][0] for x in self.levels if x not in mixed)}:
            assert isinstance(v, Var)
            x = AffineExpr(((v, 1),), 0)
            levels = dict(self.levels.get(x, {}))
            levels[1] = levels.get(1, 0) + factors.get(v, 0)
            written = self.written.get(x, [])
            if written:
                written = [*written, Term(factors.get(v, 0), 1)]
            plain.append((x, self.choices(x, levels, written)))
        plain.sort(key=lambda entry: entry[0].key)
        picked = self.pick(plain, fixed)
        return self.build([*fixed, *picked], others, const)

    def choices(
        self, x: AffineExpr, levels: dict[Int, Int], written: Sequence[Term]
    ) -> list[_Choice]:
        """Ways to write an operand's digits whose cost is near the least, best first."""
        costs = digit_choices(levels, self.model, self.model.cost(self.operands.get(x, x)))
        if written:
            terms = tuple(sorted((t for t in written if t.factor != 0), key=Term.place))
            costs.setdefault(terms, self.alone(x, terms, 0))
        enough = min(costs.values()) + _COLLAPSE
        found = {_Choice.of(x, terms, 0): cost for terms, cost in costs.items()}
        for terms in [terms for terms, cost in costs.items() if cost <= enough]:
            collapsed = fuse_digits(x, terms)
            if collapsed is not None:
                found[_Choice.of(x, *collapsed)] = self.alone(x, *collapsed)
        least = min(found.values())
        near = [choice for choice, cost in found.items() if cost <= least + _SLACK]
        return sorted(near, key=lambda c: (found[c], len(c.terms)))

    def alone(self, x: AffineExpr, terms: Iterable[Term], const: Int) -> int:
        """The cost of one operand's terms by themselves, factors and operands included."""
        operand = self.model.cost(self.operands.get(x, x))
        total = self.model.add if const else 0
        for term in terms:
            total += term.cost(self.model) + operand + self.model.times(term.factor)
        return total

    def pick(
        self,
        plain: Sequence[tuple[AffineExpr, list[_Choice]]],
        fixed: Sequence[tuple[AffineExpr, _Choice]],
    ) -> list[tuple[AffineExpr, _Choice]]:
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
                factors.add(absolute(term.factor))
        return total + sum(map(self.model.times, factors)) + (self.model.add if const else 0)

    def build(
        self,
        chosen: Sequence[tuple[AffineExpr, _Choice]],
        others: dict[Digit, Int],
        const: Int,
    ) -> AffineExpr:
        terms: list[tuple[Var | Digit, Int]] = list(others.items())
        for x, choice in chosen:
            operand = self.operands.get(x, x)
            if x not in self.levels or isinstance(x.as_atom(), Var):
                const += choice.const
            terms += [(term.atom(operand), term.factor) for term in choice.terms]
        return _factored(AffineExpr.from_terms(terms, const), self.model)


def _expand_digit(x: AffineExpr, s: Int) -> list[tuple[AffineExpr, Int, Int]] | None:
    """The floor x // s as Σ k·(y // t), given as triples (y, t, k), or None.

    (x mod n) // s = (m·x) // n - m·(x // n) where s·m = n + 1;
    (c·v + r) // s = q·v + ((c - q·s)·v + r) // s.
    """
    inner = x.as_atom()
    if isinstance(inner, Digit) and inner.divisor == 1 and inner.modulus is not None:
        m, inexact = divmod(inner.modulus + 1, s)
        if not inexact:
            return [(inner.operand * m, inner.modulus, 1), (inner.operand, inner.modulus, -m)]
    if isinstance(s, SizeExpr) or x.sizes():
        return None
    # What is left of a factor is -1 rather than s - 1, which needs no multiplication.
    quotients = [(a, c // s + ((c + 1) % s == 0 and s > 2)) for a, c in x.terms]
    whole = AffineExpr(tuple([(a, q) for a, q in quotients if q]), 0)
    return [(whole, 1, 1), (x - whole * s, s, 1)] if whole.terms else None


def _combinations(choices: Sequence[list[_Choice]]) -> Iterator[tuple[_Choice, ...]]:
    """All combinations where they are few; else each list cut to its best."""
    if prod(map(len, choices)) > _COMBINATIONS:
        choices = [some[:2] for some in choices[:4]] + [some[:1] for some in choices[4:]]
    return product(*choices)


def _factored(form: AffineExpr, model: CostModel) -> AffineExpr:
    """The sum with terms of equal factor in a group, multiplied once."""
    groups: dict[Int, list[tuple[Var | Digit, Int]]] = {}
    for atom, c in form.terms:
        groups.setdefault(absolute(c), []).append((atom, c))
    terms: list[tuple[Var | Digit, Int]] = []
    for size, members in groups.items():
        if len(members) == 1 or model.times(size) == 0:
            terms += members
            continue
        lead = max(sign(c) for _, c in members)
        inner = AffineExpr.from_terms([(a, lead * sign(c)) for a, c in members])
        terms.append((Digit(inner, 1, None), lead * size))
    return AffineExpr.from_terms(terms, form.const)
