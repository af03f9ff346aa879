"""The rules of fragments: which digits of an operand's coordinates a lane and a register are.

A rule gives the physical axes; sizes and the width of an element decide. ``document.py`` says where
each rule is from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from morello_layouts.notations.fragments.layout import Axis, Digit

Axes: TypeAlias = tuple[Axis, ...]

Parts: TypeAlias = Sequence[tuple[int | None, int, int]]


def lanes(lane: Parts, register: Parts, warp: Parts = ()) -> Axes:
    """Return the axes of digits, each given by dimension, unit and size, the slowest first."""
    named = [("lane", lane), ("register", register)]
    if warp:
        named.insert(0, ("warp", warp))
    return tuple(Axis(name, tuple(Digit(*part) for part in parts)) for name, parts in named)


def ptx_matrix(rows: int, columns: int, per: int, warps: int = 1) -> Axes:
    """Return the axes of NVIDIA's tiles of 8 rows and 4 words: a lane holds ``per`` in a row.

    Registers count the elements of a word, then tiles down, then tiles to the right. Warps lie
    one below the other.
    """
    own = rows // warps
    register = (1, 4 * per, columns // (4 * per)), (0, 8, own // 8), (1, 1, per)
    warp = [(0, own, warps)] if warps > 1 else []
    return lanes([(0, 1, 8), (1, per, 4)], register, warp)


def volta_f32() -> Axes:
    """Return the axes of C of Volta's m8n8k4 with f32 elements."""
    return lanes([(0, 4, 2), (1, 2, 2), (0, 1, 2)], [(1, 4, 2), (0, 2, 2), (1, 1, 2)])


def transposed_matrices(bits: int, count: int) -> Axes:
    """Return the axes of ``count`` matrices of 8 rows read with ``.trans``."""
    halves = [(1, 8, 2)] if bits == 8 else []
    return lanes([(1, 1, 8), (0, 2, 4)], [(0, 8, count), *halves, (0, 1, 2)])


def address_rows(rows: int, columns: int, interleaved: bool) -> Axes:
    """Return the axes of the rows whose addresses lanes give; lanes beyond them repeat the rows."""
    order = (
        [(0, 16, rows // 16), (0, 2, 4), (0, 8, 2), (0, 1, 2)] if interleaved else [(0, 1, rows)]
    )
    return lanes([(None, 1, 32 // rows), *order], [(1, 1, columns)])


def tensor_memory(paths: int, bits: int, repeats: int) -> Axes:
    """Return the axes of a load from tensor memory in words of 32 bits."""
    if paths == 32:
        return lanes([(0, 1, 32)], [(1, 1, repeats)])
    if bits == 32:
        return lanes([(1, repeats, 2), (0, 1, 16)], [(1, 1, repeats)])
    if bits == 64:
        return lanes([(0, 1, 8), (1, 1, 2), (0, 8, 2)], [(1, 2, repeats)])
    return ptx_matrix(16, bits // 32 * repeats, bits // 128)


def broadcast(rows: int, columns: int) -> Axes:
    """Return the axes of memory that all 32 lanes see whole."""
    return lanes([(None, 1, 32)], [(0, 1, rows), (1, 1, columns)])


def shuffled(mask: int) -> Axes:
    """Return the axes after 2 by 2 transposes between lanes ``mask`` apart."""
    high = (0, 2 * mask, 16 // mask)
    return lanes([high, (1, 1, 2), (0, 1, mask)], [(0, mask, 2)])


def mfma_input(m: int, k: int, blocks: int) -> Axes:
    """Return the axes of A of AMD's MFMA with dimensions block, i and k."""
    groups = 64 // (m * blocks)
    return lanes([(2, k // groups, groups), (0, 1, blocks), (1, 1, m)], [(2, 1, k // groups)])


def mfma_output(m: int, blocks: int, bits: int) -> Axes:
    """Return the axes of D of AMD's MFMA, m by m, with dimensions block, i and j."""
    height = 1 if bits == 64 else 4
    groups = min(64 // m, m // height)
    inner = 64 // (m * groups)
    lane = (1, height, groups), (0, 1, inner), (2, 1, m)
    rows = (1, height * groups, m // (height * groups)), (1, 1, height)
    return lanes(lane, [(0, inner, blocks // inner), *rows])


def wmma11_input(wave: int, k: int) -> Axes:
    """Return the axes of A of AMD's WMMA on gfx11."""
    return lanes([(None, 1, wave // 16), (0, 1, 16)], [(1, 1, k)])


def wmma11_output(wave: int) -> Axes:
    """Return the axes of D of AMD's WMMA on gfx11."""
    groups = wave // 16
    return lanes([(0, 1, groups), (1, 1, 16)], [(0, groups, 16 // groups)])


def wmma12_input(bits: int, k: int, wave: int) -> Axes:
    """Return the axes of A of AMD's WMMA on gfx12."""
    groups = [(1, 4, 2)] if bits == 16 else [(1, k // 2, 2)]
    if wave == 64:
        groups = [(1, 8, 2), (1, 4, 2)] if bits == 16 else [(1, k // 4, 2), (1, k // 2, 2)]
    own = k // 2 ** len(groups)
    chunks = [(1, 8, 2), (1, 1, 4)] if bits == 16 and wave == 32 else [(1, 1, own)]
    return lanes([*groups, (0, 1, 16)], chunks)


def wmma12_output(wave: int) -> Axes:
    """Return the axes of D of AMD's WMMA on gfx12."""
    quarters = [(0, 4, 2)] if wave == 64 else []
    return lanes([*quarters, (0, 8, 2), (1, 1, 16)], [(0, 1, 256 // wave)])


def tile(rows: int, columns: int, per: int = 1) -> Axes:
    """Return the axes of a tile of Intel's AMX; ``per`` elements down lie side by side."""
    row, column = Digit(0, per, rows // per), (Digit(1, 1, columns), Digit(0, 1, per))
    return Axis("row", (row,)), Axis("column", column)
