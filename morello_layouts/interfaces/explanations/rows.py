"""Reports as rows of a label and a text, as lines for a terminal, and as HTML."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Final, cast

from morello_layouts.core.description import BufferSizes, Description, amount, count
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import Told, frozen
from morello_layouts.core.layout import Arrays, Layout
from morello_layouts.core.lazy import escape
from morello_layouts.core.limits import EXPLAINED_IN_HTML, EXPLANATION_WIDTH
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import renamed
from morello_layouts.core.recipe import named_forms
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.interfaces.api.layouts import (
    Assuming,
    LayoutLike,
    Shape,
    arrays_of,
    parsed,
    record_in,
    subject,
)
from morello_layouts.interfaces.api.pictures import draw
from morello_layouts.interfaces.explanations.report import (
    ArrayReport,
    InstructionFacts,
    Proofs,
    instruction_facts,
    instruction_in,
    report_of,
)
from morello_layouts.outputs.picture import UNICODE, Glyphs, Line, fitted_view, terminal_lines

if TYPE_CHECKING:
    from morello_layouts.machines.tpu_layouts.layouts import TpuFacts
    from morello_layouts.programs.hlo import HloInstruction
    from morello_layouts.programs.records import Record
    from morello_layouts.programs.records.judge import RecordReport
    from morello_layouts.proof import Proof


@frozen
class Labelled:
    """A label and a text; ``is_dim`` if the row states a default."""

    label: str
    text: str
    style: str = ""
    is_dim: bool = False


def word_rows(words: Description) -> list[Labelled]:
    """The meaning of each part of the text."""
    return [
        Labelled(f"({part.text})", f"{part.meaning} (the default)", is_dim=True)
        if part.is_implied
        else Labelled(part.text, part.meaning)
        for part in words.parts
    ]


def place_rows(report: ArrayReport) -> list[Labelled]:
    """The order of the array in memory."""
    rows: list[Labelled] = []
    words, m = report.description, report.index
    if m is not None:
        names = f": {', '.join(m.recipe.axis_names)}" if m.recipe.axis_names else ""
        rows.append(Labelled("shape", _physical_shape(m.recipe.physical_shape) + names))
    coordinates = [axis.label for axis in words.axes if axis.size != 1]
    if coordinates and not (m is not None and m.recipe.axis_names):
        rows.append(Labelled("axes", ", ".join(coordinates)))
    if words.word is not None:
        rows.append(Labelled("32-bit word", words.word.text))
    if m is not None and m.recipe.steps:
        rows.append(Labelled("recipe", str(m.recipe)))
    if m is not None and m.origin is None and m.recipe.shape:  # a view, or a formula
        strided = m.as_strided()
        none = "none: it takes a copy to give this array strides"
        rows.append(Labelled("strides", none if strided is None else str(strided)))
    return rows


def size_rows(report: ArrayReport) -> list[Labelled]:
    """The sizes of the array and its buffer; slots if sizes are symbolic."""
    m, sizes = report.index, report.sizes
    if sizes is None:
        if m is None or not m.recipe.names:
            return []
        try:
            of_padding = "no padding" if m.unused == 0 else f"{m.unused} of padding"
        except UnsupportedError:  # elements may share slots
            of_padding = "it depends on the sizes how many hold an element"
        return _beside(m, [Labelled("slots", f"{m.recipe.size}, {of_padding}")])
    rows = [Labelled("elements", _elements(sizes))]
    if sizes.data_bytes is not None and sizes.reserved_bytes is not None:
        by = " that XLA reserves" if report.description.kind.startswith("XLA") else ""
        rows.append(byte_row(sizes.data_bytes, sizes.reserved_bytes, by))
    return rows if m is None else _beside(m, rows)


def _beside(m: IndexMap, rows: list[Labelled]) -> list[Labelled]:
    """Return rows of sizes; beside a view may lie elements of the whole array, not padding."""
    if not m.is_part:
        return rows
    return [replace(row, text=row.text.replace("of padding", "beside the view")) for row in rows]


def _physical_shape(sizes: tuple[Int, ...]) -> str:
    text, squeezed = (f"[{','.join(map(str, x))}]" for x in (sizes, [n for n in sizes if n != 1]))
    return text if squeezed == text else f"{text}, without ones {squeezed}"


def byte_row(data: int, reserved: int, by: str = " that XLA reserves") -> Labelled:
    """The bytes of data, of the buffer and of padding."""
    if reserved == data:
        return Labelled("bytes", f"{_bytes(reserved)}{by}, no padding")
    padding = f"{amount(reserved - data)} of padding, {_factor(reserved, data)}"
    return Labelled("bytes", f"{amount(data)} of data in {_bytes(reserved)}{by}: {padding}")


def _elements(sizes: BufferSizes) -> str:
    elements, spanned, shared = sizes.elements, sizes.spanned_elements, sizes.shared_elements
    padding = f"{amount(sizes.padding_elements)} of padding" if sizes.padding_elements else ""
    if shared < 0:
        holders = f"each in {amount((elements - shared) // elements)} of {amount(spanned)} slots"
        return f"{amount(elements)}, {holders}, {padding or 'no padding'}"
    if shared:
        slots = f"{amount(elements - shared)} slots, which they share"
        return f"{amount(elements)} in {slots}, {padding or 'no padding'}"
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
    """A number of bytes; from 1 KiB on with a larger unit beside it.

    >>> _bytes(41943040)
    '41,943,040 (40.0 MiB)'
    """
    if n >= 1 << 60:
        return amount(n)
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n >= 1 << power:
            return f"{n:,} ({n / (1 << power):,.1f} {unit})"
    return f"{n:,}"


def tpu_rows(facts: TpuFacts) -> list[Labelled]:
    """The place of the array in a TPU's registers, and the TPUs that choose this layout."""
    return [
        Labelled("lanes", facts.lanes),
        Labelled("sublanes", facts.sublanes),
        Labelled("packing", facts.packing),
        *(Labelled("padding", text) for text in facts.padding),
        Labelled("default", facts.default),
    ]


