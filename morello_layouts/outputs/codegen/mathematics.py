"""Targets that state a map instead of computing it: MLIR's affine maps, LaTeX and SymPy."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from morello_layouts.core.expr import AffineExpr, BitXor, Digit, digit, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.conversions import latex, latex_int, to_sympy
from morello_layouts.core.expr.substitution import replace_atoms, replace_digits
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.codegen.language import (
    PADDING,
    PADDING_LAST,
    Formulas,
    Language,
    words,
)
from morello_layouts.outputs.codegen.operations import (
    Arithmetic,
    Lowering,
    Op,
    is_known_nonnegative,
    use_counts,
)
from morello_layouts.outputs.codegen.printer import IntType, Printer, Widths, fresh_names

_INDEX: Final = Widths(unsigned=False)


class _MlirPrinter(Printer):
    symbols: ClassVar[Mapping[Op, str]] = {Op.MUL: " * ", Op.DIV: " floordiv ", Op.MOD: " mod "}

    def literal(self, value: int, kind: IntType | None) -> str:
        # As in C, the smallest integer is a negated one that is out of range.
        return f"{value + 1} - 1" if value == -(2**63) else super().literal(value, kind)


class MlirLanguage(Language):
    """MLIR's affine expressions, over 64-bit integers; division rounds down."""

    name: ClassVar[str] = "mlir"
    title: ClassVar[str] = "MLIR"
    reserved: ClassVar[frozenset[str]] = words(
        "mod floordiv ceildiv affine_map affine_set symbol max min true false index"
    )

    def expression(self, formulas: Formulas) -> str:
        """Return the map from variables and sizes to the results."""
        return _affine_map(formulas, [form for _, form in formulas.results])

    def statements(self, formulas: Formulas) -> str:
        """Return the map to the results, then the set of the offsets that hold elements."""
        lines = [self.expression(formulas)]
        if formulas.limits is not None:
            lines.append(_elements(formulas))
        return "\n".join(lines)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a ``func.func`` over ``index``; the padding condition is the last result."""
        body = _MlirBody(formulas)
        names = [body.apply(form) for _, form in formulas.results]
        types = ["index"] * len(names)
        if formulas.limits is not None:
            limits = [(body.without_xors(form), n) for form, n in formulas.limits]
            names.append(f"%{next(body.fresh)}")
            elements = _elements(replace(body.formulas, limits=tuple(limits)))
            body.lines += [
                "%true = arith.constant true",
                "%false = arith.constant false",
                f"{names[-1]} = affine.if {elements}{body.inputs} -> i1 {{",
                "  affine.yield %false : i1",
                "} else {",
                "  affine.yield %true : i1",
                "}",
            ]
            types.append("i1")
        returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
        arguments = ", ".join(f"%{name}: index" for name in formulas.arguments)
        lines = [
            *(f"// {line}" for line in formulas.comment(PADDING_LAST)),
            f"func.func @{formulas.name}({arguments}) -> {returned} {{",
            *(f"  {line}" for line in body.lines),
            f"  return {', '.join(names)} : {', '.join(types)}",
            "}",
        ]
        return "\n".join(lines)


class _MlirBody:
    """The lines of a function; an exclusive or is a value of its own, which later maps take."""

    def __init__(self, formulas: Formulas) -> None:
        self.formulas = formulas  #: the formulas, with these values among the variables.
        self.lines: list[str] = []  #: the lines so far.
        self.fresh = fresh_names(formulas.arguments, "r")  #: names for results.
        self._xors: dict[BitXor, AffineExpr] = {}

    @property
    def inputs(self) -> str:
        """The values that an affine map takes."""
        dims = ", ".join(f"%{var.name}" for var in self.formulas.variables)
        sizes = ", ".join(f"%{name}" for name in self.formulas.sizes)
        return f"({dims})[{sizes}]" if sizes else f"({dims})"

    def apply(self, form: AffineExpr) -> str:
        """Compute a form, and return the name of its value."""
        affine = self.without_xors(form)
        name = f"%{next(self.fresh)}"
        text = _affine_map(self.formulas, [affine])
        self.lines.append(f"{name} = affine.apply {text}{self.inputs}")
        return name

    def without_xors(self, form: AffineExpr) -> AffineExpr:
        """Return a form over the values of its exclusive ors, after computing these."""
        return replace_atoms(form, self._atom)

    def _atom(self, atom: Digit | BitXor) -> AffineExpr:
        if isinstance(atom, Digit):
            return digit(self.without_xors(atom.operand), atom.divisor, atom.modulus)
        if atom not in self._xors:
            total, *parts = [self.apply(part) for part in atom.parts]
            for part in parts:
                name = next(self.fresh)
                self.lines.append(f"%{name} = arith.xori {total}, {part} : index")
                total = f"%{name}"
            self._xors[atom] = value = variable(name, *atom.interval)
            variables = (*self.formulas.variables, *value.variables())
            self.formulas = replace(self.formulas, variables=variables)
        return self._xors[atom]


def _elements(formulas: Formulas) -> str:
    """Return the set of offsets that hold elements."""
    conditions = [f"{_mlir(-form + (n - 1))} >= 0" for form, n in formulas.limits or ()]
    return f"affine_set<{_inputs(formulas)} : ({', '.join(conditions) or '0 == 0'})>"


def _affine_map(formulas: Formulas, forms: list[AffineExpr]) -> str:
    return f"affine_map<{_inputs(formulas)} -> ({', '.join(map(_mlir, forms))})>"


def _inputs(formulas: Formulas) -> str:
    dims = ", ".join(var.name for var in formulas.variables)
    sizes = ", ".join(formulas.sizes)
    return f"({dims})[{sizes}]" if sizes else f"({dims})"


def _mlir(form: AffineExpr) -> str:
    xors = [atom for atom in form.atoms() if isinstance(atom, BitXor)]
    if xors:
        raise UnsupportedError(
            f"MLIR's affine maps have no {xors[0]}",
            "a function computes it by arith.xori, between two maps",
            "ask for a function: function=True, or --function",
        )
    root = Lowering(Arithmetic(floors=True)).form(form)
    for node in use_counts([root]):
        _INDEX.operation(node)  # raises an UnsupportedError if 64 bits do not hold a value
    return _MlirPrinter(None).write([root], {})[root]


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
        """Return the only result."""
        ((_, form),) = formulas.results
        return _latex(form)

    def statements(self, formulas: Formulas) -> str:
        """Return every result, and the padding condition."""
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


class SympyLanguage(Language):
    """SymPy's text over ``floor``, ``Mod`` and our ``BitXor``, which is Python."""

    name: ClassVar[str] = "sympy"
    title: ClassVar[str] = "SymPy"
    reserved: ClassVar[frozenset[str]] = frozenset(
        [*keyword.kwlist, "Lambda", "Symbol", "Tuple", "Mod", "floor", "ceiling", "BitXor"]
    )

    def expression(self, formulas: Formulas) -> str:
        """Return the only result."""
        ((_, text),) = _sympy_results(formulas)
        return text

    def statements(self, formulas: Formulas) -> str:
        """Return every result, and the padding condition."""
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
        used = {"Lambda", "Symbol", *re.findall(r"\b(?:Mod|floor|ceiling|Tuple)\b", value)}
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
