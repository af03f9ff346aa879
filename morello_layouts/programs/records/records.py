"""Records with what they answer, and the table of packed formats."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from morello_layouts.core.checks import shown
from morello_layouts.core.fields import frozen
from morello_layouts.errors import LayoutError
from morello_layouts.outputs.kernels.narrow import NarrowRelayout
from morello_layouts.programs.records.block import Block
from morello_layouts.programs.records.decoders import code
from morello_layouts.programs.records.judge import (
    RecordAgreement,
    RecordProof,
    RecordReport,
    agree,
    certificates,
    check,
)
from morello_layouts.programs.records.picture import RecordPicture, svg
from morello_layouts.programs.records.repack import repack
from morello_layouts.programs.records.text import parse_blocks, parse_record
from morello_layouts.programs.records.values import decode, extract, insert
from morello_layouts.proof.certificate_digits import Certificate


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

    def check(self, *, budget: int | None = None) -> RecordProof:
        """Decide whether the fields stay inside, share no bit, and cover the record."""
        return check(self, budget=budget)

    def explain(self, *, budget: int | None = None) -> RecordReport:
        """Return the text, what is proved of it, and the document that it was written from."""
        return RecordReport(self, self.check(budget=budget))

    def certificates(self) -> dict[str, Certificate]:
        """Return certificates that the fields stay inside and share no bit, for ``check``.

        Returns:
            For each piece of a field ``"…: places"``: no two of its bits share a place, and all
            are inside of the buffer. If there are several pieces, also ``"…: number"``: one
            formula, the same in each of these, gives each bit of the piece the piece's number. So
            no place is of two pieces.

        Raises:
            UnsupportedError: if one is not found: the claim is false, or digits do not prove it.

        >>> from morello_layouts import check, record
        >>> found = record("q4_0[B]").certificates()
        >>> [(name, check.check(one)) for name, one in found.items()][:2]
        [('d: places', 'padded'), ('d: number', 'relayout')]
        >>> found["d: number"]["source"] == found["qs: number"]["source"]
        True
        >>> found["d: number"]["offset"], found["qs: number"]["offset"]
        ('0', '1')
        """
        return certificates(self)

    def agree(self, reader: Record, *, budget: int | None = None) -> RecordAgreement:
        """Decide whether a reader, as another record, finds each field where this one puts it."""
        return agree(self, reader, budget=budget)

    def unpack(self, buffer: Any) -> dict[str, Any]:
        """Return each field of a buffer as integers; floats as their bits.

        Args:
            buffer: bytes, or an array of them: whole blocks.

        Returns:
            NumPy arrays by field, with the blocks as first dimension.

        >>> from morello_layouts import record
        >>> record("r: 2 bytes { a: u4[2] at byte 0; b: s8 at byte 1 }").unpack(bytes([0x21, 0xff]))
        {'a': array([[1, 2]]), 'b': array([-1])}
        """
        return extract(self, buffer)

    def pack(self, fields: Mapping[str, Any]) -> Any:
        """Return the bytes of a record of these integers; bits that no field uses are 0.

        >>> from morello_layouts import record
        >>> pair = record("r: 2 bytes { a: u4[2] at byte 0; b: s8 at byte 1 }")
        >>> pair.pack({"a": [1, 2], "b": -1})
        array([ 33, 255], dtype=uint8)
        """
        return insert(self, fields)

    def decode(self, buffer: Any) -> Any:
        """Return the values of a buffer: 32-bit floats, with the blocks as first dimension.

        >>> from morello_layouts import record
        >>> block = bytes([0, 0x3C, *range(32)])    # a scale of 1.0, and 32 weights
        >>> record("q8_0[B]").decode(block)[0, :4]
        array([0., 1., 2., 3.], dtype=float32)
        """
        return decode(self, buffer)

    def code(self, target: str = "c", *, stores: bool = False) -> str:
        """Return functions that read the numbers of fields, and one that computes all values.

        Args:
            target: ``"c"``, ``"cuda"``, ``"rust"`` or ``"python"``.
            stores: add functions that write a number.
        """
        return code(self, target, stores=stores)

    def repack(
        self, target: Record, pattern: str, fields: tuple[str, str] | None = None
    ) -> NarrowRelayout:
        """Return the kernel that moves a field of this record to a field of another one.

        Args:
            target: the record that is written; both are at sizes that are numbers.
            pattern: the dimensions of both fields, blocks first: ``"n b k -> (b k) n"``.
            fields: the names of the fields; by default those with the most bits.

        Raises:
            UnsupportedError: if a field has several pieces, or shares bytes with others.

        >>> from morello_layouts import record
        >>> gguf, awq = record("q4_0[8, 4]"), record("awq").at(K=128, N=8)    # 8 rows of 128
        >>> move = gguf.repack(awq, "n b k -> (b k) n").compile()
        >>> move(bytes(576)).shape    # 1,024 weights of four bits
        (512,)
        """
        return repack(self, target, pattern, fields)

    def draw(self) -> RecordPicture:
        """Return the picture of the bits of a block, for terminals, notebooks and files."""
        return RecordPicture((), self)

    def svg(self) -> str:
        """Return a picture of the bits of a block as an SVG document, a colour a field."""
        return svg(self)


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
        ParseError: if the text does not fit, with a caret.
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
        return _record(parse_record(text))
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
