"""Prove properties of layouts, given as text or as values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from morello_layouts.api.arguments import Assuming, Shape
from morello_layouts.api.layouts import (
    LayoutLike,
    MapLike,
    formula_or_map,
    formula_pair,
    index_map,
    subjects,
)
from morello_layouts.checks import as_int, as_tuple, require_rank
from morello_layouts.lazy import importing
from morello_layouts.maps import AffineMap, IndexMap
from morello_layouts.maps.subject import met
from morello_layouts.notations.xla import XlaShape

if TYPE_CHECKING:
    from morello_layouts.maps.places import Unit
    from morello_layouts.proof import Proof
    from morello_layouts.proof.bitcast import Bitcast, Correspondence
    from morello_layouts.proof.equivalent import Alignment


def is_bitcast(
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None = None,
    *,
    correspondence: Correspondence = "row-major",
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Bitcast:
    """Decide whether the bytes of one array serve as another, tiles and padding included.

    Args:
        a: the layout of the first array.
        b: the layout of the array that its bytes shall serve as.
        shape: the sizes, if a layout's text carries none.
        correspondence: ``"row-major"``: elements at one row-major position correspond, as in a
            reshape. An order of dimensions: b is a transposed, as by NumPy. ``"any"``: whichever
            is free, row-major first, then the dimensions in memory order, then transposes,
            regardless of sizes of 1; HLO's ``bitcast`` means this.
        assuming: facts about symbolic sizes.
        notation: the notation of each text, as for ``parse``.
        budget: ISL operations after which the answer is undecided.

    Elements of different widths correspond as in HLO's ``bitcast-convert``: the wide array has
    one dimension less.

    >>> is_bitcast("f32[4,6]{1,0}", "f32[2,2,3,2]{3,2,1,0}").kind
    'reshape'
    >>> is_bitcast("f32[2,2,3,2]", "f32[2,3,2,2]", correspondence=(0, 2, 1, 3)).slot
    2
    >>> print(is_bitcast("f32[M,N]{1,0:T(1,128)}", "f32[M,N]{1,0}").condition)
    128 | N, or M = 1
    """
    from morello_layouts import proof

    pair = subjects(a, b, shape, assuming=assuming, notation=notation)
    answer = proof.is_bitcast(*met(*pair), correspondence, budget=budget)
    values = [x.value for x in pair if isinstance(x.value, XlaShape)]
    if len(values) == 2:
        spaces = [x.layout.memory_space if x.layout else 0 for x in values]
        return replace(answer, memory_spaces=(spaces[0], spaces[1]))
    return answer


def is_injective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Proof:
    """Decide whether no two coordinates share an offset.

    Args:
        layout: text in any notation; or a layout, or the map of a formula.
        shape: the sizes of the array, if the layout's text carries none: 6x8, or names: M,N.
        assuming: facts about symbolic sizes, as for ``index_map``.
        notation: the notation of a text, as for ``parse``.
        budget: ISL operations after which the answer is undecided, by default about a second's.

    >>> print(is_injective("[1, 0, 1 p(4)]", (6, 8)))
    injective: no two coordinates share an offset. Decided by ISL.
    """
    from morello_layouts import proof

    return _asked(
        proof.is_injective,
        formula_or_map(layout, shape, assuming, notation),
        budget,
    )


def is_surjective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Proof:
    """Decide whether every slot of the buffer holds an element: no padding.

    The arguments are those of ``is_injective``.

    >>> is_surjective("f32[3,5]{1,0:T(2,2)}").counterexample
    9
    >>> print(is_surjective("bf16[M,N]{1,0:T(8,128)(2,1)}").condition)
    8 | M and 128 | N
    """
    from morello_layouts import proof

    return _asked(proof.is_surjective, formula_or_map(layout, shape, assuming, notation), budget)


def is_bijective(
    layout: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Proof:
    """Decide whether a layout is injective and surjective.

    The arguments are those of ``is_injective``.

    >>> print(is_bijective("f32[3,5]{1,0:T(2,2)}"))
    not bijective: injective, but 9 of 24 slots are padding (first: 9). Decided by ISL.
    """
    from morello_layouts import proof

    return _asked(proof.is_bijective, formula_or_map(layout, shape, assuming, notation), budget)


def are_equivalent(
    a: MapLike,
    b: MapLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Proof:
    """Decide whether two layouts give every coordinate the same offset.

    Args:
        a: text in any notation; or a layout, or the map of a formula. A map of several
            formulas is compared with another one, or with a layout's physical coordinates.
        b: the layout that it is compared with.
        shape: the sizes of the array, if no text carries them: 6x8, or names: M,N. A layout whose
            text carries none takes those of the other one.
        assuming: facts about symbolic sizes, as for ``index_map``.
        notation: the notation of each text, as for ``parse``.
        budget: ISL operations after which the answer is undecided, by default about a second's.

    >>> print(are_equivalent("f32[6,8]{1,0:T(6,4)}", "[1, 0, 1 p(4)]").holds)
    True
    >>> are_equivalent("f32[M,N]{1,0:T(2,128)}", "f32[M,N]{1,0:T(8,128)}").verdict
    'equivalent iff N <= 128'
    """
    from morello_layouts import proof

    pair = formula_pair(a, b, shape, assuming, notation)
    return proof.are_equivalent(*pair, budget=budget)


def verify(
    layout: LayoutLike,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
    notation: str | None = None,
    budget: int | None = None,
) -> Proof:
    """Decide whether formulas and inverse agree with the layout's recipe everywhere.

    The simplified and the reference formula are compared with the recipe at every coordinate, the
    inverse and its padding at every slot, all as SymPy holds them. The arguments are those of
    ``is_injective``.

    >>> print(verify("bf16[10,200]{1,0:T(8,128)(2,1)}"))
    verified: simplified formula, reference and inverse agree everywhere. Decided by ISL.
    """
    from morello_layouts import proof

    m = index_map(layout, shape, assuming=assuming, notation=notation)
    return proof.verify(m, budget=budget)


def _asked(ask: Callable[..., Proof], m: IndexMap | AffineMap, budget: int | None) -> Proof:
    """Return an answer about a map; beside a view may lie elements of the whole array."""
    answer: Proof = ask(m, budget=budget)
    if not (isinstance(m, IndexMap) and m.is_part):
        return answer
    return replace(answer, reason=answer.reason.replace("are padding", "are not in the view"))


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
    with importing:
        from morello_layouts.proof import equivalent as proofs

    m = index_map(layout, shape, assuming=assuming, notation=notation)
    if tile is not None:
        sizes = as_tuple(tile, "tile", "give for example tile=(8, 128)")
        require_rank(sizes, len(m.recipe.shape), "tile")
        steps = [as_int(n, f"tile[{k}]", 1) for k, n in enumerate(sizes)]
        m = m.view(index=tuple(slice(None, None, step) for step in steps))
    start = 0 if base_alignment is None else as_int(base_alignment, "base_alignment", 1)
    return proofs.alignment(m, unit, start, bits)
