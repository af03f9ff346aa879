r"""Linear forms as LaTeX: floors as \lfloor x / s \rfloor, mods as x \bmod n."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from morello_layouts.expr.form import Atom, Digit, Linear, printing_order
from morello_layouts.expr.quotient import Quotient
from morello_layouts.expr.size import Monomial, Number, absolute, sign

__all__ = ["latex", "mapping", "number"]


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
    is_sum = not isinstance(value, int) and len(value.terms) > 1
    return rf"\left({number(value)}\right)" if is_sum else number(value)


def number(value: Number) -> str:
    r"""An integer or a symbolic size in LaTeX.

    >>> from morello_layouts.expr.size import Size, exact_quotient
    >>> print(number(24 * exact_quotient(Size.named("N"), 8) - 1))
    3 N - 1
    """
    if isinstance(value, int):
        return str(value)
    parts = [_monomial(monomial, c) for monomial, c in value.printing_order()]
    text = " ".join(parts)
    return text[2:] if text.startswith("+") else "-" + text[2:]


def _monomial(monomial: Monomial, c: int) -> str:
    count, factors = abs(c), []
    for name, power in monomial:
        text = _name(name) if isinstance(name, str) else _quotient(name)
        if isinstance(name, Quotient) and name.exact and power == 1:  # 24·(N/8) is 3·N
            shared = gcd(count, name.divisor)
            count //= shared
            text = _number(name.numerator)
            if shared < name.divisor:
                text = rf"\frac{{{number(name.numerator)}}}{{{name.divisor // shared}}}"
        factors.append(text if power == 1 else f"{text}^{{{power}}}")
    lead = [str(count)] if count != 1 or not monomial else []
    return f"{'-' if c < 0 else '+'} {' '.join(lead + factors)}"


def _quotient(quotient: Quotient) -> str:
    fraction = rf"\frac{{{number(quotient.numerator)}}}{{{quotient.divisor}}}"
    return fraction if quotient.exact else rf"\left\lceil {fraction} \right\rceil"


def _name(name: str) -> str:
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    stem = stem.replace("_", r"\_")
    return f"{stem}_{{{number}}}" if number else stem
