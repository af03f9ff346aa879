"""Single facts about sizes: a constraint of ISL as something that people read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import islpy as isl

from morello_layouts.expr import Linear
from morello_layouts.expr.form import Digit, digit
from morello_layouts.expr.size import Monomial, Number, Size, sign
from morello_layouts.expr.sympy_bridge import size_to_sympy, to_sympy
from morello_layouts.proof.space import Parameters, Space, at_least

if TYPE_CHECKING:
    import sympy

__all__ = ["Fact", "read"]


@dataclass(frozen=True)
class Fact:
    """What one constraint says of sizes.

    Attributes:
        of: a number, perhaps symbolic, and factors of floors of numbers.
        kind: that the form is at least 0, is 0, or is a multiple of the modulus.
        modulus: what divides the form.
    """

    of: Linear
    kind: Literal["least", "equal", "divides"]
    modulus: int = 1

    def sizes(self, space: Space) -> isl.Set:
        """The parameters for which it is so."""
        value = space.number(self.of.const)
        for atom, c in self.of.terms:
            assert isinstance(atom, Digit)
            inner = space.number(atom.of.const).scale_down_val(_val(atom.divisor, space)).floor()
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
    def _bound(self) -> tuple[Size, str, int] | None:
        """For one size x, a·x + c ≥ 0 as x ≥ ⌈-c/a⌉ or x ≤ ⌊c/-a⌋, and a·x + c = 0."""
        number = self.of.const
        if self.of.terms or isinstance(number, int):
            return None
        varying = [(m, a) for m, a in number.terms if m]
        if len(varying) != 1:
            return None
        ((monomial, a),) = varying
        c = number - Size(((monomial, a),))
        size = Size(((monomial, 1),))
        if not isinstance(c, int):
            return None
        if self.kind == "equal":
            return (size, "=", -c // a) if c % a == 0 else None
        return (size, ">=", -(c // a)) if a > 0 else (size, "<=", c // -a)


def read(constraint: isl.Constraint, parameters: Parameters) -> Fact | None:
    """A constraint as a fact; None where it holds quotients of quotients."""
    number: Number = constraint.get_constant_val().to_python()
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
        return Fact(Linear((), _positive(number)), "divides", modulus)
    form = Linear((), number)
    for k, c in quotients.items():
        quotient = _quotient(constraint.get_div(k), parameters)
        if quotient is None:
            return None
        form = form + quotient * c
    return Fact(form, "equal" if equal else "least")


def _quotient(function: isl.Aff, parameters: Parameters) -> Linear | None:
    """The floor of a rational function of the parameters."""
    nested = range(function.dim(isl.dim_type.div))
    if any(_coefficient(function, isl.dim_type.div, k) for k in nested):
        return None
    divisor = function.get_denominator_val()
    scaled = function.scale_val(divisor)
    number: Number = scaled.get_constant_val().to_python()
    for k, size in enumerate(parameters.sizes()):
        number = number + size * _coefficient(scaled, isl.dim_type.param, k)
    return digit(Linear((), number), divisor.to_python(), None)


def _val(number: Number, space: Space) -> isl.Val:
    assert isinstance(number, int)
    return space.val(number)


def _coefficient(of: isl.Constraint | isl.Aff, kind: isl.dim_type, k: int) -> int:
    value: int = of.get_coefficient_val(kind, k).to_python()
    return value


def _positive(number: Number) -> Number:
    """The number or its negative, whichever has a positive first term."""
    if isinstance(number, int):
        return abs(number)
    return -number if str(number).startswith("-") else number


def _sides(form: Linear) -> tuple[Linear, Linear]:
    """What is added and what is taken away, so that neither side has a minus."""
    monomials = form.const.terms if isinstance(form.const, Size) else (((), form.const),)
    added: Number = 0
    taken: Number = 0
    for monomial, c in monomials:
        if c > 0:
            added = added + _term(monomial, c)
        else:
            taken = taken + _term(monomial, -c)
    plus = [(a, c) for a, c in form.terms if sign(c) > 0]
    minus = [(a, -c) for a, c in form.terms if sign(c) < 0]
    return Linear.of(plus, added), Linear.of(minus, taken)


def _term(monomial: Monomial, c: int) -> Number:
    return Size(((monomial, c),)) if monomial else c
