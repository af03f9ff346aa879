"""For which sizes something holds: ISL's sets of parameters as conditions that people read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import islpy as isl

from morello_layouts.expr.size import Number, Size
from morello_layouts.expr.sympy_bridge import size_to_sympy
from morello_layouts.proof.space import Parameters, Space, at_least

if TYPE_CHECKING:
    import sympy

__all__ = ["ALWAYS", "NEVER", "Condition"]

ALWAYS: Final = "for all sizes"
NEVER: Final = "for no sizes"

_LARGEST_TRIED: Final = 40
"""Sizes tried one by one where a product of sizes decides, before giving up."""


_RANKS: Final = {"least": 0, "divides": 1, "equal": 2}
"""Which facts a condition can do without first."""


@dataclass(frozen=True)
class _Fact:
    """What one constraint says of sizes: that a number is ≥ 0, = 0, or a multiple."""

    of: Number
    kind: str
    modulus: int = 1


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
    def _parts(self) -> list[list[_Fact]] | None:
        """The condition as an Or of Ands of facts; None where it has no such form."""
        simple = self.holds.intersect(self.space.sizes).coalesce().gist(self.space.sizes)
        read = isl.Set.empty(self.holds.get_space())
        parts: list[list[_Fact]] = []
        candidates = [
            self._weakest([fact for c in part.get_constraints() if (fact := self._fact(c))])
            for part in simple.coalesce().get_basic_sets()
        ]
        for part in sorted(candidates, key=lambda part: (len(part), list(map(_words, part)))):
            if not self._holding(part):
                return None
            if not self._set_of(part).intersect(self.space.sizes).is_subset(read):
                parts.append(part)
                read = read.union(self._set_of(part))
        # What was read is held against what was to be read.
        return parts if self.holds.intersect(self.space.sizes).is_subset(read) else None

    def _fact(self, constraint: isl.Constraint) -> _Fact | None:
        return _fact(constraint, self.space.parameters)

    def _weakest(self, facts: list[_Fact]) -> list[_Fact]:
        """The facts without those that are not needed for the condition to hold."""
        for fact in sorted(facts, key=lambda fact: _RANKS[fact.kind]):
            fewer = [one for one in facts if one is not fact]
            if self._holding(fewer):
                facts = fewer
        return facts

    def _holding(self, facts: list[_Fact]) -> bool:
        """Whether the condition holds wherever the facts do."""
        return bool(self._set_of(facts).intersect(self.space.sizes).is_subset(self.holds))

    def _set_of(self, facts: list[_Fact]) -> isl.Set:
        found = isl.Set.universe(self.holds.get_space())
        for fact in facts:
            value = self.space.number(fact.of)
            if fact.kind == "divides":
                value = value.mod_val(self.space.val(fact.modulus))
            exact = value.to_pw_aff().zero_set() if fact.kind != "least" else at_least(value, 0)
            found = found.intersect(exact.params())
        return found

    def sympy(self, named: Mapping[str, sympy.Symbol]) -> Any:
        """The condition as a SymPy Boolean over the sizes; None where it has no simple form."""
        from sympy import And, Eq, Ge, Le, Mod, Or, false, true

        if self.is_always or self.is_never:
            return true if self.is_always else false
        parts = self._parts
        if parts is None:
            return None

        def one(fact: _Fact) -> Any:
            x = size_to_sympy(fact.of, named)
            if fact.kind == "divides":
                return Eq(Mod(x, fact.modulus), 0)
            if fact.kind == "equal":
                return Eq(*_sides(fact.of, named))
            bound = _bound(fact.of)
            if bound is None:
                return Ge(x, 0)
            size, sign, end = bound
            return (Ge if sign == ">=" else Le)(size_to_sympy(size, named), end)

        return Or(*(And(*map(one, part)) for part in parts))

    def words(self) -> str:
        """The condition in words."""
        if self.is_always or self.is_never:
            return ALWAYS if self.is_always else NEVER
        parts = self._parts
        if parts is None:
            return f"exactly for these sizes: {self._text()}"
        each = [" and ".join(sorted(map(_words, part), key=_order)) for part in parts]
        return "exactly when " + ", or ".join(each)

    def _text(self) -> str:
        text = str(self.holds.coalesce().gist(self.space.sizes))
        for k, size in enumerate(self.space.parameters.sizes()):
            text = text.replace(f"p{k}", str(size))
        return text

    def first_failure(self, names: tuple[str, ...]) -> dict[str, int] | None:
        """The smallest sizes, in the order of their names, for which it does not hold."""
        wrong = self.space.sizes.subtract(self.holds)
        if wrong.is_empty():
            return None
        if not self.space.parameters.are_names:
            return _first_by_trial(wrong, self.space.parameters, names)
        monomials = self.space.parameters.monomials
        order = sorted(range(len(monomials)), key=lambda k: names.index(str(monomials[k][0][0])))
        points = wrong.insert_dims(isl.dim_type.set, 0, len(order))
        for place, k in enumerate(order):
            points = points.equate(isl.dim_type.param, k, isl.dim_type.set, place)
        points = points.project_out(isl.dim_type.param, 0, len(order))
        first = points.lexmin().sample_point()
        values = {
            str(monomials[k][0][0]): first.get_coordinate_val(isl.dim_type.set, place).to_python()
            for place, k in enumerate(order)
        }
        return {name: values.get(name, 1) for name in names}


def _first_by_trial(
    wrong: isl.Set, parameters: Parameters, names: tuple[str, ...]
) -> dict[str, int] | None:
    context = wrong.get_ctx()
    for largest in range(1, _LARGEST_TRIED + 1):
        for values in product(range(1, largest + 1), repeat=len(names)):
            if max(values, default=1) < largest:
                continue
            sizes = dict(zip(names, values, strict=True))
            there = wrong
            for k, size in enumerate(parameters.sizes()):
                val = isl.Val.read_from_str(context, str(size.evaluate(sizes)))
                there = there.fix_val(isl.dim_type.param, k, val)
            if not there.is_empty():
                return sizes
        if largest ** len(names) > _LARGEST_TRIED**3:
            return None
    return None


def _fact(constraint: isl.Constraint, parameters: Parameters) -> _Fact | None:
    """A constraint without quotients, or an equation with one of them."""
    total: Number = constraint.get_constant_val().to_python()
    for k, size in enumerate(parameters.sizes()):
        total = total + size * constraint.get_coefficient_val(isl.dim_type.param, k).to_python()
    quotients = [
        constraint.get_coefficient_val(isl.dim_type.div, k).to_python()
        for k in range(constraint.dim(isl.dim_type.div))
    ]
    moduli = [abs(c) for c in quotients if c]
    if not moduli:
        return _Fact(total, "equal" if constraint.is_equality() else "least")
    if len(moduli) > 1 or not constraint.is_equality():
        return None
    return _Fact(_positive(total), "divides", moduli[0])


def _positive(number: Number) -> Number:
    """The number or its negative, whichever has a positive first term."""
    if isinstance(number, int):
        return abs(number)
    return -number if str(number).startswith("-") else number


def _bound(number: Number) -> tuple[Size, str, int] | None:
    """a·x + c ≥ 0 as x ≥ ⌈-c/a⌉ or x ≤ ⌊c/-a⌋, for one size x."""
    if isinstance(number, int):
        return None
    varying = [(m, a) for m, a in number.terms if m]
    if len(varying) != 1:
        return None
    ((monomial, a),) = varying
    c = number - Size(((monomial, a),))
    if not isinstance(c, int):
        return None
    size = Size(((monomial, 1),))
    return (size, ">=", -(c // a)) if a > 0 else (size, "<=", c // -a)


def _sides(number: Number, named: Mapping[str, sympy.Symbol]) -> tuple[Any, Any]:
    """a·x + c = 0 as x and its value; any other number and 0."""
    bound = _bound(_positive(number))
    if bound is None:
        return size_to_sympy(number, named), 0
    return size_to_sympy(bound[0], named), bound[2]


def _words(fact: _Fact) -> str:
    if fact.kind == "divides":
        return f"{fact.modulus} divides {fact.of}"
    bound = _bound(_positive(fact.of) if fact.kind == "equal" else fact.of)
    if bound is None:
        return f"{fact.of} {'=' if fact.kind == 'equal' else '>='} 0"
    size, sign, end = bound
    return f"{size} {'=' if fact.kind == 'equal' else sign} {end}"


def _order(text: str) -> tuple[str, str]:
    """Facts go by what they are about."""
    words = text.split()
    return (words[-1] if "divides" in words else words[0]), text
