"""Integer types: the narrowest that hold every intermediate value, by its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from morello_layouts.codegen.operations import Node, Op, is_known_nonnegative
from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import Interval
from morello_layouts.expr.bounds import UNBOUNDED, range_of_xor
from morello_layouts.expr.sizes import Int, Monomial, SizeExpr


class IntType(Enum):
    """An integer type: its name in Rust, its bits, and whether it has a sign."""

    U32 = ("u32", 32, False)
    I32 = ("i32", 32, True)
    U64 = ("u64", 64, False)
    I64 = ("i64", 64, True)

    def __init__(self, text: str, bits: int, signed: bool) -> None:
        self.text, self.bits, self.signed = text, bits, signed

    @property
    def largest(self) -> int:
        """The largest value of the type."""
        return (1 << self.bits - self.signed) - 1

    @property
    def smallest(self) -> int:
        """The smallest value of the type."""
        return -self.largest - 1 if self.signed else 0


@dataclass(frozen=True, slots=True)
class Widths:
    """The choice of types: 32 bits if the bounds prove that all values fit, else 64 bits.

    Values without a known bound are assumed to fit 64 bits. Types without negative values are
    unsigned.

    Attributes:
        declared: whether the program declares the types of its variables. Otherwise these may have
            any integer type of at least 32 bits, with or without a sign: then 32-bit arithmetic
            stays below 2^31, and variables are converted before 64-bit arithmetic.
        unsigned: whether the target has unsigned types.
        sizes: bounds of symbolic sizes; a size without bounds is at least 1.

    >>> Widths().kind(Interval(0, 2**32 - 1)).text, Widths().kind(Interval(-1, 2**31)).text
    ('u32', 'i64')
    """

    declared: bool = True
    unsigned: bool = True
    sizes: Mapping[str, Interval] = field(default_factory=dict)
    _known: dict[Node, IntType] = field(default_factory=dict, compare=False, repr=False)
    _bounds: dict[Node, Interval] = field(default_factory=dict, compare=False, repr=False)

    def kind(self, *intervals: Interval, signed: bool = False) -> IntType:
        """Return the narrowest type that holds some intervals, with a sign if ``signed``.

        Raises:
            UnsupportedError: if 64 bits do not hold them.
        """
        is_nonnegative = all(is_known_nonnegative(i) for i in intervals)
        is_unsigned = is_nonnegative and self.unsigned and not signed
        kinds = (IntType.U32, IntType.U64) if is_unsigned else (IntType.I32, IntType.I64)
        ends = [(self._ends(i.lo)[0], self._ends(i.hi)[1]) for i in intervals]
        lows = [lo for lo, _ in ends if lo is not None]
        highs = [hi for _, hi in ends if hi is not None]
        is_known = len(highs) == len(intervals) and (is_nonnegative or len(lows) == len(intervals))
        for kind in kinds:
            is_narrow = kind.bits == 32 and not self.declared
            largest = min(kind.largest, 2**31 - 1) if is_narrow else kind.largest
            if (kind.bits == 32 and not is_known) or max(highs, default=0) > largest:
                continue
            if min(lows, default=0) >= kind.smallest:
                return kind
        raise UnsupportedError(
            f"a value from {min(lows, default=0)} to {max(highs, default=0)} does not fit 64 bits",
            "this target computes in integers of 32 and 64 bits",
            "choose the target python, whose integers grow, or a smaller shape",
        )

    def _ends(self, value: Int | None) -> tuple[int | None, int | None]:
        """Return the smallest and largest value of a size; None for an end without bound."""
        if not isinstance(value, SizeExpr):
            return value, value
        lo: int | None = 0
        hi: int | None = 0
        for monomial, c in value.terms:
            ends = self._ends_of_product(monomial)
            least, most = ends if c > 0 else ends[::-1]
            lo = None if lo is None or least is None else lo + c * least
            hi = None if hi is None or most is None else hi + c * most
        return lo, hi

    def _ends_of_product(self, monomial: Monomial) -> tuple[int | None, int | None]:
        """Return the smallest and largest product of sizes, all of which are at least 1."""
        least = 1
        largest: int | None = 1
        for name, power in monomial:
            if isinstance(name, str):
                lo, hi = self.sizes.get(name, Interval(1, None))
            else:
                low, high = self._ends(name.numerator)
                least_divisor, largest_divisor = self._ends(name.divisor)
                lo = None if low is None else -(-low // (largest_divisor or max(low, 1)))
                hi = None if high is None else -(-high // max(least_divisor or 1, 1))
            least *= max(lo, 1) ** power if isinstance(lo, int) else 1
            largest = largest * hi**power if largest is not None and isinstance(hi, int) else None
        return least, largest

    def bounds(self, node: Node) -> Interval:
        """Return the smallest and largest value of a node, by its own and its operands' bounds."""
        known = self._bounds.get(node)
        if known is None:
            known = self._numbers(node.interval)
            if not node.is_leaf and not node.is_condition:
                known = _meet(known, self._of_operands(node))
            self._bounds[node] = known
        return known

    def _numbers(self, values: Interval) -> Interval:
        lo, hi = self._ends(values.lo)[0], self._ends(values.hi)[1]
        return _meet(Interval(lo, hi), Interval(0 if is_known_nonnegative(values) else None, None))

    def _of_operands(self, node: Node) -> Interval:
        """Return the bounds of a result that follow from those of the operands."""
        if node.op is Op.SUM:
            return self._partial_sums(node)[-1]
        if node.op is Op.XOR:
            return range_of_xor([self.bounds(arg) for arg in node.args])
        first, second = map(self.bounds, node.args)
        lo, hi = first
        least, most = second
        if not isinstance(lo, int) or not isinstance(least, int) or lo < 0 or least < 0:
            return UNBOUNDED
        match node.op:
            case Op.MUL if isinstance(hi, int) and isinstance(most, int):
                return Interval(lo * least, hi * most)
            case Op.DIV if isinstance(hi, int):
                return Interval(0, hi // max(least, 1))
            case Op.MOD:
                ends = [hi, None if most is None else most - 1]
                return Interval(0, min((end for end in ends if end is not None), default=None))
        return UNBOUNDED

    def _partial_sums(self, node: Node) -> list[Interval]:
        """Return the bounds of the sums of a sum's first terms."""
        known, total, sums = self._numbers(node.reach), Interval(0, 0), []
        for arg, sign in zip(node.args, node.value, strict=True):
            total = total + self.bounds(arg).scale(sign)
            sums.append(_meet(total, known))
        return sums

    def operation(self, node: Node) -> IntType:
        """Return the type in which an operation is computed: it holds all operands and results.

        Only for an unsigned division or remainder is a conversion to fewer bits worth its cost.
        """
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._operation(node)
        return known

    def _operation(self, node: Node) -> IntType:
        args = node.args[:1] if node.op in (Op.SHL, Op.SHR) else node.args
        intervals = [self.bounds(arg) for arg in args]
        if not node.is_condition:
            intervals.append(self.bounds(node))
        if node.op is Op.SUM:
            intervals += self._partial_sums(node)
        kinds = [
            self.result(arg) for arg in args if arg.op is not Op.CONST and not arg.is_condition
        ]
        is_division = node.op in (Op.DIV, Op.MOD)
        is_signed = any(kind.signed for kind in kinds)
        own = self.kind(*intervals, signed=is_division and is_signed)
        if (is_division and not is_signed) or all(kind.bits == 32 for kind in kinds):
            return own
        return IntType.I64 if own.signed else IntType.U64

    def result(self, node: Node) -> IntType:
        """Return the type that the text of a node has in the target."""
        if node.op is not Op.NAME:
            return self.operation(node)
        if self.declared:
            return self.kind(node.interval)
        is_unsigned = self.unsigned and is_known_nonnegative(node.interval)
        return IntType.U32 if is_unsigned else IntType.I32


def _meet(a: Interval, b: Interval) -> Interval:
    """Return the intersection of two bounds of one value."""
    lows = [end for end in (a.lo, b.lo) if end is not None]
    highs = [end for end in (a.hi, b.hi) if end is not None]
    return Interval(max(lows, default=None), min(highs, default=None))
