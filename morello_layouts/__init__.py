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
    Relayout,
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
    to_morello,
    to_xla,
    unpack,
    verify,
)
from morello_layouts.api.untranslated import NoTranslationError, TranslationNotFoundError
from morello_layouts.errors import LayoutError, ParseError, ShapeError, UnsupportedError
from morello_layouts.expr import OPERATIONS, SHIFTS, CostModel
from morello_layouts.expr.assumption import Assumption
from morello_layouts.formula import Derivation, FormulaMap, IndexMap, Inverse, Lowerable
from morello_layouts.formula.separation import Separation, StrideRun, StrideRuns
from morello_layouts.morello import (
    Dynamic,
    MorelloLayout,
    OddEven,
    Packed,
    batched_col_major,
    col_major,
    nhwc,
    row_major,
)
from morello_layouts.notation import parse
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose
from morello_layouts.xla import COMBINE, SplitConfig, XlaBuffer, XlaLayout, XlaShape, XlaTuple

if TYPE_CHECKING:
    from morello_layouts import exercises, tpu
    from morello_layouts.codegen.kernel.compiled import CompiledRelayout
    from morello_layouts.codegen.kernel.sized import SizedRelayout
    from morello_layouts.doctor import (
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
    from morello_layouts.picture import Picture
    from morello_layouts.proof import AtSizes, Bitcast, Proof

__version__ = "0.1.0"

__all__ = [
    "COMBINE",
    "OPERATIONS",
    "SHIFTS",
    "Assumption",
    "AtSizes",
    "Bitcast",
    "Comparison",
    "CompiledRelayout",
    "CostModel",
    "Derivation",
    "Diagnosis",
    "Dynamic",
    "Exercise",
    "Feedback",
    "FormulaMap",
    "HloComputation",
    "HloInstruction",
    "HloMetadata",
    "HloModule",
    "HloProgramShape",
    "IndexMap",
    "Inverse",
    "LayoutError",
    "Lowerable",
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
    "Separation",
    "ShapeError",
    "SizedRelayout",
    "Split",
    "SplitConfig",
    "StrideRun",
    "StrideRuns",
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

_PROOF = {"AtSizes", "Bitcast", "Proof"}
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
        return getattr(import_module(f"morello_layouts.codegen.kernel.{_KERNELS[name]}"), name)
    if name in _MODULES:
        return import_module(f"morello_layouts.{name}")
    if name in _EXERCISES:
        return getattr(import_module("morello_layouts.exercises"), name)
    if name in _DOCTOR:
        return getattr(import_module("morello_layouts.doctor"), name)
    if name == "Picture":
        return import_module("morello_layouts.picture").Picture
    if name in _HLO:
        return getattr(import_module("morello_layouts.hlo"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
