"""Maps given by formulas alone, such as one that a user wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from morello_layouts.checks import checked_coordinate, spread
from morello_layouts.errors import ShapeError
from morello_layouts.expr import AffineExpr, canonicalize, variable
from morello_layouts.expr.affine import Digit, map_ints, substitute
from morello_layouts.expr.assumptions import (
    Assumption,
    apply_divisibility,
    apply_range,
    checked_sizes,
    meet_all,
)
from morello_layouts.expr.conversions import latex_map, size_to_sympy, symbol, to_sympy
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.recipe import known

if TYPE_CHECKING:
    import sympy

_UNKNOWN = 2**64  # past what arrays of 64 bits hold


@dataclass(frozen=True)
class AffineMap:
    """A function from the coordinates of an array to integers, given by formulas.

    One formula gives an offset; several give a coordinate, of another array or over axes in
    memory. Nothing is known of it but its formulas: no recipe, no inverse.

    Attributes:
        sizes: the array's sizes, perhaps symbolic.
        given: the formulas over ``d0, d1, …``, as they were given.
        buffer_size: elements that the buffer spans, where the formula is one of offsets and that
            is known.
        size_symbols: the user's own SymPy symbols of symbolic sizes, by name.
        assumptions: what is assumed of symbolic sizes.

    >>> from morello_layouts import from_sympy
    >>> f = from_sympy({"shape": (6, 8)}, "24*(d1//4) + 4*d0 + d1%4")
    >>> f(0, 5)
    25
    """

    sizes: tuple[Int, ...]
    given: tuple[AffineExpr, ...]
    buffer_size: Int | None = None
    size_symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict, compare=False)
    assumptions: tuple[Assumption, ...] = ()

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes of the array: ints, or SymPy expressions where they are symbolic."""
        return tuple(
            n if isinstance(n, int) else size_to_sympy(n, self.size_symbols) for n in self.sizes
        )

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The SymPy symbols ``d0, d1, …`` of the formulas."""
        return tuple(symbol(f"d{k}") for k in range(len(self.sizes)))

    @cached_property
    def forms(self) -> tuple[AffineExpr, ...]:
        """The formulas simplified, in the simplifier's own form."""
        return tuple(map(canonicalize, self.given))

    @property
    def form(self) -> AffineExpr:
        """The one formula, simplified.

        Raises:
            ShapeError: where there are several.
        """
        if len(self.given) != 1:
            raise ShapeError(
                f"the map gives {len(self.given)} numbers",
                "an offset is one",
                "compose it with the index map of the array that it leads into",
            )
        return self.forms[0]

    @property
    def expr(self) -> sympy.Expr:
        """The one formula, simplified, as a SymPy expression."""
        return to_sympy(self.form, self.size_symbols)

    @property
    def exprs(self) -> tuple[sympy.Expr, ...]:
        """The formulas, simplified, as SymPy expressions."""
        return tuple(to_sympy(form, self.size_symbols) for form in self.forms)

    def compose(self, other: AffineMap) -> AffineMap:
        """The map after another: of the coordinates that the other one gives.

        Raises:
            ShapeError: where the other one gives another number of coordinates, or may leave
                this one's array.

        >>> from morello_layouts import from_sympy
        >>> rows = from_sympy({"shape": (4, 6)}, "6*d0 + d1")
        >>> halves = from_sympy({"shape": (2, 2, 6)}, ("2*d0 + d1", "d2"))
        >>> print(rows.compose(halves))
        (d0, d1, d2) -> 12*d0 + 6*d1 + d2
        """
        outer, inner = self.assume(other.assumptions), other.assume(self.assumptions)
        forms = compose_forms(outer.given, outer.sizes, inner)
        symbols = {**self.size_symbols, **other.size_symbols}
        return AffineMap(inner.sizes, forms, outer.buffer_size, symbols, inner.assumptions)

    def assume(self, assumptions: Iterable[Assumption]) -> AffineMap:
        """The map with more assumed of its symbolic sizes.

        >>> from morello_layouts import Assumption, from_sympy
        >>> rows = from_sympy(("M", "N"), "128*((N + 127)//128)*d0 + d1")
        >>> print(rows.assume([Assumption("N", divisor=128)]))
        (d0, d1) -> N*d0 + d1
        """
        everything = meet_all((*self.assumptions, *assumptions))
        if everything == self.assumptions:
            return self

        def change(n: Int) -> Int:
            return apply_range(everything, apply_divisibility(everything, n))

        sizes = tuple(map(change, self.sizes))
        forms = (map_ints(form, change) for form in self.given)
        return replace(
            self,
            sizes=sizes,
            given=tuple(bound_coordinates(form, sizes, everything) for form in forms),
            buffer_size=None if self.buffer_size is None else change(self.buffer_size),
            assumptions=everything,
        )

    def at(self, /, **sizes: int) -> AffineMap:
        """The map at given sizes, in place of the symbolic ones.

        Raises:
            ShapeError: where a size is missing, unknown, or not as assumed.
        """
        names = sorted({name for n in self.sizes if isinstance(n, SizeExpr) for name in n.names()})
        sizes = checked_sizes(sizes, names, self.assumptions)

        def number(n: Int) -> Int:
            return n.evaluate(sizes) if isinstance(n, SizeExpr) else n

        size = None if self.buffer_size is None else number(self.buffer_size)
        return AffineMap(
            tuple(map(number, self.sizes)),
            tuple(map_ints(form, number) for form in self.given),
            size,
        )

    def __call__(self, *coordinate: Any) -> Any:
        """The value at a coordinate: an int, or a tuple where there are several formulas.

        Args:
            coordinate: one int for each dimension, or integer arrays that broadcast.

        Raises:
            ShapeError: where a coordinate is outside of its dimension.
        """
        at = checked_coordinate(coordinate, known(self.sizes), max(map(_reach, self.given)))
        values = {f"d{k}": x for k, x in enumerate(at)}
        found = tuple(spread(form.evaluate(values), at) for form in self.given)
        return found[0] if len(found) == 1 else found

    def __str__(self) -> str:
        names = ", ".join(f"d{k}" for k in range(len(self.sizes)))
        forms = [str(form) for form in self.forms]
        return f"({names}) -> {forms[0] if len(forms) == 1 else '(' + ', '.join(forms) + ')'}"

    def __repr__(self) -> str:
        return f"<AffineMap [{','.join(map(str, self.sizes))}]: {self}>"

    def _repr_latex_(self) -> str:
        return latex_map([f"d{k}" for k in range(len(self.sizes))], self.forms)


