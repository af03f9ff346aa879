"""The inverse of an index map: coordinates as formulas of the offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from morello_layouts.expr import AffineExpr, Interval, canonicalize, standard, variable
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.conversions import latex_map, public_size, size_to_sympy, symbol, to_sympy
from morello_layouts.expr.sizes import Int, is_nonnegative
from morello_layouts.fields import frozen
from morello_layouts.recipe import Recipe, coordinates_at

if TYPE_CHECKING:
    import sympy


@frozen(slots=False)
class Inverse:
    """Coordinates as functions of the offset ``p``, and the condition for padding.

    >>> from morello_layouts import index_map
    >>> inverse = index_map("f32[3,5]{1,0:T(2,2)}").inverse
    >>> [str(form) for form in inverse.forms]
    ['2*(p//12) + (p//2)%2', '2*((p//4)%3) + p%2']
    >>> print(inverse)
    p -> (2*(p//12) + (p//2)%2, 2*((p//4)%3) + p%2), padding where d0 >= 3 or d1 >= 5
    >>> inverse.padding
    (Mod(p, 2) + 2*(Mod(floor(p/4), 3)) >= 5) | (Mod(floor(p/2), 2) + 2*floor(p/12) >= 3)
    """

    #: the coordinate along each dimension as an affine expression; at padding, the coordinate in
    #: the padded array.
    forms: tuple[AffineExpr, ...]
    #: pairs (form, n): the offset holds an element if every form is below its n. Limits that always
    #: hold are left out.
    limits: tuple[tuple[AffineExpr, Int], ...]
    #: the user's SymPy symbols of symbolic sizes, by name.
    size_symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict, compare=False)
    source: str = field(default="", compare=False)  #: the layout as text, with its shape.
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions about symbolic sizes.
    size: Int = 1  #: elements that the buffer spans.
    #: names and sizes of the axes whose row-major index the offset is; none for memory.
    axes: tuple[tuple[str, Int], ...] = ()
    names: tuple[str, ...] = ()  #: names of the coordinates; nothing means ``d0, d1, …``.

    @staticmethod
    def of(
        recipe: Recipe,
        size_symbols: Mapping[str, sympy.Symbol] | None = None,
        source: str = "",
        assumptions: tuple[Assumption, ...] = (),
        names: tuple[str, ...] = (),
    ) -> Inverse:
        """Read a recipe backwards and simplify the formulas."""
        if recipe.size == 0:
            forms = (AffineExpr((), 0),) * len(recipe.shape)
            return Inverse(forms, (), size_symbols or {}, source, assumptions, 0, names=names)
        p = variable("p", 0, recipe.size - 1)
        zero = AffineExpr((), 0)
        at, limits = coordinates_at(recipe, p)
        kept = [(canonicalize(x), n) for x, n in limits]
        return Inverse(
            tuple(canonicalize(zero + x) for x in at),
            _sharpest((x, n) for x, n in kept if not _is_below(x.interval, n)),
            size_symbols or {},
            source,
            assumptions,
            recipe.size,
            tuple(zip(recipe.axis_names, recipe.physical_shape, strict=False)),
            names,
        )

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the coordinates: the user's, or ``d0, d1, …``."""
        return self.names or standard(len(self.forms))

    def __str__(self) -> str:
        pairs = list(zip(self.forms, self.coordinate_names, strict=True))
        names = dict(reversed(pairs))
        # The buffer may begin with padding: -p + 4 >= 0 is p < 5.
        parts = [
            f"p < {form.const + 1}" if n == 0 else f"{names.get(form, form)} >= {n}"
            for form, n in self.limits
        ]
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

    @property
    def bounds(self) -> dict[sympy.Symbol, tuple[Any, Any]]:
        """The smallest and the largest offset, for ``simplify`` and ``code``."""
        return {symbol("p"): (0, public_size(self.size - 1, self.size_symbols))}

    @cached_property
    def padding(self) -> sympy.Basic:
        """The condition that ``p`` holds padding, as a SymPy Boolean in ``p``."""
        from sympy import Ge, Or

        named = self.size_symbols
        return Or(*(Ge(to_sympy(x, named), size_to_sympy(n, named)) for x, n in self.limits))


def _is_below(values: Interval, n: Int) -> bool:
    return values.hi is not None and is_nonnegative(n - 1 - values.hi)


def _sharpest(limits: Iterable[tuple[AffineExpr, Int]]) -> tuple[tuple[AffineExpr, Int], ...]:
    """Return the limits that no other limit of the same form implies."""
    given = list(dict.fromkeys(limits))
    return tuple(
        (form, n)
        for form, n in given
        if not any(form == x and n != m and is_nonnegative(n - m) for x, m in given)
    )
