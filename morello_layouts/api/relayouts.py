"""Relayouts with what needs a printer or a compiler: kernels as text, and kernels that run."""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts import formula, notation
from morello_layouts.xla import XlaShape

__all__ = ["Relayout", "named_type"]


@dataclass(frozen=True)
class Relayout(formula.Relayout):
    """From one buffer to another that holds the same array in another layout.

    Attributes:
        source: the index map of the buffer that is read.
        target: the index map of the buffer that is written.
        element_type: XLA's name of the element type, where a layout's text names it.

    >>> from morello_layouts import relayout
    >>> r = relayout("f32[4,8]{1,0}", "f32[4,8]{1,0:T(2,4)}")
    >>> print(r, r.element_type)
    p -> 16*(p//16) + 8*((p//4)%2) + 4*((p//8)%2) + p%4 f32
    """

    element_type: str | None = None


def named_type(*layouts: object) -> str | None:
    """The element type that the first of the layouts with one names.

    >>> named_type("[0, 1]", "bf16[4,8]{1,0}")
    'bf16'
    """
    for layout in layouts:
        parsed = notation.parse(layout) if isinstance(layout, str) else layout
        if isinstance(parsed, XlaShape):
            return parsed.element_type
    return None
