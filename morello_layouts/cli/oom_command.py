"""``oom``: the compiler's out-of-memory report, explained."""

from __future__ import annotations

from pathlib import Path

import click

from morello_layouts.cli.files import html_option, print_report, standard_input
from morello_layouts.cli.options import json_option
from morello_layouts.cli.status import Status

__all__ = ["oom"]


@click.command(
    epilog="""\b
Examples:
  morello-layouts oom log.txt
  morello-layouts oom log.txt --tpu v3 --html report.html
  pbpaste | morello-layouts oom - --json

\b
JSON: memory_space, used, capacity, generation, generation_reason, allocations (each of number,
line, reported (size, shape, unpadded, padding, operator, label, kind), shape, assumed_tiles,
data_bytes, reserved_bytes, agrees, differences (field, reported, computed), reasons, alternative
(layout, changes, reserved_bytes, factor, hint), instruction, source, note), warnings. What is not
known is null.
"""
)
@click.argument("file")
@click.option(
    "--tpu", "generation", metavar="v5e",
    help="The generation that alternatives are for; if left out, the tiles of scalars tell.",
)  # fmt: skip
@html_option
@json_option
def oom(*, file: str, generation: str | None, html: str | None, as_json: bool) -> Status:
    """Explain the out-of-memory report in FILE: each allocation, its padding, what takes less.

    FILE holds the compiler's message, or a whole log with it; - reads standard input.
    """
    from morello_layouts.doctor import read_oom

    report = read_oom(standard_input() if file == "-" else Path(file), generation)
    print_report(report, as_json=as_json, html=html)
    return Status.DONE
