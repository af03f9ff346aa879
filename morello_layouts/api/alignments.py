"""What divides the addresses of a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from morello_layouts.api.arguments import Assuming, Shape
from morello_layouts.api.layouts import LayoutLike, index_map
from morello_layouts.checks import as_int, as_tuple, require_rank

if TYPE_CHECKING:
    from morello_layouts.maps.address import Unit
    from morello_layouts.proof.alignment import Alignment


def alignment(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    unit: Unit = "bytes",
    tile: Sequence[int] | None = None,
    base_alignment: int | None = None,
    bits: int | None = None,
    assuming: Assuming | None = None,
    notation: str | None = None,
) -> Alignment:
    """Return the largest number that divides the address of every element, or of every tile.

    It says how wide aligned loads may be, and what a copy engine may be told. For symbolic sizes
    it is a formula, and the largest number that divides it at all of them.

    Args:
        layout: the layout, or a view of one: then only its elements count.
        shape: the sizes, for a layout that carries none.
        unit: ``"bytes"``, ``"bits"`` or ``"elements"``.
        tile: the sizes of tiles: only the first element of each counts.
        base_alignment: a number of that unit that divides the address of the buffer. By default
            the buffer begins at 0.
        bits: the bits of an element, if another number than the element type's.
        assuming: assumptions about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.

    Raises:
        LayoutError: if nothing tells the bits of an element.
        ShapeError: if the shape is missing, or the tile has another number of sizes.
        UnsupportedError: if elements do not begin at whole bytes, or are not in memory.

    >>> import morello_layouts as ml
    >>> rows = ml.index_map("f32[M,N]{1,0}")[:, 0]    # the first element of each row
    >>> ml.alignment(rows).formula, ml.alignment(rows, assuming="N % 32 == 0").number
    (4*N, 128)
    >>> print(ml.alignment("bf16[M,N]{1,0:T(8,128)(2,1)}", tile=(8, 128), base_alignment=512))
    every address is a multiple of 512 bytes. Decided by steps and ISL.
    """
    from morello_layouts.proof import alignment as proofs

    m = index_map(layout, shape, assuming=assuming, notation=notation)
    if tile is not None:
        sizes = as_tuple(tile, "tile", "give for example tile=(8, 128)")
        require_rank(sizes, len(m.recipe.shape), "tile")
        steps = [as_int(n, f"tile[{k}]", 1) for k, n in enumerate(sizes)]
        m = m.view(index=tuple(slice(None, None, step) for step in steps))
    start = 0 if base_alignment is None else as_int(base_alignment, "base_alignment", 1)
    return proofs.alignment(m, unit, start, bits)
