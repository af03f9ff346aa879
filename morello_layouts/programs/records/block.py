"""Records: several arrays that share one buffer, each placed bit by bit.

A record is a block of bits with fields; ``q4_0[B]`` is B such blocks, one after the other. A field
is an array of numbers of some bits. It has one piece, or several if its elements or their bits lie
apart: a piece is a box of the elements, some of their bits, and a layout, whose offsets count units
of some bits from the place of the piece. Bit 0 of a byte, and of an element, is the lowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from math import prod
from typing import Any, ClassVar, Final, Self

from morello_layouts.core.checks import as_int, shown
from morello_layouts.core.expr import AffineExpr, coordinate_variables
from morello_layouts.core.expr.affine import names_in
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr, evaluated, is_nonnegative
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.layout import FLOATS, Layout, bits_of
from morello_layouts.core.limits import RECORD_PIECES
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.core.maps.subject import Subject
from morello_layouts.core.recipe import is_inside, known, linear_index
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.notations import parse

Box = tuple[tuple[Int, Int], ...]
"""The first coordinate and the one after the last, along each dimension."""

_FLOAT_BITS: Final = {name.lower(): bits_of(name.lower()) for name in FLOATS if name != "tf32"
                      and name not in ("f80", "f128")}  # fmt: skip


@frozen(slots=False)
class Piece:
    """Some bits of some elements of a field, and where they lie."""

    at: Int  #: the bit of the block at which the layout's offset 0 begins.
    #: bits from one offset of the layout to the next; None for as many as the piece holds.
    unit: Int | None = None
    box: Box = ()  #: the elements, of which the layout is one; empty for all of them.
    bits: tuple[int, int] | None = None  #: the first bit of an element, and the one after the last.
    layout: Layout | None = None  #: of the box; None for row-major.

    def __str__(self) -> str:
        box = ", ".join(f"{lo}:{hi}" for lo, hi in self.box)
        bits = " .{}:{}".format(*self.bits) if self.bits else ""
        at, is_byte = self.at, isinstance(self.at, int) and self.at % 8 == 0
        place = f" at byte {at // 8}" if is_byte else f" at bit {at}"
        unit = "" if self.unit is None else f" by {self.unit}"
        layout = "" if self.layout is None else f' as "{self.layout}"'
        return f"{f' [{box}]' if box else ''}{bits}{place}{unit}{layout}"


@frozen(slots=False)
class Field:
    """An array of numbers in a record."""

    name: str  #: its name in the record.
    #: what a number is: ``u6``, ``s8`` (two's complement), ``f16``, ``bf16``, ``f32``, ….
    type: str
    shape: tuple[Int, ...] = ()  #: sizes in a block; empty for one number.
    pieces: tuple[Piece, ...] = ()  #: which bits lie where.
    #: whether the bytes of a number stand in the buffer with the highest first.
    is_big_endian: bool = False

    def __post_init__(self) -> None:
        bits = self.bits
        if self.is_big_endian and (
            bits % 8 or any(p.bits not in (None, (0, bits)) for p in self.pieces)
        ):
            raise LayoutError(
                f"{self.name}: expected whole numbers of whole bytes, got {self.type} in pieces",
                "the order of bytes is that of a number which lies together",
                "leave be out, or write the bytes as fields of their own",
                part=("is_big_endian",),
            )

    def __str__(self) -> str:
        sizes = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        order = " be" if self.is_big_endian else ""
        return f"{self.name}: {self.type}{order}{sizes}{','.join(map(str, self.pieces))}"

    @cached_property
    def bits(self) -> int:
        """The bits of a number.

        Raises:
            LayoutError: if the type is not known.
        """
        return type_bits(self.type)

    @property
    def is_integer(self) -> bool:
        """Whether its numbers are integers, and not bits of floats."""
        return self.type[0] in "us"

    def piece_bits(self, piece: Piece) -> tuple[int, int]:
        """Return the bits of an element that a piece holds."""
        return piece.bits or (0, self.bits)

    def piece_unit(self, piece: Piece) -> Int:
        """Return the bits from one offset of a piece's layout to the next."""
        lo, hi = self.piece_bits(piece)
        return hi - lo if piece.unit is None else piece.unit

    def piece_box(self, piece: Piece) -> Box:
        """Return the elements that a piece holds."""
        return piece.box or tuple((0, n) for n in self.shape)

    def piece_map(self, piece: Piece, facts: tuple[Assumption, ...] = ()) -> IndexMap | None:
        """Return the index map of a piece's box, in its units; None for one number."""
        sizes = tuple(hi - lo for lo, hi in self.piece_box(piece))
        if piece.layout is None and not sizes:
            return None
        layout: Any = piece.layout or parse(str([*range(len(sizes))]))
        return Subject(layout, sizes).map(facts or None)


