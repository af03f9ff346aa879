"""A report as rows of a label and a text, and as plain values."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.description import BufferSizes, Description, amount
from morello_layouts.errors import LayoutError
from morello_layouts.explanations.report import ArrayReport, Proofs
from morello_layouts.expr.derivation import Derivation
from morello_layouts.maps import IndexMap
from morello_layouts.picture import Cell, Grid, fitted_view
from morello_layouts.plain import plain
from morello_layouts.tpu.facts import TpuFacts

if TYPE_CHECKING:
    from morello_layouts.hlo import HloInstruction
    from morello_layouts.proof import Proof


def derivation_steps(derivation: Derivation) -> list[dict[str, Any]]:
    """A derivation as JSON takes it."""
    return [
        {
            "rule": step.rule,
            "before": str(step.before),
            "after": str(step.after),
            "because": step.because,
        }
        for step in derivation
    ]


_WIDTH = 80


def array_dict(report: ArrayReport, *, derivation: bool) -> dict[str, Any]:
    """The report on one array."""
    words, sizes = report.explanation, report.sizes
    return {
        "path": report.path,
        **_words(words),
        "sizes": None if sizes is None else sizes.to_dict(),
        "index": None if report.index is None else _index(report.index, derivation),
        "proofs": None if report.proofs is None else _proofs(report.proofs),
        "tpu": None if report.tpu is None else asdict(report.tpu),
        "picture": None
        if report.index is None or sizes is None
        else _picture(report.index, words.names),
        "notes": report.notes,
    }


def _words(words: Description) -> dict[str, Any]:
    return {
        "text": words.source,
        "kind": words.kind,
        "headline": words.headline,
        "dimensions": [asdict(dim) for dim in words.dimensions],
        "parts": [asdict(part) for part in words.parts],
        "axes": [{"coordinate": axis.label, "size": axis.size} for axis in words.axes],
        "word": None if words.word is None else asdict(words.word),
    }


def _index(m: IndexMap, derivation: bool) -> dict[str, Any]:
    return {
        "shape": _plain(m.shape),
        "physical_shape": _plain(m.physical_shape),
        "recipe": str(m.recipe),
        "reference": str(m.reference_form),
        "formula": str(m.form),
        "derivation": derivation_steps(m.derivation) if derivation else None,
    }


def _plain(sizes: tuple[Any, ...]) -> list[Any]:
    return [n if isinstance(n, int) else str(n) for n in sizes]


def _proofs(proofs: Proofs) -> dict[str, Any]:
    return {
        "bijective": plain(proofs.bijective),
        "injective": plain(proofs.injective),
        "verified": plain(proofs.verified),
    }


def _picture(m: IndexMap, names: tuple[str, ...]) -> dict[str, Any]:
    picture = fitted_view(m, names, _WIDTH)
    return {"slices": picture.slices, "grids": [_grid(grid) for grid in picture.grids]}


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "at": grid.at,
        "rows": grid.rows,
        "columns": grid.columns,
        "offsets": [[_offset(cell) for cell in row] for row in grid.cells],
    }


def _offset(cell: Cell | None) -> int | None:
    return None if cell is None or cell.is_padding else cell.offset


@dataclass(frozen=True, slots=True)
class Row:
    """One row; ``is_dim`` where it only says what goes without saying."""

    label: str
    text: str
    style: str = ""
    is_dim: bool = False


def word_rows(words: Description) -> list[Row]:
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


def _size_rows(sizes: BufferSizes) -> list[Row]:
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


def _elements(sizes: BufferSizes) -> str:
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


def formula_rows(m: IndexMap, words: Description) -> list[Row]:
    """The formulas, and which name of a dimension is which symbol."""
    renamed = [f"{dim.symbol} = {dim.name}" for dim in words.dimensions if dim.symbol != dim.name]
    reference, simplified = str(m.reference_form), str(m.form)
    rows = [Row("where", ", ".join(renamed))] if renamed else []
    if reference == simplified:
        return [*rows, Row("formula", f"{simplified}   (the reference's own)", style="bold")]
    return [*rows, Row("reference", reference), Row("simplified", simplified, style="bold")]


def proof_rows(proofs: Proofs) -> list[Row]:
    """The verdicts on the layout and on its formulas."""
    layout = proofs.bijective if proofs.injective.holds else proofs.injective
    return [verdict_row("layout", layout), verdict_row("formulas", proofs.verified)]


def verdict_row(label: str, proof: Proof) -> Row:
    """The verdict of a proof; red if it is undecided or tells of a fault, which padding is not."""
    is_fault = proof.holds is None or (
        proof.holds is False and proof.claim in {"injective", "verified"}
    )
    return Row(label, proof.verdict, style="red" if is_fault else "")


_BEGINNING: Final = re.compile(r"\s*+(?:ROOT\s++)?+%?+[A-Za-z_][\w.\-]*+\s*+=", re.ASCII)


def instruction_in(text: str) -> HloInstruction | None:
    """The instruction that a text is; None where it is no instruction.

    Raises:
        LayoutError: where it is a wrong one, or several.
    """
    if _BEGINNING.match(text) is None:
        return None
    from morello_layouts.hlo import read_hlo

    found = list(read_hlo(text).instructions)
    if len(found) != 1:
        raise LayoutError(
            f"the text holds {len(found)} instructions",
            "explain takes one at a time",
            "give the one that you ask about",
        )
    return found[0]


def instruction_rows(instruction: HloInstruction) -> list[Row]:
    """What is said of it before its result is explained."""
    found = instruction_dict(instruction)
    operands = ", ".join(
        operand["name"] if operand["type"] is None else f"{operand['name']}: {operand['type']}"
        for operand in found["operands"]
    )
    said = {
        "name": found["name"] + (", the root of its computation" if found["is_root"] else ""),
        "opcode": found["opcode"],
        "value" if instruction.opcode == "constant" else "number": found["literal"],
        "operands": operands,
        "calls": ", ".join(found["calls"]),
        "operation": found["op_name"],
        "source": found["source"],
    }
    return [Row(label, text) for label, text in said.items() if text]


def instruction_dict(instruction: HloInstruction) -> dict[str, Any]:
    """It as JSON takes it; null for what is not known."""
    shapes = instruction.operand_shapes or (None,) * len(instruction.operand_names)
    metadata = instruction.metadata
    return {
        "name": instruction.name,
        "opcode": instruction.opcode,
        "is_root": instruction.is_root,
        "literal": instruction.literal,
        "operands": [
            {"name": name, "type": None if shape is None else str(shape)}
            for name, shape in zip(instruction.operand_names, shapes, strict=True)
        ],
        "calls": [
            called if isinstance(called, str) else called.name
            for called in instruction.called_computations
        ],
        "attributes": dict(instruction.attributes),
        "op_name": metadata.op_name,
        "source": metadata.source,
    }
