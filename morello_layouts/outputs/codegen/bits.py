"""Loads and stores of a few bits in bytes, as source text: shift and mask, and read-modify-write.

A number's bits lie in one byte or in two neighbours. Bit 0 of a byte is the lowest; where the
order is ``big``, numbers fill a byte from its highest bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from morello_layouts.outputs.codegen.programs import closed


class ByteAccess(NamedTuple):
    """How a language reads and writes bytes; ``{}`` stands for names and parts."""

    byte: str  #: a byte of ``{array}`` at ``{at}``, as a number without sign.
    write: str  #: the statement that writes a byte, without its end.
    bits: str = "{}"  #: an integer as bits.
    without: str = "~"  #: the complement of a mask.

    def load(
        self, array: str, at: Sequence[str], by: str, count: int, *, is_big: bool = False
    ) -> str:
        """Return the text of a number.

        Args:
            array: the name of the bytes.
            at: the text of the byte, or of both.
            by: the bit of the byte at which the number begins, as text; empty for 0.
            count: its bits, at most 8.
            is_big: whether bits are counted from the highest.

        >>> C.load("s", ["k"], "", 4), C.load("s", ["k", "k + 1"], "3", 7)
        ('(uint32_t)s[k] & 15', '((uint32_t)s[k] | (uint32_t)s[k + 1] << 8) >> 3 & 127')
        >>> C.load("s", ["k"], "b", 4, is_big=True)
        '(uint32_t)s[k] >> (4 - b) & 15'
        """
        first, *others = (self.byte.format(array=array, at=each) for each in at)
        text = first
        for other in others:
            text = f"({first} << 8 | {other})" if is_big else f"({first} | {other} << 8)"
        if is_big:
            by = f"{8 * len(at) - count} - {closed(by)}" if by else str(8 * len(at) - count)
        text = f"{text} >> {_operand(by)}" if by not in ("", "0") else text
        return f"{text} & {(1 << count) - 1}" if others or count < 8 else text

    def store(
        self, array: str, at: Sequence[str], by: str, count: int, value: str
    ) -> Iterator[str]:
        """Yield the statements that write a number, and leave the bits of its neighbours.

        >>> list(C.store("t", ["k"], "", 8, "x"))
        ['t[k] = (uint8_t)(x)']
        >>> list(C.store("t", ["k"], "4", 4, "x"))
        ['t[k] = (uint8_t)(((uint32_t)t[k] & ~(15 << 4)) | (((uint32_t)x & 15) << 4))']
        """
        if count == 8 and not by:
            yield self.write.format(array=array, at=at[0], value=value)
            return
        mask, up = (1 << count) - 1, f" << {_operand(by)}" if by else ""
        for k, byte in enumerate(at):
            down = " >> 8" * k
            kept = f"{self.byte.format(array=array, at=byte)} & {self.without}({mask}{up}{down})"
            own = f"{self.bits.format(value)} & {mask}"
            whole = f"({kept}) | ({f'({own}){up}{down}' if up else own})"
            yield self.write.format(array=array, at=byte, value=whole)


def _operand(text: str) -> str:
    return f"({text})" if any(sign in text for sign in " %&") else text


C: Final = ByteAccess(
    "(uint32_t){array}[{at}]", "{array}[{at}] = (uint8_t)({value})", "(uint32_t){}"
)
BYTES: Final = {
    "c": C,
    "cuda": C,
    "rust": ByteAccess(
        "({array}[({at}) as usize] as u32)", "{array}[({at}) as usize] = ({value}) as u8",
        "({} as u32)", "!",
    ),
    "python": ByteAccess("int({array}[{at}])", "{array}[{at}] = ({value}) & 255"),
}  # fmt: skip
"""The languages that have bytes."""


def indented(lines: Sequence[str], *, is_python: bool) -> Iterator[str]:
    """Yield the lines of blocks with spaces before them; Python has no lines that end a block."""
    depth = 0
    for line in lines:
        if line == "}":
            depth -= 1
        if line != "}" or not is_python:
            yield "    " * depth + line
        depth += line.endswith(("{", ":"))
