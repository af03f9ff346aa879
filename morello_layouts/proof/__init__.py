"""Proofs by ISL. The only part of the package that imports islpy."""

from morello_layouts.proof.bijection import is_bijective, is_injective, is_surjective
from morello_layouts.proof.bitcast import Bitcast, is_bitcast
from morello_layouts.proof.equivalence import are_equal, are_equivalent
from morello_layouts.proof.proof import AtSizes, Proof
from morello_layouts.proof.verify import verify

__all__ = [
    "AtSizes",
    "Bitcast",
    "Proof",
    "are_equal",
    "are_equivalent",
    "is_bijective",
    "is_bitcast",
    "is_injective",
    "is_surjective",
    "verify",
]