def formula_rows(m: IndexMap, words: Description) -> list[Labelled]:
    """The formulas, after the name of each symbol."""
    where = [f"{dim.symbol} = {dim.name}" for dim in words.dimensions if dim.symbol != dim.name]
    reference, simplified = (str(renamed(form, m.names)) for form in (m.reference_form, m.form))
    rows = [Labelled("where", ", ".join(where))] if where else []
    placed = named_forms(m.recipe, m.form)
    rows += [Labelled(name, str(renamed(form, m.names))) for name, form in placed]
    if len(m.recipe.axis_names) > 1:
        rows.append(Labelled("slot", _slot(m.recipe.axis_names, m.recipe.physical_shape)))
    if reference == simplified:
        same = Labelled("reference", "the same formula: it is already the simplest")
        return [*rows, Labelled("formula", simplified, style="bold"), same]
    return [
        *rows,
        Labelled("reference", reference),
        Labelled("simplified", simplified, style="bold"),
    ]


def _slot(names: Sequence[str], sizes: Sequence[Int]) -> str:
    """Return the number of a place along named axes, which the formulas below give.

    >>> _slot(("warp", "lane", "register"), (4, 32, 8))
    '8*(32*warp + lane) + register; in coordinates:'
    """
    text = names[0]
    for name, n in zip(names[1:], sizes[1:], strict=True):
        text = f"{n}*{text if text.isalpha() else f'({text})'} + {name}"
    return f"{text}; in coordinates:"


def proof_rows(proofs: Proofs) -> list[Labelled]:
    """The verdicts on the layout and on its formulas."""
    layout = proofs.bijective if proofs.injective.holds else proofs.injective
    return [verdict_row("layout", layout), verdict_row("formulas", proofs.verified)]


def verdict_row(label: str, proof: Proof) -> Labelled:
    """The verdict of a proof; red if it is undecided or tells of a fault, which padding is not."""
    is_fault = proof.holds is None or (
        proof.holds is False and proof.claim in {"injective", "verified"}
    )
    return Labelled(label, proof.verdict, style="red" if is_fault else "")


def instruction_rows(instruction: HloInstruction) -> list[Labelled]:
    """The parts of an instruction, before its result is explained."""
    found = instruction_facts(instruction)
    operands = ", ".join(
        operand["name"] if operand["type"] is None else f"{operand['name']}: {operand['type']}"
        for operand in found["operands"]
    )
    texts = {
        "name": found["name"] + (", the root of its computation" if found["is_root"] else ""),
        "opcode": ": ".join(filter(None, (found["opcode"], found["meaning"]))),
        "value" if instruction.opcode == "constant" else "number": found["literal"],
        "operands": operands,
        "calls": ", ".join(found["calls"]),
        "sharding": found["sharding"],
        "operation": found["op_name"],
        "source": found["source"],
    }
    return [Labelled(label, text) for label, text in texts.items() if text]


