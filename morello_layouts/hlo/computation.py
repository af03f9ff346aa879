"""A computation: a function of a program, as a list of instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from morello_layouts.errors import LayoutError
from morello_layouts.hlo.attributes import attributes_of
from morello_layouts.hlo.instruction import HloInstruction, Scope

__all__ = ["HloComputation"]


@dataclass(frozen=True, slots=True, repr=False)
class HloComputation:
    r"""A computation: the entry of a module, or one that an instruction calls.

    Attributes:
        name: its name, without %; empty where bare instructions were read.
        instructions: in the order of the text, which of a scheduled module is the order they run.
        is_entry: whether the module begins here.
        signature: parameters and result as the dump writes them, such as
            ``(a: f32[8]) -> f32[8]``; empty where it does not.
        attribute_text: what follows its closing brace, such as ``execution_thread="host"``.
        line: the line of the dump on which it begins, from 1; no part of its value.

    >>> import morello_layouts as ml
    >>> module = ml.read_hlo("ENTRY %main (a: f32[8]) -> f32[8] {\n"
    ...                      "  %a = f32[8]{0} parameter(0)\n"
    ...                      "  ROOT %b = f32[8]{0} negate(%a)\n}")
    >>> main = module.entry
    >>> main.root.operands[0] is main["a"] is main.parameters[0]
    True
    """

    name: str
    instructions: tuple[HloInstruction, ...] = ()
    is_entry: bool = False
    signature: str = ""
    attribute_text: str = ""
    line: int = field(default=0, compare=False)
    _scope: Scope | None = field(default=None, compare=False)

    @property
    def root(self) -> HloInstruction:
        """The instruction whose result is the computation's: the one marked, or else the last.

        Raises:
            LayoutError: where there are no instructions.
        """
        for instruction in reversed(self.instructions):
            if instruction.is_root:
                return instruction
        if self.instructions:
            return self.instructions[-1]
        raise LayoutError(
            f"computation {self.name!r} has no root",
            "it has no instructions",
            "ask where len(computation) is not 0",
        )

    @property
    def parameters(self) -> tuple[HloInstruction, ...]:
        """Its parameters by number."""
        found = [i for i in self.instructions if i.parameter_number is not None]
        return tuple(sorted(found, key=lambda i: i.parameter_number or 0))

    @property
    def attributes(self) -> dict[str, str]:
        """What follows its closing brace, by name."""
        return attributes_of(self.attribute_text)

    def get(self, name: str) -> HloInstruction | None:
        """The instruction of a name, with % or without; None where there is none."""
        bare = name.removeprefix("%")
        if self._scope is not None:
            return self._scope.instructions.get(bare)
        return next((i for i in self.instructions if i.name == bare), None)

    def __getitem__(self, name: str) -> HloInstruction:
        """The instruction of a name, with % or without.

        Raises:
            LayoutError: where there is none.
        """
        found = self.get(name)
        if found is None:
            raise LayoutError(
                f"{name!r} names no instruction of computation {self.name!r}",
                f"it has {len(self)} instructions",
                "iterate over the computation to see their names",
            )
        return found

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[HloInstruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        body = "\n".join(f"  {instruction}" for instruction in self.instructions)
        if not self.name:
            return body
        entry = "ENTRY " if self.is_entry else ""
        signature = f" {self.signature}" if self.signature else ""
        attributes = f", {self.attribute_text}" if self.attribute_text else ""
        return f"{entry}%{self.name}{signature} {{\n{body}\n}}{attributes}"

    def __repr__(self) -> str:
        entry = ", is_entry=True" if self.is_entry else ""
        return f"HloComputation({self.name!r}, {len(self)} instructions{entry})"
