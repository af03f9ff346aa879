"""SymPy expressions of integers as Python's text, without fractions."""

from __future__ import annotations

from math import lcm
from typing import Any


def python_text(expr: Any) -> str:
    """Return a SymPy expression of integers in ``+ - * // % ^``.

    >>> from sympy import Mod, Symbol, ceiling, floor
    >>> x = Symbol("x")
    >>> python_text(3 * floor(x / 8) + Mod(x, 8)), python_text(ceiling(x / 4))
    ('x % 8 + 3*(x//8)', '-((-x)//4)')
    """
    return _quotient(*_fraction(expr))


def _quotient(numerator: str, number: int, others: tuple[str, ...]) -> str:
    divisors = [*([str(number)] if number != 1 else []), *others]
    if not divisors:
        return numerator
    below = divisors[0] if len(divisors) == 1 else f"({'*'.join(divisors)})"
    return f"{_factor(numerator)}//{below}"


def _factor(text: str) -> str:
    """Return a text as an operand of any operator."""
    return text if text.isalnum() else f"({text})"


def _fraction(expr: Any) -> tuple[str, int, tuple[str, ...]]:
    """Return a numerator as text, and a denominator: a number, and texts of sizes."""
    if expr.is_Rational:
        return str(expr.p), int(expr.q), ()
    if expr.is_Symbol:
        return expr.name, 1, ()
    if expr.is_Add:
        return _sum([_fraction(arg) for arg in _ordered(expr)])
    if expr.is_Mul:
        parts = [_fraction(arg) for arg in _ordered(expr)]
        number = 1
        for _, q, _ in parts:
            number *= q
        numerators = [_factor(text) for text, *_ in parts if text != "1"]
        return "*".join(numerators) or "1", number, tuple(x for *_, own in parts for x in own)
    if expr.is_Pow and expr.exp.is_Integer:
        base = _factor(python_text(expr.base))
        if expr.exp > 0:
            return "*".join([base] * int(expr.exp)), 1, ()
        return "1", 1, (base,) * int(-expr.exp)
    inner, *others = expr.args
    match type(expr).__name__:
        case "BitXor":
            return f"({' ^ '.join(map(python_text, expr.args))})", 1, ()
        case "Mod":
            return f"{_factor(python_text(inner))} % {_factor(python_text(others[0]))}", 1, ()
        case "floor":
            return _quotient(*_fraction(inner)), 1, ()
        case "ceiling":
            numerator, number, below = _fraction(inner)
            return f"-({_quotient(f'-{_factor(numerator)}', number, below)})", 1, ()
    raise TypeError(f"no text of {type(expr).__name__}")


def _ordered(expr: Any) -> list[Any]:
    """Return the parts of a sum or product in an order that is always the same."""
    from sympy import default_sort_key

    return sorted(expr.args, key=default_sort_key)


def _sum(parts: list[tuple[str, int, tuple[str, ...]]]) -> tuple[str, int, tuple[str, ...]]:
    """Return a sum over the common denominator."""
    number = lcm(*(q for _, q, _ in parts))
    sizes = tuple(dict.fromkeys(x for *_, own in parts for x in own))
    texts = []
    for text, q, own in parts:
        factors = [
            *([str(number // q)] if number != q else []),
            *(x for x in sizes if x not in own),
        ]
        texts.append("*".join([*factors, _factor(text)]) if factors else text)
    return " + ".join(texts), number, sizes
