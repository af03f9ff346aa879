"""Proofs by ISL. The only part of the package that imports islpy."""

from morello_layouts.proof.proof import Proof
from morello_layouts.proof.questions import (
    are_equal,
    are_equivalent,
    is_bijective,
    is_injective,
    is_surjective,
    verify,
)

__all__ = [
    "Proof",
    "are_equal",
    "are_equivalent",
    "is_bijective",
    "is_injective",
    "is_surjective",
    "verify",
]
