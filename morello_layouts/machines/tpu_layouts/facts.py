"""Where an array lies in a TPU's vector registers, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from morello_layouts.core.description import count, listed
from morello_layouts.core.fields import frozen
from morello_layouts.errors import LayoutError
from morello_layouts.machines.tpu_layouts.layouts import (
    GENERATIONS,
    LANES,
    SUBLANES,
    WORD,
    default_layout,
)
from morello_layouts.machines.tpu_layouts.waste import waste_formula
from morello_layouts.notations.xla import COMBINE, XlaLayout, XlaShape


@frozen
class TpuFacts:
    """A layout on a TPU, in words."""

    lanes: str  #: the dimension along the 128 lanes of a vector register.
    sublanes: str  #: the dimension along its 8 sublanes.
    packing: str  #: how elements share the 32-bit words of a lane, or take several.
    #: the generations whose compiler chooses this layout for a parameter.
    default_on: tuple[str, ...]
    default: str  #: the same in words, and the choice of the other generations.
    padding: tuple[str, ...]  #: the reasons for padding.


@frozen
class _PackedTile:
    """A tile of a TPU: its rows, and the elements that are packed into a 32-bit word."""

    rows: int
    packed: int
    is_flat: bool = False
    is_across: bool = False

    @property
    def sublanes(self) -> int:
        """Rows of 32-bit words."""
        return self.rows // self.packed


def tpu_facts(x: XlaShape, names: Sequence[str]) -> TpuFacts | None:
    """Return the facts about an array in tiles of a TPU; None for other arrays.

    >>> x = XlaShape("bf16", (10, 200), XlaLayout((1, 0), ((8, 128), (2, 1))))
    >>> facts = tpu_facts(x, ("y", "x"))
    >>> facts.lanes
    'x lies along the 128 lanes of a vector register'
    >>> facts.sublanes
    '8 rows of y lie along 4 of its 8 sublanes, 2 to a sublane'
    >>> facts.packing
    '2 elements of 16 bits in the 32-bit word of a lane: neighbours along y, in one column'
    """
    if x.layout is None or x.layout.splits_array:
        return None
    tile = _tile_of(x.layout, x.bits)
    if tile is None:
        return None
    default_on, default = _defaults(x)
    where = _places(x, names, tile)
    return TpuFacts(*where, default_on, default, _padding(x))


def _tile_of(layout: XlaLayout, bits: int) -> _PackedTile | None:
    """Return the tile if every lane of it holds whole 32-bit words, else None."""
    packed = WORD // bits if 0 < bits < WORD and WORD % bits == 0 else 1
    if (bits < WORD and packed == 1) or bits % min(bits, WORD) or not layout.tiles:
        return None
    first, *others = layout.tile_numbers
    within, across = [(packed, 1)], [(packed, 1, 1, 1)]
    tile: _PackedTile | None = None
    if len(first) == 1 and first[0] % (LANES * packed) == 0:
        flat = [(LANES,), *within]
        if others == (flat if packed > 1 else []):
            tile = _PackedTile(first[0] // LANES, packed, is_flat=True)
    elif len(first) == 2 and first[1] == LANES and first[0] != COMBINE:
        if others == (within if packed > 1 else []) and first[0] % packed == 0:
            tile = _PackedTile(first[0], packed)
        elif packed > 1 and others == across:
            tile = _PackedTile(first[0] * packed, packed, is_across=True)
    if tile is not None and tile.sublanes > SUBLANES and tile.sublanes % SUBLANES:
        return None
    return tile


def _places(x: XlaShape, names: Sequence[str], tile: _PackedTile) -> tuple[str, str, str]:
    """Return the texts on lanes, sublanes and packing."""
    assert x.layout is not None
    order = [names[dim] for dim in x.layout.minor_to_major]
    if not order:
        lanes = f"the element lies in the first of the {LANES} lanes of a vector register"
        return lanes, f"and in the first of its {SUBLANES} sublanes", _packing(x.bits, "", "", tile)
    minor = order[0]
    second = order[1] if len(order) > 1 else "an added dimension"
    return _lanes(minor, tile), _sublanes(second, tile), _packing(x.bits, minor, second, tile)


def _lanes(minor: str, tile: _PackedTile) -> str:
    lie = f"the {LANES} lanes of a vector register"
    if not tile.is_flat:
        return f"{minor} lies along {lie}"
    return f"{LANES} neighbours along {minor} lie along {lie}"


def _sublanes(second: str, tile: _PackedTile) -> str:
    used = tile.sublanes
    if used > SUBLANES:
        where = f"the {SUBLANES} sublanes of {count(used // SUBLANES, 'register')}"
    elif used == SUBLANES:
        where = f"its {SUBLANES} sublanes"
    else:
        where = f"{used} of its {SUBLANES} sublanes"
    if tile.is_flat:
        return f"{count(tile.rows, 'run')} of {LANES} lie{'s' * (tile.rows == 1)} along {where}"
    each = f", {tile.packed} to a sublane" if tile.packed > 1 else ""
    return f"{count(tile.rows, 'row')} of {second} lie{'s' * (tile.rows == 1)} along {where}{each}"


def _packing(bits: int, minor: str, second: str, tile: _PackedTile) -> str:
    if bits > WORD:
        return f"an element takes {bits // WORD} words of 32 bits"
    if tile.packed == 1:
        return "an element takes the 32-bit word of a lane"
    words = f"{tile.packed} elements of {count(bits, 'bit')} in the 32-bit word of a lane"
    if not minor:
        return f"the 32-bit word of a lane has room for {tile.packed} of {count(bits, 'bit')}"
    if tile.is_flat:
        return f"{words}: elements {LANES} apart along {minor}"
    if tile.is_across:
        return f"{words}: elements {tile.rows // tile.packed} apart along {second}, in one column"
    return f"{words}: neighbours along {second}, in one column"


def _defaults(x: XlaShape) -> tuple[tuple[str, ...], str]:
    """Return the generations that choose the layout, and all choices in words."""
    if any(x.dynamic_dimensions) or x.layout is None:
        return (), "not known for dynamic sizes"
    try:
        chosen = {g: default_layout(x.element_type, x.shape, g).layout for g in GENERATIONS}
    except LayoutError as error:
        return (), f"not known: {error.what}"
    own = replace(x.layout, memory_space=0)
    agree = tuple(g for g, layout in chosen.items() if layout == own)
    groups: dict[str, list[str]] = {}
    for generation, layout in chosen.items():
        if layout != own:
            groups.setdefault(str(layout), []).append(generation)
    others = [f"{_generations(names)} choose {layout}" for layout, names in groups.items()]
    if not agree:
        return (), f"not chosen for a parameter: {'; '.join(others)}"
    return agree, "; ".join([f"{_generations(agree)} choose it for a parameter", *others])


def _generations(names: Sequence[str]) -> str:
    return "all generations" if len(names) == len(GENERATIONS) else listed(names)


def _padding(x: XlaShape) -> tuple[str, ...]:
    if None in x.dims:
        return ()
    return tuple(reason.text for reason in waste_formula(x).reasons)
