"""What the TPU compiler chooses for an array, what it costs, and what other layouts cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from morello_layouts.core.description import amount
from morello_layouts.core.fields import Told, frozen
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.interfaces.explanations.rows import (
    Labelled,
    Medium,
    byte_row,
    line,
    section_lines,
    tpu_rows,
    word_rows,
)
from morello_layouts.machines.tpu_layouts import Suggestion, Waste, default_layout, suggest, waste
from morello_layouts.machines.tpu_layouts.layouts import tpu_facts
from morello_layouts.notations import parse
from morello_layouts.notations.registry import describe
from morello_layouts.notations.xla import XlaShape

if TYPE_CHECKING:
    from morello_layouts.outputs.picture import Line


@frozen(slots=False)
class OtherLayout:
    """Another layout, and its cost."""

    json_keys: ClassVar = (
        *("layout=suggestion.shape", "groups=suggestion.groups", "changes=suggestion.changes"),
        *("data_bytes=suggestion.waste.data_bytes", "reserved_bytes=suggestion.byte_size"),
        *("padding_bytes=suggestion.waste.padding_bytes", "factor=suggestion.factor"),
        "hint=suggestion.hint",
    )
    suggestion: Suggestion

    @property
    def row(self) -> Labelled:
        """The layout in a line."""
        each = self.suggestion
        factor = "1" if each.waste.padding_bytes == 0 else f"{each.factor:.2f}"
        return Labelled(
            f"{factor}×", f"{amount(each.byte_size)} bytes as {each.shape}: {each.hint}"
        )


@frozen(slots=False)
class DefaultReport(Told):
    """The layout that the TPU compiler chooses for a parameter, and its cost."""

    json_keys: ClassVar = (
        *("text", "generation", "layout=cost.shape"),
        *("minor_to_major=cost.shape.layout.minor_to_major", "tiles=cost.shape.layout.tiles"),
        *("element_bits=cost.shape.bits", "data_bytes=cost.data_bytes"),
        *("reserved_bytes=cost.reserved_bytes", "padding_bytes=cost.padding_bytes"),
        *("factor=cost.factor", "padding=cost.reasons", "alternatives"),
    )
    text: str  #: the type and the sizes.
    generation: str  #: the generation of TPUs.
    cost: Waste  #: the array in that layout, and what it costs.
    #: other layouts, the smallest first.
    alternatives: tuple[OtherLayout, ...]

    def lines(self, medium: Medium) -> Iterator[Line]:
        """Yield the layout, its cost, and the cost of other layouts."""
        words = describe(self.cost.shape)
        facts = tpu_facts(self.cost.shape, words.names)
        yield line(words.source, medium, "bold")
        yield line(f"TPU {self.generation} chooses for a parameter: {words.headline}", medium)
        yield from section_lines("Text", word_rows(words), medium)
        memory = byte_row(self.cost.data_bytes, self.cost.reserved_bytes)
        yield from section_lines("Memory", [memory], medium)
        yield from section_lines("TPU", [] if facts is None else tpu_rows(facts), medium)
        rows = [each.row for each in self.alternatives]
        yield from section_lines("Other layouts, the smallest first", rows, medium)


ArrayText: TypeAlias = str
"""The text of an array without a layout."""


def default_report(text: ArrayText, *, generation: str, alternatives: int = 5) -> DefaultReport:
    """Say which layout the TPU compiler chooses for a parameter of a type and shape.

    Args:
        text: an array without a layout, such as ``bf16[8,1,1280,1000]``.
        generation: the generation: v2, v3, v4, v5e, v5p, v6e or tpu7x.
        alternatives: how many other orders, foldings and tiles to show, the smallest first.

    Raises:
        LayoutError: if the text is not one array without a layout.
        UnsupportedError: if a size is dynamic or a name.

    >>> default_report("f32[3,5]", generation="v5e").cost.reserved_bytes
    2048
    """
    array = _bare_array(text)
    cost = waste(default_layout(array.element_type, array.shape, generation))
    found: Sequence[Suggestion] = ()
    if alternatives and cost.shape.byte_size:
        try:
            found = suggest(array.element_type, array.shape, generation, limit=alternatives + 1)
        except UnsupportedError:  # too many dimensions to try them all
            found = ()
    others = [OtherLayout(each) for each in found if each.changes][:alternatives]
    return DefaultReport(str(array).partition("{")[0], generation, cost, tuple(others))


def _bare_array(text: str) -> XlaShape:
    value = parse(text)
    if not isinstance(value, XlaShape) or value.layout is None:
        raise LayoutError(
            f"expected one array, got {value}",
            "the compiler chooses a layout for one array at a time",
            "write a type and sizes, such as bf16[8,128]",
        )
    if "{" in text:
        raise LayoutError(
            f"{text.strip()} has a layout already",
            "the compiler chooses the layout of an array without one",
            f"write {str(value).partition('{')[0]}; the command explain explains this layout",
        )
    if any(value.dynamic_dimensions):
        raise UnsupportedError(
            f"{text.strip()} has dynamic sizes",
            "default layouts were measured for sizes that do not change",
            "write a number for each size",
        )
    return value
