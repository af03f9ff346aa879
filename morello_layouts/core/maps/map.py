"""Maps: from the coordinates of an array to integers, by formulas; and back from an offset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from morello_layouts.core import checks
from morello_layouts.core.expr import AffineExpr, Interval, canonicalize, standard, variable
from morello_layouts.core.expr.assumptions import (
    Assumption,
    apply_assumptions,
    checked_sizes,
    meet_all,
)
from morello_layouts.core.expr.conversions import (
    form_from_sympy,
    latex_map,
    size_to_sympy,
    symbol,
    to_sympy,
)
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated, is_nonnegative
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import sympy
from morello_layouts.core.maps.names import checked_names, in_order, public_size, renamed
from morello_layouts.core.recipe import Recipe, coordinates_at, known
from morello_layouts.errors import LayoutError, ShapeError

if TYPE_CHECKING:
    from typing import Self


def is_symbolic(coordinate: Sequence[Any]) -> bool:
    """Whether one of the values is a SymPy expression with symbols."""
    return any(getattr(x, "free_symbols", None) for x in coordinate)


class Map:
    """A function from integers to integers: its domain, formulas, names and assumptions.

    An affine map has the formulas of a user, an index map those of a layout and its recipe, and an
    inverse leads from an offset back to coordinates.
    """

    size_symbols: Mapping[str, sympy.Symbol]
    assumptions: tuple[Assumption, ...]
    names: tuple[str, ...]
    if TYPE_CHECKING:  # fields of some maps, and properties of others

        @property
        def sizes(self) -> tuple[Int, ...]: ...
        @property
        def given(self) -> tuple[AffineExpr, ...]: ...

    @property
    def _inside(self) -> tuple[str, ...]:
        """What formulas call the arguments."""
        return standard(len(self.sizes))

    @property
    def _arguments(self) -> tuple[str, ...]:
        """What a user calls the arguments."""
        return self.names or self._inside

    def _shown(self) -> Sequence[AffineExpr]:
        """The simplified formulas of what a user calls the arguments."""
        return [renamed(form, self.names) for form in self.forms]

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes of the array in elements: ints, or SymPy expressions if they are symbolic."""
        return self._public(self.sizes)

    def _public(self, sizes: Iterable[Int]) -> tuple[Any, ...]:
        return tuple([public_size(n, self.size_symbols) for n in sizes])

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The SymPy symbols of the coordinates, ``d0, d1, …`` if they have no other names."""
        return tuple(map(symbol, self._arguments))

    @property
    def bounds(self) -> dict[sympy.Symbol, tuple[Any, Any]]:
        """The smallest and the largest value of each coordinate, for ``simplify`` and ``code``.

        >>> from morello_layouts import index_map, simplify
        >>> m = index_map("f32[3,5]{1,0:T(2,2)}")
        >>> m.bounds, simplify(m.reference, m.bounds) == m.expr
        ({d0: (0, 2), d1: (0, 4)}, True)
        """
        ends = self._public(n - 1 for n in self.sizes)
        return {x: (0, end) for x, end in zip(self.symbols, ends, strict=True)}

    @cached_property
    def forms(self) -> tuple[AffineExpr, ...]:
        """The formulas simplified, as affine expressions over ``d0, d1, …``."""
        return tuple(map(canonicalize, self.given))

    @property
    def form(self) -> AffineExpr:
        """The only formula, simplified.

        Raises:
            ShapeError: if there are several.
        """
        if len(self.forms) != 1:
            raise ShapeError(
                f"the map gives {len(self.forms)} numbers",
                "an offset is one number",
                "compose it with the index map of the array whose coordinates it gives",
            )
        return self.forms[0]

    @cached_property
    def exprs(self) -> tuple[sympy.Expr, ...]:
        """The formulas, simplified, as SymPy expressions."""
        return tuple(to_sympy(form, self.size_symbols) for form in self._shown())

    @property
    def expr(self) -> sympy.Expr:
        """The only formula, simplified, as a SymPy expression; errors as of ``form``."""
        return self.exprs[self.forms.index(self.form)]

    def subs(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> Any:
        """Return the value with ints or SymPy expressions in place of some coordinates.

        Args:
            values: by name or symbol.
            named: by name.

        Raises:
            ShapeError: if a name is not that of a coordinate.

        >>> from morello_layouts import index_map
        >>> index_map("f32[3,5]{1,0:T(2,2)}").subs(d0=2)
        Mod(d1, 2) + 4*floor(d1/2) + 12
        """
        at: dict[str, Any] = {name: symbol(name) for name in self._arguments}
        for name, value in {**{str(key): x for key, x in (values or {}).items()}, **named}.items():
            if name not in at:
                raise ShapeError(
                    f"{name} is not a coordinate of the map",
                    f"its coordinates are {', '.join(at) or 'none'}",
                    "give values of these; sizes get theirs by .at(…)",
                )
            at[name] = value
        return self._at_symbols(list(at.values()))

    def _at_symbols(self, coordinate: Sequence[Any]) -> Any:
        """Return the value at SymPy expressions and ints; several in a tuple."""

        def given(at: Sequence[AffineExpr]) -> list[AffineExpr]:
            values = dict(zip(self._inside, at, strict=True))
            return [substitute(form, values) for form in self.given]

        found = self._of_symbols(coordinate, given)
        return found[0] if len(found) == 1 else found

    def _of_symbols(
        self,
        coordinate: Sequence[Any],
        read: Callable[[Sequence[AffineExpr]], Iterable[AffineExpr]],
    ) -> tuple[sympy.Expr, ...]:
        """Return what is read at SymPy expressions and ints, simplified.

        A symbol alone has the bounds of its dimension. Symbols in an expression have those of their
        own SymPy assumptions, and the expression is taken to lie within its dimension.
        """
        checks.require_rank(coordinate, len(self.sizes), "the coordinate")
        forms: list[AffineExpr] = []
        symbols: dict[str, sympy.Symbol] = {}
        for k, (x, n) in enumerate(zip(coordinate, self.sizes, strict=True)):
            number = checks.whole(x)
            if number is not None:
                if isinstance(n, int):
                    checks.require_inside(k, n, number, number, self.names)
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
        names = {**self.size_symbols, **symbols}
        return tuple(to_sympy(canonicalize(form), names) for form in read(forms))

    def __call__(self, /, *coordinate: Any, **named: Any) -> Any:
        """Return the value at a coordinate: an int, or a tuple if there are several formulas.

        Args:
            coordinate: one int for each dimension, or integer arrays that broadcast; or SymPy
                expressions and ints, for a formula of other symbols. A symbol alone has the bounds
                of its dimension.
            named: the same by the coordinates' names, in place of all of it.

        Raises:
            ShapeError: if a coordinate is outside of its dimension.

        >>> from morello_layouts import index_map
        >>> from sympy import symbols
        >>> index_map("f32[3,5]{1,0:T(2,2)}")(2, symbols("j", integer=True))
        Mod(j, 2) + 4*floor(j/2) + 12
        """
        if named:
            coordinate = in_order(coordinate, named, self._arguments)
        if is_symbolic(coordinate):
            return self._at_symbols(coordinate)
        at = self._checked(coordinate)
        values = dict(zip(self._inside, at, strict=True))
        found = [checks.spread(form.evaluate(values), at) for form in self._evaluated()]
        return found[0] if len(found) == 1 else tuple(found)

    def _checked(self, coordinate: Sequence[Any]) -> tuple[Any, ...]:
        """Return ints, or arrays of integers that hold every value, inside of the domain."""
        return checks.checked_coordinate(coordinate, known(self.sizes), self._largest(), self.names)

    def _largest(self) -> int:
        """Return a bound on all that is computed for a value."""
        return max(map(_reach, self.given))

    def _evaluated(self) -> tuple[AffineExpr, ...]:
        """Return the formulas by which values are computed."""
        return self.forms

    def __str__(self) -> str:
        source, forms = ", ".join(self._arguments), ", ".join(map(str, self._shown()))
        return f"({source}) -> {forms if len(self.forms) == 1 else f'({forms})'}"

    def _repr_latex_(self) -> str:
        return latex_map(self._arguments, self._shown())


class CoordinateMap(Map):
    """A map of the coordinates of an array, to its offsets or to other coordinates."""

    if TYPE_CHECKING:

        @property
        def recipe(self) -> Recipe | None: ...
        @property
        def buffer_size(self) -> Int | None: ...
        @property
        def affine_map(self) -> AffineMap: ...
        def _with(self, known: tuple[Assumption, ...], assumed: Sequence[Assumption]) -> Self: ...

    offset_name: ClassVar = ""  # of an inverse, which coordinates cannot have for theirs
    is_part: bool = False

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the coordinates: the user's, or ``d0, d1, …``."""
        return self._arguments

    @property
    def replicas(self) -> Int:
        """The number of places of each element."""
        return 1 if self.recipe is None else self.recipe.replicas

    @property
    def requires(self) -> tuple[tuple[Int, Int], ...]:
        """Pairs (n, m) of sizes for which n >= m is taken for granted."""
        return () if self.recipe is None else self.recipe.requires

    @property
    def size_names(self) -> Sequence[str]:
        """The names of symbolic sizes, those in formulas too, sorted."""
        found = (n.names() for n in self.sizes if isinstance(n, SizeExpr))
        return sorted(frozenset[str]().union(*found, *(form.sizes() for form in self.given)))

    def named(self, *names: str) -> Self:
        """Return the map with names for its coordinates; without any, with ``d0, d1, …``.

        Raises:
            ShapeError: if one is not a name, is there twice, or means something else.

        >>> from morello_layouts import index_map
        >>> m = index_map("f32[3,5]{1,0:T(2,2)}").named("y", "x")
        >>> print(m)
        (y, x) -> 12*(y//2) + 4*(x//2) + 2*(y%2) + x%2
        >>> m(y=2, x=3), m.expr.free_symbols == set(m.symbols)
        (17, True)
        """
        own: Any = self
        others, offset = self.size_names, self.offset_name
        checked = checked_names(names, self.sizes, others, offset) if names else ()
        found: Self = self if checked == self.names else replace(own, names=checked)
        return found

    def assume(self, assumptions: Iterable[Assumption]) -> Self:
        """Return the map under more assumptions about its symbolic sizes.

        >>> from morello_layouts import Assumption, index_map
        >>> print(index_map("f32[M,N]{1,0:T(8,128)}").assume([Assumption("N", divisor=128)]))
        (d0, d1) -> 8*N*(d0//8) + 1024*(d1//128) + 128*(d0%8) + d1%128
        """
        assumed = tuple(assumptions)
        everything = meet_all((*self.assumptions, *assumed)) if assumed else self.assumptions
        return self if everything == self.assumptions else self._with(everything, assumed)


