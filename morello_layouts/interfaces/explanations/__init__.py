"""Explanations of layouts: values, rows of text, JSON. The command and the explorer print them."""

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.interfaces.explanations.holding import DevicePart, Shards, shards
    from morello_layouts.interfaces.explanations.report import ArrayReport
    from morello_layouts.interfaces.explanations.rows import Explanation, explain

__all__ = ["ArrayReport", "DevicePart", "Explanation", "Shards", "explain", "shards"]

__getattr__ = loader(
    __name__,
    {"rows": "Explanation explain", "holding": "DevicePart Shards shards", "report": "ArrayReport"},
)
