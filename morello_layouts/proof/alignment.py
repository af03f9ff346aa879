"""The largest number that divides every address of a layout."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any, ClassVar

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr.conversions import public_size
from morello_layouts.expr.divisors import divisor_of, greatest_number
from morello_layouts.expr.sizes import Int, common_divisor
from morello_layouts.limits import PROOF_ELEMENTS
from morello_layouts.maps import IndexMap
from morello_layouts.maps.places import Unit, address_of, bits_of_unit
from morello_layouts.plain import Displayed
from morello_layouts.proof.equivalent import are_equivalent


@dataclass(frozen=True, slots=True, repr=False)
class Alignment(Displayed):
    """What divides every address.

    Attributes:
        number: the largest integer known to divide each address at all sizes; 0 if the only
            address is 0, which every number divides.
        formula: what divides each address, for symbolic sizes an expression; ``number`` divides
            it.
        unit: what addresses count.
        is_greatest: whether no larger integer divides all addresses; at symbolic sizes that is not
            claimed.
        decider: how it was proved.

    >>> from morello_layouts import alignment
    >>> found = alignment("f32[16,256]{1,0:T(8,128)}", tile=(8, 128))
    >>> print(found)
    every address is a multiple of 4096 bytes, and of no larger number. Decided by steps and ISL.
    """

    number: int
    formula: Any
    unit: Unit
    is_greatest: bool
    decider: str

    json_keys: ClassVar[tuple[str, ...]] = ("number", "formula", "unit", "is_greatest", "decider")

    def __int__(self) -> int:
        return self.number

    def __str__(self) -> str:
        if self.formula == 0:
            return "the only address is 0"
        unit = self.unit[:-1] if self.formula == 1 else self.unit
        text = f"every address is a multiple of {self.formula} {unit}"
        if self.formula != self.number:
            text += f", which is a multiple of {self.number} at all sizes"
        elif self.is_greatest:
            text += ", and of no larger number"
        return f"{text}. Decided by {self.decider}."


def alignment(
    m: IndexMap, unit: Unit = "bytes", base_alignment: int = 0, bits: int | None = None
) -> Alignment:
    """Return what divides every address of a map, as of :func:`morello_layouts.alignment`."""
    each, per = bits_of_unit(m, unit, bits)
    in_bits = each % per != 0
    address = address_of(m, "bits" if in_bits else unit, 0, bits)
    (form,) = address.forms
    if 0 in m.recipe.shape:
        raise UnsupportedError(
            f"{m.source or 'the array'} has no elements",
            "alignment is that of the addresses of elements",
            "ask about an array with elements",
        )
    found, is_greatest = divisor_of(form)
    decider = "steps"
    elements = prod(m.recipe.shape)
    if not is_greatest and isinstance(elements, int) and elements <= PROOF_ELEMENTS:
        found, is_greatest, decider = _enumerated(address), True, "enumeration"
    number = greatest_number(found)
    if decider == "steps" and number > 1:
        multiples = replace(address, given=(form // number * number,))
        answer = are_equivalent(replace(address, given=address.given), multiples)
        if answer.holds is False:
            raise AssertionError(f"a bug: {number} does not divide {form}: {answer.reason}")
        decider += " and ISL" if answer.holds else ""
    start = base_alignment * (per if in_bits else 1)
    found, number = common_divisor(found, start), gcd(number, start)
    if in_bits:
        found, number = _in_bytes(found, each), number // 8
    return Alignment(number, public_size(found, m.size_symbols), unit, is_greatest, decider)


def _enumerated(address: Any) -> int:
    import numpy as np

    at = np.indices(address.shape, sparse=True)
    return int(np.gcd.reduce(np.asarray(address(*at)), axis=None))


def _in_bytes(bits: Int, each: int) -> Int:
    if bits % 8:
        raise UnsupportedError(
            f"not every address is a whole byte: elements have {each} bits",
            f"the addresses are multiples of {bits} bits",
            'ask with unit="bits"',
        )
    return bits // 8
