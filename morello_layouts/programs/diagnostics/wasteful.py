"""The arrays of a program that pad most, and layouts for those that are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import ClassVar, Final, TypedDict, cast

from morello_layouts.core.fields import frozen, late, later, plain
from morello_layouts.core.limits import REPORT_PLACES, VERDICTS_KEPT
from morello_layouts.errors import LayoutError
from morello_layouts.machines.tpu_layouts import Suggestion, Waste
from morello_layouts.machines.tpu_layouts.suggest import suggestions
from morello_layouts.notations.xla import XlaShape
from morello_layouts.programs.diagnostics.buffers import (
    Buffer,
    WasteCache,
    by_shape,
    entry_arrays,
    output_leaves,
    without_memory_space,
)
from morello_layouts.programs.diagnostics.forces import Force, Neighbours
from morello_layouts.programs.diagnostics.moves import ProgramPlace, place_of
from morello_layouts.programs.hlo import HloInstruction
from morello_layouts.programs.report import factor_cell


@lru_cache(VERDICTS_KEPT)
def _best(element_type: str, shape: tuple[int, ...], generation: str) -> Suggestion | None:
    """Return the best layout of an array whose tile the compiler chooses by itself."""
    every = suggestions(element_type, shape, generation)
    return next((each for each in every if "tile" not in each.changes), None)


@frozen
class SpaceCount:
    """A memory space, and how many arrays lie there."""

    space: int
    count: int


class ToldSuggestion(TypedDict):
    """A suggestion as JSON."""

    layout: str
    changes: list[str]
    reserved_bytes: int
    factor: float
    hint: str
    tried: bool


@frozen
class Alternative:
    """A layout that takes fewer bytes than an array does, or the reason why none is told.

    >>> from morello_layouts.notations import parse
    >>> print(alternative_to(parse("f32[8,128]{1,0:T(8,128)}"), "v5e"))
    no order or folding takes fewer bytes
    """

    suggestion: Suggestion | None  #: the best order, folding and tile, or None.
    reason: str = ""  #: why there is no suggestion; empty if there is one.

    @property
    def told(self) -> ToldSuggestion | None:
        """The suggestion as JSON: its hint is for a stored array, and was not tried."""
        best = self.suggestion
        if best is None:
            return None
        return cast("ToldSuggestion", {**plain(best), "hint": stored_hint(best), "tried": False})

    def __str__(self) -> str:
        best = self.suggestion
        if best is None:
            return self.reason
        return f"fewer bytes: {best.shape}, {factor_cell(best.waste).text}: {stored_hint(best)}"


_INSIDE: Final = "for a value inside"
_WORTH: Final = 0.01  # of the program's bytes


def stored_hint(best: Suggestion) -> str:
    """Return advice for an array that is stored between programs, in words."""
    words = best.hint.partition(f"; {_INSIDE}")[0]
    follows = "a relayout follows where the program computes with it; " if best.changes else ""
    return f"{words}; {follows}not tried"


INSIDE_REASON: Final = (
    "the layout of a value inside a program is not the user's: it follows from the instructions "
    "that make and read it"
)


def alternative_to(
    shape: XlaShape,
    generation: str,
    *,
    is_stored: bool = True,
    times: int = 1,
    of: int = 0,
    bound: HloInstruction | None = None,
) -> Alternative:
    """Return the best layout of an array on a generation, if it takes fewer bytes.

    For a value inside a program there is none: a reshape or transpose there changes no layout. A
    tile that the compiler does not choose by itself is not offered, as most programs with one fail
    to compile.

    Args:
        shape: the array, with its layout.
        generation: one of ``ml.tpu.GENERATIONS``.
        is_stored: whether it is a parameter or output of a program.
        times: how many of it are stored.
        of: the bytes of the program; what saves less than one percent of them is not told.
        bound: an instruction that has the array in a layout of its own, before or after which the
            program would move it: that writes at least as many bytes as a layout saves.
    """
    if not is_stored:
        return Alternative(None, INSIDE_REASON)
    if any(shape.dynamic_dimensions):
        return Alternative(None, "nothing is suggested for sizes that change while a program runs")
    try:
        best = _best(shape.element_type, shape.shape, generation)
    except LayoutError as error:
        return Alternative(None, f"nothing is suggested: {error.what}")
    if best is None or best.byte_size >= shape.byte_size:
        return Alternative(None, "no order or folding takes fewer bytes")
    if times * (shape.byte_size - best.byte_size) < _WORTH * of:
        return Alternative(
            None, "an order or folding would save less than 1 percent of the program"
        )
    if bound is not None and best.changes:
        why = f"no hint: it may have to be moved for {bound.name}, which writes more than it saves"
        return Alternative(None, why)
    return Alternative(best)


@frozen
class WastefulArray:
    """A type and layout with padding, and its places in the program.

    >>> from morello_layouts import diagnose, read_hlo
    >>> found = diagnose(read_hlo("%a = f32[7,3,128]{2,1,0:T(8,128)} add(%b, %c)")).wasteful[0]
    >>> found.waste.factor, found.count, found.places[0].instruction
    (2.6666666666666665, 1, 'a')
    """

    json_keys: ClassVar = (
        *("*waste", "total_padding", "alternative=alternative.told", "count", "stored"),
        *("memory_spaces", "producer", "readers", "because", "places"),
    )

    waste: Waste  #: its bytes, and the reasons for them; without a memory space.
    spaces: tuple[tuple[int, int], ...]  #: the memory spaces that hold it, and how often.
    alternative: Alternative  #: a layout that takes fewer bytes.
    #: the first places where it is defined, in the order of the dump.
    places: tuple[ProgramPlace, ...]
    count: int  #: the number of all places.
    stored: int = 0  #: how many of these are parameters or outputs of the program.
    #: the instruction that the layout of the largest value inside follows from, or None.
    force: Force | None = late(default=None)
    #: the instruction that makes its first operand, or None.
    producer: str | None = late(default=None)
    readers: tuple[str, ...] = late(default=())  #: the instructions that read the first of them.

    @property
    def total_padding(self) -> int:
        """The padding of all of them together; they may share memory."""
        return self.waste.padding_bytes * self.count

    @property
    def because(self) -> str | None:
        """What the layout follows from, in words; None if it is not known."""
        return None if self.force is None else str(self.force)

    @property
    def saved_bytes(self) -> int:
        """The bytes that the parameters and outputs among them could take less."""
        best = self.alternative.suggestion
        return 0 if best is None else self.stored * (self.waste.reserved_bytes - best.byte_size)

    @property
    def memory_spaces(self) -> tuple[SpaceCount, ...]:
        """The memory spaces and their counts."""
        return tuple(SpaceCount(*each) for each in self.spaces)


def wasteful_arrays(
    near: Neighbours,
    buffers: Sequence[Buffer],
    cache: WasteCache,
    generation: str,
    *,
    top: int | None,
    of: int,
) -> tuple[tuple[WastefulArray, ...], int]:
    """Return the arrays that pad most in all, each type and layout once, and how many pad.

    The program has ``of`` bytes, if they are known.
    """
    same, groups = by_shape(buffers), dict[XlaShape, list[Buffer]]()
    for shape, defined in same.items():
        if cache.bytes_of(shape).padding_bytes > 0:
            groups.setdefault(without_memory_space(shape), []).extend(defined)
    every = [(cache[shape], defined) for shape, defined in groups.items()]
    known = [(found, defined) for found, defined in every if found is not None]
    known.sort(key=lambda pair: -pair[0].padding_bytes * len(pair[1]))
    outputs, entry = output_leaves(near.module), entry_arrays(near.module)
    size = sum(cache.sum_of(arrays).reserved_bytes for arrays in entry)
    size = max(size + max((cache.bytes_of(x).reserved_bytes for x in same), default=0), of)
    arrays = (
        _wasteful(
            found,
            sorted(defined, key=lambda b: b.instruction.line),
            near,
            outputs,
            (generation, size),
        )
        for found, defined in known[:top]
    )
    return tuple(arrays), len(known)


def _wasteful(
    found: Waste,
    defined: Sequence[Buffer],
    near: Neighbours,
    outputs: frozenset[tuple[str, tuple[int, ...]]],
    program: tuple[str, int],
) -> WastefulArray:
    generation, size = program
    defined = sorted(defined, key=lambda each: each.instruction.line)
    stored = [b for b in defined if b.is_parameter or _is_output(b, outputs)]
    inside = next((b.instruction for b in defined if b not in stored), None)
    return WastefulArray(
        found,
        _space_counts(defined),
        alternative_to(
            found.shape,
            generation,
            is_stored=bool(stored),
            times=len(stored),
            of=size,
            bound=near.bound(b.instruction for b in stored) if stored else None,
        ),
        tuple(map(place_of, defined[:REPORT_PLACES])),
        len(defined),
        len(stored),
        None if inside is None else later(lambda: near.force(inside)),
        None if inside is None else later(lambda: near.producer_name(inside)),
        () if inside is None else later(lambda: near.reader_names(inside)),
    )


def _is_output(buffer: Buffer, outputs: frozenset[tuple[str, tuple[int, ...]]]) -> bool:
    """Whether a program returns an array, or the tuple that it is in."""
    name, path = buffer.instruction.name, buffer.path
    return any((name, path[:k]) in outputs for k in range(len(path) + 1))


def _space_counts(buffers: Iterable[Buffer]) -> tuple[tuple[int, int], ...]:
    layouts = (buffer.shape.layout for buffer in buffers)
    found = Counter(layout.memory_space for layout in layouts if layout is not None)
    return tuple(sorted(found.items()))
