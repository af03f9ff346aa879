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
from morello_layouts.translate.translate import to_morello, to_xla

if TYPE_CHECKING:
    from morello_layouts import exercises, tpu
    from morello_layouts.diagnostics import (
        Comparison,
        Diagnosis,
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
    from morello_layouts.kernels.compiled import CompiledRelayout
    from morello_layouts.kernels.sized import SizedRelayout
    from morello_layouts.picture import Picture
    from morello_layouts.proof import Bitcast, Proof, SymbolicCounterexample

__version__ = "0.1.0"

__all__ = [
    "COMBINE",
    "OPERATIONS",
    "SHIFTS",
    "Assumption",
    "SymbolicCounterexample",
    "Bitcast",
    "Comparison",
    "CompiledRelayout",
    "CostModel",
    "Derivation",
    "Diagnosis",
    "Dynamic",
    "Exercise",
    "Feedback",
    "AffineMap",
    "HloComputation",
    "HloInstruction",
    "HloMetadata",
    "HloModule",
    "HloProgramShape",
    "IndexMap",
    "Inverse",
    "LayoutError",
    "Layout",
    "Merge",
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
    "Decomposition",
    "ShapeError",
    "SizedRelayout",
    "Split",
    "SplitConfig",
    "Mode",
    "Modes",
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

_PROOF = {"SymbolicCounterexample", "Bitcast", "Proof"}
_DOCTOR = {"Comparison", "Diagnosis", "OomReport", "compare_hlo", "diagnose", "read_oom"}
_EXERCISES = {"Exercise", "Feedback"}
_KERNELS = {"CompiledRelayout": "compiled", "SizedRelayout": "sized"}
_MODULES = {"exercises", "tpu"}
_HLO = {name for name in __all__ if name.startswith("Hlo")} | {"read_hlo"}


def __getattr__(name: str) -> Any:
    """Load on first use what brings islpy, such as ``Proof``; and what few need, such as HLO."""
    if name in _PROOF:
        return getattr(import_module("morello_layouts.proof"), name)
    if name in _KERNELS:
        return getattr(import_module(f"morello_layouts.kernels.{_KERNELS[name]}"), name)
    if name in _MODULES:
        return import_module(f"morello_layouts.{name}")
    if name in _EXERCISES:
        return getattr(import_module("morello_layouts.exercises"), name)
    if name in _DOCTOR:
        return getattr(import_module("morello_layouts.diagnostics"), name)
    if name == "Picture":
        return import_module("morello_layouts.picture").Picture
    if name in _HLO:
        return getattr(import_module("morello_layouts.hlo"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
