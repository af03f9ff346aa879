"""Files of packed weights: GGUF and safetensors. Their index is read; tensors stay in the file."""

from __future__ import annotations

import json
import mmap
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final

from morello_layouts.core.checks import shown
from morello_layouts.core.fields import Displayed, frozen
from morello_layouts.core.limits import RECORD_INDEX
from morello_layouts.core.recipe import is_inside, known, linear_index
from morello_layouts.errors import LayoutError, ShapeError
from morello_layouts.programs.records.formula import read_at, read_formula
from morello_layouts.programs.records.records import Record, record
from morello_layouts.programs.records.values import bytes_of_block, decode

# Numbers of ggml_type in ggml/include/ggml.h, and their names here.
_GGUF_TYPES: Final = {
    0: "f32", 1: "f16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 9: "q8_1",
    10: "q2_K", 11: "q3_K", 12: "q4_K", 13: "q5_K", 14: "q6_K", 15: "q8_K", 16: "iq2_xxs",
    17: "iq2_xs", 18: "iq3_xxs", 19: "iq1_s", 20: "iq4_nl", 21: "iq3_s", 22: "iq2_s",
    23: "iq4_xs", 24: "s8", 25: "s16",
    26: "s32", 27: "s64", 28: "f64", 29: "iq1_m", 30: "bf16", 34: "tq1_0", 35: "tq2_0",
    39: "mxfp4", 40: "nvfp4",
}  # fmt: skip
_SAFE_TYPES: Final = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "I64": "s64", "I32": "s32",
    "I16": "s16", "I8": "s8", "U8": "u8", "U16": "u16", "U32": "u32", "U64": "u64", "BOOL": "u8",
    "F8_E4M3": "f8e4m3fn", "F8_E5M2": "f8e5m2", "F8_E8M0": "f8e8m0fnu",
}  # fmt: skip
_NUMBERS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
                   12: "d"}  # fmt: skip
_TEXT, _LIST = 8, 9
_RANK: Final = 64  # dimensions of a tensor, and more


@frozen(slots=False)
class Tensor(Displayed):
    """A tensor of a file: its blocks follow each other along the last dimension."""

    name: str  #: its name in the file.
    type: str  #: a packed format, or a type of numbers; ``type 16`` if it is not known.
    shape: tuple[int, ...]  #: sizes in elements, the slowest varying first.
    start: int  #: the byte of the file at which it begins.
    length: int  #: bytes until the next tensor or the end of the file.

    json_keys: ClassVar = ("name", "type", "shape", "start", "length")

    @cached_property
    def record(self) -> Record:
        """The record of its blocks, at their count.

        Raises:
            LayoutError: if the format is not known.
            ShapeError: if a row is not made of whole blocks, or the file ends before the tensor.
        """
        is_packed = "_" in self.type or self.type in ("mxfp4", "nvfp4")
        if self.type.startswith("type "):
            raise LayoutError(
                f"{self.name}: expected a known format, got {self.type} of the file",
                "its document is not in the table of formats",
                "mlay record --formats lists those that are known",
            )
        text = (
            self.type
            if is_packed
            else f"{self.type}: {{ x: {self.type} at byte 0; value[k:1] = x }}"
        )
        found = record(text)
        per_block = prod(n for _, n in found.value.index) if found.value else 1
        row = self.shape[-1] if self.shape else 1
        if row % per_block:
            raise ShapeError(
                f"{self.name}: expected rows of whole blocks, got {row} elements",
                f"a block of {self.type} has {per_block}",
                "the file may be damaged",
            )
        count = prod(self.shape[:-1], start=1) * row // per_block
        sized = replace(found, blocks=(count,))
        if known((sized.byte_size,))[0] > self.length:
            raise ShapeError(
                f"{self.name}: expected {sized.byte_size} bytes, got {self.length}",
                "the next tensor, or the end of the file, comes before",
                "the file may be cut short: fetch it again",
            )
        return sized

    def block_of(self, *index: int) -> tuple[int, int]:
        """Return the block that holds an element, and which of the block's values it is."""
        if not is_inside(index, self.shape):
            raise ShapeError(
                f"{self.name}: expected an index inside {self.shape}, got {index}",
                "sizes are those of the tensor, the slowest varying first",
                "give one number for each dimension, from 0",
            )
        at, value = linear_index(index, self.shape, 0), self.record.value
        return divmod(at, prod(known(tuple(n for _, n in value.index))) if value else 1)

    def bits_of(self, *index: int) -> dict[str, list[tuple[int, int, int]]]:
        """Return where the bits of an element lie, of each number that its value is made of.

        Returns:
            By field, runs (bit of the number, bit of the file, count).
        """
        block, k = self.block_of(*index)
        record, found = self.record, dict[str, list[tuple[int, int, int]]]()
        ((name, _),) = record.value.index if record.value else (("k", 1),)
        for field, inner in read_at(read_formula(record), {name: k}):
            runs = record.bits_of(field, block, *inner)
            found.setdefault(field, []).extend((bit, at + 8 * self.start, n) for bit, at, n in runs)
        return found

    def __str__(self) -> str:
        return f"{self.name}: {self.type}{list(self.shape)} at byte {self.start}"


