"""Layouts that dialects of MLIR attach to types: Mosaic's ``#tpu.tiled``, IREE's encodings.

The text of those of registers is read here, too.

Sources: ``TiledLayoutAttr`` of JAX's Mosaic dialect (its affine map), and IREE's
``MaterializeEncodingInfo`` and ``TileSwizzle``: a pack, then each tile reshaped and transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from morello_layouts.core.checks import as_int, as_permutation, require_rank
from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.sizes import Int, ceil_quotient
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import NESTED_TUPLES
from morello_layouts.core.recipe import Recipe, linear_index, recipe_of_formula
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.coordinates import CoordinateLayout
from morello_layouts.notations.documents import row_major
from morello_layouts.notations.grammar import INT, Defining, Terminal, integer
from morello_layouts.notations.mlir.layout import MlirPack
from morello_layouts.notations.mlir.registers import FIELDS, TpuVectorLayout, XegpuLayout

NAME: Final = Terminal("an attribute of a dialect", r"#[A-Za-z_][\w$]*\.[\w$.]+")
_KEY: Final = Terminal("a name", r"[A-Za-z_][\w$.]*")
_STRING: Final = Terminal("a text in quotes", r'"[^"\n]*"')
_NEGATIVE: Final = Terminal("a negative number", r"-[0-9]+")
_ALIAS: Final = Terminal("an alias", r"#[A-Za-z_][\w$]*(?![\w$.<])")
_VPAD: Final = regex(
    r"([0-9]{1,3}),\{(\*|[0-9]{1,6}),(\*|[0-9]{1,6})\},\(([0-9]{1,6}),([0-9]{1,6})\)(?:,(-2,-1|-1|-2))?"
)


@frozen
class TpuTiled(Layout):
    """Mosaic's tiles of a memref: ``#tpu.tiled<(8,128)(2,1),[16,1]>``.

    >>> print(TpuTiled(((8, 128),), (2, 1)).recipe((16, 256)))
    [16,256] → split [2,8,2,128] → transpose [2,2,8,128]
    """

    tiles: tuple[tuple[int, ...], ...]  #: sizes; the first tile cuts the array, others cut it.
    strides: tuple[int, ...]  #: for each dimension the tiles (without any, elements) to the next.

    def __post_init__(self) -> None:
        as_int(min((n for tile in self.tiles for n in tile), default=1), "a tile size", 1)
        _ = self._inside
        if not self.strides or len(self.strides) < len(self.tiles[0] if self.tiles else ()):
            raise LayoutError(
                f"{self}: expected a stride for each dimension, got {len(self.strides)}",
                "a tile acts on the last dimensions",
                "write for example #tpu.tiled<(8,128),[16,1]>",
            )

    @property
    def _tile_size(self) -> int:
        return prod(self.tiles[0]) if self.tiles else 1

    @property
    def _inside(self) -> list[int]:
        """The sizes of the first tile as the others cut it."""
        sizes = list(self.tiles[0]) if self.tiles else []
        for tile in self.tiles[1:]:
            own = [*zip(sizes[len(sizes) - len(tile) :], tile, strict=False)]
            if len(tile) > len(sizes) or any(n % t for n, t in own):
                raise LayoutError(
                    f"{self}: tile {tile} does not divide the one before it",
                    "tiles inside of a tile add no padding",
                    "write the attribute as Mosaic prints it",
                )
            sizes = [*sizes[: len(sizes) - len(tile)], *(n // t for n, t in own), *tile]
        return sizes

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        form = self.reference(coordinate_variables(shape), shape)
        first = self.tiles[0] if self.tiles else ()
        sizes = (*(1,) * (len(shape) - len(first)), *first)
        steps = zip(shape, sizes, self.strides, strict=True)
        last = sum(((ceil_quotient(n, t) - 1) * s for n, t, s in steps), start=0)
        return recipe_of_formula(tuple(shape), form, (last + 1) * self._tile_size)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset: digits of the coordinates by each tile, times strides."""
        require_rank(shape, len(self.strides), str(self))
        parts, zero = list(coordinates), AffineExpr((), 0)
        for tile in self.tiles:
            cut = len(parts) - len(tile)
            own = [*zip(parts[cut:], tile, strict=True)]
            parts = [*parts[:cut], *(x // n for x, n in own), *(x % n for x, n in own)]
        rank = len(self.strides)
        first = sum((x * s for x, s in zip(parts, self.strides, strict=False)), zero)
        return first * self._tile_size + linear_index(parts[rank:], self._inside, zero)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        if not self.tiles:
            return None
        first, rank = self.tiles[0], len(shape)
        at, sizes, offset, end = list(coordinate), list(first), 0, 0
        for k, (x, n, stride) in enumerate(zip(coordinate, shape, self.strides, strict=True)):
            unit = first[k - rank + len(first)] if k >= rank - len(first) else 1
            offset += x // unit * stride
            end += ((n + unit - 1) // unit - 1) * stride
            at[k] = x % unit
        inner = at[rank - len(first) :]
        for tile in self.tiles[1:]:
            cut = len(inner) - len(tile)
            inner = [*inner[:cut], *(x // t for x, t in zip(inner[cut:], tile, strict=True)),
                     *(x % t for x, t in zip(inner[cut:], tile, strict=True))]  # fmt: skip
            sizes = [*sizes[:cut], *(n // t for n, t in zip(sizes[cut:], tile, strict=True)), *tile]
        place, size = row_major(zip(inner, sizes, strict=True))
        return offset * size + place, (end + 1) * size if 0 not in shape else 0

    def __str__(self) -> str:
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiles)
        return f"#tpu.tiled<{tiles},[{','.join(map(str, self.strides))}]>"


@frozen
class IreeEncoding(CoordinateLayout):
    """IREE's layout of a tensor in memory: a pack, and the order inside of each tile.

    >>> pack = MlirPack((0, 1), (4, 8), (0, 1))
    >>> IreeEncoding(pack, ((2, 2), (8,)), (0, 2, 1)).box((8, 16))
    (2, 2, 2, 8, 2)
    """

    pack: MlirPack  #: the tiles.
    #: the sizes that each tile dimension is reshaped to; empty if the tiles are row-major.
    expand_shape: tuple[tuple[int, ...], ...] = ()
    permutation: tuple[int, ...] = ()  #: the order of all these sizes, the slowest varying first.
    text: str = ""  #: the attribute as it was written.

    kind = "IREE encoding"

    def __post_init__(self) -> None:
        tiles = self.pack.inner_tiles
        if self.expand_shape and tuple(map(prod, self.expand_shape)) != tiles:
            raise LayoutError(
                f"expandShape: expected sizes of {tiles}, got {self.expand_shape}",
                "each size of a tile is reshaped",
                "write the encoding as IREE prints it",
            )
        as_permutation(self.permutation, "permutation", sum(map(len, self.expand_shape)))

    def _ordered(self, tile: list[Any]) -> list[Any]:
        return [tile[k] for k in self.permutation] if self.permutation else tile

    def box(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        packed, inner = self.pack.packed_shape(shape), len(self.pack.inner_tiles)
        sizes: list[Any] = [n for each in self.expand_shape for n in each]
        tile = self._ordered(sizes or [*self.pack.inner_tiles])
        return (*packed[: len(packed) - inner], *tile)

    def results(
        self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /
    ) -> tuple[AffineExpr, ...]:
        found, inner = self.pack.results(coordinates, shape), len(self.pack.inner_tiles)
        cut, tile = len(found) - inner, list[AffineExpr]()
        sizes: Any = self.expand_shape or tuple((n,) for n in self.pack.inner_tiles)
        for x, own in zip(found[cut:], sizes, strict=True):
            for k in range(len(own)):
                part = x // prod(own[k + 1 :])
                tile.append(part % own[k] if k else part)
        return (*found[:cut], *self._ordered(tile))

    def __str__(self) -> str:
        return self.text or str(self.pack)


# ---- the text


def attribute(source: Defining, depth: int = 0) -> Any:
    """Read the value of an attribute: a number, a text, a list, a dictionary, or ``#name<…>``."""
    if depth > NESTED_TUPLES:
        what = f"attributes nest deeper than {NESTED_TUPLES}"
        raise source.error(what, "write the layout as its dialect prints it", source.at)
    token = source.need(INT, _NEGATIVE, _STRING, NAME, _KEY, _ALIAS, "[", "{")
    if token.kind in (INT, _NEGATIVE):
        value: Any = integer(token, source.text)
        if source.take(":"):
            source.need(_KEY)
        return value
    if token == "[":
        return source.series(lambda: attribute(source, depth + 1), "]")
    if token == "{":
        return fields(source, "}", depth + 1)
    if token.kind is NAME:
        return dialect_attribute(source, str(token), depth + 1)
    if token.kind is _ALIAS:
        return source.defined(token, "the attribute", "#xegpu.layout<…>")
    return str(token).strip('"')


def fields(source: Defining, close: str, depth: int = 0) -> dict[str, Any]:
    """Read ``name = value`` up to a bracket that closes them."""
    found: dict[str, Any] = {}

    def item() -> None:
        name = source.need(_KEY)
        if name in found:
            raise source.error(f"{name} is given twice", "leave one out", name.start)
        source.need("=")
        found[str(name)] = attribute(source, depth)

    source.series(item, close)
    return found


def dialect_attribute(source: Defining, name: str, depth: int = 0) -> Any:
    """Read what follows the name of an attribute that is a layout; None for other attributes."""
    start = source.at - len(name)
    is_iree = name.startswith("#iree_") and name.endswith(_IREE)
    if name not in _READ and not is_iree:
        return None
    source.need("<")
    if name == "#tpu.tiled":
        tiles = list[tuple[int, ...]]()
        while source.take("("):
            tiles.append(tuple(_integers(source, ")")))
        if tiles or source.text.startswith(",", source.at):
            source.need(",")
        source.need("[")
        strides = tuple(_integers(source, "]"))
        source.need(">")
        return _made(source, start, lambda: TpuTiled(tuple(tiles), strides))
    if name == "#iree_encoding.layout":
        source.need("[")
        found = source.series(lambda: attribute(source, depth), "]", least=1)
        source.need(">")
        if len(found) > 1 or not isinstance(found[0], IreeEncoding):
            what = "#iree_encoding.layout: expected one resolver with an encoding_info"
            raise source.error(what, "write one with configuration = {encoding_info = …}", start)
        return found[0]
    if name == "#tpu.vpad":
        token = source.need(_STRING)
        source.need(">")
        return _made(source, token.start + 1, lambda: _vpad(token[1:-1]))
    parent: Any = None
    if name == "#xegpu.slice":
        parent = attribute(source, depth)
        source.need(",")
    given = fields(source, ">", depth)
    if is_iree:
        return _made(source, start, lambda: _iree(given, source.text[start : source.at]))
    is_slice = name == "#xegpu.slice"
    return _made(source, start, lambda: _sliced(parent, given) if is_slice else _xegpu(given))


_READ: Final = ("#tpu.tiled", "#tpu.vpad", "#iree_encoding.layout", "#xegpu.layout", "#xegpu.slice")
_IREE: Final = ("_encoding_resolver", "_encoding_layout")


def _integers(source: Defining, close: str) -> list[int]:
    return source.series(lambda: integer(source.need(INT), source.text), close, least=1)


def _made(source: Defining, start: int, make: Any) -> Any:
    try:
        return make()
    except ParseError:
        raise
    except LayoutError as error:
        raise source.error(error.what, error.fix, start, error.why) from None
    except (AttributeError, LookupError, TypeError):
        what, why = (
            "a field has another kind of value",
            "fields are numbers, lists and dictionaries",
        )
        raise source.error(what, "write it as its dialect prints it", start, why) from None


def _vpad(text: str) -> TpuVectorLayout:
    found = _VPAD.fullmatch(text)
    if found is None:
        none = "none: the value has no layout" if text == "none" else text
        raise LayoutError(
            f"expected bits, offsets and a tile, got {none}",
            "a layout of Mosaic is bits,{row,column},(rows,columns), then implicit dimensions",
            'write for example #tpu.vpad<"32,{0,0},(8,128)">',
        )
    bits, row, column, rows, columns = (None if n == "*" else int(n) for n in found.groups()[:5])
    return TpuVectorLayout(bits or 0, (row, column), (rows or 0, columns or 0), found[6] or "")


def _xegpu(given: dict[str, Any]) -> XegpuLayout:
    if unknown := [name for name in given if name not in FIELDS]:
        raise LayoutError(
            f"#xegpu.layout has no field {unknown[0]}",
            f"its fields are {', '.join(FIELDS)}, each a list of numbers",
            "write for example #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>",
        )
    return XegpuLayout(**{name: tuple(value) for name, value in given.items()})


def _sliced(parent: Any, given: dict[str, Any]) -> XegpuLayout:
    if not isinstance(parent, XegpuLayout) or [*given] != ["dims"]:
        raise LayoutError(
            "#xegpu.slice: expected a layout, and dims that it lacks",
            "a slice is of a layout",
            "write for example #xegpu.slice<#xegpu.layout<lane_layout = [1, 16]>, dims = [0]>",
        )
    return parent.without(given["dims"])


def _iree(given: dict[str, Any], text: str) -> IreeEncoding:
    info = given.get("configuration", {})
    info = info.get("encoding_info") if isinstance(info, dict) else None
    names = {"innerDimsPos", "innerTileSizes", "outerDimsPerm", "swizzle"}
    if not isinstance(info, dict) or not {*info} <= names or len(info) < 3:
        unknown = {*info} - names if isinstance(info, dict) else ()
        raise LayoutError(
            f"encoding_info: unknown {', '.join(unknown)}" if unknown else "no encoding_info",
            "it has innerDimsPos, innerTileSizes, outerDimsPerm and swizzle",
            "give the layout that IREE resolved, as it prints it",
        )
    dims, tiles, order = (tuple(info.get(n, ())) for n in sorted(names - {"swizzle"}))
    pack = MlirPack(dims, tiles, order)
    swizzle = info.get("swizzle", {})
    sizes = tuple(
        tuple(n[1] if isinstance(n, list) else n for n in each)
        for each in swizzle.get("expandShape", ())
    )
    return IreeEncoding(pack, sizes, tuple(swizzle.get("permutation", ())), text)
