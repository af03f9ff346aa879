"""Translate between notations, and prove the result equal."""

from __future__ import annotations

from typing import overload

from morello_layouts import notations
from morello_layouts.api.layouts import Assuming, Shape, index_map, sizes_of
from morello_layouts.errors import (
    LayoutError,
    NoTranslationError,
    TranslationNotFoundError,
    UnsupportedError,
)
from morello_layouts.expr.sizes import SizeExpr
from morello_layouts.maps import IndexMap
from morello_layouts.notations.morello import MorelloLayout
from morello_layouts.notations.xla import XlaBuffer, XlaLayout, XlaShape
from morello_layouts.recipe.digits import Digits
from morello_layouts.translate.digits import canonical_digits
from morello_layouts.translate.to_morello import equality, morello_of_known, morello_of_symbolic
from morello_layouts.translate.to_xla import best_tiling


@overload
def to_xla(
    layout: str | MorelloLayout,
    shape: Shape,
    element_type: None = None,
    *,
    assuming: Assuming | None = None,
) -> XlaLayout: ...


@overload
def to_xla(
    layout: str | MorelloLayout,
    shape: Shape,
    element_type: str,
    *,
    assuming: Assuming | None = None,
) -> XlaShape: ...


def to_xla(
    layout: str | MorelloLayout,
    shape: Shape,
    element_type: str | None = None,
    *,
    assuming: Assuming | None = None,
) -> XlaLayout | XlaShape:
    """An XLA layout that gives every coordinate the offset that a Morello layout gives it.

    At sizes that are numbers there always is one, OddEven or not. Of those with the fewest tiles
    (a layout of very many packs may get more than the fewest) it is one whose tiles fit most other
    shapes, then a short one. With symbolic sizes it holds for all of them of which the layout's
    packs are divisors, within what is assumed. How much of the Morello layout is contiguous
    (``c2``) does not matter to offsets, and is lost.

    Args:
        layout: a Morello layout, or its text.
        shape: the sizes: numbers, names or SymPy expressions.
        element_type: XLA's name of a type; with it the result is a shape.
        assuming: what is known of symbolic sizes, as for ``index_map``.

    Raises:
        ShapeError: where the layout does not fit the shape.
        NoTranslationError: where a size is past the 64 bits that XLA's numbers have.
        TranslationNotFoundError: where a symbolic size is in the way, or ISL spent its budget.

    >>> print(to_xla("[1, 0, 1 p(4)]", (6, 8)))
    {0,1:T(4,1)}
    >>> print(to_xla("[0, 1, 0 p(4), 1 p(128), 0 p(2)]", ("M", "N"), "bf16"))
    bf16[M,N]{1,0:T(8,128)(2,1)}
    >>> print(to_xla("[0, 0 oe(16)]", (64,)))
    {0:T(2)(8,1)}
    """
    parsed = notations.parse(layout) if isinstance(layout, str) else layout
    if not isinstance(parsed, MorelloLayout):
        raise LayoutError(
            f"{parsed} is no Morello layout",
            "to_xla goes from Morello's notation to XLA's",
            "give a list such as [1, 0, 1 p(4)]; to_morello goes the other way",
        )
    m = index_map(parsed, shape, assuming=assuming)
    digits = canonical_digits(m.recipe)
    assert digits is not None, "Morello's packs divide what they split"
    _require_64_bits(m)
    tiling = best_tiling(digits, len(m.recipe.shape))
    if tiling is None:
        raise TranslationNotFoundError(
            f"no XLA layout was found for {m.source}",
            f"{_obstacle(digits)} in memory order; a tile has a fixed size and cannot hold it, so "
            "none without '*' exists for all sizes, and others were not tried",
            "give a number for that size: at known sizes there always is one",
        )
    found = XlaLayout(tiling.major_to_minor[::-1], tiling.tiles)
    result = found if element_type is None else _typed(found, shape, element_type)
    answer = equality(m, found)
    if not answer.holds:
        raise TranslationNotFoundError(
            f"no XLA layout was proved equal to {m.source}",
            f"{found} was built from its digits; {answer.reason}",
            f"{found} can be checked at smaller sizes",
        )
    return result


