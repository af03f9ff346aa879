"""Ways to place a tile in shared memory: swizzles by exclusive or, and padding of the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from morello_layouts.errors import ShapeError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int
from morello_layouts.layout import Layout
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Step, Xor, binary
from morello_layouts.recipe.bases import recipe_of_bases
from morello_layouts.recipe.readings import delinearize


def log2(n: int) -> int:
    """Return the exponent of a power of two."""
    return n.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Candidate(ABC):
    """A placement of a tile of rows and columns.

    Attributes:
        shape: the tile; all dimensions but the last are its rows.
        pitch: elements from one row to the next.
    """

    shape: tuple[int, ...]
    pitch: int

    @property
    def rows(self) -> int:
        """The rows of the tile."""
        return prod(self.shape[:-1])

    @property
    def padding(self) -> int:
        """Elements of padding."""
        return self.rows * (self.pitch - self.shape[-1])

    @abstractmethod
    def offsets(self, row: Any, column: Any) -> Any:
        """Return the offsets of elements, of ints, arrays or forms."""

    @abstractmethod
    def recipe(self) -> Recipe:
        """Return the placement as steps."""

    @abstractmethod
    def formula(self) -> str:
        """Return the offset of ``row`` and ``column`` in C."""

    def cute(self) -> str | None:
        """Return the placement in CuTe's notation, on elements; None if it has none."""
        return None

    def triton(self) -> str | None:
        """Return the placement as an attribute of Triton; None if it has none."""
        return None

    def _strides(self) -> str:
        sizes = (*self.shape[:-1], self.pitch)
        strides = [prod(sizes[k:]) for k in range(1, len(sizes))] + [1]
        return f"({','.join(map(str, self.shape))}):({','.join(map(str, strides))})"


@dataclass(frozen=True, slots=True)
class Padded(Candidate):
    """Rows one after the other, with padding at their ends or without.

    >>> Padded((32, 32), 33).cute(), Padded((32, 32), 33).formula()
    ('(32,32):(33,1)', 'row * 33 + column')
    """

    def offsets(self, row: Any, column: Any) -> Any:
        """Return the offsets of elements."""
        return row * self.pitch + column

    def recipe(self) -> Recipe:
        """Return the placement as steps."""
        return Recipe(self.shape, tuple(_pad(self.shape, self.pitch)))

    def formula(self) -> str:
        """Return the offset of ``row`` and ``column`` in C."""
        return f"row * {self.pitch} + column"

    def cute(self) -> str:
        """Return the placement in CuTe's notation."""
        return self._strides()

    def triton(self) -> str | None:
        """Return the placement as an attribute of Triton: sizes must be powers of two."""
        columns, more = self.shape[-1], self.pitch - self.shape[-1]
        order = [*range(len(self.shape))][::-1]
        if any(n & (n - 1) for n in self.shape):  # Triton's tiles have powers of two
            return None
        if more == 0:
            return f"#ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = {order}}}>"
        if more & (more - 1):
            return None
        where = f"order = {order}, shape = {[*self.shape]}"
        return f"#ttg.padded_shared<[{columns}:+{more}] {{{where}}}>"


@dataclass(frozen=True, slots=True)
class RowXor(Candidate):
    """Blocks of ``2^base`` elements of a row, permuted by an exclusive or with bits of the row.

    Attributes:
        bits: bits of the number of a block that change.
        base: bits of the number of an element that stay.
        shift: bits of the row that are passed over.

    >>> RowXor((8, 48), 48, 1, 3, 2).formula()
    'row * 48 + (column ^ (((row >> 2) & 1) << 3))'
    """

    bits: int
    base: int
    shift: int

    def offsets(self, row: Any, column: Any) -> Any:
        """Return the offsets of elements."""
        block = row // (1 << self.shift) % (1 << self.bits)
        return row * self.pitch + (column ^ block * (1 << self.base))

    def recipe(self) -> Recipe:
        """Return the placement as steps."""
        rank = len(self.shape)
        steps = _pad(self.shape, self.pitch)
        if rank > 2:
            steps.append(Merge((rank - 1, 1)))
        steps += [
            Split((None, 1 << self.bits + self.base)),
            Split((None, None, 1 << self.base)),
            Xor(2, 0, self.shift),
            Merge((1, 3)),
        ]
        return Recipe(self.shape, tuple(steps))

    def formula(self) -> str:
        """Return the offset of ``row`` and ``column`` in C."""
        block = _shifted(
            _masked(f"row >> {self.shift}" if self.shift else "row", self.bits), self.base
        )
        return f"row * {self.pitch} + (column ^ {block})"


