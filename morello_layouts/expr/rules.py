"""The simplifier's rules, as data.

Each rule is a small function named after what it does; its docstring is the identity it uses and
the side condition under which the identity holds. A rule looks at one node, a digit
``(x // s) mod n`` or a sum, and gives the form that replaces it, or None where it does not apply.
No rule looks below the node: the engine hands over nodes whose operands are simplified already.

Notation: x, y, r are linear forms; s, t, n, m, g positive integers; c an integer;
``[x]`` the interval of x over the bounds of its variables. "mod n" may be absent in every digit;
an absent modulus counts as infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import gcd

from morello_layouts.expr.form import Digit, Linear, Var, digit

__all__ = ["DIGIT_RULES", "SUM_RULES", "DigitRule", "SumRule"]


@dataclass(frozen=True, slots=True)
class DigitRule:
    """A named rewriting of a digit."""

    name: str
    apply: Callable[[Digit], Linear | None]

    @property
    def statement(self) -> str:
        """The identity and its side condition."""
        return _statement(self.apply)


@dataclass(frozen=True, slots=True)
class SumRule:
    """A named rewriting of a sum."""

    name: str
    apply: Callable[[Linear], Linear | None]

    @property
    def statement(self) -> str:
        """The identity and its side condition."""
        return _statement(self.apply)


def unwrap(d: Digit) -> Linear | None:
    """(x // 1) = x; x mod 1 = 0."""
    if d.modulus == 1:
        return Linear((), 0)
    if d.divisor == 1 and d.modulus is None:
        return d.of
    return None


def one_value(d: Digit) -> Linear | None:
    """(x // s) mod n = q   if the digit's interval over the bounds is the single value q."""
    lo, hi = d.interval
    return Linear((), lo) if lo is not None and lo == hi else None


def drop_mod(d: Digit) -> Linear | None:
    """(x // s) mod n = x // s - q·n   if [x // s] lies in q·n..q·n + n - 1."""
    if d.modulus is None:
        return None
    lo, hi = d.of.interval.floordiv(d.divisor)
    if lo is None or hi is None or lo // d.modulus != hi // d.modulus:
        return None
    return digit(d.of, d.divisor, None) + -(lo // d.modulus) * d.modulus


def nest(d: Digit) -> Linear | None:
    """((y // t) mod m // s) mod n = (y // (t·s)) mod k   if s divides m, and of n and m/s one
    divides the other; k is the smaller. With m absent always, and k = n.
    """
    inner = d.of.as_atom()
    if not isinstance(inner, Digit):
        return None
    if inner.modulus is None:
        return digit(inner.of, inner.divisor * d.divisor, d.modulus)
    if inner.modulus % d.divisor:
        return None
    rest = inner.modulus // d.divisor
    if d.modulus is not None and rest % d.modulus and d.modulus % rest:
        return None
    return digit(inner.of, inner.divisor * d.divisor, min(rest, d.modulus or rest))


def pull_multiples(d: Digit) -> Linear | None:
    """(s·y + r) // s = y + r // s; (s·n·y + r) // s mod n = (r // s) mod n   for any y; the
    constant of r ends up in 0..s-1, or in 0..s·n-1.
    """
    period = d.divisor * (d.modulus or 1)
    multiples, const = divmod(d.of.const, period)
    pulled = [(a, c // d.divisor) for a, c in d.of.terms if c % period == 0]
    if not pulled and not multiples:
        return None
    rest = Linear(tuple([t for t in d.of.terms if t[1] % period]), const)
    if d.modulus is not None:
        return digit(rest, d.divisor, d.modulus)
    return Linear(tuple(pulled), multiples) + digit(rest, d.divisor, None)


def drop_remainder(d: Digit) -> Linear | None:
    """((g·y + r) // s) mod n = ((y + q) // (s/g)) mod n   if g divides s and [r] lies in
    q·g..q·g + g - 1.
    """
    if d.divisor == 1:
        return None
    for g, y, _, q in _remainders(d, d.divisor):
        return digit(y + q, d.divisor // g, d.modulus)
    return None


def split_remainder(d: Digit) -> Linear | None:
    """((g·y + r) // s) mod n = (g/s)·((y + q) mod (n·s/g)) + (r - q·g) // s   if s divides g,
    g divides s·n, and [r] lies in q·g..q·g + g - 1.
    """
    if d.modulus is None:
        return None
    for g, y, r, q in _remainders(d, d.divisor * d.modulus):
        if g % d.divisor == 0:
            high = digit(y + q, 1, d.divisor * d.modulus // g)
            return high * (g // d.divisor) + digit(r - q * g, d.divisor, None)
    return None


def absorb_mod(d: Digit) -> Linear | None:
    """((c·(y mod m) + r) // s) mod n = ((c·y + r) // s) mod n   if s·n divides c·m."""
    if d.modulus is None:
        return None
    period = d.divisor * d.modulus
    for atom, c in d.of.terms:
        if isinstance(atom, Digit) and atom.modulus is not None and c * atom.modulus % period == 0:
            unbounded = digit(atom.of, atom.divisor, None) * c
            others = Linear(tuple([t for t in d.of.terms if t[0] is not atom]), d.of.const)
            return digit(others + unbounded, d.divisor, d.modulus)
    return None


def fix_variable(form: Linear) -> Linear | None:
    """c·v = c·q   if the variable v has the single value q."""
    if all(isinstance(a, Digit) or a.interval.lo != a.interval.hi for a, _ in form.terms):
        return None
    const, kept = form.const, []
    for atom, c in form.terms:
        lo, hi = atom.interval
        if isinstance(atom, Var) and lo is not None and lo == hi:
            const += c * lo
        else:
            kept.append((atom, c))
    return Linear(tuple(kept), const) if len(kept) < len(form.terms) else None


def join_digits(form: Linear) -> Linear | None:
    """c·((x // s) mod n) + c·n·((x // (s·n)) mod m) = c·((x // s) mod (n·m))."""
    by_position: dict[tuple[Linear, int], list[tuple[Digit, int]]] = {}
    for atom, c in form.terms:
        if isinstance(atom, Digit):
            by_position.setdefault((atom.of, atom.divisor), []).append((atom, c))
    for low, c in form.terms:
        if not isinstance(low, Digit) or low.modulus is None:
            continue
        n = low.modulus
        for high, k in by_position.get((low.of, low.divisor * n), ()):
            if k == c * n:
                joined = n * high.modulus if high.modulus is not None else None
                others = [t for t in form.terms if t[0] is not low and t[0] is not high]
                whole = digit(low.of, low.divisor, joined) * c
                return Linear.of((*others, *whole.terms), form.const)
    return None


DIGIT_RULES: tuple[DigitRule, ...] = (
    DigitRule("unwrap", unwrap),
    DigitRule("one-value", one_value),
    DigitRule("drop-mod", drop_mod),
    DigitRule("nest", nest),
    DigitRule("pull-multiples", pull_multiples),
    DigitRule("drop-remainder", drop_remainder),
    DigitRule("split-remainder", split_remainder),
    DigitRule("absorb-mod", absorb_mod),
)

SUM_RULES: tuple[SumRule, ...] = (
    SumRule("fix-variable", fix_variable),
    SumRule("join-digits", join_digits),
)


def _remainders(d: Digit, limit: int) -> Iterator[tuple[int, Linear, Linear, int]]:
    """Ways to write d's operand as g·y + r with g > 1 dividing ``limit`` and [r] in one block of
    g numbers, q·g..q·g + g - 1: tuples (g, y, r, q), largest g first.
    """
    steps = sorted({gcd(c, limit) for _, c in d.of.terms}, reverse=True)
    g = 0
    for step in steps:
        g = gcd(g, step)
        if g == 1:
            return
        high = [(a, c // g) for a, c in d.of.terms if c % g == 0]
        rest = Linear(tuple([t for t in d.of.terms if t[1] % g]), d.of.const)
        lo, hi = rest.interval
        if lo is not None and hi is not None and lo // g == hi // g:
            yield g, Linear(tuple(high), 0), rest, lo // g


def _statement(function: Callable[..., object]) -> str:
    return " ".join((function.__doc__ or "").split())
