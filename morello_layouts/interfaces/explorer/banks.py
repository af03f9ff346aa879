"""The bank conflicts of an access that the page names."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from morello_layouts.core.description import count
from morello_layouts.core.fields import frozen
from morello_layouts.core.maps import IndexMap
from morello_layouts.interfaces import api
from morello_layouts.interfaces.explanations.rows import Row
from morello_layouts.machines.gpu import BankConflicts, BankFormula

_BITS: Final = re.compile(r"(.*?)(?:,|(?<!\s))\s++([0-9]{1,4}) bits?\s*", re.ASCII | re.DOTALL)
_DEFAULT: Final = 32  # bits of an element, if nothing tells


@frozen
class Banks:
    """The conflicts of an access, for the page."""

    json_keys: ClassVar = ("access", "verdict", "rows", "bits", "assumed_for")

    access: str  #: the access in words.
    verdict: str  #: the answer in words.
    rows: tuple[Row, ...]  #: why, and which lanes collide.
    bits: int  #: bits of an element.
    dots: tuple[tuple[int, ...], ...] = ()  #: the elements that colliding lanes ask for.
    assumed_for: str = ""  #: the access as typed, if nothing tells the bits; else empty.


def banks_of(m: IndexMap, text: str) -> Banks:
    """Return the conflicts of an access such as ``column, 16 bits``.

    >>> found = banks_of(api.index_map("f32[32,32]"), "column")
    >>> found.verdict, found.rows[0].text
    ('32-way conflict', 'bank 0 gives one after the other the words 0, 32, 64, 96, …')
    >>> found.dots[:2]
    ((0, 0), (1, 0))
    """
    typed = _BITS.fullmatch(text)
    if typed is not None:
        bits = int(typed[2])
    else:
        bits = _DEFAULT if m.element_type is None else m.element_type.bits
    found = api.bank_conflicts(m, text if typed is None else typed[1], bits=bits)
    assumed = text if typed is None and m.element_type is None else ""
    bits_row = Row("elements", f"of {bits} bits", is_dim=bool(assumed))
    if isinstance(found, BankFormula):
        rows = [Row(f"{found.pitch} % {len(found.ways)}", _by_remainder(found)), bits_row]
        return Banks(found.access, found.verdict, tuple(rows), bits, assumed_for=assumed)
    own = (*_rows(found), bits_row)
    return Banks(found.access, found.verdict, own, bits, _dots(found), assumed)


def _rows(found: BankConflicts) -> list[Row]:
    rows = [Row("why", found.reason), Row("wavefronts", found.cost)]
    if found.past_edge:
        rows.append(Row("edge", f"the vectors of {count(found.past_edge, 'lane')} reach past it"))
    if not found.has_conflicts:
        return rows
    words = [str(each.word) for each in found.collisions]
    shown = ", ".join(words if len(words) <= 8 else [*words[:4], "…"])
    where = f"bank {found.bank} gives one after the other the words {shown}"
    lanes = ", ".join(str(each.lanes[0]) for each in found.collisions)
    return [Row("bank", where, "red"), Row("lanes", lanes), *rows]


def _by_remainder(found: BankFormula) -> str:
    shown = [f"{k}: {ways}" for k, ways in enumerate(found.ways[:16])]
    return ", ".join(shown if len(found.ways) <= 16 else [*shown, "…"])


def _dots(found: BankConflicts) -> tuple[tuple[int, ...], ...]:
    return tuple(each.coordinate for each in found.collisions) if found.has_conflicts else ()
