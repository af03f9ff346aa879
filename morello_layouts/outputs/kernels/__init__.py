"""Relayout kernels: from two recipes to the loops that move one buffer to the other."""

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.outputs.kernels.compiled import (
        BuiltRelayout as BuiltRelayout,
        CompiledRelayout as CompiledRelayout,
        SizedRelayout as SizedRelayout,
        compiled_relayout as compiled_relayout,
        sized_relayout as sized_relayout,
        thread_count as thread_count,
    )
    from morello_layouts.outputs.kernels.emit_c import (
        KERNEL_TARGETS as KERNEL_TARGETS,
        kernel_text as kernel_text,
    )
    from morello_layouts.outputs.kernels.plan import Kernel as Kernel
    from morello_layouts.outputs.kernels.relayout import Relayout as Relayout


_MODULES = {
    "compiled": "BuiltRelayout CompiledRelayout SizedRelayout compiled_relayout sized_relayout"
    " thread_count",
    "emit_c": "KERNEL_TARGETS kernel_text",
    "plan": "Kernel",
    "relayout": "Relayout",
}

__getattr__ = loader(__name__, _MODULES)
