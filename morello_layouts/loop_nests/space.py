"""The iteration space of a nest: named coordinates, and the maps that take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from morello_layouts.errors import ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.assumptions import Assumption, meet_all
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.layout import ElementType
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.maps.names import renamed


@dataclass(frozen=True, slots=True)
class Access:
    """A map in a nest: the offset of an array's element at a point of the iteration space.

    Attributes:
        name: the name of the array.
        over: the coordinates that the map takes, in its order.
        form: the offset over these names, simplified.
        source: the map as text.
        element: the type of the array's elements, if the map tells.
    """

    name: str
    over: tuple[str, ...]
    form: AffineExpr
    source: str = ""
    element: ElementType | None = None


@dataclass(frozen=True)
class Space:
    """All points of a box of named coordinates, and the arrays that are visited there.

    Attributes:
        sizes: the number of values of each coordinate, by name.
        accesses: the arrays.
        assumptions: the assumptions about symbolic sizes.
        more_sizes: names of sizes that only tiles have.
    """

    sizes: Mapping[str, Int]
    accesses: tuple[Access, ...]
    assumptions: tuple[Assumption, ...] = ()
    more_sizes: frozenset[str] = frozenset()

    @staticmethod
    def of(
        maps: Mapping[str, AffineMap | IndexMap],
        over: Mapping[str, Sequence[str]],
        more_sizes: frozenset[str] = frozenset(),
    ) -> Space:
        """Join maps by the names of their coordinates.

        Raises:
            ShapeError: if a name has two sizes or two meanings, or a map has no coordinate names
                of its own and another rank than the others.

        >>> from morello_layouts import from_sympy
        >>> a = from_sympy({"shape": (6, 8)}, "8*d0 + d1")
        >>> b = from_sympy({"shape": (8, 4)}, "d0 + 8*d1")
        >>> found = Space.of({"a": a, "b": b}, {"a": ("i", "k"), "b": ("k", "j")})
        >>> dict(found.sizes), str(found.accesses[1].form)
        ({'i': 6, 'k': 8, 'j': 4}, '8*j + k')
        """
        sizes: dict[str, Int] = {}
        accesses = []
        known = meet_all(one for m in maps.values() for one in m.assumptions)
        for name, given in maps.items():
            m, source, element = (
                (given, str(given), None)
                if isinstance(given, AffineMap)
                else (given.affine_map, given.source, given.element_type)
            )
            m, names = m.assume(known), tuple(over[name])
            for at, n in zip(names, m.sizes, strict=True):
                if sizes.setdefault(at, n) != n:
                    raise ShapeError(
                        f"{at} of {name}: expected {sizes[at]} values, got {n}",
                        "maps are joined by the names of their coordinates",
                        "rename the coordinate, or take a part of the larger array, such as m[:4]",
                    )
            accesses.append(Access(name, names, renamed(m.form, names), source, element))
        found = Space(sizes, tuple(accesses), known, more_sizes)
        _require_different([*found.sizes, *found.size_names, *maps])
        return found

    @cached_property
    def size_names(self) -> tuple[str, ...]:
        """The names of the symbolic sizes."""
        found = set(self.more_sizes)
        for n in self.sizes.values():
            found |= n.names() if isinstance(n, SizeExpr) else frozenset()
        for access in self.accesses:
            found |= access.form.sizes()
        return tuple(sorted(found))


def _require_different(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ShapeError(
                f"{name!r} names two things",
                "coordinates, symbolic sizes and arrays have names of their own",
                "rename one: names of coordinates are names=, those of arrays the keys of maps",
            )
