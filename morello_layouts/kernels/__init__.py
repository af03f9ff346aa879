"""Relayout kernels: from two recipes to the loops that move one buffer to the other."""

from morello_layouts.kernels.compiled import (
    BuiltRelayout,
    CompiledRelayout,
    compiled_relayout,
    thread_count,
)
from morello_layouts.kernels.moves import Kernel
from morello_layouts.kernels.sized import SizedRelayout, sized_relayout
from morello_layouts.kernels.source import KERNEL_TARGETS, kernel_text

__all__ = [
    "KERNEL_TARGETS",
    "BuiltRelayout",
    "CompiledRelayout",
    "Kernel",
    "SizedRelayout",
    "compiled_relayout",
    "kernel_text",
    "sized_relayout",
    "thread_count",
]
