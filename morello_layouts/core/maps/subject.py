"""What an index map is made from: a layout, its sizes and facts about them; or another map."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.affine import names_in
from morello_layouts.core.expr.assumptions import (
    Assumption,
    apply_assumptions,
    apply_divisibility,
    meet_all,
)
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout, Provenance, checked_recipe
from morello_layouts.core.maps.index_map import IndexMap
from morello_layouts.core.maps.map import AffineMap
from morello_layouts.core.maps.names import own_names, without_offset
from morello_layouts.core.maps.view import seen_through
from morello_layouts.core.recipe import Pad, linear_index, recipe_of_coordinates, recipe_of_formula
from morello_layouts.core.recipe.views import reshape_recipe, with_inner_axis
from morello_layouts.errors import ShapeError, UnsupportedError

if TYPE_CHECKING:
    import sympy

M = TypeVar("M")


@frozen(slots=False)
class Subject:
    """A layout or an index map that is asked about, read once; its map is made when it is needed.

    >>> from morello_layouts import parse
    >>> from morello_layouts.core.expr.sizes import SizeExpr
    >>> one = Subject(parse("[1, 0, 1 p(4)]"), (6, SizeExpr.named("N")))
    >>> print(*one.assumptions, one.map())
    4 divides N (d0, d1) -> 24*(d1//4) + 4*d0 + d1%4
    """

    value: Layout | IndexMap | AffineMap  #: the layout; or a map, which counts as it is.
    shape: tuple[Int, ...] | None = None  #: the sizes that were given, or lent by another subject.
    known: tuple[Assumption, ...] = ()  #: the facts about sizes that were given.
    #: the same as the user stated them, None for nothing; ``known`` if they are another map's.
    stated: Any = None
    symbols: Mapping[str, sympy.Symbol] = field(default_factory=dict)  #: of names in the shape.

    @property
    def layout(self) -> Layout | None:
        """The layout; None if a map was given."""
        return self.value if isinstance(self.value, Layout) else None

    @cached_property
    def _own_map(self) -> IndexMap:
        """The map that was given, with its recipe."""
        m: Any = self.value
        return map_of_formula(m) if m.recipe is None else m

    @cached_property
    def sizes(self) -> tuple[Int, ...]:
        """The sizes of the array, before any assumption is applied.

        Raises:
            ShapeError: if neither the layout nor the caller says them.
            UnsupportedError: if one is unbounded.
        """
        own = self.value.sizes
        if own is None:
            if self.shape is None:
                raise ShapeError(
                    f"no shape given for {self.value}",
                    "the layout's text does not carry the sizes of the array",
                    "give the sizes, such as shape=(6, 8)",
                )
            return self.shape
        found = tuple([n for n in own if n is not None])
        if len(found) < len(own):
            raise UnsupportedError(
                f"{self.value} has an unbounded size: ?",
                "offsets are computed for sizes that are numbers or names",
                "write a number or a name instead of each ?",
            )
        require_size_names(names_in(found))
        return found

    @cached_property
    def _own(self) -> tuple[Assumption, ...]:
        value = self.value
        return value.assumptions(self.sizes) if isinstance(value, Layout) else value.assumptions

    @cached_property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What is assumed of symbolic sizes, by the caller and by the layout; no map is made."""
        own = self._own
        return meet_all((*self.known, *own)) if self.known or own else ()

    def changed(self, sizes: Iterable[Int]) -> tuple[Int, ...]:
        """Return sizes under the assumptions, as the map has them."""
        known = self.assumptions
        return tuple(apply_assumptions(known, apply_divisibility(known, n)) for n in sizes)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that a fact may be about: those of sizes, and of pitches and tiles."""
        value = self.value
        m = self._built(value, (), ()) if isinstance(value, Layout) else value
        return frozenset({*names_in(self.sizes), *m.size_names})

    def map(
        self, also: tuple[Assumption, ...] | None = None, beside: Subject | None = None
    ) -> IndexMap:
        """Return the index map.

        Args:
            also: assumptions that hold instead of those given, such as those met with a second
                subject's.
            beside: the second subject; facts may be about its names.

        Raises:
            ShapeError: if the shape does not fit the layout, or a fact is about a name that no
                size has.
        """
        known, stated = (self.known, self.stated) if also is None else (also, also)
        value = self.value
        if isinstance(value, Layout):
            m = self._built(value, known, () if stated is None else (stated,))
        else:
            m = self._own_map.assume(known)
        stated = self.stated
        is_passed_on = type(stated) is tuple and all(isinstance(x, Assumption) for x in stated)
        if self.known and not is_passed_on:  # another map's facts may have other names
            require_names_of(self.known, self, *([] if beside is None else [beside]))
        if self.shape is not None and self.value.sizes is not None:
            self._require_shape(m)
        return m

    def formula(
        self, also: tuple[Assumption, ...] | None = None, beside: Subject | None = None
    ) -> IndexMap | AffineMap:
        """Return the map of a formula as it is, and of a layout the index map; as :meth:`map`."""
        if isinstance(self.value, AffineMap):
            return self.value.assume(self.known if also is None else also)
        return self.map(also, beside)

    def _built(
        self, layout: Layout, known: tuple[Assumption, ...], stated: tuple[Any, ...]
    ) -> IndexMap:
        given, own = self.sizes, self._own
        known = meet_all((*known, *own)) if known or own else ()
        sizes = tuple([apply_divisibility(known, n) for n in given]) if known else given
        at = "" if layout.sizes is not None else f" at {'x'.join(map(str, sizes)) or '()'}"
        m = IndexMap.of(
            checked_recipe(layout, sizes),
            layout.reference,
            f"{layout}{at}",
            layout.notes(sizes),
            assumptions=known,
            size_symbols=self.symbols,
            element_type=layout.element,
            origin=Provenance(layout, given, (*own, *stated)),
        )
        require_size_names(m.recipe.names)
        names = layout.names(len(sizes))
        own_name = own_names(names, m.recipe.shape) if names else ()
        return replace(m, names=own_name) if own_name else m

    def _require_shape(self, m: IndexMap) -> None:
        own, given = m.recipe.shape, self.shape or ()
        if tuple(apply_divisibility(m.assumptions, n) for n in given) != own:
            raise ShapeError(
                f"two shapes: the layout carries {shape_text(own)}, and {shape_text(given)} "
                "was given",
                "an array has one shape",
                "leave out the argument shape, or give the same sizes",
            )


def met(one: Subject, other: Subject) -> tuple[IndexMap, IndexMap]:
    """Return the maps of two subjects, each under the assumptions of both."""
    return _met(Subject.map, one, other)


def met_formulas(one: Subject, other: Subject) -> tuple[IndexMap | AffineMap, IndexMap | AffineMap]:
    """Return the same, and maps of formulas as they are."""
    return _met(Subject.formula, one, other)


def _met(read: Callable[..., M], one: Subject, other: Subject) -> tuple[M, M]:
    if one.assumptions == other.assumptions:
        first = read(one, None, other)
        return first, first if other is one else read(other, None, one)
    both = meet_all((*one.assumptions, *other.assumptions))
    return read(one, both, other), read(other, both, one)


def shape_text(sizes: Sequence[object]) -> str:
    """Return sizes, or other things, as Python writes a tuple."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def require_size_names(names: Iterable[str]) -> None:
    """Refuse names of sizes that mean coordinates or offsets."""
    for name in names:
        if re.fullmatch(r"d[0-9]+|p", name):
            raise ShapeError(
                f"a size has the name {name}",
                "in formulas d0, d1, … are coordinates and p is an offset",
                "choose another name, such as N",
            )


def require_names_of(assumptions: Iterable[Assumption], *subjects: Subject) -> None:
    """Refuse assumptions about names that no size, pitch or tile has."""
    names: Collection[str] = names_in(n for each in subjects for n in each.sizes)
    if not {one.name for one in assumptions} <= {*names}:
        names = {name for each in subjects for name in each.names}
    for one in assumptions:
        if one.name not in names:
            raise ShapeError(
                f"an assumption is about {one.name}, which is not a size here",
                f"the symbolic sizes are {', '.join(sorted(names)) or 'none'}",
                "assume something about these, or leave the assumption out",
            )


def reshape_view(m: IndexMap, shape: Sequence[Int], order: Sequence[int] | None = None) -> IndexMap:
    """Return the index map of an array that becomes m's array by reshape and transpose.

    Args:
        m: the index map of the reshaped and transposed array.
        shape: the sizes of the array before both.
        order: the transpose after the reshape, as NumPy's: dimension k of m's array is dimension
            ``order[k]`` before it. None means no transpose.

    >>> from morello_layouts import index_map
    >>> print(reshape_view(index_map("f32[6,4]{1,0}"), (24,), (1, 0)))
    (d0) -> 4*(d0%6) + d0//6
    """
    recipe = reshape_recipe(tuple(shape), m.recipe, order)
    steps = recipe.steps[: len(recipe.steps) - len(m.recipe.steps)]
    how = f" transposed by {list(order)}" if order is not None else ""
    source = f"[{','.join(map(str, shape))}]{how} as {m.source}"
    found: IndexMap = seen_through(m, recipe, steps, source)
    return found


def cropped(m: IndexMap, shape: tuple[Int, ...]) -> IndexMap:
    """Return the index map on the first elements along each dimension."""
    if m.recipe.shape == shape:
        return m
    recipe = replace(m.recipe, shape=shape, steps=(Pad(m.recipe.shape), *m.recipe.steps))
    return replace(m, recipe=recipe, origin=None)


def shifted(m: IndexMap, slots: Int) -> IndexMap:
    """Return the index map with a number of slots before the first one.

    >>> from morello_layouts import index_map
    >>> print(shifted(index_map("f32[4,6]{1,0}"), 3))
    (d0, d1) -> 6*d0 + d1 + 3
    """
    recipe = replace(m.recipe, offset=m.recipe.offset + slots)
    return replace(m, recipe=recipe, reference_form=m.reference_form + slots, origin=None)


def split_elements(m: IndexMap, parts: int) -> IndexMap:
    """Split every element into ``parts`` smaller ones along a new innermost dimension."""
    recipe = with_inner_axis(m.recipe, parts)
    part = coordinate_variables(recipe.shape)[-1]
    return replace(
        m,
        recipe=recipe,
        reference_form=m.reference_form * parts + part,
        source=f"{m.source} in {parts} parts",
        element_type=None,
        names=(*m.names, f"d{len(m.names)}") if m.names else (),
        origin=None,
    )


def map_of_formula(f: AffineMap) -> IndexMap:
    """Return the index map whose offset a formula gives, or whose place several give.

    >>> from morello_layouts import from_sympy
    >>> m = map_of_formula(from_sympy({"shape": (6, 8)}, "24*(d1//4) + 4*d0 + d1%4"))
    >>> print(m.recipe)
    [6,8] → split [6,2,4] → transpose [2,6,4]
    """
    size, names = f.buffer_size, without_offset(f.names)
    if len(f.given) == 1:
        recipe, form = recipe_of_formula(f.sizes, f.given[0], size), f.given[0]
    else:
        ends = tuple(form.interval.hi for form in f.forms)
        sizes = tuple(0 if end is None else end + 1 for end in ends)
        recipe = recipe_of_coordinates(f.sizes, f.given, sizes)
        form = linear_index(f.given, sizes, AffineExpr((), 0))
    return IndexMap(recipe, form, "a formula", (), f.assumptions, f.size_symbols, names=names)
