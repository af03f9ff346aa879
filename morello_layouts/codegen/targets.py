"""The targets by name."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from morello_layouts.codegen.c_family import CLanguage, CudaLanguage
from morello_layouts.codegen.formulas import Formulas
from morello_layouts.codegen.language import Language
from morello_layouts.codegen.mlir import MlirLanguage
from morello_layouts.codegen.python import PythonLanguage, TritonLanguage
from morello_layouts.codegen.rust import RustLanguage
from morello_layouts.codegen.symbolic import LatexLanguage, SympyLanguage
from morello_layouts.errors import LayoutError

__all__ = ["TARGETS", "Target", "print_formulas"]

Target: TypeAlias = Literal["c", "cuda", "python", "rust", "mlir", "triton", "latex", "sympy"]
"""The name of a target."""

TARGETS: Final[tuple[str, ...]] = get_args(Target)
"""The names of all targets."""


def print_formulas(
    formulas: Formulas,
    target: str,
    *,
    shift: bool = False,
    function: bool = False,
    asserts: bool = False,
) -> str:
    """Formulas in a target: an expression; lines where several are asked for, or padding.

    Args:
        formulas: what to print.
        target: one of :data:`TARGETS`.
        shift: write shifts and masks for powers of two where operands are nonnegative.
        function: a whole function.
        asserts: the function checks its arguments.

    Raises:
        LayoutError: where there is no such target, or a name is none in it.
        UnsupportedError: where the target lacks what is asked for.

    >>> from morello_layouts.expr import variable
    >>> i = variable("i", 0, 31)
    >>> formulas = Formulas("f", "", i.variables(), (("value", 32 * (i // 8) + i % 8),))
    >>> print_formulas(formulas, "c"), print_formulas(formulas, "c", shift=True)
    ('32 * (i / 8) + i % 8', '((i >> 3) << 5) + (i & 7)')
    """
    language = _language(target, shift)
    if asserts and not function:
        raise LayoutError(
            "an expression holds no asserts",
            "asserts check the arguments of a function",
            "give function=True as well",
        )
    formulas.require_names(language.title, language.is_name)
    if function:
        return language.function(formulas, asserts=asserts)
    if formulas.is_single:
        return language.expression(formulas)
    return language.statements(formulas)


def _language(target: str, shift: bool) -> Language:
    match target:
        case "c":
            return CLanguage(shift=shift)
        case "cuda":
            return CudaLanguage(shift=shift)
        case "python":
            return PythonLanguage(shift=shift)
        case "rust":
            return RustLanguage(shift=shift)
        case "mlir":
            return MlirLanguage(shift=shift)
        case "triton":
            return TritonLanguage(shift=shift)
        case "latex":
            return LatexLanguage(shift=shift)
        case "sympy":
            return SympyLanguage(shift=shift)
        case _:
            raise LayoutError(
                f"no target is named {target!r}",
                f"the targets are {', '.join(TARGETS)}",
                "name one of them",
            )
