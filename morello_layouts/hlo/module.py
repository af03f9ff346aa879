"""A module: a whole program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from morello_layouts.errors import LayoutError
from morello_layouts.hlo.attributes import attributes_of
from morello_layouts.hlo.computation import HloComputation
from morello_layouts.hlo.instruction import HloInstruction
from morello_layouts.hlo.tables import SourceTables
from morello_layouts.notation.xla import XlaValue

__all__ = ["HloModule", "HloProgramShape"]


@dataclass(frozen=True, slots=True)
class HloProgramShape:
    """Types and layouts of what a program takes and gives.

    Attributes:
        parameters: types and layouts of what it takes.
        result: type and layout of what it gives.

    >>> import morello_layouts as ml
    >>> text = "HloModule m, entry_computation_layout={(f32[8]{0}, s32[])->f32[8]{0}}"
    >>> print(ml.read_hlo(text).entry_computation_layout)
    (f32[8]{0}, s32[])->f32[8]{0}
    """

    parameters: tuple[XlaValue, ...]
    result: XlaValue

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))})->{self.result}"


@dataclass(frozen=True, slots=True, repr=False)
class HloModule:
    """A program as the compiler prints it: computations, exactly one of them the entry.

    Attributes:
        name: its name; empty where a part of a dump was read.
        computations: in the order of the text. Instructions outside of any are in one without a
            name.
        attribute_text: the rest of the line ``HloModule``, as it is written.
        entry_computation_layout: what the program takes and gives; None where that line does not
            say.
        source_tables: the tables that metadata refers to; None where there are none.
        warnings: what a reader should know, one line each: that the text ends early, for example.
        distinct_shapes: how many types of different text there are; each was analysed once.

    >>> import morello_layouts as ml
    >>> module = ml.read_hlo("add.9 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)} add(x.1, y.2)")
    >>> module
    HloModule('', 1 computations, 1 instructions)
    >>> module.instruction("add.9").shape.byte_size
    335544320
    """

    name: str
    computations: tuple[HloComputation, ...] = ()
    attribute_text: str = ""
    entry_computation_layout: HloProgramShape | None = None
    source_tables: SourceTables | None = field(default=None, hash=False)
    warnings: tuple[str, ...] = ()
    distinct_shapes: int = field(default=0, compare=False)

    @property
    def attributes(self) -> dict[str, str]:
        """What the line ``HloModule`` says, by name, each as it is written."""
        return attributes_of(self.attribute_text)

    @property
    def is_scheduled(self) -> bool:
        """Whether the order of the instructions is the order in which they run."""
        return self.attributes.get("is_scheduled") == "true"

    @property
    def entry(self) -> HloComputation:
        """The computation that the program begins with.

        Raises:
            LayoutError: where there is none.
        """
        for computation in self.computations:
            if computation.is_entry:
                return computation
        raise LayoutError(
            f"module {self.name!r} has no entry",
            "no computation of the text is marked ENTRY",
            "take one of module.computations, or read the whole dump",
        )

    @property
    def instructions(self) -> Iterator[HloInstruction]:
        """The instructions of all computations."""
        return (i for computation in self.computations for i in computation.instructions)

    def computation(self, name: str) -> HloComputation:
        """The computation of a name, with % or without.

        Raises:
            LayoutError: where there is none.
        """
        bare = name.removeprefix("%")
        for computation in self.computations:
            if computation.name == bare:
                return computation
        raise LayoutError(
            f"{name!r} names no computation of module {self.name!r}",
            f"it has {len(self.computations)} computations",
            "look through module.computations",
        )

    def instruction(self, name: str) -> HloInstruction:
        """The instruction of a name, with % or without, in whatever computation it is.

        Where several computations have one of that name, the entry's comes first, then that of
        the computation which comes first in the text.

        Raises:
            LayoutError: where there is none.
        """
        for computation in sorted(self.computations, key=lambda c: not c.is_entry):
            found = computation.get(name)
            if found is not None:
                return found
        raise LayoutError(
            f"{name!r} names no instruction of module {self.name!r}",
            f"it has {len(self)} instructions in {len(self.computations)} computations",
            "iterate over module.instructions to see their names",
        )

    def __len__(self) -> int:
        return sum(map(len, self.computations))

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        attributes = f", {self.attribute_text}" if self.attribute_text else ""
        blocks = [f"HloModule {self.name}{attributes}"] if self.name else []
        if self.source_tables is not None:
            blocks.append(str(self.source_tables))
        return "\n\n".join([*blocks, *map(str, self.computations)])

    def __repr__(self) -> str:
        counts = f"{len(self.computations)} computations, {len(self)} instructions"
        return f"HloModule({self.name!r}, {counts})"
