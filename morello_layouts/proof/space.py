"""ISL's integer variables within bounds, with symbolic sizes as parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import islpy as isl

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import Interval
from morello_layouts.expr.assumption import Assumption
from morello_layouts.expr.quotient import Quotient
from morello_layouts.expr.size import Monomial, Number, Size

__all__ = ["NotAffineError", "Parameters", "Space", "at_least"]

_MOST_BITS = 10_000


class NotAffineError(UnsupportedError):
    """A value that is no sum of quasi-affine functions times symbolic sizes.

    >>> issubclass(NotAffineError, UnsupportedError)
    True
    """


@dataclass(frozen=True)
class Parameters:
    """The parameters that stand for symbolic sizes, and what is known of them.

    A product of sizes is a parameter of its own, of which ISL knows that it is positive.

    Attributes:
        monomials: what each parameter stands for: a name or a product.
        assumptions: what is assumed of names, of those in products too.
    """

    monomials: tuple[Monomial, ...] = ()
    assumptions: tuple[Assumption, ...] = ()

    @staticmethod
    def of(numbers: Iterable[Number], assumptions: Iterable[Assumption] = ()) -> Parameters:
        """The parameters that some numbers need."""
        found: dict[Monomial, None] = {}
        for number in numbers:
            if isinstance(number, Size):
                found.update(dict.fromkeys(_parameters(number)))
        return Parameters(tuple(found), tuple(assumptions))

    @property
    def are_names(self) -> bool:
        """Whether each is the size of one name."""
        return all(_is_name(monomial) for monomial in self.monomials)

    def sizes(self) -> list[Size]:
        """Each parameter as a symbolic size."""
        return [Size(((monomial, 1),)) for monomial in self.monomials]


def _parameters(number: Size) -> Iterable[Monomial]:
    for monomial, _ in number.terms:
        match monomial:
            case ((Quotient() as quotient, 1),):
                yield from _parameters(quotient.numerator)
            case ():
                pass
            case _:
                yield monomial


def _is_name(monomial: Monomial) -> bool:
    return len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], str)


@dataclass(frozen=True)
class Space:
    """Integer variables within bounds, in an ISL context of their own.

    Attributes:
        context: the context, which holds the budget.
        domain: the values that the variables may have together.
        variables: each variable, by name, as an affine function on the domain.
        parameters: what the parameters stand for.
    """

    context: isl.Context
    domain: isl.Set
    variables: Mapping[str, isl.Aff]
    parameters: Parameters = Parameters()

    @staticmethod
    def of(
        shape: Sequence[Number], context: isl.Context, parameters: Parameters | None = None
    ) -> Space:
        """The coordinates of an array: ``d0, d1, …`` with 0 ≤ d_k < shape[k]."""
        bounds = {f"d{k}": Interval(0, n - 1) for k, n in enumerate(shape)}
        return Space.within(bounds, context, parameters or Parameters.of(shape))

    @staticmethod
    def within(
        bounds: Mapping[str, Interval],
        context: isl.Context,
        parameters: Parameters = Parameters(),
    ) -> Space:
        """Named variables within their bounds, either of which may be absent."""
        space = isl.Space.set_alloc(context, len(parameters.monomials), len(bounds))
        for k in range(len(parameters.monomials)):
            space = space.set_dim_name(isl.dim_type.param, k, f"p{k}")
        local = isl.LocalSpace.from_space(space)
        variables = {
            name: isl.Aff.var_on_domain(local, isl.dim_type.set, k) for k, name in enumerate(bounds)
        }
        empty = Space(context, isl.Set.universe(space), variables, parameters)
        box = isl.BasicSet.universe(space)
        symbolic = []
        for k, (lo, hi) in enumerate(bounds.values()):
            if isinstance(lo, int):
                box = box.lower_bound_val(isl.dim_type.set, k, empty.val(lo))
            if isinstance(hi, int):
                box = box.upper_bound_val(isl.dim_type.set, k, empty.val(hi))
            x = empty.coordinates[k]
            if isinstance(lo, Size):
                symbolic.append(at_least(x.sub(empty.number(lo)), 0))
            if isinstance(hi, Size):
                symbolic.append(at_least(empty.number(hi).sub(x), 0))
        domain = box.to_set()
        for part in symbolic:
            domain = domain.intersect(part)
        if parameters.monomials:
            domain = domain.intersect_params(empty.sizes)
        return Space(context, domain, variables, parameters)

    @cached_property
    def coordinates(self) -> tuple[isl.Aff, ...]:
        """The variables in order."""
        return tuple(self.variables.values())

    @cached_property
    def _local(self) -> isl.LocalSpace:
        return isl.LocalSpace.from_space(self.domain.get_space())

    @cached_property
    def sizes(self) -> isl.Set:
        """The values that the parameters may have: a set of parameters."""
        known = isl.Set.universe(self.domain.get_space().params())
        assumed = {one.name: one for one in self.parameters.assumptions}
        local = isl.LocalSpace.from_space(known.get_space())
        for k, monomial in enumerate(self.parameters.monomials):
            name = monomial[0][0]
            one = assumed.get(name) if _is_name(monomial) and isinstance(name, str) else None
            size = isl.Aff.var_on_domain(local, isl.dim_type.param, k)
            known = known.intersect(at_least(size, one.lo if one else 1).params())
            if one and one.hi is not None:
                known = known.intersect(at_least(size.neg(), -one.hi).params())
            if one and one.divisor > 1:
                known = known.intersect(
                    size.mod_val(self.val(one.divisor)).to_pw_aff().zero_set().params()
                )
        return known

    def number(self, value: Number) -> isl.Aff:
        """A constant function on the domain, perhaps of the parameters.

        Raises:
            UnsupportedError: of a product of sizes that is no parameter.
        """
        if isinstance(value, int):
            return isl.Aff.val_on_domain(self._local, self.val(value))
        total = self.number(0)
        for monomial, c in value.terms:
            total = total.add(self._monomial(monomial).scale_val(self.val(c)))
        return total

    def _monomial(self, monomial: Monomial) -> isl.Aff:
        if monomial in self.parameters.monomials:
            k = self.parameters.monomials.index(monomial)
            return isl.Aff.var_on_domain(self._local, isl.dim_type.param, k)
        match monomial:
            case ():
                return self.number(1)
            case ((Quotient() as quotient, 1),):
                d = quotient.divisor
                raised = quotient.numerator + (0 if quotient.exact else d - 1)
                return self.number(raised).scale_down_val(self.val(d)).floor()
        raise NotAffineError(
            f"ISL cannot decide with the symbolic factor or bound {Size(((monomial, 1),))}",
            "products of symbols are outside of Presburger arithmetic",
            "ask at given sizes",
        )

    def val(self, value: int) -> isl.Val:
        """A number of the context."""
        return _val(self.context, value)


def at_least(function: isl.Aff, least: int) -> isl.Set:
    """Where a function is at least a number."""
    bound = _val(function.get_ctx(), least)
    return function.add_constant_val(bound.neg()).to_pw_aff().nonneg_set()


def _val(context: Any, value: Any) -> isl.Val:
    if isinstance(value, Size):
        raise UnsupportedError(
            f"ISL cannot decide with the symbolic factor or bound {value}",
            "products of symbols are outside of Presburger arithmetic",
            "ask at given sizes",
        )
    if value.bit_length() > _MOST_BITS:
        raise UnsupportedError(
            f"a number of {value.bit_length()} bits is too large for a proof",
            f"numbers are handed to ISL as text, up to {_MOST_BITS} bits",
            "ask at smaller sizes",
        )
    # ISL's own integers are unbounded; only text carries one past 64 bits.
    return isl.Val.read_from_str(context, str(value))
