"""The inverse of an index map: from an offset to the coordinate there, or to padding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from morello_layouts.expr import AffineExpr, canonicalize, variable
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.conversions import latex_map, size_to_sympy, to_sympy
from morello_layouts.expr.sizes import Int, is_nonnegative
from morello_layouts.recipe import Recipe, delinearize, logical_coordinates

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True)
class Inverse:
    """Coordinates as functions of the offset ``p``, and where the buffer holds padding.

    Attributes:
        forms: the coordinate along each dimension, in the simplifier's own form. At padding they
            are those that the padded array has there.
        limits: pairs (form, n): the offset holds an element where every form is below its n.
            Those that always are, are left out.
        size_symbols: the user's own SymPy symbols of symbolic sizes, by name.
        source: what the layout was read from.
        assumptions: what is known of symbolic sizes.
        size: elements that the buffer spans.

    >>> from morello_layouts import index_map
    >>> inverse = index_map("f32[3,5]{1,0:T(2,2)}").inverse
    >>> [str(form) for form in inverse.forms]
    ['2*(p//12) + (p//2)%2', '2*((p//4)%3) + p%2']
    >>> print(inverse)
    p -> (2*(p//12) + (p//2)%2, 2*((p//4)%3) + p%2), padding where d0 >= 3 or d1 >= 5
    >>> inverse.padding
    (Mod(p, 2) + 2*(Mod(floor(p/4), 3)) >= 5) | (Mod(floor(p/2), 2) + 2*floor(p/12) >= 3)
    """

    forms: tuple[AffineExpr, ...]
    limits: tuple[tuple[AffineExpr, Int], ...]
    size_symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict, compare=False)
    source: str = field(default="", compare=False)
    assumptions: tuple[Assumption, ...] = ()
    size: Int = 1

    @staticmethod
    def of(
        recipe: Recipe,
        size_symbols: Mapping[str, sympy.Symbol] | None = None,
        source: str = "",
        assumptions: tuple[Assumption, ...] = (),
    ) -> Inverse:
        """The inverse of a recipe, read backwards and simplified."""
        if recipe.size == 0:
            forms = (AffineExpr((), 0),) * len(recipe.shape)
            return Inverse(forms, (), size_symbols or {}, source, assumptions, 0)
        p = variable("p", 0, recipe.size - 1)
        zero = AffineExpr((), 0)
        at, limits = logical_coordinates(recipe, delinearize(p, recipe.physical_shape) or ())
        if recipe.tail_padding:
            limits = (*limits, (p, recipe.size - recipe.tail_padding))
        kept = [(canonicalize(x), n) for x, n in limits]
        return Inverse(
            tuple(canonicalize(zero + x) for x in at),
            _sharpest((x, n) for x, n in kept if not x.interval.within(0, n - 1)),
            size_symbols or {},
            source,
            assumptions,
            recipe.size,
        )

    def __str__(self) -> str:
        names = {form: f"d{k}" for k, form in reversed(list(enumerate(self.forms)))}
        parts = [f"{names.get(form, form)} >= {n}" for form, n in self.limits]
        padding = f", padding where {' or '.join(parts)}" if parts else ""
        forms = ", ".join(map(str, self.forms))
        return f"p -> {forms if len(self.forms) == 1 else f'({forms})'}{padding}"

    def __repr__(self) -> str:
        return f"<Inverse of {self.source}: {self}>" if self.source else f"<Inverse: {self}>"

    def _repr_latex_(self) -> str:
        return latex_map(["p"], self.forms)

    @cached_property
    def exprs(self) -> tuple[sympy.Expr, ...]:
        """The coordinate along each dimension as a SymPy expression in ``p``."""
        return tuple(to_sympy(form, self.size_symbols) for form in self.forms)

    @cached_property
    def padding(self) -> sympy.Basic:
        """The condition that ``p`` holds padding, as a SymPy Boolean in ``p``."""
        from sympy import Ge, Or

        named = self.size_symbols
        return Or(*(Ge(to_sympy(x, named), size_to_sympy(n, named)) for x, n in self.limits))


def _sharpest(limits: Iterable[tuple[AffineExpr, Int]]) -> tuple[tuple[AffineExpr, Int], ...]:
    """The limits without those that another one of the same form implies."""
    given = list(dict.fromkeys(limits))
    return tuple(
        (form, n)
        for form, n in given
        if not any(form == x and n != m and is_nonnegative(n - m) for x, m in given)
    )
