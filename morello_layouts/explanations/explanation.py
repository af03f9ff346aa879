"""``explain``: reports on all arrays of a text, and their text, JSON and HTML."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from morello_layouts.api.arguments import Assuming, Shape
from morello_layouts.api.layouts import LayoutLike, arrays_of, needs_shape, parsed
from morello_layouts.description import count
from morello_layouts.errors import LayoutError
from morello_layouts.explanations.instruction import instruction_facts, instruction_in
from morello_layouts.layout import Layout
from morello_layouts.limits import EXPLAINED_IN_HTML
from morello_layouts.maps import IndexMap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from morello_layouts.explanations.report import ArrayReport
    from morello_layouts.explanations.rows import Medium
    from morello_layouts.hlo import HloInstruction


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explanation of a text, a layout or an index map: ``str()`` gives all of it."""

    text: str  #: the text as it is printed.
    #: the HLO instruction whose result is explained; None for other texts.
    instruction: HloInstruction | None
    #: a report on each array, in the order of the text.
    arrays: tuple[ArrayReport, ...] = field(compare=False)

    json_keys: ClassVar[tuple[str, ...]] = ("text", "instruction=facts", "arrays")

    @property
    def facts(self) -> dict[str, Any] | None:
        """The parts of the instruction by name; None for a missing part."""
        return None if self.instruction is None else instruction_facts(self.instruction)

    def lines(self, medium: Medium | None = None) -> Iterator[Text]:
        """Yield the lines for a medium, such as a terminal; by default for ``str()``."""
        from morello_layouts.explanations.rows import Medium, lines_of

        return lines_of(self.text, self.instruction, self.arrays, medium or Medium())

    def __str__(self) -> str:
        return "\n".join(line.plain.rstrip() for line in self.lines())

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else f"{self.text[:59]}…"
        return f"<{type(self).__name__}: {text}, {count(len(self.arrays), 'array')}>"

    def _repr_html_(self) -> str:
        from morello_layouts.explanations.rows import html_of

        return html_of(self.instruction, self.arrays, EXPLAINED_IN_HTML)


def explain(
    layout: LayoutLike | HloInstruction,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    derivation: bool = False,
    notation: str | None = None,
    names: Sequence[str] | str | None = None,
) -> Explanation:
    """Explain a layout: each part of its text, its sizes, formulas, proofs and a picture.

    Args:
        layout: text in any notation, also of a tuple of shapes or of one HLO instruction, whose
            result is explained; or a layout or an index map.
        shape: the sizes, if the layout does not carry them.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        derivation: whether to list the rules that simplified the formula.
        notation: the notation of a text, as for ``index_map``.
        names: names of the coordinates in formulas, as for ``index_map``; by default those of
            the layout's text, such as n, c, h and w, or d0, d1, ….

    Returns:
        A report that prints itself; ``arrays`` has its parts as values.

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
    value = parsed(cast("LayoutLike", given), notation)
    arrays = arrays_of(value)
    carries_sizes = isinstance(value, IndexMap) or not needs_shape(value)
    if not isinstance(value, Layout) and carries_sizes and shape is not None:
        raise LayoutError(
            "a shape was given for text that carries its own",
            f"{value} holds the sizes of each array",
            "leave out the argument shape",
        )
    from morello_layouts.explanations.report import report_of

    seen: dict[str, ArrayReport] = {}
    reports = []
    for path, one in arrays:
        text = str(one)
        if text not in seen:
            seen[text] = report_of(one, shape, assuming, derivation=derivation, names=names)
        reports.append(replace(seen[text], path=path))
    text = value.source if isinstance(value, IndexMap) else str(value)
    return Explanation(text, instruction, tuple(reports))
