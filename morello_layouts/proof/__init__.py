"""Proofs by ISL. The only part of the package that imports islpy."""

from morello_layouts.proof.proof import AtSizes, Proof
from morello_layouts.proof.questions import (
    are_equal,
    are_equivalent,
    is_bijective,
    is_injective,
    is_surjective,
)
from morello_layouts.proof.verify import verify

__all__ = [
    "AtSizes",
    "Proof",
    "are_equal",
    "are_equivalent",
    "is_bijective",
    "is_injective",
    "is_surjective",
    "verify",
]
