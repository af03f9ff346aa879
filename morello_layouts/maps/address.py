"""Addresses: offsets in bytes or bits, from a base."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args

from morello_layouts.checks import as_int, shown, whole
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.conversions import number_from_sympy
from morello_layouts.expr.sizes import Int, SizeExpr
from morello_layouts.maps.affine_map import AffineMap
from morello_layouts.maps.places import MEMORY, named_forms

AnIndexMap: TypeAlias = Any
"""An index map, whose module imports this one."""

Unit: TypeAlias = Literal["elements", "bytes", "bits"]
"""What offsets count."""

_WIDEST: Final = 2**16  # bits of an element


def bits_of_unit(m: AnIndexMap, unit: Unit, bits: int | None) -> tuple[int, int]:
    """Return the bits of an element and of a unit; both are 1 if elements are counted.

    Raises:
        LayoutError: if there is no such unit, or nothing tells the element's bits.
    """
    if unit not in get_args(Unit):
        raise LayoutError(
            f"unit: expected elements, bytes or bits, got {shown(unit)}",
            "offsets count one of these",
            'give unit="bytes"',
        )
    if unit == "elements":
        return 1, 1
    if bits is None and m.element_type is None:
        raise LayoutError(
            f"unit: {m.source or 'the layout'} does not say how many bits an element has",
            f"an address in {unit} needs the element's type",
            'give bits=16, or unit="elements"',
        )
    own: int = 0 if m.element_type is None else m.element_type.bits
    each = own if bits is None else as_int(bits, "bits", 1, _WIDEST, fix="give bits=16")
    return each, 8 if unit == "bytes" else 1


def address_of(m: AnIndexMap, unit: Unit, base: Any, bits: int | None) -> AffineMap:
    """Return the map from coordinates to addresses; arguments as of :meth:`IndexMap.address`."""
    each, per = bits_of_unit(m, unit, bits)
    offset = memory_form(m)
    whole_units = each % per == 0
    forms = [offset * (each // per)] if whole_units else [offset * each // per, offset * each % per]
    results = {"elements": (), "bits": ("bit",)}.get(unit, ("byte", "bit")[: len(forms)])
    start = _number(base)
    symbols = {s.name: s for s in getattr(base, "free_symbols", ())}
    size = m.recipe.size * (each // per) if start == 0 and len(forms) == 1 else None
    found: AffineMap = replace(
        m.affine_map,
        given=(forms[0] + start, *forms[1:]),
        buffer_size=size,
        size_symbols={**m.size_symbols, **symbols},
        results=results,
    )
    return found.named(*m.names)


def memory_form(m: AnIndexMap) -> AffineExpr:
    """Return the offset in memory: in that of one device, if the array is on several.

    Raises:
        UnsupportedError: if places have other axes, such as lanes and registers.
    """
    plain: AffineExpr = m.reference_form
    if not m.recipe.axis_names:
        return plain
    for name, form in named_forms(m.recipe, m.form):
        if name == MEMORY:
            return form
    raise UnsupportedError(
        f"{m.source or 'the layout'} has no addresses",
        f"its elements lie along {', '.join(m.recipe.axis_names)}, not in memory",
        "ask for their place: m.place(…)",
    )


def _number(base: Any) -> Int:
    """Return a base as a number, or as a symbol."""
    number = whole(base)
    if number is not None:
        return number
    if isinstance(base, str) and base.isidentifier():
        return SizeExpr.named(base)
    if getattr(base, "free_symbols", None):
        return number_from_sympy(base)
    raise LayoutError(
        f"base: expected an integer, a name or a SymPy expression, got {shown(base)}",
        "the base is where the buffer begins",
        'give for example base="base" or base=4096',
    )
