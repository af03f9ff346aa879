"""Values that proofs compute with: quasi-affine functions, and sums of them times symbolic sizes.

ISL's functions have integer factors. An offset has strides such as ``1024*ceil(N/128)``; a
:class:`Value` keeps, for each product of sizes, the function that it is a factor of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from morello_layouts.expr.size import Monomial, Number, Size
from morello_layouts.proof.space import NotAffineError, Space, at_least

__all__ = ["NotAffineError", "Value", "differ", "first_point", "together", "union"]


@dataclass(frozen=True, slots=True)
class Value:
    """``Σ monomial · function`` over a space.

    Attributes:
        parts: the function that each monomial is a factor of; ``()`` is the monomial 1.
        space: where the functions are defined.
    """

    parts: Mapping[Monomial, isl.Aff]
    space: Space

    @staticmethod
    def of(function: isl.Aff, space: Space) -> Value:
        """A quasi-affine function as a value."""
        return Value({(): function}, space)

    @staticmethod
    def constant(number: Number, space: Space) -> Value:
        """A number, perhaps symbolic."""
        return Value.of(space.number(1), space) * number

    @property
    def function(self) -> isl.Aff:
        """The one function that it is.

        Raises:
            NotAffineError: where it has symbolic factors.
        """
        if any(monomial for monomial in self.parts):
            raise NotAffineError(
                f"a value with the factor {Size(((next(m for m in self.parts if m), 1),))}",
                "products of symbols are outside of Presburger arithmetic",
                "ask at given sizes",
            )
        return self.parts.get((), self.space.number(0))

    def __add__(self, other: Value) -> Value:
        parts = dict(self.parts)
        for monomial, function in other.parts.items():
            known = parts.get(monomial)
            parts[monomial] = function if known is None else known.add(function)
        return Value(parts, self.space)

    def __sub__(self, other: Value) -> Value:
        return self + other * -1

    def __mul__(self, factor: Number) -> Value:
        if isinstance(factor, int):
            val = self.space.val(factor)
            return Value({m: f.scale_val(val) for m, f in self.parts.items()}, self.space)
        total = Value({}, self.space)
        for monomial, c in factor.terms:
            for own, function in self.parts.items():
                ((product, _),) = _product(own, monomial).terms
                scaled = function.scale_val(self.space.val(c))
                total = total + Value({product: scaled}, self.space)
        return total

    def __floordiv__(self, divisor: Number) -> Value:
        """The floor of the quotient, where symbolic factors leave no remainder."""
        if isinstance(divisor, Size):
            self._require_below(divisor)
            return Value.of(self.space.number(0), self.space)
        down = self.space.val(divisor)
        parts = {m: self._exactly(f, divisor) for m, f in self.parts.items() if m}
        if () in self.parts:
            parts[()] = self.parts[()].scale_down_val(down).floor()
        return Value(parts, self.space)

    def __mod__(self, modulus: Number) -> Value:
        """The remainder, where symbolic factors leave none."""
        if isinstance(modulus, Size):
            self._require_below(modulus)
            return self
        for monomial, function in self.parts.items():
            if monomial:
                self._exactly(function, modulus)
        function = self.parts.get((), self.space.number(0))
        return Value.of(function.mod_val(self.space.val(modulus)), self.space)

    def _require_below(self, size: Size) -> None:
        """Raise NotAffineError unless the value is at least 0 and below a symbolic size."""
        x = self.function
        wrong = at_least(x.neg(), 1).union(at_least(x.sub(self.space.number(size)), 0))
        if not wrong.is_disjoint(self.space.domain):
            raise NotAffineError(
                f"a floor of a quotient by {size}",
                "quotients by symbols are outside of Presburger arithmetic",
                "ask at given sizes",
            )

    def _exactly(self, function: isl.Aff, divisor: int) -> isl.Aff:
        val = self.space.val(divisor)
        remainder = function.mod_val(val).to_pw_aff().intersect_domain(self.space.domain)
        if not remainder.non_zero_set().is_empty():
            raise NotAffineError(
                "a floor of a product of symbolic sizes",
                "products of symbols are outside of Presburger arithmetic",
                "ask at given sizes, or assume what divides them",
            )
        return function.scale_down_val(val)


def _product(a: Monomial, b: Monomial) -> Size:
    product = Size(((a, 1),)) * Size(((b, 1),)) if a and b else Size(((a or b, 1),))
    assert isinstance(product, Size)
    return product


def differ(one: isl.Aff, other: isl.Aff, domain: isl.Set) -> isl.Set:
    """Where in a domain two functions differ."""
    return one.sub(other).to_pw_aff().intersect_domain(domain).non_zero_set()


def together(functions: Sequence[isl.Aff], space: Space) -> isl.Map:
    """The relation from the points of a space to the values of several functions there."""
    first, *others = map(isl.Map.from_aff, functions)
    for one in others:
        first = first.flat_range_product(one)
    return first.intersect_domain(space.domain)


def first_point(points: isl.Set) -> tuple[int, ...]:
    """The lexicographically first point of a set without parameters; some point if unbounded."""
    single = (points.lexmin() if points.is_bounded() else points).sample_point()
    return tuple(
        single.get_coordinate_val(isl.dim_type.set, k).to_python()
        for k in range(points.dim(isl.dim_type.set))
    )


def union(sets: Iterable[isl.Set], space: isl.Space) -> isl.Set:
    """Sets joined, the empty one of a space to begin with."""
    joined = isl.Set.empty(space)
    for one in sets:
        joined = joined.union(one)
    return joined
