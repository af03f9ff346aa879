r"""Linear forms as LaTeX: floors as \lfloor x / s \rfloor, mods as x \bmod n."""

from __future__ import annotations

import re

from morello_layouts.expr.form import Atom, Digit, Linear

__all__ = ["latex"]


def latex(form: Linear) -> str:
    r"""The form in LaTeX, without dollar signs.

    >>> from morello_layouts.expr.form import variable
    >>> print(latex(24 * (variable("d1") // 4) + variable("d1") % 4))
    24 \left\lfloor \frac{d_{1}}{4} \right\rfloor + \left(d_{1} \bmod 4\right)
    """
    parts: list[str] = []
    for atom, c in sorted(form.terms, key=lambda t: (-abs(t[1]), t[0].key)):
        size = "" if abs(c) == 1 else f"{abs(c)} "
        parts.append(f"{'-' if c < 0 else '+'} {size}{_atom(atom)}")
    if form.const or not parts:
        parts.append(f"{'-' if form.const < 0 else '+'} {abs(form.const)}")
    text = " ".join(parts)
    return text[2:] if text.startswith("+") else "-" + text[2:]


def _atom(atom: Atom) -> str:
    if not isinstance(atom, Digit):
        name, number = re.fullmatch(r"(.*?)(\d*)", atom.name).groups()  # type: ignore[union-attr]
        name = name.replace("_", r"\_")
        return f"{name}_{{{number}}}" if number else name
    inner = latex(atom.of)
    if atom.divisor != 1:
        inner = rf"\left\lfloor \frac{{{inner}}}{{{atom.divisor}}} \right\rfloor"
    if atom.modulus is None:
        return inner
    if len(atom.of.terms) + (atom.of.const != 0) > 1 and atom.divisor == 1:
        inner = rf"\left({inner}\right)"
    return rf"\left({inner} \bmod {atom.modulus}\right)"
