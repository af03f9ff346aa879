"""Tensor memory layouts: from layout text to a simplified, proven index formula.

>>> import morello_layouts as ml
>>> m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
>>> m(2, 3)
17
>>> m.expr
2*(Mod(d0, 2)) + Mod(d1, 2) + 12*floor(d0/2) + 4*floor(d1/2)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from morello_layouts import codegen as codegen
    from morello_layouts import diagnostics as diagnostics
    from morello_layouts import exercises as exercises
    from morello_layouts import explanations as explanations
    from morello_layouts import expr as expr
    from morello_layouts import hlo as hlo
    from morello_layouts import kernels as kernels
    from morello_layouts import maps as maps
    from morello_layouts import notations as notations
    from morello_layouts import picture as picture
    from morello_layouts import proof as proof
    from morello_layouts import recipe as recipe
    from morello_layouts import tpu
    from morello_layouts.api import (
        are_equivalent,
        convert,
        draw,
        from_sympy,
        index_map,
        is_bijective,
        is_bitcast,
        is_injective,
        is_surjective,
        pack,
        relayout,
        simplify,
        unpack,
        verify,
    )
    from morello_layouts.api.code import code
    from morello_layouts.diagnostics import compare_hlo, diagnose, read_oom
    from morello_layouts.errors import (
        LayoutError,
        NoTranslationError,
        ParseError,
        ShapeError,
        TranslationNotFoundError,
        UnsupportedError,
    )
    from morello_layouts.explanations import explain
    from morello_layouts.expr.assumptions import Assumption
    from morello_layouts.hlo import read_hlo
    from morello_layouts.kernels.relayout import Relayout
    from morello_layouts.layout import Layout
    from morello_layouts.maps import AffineMap, IndexMap
    from morello_layouts.notations import morello as morello
    from morello_layouts.notations import parse
    from morello_layouts.notations import xla as xla
    from morello_layouts.notations.morello import MorelloLayout
    from morello_layouts.notations.xla import XlaLayout, XlaShape
    from morello_layouts.picture import Picture
    from morello_layouts.proof import Proof
    from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose

__version__ = "0.1.0"

__all__ = [
    "AffineMap",
    "Assumption",
    "IndexMap",
    "Layout",
    "LayoutError",
    "Merge",
    "MorelloLayout",
    "NoTranslationError",
    "Pad",
    "ParseError",
    "Picture",
    "Proof",
    "Recipe",
    "Relayout",
    "ShapeError",
    "Split",
    "TranslationNotFoundError",
    "Transpose",
    "UnsupportedError",
    "XlaLayout",
    "XlaShape",
    "are_equivalent",
    "code",
    "compare_hlo",
    "convert",
    "diagnose",
    "draw",
    "explain",
    "from_sympy",
    "index_map",
    "is_bijective",
    "is_bitcast",
    "is_injective",
    "is_surjective",
    "pack",
    "parse",
    "read_hlo",
    "read_oom",
    "relayout",
    "simplify",
    "tpu",
    "unpack",
    "verify",
]

_NAMES: Final = {
    "api": "are_equivalent code convert draw from_sympy index_map is_bijective is_bitcast"
    " is_injective is_surjective pack relayout simplify unpack verify",
    "diagnostics": "compare_hlo diagnose read_oom",
    "errors": "LayoutError NoTranslationError ParseError ShapeError TranslationNotFoundError"
    " UnsupportedError",
    "explanations": "explain",
    "expr.assumptions": "Assumption",
    "hlo": "read_hlo",
    "kernels.relayout": "Relayout",
    "layout": "Layout",
    "maps": "AffineMap IndexMap",
    "notations": "parse",
    "notations.morello": "MorelloLayout",
    "notations.xla": "XlaLayout XlaShape",
    "picture": "Picture",
    "proof": "Proof",
    "recipe": "Merge Pad Recipe Split Transpose",
}

_SUBMODULES: Final = {
    name.rpartition(".")[2]: name
    for name in (
        *("codegen", "diagnostics", "exercises", "explanations", "expr", "hlo", "kernels", "maps"),
        *("notations", "notations.morello", "notations.xla"),
        *("picture", "proof", "recipe", "tpu"),
    )
}

_MODULE_OF: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Load a public name or a submodule on first use."""
    if name in _SUBMODULES:
        value: Any = import_module(f"{__name__}.{_SUBMODULES[name]}")
    elif name in _MODULE_OF:
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__version__"})
