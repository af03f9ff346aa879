"""Explain the compiler's out-of-memory reports."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from morello_layouts.description import count
from morello_layouts.diagnostics.buffers import Generation, generation_of, xla_size
from morello_layouts.diagnostics.diagnosis import WASTE_COLUMNS, alternative_lines
from morello_layouts.diagnostics.oom_text import (
    Block,
    Difference,
    OomAllocation,
    blocks_of,
    header_of,
    without_colours,
)
from morello_layouts.diagnostics.report import (
    Cell,
    Report,
    Row,
    Summary,
    Table,
    cell,
    factor,
    number,
    size,
)
from morello_layouts.diagnostics.usage import Alternative, alternative_to
from morello_layouts.errors import LayoutError
from morello_layouts.explanations.explanation import arrays_of
from morello_layouts.hlo.attributes import metadata_of
from morello_layouts.notations import parse
from morello_layouts.notations.xla import XlaBuffer, XlaShape, XlaTuple
from morello_layouts.notations.xla.reader import XlaValue
from morello_layouts.tpu import LANES, Waste, waste
from morello_layouts.tpu.generations import packing

_MOST_REASONS = 6
_LONGEST = 300  # characters of a label


def oom_summary(
    space: tuple[str | None, str | None, str | None],
    generation: Generation,
    allocations: Sequence[OomAllocation],
    warnings: tuple[str, ...],
) -> Summary:
    """The lines above the table.

    Args:
        space: the memory space, what is used of it, and what it holds, where the report says so.
        generation: which one the alternatives are for.
        allocations: those of the report.
        warnings: what a reader should know.
    """
    name, used, capacity = space
    title = "Out of memory"
    if name is not None:
        title += f" in {name}"
    if used is not None:
        title += f": {used} used of {capacity}"
    lines = [count(len(allocations), "allocation")]
    checked = [each for each in allocations if each.wastes]
    differing = sum(bool(each.differences) for each in checked)
    agreeing = len(checked) - differing
    lines.append(
        f"numbers as the layouts give them: {agreeing:,}"
        + (f"; other numbers: {differing:,}" if differing else "")
        + (f"; without a layout: {n:,}" if (n := len(allocations) - len(checked)) else "")
    )
    if checked:
        lines.append(f"alternatives for TPU {generation.name}: {generation.reason}")
    return Summary(title, tuple(lines), warnings)


def allocations_table(allocations: Sequence[OomAllocation]) -> Table:
    """Allocations, those of one type and size together."""
    groups: dict[tuple[str, str], list[OomAllocation]] = {}
    for each in allocations:
        shape = each.reported.get("shape", f"# {each.number}")
        groups.setdefault((shape, each.reported.get("size", "")), []).append(each)
    return Table(
        "Allocations",
        (*WASTE_COLUMNS, "times", "of"),
        tuple(map(_row, groups.values())),
        "bytes of one of them",
    )


def _row(group: list[OomAllocation]) -> Row:
    first = group[0]
    reserved, data = first.reserved_bytes, first.data_bytes
    cells: tuple[Cell, ...]
    if reserved is None or data is None:
        unknown = Cell("?", -1)
        cells = (unknown, size(first.reported_bytes or 0), unknown, unknown)
    else:
        cells = (size(reserved - data), size(reserved), size(data), factor(reserved, data))
    name = first.reported.get("shape") or first.reported.get("label") or "?"
    return Row(
        (*cells, number(len(group)), cell(_cut(name))),
        tuple(_details(group)),
        first.wastes[0].shape if len(first.wastes) == 1 else None,
    )


def _details(group: list[OomAllocation]) -> Iterator[str]:
    first = group[0]
    if first.note:
        yield first.note
    if first.assumed_tiles:
        yield f"the report leaves the tiles out; its numbers are those of {first.wastes[0].shape}"
    yield from (str(difference) for difference in first.differences)
    reasons = list(dict.fromkeys(reason.text for w in first.wastes for reason in w.reasons))
    yield from reasons[:_MOST_REASONS]
    if len(reasons) > _MOST_REASONS:
        yield f"and {len(reasons) - _MOST_REASONS:,} more reasons"
    if first.alternative is not None:
        yield from alternative_lines(first.alternative)
    for each in group:
        words = [f"{each.number}."]
        words += [word for word in (each.reported.get("kind"), each.instruction) if word]
        if each.source is not None:
            words.append(f"({each.source})")
        if len(words) > 1:
            yield " ".join(words)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_SCALAR: Final = re.compile(r"\b[fsu]32\[\]\{:T\((?:128|256)\)\}", re.ASCII)
_EXPANSION: Final = re.compile(r"([0-9.]{1,12})x expansion", re.ASCII)
_LABELLED: Final = re.compile(r"%?([A-Za-z_][\w.\-]{0,200}) = ", re.ASCII)


@dataclass(frozen=True, slots=True, repr=False)
class OomReport(Report):
    r"""An out-of-memory report, explained. ``print`` it, or let a notebook show it.

    Attributes:
        memory_space: such as ``hbm``; None where the report does not say.
        used: what the program takes of it, as written, or None.
        capacity: what there is of it, as written, or None.
        generation: the generation of TPUs that alternatives are for, and how it is known.
        allocations: in the order of the text.
        warnings: what a reader should know.

    >>> from morello_layouts import read_oom
    >>> report = read_oom("1. Size: 4.0K\n Shape: f32[2,128]{1,0:T(8,128)}\n Unpadded size: 1.0K")
    >>> report.allocations[0].wastes[0].reasons[0].text
    'second-minor dimension 0 of size 2 is padded to 8: tiles (8,128) have 8 rows'
    """

    memory_space: str | None
    used: str | None
    capacity: str | None
    generation: Generation
    allocations: tuple[OomAllocation, ...]
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON takes it; null for what is not known."""
        return {
            "memory_space": self.memory_space,
            "used": self.used,
            "capacity": self.capacity,
            "generation": self.generation.name,
            "generation_reason": self.generation.reason,
            "allocations": [each.to_dict() for each in self.allocations],
            "warnings": list(self.warnings),
        }

    def summary(self) -> Summary:
        """What memory was used of how much, and whether the numbers agree."""
        space = (self.memory_space, self.used, self.capacity)
        return oom_summary(space, self.generation, self.allocations, self.warnings)

    def tables(self) -> tuple[Table, ...]:
        """The allocations."""
        return (allocations_table(self.allocations),)


