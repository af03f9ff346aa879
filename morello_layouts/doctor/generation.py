"""Which generation of TPUs a program is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from morello_layouts.tpu.generations import LANES, packing
from morello_layouts.xla import XlaShape

__all__ = ["Generation", "generation_of"]

_DEFAULT: Final = "v5e"
_OLD: Final = ((256,),)
_NEW: Final = ((128,),)


class Generation(NamedTuple):
    """A generation that suggestions are for, and why that one.

    Attributes:
        name: such as ``v5e``.
        reason: how it is known.
    """

    name: str
    reason: str


def generation_of(given: str | None, shapes: Iterable[XlaShape]) -> Generation:
    """The generation that is given, or else what the tiles of scalars tell.

    Raises:
        LayoutError: where there is no generation of that name.

    >>> from morello_layouts.notation import parse
    >>> generation_of(None, [parse("f32[]{:T(256)}")]).name
    'v3'
    >>> generation_of("v6e", []).reason
    'as given'
    """
    if given is not None:
        packing("f32", given)  # raises where there is none
        return Generation(given, "as given")
    for shape in shapes:
        tiles = _tiles_of_short(shape)
        if tiles == _OLD:
            return Generation("v3", "a guess: scalars lie in T(256), as on v2 and v3")
        if tiles == _NEW:
            return Generation(_DEFAULT, "a guess: scalars lie in T(128), as on v4 and later")
    return Generation(_DEFAULT, "assumed: nothing in the text tells")


def _tiles_of_short(x: XlaShape) -> tuple[tuple[int, ...], ...] | None:
    """The tiles of a 32-bit scalar, or of an array that is as short; None for others."""
    is_short = not x.dims or (len(x.dims) == 1 and isinstance(n := x.dims[0], int) and n <= LANES)
    if x.layout is None or not is_short or x.element_type not in ("f32", "s32", "u32"):
        return None
    return x.layout.tiles
