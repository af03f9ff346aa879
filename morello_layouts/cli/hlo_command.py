"""``hlo``: what the layouts of a program cost; two programs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from morello_layouts.cli.files import html_option, module_in, print_report
from morello_layouts.cli.options import json_option
from morello_layouts.cli.status import Status
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.doctor import Comparison, Diagnosis

__all__ = ["hlo"]


@click.command(
    epilog="""\b
Examples:
  morello-layouts hlo module.after_optimizations.txt
  morello-layouts hlo dump.txt --top 3 --tpu v5e --html report.html
  morello-layouts hlo before.txt after.txt
  cat dump.txt | morello-layouts hlo - --json

\b
JSON: module, generation, generation_reason, totals (instructions, computations,
fused_computations; parameters, outputs, results, each of arrays, data_bytes, reserved_bytes,
padding_bytes, factor), wasteful_count, wasteful (each of shape, data_bytes, reserved_bytes,
padding_bytes, factor, reasons, alternative (layout, changes, reserved_bytes, factor, hint),
count, memory_spaces, places (instruction, opcode, computation, line, op_name, source)),
move_sums (opcode, effect, count, fused, written_bytes), moves (each of instruction, opcode,
computation, line, op_name, source, is_fused, written_bytes, effect, holds, kind, operand,
result, memory_spaces, moved_bytes, text, reason), layouts, memory_spaces, warnings. Of two
dumps: before, after (totals), types (type, before, after, difference), layouts (instruction,
opcode, before, after, before_bytes, after_bytes, difference), moves (opcode, effect, operand,
result, before, after, moved_bytes, difference), warnings. What is not known is null.
"""
)
@click.argument("file")
@click.argument("other", required=False)
@click.option(
    "--top", type=click.IntRange(0), default=10, show_default=True,
    help="How many of the most wasteful arrays to show.",
)  # fmt: skip
@click.option(
    "--tpu", "generation", metavar="v5e",
    help="The generation that alternatives are for; if left out, the layouts tell.",
)  # fmt: skip
@html_option
@json_option
def hlo(
    *,
    file: str,
    other: str | None,
    top: int,
    generation: str | None,
    html: str | None,
    as_json: bool,
) -> Status:
    """Say what the layouts of the program in FILE cost: padding, copies, what would be better.

    FILE is HLO text, as the compiler dumps it; - reads standard input. With a second file, say
    what changed from the first to it.
    """
    from morello_layouts.doctor import compare_hlo, diagnose

    report: Diagnosis | Comparison
    if other is None:
        report = diagnose(module_in(file), generation, top=top)
    elif generation is not None:
        raise LayoutError(
            "--tpu was given for a comparison",
            "nothing is suggested where two dumps are compared",
            "leave it out",
        )
    elif file == other == "-":
        raise LayoutError(
            "both dumps are to come from standard input",
            "it holds one dump",
            "give the path of a file for one of them",
        )
    else:
        report = compare_hlo(module_in(file), module_in(other))
    print_report(report, as_json=as_json, html=html)
    return Status.DONE
