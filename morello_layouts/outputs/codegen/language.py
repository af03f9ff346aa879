"""Formulas, and the languages they are printed in: declarations, statements and functions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from morello_layouts.core.expr import AffineExpr, Interval, Var, variable
from morello_layouts.core.expr.assumptions import Assumption
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen.operations import Arithmetic, Lowering, Node, Op, use_counts
from morello_layouts.outputs.codegen.printer import (
    IntType,
    Printer,
    Widths,
    fresh_names,
    named_nodes,
)

PADDING = "is_padding"
"""The name of the padding condition among the results."""

PADDING_LAST = "The last result is whether the offset holds padding."
"""The comment on it in languages whose results are a tuple."""


@frozen
class Formulas:
    """Formulas over the same variables."""

    name: str  #: the name of a function of them.
    about: str  #: a description of them, for the function's comment.
    #: the arguments, with their bounds; sizes follow them as arguments.
    variables: tuple[Var, ...]
    results: tuple[tuple[str, AffineExpr], ...]  #: the formulas, each with its name.
    #: pairs (form, n): an offset is padding if some form is at least its n. None if there is no
    #: padding condition.
    limits: tuple[tuple[AffineExpr, Int], ...] | None = None
    #: symbolic sizes that are arguments even if no result needs them.
    more_sizes: frozenset[str] = frozenset()
    assumptions: tuple[Assumption, ...] = ()  #: the assumptions on symbolic sizes.

    @property
    def sizes(self) -> tuple[str, ...]:
        """The symbolic sizes, by name."""
        found = set(self.more_sizes)
        for _, form in self.results:
            found |= form.sizes()
        for form, n in self.limits or ():
            found |= form.sizes() | _names(n)
        for var in self.variables:
            found |= _names(var.interval.lo) | _names(var.interval.hi)
        return tuple(sorted(found))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the variables, then of the sizes."""
        return (*(var.name for var in self.variables), *self.sizes)

    @property
    def size_assumptions(self) -> tuple[Assumption, ...]:
        """The assumption on each size; without one a size is at least 1."""
        known = {one.name: one for one in self.assumptions}
        return tuple(known.get(name, Assumption(name)) for name in self.sizes)

    @property
    def domain(self) -> str:
        """The bounds of the variables, as one line of mathematics."""
        parts = []
        for var in self.variables:
            lo, hi = var.interval
            if lo == 0 and hi == -1:
                parts.append(f"{var.name} has no values")
            elif lo is not None and hi is not None:
                parts.append(f"{lo} <= {var.name} <= {hi}")
            elif lo is not None or hi is not None:
                parts.append(
                    f"{var.name} {'>=' if hi is None else '<='} {hi if lo is None else lo}"
                )
        return ", ".join([*parts, *map(str, self.size_assumptions)])

    def comment(self, padding: str = "") -> list[str]:
        """Return the lines of a function's comment: its purpose and bounds."""
        lines = [*self.about.splitlines(), self.domain]
        if self.limits is not None:
            lines.append(padding)
        # A backslash at a line's end makes C read the next line as comment too.
        flat = [" ".join(line.split()).rstrip("\\ ") for line in lines]
        return [line for line in flat if line]

    @property
    def size_bounds(self) -> dict[str, Interval]:
        """The smallest and largest value of each size that has an assumption."""
        return {one.name: Interval(one.lo, one.hi) for one in self.assumptions}

    @property
    def is_single(self) -> bool:
        """Whether there is one result and no padding condition, as in an expression."""
        return self.limits is None and len(self.results) == 1

    def require_names(self, target: str, is_name: Callable[[str], bool]) -> None:
        """Check that the target's text can use every name."""
        # A single result has no name of its own in any text.
        results = [] if self.is_single else [name for name, _ in self.results]
        own = [self.name, *self.arguments, *results, *([] if self.limits is None else [PADDING])]
        for name in own:
            if not isinstance(name, str) or not is_name(name):
                raise LayoutError(
                    f"{name!r} is not a name in {target}",
                    "a name has letters, digits and underscores, and is not a reserved word",
                    'rename it; a layout takes names of coordinates, such as names=("y", "x")',
                )
            if own.count(name) > 1:
                raise LayoutError(
                    f"{name!r} names two things",
                    "the function, its arguments and its results have names of their own",
                    "give another name, or rename the variable",
                )


