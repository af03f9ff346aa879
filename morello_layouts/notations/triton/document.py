"""Places of elements by Triton's documents, in plain integers.

Blocked and swizzled encodings by the formulas in ``TritonGPUAttrDefs.td``; the others by the
definition of a linear layout: the element at a place is at the exclusive or of its bits' bases.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from morello_layouts.notations.triton.encoding import Encoding
from morello_layouts.notations.triton.rules import bases_of


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
    offset = 0
    for dim in reversed(rows):
        offset = offset * shape[dim] + coordinate[dim]
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
    names = ("offset", "register", "lane", "warp", "block")
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
    total = 0
    for x, n in zip(coordinate, shape, strict=True):
        total = total * n + x
    return total
