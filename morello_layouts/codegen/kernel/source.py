"""Source text of a relayout kernel, in one of the target languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from morello_layouts.codegen.kernel.emit_c import c_file
from morello_layouts.codegen.kernel.moves import Moves, moves_of
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.recipe import Recipe

__all__ = ["KERNEL_TARGETS", "kernel_text"]

_EMITTERS: Final[dict[str, Callable[[Moves, str, str], object]]] = {"c": c_file}

KERNEL_TARGETS: Final = tuple(_EMITTERS)


def kernel_text(
    source: Recipe,
    target: Recipe,
    language: str,
    itemsize: int,
    fill: bytes | None,
    *,
    name: str = "relayout",
    comment: str = "",
) -> str:
    """A whole source file that moves one layout's buffer to the other's.

    Args:
        source: the recipe of the buffer that is read.
        target: the recipe of the buffer that is written.
        language: one of ``KERNEL_TARGETS``.
        itemsize: bytes of an element.
        fill: the bytes of an element that padding holds; None leaves padding as it is.
        name: the function's name.
        comment: what the file says of the layouts.

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
    if not (name.isidentifier() and name.isascii()):
        raise LayoutError(
            f"{name!r} is no name for a function",
            "a name is of letters, digits and underscores, and begins with no digit",
            "give for example name='relayout'",
        )
    return str(emit(moves_of(source, target, itemsize, fill), name, comment))
