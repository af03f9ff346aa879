"""What the documents of named formats say in integers, read apart from the table of formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Final, TypeAlias


def _up(n: int, unit: int) -> int:
    return (n + unit - 1) // unit


_Places: TypeAlias = tuple[tuple[int, ...], Callable[..., int]]


def _nz(k: int) -> _Places:
    return (16, k), lambda m, n, rows, _: (n // k * (_up(rows, 16) * 16) + m) * k + n % k


def _nc1hwc0(k: int) -> _Places:
    return (1, k, 1, 1), lambda n, c, y, x, _, channels, h, w: (
        ((n * _up(channels, k) + c // k) * h + y) * w + x) * k + c % k  # fmt: skip


def _chw(k: int) -> _Places:
    return (k, 1, 1), lambda c, y, x, _, h, w: (c // k * h + y) * w * k + x * k + c % k


def _hwc(k: int) -> _Places:
    return (k, 1, 1), lambda c, y, x, channels, _, w: (y * w + x) * (_up(channels, k) * k) + c


_FORMATS: Final[Mapping[str, _Places]] = {
    "mx128x4": ((128, 4), lambda m, k, _, blocks: (
        (m // 128 * _up(blocks, 4) + k // 4) * 512 + m % 32 * 16 + m % 128 // 32 * 4 + k % 4)),
    # As AMX's tdpbf16ps and tdpbssd read rows of B, pairs and fours of them in 32 bits.
    "vnni2": ((2, 1), lambda k, n, _, columns: (k // 2 * columns + n) * 2 + k % 2),
    "vnni4": ((4, 1), lambda k, n, _, columns: (k // 4 * columns + n) * 4 + k % 4),
    "mx8x4": ((8, 4), lambda m, k, _, blocks: (
        (m // 8 * _up(blocks, 4) + k // 4) * 32 + m % 8 * 4 + k % 4)),
    # As Vela's strides are: of rows, bricks, places and channels.
    "NHCWB16": ((1, 1, 1, 16), lambda n, y, x, c, _, h, w, d: (
        ((n * h + y) * _up(d, 16) * w + c // 16 * w + x) * 16 + c % 16)),
    "COL32": ((1, 32), lambda m, n, rows, _: n // 32 * 32 * rows + m * 32 + n % 32),
    # As FasterTransformer's kernels compute it with shifts, panels of whole tiles.
    "COL4_4R2_8C": ((8, 32), lambda m, n, rows, _: (
        n // 32 * _up(rows, 8) * 256 + (m // 8 * 8 + m % 2 * 4 + n % 32 // 8) * 32
        + (n % 8 // 4 * 4 + m % 8 // 2) * 4 + n % 4)),
    # As cublasLt.h gives it for a tile.
    "COL32_2R_4R4": ((32, 32), lambda m, n, rows, _: (
        n // 32 * 32 * (_up(rows, 32) * 32) + m // 32 * 1024
        + ((m % 32 % 8 // 2 * 4 + m % 32 // 8) * 2 + m % 2) * 32 + n % 32)),
    "FRACTAL_Z": ((16, 16, 1, 1), lambda n, c, y, x, count, _, h, w: (
        (((c // 16 * h + y) * w + x) * _up(count, 16) + n // 16) * 256 + n % 16 * 16 + c % 16)),
    # As MindSpore's NcdhwToFracZ3D computes it: per depth z all channels, places and rows of 16.
    "FRACTAL_Z_3D": ((16, 16, 1, 1, 1), lambda n, c, z, y, x, count, channels, _, h, w: (
        (((z * _up(channels, 16) + c // 16) * h * w + y * w + x) * (_up(count, 16) * 16) + n) * 16
        + c % 16)),
    "NDC1HWC0": ((1, 16, 1, 1, 1), lambda n, c, z, y, x, _, channels, d, h, w: (
        (((n * d + z) * _up(channels, 16) + c // 16) * h * w + y * w + x) * 16 + c % 16)),
    # As nnacl's PackNCHWToNC4HW4Fp32 steps from image to image.
    "NC4HW4": ((1, 4, 1, 1), lambda n, c, y, x, _, channels, h, w: (
        n * h * w * (_up(channels, 4) * 4) + c // 4 * h * w * 4 + 4 * (y * w + x) + c % 4)),
    # As MNN's converter calls MNNPackC4: images 4*h*w apart, blocks that times their number.
    "C4NHW4": ((1, 4, 1, 1), lambda n, c, y, x, count, _, h, w: (
        n * 4 * h * w + c // 4 * count * h * w * 4 + 4 * (y * w + x) + c % 4)),
    "CDHW32": ((32, 1, 1, 1), lambda c, z, y, x, _, d, h, w: (
        ((c // 32 * d + z) * h * w + y * w + x) * 32 + c % 32)),
    "DHWC8": ((8, 1, 1, 1), lambda c, z, y, x, channels, _, h, w: (
        ((z * h + y) * w + x) * (_up(channels, 8) * 8) + c)),
    "FRACTAL_NZ": _nz(16),
    **{f"FRACTAL_NZ_C0_{k}": _nz(k) for k in (2, 4, 8, 32)},
    "NC1HWC0": _nc1hwc0(16),
    "NC1HWC0_C04": _nc1hwc0(4),
    **{f"CHW{k}": _chw(k) for k in (2, 4, 16, 32)},
    **{f"HWC{k}": _hwc(k) for k in (8, 16)},
}  # fmt: skip
"""The multiples up to which dimensions are padded; the offset, of coordinates and then sizes."""


def by_name(name: str, coordinate: Sequence[int], shape: Sequence[int]) -> tuple[int, int]:
    """Return an element's offset and the buffer's size; leading dimensions are batches.

    >>> by_name("COL32", (1, 33), (2, 40))
    (97, 128)
    """
    if name == "morton":
        return _interleaved(coordinate, shape), prod(shape)
    if name == "column-major":
        coordinate, shape = coordinate[::-1], shape[::-1]
    units, offset = _FORMATS.get(name, ((), lambda: 0))
    first = len(shape) - len(units)
    batch = 0
    for x, n in zip(coordinate[:first], shape[:first], strict=True):
        batch = batch * n + x
    sizes = shape[first:]
    each = prod(_up(n, unit) * unit for n, unit in zip(sizes, units, strict=True))
    return batch * each + offset(*coordinate[first:], *sizes), prod(shape[:first]) * each


def _interleaved(coordinate: Sequence[int], shape: Sequence[int]) -> int:
    """Return the bits of the coordinates in turn, the last coordinate's lowest."""
    offset, place = 0, 0
    for level in range(max(shape, default=1).bit_length()):
        for x, n in zip(coordinate[::-1], shape[::-1], strict=True):
            if 2**level < n:
                offset += x // 2**level % 2 * 2**place
                place += 1
    return offset
