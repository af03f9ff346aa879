"""Layouts on TPUs: the compiler's defaults, their padding, better layouts, the compiler."""

from typing import Any, Final

from morello_layouts.core.lazy import importing
from morello_layouts.machines import tpu_layouts
from morello_layouts.machines.tpu_layouts import *  # noqa: F403  its list is the only one

__all__ = [*tpu_layouts.__all__]  # noqa: PLE0604

_COMPILER: Final = frozenset({"Advice", "Compilation", "Compiler", "advise", "diagnose"})


def __getattr__(name: str) -> Any:
    """Load a name of the TPU compiler on first use."""
    if name not in _COMPILER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with importing:
        from morello_layouts.programs import tpu_compiler

    return getattr(tpu_compiler, name)
