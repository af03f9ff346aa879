"""Targets that state a map instead of computing it: LaTeX and SymPy."""

from __future__ import annotations

import keyword
import re
from typing import ClassVar, Final

from morello_layouts.core.expr import AffineExpr, Digit, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.conversions import latex, latex_int, to_sympy
from morello_layouts.core.expr.substitution import replace_digits
from morello_layouts.outputs.codegen.language import (
    PADDING,
    PADDING_LAST,
    Formulas,
    Language,
)
from morello_layouts.outputs.codegen.operations import is_known_nonnegative

_GREEK: Final = frozenset(
    re.findall(
        r"\w+",
        "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho"
        " sigma tau upsilon phi varphi chi psi omega",
    )
)
"""Commands of LaTeX that name a variable: any other could do more than print."""


class LatexLanguage(Language):
    r"""LaTeX, without dollar signs; several lines are an ``aligned`` block."""

    name: ClassVar[str] = "latex"
    title: ClassVar[str] = "LaTeX"

    def is_name(self, name: str) -> bool:
        r"""Whether a text may name a variable: mathematics has ``\lambda`` and ``x'``."""
        stem = name.rstrip("'")
        return stem.isidentifier() or (stem[:1] == "\\" and stem[1:] in _GREEK)

    def expression(self, formulas: Formulas) -> str:
        ((_, form),) = formulas.results
        return _latex(form)

    def statements(self, formulas: Formulas) -> str:
        lines = [f"{_latex_name(name)} &= {_latex(form)}" for name, form in formulas.results]
        return _aligned([*lines, *_latex_padding(formulas)])

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return the function's definition, with the bounds of its arguments."""
        inputs = ", ".join(map(_latex_name, formulas.arguments))
        values = [_latex(form) for _, form in formulas.results]
        value = values[0] if len(values) == 1 else rf"\left({', '.join(values)}\right)"
        name = formulas.name.replace("_", r"\_")
        lines = [rf"\mathrm{{{name}}}({inputs}) &= {value}", *_latex_padding(formulas)]
        for var in formulas.variables:
            lo, hi = var.interval
            left = "" if lo is None else rf"{latex_int(lo)} \le "
            right = "" if hi is None else rf" \le {latex_int(hi)}"
            if left or right:
                lines.append(f"& {left}{_latex_name(var.name)}{right}")
        lines += [f"& {_latex_assumption(one)}" for one in formulas.size_assumptions]
        return _aligned(lines)


def _latex(form: AffineExpr) -> str:
    return latex(_without_groups(form))


def _without_groups(form: AffineExpr) -> AffineExpr:
    def change(digit: Digit) -> AffineExpr:
        operand = _without_groups(digit.operand)
        if digit.is_group:
            return operand
        return AffineExpr(((Digit(operand, digit.divisor, digit.modulus), 1),), 0)

    return replace_digits(form, change)


def _latex_assumption(one: Assumption) -> str:
    name = _latex_name(one.name)
    if one.lo == one.hi:
        return f"{name} = {one.lo}"
    parts = [rf"{one.divisor} \mid {name}"] if one.divisor > 1 else []
    if one.lo > one.divisor or (one.divisor == 1 and one.hi is None):
        parts.append(rf"{name} \ge {one.lo}")
    if one.hi is not None:
        parts.append(rf"{name} \le {one.hi}")
    return r",\ ".join(parts)


def _latex_name(name: str) -> str:
    return latex(variable(name))


def _latex_padding(formulas: Formulas) -> list[str]:
    if formulas.limits is None:
        return []
    parts = [rf"{_latex(form)} \ge {latex_int(n)}" for form, n in formulas.limits]
    condition = r" \lor ".join(parts) or r"\mathrm{false}"
    return [rf"\mathrm{{padding}} &\iff {condition}"]


def _aligned(lines: list[str]) -> str:
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


_FUNCTIONS: Final = "Mod|floor|ceiling|Tuple|Max|Min|Piecewise|Eq|Ne"


class SympyLanguage(Language):
    """SymPy's text over ``floor``, ``Mod`` and our ``BitXor``, which is Python."""

    name: ClassVar[str] = "sympy"
    title: ClassVar[str] = "SymPy"
    reserved: ClassVar[frozenset[str]] = frozenset(
        [*keyword.kwlist, "Lambda", "Symbol", *_FUNCTIONS.split("|"), "BitXor"]
    )

    def expression(self, formulas: Formulas) -> str:
        ((_, text),) = _sympy_results(formulas)
        return text

    def statements(self, formulas: Formulas) -> str:
        return "\n".join(f"{name} = {text}" for name, text in _sympy_results(formulas))

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a module that makes the symbols and a ``Lambda``."""
        values = [text for _, text in _sympy_results(formulas)]
        symbols = [
            f'{var.name} = Symbol("{var.name}", integer=True'
            f"{', nonnegative=True' if is_known_nonnegative(var.interval) else ''})"
            for var in formulas.variables
        ]
        symbols += [
            f'{name} = Symbol("{name}", integer=True, positive=True)' for name in formulas.sizes
        ]
        comma = "," if len(formulas.arguments) == 1 else ""
        value = values[0] if len(values) == 1 else f"Tuple({', '.join(values)})"
        used = {"Lambda", "Symbol", *re.findall(rf"\b(?:{_FUNCTIONS})\b", value)}
        lines = [
            f"from sympy import {', '.join(sorted(used))}",
            *([_BIT_XOR] if "BitXor(" in value else []),
            "",
            *(f"# {line}" for line in formulas.comment(PADDING_LAST)),
            *symbols,
            f"{formulas.name} = Lambda(({', '.join(formulas.arguments)}{comma}), {value})",
        ]
        return "\n".join(lines)


_BIT_XOR: Final = "from morello_layouts.core.expr.sympy_functions import BitXor"
"""SymPy's own ``Xor`` is one of truth values."""


def _sympy_results(formulas: Formulas) -> list[tuple[str, str]]:
    """Return the names and texts of the results, the padding condition last if there is one."""
    found = [(name, str(to_sympy(form))) for name, form in formulas.results]
    if formulas.limits is not None:
        parts = [f"({to_sympy(form)} >= {n})" for form, n in formulas.limits]
        found.append((PADDING, " | ".join(parts) or "False"))
    return found
