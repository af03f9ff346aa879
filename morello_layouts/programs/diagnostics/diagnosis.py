"""Diagnose what the layouts of a program cost, and what would cost less."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, ClassVar, Final

from morello_layouts.core.checks import as_int
from morello_layouts.core.description import count, listed
from morello_layouts.core.fields import frozen, late, later
from morello_layouts.core.limits import REPORT_PLACES_SHOWN
from morello_layouts.errors import LayoutError
from morello_layouts.machines.tpu_layouts.layouts import Generation, generation_of
from morello_layouts.programs.diagnostics.buffers import (
    Bytes,
    LayoutUse,
    SpaceUse,
    Totals,
    WasteCache,
    buffers_of,
    entry_arrays,
    fused_names,
    layout_uses,
    space_name,
    space_uses,
    totals_of,
)
from morello_layouts.programs.diagnostics.chains import MoveChain, chains_of
from morello_layouts.programs.diagnostics.forces import Neighbours
from morello_layouts.programs.diagnostics.memory_report import MemoryReport, memory_of
from morello_layouts.programs.diagnostics.moves import (
    HloMove,
    MoveSum,
    ProgramPlace,
    effect_text,
    move_sums,
    moves_of,
)
from morello_layouts.programs.diagnostics.sharding import (
    HloCollective,
    ShardedParameter,
    collectives_of,
    partitions_of,
    sharded_parameters,
)
from morello_layouts.programs.diagnostics.wasteful import (
    WastefulArray,
    stored_hint,
    wasteful_arrays,
)
from morello_layouts.programs.hlo import HloModule, read_hlo
from morello_layouts.programs.hlo.assignment import assignment_of, is_program, read_assignment
from morello_layouts.programs.hlo.reader import assignment_beside, platform_of
from morello_layouts.programs.hlo.scanner import without_collection
from morello_layouts.programs.report import (
    Columns,
    Report,
    Summary,
    Table,
    byte_columns,
    bytes_cell,
    bytes_text,
    first_rows,
    number_cell,
    table_of,
    text_cell,
)


@frozen
class ProgramChange:
    """A way to write a part of a program with fewer bytes."""

    saved_bytes: int  #: bytes that it saves, or that moves would not write.
    what: str  #: the array, or the chain of moves.
    where: str  #: a place of it.
    write: str  #: what to write instead, in words.


@frozen
class Diagnosis(Report):
    """The cost of the layouts of a program. ``print`` it, or let a notebook show it.

    >>> import morello_layouts as ml
    >>> report = ml.diagnose('''
    ... ENTRY %main (a: f32[7,3,128]) -> f32[3,7,128] {
    ...   %a = f32[7,3,128]{2,1,0:T(8,128)} parameter(0)
    ...   ROOT %b = f32[3,7,128]{2,0,1:T(8,128)} transpose(%a), dimensions={1,0,2}
    ... }''')
    >>> report.totals.parameters.factor, report.moves[0].verdict.effect
    (2.6666666666666665, 'free')
    """

    json_keys: ClassVar = (
        *("module=name", "generation=generation.name", "generation_reason=generation.reason"),
        *("totals", "wasteful_count", "wasteful", "move_sums", "moves", "layouts"),
        *("memory_spaces=spaces", "platform", "saved_bytes", "undecided", "hbm_bytes=memory.total"),
        *("devices", "shardings", "collectives", "chains", "changes"),
        *("warnings",),
    )

    name: str  #: the module's name.
    #: the generation of TPUs that the alternatives are for, and the reason for it.
    generation: Generation
    totals: Totals  #: sums over the program.
    wasteful: tuple[WastefulArray, ...]  #: the arrays that pad most, each type and layout once.
    wasteful_count: int  #: the number of types and layouts that pad.
    #: every copy, transpose, reshape and bitcast, with its effect on the bytes.
    moves: tuple[HloMove, ...]
    layouts: tuple[LayoutUse, ...] = late()  #: arrays by layout, the most bytes first.
    spaces: tuple[SpaceUse, ...] = late()  #: arrays by memory space.
    warnings: tuple[str, ...]  #: of the reader, such as that the text ends early.
    platform: str = ""  #: ``TPU``, ``GPU`` or ``CPU``; empty if the text does not tell.
    #: the memory that the compiler assigned, if its file lies beside the program's.
    memory: MemoryReport | None = None
    devices: int = 1  #: the number of devices that the program runs on together.
    #: the parameters of a program for several devices, and what each device holds.
    shardings: tuple[ShardedParameter, ...] = ()
    #: what devices exchange, the most bytes first.
    collectives: tuple[HloCollective, ...] = late(default=())
    #: moves one after the other, and which of their copies one pass makes needless.
    chains: tuple[MoveChain, ...] = late(default=())

    @property
    def saved_bytes(self) -> int:
        """The bytes that the listed parameters and outputs could take less."""
        return sum(each.saved_bytes for each in self.wasteful)

    @property
    def undecided(self) -> int:
        """The number of moves whose effect is unknown."""
        return sum(move.verdict.effect == "unknown" for move in self.moves)

    @property
    def move_sums(self) -> tuple[MoveSum, ...]:
        """The moves by opcode and effect."""
        return move_sums(self.moves)

    def summary(self) -> Summary:
        """Return the verdict: padding, copies, what could be saved; then the counts."""
        lines = [*self._verdict(), self._counts()]
        if self.platform in ("CPU", "GPU"):
            lines.append(f"compiled for a {self.platform}: its layouts have no tiles of a TPU")
        if any(each.alternative.suggestion for each in self.wasteful):
            lines.append(f"alternatives for TPU {self.generation.name}: {self.generation.reason}")
        return Summary(self.name or "HLO without a module", tuple(lines), self.warnings)

    @property
    def copies(self) -> tuple[str, ...]:
        """What copies and relayouts write, and copies between memories, in a line each, if any."""
        written = {True: 0, False: 0}
        for move in self.moves:
            written[move.verdict.effect == "memory space"] += move.written_bytes
        fused = sum(move.fused_bytes for move in self.moves)
        line = f"copies and relayouts write {bytes_text(written[False])}"
        line += f" (plus up to {bytes_text(fused)} inside fusions)" if fused else ""
        between = f"copies from one memory to another write {bytes_text(written[True])}"
        return (line,) * bool(fused or any(written.values())) + (between,) * bool(written[True])

    @property
    def changes(self) -> tuple[ProgramChange, ...]:
        """What could be written in another way, the most bytes first, each at least 1 %.

        A claim from the text of the program: what nobody compiled was not tried.
        """
        stored = (
            ProgramChange(
                found.saved_bytes,
                str(found.waste.shape),
                found.places[0].text,
                stored_hint(found.alternative.suggestion),
            )
            for found in self.wasteful
            if found.alternative.suggestion is not None and found.saved_bytes
        )
        moved = (
            ProgramChange(chain.saved_bytes, chain.path, chain.source, f"{chain.advice}; not tried")
            for chain in self.chains
            if chain.saved_bytes
        )
        everything = self.totals.parameters + self.totals.results
        least = _WORTH * everything.reserved_bytes
        every = (each for each in (*stored, *moved) if each.saved_bytes >= least)
        return tuple(sorted(every, key=lambda each: -each.saved_bytes))

    def _verdict(self) -> Iterator[str]:
        everything = self.totals.parameters + self.totals.results
        if not self.changes:
            yield "nothing to change that would save 1 percent, as far as this report looks"
        if self.memory is not None:
            yield from self.memory.summary().lines[:2]
        if everything.padding_bytes:
            yield (
                f"padding: {bytes_text(everything.padding_bytes)} of the "
                f"{bytes_text(everything.reserved_bytes)} of all parameters and results, "
                "which may share memory"
            )
        yield from self.copies
        needless = {one.instruction: one for chain in self.chains for one in chain.needless}
        if needless:
            left_out = bytes_text(sum(one.written_bytes for one in needless.values()))
            moves = count(len(needless), "move")
            yield f"chains of moves: one pass each would leave out {moves} that write {left_out}"
        if self.saved_bytes:
            yield f"parameters and outputs could take {bytes_text(self.saved_bytes)} less"
        if self.devices > 1 or self.collectives:
            sent = sum(each.sent_bytes for each in self.collectives)
            yield (
                f"{count(self.devices, 'device')}, each with the bytes of this report; "
                f"collectives send {bytes_text(sent)} from each"
            )
        if self.undecided:
            yield f"moves whose effect is not decided: {self.undecided:,}"

    def _counts(self) -> str:
        totals = self.totals
        what = f"{count(totals.instructions, 'instruction')} in "
        what += count(totals.computations, "computation")
        if totals.fused_computations:
            what += (
                f", {totals.fused_computations:,} of them inside fusions, reductions and the like"
            )
        return what

    def tables(self) -> tuple[Table, ...]:
        """Return the totals, wasteful arrays, moves, layouts and memory spaces."""
        totals = self.totals
        named = (
            (totals.parameters, "entry parameters"),
            (totals.outputs, "entry outputs"),
            (totals.results, "results of instructions"),
        )
        left_out = "results inside fusions and names for other buffers are left out"
        return (
            first_rows("What to change", _CHANGE_COLUMNS, self.changes),
            table_of("Bytes", _sum_columns("of"), named, note=left_out),
            self._wasteful_table(),
            table_of(
                "Copies, transposes, reshapes and bitcasts", _MOVE_SUM_COLUMNS, self.move_sums
            ),
            self._moves_table(),
            first_rows(
                "Chains of moves",
                _CHAIN_COLUMNS,
                self.chains,
                _chain_details,
                note="what could read its source directly; a claim from the text, not tried",
            ),
            first_rows("Collectives", _COLLECTIVE_COLUMNS, self.collectives, _collective_details),
            first_rows(
                "Parameters on several devices",
                _SHARDING_COLUMNS,
                self.shardings,
                note="bytes that each device holds",
            ),
            table_of(
                "Layouts", _sum_columns("layout"), [(u.bytes, u.layout) for u in self.layouts]
            ),
            table_of(
                "Memory spaces", _sum_columns("space"), [(u.bytes, u.name) for u in self.spaces]
            ),
        )

    def _wasteful_table(self) -> Table:
        shown = f"{len(self.wasteful):,} of {count(self.wasteful_count, 'type')} with padding"
        padding, reserved, _, factor = byte_columns(attrgetter("waste"))
        columns: Columns[WastefulArray] = (
            ("padding of all", lambda found: bytes_cell(found.total_padding)),
            ("times", lambda found: number_cell(found.count)),
            padding,
            reserved,
            factor,
            ("array", lambda found: text_cell(found.waste.shape)),
        )
        return table_of(
            "Arrays that waste most",
            columns,
            self.wasteful,
            _wasteful_details,
            lambda found: found.waste.shape,
            note=f"{shown}; then the bytes of one of them",
        )

    def _moves_table(self) -> Table:
        """Return the moves that are not free, those of the same types in one row."""
        groups: dict[tuple[int, bool], list[HloMove]] = {}
        for move in self.moves:
            if move.verdict.effect != "free":
                groups.setdefault((id(move.verdict), move.is_fused), []).append(move)
        return first_rows(
            "The largest of these that are not free",
            _MOVE_COLUMNS,
            sorted(groups.values(), key=_moved, reverse=True),
            _move_details,
        )


_WORTH: Final = 0.01  # of the program's bytes

_CHANGE_COLUMNS: Final[Columns[ProgramChange]] = (
    ("saves", lambda each: bytes_cell(each.saved_bytes)),
    ("what", lambda each: text_cell(each.what)),
    ("where", lambda each: text_cell(each.where)),
    ("write", lambda each: text_cell(each.write)),
)


def _sum_columns(name: str) -> Columns[tuple[Bytes, str]]:
    return (
        *byte_columns(itemgetter(0)),
        ("arrays", lambda pair: number_cell(pair[0].arrays)),
        (name, lambda pair: text_cell(pair[1])),
    )


_MOVE_SUM_COLUMNS: Final[Columns[MoveSum]] = (
    ("written", lambda found: bytes_cell(found.written_bytes)),
    ("count", lambda found: number_cell(found.count)),
    ("fused", lambda found: number_cell(found.fused)),
    ("moved", lambda found: bytes_cell(found.fused_bytes)),
    ("opcode", lambda found: text_cell(found.opcode)),
    ("effect", lambda found: text_cell(effect_text(found.effect))),
)

_MOVE_COLUMNS: Final[Columns[list[HloMove]]] = (
    ("written", lambda group: bytes_cell(_written(group))),
    ("times", lambda group: number_cell(len(group))),
    ("opcode", lambda group: text_cell(group[0].opcode)),
    ("result", lambda group: text_cell(group[0].verdict.result)),
)


_CHAIN_COLUMNS: Final[Columns[MoveChain]] = (
    ("needless", lambda chain: bytes_cell(chain.saved_bytes)),
    ("steps", lambda chain: number_cell(len(chain.steps))),
    ("chain", lambda chain: text_cell(chain.path)),
)

_COLLECTIVE_COLUMNS: Final[Columns[HloCollective]] = (
    ("sent", lambda each: bytes_cell(each.sent_bytes)),
    ("buffer", lambda each: bytes_cell(each.buffer_bytes)),
    ("padding", lambda each: bytes_cell(each.padding_bytes)),
    ("devices", lambda each: text_cell(each.devices or "?")),
    ("collective", lambda each: text_cell(each.opcode)),
)

_SHARDING_COLUMNS: Final[Columns[ShardedParameter]] = (
    ("held", lambda each: bytes_cell(each.held_bytes)),
    ("part", lambda each: text_cell(each.shape)),
    ("whole", lambda each: text_cell(f"{each.place.instruction}: {each.sharding}")),
)


def _chain_details(chain: MoveChain) -> Iterator[str]:
    yield f"from {chain.source_type} to {chain.steps[-1].result}"
    yield chain.advice
    if chain.because is not None:
        yield chain.because


def _collective_details(each: HloCollective) -> Iterator[str]:
    if each.copy_before is not None:
        yield f"its layout forces {each.copy_before} before it"
    yield f"at {each.place.text}"


def _written(group: Sequence[HloMove]) -> int:
    return group[0].written_bytes * len(group)


def _moved(group: Sequence[HloMove]) -> tuple[int, int]:
    """Return what moves are ranked by: bytes outside of fusions, then those inside."""
    return _written(group), group[0].fused_bytes * len(group)


def _move_details(group: Sequence[HloMove]) -> tuple[str, ...]:
    first = group[0]
    verdict = first.verdict
    fused = f" (in a fusion, {bytes_text(first.fused_bytes)})" if first.is_fused else ""
    return (
        f"from {verdict.operand or '?'}",
        f"{verdict.text}: {verdict.reason}{fused}",
        *_why(first),
        _places([move.place for move in group[:REPORT_PLACES_SHOWN]], len(group)),
    )


def _why(found: HloMove | WastefulArray) -> Iterator[str]:
    """Yield what a layout follows from, and who makes and reads the first of its values."""
    if found.because is not None:
        yield f"because {found.because}"
    parts = [f"made by {found.producer}"] if found.producer is not None else []
    if found.readers:
        names = list(found.readers[:REPORT_PLACES_SHOWN])
        more = ["others"] if len(found.readers) > len(names) else []
        parts.append(f"read by {listed([*names, *more])}")
    if parts:
        yield "; ".join(parts)


def _wasteful_details(found: WastefulArray) -> tuple[str, ...]:
    spaces = listed([f"{n:,} in {space_name(space)}" for space, n in found.spaces])
    where = _places(found.places[:REPORT_PLACES_SHOWN], found.count)
    return (
        *found.waste.reason_texts,
        *([str(found.alternative)] if found.stored else []),
        *_why(found),
        where if [space for space, _ in found.spaces] == [0] else f"{where}: {spaces}",
    )


def _places(places: Sequence[ProgramPlace], count: int) -> str:
    more = count - len(places)
    return f"at {'; '.join(each.text for each in places)}" + (
        f", and {more:,} more" if more else ""
    )


@without_collection()
def diagnose(
    program: HloModule | str | os.PathLike[str] | Any,
    generation: str | None = None,
    *,
    top: int | None = 10,
) -> Diagnosis:
    """Return the cost of the layouts of a program: padding, copies, and better layouts.

    A buffer is a parameter of the program, or what an instruction outside of fusions writes; a
    result that only names the bytes of other buffers is not one. Each distinct layout, and each
    distinct question about two of them, is analysed once.

    Args:
        program: a module; or what ``read_hlo`` takes: a path, text, or a compiled program of JAX.
        generation: one of ``ml.tpu.GENERATIONS``, for the alternatives. By default the tiles of
            scalars decide, then the layouts of parameters and outputs; otherwise it is v5e.
        top: the number of most wasteful arrays to list; None for all.

    Raises:
        LayoutError: if the text is not HLO, ``generation`` is unknown, or ``top`` is not a number
            of arrays.

    >>> from morello_layouts import diagnose
    >>> found = diagnose("%a = s32[1024,8,4]{2,1,0:T(8,128)} parameter(0)", "v5e").wasteful[0]
    >>> found.waste.reasons[0].text
    'minor dimension d2 of size 4 is padded to 128: tiles (8,128) have 128 columns'
    >>> print(found.alternative.suggestion.shape, found.alternative.suggestion.factor)
    s32[1024,8,4]{0,2,1:T(4,128)} 1.0
    """
    if top is not None:
        top = as_int(top, "top", fix="give an int from 0, or None for all arrays")
    module = program if isinstance(program, HloModule) else read_hlo(program)
    shapes = (array for i in module.instructions for _, array in i.shape.arrays())
    parameters, outputs = entry_arrays(module)
    chosen = generation_of(generation, shapes, (*parameters, *outputs))
    fused, platform, near = fused_names(module), platform_of(module), Neighbours(module)
    cache = WasteCache(is_tpu=platform == "TPU")
    buffers = tuple(buffers_of(module, fused))
    memory = _memory_beside(program, module)
    of = 0 if memory is None else memory.total
    wasteful, wasteful_count = wasteful_arrays(near, buffers, cache, chosen.name, top=top, of=of)
    moves = tuple(moves_of(near, fused))
    return Diagnosis(
        module.name,
        chosen,
        totals_of(module, fused, buffers, cache),
        wasteful,
        wasteful_count,
        moves,
        later(lambda: layout_uses(buffers, cache)),
        later(lambda: space_uses(buffers, cache)),
        module.warnings,
        platform,
        memory,
        partitions_of(module),
        tuple(sharded_parameters(module, cache)),
        later(lambda: collectives_of(near, moves, cache)),
        later(lambda: chains_of(near, fused)),
    )


def _memory_beside(
    program: HloModule | str | os.PathLike[str] | Any, module: HloModule
) -> MemoryReport | None:
    """Return the memory that the compiler assigned, if its file lies beside the program's."""
    if isinstance(program, HloModule) or (isinstance(program, str) and "\n" in program):
        return None
    try:
        if is_program(program):
            return memory_of(module, read_assignment(assignment_of(program, module)))
        path = assignment_beside(Path(program))
        return None if path is None else memory_of(module, read_assignment(path))
    except (LayoutError, OSError, ValueError):  # the text is not a path, or the file another one
        return None