def sections_of(report: ArrayReport) -> Iterator[tuple[str, list[Labelled]]]:
    """Yield the sections of a report: a title, and its rows."""
    words = report.description
    yield "Text", word_rows(words)
    has_axes = report.index is not None and bool(report.index.recipe.axis_names)
    yield "Axes" if has_axes else "Memory", [*place_rows(report), *size_rows(report)]
    if report.tpu is not None:
        yield "TPU", tpu_rows(report.tpu)
    if report.index is not None:
        yield "Place" if has_axes else "Offset", formula_rows(report.index, words)
    if report.derivation is not None:
        lines = (*report.document_steps, *str(report.derivation).splitlines())
        yield "Derivation", [Labelled("", line) for line in lines]
    if report.proofs is not None:
        yield "Proof", proof_rows(report.proofs)
    yield "Note", [Labelled("", note) for note in report.notes]


_WIDEST_LABEL: Final = 24
_NARROWEST_TEXT: Final = 10


@frozen
class Medium:
    """The place where lines are shown."""

    width: int = sys.maxsize  #: characters of a line of text.
    picture_width: int = EXPLANATION_WIDTH  #: characters of a line of a picture.
    glyphs: Glyphs = UNICODE  #: the characters of pictures.
    encode: Callable[[str], str] = str  #: replaces the characters that the medium cannot show.


def lines_of(
    source: str, instruction: HloInstruction | None, arrays: Sequence[ArrayReport], medium: Medium
) -> Iterator[Line]:
    """Yield the lines of an explanation; a repeated array appears by name only."""
    if instruction is not None:
        yield from section_lines("Instruction", instruction_rows(instruction), medium)
    seen: dict[str, str] = {}
    for k, report in enumerate(arrays):
        place = "".join(f"[{position}]" for position in report.path)
        text = report.description.source
        if k:
            yield line("", medium)
        if text in seen:
            yield line(f"{place} {text}: as {seen[text]}", medium, "bold")
        else:
            seen |= {text: place} if place else {}
            yield from _array_lines(report, place, medium)
    if not arrays:
        yield line(f"{source}: a tuple without arrays", medium)


def line(text: str, medium: Medium, style: str = "") -> Line:
    """Return a line that the terminal may break anywhere."""
    return Line(medium.encode(text), style=style)


def section_lines(title: str, rows: Sequence[Labelled], medium: Medium) -> Iterator[Line]:
    """Yield a title, and below it labels with texts that wrap beside them."""
    if not rows:
        return
    yield line(title, medium, "bold")
    labels = [medium.encode(row.label) for row in rows]
    longest = max(map(len, labels))
    indent = min(longest, _WIDEST_LABEL) + 4 if longest else 2
    for label, row in zip(labels, rows, strict=True):
        dim = "dim" if row.is_dim else ""
        first, *others = wrapped(medium.encode(row.text), medium.width - indent)
        found = Line("  ").append(label, style=dim or "cyan")
        found.append("  " if len(label) + 4 > indent > 2 else " " * (indent - len(label) - 2))
        yield found.append(first, style=row.style or dim)
        for other in others:
            yield Line(" " * indent).append(other, style=row.style or dim)


def wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines of at most a width, broken at spaces; a lead stays.

    >>> wrapped("8*(d0//2) + d1", 10)
    ['8*(d0//2)', '+ d1']
    """
    lead = " " * (len(text) - len(text.lstrip()))
    found = textwrap.wrap(
        text.lstrip(),
        max(width, _NARROWEST_TEXT),
        break_on_hyphens=False,
        initial_indent=lead,
        subsequent_indent=lead * 2,
    )
    return found or [""]


def _array_lines(report: ArrayReport, place: str, medium: Medium) -> Iterator[Line]:
    words = report.description
    yield line(f"{place} {words.source}".lstrip(), medium, "bold")
    yield line(f"{words.kind}: {words.headline}", medium)
    for title, rows in sections_of(report):
        yield from section_lines(title, rows, medium)
    if report.index is None or report.sizes is None:
        return
    view = fitted_view(report.index, report.names, medium.picture_width)
    title = f"Places, {':'.join(view.long_axes)}" if view.axes else "Offsets"
    yield line(title, medium, "bold")
    for found in terminal_lines(view, report.names, medium.glyphs):
        yield found.indented(2)


def html_of(instruction: HloInstruction | None, arrays: Sequence[ArrayReport], most: int) -> str:
    """Return an explanation as HTML, with the first arrays in full and the others by name."""
    parts = [] if instruction is None else [_table("Instruction", instruction_rows(instruction))]
    for report in arrays[:most]:
        parts += _array_html(report)
    parts += [f"<p><code>{escape(one.description.source)}</code></p>" for one in arrays[most:]]
    return "\n".join(parts) or "<p>a tuple without arrays</p>"


def _array_html(report: ArrayReport) -> Iterator[str]:
    words = report.description
    place = "".join(f"[{position}]" for position in report.path)
    yield f"<p>{place} <b><code>{escape(words.source)}</code></b> {escape(words.kind)}: "
    yield f"{escape(words.headline)}</p>"
    if report.index is not None and report.sizes is not None:
        yield draw(report.index, max_slots=0, formula=False).svg()
    for title, rows in sections_of(report):
        yield _table(title, rows)


def _table(title: str, rows: Sequence[Labelled]) -> str:
    cells = "".join(
        f"<tr><td>{escape(row.label)}</td><td>{escape(row.text)}</td></tr>" for row in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>" if rows else ""


@frozen(slots=False)
class Explanation(Told):
    """The explanation of a text, a layout or an index map: ``str()`` gives all of it."""

    text: str  #: the text as it is printed.
    #: the HLO instruction whose result is explained; None for other texts.
    instruction: HloInstruction | None
    #: a report on each array, in the order of the text.
    arrays: tuple[ArrayReport, ...] = field(compare=False)

    json_keys: ClassVar[tuple[str, ...]] = ("text", "instruction=facts", "arrays")

    @property
    def facts(self) -> InstructionFacts | None:
        """The parts of the instruction by name; None for a missing part."""
        return None if self.instruction is None else instruction_facts(self.instruction)

    def lines(self, medium: Medium | None = None) -> Iterator[Line]:
        """Yield the lines for a medium, such as a terminal; by default for ``str()``."""
        return lines_of(self.text, self.instruction, self.arrays, medium or Medium())

    def __str__(self) -> str:
        return "\n".join(line.plain.rstrip() for line in self.lines())

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else f"{self.text[:59]}…"
        return f"<{type(self).__name__}: {text}, {count(len(self.arrays), 'array')}>"

    def _repr_html_(self) -> str:
        return html_of(self.instruction, self.arrays, EXPLAINED_IN_HTML)


def explain(
    layout: LayoutLike | HloInstruction | Record,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    derivation: bool = False,
    notation: str | None = None,
    names: Sequence[str] | str | None = None,
) -> Explanation | RecordReport:
    """Explain a layout: each part of its text, its sizes, formulas, proofs and a picture.

    Args:
        layout: text in any notation, also of a tuple of shapes or of one HLO instruction, whose
            result is explained; or a layout or an index map; or a record, or the name of a packed
            format.
        shape: the sizes of the array, if the layout does not carry them: 6x8, or names: M,N.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        derivation: show how the reference formula was simplified, rule by rule.
        notation: the notation of a text, as for ``index_map``.
        names: names of the coordinates in formulas, by default those of the layout's text, such
            as n, c, h and w, or d0, d1, ….

    Returns:
        A report that prints itself; ``arrays`` has its parts as values, ``record`` and ``proof``
        those of a record.

    Raises:
        LayoutError: if the text or the shape is wrong.

    >>> print(explain("f32[2,3]"))
    f32[2,3]{1,0}
    XLA array: row-major, untiled
    Text
      f32    floating point of 32 bits, 4 bytes each
      [2,3]  d0 2, d1 3
      {1,0}  row-major: d1 varies fastest, then d0
    Memory
      shape     [2,3]
      axes      d0, d1
      elements  6, no padding
      bytes     24 that XLA reserves, no padding
    Offset
      formula    3*d0 + d1
      reference  the same formula: it is already the simplest
    Proof
      layout    bijective: injective, and all 6 slots hold an element
      formulas  verified: simplified formula, reference and inverse agree everywhere
    Offsets
      d0 ↓ d1 → 0 1 2
              0 0 1 2
              1 3 4 5
    >>> explain("(f32[8,128], token[])")
    <Explanation: (f32[8,128]{1,0}, token[]), 2 arrays>
    """
    instruction = instruction_in(layout) if notation is None else None
    given = layout if instruction is None else instruction.shape
    try:
        value = parsed(cast("LayoutLike", given), notation)
    except LayoutError:
        if (record := record_in(given, shape)) is None:
            raise
        return record.explain()
    if not isinstance(value, Layout) and shape is not None:
        raise LayoutError(
            "a shape was given for text that carries its own",
            f"{value} holds the sizes of each array",
            "leave out the argument shape",
        )
    seen: dict[str, ArrayReport] = {}
    reports = []
    for path, one in arrays_of(value):
        text = str(one)
        if text not in seen:
            about = subject(one, shape, assuming=assuming)
            seen[text] = report_of(about, derivation=derivation, names=names)
        reports.append(replace(seen[text], path=path))
    text = str(value) if isinstance(value, Arrays) else reports[0].description.source
    return Explanation(text, instruction, tuple(reports))