@frozen(slots=False)
class WeightsFile(Displayed):
    """The index of a file of packed weights."""

    path: str  #: the file.
    tensors: Mapping[str, Tensor]  #: its tensors, in the order of the file.

    json_keys: ClassVar = ("path", "tensors")

    def __getitem__(self, name: str) -> Tensor:
        """Return the tensor of a name."""
        if name not in self.tensors:
            raise LayoutError(
                f"a tensor: expected one of {len(self.tensors)} names, got {shown(name)}",
                "a file has the tensors of its index",
                f"mlay record {self.path} lists them",
            )
        return self.tensors[name]

    def read(self, name: str, blocks: slice = slice(None)) -> Any:
        """Return the values of a tensor's blocks, of which no others are read."""
        one = self[name]
        own = one.record
        size = bytes_of_block(own)
        first, last, _ = blocks.indices(known(own.blocks)[0])
        with _opened(self.path) as file:
            file.seek(one.start + first * size)
            data = file.read(max(last - first, 0) * size)
        return decode(replace(own, blocks=(max(last - first, 0),)), data)

    def __str__(self) -> str:
        lines = [f"{self.path}: {len(self.tensors)} tensors", *map(str, self.tensors.values())]
        return "\n".join(lines)


def read_weights(path: str | Path) -> WeightsFile:
    """Read the index of a GGUF or safetensors file; its tensors stay in the file.

    Args:
        path: the file.

    Returns:
        The tensors by name. Of each, ``bits_of(i, j)`` says which bits of the file hold an element;
        ``read(name, slice)`` gives the values of some blocks.

    Raises:
        LayoutError: if the file is neither, or is cut short inside its index.

    >>> from tempfile import TemporaryDirectory
    >>> index = b'{"w":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}}'
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.safetensors")
    ...     written = path.write_bytes(len(index).to_bytes(8, "little") + index + bytes(12))
    ...     read_weights(path)["w"].bits_of(1, 0)
    {'x': [(0, 568, 16)]}
    """
    with _opened(path) as file:
        size = file.seek(0, 2)
        if size < 8:
            raise _damaged(path, size)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                read = _gguf if data[:4] == b"GGUF" else _safetensors
                found = read(data, size)
            except LayoutError:  # it names the tensor
                raise
            except (
                struct.error,
                IndexError,
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
                RecursionError,
                OverflowError,
            ):
                raise _damaged(path, size) from None
    return WeightsFile(str(path), {one.name: one for one in found})


def _opened(path: str | Path) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise LayoutError(
            f"{path}: the file could not be read: {error.strerror or error}",
            "an index of weights is read from a file",
            "give the path of a .gguf or .safetensors file",
        ) from None


def _damaged(path: str | Path, size: int) -> LayoutError:
    return LayoutError(
        f"{path}: expected an index of GGUF or safetensors, got {size} bytes without one",
        "GGUF begins with the letters GGUF, safetensors with the length of a JSON text",
        "the file may be cut short: fetch it again",
    )


