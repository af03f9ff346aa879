"""Maps given by formulas alone: those that users write, and the inverse of an index map."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.checks import (
    checked_coordinate,
    require_inside,
    require_rank,
    spread,
    whole,
)
from morello_layouts.core.expr import AffineExpr, Interval, canonicalize, standard, variable
from morello_layouts.core.expr.affine import Digit
from morello_layouts.core.expr.assumptions import (
    Assumption,
    apply_assumptions,
    checked_sizes,
    meet_all,
)
from morello_layouts.core.expr.conversions import (
    form_from_sympy,
    latex_map,
    public_size,
    size_to_sympy,
    symbol,
    to_sympy,
)
from morello_layouts.core.expr.sizes import Int, SizeExpr, is_nonnegative
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.maps.names import checked_names, in_order, renamed
from morello_layouts.core.recipe import Recipe, coordinates_at, known
from morello_layouts.errors import LayoutError, ShapeError

if TYPE_CHECKING:
    import sympy


def is_symbolic(coordinate: Sequence[Any]) -> bool:
    """Whether one of the values is a SymPy expression with symbols."""
    return any(getattr(x, "free_symbols", None) for x in coordinate)


def forms_of(
    coordinate: Sequence[Any], shape: Sequence[Int], names: Sequence[str] = ()
) -> tuple[list[AffineExpr], dict[str, sympy.Symbol]]:
    """Return a coordinate's values as affine expressions, and their symbols by name.

    A symbol alone has the bounds of its dimension. Symbols in an expression have those of their
    own SymPy assumptions, and the expression is taken to lie within its dimension.
    """
    require_rank(coordinate, len(shape), "the coordinate")
    forms: list[AffineExpr] = []
    symbols: dict[str, sympy.Symbol] = {}
    for k, (x, n) in enumerate(zip(coordinate, shape, strict=True)):
        number = whole(x)
        if number is not None:
            if isinstance(n, int):
                require_inside(k, n, number, number, names)
            forms.append(AffineExpr((), number))
            continue
        if not hasattr(x, "free_symbols"):
            raise LayoutError(
                f"coordinate {k}: expected an int or a SymPy expression, got {x!r}",
                "coordinates with symbols have no arrays among them",
                "give the map integer arrays only, or evaluate its formula with SymPy",
            )
        given = {s.name: s for s in x.free_symbols}
        if any(symbols.get(name, s) != s for name, s in given.items()):
            raise LayoutError(
                "two symbols have the same name", "names identify symbols", "rename one of them"
            )
        symbols |= given
        forms.append(form_from_sympy(x, {x.name: Interval(0, n - 1)} if x.is_Symbol else {}))
    return forms, symbols


def exprs_of(
    forms: Sequence[AffineExpr], symbols: Mapping[str, sympy.Symbol]
) -> tuple[sympy.Expr, ...]:
    """Return affine expressions simplified, as SymPy expressions of these symbols."""
    return tuple(to_sympy(canonicalize(form), symbols) for form in forms)


def coordinate_with(
    names: Sequence[str], values: Mapping[Any, Any] | None, named: Mapping[str, Any]
) -> list[Any]:
    """Return the coordinate of these names with values in place of some of its symbols."""
    at: dict[str, Any] = {name: symbol(name) for name in names}
    for name, value in {**{str(key): x for key, x in (values or {}).items()}, **named}.items():
        if name not in at:
            raise ShapeError(
                f"{name} is not a coordinate of the map",
                f"its coordinates are {', '.join(at) or 'none'}",
                "give values of these; sizes get theirs by .at(…)",
            )
        at[name] = value
    return list(at.values())


def bounds_of(
    shape: Sequence[Int], symbols: Mapping[str, sympy.Symbol], names: Sequence[str]
) -> dict[sympy.Symbol, tuple[Any, Any]]:
    """Return the smallest and the largest value of each coordinate, as ``simplify`` takes them."""
    ends = [public_size(n - 1, symbols) for n in shape]
    return {symbol(name): (0, end) for name, end in zip(names, ends, strict=True)}


_PAST_INT64: Final = 2**64
"""A value that arrays of 64-bit integers do not hold."""


@frozen(slots=False)
class AffineMap:
    """A function from the coordinates of an array to integers, given by formulas.

    One formula gives an offset; several give a coordinate, of another array or over axes in
    memory. The map has no recipe and no inverse.

    >>> from morello_layouts import from_sympy
    >>> f = from_sympy({"shape": (6, 8)}, "24*(d1//4) + 4*d0 + d1%4")
    >>> f(0, 5)
    25
    """

    sizes: tuple[Int, ...]  #: the array's sizes; some may be symbolic.
    given: tuple[AffineExpr, ...]  #: the formulas over ``d0, d1, …``, unsimplified.
    #: elements that the buffer spans, if the formula gives offsets and the size is known.
    buffer_size: Int | None = None
    #: the user's SymPy symbols of symbolic sizes, by name.
    size_symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict, compare=False)
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions about symbolic sizes.
    #: names of the coordinates, for each dimension; nothing means ``d0, d1, …``. They are in what
    #: is printed, in SymPy expressions and in code; ``given`` and ``forms`` keep ``d0, d1, …``.
    names: tuple[str, ...] = ()
    #: names of the values in code; nothing means ``offset``, or ``x0, x1, …``.
    results: tuple[str, ...] = ()

    def named(self, *names: str) -> AffineMap:
        """Return the map with names for its coordinates; without any, with ``d0, d1, …``.

        Raises:
            ShapeError: if one is not a name, is there twice, or means something else.

        >>> from morello_layouts import from_sympy
        >>> print(from_sympy((6, 8), "8*d0 + d1").named("y", "x"))
        (y, x) -> 8*y + x
        """
        sizes = frozenset[str]().union(*(form.sizes() for form in self.given))
        checked = checked_names(names, self.sizes, sizes) if names else ()
        return self if checked == self.names else replace(self, names=checked)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the coordinates: the user's, or ``d0, d1, …``."""
        return self.names or standard(len(self.sizes))

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes of the array: ints, or SymPy expressions if they are symbolic."""
        return tuple(public_size(n, self.size_symbols) for n in self.sizes)

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The SymPy symbols of the coordinates, ``d0, d1, …`` if they have no other names."""
        return tuple(map(symbol, self.coordinate_names))

    @cached_property
    def forms(self) -> tuple[AffineExpr, ...]:
        """The formulas simplified, as affine expressions."""
        return tuple(map(canonicalize, self.given))

    @property
    def form(self) -> AffineExpr:
        """The only formula, simplified.

        Raises:
            ShapeError: if there are several.
        """
        if len(self.given) != 1:
            raise ShapeError(
                f"the map gives {len(self.given)} numbers",
                "an offset is one number",
                "compose it with the index map of the array whose coordinates it gives",
            )
        return self.forms[0]

    @property
    def expr(self) -> sympy.Expr:
        """The only formula, simplified, as a SymPy expression."""
        return self.exprs[self.forms.index(self.form)]

    @cached_property
    def exprs(self) -> tuple[sympy.Expr, ...]:
        """The formulas, simplified, as SymPy expressions."""
        forms = (renamed(form, self.names) for form in self.forms)
        return tuple(to_sympy(form, self.size_symbols) for form in forms)

    @property
    def bounds(self) -> dict[sympy.Symbol, tuple[Any, Any]]:
        """The smallest and the largest value of each coordinate, for ``simplify`` and ``code``."""
        return bounds_of(self.sizes, self.size_symbols, self.coordinate_names)

    def subs(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> Any:
        """Return the value with ints or SymPy expressions in place of some coordinates.

        Args:
            values: by name or symbol.
            named: by name.

        Raises:
            ShapeError: if a name is not that of a coordinate.

        >>> from morello_layouts import from_sympy
        >>> print(from_sympy({"shape": (6, 8)}, "8*d0 + d1").subs(d0=2))
        d1 + 16
        """
        at = coordinate_with(self.coordinate_names, values, named)
        return self._at_forms(*forms_of(at, self.sizes, self.names))

    def _at_forms(self, forms: Sequence[AffineExpr], given: Mapping[str, sympy.Symbol]) -> Any:
        """The values of the formulas at affine expressions; one value if there is one formula."""
        values = {f"d{k}": x for k, x in enumerate(forms)}
        found = [substitute(form, values) for form in self.given]
        exprs = exprs_of(found, {**self.size_symbols, **given})
        return exprs[0] if len(exprs) == 1 else exprs

    def compose(self, other: AffineMap) -> AffineMap:
        """Return the map of the coordinates that another map gives.

        Raises:
            ShapeError: if the other map gives another number of coordinates, or may leave this
                map's array.

        >>> from morello_layouts import from_sympy
        >>> rows = from_sympy({"shape": (4, 6)}, "6*d0 + d1")
        >>> halves = from_sympy({"shape": (2, 2, 6)}, ("2*d0 + d1", "d2"))
        >>> print(rows.compose(halves))
        (d0, d1, d2) -> 12*d0 + 6*d1 + d2
        """
        outer, inner = self.assume(other.assumptions), other.assume(self.assumptions)
        forms = compose_forms(outer.given, outer.sizes, inner)
        symbols = {**self.size_symbols, **other.size_symbols}
        size = outer.buffer_size
        found = replace(inner, given=forms, buffer_size=size, size_symbols=symbols, names=())
        return found.named(*inner.names)

    __matmul__ = compose

    def assume(self, assumptions: Iterable[Assumption]) -> AffineMap:
        """Return the map under more assumptions about its symbolic sizes.

        >>> from morello_layouts import Assumption, from_sympy
        >>> rows = from_sympy(("M", "N"), "128*((N + 127)//128)*d0 + d1")
        >>> print(rows.assume([Assumption("N", divisor=128)]))
        (d0, d1) -> N*d0 + d1
        """
        everything = meet_all((*self.assumptions, *assumptions))
        if everything == self.assumptions:
            return self

        changed = self.map_sizes(partial(apply_assumptions, everything))
        forms = tuple(bound_coordinates(f, changed.sizes, everything) for f in changed.given)
        return replace(changed, given=forms, size_symbols=self.size_symbols, assumptions=everything)

    def at(self, /, **sizes: int) -> AffineMap:
        """Return the map with numbers in place of its symbolic sizes.

        Raises:
            ShapeError: if a size is missing, unknown, or not as assumed.
        """
        names = {name for n in self.sizes if isinstance(n, SizeExpr) for name in n.names()}
        names = names.union(*(form.sizes() for form in self.given))
        values = checked_sizes(sizes, sorted(names), self.assumptions)
        return self.map_sizes(lambda n: n.evaluate(values) if isinstance(n, SizeExpr) else n)

    def map_sizes(self, change: Callable[[Int], Int]) -> AffineMap:
        """Return the map with every number changed, without assumptions and symbols."""
        size = None if self.buffer_size is None else change(self.buffer_size)
        forms = tuple(map_ints(form, change) for form in self.given)
        return AffineMap(tuple(map(change, self.sizes)), forms, size, names=self.names)

    def __call__(self, /, *coordinate: Any, **named: Any) -> Any:
        """Return the value at a coordinate: an int, or a tuple if there are several formulas.

        Args:
            coordinate: one int for each dimension, or integer arrays that broadcast; or SymPy
                expressions and ints, for a formula of other symbols.
            named: the same by the coordinates' names, in place of all of it.

        Raises:
            ShapeError: if a coordinate is outside of its dimension.
        """
        coordinate = in_order(coordinate, named, self.coordinate_names)
        if is_symbolic(coordinate):
            return self._at_forms(*forms_of(coordinate, self.sizes, self.names))
        reach = max(map(_reach, self.given))
        at = checked_coordinate(coordinate, known(self.sizes), reach, self.names)
        values = {f"d{k}": x for k, x in enumerate(at)}
        found = tuple(spread(form.evaluate(values), at) for form in self.given)
        return found[0] if len(found) == 1 else found

    def __str__(self) -> str:
        forms = ", ".join(str(renamed(form, self.names)) for form in self.forms)
        source = ", ".join(self.coordinate_names)
        return f"({source}) -> {forms if len(self.forms) == 1 else f'({forms})'}"

    def __repr__(self) -> str:
        return f"<AffineMap [{','.join(map(str, self.sizes))}]: {self}>"

    def _repr_latex_(self) -> str:
        return latex_map(self.coordinate_names, [renamed(x, self.names) for x in self.forms])


def _reach(form: AffineExpr) -> int:
    """Return a bound on the absolute value of a form and of everything computed for it."""
    total = abs(form.const) if isinstance(form.const, int) else _PAST_INT64
    for atom, c in form.terms:
        inner = _reach(atom.operand) if isinstance(atom, Digit) else 0
        lo, hi = atom.interval
        if not (isinstance(lo, int) and isinstance(hi, int) and isinstance(c, int)):
            return _PAST_INT64
        total += max(inner, abs(c) * max(abs(lo), abs(hi), 1))
    return 2 * total


def compose_forms(
    forms: Sequence[AffineExpr], sizes: Sequence[Int], inner: AffineMap
) -> tuple[AffineExpr, ...]:
    """Return formulas of ``d0, d1, …`` as formulas of the coordinates of the inner map."""
    if len(inner.given) != len(sizes):
        raise ShapeError(
            f"the inner map gives {len(inner.given)} coordinates, the outer takes {len(sizes)}",
            "composed maps share one array: the inner gives its coordinates, the outer takes them",
            "give one formula for each dimension",
        )
    for k, (x, n) in enumerate(zip(inner.forms, sizes, strict=True)):
        if not x.interval.within(0, n - 1):
            raise ShapeError(
                f"coordinate {k} of the inner map is {x}, in {x.interval}",
                f"dimension {k} of the outer map has {n} elements",
                "bound the inner formula, or make the outer array larger",
            )
    values = {f"d{k}": x for k, x in enumerate(inner.given)}
    return tuple(canonicalize(substitute(form, values)) for form in forms)


def bound_coordinates(
    form: AffineExpr, shape: Sequence[Int], known: Iterable[Assumption]
) -> AffineExpr:
    """Return the form with numeric bounds for coordinates whose size the form does not hold."""
    largest = {one.name: one.hi for one in known if one.hi is not None}
    free = form.sizes()
    bounds = {
        f"d{k}": variable(f"d{k}", 0, largest[str(n)] - 1)
        for k, n in enumerate(shape)
        if str(n) in largest and str(n) not in free
    }
    return substitute(form, bounds) if bounds else form


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
