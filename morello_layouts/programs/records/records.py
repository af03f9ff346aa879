"""Records with what they answer, and the table of packed formats."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from morello_layouts.core.checks import shown
from morello_layouts.core.fields import frozen
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.grammar import at_part
from morello_layouts.programs.records import decoders, judge, picture, repack as kernels, values
from morello_layouts.programs.records.block import Block
from morello_layouts.programs.records.formula import read_formula
from morello_layouts.programs.records.text import parse_blocks, parse_record


@frozen(slots=False)
class Record(Block):
    """Arrays that share one buffer, in blocks that follow each other.

    >>> from morello_layouts import record
    >>> print(record("pair: 2 bytes { a: u4[2] at byte 0; b: u8 at byte 1 }"))
    pair: 2 bytes {
      a: u4[2] at byte 0
      b: u8 at byte 1
    }
    """

    check = judge.check
    explain = judge.explain
    certificates = judge.certificates
    unpack = values.extract
    pack = values.insert
    decode = values.decode
    code = decoders.code
    repack = kernels.repack
    svg = picture.svg

    def agree(self, reader: Block | str, *, budget: int | None = None) -> judge.RecordAgreement:
        """Decide whether a reader, as another record, finds each field where this one puts it.

        >>> from morello_layouts import record
        >>> print(record("a: { x: u4[2] at byte 0 }").agree("b: { x: u4[2] at bit 4 }"))
        do not agree: x[0] bit 0 is written at bit 0 of a block and read at bit 4
        """
        other = reader if isinstance(reader, Block) else record(reader)
        return judge.agree(self, other, budget=budget)

    def draw(self) -> picture.RecordPicture:
        """Return the picture of the bits of a block, for terminals, notebooks and files."""
        return picture.RecordPicture((), self)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("formats.toml").read_text("utf-8"))


def named(name: str) -> dict[str, Any] | None:
    """Return the row of a name in the table of formats, in letters of any case.

    A row has a text and a source; or why the name has no record, and what to ask instead: of types
    of numbers, too.

    >>> named("Q8_0")["source"][:22], named("q4_K_M")["why"][:24], named("NHWC")
    ('ggml/src/ggml-common.h', 'it is the type of a file', None)
    """
    key = name.lower()
    row = _table().get(name) or next((x for k, x in _table().items() if k.lower() == key), None)
    if isinstance(row, dict):
        return row
    return next((x for x in _table()["refused"] if re.fullmatch(x["names"], key)), None)


def formats() -> dict[str, str]:
    """Return the packed formats by name, each with the document that it was written from.

    >>> "q4_K" in formats()
    True
    """
    return {name: row["source"] for name, row in _table().items() if name != "refused"}


def record(text: str) -> Record:
    """Return arrays that share one buffer bit by bit: a packed format by name, or a text.

    Args:
        text: ``"q4_K[B]"``, ``"q4_K"`` or another name of ``mlay record --formats``; or a text,
            such as ``"pair[B]: 2 bytes { a: u4[2] at byte 0; b: u8 at byte 1 }"``. ``at`` gives the
            byte or the bit of a field's first element, ``as "…"`` its layout in any notation,
            ``by`` the bits from one offset of the layout to the next. ``[0:4]`` is the part of the
            elements and ``.0:4`` the part of their bits that lie there; ``be`` is the highest byte
            first.

    Raises:
        ParseError: if the text or its formula does not fit, with a caret.
        LayoutError: if no format has the name.

    >>> print(record("q8_0[B]"))
    q8_0[B]: 34 bytes {
      d: f16 at byte 0
      qs: s8[32] at byte 2
      value[k:32] = d*qs[k]
    }
    >>> print(record("q8_0[B]").check())
    exact: 2 pieces lie inside, share no bit, and cover 272 of 272 bits of a block, for each B
    """
    if not isinstance(text, str):
        raise LayoutError(
            f"a record: expected a text, got {shown(text)}",
            "a record is a name of the table, or a text with fields in braces",
            "write for example q4_K[B]",
        )
    word = re.fullmatch(r"\s*([A-Za-z_][\w.]*)\s*(\[[^\]]*\])?\s*", text)
    if word is None:
        own = _record(parse_record(text))
        if own.value is not None:
            try:
                read_formula(own)
            except ParseError as error:
                at = text.rfind(own.value.formula) + error.position
                raise at_part(error, text, {}, at) from None
        return own
    row = named(word[1])
    if row is None or "why" in row:
        raise _unknown(word[1], row)
    found = parse_record(row["text"].strip())
    given = None if word[2] is None else parse_blocks(word[2])
    blocks = found.blocks if given is None else given
    return replace(_record(found), blocks=blocks, source=row["source"])


def _unknown(name: str, row: dict[str, Any] | None) -> LayoutError:
    if row is not None:
        return LayoutError(f"{name}: expected the name of a packed format", row["why"], row["fix"])
    known = {key.lower(): key for key in formats()}
    near = [one for key, one in known.items() if key.startswith(name.lower())]
    near = near or [known[key] for key in get_close_matches(name.lower(), known, 3, 0.6)]
    found = f"the nearest are {', '.join(near)}; " if near else ""
    return LayoutError(
        f"a packed format: expected a name of the table, got {shown(name)}",
        "a record is a name of the table, or a text with fields in braces",
        f"{found}mlay record --formats lists all; "
        "or write for example pair[B]: 2 bytes { a: u4[2] at byte 0; b: u8 at byte 1 }",
    )


def _record(block: Block) -> Record:
    return Record(**{one.name: getattr(block, one.name) for one in fields(block)})
