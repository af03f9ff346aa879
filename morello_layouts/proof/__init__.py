"""Proofs by ISL, the integer set library. Only this folder imports islpy."""

from morello_layouts.proof.access import Outside
from morello_layouts.proof.agreement import Agreement, Difference
from morello_layouts.proof.bitcast import Bitcast, is_bitcast
from morello_layouts.proof.equivalent import are_equal
from morello_layouts.proof.verdict import Condition, Proof, SymbolicCounterexample
from morello_layouts.proof.verify import verify
from morello_layouts.proof.without_isl import (
    are_equivalent,
    is_bijective,
    is_injective,
    is_surjective,
)

__all__ = [
    "Agreement",
    "Bitcast",
    "Condition",
    "Difference",
    "Outside",
    "Proof",
    "SymbolicCounterexample",
    "are_equal",
    "are_equivalent",
    "is_bijective",
    "is_bitcast",
    "is_injective",
    "is_surjective",
    "verify",
]
