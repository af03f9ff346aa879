"""``explain``: what a layout's text means."""

from __future__ import annotations

import click

from morello_layouts.api.sizes import Shape
from morello_layouts.cli.options import json_option, shape_option, text_argument
from morello_layouts.cli.screen import print_json
from morello_layouts.cli.status import Status

__all__ = ["explain"]


@click.command(
    epilog="""\b
Examples:
  morello-layouts explain "bf16[10,200]{1,0:T(8,128)(2,1)}"
  morello-layouts explain "[1, 0, 1 p(4)]" --shape 6x8 --derivation
  morello-layouts explain "(f32[8,128], s32[])" --json
  morello-layouts explain "add.1 = bf16[8,1280]{1,0:T(8,128)(2,1)} add(a, b)"

\b
Exit status: 0 done, whatever the proofs say (prove and equal tell), 2 bad input.

\b
JSON: text; instruction (name, opcode, is_root, literal, operands of name and type, calls,
attributes, op_name, source; null for a layout); and arrays; of each array path (in tuples),
text, kind, headline, dimensions (name, symbol, size, is_dynamic), parts (text, meaning,
is_implied), axes in memory (coordinate, size), word (what shares 32 bits: bits, slots, offsets,
text), sizes (elements, spanned_elements, element_bits, data_bytes, spanned_bytes,
reserved_bytes, padding_elements, padding_bytes, factor), index (shape, physical_shape, recipe,
textbook, formula, derivation), proofs (bijective, injective, verified; each as of prove), tpu
(lanes, sublanes, packing, default_on, default, padding; null outside a TPU's tiles), picture
(slices; grids of at, rows, columns, offsets with null for padding and gaps), notes. What is not
known is null.
"""
)
@text_argument("text")
@shape_option
@click.option("--derivation", is_flag=True, help="Show how the textbook formula was simplified.")
@json_option
def explain(text: str, shape: Shape | None, derivation: bool, as_json: bool) -> Status:
    """Say what each part of the layout TEXT means, with its formula, sizes, proof and picture.

    TEXT is an XLA shape or layout, a tuple of shapes, an instruction of HLO, of which the result
    is explained, or a Morello layout; - reads it from standard input.
    """
    # Imported here: SymPy and ISL load with these, and the help does not need them.
    from morello_layouts.cli.show import show
    from morello_layouts.report.arrays import reports_of
    from morello_layouts.report.instruction import (
        instruction_dict,
        instruction_in,
        instruction_rows,
    )
    from morello_layouts.report.plain import array_dict

    found = instruction_in(text)
    source, reports = reports_of(text if found is None else str(found.shape), shape)
    if as_json:
        arrays = [array_dict(report, derivation=derivation) for report in reports]
        instruction = None if found is None else instruction_dict(found)
        print_json({"text": source, "instruction": instruction, "arrays": arrays})
    else:
        rows = () if found is None else instruction_rows(found)
        show(source, reports, derivation=derivation, instruction=rows)
    return Status.DONE