def read_oom(source: str | os.PathLike[str], generation: str | None = None) -> OomReport:
    """The compiler's out-of-memory report, each allocation with the reason for its size.

    Args:
        source: the text, which has a newline or "Size:", or the path of a file that holds it;
            a whole log will do.
        generation: one of ``ml.tpu.GENERATIONS``, for the alternatives; without it the tiles of
            scalars tell, or else v5e is taken.

    Raises:
        LayoutError: where the text holds no such report, a file cannot be read, or there is no
            such generation.

    >>> from morello_layouts import read_oom
    >>> report = read_oom('''
    ...   1. Size: 512.00M
    ...      Operator: op_type="OneHot" op_name="one_hot"
    ...      Shape: f32[4,128,128,9,18]{4,3,0,2,1:T(8,128)}
    ...      Unpadded size: 40.50M
    ...      Extra memory due to padding: 471.50M (12.6x expansion)
    ... ''', "v3")
    >>> found = report.allocations[0]
    >>> found.reserved_bytes, found.differences, found.alternative.suggestion.factor
    (536870912, (), 1.0)
    """
    text = without_colours(_text_of(source))
    blocks = list(blocks_of(text))
    space, used, capacity = header_of(text)
    if not blocks and space is None:
        raise LayoutError(
            "there is no out-of-memory report in this text",
            "an allocation is a line 'Size: 4.00G' with 'Shape: …' below it",
            "give the compiler's message as it was printed; the whole log will do",
        )
    warnings = () if blocks else ("the report lists no allocations",)
    scalars = (parse(match[0]) for match in _SCALAR.finditer(text))
    chosen = generation_of(generation, (x for x in scalars if isinstance(x, XlaShape)))
    return OomReport(
        space, used, capacity, chosen, tuple(_allocations(blocks, chosen.name)), warnings
    )


