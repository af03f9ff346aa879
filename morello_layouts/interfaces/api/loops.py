"""Loop nests of layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, get_args

from morello_layouts.core.checks import as_int, require_type, shown
from morello_layouts.core.expr.affine import names_in
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.core.maps.names import as_names
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.api.layouts import MapLike, Shape, sizes_of, subject
from morello_layouts.outputs.codegen.language import IterationSpace
from morello_layouts.outputs.codegen.printer import fresh_names
from morello_layouts.outputs.codegen.programs import FIELD
from morello_layouts.outputs.loop_nests import LoopNest
from morello_layouts.outputs.loop_nests.space import Digits, joined, named
from morello_layouts.outputs.loop_nests.tree import Edges


def loops(
    maps: MapLike | Mapping[str, MapLike],
    shape: Shape | None = None,
    *,
    order: Literal["physical"] | Sequence[str] = "physical",
    of: str | None = None,
    tile: Mapping[str, Int | Sequence[Int]] | None = None,
    edges: Edges = "bounds",
    names: Sequence[str] | None = None,
    over: Mapping[str, Sequence[str]] | None = None,
    body: str = "",
) -> LoopNest:
    """Return a loop nest that visits each element of an array, or of several, once.

    Every coordinate is split into the digits by which the layouts divide it, and each digit is a
    loop: formulas become linear, and divisions disappear. What does not change in a loop is
    computed before it.

    Args:
        maps: a layout, its text, an index map or a map of :func:`from_sympy`, which is called x,
            or a if a coordinate has that name; or several by name, joined by the names of their
            coordinates.
        shape: the array's sizes, if the layout does not carry them.
        order: ``"physical"`` for the order of the first map's buffer: the largest stride is
            outermost, and offsets ascend unless a digit of the buffer mixes coordinates; or the
            names of coordinates or loops, the outermost first.
        of: the name of the map whose buffer gives the physical order: a or b, of two layouts.
        tile: the size of tiles of a coordinate, or several, the outer one first. The loops over
            tiles come before the others.
        edges: how partial tiles are visited: by loops that end early (bounds), under conditions
            (guards), or in loops of their own (peel), so that whole tiles have no checks.
        names: the names of the coordinates, if the maps have none.
        over: for maps without names, the names of the coordinates of each.
        body: what to do at an element: text with the offset of a map, {x} of one layout or {a} and
            {b} of two, or a coordinate, {i}, in braces. By default, two maps with the same
            coordinates make a copy of the first to the second.

    Raises:
        ShapeError: if coordinates of one name have different sizes.
        LayoutError: if a name is unknown.
        UnsupportedError: if the nest has too many loops or copies.

    >>> print(loops("f32[10,256]{1,0:T(8,128)}", names=("i", "j"), body="f({i}, x[{x}]);"))
    // i0: tiles of 8 i
    for (uint32_t i0 = 0; i0 < 2; ++i0) {
        const uint32_t x1 = 2048 * i0;
        // j0: tiles of 128 j
        for (uint32_t j0 = 0; j0 < 2; ++j0) {
            const uint32_t x2 = x1 + 1024 * j0;
            // i1: 8 i in a tile of 8; contiguous in x: 1024 elements
            const uint32_t i1_end = (10 - 8 * i0) < 8 ? (10 - 8 * i0) : 8;
            for (uint32_t i1 = 0; i1 < i1_end; ++i1) {
                const uint32_t x3 = x2 + 128 * i1;
                const uint32_t i = 8 * i0 + i1;
                // j1: 128 j in a tile of 128
                for (uint32_t j1 = 0; j1 < 128; ++j1) {
                    f(i, x[x3 + j1]);
                }
            }
        }
    }
    """
    if edges not in get_args(Edges):
        raise LayoutError(
            f"edges: expected {', '.join(map(repr, get_args(Edges)))}, got {shown(edges)}",
            "partial tiles have loops that end early, conditions, or loops of their own",
            'give for example edges="peel"',
        )
    require_type(body, str, "body", 'give for example "c[{c}] += a[{a}];"')
    require_type(over or {}, Mapping, "over", 'give for example over={"a": ("i", "k")}')
    given = _named(maps)
    found = {name: subject(m, shape).formula() for name, m in given.items()}
    coordinates = _coordinates(found, names, over)
    if not isinstance(maps, Mapping):
        own = _free_name(found["x"], coordinates["x"])
        found, coordinates = {own: found["x"]}, {own: coordinates["x"]}
    tiles = _tiles(tile or {})
    more = frozenset(names_in(n for sizes in tiles.values() for n in sizes))
    space = joined(found, coordinates, more)
    _require_coordinates(tiles, space)
    _require_fields(body, space)
    which = _which(of, space)
    if order == "physical":
        return LoopNest.physical(space, which, tiles, edges, body)
    digits = Digits.of(space).tiled(tiles).refined().named(space.taken)
    return LoopNest(space, digits, named(digits, as_names(order, "order")), edges, body)


def _named(maps: MapLike | Mapping[str, MapLike]) -> dict[str, MapLike]:
    if isinstance(maps, list | tuple):
        raise LayoutError(
            f"maps: expected a layout, or several by name, got {shown(maps)}",
            "a nest names its arrays",
            'give for example {"a": maps[0], "b": maps[1]}',
        )
    given = dict(maps) if isinstance(maps, Mapping) else {"x": maps}
    for name in given or [""]:
        if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
            raise LayoutError(
                f"maps: expected arrays by name, got {shown(name)}",
                "a name has letters, digits and underscores",
                'give for example {"a": "f32[6,8]{1,0}"}',
            )
    return given


def _free_name(m: AffineMap | IndexMap, coordinates: Sequence[str]) -> str:
    """Return the name of a map that has none: x, if a coordinate or a size has not that name."""
    taken = {*names_in(m.sizes), *coordinates, *m.form.sizes()}
    names = chain(("x", "a"), fresh_names((), "a"))
    return next(name for name in names if name not in taken)


def _coordinates(
    maps: Mapping[str, AffineMap | IndexMap],
    names: Sequence[str] | None,
    over: Mapping[str, Sequence[str]] | None,
) -> dict[str, tuple[str, ...]]:
    """Return the names of the coordinates of each map."""
    found = {}
    for name, m in maps.items():
        given = (over or {}).get(name, names)
        known = m if given is None else m.named(*as_names(given))
        found[name] = known.coordinate_names
    return found


def _require_fields(body: str, space: IterationSpace) -> None:
    known = [*(access.name for access in space.accesses), *space.sizes]
    for name in FIELD.findall(body):
        if name not in known and name.split("_")[0] != "mask":
            raise LayoutError(
                f"body: expected {', '.join(f'{{{one}}}' for one in known)}, got {{{name}}}",
                "braces enclose the name of a map, for its offset, or of a coordinate",
                "name one of them; loops and sizes have no braces",
            )


def _which(of: str | None, space: IterationSpace) -> int:
    names = [access.name for access in space.accesses]
    if of is not None and of not in names:
        raise LayoutError(
            f"of: expected one of {', '.join(names)}, got {of!r}",
            "the physical order is that of one map's buffer",
            "name one of the maps",
        )
    return 0 if of is None else names.index(of)


def _require_coordinates(names: Iterable[str], space: IterationSpace) -> None:
    for name in names:
        if name not in space.sizes:
            raise LayoutError(
                f"tile: expected {' or '.join(space.sizes)}, got {shown(name)}",
                "tiles are of coordinates",
                f"give for example tile={{{next(iter(space.sizes), 'i')!r}: 64}}",
            )


def _tiles(tile: Mapping[str, Any]) -> dict[str, tuple[Int, ...]]:
    require_type(tile, Mapping, "tile", 'give for example tile={"i": 64}')
    found = {}
    for name, given in tile.items():
        sizes = given if isinstance(given, tuple | list) else (given,)
        found[name] = tuple(_size(n, f"tile of {name}") for n in sizes)
    return found


def _size(given: Any, what: str) -> Int:
    """Return the size of a tile: a number from 1, or a name."""
    if isinstance(given, str):
        (found,) = sizes_of((given,)).sizes
        return found
    return as_int(given, what, 1)
