"""The attributes of an instruction, and what some of them say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from morello_layouts.hlo.patterns import CALLED_BY, NAME
from morello_layouts.hlo.records import fields_of, number_of, unquoted
from morello_layouts.hlo.scanner import Scanner
from morello_layouts.hlo.tables import SourceTables

__all__ = [
    "HloMetadata",
    "attributes_of",
    "called_names",
    "metadata_of",
    "names_in",
]


@dataclass(frozen=True, slots=True)
class HloMetadata:
    """Where an instruction comes from in the user's program; None where the dump does not say.

    Attributes:
        op_name: the path of traced functions, such as ``jit(f)/while/body/add``.
        op_type: the operation of the framework.
        source_file: the user's file.
        source_line: the line there, from 1.
        source_function: the function around it, which only dumps with stack frames name.
        stack_frame_id: the row of the dump's table ``StackFrames``.

    >>> HloMetadata(op_name="jit(f)/add", source_file="model.py", source_line=7).source
    'model.py:7'
    """

    op_name: str | None = None
    op_type: str | None = None
    source_file: str | None = None
    source_line: int | None = None
    source_function: str | None = None
    stack_frame_id: int | None = None

    @property
    def source(self) -> str | None:
        """File and line as editors read them, None where there is no file."""
        if self.source_file is None or self.source_line is None:
            return self.source_file
        return f"{self.source_file}:{self.source_line}"


def attributes_of(text: str) -> dict[str, str]:
    r"""Names and values of attributes, as they are written.

    >>> attributes_of("kind=kLoop, calls=%f, metadata={op_name=\"a, b\"}")["metadata"]
    '{op_name="a, b"}'
    """
    return dict(Scanner(f", {text}").attributes()) if text else {}


def called_names(attributes: Mapping[str, str]) -> tuple[str, ...]:
    """The computations that attributes name, in XLA's order: a body before its condition.

    >>> called_names({"condition": "%c", "body": "%b", "index": "0"})
    ('b', 'c')
    """
    return tuple(
        name
        for attribute in CALLED_BY
        if "=" not in (value := attributes.get(attribute, ""))  # else a computation stands there
        for name in names_in(value)
    )


def names_in(text: str) -> tuple[str, ...]:
    """The names in a list such as ``{%a, %b}``."""
    return tuple(NAME.findall(text))


def metadata_of(text: str | None, tables: SourceTables | None) -> HloMetadata:
    """What the attribute ``metadata`` says, with the source of its stack frame."""
    fields = dict(fields_of(text or ""))
    frame = number_of(fields.get("stack_frame_id"))
    file, line = fields.get("source_file"), number_of(fields.get("source_line"))
    file = None if file is None else unquoted(file)
    function = None
    if file is None and frame is not None and tables is not None:
        file, line, function = tables.locate(frame)
    name, kind = fields.get("op_name"), fields.get("op_type")
    return HloMetadata(
        None if name is None else unquoted(name),
        None if kind is None else unquoted(kind),
        file,
        line,
        function,
        frame,
    )
