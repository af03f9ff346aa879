"""Indexing maps, from text and of instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from morello_layouts.core.checks import require_type
from morello_layouts.programs.hlo import HloInstruction, HloModule
from morello_layouts.programs.indexing import IndexingMap, InstructionIndexing, parse_indexing_map
from morello_layouts.programs.indexing.programs import instruction_indexing


@overload
def indexing_map(
    x: str, *, dims: Sequence[int] | None = None, ranges: Sequence[int] = ()
) -> IndexingMap: ...


@overload
def indexing_map(
    x: HloModule | HloInstruction, name: str | None = None, *, output: int = 0
) -> InstructionIndexing: ...


def indexing_map(
    x: str | HloModule | HloInstruction,
    name: str | None = None,
    *,
    output: int = 0,
    dims: Sequence[int] | None = None,
    ranges: Sequence[int] = (),
) -> IndexingMap | InstructionIndexing:
    """Return an indexing map from text, or which elements an instruction of a program reads.

    Args:
        x: the text, as XLA prints it; or a program; or one of its instructions.
        name: the instruction's name, for a program; a fusion's maps are composed through it.
        output: the number of the result, for an instruction with several.
        dims: the size of each dimension, for a text without a domain, such as MLIR's affine maps.
        ranges: the size of each symbol, likewise.

    Raises:
        ParseError: if the text is not an indexing map; with a caret.
        LayoutError: if the program has no such instruction or result.
        UnsupportedError: if what the instruction reads is not known.

    >>> m = indexing_map("(d0, d1)[s0] -> (d0 mod 4, s0), domain: d0 in [0, 3], d1 in [0, 7], "
    ...                  "s0 in [0, 9]")
    >>> print(m.simplify())
    (d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 3], d1 in [0, 7], s0 in [0, 9]
    >>> print(indexing_map("(d0) -> (d0 floordiv 8, d0 mod 8)", dims=(32,)))
    (d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]
    >>> from morello_layouts import read_hlo
    >>> print(indexing_map(read_hlo("%t = f32[4,8] transpose(f32[8,4] %x), dimensions={1,0}"), "t"))
    t: f32[4,8]{1,0} reads
      x: (d0, d1) -> (d1, d0), domain: d0 in [0, 3], d1 in [0, 7]
    """
    if isinstance(x, str):
        return parse_indexing_map(x, None if dims is None else tuple(dims), tuple(ranges))
    if isinstance(x, HloModule):
        x = x.instruction(name) if name is not None else x.entry.root
    require_type(
        x, HloInstruction, "indexing_map", "give the map's text, or read_hlo(text) and a name"
    )
    return instruction_indexing(x, output)
