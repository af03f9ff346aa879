"""Tensor memory layouts: from layout text to a simplified, proven index formula.

>>> import morello_layouts as ml
>>> m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
>>> m(2, 3)
17
>>> m.expr
2*(Mod(d0, 2)) + Mod(d1, 2) + 12*floor(d0/2) + 4*floor(d1/2)
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.lazy import importing, offer

if TYPE_CHECKING:
    from morello_layouts import check as check, notations as notations, proof as proof, tpu as tpu
    from morello_layouts.core import expr as expr, maps as maps, recipe as recipe
    from morello_layouts.core.expr.assumptions import Assumption as Assumption
    from morello_layouts.core.layout import Layout as Layout
    from morello_layouts.core.maps import AffineMap as AffineMap, IndexMap as IndexMap
    from morello_layouts.core.recipe import (
        Merge as Merge,
        Pad as Pad,
        Recipe as Recipe,
        Split as Split,
        Transpose as Transpose,
    )
    from morello_layouts.errors import (
        LayoutError as LayoutError,
        NoTranslationError as NoTranslationError,
        ParseError as ParseError,
        ShapeError as ShapeError,
        TranslationNotFoundError as TranslationNotFoundError,
        UnsupportedError as UnsupportedError,
    )
    from morello_layouts.interfaces import (
        exercises as exercises,
        explanations as explanations,
        testing as testing,
    )
    from morello_layouts.interfaces.api.arrays import pack as pack, unpack as unpack
    from morello_layouts.interfaces.api.code import code as code
    from morello_layouts.interfaces.api.conversions import (
        convert as convert,
        convert_all as convert_all,
    )
    from morello_layouts.interfaces.api.formulas import (
        from_sympy as from_sympy,
        simplify as simplify,
    )
    from morello_layouts.interfaces.api.gpu import (  # longer names, too
        banks as bank_conflicts,  # noqa: F401
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
    from morello_layouts.interfaces.api.loops import loops as loops
    from morello_layouts.interfaces.api.pictures import draw as draw
    from morello_layouts.interfaces.api.proofs import (  # longer names, too
        agree as agree,
        alignment as alignment,
        bitcast as bitcast,
        bitcast as is_bitcast,  # noqa: F401
        certificate as certificate,
        equal as are_equivalent,  # noqa: F401
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
    from morello_layouts.interfaces.explanations import explain as explain, shards as shards
    from morello_layouts.machines import gpu as gpu, resharding as resharding
    from morello_layouts.notations import (
        cute as cute,
        morello as morello,
        parse as parse,
        strided as strided,
        xla as xla,
    )
    from morello_layouts.notations.morello import (
        Dynamic as Dynamic,
        MorelloLayout as MorelloLayout,
        OddEven as OddEven,
        Packed as Packed,
    )
    from morello_layouts.notations.sharding.objects import sharding as sharding
    from morello_layouts.notations.xla import XlaLayout as XlaLayout, XlaShape as XlaShape
    from morello_layouts.outputs import codegen as codegen, kernels as kernels, picture as picture
    from morello_layouts.outputs.kernels.relayout import Relayout as Relayout
    from morello_layouts.outputs.picture import Picture as Picture
    from morello_layouts.programs import diagnostics as diagnostics, indexing as indexing
    from morello_layouts.programs.diagnostics import (
        compare_hlo as compare_hlo,
        diagnose as diagnose,
        diagnose_many as diagnose_many,
        hlo as hlo,
        memory as memory,
    )
    from morello_layouts.programs.diagnostics.oom_report import (
        oom as oom,
        oom as read_oom,  # noqa: F401
    )
    from morello_layouts.programs.hlo import read_hlo as read_hlo
    from morello_layouts.programs.mlir import read_mlir as read_mlir
    from morello_layouts.programs.records import read_weights as read_weights, record as record
    from morello_layouts.proof import Proof as Proof

__version__ = "0.1.0"

_NAMES: Final = {
    "interfaces.api.arrays": "pack unpack",
    "interfaces.api.code": "code",
    "interfaces.api.conversions": "convert convert_all",
    "interfaces.api.formulas": "from_sympy simplify",
    "interfaces.api.gpu": "banks best_swizzle cache_lines coalescing fragments register_relayout"
    " vector_width",
    "interfaces.api.indexing": "indexing_map",
    "interfaces.api.layouts": "index_map relayout",
    "interfaces.api.loops": "loops",
    "interfaces.api.pictures": "draw",
    "interfaces.api.proofs": "agree alignment bitcast certificate equal is_bijective is_injective"
    " is_surjective prove verify",
    "interfaces.api.recovering": "recover",
    "interfaces.api.shardings": "rematerializations reshard",
    "programs.diagnostics": "compare_hlo diagnose diagnose_many hlo memory oom",
    "errors": "LayoutError NoTranslationError ParseError ShapeError TranslationNotFoundError"
    " UnsupportedError",
    "interfaces.explanations": "explain shards",
    "core.expr.assumptions": "Assumption",
    "programs.hlo": "read_hlo",
    "programs.mlir": "read_mlir",
    "programs.records": "read_weights record",
    "outputs.kernels.relayout": "Relayout",
    "core.layout": "Layout",
    "core.maps": "AffineMap IndexMap",
    "notations": "parse",
    "notations.morello": "Dynamic MorelloLayout OddEven Packed",
    "notations.sharding.objects": "sharding",
    "notations.xla": "XlaLayout XlaShape",
    "outputs.picture": "Picture",
    "proof": "Proof",
    "core.recipe": "Merge Pad Recipe Split Transpose",
}

_SUBMODULES: Final = {
    name.rpartition(".")[2]: name
    for name in (
        *(
            "check",
            "outputs.codegen",
            "programs.diagnostics",
            "interfaces.exercises",
            "interfaces.explanations",
            "interfaces.testing",
            "core.expr",
            "machines.gpu",
            "programs.indexing",
            "outputs.kernels",
            "core.maps",
        ),
        *("notations", "notations.cute", "notations.mlir", "notations.morello"),
        *("notations.onednn", "notations.strided", "notations.xla"),
        *("outputs.picture", "proof", "core.recipe", "machines.resharding", "tpu"),
    )
}

_MODULE_OF: Final = {name: module for module, names in _NAMES.items() for name in names.split()}

# Longer names, from before functions were called as their commands. They mean the same.
_LONGER: Final = {
    "are_equivalent": "equal",
    "bank_conflicts": "banks",
    "is_bitcast": "bitcast",
    "read_oom": "oom",
}

# What methods of values are short for, besides the public names.
_METHODS: Final = {
    "html_of": "interfaces.api.pictures",
    "local_part": "interfaces.explanations.holding",
    "sliders": "interfaces.api.pictures",
    "to_jax": "interfaces.api.conversions",
    "to_torch": "interfaces.api.conversions",
}

# These work as names here, too, and are listed where they are: steps of recipes, dimensions of
# Morello, types of answers, and functions that prove and hlo ask.
_UNLISTED: Final = {
    *("AffineMap", "Assumption", "Dynamic", "Merge", "NoTranslationError", "OddEven", "Packed"),
    *("Pad", "Picture", "Recipe", "Relayout", "Split", "Transpose", "TranslationNotFoundError"),
    *("compare_hlo", "convert_all", "diagnose", "diagnose_many", "is_bijective", "is_injective"),
    *("is_surjective", "rematerializations"),
}

__all__ = sorted({*_MODULE_OF, "gpu", "tpu"} - _UNLISTED)  # noqa: PLE0605


def _near(name: str) -> str:
    """Return the name that does what a name says, for an error; nothing about a module."""
    if find_spec(f"{__name__}.{name}"):  # a module, which is imported next
        return ""
    from difflib import get_close_matches

    with importing:
        from morello_layouts.interfaces.questions import answering

    near = answering(name) or next(iter(get_close_matches(name, __all__, 1)), None)
    return f": use {near}" if near else ""


def __getattr__(name: str) -> Any:
    """Load a public name or a submodule on first use."""
    name = _LONGER.get(name, name)
    if name not in _SUBMODULES and name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_near(name)}")
    with importing:
        if name in _SUBMODULES:
            value: Any = import_module(f"{__name__}.{_SUBMODULES[name]}")
        else:
            value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def _offered(name: str) -> Any:
    """Return a function for a method that is short for it."""
    if name in _METHODS:
        with importing:
            return getattr(import_module(f"{__name__}.{_METHODS[name]}"), name)
    return __getattr__(name)


offer(_offered)


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__version__"})