class _Index:
    """What reads the index of a GGUF file, which is little-endian."""

    def __init__(self, data: Any) -> None:
        self.data, self.at = data, 4

    def number(self, kind: str) -> Any:
        (found,) = struct.unpack_from(f"<{kind}", self.data, self.at)
        self.at += struct.calcsize(f"<{kind}")
        return found

    def text(self) -> str:
        length = self.number("Q")
        if length > RECORD_INDEX:
            raise ValueError
        start, self.at = self.at, self.at + length
        return bytes(self.data[start : self.at]).decode()

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind != _LIST:
            return self.number(_NUMBERS[kind])
        if depth > 2:
            raise ValueError
        inner, count = self.number("I"), self.number("Q")
        if count > RECORD_INDEX:
            raise ValueError
        if inner in _NUMBERS:
            self.at += count * struct.calcsize(f"<{_NUMBERS[inner]}")
            return None
        for _ in range(count):
            self.value(inner, depth + 1)
        return None


def _gguf(data: Any, size: int) -> list[Tensor]:
    """Read an index by ggml's docs/gguf.md."""
    index = _Index(data)
    if index.number("I") not in (2, 3):
        raise ValueError
    tensors, facts = index.number("Q"), index.number("Q")
    if max(tensors, facts) > RECORD_INDEX:
        raise ValueError
    found: dict[str, Any] = {}
    for _ in range(facts):
        name = index.text()
        found[name] = index.value(index.number("I"))
    rows = []
    for _ in range(tensors):
        name, rank = index.text(), index.number("I")
        if rank > 8:
            raise ValueError
        shape = tuple(index.number("Q") for _ in range(rank))[::-1]
        rows.append((name, index.number("I"), shape, index.number("Q")))
        for n in shape:
            _require_count(name, "a size", n)
    _once([(name, None) for name, *_ in rows])
    unit = found.get("general.alignment", 32)
    if type(unit) is not int or not 1 <= unit <= 1 << 32:
        raise _wrong("general.alignment", f"a number of bytes, got {shown(unit)}")
    start = -(-index.at // unit) * unit
    types = [_GGUF_TYPES.get(kind, f"type {kind}") for _, kind, _, _ in rows]
    return _placed([(name, kind, shape, start + at) for (name, _, shape, at), kind
                    in zip(rows, types, strict=True)], size)  # fmt: skip


def _safetensors(data: Any, size: int) -> list[Tensor]:
    """Read an index by the README of huggingface/safetensors."""
    (length,) = struct.unpack_from("<Q", data, 0)
    if not 2 <= length <= min(size - 8, RECORD_INDEX):
        raise ValueError
    found = json.loads(bytes(data[8 : 8 + length]), object_pairs_hook=_once)
    start, rows = 8 + length, []
    for name, row in found.items():
        if name == "__metadata__":
            continue
        kind = _SAFE_TYPES.get(row["dtype"], f"type {str(row['dtype'])[:20]}")
        sizes, (first, end) = row["shape"], row["data_offsets"]
        if len(sizes) > _RANK or not isinstance(sizes, list):
            raise ValueError
        for what, n in [*(("a size", n) for n in sizes), ("data_offsets", first),
                        ("data_offsets", end)]:  # fmt: skip
            _require_count(name, what, n)
        if not first <= end:
            raise _wrong(name, f"data_offsets that grow, got {first}, {end}")
        rows.append((name, kind, tuple(sizes), start + first))
    return _placed(rows, size)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise if it has a name twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise _wrong(name, "one tensor of a name")
    return found


def _require_count(name: str, what: str, n: Any) -> None:
    if type(n) is not int or not 0 <= n < 1 << 63:
        raise _wrong(name, f"{what} from 0 to {(1 << 63) - 1}, got {shown(n)}")


def _wrong(name: str, what: str) -> LayoutError:
    return LayoutError(
        f"{name[:80]}: expected {what}",
        "an index has the sizes and the place of each tensor, in whole numbers",
        "the file may be damaged: fetch it again",
    )


def _placed(rows: Sequence[tuple[str, str, tuple[int, ...], int]], size: int) -> list[Tensor]:
    for name, _, _, start in rows:
        if start > size:
            raise _wrong(name, f"a place in {size} bytes, got byte {start}; the file is cut short")
    starts = sorted({start for *_, start in rows} | {size})
    after = dict(zip(starts, [*starts[1:], size], strict=True))
    return [Tensor(name, kind, shape, start, max(0, after[start] - start))
            for name, kind, shape, start in rows]  # fmt: skip
