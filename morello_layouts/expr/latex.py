r"""Linear forms as LaTeX: floors as \lfloor x / s \rfloor, mods as x \bmod n."""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.expr.form import Atom, Digit, Linear, printing_order
from morello_layouts.expr.quotient import Quotient
from morello_layouts.expr.size import Monomial, Number, absolute, sign

__all__ = ["latex", "mapping"]


def latex(form: Linear) -> str:
    r"""The form in LaTeX, without dollar signs.

    >>> from morello_layouts.expr.form import variable
    >>> print(latex(24 * (variable("d1") // 4) + variable("d1") % 4))
    24 \left\lfloor \frac{d_{1}}{4} \right\rfloor + \left(d_{1} \bmod 4\right)
    """
    parts: list[str] = []
    for atom, c in printing_order(form.terms):
        size = "" if c in (1, -1) else f"{_number(absolute(c))} "
        parts.append(f"{'-' if sign(c) < 0 else '+'} {size}{_atom(atom)}")
    if form.const or not parts:
        parts.append(f"{'-' if sign(form.const) < 0 else '+'} {_number(absolute(form.const))}")
    text = " ".join(parts)
    return text[2:] if text.startswith("+") else "-" + text[2:]


def mapping(variables: Sequence[str], forms: Sequence[Linear]) -> str:
    r"""A map from variables to forms in display LaTeX, as notebooks show it.

    >>> from morello_layouts.expr.form import variable
    >>> print(mapping(["d0"], [2 * variable("d0")]))
    $$ d_{0} \mapsto 2 d_{0} $$
    """
    source, target = [_name(name) for name in variables], [latex(form) for form in forms]
    return rf"$$ {_tuple(source)} \mapsto {_tuple(target)} $$"


def _tuple(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else rf"\left({', '.join(parts)}\right)"


def _atom(atom: Atom) -> str:
    if not isinstance(atom, Digit):
        return _name(atom.name)
    inner = latex(atom.of)
    if atom.divisor != 1:
        divisor = _number(atom.divisor)
        inner = rf"\left\lfloor \frac{{{inner}}}{{{divisor}}} \right\rfloor"
    if atom.modulus is None:
        several = atom.is_group and len(atom.of.terms) + (atom.of.const != 0) > 1
        return rf"\left({inner}\right)" if several else inner
    if len(atom.of.terms) + (atom.of.const != 0) > 1 and atom.divisor == 1:
        inner = rf"\left({inner}\right)"
    return rf"\left({inner} \bmod {_number(atom.modulus)}\right)"


def _number(value: Number) -> str:
    """A number; a symbolic one in parentheses where it is a sum."""
    if isinstance(value, int):
        return str(value)
    parts = [_monomial(monomial, c) for monomial, c in value.printing_order()]
    text = " ".join(parts).removeprefix("+ ")
    return text if len(value.terms) == 1 else rf"\left({text}\right)"


def _monomial(monomial: Monomial, c: int) -> str:
    factors = [str(abs(c))] if abs(c) != 1 or not monomial else []
    for name, power in monomial:
        text = _quotient(name) if isinstance(name, Quotient) else _name(name)
        factors.append(text if power == 1 else f"{text}^{{{power}}}")
    return f"{'-' if c < 0 else '+'} {' '.join(factors)}"


def _quotient(quotient: Quotient) -> str:
    fraction = rf"\frac{{{_number(quotient.numerator)}}}{{{quotient.divisor}}}"
    return fraction if quotient.exact else rf"\left\lceil {fraction} \right\rceil"


def _name(name: str) -> str:
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    stem = stem.replace("_", r"\_")
    return f"{stem}_{{{number}}}" if number else stem
