"""Triton's layouts: registers and lanes of warps, shared and tensor memory, at a tensor's shape.

Source: triton 3.9, ``TritonGPUAttrDefs.td`` and ``LinearLayoutConversions.cpp``. Triton maps places
to coordinates; a recipe maps coordinates to places, the first one if there are several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from math import prod
from operator import gt, xor
from typing import Final

from morello_layouts.core.checks import require_rank
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType, Layout
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split, known, recipe_of_bases
from morello_layouts.core.recipe.bases import MEMORY, bits_of, places_of_bases, transposed
from morello_layouts.errors import ShapeError
from morello_layouts.notations.documents import row_major
from morello_layouts.notations.mlir import types
from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.triton.rules import Bases, bases_of


@frozen
class TritonLayout(Layout):
    """An encoding of Triton, with the shape of its tensor if its text gives one.

    The axes of a layout of registers are ``block``, if there are several blocks, ``warp``, ``lane``
    and ``register``; of tensor memory ``row`` and ``col``. Offsets are in elements.

    >>> from morello_layouts import parse
    >>> layout = parse("#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = []}>")
    >>> print(layout.recipe((2, 4)))
    [2,4] → split [2,2,2] → merge [1,4,2] (warp, lane, register)
    """

    encoding: Encoding  #: the kind and its fields.
    #: sizes of the tensor in elements, powers of two; None if they are given beside it.
    shape: tuple[int, ...] | None = None
    element_type: str = ""  #: MLIR's name of it; empty without a type.
    #: what follows the encoding, such as ``#ttg.shared_memory``. The sizes of a buffer, ``64x64``,
    #: make this a view of it that begins at its origin.
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.shape is not None:
            self.recipe(self.shape)
            if self.element_type:
                _element_bits(self.element_type)

    def bases(self, shape: Sequence[Int]) -> Bases:
        """Return Triton's linear layout: for each axis the coordinate at each bit, lowest first.

        >>> from morello_layouts import parse
        >>> parse("#ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 2, order = [1, 0]}>"
        ...      ).bases((4, 4))
        {'offset': ((0, 1), (0, 2), (1, 2), (2, 0))}

        Raises:
            ShapeError: if a size is not a power of two, or a tile of the encoding is larger.
        """
        rank = self.encoding.rank
        require_rank(shape, len(shape) if rank is None else rank, self.encoding.kind)
        return _bases(self.encoding, _powers(shape))

    def recipe(self, shape: Sequence[Int], /) -> Recipe:
        sizes = self._buffer(shape)
        self.bases(sizes)  # checks the sizes
        found = _recipe(self.encoding, known(sizes))
        if sizes == tuple(shape):
            return found
        return replace(found, shape=tuple(shape), steps=(Pad(sizes), *found.steps))

    def _buffer(self, shape: Sequence[Int]) -> tuple[Int, ...]:
        """The sizes of the buffer: those of the array, unless it is a view of another one."""
        given = [each.split("x") for each in self.after if each[0].isdecimal()]
        if not given:
            return tuple(shape)
        sizes = tuple(map(int, given[-1][-len(shape) :]))
        if len(sizes) < len(shape) or any(map(gt, known(tuple(shape)), sizes)):
            raise ShapeError(
                f"a view of {'x'.join(given[-1])}: got {'x'.join(map(str, shape))}",
                "a view is a part of its buffer",
                "write the sizes of the buffer behind the memory space",
            )
        return sizes

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        """Return the offset as exclusive ors of the coordinates' bits, in runs of bits."""
        shape = self._buffer(shape)
        offset = _xor_of_bits(coordinates, known(tuple(shape)), self.bases(shape))
        paddings = self.encoding.numbers("paddings")
        return sum((offset // interval * padding for interval, padding in paddings), offset)

    def by_document(self, coordinate: Sequence[int], shape: Sequence[int], /) -> tuple[int, int]:
        return place(self.encoding, coordinate, known(self._buffer(shape)))

    @property
    def sizes(self) -> tuple[Int | None, ...] | None:
        return self.shape

    @property
    def element(self) -> ElementType | None:
        if not self.element_type:
            return None
        return ElementType(self.element_type, _element_bits(self.element_type))

    def __str__(self) -> str:
        if self.shape is None:
            return str(self.encoding)
        if not self.element_type:
            return _lines(self.encoding, self.shape)
        head = "!ttg.memdesc" if self.encoding.is_memory else "tensor"
        sizes = "".join(f"{n}x" for n in self.shape)
        return f"{head}<{', '.join((sizes + self.element_type, str(self.encoding), *self.after))}>"


def _element_bits(element_type: str) -> int:
    is_pointer = element_type.startswith("!tt.ptr")
    return 64 if is_pointer else types.bits_of(element_type, ("element_type",))


def _lines(encoding: Encoding, shape: tuple[int, ...]) -> str:
    lines = []
    for name, vectors in encoding.fields:
        bits = [f"{name}={1 << k} -> ({', '.join(map(str, v))})" for k, v in enumerate(vectors)]
        lines.append("- " + ("\n  ".join(bits) or f"{name} is a size 1 dimension"))
    sizes = ", ".join(f"dim{k} (size {n})" for k, n in enumerate(shape))
    return "\n".join([*lines, f"where out dims are: [{sizes}]"])


@lru_cache(maxsize=256)
def _bases(encoding: Encoding, shape: tuple[int, ...]) -> Bases:
    found = bases_of(encoding, shape)
    order = ("block", *_axes(encoding))
    named = {name: tuple(found.get(name, ())) for name in order}
    return named if named["block"] else {name: named[name] for name in order[1:]}


def _axes(encoding: Encoding) -> tuple[str, ...]:
    if encoding.is_tensor_memory:
        return "row", "col"
    return (MEMORY,) if encoding.is_memory else ("warp", "lane", "register")


@lru_cache(maxsize=256)
def _recipe(encoding: Encoding, shape: tuple[int, ...]) -> Recipe:
    bases = _bases(encoding, shape)
    if encoding.is_tensor_memory:
        return _with_gaps(shape, bases)
    return _padded(recipe_of_bases(shape, bases), encoding.numbers("paddings"))


_PATHS: Final = 5
"""Bits of a row in a quarter of tensor memory; the higher ones may hold a row several times."""


def _with_gaps(shape: tuple[int, ...], bases: Bases) -> Recipe:
    """The recipe of tensor memory: a bit of a place without a coordinate is a gap."""
    gaps = {
        name: [k for k, v in enumerate(vectors) if not any(v) and (name == "col" or k < _PATHS)]
        for name, vectors in bases.items()
        if name != "block"
    }
    kept = {
        name: [v for k, v in enumerate(vectors) if k not in gaps.get(name, ())]
        for name, vectors in bases.items()
    }
    found = recipe_of_bases(shape, kept)
    steps, sizes = list(found.steps), [1 << len(vectors) for vectors in kept.values()]
    for axis, name in enumerate(kept):
        for k in gaps.get(name, ()):
            tiles: list[int | None] = [None] * len(sizes)
            counts = [1] * len(sizes)
            halves = [*sizes[:axis], sizes[axis] >> k, 2 << k, *sizes[axis + 1 :]]
            sizes[axis] *= 2
            tiles[axis], counts[axis] = 1 << k, 2
            steps += [Split(tuple(tiles)), Pad(tuple(halves)), Merge(tuple(counts))]
    return replace(found, steps=tuple(steps))


def _powers(shape: Sequence[Int]) -> tuple[int, ...]:
    sizes = known(tuple(shape))
    for k, n in enumerate(sizes):
        if n.bit_count() != 1:
            raise ShapeError(
                f"size of dimension {k}: expected a power of two, got {n}",
                "Triton's layouts choose bits of coordinates",
                f"pad the dimension to {1 << max(n - 1, 0).bit_length()}",
            )
    return sizes


def _padded(recipe: Recipe, paddings: Sequence[tuple[int, int]]) -> Recipe:
    """The recipe with padding after every interval of its slots but the last one."""
    size = recipe.size
    assert isinstance(size, int)
    inner, steps, tail = 1, list(recipe.steps), 0
    if len(recipe.physical_shape) != 1:
        steps.append(Merge((len(recipe.physical_shape),)))
    width: int | None = None
    for interval, padding in sorted(paddings):
        if interval >= size:
            continue
        count = interval // inner
        if width is None:
            steps += (Split((count,)), Pad((size // interval, count + padding)))
            width = count + padding
        else:
            steps += (Split((count, None)), Merge((1, 2)))
            width = count * width + padding
            steps.append(Pad((size // interval, width)))
        inner, tail = interval, tail + padding
    return recipe if width is None else Recipe(recipe.shape, tuple(steps), -tail)


def _xor_of_bits(at: Sequence[AffineExpr], shape: tuple[int, ...], bases: Bases) -> AffineExpr:
    """The lowest offset of a coordinate: each run of its bits is an exclusive or of digits."""
    places = places_of_bases(shape, bases)
    rows = transposed(places, sum(map(len, bases.values())))
    digits = [
        (dim, k) for dim, n in reversed([*enumerate(shape)]) for k in range(n.bit_length() - 1)
    ]
    offset, start = AffineExpr((), 0), 0
    while start < len(rows):
        end, first = start + 1, [*bits_of(rows[start])]
        while end < len(rows) and rows[end] == rows[end - 1] << 1:
            if any(digits[k + end - start][0] != digits[k][0] for k in first):
                break
            end += 1
        parts = [_digit(at, shape, *digits[k], end - start) for k in first]
        if first:
            offset += reduce(xor, parts) * (1 << start)
        start = end
    return offset


def _digit(
    at: Sequence[AffineExpr], shape: tuple[int, ...], dim: int, low: int, count: int
) -> AffineExpr:
    """Return ``count`` bits of a coordinate, from bit ``low`` on."""
    digit = at[dim] // (1 << low)
    return digit if shape[dim] == 1 << (low + count) else digit % (1 << count)


# ---- the third hand, in integers: blocked and swizzled encodings by the formulas in
# ``TritonGPUAttrDefs.td``; the others by their bases, of which an element's place is the xor


def place(e: Encoding, coordinate: Sequence[int], shape: Sequence[int]) -> tuple[int, int]:
    """Return the lowest offset of an element's places, and the number of all places."""
    is_plain = not any(name.startswith(("CGA", "CTA")) for name, _ in e.fields)
    if e.kind == "blocked" and is_plain:
        return _in_blocks(e, coordinate, shape)
    if e.kind == "swizzled_shared" and is_plain:
        return _swizzled(e, coordinate, shape), prod(shape)
    offset, size = _by_definition(e, tuple(coordinate), tuple(shape))
    paddings = e.numbers("paddings")
    return _with_paddings(offset, paddings), _with_paddings(size - 1, paddings) + 1


def _with_paddings(offset: int, paddings: Sequence[tuple[int, int]]) -> int:
    """The offset after the paddings of all whole intervals before it."""
    return offset + sum(offset // interval * padding for interval, padding in paddings)


def _in_blocks(e: Encoding, coordinate: Sequence[int], shape: Sequence[int]) -> tuple[int, int]:
    """Each thread has a block, each warp a box of threads, and all again until the shape is full.

    A lane or warp beyond the shape holds what the first one holds.
    """
    order, left, sizes = e.numbers("order"), list(coordinate), list(shape)
    index, count = {"register": 0, "lane": 0, "warp": 0}, {"register": 1, "lane": 1, "warp": 1}
    for name, field in (
        ("register", "sizePerThread"),
        ("lane", "threadsPerWarp"),
        ("warp", "warpsPerCTA"),
    ):
        for dim in order:
            here = min(e.numbers(field)[dim], sizes[dim])
            index[name] += left[dim] % here * count[name]
            count[name] *= here if name == "register" else e.numbers(field)[dim]
            left[dim], sizes[dim] = left[dim] // here, sizes[dim] // here
    for dim in order:
        index["register"] += left[dim] * count["register"]
        count["register"] *= sizes[dim]
    thread = index["warp"] * count["lane"] + index["lane"]
    return thread * count["register"] + index["register"], prod(count.values())


def _swizzled(e: Encoding, coordinate: Sequence[int], shape: Sequence[int]) -> int:
    """Rows one after the other; a row's phase is xored with the vectors of its columns."""
    column, *rows = e.numbers("order")
    offset, _ = row_major((coordinate[dim], shape[dim]) for dim in reversed(rows))
    phase = coordinate[rows[0]] // e.number("perPhase") % e.number("maxPhase") if rows else 0
    width: int = shape[column]
    moved: int = coordinate[column] ^ e.number("vec") * phase % width
    return offset * width + moved


def _by_definition(
    e: Encoding, coordinate: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, int]:
    """Try each bit of the place from the highest on: it is set only if the lower ones fail."""
    vectors, spans = _spans(e, shape)
    wanted, offset = _number(coordinate, shape), 0
    for bit in reversed(range(len(vectors))):
        if _reduced(wanted, spans[bit]):
            wanted ^= vectors[bit]
            offset |= 1 << bit
    return offset, 1 << len(vectors)


@lru_cache(maxsize=64)
def _spans(e: Encoding, shape: tuple[int, ...]) -> tuple[list[int], list[list[int]]]:
    """The bases as numbers, and for each bit what the lower bits reach: leading bits all differ."""
    bases = bases_of(e, shape)
    names = ("offset", "register", "lane", "warp", "col", "row", "block")
    vectors = [_number(v, shape) for name in names for v in bases.get(name, ())]
    spans: list[list[int]] = [[]]
    for vector in vectors:
        rest = _reduced(vector, spans[-1])
        spans.append(sorted([*spans[-1], rest] if rest else spans[-1], reverse=True))
    return vectors, spans


def _reduced(number: int, span: list[int]) -> int:
    for member in span:
        number = min(number, number ^ member)
    return number


def _number(coordinate: Sequence[int], shape: Sequence[int]) -> int:
    return row_major(zip(coordinate, shape, strict=True))[0]
