"""Questions about GPUs and caches: banks, sectors, lines, vectors and swizzles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from morello_layouts.api.arguments import Assuming, Shape
from morello_layouts.api.layouts import LayoutLike, index_map, index_maps
from morello_layouts.checks import as_int, as_tuple, checked_coordinate, shown
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.gpu.access import Access, Lanes, access_of_text
from morello_layouts.gpu.banks import BankConflicts, conflicts_of
from morello_layouts.gpu.pitches import BankFormula, formula_of
from morello_layouts.gpu.relayouts import (
    RegisterRelayout,
    register_relayout as relayout_of_registers,
)
from morello_layouts.maps import IndexMap

AccessLike: TypeAlias = "str | Access | Callable[[int], Any]"
"""An access of a warp: its text, such as ``"column.b128"``, or a function of the lane."""


def bank_conflicts(
    shared: LayoutLike,
    access: AccessLike,
    shape: Shape | None = None,
    *,
    bits: int | None = None,
    vector: int = 1,
    at: Sequence[int] | None = None,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> BankConflicts | BankFormula:
    """Return how many rounds an access of a warp takes in the shared memory of an NVIDIA GPU.

    Args:
        shared: the layout in shared memory; its buffer begins at bank 0.
        access: what the 32 lanes read or write. ``"row"`` and ``"column"`` are loads of one element
            a lane, one lane after the other through the tile; ``"row.b128"`` of 128 bits a lane,
            along the row; ``"store column"`` is a store. ``"ldmatrix"`` is short for
            ``"ldmatrix.x4"``; there are ``.x1``, ``.x2``, ``.trans`` and ``stmatrix`` too. A Python
            function takes a lane's number, from 0 to 31, to the coordinate of its first element,
            or to None if the lane takes no part.
        shape: the sizes, for a layout that carries none.
        bits: bits of an element; by default those of the layout's element type.
        vector: elements of a lane, for a function.
        at: the coordinate at which the access begins; by default an access that has a name begins
            at every place in turn, as a loop over the tile does, and a function at the origin.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.

    Returns:
        The ways and the lanes that collide; with symbolic sizes a formula of the pitch.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shape is missing, or lanes leave the tile.
        UnsupportedError: if the elements of a lane are not one aligned vector.

    >>> print(bank_conflicts("f32[32,32]", "column"))
    32-way conflict: load column of f32[32,32]{1,0}, 32 bits
      lanes 0, 1, 2, 3, 4, 5, 6, … 31 ask for words 0, 32, 64, 96, 128, 160, 192, … 992 of bank 0 \
at (0, 0)
      words have rank 5 in the bits of the lane, banks rank 0: 2^(5 - 0) = 32
      1,024 wavefronts for 32 instructions: 32 at best
    >>> bank_conflicts("(32,32):(33,1)", "column", bits=32).ways
    1
    >>> print(bank_conflicts("f32[32,LD]", "column").verdict)
    gcd(LD, 32)-way conflict
    """
    m = index_map(shared, shape, assuming=assuming, notation=notation)
    width = _bits(m, bits)
    asked = _access(access, vector)
    if m.recipe.names:
        if at is not None:
            raise UnsupportedError(
                f"at={tuple(at)} in an array of symbolic sizes",
                "a formula of the pitch is for the access at the origin",
                "leave out the argument at, or give the sizes numbers: .at(…)",
            )
        return formula_of(m, asked, width)
    return conflicts_of(m, asked, width, _place(m, at))


def register_relayout(
    source: LayoutLike,
    target: LayoutLike,
    shape: Shape | None = None,
    *,
    bits: int | None = None,
) -> RegisterRelayout:
    """Return what it takes to change the layout of registers of a tensor.

    Elements stay, change registers of their lane, are shuffled between the lanes of a warp, or pass
    through shared memory: the first of these that suffices, decided by ranks of the bits' bases.

    Args:
        source: the layout that the registers have, of axes ``lane`` and ``register``, and possibly
            ``warp`` and ``block``.
        target: the layout that they shall have, on the same threads.
        shape: the sizes, for a layout that carries none.
        bits: bits of an element; by default those of a layout's element type. Without either, an
            element counts as 32 bits in shuffles, and bytes are not known.

    Raises:
        ParseError: if a text is not in any notation.
        ShapeError: if the shape is missing, or shapes or threads differ.
        UnsupportedError: if a layout has no registers, or is not linear in the bits of its places.

    >>> from_bases = "#ttg.linear<{{register = {}, lane = {}, warp = []}}>".format
    >>> rows, columns = from_bases("[[1]]", "[[2], [4]]"), from_bases("[[2]]", "[[1], [4]]")
    >>> found = register_relayout(rows, columns, (8,))
    >>> print(found)
    1 shuffle in each warp, lane xor 1
    >>> found.kind, found.is_least, found.bytes
    ('shuffle', True, 0)
    """
    one, other = index_maps(source, target, shape)
    widths = [m.element_type.bits for m in (one, other) if m.element_type is not None]
    width = as_int(bits, "bits", 1, 1024) if bits is not None else next(iter(widths), None)
    return relayout_of_registers(one.recipe, other.recipe, width)


def _access(access: AccessLike, vector: int) -> Access:
    """Return an access from its text or a function of the lane."""
    if isinstance(access, Access):
        return access
    if callable(access):
        return Lanes(access, as_int(vector, "vector", 1, 128))
    found = access_of_text(access) if isinstance(access, str) else None
    if found is None:
        raise LayoutError(
            f"access: expected the name of an access or a function, got {shown(access)}",
            "an access says which elements the lanes of a warp touch",
            'give for example "column", "row.b128", "store row", "ldmatrix.x4" or '
            "lambda lane: (lane, 0)",
        )
    return found


def _bits(m: IndexMap, bits: int | None) -> int:
    """Return the bits of an element, from the layout or the argument."""
    if bits is not None:
        return as_int(bits, "bits", 1, 1024)
    if m.element_type is None:
        raise LayoutError(
            f"{m.source or m.shape} names no element type",
            "banks and lines are counted in bytes",
            "give bits=16, the bits of an element",
        )
    return m.element_type.bits


def _place(m: IndexMap, at: Sequence[int] | None) -> tuple[int, ...] | None:
    if at is None:
        return None
    given = as_tuple(at, "at", "give one int for each dimension")
    return checked_coordinate(given, m.shape, 0)
