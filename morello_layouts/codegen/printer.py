"""Print nodes as source text, with shared subexpressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import ClassVar, Final, NamedTuple

from morello_layouts.codegen.operations import Node, Op, use_counts
from morello_layouts.codegen.widths import IntType, Widths
from morello_layouts.errors import UnsupportedError
from morello_layouts.limits import CODE_TEXT

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


class Printer:
    """A printer of operations; a subclass states the differences from C.

    Attributes:
        symbols: the binary operators, spaces included.
        any_of: the operator between alternatives, and how tightly these must bind.
        truth: the texts of false and true.
        widens: whether an operation on 32 and 64 bits is computed in 64 bits by itself.
    """

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
    }
    any_of: ClassVar[tuple[str, int]] = (" || ", SUM)
    truth: ClassVar[tuple[str, str]] = ("false", "true")
    widens: ClassVar[bool] = True

    def __init__(self, widths: Widths | None) -> None:
        """Make a printer; without widths, integers have one type or grow."""
        self.widths = widths

    def literal(self, value: int, kind: IntType | None) -> str:
        """Return an integer in an operation of a type."""
        del kind
        return str(value)

    def cast(self, text: Text, kind: IntType) -> Text:
        """Return a text converted to another type."""
        raise NotImplementedError

    def truth_value(self, condition: Text, kind: IntType | None) -> Text:
        """Return a condition as 0 or 1, in an operation of a type."""
        del kind
        return Text(f"({condition.text})", ATOM)

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

    def _node(self, node: Node, used: Mapping[Node, Text]) -> Text:
        if node.op is Op.NAME:
            return Text(node.value, ATOM)
        kind = None if self.widths is None else self.widths.operation(node)
        if node.op is Op.CONST:
            return Text(self.literal(node.value, kind), ATOM if node.value >= 0 else SUM)
        if node.op is Op.ANY:
            return self._any(node, used)
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
        return Text(self.symbols[node.op].join(texts), PRODUCT if is_product else LOOSE)

    def _any(self, node: Node, used: Mapping[Node, Text]) -> Text:
        if not node.args:
            return Text(self.truth[0], ATOM)
        if len(node.args) == 1:
            return used[node.args[0]]
        symbol, need = self.any_of
        texts = []
        for arg in node.args:
            # Comparisons bind more tightly than ||, but less than |.
            text, level = used[arg]
            texts.append(text if need == SUM or level == ATOM else f"({text})")
        return Text(symbol.join(texts), LOOSE)

    def _sum(self, node: Node, kind: IntType | None, used: Mapping[Node, Text]) -> Text:
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
        if not self.widens or kind.bits == 32 or not self._may_widen(kind, own.values()):
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
        self,
        arg: Node,
        cast: IntType | None,
        kind: IntType | None,
        need: int,
        used: Mapping[Node, Text],
    ) -> str:
        text = used[arg]
        if arg.op is Op.CONST:
            text = Text(self.literal(arg.value, kind), text.level)
        elif arg.is_condition:
            text = self.truth_value(text, kind)
        elif cast is not None:
            text = self.cast(text, cast)
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
