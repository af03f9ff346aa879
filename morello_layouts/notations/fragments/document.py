"""The vendors' formulas: at which coordinate of an operand the element of a thread's register is.

Plain integers, with the names of the documents. The rules in ``rules.py`` say the same as digits;
neither reads the other.

Sources: PTX ISA, "Warp Level Matrix Instructions" and "Asynchronous Warpgroup Level Matrix
Instructions"; CUTLASS, ``include/cute/atom/mma_traits_sm*.hpp`` and ``copy_traits_sm*.hpp``, whose
layouts number a thread's bits; AMD's Matrix Instruction Calculator; Intel's Architecture
Instruction Set Extensions Programming Reference, "Intel AMX"; MLX, ``steel/attn/mma.h``. Arm's
DDI 0616, "ZA tiles", whose table of overlaps LLVM repeats in ``TileAllocation.cpp``, and DDI 0602,
SMOPA; RISC-V's manual, "Mapping of Vector Elements to Vector Register State"; SpacemiT's
``riscv-ime-extension-spec``, "Dot-product matrix multiply-accumulate instructions"; AWS's NKI,
"Access Patterns".
"""

from __future__ import annotations

from collections.abc import Callable

Pair = tuple[int, int]


def ptx_matrix(rows: int, per: int, thread: int, i: int) -> Pair:
    """An operand of ``mma`` or ``wgmma``: ``per`` elements of a row in 32 bits, rows of a warp."""
    warp, lane = divmod(thread, 32)
    group_id, thread_id_in_group = lane >> 2, lane % 4
    word, element = divmod(i, per)
    row = warp * rows + group_id + 8 * (word % (rows // 8))
    return row, (word // (rows // 8) * 4 + thread_id_in_group) * per + element


def quad_pair(formula: Callable[[int, int], Pair], lane: int, i: int) -> Pair | tuple[()]:
    """An operand of m8n8k4: the first quad pair is lanes 0 to 3 and 16 to 19."""
    return formula(lane % 4 + 4 * (lane // 16), i) if lane % 16 < 4 else ()


def row_of_thread(thread: int, i: int) -> Pair:
    """A of ``.row`` and B of ``.col`` of m8n8k4, A and C of AMX: a thread or a row holds a row."""
    return thread, i


def volta_column(thread: int, i: int) -> Pair:
    """A of ``.col`` and B of ``.row`` of m8n8k4."""
    return i + 4 * (thread >= 4), thread % 4


def volta_f32(thread: int, i: int) -> Pair:
    """C of m8n8k4 with f32 elements."""
    row = (thread & 1) + (i & 2) + (4 if thread >= 4 else 0)
    return row, (i & 4) + (thread & 2) + (i & 1)


def transposed_matrices(bits: int, thread: int, i: int) -> Pair:
    """What a thread receives of matrices that ``ldmatrix.trans`` reads; each is 8 rows."""
    row, column = 2 * (thread % 4) + i % 2, thread // 4
    i //= 2
    if bits == 8:  # rows of 16 elements
        column += 8 * (i % 2)
        i //= 2
    return row + 8 * i, column


def address_rows(rows: int, interleaved: bool, thread: int, i: int) -> Pair:
    """The row of shared memory whose address a thread gives, and the element in it."""
    row = thread % rows
    if interleaved:  # pairs of rows, eight rows apart
        t = thread % 16
        row = t % 2 + 8 * (t // 2 % 2) + 2 * (t // 4) + (16 if rows == 32 and thread >= 16 else 0)
    return row, i


def tensor_memory(lanes: int, bits: int, repeats: int, thread: int, i: int) -> Pair:
    """The data path and column of 32 bits of a thread's register i of ``tcgen05.ld``."""
    if lanes == 32:
        return thread, i
    if bits == 32:
        return thread % 16, thread // 16 * repeats + i
    if bits == 64:
        return thread // 4 + thread % 2 * 8, i * 2 + thread % 4 // 2
    words = bits // 128
    half, word = divmod(i, words)
    return thread // 4 + 8 * (half % 2), half // 2 * 4 * words + thread % 4 * words + word


def umma_accumulator(m: int, n: int, pair: bool, place: int, column: int) -> Pair | tuple[()]:
    """D of ``tcgen05.mma``: rows are data paths; 64 rows fill half of each 32, or both halves."""
    sm, path = divmod(place, 128)
    if m == 64:
        return () if path % 32 >= 16 else (path // 32 * 16 + path % 16, column)
    if pair and m == 128:
        return sm * 64 + path % 64, path // 64 * (n // 2) + column
    return sm * 128 + path, column


def umma_a(sizes: tuple[int, int, int], pair: bool, place: int, part: int) -> Pair | tuple[()]:
    """A of ``tcgen05.mma`` in tensor memory; 64 rows of one SM of two lie there twice."""
    m, columns, per = sizes
    paths, column = divmod(place, columns)
    if pair and m == 128:
        row: int | None = paths // 128 * 64 + paths % 64
    else:
        row, _ = umma_accumulator(m, 1, pair, paths, 0) or (None, 0)
    return () if row is None else (row, column * per + part)


def umma_metadata(is_wide: bool, columns: int, place: int, part: int) -> Pair:
    """Metadata of ``tcgen05.mma.sp``; of 16 and 32 bits, eight rows share a column with eight."""
    if is_wide:
        return place // 16 * 16 + part // 4 * 8 + place % 8, place % 16 // 8 * 4 + part % 4
    return place // columns, place % columns * 8 + part


def umma_scale(
    sizes: tuple[int, int, int], shared: bool, halves: bool, place: int, part: int
) -> Pair | tuple[()]:
    """A scale factor: a byte of a column of 32 rows, in each quarter of the data paths."""
    rows, own, count = sizes
    paths, column = divmod(place, own // 32)
    sm, path = divmod(paths, 128)
    first = (0 if shared else sm * own) + (path // 64 * (rows // 2) if halves else 0)
    return (first + column * 32 + path % 32, part) if part < count else ()


def metadata(bits: int, chunks: int, thread: int, i: int) -> Pair:
    """Metadata of ``mma.sp`` and ``wgmma.sp``: 4 bits for each of the ``chunks`` groups of a row.

    Of elements of up to 8 bits a lane has those of a row, of wider ones those of two rows. Where
    lanes of a quad have copies, the sparsity selector says which are read.
    """
    warp, lane = divmod(thread, 32)
    if bits <= 8:
        row, k = lane // 4 + lane % 2 * 8, lane % 4 // 2 * 8 % chunks + i
    else:
        row, k = lane // 4 + i // 4 * 8, lane % (chunks // 4) * 4 + i % 4
    return warp * 16 + row, k


def warp_scale(apart: int, lane: int, i: int) -> Pair:
    """Scale factors of SM120: a lane of four has those of a row; of A, of two rows."""
    return lane // 4 + lane % 2 * apart, i


def row_major(columns: int, thread: int, i: int) -> Pair:  # noqa: ARG001
    """Every thread sees all elements, row by row."""
    return divmod(i, columns)


def shuffled(mask: int, thread: int, i: int) -> Pair:
    """The registers after pairs of threads, ``mask`` apart, have transposed 2 by 2 elements."""
    return thread & ~mask | i * mask, 1 if thread & mask else 0


def mfma_input(m: int, k: int, blocks: int, lane: int, v: int) -> tuple[int, ...]:
    """A of MFMA: block, i and k of a lane's value v; for B read j for i."""
    elements_in_contiguous_gprs = k // (64 // (m * blocks))
    step, rest = divmod(lane, m * blocks)
    return rest // m, rest % m, step * elements_in_contiguous_gprs + v


def mfma_output(m: int, bits: int, lane: int, v: int) -> tuple[int, ...]:
    """D of MFMA, m by m: block, i and j. Rows come in groups of four, of 64 bits one by one."""
    n, height = m, 1 if bits == 64 else 4
    per_register = -(-64 // (n * m // height))  # blocks
    group, rest = divmod(lane, n * per_register)
    groups = min(64 // n, m // height)
    rows = v // height * height * groups + group * height + v % height
    return rest // n + rows // m * per_register, rows % m, rest % n


def wmma11_input(lane: int, v: int) -> Pair:
    """A of WMMA on gfx11: all lanes 16 apart hold the same row."""
    return lane % 16, v


def wmma11_output(wave: int, lane: int, v: int) -> Pair:
    """D of WMMA on gfx11: rows go round the groups of 16 lanes."""
    return v * (wave // 16) + lane // 16, lane % 16


def wmma12_input(bits: int, k: int, wave: int, lane: int, v: int) -> Pair:
    """A of WMMA on gfx12: what the two or four groups of 16 lanes hold depends on the width."""
    group, i = divmod(lane, 16)
    if wave == 32:
        if bits == 16:
            return i, v // 4 * 8 + group * 4 + v % 4
        return i, group * (k // 2) + v
    low, high = group % 2, group // 2
    if bits == 16:
        return i, high * 8 + low * 4 + v
    return i, low * (k // 2) + high * (k // 4) + v


def wmma12_output(wave: int, lane: int, v: int) -> Pair:
    """D of WMMA on gfx12: eight rows to the half of a wave."""
    i = v + lane % 32 // 16 * 8
    return (i if wave == 32 else i + lane // 32 * 4), lane % 16


def simdgroup(simd_lane_id: int, i: int) -> Pair:
    """Metal's 8 by 8, as ``BaseMMAFrag::get_coord`` of MLX's kernels computes it."""
    qid = simd_lane_id // 4
    return (qid & 4) + simd_lane_id // 2 % 4, (qid & 2) * 2 + simd_lane_id % 2 * 2 + i


def tile_groups(per: int, row: int, column: int) -> Pair:
    """B of AMX: ``per`` elements of a column of the matrix, 32 bits of them, lie side by side."""
    return row * per + column % per, column // per


def za_tile(tiles: int, tile: int, vector: int, column: int) -> Pair | tuple[()]:
    """A row of a tile of ZA, which each of the tiles has in turn."""
    return (vector // tiles, column) if vector % tiles == tile else ()


def in_order(sizes: tuple[int, ...], filled: int, vreg: int, i: int) -> tuple[int, ...]:
    """An operand in row-major order, packed from the lowest element of the lowest register on."""
    number, at = vreg * filled + i, list[int]()
    for n in reversed(sizes):
        at.insert(0, number % n)
        number //= n
    return () if number or i >= filled else tuple(at)
