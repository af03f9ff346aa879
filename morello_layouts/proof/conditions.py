"""Conditions on symbolic sizes, and the smallest sizes that violate them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, Any, Final, Literal

import islpy as isl

from morello_layouts.expr import AffineExpr
from morello_layouts.expr.affine import Digit, digit
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.conversions import size_to_sympy, to_sympy
from morello_layouts.expr.sizes import Int, Monomial, SizeExpr, sign
from morello_layouts.proof.isl import Parameters, Space, at_least

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Fact:
    """What one constraint says of sizes.

    Attributes:
        of: a number, perhaps symbolic, and factors of floors of numbers.
        kind: that the form is at least 0, is 0, or is a multiple of the modulus.
        modulus: what divides the form.
    """

    of: AffineExpr
    kind: Literal["least", "equal", "divides"]
    modulus: int = 1

    def sizes(self, space: Space) -> isl.Set:
        """The parameters for which it is so."""
        value = space.number(self.of.const)
        for atom, c in self.of.terms:
            assert isinstance(atom, Digit)
            inner = (
                space.number(atom.operand.const).scale_down_val(_val(atom.divisor, space)).floor()
            )
            value = value.add(inner.scale_val(_val(c, space)))
        if self.kind == "least":
            return at_least(value, 0).params()
        if self.kind == "divides":
            value = value.mod_val(space.val(self.modulus))
        return value.to_pw_aff().zero_set().params()

    def sympy(self, named: Mapping[str, sympy.Symbol]) -> Any:
        """The fact as a SymPy relation."""
        from sympy import Eq, Ge, Le, Mod

        if self.kind == "divides":
            return Eq(Mod(to_sympy(self.of, named), self.modulus), 0)
        bound = self._bound
        if bound is None:
            left, right = (to_sympy(side, named) for side in _sides(self.of))
            return (Eq if self.kind == "equal" else Ge)(left, right)
        size, sign, end = bound
        relation = {"=": Eq, ">=": Ge, "<=": Le}[sign]
        return relation(size_to_sympy(size, named), end)

    def __str__(self) -> str:
        if self.kind == "divides":
            return f"{self.modulus} divides {self.of}"
        bound = self._bound
        if bound is None:
            left, right = _sides(self.of)
            return f"{left} {'=' if self.kind == 'equal' else '>='} {right}"
        return " ".join(map(str, bound))

    @property
    def _bound(self) -> tuple[SizeExpr, str, int] | None:
        """For one size x, a·x + c ≥ 0 as x ≥ ⌈-c/a⌉ or x ≤ ⌊c/-a⌋, and a·x + c = 0."""
        number = self.of.const
        if self.of.terms or isinstance(number, int):
            return None
        varying = [(m, a) for m, a in number.terms if m]
        if len(varying) != 1:
            return None
        ((monomial, a),) = varying
        c = number - SizeExpr(((monomial, a),))
        size = SizeExpr(((monomial, 1),))
        if not isinstance(c, int):
            return None
        if self.kind == "equal":
            return (size, "=", -c // a) if c % a == 0 else None
        return (size, ">=", -(c // a)) if a > 0 else (size, "<=", c // -a)


def read(constraint: isl.Constraint, parameters: Parameters) -> Fact | None:
    """A constraint as a fact; None where it holds quotients of quotients."""
    number: Int = constraint.get_constant_val().to_python()
    for k, size in enumerate(parameters.sizes()):
        number = number + size * _coefficient(constraint, isl.dim_type.param, k)
    quotients = {
        k: c
        for k in range(constraint.dim(isl.dim_type.div))
        if (c := _coefficient(constraint, isl.dim_type.div, k))
    }
    equal = constraint.is_equality()
    if equal and len(quotients) == 1:
        (modulus,) = map(abs, quotients.values())
        return Fact(AffineExpr((), _positive(number)), "divides", modulus)
    form = AffineExpr((), number)
    for k, c in quotients.items():
        quotient = _quotient(constraint.get_div(k), parameters)
        if quotient is None:
            return None
        form = form + quotient * c
    return Fact(form, "equal" if equal else "least")


def _quotient(function: isl.Aff, parameters: Parameters) -> AffineExpr | None:
    """The floor of a rational function of the parameters."""
    nested = range(function.dim(isl.dim_type.div))
    if any(_coefficient(function, isl.dim_type.div, k) for k in nested):
        return None
    divisor = function.get_denominator_val()
    scaled = function.scale_val(divisor)
    number: Int = scaled.get_constant_val().to_python()
    for k, size in enumerate(parameters.sizes()):
        number = number + size * _coefficient(scaled, isl.dim_type.param, k)
    return digit(AffineExpr((), number), divisor.to_python(), None)


def _val(number: Int, space: Space) -> isl.Val:
    assert isinstance(number, int)
    return space.val(number)


def _coefficient(of: isl.Constraint | isl.Aff, kind: isl.dim_type, k: int) -> int:
    value: int = of.get_coefficient_val(kind, k).to_python()
    return value


def _positive(number: Int) -> Int:
    """The number or its negative, whichever has a positive first term."""
    if isinstance(number, int):
        return abs(number)
    return -number if str(number).startswith("-") else number


def _sides(form: AffineExpr) -> tuple[AffineExpr, AffineExpr]:
    """What is added and what is taken away, so that neither side has a minus."""
    monomials = form.const.terms if isinstance(form.const, SizeExpr) else (((), form.const),)
    added: Int = 0
    taken: Int = 0
    for monomial, c in monomials:
        if c > 0:
            added = added + _term(monomial, c)
        else:
            taken = taken + _term(monomial, -c)
    plus = [(a, c) for a, c in form.terms if sign(c) > 0]
    minus = [(a, -c) for a, c in form.terms if sign(c) < 0]
    return AffineExpr.from_terms(plus, added), AffineExpr.from_terms(minus, taken)


def _term(monomial: Monomial, c: int) -> Int:
    return SizeExpr(((monomial, c),)) if monomial else c


ALWAYS: Final = "for all sizes"
NEVER: Final = "for no sizes"

_RANKS: Final = {"least": 0, "divides": 1, "equal": 2}
"""Which facts a condition can do without first."""


@dataclass(frozen=True)
class Condition:
    """The sizes for which something holds, out of those that are assumed.

    Attributes:
        holds: the sizes for which it holds.
        space: a space with the parameters, whose ``sizes`` are those assumed.
    """

    holds: isl.Set
    space: Space

    @property
    def is_always(self) -> bool:
        """Whether it holds for all sizes that are assumed."""
        return bool(self.space.sizes.is_subset(self.holds))

    @property
    def is_never(self) -> bool:
        """Whether it holds for none of them."""
        return bool(self.space.sizes.intersect(self.holds).is_empty())

    @cached_property
    def parts(self) -> list[list[Fact]] | None:
        """The condition as an Or of Ands of facts; None where it has no such form.

        What is read off ISL's constraints is held against ISL's set, so a wrong reading is none.
        """
        covered = isl.Set.empty(self.holds.get_space())
        parts: list[list[Fact]] = []
        for part in sorted(self._candidates(), key=lambda part: (len(part), list(map(str, part)))):
            if not self._suffices(part):
                return None
            if not self._sizes(part).is_subset(covered):
                parts.append(part)
                covered = covered.union(self._sizes(part))
        return parts if self.holds.intersect(self.space.sizes).is_subset(covered) else None

    def _candidates(self) -> list[list[Fact]]:
        simple = self.holds.intersect(self.space.sizes).coalesce().gist(self.space.sizes)
        found = []
        for part in simple.coalesce().get_basic_sets():
            facts = (read(c, self.space.parameters) for c in part.get_constraints())
            found.append(self._weakest([fact for fact in facts if fact is not None]))
        return found

    def _weakest(self, facts: list[Fact]) -> list[Fact]:
        """The facts without those that are not needed for the condition to hold."""
        for fact in sorted(facts, key=lambda fact: _RANKS[fact.kind]):
            fewer = [one for one in facts if one is not fact]
            if self._suffices(fewer):
                facts = fewer
        return facts

    def _suffices(self, facts: Sequence[Fact]) -> bool:
        """Whether the condition holds wherever the facts do."""
        return bool(self._sizes(facts).is_subset(self.holds))

    def _sizes(self, facts: Sequence[Fact]) -> isl.Set:
        found = self.space.sizes
        for fact in facts:
            found = found.intersect(fact.sizes(self.space))
        return found

    def sympy(self, named: Mapping[str, sympy.Symbol]) -> Any:
        """The condition as a SymPy Boolean over the sizes; None where it has no simple form."""
        from sympy import And, Or, false, true

        if self.is_always or self.is_never:
            return true if self.is_always else false
        if self.parts is None:
            return None
        return Or(*(And(*(fact.sympy(named) for fact in part)) for part in self.parts))

    def words(self) -> str:
        """The condition in words."""
        if self.is_always or self.is_never:
            return ALWAYS if self.is_always else NEVER
        if self.parts is None:
            return f"exactly for these sizes: {self._text()}"
        each = [" and ".join(sorted(map(str, part), key=_order)) for part in self.parts]
        return "exactly when " + ", or ".join(each)

    def _text(self) -> str:
        text = str(self.holds.coalesce().gist(self.space.sizes))
        for k, size in enumerate(self.space.parameters.sizes()):
            text = text.replace(f"p{k}", str(size))
        return text


def _order(text: str) -> tuple[str, str]:
    """Facts go by what they are about."""
    words = text.split()
    return (words[-1] if "divides" in words else words[0]), text


_TRIED: Final = {1: 4096, 2: 160, 3: 24, 4: 12}
"""Values of each name that are tried where products of sizes decide, by the number of names."""


def first_sizes(found: isl.Set, space: Space, names: tuple[str, ...]) -> dict[str, int] | None:
    """The lexicographically first sizes in a set of parameters; None where none are found.

    Where products of sizes are parameters, which ISL takes for independent, sizes are tried.
    """
    if found.is_empty():
        return None
    if not space.parameters.are_names:
        return _by_trial(found, space.parameters, names)
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
    # A size that decides nothing is as small as it may be.
    assumed = {one.name: one.lo for one in space.parameters.assumptions}
    return {name: values.get(name, assumed.get(name, 1)) for name in names}


def point_of(sizes: Mapping[str, int], space: Space) -> isl.Set:
    """The parameters at given sizes, as a set of one point."""
    there = isl.Set.universe(space.sizes.get_space())
    for k, size in enumerate(space.parameters.sizes()):
        there = there.fix_val(isl.dim_type.param, k, space.val(size.evaluate(sizes)))
    return there


def _by_trial(
    found: isl.Set, parameters: Parameters, names: tuple[str, ...]
) -> dict[str, int] | None:
    assumed = {one.name: one for one in parameters.assumptions}
    count = _TRIED.get(len(names), 6)
    candidates = [list(islice(_values(assumed.get(n, Assumption(n))), count)) for n in names]
    products = list(enumerate(parameters.sizes()))
    context = found.get_ctx()
    for values in product(*candidates):
        sizes = dict(zip(names, values, strict=True))
        there = found
        for k, size in products:
            val = isl.Val.read_from_str(context, str(size.evaluate(sizes)))
            there = there.fix_val(isl.dim_type.param, k, val)
        if not there.is_empty():
            return sizes
    return None


def _values(one: Assumption) -> Iterator[int]:
    """The values that a size may have, ascending."""
    value = one.lo
    while one.hi is None or value <= one.hi:
        yield value
        value += one.divisor
