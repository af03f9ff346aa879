"""Layouts of values in registers that dialects of MLIR name: Mosaic's ``vpad``, XeGPU's ``layout``.

Sources: ``VectorLayout`` of Mosaic's dialect (``layout.h``), for registers of 8 sublanes and 128
lanes of 32 bits; ``LayoutAttr`` and ``SliceAttr`` of XeGPU's, and its ``genCoordinates``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from morello_layouts.core.checks import as_int, as_permutation, require_rank
from morello_layouts.core.description import Part, listed
from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.sizes import Int, ceil_quotient
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType, Layout
from morello_layouts.core.recipe import DimDigit, Recipe, known, recipe_of_axes
from morello_layouts.core.recipe.readings import linear_index
from morello_layouts.core.recipe.steps import Scatter, Step, Window
from morello_layouts.core.recipe.views import reshape_steps
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations.documents import row_major
from morello_layouts.notations.fragments.layout import Axis, FragmentLayout

_SUBLANES: Final = 8
_LANES: Final = 128
_WORD: Final = 32  # bits of a lane of a sublane
IMPLICIT: Final = ("", "-1", "-2", "-2,-1")
"""The dimensions that Mosaic may add: none, the last one, the one before it, or both."""


@frozen
class TpuVectorLayout(Layout):
    """A value in the vector registers of a TPU: ``#tpu.vpad<"16,{0,0},(16,128)">``.

    A register has 8 sublanes of 128 lanes, and a lane holds the elements of 32 bits. The axes are
    ``vreg``, ``sublane``, ``lane`` and, if elements are narrower, ``subelement``.

    >>> print(TpuVectorLayout(32, (0, 0), (8, 128)).recipe((16, 256)))
    [16,256] → split [2,8,2,128] → transpose [2,2,8,128] → merge [4,8,128] (vreg, sublane, lane)
    """

    bits: int  #: of an element, a power of two up to 32.
    #: the place of the first element in rows and columns of its tiles; None along rows or columns
    #: if all of them hold the same, so that one register has copies of it.
    offsets: tuple[int | None, int | None]
    tile: tuple[int, int]  #: rows and columns. Tiles follow each other along a row in a register.
    implicit: str = ""  #: the dimensions of size 1 that are added, counted from the last: ``-2``.

    def __post_init__(self) -> None:
        if self.bits not in (1, 2, 4, 8, 16, 32):
            why = "a lane of a sublane has 32 bits"
            raise self._wrong(f"elements of 1, 2, 4, 8, 16 or 32 bits, got {self.bits}", why)
        rows, columns = (as_int(n, "a tile size", 1) for n in self.tile)
        whole = columns == _LANES or (rows == 1 and columns % _LANES == 0)
        words, rest = divmod(rows * columns, _LANES * self.packing)
        if not whole or rest or _SUBLANES % words:
            raise self._wrong(
                f"a tile of whole rows of registers, got {rows} by {columns}",
                "a tile has rows of 128 lanes, or one row of several times 128, and fills 1, 2, 4 "
                "or 8 sublanes",
            )
        for offset, most in zip(self.offsets, (rows, self._columns), strict=True):
            if offset is not None and not 0 <= offset < most:
                why = f"the first element lies in the first register, in {most} rows or columns"
                raise self._wrong(f"an offset below {most}, got {offset}", why)
        if self.implicit not in IMPLICIT:
            why = "dimensions of size 1 are added at the end, or before the last one"
            raise self._wrong(f"-1, -2, or -2,-1, got {self.implicit}", why)

    def _wrong(self, what: str, why: str) -> LayoutError:
        fix = "write the layout as Mosaic prints it"
        return LayoutError(f"#tpu.vpad: expected {what}", why, fix)

    @property
    def packing(self) -> int:
        """The elements that a lane of a sublane holds."""
        return _WORD // self.bits

    @property
    def _columns(self) -> int:
        """The columns of a register, whose tiles lie side by side."""
        return _SUBLANES * _LANES * self.packing // self.tile[0]

    @property
    def element(self) -> ElementType:
        return ElementType(None, self.bits)

    def _with_implicit(self, values: Sequence[Any], one: Any) -> list[Any]:
        """Return sizes or coordinates with those of implicit dimensions."""
        found = list(values)
        if len(found) < (least := 2 - len(self.implicit.split(",")) * bool(self.implicit)):
            raise ShapeError(
                f"{self}: expected at least {least} sizes, got {len(found)}",
                "rows and columns are the last two dimensions, unless one is implicit",
                "give a size for each dimension of the vector",
            )
        if "-2" in self.implicit:
            found.insert(len(found) - (self.implicit == "-2"), one)
        return [*found, one] if "-1" in self.implicit else found

    def _counts(self, sizes: Sequence[Int]) -> tuple[Int, Int]:
        """Return the registers along rows and along columns."""
        pairs = zip(self.offsets, sizes[-2:], (self.tile[0], self._columns), strict=True)
        found = [1 if o is None else ceil_quotient(o + n, unit) for o, n, unit in pairs]
        return found[0], found[1]

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        sizes = self._with_implicit(shape, 1)
        down, along = self._counts(sizes)
        if 0 in shape:
            return Recipe(tuple(shape), (), 0)
        zero, units = AffineExpr((), 0), (self.tile[0], self._columns)
        held = [*(True for _ in sizes[2:]), *(o is not None for o in self.offsets)]
        fixed = [n if own else 1 for n, own in zip(sizes, held, strict=True)]
        steps: list[Step] = [*reshape_steps(tuple(shape), tuple(sizes), symbolic=True)]
        if fixed != sizes:  # what is the same along a dimension has one place
            at = self._with_implicit(coordinate_variables(shape), zero)
            forms = tuple(x if own else zero for x, own in zip(at, held, strict=True))
            steps = [Scatter(forms, tuple(fixed))]
        whole = zip(held[-2:], (down, along), units, strict=True)
        padded = (*fixed[:-2], *(count * n if own else 1 for own, count, n in whole))
        starts = (*(0 for _ in sizes[2:]), *(o or 0 for o in self.offsets))
        if any(starts):
            steps.append(Window(padded, starts, (1,) * len(padded)))
            fixed = [*padded]
        names = ("vreg", "sublane", "lane", "subelement")[: 3 + (self.packing > 1)]
        inner = recipe_of_axes(fixed, [*self._axes(padded, (down, along))][: len(names)], names)
        return Recipe(tuple(shape), (*steps, *inner.steps), axis_names=names)

    def _axes(self, sizes: Sequence[Int], counts: tuple[Int, Int]) -> Iterator[list[DimDigit]]:
        """Yield the digits of each axis, of an array with its implicit dimensions."""
        rank, rows, packing = len(sizes), self.tile[0], self.packing
        row, column = (None if o is None else rank + k - 2 for k, o in enumerate(self.offsets))
        units = (1 if row is None else rows, 1 if column is None else self._columns)
        leading = [DimDigit(k, 1, n) for k, n in enumerate(sizes[:-2])]
        last = zip(range(rank - 2, rank), units, counts, strict=True)
        yield [*leading, *(DimDigit(*each) for each in last)]
        if rows == 1:
            high, part = [DimDigit(column, _LANES * packing, _SUBLANES)], (column, _LANES)
        else:
            tile = DimDigit(column, _LANES, self._columns // _LANES)
            high, part = [tile, DimDigit(row, packing, rows // packing)], (row, 1)
        yield [digit for digit in high if digit.radix != 1] or [DimDigit(None, 1, 1)]
        yield [DimDigit(column, 1, _LANES)]
        yield [DimDigit(*part, packing)]

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the place counted through registers, sublanes, lanes and the elements in one."""
        zero = AffineExpr((), 0)
        sizes, at = self._with_implicit(shape, 1), self._with_implicit(coordinates, zero)
        rows, packing = self.tile[0], self.packing
        i, j = (zero if o is None else x + o for x, o in zip(at[-2:], self.offsets, strict=True))
        if rows == 1:
            sublane, part = j // (_LANES * packing) % _SUBLANES, j // _LANES % packing
        else:
            per_tile = rows // packing
            tile = j // _LANES % (self._columns // _LANES)
            sublane, part = tile * per_tile + i % rows // packing, i % packing
        place = [*at[:-2], i // rows, j // self._columns, sublane, j % _LANES, part]
        box = (*sizes[:-2], *self._counts(sizes), _SUBLANES, _LANES, packing)
        offset: AffineExpr = linear_index(place, box, zero)
        return zero + offset

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Count through tiles, as ``layout.h`` draws them: registers hold tiles of one row."""
        at, sizes = list(coordinate), list(shape)
        for values, one in ((at, 0), (sizes, 1)):
            if self.implicit in ("-2", "-2,-1"):
                values.insert(len(values) - (self.implicit == "-2"), one)
            if self.implicit in ("-1", "-2,-1"):
                values.append(one)
        rows, columns = self.tile
        per_word = 32 // self.bits
        tiles = 8 * 128 * per_word // (rows * columns)
        i, j = (0 if o is None else x + o for x, o in zip(at[-2:], self.offsets, strict=True))
        ends = [1 if o is None else o + n for o, n in zip(self.offsets, sizes[-2:], strict=True)]
        down, along = -(-ends[0] // rows), -(-ends[1] // (columns * tiles))
        outer = zip(at[:-2], sizes[:-2], strict=True)
        vreg, vregs = row_major((*outer, (i // rows, down), (j // (columns * tiles), along)))
        tile, inside = j % (columns * tiles) // columns, j % columns
        row = i % rows if rows > 1 else inside // 128  # one long row is folded into rows of 128
        sublane = tile * (8 // tiles) + row // per_word
        word = (vreg * 8 + sublane) * 128 + inside % 128
        return word * per_word + row % per_word, vregs * 1024 * per_word

    headline = "registers of 8 sublanes and 128 lanes"
    """The layout in a few words."""

    def words(self) -> Iterator[Part]:
        """Yield the parts of the text with what they mean."""
        yield Part(f"{self.bits}", f"bits of an element: {self.packing} in a lane of a sublane")
        offsets = ["*" if o is None else str(o) for o in self.offsets]
        same = [
            name for name, o in zip(("rows", "columns"), self.offsets, strict=True) if o is None
        ]
        first = "where the first element lies, in rows and columns"
        copies = f"; all {listed(same)} are the same, and it is copied" if same else ""
        yield Part(f"{{{','.join(offsets)}}}", first + copies)
        rows, columns = self.tile
        count = self._columns // columns
        yield Part(f"({rows},{columns})", f"tiles of {rows} by {columns}, {count} in a register")
        if self.implicit:
            yield Part(self.implicit, "a dimension of size 1 is added there, from the last one")

    def __str__(self) -> str:
        offsets = ",".join("*" if o is None else str(o) for o in self.offsets)
        end = f",{self.implicit}" if self.implicit else ""
        return f'#tpu.vpad<"{self.bits},{{{offsets}}},({self.tile[0]},{self.tile[1]}){end}">'


FIELDS: Final = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data", "order")
"""The lists of a layout of XeGPU."""
_WORDS: Final = (
    "subgroups",
    "sizes of the unit that a subgroup has at once",
    "sizes of what an instruction takes",
    "lanes of a subgroup",
    "sizes of the unit that a lane has at once",
    "the dimensions in which subgroups and lanes count, the fastest first",
)


@frozen
class XegpuLayout(Layout):
    """How XeGPU gives a tensor to subgroups and lanes, in units that take turns.

    The axes have Triton's names, so that layouts of both compare: ``warp``, which XeGPU calls a
    subgroup, ``lane`` and ``register``, those that it has. Registers count the units of a subgroup,
    its instructions, the units of a lane, and the elements in one, each in row-major order.

    >>> layout = XegpuLayout(lane_layout=(2, 8), lane_data=(1, 1), order=(0, 1))
    >>> print(layout.recipe((2, 16)))
    [2,16] → split [2,2,8] → transpose [8,2,2] → merge [16,2] (lane, register)
    """

    sg_layout: tuple[int, ...] = ()  #: subgroups along each dimension.
    sg_data: tuple[int, ...] = ()  #: the sizes of their units; by default they have one each.
    inst_data: tuple[int, ...] = ()  #: the sizes of what an instruction takes; by default all.
    lane_layout: tuple[int, ...] = ()  #: lanes along each dimension.
    lane_data: tuple[int, ...] = ()  #: the sizes of their units; by default they have one each.
    #: the dimensions in which subgroups and lanes are counted, the fastest first.
    order: tuple[int, ...] = ()
    #: dimensions that the tensor lacks, by ``#xegpu.slice``: units along them have the same.
    sliced: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        given = [(name, getattr(self, name)) for name in FIELDS if getattr(self, name)]
        if not (self.sg_layout or self.inst_data or self.lane_layout):
            raise _wrong_xegpu(
                "expected sg_layout, inst_data or lane_layout", "it says who has what"
            )
        for name, needed in (("sg_data", self.sg_layout), ("lane_data", self.lane_layout),
                             ("order", self.sg_layout or self.lane_layout)):  # fmt: skip
            if getattr(self, name) and not needed:
                why = "sizes and an order are those of subgroups or lanes"
                raise _wrong_xegpu(f"{name} without a layout that it is of", why)
        for name, sizes in given:
            if len(sizes) != self.rank:
                what = f"{name}: expected {self.rank} numbers, got {len(sizes)}"
                raise _wrong_xegpu(what, "each list has a number for each dimension")
            if name != "order":
                as_int(min(sizes), name, 1)
        if self.order:
            as_permutation(self.order, "order", self.rank)
        if len({*self.sliced}) < len(self.sliced) or max(self.sliced, default=0) >= self.rank:
            raise _wrong_xegpu(f"dims = {[*self.sliced]}", "a slice names dimensions, each once")

    @property
    def rank(self) -> int:
        """The number of dimensions of the layout, with those that a slice takes away."""
        return len(self.sg_layout or self.inst_data or self.lane_layout)

    def without(self, dims: Sequence[int]) -> XegpuLayout:
        """Return the slice that lacks dimensions of this layout, or of this slice.

        >>> layout = XegpuLayout(sg_layout=(4, 8, 2))
        >>> layout.without([2]).without([1]).sliced
        (1, 2)
        """
        kept = [k for k in range(self.rank) if k not in self.sliced]
        if len({*dims}) < len(dims) or not all(0 <= k < len(kept) for k in dims):
            raise _wrong_xegpu(f"dims = {[*dims]}", "a slice names dimensions, each once")
        return replace(self, sliced=tuple(sorted((*self.sliced, *(kept[k] for k in dims)))))

    def _fragment(self, shape: tuple[int, ...]) -> FragmentLayout:
        """Return the digits of each axis at a shape."""
        dims = iter(range(len(shape)))
        own = [[*self._cut(k, None if k in self.sliced else next(dims), shape)]
               for k in range(self.rank)]  # fmt: skip
        order, in_order = self.order[::-1] or range(self.rank), range(self.rank)
        axes = [("warp", ["warp"], order)] if self.sg_layout else []
        axes += [("lane", ["lane"], order)] if self.lane_layout else []
        axes.append(("register", ["unit", "instruction", "round", "element"], in_order))
        found = (
            Axis(name, tuple(x for each in levels for k in dims for at, x in own[k] if at == each))
            for name, levels, dims in axes
        )
        return FragmentLayout(str(self), shape, tuple(found))

    def _cut(
        self, k: int, dim: int | None, shape: tuple[int, ...]
    ) -> Iterator[tuple[str, DimDigit]]:
        """Yield the digits of a dimension; each level is cut from what the last one left."""
        left = 1 if dim is None else shape[dim]
        levels = (
            ("warp", "unit", self.sg_layout, self.sg_data),
            ("lane", "round", self.lane_layout, self.lane_data),
        )
        for name, turns, counts, data in levels:
            if counts and dim is None:
                yield name, DimDigit(None, 1, counts[k])
            elif counts:
                size = data[k] if data else self._quotient(left, counts[k], k)
                units = self._quotient(left, size, k)
                dealt = counts[k] if name == "lane" else min(units, counts[k])
                yield turns, DimDigit(dim, size * dealt, self._quotient(units, dealt, k, "units"))
                yield (
                    name,
                    DimDigit(None, 1, self._quotient(counts[k], dealt, k, "threads")),
                )  # copies
                yield name, DimDigit(dim, size, dealt)
                left = size
            if name == "warp" and self.inst_data and dim is not None:
                size = self.inst_data[k]
                yield "instruction", DimDigit(dim, size, self._quotient(left, size, k))
                left = size
        if dim is not None:
            yield "element", DimDigit(dim, 1, left)

    def _quotient(self, n: int, size: int, k: int, what: str = "elements") -> int:
        if n % size:
            raise ShapeError(
                f"{self}: dimension {k} has {n} {what}, which {size} does not divide",
                "subgroups, instructions and lanes have whole units",
                f"give a multiple of {size}",
            )
        return n // size

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        sizes = known(tuple(shape))
        require_rank(sizes, self.rank - len(self.sliced), str(self))
        if 0 in sizes:
            return Recipe(sizes, (), 0)
        return self._fragment(sizes).recipe(sizes)

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the place counted through subgroups, lanes and registers, of the first holder."""
        sizes = known(tuple(shape))
        if 0 in sizes:
            return AffineExpr((), 0)
        return self._fragment(sizes).reference(coordinates, sizes)

    def by_document(
        self, coordinate: Sequence[int], shape: Sequence[int], /
    ) -> tuple[int, int] | None:
        """Look up who has each coordinate, level by level, by ``genCoordinates``."""
        if 0 in shape:
            return None
        kept = [k for k in range(self.rank) if k not in self.sliced]
        at, sizes = dict(zip(kept, coordinate, strict=True)), dict(zip(kept, shape, strict=True))
        threads, registers = dict[int, list[int]](), dict[int, list[tuple[int, int]]]()
        for k in range(self.rank):
            y, whole, is_sliced = at.get(k, 0), sizes.get(k, 1), k in self.sliced
            threads[k], registers[k] = [0, 0], [(0, 1)] * 4
            for level, counts, data in ((0, self.sg_layout, self.sg_data),
                                        (1, self.lane_layout, self.lane_data)):  # fmt: skip
                if counts:
                    size = 1 if is_sliced else data[k] if data else whole // counts[k]
                    threads[k][level], *own = _holder(y, counts[k], size, whole)
                    registers[k][2 * level], y, whole = (own[0], own[1]), own[2], size
                if level == 0 and self.inst_data and not is_sliced:
                    size = self.inst_data[k]
                    registers[k][1], y, whole = (y // size, whole // size), y % size, size
            registers[k][3] = y, whole
        place, slots = 0, 1
        for level, layout in ((0, self.sg_layout), (1, self.lane_layout)):
            number, step = 0, 1  # as delinearizeId counts: the first of the order is the fastest
            for k in (self.order or range(self.rank)[::-1]) if layout else ():
                number, step = number + threads[k][level] * step, step * layout[k]
            place, slots = place * step + number, slots * step
        axes = [registers[k][level] for level in range(4) for k in range(self.rank)]
        return row_major([(place, slots), *axes])

    headline = "subgroups and lanes take units in turns"
    """The layout in a few words."""

    def words(self) -> Iterator[Part]:
        """Yield the parts of the text with what they mean."""
        for name, words in zip(FIELDS, _WORDS, strict=True):
            if own := getattr(self, name):
                yield Part(f"{name} = {[*own]}", words)
        if self.sliced:
            yield Part(f"dims = {[*self.sliced]}", "dimensions along which all have the same")

    def __str__(self) -> str:
        given = [(name, [*getattr(self, name)]) for name in FIELDS if getattr(self, name)]
        text = f"#xegpu.layout<{', '.join(f'{name} = {value}' for name, value in given)}>"
        return f"#xegpu.slice<{text}, dims = {[*self.sliced]}>" if self.sliced else text


def _wrong_xegpu(what: str, why: str) -> LayoutError:
    return LayoutError(f"#xegpu.layout: {what}", why, "write the layout as MLIR prints it")


def _holder(y: int, count: int, data: int, whole: int) -> tuple[int, int, int, int]:
    """Return the first thread that has a coordinate, its turn, all turns, and the rest.

    Units of all threads together are stepped through, a thread's is added, and the sum is taken
    modulo the size.
    """
    step = min(whole, count * data)
    base = y // step * step
    starts = ((base + thread * data) % whole for thread in range(count))
    thread, start = next((k, x) for k, x in enumerate(starts) if x <= y < x + data)
    return thread, y // step, whole // step, y - start
