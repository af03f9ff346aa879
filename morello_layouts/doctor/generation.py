"""Which generation of TPUs a program is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from morello_layouts.tpu.generations import packing
from morello_layouts.xla import XlaShape

__all__ = ["Generation", "generation_of"]

_DEFAULT: Final = "v5e"


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
        tiles = None if shape.layout is None or shape.dims else shape.layout.tiles
        if shape.element_type in ("f32", "s32", "u32") and tiles in (((128,),), ((256,),)):
            is_old = tiles == ((256,),)
            which = "v2 and v3" if is_old else "v4 and later"
            tile = "T(256)" if is_old else "T(128)"
            return Generation(
                "v3" if is_old else _DEFAULT, f"a guess: scalars lie in {tile}, as on {which}"
            )
    return Generation(_DEFAULT, "assumed: nothing in the text tells")
