"""Programs that JAX holds: the HLO text and the buffer assignment of a compiled one.

JAX is not imported: a program is known by the names of its type. The buffer assignment is a
message of protocol buffers, whose fields XLA's ``buffer_assignment.proto`` and ``hlo.proto`` name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from morello_layouts.core.checks import shown
from morello_layouts.errors import LayoutError
from morello_layouts.notations import parse
from morello_layouts.programs.hlo.module import HloModule

BEFORE_LAYOUTS: Final = (
    "this is the program before compilation: its layouts are defaults, not the compiler's choice; "
    "give lowered.compile()"
)


def is_program(value: object) -> bool:
    """Return whether a value is a program of JAX, lowered or compiled."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == "jax" and kind.__name__ in ("Lowered", "Compiled")


def text_of(program: Any) -> str:
    """Return a program's HLO text.

    Raises:
        LayoutError: if the compiler keeps none.
    """
    is_compiled = type(program).__name__ == "Compiled"
    text = program.as_text() if is_compiled else program.as_text(dialect="hlo")
    if isinstance(text, str) and text.strip():
        return text
    raise LayoutError(
        f"{shown(program)} has no HLO text",
        "the compiler of this device does not give it",
        "compile with XLA_FLAGS=--xla_dump_to=DIR, and give a file of that folder",
    )


Message: TypeAlias = "list[tuple[int, int | bytes]]"


def _message(data: bytes) -> Message:
    """Return the fields of a message: pairs of a number and a value."""
    found: Message = []
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            found.append((tag >> 3, number()))
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or number()
            found.append((tag >> 3, data[at : at + size]))
            at += size
    return found


def _numbers(message: Message) -> dict[int, int]:
    return {key: value for key, value in message if isinstance(value, int)}


def _parts(message: Message, key: int) -> Iterator[Message]:
    yield from (_message(value) for each, value in message if each == key and value != 0
                and isinstance(value, bytes))  # fmt: skip


def _packed(message: Message, key: int) -> list[int]:
    """Return a repeated number, packed or not."""
    found: list[int] = []
    for each, value in message:
        if each == key and isinstance(value, int):
            found.append(value)
        elif each == key and isinstance(value, bytes):
            found += _varints(value)
    return found


def _varints(data: bytes) -> list[int]:
    spread = b"".join(b"\x08" + part for part in _split(data))
    return [value for _, value in _message(spread) if isinstance(value, int)]


def _split(data: bytes) -> Iterator[bytes]:
    start = 0
    for k, byte in enumerate(data):
        if byte < 128:
            yield data[start : k + 1]
            start = k + 1


def assignment_of(compiled: Any, module: HloModule) -> str:
    """Return the buffer assignment of a compiled program, as the text that XLA dumps.

    Args:
        compiled: the program.
        module: the same program as it was read, for the types of values.

    Raises:
        LayoutError: if JAX does not give it.
    """
    stats = getattr(compiled, "memory_analysis", lambda: None)()
    data = getattr(stats, "serialized_buffer_assignment_proto", None)
    modules = getattr(getattr(compiled, "runtime_executable", lambda: None)(), "hlo_modules", None)
    if not data or modules is None:
        raise LayoutError(
            f"{shown(compiled)} has no buffer assignment",
            "a compiled program has it with jaxlib from 0.7 on, on most devices",
            "compile with XLA_FLAGS=--xla_dump_to=DIR, and give a file of that folder",
        )
    shapes = {each.name: str(each.shape) for each in module.instructions}
    try:
        return "\n".join(_lines(_message(bytes(data)), _names(modules()[0]), shapes))
    except (IndexError, KeyError) as error:
        raise LayoutError(
            f"the buffer assignment of {shown(compiled)} is not understood: {error}",
            "its fields are those of XLA's buffer_assignment.proto",
            "compile with XLA_FLAGS=--xla_dump_to=DIR, and give a file of that folder",
        ) from None


def _names(module: Any) -> dict[int, str]:
    """Return the names of instructions by their numbers."""
    names: dict[int, str] = {}
    for computation in _parts(_message(module.as_serialized_hlo_module_proto()), 3):
        for instruction in _parts(computation, 2):
            text = next(value for key, value in instruction if key == 1)
            names[_numbers(instruction)[35]] = text.decode() if isinstance(text, bytes) else ""
    return names


def _lines(message: Message, names: dict[int, str], shapes: dict[str, str]) -> Iterator[str]:
    buffers: dict[int, tuple[str, list[int], int]] = {}
    for buffer in _parts(message, 1):
        own = _numbers(buffer)
        (place,) = _parts(buffer, 3)
        buffers[own.get(1, 0)] = (names[_numbers(place)[4]], _packed(place, 3), own.get(4, 0))
    yield "BufferAssignment:"
    for allocation in _parts(message, 3):
        own = _numbers(allocation)
        words = [f"size {own.get(2, 0)}"]
        words += [f"color {own[8]}"] if own.get(8) else []
        words += [f"parameter {own.get(6, 0)}"] if own.get(5) else []
        words += ["constant"] if own.get(12) else []
        words += ["thread-local"] if own.get(3) else []
        words += ["maybe-live-out"] if own.get(7) else []
        words += ["preallocated-temp"] if len(words) == 1 + bool(own.get(8)) else []
        yield f"allocation {own.get(1, 0)}: {', '.join(words)}:"
        for value in _parts(allocation, 9):
            at = _numbers(value)
            name, path, _ = buffers[at.get(1, 0)]
            where = f"{{{','.join(map(str, path))}}}" if path else ""
            size = f"(size={at.get(3, 0)},offset={at.get(2, 0)})"
            shape = _part(shapes[name], path)
            yield f" value: <{at.get(1, 0)} {name}{where} @0> {size}: {shape}"


def _part(shape: str, path: list[int]) -> str:
    """Return the type of a part of a tuple."""
    if not path:
        return shape
    return next(str(each) for at, each in parse(shape).arrays() if [*at] == path)
