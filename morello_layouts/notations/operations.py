"""Operations of MLIR in a text: the types in a line, read with the aliases before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Arrays, Layout
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import MAP_TEXT
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

ALIASED: Final = regex(r"#[A-Za-z_][\w$]*+(?![\w$.<])")
"""Matches the name of an alias."""

_TYPE: Final = regex(
    r"(?<![\w.])(?:tensor|memref|vector|!(?:ttg|triton_gpu|tt)\.memdesc|!xegpu\.tensor_desc)<"
    r"|(?<=> )<(?=\d)"
)
_TRITON: Final = regex(r"#(tt[in]?g|triton_(intel_)?gpu)\.")
_QUOTED: Final = regex(r'"(?:[^"\\]++|\\.)*+"')
_BRACKETS: Final = regex(r"->|[<>]=|[()<>\[\]{}]")
_CLOSES: Final = {")": "(", ">": "<", "]": "[", "}": "{"}


@frozen
class Operands(Arrays):
    """The arrays whose types stand in an operation, each type once."""

    name: str  #: the name of the operation, such as ``tt.load``.
    types: tuple[Layout, ...]  #: in the order of the text.

    def arrays(self) -> Iterator[tuple[tuple[int, ...], Layout]]:
        yield from (((k,), each) for k, each in enumerate(self.types))

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(map(str, self.types))}"


def pairs(text: str) -> dict[int, int]:
    """Return the end of each pair of brackets by its beginning; signs that pair with none are none.

    >>> pairs("a<b>(c < d) -> e")
    {1: 4, 4: 11}
    """
    opened: list[tuple[int, str]] = []
    found = {}
    for match in _BRACKETS.finditer(text):
        sign = match[0]
        if sign in _CLOSES:
            while sign != ">" and opened and opened[-1][1] == "<":
                opened.pop()
            if opened and opened[-1][1] == _CLOSES[sign]:
                found[opened.pop()[0]] = match.end()
        elif len(sign) == 1:
            opened.append((match.start(), sign))
    return found


def plain_text(text: str) -> str:
    """Return a text whose parts in quotes hold no brackets, as long as it was."""
    return _QUOTED.sub(lambda match: '"' * len(match[0]), text) if '"' in text else text


def types_in(text: str) -> list[tuple[str, int]]:
    """Return the text and the place of each type that has sizes, in their order.

    >>> types_in("%1 = ttg.convert_layout %0 : tensor<4xf32, #a> -> tensor<4xf32, #b>")
    [('tensor<4xf32, #a>', 29), ('tensor<4xf32, #b>', 50)]
    """
    plain, at, found = plain_text(text), 0, list[tuple[str, int]]()
    ends = pairs(plain)
    while (match := _TYPE.search(plain, at)) is not None:
        at = ends.get(match.end() - 1, len(text))
        found.append((text[match.start() : at], match.start()))
    return found


def expanded(text: str, meaning: Callable[[str], str | None], longest: int = MAP_TEXT) -> str:
    """Return a text with what its aliases stand for in their place, as long as it is not too long.

    >>> expanded("memref<4x8xf32, #map>", {"#map": "affine_map<(i, j) -> (j, i)>"}.get)
    'memref<4x8xf32, affine_map<(i, j) -> (j, i)>>'
    """
    for _ in range(8):  # an alias may mean another one
        found = ALIASED.sub(lambda match: meaning(match[0]) or match[0], text, 16)
        if found == text or len(found) > longest:
            break
        text = found
    return text


def operands_of(text: str) -> Arrays | None:
    """Return the arrays of one operation, after definitions of aliases; None for other texts."""
    matches = [each for each in OPERATION.finditer(text) if not each["name"].endswith("pack")]
    if len(matches) != 1:
        return None
    known = {match[1]: match[2] for match in ALIAS.finditer(text)}
    start, found = matches[0].start("rest"), dict[str, Layout]()
    for each, at in types_in(matches[0]["rest"]):
        try:
            whole = expanded(each, known.get)
            if (left := ALIASED.search(whole)) is not None:
                raise LayoutError(
                    f"{left[0]} is not defined",
                    "a type is read with the definitions of its aliases",
                    f"write the line {left[0]} = … before it",
                )
            found[each] = (parse_triton if _TRITON.search(whole) else parse_mlir)(whole)
        except LayoutError as error:
            raise ParseError(error.what, error.why, error.fix, text=text,
                             position=start + at) from None  # fmt: skip
    types = tuple(found.values())
    return None if not types else types[0] if len(types) == 1 else Operands(
        matches[0]["name"].strip('"'), types)  # fmt: skip
