"""Tensor memory layouts: from layout text to a simplified, proven index formula.

>>> import morello_layouts as ml
>>> m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
>>> m(2, 3)
17
>>> m.expr
2*(Mod(d0, 2)) + Mod(d1, 2) + 12*floor(d0/2) + 4*floor(d1/2)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from morello_layouts.api import (
    are_equivalent,
    code,
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
from morello_layouts.api.translation import to_morello, to_xla
from morello_layouts.errors import (
    LayoutError,
    NoTranslationError,
    ParseError,
    ShapeError,
    TranslationNotFoundError,
    UnsupportedError,
)
from morello_layouts.expr import OPERATIONS, SHIFTS, CostModel
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.derivation import Derivation
from morello_layouts.kernels.relayout import Relayout
from morello_layouts.layout import Layout
from morello_layouts.maps import AffineMap, IndexMap, Inverse
from morello_layouts.maps.modes import Decomposition, Mode, Modes
from morello_layouts.notations import parse
from morello_layouts.notations.morello import (
    Dynamic,
    MorelloLayout,
    OddEven,
    Packed,
    batched_col_major,
    col_major,
    nhwc,
    row_major,
)
from morello_layouts.notations.xla import (
    COMBINE,
    SplitConfig,
    XlaBuffer,
    XlaLayout,
    XlaShape,
    XlaTuple,
)
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose

if TYPE_CHECKING:
    from morello_layouts import exercises, tpu
    from morello_layouts.diagnostics import (
        Diagnosis,
        HloComparison,
        OomReport,
        compare_hlo,
        diagnose,
        read_oom,
    )
    from morello_layouts.exercises import Exercise, Feedback
    from morello_layouts.hlo import (
        HloComputation,
        HloInstruction,
        HloMetadata,
        HloModule,
        HloProgramShape,
        read_hlo,
    )
    from morello_layouts.kernels.compiled import CompiledRelayout, SizedRelayout
    from morello_layouts.picture import Picture
    from morello_layouts.proof import Bitcast, Proof, SymbolicCounterexample

__version__ = "0.1.0"

__all__ = [
    "COMBINE",
    "OPERATIONS",
    "SHIFTS",
    "AffineMap",
    "Assumption",
    "Bitcast",
    "CompiledRelayout",
    "CostModel",
    "Decomposition",
    "Derivation",
    "Diagnosis",
    "Dynamic",
    "Exercise",
    "Feedback",
    "HloComparison",
    "HloComputation",
    "HloInstruction",
    "HloMetadata",
    "HloModule",
    "HloProgramShape",
    "IndexMap",
    "Inverse",
    "Layout",
    "LayoutError",
    "Merge",
    "Mode",
    "Modes",
    "MorelloLayout",
    "NoTranslationError",
    "OddEven",
    "OomReport",
    "Packed",
    "Pad",
    "ParseError",
    "Picture",
    "Proof",
    "Recipe",
    "Relayout",
    "ShapeError",
    "SizedRelayout",
    "Split",
    "SplitConfig",
    "SymbolicCounterexample",
    "TranslationNotFoundError",
    "Transpose",
    "UnsupportedError",
    "XlaBuffer",
    "XlaLayout",
    "XlaShape",
    "XlaTuple",
    "are_equivalent",
    "batched_col_major",
    "code",
    "col_major",
    "compare_hlo",
    "diagnose",
    "draw",
    "exercises",
    "from_sympy",
    "index_map",
    "is_bijective",
    "is_bitcast",
    "is_injective",
    "is_surjective",
    "nhwc",
    "pack",
    "parse",
    "read_hlo",
    "read_oom",
    "relayout",
    "row_major",
    "simplify",
    "to_morello",
    "to_xla",
    "tpu",
    "unpack",
    "verify",
]

# Loaded on first use: islpy, and what few programs need.
_LAZY = {
    "Bitcast": "proof",
    "HloComparison": "diagnostics",
    "CompiledRelayout": "kernels.compiled",
    "Diagnosis": "diagnostics",
    "Exercise": "exercises",
    "Feedback": "exercises",
    "HloComputation": "hlo",
    "HloInstruction": "hlo",
    "HloMetadata": "hlo",
    "HloModule": "hlo",
    "HloProgramShape": "hlo",
    "OomReport": "diagnostics",
    "Picture": "picture",
    "Proof": "proof",
    "SizedRelayout": "kernels.compiled",
    "SymbolicCounterexample": "proof",
    "compare_hlo": "diagnostics",
    "diagnose": "diagnostics",
    "exercises": "",
    "read_hlo": "hlo",
    "read_oom": "diagnostics",
    "tpu": "",
}


def __getattr__(name: str) -> Any:
    """Load a lazy name on first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if not _LAZY[name]:
        return import_module(f"morello_layouts.{name}")
    return getattr(import_module(f"morello_layouts.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
