"""Index maps: from the coordinates of an array to the offsets in its buffer, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from morello_layouts.core.checks import shown, spread
from morello_layouts.core.expr import AffineExpr, canonicalize, coordinate_variables
from morello_layouts.core.expr.assumptions import Assumption, apply_assumptions, checked_sizes
from morello_layouts.core.expr.conversions import to_sympy
from morello_layouts.core.expr.simplify import Derivation
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated
from morello_layouts.core.expr.substitution import map_ints, substitute
from morello_layouts.core.fields import frozen, late
from morello_layouts.core.layout import ElementType, Provenance
from morello_layouts.core.lazy import from_front, numpy as np
from morello_layouts.core.limits import TABLE_ELEMENTS
from morello_layouts.core.maps import modes, places, view as views
from morello_layouts.core.maps.map import (
    AffineMap,
    CoordinateMap,
    Inverse,
    bound_coordinates,
    is_symbolic,
    require_fit,
)
from morello_layouts.core.maps.modes import Decomposition, Modes, Strided
from morello_layouts.core.maps.names import renamed, without_offset
from morello_layouts.core.maps.places import Place, Unit
from morello_layouts.core.recipe import Recipe, known, occupied, physical_coordinates
from morello_layouts.errors import LayoutError, ShapeError, UnsupportedError

if TYPE_CHECKING:
    import sympy


@frozen(slots=False)
class IndexMap(CoordinateMap):
    """The offset of each element of an array, in elements from the start of the buffer.

    >>> from morello_layouts import index_map
    >>> m = index_map("f32[3,5]{1,0:T(2,2)}")
    >>> m.size, m.physical_coordinates(2, 3), m(2, 3), m.coordinates(17)
    (24, (1, 1, 0, 1), 17, (2, 3))
    """

    recipe: Recipe  #: the pad, split, transpose, merge steps.
    #: the notation's own formula over ``d0, d1, …``, unsimplified.
    reference_form: AffineExpr = late()
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
    origin: Provenance | None = field(default=None, compare=False, repr=False)
    #: whether the map is a view of some elements of an array: what lies beside them in the buffer
    #: need not be padding.
    is_part: bool = False

    offset_name: ClassVar = "p"

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
        origin: Provenance | None = None,
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
        m = IndexMap(recipe, form, source, warnings, (), symbols, element_type, origin=origin)
        return replace(m.assume(known), origin=origin) if known else m

    @property
    def sizes(self) -> tuple[Int, ...]:
        """Logical sizes, as the package's own: numbers and polynomials in names."""
        return self.recipe.shape

    @property
    def given(self) -> tuple[AffineExpr, ...]:
        """The notation's own formula alone, as other maps have theirs."""
        return (self.reference_form,)

    @property
    def buffer_size(self) -> Int:
        """Elements that the buffer spans, as the package's own size."""
        return self.recipe.size

    @property
    def size_names(self) -> Sequence[str]:
        """The names of the recipe's symbolic sizes, sorted."""
        return self.recipe.names

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

    def _with(self, known: tuple[Assumption, ...], assumed: Sequence[Assumption]) -> IndexMap:
        change = cache(partial(apply_assumptions, known))
        recipe = self.recipe.map_sizes(change)
        form = bound_coordinates(map_ints(self.reference_form, change), recipe.shape, known)
        origin = self.origin and self.origin.assume(assumed)
        return replace(self, recipe=recipe, reference_form=form, assumptions=known, origin=origin)

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
        return replace(
            self.steps_at(values),
            reference_form=map_ints(
                self.reference_form, cache(partial(evaluated, values=everywhere))
            ),
            source=f"{self.source} at {', '.join(f'{n} = {v}' for n, v in sorted(values.items()))}",
            origin=self.origin and self.origin.at({**fixed, **sizes}),
        )

    def steps_at(self, values: Mapping[str, int]) -> IndexMap:
        """Return the same for questions about steps alone: the formula stays as it is."""
        return replace(
            self, recipe=self.recipe.at(values), assumptions=(), size_symbols={}, origin=None
        )

    @cached_property
    def affine_map(self) -> AffineMap:
        """The map of the reference formula alone, without recipe and inverse."""
        shape, size, given = self.recipe.shape, self.recipe.size, (self.reference_form,)
        return AffineMap(shape, given, size, self.size_symbols, self.assumptions, self.names)

    @cached_property
    def expr(self) -> sympy.Expr:
        """The simplified offset as a SymPy expression of the coordinates."""
        return self.exprs[0]

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
        return places.address_of(self, unit, base, bits)

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
        return modes.decompose(form, names, self.size_symbols, self.source, self.assumptions)

    def modes(self, dim: int | str) -> Modes:
        """Return the modes (length and stride) of one dimension, the innermost first.

        Args:
            dim: its number, from the end if it is negative, or its name.

        Raises:
            UnsupportedError: if the strides depend on other coordinates, or are not regular.
        """
        k, names = modes.require_dim(dim, self.coordinate_names), self.coordinate_names
        form = renamed(self.form, self.names)
        return modes.modes_along(form, names[k], self.recipe.shape[k], self.size_symbols)

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
            runs = tuple(map(self.modes, range(len(self.shape))))
        except UnsupportedError:
            return None if self.recipe.names else modes.linear(known(self.recipe.shape), self)
        zeros = {f"d{k}": AffineExpr((), 0) for k in range(len(self.shape))}
        first = canonicalize(substitute(self.form, zeros)).const
        return Strided(self._public((first,))[0], runs, self.shape)

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
        if not isinstance(other, AffineMap | IndexMap):
            raise LayoutError(
                f"compose: expected a map, got {shown(other)}",
                "a map is composed with an index map or an affine map",
                'make one with from_sympy({"shape": (24,)}, ("d0//6", "d0%6"))',
            )
        outer, inner = self.assume(other.assumptions), other.affine_map.assume(self.assumptions)
        require_fit(outer.sizes, inner)
        view = views.gathered(outer.recipe.shape, inner.sizes, inner.given)
        found: IndexMap = views.viewed(outer, view, f"{self.source} at {inner}")
        named = found.named(*without_offset(inner.names)) if inner.names else found
        return replace(named, size_symbols={**self.size_symbols, **other.size_symbols})

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
            if name not in views.OPERATIONS:
                raise views.not_a_view(name)
            source = f"{m.source} {name} {shown(argument)}"
            is_sized = name in ("index", "reshape", "broadcast", "tiles", "gather")
            own = argument if is_sized else views.numbered(argument, m.coordinate_names)
            m = views.viewed(m, views.OPERATIONS[name](m.recipe.shape, own), source)
        return m

    def __getitem__(self, index: Any) -> Any:
        """Return the offset at an index of integers, or the map of the view at one with slices.

        >>> from morello_layouts import index_map
        >>> m = index_map("f32[16,256]{1,0:T(8,128)}")
        >>> m[2, 3], m[2:10, ::2].shape
        (259, (8, 128))
        """
        source = f"{self.source}[{views.as_text(index)}]"
        m = views.viewed(self, views.indexed(self.recipe.shape, index), source)
        return m if m.recipe.shape else m._public((m.form.const,))[0]

    def _largest(self) -> int:
        return known((self.recipe.size,))[0]

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
            zero, recipe = AffineExpr((), 0), self.recipe
            return self._of_symbols(
                coordinate, lambda at: [zero + x for x in physical_coordinates(recipe, at, zero)]
            )
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
        return places.place_of(self.recipe, self._checked(coordinate))

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
        return self.physical_coordinates(*coordinate)[places.number_of_axis(self.recipe, "device")]

    def offset(self, *coordinate: Any) -> Any:
        """Return the offset in the buffer of the device, or in the only buffer, as ``device``."""
        k = places.number_of_axis(self.recipe, places.MEMORY)
        is_plain = not self.recipe.axis_names
        return self(*coordinate) if is_plain else self.physical_coordinates(*coordinate)[k]

    def local(self, device: int) -> Any:
        """Return the part of the array that a device holds, as a ``DevicePart``.

        Raises:
            UnsupportedError: if the layout has no devices, or sizes are symbolic.

        >>> from morello_layouts import index_map
        >>> part = index_map("f32[10,16]{1,0:T(8,128)}, sharding={devices=[4,2]<=[8]}").local(5)
        >>> part.index, part.shape, part.map(1, 2)
        ((slice(6, 9, None), slice(8, 16, None)), (3, 8), 130)
        """
        return from_front("local_part")(self, device)

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
        return self.coordinates(places.slot_of(self.recipe, place))

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
        return places.coordinates_of(self.recipe, offset)

    def __repr__(self) -> str:
        return f"<IndexMap {self.source or self.shape}: {self}>"

    def draw(self, **style: Any) -> Any:
        """Return the ``Picture`` of the layout; arguments as of ``ml.draw``.

        >>> from morello_layouts import index_map
        >>> index_map("[1, 0]", (6, 8)).draw(colour="offset")
        <Picture of [1, 0] at 6x8>
        """
        return from_front("draw")(self, **style)

    def to_jax(self) -> Any:
        """Return the layout as JAX's ``Layout``: the order of dimensions, and the tiles of XLA.

        Raises:
            NoTranslationError: if XLA has no such layout.
            UnsupportedError: if JAX cannot say what XLA can: a memory space, pieces.
        """
        return from_front("to_jax")(self)

    def to_torch(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Return sizes, strides and storage offset, as ``torch.as_strided`` takes them.

        Raises:
            NoTranslationError: if the layout has no strides.

        >>> from morello_layouts import index_map
        >>> index_map("channels_last", (2, 3, 4, 5)).to_torch()
        ((2, 3, 4, 5), (60, 1, 15, 3), 0)
        """
        found: tuple[tuple[int, ...], tuple[int, ...], int] = from_front("to_torch")(self)
        return found

    def sliders(self, **ranges: tuple[int, int]) -> Any:
        """Return a widget for notebooks: formula and picture, and a slider for each symbolic size.

        Args:
            ranges: the smallest and the largest number of each size; by default 1 and 32.

        Raises:
            UnsupportedError: without anywidget: ``pip install "morello_layouts[widget]"``.
            ShapeError: if a range is not that of a symbolic size.

        >>> from morello_layouts import index_map
        >>> m = index_map("f32[M,N]{1,0:T(2,2)}")
        >>> m.sliders(K=(1, 8))
        Traceback (most recent call last):
        morello_layouts.errors.ShapeError: K=(1, 8): expected the smallest and the largest number \
of a size
        the symbolic sizes are M, N
        give for example M=(1, 32)
        """
        return from_front("sliders")(self, ranges)

    def table(self) -> Any:
        """Return the offset of every element, as an integer array of the layout's shape.

        Raises:
            UnsupportedError: if sizes are symbolic.
            ShapeError: if the elements are too many.

        >>> from morello_layouts import index_map
        >>> index_map("f32[3,5]{1,0:T(2,2)}").table()
        array([[ 0,  1,  4,  5,  8],
               [ 2,  3,  6,  7, 10],
               [12, 13, 16, 17, 20]])
        """
        sizes = known(self.recipe.shape)
        if (elements := prod(sizes)) > TABLE_ELEMENTS:
            raise ShapeError(
                f"a table of {elements:,} offsets: expected at most {TABLE_ELEMENTS:,}",
                "it holds the offset of every element",
                "call the map with the coordinates that you need, or take a part: m[:8, :128]",
            )
        return np.broadcast_to(self(*np.indices(sizes, sparse=True)), sizes).copy()

    def _repr_html_(self) -> str:
        shown: str = from_front("html_of")(self)
        return shown
