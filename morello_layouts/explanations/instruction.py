"""HLO instructions among texts: recognized, and their parts by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.hlo import HloInstruction

# A list or an operation after the sign is linalg.pack's.
_BEGINNING: Final = re.compile(
    r"\s*+(?:ROOT\s++)?+%?+[A-Za-z_][\w.\-]*+\s*+=(?!\s*+(?:\[|array\s*+<|\w++\.))", re.ASCII
)

_SIZES: Final = "once the program is partitioned, sizes are those of one part"


def instruction_in(text: object) -> HloInstruction | None:
    """Return the HLO instruction that a text holds; None for other texts."""
    if not isinstance(text, str):
        from morello_layouts.hlo import HloInstruction as Instruction

        return text if isinstance(text, Instruction) else None
    if _BEGINNING.match(text) is None:
        return None
    from morello_layouts.hlo import read_hlo

    found = list(read_hlo(text).instructions)
    if len(found) != 1:
        raise LayoutError(
            f"expected one instruction, got {len(found)}",
            "explain takes one instruction at a time",
            "give one of them; diagnose takes a whole program",
        )
    return found[0]


def instruction_facts(instruction: HloInstruction) -> dict[str, Any]:
    """Return the parts of an instruction by name; None for a missing part."""
    from morello_layouts.hlo.opcodes import opcode_words
    from morello_layouts.notations.sharding.attribute import sharding_of

    shapes = instruction.operand_shapes or (None,) * len(instruction.operand_names)
    operands = zip(instruction.operand_names, shapes, strict=True)
    called = instruction.called_computations
    sharding = instruction.attributes.get("sharding")
    return {
        "name": instruction.name,
        "opcode": instruction.opcode,
        "meaning": opcode_words(instruction) or None,
        "is_root": instruction.is_root,
        "literal": instruction.literal,
        "operands": [{"name": name, "type": shape and str(shape)} for name, shape in operands],
        "calls": [each if isinstance(each, str) else each.name for each in called],
        "attributes": dict(instruction.attributes),
        "sharding": sharding and f"{sharding}: {sharding_of(sharding)}; {_SIZES}",
        "op_name": instruction.metadata.op_name,
        "source": instruction.metadata.source,
    }
