"""Numbers out of the bytes of a record and back, by NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any, Final

from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import RECORD_VALUES
from morello_layouts.core.recipe import known
from morello_layouts.errors import ShapeError, UnsupportedError
from morello_layouts.programs.records.block import Block, PieceMap
from morello_layouts.programs.records.formula import computed, read_formula

_CHUNK = 1 << 22  # values that are computed at a time
SMALL_FLOATS: Final = {
    "f16": (5, 10), "f8e4m3fn": (4, 3), "f8e5m2": (5, 2), "f6e2m3fn": (2, 3), "f6e3m2fn": (3, 2),
    "f4e2m1fn": (2, 1),
}  # fmt: skip
"""The bits of exponent and mantissa of floats with a sign."""


def runs(part: PieceMap) -> Iterator[tuple[int, int, Any]]:
    """Yield (first bit of the element, count, bit of the block) for runs within a byte.

    The places are an array over the part's box.
    """
    *box, width = known(part.bits.sizes)
    lo, _ = part.field.piece_bits(part.piece)
    at = {f"d{k}": x for k, x in enumerate(np.indices(tuple(box), sparse=True))}
    for bit in range(0, width, 8):
        places = part.bits.given[0].evaluate({**at, f"d{len(box)}": bit})
        yield lo + bit, min(8, width - bit), np.broadcast_to(places, tuple(box))


def bits_of(part: PieceMap) -> Any:
    """Return the bit of a block at which each bit of each element of a part lies."""
    sizes = known(part.bits.sizes)
    at = {f"d{k}": x for k, x in enumerate(np.indices(tuple(sizes), sparse=True))}
    return np.broadcast_to(part.bits.given[0].evaluate(at), tuple(sizes))


def box_slices(part: PieceMap) -> tuple[slice, ...]:
    """Return the elements of the field that a part holds, as an index of arrays."""
    box = part.field.piece_box(part.piece)
    return tuple(slice(*known(ends)) for ends in box)


def places(record: Block, name: str) -> Any:
    """Return the bit of a block at which each bit of each element of a field lies.

    Returns:
        An array with the dimensions of the field, then the bits of an element from the lowest.
    """
    one = record[name]
    found: Any = np.full((*known(one.shape), one.bits), -1, np.int64)
    for part in record.parts_of(name):
        found[(*box_slices(part), slice(*one.piece_bits(part.piece)))] = bits_of(part)
    return found


def bytes_of_block(record: Block) -> int:
    """Return the bytes of a block; raise if it has a part of one, a name, or a field outside."""
    bits = record.bits
    if isinstance(bits, int) and bits % 8 == 0:
        for part in record.parts:  # those that have padding may end before their layout does
            if not isinstance(part.end, int) or part.end > bits:
                last = int(bits_of(part).max())
                if last >= bits:
                    raise ShapeError(
                        f"{part.label} lies at bit {last}, and the block ends at bit {bits}",
                        "the numbers of a block lie inside of it",
                        f"write {-(-(last + 1) // 8)} bytes after the name, or move the field",
                    )
        return bits // 8
    raise UnsupportedError(
        f"{record.name or 'the record'}: expected blocks of whole bytes, got {bits} bits",
        "the blocks of a buffer begin at bytes",
        "give sizes with .at(…), or write the size of a block as a number of bytes",
    )


def blocks_of(record: Block, buffer: Any) -> Any:
    """Return a buffer as bytes, a row for each block; raise if it does not hold whole blocks."""
    if [name for name in record.names if name not in {str(n) for n in record.blocks}]:
        raise ShapeError(
            f"sizes are not known: {', '.join(record.names)}",
            "bytes are read at sizes that are numbers",
            "give them: record.at(K=64, N=64)",
        )
    size = bytes_of_block(record)
    flat = np.ascontiguousarray(np.frombuffer(buffer, np.uint8))
    count = [n for n in record.blocks if isinstance(n, int)]
    wanted = prod(count) if len(count) == len(record.blocks) else None
    if len(flat) % max(size, 1) or (wanted is not None and len(flat) != wanted * size):
        expected = f"a multiple of {size}" if wanted is None else str(wanted * size)
        raise ShapeError(
            f"the buffer: expected {expected} bytes, got {len(flat)}",
            f"a block of {record.name or 'the record'} has {size} bytes",
            "give the whole buffer, and nothing else; a file may have been cut short",
        )
    return flat.reshape(-1, size)


def extract(record: Block, buffer: Any) -> dict[str, Any]:
    """Return each field of a buffer as integers; floats as their bits.

    Args:
        record: where the fields lie.
        buffer: bytes, or an array of them: whole blocks.

    Returns:
        NumPy arrays by field, with the blocks as first dimension.

    >>> from morello_layouts import record
    >>> record("r: 2 bytes { a: u4[2] at byte 0; b: s8 at byte 1 }").unpack(bytes([0x21, 0xff]))
    {'a': array([[1, 2]]), 'b': array([-1])}
    """
    rows = blocks_of(record, buffer)
    last = rows.shape[1] - 1
    found = {}
    for one in record.fields:
        shape = (len(rows), *known(one.shape))
        numbers = np.zeros(shape, np.uint64)
        for part in record.parts_of(one.name):
            box = box_slices(part)
            for first, count, places in runs(part):
                byte, shift = places >> 3, places & 7
                value = rows[:, byte].astype(np.uint64)
                if np.any(shift + count > 8):
                    value |= rows[:, np.minimum(byte + 1, last)].astype(np.uint64) << np.uint64(8)
                value = value >> shift.astype(np.uint64) & np.uint64((1 << count) - 1)
                numbers[(slice(None), *box)] |= value << np.uint64(first)
        found[one.name] = _signed(numbers, one.bits) if one.type[0] == "s" else (
            numbers.view(np.int64) if one.bits < 64 else numbers)  # fmt: skip
    return found


def _signed(numbers: Any, bits: int) -> Any:
    shift = np.int64(64 - bits)
    return (numbers.view(np.int64) << shift) >> shift


def insert(record: Block, fields: Mapping[str, Any]) -> Any:
    """Return the bytes of a record of these integers; bits that no field uses are 0.

    >>> from morello_layouts import record
    >>> pair = record("r: 2 bytes { a: u4[2] at byte 0; b: s8 at byte 1 }")
    >>> pair.pack({"a": [1, 2], "b": -1})
    array([ 33, 255], dtype=uint8)
    """
    arrays = {}
    count = 1
    for one in record.fields:
        if one.name not in fields:
            raise ShapeError(f"no numbers for {one.name}", "a record holds all of its fields",
                             "give an array for each field")  # fmt: skip
        given = np.asarray(fields[one.name])
        shape = tuple(known(one.shape))
        if given.shape[given.ndim - len(shape) :] != shape:
            raise ShapeError(f"{one.name}: expected the shape {shape}, got {given.shape}",
                             "the blocks come first, then the dimensions of the field",
                             f"give an array of shape (blocks, *{shape})")  # fmt: skip
        low, high = (
            (-(1 << one.bits - 1), 1 << one.bits - 1) if one.type[0] == "s" else (0, 1 << one.bits)
        )
        if given.size and not (low <= int(given.min()) and int(given.max()) < high):
            raise ShapeError(f"{one.name}: expected integers from {low} to {high - 1}, got "
                             f"{given.min()} to {given.max()}", f"its type is {one.type}",
                             "give the bits of a float as an unsigned integer")  # fmt: skip
        arrays[one.name] = given.reshape(-1, *shape)
        count = max(count, len(arrays[one.name]))
    rows = np.zeros((count, bytes_of_block(record) + 1), np.uint8)
    places = [np.ravel(bits_of(part)) for part in record.parts]
    shared = np.flatnonzero(np.bincount(np.concatenate([*places, np.zeros(0, np.int64)])) > 1)
    if len(shared):
        raise ShapeError(f"two numbers share bit {shared[0]} of a block",
                         "each bit of a buffer is of one number",
                         "move a field; record.check() says which they are")  # fmt: skip
    for one in record.fields:
        numbers = np.broadcast_to(arrays[one.name], (count, *arrays[one.name].shape[1:]))
        numbers = numbers.astype(np.uint64 if one.bits == 64 and one.type[0] == "u" else np.int64)
        numbers = numbers.astype(np.uint64)
        for part in record.parts_of(one.name):
            box = box_slices(part)
            for first, width, places in runs(part):
                value = numbers[(slice(None), *box)] >> np.uint64(first)
                value = (value & np.uint64((1 << width) - 1)) << (places & 7).astype(np.uint64)
                every = np.arange(count).reshape(-1, *(1,) * places.ndim)
                np.bitwise_or.at(
                    rows, (every, places >> 3), (value & np.uint64(255)).astype(np.uint8)
                )
                high = (value >> np.uint64(8)).astype(np.uint8)
                np.bitwise_or.at(rows, (every, (places >> 3) + 1), high)
    return rows[:, :-1].reshape(-1)


def floats(bits: Any, kind: str) -> Any:
    """Return the 32-bit floats that some bits are, by the type's name.

    >>> floats([0x3C00, 0xC000], "f16"), floats([1, 7, 15], "f4e2m1fn")
    (array([ 1., -2.], dtype=float32), array([ 0.5,  6. , -6. ], dtype=float32))
    """
    bits = np.asarray(bits)
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float32)
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if kind == "f32":
        return bits.astype(np.uint32).view(np.float32)
    if kind == "f8e8m0fnu":
        powers = np.ldexp(np.float32(1), bits.astype(np.int32) - 127)
        return np.where(bits == 255, np.float32(np.nan), powers)
    if kind not in SMALL_FLOATS:
        raise UnsupportedError(
            f"{kind}: its values are not computed",
            f"known are bf16, f32, f8e8m0fnu, {', '.join(SMALL_FLOATS)}",
            "write the type as u8, and a formula of its values",
        )
    exponents, mantissas = SMALL_FLOATS[kind]
    sign = 1 - 2 * (bits >> exponents + mantissas & 1)
    exponent, mantissa = bits >> mantissas & (1 << exponents) - 1, bits & (1 << mantissas) - 1
    bias = (1 << exponents - 1) - 1
    whole = mantissa + (np.minimum(exponent, 1) << mantissas)
    found = np.ldexp(sign * whole, np.maximum(exponent, 1) - bias - mantissas).astype(np.float32)
    found = np.where((sign < 0) & (whole == 0), np.float32(-0.0), found)
    if kind == "f8e4m3fn":
        return np.where(bits & 127 == 127, np.float32(np.nan), found)
    if kind == "f8e5m2":
        infinite = np.where(mantissa == 0, np.float32(np.inf) * sign, np.nan).astype(np.float32)
        return np.where(exponent == 31, infinite, found)
    return found


def decode(record: Block, buffer: Any) -> Any:
    """Return the values of a buffer: 32-bit floats, with the blocks as first dimension.

    >>> from morello_layouts import record
    >>> block = bytes([0, 0x3C, *range(32)])    # a scale of 1.0, and 32 weights
    >>> record("q8_0[B]").decode(block)[0, :4]
    array([0., 1., 2., 3.], dtype=float32)
    """
    term = read_formula(record)
    rows = blocks_of(record, buffer)
    index = record.value.index if record.value is not None else ()
    sizes = {name: known((n,))[0] for name, n in index}
    if prod(sizes.values()) > RECORD_VALUES:
        raise UnsupportedError(
            f"{record.name or 'the record'}: {prod(sizes.values())} values of a block",
            f"at most {RECORD_VALUES} are computed at a time",
            "give smaller blocks, and several of them",
        )
    out = np.empty((len(rows), *sizes.values()), np.float32)
    grid = np.indices((1, *sizes.values()), sparse=True)[1:]
    places = dict(zip(sizes, grid, strict=True))
    step = max(1, _CHUNK // prod(sizes.values()))
    for start in range(0, len(rows), step):
        chunk = rows[start : start + step]
        one = replace(record, blocks=(len(chunk),))
        fields = extract(one, chunk)
        for f in record.fields:
            if not f.is_integer:
                fields[f.name] = floats(fields[f.name], f.type)
        with np.errstate(invalid="ignore", over="ignore"):
            out[start : start + step] = computed(term, places, fields)
    return out
