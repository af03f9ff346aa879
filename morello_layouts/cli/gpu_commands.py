"""``banks``: what accesses cost in memory; ``fragments``: the known operands of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import click

from morello_layouts import api
from morello_layouts.api.arguments import Shape
from morello_layouts.cli.options import (
    assuming_option,
    checked_option,
    coordinate,
    json_option,
    notation_option,
    shape_option,
)
from morello_layouts.cli.results import Status
from morello_layouts.cli.terminal import print_json, print_text
from morello_layouts.errors import LayoutError
from morello_layouts.gpu import BankConflicts, BankFormula

_QUESTIONS: Final[dict[str, Any]] = {
    "shared": api.bank_conflicts,
    "global": api.coalescing,
    "cache": api.cache_lines,
}


@click.command(
    epilog="""\b
Examples:
  morello-layouts banks "f32[32,32]" row column
  morello-layouts banks "(64,64):(72,1)" --bits 16 row.b128 ldmatrix
  morello-layouts banks "(64,64):(64,1)" --bits 16 "SM80_16x8x16_F32F16F16F32_TN A"
  morello-layouts banks "f32[M,LD]" column
  morello-layouts banks --best --shape 64x64 --bits 16 row.b128 ldmatrix
  morello-layouts banks --in global "f32[64,64]" column

\b
Accesses: row, column (lanes along one row or down one column), rows, columns (on to the next one);
row.b64, column.b128 (bits of a lane, along the row); ldmatrix.x1, .x2, .x4, stmatrix.x4; or a
fragment. "load " or "store " may stand before.
Exit status: 1 if an access has bank conflicts.

\b
JSON: answers, one for each access: verdict, access, layout, bits, and for shared memory ways,
wavefronts, phases, instructions, counted, at, bank, collisions (word, lanes, coordinate), ranks,
reason; or for symbolic sizes pitch, formula, ways, least; for global memory sectors and lines
(unit, worst, least, total, total_least), wanted_bytes, moved_bytes, efficiency. With --best one
object: verdict, shape, bits, accesses, ways, plain_ways, padding, pitch, layout, cute, triton,
cuda, reason, is_best, tried, padded, padding_bytes.
In Python: bank_conflicts, best_swizzle, coalescing, cache_lines.
"""
)
@click.argument("texts", nargs=-1, required=True, metavar="[LAYOUT] ACCESS...")
@shape_option
@notation_option
@click.option("--bits", type=int, help="Bits of an element, if the layout names no type.")
@click.option(
    "--at", metavar="0,8", callback=checked_option(coordinate),
    help="Where an access begins. By default each access is at every place in turn.",
)  # fmt: skip
@click.option("--best", is_flag=True, help="Find the best swizzle of a tile; give no layout.")
@click.option(
    "--in", "memory", type=click.Choice(tuple(_QUESTIONS)), default="shared", show_default=True,
    help="The memory: of a GPU, or a CPU's cache.",
)  # fmt: skip
@assuming_option
@json_option
def banks(
    *,
    texts: Sequence[str],
    shape: Shape | None,
    bits: int | None,
    at: tuple[int, ...] | None,
    best: bool,
    memory: str,
    assuming: str | None,
    as_json: bool,
) -> Status:
    """Count how many times the banks of shared memory serve each ACCESS of a warp to LAYOUT."""
    if best:
        return _best(texts, shape, bits, as_json)
    layout, *accesses = texts
    if not accesses:
        raise LayoutError(
            f"no access of {layout}",
            "an access says which elements the lanes of a warp touch",
            "give accesses behind the layout: row, column, row.b128, ldmatrix, or a fragment",
        )
    m = api.index_map(layout, shape, assuming=assuming)
    ask = partial(_QUESTIONS[memory], m, bits=bits, at=at)
    answers = [ask(access) for access in accesses]
    if as_json:
        print_json({"answers": answers})
    else:
        print_text("\n".join(map(str, answers)))
    return Status.DISPROVED if any(map(_has_conflicts, answers)) else Status.DONE


def _best(accesses: Sequence[str], shape: Shape | None, bits: int | None, as_json: bool) -> Status:
    if shape is None or bits is None:
        missing = {"the shape of the tile": shape, "the bits of an element": bits}
        raise LayoutError(
            f"missing: {' and '.join(name for name, value in missing.items() if value is None)}",
            "the best swizzle depends on the sizes of the tile and on the bits of its elements",
            "give for example shape=(64, 64) and bits=16, beside the accesses",
        )
    found = api.best_swizzle(tuple(shape), bits, accesses)
    if as_json:
        print_json(found)
    else:
        print_text(str(found))
    return Status.DISPROVED if max(found.ways) > 1 else Status.DONE


def _has_conflicts(answer: object) -> bool:
    if isinstance(answer, BankFormula):
        return max(answer.ways) > 1
    return isinstance(answer, BankConflicts) and answer.has_conflicts


@click.command(
    epilog="""\b
Examples:
  morello-layouts fragments SM80_16x8x16
  morello-layouts fragments v_mfma_f32 --json
  morello-layouts explain "SM80_16x8x16_F32F16F16F32_TN A"

\b
Exit status: 1 if none begins so.

\b
JSON: fragments.
In Python: fragments.
"""
)
@click.argument("beginning", default="")
@json_option
def fragments(beginning: str, as_json: bool) -> Status:
    """List the operands of instructions whose names begin with BEGINNING, one a line.

    They are NVIDIA's, by their names in PTX and in CuTe, AMD's MFMA and WMMA, and Intel's AMX. Each
    is the text of a layout.
    """
    found = api.fragments(beginning)
    if as_json:
        print_json({"fragments": found})
    else:
        print_text("\n".join(found))
    return Status.DONE if found else Status.DISPROVED
