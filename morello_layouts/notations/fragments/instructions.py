"""The list of instructions: their names, and the operands that the rules give them.

Each family is a loop over shapes and types, as its document tabulates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Final

from morello_layouts.core.layout import REGISTER_BITS as BITS
from morello_layouts.notations.fragments import document, templates
from morello_layouts.notations.fragments.layout import (
    Axes,
    Document,
    Instruction,
    Operand,
    Parts,
    flipped,
    lanes,
    mfma_input,
    mfma_output,
    per_word,
    tensor_memory,
    tile,
    unblocked,
    wmma12_input,
)
from morello_layouts.notations.fragments.templates import (
    GROUP,
    NOT_ZERO,
    SHARED,
    key,
    matrix,
    metadata,
)

_SMALL: Final = ((32, 2), (16, 4), (4, 16), (32, 1), (16, 1))
_LARGE: Final = ((32, 1), (16, 1))

_MFMA: Final[Sequence[tuple[str, str, int, Sequence[tuple[int, int]], str]]] = (
    ("f32", "f32", 1, _SMALL, "{k}{b}_{a} {k}{a}"),
    ("f32", "f16", 4, _SMALL, "{k}{b}_{a} {k}{a}"),
    ("f32", "bf16", 2, _SMALL, "{k}{a}"),
    ("f32", "bf16", 4, _SMALL, "{k}{b}_{a} {k}{a}_1k"),
    ("i32", "i8", 4, _SMALL, "{k}{b}_{a} {k}{a}"),
    ("f64", "f64", 1, ((16, 1), (4, 4)), "{k}{b}_{a} {k}{a}"),
    ("f32", "xf32", 2, _LARGE, "{k}_{a}"),
    ("f32", "f16", 8, _LARGE, "{k}_{a}"),
    ("f32", "bf16", 8, _LARGE, "{k}_{a}"),
    ("i32", "i8", 8, _LARGE, "{k}_{a}"),
    ("i32", "i8", 16, _LARGE, "{k}_{a}"),
    *(("f32", f"{a}_{b}", 8, _LARGE, "{k}_{a}") for a, b in product(("fp8", "bf8"), repeat=2)),
)
"""Types of D and A, elements of A in a lane, pairs of rows and blocks, and spellings."""


def _mfma(m: int, k: int, blocks: int, d: str, a: str) -> dict[str, Operand]:
    first, second = (a.split("_") * 2)[:2]
    inputs = mfma_input(m, k, blocks), partial(document.mfma_input, m, k, blocks)
    outputs = (mfma_output(m, blocks, BITS[d]), partial(document.mfma_output, m, BITS[d]))
    result = unblocked(Operand(("block", "i", "j"), (blocks, m, m), d, *outputs))
    return {
        "A": unblocked(Operand(("block", "i", "k"), (blocks, m, k), first, *inputs)),
        "B": flipped(unblocked(Operand(("block", "j", "k"), (blocks, m, k), second, *inputs))),
        "C": result,
        "D": result,
    }


def _mfma_instructions() -> Iterator[Instruction]:
    for d, a, values, shapes, spellings in _MFMA:
        for m, blocks in shapes:
            k = 64 * values // (m * blocks)
            b = f"_{blocks}b" if blocks > 1 else ""
            for spelling in spellings.split():
                name = f"v_mfma_{d}_{m}x{m}x{spelling.format(k=k, a=a, b=b)}"
                operands = partial(_mfma, m, k, blocks, d, a)
                yield Instruction(name, "matrix instruction of a wave of CDNA", operands)


_WMMA: Final = (
    (11, 16, "f32 f16, f32 bf16, f16 f16, bf16 bf16, i32 iu8, i32 iu4"),
    (12, 16, "f32 f16, f32 bf16, f16 f16, bf16 bf16, i32 iu8, i32 iu4"),
    (12, 16, "f32 fp8_fp8, f32 fp8_bf8, f32 bf8_fp8, f32 bf8_bf8"),
    (12, 32, "i32 iu4"),
)
"""Generation, the size of k, and pairs of the types of D and A."""


def _wmma(generation: int, k: int, d: str, a: str, wave: int) -> dict[str, Operand]:
    first, second = (a.split("_") * 2)[:2]
    if generation == 11:
        groups = wave // 16
        inputs = lanes([(None, 1, groups), (0, 1, 16)], [(1, 1, k)]), document.wmma11_input
        axes = lanes([(0, 1, groups), (1, 1, 16)], [(0, groups, 16 // groups)])
        outputs = axes, partial(document.wmma11_output, wave)
    else:
        filled = min(wave, 16 * k * BITS[first] // 32)  # lanes of at least one register
        inputs = (
            wmma12_input(BITS[first], k, filled),
            partial(document.wmma12_input, BITS[first], k, filled),
        )
        quarters: Parts = [(0, 4, 2)] if wave == 64 else []
        axes = lanes([*quarters, (0, 8, 2), (1, 1, 16)], [(0, 1, 256 // wave)])
        outputs = axes, partial(document.wmma12_output, wave)
    result = Operand(("i", "j"), (16, 16), d, *outputs)
    return {
        "A": Operand(("i", "k"), (16, k), first, *inputs),
        "B": flipped(Operand(("j", "k"), (16, k), second, *inputs)),
        "C": result,
        "D": result,
    }


def _wmma_instructions() -> Iterator[Instruction]:
    half = "an element of 16 bits of C and D has a register of 32 bits of its own, op_sel the half"
    for (generation, k, pairs), wave in product(_WMMA, (32, 64)):
        for d, a in (pair.split() for pair in pairs.split(", ")):
            name = f"gfx{generation} v_wmma_{d}_16x16x{k}_{a}"
            operands = partial(_wmma, generation, k, d, a, wave)
            remark = half if generation == 11 and BITS[d] == 16 else ""
            if (generation, k, a, wave) == (12, 16, "iu4", 64):
                remark = "lanes 32 to 63 hold nothing of A and B"
            words = f"matrix instruction of a wave of {wave} lanes of RDNA"
            yield Instruction(
                name + (" wave64" if wave == 64 else ""), words, operands, remark=remark
            )


def amd_instructions() -> Iterator[Instruction]:
    """Yield the instructions of CDNA and RDNA, without sparse ones."""
    yield from _mfma_instructions()
    yield from _wmma_instructions()


_VOLTA: Final = (
    "the eight threads are lanes 0 to 3 and 16 to 19, a quad pair; the three other quad pairs, "
    "4 lanes on, hold operands of their own"
)
_COPIES: Final = "of the lanes that hold the same of E, the sparsity selector says which are read"


# ---- NVIDIA: matrix instructions of a warp

_FP8: Final = tuple(
    f"{d} {a} {b} {d}" for d, a, b in product(("f32", "f16"), ("e4m3", "e5m2"), ("e4m3", "e5m2"))
)

_MMA: Final[Sequence[tuple[str, int, str, Sequence[str]]]] = (
    ("75", 16, "8", ["f16 f16 f16 f16", "f32 f16 f16 f32"]),
    ("75", 8, "16", ["s32 s8 s8 s32"]),
    ("80", 16, "8 16", ["f16 f16 f16 f16", "f32 f16 f16 f32", "f32 bf16 bf16 f32"]),
    ("80", 16, "8 16", ["f32 f16 f16 f16", "f16 f16 f16 f32"]),
    ("80", 16, "4 8", ["f32 tf32 tf32 f32"]),
    ("80", 8, "4", ["f64 f64 f64 f64", "c64 c64 c64 c64", "gc64 c64 c64 gc64"]),
    ("80", 8, "16", [f"s32 {a} {b} s32" for a, b in product(("s8", "u8"), repeat=2)]),
    ("80", 16, "16 32", [f"s32 {a} {b} s32" for a, b in product(("s8", "u8"), repeat=2)]),
    ("80", 8, "32", [f"s32 {a} {b} s32" for a, b in product(("s4", "u4"), repeat=2)]),
    ("80", 16, "32 64", [f"s32 {a} {b} s32" for a, b in product(("s4", "u4"), repeat=2)]),
    ("80", 8, "128", ["s32 u1 u1 s32"]),
    ("80", 16, "128 256", ["s32 u1 u1 s32"]),
    ("89", 16, "32", _FP8),
    ("", 16, "16", _FP8),
    ("90", 16, "4 8 16", ["f64 f64 f64 f64", "c64 c64 c64 c64"]),
    ("", 16, "64", ["f32 e2m1 e2m1 f32"]),
)
"""Generation, rows of A, sizes of k, and types of D, A, B and C; B has 8 columns.

