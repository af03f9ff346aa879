"""Which generation of TPUs a program is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from morello_layouts.doctor.buffers import anywhere
from morello_layouts.errors import LayoutError
from morello_layouts.tpu import default_layout
from morello_layouts.tpu.generations import LANES, packing
from morello_layouts.xla import XlaShape

__all__ = ["Generation", "generation_of"]

_OLD: Final = "v3"  # v2 chooses the same layouts
_NEW: Final = "v5e"  # and v4, v5p, v6e and tpu7x the same as this
_OLD_TILES: Final = ((256,),)
_NEW_TILES: Final = ((128,),)


class Generation(NamedTuple):
    """A generation that suggestions are for, and why that one.

    Attributes:
        name: such as ``v5e``.
        reason: how it is known.
    """

    name: str
    reason: str


def generation_of(
    given: str | None, shapes: Iterable[XlaShape], entry: Iterable[XlaShape] = ()
) -> Generation:
    """The generation that is given, or else what scalars and the program's own arrays tell.

    Args:
        given: its name, None where the text must tell.
        shapes: the arrays of the text; tiles of scalars tell the old generations from the new.
        entry: what the program takes and gives, whose layouts the compiler chose; asked where
            there is no such scalar.

    Raises:
        LayoutError: where there is no generation of that name.

    >>> from morello_layouts.notation import parse
    >>> generation_of(None, [parse("f32[]{:T(256)}")]).name
    'v3'
    >>> generation_of(None, [], [parse("f32[1,200]{1,0:T(2,128)}")]).name
    'v3'
    >>> generation_of("v6e", []).reason
    'as given'
    """
    if given is not None:
        packing("f32", given)  # raises where there is none
        return Generation(given, "as given")
    for shape in shapes:
        tiles = _tiles_of_short(shape)
        if tiles == _OLD_TILES:
            return Generation(_OLD, "a guess: scalars lie in T(256), as on v2 and v3")
        if tiles == _NEW_TILES:
            return Generation(_NEW, "a guess: scalars lie in T(128), as on v4 and later")
    told = {name for array in entry if (name := _chosen_by(array)) is not None}
    if told == {_OLD}:
        return Generation(_OLD, "a guess: parameters and outputs lie as v2 and v3 choose")
    if told == {_NEW}:
        return Generation(_NEW, "a guess: parameters and outputs lie as v4 and later choose")
    return Generation(_NEW, "assumed: nothing in the text tells")


def _chosen_by(x: XlaShape) -> str | None:
    """The one of an old and a new generation that chooses this layout; None for both or neither."""
    x = anywhere(x)
    try:
        chosen = {name: default_layout(x.element_type, x.shape, name) for name in (_OLD, _NEW)}
    except LayoutError:
        return None
    found = [name for name, choice in chosen.items() if choice == x]
    return found[0] if len(found) == 1 else None


def _tiles_of_short(x: XlaShape) -> tuple[tuple[int, ...], ...] | None:
    """The tiles of a 32-bit scalar, or of an array that is as short; None for others."""
    is_short = not x.dims or (len(x.dims) == 1 and isinstance(n := x.dims[0], int) and n <= LANES)
    if x.layout is None or not is_short or x.element_type not in ("f32", "s32", "u32"):
        return None
    return x.layout.tiles
