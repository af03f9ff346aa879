"""Nests in Triton: the inner loops are blocks of pointers with a mask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from morello_layouts.codegen.language import ProgramLanguage
from morello_layouts.codegen.targets import TritonLanguage
from morello_layouts.errors import UnsupportedError
from morello_layouts.limits import TRITON_BLOCK
from morello_layouts.loop_nests.axes import Axis
from morello_layouts.loop_nests.text import PythonWriter
from morello_layouts.loop_nests.tree import Block


class TritonWriter(PythonWriter):
    """Triton."""

    language: ClassVar[type[ProgramLanguage]] = TritonLanguage
    counts: ClassVar[bool] = False
    vectors: ClassVar[int] = 2
    parallel: ClassVar[str] = "tl.program_id(0)"
    include: ClassVar[str] = "import triton\nimport triton.language as tl\n\n\n"
    opening: ClassVar[str] = "@triton.jit\ndef {name}({arguments}):"

    def whole(self, depth: int = 0) -> Iterator[str]:
        """Yield the lines of the nest; a size is an argument of any width."""
        for size in self.walk.space.size_names:
            yield f"{'    ' * depth}{size} = tl.cast({size}, tl.int64)"
        yield from super().whole(depth)

    def block(self, block: Block) -> list[str]:
        """Return the vectors of the inner loops, and the masks that the body uses."""
        lines, conditions = [], [(form, self.below(form, n)) for form, n in block.conditions]
        total = 1
        for k, axis in enumerate(block.axes):
            size = _power_of_two(axis)
            total *= size
            at = "" if len(block.axes) == 1 else "[:, None]" if k == 0 else "[None, :]"
            lines.append(f"{axis.name} = tl.arange(0, {size}){at}")
            if size != axis.size:
                conditions.append((axis.variable, f"{axis.name} < {axis.size}"))
        if total > TRITON_BLOCK:
            raise UnsupportedError(
                f"a block: expected up to {TRITON_BLOCK} elements, got {total}",
                "Triton has no larger blocks",
                "give tiles, such as tile={'i': 32, 'j': 128}",
            )
        body = self.walk.body or self.default()
        for name, access in {
            "mask": None,
            **{f"mask_{a}": a for a in self.walk.plan.results},
        }.items():
            if f"{{{name}}}" in body:
                own = [
                    text for form, text in conditions if access is None or self.uses(access, form)
                ]
                lines.append(f"{name} = {' & '.join(f'({text})' for text in own) or None}")
        return lines

    def uses(self, access: str, form: object) -> bool:
        """Whether an array depends on the coordinates in a condition."""
        names = [a.name for a in self.walk.space.accesses]
        if access not in names:
            return True
        own = {v.name for v in self.walk.digits.forms[names.index(access)].variables()}
        return any(v.name in own for v in form.variables())  # type: ignore[attr-defined]

    def visit(self) -> list[str]:
        """Return the lines of the body; masks have their names in it."""
        masks = {"mask", *(f"mask_{name}" for name in self.walk.plan.results)}
        return [self.filled(line, {name: name for name in masks}) for line in super().visit()]

    def default(self) -> str:
        """Return the body of a nest without one."""
        inner = {axis.name for axis in self.walk.axes[-self.vectors :]}
        masks, names = {}, [access.name for access in self.walk.space.accesses]
        for name, form in zip(names, self.walk.digits.forms, strict=True):
            is_whole = inner <= {v.name for v in form.variables()}
            masks[name] = "mask" if is_whole else f"mask_{name}"  # as many dimensions as pointers
        values = [f"tl.load({name} + {{{name}}}, mask={{{masks[name]}}})" for name in names]
        if self.is_copy:
            to = names[1]
            return f"tl.store({to} + {{{to}}}, {values[0]}, mask={{{masks[to]}}})"
        pairs = zip(names, values, strict=True)
        return "\n".join(f"{name}_values = {value}" for name, value in pairs)


def _power_of_two(axis: Axis) -> int:
    if not isinstance(axis.size, int):
        raise UnsupportedError(
            f"{axis.name}: expected a number of turns, got {axis.size}",
            "a block of Triton has a size that is known when it is compiled",
            f"give tile={{{axis.coordinate!r}: 128}}, or numbers for sizes",
        )
    return 1 << max(axis.size - 1, 0).bit_length()
