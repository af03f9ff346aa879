"""Programs as source text: formulas as functions, and loop nests with their arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from typing import ClassVar, Final

from morello_layouts.core.expr import AffineExpr, Interval, variable
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import ElementType
from morello_layouts.core.lazy import regex
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen.language import (
    PADDING,
    ArrayAccess,
    Counter,
    Formulas,
    Guard,
    Language,
    Loop,
    NamedValue,
    PrintedNest,
    Statement,
    VectorBlock,
    Visit,
    fresh,
)
from morello_layouts.outputs.codegen.operations import (
    Lowering,
    Node,
    Op,
    TargetArithmetic,
    use_counts,
)
from morello_layouts.outputs.codegen.printer import (
    IntType,
    Operators,
    Printer,
    Widths,
    fresh_names,
    named_nodes,
)

FIELD: Final = regex(r"\{([A-Za-z_]\w*)\}", re.ASCII)
"""What a body has in place of an offset or a coordinate."""


class LoopLanguage(Operators, Language):
    """A language with loops: those of C, but for what a subclass says.

    A value writes one text; ``begin`` sets what the methods for nests share.
    """

    #: the statement that names a value, of ``name``, ``text`` and ``type``.
    binding: ClassVar[str]
    has_widths: ClassVar[bool] = True  #: whether its integers have 32 or 64 bits.
    unsigned: ClassVar[bool] = True  #: whether it has unsigned types.
    floors: ClassVar[bool] = False  #: whether its division rounds down.

    comment: ClassVar[str] = "//"  #: the beginning of a comment.
    indent: ClassVar[str] = "    "  #: what stands before the lines of a body.
    #: the head of a loop, of its variable ``v``, ``type``, ``start`` and ``stop``.
    loop: ClassVar[str] = "for ({type} {v} = {start}; {v} < {stop}; ++{v}) {{"
    #: the end of a loop, a condition and a function; empty if indentation ends them.
    end: ClassVar[str] = "}"
    variable: ClassVar[str] = "{type} {name} = {text};"  #: names a value which changes.
    stop: ClassVar[str] = ";"  #: the end of a statement.
    include: ClassVar[str] = ""  #: the lines before the function of a nest.
    opening: ClassVar[str] = "static void {name}({arguments}) {{"  #: the head of that function.
    typed: ClassVar[str] = "const {type} {name}"  #: an argument.
    condition: ClassVar[str] = "if ({}) {{"  #: the head of a condition.
    both: ClassVar[str] = " && "  #: the operator between conditions.
    least: ClassVar[str] = "{a} < {b} ? {a} : {b}"  #: the smaller of two numbers.
    array: ClassVar[str] = "const {type} *{name}"  #: an argument for an array that is read.
    written: ClassVar[str] = "{type} *{name}"  #: that for an array that is written.
    #: the types of elements that the language has.
    elements: ClassVar[Mapping[str, str]] = {"f32": "float", "f64": "double"}
    #: integers of some width, signed and not, for elements of other types.
    integers: ClassVar[tuple[str, str]] = ("int{}_t", "uint{}_t")
    #: the bits that they may have; empty for any number.
    integer_bits: ClassVar[tuple[int, ...]] = (8, 16, 32, 64)
    #: words that the text of a nest uses, so that nothing in it can have them as a name.
    loop_words: ClassVar[frozenset[str]] = frozenset()
    counts: ClassVar[bool] = True  #: whether it has values that change.
    vectors: ClassVar[int] = 0  #: the number of inner loops that are vectors.
    parallel: ClassVar[str] = ""  #: an example of an index that a machine gives, if it does.

    def __init__(self, *, shift: bool = False) -> None:
        super().__init__(shift=shift)
        self.arithmetic = TargetArithmetic(floors=self.floors, shifts=shift)

    def type_of(self, kind: IntType | None) -> str:
        """Return the name of a number's type, or of a condition's if there is none."""
        return ""

    def statement(self, name: str, text: str, kind: IntType | None) -> str:
        """Return the line that names a value."""
        return self.binding.format(name=name, text=text, type=self.type_of(kind))

    def begin(self, nest: PrintedNest, indices: Mapping[str, str]) -> None:
        """Take a nest to write, and the text of the index of each loop that a machine gives."""
        self.nest, self.indices = nest, indices
        bounds = {one.name: Interval(one.lo, one.hi) for one in nest.space.assumptions}
        self.types = Widths(True, self.unsigned, bounds) if self.has_widths else None
        self.lowering = Lowering(self.arithmetic, bounds)
        self.bases = {value.name for level in nest.plan.values for value in level}
        taken = {*self.bases, *nest.space.names, *(axis.name for axis in nest.axes)}
        self.ends = {axis.name: fresh(f"{axis.name}_end", taken) for axis in nest.axes}

    def nest_text(
        self, nest: PrintedNest, indices: Mapping[str, str], function: str | None, arguments: str
    ) -> str:
        """Return a nest; as a function, if one is named, of the text of its arguments."""
        self.begin(nest, indices)
        space = nest.space
        own = (*space.arrays, *(axis.name for axis in nest.axes))
        own = own if function is None else (function, *own)
        for name in (*own, *space.sizes, *space.size_names):
            if not self.is_name(name) or name in self.loop_words:
                raise LayoutError(
                    f"{name!r} is not a name in {self.title}",
                    "a name has letters, digits and underscores, and is not a reserved word",
                    "rename coordinates by the argument names, the function by the argument name, "
                    "arrays by their keys",
                )
        return "\n".join(self.whole() if function is None else self.module(function, arguments))

    def text(self, form: AffineExpr, kind: IntType | None = None) -> str:
        """Return a form as an expression, in a type if one is given."""
        return self._written(_base_first(self.lowering.form(form), self.bases), kind)

    def count(self, form: AffineExpr, kind: IntType | None) -> str:
        """Return a number of turns: the sum of its first terms is never negative there."""
        root = self.lowering.form(form)
        if root.op is Op.SUM:
            hi = root.interval.hi
            root = Node(Op.SUM, root.args, Interval(0, hi), Interval(0, hi), root.value)
        return self._written(root, kind)

    def _written(self, root: Node, kind: IntType | None) -> str:
        text = Printer(self, self.types).write([root], {})[root]
        if kind is None or self.types is None or self.types.result(root) == kind:
            return text
        return text if root.op is Op.CONST else self.as_type(text, kind.text)

    def as_type(self, text: str, kind: str) -> str:
        """Return an expression where a value of another type is expected."""
        return text

    def kind(self, *intervals: Interval) -> IntType | None:
        """Return the type that holds some values."""
        return None if self.types is None else self.types.kind(*intervals)

    def lines(self, statements: Sequence[Statement], depth: int = 0) -> Iterator[str]:
        pad = self.indent * depth
        for one in statements:
            yield from (pad + line for line in self.first_lines(one))
            if isinstance(one, VectorBlock):
                yield from self.lines(one.body, depth)
            elif isinstance(one, Loop | Guard):
                yield from self.lines(one.body, depth + 1)
                counters = one.counters if isinstance(one, Loop) else ()
                yield from (pad + self.indent + x for each in counters for x in self.next(each))
                yield from [pad + self.end] if self.end else []

    def first_lines(self, one: Statement) -> list[str]:
        """Return the lines of a statement before those of its body."""
        match one:
            case NamedValue(name, form, about):
                return [*self.about(name, about), *self.value(name, form)]
            case Loop(axis):
                lines = self.at_index if axis.name in self.indices else self.head
                return [*self.about(axis.name, one.about), *lines(one)]
            case Guard():
                return self.guard(one)
            case VectorBlock():
                return self.block(one)
            case Visit():
                return self.visit()

    def about(self, name: str, text: str) -> list[str]:
        return [f"{self.comment} {name}: {text}"] if text else []

    def value(self, name: str, form: AffineExpr) -> list[str]:
        kind = self.kind(form.interval if form.terms else self.lowering.size(name).interval)
        return [self.statement(name, self.text(form, kind), kind)]

    def guard(self, guard: Guard) -> list[str]:
        parts = [self.below(form, n) for form, n in guard.conditions]
        return [self.condition.format(self.both.join(parts))]

    def below(self, form: AffineExpr, bound: Int) -> str:
        """Return the condition that a form is below a bound."""
        kind = self.kind(form.interval, Interval(bound, bound))
        left, right = (self.text(x, kind) for x in (form, AffineExpr((), bound)))
        return f"{_uncast(left)} < {_uncast(right)}"

    def head(self, loop: Loop) -> list[str]:
        name = loop.axis.name
        own, lines = self.kind(Interval(0, loop.axis.size)), list[str]()
        stop = self.end_of(loop, own)
        if len(loop.stops) > 1:
            lines.append(self.statement(self.ends[name], stop, own))
            stop = self.ends[name]
        for counter in loop.counters:
            for first, form in counter.starts(loop.axis, loop.start):
                kind = self.kind(counter.digits[first].interval)
                kinds, text = self.type_of(kind), self.text(form, kind)
                lines.append(self.variable.format(name=first, type=kinds, text=text))
        start, kinds = self.count(loop.start, own), self.type_of(own)
        return [*lines, self.loop_of(name).format(v=name, type=kinds, start=start, stop=stop)]

    def loop_of(self, name: str) -> str:
        """Return the head of the loop of a variable, with fields as in ``loop``."""
        return self.loop

    def end_of(self, loop: Loop, own: IntType | None) -> str:
        """Return the end of a loop, in the type of its variable."""
        ends = [Interval(0, stop.interval.hi) for stop in loop.stops]
        kind = own if len(ends) == 1 else self.kind(Interval(0, loop.axis.size), *ends)
        stop = self.count(loop.stops[0], kind)
        for other in loop.stops[1:]:
            stop = self.least.format(a=closed(stop), b=closed(self.count(other, kind)))
        is_other = len(ends) > 1 and own is not None and kind != own
        return self.as_type(stop, own.text) if is_other and own is not None else stop

    def at_index(self, loop: Loop) -> list[str]:
        """Return the lines before the body of a loop of which a machine gives the index."""
        name, own = loop.axis.name, self.kind(Interval(0, loop.axis.size))
        index = self.statement(name, self.indices[name], own)
        return [index, self.condition.format(f"{name} < {closed(self.end_of(loop, own))}")]

    def block(self, block: VectorBlock) -> list[str]:
        """Return the lines before the body of loops that are vectors."""
        raise NotImplementedError

    def next(self, counter: Counter) -> list[str]:
        """Return the lines after a turn of a counter's loop."""
        rest, quotient, modulus = counter.rest, counter.quotient, counter.modulus
        by, rest_by = divmod(counter.step, counter.divisor)
        carry = [f"{rest} -= {counter.divisor}{self.stop}"]
        wrap = []
        if quotient:
            carry.append(f"{quotient} += 1{self.stop}")
        if quotient and modulus is not None:
            wrap = self.under(f"{quotient} >= {modulus}", [f"{quotient} -= {modulus}{self.stop}"])
        lines = [f"{rest} += {rest_by}{self.stop}"]
        if quotient and by:
            lines.append(f"{quotient} += {by}{self.stop}")
            return [*lines, *self.under(f"{rest} >= {counter.divisor}", carry), *wrap]
        return [*lines, *self.under(f"{rest} >= {counter.divisor}", [*carry, *wrap])]

    def under(self, condition: str, lines: list[str]) -> list[str]:
        ends = [self.end] if self.end else []
        inner = (f"    {line}" for line in lines)
        return [self.condition.format(condition), *inner, *ends]

    def module(self, name: str, arguments: str) -> Iterator[str]:
        """Yield the lines of a function; sizes are arguments after those for the arrays."""
        arrays = self.nest.space.accesses
        given = [arguments] if arguments else self.arrays()
        sizes = [self.argument(size) for size in self.nest.space.size_names]
        yield from self.include.splitlines()
        # A backslash at a line's end makes C read the next line as comment too.
        about = (f"{self.comment} {a.name}: {a.source}" for a in arrays if a.source)
        yield from (" ".join(line.split()).rstrip("\\ ") for line in about)
        yield self.opening.format(name=name, arguments=", ".join([*given, *sizes]))
        yield from self.whole(1)
        yield from [self.end] if self.end else []

    def arrays(self) -> list[str]:
        arrays = self.nest.space.accesses
        heads = [self.array] * (len(arrays) - 1) + [self.written]
        kinds = [
            self.element(a) if "{type}" in head else ""
            for a, head in zip(arrays, heads, strict=True)
        ]
        if len({*kinds}) > 1 and self.nest.is_copy:
            raise UnsupportedError(
                f"a copy needs one type of elements, got {' and '.join(kinds)}",
                "a nest of two arrays without a body copies the first to the second",
                'give for example body="b[{b}] = convert(a[{a}]);"',
            )
        return [
            head.format(name=a.name, type=kind)
            for a, head, kind in zip(arrays, heads, kinds, strict=True)
        ]

    def element(self, access: ArrayAccess) -> str:
        """Return the type of an array's elements: floats of 32 bits if its map does not tell."""
        kind = access.element or ElementType("f32", 32)
        name = kind.name or ""
        if name in self.elements:
            return self.elements[name]
        if self.integer_bits and kind.bits not in self.integer_bits:
            raise UnsupportedError(
                f"{access.name}: elements of {kind.bits} bits have no type in {self.title}",
                f"integers there have {', '.join(map(str, self.integer_bits))} bits",
                f"give the arguments as text, and offsets in bytes: loops({access.name}.address())",
            )
        return self.integers[name[:1] not in ("s", "i")].format(kind.bits)

    def whole(self, depth: int = 0) -> Iterator[str]:
        return self.lines(self.nest.statements, depth)

    def argument(self, size: str) -> str:
        kind = self.type_of(self.kind(self.lowering.size(size).interval))
        return self.typed.format(name=size, type=kind)

    def visit(self) -> list[str]:
        """Return the lines of the body."""
        texts = {name: self.text(form) for name, form in self.nest.plan.results.items()}
        return [self.filled(line, texts) for line in self.body.splitlines()]

    def filled(self, line: str, texts: Mapping[str, str]) -> str:
        """Return a line with texts in place of names in braces; other braces stay."""

        def text(found: re.Match[str]) -> str:
            value = texts.get(found[1])
            if value is None:
                return found[0]
            is_index = line[: found.start()].endswith("[") and line[found.end() :].startswith("]")
            return self.index(value) if is_index else closed(value)

        return FIELD.sub(text, line)

    def index(self, text: str) -> str:
        """Return an offset between brackets."""
        return text

    @property
    def body(self) -> str:
        """The text of the body, with names in braces."""
        return self.nest.body or self.default()

    def default(self) -> str:
        """Return the body of a nest without one: of two arrays, the second is a copy."""
        parts = [f"{name}[{{{name}}}]" for name in self.nest.space.arrays]
        if self.nest.is_copy:
            return f"{parts[1]} = {parts[0]}{self.stop}"
        return f"{self.comment} {', '.join(parts)}"


