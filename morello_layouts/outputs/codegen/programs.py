"""Formulas as statements and functions: shared parts with names, types, checks of arguments."""

from __future__ import annotations

from typing import ClassVar

from morello_layouts.core.expr import Interval, variable
from morello_layouts.core.fields import frozen
from morello_layouts.outputs.codegen.language import PADDING, Formulas
from morello_layouts.outputs.codegen.loops import LoopLanguage
from morello_layouts.outputs.codegen.operations import Lowering, Node, Op, use_counts
from morello_layouts.outputs.codegen.printer import (
    IntType,
    Printer,
    Widths,
    fresh_names,
    named_nodes,
)


@frozen
class PrintedProgram:
    """The operations of formulas as texts in a language."""

    #: triples (name, text, type) of shared parts, in the order of their computation.
    bindings: tuple[tuple[str, str, IntType | None], ...]
    #: the results as such triples, the padding condition last if there is one.
    results: tuple[tuple[str, str, IntType | None], ...]
    asserts: tuple[str, ...]  #: the conditions on the arguments.
    unused: tuple[str, ...]  #: the arguments that nothing needs.


class ProgramLanguage(LoopLanguage):
    """A language with statements, functions and types."""

    shifts: ClassVar[bool] = True
    asserts: ClassVar[bool] = True
    check: ClassVar[str]  #: the statement that checks a condition.
    #: the statement that marks an argument as unused; empty if none is needed.
    discard: ClassVar[str] = ""
    declares: ClassVar[bool] = True  #: whether its functions state the types of their arguments.
    #: whether compilers see the arguments of asserts in every build.
    keeps_asserts: ClassVar[bool] = True

    def before(self, program: PrintedProgram) -> list[str]:
        """Return the lines of a function before its results."""
        lines = [self.check.format(condition) for condition in program.asserts]
        lines += [self.discard.format(name) for name in program.unused if self.discard]
        return lines + [self.statement(*binding) for binding in program.bindings]

    def expression(self, formulas: Formulas) -> str:
        ((_, form),) = formulas.results
        root = Lowering(self.arithmetic, formulas.size_bounds).form(form)
        return Printer(self, self.widths(formulas, declared=False)).write([root], {})[root]

    def statements(self, formulas: Formulas) -> str:
        program = self.program(formulas, named_results=True, asserts=False)
        given = {name for name, _, _ in program.bindings}
        lines = [*program.bindings, *(r for r in program.results if r[0] not in given)]
        return "\n".join(self.statement(*line) for line in lines)

    def widths(self, formulas: Formulas, *, declared: bool) -> Widths | None:
        """Return the choice of integer types."""
        if not self.has_widths:
            return None
        return Widths(declared and self.declares, self.unsigned, formulas.size_bounds)

    def program(self, formulas: Formulas, *, named_results: bool, asserts: bool) -> PrintedProgram:
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
        printer = Printer(self, widths)
        texts = printer.write(roots, names)
        used = use_counts([*roots, *(checks if self.keeps_asserts else [])])
        leaves = {node.value for node in used if node.op is Op.NAME}

        def kind(node: Node) -> IntType | None:
            return None if widths is None or node.is_condition else widths.result(node)

        return PrintedProgram(
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
