"""Closed integer intervals, each end possibly absent: what is known of a value's size."""

from __future__ import annotations

from typing import NamedTuple

from morello_layouts.expr.size import Number, Size, ceil_quotient, is_nonnegative

__all__ = ["EVERYTHING", "Interval"]


class Interval(NamedTuple):
    """The integers from ``lo`` to ``hi``, both included; None is no bound on that side.

    An interval with ``hi < lo`` is empty: the value of a coordinate along a dimension of size 0.
    """

    lo: Number | None
    hi: Number | None

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]
        return Interval(
            None if self.lo is None or other.lo is None else self.lo + other.lo,
            None if self.hi is None or other.hi is None else self.hi + other.hi,
        )

    def scale(self, factor: Number) -> Interval:
        """The interval of ``factor · x``."""
        if factor == 0:
            return Interval(0, 0)
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        if is_nonnegative(factor):
            return Interval(lo, hi)
        return Interval(hi, lo) if is_nonnegative(-factor) else EVERYTHING

    def floordiv(self, divisor: Number) -> Interval:
        """The interval of ``x // divisor``, divisor positive."""
        return Interval(_floor(self.lo, divisor), _floor(self.hi, divisor))

    def block(self, size: Number) -> Number | None:
        """The q for which every value lies in ``q·size .. q·size + size - 1``, if there is one."""
        lo, hi = self
        if lo is None or hi is None:
            return None
        q = _floor(lo, size)
        if type(q) is int and type(lo) is int and type(hi) is int and type(size) is int:
            return q if hi // size == q else None
        if q is None or not is_nonnegative(lo - q * size):
            return None
        return q if is_nonnegative((q + 1) * size - 1 - hi) else None

    def mod(self, modulus: Number) -> Interval:
        """The tightest interval of ``x mod modulus``, modulus positive."""
        q = self.block(modulus)
        if q is None:
            return Interval(0, modulus - 1)
        assert self.lo is not None
        assert self.hi is not None
        return Interval(self.lo - q * modulus, self.hi - q * modulus)

    def within(self, lo: Number, hi: Number) -> bool:
        """Whether every value is proved to lie in lo..hi."""
        if self.lo is None or self.hi is None:
            return False
        return is_nonnegative(self.lo - lo) and is_nonnegative(hi - self.hi)

    def __str__(self) -> str:
        lo = "-∞" if self.lo is None else str(self.lo)
        hi = "∞" if self.hi is None else str(self.hi)
        return f"{lo}..{hi}"


EVERYTHING = Interval(None, None)


def _floor(value: Number | None, divisor: Number) -> Number | None:
    """``value // divisor`` where it can be told, which is always so of integers."""
    if value is None:
        return None
    if not isinstance(value, Size) and not isinstance(divisor, Size):
        return value // divisor
    quotient, rest = divmod(value, divisor)
    if is_nonnegative(rest) and is_nonnegative(divisor - 1 - rest):
        return quotient
    if is_nonnegative(-1 - rest) and is_nonnegative(divisor + rest):
        return quotient - 1
    if isinstance(divisor, int) and is_nonnegative(value):
        return ceil_quotient(value + 1, divisor) - 1
    if isinstance(divisor, Size) and len(divisor.terms) == 1:
        ((monomial, factor),) = divisor.terms
        if factor > 1:  # x // (8·N) is (x // N) // 8
            return _floor(_floor(value, Size(((monomial, 1),))), factor)
    return None
