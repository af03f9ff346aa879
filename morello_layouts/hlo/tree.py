"""A program as a tree: its computations, their instructions, and what these call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from morello_layouts.description import count
from morello_layouts.hlo.module import HloComputation, HloInstruction, HloModule
from morello_layouts.plain import Displayed

_DEEPEST: Final = 40  # levels that are indented


@dataclass(frozen=True, repr=False)
class HloTree(Displayed):
    """A program as a tree: the entry first, each other computation below its first caller.

    >>> import morello_layouts as ml
    >>> print(HloTree(ml.read_hlo('''
    ... HloModule small
    ... %inner (p: f32[8]) -> f32[8] {
    ...   %p = f32[8]{0} parameter(0)
    ...   ROOT %n = f32[8]{0} negate(%p)
    ... }
    ... ENTRY %main (a: f32[8]) -> f32[8] {
    ...   %a = f32[8]{0} parameter(0)
    ...   ROOT %f = f32[8]{0} fusion(%a), kind=kLoop, calls=%inner
    ... }''')))
    HloModule small: 2 computations, 4 instructions
    ENTRY main
      a = parameter(0)  f32[8]{0}
      ROOT f = fusion(a)  f32[8]{0}
        inner
          p = parameter(0)  f32[8]{0}
          ROOT n = negate(p)  f32[8]{0}
    """

    module: HloModule  #: the program.

    def lines(self) -> Iterator[str]:
        """Yield the lines of the tree; a computation that was shown is named again, no more."""
        every = self.module.computations
        counts = count(len(every), "computation"), count(len(self.module), "instruction")
        yield f"{f'HloModule {self.module.name}'.rstrip()}: {', '.join(counts)}"
        called = {one.name for i in self.module.instructions for one in _calls(i)}
        shown: set[str] = set()
        for first in sorted(every, key=lambda one: (not one.is_entry, one.name in called)):
            if first.name not in shown:
                yield from _lines_below(first, shown)

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _calls(instruction: HloInstruction) -> list[HloComputation]:
    return [one for one in instruction.called_computations if not isinstance(one, str)]


def _lines_below(first: HloComputation, shown: set[str]) -> Iterator[str]:
    """Yield a computation with all that it calls; without recursion, as calls may be deep."""
    levels: list[Iterator[HloComputation | HloInstruction]] = [iter((first,))]
    while levels:
        one = next(levels[-1], None)
        indent = "  " * min(len(levels) - 1, _DEEPEST)
        if one is None:
            levels.pop()
        elif isinstance(one, HloInstruction):
            root = "ROOT " if one.is_root else ""
            operands = one.literal if one.literal is not None else ", ".join(one.operand_names)
            yield f"{indent}{root}{one.name} = {one.opcode}({operands})  {one.shape}"
            levels.append(iter(_calls(one)))
        elif one.name in shown:
            yield f"{indent}{one.name}, as above"
        else:
            shown.add(one.name)
            if one.name:
                yield f"{indent}{'ENTRY ' if one.is_entry else ''}{one.name}"
            levels.append(chain(one.instructions))
