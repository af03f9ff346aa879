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
    from morello_layouts import (
        check as check,
        notations as notations,
        proof as proof,
        tpu as tpu,
    )
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
    from morello_layouts.interfaces.api import (
        agree as agree,
        alignment as alignment,
        are_equivalent as are_equivalent,
        bank_conflicts as bank_conflicts,
        best_swizzle as best_swizzle,
        cache_lines as cache_lines,
        certificate as certificate,
        coalescing as coalescing,
        convert as convert,
        convert_all as convert_all,
        draw as draw,
        fragments as fragments,
        from_sympy as from_sympy,
        index_map as index_map,
        indexing_map as indexing_map,
        is_bijective as is_bijective,
        is_bitcast as is_bitcast,
        is_injective as is_injective,
        is_surjective as is_surjective,
        pack as pack,
        recover as recover,
        register_relayout as register_relayout,
        relayout as relayout,
        rematerializations as rematerializations,
        reshard as reshard,
        simplify as simplify,
        unpack as unpack,
        vector_width as vector_width,
        verify as verify,
    )
    from morello_layouts.interfaces.api.code import code as code
    from morello_layouts.interfaces.api.loops import loops as loops
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
    from morello_layouts.programs import (
        diagnostics as diagnostics,
        hlo as hlo,
        indexing as indexing,
    )
    from morello_layouts.programs.diagnostics import (
        compare_hlo as compare_hlo,
        diagnose as diagnose,
        diagnose_many as diagnose_many,
        memory as memory,
        read_oom as read_oom,
    )
    from morello_layouts.programs.hlo import read_hlo as read_hlo
    from morello_layouts.programs.records import (
        read_weights as read_weights,
        record as record,
    )
    from morello_layouts.proof import Proof as Proof

__version__ = "0.1.0"

_NAMES: Final = {
    "interfaces.api": "agree alignment are_equivalent bank_conflicts best_swizzle cache_lines"
    " certificate coalescing convert convert_all draw fragments from_sympy index_map indexing_map"
    " is_bijective is_bitcast is_injective is_surjective pack recover register_relayout"
    " relayout rematerializations reshard simplify unpack vector_width verify",
    "interfaces.api.code": "code",
    "interfaces.api.loops": "loops",
    "programs.diagnostics": "compare_hlo diagnose diagnose_many memory read_oom",
    "errors": "LayoutError NoTranslationError ParseError ShapeError TranslationNotFoundError"
    " UnsupportedError",
    "interfaces.explanations": "explain shards",
    "core.expr.assumptions": "Assumption",
    "programs.hlo": "read_hlo",
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
            "programs.hlo",
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

# What methods of values are short for, besides the public names.
_METHODS: Final = {
    "html_of": "interfaces.api.pictures",
    "sliders": "interfaces.api.pictures",
    "to_jax": "interfaces.api.objects",
    "to_torch": "interfaces.api.objects",
}

# The steps of a recipe and Morello's dimensions work as names here, and are listed where they are.
_UNLISTED: Final = {"Dynamic", "Merge", "OddEven", "Packed", "Pad", "Split", "Transpose"}

__all__ = sorted({*_MODULE_OF, "gpu", "tpu"} - _UNLISTED)  # noqa: PLE0605


_COMMANDS: Final = {
    "banks": "bank_conflicts",
    "bitcast": "is_bitcast",
    "default": "tpu.default_layout",
    "equal": "are_equivalent",
    "is_equivalent": "are_equivalent",
    "hlo": "read_hlo or diagnose",
    "oom": "read_oom",
    "prove": "is_bijective, is_injective, is_surjective or verify",
    "suggest": "tpu.suggest",
}


def _near(name: str) -> str:
    """Return the name that does what a name says, for an error; nothing about a module."""
    if find_spec(f"{__name__}.{name}"):  # a module, which is imported next
        return ""
    from difflib import get_close_matches

    near = _COMMANDS.get(name) or next(iter(get_close_matches(name, __all__, 1)), None)
    return f": use {near}" if near else ""


def __getattr__(name: str) -> Any:
    """Load a public name or a submodule on first use."""
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
