"""The list of instructions: their names, and the operands that the rules give them.

Each family is a loop over shapes and types, as its document tabulates them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Final

from morello_layouts.notations.fragments import document, rules
from morello_layouts.notations.fragments.amd import amd_instructions
from morello_layouts.notations.fragments.nvidia import nvidia_instructions
from morello_layouts.notations.fragments.operands import Instruction, Operand, per_word

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
    result = Operand(("m", "n"), (16, 16), c, rules.tile(16, 16), document.tile_rows)
    return {
        "A": Operand(("m", "k"), (16, 16 * per), a, rules.tile(16, 16 * per), document.tile_rows),
        "B": Operand(("k", "n"), (16 * per, 16), b, rules.tile(16 * per, 16, per), groups),
        "C": result,
    }


def _amx_instructions() -> Iterator[Instruction]:
    for row in _AMX.split(", "):
        name, *types = row.split()
        yield Instruction(name, "tile instruction of AMX", partial(_amx, *types))


@cache
def instructions() -> Mapping[str, Instruction]:
    """Return all instructions by the keys of their names.

    >>> len(instructions()) > 1000
    True
    """
    families = (nvidia_instructions(), amd_instructions(), _amx_instructions())
    found: dict[str, Instruction] = {}
    for family in families:
        for each in family:
            found.setdefault(key(each.name), each)
    return found


def key(name: str) -> str:
    """Return a name without case and underscores, which vendors set differently.

    >>> key("v_mfma_f32_32x32x8_f16") == key("V_MFMA_F32_32x32x8F16")
    True
    """
    return name.replace("_", "").lower()
