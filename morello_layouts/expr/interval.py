"""Closed integer intervals, each end possibly absent: what is known of a value's size."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EVERYTHING", "Interval"]


class Interval(NamedTuple):
    """The integers from ``lo`` to ``hi``, both included; None is no bound on that side.

    An interval with ``hi < lo`` is empty: the value of a coordinate along a dimension of size 0.
    """

    lo: int | None
    hi: int | None

    def __add__(self, other: Interval) -> Interval:  # type: ignore[override]
        return Interval(
            None if self.lo is None or other.lo is None else self.lo + other.lo,
            None if self.hi is None or other.hi is None else self.hi + other.hi,
        )

    def scale(self, factor: int) -> Interval:
        """The interval of ``factor · x``."""
        if factor == 0:
            return Interval(0, 0)
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        return Interval(lo, hi) if factor > 0 else Interval(hi, lo)

    def floordiv(self, divisor: int) -> Interval:
        """The interval of ``x // divisor``, divisor positive."""
        return Interval(
            None if self.lo is None else self.lo // divisor,
            None if self.hi is None else self.hi // divisor,
        )

    def mod(self, modulus: int) -> Interval:
        """The tightest interval of ``x mod modulus``, modulus positive."""
        if self.lo is None or self.hi is None or self.lo // modulus != self.hi // modulus:
            return Interval(0, modulus - 1)
        return Interval(self.lo % modulus, self.hi % modulus)

    def within(self, lo: int, hi: int) -> bool:
        """Whether every value lies in lo..hi."""
        return self.lo is not None and self.hi is not None and lo <= self.lo and self.hi <= hi

    def __str__(self) -> str:
        lo = "-∞" if self.lo is None else str(self.lo)
        hi = "∞" if self.hi is None else str(self.hi)
        return f"{lo}..{hi}"


EVERYTHING = Interval(None, None)