def _names(number: Int | None) -> frozenset[str]:
    return number.names() if isinstance(number, SizeExpr) else frozenset()


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Language(ABC):
    """A target language."""

    name: ClassVar[str]  #: the name that users write.
    title: ClassVar[str]  #: the name in texts.
    reserved: ClassVar[frozenset[str]] = frozenset()  #: the words that are not names in it.
    #: whether it can write shifts instead of products and quotients.
    shifts: ClassVar[bool] = False
    asserts: ClassVar[bool] = False  #: whether its functions can check their arguments.

    def __init__(self, *, shift: bool = False) -> None:
        self.require(self.shifts or not shift, "shifts", "leave shift=True out")

    def require(self, has: bool, what: str, fix: str) -> None:
        """Raise an UnsupportedError if the language lacks a feature."""
        if not has:
            why = f"{self.title} states a map, not the operations that compute it"
            raise UnsupportedError(f"{self.title} has no {what}", why, fix)

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return _NAME.fullmatch(name) is not None and name not in self.reserved

    @abstractmethod
    def expression(self, formulas: Formulas) -> str:
        """Return the only result, as an expression."""

    @abstractmethod
    def statements(self, formulas: Formulas) -> str:
        """Return every result and the padding condition, each with its name, outside a function."""

    @abstractmethod
    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a whole function."""


@frozen
class Program:
    """The operations of formulas as texts in a language."""

    #: triples (name, text, type) of shared parts, in the order of their computation.
    bindings: tuple[tuple[str, str, IntType | None], ...]
    #: the results as such triples, the padding condition last if there is one.
    results: tuple[tuple[str, str, IntType | None], ...]
    asserts: tuple[str, ...]  #: the conditions on the arguments.
    unused: tuple[str, ...]  #: the arguments that nothing needs.


class ProgramLanguage(Language):
    """A language with statements and functions."""

    shifts: ClassVar[bool] = True
    asserts: ClassVar[bool] = True
    printer: ClassVar[type[Printer]]  #: the printer of its operations.
    #: the statement that names a value, of ``name``, ``text`` and ``type``.
    binding: ClassVar[str]
    check: ClassVar[str]  #: the statement that checks a condition.
    #: the statement that marks an argument as unused; empty if none is needed.
    discard: ClassVar[str] = ""
    declares: ClassVar[bool] = True  #: whether its functions state the types of their arguments.
    has_widths: ClassVar[bool] = True  #: whether its integers have 32 or 64 bits.
    unsigned: ClassVar[bool] = True  #: whether it has unsigned types.
    floors: ClassVar[bool] = False  #: whether its division rounds down.
    #: whether compilers see the arguments of asserts in every build.
    keeps_asserts: ClassVar[bool] = True

    def __init__(self, *, shift: bool = False) -> None:
        super().__init__(shift=shift)
        self.arithmetic = Arithmetic(floors=self.floors, shifts=shift)

    def type_of(self, kind: IntType | None) -> str:
        """Return the name of a number's type, or of a condition's if there is none."""
        return ""

    def statement(self, name: str, text: str, kind: IntType | None) -> str:
        """Return the line that names a value."""
        return self.binding.format(name=name, text=text, type=self.type_of(kind))

    def body(self, program: Program) -> list[str]:
        """Return the lines of a function before its results."""
        lines = [self.check.format(condition) for condition in program.asserts]
        lines += [self.discard.format(name) for name in program.unused if self.discard]
        return lines + [self.statement(*binding) for binding in program.bindings]

    def expression(self, formulas: Formulas) -> str:
        """Return the only result, as an expression."""
        ((_, form),) = formulas.results
        root = Lowering(self.arithmetic, formulas.size_bounds).form(form)
        return self.printer(self.widths(formulas, declared=False)).write([root], {})[root]

    def statements(self, formulas: Formulas) -> str:
        """Return every result and the padding condition, one on a line, shared parts first."""
        program = self.program(formulas, named_results=True, asserts=False)
        given = {name for name, _, _ in program.bindings}
        lines = [*program.bindings, *(r for r in program.results if r[0] not in given)]
        return "\n".join(self.statement(*line) for line in lines)

    def widths(self, formulas: Formulas, *, declared: bool) -> Widths | None:
        """Return the choice of integer types."""
        if not self.has_widths:
            return None
        return Widths(declared and self.declares, self.unsigned, formulas.size_bounds)

    def program(self, formulas: Formulas, *, named_results: bool, asserts: bool) -> Program:
        """Return the texts of all parts; with ``named_results`` results may use one another."""
        lowering = Lowering(self.arithmetic, formulas.size_bounds)
        widths = self.widths(formulas, declared=not named_results)
        results = [(name, lowering.form(form)) for name, form in formulas.results]
        if formulas.limits is not None:
            parts = [lowering.at_least(form, n) for form, n in formulas.limits]
            results.append((PADDING, lowering.nodes.condition(Op.ANY, *parts)))
        given: dict[Node, str] = {}
        if named_results:
            for name, node in results:
                given.setdefault(node, name)
        taken = {*formulas.arguments, *(name for name, _ in results), *self.reserved}
        roots = [node for _, node in results]
        names = named_nodes(roots, fresh_names({*taken, formulas.name}), given)
        checks = _checks(formulas, lowering, widths) if asserts else []
        printer = self.printer(widths)
        texts = printer.write(roots, names)
        used = use_counts([*roots, *(checks if self.keeps_asserts else [])])
        leaves = {node.value for node in used if node.op is Op.NAME}

        def kind(node: Node) -> IntType | None:
            return None if widths is None or node.is_condition else widths.result(node)

        return Program(
            tuple((name, texts[node], kind(node)) for node, name in names.items()),
            tuple((name, names.get(node) or texts[node], kind(node)) for name, node in results),
            tuple(printer.write([check], {})[check] for check in checks),
            tuple(name for name in formulas.arguments if name not in leaves),
        )

    def argument_types(self, formulas: Formulas) -> list[tuple[str, str]]:
        """Return the arguments of a function with their types; a size may have any 64-bit value."""
        bounds = formulas.size_bounds
        widths = Widths(True, self.unsigned, bounds)
        values = [(var.name, var.interval) for var in formulas.variables]
        values += [(name, bounds.get(name, Interval(1, None))) for name in formulas.sizes]
        return [(name, self.type_of(widths.kind(interval))) for name, interval in values]


def _checks(formulas: Formulas, lowering: Lowering, widths: Widths | None) -> list[Node]:
    """Return the bounds of the arguments as conditions, without those that their types imply."""
    nodes, checks = lowering.nodes, []
    for known in formulas.size_assumptions:
        node = lowering.size(known.name)
        least = known.lo if known.lo > known.divisor else 1  # a multiple is not below its divisor
        checks.append(nodes.condition(Op.GE, node, nodes.const(least)))
        if known.hi is not None:
            checks.append(nodes.condition(Op.LE, node, nodes.const(known.hi)))
        if known.divisor > 1:
            rest = lowering.form(variable(known.name, 1) % known.divisor)
            checks.append(nodes.condition(Op.EQ, rest, nodes.const(0)))
    for var in formulas.variables:
        lo, hi = var.interval
        if lo == 0 and hi == -1:  # of an array without elements
            checks.append(nodes.condition(Op.ANY))
            continue
        kind = widths.kind(var.interval) if widths is not None and widths.declared else None
        name = nodes.name(var.name, var.interval)
        if lo is not None and (kind is None or lo != kind.smallest):
            checks.append(nodes.condition(Op.GE, name, lowering.number(lo)))
        if hi is not None and (kind is None or hi != kind.largest):
            checks.append(nodes.condition(Op.LE, name, lowering.number(hi)))
    return checks


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())
