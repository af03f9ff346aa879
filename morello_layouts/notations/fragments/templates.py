"""Instructions that say their size beside their name: Blackwell's tcgen05, and vectors of CPUs.

CuTe gives it as template arguments, ``SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, …>``.
In PTX a descriptor has it, and we read ``tcgen05.mma.cta_group::1.kind::f16.m128n256k16``. The
tensor memory of an SM is 128 data paths of 512 columns of 32 bits. The vectors of Arm and RISC-V
are as long as the machine has them: the length stands before the name, as compilers are told it.

Sources: CUTLASS, ``include/cute/atom/mma_traits_sm100.hpp`` and ``mma_traits_sm100_frag.hpp``,
``mma_traits_sm120.hpp`` and ``mma_traits_sm120_sparse.hpp``; PTX ISA, "Tensor Memory".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from math import isqrt, prod
from typing import Any, Final, NamedTuple, TypeAlias

from morello_layouts.core.layout import REGISTER_BITS as BITS
from morello_layouts.core.lazy import regex
from morello_layouts.core.recipe import DimDigit
from morello_layouts.errors import LayoutError
from morello_layouts.notations.fragments import document
from morello_layouts.notations.fragments.layout import (
    Axes,
    Axis,
    Instruction,
    Operand,
    Parts,
    flipped,
    lanes,
    per_word,
    ptx_matrix,
)

_KINDS: Final = {
    "TF32": ("tf32", 32), "F16BF16": ("f16", 16), "S8": ("i8", 8), "F8F6F4": ("f8f6f4", 8),
    "MXF8F6F4": ("mxf8f6f4", 8), "MXF4": ("mxf4", 4), "MXF4NVF4": ("mxf4nvf4", 4),
    "MXF4_ULTRA": ("", 4),
}  # fmt: skip
"""CuTe's kinds: PTX's word, and bits of an element of A. Values of 4 and 6 bits may take 8."""

_FORMS: Final = {
    **dict.fromkeys(("TF32", "F16BF16"), "SS TS SS_SCALED TS_SCALED SS_SPARSE"),
    **dict.fromkeys(("S8", "F8F6F4"), "SS TS SS_SPARSE"),
    "MXF8F6F4": "SS SS_SPARSE", "MXF4": "SS", "MXF4NVF4": "SS_SPARSE", "MXF4_ULTRA": "SS_VS",
}  # fmt: skip
_COMPLEX: Final = "TS_INTERLEAVED_CF32CTF32CTF32CF32_TN"
_PTX: Final = regex(
    r"tcgen05\.mma(?P<sparse>\.sp)?\.cta_group::(?P<group>[12])\.kind::(?P<kind>\w+)"
    r"(?:\.block_scale|\.scale_vec::(?P<count>[124])X|\.block(?P<block>16|32))*"
    r"\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)(?=\s|$)",
    re.IGNORECASE,
)
_CUTE: Final = regex(r"(?:\w+::)*(\w+)\s*(<[^<>]*>)?")
_TYPES: Final = {
    "half": "f16", "bfloat16": "bf16", "float": "f32", "tfloat32": "tf32", "int32": "s32",
    "int8": "s8", "uint8": "u8",
}  # fmt: skip
_AROUND: Final = regex(r"^(?:\w+::)*(?:float_(?=[eu]))?|_unpacksmem|_t$|\s+")
_NUMBER: Final = regex(r"(?:\(int\))?_?(\d+)")
_MOST: Final = 256
SHARED: Final = "shared memory: give its layout, for example Sw<3,4,3> o smem_ptr[16b](unset) o …"
NOT_ZERO: Final = "of A the elements that are not zeros; 4 bits of E say which of each group"
GROUP: Final = {32: 2, 16: 4, 8: 4, 4: 8}
"""Elements of A of so many bits of which 4 bits of metadata say which are there."""
_WORDS: Final = "matrix instruction in tensor memory"
_TWO: Final = "two SMs work together: cta is the SM of the pair"
_WHOLE: Final = "an accumulator of 16 bits takes a column of 32 bits"


class Umma(NamedTuple):
    """A matrix instruction of tcgen05: all that decides where its operands are."""

    kind: str  #: as CuTe writes it.
    bits: int  #: of an element of A.
    pair: bool  #: whether two SMs work together.
    sparse: bool
    in_shared: bool  #: whether A is in shared memory.
    a: str
    c: str
    m: int
    n: int
    vector: int | None  #: elements of A that share a scale factor.

    @property
    def k(self) -> int:
        """The elements of a row of A: 256 bits of it, twice as many if half of them are zeros."""
        return 96 if "ULTRA" in self.kind else 256 * (1 + self.sparse) // self.bits

    @property
    def own(self) -> int:
        """The rows of an SM."""
        return self.m // 2 if self.pair else self.m

    def check(self) -> None:
        """Raise a LayoutError unless the sizes are those of an instruction."""
        sizes: tuple[int, ...] = (128, 256) if self.pair else (64, 128)
        if self.vector:
            sizes = (256,) if self.pair and self.bits == 8 else sizes[not self.pair :]
        step = 16 if self.pair else 8
        if self.m not in sizes or not step <= self.n <= _MOST or self.n % step:
            raise LayoutError(
                f"M of {self.m} and N of {self.n}: expected M of {' or '.join(map(str, sizes))}, "
                f"N a multiple of {step} up to {_MOST}",
                "CUTLASS has no other sizes of this instruction",
                "the sizes follow the types, M first",
            )
        if self.vector is not None and (self.vector < 1 or self.k % self.vector):
            what = f"a scale factor for {self.vector} elements: expected a divisor of {self.k}"
            raise LayoutError(what, "rows have whole scale factors", "check the size of a block")

    def operands(self) -> dict[str, Operand]:
        """Return the operands in tensor memory."""
        accumulator = Operand(
            ("m", "n"), (self.m, self.n), self.c, self._rows(self.n, [], folds=True),
            partial(document.umma_accumulator, self.m, self.n, self.pair),
        )  # fmt: skip
        found = {"C": accumulator, "D": accumulator}
        if not self.in_shared and self.a in BITS:
            per = per_word(self.a, self.bits)
            axes = self._rows(self.k // per, [(1, 1, per)], folds=False)
            formula = partial(document.umma_a, (self.m, self.k // per, per), self.pair)
            found["A"] = Operand(("m", "k"), (self.m, self.k), self.a, axes, formula)
        if self.sparse and self.own == 128:
            found["E"] = self._metadata()
        if self.vector and "ULTRA" not in self.kind:
            found |= {"SFA": self._scales(False), "SFB": self._scales(True)}
        return found

    def elsewhere(self) -> dict[str, str]:
        """Say where the other operands are."""
        found = {"B": SHARED}
        if self.in_shared:
            found["A"] = SHARED
        elif self.a not in BITS:
            found["A"] = (
                "tensor memory: complex numbers of two columns, whose places we do not know"
            )
        if self.sparse and self.own != 128:
            found["E"] = "tensor memory, at places that CuTe gives for 128 rows of an SM only"
        if "ULTRA" in self.kind:
            names = f"SM100_MMA_MXF4{'_2x1SM' if self.pair else ''}_SS"
            found |= dict.fromkeys(("SFA", "SFB"), f"the tensor memory of {names}: ask that")
        return found

    def _rows(self, columns: int, part: Parts, *, folds: bool) -> Axes:
        """The axes of rows in data paths; ``folds`` if half of the columns lie below."""
        room, unit = columns, part[0][2] if part else 1
        path: Parts = [(0, 1, 128)]
        if self.own == 64 and not self.pair:  # 16 of 32 paths
            path = [(0, 16, 4), (0, 1, 16, 32)]
        elif self.own == 64 and folds:
            room = columns // 2
            path = [(1, room, 2), (0, 1, 64)]
        elif self.own == 64:
            path = [(None, 1, 2), (0, 1, 64)]
        cta: Parts = [(0, self.own, 2)] if self.pair else []
        return _axes([("cta", cta), ("path", path), ("column", [(1, unit, room)]), ("part", part)])

    def _metadata(self) -> Operand:
        """Where the metadata are: 4 bits say which elements of a group are not zeros."""
        columns = self.k // GROUP[self.bits]
        cta = [(0, 128, 2)] if self.pair else []
        path: Parts = [(0, 1, 128)]
        column: Parts = [(1, 8, columns // 8)]
        part: Parts = [(1, 1, 8)]
        if self.bits > 8:
            path, column, part = [(0, 16, 8), (1, 4, 2), (0, 1, 8)], [], [(0, 8, 2), (1, 1, 4)]
        axes = _axes([("cta", cta), ("path", path), ("column", column), ("part", part)])
        formula = partial(document.umma_metadata, self.bits > 8, columns // 8)
        return Operand(("m", "k"), (self.m, columns), "u4", axes, formula)

    def _scales(self, is_b: bool) -> Operand:
        """Where the scale factors of A or B are: each quarter of the paths has all of them."""
        rows = -(-self.n // 128) * 128 if is_b else self.m
        count = self.k // (self.vector or self.k)
        halves = is_b and self.pair and self.m == 128
        shared = self.pair and (is_b or self.m == 128)
        own = rows // 2 if self.pair and not shared else rows
        cta: Parts = [(None, 1, 2) if shared else (0, own, 2)] if self.pair else []
        path: Parts = [(None, 1, 4), (0, 1, 32)]
        if halves:
            own = rows // 2
            path = [(0, own, 2), (None, 1, 2), (0, 1, 32)]
        column: Parts = [(0, 32, own // 32)]
        part: Parts = [(1, 1, count, 4)]
        axes = _axes([("cta", cta), ("path", path), ("column", column), ("part", part)])
        formula = partial(document.umma_scale, (rows, own, count), shared, halves)
        dims = ("n" if is_b else "m", "k")
        return Operand(dims, (rows, count), "ue8m0", axes, formula)

    def instruction(self, name: str) -> Instruction:
        self.check()
        remarks = [_TWO] * self.pair + [_WHOLE] * (BITS[self.c] == 16)
        words = f"{_WORDS}{' of two SMs' if self.pair else ''}"
        return Instruction(name, words, self.operands, None, self.elsewhere(), "; ".join(remarks))


def _axes(named: list[tuple[str, Parts]]) -> Axes:
    return tuple(
        Axis(name, tuple(DimDigit(*part) for part in parts)) for name, parts in named if parts
    )


def _types(text: str) -> tuple[list[str], list[int]]:
    """The types and the first numbers of template arguments, in order.

    >>> _types("<cutlass::half_t, half_t, float, 128, 64, UMMA::Major::K>")
    (['f16', 'f16', 'f32'], [128, 64])
    """
    types, sizes = list[str](), list[int]()
    for part in text.strip("<>").split(","):
        if number := _NUMBER.fullmatch(part.strip()):
            sizes.append(int(number[1]))
        elif sizes:
            break
        else:
            bare = _AROUND.sub("", part.strip())
            types.append(_TYPES.get(bare, bare))
    return types, sizes


def _umma(kind: str, pair: bool, form: str, example: str, arguments: str) -> Instruction:
    """An instruction of CuTe with its template arguments."""
    name = example[: example.index("<")]
    types, sizes = _types(arguments)
    is_complex, scaled, sparse = form == _COMPLEX, kind.startswith("MX"), "SPARSE" in form
    if is_complex:
        types = ["complex", "complex", "f32"]
    wanted = 3 + scaled, 2 + (scaled and kind != "MXF8F6F4")
    if len(types) != wanted[0] or len(sizes) < wanted[1] or types[2] not in BITS:
        raise LayoutError(
            f"{name}: expected types and sizes as in {example}",
            "the operands have as many elements as the template arguments say",
            "write the types of A, B and C, then M and N",
        )
    bits, a = _KINDS[kind][1], types[0]
    if not is_complex and form[0] == "T" and BITS.get(a, 0) > bits:
        raise LayoutError(f"A of {a}: {name} has elements of {bits} bits", fix="check its type")
    vector = (sizes[2] if len(sizes) > 2 else 32 * (1 + sparse)) if scaled else None
    m, n = sizes[:2]
    found = Umma(kind, bits, pair, sparse, form[0] == "S", a, types[2], m, n, vector)
    return found.instruction(f"{name}{arguments}")


def _ptx(found: re.Match[str]) -> Instruction:
    """An instruction of PTX; its descriptor has the types, which decide no place."""
    kinds = {word: (kind, bits) for kind, (word, bits) in _KINDS.items() if word}
    if (word := found["kind"].lower()) not in kinds:
        raise LayoutError(f"kind {word}: expected one of {', '.join(kinds)}", fix="check the kind")
    (kind, bits), sparse = kinds[word], bool(found["sparse"])
    m, n, k = (int(found[x]) for x in "mnk")
    block, scaled = int(found["block"] or 0) * (1 + sparse), kind.startswith("MX")
    block = block or k // int(found["count"] or {"MXF8F6F4": 1, "MXF4": 2}.get(kind, 4))
    c = "s32" if kind == "S8" else "f32"
    pair, vector = found["group"] == "2", block if scaled else None
    plain = Umma(kind, bits, pair, sparse, scaled, f"b{bits}", c, m, n, vector)
    if k != plain.k:
        raise LayoutError(f"K of {k}: expected {plain.k}", "a row of A has 256 bits", "check K")
    return plain.instruction(found[0])


# ---- instructions of a warp


def matrix(dims: str, shape: tuple[int, int], type_: str, per: int, warps: int = 1) -> Operand:
    """An operand in NVIDIA's tiles of 8 rows, with ``per`` elements in a word."""
    axes = ptx_matrix(*shape, per, warps)
    formula = partial(document.ptx_matrix, shape[0] // warps, per)
    return Operand((dims[0], dims[1]), shape, type_, axes, formula)


def metadata(bits: int, k: int, warps: int = 1) -> Operand:
    """Metadata of rows of k elements of A: a lane has those of a row, or of two, eight apart."""
    chunks = k // GROUP[bits]
    lane: Parts = [(None, 1, 16 // chunks), (1, 4, chunks // 4)]
    register: Parts = [(0, 8, 2), (1, 1, 4)]
    if bits <= 8:
        lane = [(None, 1, 16 // chunks), (1, 8, chunks // 8), (0, 8, 2)]
        register = [(1, 1, 8)]
    axes = lanes([(0, 1, 8), *lane], register, [(0, 16, warps)] if warps > 1 else [])
    formula = partial(document.metadata, bits, chunks)
    return Operand(("m", "k"), (16 * warps, chunks), "u4", axes, formula)


def _warp(k: int, sparse: bool, scaled: bool, arguments: str) -> Instruction:
    """An instruction of a warp of SM120; metadata and scale factors are in its registers."""
    name = f"SM120_{'SPARSE_' * sparse}16x8x{k}_TN{'_VS' * scaled}"
    bits = 4 if k == 64 * (1 + sparse) else 8
    types, sizes = _types(arguments)
    a, b, c = types[:3] if len(types) > 2 else ["e2m1" if bits == 4 else "e4m3"] * 2 + ["f32"]
    if any(x not in BITS for x in (a, b, c)):
        raise LayoutError(f"{name}: expected the types of A, B and C, got {', '.join(types[:3])}")

    if scaled and sizes and (sizes[0] not in (16, 32, 64) or k % sizes[0]):
        raise LayoutError(f"{name}: expected blocks of 16, 32 or 64, got {sizes[0]}")

    def operands() -> Mapping[str, Operand]:
        result = matrix("mn", (16, 8), c, 2)
        found = {
            "A": matrix("mk", (16, k // (1 + sparse)), a, 32 // bits),
            "B": matrix("nk", (8, k), b, 32 // bits),
            "C": result,
            "D": result,
        }
        if sparse:
            found["E"] = metadata(bits, k)
        if scaled and sizes:
            count = k // sizes[0]
            pairs = lanes([(0, 1, 8), (None, 1, 2), (0, 8, 2)], [(1, 1, count)])
            fours = lanes([(0, 1, 8), (None, 1, 4)], [(1, 1, count)])
            of_a, of_b = partial(document.warp_scale, 8), partial(document.warp_scale, 0)
            found["SFA"] = Operand(("m", "k"), (16, count), "ue8m0", pairs, of_a)
            found["SFB"] = Operand(("n", "k"), (8, count), "ue8m0", fours, of_b)
        return found

    words = f"{'sparse ' * sparse}matrix instruction of a warp"
    return Instruction(f"{name}{arguments}", words, operands, remark=NOT_ZERO * sparse)


_WARPS: Final = (
    (32, False, False), (32, False, True), (64, False, True),
    (64, True, False), (64, True, True), (128, True, True),
)  # fmt: skip
"""SM120's instructions: K, whether sparse, whether with scale factors."""


@cache
def _known() -> Mapping[str, tuple[Callable[[str], Instruction], str]]:
    """All names by their keys: what reads template arguments, and an example with them."""
    found: dict[str, tuple[Callable[[str], Instruction], str]] = {}
    rows = [(kind, form) for kind, forms in _FORMS.items() for form in forms.split()]
    usual = {"TF32": "tfloat32", "F16BF16": "half", "S8": "int8"}
    for (kind, form), pair in product([*rows, ("TF32", _COMPLEX)], (False, True)):
        name = f"SM10{'3' if 'ULTRA' in kind else '0_MMA'}_{kind}{'_2x1SM' * pair}_{form}"
        scale = ",float_ue8m0_t" * kind.startswith("MX")
        a = usual.get(kind, "float_e2m1" if "MXF4" in kind else "float_e4m3")
        types = f"{a}_t,{a}_t,{'int32_t' if kind == 'S8' else 'float'}{scale},"
        types = "" if form == _COMPLEX else types
        sizes = f"{128 << pair},128{',32' * ('MXF4' in kind)}"
        example = f"{name}<{types}{sizes},UMMA::Major::K,UMMA::Major::K>"
        found[key(name)] = partial(_umma, kind, pair, form, example), example
    for k, sparse, scaled in _WARPS:
        a = "float_e2m1_t" if k == 64 * (1 + sparse) else "float_e4m3_t"
        scale = f",float_ue8m0_t,{32 * (1 + sparse)}" * scaled
        name = f"SM120_{'SPARSE_' * sparse}16x8x{k}_TN{'_VS' * scaled}"
        found[key(name)] = partial(_warp, k, sparse, scaled), f"{name}<{a},{a},float{scale}>"
    return found


# ---- vectors of a length that the machine has

_TILES: Final = "bhsdq"
"""The widths of elements of ZA, from 8 bits on; each has as many tiles as bytes."""
_OUTER: Final = {
    16: "f16 bf16", 32: "f32 f16 bf16 s8 u8 s16 u16", 64: "f64 s16 u16",
}  # fmt: skip
"""Bits of a tile's elements, and types of the vectors of which ACLE has outer products."""


def _in_order(
    dims: str, sizes: tuple[int, ...], type_: str, length: int, filled: int = 0
) -> Operand:
    """An operand row by row in vector registers, of which some have elements in front only."""
    places = length // BITS[type_]
    left = filled = filled or min(places, prod(sizes))
    vreg, element = list[DimDigit](), list[DimDigit]()
    for dim, n in reversed([*enumerate(sizes)]):
        own = min(n, left)
        element.insert(0, DimDigit(dim, 1, own, 0 if dim else own * places // filled))
        vreg.insert(0, DimDigit(dim, own, n // own))
        left //= own
    named = ("vreg", vreg), ("element", element)
    axes = tuple(Axis(name, tuple(d for d in own if d.places > 1)) for name, own in named)
    formula = partial(document.in_order, sizes, filled)
    return Operand(tuple(dims), sizes, type_, axes, formula)


def _za_tile(length: int, found: re.Match[str]) -> Mapping[str, Operand]:
    """The rows of a tile are every second, fourth, … vector of the array ZA."""
    tile, tiles = int(found[1]), 1 << _TILES.index(found[2].lower())
    if tile >= tiles:
        what = f"{found[0]}: expected a tile below {tiles}"
        raise LayoutError(what, f"elements of {8 * tiles} bits have so many", "check the number")
    n = length // (8 * tiles)
    rows = Axis("vector", (DimDigit(0, 1, n),), tiles, tile)
    axes = rows, Axis("element", (DimDigit(1, 1, n),))
    formula = partial(document.za_tile, tiles, tile)
    return {"elements": Operand(("row", "column"), (n, n), f"b{8 * tiles}", axes, formula)}


def _outer_product(length: int, found: re.Match[str]) -> Mapping[str, Operand]:
    """The two vectors of an outer product; those of ``su`` and ``us`` are of one sign each."""
    bits, a = int(found[2]), found[4].lower()
    types = [f"{found[1][0].lower()}{bits // 4}"] if found[1] else _OUTER[bits].split()
    if a not in types:
        what = f"{found[0]}: expected one of {', '.join(types)}, got {a}"
        raise LayoutError(what, "ACLE has these", "check the type of the vectors")
    b = a.translate(str.maketrans("su", "us")) if found[1] else a
    n, k = length // bits, bits // BITS[a]
    return {
        "A": _in_order("mk", (n, k), a, length),
        "B": flipped(_in_order("nk", (n, k), b, length)),
    }


def _register_group(length: int, found: re.Match[str]) -> Mapping[str, Operand]:
    """A type of RISC-V's intrinsics: a part of a register, or several; a tuple has more of them."""
    kind = {"int": "s", "uint": "u", "float": "f", "bfloat": "bf"}[found[1].lower()]
    bits, count, fields = int(found[2]), int(found[4]), int(found[5] or 1)
    part, group = (count, 1) if found[3] else (1, count)
    if kind + found[2] not in BITS or not 8 <= bits <= 64 // part or group * fields > 8:
        raise LayoutError(
            f"{found[0]}: expected a type of RISC-V's vectors",
            "an element of n bits has n/64 of a register or more, and a type 8 registers or fewer",
            "write for example vint32m4_t, vfloat16mf2_t or vint8m1x4_t",
        )
    filled = length // bits // part
    first = int(fields == 1)  # a type that is not a tuple has one dimension
    dims, sizes = "fi"[first:], (fields, filled * group)[first:]
    return {"elements": _in_order(dims, sizes, kind + found[2], length, filled)}


def _dot_product(length: int, found: re.Match[str]) -> Mapping[str, Operand]:
    """SpacemiT's matrices of 2, 4, 8 or 16 rows in whole registers, two of each if they fit."""
    if not found[1]:
        what = f"{found[0]}: expected e4, e8 or e16 before it, as vsetvli has it, got none"
        raise LayoutError(what, "the size follows from the bits of an element", "write e8 vmadot")
    bits, sign = int(found[1]), (found[3] or "s").lower()
    copies = 2 - length.bit_length() % 2
    m = isqrt(length // (16 * copies))
    c = "b32" if bits == 16 else "s32"
    if found[2]:  # of floats the document has no format but of 16 bits
        sign, c = ("f" if bits == 16 else "b"), "f16"
    first, dims = ((copies,), "c") if copies > 1 else ((), "")
    a, b = f"{sign[0]}{bits}", f"{sign[-1]}{bits}"
    own = {
        "A": _in_order(f"{dims}mk", (*first, m, 16 * m // bits), a, length),
        "B": flipped(_in_order(f"{dims}nk", (*first, m, 16 * m // bits), b, length)),
    }
    return own if copies > 1 else own | {"C": _in_order("mn", (m, m), c, length)}


_Read: TypeAlias = Callable[[int, re.Match[str]], Mapping[str, Operand]]
_LENGTH: Final = regex(r"(svl|zvl)(\d{1,9})b?\s+", re.IGNORECASE)
_VECTORS: Final[Sequence[tuple[re.Pattern[str], tuple[str, int, int], _Read, str, str, Any]]] = (
    (regex(r"za(\d{1,9})\.([bhsdq])(?=\s|\Z)", re.IGNORECASE), ("svl", 128, 2048), _za_tile,
     "tile of Arm's array ZA", "svl512 za1.s", {}),
    (regex(r"sv(su|us)?mop[as]_za(?(1)(?!16))(16|32|64)(\[)?_([a-z]+\d+)(?(3)\])_m(?=\s|\Z)",
           re.IGNORECASE), ("svl", 128, 2048), _outer_product, "sum of outer products of Arm's SME",
     "svl512 svmopa_za32_s8_m A", {"C": "a tile: ask svl512 za0.s"}),
    (regex(r"v(u?int|b?float)(\d{1,9})m(f(?!1))?([1248])(?:x([2-8]))?_t(?=\s|\Z)", re.IGNORECASE),
     ("zvl", 64, 1 << 16), _register_group, "register group of RISC-V", "zvl256b vint32m4_t", {}),
    (regex(r"(?:e(4|8|16)\s+)?v(?:(f)madot|madot(us?|su)?)(?=\s|\Z)", re.IGNORECASE),
     ("zvl", 128, 4096), _dot_product, "dot product of SpacemiT's matrices", "zvl256b e8 vmadot A",
     {"C": "registers of two matrices: of their order the document's loop and figure differ"}),
)  # fmt: skip
"""Names; the word before a length, and its bounds; operands, what they are of, an example, and
where others lie."""


def _vector(text: str, start: int) -> tuple[Instruction, int] | None:
    """Return the instruction or type of vectors that a text begins with, and where it ends."""
    length = _LENGTH.match(text, start)
    at = length.end() if length else start
    for pattern, (word, least, most), read, words, example, elsewhere in _VECTORS:
        if (found := pattern.match(text, at)) is None:
            continue
        bits = int(length[2]) if length and length[1].lower() == word else 0
        if not least <= bits <= most or bits & (bits - 1):
            got = length[0].strip() if length else "none"
            what = f"{found[0]}: expected the bits of a vector before it, got {got}"
            why = f"a machine has vectors of {least} to {most:,} bits, a power of two"
            raise LayoutError(what, why, f"write for example {example}")
        operands = read(bits, found)
        absent = {name: place for name, place in elsewhere.items() if name not in operands}
        default = "elements" if "elements" in operands else None
        name = " ".join(text[start : found.end()].split())
        return Instruction(name, words, partial(dict, operands), default, absent), found.end()
    return None


def key(name: str) -> str:
    """Return a name without case and underscores, which vendors set differently."""
    return name.replace("_", "").lower()


def templated(text: str) -> tuple[Instruction, int] | None:
    """Return the instruction that a text begins with, and where its name ends.

    Raises:
        LayoutError: if the sizes are not those of an instruction.
    """
    start = len(text) - len(text.lstrip())
    if vector := _vector(text, start):
        return vector
    if found := _PTX.match(text, start):
        return _ptx(found), found.end()
    cute = _CUTE.match(text, start)
    if cute is None or (known := _known().get(key(cute[1]))) is None:
        return None
    return known[0]("".join((cute[2] or "").split())), cute.end()


def examples() -> Iterator[Instruction]:
    """Yield each instruction, with template arguments that it may have."""
    for read, example in _known().values():
        yield read(example[example.index("<") :])
    for (word, bits), group, sp in product(_KINDS.values(), (1, 2), ("", ".sp")):
        size = f"m{128 * group}n128k{256 // bits << bool(sp)}"
        if found := _PTX.match(f"tcgen05.mma{sp}.cta_group::{group}.kind::{word}.{size}"):
            yield _ptx(found)
    for *_, example, _ in _VECTORS:
        if vector := _vector(example, 0):
            yield vector[0]
