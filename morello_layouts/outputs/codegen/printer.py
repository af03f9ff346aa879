"""Print nodes as source text: the widths of integers, and names for shared subexpressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from itertools import count
from typing import ClassVar, Final, NamedTuple, TypeAlias

from morello_layouts.core.expr import Interval
from morello_layouts.core.expr.bounds import UNBOUNDED, hull, range_of_xor
from morello_layouts.core.expr.sizes import Int, Monomial, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import CODE_TEXT
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.codegen.operations import Node, Op, is_known_nonnegative, use_counts


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
        return (1 << self.bits - self.signed) - 1

    @property
    def smallest(self) -> int:
        return -self.largest - 1 if self.signed else 0


@frozen
class Widths:
    """The choice of types: 32 bits if the bounds prove that all values fit, else 64 bits.

    Values without a known bound are assumed to fit 64 bits. Types without negative values are
    unsigned.

    >>> Widths().kind(Interval(0, 2**32 - 1)).text, Widths().kind(Interval(-1, 2**31)).text
    ('u32', 'i64')
    """

    #: whether the program declares the types of its variables. Otherwise these may have any integer
    #: type of at least 32 bits, with or without a sign: then 32-bit arithmetic stays below 2^31,
    #: and variables are converted before 64-bit arithmetic.
    declared: bool = True
    unsigned: bool = True  #: whether the target has unsigned types.
    #: bounds of symbolic sizes; a size without bounds is at least 1.
    sizes: Mapping[str, Interval] = field(default_factory=dict)
    _known: dict[Node, IntType] = field(default_factory=dict, compare=False, repr=False)
    _bounds: dict[Node, Interval] = field(default_factory=dict, compare=False, repr=False)

    def kind(self, *intervals: Interval, signed: bool = False) -> IntType:
        """Return the narrowest type that holds some intervals, with a sign if ``signed``."""
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
        if node.op is Op.SELECT:
            return hull([self.bounds(arg) for arg in node.args[1:]])
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


LOOSE: Final = 0
SUM: Final = 1
PRODUCT: Final = 2
ATOM: Final = 3
"""How tightly operators bind: a text that binds less than its place needs gets parentheses."""


class Text(NamedTuple):
    """The text of an operation, and how tightly it binds."""

    text: str
    level: int

    @property
    def closed(self) -> str:
        """The text, in parentheses unless it is an atom."""
        return self.text if self.level == ATOM else f"({self.text})"


Texts: TypeAlias = Mapping[Node, Text]


class Operators:
    """How a language writes operations: as C does, but for what a subclass says."""

    #: the binary operators, spaces included.
    symbols: ClassVar[Mapping[Op, str]] = {
        Op.MUL: " * ",
        Op.DIV: " / ",
        Op.MOD: " % ",
        Op.SHL: " << ",
        Op.SHR: " >> ",
        Op.AND: " & ",
        Op.XOR: " ^ ",
        Op.LT: " < ",
        Op.LE: " <= ",
        Op.GE: " >= ",
        Op.EQ: " == ",
        Op.NE: " != ",
    }
    #: the operator between alternatives, and how tightly these must bind.
    any_of: ClassVar[tuple[str, int]] = (" || ", SUM)
    truth: ClassVar[tuple[str, str]] = ("false", "true")  #: the texts of false and true.
    #: a choice: the condition, and both values.
    choice: ClassVar[str] = "({} ? {} : {})"
    #: whether an operation on 32 and 64 bits is computed in 64 bits by itself.
    widens: ClassVar[bool] = True

    def literal(self, value: int, kind: IntType | None) -> str:
        """Return an integer in an operation of a type."""
        return str(value)

    def cast(self, text: Text, kind: IntType) -> Text:
        """Return a text converted to another type."""
        raise NotImplementedError

    def truth_value(self, condition: Text, kind: IntType | None) -> Text:
        """Return a condition as 0 or 1, in an operation of a type."""
        return Text(f"({condition.text})", ATOM)


@frozen
class Printer:
    """A printer of operations in a language; without widths, integers have one type or grow."""

    language: Operators
    widths: Widths | None

    def write(self, roots: Sequence[Node], names: Mapping[Node, str]) -> dict[Node, str]:
        """Return the text of every root and of every named node, in terms of the names."""
        used: dict[Node, Text] = {}
        defined: dict[Node, str] = {}
        wanted = {*roots, *names}
        for node in use_counts(roots):
            text = self._node(node, used)
            if len(text.text) > CODE_TEXT:
                raise UnsupportedError(
                    f"the expression is longer than {CODE_TEXT:,} characters",
                    "its parts are shared, and each use repeats them",
                    "ask for a function, which gives each shared part a name",
                )
            if node in wanted:
                defined[node] = text.text
            name = names.get(node)
            used[node] = text if name is None else Text(name, ATOM)
        return defined

    def _node(self, node: Node, used: Texts) -> Text:
        if node.op is Op.NAME:
            return Text(node.value, ATOM)
        kind = None if self.widths is None else self.widths.operation(node)
        if node.op is Op.CONST:
            return Text(self.language.literal(node.value, kind), ATOM if node.value >= 0 else SUM)
        if node.op in (Op.ANY, Op.ALL):
            return self._any(node, used)
        if node.op is Op.SELECT:
            condition, *values = node.args
            kinds = self._casts(values, kind)
            texts = [self._operand(x, kinds.get(x), kind, LOOSE, used) for x in values]
            return Text(self.language.choice.format(used[condition].text, *texts), ATOM)
        if node.op is Op.SUM:
            return self._sum(node, kind, used)
        need = SUM if node.is_condition else ATOM
        kinds = self._casts(node.args[:1] if node.op in (Op.SHL, Op.SHR) else node.args, kind)
        texts = []
        for k, arg in enumerate(node.args):
            is_chain = k == 0 and node.op is arg.op is Op.MUL
            need_of = PRODUCT if is_chain else need
            texts.append(self._operand(arg, kinds.get(arg), kind, need_of, used))
        is_product = node.op in (Op.MUL, Op.DIV, Op.MOD)
        return Text(self.language.symbols[node.op].join(texts), PRODUCT if is_product else LOOSE)

    def _any(self, node: Node, used: Texts) -> Text:
        if not node.args:
            return Text(self.language.truth[0], ATOM)
        if len(node.args) == 1:
            return used[node.args[0]]
        symbol, need = self.language.any_of
        symbol = symbol if node.op is Op.ANY else symbol.replace("|", "&")
        texts = []
        for arg in node.args:
            # Comparisons bind more tightly than ||, but less than |.
            text, level = used[arg]
            is_joined = arg.op in (Op.ANY, Op.ALL)
            closed = level == ATOM or (need == SUM and not is_joined)
            texts.append(text if closed else f"({text})")
        return Text(symbol.join(texts), LOOSE)

    def _sum(self, node: Node, kind: IntType | None, used: Texts) -> Text:
        kinds = self._casts(node.args, kind)
        if node.value[0] < 0 and kind is not None:
            kinds |= self._casts(node.args[:1], kind)  # the negation comes before any widening
        parts = []
        for k, (arg, sign) in enumerate(zip(node.args, node.value, strict=True)):
            is_negated_first = k == 0 and sign < 0
            # -a // b would be (-a) // b; -8*b is the same either way.
            need = ATOM if is_negated_first and arg.op is not Op.MUL else PRODUCT
            text = self._operand(arg, kinds.get(arg), kind, need, used)
            lead = ("-" if sign < 0 else "") if k == 0 else " - " if sign < 0 else " + "
            parts.append(lead + text)
        return Text("".join(parts), SUM)

    def _casts(self, args: Sequence[Node], kind: IntType | None) -> dict[Node, IntType]:
        """Return the operands to convert, so that all steps are computed in a type."""
        if kind is None or self.widths is None:
            return {}
        values = [arg for arg in args if arg.op is not Op.CONST and not arg.is_condition]
        own = {arg: self.widths.result(arg) for arg in values}
        wrong = [arg for arg in values if own[arg] != kind]
        if not self.language.widens or kind.bits == 32 or not self._may_widen(kind, own.values()):
            return dict.fromkeys(wrong, kind)
        # From the left, each step has one wide operand, which widens the other.
        first = list(args[:2])
        if any(own.get(arg) == kind for arg in first):
            return {}
        return dict.fromkeys([arg for arg in first if arg in own][:1], kind)

    def _may_widen(self, kind: IntType, own: Iterable[IntType]) -> bool:
        """Whether all operands keep their values if the language itself widens them."""
        assert self.widths is not None
        if kind.signed and self.widths.unsigned and not self.widths.declared:
            return False  # a variable may be an unsigned one of 64 bits, which would win
        return all(k == kind or k.bits < kind.bits for k in own)

    def _operand(
        self, arg: Node, cast: IntType | None, kind: IntType | None, need: int, used: Texts
    ) -> str:
        text = used[arg]
        if arg.op is Op.CONST:
            text = Text(self.language.literal(arg.value, kind), text.level)
        elif arg.is_condition:
            text = self.language.truth_value(text, kind)
        elif cast is not None:
            text = self.language.cast(text, cast)
        return text.text if text.level >= need else f"({text.text})"


def named_nodes(
    roots: Sequence[Node], fresh: Iterator[str], given: Mapping[Node, str]
) -> dict[Node, str]:
    """Return names for the nodes that are used more than once, operands before their users.

    Args:
        roots: the results of the program; each is one use.
        fresh: names that nothing else has.
        given: nodes with a name of their own, which are named even if they are used once.
    """
    return {
        node: given.get(node) or next(fresh)
        for node, uses in use_counts(roots).items()
        if not node.is_leaf and (node in given or uses > 1)
    }


def fresh_names(taken: Iterable[str], stem: str = "t") -> Iterator[str]:
    """Yield t0, t1, … without the names that are taken.

    >>> names = fresh_names({"t0", "i"})
    >>> next(names), next(names)
    ('t1', 't2')
    """
    used = set(taken)
    return (name for k in count() if (name := f"{stem}{k}") not in used)
