"""An instruction of HLO, where ``explain`` is given one instead of a layout."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.errors import LayoutError
from morello_layouts.report.rows import Row

if TYPE_CHECKING:
    from morello_layouts.hlo import HloInstruction

__all__ = ["instruction_dict", "instruction_in", "instruction_rows"]

_BEGINNING: Final = re.compile(r"\s*+(?:ROOT\s++)?+%?+[A-Za-z_][\w.\-]*+\s*+=", re.ASCII)


def instruction_in(text: str) -> HloInstruction | None:
    """The instruction that a text is; None where it is no instruction.

    Raises:
        LayoutError: where it is a wrong one, or several.
    """
    if _BEGINNING.match(text) is None:
        return None
    from morello_layouts.hlo import read_hlo

    found = list(read_hlo(text).instructions)
    if len(found) != 1:
        raise LayoutError(
            f"the text holds {len(found)} instructions",
            "explain takes one at a time",
            "give the one that you ask about",
        )
    return found[0]


def instruction_rows(instruction: HloInstruction) -> list[Row]:
    """What is said of it before its result is explained."""
    found = instruction_dict(instruction)
    operands = ", ".join(
        operand["name"] if operand["type"] is None else f"{operand['name']}: {operand['type']}"
        for operand in found["operands"]
    )
    said = {
        "name": found["name"] + (", the root of its computation" if found["is_root"] else ""),
        "opcode": found["opcode"],
        "value" if instruction.opcode == "constant" else "number": found["literal"],
        "operands": operands,
        "calls": ", ".join(found["calls"]),
        "operation": found["op_name"],
        "source": found["source"],
    }
    return [Row(label, text) for label, text in said.items() if text]


def instruction_dict(instruction: HloInstruction) -> dict[str, Any]:
    """It as JSON takes it; null for what is not known."""
    shapes = instruction.operand_shapes or (None,) * len(instruction.operand_names)
    metadata = instruction.metadata
    return {
        "name": instruction.name,
        "opcode": instruction.opcode,
        "is_root": instruction.is_root,
        "literal": instruction.literal,
        "operands": [
            {"name": name, "type": None if shape is None else str(shape)}
            for name, shape in zip(instruction.operand_names, shapes, strict=True)
        ],
        "calls": [
            called if isinstance(called, str) else called.name
            for called in instruction.called_computations
        ],
        "attributes": dict(instruction.attributes),
        "op_name": metadata.op_name,
        "source": metadata.source,
    }
