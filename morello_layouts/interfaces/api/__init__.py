"""The public functions: each takes text, layouts and index maps alike."""

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.interfaces.api.arrays import pack as pack, unpack as unpack
    from morello_layouts.interfaces.api.conversions import (
        convert as convert,
        convert_all as convert_all,
    )
    from morello_layouts.interfaces.api.formulas import (
        from_sympy as from_sympy,
        simplify as simplify,
    )
    from morello_layouts.interfaces.api.gpu import (
        banks as banks,
        best_swizzle as best_swizzle,
        cache_lines as cache_lines,
        coalescing as coalescing,
        fragments as fragments,
        register_relayout as register_relayout,
        vector_width as vector_width,
    )
    from morello_layouts.interfaces.api.indexing import indexing_map as indexing_map
    from morello_layouts.interfaces.api.layouts import index_map as index_map, relayout as relayout
    from morello_layouts.interfaces.api.pictures import draw as draw
    from morello_layouts.interfaces.api.proofs import (
        agree as agree,
        alignment as alignment,
        bitcast as bitcast,
        certificate as certificate,
        equal as equal,
        is_bijective as is_bijective,
        is_injective as is_injective,
        is_surjective as is_surjective,
        prove as prove,
        verify as verify,
    )
    from morello_layouts.interfaces.api.recovering import recover as recover
    from morello_layouts.interfaces.api.shardings import (
        rematerializations as rematerializations,
        reshard as reshard,
    )

_MODULES = {
    "arrays": "pack unpack",
    "conversions": "convert convert_all",
    "formulas": "from_sympy simplify",
    "gpu": "banks best_swizzle cache_lines coalescing fragments register_relayout vector_width",
    "indexing": "indexing_map",
    "layouts": "index_map relayout",
    "pictures": "draw",
    "proofs": "agree alignment bitcast certificate equal is_bijective is_injective is_surjective"
    " prove verify",
    "recovering": "recover",
    "shardings": "rematerializations reshard",
}

__all__ = sorted(" ".join(_MODULES.values()).split())  # noqa: PLE0605

__getattr__ = loader(__name__, _MODULES)
