"""Sets of symbolic sizes: as a condition to read, and the first sizes in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import product
from math import gcd, lcm
from typing import Any, Final, Literal, Protocol

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.affine import Digit, digit
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.conversions import size_to_sympy, to_sympy
from morello_layouts.core.expr.sizes import (
    Int,
    Quotient,
    SizeExpr,
    ceil_quotient,
    common_divisor,
    is_nonnegative,
    sign,
)
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import sympy
from morello_layouts.core.limits import PROOF_VALUES, PROOF_VALUES_OF_MANY
from morello_layouts.proof.isl import Parameters, Space, at_least, union
from morello_layouts.proof.library import isl
from morello_layouts.proof.verdict import ALL_SIZES, NO_SIZES, Condition


class Named(Protocol):
    """A value whose sizes have names."""

    @property
    def size_symbols(self) -> Mapping[str, sympy.Symbol]:
        """The SymPy symbols of the sizes, by name."""


@frozen(slots=False)
class Fact:
    """One constraint on sizes."""

    form: AffineExpr  #: a number or a symbolic size, plus multiples of floors of such.
    #: whether the form is at least 0, is 0, or is a multiple of the modulus.
    kind: Literal["nonnegative", "zero", "divisible"]
    modulus: int = 1  #: the divisor of the form.

    def sizes(self, space: Space) -> isl.Set:
        """Return the parameters that satisfy the constraint."""
        value = space.number(self.form.const)
        for atom, c in self.form.terms:
            assert isinstance(atom, Digit)
            assert isinstance(atom.divisor, int)
            assert isinstance(c, int)
            quotient = space.number(atom.operand.const).scale_down_val(space.val(atom.divisor))
            value = value.add(quotient.floor().scale_val(space.val(c)))
        if self.kind == "nonnegative":
            return at_least(value, 0).params()
        if self.kind == "divisible":
            value = value.mod_val(space.val(self.modulus))
        return value.to_pw_aff().zero_set().params()

    @property
    def is_true(self) -> bool:
        """Whether a fact about a number holds."""
        number: Any = self.form.const
        remainder = number % self.modulus
        truths = {"nonnegative": number >= 0, "zero": number == 0, "divisible": remainder == 0}
        return bool(truths[self.kind])

    def of(self, number: Int) -> Fact:
        """Return the same fact of another number."""
        return replace(self, form=AffineExpr((), number))

    @property
    def whole(self) -> Fact:
        """The fact without quotients that are exact, if it compares a polynomial with 0."""
        keeps = self.form.terms or self.kind == "divisible"
        return self if keeps else self.of(_whole(self.form.const))

    def at(self, name: str, end: int) -> Fact:
        """Return the fact at one value of a size; a fact with floors is left as it is."""
        number = self.form.const
        if self.form.terms or isinstance(number, int):
            return self
        return self.of(number.evaluate({name: end}))

    def sympy(self, named: Mapping[str, sympy.Symbol]) -> Any:
        """Return the constraint as a SymPy relation."""
        if self.kind == "divisible":
            return sympy.Eq(sympy.Mod(to_sympy(self.form, named), self.modulus), 0)
        bound = self._bound
        if bound is None:
            left, right = (to_sympy(side, named) for side in _sides(self.form))
            return (sympy.Eq if self.kind == "zero" else sympy.Ge)(left, right)
        size, sign, end = bound
        relation = {"=": sympy.Eq, ">=": sympy.Ge, "<=": sympy.Le}[sign]
        return relation(size_to_sympy(size, named), end)

    def __str__(self) -> str:
        if self.kind == "divisible":
            text = str(self.form)
            return f"{self.modulus} | {f'({text})' if ' ' in text else text}"
        bound = self._bound
        if bound is None:
            left, right = _sides(self.form)
            return f"{left} {'=' if self.kind == 'zero' else '>='} {right}"
        return " ".join(map(str, bound))

    @property
    def _bound(self) -> tuple[SizeExpr, str, int] | None:
        """The bound on a single size x: x ≥ ⌈-c/a⌉ or x ≤ ⌊c/-a⌋ from a·x + c ≥ 0, or x = -c/a."""
        number = self.form.const
        if self.form.terms or isinstance(number, int):
            return None
        varying = [(m, a) for m, a in number.terms if m]
        if len(varying) != 1:
            return None
        ((monomial, a),) = varying
        c = number - SizeExpr(((monomial, a),))
        size = SizeExpr(((monomial, 1),))
        if not isinstance(c, int):
            return None
        if self.kind == "zero":
            return (size, "=", -c // a) if c % a == 0 else None
        return (size, ">=", -(c // a)) if a > 0 else (size, "<=", c // -a)


def read_constraint(constraint: isl.Constraint, parameters: Parameters) -> Fact | None:
    """Return a constraint of ISL as a fact; None if it has quotients of quotients."""
    number = _number(constraint, parameters)
    quotients = {
        k: c
        for k in range(constraint.dim(isl.dim_type.div))
        if (c := _coefficient(constraint, isl.dim_type.div, k))
    }
    equal = constraint.is_equality()
    if equal and len(quotients) == 1:
        (modulus,) = map(abs, quotients.values())
        return Fact(AffineExpr((), _positive(number)), "divisible", modulus)
    form = AffineExpr((), number)
    for k, c in quotients.items():
        quotient = _quotient(constraint.get_div(k), parameters)
        if quotient is None:
            return None
        form = form + quotient * c
    return Fact(form, "zero" if equal else "nonnegative")


def _quotient(function: isl.Aff, parameters: Parameters) -> AffineExpr | None:
    divisor = function.get_denominator_val()
    whole = function.scale_val(divisor)
    nested = range(whole.dim(isl.dim_type.div))
    if any(_coefficient(whole, isl.dim_type.div, k) for k in nested):
        return None
    number = _number(whole, parameters)
    return digit(AffineExpr((), number), divisor.to_python(), None)


def _number(of: isl.Constraint | isl.Aff, parameters: Parameters) -> Int:
    """Return the constant of a function plus its parameters times their factors."""
    number: Int = of.get_constant_val().to_python()
    for k, size in enumerate(parameters.sizes()):
        number = number + size * _coefficient(of, isl.dim_type.param, k)
    return number


def _coefficient(of: isl.Constraint | isl.Aff, kind: isl.dim_type, k: int) -> int:
    value: int = of.get_coefficient_val(kind, k).to_python()
    return value


def _positive(number: Int) -> Int:
    """Return the number or its negative, whichever has a positive first term."""
    if isinstance(number, int):
        return abs(number)
    return -number if str(number).startswith("-") else number


def _sides(form: AffineExpr) -> tuple[AffineExpr, AffineExpr]:
    monomials = form.const.terms if isinstance(form.const, SizeExpr) else (((), form.const),)
    added: Int = 0
    taken: Int = 0
    for monomial, c in monomials:
        if c > 0:
            added = added + SizeExpr(((monomial, c),))
        else:
            taken = taken + SizeExpr(((monomial, -c),))
    plus = [(a, c) for a, c in form.terms if sign(c) > 0]
    minus = [(a, -c) for a, c in form.terms if sign(c) < 0]
    return AffineExpr.from_terms(plus, added), AffineExpr.from_terms(minus, taken)


_RANKS: Final = {"nonnegative": 0, "divisible": 1, "zero": 2}
"""The order in which a condition tries to drop facts."""


@frozen(slots=False)
class SizeSet:
    """A set of symbolic sizes, out of those that are assumed."""

    sizes: isl.Set  #: the set, of ISL's parameters.
    space: Space  #: a space with these parameters; its ``sizes`` are those assumed.

    @property
    def is_always(self) -> bool:
        """True if all assumed sizes are in the set."""
        return bool(self.space.sizes.is_subset(self.sizes))

    @property
    def is_never(self) -> bool:
        """True if no assumed sizes are in the set."""
        return bool(self.space.sizes.intersect(self.sizes).is_empty())

    @cached_property
    def parts(self) -> list[list[Fact]] | None:
        """The set as a disjunction of conjunctions of facts; None if it has no such form.

        The facts read from ISL's constraints are compared with ISL's set, so a wrong reading
        gives None.
        """
        covered = isl.Set.empty(self.sizes.get_space())
        parts: list[list[Fact]] = []
        for part in sorted(self._candidates(), key=lambda part: (len(part), list(map(str, part)))):
            if not self._suffices(part):
                return None
            if not self._sizes_of(part).is_subset(covered):
                parts.append(part)
                covered = covered.union(self._sizes_of(part))
        if not self.sizes.intersect(self.space.sizes).is_subset(covered):
            return None
        for part in tuple(parts) if len(parts) > 1 else ():
            others = [self._sizes_of(other) for other in parts if other is not part]
            if self._sizes_of(part).is_subset(union(others, covered.get_space())):
                parts.remove(part)
        return parts

    def _candidates(self) -> list[list[Fact]]:
        simple = self.sizes.intersect(self.space.sizes).coalesce().gist(self.space.sizes)
        found = []
        for part in simple.coalesce().get_basic_sets():
            facts = (read_constraint(c, self.space.parameters) for c in part.get_constraints())
            found.append(self._weakest([fact for fact in facts if fact is not None]))
        return found

    def _weakest(self, facts: list[Fact]) -> list[Fact]:
        """Return the facts without those that the others make superfluous."""
        for fact in sorted(facts, key=lambda fact: _RANKS[fact.kind]):
            fewer = [one for one in facts if one is not fact]
            if self._suffices(fewer):
                facts = fewer
        return facts

    def _suffices(self, facts: Sequence[Fact]) -> bool:
        """Return whether all sizes that satisfy the facts are in the set."""
        return bool(self._sizes_of(facts).is_subset(self.sizes))

    @cached_property
    def _known(self) -> dict[tuple[Fact, ...], isl.Set]:
        return {(): self.space.sizes}

    def _sizes_of(self, facts: Sequence[Fact]) -> isl.Set:
        """Return the assumed sizes that satisfy facts; those of their first ones are shared."""
        key = tuple(facts)
        if key not in self._known:
            self._known[key] = self._sizes_of(key[:-1]).intersect(key[-1].sizes(self.space))
        return self._known[key]

    def condition(self, *maps: Named) -> Condition:
        """Return the condition on sizes, those of maps, for being in the set."""
        if self.is_always:
            return ALL_SIZES
        if self.is_never:
            return NO_SIZES
        if self.parts is None:
            return Condition(f"the sizes are in {self._isl_text()}")
        parts = self._solved(self.parts)
        if not parts:
            return NO_SIZES
        texts = [" and ".join(sorted(map(str, part), key=_subject)) for part in parts]
        return Condition(", or ".join(dict.fromkeys(texts)), partial(_relation, parts, maps))

    def _solved(self, parts: list[list[Fact]]) -> list[list[Fact]]:
        """Return parts with products that are 0 split, and known sizes put in for their names.

        ISL takes a product of sizes for a size of its own, so it keeps ``M*N + 5 = 5*M + N``, which
        is ``M = 1, or N = 5``.
        """
        if self.space.parameters.are_names:
            return parts
        assumed = {one.name: one for one in self.space.parameters.assumptions}
        whole = [[fact.whole for fact in part] for part in parts]
        found = {frozenset(x): x for part in whole for x in _solutions(part, assumed)}
        kept = [part for key, part in found.items() if not any(other < key for other in found)]
        return sorted(kept, key=lambda part: (len(part), sorted(map(str, part))))

    def _isl_text(self) -> str:
        text = str(self.sizes.coalesce().gist(self.space.sizes))
        for k, size in enumerate(self.space.parameters.sizes()):
            text = text.replace(f"p{k}", str(size))
        return text


def _solutions(part: Sequence[Fact], assumed: Mapping[str, Assumption]) -> Iterator[list[Fact]]:
    """Yield alternatives that are a part together, each with the sizes that it fixes put in."""
    for fact in part:
        number, others = fact.form.const, [one for one in part if one is not fact]
        if fact.form.terms or (fact.kind != "zero" and not isinstance(number, int)):
            continue
        if isinstance(number, int):
            yield from _solutions(others, assumed) if fact.is_true else ()
            return
        if _has_no_zero(number):
            return
        if (found := factors(number)) != [number]:
            for factor in found:
                yield from _solutions([*others, fact.of(factor)], assumed)
            return
        size, _, end = fact._bound or (number, "", 0)
        if isinstance(name := size.as_atom(), str):
            if assumed.get(name, Assumption(name)).holds_for(end):
                put = [one.at(name, end) for one in others]
                yield from ([fact, *solved] for solved in _solutions(put, assumed))
            return
    yield [*part]


def _has_no_zero(number: SizeExpr) -> bool:
    """Return whether a polynomial is seen to be 0 for no sizes.

    >>> n = SizeExpr.named("N")
    >>> [_has_no_zero(x) for x in (n + 1, -n, 2 * n - 5, 4 * n - 6, n - 3)]
    [True, True, True, True, False]
    """
    if is_nonnegative(number - 1) or is_nonnegative(-number - 1):
        return True
    (constant,) = [c for m, c in number.terms if not m] or [0]
    return bool(constant % gcd(*(c for m, c in number.terms if m)))


def factors(number: SizeExpr) -> list[SizeExpr]:
    """Return factors whose product is 0 where a polynomial is, none of them a product of sizes.

    >>> m, n = SizeExpr.named("M"), SizeExpr.named("N")
    >>> print(*factors(2 * m * m * n + 5 * m - 5 * m * m - 2 * m * n))
    2*N - 5 M - 1
    """
    number = primitive(number)
    names = [x for x in sorted(number.atoms()) if isinstance(x, str)]
    for name in names if len(names) == len(number.atoms()) else ():
        rest = number.evaluate({name: 0})
        factor = primitive(number.evaluate({name: 1}) - rest)
        if isinstance(factor, SizeExpr):
            other, left = divmod(number, factor)
            if left == 0 and isinstance(other, SizeExpr):
                return [*factors(factor), *factors(other)]
    return [number]


def _whole(number: Int) -> Int:
    """Return a positive multiple of a polynomial without quotients that are exact.

    >>> n = Quotient(SizeExpr.named("N"), 4, exact=True)
    >>> print(_whole(SizeExpr.named(n) * SizeExpr.named("M") - 1), _whole(3))
    M*N - 4 3
    """
    for one in number.atoms() if isinstance(number, SizeExpr) else ():
        if isinstance(one, Quotient) and one.exact and isinstance(number, SizeExpr):
            most = max(dict(m).get(one, 0) for m, _ in number.terms)
            total: Int = 0
            for m, c in number.terms:
                power = dict(m).get(one, 0)
                rest = SizeExpr(((tuple(x for x in m if x[0] != one), c),))
                total += rest * one.numerator**power * one.divisor ** (most - power)
            number = total
    return number


def primitive(number: Int) -> Any:
    """Return a polynomial without the number and the product of sizes that divide it."""
    if isinstance(number, int):
        return number
    parts: list[Int] = [SizeExpr((term,)) if term[0] else term[1] for term in number.terms]
    return number // reduce(common_divisor, parts)


def _relation(parts: Iterable[Iterable[Fact]], maps: Iterable[Named]) -> Any:
    """Return some parts, each of which is all of some facts, as a SymPy Boolean."""
    named = {name: symbol for m in maps for name, symbol in m.size_symbols.items()}
    return sympy.Or(*(sympy.And(*(fact.sympy(named) for fact in part)) for part in parts))


def _subject(fact: str) -> tuple[str, str]:
    """Return the sort key of a fact: its text from the size on, then all of it."""
    return fact.rpartition(" | ")[2], fact


def first_sizes(found: isl.Set, space: Space, names: tuple[str, ...]) -> dict[str, int] | None:
    """Return the lexicographically first sizes in a set of parameters; None if none are found.

    ISL takes parameters that are products of sizes for independent; then small sizes are tried.
    """
    if found.is_empty():
        return None
    if not space.parameters.are_names:
        return _first_small_sizes(found, space, names)
    monomials = space.parameters.monomials
    order = sorted(range(len(monomials)), key=lambda k: names.index(str(monomials[k][0][0])))
    points = found.insert_dims(isl.dim_type.set, 0, len(order))
    for place, k in enumerate(order):
        points = points.equate(isl.dim_type.param, k, isl.dim_type.set, place)
    points = points.project_out(isl.dim_type.param, 0, len(order))
    first = points.lexmin().sample_point()
    values = {
        str(monomials[k][0][0]): first.get_coordinate_val(isl.dim_type.set, place).to_python()
        for place, k in enumerate(order)
    }
    # A size that does not matter takes its least value.
    assumed = {one.name: one.lo for one in space.parameters.assumptions}
    return {name: values.get(name, assumed.get(name, 1)) for name in names}


def point_of(sizes: Mapping[str, int], space: Space) -> isl.Set:
    """Return the parameters at given sizes, as a set of one point."""
    there = isl.Set.universe(space.sizes.get_space())
    for k, size in enumerate(space.parameters.sizes()):
        there = there.fix_val(isl.dim_type.param, k, space.val(size.evaluate(sizes)))
    return there


def _first_small_sizes(
    found: isl.Set, space: Space, names: tuple[str, ...]
) -> dict[str, int] | None:
    assumed = {one.name: one for one in space.parameters.assumptions}
    count = PROOF_VALUES.get(len(names), PROOF_VALUES_OF_MANY)
    for values in product(*(small_values(assumed.get(n, Assumption(n)), count) for n in names)):
        sizes = dict(zip(names, values, strict=True))
        if not found.is_disjoint(point_of(sizes, space)):
            return sizes
    return None


def small_values(one: Assumption, count: int) -> list[int]:
    """Return the smallest values of a size, at most a given count.

    >>> small_values(Assumption("N", divisor=8, hi=20), 3)
    [8, 16]
    """
    values = (one.lo + k * one.divisor for k in range(count))
    return [n for n in values if one.holds_for(n)]


def tile_of(size: Int, padded: Int) -> Int | None:
    """Return the tile t of which ``t·⌈size/t⌉`` is the padded size."""
    if isinstance(padded, int):
        return None
    for atom in padded.atoms():
        if isinstance(atom, Quotient) and not atom.exact:
            tile, rest = divmod(padded, SizeExpr.named(atom))
            is_tile = rest == 0 and is_nonnegative(tile - 1)
            if is_tile and ceil_quotient(size, tile) == SizeExpr.named(atom):
                return tile
    return padded if size == 1 else None  # one tile, such as S of 1 in tiles of S


def divisors(
    facts: Iterable[tuple[Int | None, Int]], assumed: Iterable[Assumption]
) -> dict[Int, int] | None:
    """Return the number that divides each name if each tile divides its size; None if unknown.

    A size may be the quotient of a name by a tile that divides it.
    """
    found: dict[Any, int] = {}
    if any(one.hi is not None for one in assumed):
        return None
    for tile, number in facts:
        if not isinstance(tile, int) or isinstance(number, int):
            return None
        atom, divisor = number.as_atom(), 1
        is_known = True
        if isinstance(atom, Quotient) and isinstance(atom.divisor, int):
            divisor, is_known = atom.divisor, atom.exact
            atom = None if isinstance(atom.numerator, int) else atom.numerator.as_atom()
        if not isinstance(atom, str):
            return None
        name = SizeExpr.named(atom)
        if not is_known and found.get(name, 1) % divisor:
            return None
        found[name] = lcm(found.get(name, 1), tile * divisor)
    return found


def divides(pairs: Sequence[tuple[Int | None, Int]], m: Named) -> Condition | None:
    """Return the condition that each tile divides its size."""
    known = [(t, n) for t, n in pairs if t is not None]
    if len(known) < len(pairs):
        return None
    each = (f"{t} = 1" if n == 1 else f"{t} | {n}" for t, n in known)
    text = " and ".join(sorted(each, key=_subject))
    return Condition(text, partial(_multiples, known, m))


def _multiples(pairs: Iterable[tuple[Int, Int]], m: Named) -> Any:
    """Return that each second size is a multiple of the first, as a SymPy Boolean."""
    both = ((size_to_sympy(n, m.size_symbols), size_to_sympy(t, m.size_symbols)) for t, n in pairs)
    return sympy.And(*(sympy.Eq(sympy.Mod(n, t), 0) for n, t in both))