def _text_of(source: str | os.PathLike[str]) -> str:
    if isinstance(source, str) and ("\n" in source or "Size:" in source):
        return source
    if not isinstance(source, str | os.PathLike):
        raise LayoutError(
            f"{source!r:.60} is no report",
            "it is neither text nor a path",
            "give a path, or the text of a report",
        )
    try:
        return Path(source).read_text(encoding="utf-8-sig", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LayoutError(
            f"{os.fspath(source)!r:.200} cannot be read: {reason}",
            "text without newline and 'Size:' is taken for the path of a file",
            "give the path of a file that holds a report, or the text itself",
        ) from None


def _allocations(blocks: Sequence[Block], generation: str) -> Iterator[OomAllocation]:
    alternatives: dict[XlaShape, Alternative] = {}
    for block in blocks:
        found = _allocation(block, generation)
        if isinstance(found.shape, XlaShape) and any(w.padding_bytes for w in found.wastes):
            shape = found.wastes[0].shape
            if shape not in alternatives:
                alternatives[shape] = alternative_to(shape, generation)
            found = replace(found, alternative=alternatives[shape])
        yield found


def _allocation(block: Block, generation: str) -> OomAllocation:
    values = block.values
    label = _LABELLED.match(values.get("label", ""))
    source = metadata_of(f"{{{values.get('operator', '')}}}", None).source
    shape, wastes, note = _wastes(values.get("shape"))
    differences = _differences(values, wastes)
    assumed = False
    if differences and isinstance(shape, XlaShape):
        tiled = _with_tiles(shape, values, generation)
        if tiled is not None:
            wastes, differences, assumed = (tiled,), (), True
    return OomAllocation(
        block.number,
        block.line,
        values,
        shape,
        wastes,
        assumed,
        differences,
        None,
        None if label is None else label[1],
        source,
        note,
    )


def _wastes(text: str | None) -> tuple[XlaValue | None, tuple[Waste, ...], str]:
    """The type of an allocation, what its arrays take, and why that is not known."""
    if not text:
        return None, (), "the report gives no shape: no array of the program"
    try:
        shape = parse(text)
        if not isinstance(shape, XlaShape | XlaTuple | XlaBuffer):
            return None, (), f"the shape {text:.80} is not one of XLA"
        arrays = (array for _, array in arrays_of(shape))
        return shape, tuple(waste(array) for array in arrays if array.layout is not None), ""
    except LayoutError as error:
        return None, (), f"the shape {text:.80} is not understood: {error.what}"


def _differences(values: dict[str, str], wastes: Sequence[Waste]) -> tuple[Difference, ...]:
    """Where the numbers are not ours, in the report's own rounding."""
    if not wastes:
        return ()
    reserved = sum(w.reserved_bytes for w in wastes)
    data = sum(w.data_bytes for w in wastes)
    expansion = _EXPANSION.search(values.get("padding", ""))
    ours = [
        ("Size", values.get("size"), xla_size(reserved)),
        ("Unpadded size", values.get("unpadded"), xla_size(data)),
        ("Extra memory", values.get("padding", "").partition("(")[0], xla_size(reserved - data)),
        ("Expansion", expansion and expansion[1], f"{reserved / data:.1f}" if data else None),
    ]
    return tuple(
        Difference(name, said.strip(), computed)
        for name, said, computed in ours
        if said and computed and said.strip().removesuffix("iB") != computed
    )


def _with_tiles(shape: XlaShape, values: dict[str, str], generation: str) -> Waste | None:
    """The same array with the tiles that the report leaves out, where its numbers tell them."""
    layout = shape.layout
    if layout is None or layout.tiles or len(shape.dims) < 2:
        return None
    try:
        kind = packing(shape.element_type, generation)
    except LayoutError:
        return None
    more = ((kind.per_word, 1),) if kind.per_word > 1 else ()
    rows = kind.register_rows
    while rows:
        tiled = replace(layout, tiles=((rows, LANES), *more))
        found = waste(replace(shape, layout=tiled))
        if not _differences(values, (found,)):
            return found
        rows //= 2
    return None
