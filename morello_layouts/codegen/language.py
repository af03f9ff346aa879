"""What every target does: an expression, some statements, or a whole function."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from morello_layouts.codegen.formulas import PADDING, Formulas
from morello_layouts.codegen.lowering import Arithmetic, Lowering
from morello_layouts.codegen.node import Node, Op, users
from morello_layouts.codegen.printer import Printer
from morello_layouts.codegen.share import names_besides, shared
from morello_layouts.codegen.widths import Kind, Widths
from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import Interval, variable
from morello_layouts.expr.assumption import Assumption

__all__ = ["Language", "Program", "ProgramLanguage", "unsupported", "words"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Language(ABC):
    """A target.

    Attributes:
        name: as users write it.
        title: as people write it.
        reserved: words that are no names in it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reserved: ClassVar[frozenset[str]] = frozenset()

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return _NAME.fullmatch(name) is not None and name not in self.reserved

    @abstractmethod
    def expression(self, formulas: Formulas) -> str:
        """The only result, as an expression."""

    @abstractmethod
    def statements(self, formulas: Formulas) -> str:
        """Every result and the padding condition, each with its name, without a function."""

    @abstractmethod
    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A whole function."""


@dataclass(frozen=True, slots=True)
class Program:
    """Formulas as operations in a language.

    Attributes:
        bindings: pairs (name, text, type) to be computed first, in this order.
        results: texts of the results with their types, the padding condition last if there is one.
        asserts: texts of the conditions on the arguments.
        unused: the arguments that nothing needs.
    """

    bindings: tuple[tuple[str, str, Kind | None], ...]
    results: tuple[tuple[str, str, Kind | None], ...]
    asserts: tuple[str, ...]
    unused: tuple[str, ...]


class ProgramLanguage(Language):
    """A language with statements and functions.

    Attributes:
        declares: whether its functions state the types of their arguments.
        has_widths: whether its integers have 32 or 64 bits.
        unsigned: whether it has unsigned types.
        floors: whether its division rounds down.
        keeps_asserts: whether compilers see the arguments of asserts in every build.
    """

    declares: ClassVar[bool] = True
    has_widths: ClassVar[bool] = True
    unsigned: ClassVar[bool] = True
    floors: ClassVar[bool] = False
    keeps_asserts: ClassVar[bool] = True

    def __init__(self, *, shift: bool = False) -> None:
        self.arithmetic = Arithmetic(floors=self.floors, shifts=shift)

    @abstractmethod
    def printer(self, widths: Widths | None) -> Printer:
        """What writes the language's operations."""

    @abstractmethod
    def statement(self, name: str, text: str, kind: Kind | None) -> str:
        """A line that names a value; of a condition the type is None."""

    def expression(self, formulas: Formulas) -> str:
        """The only result, as an expression."""
        ((_, form),) = formulas.results
        root = Lowering(self.arithmetic, formulas.size_bounds).form(form)
        return self.printer(self.widths(formulas, declared=False)).write([root], {})[root]

    def statements(self, formulas: Formulas) -> str:
        """Every result and the padding condition, one on a line, shared parts first."""
        program = self.program(formulas, named_results=True, asserts=False)
        given = {name for name, _, _ in program.bindings}
        lines = [*program.bindings, *(r for r in program.results if r[0] not in given)]
        return "\n".join(self.statement(*line) for line in lines)

    def widths(self, formulas: Formulas, *, declared: bool) -> Widths | None:
        """The choice of types."""
        if not self.has_widths:
            return None
        return Widths(declared and self.declares, self.unsigned, formulas.size_bounds)

    def program(self, formulas: Formulas, *, named_results: bool, asserts: bool) -> Program:
        """The texts of all parts; with ``named_results`` the results may use one another."""
        lowering = Lowering(self.arithmetic, formulas.size_bounds)
        widths = self.widths(formulas, declared=not named_results)
        results = [(name, lowering.form(form)) for name, form in formulas.results]
        if formulas.limits is not None:
            parts = [lowering.at_least(form, n) for form, n in formulas.limits]
            results.append((PADDING, lowering.nodes.truth(Op.ANY, *parts)))
        given: dict[Node, str] = {}
        if named_results:
            for name, node in results:
                given.setdefault(node, name)
        taken = {*formulas.arguments, *(name for name, _ in results), *self.reserved}
        roots = [node for _, node in results]
        named = shared(roots, names_besides({*taken, formulas.name}), given)
        checks = _checks(formulas, lowering, widths) if asserts else []
        printer = self.printer(widths)
        texts = printer.write(roots, named.names)
        kinds = _Kinds(widths)
        used = {node.value for node in _leaves([*roots, *(checks if self.keeps_asserts else [])])}
        return Program(
            tuple((name, texts[node], kinds.of(node)) for name, node in named.bindings),
            tuple((name, named.names.get(n) or texts[n], kinds.of(n)) for name, n in results),
            tuple(printer.write([check], {})[check] for check in checks),
            tuple(name for name in formulas.arguments if name not in used),
        )

    def argument_kinds(self, formulas: Formulas) -> list[tuple[str, Kind]]:
        """The arguments of a function with their types; a size may be anything of 64 bits."""
        widths = Widths(True, self.unsigned, formulas.size_bounds)
        sizes = formulas.size_bounds
        return [
            *((var.name, widths.kind(var.interval)) for var in formulas.variables),
            *((n, widths.kind(sizes.get(n, Interval(1, None)))) for n in formulas.sizes),
        ]


@dataclass(frozen=True, slots=True)
class _Kinds:
    widths: Widths | None

    def of(self, node: Node) -> Kind | None:
        if self.widths is None or node.is_condition:
            return None
        return self.widths.result(node)


def _leaves(roots: Sequence[Node]) -> list[Node]:
    return [node for node in users(roots) if node.op is Op.NAME]


def _checks(formulas: Formulas, lowering: Lowering, widths: Widths | None) -> list[Node]:
    """The bounds of the arguments as conditions, without those that their types imply."""
    nodes, checks = lowering.nodes, []
    known = {one.name: one for one in formulas.assumptions}
    for size in formulas.sizes:
        assumed, node = known.get(size, Assumption(size)), lowering.size(size)
        least = assumed.lo if assumed.lo > assumed.divisor else 1  # a multiple is no less anyway
        checks.append(nodes.truth(Op.GE, node, nodes.const(least)))
        if assumed.hi is not None:
            checks.append(nodes.truth(Op.LE, node, nodes.const(assumed.hi)))
        if assumed.divisor > 1:
            rest = lowering.form(variable(size, 1) % assumed.divisor)
            checks.append(nodes.truth(Op.EQ, rest, nodes.const(0)))
    for var in formulas.variables:
        lo, hi = var.interval
        if lo == 0 and hi == -1:  # of an array without elements
            checks.append(nodes.truth(Op.ANY))
            continue
        kind = widths.kind(var.interval) if widths is not None and widths.declared else None
        name = nodes.name(var.name, var.interval)
        if lo is not None and (kind is None or lo != kind.smallest):
            checks.append(nodes.truth(Op.GE, name, lowering.number(lo)))
        if hi is not None and (kind is None or hi != kind.largest):
            checks.append(nodes.truth(Op.LE, name, lowering.number(hi)))
    return checks


def unsupported(title: str, what: str, fix: str) -> UnsupportedError:
    """The error of a target that lacks what was asked for."""
    return UnsupportedError(
        f"{title} has no {what}", f"{title} writes what is, not what to do", fix
    )


def words(text: str) -> frozenset[str]:
    """The words of a text.

    >>> sorted(words("if else"))
    ['else', 'if']
    """
    return frozenset(text.split())
