"""Languages: how each writes operations, types and functions."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from morello_layouts.codegen.operations import Arithmetic, Lowering, Node, Op, users
from morello_layouts.codegen.printer import Printer, names_besides, shared
from morello_layouts.codegen.widths import Kind, Widths
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.expr import AffineExpr, Interval, Var, variable
from morello_layouts.expr.assumptions import Assumption
from morello_layouts.expr.sizes import Int, SizeExpr

PADDING = "is_padding"
"""The name of the padding condition among the results."""

PADDING_LAST = "The last result is whether the offset holds padding."
"""What comments say of it where results are a tuple."""


@dataclass(frozen=True, slots=True)
class Formulas:
    """Formulas over the same variables.

    Attributes:
        name: what a function of them is called.
        about: what they give, for the function's comment.
        variables: the arguments, with their bounds; sizes follow them as arguments.
        results: each with its name.
        limits: pairs (form, n): padding is where a form is at least its n. None where no padding
            condition is asked for.
        more_sizes: symbolic sizes that are arguments even where no result needs them.
        assumptions: what is known of symbolic sizes.

    >>> from morello_layouts.expr import variable
    >>> i = variable("i", 0, 7)
    >>> Formulas("f", "a third", i.variables(), (("value", i // 3),)).arguments
    ('i',)
    """

    name: str
    about: str
    variables: tuple[Var, ...]
    results: tuple[tuple[str, AffineExpr], ...]
    limits: tuple[tuple[AffineExpr, Int], ...] | None = None
    more_sizes: frozenset[str] = frozenset()
    assumptions: tuple[Assumption, ...] = ()

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
        known = {one.name: one for one in self.assumptions}
        return ", ".join([*parts, *(str(known.get(n, Assumption(n))) for n in self.sizes)])

    def comment(self, padding: str = "") -> list[str]:
        """What a function is for, and its bounds, in lines without ends that escape.

        Args:
            padding: what is said of the padding condition, if there is one.
        """
        lines = [*self.about.splitlines(), self.domain]
        if self.limits is not None:
            lines.append(padding)
        # A backslash at a line's end makes C read the next line as comment too.
        flat = [" ".join(line.split()).rstrip("\\ ") for line in lines]
        return [line for line in flat if line]

    @property
    def size_bounds(self) -> dict[str, Interval]:
        """The smallest and largest value of each size that something is assumed of."""
        return {one.name: Interval(one.lo, one.hi) for one in self.assumptions}

    @property
    def is_single(self) -> bool:
        """Whether there is one result and no padding condition: what an expression can say."""
        return self.limits is None and len(self.results) == 1

    def require_names(self, target: str, is_name: Callable[[str], bool]) -> None:
        """See that every name may stand in the target's text.

        Raises:
            LayoutError: where one is no identifier, or means something else there.
        """
        # A single result has no name of its own in any text.
        results = [] if self.is_single else [name for name, _ in self.results]
        own = [self.name, *self.arguments, *results, *([] if self.limits is None else [PADDING])]
        for name in own:
            if not isinstance(name, str) or not is_name(name):
                raise LayoutError(
                    f"{name!r} is no name in {target}",
                    "names are letters, digits and underscores, and none of the language's words",
                    "rename it",
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
