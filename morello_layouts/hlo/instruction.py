"""One instruction of a computation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from morello_layouts.hlo.attributes import (
    HloMetadata,
    attributes_of,
    called_names,
    metadata_of,
    names_in,
)
from morello_layouts.hlo.tables import SourceTables
from morello_layouts.notation.xla import XlaValue

if TYPE_CHECKING:
    from morello_layouts.hlo.computation import HloComputation

__all__ = ["HloInstruction", "ModuleScope", "Scope"]


@dataclass(slots=True, eq=False)
class ModuleScope:
    """What the instructions of one module share: its computations by name, its source tables."""

    computations: dict[str, HloComputation] = field(default_factory=dict)
    tables: SourceTables | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """What the instructions of one computation share: each other by name, and their module."""

    instructions: dict[str, HloInstruction] = field(default_factory=dict)
    module: ModuleScope = field(default_factory=ModuleScope)


@dataclass(frozen=True, slots=True, repr=False)
class HloInstruction:
    """An instruction: ``%add.1 = f32[8]{0} add(%a, %b), metadata={op_name="x"}``.

    Attributes:
        name: its name, without %.
        opcode: what it does, as the dump writes it, such as ``fusion`` or ``copy-start``.
        shape: type and layout of its result; a tuple's for several results.
        operand_names: its operands by name, without %.
        operand_shapes: their types where the dump repeats them at the use, None where it does not;
            empty where it gives none of them.
        literal: what stands in the parentheses instead of operands: the value of a ``constant``
            (``{...}`` where it is longer than 1,024 characters), the number of a ``parameter``.
        attribute_text: all that follows the operands, as it is written.
        is_root: whether it is marked as the result of its computation.
        line: its line in the dump, from 1; no part of its value.

    >>> import morello_layouts as ml
    >>> module = ml.read_hlo("%add.1 = f32[8,3]{1,0} add(%a, f32[8,3]{0,1} %b), index=0")
    >>> i = module.instruction("add.1")
    >>> i.opcode, i.shape.dims, i.operand_names, i.attributes
    ('add', (8, 3), ('a', 'b'), {'index': '0'})
    >>> print(i)
    %add.1 = f32[8,3]{1,0} add(%a, f32[8,3]{0,1} %b), index=0
    """

    name: str
    opcode: str
    shape: XlaValue
    operand_names: tuple[str, ...] = ()
    operand_shapes: tuple[XlaValue | None, ...] = ()
    literal: str | None = None
    attribute_text: str = ""
    is_root: bool = False
    line: int = field(default=0, compare=False)
    _scope: Scope | None = field(default=None, compare=False)

    @property
    def operands(self) -> tuple[HloInstruction | str, ...]:
        """The instructions that it takes; a name where the computation does not hold it."""
        if self._scope is None:
            return self.operand_names
        known = self._scope.instructions
        return tuple(known.get(name, name) for name in self.operand_names)

    @property
    def attributes(self) -> Mapping[str, str]:
        """Its attributes by name, each as it is written; metadata and backend_config too."""
        return attributes_of(self.attribute_text)

    @property
    def metadata(self) -> HloMetadata:
        """Where it comes from in the user's program."""
        tables = None if self._scope is None else self._scope.module.tables
        text = self.attributes.get("metadata") if "metadata=" in self.attribute_text else None
        return metadata_of(text, tables)

    @property
    def called_computations(self) -> tuple[HloComputation | str, ...]:
        """The computations that it calls; a name where the module does not hold it."""
        if "=" not in self.attribute_text:
            return ()
        known = {} if self._scope is None else self._scope.module.computations
        return tuple(known.get(name, name) for name in called_names(self.attributes))

    @property
    def control_predecessors(self) -> tuple[HloInstruction | str, ...]:
        """Instructions that run before it though it takes nothing of them."""
        known = {} if self._scope is None else self._scope.instructions
        names = names_in(self.attributes.get("control-predecessors", ""))
        return tuple(known.get(name, name) for name in names)

    @property
    def parameter_number(self) -> int | None:
        """Which parameter of its computation it is; None where it is none."""
        text = (self.literal or "").strip()
        is_number = self.opcode == "parameter" and text.isascii() and text.isdecimal()
        return int(text) if is_number and len(text) < 19 else None

    def __str__(self) -> str:
        return f"{self._head()}, {self.attribute_text}" if self.attribute_text else self._head()

    def __repr__(self) -> str:
        return f"HloInstruction({self._head()!r})"

    def _head(self) -> str:
        """All but the attributes."""
        arguments = self.literal
        if arguments is None:
            shapes = self.operand_shapes or (None,) * len(self.operand_names)
            arguments = ", ".join(
                f"%{name}" if shape is None else f"{shape} %{name}"
                for shape, name in zip(shapes, self.operand_names, strict=True)
            )
        root = "ROOT " if self.is_root else ""
        return f"{root}%{self.name} = {self.shape} {self.opcode}({arguments})"
