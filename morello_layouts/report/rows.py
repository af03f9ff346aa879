"""The rows of an explanation: a label and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from morello_layouts.formula import IndexMap
from morello_layouts.report.arrays import ArrayReport, Proofs
from morello_layouts.words import Explanation, Sizes, TpuFacts
from morello_layouts.words.names import amount

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = [
    "Row",
    "byte_row",
    "formula_rows",
    "memory_rows",
    "place_rows",
    "proof_rows",
    "size_rows",
    "tpu_rows",
    "verdict_row",
    "word_rows",
]


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``is_dim`` where it only says what goes without saying."""

    label: str
    text: str
    style: str = ""
    is_dim: bool = False


def word_rows(words: Explanation) -> list[Row]:
    """What each part of the text means."""
    return [
        Row(f"({part.text})", f"{part.meaning} (the default)", is_dim=True)
        if part.is_implied
        else Row(part.text, part.meaning)
        for part in words.parts
    ]


def memory_rows(report: ArrayReport) -> list[Row]:
    """How the array lies in memory, and how large it is."""
    return [*place_rows(report), *size_rows(report)]


def place_rows(report: ArrayReport) -> list[Row]:
    """How the array lies in memory."""
    rows: list[Row] = []
    words, m = report.explanation, report.index
    if m is not None:
        rows.append(Row("shape", _physical_shape(m.physical_shape)))
    if words.axes and any(axis.size != 1 for axis in words.axes):
        coordinates = [axis.label for axis in words.axes if axis.size != 1]
        rows.append(Row("axes", ", ".join(coordinates)))
    if words.word is not None:
        rows.append(Row("32-bit word", words.word.text))
    if m is not None and m.recipe.steps:
        rows.append(Row("recipe", str(m.recipe)))
    return rows


def size_rows(report: ArrayReport) -> list[Row]:
    """How large the array and its buffer are; slots where sizes are symbolic."""
    m = report.index
    if report.sizes is not None:
        return _size_rows(report.sizes)
    if m is not None and m.recipe.names:
        return [Row("slots", f"{m.size}, of which hold padding: {m.padding}")]
    return []


def _physical_shape(sizes: tuple[int, ...]) -> str:
    squeezed = [n for n in sizes if n != 1]
    text = f"[{','.join(map(str, sizes))}]"
    return (
        text
        if len(squeezed) == len(sizes)
        else f"{text}, without ones [{','.join(map(str, squeezed))}]"
    )


def _size_rows(sizes: Sizes) -> list[Row]:
    rows = [Row("elements", _elements(sizes))]
    if sizes.data_bytes is not None and sizes.reserved_bytes is not None:
        rows.append(byte_row(sizes.data_bytes, sizes.reserved_bytes))
    return rows


def byte_row(data: int, reserved: int) -> Row:
    """Bytes of data, of the buffer and of padding.

    >>> byte_row(60, 96).text
    '60 of data in 96 that XLA reserves: 36 of padding, 1.60× the data'
    """
    if reserved == data:
        return Row("bytes", f"{_bytes(reserved)} that XLA reserves, no padding")
    padding = f"{amount(reserved - data)} of padding, {_factor(reserved, data)}"
    return Row(
        "bytes", f"{amount(data)} of data in {_bytes(reserved)} that XLA reserves: {padding}"
    )


def _elements(sizes: Sizes) -> str:
    elements, spanned = sizes.elements, sizes.spanned_elements
    if spanned == elements:
        return f"{amount(elements)}, no padding"
    padding = f"{amount(spanned - elements)} of padding, {_factor(spanned, elements)}"
    return f"{amount(elements)} in a buffer of {amount(spanned)}: {padding}"


def _factor(whole: int, data: int) -> str:
    if data == 0:
        return "nothing but padding"
    if whole // data >= 10**6:
        return f"{amount(whole // data)}× the data"
    return f"{whole / data:.2f}× the data"


def _bytes(n: int) -> str:
    """A number of bytes; from 1 KiB on with the larger unit beside it.

    >>> _bytes(41943040)
    '41,943,040 (40.0 MiB)'
    """
    if n >= 1 << 60:
        return amount(n)
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n >= 1 << power:
            return f"{n:,} ({n / (1 << power):,.1f} {unit})"
    return f"{n:,}"


def tpu_rows(facts: TpuFacts) -> list[Row]:
    """How the array lies in a TPU's registers, and which TPUs choose the layout themselves."""
    return [
        Row("lanes", facts.lanes),
        Row("sublanes", facts.sublanes),
        Row("packing", facts.packing),
        *(Row("padding", text) for text in facts.padding),
        Row("default", facts.default),
    ]


def formula_rows(m: IndexMap, words: Explanation) -> list[Row]:
    """The formulas, and which name of a dimension is which symbol."""
    renamed = [f"{dim.symbol} = {dim.name}" for dim in words.dimensions if dim.symbol != dim.name]
    textbook, simplified = str(m.textbook_form), str(m.form)
    rows = [Row("where", ", ".join(renamed))] if renamed else []
    if textbook == simplified:
        return [*rows, Row("formula", f"{simplified}   (the textbook's own)", style="bold")]
    return [*rows, Row("textbook", textbook), Row("simplified", simplified, style="bold")]


def proof_rows(proofs: Proofs) -> list[Row]:
    """What was proved, and what was not."""
    bijective, injective, verified = proofs.bijective, proofs.injective, proofs.verified
    rows = [verdict_row("one-to-one", injective, {True: "yes", False: "NO"})]
    if injective.holds:
        reason = bijective.reason.removeprefix(f"{injective.reason}; ")
        # Padding is no fault: the word is the same as where there is none, but for yes and no.
        rows.append(verdict_row("onto", bijective, {True: "yes", False: "no"}, reason))
    rows.append(verdict_row("formulas", verified, {True: "right", False: "WRONG"}))
    return rows


_ALARMING = ("NO", "WRONG", "undecided")


def verdict_row(label: str, proof: Proof, words: dict[bool, str], reason: str | None = None) -> Row:
    """What a proof says, in a word that says for what it stands, and why."""
    word = "undecided" if proof.holds is None else words[proof.holds]
    if proof.holds is False and proof.when is not None and proof.condition != False:  # noqa: E712
        word = "depends"
    reason = (proof.reason if reason is None else reason).removeprefix("ISL: ")
    return Row(label, f"{word}: {reason}", style="red" if word in _ALARMING else "")
