"""Counters in place of divisions that no splitting of loops removes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from morello_layouts.expr import OPERATIONS, AffineExpr, Digit, canonicalize, variable
from morello_layouts.expr.sizes import is_nonnegative
from morello_layouts.expr.substitution import replace_digits, substitute
from morello_layouts.loop_nests.space import Axis

_LARGEST = 2**31
"""Counters stay below this, so that their type never depends on a step."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Quotient and rest of a sum that grows by the same in each turn of a loop.

    Attributes:
        quotient: the name of ``operand // divisor % modulus``; empty if nothing needs it.
        rest: the name of ``operand % divisor``.
        operand: the sum, over values of outer loops and the loop's variable.
        step: by how much it grows; at least 1.
        divisor: the divisor, above 1.
        modulus: the modulus of the quotient, or None.
    """

    quotient: str
    rest: str
    operand: AffineExpr
    step: int
    divisor: int
    modulus: int | None

    @property
    def digits(self) -> dict[str, Digit]:
        """What each name counts."""
        found = {self.rest: Digit(self.operand, 1, self.divisor)}
        if self.quotient:
            found[self.quotient] = Digit(self.operand, self.divisor, self.modulus)
        return found

    @property
    def cost(self) -> int:
        """Operations in each turn, without those of a carry."""
        wraps = self.modulus is not None and self.step >= self.divisor
        return 2 + (self.step >= self.divisor) + wraps

    def starts(self, axis: Axis, at: AffineExpr) -> Iterator[tuple[str, AffineExpr]]:
        """Yield the names with their first values, if the loop of an axis starts at a number."""
        for name, digit in self.digits.items():
            yield name, canonicalize(substitute(AffineExpr(((digit, 1),), 0), {axis.name: at}))

    def next(self, values: dict[str, int]) -> None:
        """Take a turn."""
        rest = values[self.rest] + self.step % self.divisor
        values[self.rest] = rest % self.divisor
        if self.quotient:
            grown = values[self.quotient] + self.step // self.divisor + rest // self.divisor
            is_over = self.modulus is not None and grown >= self.modulus
            values[self.quotient] = grown - (self.modulus or 0) * is_over


def counted(
    forms: Mapping[str, AffineExpr], axis: Axis, taken: set[str]
) -> tuple[dict[str, AffineExpr], tuple[Counter, ...]]:
    """Return forms with counters of an innermost loop in place of digits, where that is less work.

    >>> from morello_layouts.expr import variable
    >>> i, j = variable("i", 0, 9), Axis("j", "j", 1, 9)
    >>> forms, (counter,) = counted({"x": 8 * ((i + j.variable) // 4)}, j, {"i", "j"})
    >>> print(forms["x"], "with", counter.operand, counter.step, counter.divisor)
    8*q0 with i + j 1 4
    """
    found = _Counters(axis, taken)
    changed = {name: replace_digits(form, found.change) for name, form in forms.items()}
    before = sum(map(OPERATIONS.cost, forms.values()))
    after = sum(map(OPERATIONS.cost, changed.values())) + sum(c.cost for c in found.counters())
    return (changed, found.counters()) if after < before else (dict(forms), ())


class _Counters:
    """The counters of a loop so far, by operand and divisor."""

    def __init__(self, axis: Axis, taken: set[str]) -> None:
        self.axis, self.taken = axis, taken
        self.known: dict[tuple[AffineExpr, int, int | None], list[str]] = {}

    def change(self, digit: Digit) -> AffineExpr:
        """Return a digit's counter, or the digit."""
        s, n = digit.divisor, digit.modulus
        if s == 1 and n is not None:
            s, n, is_rest = n, None, True
        else:
            is_rest = False
        step = dict(digit.operand.terms).get(self.axis.variable.as_atom() or digit, 0)
        if not self._is_counted(digit.operand, step, s, n):
            operand = replace_digits(digit.operand, self.change)
            return AffineExpr(((Digit(operand, digit.divisor, digit.modulus), 1),), 0)
        assert isinstance(s, int)
        key = self._key(digit.operand, s, n if isinstance(n, int) else None, is_rest)
        names = self.known.setdefault(key, ["", self._fresh("r")])
        if is_rest:
            return variable(names[1], *digit.interval)
        names[0] = names[0] or self._fresh("q")
        return variable(names[0], *digit.interval)

    def _key(
        self, operand: AffineExpr, s: int, n: int | None, is_rest: bool
    ) -> tuple[AffineExpr, int, int | None]:
        """Return the key of a counter; a rest is that of any quotient."""
        same = [key for key in self.known if key[:2] == (operand, s)]
        return same[0] if is_rest and same else (operand, s, n)

    def _is_counted(self, operand: AffineExpr, step: object, s: object, n: object) -> bool:
        if not isinstance(step, int) or not isinstance(s, int) or not 0 < step < _LARGEST - s:
            return False
        if operand.has_digits or not (n is None or isinstance(n, int)):
            return False
        lo = operand.interval.lo
        if lo is None or not is_nonnegative(lo):
            return False
        return step % s != 0 and (n is None or step // s + 1 <= n)

    def _fresh(self, stem: str) -> str:
        k = 0
        while f"{stem}{k}" in self.taken:
            k += 1
        self.taken.add(f"{stem}{k}")
        return f"{stem}{k}"

    def counters(self) -> tuple[Counter, ...]:
        """Return the counters."""
        found = []
        for (operand, s, n), (quotient, rest) in self.known.items():
            step = dict(operand.terms)[self.axis.variable.terms[0][0]]
            assert isinstance(step, int)
            found.append(Counter(quotient, rest, operand, step, s, n))
        return tuple(found)