def _base_first(node: Node, bases: AbstractSet[str]) -> Node:
    """Return a sum with the value of an outer loop as its first term."""
    if node.op is not Op.SUM or min(node.value) < 0:
        return node
    args = sorted(node.args, key=lambda arg: arg.op is not Op.NAME or arg.value not in bases)
    return Node(Op.SUM, tuple(args), node.interval, node.reach, node.value)


def _uncast(text: str) -> str:
    """Return an operand of <, which after a type would begin its arguments in Rust."""
    return f"({text})" if " as " in text else text


def closed(text: str) -> str:
    """Return a text, in parentheses unless it is a name or a number."""
    return text if re.fullmatch(r"%?\w+", text) else f"({text})"


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
            results.append((PADDING, lowering.condition(Op.ANY, *parts)))
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
    checks: list[Node] = []
    for known in formulas.size_assumptions:
        node = lowering.size(known.name)
        least = known.lo if known.lo > known.divisor else 1  # a multiple is not below its divisor
        checks.append(lowering.condition(Op.GE, node, lowering.const(least)))
        if known.hi is not None:
            checks.append(lowering.condition(Op.LE, node, lowering.const(known.hi)))
        if known.divisor > 1:
            rest = lowering.form(variable(known.name, 1) % known.divisor)
            checks.append(lowering.condition(Op.EQ, rest, lowering.const(0)))
    for var in formulas.variables:
        lo, hi = var.interval
        if lo == 0 and hi == -1:  # of an array without elements
            checks.append(lowering.condition(Op.ANY))
            continue
        kind = widths.kind(var.interval) if widths is not None and widths.declared else None
        name = lowering.name(var.name, var.interval)
        if lo is not None and (kind is None or lo != kind.smallest):
            checks.append(lowering.condition(Op.GE, name, lowering.number(lo)))
        if hi is not None and (kind is None or hi != kind.largest):
            checks.append(lowering.condition(Op.LE, name, lowering.number(hi)))
    return checks
