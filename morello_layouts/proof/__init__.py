"""Proofs by ISL, the integer set library. Only this folder imports islpy."""

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.proof.access import Outside as Outside
    from morello_layouts.proof.agreement import Agreement as Agreement, Difference as Difference
    from morello_layouts.proof.bitcast import Bitcast as Bitcast, is_bitcast as is_bitcast
from morello_layouts.proof.equivalent import are_equal as are_equal
from morello_layouts.proof.verdict import (
    Condition as Condition,
    Proof as Proof,
    SymbolicCounterexample as SymbolicCounterexample,
)
from morello_layouts.proof.verify import (
    are_equivalent as are_equivalent,
    is_bijective as is_bijective,
    is_injective as is_injective,
    is_surjective as is_surjective,
    verify as verify,
)

__getattr__ = loader(
    __name__,
    {"access": "Outside", "agreement": "Agreement Difference", "bitcast": "Bitcast is_bitcast"},
)
