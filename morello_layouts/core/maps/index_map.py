"""Index maps: from the coordinates of an array to the offsets in its buffer, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

from morello_layouts.core.checks import checked_coordinate, shown, spread
from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables, standard
from morello_layouts.core.expr.assumptions import Assumption, apply_assumptions, checked_sizes
from morello_layouts.core.expr.conversions import public_size, to_sympy
from morello_layouts.core.expr.simplify import Derivation
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType
from morello_layouts.core.maps.affine_map import AffineMap, Inverse, exprs_of, forms_of, is_symbolic
from morello_layouts.core.maps.displayed import Drawn
from morello_layouts.core.maps.modes import (
    Decomposition,
    Modes,
    Strided,
    decompose,
    linear,
    modes_along,
    require_dim,
)
from morello_layouts.core.maps.names import checked_names, in_order, renamed, without_offset
from morello_layouts.core.maps.origin import Origin
from morello_layouts.core.maps.places import (
    MEMORY,
    Place,
    Unit,
    address_of,
    coordinates_of,
    number_of_axis,
    place_of,
    slot_of,
)
from morello_layouts.core.maps.view import (
    OPERATIONS,
    as_text,
    gathered,
    indexed,
    not_a_view,
    numbered,
    viewed,
)
from morello_layouts.core.recipe import Recipe, known, occupied, physical_coordinates
from morello_layouts.errors import LayoutError, UnsupportedError

if TYPE_CHECKING:
    import sympy


@frozen(slots=False)
class IndexMap(Drawn):
    """The offset of each element of an array, in elements from the start of the buffer.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[3,5]{1,0:T(2,2)}")
    >>> m.size, m.physical_coordinates(2, 3), m(2, 3), m.coordinates(17)
    (24, (1, 1, 0, 1), 17, (2, 3))
    """

    recipe: Recipe  #: the pad, split, transpose, merge steps.
    reference_form: AffineExpr  #: the notation's own formula over ``d0, d1, …``, unsimplified.
    source: str = ""  #: the layout as text, with its shape.
    #: reasons why the sizes may differ from those that a compiler reserves.
    warnings: tuple[str, ...] = ()
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions about symbolic sizes.
    #: the user's SymPy symbols of symbolic sizes, by name.
    size_symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict, compare=False)
    #: name and bits of the element type; None if the layout does not say.
    element_type: ElementType | None = None
    #: names of the coordinates, for each dimension; nothing means ``d0, d1, …``. They are in what
    #: is printed, in SymPy expressions and in code; forms keep ``d0, d1, …``.
    names: tuple[str, ...] = ()
    #: the layout, sizes and assumptions as the user gave them; None for a view of a map.
    origin: Origin | None = field(default=None, compare=False, repr=False)
    #: whether the map is a view of some elements of an array: what lies beside them in the buffer
    #: need not be padding.
    is_part: bool = False

    @staticmethod
    def of(
        recipe: Recipe,
        reference: Callable[[Sequence[AffineExpr], Sequence[Int]], AffineExpr],
        source: str = "",
        warnings: tuple[str, ...] = (),
        *,
        assumptions: Iterable[Assumption] = (),
        size_symbols: Mapping[str, sympy.Symbol] | None = None,
        element_type: ElementType | None = None,
        origin: Origin | None = None,
    ) -> IndexMap:
        """Return the index map of a recipe and a notation's reference formula."""
        form = reference(coordinate_variables(recipe.shape), recipe.shape)
        if isinstance(form, (int, SizeExpr)):  # the formula of a scalar may be the number 0
            form = AffineExpr((), form)
        if not isinstance(form, AffineExpr):
            raise LayoutError(
                f"reference of {source or 'a layout'}: expected an offset, got {shown(form)}",
                "reference(coordinates, shape) combines coordinates by +, *, // and %",
                "return the offset in elements",
            )
        symbols, known = size_symbols or {}, tuple(assumptions)
        if not known:
            return IndexMap(
                recipe, form, source, warnings, (), symbols, element_type, origin=origin
            )
        found = IndexMap(recipe, form, source, warnings, (), symbols, element_type).assume(known)
        return found if origin is None else replace(found, origin=origin)

    def named(self, *names: str) -> IndexMap:
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
        sizes = self.recipe.names
        checked = checked_names(names, self.recipe.shape, sizes, offset="p") if names else ()
        return self if checked == self.names else replace(self, names=checked)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The names of the coordinates: the user's, or ``d0, d1, …``."""
        return self.names or standard(len(self.recipe.shape))

    @property
    def sizes(self) -> tuple[Int, ...]:
        """Logical sizes, as the package's own: numbers and polynomials in names."""
        return self.recipe.shape

    @property
    def shape(self) -> tuple[Any, ...]:
        """Logical sizes in elements: ints, or SymPy expressions if they are symbolic."""
        return self._public(self.recipe.shape)

    @property
    def physical_shape(self) -> tuple[Any, ...]:
        """Sizes of the axes in memory, most major first, in elements; as ``shape``."""
        return self._public(self.recipe.physical_shape)

    @property
    def strides(self) -> tuple[Any, ...]:
        """Elements from one index to the next along each axis in memory; as ``shape``."""
        sizes = self.recipe.physical_shape
        return self._public(tuple(prod(sizes[k + 1 :]) for k in range(len(sizes))))

    @property
    def size(self) -> Any:
        """Elements that the buffer spans, padding included; an int, or a SymPy expression."""
        return self._public((self.recipe.size,))[0]

    @property
    def padding(self) -> Any:
        """Slots of the buffer without an element; an int, or a SymPy expression.

        Raises:
            UnsupportedError: if elements share slots in a way that no formula counts.
        """
        return self._public((self.unused,))[0]

    @property
    def unused(self) -> Int:
        """The same as ``padding``, as the package's own size: texts and proofs need no SymPy."""
        return self.recipe.size - occupied(self.recipe)

    def _public(self, sizes: Sequence[Int]) -> tuple[Any, ...]:
        return tuple(public_size(n, self.size_symbols) for n in sizes)

    def assume(self, assumptions: Iterable[Assumption]) -> IndexMap:
        """Return the index map under more assumptions about its symbolic sizes.

        >>> from morello_layouts import index_map
        >>> from morello_layouts.core.expr.assumptions import Assumption
        >>> print(index_map("f32[M,N]{1,0:T(8,128)}").assume([Assumption("N", divisor=128)]))
        (d0, d1) -> 8*N*(d0//8) + 1024*(d1//128) + 128*(d0%8) + d1%128
        """
        assumed = tuple(assumptions)
        if not assumed:
            return self
        affine = self.affine_map.assume(assumed)
        if affine.assumptions == self.assumptions:
            return self
        recipe = self.recipe.map_sizes(partial(apply_assumptions, affine.assumptions))
        return replace(
            self,
            recipe=recipe,
            reference_form=affine.given[0],
            assumptions=affine.assumptions,
            origin=self.origin and self.origin.assume(assumed),
        )

    def at(self, /, **sizes: int) -> IndexMap:
        """Return the index map with numbers in place of its symbolic sizes.

        Raises:
            ShapeError: if a size is missing, unknown, or not as assumed.

        >>> from morello_layouts import index_map
        >>> index_map("f32[M,N]{1,0:T(8,128)}").at(M=3, N=200).size
        2048
        """
        values = checked_sizes(sizes, self.recipe.names, self.assumptions)
        fixed = {one.name: one.lo for one in self.assumptions if one.lo == one.hi}
        # The pitch of a single row is a factor of 0: it is a size of the formula alone.
        everywhere = {**dict.fromkeys(self.reference_form.sizes(), 1), **values}
        return IndexMap(
            self.recipe.at(values),
            map_ints(self.reference_form, partial(evaluated, values=everywhere)),
            f"{self.source} at {', '.join(f'{n} = {v}' for n, v in sorted(values.items()))}",
            self.warnings,
            element_type=self.element_type,
            names=self.names,
            origin=self.origin and self.origin.at({**fixed, **sizes}),
            is_part=self.is_part,
        )

    @cached_property
    def affine_map(self) -> AffineMap:
        """The map of the reference formula alone, without recipe and inverse."""
        shape, size, given = self.recipe.shape, self.recipe.size, (self.reference_form,)
        return AffineMap(shape, given, size, self.size_symbols, self.assumptions, self.names)

    @property
    def form(self) -> AffineExpr:
        """The simplified formula as an affine expression over ``d0, d1, …``."""
        return self.affine_map.form

    @property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """The SymPy symbols of the coordinates, ``d0, d1, …`` if they have no other names."""
        return self.affine_map.symbols

    @cached_property
    def expr(self) -> sympy.Expr:
        """The simplified offset as a SymPy expression of the coordinates."""
        return self.affine_map.expr

    @property
    def bounds(self) -> dict[sympy.Symbol, tuple[Any, Any]]:
        """The smallest and the largest value of each coordinate, for ``simplify`` and ``code``.

        >>> from morello_layouts import index_map, simplify
        >>> m = index_map("f32[3,5]{1,0:T(2,2)}")
        >>> m.bounds, simplify(m.reference, m.bounds) == m.expr
        ({d0: (0, 2), d1: (0, 4)}, True)
        """
        return self.affine_map.bounds

    def address(self, unit: Unit = "bytes", *, base: Any = 0, bits: int | None = None) -> AffineMap:
        """Return the map from coordinates to addresses, for formulas and code.

        An address in bytes of elements that are not whole bytes is two numbers: the byte, and the
        bits of that byte before the element. Elements follow each other without gaps.

        Args:
            unit: ``"bytes"``, ``"bits"`` or ``"elements"``.
            base: where the buffer begins, in that unit: a number, a name or a SymPy expression. A
                name becomes a symbol, of at least 1, and an argument in code.
            bits: the bits of an element, if another number than the element type's.

        Raises:
            LayoutError: if nothing tells the bits of an element.
            UnsupportedError: if places are not in memory, such as those of registers.

        >>> from morello_layouts import index_map
        >>> print(index_map("bf16[16,256]{1,0:T(8,128)}").address(base="base"))
        (d0, d1) -> 4096*(d0//8) + 2048*(d1//128) + 256*(d0%8) + 2*(d1%128) + base
        >>> print(index_map("s4[8,6]{1,0:E(4)}").address())    # two in a byte
        (d0, d1) -> (3*d0 + d1//2, 4*(d1%2))
        """
        return address_of(self, unit, base, bits)

    def subs(self, values: Mapping[Any, Any] | None = None, /, **named: Any) -> sympy.Expr:
        """Return the offset with ints or SymPy expressions in place of some coordinates.

        Args:
            values: by name or symbol.
            named: by name.

        Raises:
            ShapeError: if a name is not that of a coordinate.

        >>> from morello_layouts import index_map
        >>> index_map("f32[3,5]{1,0:T(2,2)}").subs(d0=2)
        Mod(d1, 2) + 4*floor(d1/2) + 12
        """
        return self.affine_map.subs(values, **named)

    @cached_property
    def reference(self) -> sympy.Expr:
        """The notation's own formula as a SymPy expression, unsimplified."""
        return to_sympy(renamed(self.reference_form, self.names), self.size_symbols)

    @cached_property
    def inverse(self) -> Inverse:
        """The coordinates as formulas of the offset, and the condition for padding."""
        return Inverse.of(self.recipe, self.size_symbols, self.source, self.assumptions, self.names)

    def decompose(self) -> Decomposition:
        """Split the offset into the contributions of each coordinate, for loops that hoist them."""
        form, names = renamed(self.form, self.names), self.coordinate_names
        return decompose(form, names, self.size_symbols, self.source, self.assumptions)

    def modes(self, dim: int | str) -> Modes:
        """Return the modes (length and stride) of one dimension, the innermost first.

        Args:
            dim: its number, from the end if it is negative, or its name.

        Raises:
            UnsupportedError: if the strides depend on other coordinates, or are not regular.
        """
        k, names = require_dim(dim, self.coordinate_names), self.coordinate_names
        form = renamed(self.form, self.names)
        return modes_along(form, names[k], self.recipe.shape[k], self.size_symbols)

    def as_strided(self) -> Strided | None:
        """Return the array as a strided view of its buffer, as PyTorch asks of a reshape.

        Returns:
            The offset of the first element and the strides; some dimensions may have several, as
            modes, then PyTorch would copy. None if elements lie at no strides.

        >>> from morello_layouts import index_map
        >>> turned = index_map("f32[4,6]").view(transpose=(1, 0))
        >>> turned.view(reshape=(2, 3, 4)).as_strided().strides
        (3, 1, 6)
        >>> turned.view(reshape=24).as_strided().strides is None    # PyTorch copies
        True
        """
        if 0 in self.recipe.shape:
            return Strided(self.form.const, (Modes(()),) * len(self.shape), self.shape)
        try:
            modes = tuple(map(self.modes, range(len(self.shape))))
        except UnsupportedError:
            return None if self.recipe.names else linear(known(self.recipe.shape), self)
        zeros = {f"d{k}": AffineExpr((), 0) for k in range(len(self.shape))}
        first = canonicalize(substitute(self.form, zeros)).const
        return Strided(self._public((first,))[0], modes, self.shape)

    @cached_property
    def derivation(self) -> Derivation:
        """The derivation of the simplified formula from the reference formula."""
        return Derivation.of(renamed(self.reference_form, self.names))

    def compose(self, other: AffineMap | IndexMap) -> IndexMap:
        """Return the map of the coordinates that another map gives: a view of this array.

        Args:
            other: a map with one formula for each dimension of this map; an index map gives one.

        Raises:
            ShapeError: if it gives another number of coordinates, or may leave the array.

        >>> from morello_layouts import from_sympy, index_map
        >>> tiled = index_map("f32[4,6]{1,0:T(2,2)}")
        >>> print(tiled.compose(from_sympy({"shape": (24,)}, ("d0//6", "d0%6"))))
        (d0) -> 12*(d0//12) + 4*((d0//2)%3) + 2*((d0//6)%2) + d0%2
        """
        inner = other.affine_map if isinstance(other, IndexMap) else other
        if not isinstance(inner, AffineMap):
            raise LayoutError(
                f"compose: expected a map, got {shown(inner)}",
                "a map is composed with an index map or an affine map",
                'make one with from_sympy({"shape": (24,)}, ("d0//6", "d0%6"))',
            )
        composed = self.affine_map.compose(inner)  # checks that both fit
        outer, inner = self.assume(inner.assumptions), inner.assume(self.assumptions)
        view = gathered(outer.recipe.shape, inner.sizes, inner.given)
        found: IndexMap = viewed(outer, view, f"{self.source} at {inner}")
        named = found.named(*without_offset(inner.names)) if inner.names else found
        return replace(named, size_symbols=composed.size_symbols)

    __matmul__ = compose

    def view(self, /, **operations: Any) -> IndexMap:
        """Return the map of a part of the array, or of its elements in another order.

        Args:
            operations: what to do, in this order, each with its argument: ``index`` (as NumPy's),
                ``transpose`` (an order), ``reshape`` (a shape, one size may be -1), ``reverse``
                (dimensions), ``squeeze`` (dimensions, or ``...``), ``broadcast`` (a shape),
                ``diagonal`` (two dimensions), ``windows`` (such as ``{0: 3, 1: (3, 2, 1)}``: by
                dimension the size, or size, step and dilation), ``tiles`` (sizes), ``gather`` (a
                map that gives coordinates). Dimensions are numbers, or names of coordinates.

        A view has no element of its own: what a pad adds, and all but one part of a concatenation,
        has no slot in the buffer. Both are relayouts into parts of a target, ``m[1:-1, 1:-1]``.

        Raises:
            ShapeError: if one does not fit the shape that the one before it leaves.

        >>> from morello_layouts import index_map
        >>> m = index_map("f32[16,256]{1,0:T(8,128)}")
        >>> print(m.view(reshape=(2, 8, 256), transpose=(1, 0, 2)))
        (d0, d1, d2) -> 2048*d1 + 1024*(d2//128) + 128*d0 + d2%128
        >>> m.view(reverse=1)(0, 0) == m(0, 255)
        True
        >>> m.named("y", "x").view(transpose=("x", "y"), windows={"x": 3}).shape
        (254, 16, 3)
        """
        m = self
        for name, argument in operations.items():
            if name not in OPERATIONS:
                raise not_a_view(name)
            source = f"{m.source} {name} {shown(argument)}"
            is_sized = name in ("index", "reshape", "broadcast", "tiles", "gather")
            own = argument if is_sized else numbered(argument, m.coordinate_names)
            m = viewed(m, OPERATIONS[name](m.recipe.shape, own), source)
        return m

    def __getitem__(self, index: Any) -> Any:
        """Return the offset at an index of integers, or the map of the view at one with slices.

        >>> from morello_layouts import index_map
        >>> m = index_map("f32[16,256]{1,0:T(8,128)}")
        >>> m[2, 3], m[2:10, ::2].shape
        (259, (8, 128))
        """
        m = viewed(self, indexed(self.recipe.shape, index), f"{self.source}[{as_text(index)}]")
        return m if m.recipe.shape else m._public((m.form.const,))[0]

    def __call__(self, /, *coordinate: Any, **named: Any) -> Any:
        """Return the offset of the element at a coordinate, in elements.

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
        coordinate = in_order(coordinate, named, self.coordinate_names)
        if is_symbolic(coordinate):
            return self.affine_map(*coordinate)
        at = self._checked(coordinate)
        return spread(self.form.evaluate({f"d{k}": x for k, x in enumerate(at)}), at)

    def physical_coordinates(self, *coordinate: Any) -> tuple[Any, ...]:
        """Return the coordinate along the physical axes, of values as the map itself takes them.

        Raises:
            ShapeError: if a coordinate is outside of its dimension.

        >>> from morello_layouts import index_map
        >>> from sympy import symbols
        >>> i, j = symbols("i j", integer=True)
        >>> index_map("f32[3,5]{1,0:T(2,2)}").physical_coordinates(i, j)
        (floor(i/2), floor(j/2), Mod(i, 2), Mod(j, 2))
        """
        if is_symbolic(coordinate):
            forms, given = forms_of(coordinate, self.recipe.shape, self.names)
            zero = AffineExpr((), 0)
            at = physical_coordinates(self.recipe, forms, zero)
            return exprs_of([zero + x for x in at], {**self.size_symbols, **given})
        checked = self._checked(coordinate)
        return tuple(spread(x, checked) for x in physical_coordinates(self.recipe, checked, 0))

    def place(self, *coordinate: Any) -> Place:
        """Return the place of the element at a coordinate, by the names of the physical axes.

        Args:
            coordinate: one int for each dimension, or integer arrays that broadcast.

        Returns:
            A mapping from the names of axes, ``"offset"`` for plain memory, to coordinates: those
            of the first holder if several places hold the element. ``holders`` has all of them.

        >>> from morello_layouts import index_map
        >>> index_map("f32[3,5]{1,0:T(2,2)}").place(2, 3)["offset"]
        17
        """
        return place_of(self.recipe, self._checked(coordinate))

    def device(self, *coordinate: Any) -> Any:
        """Return the device that holds the element at a coordinate; of several the mesh's first.

        Args:
            coordinate: values as the map itself takes them.

        Raises:
            ShapeError: if the layout has no devices, or a coordinate is outside of its dimension.

        >>> from morello_layouts import index_map
        >>> from sympy import symbols
        >>> m = index_map("f32[10,16], sharding={devices=[4,2]<=[8]}")
        >>> m.device(7, 9), m.offset(7, 9), m.device(*symbols("i j", integer=True))
        (5, 9, 2*floor(i/3) + floor(j/8))
        """
        return self.physical_coordinates(*coordinate)[number_of_axis(self.recipe, "device")]

    def offset(self, *coordinate: Any) -> Any:
        """Return the offset in the buffer of the device, or in the only buffer, as ``device``."""
        k = number_of_axis(self.recipe, MEMORY)
        is_plain = not self.recipe.axis_names
        return self(*coordinate) if is_plain else self.physical_coordinates(*coordinate)[k]

    def element(self, /, **place: Any) -> Any:
        """Return the coordinate of the element at a place, or None for padding.

        Args:
            place: an int, or an integer array, for each named axis; for plain memory, ``offset``.

        Raises:
            ShapeError: if an axis is missing or unknown, or a coordinate is outside of it.

        >>> from morello_layouts import index_map
        >>> index_map("f32[3,5]{1,0:T(2,2)}").element(offset=17)
        (2, 3)
        """
        return self.coordinates(slot_of(self.recipe, place))

    def coordinates(self, offset: Any) -> Any:
        """Return the coordinate of the element at an offset, or None for padding.

        Args:
            offset: an int, or an integer array. For an array, the coordinates are arrays of its
                shape with -1 at padding.

        Raises:
            ShapeError: if an offset is outside of the buffer.

        >>> from morello_layouts import index_map
        >>> import numpy as np
        >>> index_map("f32[3]{0:T(2)}").coordinates(np.arange(4))
        (array([ 0,  1,  2, -1]),)
        """
        return coordinates_of(self.recipe, offset)

    def _checked(self, coordinate: tuple[Any, ...]) -> tuple[Any, ...]:
        shape, (size,) = known(self.recipe.shape), known((self.recipe.size,))
        return checked_coordinate(coordinate, shape, size, self.names)

    def __str__(self) -> str:
        return str(self.affine_map)

    def __repr__(self) -> str:
        return f"<IndexMap {self.source or self.shape}: {self}>"

    def _repr_latex_(self) -> str:
        return self.affine_map._repr_latex_()