def type_bits(name: str) -> int:
    """Return the bits of a type of numbers: ``u1`` to ``u64``, ``s2`` to ``s64``, or a float.

    >>> type_bits("u6"), type_bits("f16"), type_bits("f8e4m3fn")
    (6, 16, 8)
    """
    if name in _FLOAT_BITS:
        return 4 if name == "f4e2m1fn" else 6 if name.startswith("f6") else _FLOAT_BITS[name]
    if name[:1] in ("u", "s") and name[1:].isdecimal() and len(name) < 4:
        bits = int(name[1:])
        if (1 if name[0] == "u" else 2) <= bits <= 64:
            return bits
    raise LayoutError(
        f"a type of numbers: expected u1 to u64, s2 to s64 or a float, got {shown(name)}",
        "u counts from 0, s is two's complement, f16 and bf16 are floats; a record is not a type",
        "write for example u4, s8 or f16",
        part=("type",),
    )


@frozen
class BlockValue:
    """The numbers that a block stands for: a formula of its fields."""

    index: tuple[tuple[str, Int], ...]  #: the name and the size of each dimension.
    #: the formula, with ``+ - * // %``, subscripts, ``[…][i]`` for a table, ``min``, ``max``,
    #: ``abs`` and ``exp2``; integers are exact, everything else is a 32-bit float.
    formula: str


@frozen(slots=False)
class PieceMap:
    """The bits of a piece as a map: from an element and a bit of it to a bit of the block."""

    field: Field  #: the field.
    piece: Piece  #: its piece.
    bits: AffineMap  #: from the coordinates in the box, and a bit of the piece from 0, to the bit.
    first: Int  #: the first bit that it may take.
    end: Int  #: the bit after the last that it may take.
    #: whether no two elements share an offset of the layout, and a unit has room for the bits.
    units: IndexMap | None

    @property
    def label(self) -> str:
        """What the part is called in words."""
        name, (lo, hi) = self.field.name, self.field.piece_bits(self.piece)
        box = ",".join(f"{a}:{b}" for a, b in self.piece.box)
        bits = f" bits {lo} to {hi - 1}" if self.piece.bits else ""
        return f"{name}{f'[{box}]' if box else ''}{bits}"

    @property
    def holds(self) -> tuple[Box, tuple[int, int]]:
        """The elements that it holds, and which of their bits."""
        return self.field.piece_box(self.piece), self.field.piece_bits(self.piece)

    def at(self, sizes: Mapping[str, int]) -> PieceMap:
        """Return the part at sizes that are numbers."""
        return part_of(*_at_sizes(self.field, self.piece, sizes)) if sizes else self

    def bit(self, at: Sequence[int]) -> int:
        """Return the bit of the block at a coordinate of the map."""
        return int(self.bits(*at))

    def element(self, at: Sequence[int]) -> str:
        """Return the element and the bit at a coordinate of the map, in words."""
        *inside, bit = at
        box = self.field.piece_box(self.piece)
        index = ",".join(str(x + lo) for x, (lo, _) in zip(inside, box, strict=True))
        name = f"{self.field.name}[{index}]" if box else self.field.name
        return f"{name} bit {bit + self.field.piece_bits(self.piece)[0]}"


