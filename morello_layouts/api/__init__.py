"""The public functions: each takes text, layouts and index maps alike."""

from typing import TYPE_CHECKING

from morello_layouts.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.api.agreements import agree
    from morello_layouts.api.alignments import alignment
    from morello_layouts.api.arrays import pack, unpack
    from morello_layouts.api.certificates import certificate
    from morello_layouts.api.conversions import convert, convert_all
    from morello_layouts.api.formulas import from_sympy, simplify
    from morello_layouts.api.gpu import (
        bank_conflicts,
        best_swizzle,
        cache_lines,
        coalescing,
        fragments,
        register_relayout,
        vector_width,
    )
    from morello_layouts.api.indexing import indexing_map
    from morello_layouts.api.layouts import index_map, relayout
    from morello_layouts.api.pictures import draw
    from morello_layouts.api.proofs import (
        are_equivalent,
        is_bijective,
        is_bitcast,
        is_injective,
        is_surjective,
        verify,
    )
    from morello_layouts.api.shardings import rematerializations, reshard

__all__ = [
    "agree",
    "alignment",
    "are_equivalent",
    "bank_conflicts",
    "best_swizzle",
    "cache_lines",
    "certificate",
    "coalescing",
    "convert",
    "convert_all",
    "draw",
    "fragments",
    "from_sympy",
    "index_map",
    "indexing_map",
    "is_bijective",
    "is_bitcast",
    "is_injective",
    "is_surjective",
    "pack",
    "register_relayout",
    "relayout",
    "rematerializations",
    "reshard",
    "simplify",
    "unpack",
    "vector_width",
    "verify",
]

_MODULES = {
    "agreements": "agree",
    "alignments": "alignment",
    "arrays": "pack unpack",
    "certificates": "certificate",
    "conversions": "convert convert_all",
    "formulas": "from_sympy simplify",
    "gpu": "bank_conflicts best_swizzle cache_lines coalescing fragments register_relayout"
    " vector_width",
    "indexing": "indexing_map",
    "layouts": "index_map relayout",
    "pictures": "draw",
    "proofs": "are_equivalent is_bijective is_bitcast is_injective is_surjective verify",
    "shardings": "rematerializations reshard",
}

__getattr__ = loader(__name__, _MODULES)
