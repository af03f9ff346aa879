"""LaTeX and SymPy: mathematics, not programs."""

from __future__ import annotations

import keyword
import re
from typing import ClassVar

from morello_layouts.codegen.language import PADDING, PADDING_LAST, Formulas, Language, unsupported
from morello_layouts.expr import AffineExpr, Atom, Digit, variable
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.conversions import latex, latex_int, to_sympy
from morello_layouts.expr.sizes import Int, SizeExpr, is_nonnegative


class LatexLanguage(Language):
    r"""LaTeX, without dollar signs; several lines are an ``aligned`` block."""

    name: ClassVar[str] = "latex"
    title: ClassVar[str] = "LaTeX"

    def is_name(self, name: str) -> bool:
        r"""Whether a text may name a variable: mathematics has ``\lambda`` and ``x'``."""
        return name.isprintable() and name != ""

    def __init__(self, *, shift: bool = False) -> None:
        if shift:
            raise unsupported(self.title, "shifts", "leave shift=True out")

    def expression(self, formulas: Formulas) -> str:
        """The only result."""
        ((_, form),) = formulas.results
        return _latex(form)

    def statements(self, formulas: Formulas) -> str:
        """Every result, and where padding is."""
        lines = [f"{_named(name)} &= {_latex(form)}" for name, form in formulas.results]
        if formulas.limits is not None:
            lines.append(rf"\mathrm{{padding}} &\iff {_padding(formulas)}")
        return _aligned(lines)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """The function's definition, with the bounds of its arguments."""
        if asserts:
            raise unsupported(self.title, "asserts", "leave asserts=True out")
        inputs = ", ".join(map(_named, formulas.arguments))
        values = [_latex(form) for _, form in formulas.results]
        value = values[0] if len(values) == 1 else rf"\left({', '.join(values)}\right)"
        name = formulas.name.replace("_", r"\_")
        lines = [rf"\mathrm{{{name}}}({inputs}) &= {value}"]
        if formulas.limits is not None:
            lines.append(rf"\mathrm{{padding}} &\iff {_padding(formulas)}")
        for var in formulas.variables:
            lo, hi = (None if end is None else _number(end) for end in var.interval)
            left = "" if lo is None else rf"{lo} \le "
            right = "" if hi is None else rf" \le {hi}"
            if left or right:
                lines.append(f"& {left}{_named(var.name)}{right}")
        known = {one.name: one for one in formulas.assumptions}
        lines += [f"& {_assumed(known.get(name, Assumption(name)))}" for name in formulas.sizes]
        return _aligned(lines)


class SympyLanguage(Language):
    """SymPy's text over ``floor`` and ``Mod``, which is Python."""

    name: ClassVar[str] = "sympy"
    title: ClassVar[str] = "SymPy"
    reserved: ClassVar[frozenset[str]] = frozenset(
        [*keyword.kwlist, "Lambda", "Symbol", "Tuple", "Mod", "floor", "ceiling"]
    )

    def __init__(self, *, shift: bool = False) -> None:
        if shift:
            raise unsupported(self.title, "shifts", "leave shift=True out")

    def expression(self, formulas: Formulas) -> str:
        """The only result."""
        ((_, form),) = formulas.results
        return str(to_sympy(form))

    def statements(self, formulas: Formulas) -> str:
        """Every result, and the padding condition."""
        lines = [f"{name} = {to_sympy(form)}" for name, form in formulas.results]
        if formulas.limits is not None:
            parts = [f"({to_sympy(form)} >= {n})" for form, n in formulas.limits]
            lines.append(f"{PADDING} = {' | '.join(parts) or 'False'}")
        return "\n".join(lines)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A module that makes the symbols and a ``Lambda``."""
        if asserts:
            raise unsupported(self.title, "asserts", "leave asserts=True out")
        values = [str(to_sympy(form)) for _, form in formulas.results]
        if formulas.limits is not None:
            parts = [f"({to_sympy(form)} >= {n})" for form, n in formulas.limits]
            values.append(" | ".join(parts) or "False")
        single = len(values) == 1
        symbols = [
            f'{var.name} = Symbol("{var.name}", integer=True'
            f"{', nonnegative=True' if _is_nonnegative(var.interval.lo) else ''})"
            for var in formulas.variables
        ]
        symbols += [f'{name} = Symbol("{name}", integer=True, positive=True)'
                    for name in formulas.sizes]  # fmt: skip
        comma = "," if len(formulas.arguments) == 1 else ""
        about = formulas.comment(PADDING_LAST)
        value = values[0] if single else f"Tuple({', '.join(values)})"
        words = {"Lambda", "Symbol", *re.findall(r"\b(?:Mod|floor|ceiling|Tuple)\b", value)}
        return "\n".join(
            [
                f"from sympy import {', '.join(sorted(words))}",
                "",
                *(f"# {line}" for line in about),
                *symbols,
                f"{formulas.name} = Lambda(({', '.join(formulas.arguments)}{comma}), {value})",
            ]
        )


def _latex(form: AffineExpr) -> str:
    """The form, sums with a factor multiplied out."""
    return latex(_without_groups(form))


def _without_groups(form: AffineExpr) -> AffineExpr:
    terms: list[tuple[Atom, Int]] = []
    const = form.const
    for atom, c in form.terms:
        if not isinstance(atom, Digit):
            terms.append((atom, c))
            continue
        of = _without_groups(atom.operand)
        if atom.is_group:
            terms += [(a, c * factor) for a, factor in of.terms]
            const = const + c * of.const
        else:
            terms.append((Digit(of, atom.divisor, atom.modulus), c))
    return AffineExpr.from_terms(terms, const)


def _assumed(one: Assumption) -> str:
    """What is known of a size."""
    name = _named(one.name)
    if one.lo == one.hi:
        return f"{name} = {one.lo}"
    parts = [rf"{one.divisor} \mid {name}"] if one.divisor > 1 else []
    if one.lo > one.divisor or (one.divisor == 1 and one.hi is None):
        parts.append(rf"{name} \ge {one.lo}")
    if one.hi is not None:
        parts.append(rf"{name} \le {one.hi}")
    return r",\ ".join(parts)


def _is_nonnegative(lo: object) -> bool:
    return isinstance(lo, int | SizeExpr) and is_nonnegative(lo)


def _number(value: object) -> str:
    """An end of a bound."""
    assert isinstance(value, int | SizeExpr)
    return latex_int(value)


def _named(name: str) -> str:
    return latex(variable(name))


def _padding(formulas: Formulas) -> str:
    parts = [rf"{_latex(form)} \ge {_number(n)}" for form, n in formulas.limits or ()]
    return r" \lor ".join(parts) or r"\mathrm{false}"


def _aligned(lines: list[str]) -> str:
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"