def _number(n: Int, sizes: Mapping[str, int]) -> Int:
    is_known = isinstance(n, SizeExpr) and n.names() <= sizes.keys()
    return int(evaluated(n, sizes)) if is_known else n


def _at_sizes(f: Field, p: Piece, sizes: Mapping[str, int]) -> tuple[Field, Piece]:
    """Return a field, without its other pieces, and its piece at sizes that are numbers."""
    made = replace(
        p,
        at=_number(p.at, sizes),
        unit=None if p.unit is None else _number(p.unit, sizes),
        box=tuple((_number(lo, sizes), _number(hi, sizes)) for lo, hi in p.box),
        layout=p.layout and p.layout.with_numbers(sizes),
    )
    return replace(f, shape=tuple(_number(n, sizes) for n in f.shape), pieces=()), made


def part_of(f: Field, piece: Piece, facts: tuple[Assumption, ...] = ()) -> PieceMap:
    """Return a piece as a map of bits, where facts about sizes are known."""
    lo, hi = f.piece_bits(piece)
    m = f.piece_map(piece, facts)
    shape: tuple[Int, ...] = (*(m.recipe.shape if m is not None else ()), hi - lo)
    *_, bit = coordinate_variables(shape)
    if f.is_big_endian:
        last = f.bits // 8 - 1
        bit = (bit // 8) * -8 + bit % 8 + 8 * last
    form = (m.form if m is not None else AffineExpr((), 0)) * f.piece_unit(piece) + bit + piece.at
    bits = AffineMap(shape, (form,), assumptions=m.assumptions if m is not None else ())
    slots = m.recipe.size if m is not None else 1
    return PieceMap(
        f, piece, bits, piece.at, piece.at + (slots - 1) * f.piece_unit(piece) + (hi - lo), m
    )


@frozen(slots=False)
class Block(Displayed):
    """Where the fields of a record lie; a record also reads, writes and compares their numbers."""

    name: str  #: what it is called; empty if it has no name.
    fields: tuple[Field, ...]  #: the arrays, in the order of the text.
    #: the bits of a block as the text says them; None for as many as the fields need.
    size: Int | None = None
    blocks: tuple[Int, ...] = ()  #: how many blocks, along each dimension; empty for one block.
    value: BlockValue | None = None  #: the numbers that a block stands for, if the text says them.
    source: str = ""  #: the document that the record was written from.

    json_keys: ClassVar = ("name", "text", "bits", "blocks", "fields", "value", "source")

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for k, one in enumerate(self.fields):
            if one.name in seen:
                raise LayoutError(
                    f"two fields have the name {one.name}",
                    "names identify the fields of a record",
                    "rename one of them",
                    part=("fields", k, "name"),
                )
            seen.add(one.name)
        count = sum(len(one.pieces) for one in self.fields)
        as_int(count, "the number of pieces", 0, RECORD_PIECES, part=("fields",))
        for k, one in enumerate(self.fields):
            _require_pieces(one, k)

    @cached_property
    def parts(self) -> tuple[PieceMap, ...]:
        """The bits of each piece as a map to the bits of a block."""
        return tuple(part_of(one, piece) for one in self.fields for piece in one.pieces)

    @cached_property
    def bits(self) -> Int:
        """The bits of a block: what its text says, or up to the last bit of a field.

        Raises:
            LayoutError: if sizes are names, and no field is the last for all of them.
        """
        if self.size is not None:
            return self.size
        ends = [part.end for part in self.parts] or [0]
        for end in ends:
            if all(is_nonnegative(end - other) for other in ends):
                return -(-end // 8) * 8 if isinstance(end, int) else end
        raise LayoutError(
            f"{self.name or 'the record'}: expected the size of a block",
            "which field ends last depends on sizes that are names",
            "write it after the name, such as 4*K*N bits",
        )

    def __getitem__(self, name: str) -> Field:
        """Return the field of a name."""
        found = next((one for one in self.fields if one.name == name), None)
        if found is None:
            names = ", ".join(one.name for one in self.fields)
            raise LayoutError(
                f"a field: expected one of {names or 'none'}, got {shown(name)}",
                "a record has the fields of its text",
                "name one of these",
            )
        return found

    def parts_of(self, name: str) -> list[PieceMap]:
        """Return the parts of a field."""
        one = self[name]
        return [part for part in self.parts if part.field is one]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of sizes, in the order of their first use."""
        sizes: list[Int] = [*self.blocks, *([] if self.size is None else [self.size])]
        for one in self.fields:
            sizes += one.shape
        for part in self.parts:
            sizes += [part.first, part.end]
        return names_in(sizes)

    def at(self, **sizes: int) -> Self:
        """Return the record at sizes that are numbers.

        >>> from morello_layouts import record
        >>> record("q4_0[B]").at(B=3).byte_size
        54
        """
        for name, value in sizes.items():
            if name not in self.names:
                raise ShapeError(
                    f"{name} is not a size of the record",
                    f"its sizes are {', '.join(self.names) or 'numbers'}",
                    "give values of these",
                )
            as_int(value, name, 1)

        def number(n: Int) -> Int:
            return _number(n, sizes)

        fields = []
        for one in self.fields:
            pieces = tuple(_at_sizes(one, piece, sizes)[1] for piece in one.pieces)
            fields.append(replace(one, shape=tuple(map(number, one.shape)), pieces=pieces))
        blocks = tuple(map(number, self.blocks))
        size = None if self.size is None else number(self.size)
        index = tuple((name, number(n)) for name, n in self.value.index) if self.value else ()
        made = self.value and replace(self.value, index=index)
        return replace(self, fields=tuple(fields), size=size, blocks=blocks, value=made)

    @property
    def byte_size(self) -> Int:
        """The bytes of the whole buffer.

        Raises:
            ShapeError: if a block is not a whole number of bytes.
        """
        bits = self.bits * prod(self.blocks)
        whole = bits // 8
        if whole * 8 != bits:
            raise ShapeError(
                f"{self.name or 'the record'}: expected whole bytes, got {bits} bits",
                "a buffer is a number of bytes",
                "write the size of a block as a number of bytes",
            )
        return whole

    def bits_of(self, name: str, *index: int) -> list[tuple[int, int, int]]:
        """Return where the bits of an element lie.

        Args:
            name: the field.
            index: the block along each dimension of blocks, then the element in its block.

        Returns:
            Runs (bit of the element, bit of the buffer, count), the lowest first.

        Raises:
            ShapeError: if sizes are names, or the array does not have the element.

        >>> from morello_layouts import record
        >>> record("q4_K[2]").bits_of("scales", 1, 5)    # the low four bits, and the high two
        [(0, 1256, 4), (4, 1198, 2)]
        """
        one, rank = self[name], len(self.blocks)
        if self.names:
            raise ShapeError(
                f"sizes are not known: {', '.join(self.names)}",
                "bits are counted in a buffer of a known size",
                "give them: record.at(B=3)",
            )
        blocks, bits = known(self.blocks), known((self.bits,))[0]
        sizes = (*blocks, *known(one.shape))
        if not is_inside(index, sizes):
            raise ShapeError(
                f"{name}: expected an index inside {sizes}, got {index}",
                "the blocks come first, then the dimensions of the field",
                "give one number for each, from 0",
            )
        block = linear_index(index[: len(blocks)], blocks, 0)
        found: dict[int, int] = {}
        for part in self.parts_of(name):
            box = [known(ends) for ends in one.piece_box(part.piece)]
            inside = [x - lo for x, (lo, _) in zip(index[rank:], box, strict=True)]
            if all(0 <= x < hi - lo for x, (lo, hi) in zip(inside, box, strict=True)):
                lo, hi = one.piece_bits(part.piece)
                for bit in range(hi - lo):
                    place = part.bits(*inside, bit)
                    found[bit + lo] = int(place) + block * bits
        each = groupby(sorted(found.items()), key=lambda pair: pair[1] - pair[0])
        runs = [[*run] for _, run in each]
        return [(*run[0], len(run)) for run in runs]

    @property
    def _head(self) -> str:
        """The name, the blocks and their size."""
        blocks = f"[{', '.join(map(str, self.blocks))}]" if self.blocks else ""
        size = f" {self.size} bits" if self.size is not None else ""
        if isinstance(self.size, int) and self.size % 8 == 0:
            size = f" {self.size // 8} bytes"
        return f"{self.name}{blocks}:{size}"

    @property
    def text(self) -> str:
        """The text of the record, which ``record`` reads."""
        lines = [*map(str, self.fields)]
        if self.value is not None:
            index = ", ".join(f"{name}:{n}" for name, n in self.value.index)
            lines.append(f"value[{index}] = {self.value.formula}")
        inside = "".join(f"\n  {line}" for line in lines)
        return f"{self._head} {{{inside}\n}}"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._head} {', '.join(f.name for f in self.fields)}>"


def _require_pieces(one: Field, k: int) -> None:
    """Refuse pieces that hold an element's bit twice or not at all, or what is not there."""
    for j, piece in enumerate(one.pieces):
        part = ("fields", k, "pieces", j)
        lo, hi = one.piece_bits(piece)
        if not 0 <= lo < hi <= one.bits:
            raise LayoutError(
                f"{one.name}: expected bits from 0 to {one.bits - 1}, got {lo}:{hi}",
                f"a number of type {one.type} has {one.bits} bits",
                f"write for example .0:{one.bits}",
                part=(*part, "bits"),
            )
        box = one.piece_box(piece)
        if len(box) != len(one.shape) or not all(
            is_nonnegative(a) and is_nonnegative(b - a - 1) and is_nonnegative(n - b)
            for (a, b), n in zip(box, one.shape, strict=False)
        ):
            shape = ", ".join(map(str, one.shape))
            raise LayoutError(
                f"{one.name}: expected a part of [{shape}], got "
                f"[{', '.join(f'{a}:{b}' for a, b in box)}]",
                "a piece holds some elements of its field",
                "write one range lo:hi for each dimension",
                part=(*part, "box"),
            )
        for name, value in (("at", piece.at), ("unit", one.piece_unit(piece))):
            if not is_nonnegative(value) or (name == "unit" and value == 0):
                raise LayoutError(
                    f"{one.name}: expected {'a bit from 0' if name == 'at' else 'a unit of bits'}, "
                    f"got {value}",
                    "places are counted in bits from the start of the block",
                    "write a positive number" if name == "unit" else "write at byte 0",
                    part=(*part, name),
                )
    _require_each_bit_once(one, k)


def _require_each_bit_once(one: Field, k: int) -> None:
    """Refuse pieces that overlap, or that leave bits of an element out."""
    boxes = [(one.piece_box(p), one.piece_bits(p)) for p in one.pieces]
    for j, (box, (lo, hi)) in enumerate(boxes):
        for i, (other, (low, high)) in enumerate(boxes[:j]):
            apart = any(
                is_nonnegative(c - b) or is_nonnegative(a - d)
                for (a, b), (c, d) in zip(box, other, strict=True)
            )
            if not apart and max(lo, low) < min(hi, high):
                raise LayoutError(
                    f"{one.name}: pieces {i} and {j} both hold bit {max(lo, low)} of an element",
                    "each bit of an element lies in one place",
                    "let the boxes or the bits of the pieces differ",
                    part=("fields", k, "pieces", j),
                )
    held = sum(prod((b - a for a, b in box), start=1) * (hi - lo) for box, (lo, hi) in boxes)
    wanted: Int = prod(one.shape, start=1) * one.bits
    if held != wanted:
        raise LayoutError(
            f"{one.name}: expected places for {wanted} bits, got places for {held}",
            "the pieces together hold each bit of each element",
            "write a piece for the numbers left out",
            part=("fields", k, "pieces"),
        )
