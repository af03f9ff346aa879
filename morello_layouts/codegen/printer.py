"""Print nodes as source text, with shared subexpressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from morello_layouts.codegen.operations import Node, Op, users
from morello_layouts.codegen.widths import Kind, Widths
from morello_layouts.errors import UnsupportedError

LOOSE: Final = 0
SUM: Final = 1
PRODUCT: Final = 2
ATOM: Final = 3
"""How tightly a text holds together; a looser one stands in parentheses."""

_LONGEST: Final = 1_000_000


class Text(NamedTuple):
    """Text and how tightly it holds together."""

    text: str
    level: int


class Printer:
    """How a language writes operations; a subclass states where it differs from C.

    Attributes:
        symbols: the binary operators, spaces included.
        any_of: the operator between alternatives, and how tightly these must hold together.
        truth: how true and false are written.
        widens: whether an operation on 32 and 64 bits is one on 64 without being told.
    """

    symbols: ClassVar[Mapping[Op, str]] = {
        Op.MUL: " * ",
        Op.DIV: " / ",
        Op.MOD: " % ",
        Op.SHL: " << ",
        Op.SHR: " >> ",
        Op.AND: " & ",
        Op.LT: " < ",
        Op.LE: " <= ",
        Op.GE: " >= ",
        Op.EQ: " == ",
    }
    any_of: ClassVar[tuple[str, int]] = (" || ", SUM)
    truth: ClassVar[tuple[str, str]] = ("false", "true")
    widens: ClassVar[bool] = True

    def __init__(self, widths: Widths | None) -> None:
        """Without widths the language's integers have one type, or grow."""
        self.widths = widths

    def literal(self, value: int, kind: Kind | None) -> str:
        """An integer where this type is computed in."""
        del kind
        return str(value)

    def cast(self, text: Text, kind: Kind) -> Text:
        """A text as another type."""
        raise NotImplementedError

    def truth_value(self, condition: Text, kind: Kind | None) -> Text:
        """A condition as 0 or 1, where this type is computed in."""
        del kind
        return Text(f"({condition.text})", ATOM)

    def write(self, roots: Sequence[Node], names: Mapping[Node, str]) -> dict[Node, str]:
        """The text of every root and of every node that has a name, in terms of the names."""
        used: dict[Node, Text] = {}
        defined: dict[Node, str] = {}
        wanted = {*roots, *names}
        for node in users(roots):
            text = self._node(node, used)
            if len(text.text) > _LONGEST:
                raise UnsupportedError(
                    "the expression is too long to be written out",
                    "its parts are shared, and each use repeats them",
                    "ask for a function, which names what it uses again",
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
            # Comparisons hold tighter than ||, but looser than |.
            text, level = used[arg]
            texts.append(text if need == SUM or level == ATOM else f"({text})")
        return Text(symbol.join(texts), LOOSE)

    def _sum(self, node: Node, kind: Kind | None, used: Mapping[Node, Text]) -> Text:
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

    def _casts(self, args: Sequence[Node], kind: Kind | None) -> dict[Node, Kind]:
        """Which operands must be converted, so that all steps are computed in a type."""
        if kind is None or self.widths is None:
            return {}
        values = [arg for arg in args if arg.op is not Op.CONST and not arg.is_condition]
        own = {arg: self.widths.result(arg) for arg in values}
        wrong = [arg for arg in values if own[arg] != kind]
        if not self.widens or kind.bits == 32 or not self._may_widen(kind, own.values()):
            return dict.fromkeys(wrong, kind)
        # From the left, each step has one operand that is wide, so the other becomes so.
        first = list(args[:2])
        if any(own.get(arg) == kind for arg in first):
            return {}
        return dict.fromkeys([arg for arg in first if arg in own][:1], kind)

    def _may_widen(self, kind: Kind, own: Iterable[Kind]) -> bool:
        """Whether all operands keep their values where the language itself widens them."""
        assert self.widths is not None
        if kind.signed and self.widths.unsigned and not self.widths.declared:
            return False  # a variable may be an unsigned one of 64 bits, which would win
        return all(k == kind or k.bits < kind.bits for k in own)

    def _operand(
        self,
        arg: Node,
        cast: Kind | None,
        kind: Kind | None,
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


@dataclass(frozen=True, slots=True)
class Named:
    """Nodes with names, operands before their users."""

    bindings: tuple[tuple[str, Node], ...]

    @property
    def names(self) -> dict[Node, str]:
        """The name of each node that has one."""
        return {node: name for name, node in self.bindings}


def shared(
    roots: Sequence[Node], fresh: Iterator[str], given: Mapping[Node, str] | None = None
) -> Named:
    """Names for what is used more than once among these nodes.

    Args:
        roots: what the program gives; each is one use.
        fresh: names that nothing else has.
        given: nodes that have a name whether or not they are used again.
    """
    names = dict(given or {})
    bindings = []
    for node, count in users(roots).items():
        if node.is_leaf:
            continue
        if node in names or count > 1:
            bindings.append((names.get(node) or next(fresh), node))
    return Named(tuple(bindings))


def names_besides(taken: Iterable[str], stem: str = "t") -> Iterator[str]:
    """t0, t1, … without those that are taken.

    >>> names = names_besides({"t0", "i"})
    >>> next(names), next(names)
    ('t1', 't2')
    """
    used, k = set(taken), 0
    while True:
        if f"{stem}{k}" not in used:
            yield f"{stem}{k}"
        k += 1
