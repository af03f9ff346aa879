"""AMD's instructions: MFMA of CDNA, and WMMA of RDNA."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Final

from morello_layouts.notations.fragments import document, rules
from morello_layouts.notations.fragments.operands import (
    BITS,
    Instruction,
    Operand,
    flipped,
    unblocked,
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
    """A, B, C and D of MFMA."""
    first, second = (a.split("_") * 2)[:2]
    inputs = rules.mfma_input(m, k, blocks), partial(document.mfma_input, m, k, blocks)
    outputs = (rules.mfma_output(m, blocks, BITS[d]), partial(document.mfma_output, m, BITS[d]))
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
    """A, B, C and D of WMMA."""
    first, second = (a.split("_") * 2)[:2]
    if generation == 11:
        inputs = rules.wmma11_input(wave, k), document.wmma11_input
        outputs = rules.wmma11_output(wave), partial(document.wmma11_output, wave)
    else:
        filled = min(wave, 16 * k * BITS[first] // 32)  # lanes of at least one register
        inputs = (
            rules.wmma12_input(BITS[first], k, filled),
            partial(document.wmma12_input, BITS[first], k, filled),
        )
        outputs = rules.wmma12_output(wave), partial(document.wmma12_output, wave)
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