CuTe has no names for those without a generation, nor for all mixtures of types.
"""

_SPARSE: Final[Sequence[tuple[str, Sequence[str]]]] = (
    ("16 32", ["f16 f16 f16 f16", "f32 f16 f16 f32", "f32 bf16 bf16 f32"]),
    ("8 16", ["f32 tf32 tf32 f32"]),
    ("32 64", [f"s32 {a} {b} s32" for a, b in product(("s8", "u8"), repeat=2)]),
    ("64 128", [f"s32 {a} {b} s32" for a, b in product(("s4", "u4"), repeat=2)]),
    ("64", _FP8),
    ("128", ["f32 e2m1 e2m1 f32"]),
)
"""Sizes of k and types of sparse instructions of a warp, which PTX alone names."""

_NARROW: Final = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def _mma(m: int, k: int, types: str, container: int = 0) -> dict[str, Operand]:
    """A, B, C and D of an instruction of a warp since Turing; B as n by k."""
    d, a, b, c = types.split()
    return {
        "A": matrix("mk", (m, k), a, per_word(a, container)),
        "B": matrix("nk", (8, k), b, per_word(b, container)),
        "C": matrix("mn", (m, 8), c, 2),
        "D": matrix("mn", (m, 8), d, 2),
    }


def _sparse(k: int, types: str) -> dict[str, Operand]:
    """The operands of an instruction of which half of A's elements are not there."""
    half, full = _mma(16, k // 2, types), _mma(16, k, types)
    return {**full, "A": half["A"], "E": metadata(BITS[full["A"].type], k)}


def _volta(majors: str, d: str, c: str) -> dict[str, Operand]:
    """A, B, C and D of Volta's m8n8k4; B as n by k."""
    row, column, f32 = (
        partial(document.quad_pair, formula)
        for formula in (document.row_of_thread, document.volta_column, document.volta_f32)
    )

    def rows(columns: int) -> Axes:  # of a quad pair's threads, lanes 0 to 3 and 16 to 19
        return lanes([(0, 4, 2), (0, 1, 4, 16)], [(1, 1, columns)])

    def accumulator(name: str) -> Operand:
        mixed = lanes([(0, 4, 2), (1, 2, 2, 8), (0, 1, 2)], [(1, 4, 2), (0, 2, 2), (1, 1, 2)])
        return Operand(
            ("m", "n"), (8, 8), name, *((mixed, f32) if name == "f32" else (rows(8), row))
        )

    def factor(dim: str, major: str) -> Operand:
        columns = lanes([(0, 4, 2), (1, 1, 4, 16)], [(0, 1, 4)])
        places = (rows(4), row) if major == "k" else (columns, column)
        return Operand((dim, "k"), (8, 4), "f16", *places)

    return {
        "A": factor("m", "k" if majors[0] == "t" else "m"),
        "B": factor("n", "k" if majors[1] == "n" else "n"),
        "C": accumulator(c),
        "D": accumulator(d),
    }


def _dot(k: int) -> dict[str, Operand]:
    """A, B and C of ``dp4a`` and ``dp2a``: one thread's dot product."""
    a = lanes([], [(1, 1, k)])
    types = ("s8", "s8") if k == 4 else ("s16", "s8")
    found = {
        name: Operand((dim, "k"), (1, k), type_, a, document.row_of_thread)
        for name, dim, type_ in zip("AB", "mn", types, strict=True)
    }
    one = Operand(("m", "n"), (1, 1), "s32", lanes([], []), document.row_of_thread)
    return found | {"C": one, "D": one}


def _fma(m: int, n: int) -> dict[str, Operand]:
    """A, B and C of one thread's multiply and add of two numbers at once."""
    one, two = lanes([], []), lanes([], [(0, 1, 2)])
    column, row = document.volta_column, document.row_of_thread
    result = (two, column) if m == 2 else (lanes([], [(1, 1, 2)]), row)
    return {
        "A": Operand(("m", "k"), (m, 1), "f32", two if m == 2 else one, column),
        "B": Operand(("n", "k"), (n, 1), "f32", two if n == 2 else one, column),
        **dict.fromkeys("CD", Operand(("m", "n"), (m, n), "f32", *result)),
    }


def _by_k(operands: Callable[[], dict[str, Operand]]) -> dict[str, Operand]:
    """The operands with B as k by n, as PTX has it."""
    found = operands()
    return found | {"B": flipped(found["B"])}


def _warp_instructions() -> Iterator[Instruction]:
    for k in (4, 2):
        yield Instruction(f"SM61_DP{k}A", "dot product of one thread", partial(_dot, k))
    for m, n in ((2, 1), (1, 2)):
        name = f"SM100_{m}x{n}x1_F32F32F32F32"
        yield Instruction(name, "multiply and add of one thread", partial(_fma, m, n))
    ptx = set[str]()
    for generation, m, sizes, combinations in _MMA:
        for k, types in product(map(int, sizes.split()), combinations):
            operands = partial(_mma, m, k, types)
            d, a, b, c = types.split()
            joined = types.replace(" ", "").upper()
            name = f"SM{generation}_{m}x8x{k}_{joined}_TN"
            if generation and d == c:
                yield Instruction(name, "matrix instruction of a warp", operands)
            written = ".".join((d, a, b, c)).replace("u1", "b1")
            name = f"mma.sync.aligned.m{m}n8k{k}.row.col.{written}"
            if "c64" not in types and name not in ptx:
                ptx.add(name)
                yield Instruction(name, "matrix instruction of a warp", partial(_by_k, operands))
    for sizes, combinations in _SPARSE:
        for k, types in product(map(int, sizes.split()), combinations):
            name = f"m16n8k{k}.row.col.{'.'.join(types.split())}"
            operands = partial(_by_k, partial(_sparse, k, types))
            copies = k < 16 * GROUP[BITS[types.split()[1]]]
            remark = f"{NOT_ZERO}; {_COPIES}" if copies else NOT_ZERO
            for word in ("sp", "sp::ordered_metadata"):
                full, words = (
                    f"mma.{word}.sync.aligned.{name}",
                    "sparse matrix instruction of a warp",
                )
                yield Instruction(full, words, operands, remark=remark)
    yield from _volta_instructions()
    for d, a, b in product(("f32", "f16"), _NARROW, _NARROW):
        name = f"mma.sync.aligned.m16n8k32.row.col.{d}.{a}.{b}.{d}"
        if name not in ptx:
            operands = partial(_mma, 16, 32, f"{d} {a} {b} {d}", 8)
            remark = "elements of 4 and 6 bits take 8 bits each"
            words = "matrix instruction of a warp"
            yield Instruction(name, words, partial(_by_k, operands), remark=remark)


def _volta_instructions() -> Iterator[Instruction]:
    words = "matrix instruction of a quad pair"
    for (d, c), majors in product((("f16", "f16"), ("f32", "f32")), ("tn", "nt", "nn", "tt")):
        operands = partial(_volta, majors, d, c)
        name = f"SM70_8x8x4_{d}f16f16{c}_{majors}".upper().replace("X", "x")
        yield Instruction(name, words, operands, remark=_VOLTA)
    for majors, d, c in product(("tn", "nt", "nn", "tt"), ("f16", "f32"), ("f16", "f32")):
        operands = partial(_by_k, partial(_volta, majors, d, c))
        a = "row" if majors[0] == "t" else "col"
        b = "col" if majors[1] == "n" else "row"
        name = f"mma.sync.aligned.m8n8k4.{a}.{b}.{d}.f16.f16.{c}"
        yield Instruction(name, words, operands, remark=_VOLTA)


# ---- NVIDIA: matrix instructions of a warpgroup

_WGMMA: Final[Sequence[tuple[int, Sequence[str]]]] = (
    (16, ["f16 f16 f16", "f32 f16 f16", "f32 bf16 bf16"]),
    (8, ["f32 tf32 tf32"]),
    (32, [" ".join(x) for x in product(("f16", "f32"), ("e4m3", "e5m2"), ("e4m3", "e5m2"))]),
    (32, [f"s32 {a} {b}" for a, b in product(("s8", "u8"), repeat=2)]),
    (256, ["s32 b1 b1"]),
)
"""The size of k, and types of D, A and B."""


def _wgmma(n: int, k: int, types: str) -> dict[str, Operand]:
    """A in registers, and the accumulator, of four warps of 16 rows each."""
    d, a, _ = types.split()
    accumulator = matrix("mn", (64, n), d, 2, 4)
    return {"A": matrix("mk", (64, k), a, per_word(a), 4), "C": accumulator, "D": accumulator}


def _of_warpgroup(n: int, k: int, types: str, sparse: bool, a_too: bool) -> dict[str, Operand]:
    """The operands in registers; of a sparse instruction ``k`` counts what A has not as well."""
    found = _wgmma(n, k // (1 + sparse), types)
    if not a_too:
        del found["A"]
    if sparse:
        found["E"] = metadata(BITS[types.split()[1]], k, 4)
    return found


def _warpgroup_instructions() -> Iterator[Instruction]:
    sizes = product(_WGMMA, (False, True), range(8, 257, 8))
    for (k, combinations), sparse, n in sizes:
        for types in combinations:
            d, a, b = types.split()
            if (d == "s32" and n > 24 and n % 16) or (sparse and a == "b1"):
                continue
            depth, words = k * (1 + sparse), "matrix instruction of a warpgroup"
            remark, words = (NOT_ZERO, f"sparse {words}") if sparse else ("", words)
            sp = ".sp" * sparse
            name = f"wgmma.mma_async{sp}.sync.aligned.m64n{n}k{depth}.{d}.{a}.{b}"
            operands = partial(_of_warpgroup, n, depth, types, sparse)
            shared = {"B": SHARED}
            yield Instruction(name, words, partial(operands, True), elsewhere=shared, remark=remark)
            end = "" if a in ("f16", "bf16") else "_TN"
            first = "SM90::GMMA::SPARSE::GMMA" if sparse else "SM90"
            for source in ("SS", "RS") if a != "b1" else ():
                name = f"{first}_64x{n}x{depth}_{(d + a + b).upper()}_{source}{end}"
                absent = shared | ({"A": SHARED} if source == "SS" else {})
                own = partial(operands, source == "RS")
                yield Instruction(name, words, own, elsewhere=absent, remark=remark)


# ---- NVIDIA: copies between registers and shared or tensor memory


def _copy(
    rows: int, columns: int, type_: str, registers: Operand, *, memory: str, is_load: bool
) -> dict[str, Operand]:
    """Source, destination and reference of a copy; ``memory`` says how lanes address it."""
    if memory == "tensor":
        formula: Document = partial(document.row_major, columns)
        axes = lanes([(None, 1, 32)], [(0, 1, rows), (1, 1, columns)])  # all lanes see all of it
    else:
        formula = partial(document.address_rows, rows, memory == "interleaved")
        order: Parts = [(0, 1, rows)]
        if memory == "interleaved":
            order = [(0, 16, rows // 16), (0, 2, 4), (0, 8, 2), (0, 1, 2)]
        axes = lanes([(None, 1, 32 // rows), *order], [(1, 1, columns)])  # the others repeat rows
    outside = Operand(registers.dims, (rows, columns), type_, axes, formula)
    pair = (outside, registers) if is_load else (registers, outside)
    reference = outside if memory == "tensor" else registers
    return dict(zip(("Src", "Dst", "Ref"), (*pair, reference), strict=True))


def _matrices(
    count: int, type_: str, is_transposed: bool, memory: str, is_load: bool
) -> dict[str, Operand]:
    """The operands of ``ldmatrix`` and ``stmatrix``: matrices of 8 rows of 16 bytes."""
    rows, columns = 8 * count, 128 // BITS[type_]
    if is_transposed:
        halves: Parts = [(1, 8, 2)] if type_ == "b8" else []
        axes = lanes([(1, 1, 8), (0, 2, 4)], [(0, 8, count), *halves, (0, 1, 2)])
        formula: Document = partial(document.transposed_matrices, BITS[type_])
        registers = Operand(("row", "column"), (rows, columns), type_, axes, formula)
    else:
        registers = matrix("rc", (rows, columns), type_, per_word(type_))
        registers = registers._replace(dims=("row", "column"))
    return _copy(rows, columns, type_, registers, memory=memory, is_load=is_load)


def _matrix_copies() -> Iterator[Instruction]:
    """Names, the number of matrices, their type, whether transposed, the order of addresses."""
    plain, interleaved = "plain", "interleaved"
    rows: list[tuple[str, int, str, bool, str]] = []
    for n in (1, 2, 4):
        rows += [
            (f"SM75_U32x{n}_LDSM_N", n, "b16", False, plain),
            (f"SM75_U16x{2 * n}_LDSM_T", n, "b16", True, plain),
            (f"SM90_U32x{n}_STSM_N", n, "b16", False, plain),
            (f"SM90_U16x{2 * n}_STSM_T", n, "b16", True, plain),
            (f"SM100_SU4_DU8x16_x{n}_LDSM_N", n, "b8", False, plain),
            (f"SM100_SU6_DU8x16_x{n}_LDSM_N", n, "b8", False, plain),
            (f"SM100_U8x{4 * n}_STSM_T", n, "b8", True, plain),
            (f"ldmatrix.sync.aligned.m8n8.x{n}.b16", n, "b16", False, plain),
            (f"ldmatrix.sync.aligned.m8n8.x{n}.trans.b16", n, "b16", True, plain),
            (f"ldmatrix.sync.aligned.m8n16.x{n}.b8x16.b6x16_p32", n, "b8", False, plain),
            (f"ldmatrix.sync.aligned.m8n16.x{n}.b8x16.b4x16_p64", n, "b8", False, plain),
            (f"stmatrix.sync.aligned.m8n8.x{n}.b16", n, "b16", False, plain),
            (f"stmatrix.sync.aligned.m8n8.x{n}.trans.b16", n, "b16", True, plain),
            (f"stmatrix.sync.aligned.m16n8.x{n}.trans.b8", n, "b8", True, plain),
        ]
    rows += [(f"SM100_U8x{n}_LDSM_T", n // 4, "b8", True, interleaved) for n in (8, 16)]
    for name, count, type_, is_transposed, memory in rows:
        is_load = "LDSM" in name or name.startswith("ld")
        operands = partial(_matrices, count, type_, is_transposed, memory, is_load)
        default = None if name.startswith("SM") else ("Dst" if is_load else "Src")
        words = "copy of matrices from shared memory" if is_load else "copy to shared memory"
        yield Instruction(name, words, operands, default)


def _tensor_memory(paths: int, bits: int, repeats: int, is_load: bool) -> dict[str, Operand]:
    rows, columns = paths, bits // 32 * repeats
    columns *= 2 if (paths, bits) == (16, 32) else 1
    axes = tensor_memory(paths, bits, repeats)
    formula = partial(document.tensor_memory, paths, bits, repeats)
    registers = Operand(("path", "column"), (rows, columns), "b32", axes, formula)
    return _copy(rows, columns, "b32", registers, memory="tensor", is_load=is_load)


def _tensor_memory_copies() -> Iterator[Instruction]:
    shapes = ((16, 256, 32), (16, 128, 64), (16, 64, 128), (16, 32, 128), (32, 32, 128))
    packed = "columns of 16 bits are packed, two in a register"
    for (paths, bits, most), is_load in product(shapes, (True, False)):
        words = "load from tensor memory" if is_load else "store to tensor memory"
        for repeats in (2**n for n in range(most.bit_length())):
            operands = partial(_tensor_memory, paths, bits, repeats, is_load)
            name = f"SM100_TMEM_{'LOAD' if is_load else 'STORE'}_{paths}dp{bits}b{repeats}x"
            yield Instruction(name, words, operands)
            yield Instruction(f"{name}_16b", words, operands, remark=packed)
            shape = "16x32bx2" if (paths, bits) == (16, 32) else f"{paths}x{bits}b"
            name = f"tcgen05.{'ld' if is_load else 'st'}.sync.aligned.{shape}.x{repeats}.b32"
            yield Instruction(name, words, operands, "Dst" if is_load else "Src")
    for repeats in (32, 128):
        operands = partial(_tensor_memory, 32, 32, repeats, True)
        name = f"SM100_TMEM_LOAD_STAT_32dp32b{repeats}x"
        yield Instruction(name, "load from tensor memory with a maximum", operands)


def _shuffle(mask: int) -> dict[str, Operand]:
    dims, shape = ("row", "column"), (32, 2)
    rows = lanes([(0, 1, 32)], [(1, 1, 2)])
    source = Operand(dims, shape, "b32", rows, document.row_of_thread)
    apart = lanes([(0, 2 * mask, 16 // mask), (1, 1, 2), (0, 1, mask)], [(0, mask, 2)])
    moved = Operand(dims, shape, "b32", apart, partial(document.shuffled, mask))
    return {"Src": source, "Dst": moved, "Ref": source}


def _movmatrix(is_transposed: bool) -> dict[str, Operand]:
    source = _matrices(1, "b16", False, "plain", True)["Dst"]
    moved = _matrices(1, "b16", is_transposed, "plain", True)["Dst"]
    return {"Src": source, "Dst": moved, "Ref": source}


def _register_copies() -> Iterator[Instruction]:
    for mask in (1, 4):
        name = f"SM50_Shuffle_U32_2x2Trans_XOR{mask}"
        yield Instruction(name, "shuffle of a warp", partial(_shuffle, mask))
    words = "transpose of a matrix in registers"
    remark = "CuTe's traits leave the transpose out: movmatrix.sync.aligned.m8n8.trans.b16 has it"
    yield Instruction("SM75_U32x1_MOVM_T", words, partial(_movmatrix, False), remark=remark)
    name = "movmatrix.sync.aligned.m8n8.trans.b16"
    yield Instruction(name, words, partial(_movmatrix, True), "Dst")


def nvidia_instructions() -> Iterator[Instruction]:
    """Yield matrix instructions of warps and warpgroups, and copies."""
    yield from _warp_instructions()
    yield from _warpgroup_instructions()
    yield from _matrix_copies()
    yield from _tensor_memory_copies()
    yield from _register_copies()


_AMX: Final = (
    "tdpbf16ps f32 bf16 bf16, tdpfp16ps f32 f16 f16, tdpbssd s32 s8 s8, tdpbsud s32 s8 u8, "
    "tdpbusd s32 u8 s8, tdpbuud s32 u8 u8, tdpbf8ps f32 bf8 bf8, tdpbhf8ps f32 bf8 hf8, "
    "tdphbf8ps f32 hf8 bf8, tdphf8ps f32 hf8 hf8, tmmultf32ps f32 tf32 tf32"
)
"""Name, and types of C, A and B."""


def _amx(c: str, a: str, b: str) -> dict[str, Operand]:
    """A, B and C of full tiles: 16 rows of 64 bytes."""
    per = per_word(b)
    groups = partial(document.tile_groups, per)
    result = Operand(("m", "n"), (16, 16), c, tile(16, 16), document.row_of_thread)
    return {
        "A": Operand(("m", "k"), (16, 16 * per), a, tile(16, 16 * per), document.row_of_thread),
        "B": Operand(("k", "n"), (16 * per, 16), b, tile(16 * per, 16, per), groups),
        "C": result,
    }


def _amx_instructions() -> Iterator[Instruction]:
    for row in _AMX.split(", "):
        name, *types = row.split()
        yield Instruction(name, "tile instruction of AMX", partial(_amx, *types))


def _apple_instructions() -> Iterator[Instruction]:
    """Metal's matrices of 8 by 8: a lane holds two neighbours of a row."""
    axes = lanes([(0, 4, 2), (1, 4, 2), (0, 1, 4), (1, 2, 2)], [(1, 1, 2)])
    for name, type_ in (("float", "f32"), ("half", "f16"), ("bfloat", "bf16")):
        one = {"C": Operand(("row", "column"), (8, 8), type_, axes, document.simdgroup)}
        words, remark = "matrix of a SIMD group", "as MLX's source has it; Apple does not say"
        yield Instruction(f"simdgroup_{name}8x8", words, partial(dict, one), "C", remark=remark)


@cache
def instructions() -> Mapping[str, Instruction]:
    """Return all instructions by the keys of their names."""
    families = (
        nvidia_instructions(),
        templates.examples(),
        amd_instructions(),
        _amx_instructions(),
        _apple_instructions(),
    )
    found: dict[str, Instruction] = {}
    for family in families:
        for each in family:
            found.setdefault(key(each.name), each)
    return found