def _reach(form: AffineExpr) -> int:
    """More than the size of any value on the way to a form's own."""
    total = abs(form.const) if isinstance(form.const, int) else _UNKNOWN
    for atom, c in form.terms:
        inner = _reach(atom.operand) if isinstance(atom, Digit) else 0
        lo, hi = atom.interval
        if not (isinstance(lo, int) and isinstance(hi, int) and isinstance(c, int)):
            return _UNKNOWN
        total += max(inner, abs(c) * max(abs(lo), abs(hi), 1))
    return 2 * total


def compose_forms(
    forms: Sequence[AffineExpr], sizes: Sequence[Int], inner: AffineMap
) -> tuple[AffineExpr, ...]:
    """Formulas of coordinates ``d0, d1, …`` after the map that gives these coordinates."""
    if len(inner.given) != len(sizes):
        raise ShapeError(
            f"the inner map gives {len(inner.given)} coordinates, the outer takes {len(sizes)}",
            "one map follows another through coordinates of one array",
            "give one formula for each dimension",
        )
    for k, (x, n) in enumerate(zip(inner.forms, sizes, strict=True)):
        if not x.interval.within(0, n - 1):
            raise ShapeError(
                f"coordinate {k} of the inner map is {x}, in {x.interval}",
                f"dimension {k} of the outer one has {n} elements",
                "bound the inner formula, or make the outer array larger",
            )
    values = {f"d{k}": x for k, x in enumerate(inner.given)}
    return tuple(canonicalize(substitute(form, values)) for form in forms)


def bound_coordinates(
    form: AffineExpr, shape: Sequence[Int], known: Iterable[Assumption]
) -> AffineExpr:
    """The form with numbers as coordinates' bounds where a size stands nowhere else in it."""
    largest = {one.name: one.hi for one in known if one.hi is not None}
    free = form.sizes()
    bounds = {
        f"d{k}": variable(f"d{k}", 0, largest[str(n)] - 1)
        for k, n in enumerate(shape)
        if str(n) in largest and str(n) not in free
    }
    return substitute(form, bounds) if bounds else form
