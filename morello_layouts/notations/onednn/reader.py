"""oneDNN's text: ``aBcd16b`` with letters for any array, ``nChw16c`` with names of dimensions."""

from __future__ import annotations

import re
from typing import Final

from morello_layouts.checks import shown
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.limits import MAP_TEXT
from morello_layouts.notations.blocks import ALPHABET, ORDERS
from morello_layouts.notations.grammar import (
    AROUND,
    INT,
    Places,
    Source,
    Syntax,
    Terminal,
    Token,
    at_part,
    integer,
)
from morello_layouts.notations.onednn.layout import OnednnLayout

_SYNTAX: Final = Syntax(
    form="a oneDNN tag is the order of the dimensions, a capital for each in blocks, then blocks",
    example="write for example aBcd16b or nChw16c",
    hints={"_": "leave a prefix such as dnnl_ out"},
    longest=MAP_TEXT,
)

_LETTER: Final = Terminal("a letter", "[A-Za-z]")

# The names that oneDNN defines against its own rule, as the rule writes them.
_IRREGULAR: Final = {
    "OhwI24o": "Ohwi24o",
    "OhwI32o": "Ohwi32o",
    "gOhwI24o": "gOhwi24o",
    "gOhwI32o": "gOhwi32o",
    "gIOhw2i8o16i2o": "gOIhw2i8o16i2o",
    "gIOdhw2i8o16i2o": "gOIdhw2i8o16i2o",
}


_WORD: Final = re.compile(r"\s*([A-Za-z]{0,40})")


def _is_word(text: str) -> bool:
    """Return whether a text begins with letters that are not the dimensions of a tag."""
    match = _WORD.match(text)
    word = match[1].lower() if match else ""
    known = any({*word} <= {*letters} for letters in (ALPHABET, *ORDERS))
    return len({*word}) < len(word) or not known


def parse_onednn(text: str) -> OnednnLayout:
    """Parse a memory format tag of oneDNN."""
    text = _IRREGULAR.get(text.strip(), text)
    try:
        order, written = _tag(Source(text, _SYNTAX, AROUND))
    except ParseError as error:
        if _is_word(text) and not text.startswith("_", error.position):
            error.reached = -1  # another reader, or none, knows more
        raise
    if not order:
        what = "the order of the dimensions: expected a letter for each, got a block"
        raise _SYNTAX.error(
            what, "write it before the blocks: aB16b", text, text.find(text.strip())
        )
    letters = _letters(order, text)
    places: Places = {}
    blocks: list[tuple[int, int]] = []
    for k, (size, letter) in enumerate(written):
        places["blocks", k] = size.start
        if letter not in letters:
            what = f"the letter of a block: expected one of {letters}, got {str(letter)!r}"
            fix = f"write {letter.lower()}" if letter.lower() in letters else _SYNTAX.example
            raise _unless_capitals(_SYNTAX.error(what, fix, text, letter.start), order)
        blocks.append((letters.index(letter), integer(size, text)))
    blocked = {letters[dim] for dim, _ in blocks}
    for letter in order:
        is_blocked = letter.lower() in blocked
        wanted = letter.upper() if is_blocked else letter.lower()
        if letter != wanted:
            kind = "a dimension in blocks" if is_blocked else "a dimension without blocks"
            what = f"the letter of {kind}: expected {wanted}, got {letter}"
            wrong = _SYNTAX.error(what, f"write {wanted}", text, letter.start)
            raise _unless_capitals(wrong, order)
    try:
        return OnednnLayout(tuple(letters.index(x.lower()) for x in order), tuple(blocks), letters)
    except LayoutError as error:
        raise at_part(error, text, places) from None


def _tag(source: Source) -> tuple[list[Token], list[tuple[Token, Token]]]:
    """Read the letters of the order, and the blocks: a size and a letter each."""
    order: list[Token] = []
    while letter := source.take(_LETTER):
        order.append(letter)
    blocks: list[tuple[Token, Token]] = []
    while size := source.take(INT):
        blocks.append((size, source.need(_LETTER)))
    source.end()
    return order, blocks


def _letters(order: list[Token], text: str) -> str:
    """The letters of the logical dimensions, which the tag has in memory order."""
    given = [letter.lower() for letter in order]
    known = [ALPHABET[: len(order)], *(names for names in ORDERS if len(names) == len(order))]
    nearest = max(known, key=lambda names: len({*names} & {*given}))
    for k, letter in enumerate(given):
        if letter not in nearest or letter in given[:k]:
            wanted = " or ".join(filter(None, (", ".join(known[:-1]), known[-1])))
            what = f"letters: expected {wanted} in any order, got {shown(''.join(order))}"
            error = _SYNTAX.error(what, _SYNTAX.example, text, order[k].start)
            error.reached = error.position - 1  # any word begins with a letter
            raise error
    return nearest


def _unless_capitals(error: ParseError, order: list[Token]) -> ParseError:
    """Return the error; of a wrong tag in capitals throughout another reader knows more."""
    if "".join(order).isupper():
        error.reached = 0
    return error
