"""Operations of MLIR in a text: the types in a line, read with the aliases before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Arrays, Layout
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.mlir.text import parse_mlir
from morello_layouts.notations.triton.text import parse_triton

OPERATION: Final = regex(
    r"(?m)^[ \t]*(?:%[\w#:.-]+(?:[ \t]*,[ \t]*%[\w#:.-]+)*+[ \t]*=[ \t]*)?"
    r"(?P<name>\"?[a-z_]\w*\.[\w.]+\"?)(?=[ \t(<{%@\[:]|$)(?P<rest>.*)$"
)
"""Matches a line with an operation: its name with the dialect, and what follows."""

ALIAS: Final = regex(r"(?m)^[ \t]*(#[A-Za-z_][\w$]*)[ \t]*=[ \t]*(.+?)[ \t]*$")
"""Matches the definition of an alias on a line of its own."""

_TYPE: Final = regex(
    r"(?<![\w.])(?:tensor|memref|vector|!ttg\.memdesc|!triton_gpu\.memdesc|!tt\.memdesc)<"
)
_TRITON: Final = regex(r"#(ttg|triton_gpu|ttig|triton_intel_gpu)\.")
_USED: Final = regex(r"#[A-Za-z_][\w$]*(?![\w$.<])")
_CLOSING: Final = {">": "<", ")": "(", "]": "[", "}": "{"}


@frozen
class Operands(Arrays):
    """The arrays whose types stand in an operation, each type once."""

    name: str  #: the name of the operation, such as ``tt.load``.
    types: tuple[Layout, ...]  #: in the order of the text.

    def arrays(self) -> Iterator[tuple[tuple[int, ...], Layout]]:
        yield from (((k,), each) for k, each in enumerate(self.types))

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(map(str, self.types))}"


def type_texts(line: str) -> list[str]:
    """Return the texts of the types of arrays in a line, each once, in their order.

    >>> type_texts("%1 = ttg.convert_layout %0 : tensor<4xf32, #a> -> tensor<4xf32, #b>")
    ['tensor<4xf32, #a>', 'tensor<4xf32, #b>']
    """
    found: dict[str, None] = {}
    at = 0
    while (match := _TYPE.search(line, at)) is not None:
        at = _end(line, match.end() - 1)
        found[line[match.start() : at]] = None
    return [*found]


def _end(line: str, at: int) -> int:
    """Return where the bracket that opens at a place is closed; the end if it is not."""
    opened: list[str] = []
    quoted = False
    for k in range(at, len(line)):
        sign = line[k]
        quoted ^= sign == '"'
        if quoted or (sign == ">" and line[k - 1] == "-"):
            continue
        if sign in _CLOSING.values():
            opened.append(sign)
        elif sign in _CLOSING:
            if not opened or opened.pop() != _CLOSING[sign]:
                return k
            if not opened:
                return k + 1
    return len(line)


def aliases_in(text: str) -> dict[str, str]:
    """Return what each alias of a text stands for, by its name with ``#``."""
    return {match[1]: match[2] for match in ALIAS.finditer(text)}


def read_type(text: str, aliases: dict[str, str]) -> Any:
    """Return the layout of a type, with the aliases that it uses.

    Raises:
        ParseError: if the type cannot be read.
    """
    needed: dict[str, str] = {}
    left = _USED.findall(text)
    while left:
        name = left.pop()
        if name not in aliases:
            raise ParseError(
                f"{name} is not defined",
                "a type is read with the definitions of its aliases",
                f"write the line {name} = … before it",
                text=text,
                position=text.find(name) if name in text else 0,
            )
        if name not in needed:
            needed[name] = aliases[name]
            left += _USED.findall(aliases[name])
    order = [name for name in aliases if name in needed]
    whole = "".join(f"{name} = {needed[name]}\n" for name in order) + text
    if _TRITON.search(whole):
        return parse_triton(whole)

    return parse_mlir(whole)


def operands_of(text: str) -> Arrays | None:
    """Return the arrays of one operation, after definitions of aliases; None for other texts."""
    matches = [each for each in OPERATION.finditer(text) if not each["name"].endswith("pack")]
    if len(matches) != 1:
        return None
    aliases, name = aliases_in(text), matches[0]["name"].strip('"')
    types = type_texts(matches[0]["rest"])
    if not types:
        return None
    found = []
    for each in types:
        try:
            found.append(read_type(each, aliases))
        except ParseError as error:
            at = text.find(each)
            raise ParseError(error.what, error.why, error.fix, text=text,
                             position=max(at, 0)) from None  # fmt: skip
        except LayoutError as error:
            raise ParseError(error.what, error.why, error.fix, text=text, position=0) from None
    return found[0] if len(found) == 1 else Operands(name, tuple(found))
