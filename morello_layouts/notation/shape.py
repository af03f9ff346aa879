"""Shapes as one types them."""

from __future__ import annotations

import re
from typing import Final

from morello_layouts.errors import ShapeError
from morello_layouts.xla.checks import shown

__all__ = ["parse_shape"]

_SIZE: Final = re.compile(r"[0-9]{1,19}")
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def parse_shape(text: str) -> tuple[int | str, ...]:
    """A shape as one types it: ``6x8``, ``6,8``, ``[6, 8]``, ``MxN``; ``()`` is a scalar's.

    Raises:
        ShapeError: for anything else.

    >>> parse_shape("6x8"), parse_shape("(6, 8)"), parse_shape("6"), parse_shape("[]")
    ((6, 8), (6, 8), (6,), ())
    >>> parse_shape("MxN")
    ('M', 'N')
    """
    stripped = text.strip()
    bracketed = stripped[:1] + stripped[-1:] in ("()", "[]")
    inner = stripped[1:-1] if bracketed else stripped
    if bracketed and not inner.strip():
        return ()
    sizes = [
        size.strip() for size in re.split(r"[x×,]", inner.rstrip(", ") if bracketed else inner)
    ]
    for size in sizes:
        if _SIZE.fullmatch(size) is None and _NAME.fullmatch(size) is None:
            raise ShapeError(
                f"{shown(text)} is no shape: {shown(size)} is no size",
                "a shape is one size for each dimension, with x or a comma between them",
                "write for example 6x8, or names as in M,N, or () for a scalar",
            )
    return tuple(int(size) if size.isdigit() else size for size in sizes)
