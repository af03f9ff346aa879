"""The TPU compiler's default layout on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.cli.screen import console
from morello_layouts.cli.show import Screen
from morello_layouts.report.rows import Row, byte_row, tpu_rows, word_rows
from morello_layouts.tpu import Suggestion, Waste
from morello_layouts.words import explain, tpu_facts
from morello_layouts.words.names import amount

__all__ = ["show_default"]


def show_default(generation: str, cost: Waste, others: Sequence[Suggestion]) -> None:
    """Print the default layout, what it costs, and what other layouts would cost."""
    words = explain(cost.shape)
    facts = tpu_facts(cost.shape, words.names)
    screen = Screen(console())
    screen.line(words.source, "bold")
    screen.line(f"TPU {generation} chooses for a parameter: {words.headline}")
    screen.section("Text", word_rows(words))
    screen.section("Memory", [byte_row(cost.data_bytes, cost.reserved_bytes)])
    if facts is not None:
        screen.section("TPU", tpu_rows(facts))
    screen.section("Other layouts, the smallest first", [_other(each) for each in others])


def _other(each: Suggestion) -> Row:
    factor = "1" if each.waste.padding_bytes == 0 else f"{each.factor:.2f}"
    return Row(f"{factor}×", f"{amount(each.byte_size)} bytes as {each.shape}: {each.hint}")
