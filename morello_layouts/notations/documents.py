"""Second opinions in integers: what the documents of XLA, CuTe and small notations say.

``verify`` holds everything else against these functions (``Layout.by_document``), so they call
nothing of the package. Notations of several kinds have theirs after their value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import gcd, prod
from typing import Any, Final, TypeAlias


def row_major(axes: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """Return a place in a box and the size of the box, by pairs of a coordinate and a size.

    >>> row_major([(1, 2), (2, 3)])
    (5, 6)
    """
    place, size = 0, 1
    for x, n in axes:
        place, size = place * n + x, size * n
    return place, size


def place_in_blocks(
    coordinate: Sequence[int],
    shape: Sequence[int],
    order: Sequence[int],
    blocks: Sequence[tuple[int, int]],
) -> tuple[int, int]:
    """Return an element's offset and the buffer's size in integers: the blocks, then the order.

    Second opinions (``Layout.by_document``) use it; recipes and reference formulas do not.

    >>> place_in_blocks((1, 17, 2), (2, 20, 3), (0, 1, 2), [(1, 16)])
    (177, 192)
    """
    at, left, offset, size = list(coordinate), list(shape), 0, 1
    for dim, block in reversed(blocks):
        offset, size = offset + at[dim] % block * size, size * block
        at[dim], left[dim] = at[dim] // block, (left[dim] + block - 1) // block
    for dim in order[::-1]:
        offset, size = offset + at[dim] * size, size * left[dim]
    return offset, size


def by_pattern(
    coordinate: Sequence[int],
    shape: Sequence[int],
    left: Sequence[Sequence[str]],
    right: Sequence[Sequence[str]],
    lengths: Mapping[str, int],
) -> tuple[int, int]:
    """Return an element's offset and the buffer's size by einops' documentation of "rearrange".

    In parentheses the last axis varies fastest; the memory is the right side in row-major order.

    >>> by_pattern((5, 2), (6, 3), [("h", "p"), ("w",)], [("h",), ("w",), ("p",)], {"p": 2})
    (17, 18)
    """
    dots = [f"...{k}" for k in range(len(shape) - len(left) + 1)]
    dims: list[Sequence[str]] = []
    for entry in left:
        dims += [[dot] for dot in dots] if "..." in entry else [entry]
    axes: dict[str, tuple[int, int]] = {}
    for x, n, dim in zip(coordinate, shape, dims, strict=True):
        rest, given = x, [lengths[axis] for axis in dim if axis in lengths]
        for length in given:
            n //= length  # noqa: PLW2901
        for axis in reversed(dim):
            size = lengths.get(axis, n)
            axes[axis] = rest % max(size, 1), size
            rest //= max(size, 1)
    memory = chain.from_iterable(dots if axis == "..." else [axis] for axis in chain(*right))
    return row_major(axes.get(axis, (0, 1)) for axis in memory)  # 1 is an axis too


def by_formulas(
    formulas: Sequence[Any], at: Mapping[str, int], sizes: Mapping[str, int]
) -> tuple[int, int] | None:
    """Return the row-major place in a box, and the size of the box by TVM's ``map_shape``.

    TVM knows no bounds of an exclusive or, a choice, or a least value: then there is None.

    Args:
        formulas: trees of constants, names, floors and remainders: the coordinate in the box.
        at: the value of each name.
        sizes: the number of values of each name.

    >>> import morello_layouts as ml
    >>> layout = ml.parse("lambda i, j: (i//4, j, i%4)")
    >>> by_formulas(layout.forms, {"i": 5, "j": 2}, {"i": 6, "j": 3})
    (21, 24)
    """
    if any(map(_has_bits, formulas)):
        return None
    axes: list[tuple[int, int]] = []
    for formula in formulas:
        extent = _ends(formula, sizes)[1] + 1
        steps = [step for _, step in formula.terms]
        if steps and formula.const == 0:  # multiples of a number take up all its multiples
            extent += -extent % gcd(*steps)
        axes.append((_value(formula, at), extent))
    return row_major(axes)


def _has_bits(formula: Any) -> bool:
    return any(
        hasattr(part, "parts") or (hasattr(part, "operand") and _has_bits(part.operand))
        for part, _ in formula.terms
    )


def _value(formula: Any, at: Mapping[str, int]) -> int:
    total: int = formula.const
    for part, factor in formula.terms:
        if hasattr(part, "operand"):
            value = _value(part.operand, at) // part.divisor
            total += factor * (value if part.modulus is None else value % part.modulus)
        else:
            total += factor * at[part.name]
    return total


def _ends(formula: Any, sizes: Mapping[str, int]) -> tuple[int, int]:
    """Return the least and largest value if each remainder takes all its values."""
    low = high = formula.const
    for part, factor in formula.terms:
        if not hasattr(part, "operand"):
            ends = 0, sizes[part.name] - 1
        elif part.modulus is not None:
            ends = 0, part.modulus - 1
        else:
            least, most = _ends(part.operand, sizes)
            ends = least // part.divisor, most // part.divisor
        first, last = sorted(factor * end for end in ends)
        low, high = low + first, high + last
    return low, high


# ---- named formats


def _up(n: int, unit: int) -> int:
    return (n + unit - 1) // unit


def _crouton(rows: int, columns: int, pair: int) -> tuple[tuple[int, ...], Callable[..., int]]:
    """Hexagon's croutons: 32 channels, of each of them ``pair`` neighbours in a row."""

    def offset(n: int, y: int, x: int, c: int, *sizes: int) -> int:
        _, h, w, channels = sizes
        block = (n * _up(h, rows) + y // rows) * _up(w, columns) + x // columns
        inside = (y % rows * columns + x % columns // pair * pair) * 32
        whole = rows * columns * 32
        return (block * _up(channels, 32) + c // 32) * whole + inside + c % 32 * pair + x % pair

    return (1, rows, columns, 32), offset


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
    "TILE_LAYOUT": ((32, 32), lambda row, column, _, columns: (
        (row // 32 * _up(columns, 32) + column // 32) * 1024 + (row & 16) * 32 + (column & 16) * 16
        + row % 16 * 16 + column % 16)),
    **{f"nhwc-{k}h2w32c2w": _crouton(k, 4, 2) for k in (8, 4)},
    **{f"nhwc-{k}h{k}w32c": _crouton(k, k, 1) for k in (8, 4)},
    "FRACTAL_NZ": _nz(16),
    **{f"FRACTAL_NZ_C0_{k}": _nz(k) for k in (2, 4, 8, 32)},
    "NC1HWC0": _nc1hwc0(16),
    "NC1HWC0_C04": _nc1hwc0(4),
    **{f"CHW{k}": _chw(k) for k in (2, 4, 16, 32)},
    **{f"HWC{k}": _hwc(k) for k in (8, 16)},
}  # fmt: skip
"""The multiples up to which dimensions are padded; the offset, of coordinates and then sizes."""


def by_name(name: str, coordinate: Sequence[int], shape: Sequence[int]) -> tuple[int, int]:
    """Return an element's offset and the buffer's size in a named format.

    Leading dimensions are batches.

    >>> by_name("COL32", (1, 33), (2, 40))
    (97, 128)
    """
    if name == "morton":
        return _interleaved(coordinate, shape), prod(shape)
    if name == "column-major":
        coordinate, shape = coordinate[::-1], shape[::-1]
    units, offset = _FORMATS.get(name, ((), lambda: 0))
    first = len(shape) - len(units)
    batch, batches = row_major(zip(coordinate[:first], shape[:first], strict=True))
    sizes = shape[first:]
    each = prod(_up(n, unit) * unit for n, unit in zip(sizes, units, strict=True))
    return batch * each + offset(*coordinate[first:], *sizes), batches * each


def _interleaved(coordinate: Sequence[int], shape: Sequence[int]) -> int:
    """Return the bits of the coordinates in turn, the last coordinate's lowest."""
    offset, place = 0, 0
    for level in range(max(shape, default=1).bit_length()):
        for x, n in zip(coordinate[::-1], shape[::-1], strict=True):
            if 2**level < n:
                offset += x // 2**level % 2 * 2**place
                place += 1
    return offset


COMBINE: Final = -1
"""A tile's ``*``: combine this dimension with the next more minor one."""


def by_tiles(
    coordinate: Sequence[int],
    shape: Sequence[int],
    minor_to_major: Sequence[int],
    tiles: Sequence[Sequence[int]],
    tail: int,
) -> tuple[int, int]:
    """Return an element's offset and the buffer's size.

    >>> by_tiles((2, 3), (3, 5), (1, 0), [(2, 2)], 32)
    (17, 32)
    """
    axes = [(coordinate[k], shape[k]) for k in reversed(minor_to_major)]
    for tile in tiles:
        axes = [(0, 1)] * (len(tile) - len(axes)) + axes
        first = len(axes) - len(tile)
        at, size = 0, 1
        tiled, within = axes[:first], []
        for (x, n), t in zip(axes[first:], tile, strict=True):
            at, size = at * n + x, size * n
            if t != COMBINE:
                tiled.append((at // t, (size + t - 1) // t))
                within.append((at % t, t))
                at, size = 0, 1
        axes = tiled + within
    offset, size = row_major(axes)
    if tiles and size % tail:
        size += tail - size % tail
    return offset, size


def by_strides(
    coordinate: Sequence[int], shape: Sequence[Any], stride: Sequence[Any]
) -> tuple[int, int]:
    """Return an element's offset and the buffer's size; one shape and stride for each mode.

    In a mode the first part varies fastest. A stride is a number, or basis elements have ``value``
    and ``modes``; then the offset is the place in the box of all results, the first mode fastest.

    >>> by_strides((5, 2), ((4, 2), 8), ((1, 16), 4))
    (25, 48)
    """
    at: dict[tuple[int, ...], int] = {}
    most: dict[tuple[int, ...], int] = {}
    for x, mode, steps in zip(coordinate, shape, stride, strict=True):
        rest = x
        for n, step in zip(_flat(mode), _flat(steps), strict=True):
            where = getattr(step, "modes", ())
            by = 0 if n == 1 else int(getattr(step, "value", step))  # perhaps a name: not used
            rest, digit = divmod(rest, max(n, 1))
            at[where] = at.get(where, 0) + digit * by
            most[where] = most.get(where, 0) + (n - 1) * abs(by)
    offset, size = 0, 1
    for where in sorted(most):
        offset, size = offset + at[where] * size, size * (most[where] + 1)
    return offset, size


def longest_row(shape: Sequence[Any], stride: Sequence[Any]) -> int:
    """Return the largest product of a size and its stride: rows with all of their pitch.

    >>> longest_row((10, 50), (56, 1))
    560
    """
    pairs = zip(_flat(tuple(shape)), _flat(tuple(stride)), strict=True)
    return max((n * int(step) for n, step in pairs if not hasattr(step, "modes")), default=0)


def by_swizzle(
    place: int, size: int, numbers: tuple[int, int, int], bits: int | None
) -> tuple[int, int]:
    """Return the swizzled place of an element, and the size of the buffer in whole blocks.

    >>> by_swizzle(64, 512, (3, 3, 3), None), by_swizzle(64, 512, (3, 4, 3), 16)
    ((72, 512), (72, 512))
    """
    b, m, s = numbers
    # Addresses count bits here, as elements may be smaller than a byte.
    unit, byte = (1, 0) if bits is None else (bits, 3)
    read = place * unit & (1 << b) - 1 << m + max(0, s) + byte
    changed = place * unit ^ (read >> s if s > 0 else read << -s)
    block = max(1, (1 << m + b + max(0, -s) + byte) // unit) if b else 1
    return changed // unit, -(-size // block) * block


def _flat(part: Any) -> Iterable[Any]:
    return [leaf for each in part for leaf in _flat(each)] if isinstance(part, tuple) else [part]
