"""Find the cheapest way to compute a form under a cost model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import product
from math import prod
from typing import Final

from morello_layouts.core.expr.affine import (
    AffineExpr,
    Atom,
    Call,
    Digit,
    call,
    digit,
    floors_of,
    is_condition,
    variable,
    with_operands,
)
from morello_layouts.core.expr.boxes import Fits, is_plain
from morello_layouts.core.expr.calls import Var
from morello_layouts.core.expr.choices import divided
from morello_layouts.core.expr.digit_choices import (
    OPERATIONS,
    CostModel,
    DigitTerm,
    digit_choices,
    fuse_digits,
)
from morello_layouts.core.expr.simplify import rewriter
from morello_layouts.core.expr.sizes import Int, SizeExpr, absolute, is_nonnegative, sign
from morello_layouts.core.expr.substitution import replace_atoms, replace_digits, substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import SEARCH_COMBINATIONS, SEARCH_TERMS, SEARCH_WORK
from morello_layouts.errors import UnsupportedError

_SHARING_TOLERANCE: Final = 1
"""Extra cost of a choice that may still win, by a factor shared with another operand."""

_FUSING_TOLERANCE: Final = 2
"""Extra cost of a choice whose digits may still fuse into one."""


def cheapest(form: AffineExpr, model: CostModel = OPERATIONS) -> AffineExpr:
    """Return the equal form of least cost that the search finds.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i = variable("i", 0, 31)
    >>> print(cheapest(32 * (i // 8) + i % 8))
    24*(i//8) + i
    """
    return _FormSearch(model).cheapest(form)


def fewest(form: AffineExpr, model: CostModel = OPERATIONS) -> AffineExpr:
    """Return the form of :func:`cheapest`, asked again about its result until nothing is cheaper.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i = variable("i", 0, 31)
    >>> print(fewest(32 * (i // 8) + i % 8))
    24*(i//8) + i
    """
    best = cheapest(form, model)
    while model.cost(again := cheapest(best, model)) < model.cost(best):
        best = again
    return best


def expand_digits(form: AffineExpr, *, nearest: bool = False, mods: bool = False) -> AffineExpr:
    """Write every digit, at every depth, as floors: x mod n = x - n·(x // n).

    The result has more operations, but floors of different digits may cancel or join. Factors are
    then reduced by the divisor: to 0..s - 1, or to the nearest residue if ``nearest``, so that
    (3·i) // 4 is i + (-i) // 4. Digits with a modulus stay as they are if ``mods``.

    >>> from morello_layouts.core.expr.affine import variable
    >>> i, j = variable("i", 0, 31), variable("j", 0, 3)
    >>> print(expand_digits((i % 8 + 5 * j) // 4))
    -2*(i//8) + j + (i + j)//4
    >>> print(expand_digits((3 * i) // 4 + (7 * i) % 8, nearest=True, mods=True))
    i + (-i)%8 + (-i)//4
    """
    return _Expansion(nearest, mods).form(form)


class _Expansion:
    """One way to expand digits, with the digits that were expanded before."""

    def __init__(self, nearest: bool, mods: bool) -> None:
        self.nearest, self.mods = nearest, mods
        self.known: dict[Digit, AffineExpr] = {}

    def form(self, form: AffineExpr) -> AffineExpr:
        return replace_digits(form, self.digit)

    def digit(self, d: Digit) -> AffineExpr:
        if d not in self.known:
            operand = self.form(d.operand)
            if self.mods and d.modulus is not None:
                rest = self.reduced(operand, d.divisor * d.modulus)[1]
                found = digit(rest, d.divisor, d.modulus)
            else:
                parts = (self.floor(operand, s) * factor for s, factor in floors_of(d, 1))
                found = sum(parts, AffineExpr((), 0))
            self.known[d] = AffineExpr(((d, 1),), 0) if found.as_atom() == d else found
        return self.known[d]

    def reduced(self, x: AffineExpr, s: Int) -> tuple[AffineExpr, AffineExpr]:
        """Return y and r with x = s·y + r and small factors in r."""
        terms = [(a, self.quotient(c, s)) for a, c in x.terms]
        y = AffineExpr.from_terms(terms, x.const // s)
        return y, x - y * s

    def quotient(self, c: Int, s: Int) -> Int:
        """Return c / s, rounded down or to the nearest integer; one half is rounded down."""
        return -((s - 2 * c) // (2 * s)) if self.nearest else c // s

    def floor(self, x: AffineExpr, s: Int) -> AffineExpr:
        """Return x // s, with the quotient of each factor and of the constant outside of it."""
        if s == 1:
            return x
        quotients, rest = self.reduced(x, s)
        q = rest.interval.constant_quotient(s)
        if q is not None:
            return quotients + q
        inner = rest.as_atom()
        if isinstance(inner, Digit) and inner.modulus is None:
            rest, s = inner.operand, inner.divisor * s
        return quotients + digit(rest, s, None)


@frozen
class _Writing:
    """One way to write the digits of an operand; ``whole`` is the factor of the operand itself."""

    terms: tuple[DigitTerm, ...]
    whole: Int
    const: Int

    @staticmethod
    def of(x: AffineExpr, terms: Iterable[DigitTerm], const: Int) -> _Writing:
        """Separate an operand that is a sum from its digits: it merges with the other terms."""
        terms = list(terms)
        if isinstance(x.as_atom(), Var):
            return _Writing(tuple(terms), 0, const)
        whole = sum(t.factor for t in terms if t.is_operand)
        return _Writing(tuple([t for t in terms if not t.is_operand]), whole, const)


class _FormSearch:
    """The results of one search, which ends after a number of steps."""

    def __init__(self, model: CostModel) -> None:
        self.model = model
        #: operands that may still be written or simplified. When none is left, forms stay as they
        #: are, and the best one so far is the answer.
        self.left = SEARCH_WORK
        #: the cheapest form found of each operand: each is searched once.
        self.known: dict[AffineExpr, AffineExpr] = {}
        self.costs: dict[int, tuple[AffineExpr, int]] = {}
        #: the forms of the operations on forms, by the variables in their place.
        self.hidden: dict[str, AffineExpr] = {}
        self.names: dict[Digit | Call, AffineExpr] = {}
        self.canonicalize = rewriter()
        self.fits = Fits(self.cost, model.divide + model.multiply)

    def cost(self, form: AffineExpr) -> int:
        return self.model.cost(form, self.costs)

    def cheapest(self, form: AffineExpr) -> AffineExpr:
        """Return the cheapest form found from several starts, or the form itself."""
        simple = self.without_xors(self.canonicalize(form))
        found, fits, fitted = [simple], simple, simple
        if not is_plain(simple):
            fits = self.fits.form(simple if self.hidden else form)
            if fits is not form:
                fitted = min(self.canonicalize(fits), self.fits.form(simple), key=self.cost)
        found += map(self.repeated, self.starts(fitted))
        best = min([*found, *map(self.fits.form, found), fits], key=self.cost)
        if self.hidden:
            best = substitute(best, self.hidden)
            best = min([best, *_other_choices(best)], key=self.cost)
        return min(best, form, key=self.cost)

    def without_xors(self, form: AffineExpr) -> AffineExpr:
        """Return the form with a variable for each operation on forms, whose parts are searched."""
        return replace_atoms(form, self.hide)

    def hide(self, atom: Digit | Call) -> AffineExpr:
        found = self.names.get(atom)
        if found is not None:
            return found
        if isinstance(atom, Digit):
            found = AffineExpr(((with_operands(atom, self.without_xors), 1),), 0)
        else:
            name = f"^{len(self.names)}"
            found = self.names[atom] = variable(name, *atom.interval)
            self.hidden[name] = call(atom.kind, *map(self.cheapest, atom.parts))
        self.names[atom] = found
        return found

    def starts(self, form: AffineExpr) -> Iterator[AffineExpr]:
        """Yield ways to write a form, as long as steps are left: one search misses some."""
        if self.left > 0:
            yield form
        if self.left > 0 and not is_plain(form) and len(form.terms) <= SEARCH_TERMS:
            with suppress(UnsupportedError):  # a way may nest too deep
                near = expand_digits(form, nearest=True, mods=True)
                if near is not form:
                    yield near
                if self.left > 0 and _is_nested(form):
                    yield expand_digits(form)

    def best(self, simple: AffineExpr) -> AffineExpr:
        found = self.known.get(simple)
        if found is None:
            ways = [simple]
            with suppress(UnsupportedError):  # a way may nest too deep
                ways.extend(self.candidates(simple))
            found = self.known[simple] = min(ways, key=self.cost)
        return found

    def candidates(self, simple: AffineExpr) -> Iterator[AffineExpr]:
        yield _factored(simple, self.model)
        if simple.has_digits and self.left > 0:
            as_written = _Sum(simple, self, simplify_floors=False)
            yield as_written.best()
            if as_written.sum_operands:
                expanded = _Sum(simple, self, simplify_floors=True)
                if (expanded.floors, expanded.factors) != (as_written.floors, as_written.factors):
                    yield expanded.best()

    def repeated(self, form: AffineExpr) -> AffineExpr:
        """Search again from the result as long as the cost falls."""
        best = self.best(form)
        while self.left > 0 and _is_nested(form):
            found = self.best(self.canonicalize(best))
            if self.cost(found) >= self.cost(best):
                break
            best = found
        return best


def _is_nested(form: AffineExpr) -> bool:
    return any(atom.depth > 1 for atom, _ in form.terms)


class _Sum:
    """The search over one sum."""

    def __init__(self, form: AffineExpr, search: _FormSearch, *, simplify_floors: bool) -> None:
        """Simplify floors of sums if ``simplify_floors``, so that more operands are equal."""
        self.search, self.model = search, search.model
        self.const = form.const
        self.factors: dict[Var, Int] = {}  #: the factor of each variable.
        #: for each operand x, the factor c of each x // s, by s.
        self.floors: dict[AffineExpr, dict[Int, Int]] = {}
        #: for each operand, its digits in the given sum.
        self.as_written: dict[AffineExpr, list[DigitTerm]] = {}
        self.with_constant_floor: set[AffineExpr] = set()
        for atom, c in form.terms:
            if isinstance(atom, Var):
                self.factors[atom] = self.factors.get(atom, 0) + c
                continue
            assert isinstance(atom, Digit), "operations are variables here"
            if simplify_floors:
                self.add_simplified(atom, c)
            else:
                term = DigitTerm(c, atom.divisor, atom.modulus)
                self.as_written.setdefault(atom.operand, []).append(term)
                self.add_digit(atom, c)
        for x in self.with_constant_floor:  # the constant holds a part of these digits
            self.as_written.pop(x, None)

    @cached_property
    def operands(self) -> dict[AffineExpr, AffineExpr]:
        return {x: x if isinstance(x.as_atom(), Var) else self.search.best(x) for x in self.floors}

    @property
    def sum_operands(self) -> list[AffineExpr]:
        return [x for x in self.floors if not isinstance(x.as_atom(), Var)]

    def add_digit(self, d: Digit, c: Int) -> None:
        for s, factor in floors_of(d, c):
            self.add_floor(d.operand, s, factor)

    def add_floor(self, x: AffineExpr, s: Int, c: Int) -> None:
        lo, hi = x.interval.floordiv(s)
        if lo is not None and lo == hi:
            self.const += c * lo
            self.with_constant_floor.add(x)
        else:
            floors = self.floors.setdefault(x, {})
            floors[s] = floors.get(s, 0) + c

    def add_simplified(self, d: Digit, c: Int) -> None:
        """Add the digit's floors, each simplified by itself."""
        if self.search.left <= 0:
            self.add_digit(d, c)
            return
        for s, factor in floors_of(d, c):
            self.search.left -= 1
            simple = self.search.canonicalize(digit(d.operand, s, None)) if s != 1 else d.operand
            self.const += factor * simple.const
            for atom, k in simple.terms:
                self.add_expanded(atom, factor * k)

    def add_expanded(self, atom: Atom, c: Int) -> None:
        """Add a floor in terms of operands that other digits may share."""
        if isinstance(atom, Var):
            self.factors[atom] = self.factors.get(atom, 0) + c
            return
        assert isinstance(atom, Digit), "operations are variables here"
        parts = None if atom.modulus is not None else _split_floor(atom.operand, atom.divisor)
        if parts is None:
            self.add_digit(atom, c)
            return
        whole, rest = parts
        self.add_floor(rest, atom.divisor, c)
        for a, f in whole.terms:
            self.add_expanded(a, c * f)

    def best(self) -> AffineExpr:
        operands = self.sum_operands
        choices = [self.choices(x, self.floors[x], self.as_written.get(x, ())) for x in operands]
        found = [self.best_with(operands, chosen) for chosen in _combinations(choices)]
        return min(found, key=self.search.cost)

    def best_with(self, operands: Sequence[AffineExpr], chosen: Sequence[_Writing]) -> AffineExpr:
        """Return the best sum with these choices for the operands that are sums."""
        factors, const = dict(self.factors), self.const
        others: dict[Digit, Int] = {}
        fixed = list(zip(operands, chosen, strict=True))
        for x, choice in fixed:
            const += choice.const + choice.whole * x.const
            for atom, c in x.terms:
                if isinstance(atom, Var):
                    factors[atom] = factors.get(atom, 0) + choice.whole * c
                elif choice.whole:
                    assert isinstance(atom, Digit), "operations are variables here"
                    others[atom] = others.get(atom, 0) + choice.whole * c
        variables: list[tuple[AffineExpr, list[_Writing]]] = []
        for v in {*factors, *(x.terms[0][0] for x in self.floors if x not in operands)}:
            assert isinstance(v, Var)
            x = AffineExpr(((v, 1),), 0)
            floors = dict(self.floors.get(x, {}))
            floors[1] = floors.get(1, 0) + factors.get(v, 0)
            written = self.as_written.get(x, [])
            if written:
                written = [*written, DigitTerm(factors.get(v, 0), 1)]
            variables.append((x, self.choices(x, floors, written)))
        variables.sort(key=lambda entry: entry[0].key)
        return self.build([*fixed, *self.choose(variables, fixed)], others, const)

    def choices(
        self, x: AffineExpr, floors: dict[Int, Int], written: Sequence[DigitTerm]
    ) -> list[_Writing]:
        """Return ways to write an operand's digits whose cost is near the least, best first."""
        self.search.left -= 1
        if not written and floors.keys() == {1}:
            return [_Writing.of(x, (DigitTerm(c, 1) for c in floors.values() if c), 0)]
        costs = digit_choices(floors, self.model, self.search.cost(self.operands.get(x, x)))
        if written:
            terms = tuple(sorted((t for t in written if t.factor != 0), key=DigitTerm.place))
            costs.setdefault(terms, self.cost_alone(x, terms, 0))
        highest = min(costs.values()) + _FUSING_TOLERANCE
        found = {_Writing.of(x, terms, 0): cost for terms, cost in costs.items()}
        for terms in [terms for terms, cost in costs.items() if cost <= highest]:
            fused = fuse_digits(x, terms)
            if fused is not None:
                found[_Writing.of(x, *fused)] = self.cost_alone(x, *fused)
        least = min(found.values())
        near = [choice for choice, cost in found.items() if cost <= least + _SHARING_TOLERANCE]
        return sorted(near, key=lambda c: (found[c], len(c.terms)))

    def cost_alone(self, x: AffineExpr, terms: Iterable[DigitTerm], const: Int) -> int:
        """Return the cost of one operand's terms by themselves, factors and operands included."""
        operand = self.search.cost(self.operands.get(x, x))
        total = self.model.add if const else 0
        for term in terms:
            total += term.cost(self.model) + operand + self.model.times(term.factor)
        return total

    def choose(
        self,
        variables: Sequence[tuple[AffineExpr, list[_Writing]]],
        fixed: Sequence[tuple[AffineExpr, _Writing]],
    ) -> list[tuple[AffineExpr, _Writing]]:
        """Return one choice for each variable, so that all together cost least."""
        common = [choice for _, choice in fixed]
        options = [choices for _, choices in variables]
        if prod(map(len, options)) <= SEARCH_COMBINATIONS:
            best = min(product(*options), key=lambda some: self.cost_together([*common, *some]))
        else:
            best = tuple(self.improved_in_turn(options, common))
        return [(x, choice) for (x, _), choice in zip(variables, best, strict=True)]

    def improved_in_turn(
        self, options: Sequence[list[_Writing]], common: Sequence[_Writing]
    ) -> Iterator[_Writing]:
        """Yield the best choice for each operand beside the first, or the best, of the others."""
        first = [choices[0] for choices in options]
        factors = Counter(absolute(t.factor) for c in (*common, *first) for t in c.terms)
        const = self.const + sum(c.const for c in (*common, *first))

        def cost(choice: _Writing) -> int:
            new = {absolute(t.factor) for t in choice.terms if not factors[absolute(t.factor)]}
            own = sum(t.cost(self.model) for t in choice.terms) + sum(map(self.model.times, new))
            return own + (self.model.add if const + choice.const else 0)

        for before, choices in zip(first, options, strict=True):
            factors.subtract(absolute(t.factor) for t in before.terms)
            const -= before.const
            best = min(choices, key=cost)
            factors.update(absolute(t.factor) for t in best.terms)
            const += best.const
            yield best

    def cost_together(self, chosen: Iterable[_Writing]) -> int:
        """Return the cost of the terms without operands, each factor multiplied once."""
        total, factors, const = 0, set(), self.const
        for choice in chosen:
            const += choice.const
            for term in choice.terms:
                total += term.cost(self.model)
                factors.add(absolute(term.factor))
        return total + sum(map(self.model.times, factors)) + (self.model.add if const else 0)

    def build(
        self,
        chosen: Sequence[tuple[AffineExpr, _Writing]],
        others: dict[Digit, Int],
        const: Int,
    ) -> AffineExpr:
        terms: list[tuple[Atom, Int]] = list(others.items())
        for x, choice in chosen:
            operand = self.operands.get(x, x)
            if x not in self.floors or isinstance(x.as_atom(), Var):
                const += choice.const
            terms += [(_multiples_outside(t.atom(operand)), t.factor) for t in choice.terms]
        return _factored(AffineExpr.from_terms(terms, const), self.model)


def _multiples_outside(atom: Atom) -> Atom:
    """Return ``(y + x // s) mod n`` in place of ``((s·y + x) // s) mod n``, if y has variables."""
    s = atom.divisor if isinstance(atom, Digit) and atom.modulus is not None else 1
    if not isinstance(atom, Digit) or not isinstance(s, int) or s == 1:
        return atom
    y, rest, _ = divided(atom.operand, s)
    return Digit(y + digit(rest, s, None), 1, atom.modulus) if y.terms else atom


def _split_floor(x: AffineExpr, s: Int) -> tuple[AffineExpr, AffineExpr] | None:
    """Return y and r with x // s = y + r // s: the multiples of s in factors of x, and the rest.

    Return None if there are none.
    """
    if isinstance(s, SizeExpr) or any(isinstance(c, SizeExpr) for _, c in x.terms):
        return None
    # The rest of a factor is -1 rather than s - 1: this needs no multiplication.
    quotients = [(a, c // s + ((c + 1) % s == 0 and s > 2)) for a, c in x.terms]
    whole = AffineExpr(tuple([(a, q) for a, q in quotients if q]), 0)
    return (whole, x - whole * s) if whole.terms else None


def _combinations(choices: Sequence[list[_Writing]]) -> Iterator[tuple[_Writing, ...]]:
    """Return all combinations; if these are too many, those of the best choices."""
    if prod(map(len, choices)) > SEARCH_COMBINATIONS:
        choices = [some[:2] for some in choices[:4]] + [some[:1] for some in choices[4:]]
    return product(*choices)


def _other_choices(form: AffineExpr) -> Iterator[AffineExpr]:
    """Yield a sum with a choice of two numbers, or with a min or max of multiples."""
    for atom, c in form.terms:
        one = AffineExpr(((atom, 1),), 0)
        if form.const and is_condition(one):
            numbers = (AffineExpr((), form.const + c), AffineExpr((), form.const))
            yield form - one * c - form.const + call("select", one, *numbers)
        elif isinstance(atom, Call) and atom.kind in ("min", "max") and is_nonnegative(c):
            yield form - one * c + call(atom.kind, *(part * c for part in atom.parts))


def _factored(form: AffineExpr, model: CostModel) -> AffineExpr:
    """Return the sum with terms of equal factor in a group, multiplied once."""
    groups: dict[Int, list[tuple[Atom, Int]]] = {}
    for atom, c in form.terms:
        groups.setdefault(absolute(c), []).append((atom, c))
    terms: list[tuple[Atom, Int]] = []
    for factor, members in groups.items():
        if len(members) == 1 or model.times(factor) == 0:
            terms += members
            continue
        lead = max(sign(c) for _, c in members)
        inner = AffineExpr.from_terms([(a, lead * sign(c)) for a, c in members])
        terms.append((Digit(inner, 1, None), lead * factor))
    return AffineExpr.from_terms(terms, form.const)
