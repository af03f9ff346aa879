"""The widest vector along a dimension."""

from __future__ import annotations

from typing import Final

from morello_layouts.expr import AffineExpr, canonicalize, coordinate_variables, variable
from morello_layouts.expr.sizes import exact_quotient
from morello_layouts.maps import IndexMap
from morello_layouts.recipe.readings import offset_of

WIDEST: Final = 128
"""Bits of the widest load or store of a lane."""

_UNLIMITED: Final = 1 << 20  # elements, if their bits are unknown


def vector_width_of(m: IndexMap, dim: int, bits: int | None) -> int:
    """Return the widest aligned vector along a dimension, in elements: a power of two.

    Args:
        m: the layout.
        dim: the dimension, from 0.
        bits: bits of an element, so that a vector has at most 128; None for no end.
    """
    width, most = 1, _UNLIMITED if bits is None else WIDEST // bits
    while 2 * width <= most and _is_vector(m, dim, 2 * width):
        width *= 2
    return width


def _is_vector(m: IndexMap, dim: int, width: int) -> bool:
    """Whether each ``width`` indices from a multiple on are one aligned vector.

    With the index written as ``width * q + r``, the offset must be r plus a multiple of the width.
    """
    size = m.recipe.shape[dim]
    if size % width != 0 or size == 0:
        return False
    inner = variable("r", 0, width - 1)
    at: list[AffineExpr] = list(coordinate_variables(m.recipe.shape))
    at[dim] = variable("q", 0, exact_quotient(size, width) - 1) * width + inner
    form = canonicalize(offset_of(m.recipe, at, AffineExpr((), 0)) - inner)
    names = {each.name for each in form.variables()}
    factors = (form.const, *(factor for _, factor in form.terms))
    return "r" not in names and all(factor % width == 0 for factor in factors)