@frozen(slots=False)
class AffineMap(CoordinateMap):
    """A function from the coordinates of an array to integers, given by formulas.

    One formula gives an offset; several give a coordinate, of another array or over axes in
    memory. The map has no recipe and no inverse.

    >>> from morello_layouts import from_sympy
    >>> f = from_sympy({"shape": (6, 8)}, "24*(d1//4) + 4*d0 + d1%4")
    >>> f(0, 5)
    25
    """

    recipe: ClassVar[None] = None
    element_type: ClassVar[None] = None
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

    @property
    def affine_map(self) -> AffineMap:
        """The map itself, which is formulas alone."""
        return self

    @property
    def source(self) -> str:
        """The formulas as text."""
        return str(self)

    def compose(self, other: CoordinateMap) -> AffineMap:
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
        outer, inner = self.assume(other.assumptions), other.affine_map.assume(self.assumptions)
        require_fit(outer.sizes, inner)
        values = {f"d{k}": x for k, x in enumerate(inner.given)}
        forms = tuple(canonicalize(substitute(form, values)) for form in outer.given)
        symbols = {**self.size_symbols, **other.size_symbols}
        size = outer.buffer_size
        found = replace(inner, given=forms, buffer_size=size, size_symbols=symbols, names=())
        return found.named(*inner.names)

    __matmul__ = compose

    def _with(self, known: tuple[Assumption, ...], _: Sequence[Assumption]) -> AffineMap:
        found = self.map_sizes(partial(apply_assumptions, known))
        forms = tuple(bound_coordinates(form, found.sizes, known) for form in found.given)
        return replace(found, given=forms, size_symbols=self.size_symbols, assumptions=known)

    def at(self, /, **sizes: int) -> AffineMap:
        """Return the map with numbers in place of its symbolic sizes.

        Raises:
            ShapeError: if a size is missing, unknown, or not as assumed.
        """
        values = checked_sizes(sizes, self.size_names, self.assumptions)
        return self.map_sizes(partial(evaluated, values=values))

    def map_sizes(self, change: Callable[[Int], Int]) -> AffineMap:
        """Return the map with every number changed, without assumptions and symbols."""
        size = None if self.buffer_size is None else change(self.buffer_size)
        forms = tuple(map_ints(form, change) for form in self.given)
        sizes = tuple(map(change, self.sizes))
        return AffineMap(sizes, forms, size, names=self.names, results=self.results)

    def _evaluated(self) -> tuple[AffineExpr, ...]:
        return self.given

    def __repr__(self) -> str:
        return f"<AffineMap [{','.join(map(str, self.sizes))}]: {self}>"


