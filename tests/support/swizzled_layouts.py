"""Fifty swizzled layouts as texts, and their offsets by the vendors' own formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Swizzled:
    """A layout, and the offset of each element in elements."""

    text: str
    shape: tuple[int, int]
    offsets: NDArray[np.int64]


def _cute(b: int, m: int, s: int, rows: int, columns: int) -> Swizzled:
    """CUTLASS, ``swizzle.hpp``: B bits from M on are changed by those S higher."""
    x = np.arange(rows * columns)
    offsets = x ^ ((x & ((1 << b) - 1) << m + s) >> s)
    text = f"Sw<{b},{m},{s}> o 0 o ({rows},{columns}):({columns},1)"
    return Swizzled(text, (rows, columns), offsets.reshape(rows, columns))


def _triton(vec: int, per_phase: int, max_phase: int, rows: int, columns: int) -> Swizzled:
    """Triton, ``TritonGPUAttrDefs.td``: vectors of a row are exchanged by its phase."""
    i, j = np.indices((rows, columns))
    phase = (i // per_phase) % max_phase
    offsets = i * columns + ((j // vec) ^ phase) * vec + j % vec
    parameters = f"vec = {vec}, perPhase = {per_phase}, maxPhase = {max_phase}, order = [1, 0]"
    text = f"#ttg.swizzled_shared<{{{parameters}}}>"
    return Swizzled(text, (rows, columns), offsets)


def swizzled_layouts() -> Iterator[Swizzled]:
    """Yield 32 swizzles of CuTe, rows of no power of two among them, and 18 of Triton."""
    shapes = [(8, 64), (10, 50), (3, 24), (33, 16)]
    parameters = [
        (1, 3, 3),
        (2, 3, 3),
        (3, 3, 3),
        (2, 0, 3),
        (3, 0, 4),
        (1, 2, 5),
        (3, 4, 3),
        (2, 1, 2),
    ]
    for (b, m, s), shape in product(parameters, shapes):
        yield _cute(b, m, s, *shape)
    for vec, (per_phase, max_phase), rows in product((1, 4, 8), ((1, 8), (2, 4), (4, 2)), (8, 32)):
        yield _triton(vec, per_phase, max_phase, rows, 64)