@dataclass(frozen=True, slots=True)
class Swizzle(Candidate):
    """CuTe's ``Swizzle<bits, base, shift>`` of the offsets of rows one after the other.

    Attributes:
        bits: bits that change.
        base: bits below them, which stay.
        shift: how far above them the bits lie that they change with.

    >>> Swizzle((64, 64), 64, 3, 3, 3).formula()
    '(row * 64 + column) ^ ((row & 7) << 3)'
    >>> Swizzle((64, 64), 64, 3, 3, 3).cute()
    'Sw<3,3,3> o 0 o (64,64):(64,1)'
    """

    bits: int
    base: int
    shift: int

    @property
    def size(self) -> int:
        """Elements that the buffer spans: whole blocks that the swizzle permutes."""
        return -(-self.rows * self.pitch // self._block) * self._block

    @property
    def _block(self) -> int:
        return 1 << self.base + self.bits

    @property
    def padding(self) -> int:
        """Elements of padding."""
        return self.size - prod(self.shape)

    def offsets(self, row: Any, column: Any) -> Any:
        """Return the offsets of elements."""
        plain = row * self.pitch + column
        source = plain // (1 << self.base + self.shift) % (1 << self.bits)
        return plain ^ source * (1 << self.base)

    def recipe(self) -> Recipe:
        """Return the placement as steps: bits of one number, some of them added to others."""
        if not any(n & (n - 1) for n in (*self.shape, self.pitch)) and not self.padding:
            units = range(log2(prod(self.shape)))
            columns = tuple(self.offsets(0, 1 << bit) for bit in units)
            return Linear(self.shape, self.pitch, columns).recipe()
        whole = 1 << self.base + self.shift + self.bits
        count = -(-self.rows * self.pitch // whole) * whole
        gap = 1 << self.shift - self.bits
        steps: list[Step] = [
            *_pad(self.shape, self.pitch),
            Merge((len(self.shape),)),
            Pad((count,)),
            Split((whole,)),
            Split((None, whole >> self.bits)),
            Split((None, None, whole >> self.bits + log2(gap))),
            Split((None, None, None, 1 << self.base)),
            Xor(3, 1),
        ]
        return Recipe(self.shape, tuple(steps), tail_padding=self.size - count)

    def formula(self) -> str:
        """Return the offset of ``row`` and ``column`` in C."""
        plain, low = f"(row * {self.pitch} + column)", self.base + self.shift
        source = f"{plain} >> {low}"
        if self.pitch & (self.pitch - 1) == 0 and low >= log2(self.pitch):  # bits of the row alone
            source = f"row >> {low - log2(self.pitch)}" if 1 << low != self.pitch else "row"
        return f"{plain} ^ {_shifted(_masked(source, self.bits), self.base)}"

    def cute(self) -> str:
        """Return the placement in CuTe's notation, on elements."""
        return f"Sw<{self.bits},{self.base},{self.shift}> o 0 o {self._strides()}"

    def triton(self) -> str | None:
        """Return the placement as an attribute of Triton, if rows permute their vectors."""
        columns = self.pitch
        low = 1 << self.base + self.shift
        if any(n & (n - 1) for n in self.shape) or low < columns or self._block > columns:
            return None
        if len(self.shape) != 2 or columns != self.shape[-1]:  # phases are those of the last rows
            return None
        order = [*range(len(self.shape))][::-1]
        numbers = (
            f"vec = {1 << self.base}, perPhase = {low // columns}, maxPhase = {1 << self.bits}"
        )
        return f"#ttg.swizzled_shared<{{{numbers}, order = {order}}}>"


@dataclass(frozen=True, slots=True)
class Linear(Candidate):
    """Any linear placement: each bit of the index adds some bits of the offset.

    Attributes:
        columns: for each bit of the row-major index the offset of the element there.

    >>> Linear((4, 4), 4, (1, 2, 5, 8)).formula()
    '(row * 4 + column) ^ (row & 1) * 1'
    """

    columns: tuple[int, ...] = field(default=())

    def offsets(self, row: Any, column: Any) -> Any:
        """Return the offsets of elements."""
        index = row * self.pitch + column
        found = index
        for bit, place in enumerate(self.columns):
            if place != 1 << bit:
                found = found ^ (index // (1 << bit) % 2 * (place ^ 1 << bit))
        return found

    def recipe(self) -> Recipe:
        """Return the placement as steps."""
        inverse = binary.inverse(self.columns)
        assert inverse is not None, "a placement has an inverse"
        bases = [delinearize(each, self.shape) for each in inverse]
        return recipe_of_bases(self.shape, {"offset": bases})

    def formula(self) -> str:
        """Return the offset of ``row`` and ``column`` in C."""
        low = log2(self.pitch)
        parts = [f"(row * {self.pitch} + column)"]
        for bit, place in enumerate(self.columns):
            if place != 1 << bit:
                name, over = ("column", bit) if bit < low else ("row", bit - low)
                source = _masked(f"{name} >> {over}" if over else name, 1)
                parts.append(f"{source} * {place ^ 1 << bit}")
        return " ^ ".join(parts)

    def triton(self) -> str | None:
        """Return the placement as a linear layout of shared memory, by its bases."""
        inverse = binary.inverse(self.columns)
        assert inverse is not None, "a placement has an inverse"
        bases = [[*delinearize(each, self.shape)] for each in inverse]
        return f"#ttg.shared_linear<{{offset = {bases}}}, alignment = 128>"


def _masked(source: str, bits: int) -> str:
    return f"({f'({source})' if ' ' in source else source} & {(1 << bits) - 1})"


def _shifted(source: str, bits: int) -> str:
    """Return a number times a power of two in C."""
    return f"({source} << {bits})" if bits else source


def _pad(shape: Sequence[int], pitch: int) -> list[Step]:
    return [] if pitch == shape[-1] else [Pad((*shape[:-1], pitch))]


@dataclass(frozen=True, slots=True, repr=False)
class PlacedTile(Layout):
    """A tile in a placement, as a layout that every function takes.

    Attributes:
        placement: the swizzle or the padding.

    >>> str(PlacedTile(Padded((4, 8), 9)))
    '(4,8):(9,1)'
    """

    placement: Candidate

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        """Return the placement as steps.

        Raises:
            ShapeError: if the shape is not the tile's.
        """
        if tuple(shape) != self.sizes:
            raise ShapeError(
                f"{self}: expected the shape {self.sizes}, got {tuple(shape)}",
                "a placement is made for a tile of one size",
                "leave the shape out",
            )
        return self.placement.recipe()

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset by the formula in C."""
        row = AffineExpr((), 0)
        for x, n in zip(coordinates[:-1], shape[:-1], strict=True):
            row = row * n + x
        form: AffineExpr = self.placement.offsets(row, coordinates[-1])
        return form

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        """Return the offset by the formula on plain integers, and the size of the buffer."""
        row = 0
        for x, n in zip(coordinate[:-1], self.sizes[:-1], strict=True):
            row = row * n + x
        tile = self.placement
        return tile.offsets(row, coordinate[-1]), prod(tile.shape) + tile.padding

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the tile."""
        return self.placement.shape

    def __str__(self) -> str:
        return self.placement.cute() or self.placement.formula()