_PAST_INT64: Final = 2**64
"""A value that arrays of 64-bit integers do not hold."""


def _reach(form: AffineExpr) -> int:
    """Return a bound on the absolute value of a form and of everything computed for it."""
    total = abs(form.const) if isinstance(form.const, int) else _PAST_INT64
    for atom, c in form.terms:
        inner = max(map(_reach, atom.operands), default=0)
        lo, hi = atom.interval
        if not (isinstance(lo, int) and isinstance(hi, int) and isinstance(c, int)):
            return _PAST_INT64
        total += max(inner, abs(c) * max(abs(lo), abs(hi), 1))
    return 2 * total


def require_fit(sizes: Sequence[Int], inner: Map) -> None:
    """Refuse a map that does not give the coordinates of an array of these sizes."""
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
class Inverse(Map):
    """Coordinates as functions of the offset ``p``, and the condition for padding.

    >>> from morello_layouts import index_map
    >>> inverse = index_map("f32[3,5]{1,0:T(2,2)}").inverse
    >>> [str(form) for form in inverse.forms]
    ['2*(p//12) + (p//2)%2', '2*((p//4)%3) + p%2']
    >>> print(inverse)
    p -> (2*(p//12) + (p//2)%2, 2*((p//4)%3) + p%2), padding where d0 >= 3 or d1 >= 5
    >>> inverse(17), inverse.padding
    ((2, 3), (Mod(p, 2) + 2*(Mod(floor(p/4), 3)) >= 5) | (Mod(floor(p/2), 2) + 2*floor(p/12) >= 3))
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
        zero, symbols = AffineExpr((), 0), size_symbols or {}
        if recipe.size == 0:
            forms = (zero,) * len(recipe.shape)
            return Inverse(forms, (), symbols, source, assumptions, 0, names=names)
        at, limits = coordinates_at(recipe, variable("p", 0, recipe.size - 1))
        kept = [(canonicalize(x), n) for x, n in limits]
        return Inverse(
            tuple(canonicalize(zero + x) for x in at),
            _sharpest((x, n) for x, n in kept if not _is_below(x.interval, n)),
            symbols,
            source,
            assumptions,
            recipe.size,
            tuple(zip(recipe.axis_names, recipe.physical_shape, strict=False)),
            names,
        )

    @property
    def sizes(self) -> tuple[Int, ...]:
        """The number of offsets."""
        return (self.size,)

    @property
    def given(self) -> tuple[AffineExpr, ...]:
        """The same as ``forms``."""
        return self.forms

    @property
    def _inside(self) -> tuple[str, ...]:
        return ("p",)

    _arguments = _inside

    def _shown(self) -> Sequence[AffineExpr]:
        return self.forms

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

    @cached_property
    def padding(self) -> sympy.Basic:
        """The condition that ``p`` holds padding, as a SymPy Boolean in ``p``."""
        named = self.size_symbols
        return sympy.Or(
            *(sympy.Ge(to_sympy(x, named), size_to_sympy(n, named)) for x, n in self.limits)
        )


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