def _require_64_bits(m: IndexMap) -> None:
    large = [n for n in m.recipe.shape if isinstance(n, int) and n >= 2**63]
    if large:
        raise NoTranslationError(
            f"no XLA layout equals {m.source}: none exists",
            f"XLA's sizes are signed 64-bit integers, {large[0]} is larger",
            "use a smaller array",
        )


def _obstacle(digits: Digits) -> str:
    """Why no tiling was found, in words."""
    symbolic = max(k for k, digit in enumerate(digits) if isinstance(digit.radix, SizeExpr))
    top = {d.dim: max(e.unit for e in digits if e.dim == d.dim) for d in digits}
    low = next(d for d in digits[:symbolic] if d.unit < top[d.dim])
    return f"{low}, a low part of dimension {low.dim}, comes before {digits[symbolic]}"


def _typed(layout: XlaLayout, shape: Shape, element_type: str) -> XlaShape:
    sizes = [n.as_atom() if isinstance(n, SizeExpr) else n for n in sizes_of(shape).sizes]
    dims = tuple(n for n in sizes if isinstance(n, int | str))
    if len(dims) < len(sizes):
        raise UnsupportedError(
            f"the shape ({', '.join(map(str, sizes_of(shape).sizes))}) cannot be written in XLA's",
            "a size in XLA's text is a number or a name, no expression",
            "leave the element type out to get the layout alone",
        )
    return XlaShape(element_type, dims, layout)


def to_morello(
    xla_shape: str | XlaShape | XlaLayout | XlaBuffer,
    shape: Shape | None = None,
    *,
    assuming: Assuming | None = None,
) -> MorelloLayout:
    """The Morello layout that gives every coordinate the offset that an XLA layout gives it.

    At known sizes there is at most one, up to lists that come to the same there; this is the
    shortest. Morello has no padding between elements; padding after the last one (of ``L(n)``, or
    of a tile) is left out, and the proof is about offsets. Element types, ``E(n)`` and memory
    spaces do not matter to offsets in elements.

    Args:
        xla_shape: an XLA shape, a layout, or text of one.
        shape: the sizes, where a layout alone is given.
        assuming: what is known of symbolic sizes, as for ``index_map``.

    Raises:
        NoTranslationError: where none exists. Of a layout with symbolic sizes: where none does at
            some sizes, which the error names.
        TranslationNotFoundError: where none was found and none was excluded.

    >>> print(to_morello("bf16[64,256]{1,0:T(8,128)(2,1)}"))
    [0, 1, 0 p(4), 1 p(128), 0 p(2)]
    >>> print(to_morello("f32[M,N]{1,0:T(8,128)}", assuming="M % 8 == 0, N % 128 == 0"))
    [0, 1, 0 p(8), 1 p(128)]
    >>> to_morello("f32[3,5]{1,0:T(2,2)}")
    Traceback (most recent call last):
    morello_layouts.errors.NoTranslationError: f32[3,5]{1,0:T(2,2)} is no layout of \
Morello's: none exists
    9 of 24 slots are padding, the first of them slot 9, between elements
    choose sizes that the tiles divide
    """
    parsed = notations.parse(xla_shape) if isinstance(xla_shape, str) else xla_shape
    if not isinstance(parsed, XlaShape | XlaLayout | XlaBuffer):
        raise LayoutError(
            f"{parsed} is no XLA array",
            "to_morello goes from XLA's notation to Morello's",
            "give a shape such as f32[16,256]{1,0:T(8,128)}; to_xla goes the other way",
        )
    m = index_map(parsed, shape, assuming=assuming)
    return morello_of_symbolic(m) if m.recipe.names else morello_of_known(m)
