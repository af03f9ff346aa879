"""Read and explain the compiler's out-of-memory reports."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import ClassVar, Final, NamedTuple

from morello_layouts.core.description import count
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import OOM_LABEL, OOM_REASONS
from morello_layouts.errors import LayoutError
from morello_layouts.machines.tpu_layouts import LANES, Waste, waste
from morello_layouts.machines.tpu_layouts.layouts import Generation, generation_of, packing
from morello_layouts.notations import parse
from morello_layouts.notations.xla import XlaBuffer, XlaShape, XlaTuple, XlaValue
from morello_layouts.programs.diagnostics.oom_messages import (
    OomMessage,
    WrittenAllocation,
    blocks_of,
    bytes_of_text,
    header_of,
    messages_of,
    window_of,
    without_colours,
    xla_size,
)
from morello_layouts.programs.diagnostics.wasteful import Alternative, alternative_to
from morello_layouts.programs.hlo.module import metadata_of
from morello_layouts.programs.hlo.scanner import open_file
from morello_layouts.programs.report import (
    Columns,
    Report,
    Summary,
    Table,
    byte_columns,
    bytes_cell,
    bytes_text,
    number_cell,
    table_of,
    text_cell,
)


class Reported(NamedTuple):
    """The values of a report on an allocation; None for those that it leaves out."""

    size: str | None
    shape: str | None
    unpadded: str | None
    padding: str | None
    operator: str | None
    label: str | None
    kind: str | None
    tag: str | None


@frozen
class NumberDifference:
    """A number of the report that differs from the layout's.

    >>> str(NumberDifference("Size", "8.00G", "128.00M"))
    'Size: the report says 8.00G, the layout gives 128.00M'
    """

    json_keys: ClassVar = ("*",)

    field: str  #: the report's name of the number.
    reported: str  #: the number as the report writes it.
    computed: str  #: the number that the layout gives.

    def __str__(self) -> str:
        return f"{self.field}: the report says {self.reported}, the layout gives {self.computed}"


@frozen
class OomAllocation:
    r"""One allocation of a report.

    >>> from morello_layouts import oom
    >>> text = "1. Size: 4.0K\n Shape: f32[2,128]{1,0:T(8,128)}\n Unpadded size: 1.0K"
    >>> (found,) = oom(text).allocations
    >>> found.wastes[0].factor, found.differences
    (4.0, ())
    """

    json_keys: ClassVar = (
        *("number", "line", "reported=reported_values", "shape", "assumed_tiles", "data_bytes"),
        *("reserved_bytes", "agrees", "differences", "reasons=reason_texts"),
        *("alternative=alternative.told", "instruction", "source", "note"),
    )

    number: int  #: its number in the report.
    line: int  #: its line in the text, from 1.
    #: the report's values as written: some of size, shape, unpadded, padding, operator, label,
    #: kind.
    reported: dict[str, str]
    #: the array or tuple; None if the report names none, or its text is not a shape.
    shape: XlaValue | None
    wastes: tuple[Waste, ...]  #: bytes and reasons for each array of it.
    assumed_tiles: bool  #: whether the report leaves the tiles out, and its numbers gave them.
    #: numbers of the report that differ from the layout's.
    differences: tuple[NumberDifference, ...]
    #: a layout that takes fewer bytes; None for a tuple, and without padding.
    alternative: Alternative | None
    instruction: str | None  #: the instruction's name; None if the report does not say.
    source: str | None  #: file and line; None if the report does not say.
    note: str = ""  #: why nothing is explained, or what the numbers are of; else empty.

    @property
    def reserved_bytes(self) -> int | None:
        """Bytes of the buffers by the layout; None if it is unknown."""
        return sum(w.reserved_bytes for w in self.wastes) if self.wastes else None

    @property
    def data_bytes(self) -> int | None:
        """Bytes of the elements; None if the layout is unknown."""
        return sum(w.data_bytes for w in self.wastes) if self.wastes else None

    @property
    def padding_bytes(self) -> int | None:
        """Bytes that hold no data; None if the layout is unknown."""
        return sum(w.padding_bytes for w in self.wastes) if self.wastes else None

    @property
    def reported_bytes(self) -> int | None:
        """The size that the report says, to its precision."""
        return bytes_of_text(self.reported.get("size", ""))

    @property
    def reported_values(self) -> Reported:
        """All values of the report by name; None for those that it leaves out."""
        return Reported(*map(self.reported.get, Reported._fields))

    @property
    def agrees(self) -> bool | None:
        """Whether the report's numbers are the layout's; None if the layout is unknown."""
        return not self.differences if self.wastes else None

    @property
    def reason_texts(self) -> tuple[str, ...]:
        """The reasons for the padding of each array, in words."""
        return tuple(text for w in self.wastes for text in w.reason_texts)


_SCALAR: Final = regex(r"\b[fsu]32\[\]\{:T\((?:128|256)\)\}", re.ASCII)
_EXPANSION: Final = regex(r"([0-9.]{1,12})x expansion", re.ASCII)
_INSTRUCTION: Final = regex(r"[A-Za-z_][\w.\-]{0,200}", re.ASCII)
_LABELLED: Final = regex(r"%?([A-Za-z_][\w.\-]{0,200}) = ", re.ASCII)


@frozen
class OomReport(Report):
    r"""An out-of-memory report, explained. ``print`` it, or let a notebook show it.

    >>> from morello_layouts import oom
    >>> report = oom("1. Size: 4.0K\n Shape: f32[2,128]{1,0:T(8,128)}\n Unpadded size: 1.0K")
    >>> report.allocations[0].wastes[0].reasons[0].text
    'second-minor dimension d0 of size 2 is padded to 8: tiles (8,128) have 8 rows'
    """

    json_keys: ClassVar = (
        *("memory_space", "used", "capacity", "generation=generation.name"),
        *("generation_reason=generation.reason", "messages", "allocations", "warnings"),
    )

    memory_space: str | None  #: such as ``hbm``; None if the report does not say.
    used: str | None  #: the bytes of it that the program takes, as written, or None.
    capacity: str | None  #: the bytes that it has, as written, or None.
    #: the generation of TPUs that the alternatives are for, and the reason for it.
    generation: Generation
    allocations: tuple[OomAllocation, ...]  #: in the order of the text.
    messages: tuple[OomMessage, ...] = ()  #: what the text says that ran out, in its order.
    warnings: tuple[str, ...] = ()  #: problems that a reader should know of.

    def summary(self) -> Summary:
        """Return the use of the memory, what it means, and the next step."""
        title = "Out of memory"
        if self.memory_space is not None:
            title += f" in {self.memory_space.upper()}"
        first = self.messages[0] if self.messages else None
        if first is not None and first.needed is not None and first.available is not None:
            title += f": {bytes_text(first.needed)} needed of {bytes_text(first.available)}"
        elif self.used is not None:
            title += f": {self.used} used of {self.capacity}"
        lines: list[str] = []
        if first is not None:
            lines.append(f"{first.kind}: {first.meaning}")
            if first.missing:
                lines.append(f"too much by: {bytes_text(first.missing)}")
            lines.append(f"next: {first.next_step}")
            if first.page is not None:
                lines.append(f"{first.code}: {first.page}")
        return Summary(title, (*lines, *self._agreement()), self.warnings)

    def _agreement(self) -> Iterator[str]:
        """Yield whether the numbers of the allocations agree with their layouts."""
        answers = [each.agrees for each in self.allocations]
        differing, unknown = answers.count(False), answers.count(None)
        if answers:
            yield count(len(answers), "allocation")
            yield (
                f"numbers that agree with the layout: {answers.count(True):,}"
                + (f"; that differ: {differing:,}" if differing else "")
                + (f"; without a layout: {unknown:,}" if unknown else "")
            )
        if any(each.alternative and each.alternative.suggestion for each in self.allocations):
            yield f"alternatives for TPU {self.generation.name}: {self.generation.reason}"

    def tables(self) -> tuple[Table, ...]:
        """Return the messages, and the allocations, those of one type and size in one row."""
        groups: dict[tuple[str, str], list[OomAllocation]] = {}
        for each in self.allocations:
            shape = each.reported.get("shape", f"# {each.number}")
            groups.setdefault((shape, each.reported.get("size", "")), []).append(each)
        return (
            table_of(
                "Messages",
                _MESSAGES,
                self.messages[1:] if len(self.messages) > 1 else (),
                lambda each: (each.meaning, f"next: {each.next_step}"),
                note="after the first",
            ),
            table_of(
                "Allocations",
                _COLUMNS,
                groups.values(),
                _details,
                lambda group: group[0].wastes[0].shape if len(group[0].wastes) == 1 else None,
                note="bytes of one of them",
            ),
        )


def _reserved(group: Sequence[OomAllocation]) -> int:
    reserved = group[0].reserved_bytes
    return (group[0].reported_bytes or 0) if reserved is None else reserved


def _name(group: Sequence[OomAllocation]) -> str:
    if group[0].note and group[0].wastes:
        return f"{len(group[0].wastes)} x {group[0].wastes[0].shape}"
    text = group[0].reported.get("shape") or group[0].reported.get("label") or "?"
    return text if len(text) <= OOM_LABEL else f"{text[:OOM_LABEL]}…"


_MESSAGES: Final[Columns[OomMessage]] = (
    ("needed", lambda each: bytes_cell(each.needed)),
    ("of", lambda each: bytes_cell(each.available)),
    ("space", lambda each: text_cell(each.memory_space or "?")),
    ("line", lambda each: number_cell(each.line)),
    ("message", lambda each: text_cell(each.kind)),
)
_PADDING, _, _DATA, _FACTOR = byte_columns(itemgetter(0))
_COLUMNS: Final[Columns[list[OomAllocation]]] = (
    _PADDING,
    ("reserved", lambda group: bytes_cell(_reserved(group))),
    _DATA,
    _FACTOR,
    ("times", lambda group: number_cell(len(group))),
    ("of", lambda group: text_cell(_name(group))),
)


def _details(group: list[OomAllocation]) -> Iterator[str]:
    first = group[0]
    if first.note:
        yield first.note
    if first.assumed_tiles:
        yield f"the report leaves the tiles out; its numbers are those of {first.wastes[0].shape}"
    yield from (str(difference) for difference in first.differences)
    reasons = list(dict.fromkeys(first.reason_texts))
    yield from reasons[:OOM_REASONS]
    if len(reasons) > OOM_REASONS:
        yield f"and {len(reasons) - OOM_REASONS:,} more reasons"
    if first.alternative is not None:
        yield str(first.alternative)
    for each in group:
        words = [f"{each.number}."]
        tag = each.reported.get("tag", "").partition(". ")[0]
        words += [word for word in (tag or each.reported.get("kind"), each.instruction) if word]
        if each.source is not None:
            words.append(f"({each.source})")
        if len(words) > 1:
            yield " ".join(words)


def oom(source: str | os.PathLike[str] | Exception, generation: str | None = None) -> OomReport:
    """Return the compiler's out-of-memory report, each allocation with the reason for its size.

    Args:
        source: the text, which has a newline, "Size:" or a message, or the path of a file that
            holds it. The text may be a whole log; in Python also the exception that JAX raised.
        generation: one of ``ml.tpu.GENERATIONS``, for the alternatives. By default the tiles of
            scalars decide; otherwise it is v5e.

    Raises:
        LayoutError: if the text holds no such report, the file cannot be read, or ``generation``
            is unknown.

    >>> from morello_layouts import oom
    >>> report = oom('''
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
    source = f"{source}\n" if isinstance(source, Exception) else source
    text = without_colours(_text_of(source))
    messages = messages_of(text)
    blocks = [*blocks_of(text), *_named_blocks(messages)]
    space, used, capacity = header_of(text)
    if space is None and messages:
        space = next((each.memory_space for each in messages if each.memory_space), None)
    if not blocks and space is None and not messages:
        if text.lstrip().startswith("HloModule"):
            raise LayoutError(
                "this is HLO: it holds no out-of-memory report",
                "a report begins with a message such as 'Ran out of memory on HBM'",
                "ask morello-layouts hlo FILE, or ml.diagnose",
            )
        raise LayoutError(
            "the text holds no out-of-memory report",
            "it has neither a message such as 'Ran out of memory on HBM, …' nor an allocation, "
            "which is a line 'Size: 4.00G' with 'Shape: …' below it",
            "give the compiler's message as it was printed, or the whole log",
        )
    scalars = (parse(match[0]) for match in _SCALAR.finditer(text))
    chosen = generation_of(generation, (x for x in scalars if isinstance(x, XlaShape)))
    allocations = tuple(_allocations(blocks, chosen.name))
    return OomReport(space, used, capacity, chosen, allocations, messages)


def _named_blocks(messages: Iterable[OomMessage]) -> Iterator[WrittenAllocation]:
    """Yield the allocations that messages name, with their types."""
    for number, each in enumerate(messages, 1):
        if each.shape is not None and "[" in each.shape[1:] and each.needed is not None:
            values = {"size": xla_size(each.needed), "shape": each.shape}
            values |= {"tag": each.tag} if each.tag else {}
            label = each.name or ""
            if _INSTRUCTION.fullmatch(label):
                values["label"] = f"%{label} = "
            yield WrittenAllocation(
                number, each.line, values, in_hbm=each.memory_space in (None, "hbm")
            )


def _text_of(source: str | os.PathLike[str]) -> str:
    if isinstance(source, str) and ("\n" in source or "Size:" in source or messages_of(source)):
        return source
    with open_file(source, "an out-of-memory report", "newline or 'Size:'") as file:
        return file.read().decode("utf-8-sig", "replace")


def _allocations(blocks: Sequence[WrittenAllocation], generation: str) -> Iterator[OomAllocation]:
    every = [(block, _allocation(block, generation)) for block in blocks]
    size = sum(found.reserved_bytes or found.reported_bytes or 0 for _, found in every)
    same = Counter(found.wastes[0].shape for _, found in every if found.wastes)
    alternatives: dict[tuple[XlaShape, bool], Alternative] = {}
    for block, found in every:
        if block.is_chosen and isinstance(found.shape, XlaShape) and found.padding_bytes:
            key = shape, is_stored = found.wastes[0].shape, block.is_stored
            if key not in alternatives:
                alternatives[key] = alternative_to(
                    shape, generation, is_stored=is_stored, times=same[shape], of=size
                )
            yield replace(found, alternative=alternatives[key])
        else:
            yield found


def _allocation(block: WrittenAllocation, generation: str) -> OomAllocation:
    values = block.values
    label = _LABELLED.match(values.get("label", ""))
    source = metadata_of(f"{{{values.get('operator', '')}}}", None).source
    shape, wastes, note = _window(values, generation) or _wastes(values.get("shape"))
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


def _window(
    values: dict[str, str], generation: str
) -> tuple[XlaValue, tuple[Waste, ...], str] | None:
    """Return the array of a kernel's window, the waste of each buffer of it, and their number.

    None if the allocation is not of a window, or has other bytes than these buffers together.
    """
    told = window_of(values.get("tag", ""))
    if told is None or not (values.get("shape") or "").startswith("u8["):
        return None
    try:
        rank = told[0].count(",") + 1
        order = ",".join(str(dim) for dim in reversed(range(rank)))
        whole, array = parse(values["shape"]), parse(f"{told[0]}{{{order}}}")
        if not isinstance(array, XlaShape) or not isinstance(whole, XlaShape):
            return None
        each = whole.byte_size // told[1]
        found = _with_tiles(array, {"size": xla_size(each)}, generation) or waste(array)
    except LayoutError:
        return None
    if found.reserved_bytes * told[1] != whole.byte_size:
        return None
    times = count(told[1], "buffer")
    words = f"{times} of the window {found.shape}, {bytes_text(found.reserved_bytes)} each"
    return found.shape, (found,) * told[1], words


def _wastes(text: str | None) -> tuple[XlaValue | None, tuple[Waste, ...], str]:
    """Return the type of an allocation, the waste of its arrays, and why that is unknown."""
    if not text:
        return None, (), "the report gives no shape: this is not an array of the program"
    try:
        shape = parse(text)
        if not isinstance(shape, XlaShape | XlaTuple | XlaBuffer):
            return None, (), f"{text:.80} is not an XLA shape"
        arrays = (array for _, array in shape.arrays())
        return shape, tuple(waste(array) for array in arrays if array.layout is not None), ""
    except LayoutError as error:
        return None, (), f"the shape {text:.80} cannot be read: {error.what}"


def _differences(values: dict[str, str], wastes: Sequence[Waste]) -> tuple[NumberDifference, ...]:
    """Return the numbers that differ from the layout's in the report's own rounding."""
    if not wastes:
        return ()
    reserved = sum(w.reserved_bytes for w in wastes)
    data = sum(w.data_bytes for w in wastes)
    expansion = _EXPANSION.search(values.get("padding", ""))
    pairs = [
        ("Size", values.get("size"), xla_size(reserved)),
        ("Unpadded size", values.get("unpadded"), xla_size(data)),
        ("Extra memory", values.get("padding", "").partition("(")[0], xla_size(reserved - data)),
        ("Expansion", expansion and expansion[1], f"{reserved / data:.1f}" if data else None),
    ]
    return tuple(
        NumberDifference(name, reported.strip(), computed)
        for name, reported, computed in pairs
        if reported and computed and reported.strip().removesuffix("iB") != computed
    )


def _with_tiles(shape: XlaShape, values: dict[str, str], generation: str) -> Waste | None:
    """Return the waste of the array with the tiles that give the report's numbers, if any do."""
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
