"""Source text of a relayout kernel, in one of the target languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from morello_layouts.codegen.kernel.emit_c import c_file
from morello_layouts.codegen.kernel.emit_cuda import cuda_text
from morello_layouts.codegen.kernel.emit_python import python_text
from morello_layouts.codegen.kernel.moves import Kernel
from morello_layouts.codegen.kernel.names import is_function_name
from morello_layouts.errors import LayoutError, UnsupportedError

__all__ = ["KERNEL_TARGETS", "kernel_text"]

_EMITTERS: Final[dict[str, Callable[[Kernel], object]]] = {
    "c": c_file,
    "cuda": cuda_text,
    "python": python_text,
}

KERNEL_TARGETS: Final = tuple(_EMITTERS)


def kernel_text(kernel: Kernel, language: str) -> str:
    """A whole source file that moves one layout's buffer to the other's.

    Args:
        kernel: what is asked for.
        language: one of ``KERNEL_TARGETS``.

    Raises:
        LayoutError: where the language or the name is none.
    """
    emit = _EMITTERS.get(language)
    if emit is None:
        raise UnsupportedError(
            f"no kernel is written in {language!r}",
            f"kernels are written in {', '.join(KERNEL_TARGETS)}",
            "give one of these",
        )
    if not is_function_name(kernel.name, language):
        raise LayoutError(
            f"{kernel.name!r} is no name for a function",
            "a name is of letters, digits and underscores, begins with no digit, and is none that "
            f"the language ({language}), its headers or the kernel's own text have",
            "give for example name='relayout'",
        )
    return str(emit(kernel))
