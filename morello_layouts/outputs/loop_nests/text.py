"""Nests as source text: a language is a small class that says how it differs from C."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from typing import ClassVar, Final

from morello_layouts.core.expr import AffineExpr, Interval
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.layout import ElementType
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen.language import ProgramLanguage
from morello_layouts.outputs.codegen.operations import Lowering, Node, Op
from morello_layouts.outputs.codegen.printer import IntType, Widths
from morello_layouts.outputs.codegen.targets import (
    CLanguage,
    CudaLanguage,
    PythonLanguage,
    RustLanguage,
)
from morello_layouts.outputs.loop_nests.hoist import Counter, Value
from morello_layouts.outputs.loop_nests.space import Access, fresh
from morello_layouts.outputs.loop_nests.tree import Block, Guard, Loop, Statement, Visit, Walk


class Writer:
    """A writer of nests in C; a subclass states the differences."""

    language: ClassVar[type[ProgramLanguage]] = CLanguage  #: the language of expressions.
    comment: ClassVar[str] = "//"  #: the beginning of a comment.
    #: the head of a loop, of its variable ``v``, ``type``, ``start`` and ``stop``.
    loop: ClassVar[str] = "for ({type} {v} = {start}; {v} < {stop}; ++{v}) {{"
    #: the end of a loop, a condition and a function; empty if indentation ends them.
    end: ClassVar[str] = "}"
    #: the statement that names a value which changes.
    variable: ClassVar[str] = "{type} {name} = {text};"
    stop: ClassVar[str] = ";"  #: the end of a statement.
    #: the lines before a function.
    include: ClassVar[str] = "#include <stdint.h>\n\n"
    opening: ClassVar[str] = "static void {name}({arguments}) {{"  #: the head of a function.
    typed: ClassVar[str] = "const {type} {name}"  #: an argument.
    condition: ClassVar[str] = "if ({}) {{"  #: the head of a condition.
    both: ClassVar[str] = " && "  #: the operator between conditions.
    least: ClassVar[str] = "{a} < {b} ? {a} : {b}"  #: the smaller of two numbers.
    array: ClassVar[str] = "const {type} *{name}"  #: an argument for an array that is read.
    written: ClassVar[str] = "{type} *{name}"  #: that for an array that is written.
    #: the types of elements that the language has.
    elements: ClassVar[Mapping[str, str]] = {"f32": "float", "f64": "double"}
    #: integers of some width, signed and not, for elements of other types.
    words: ClassVar[tuple[str, str]] = ("int{}_t", "uint{}_t")
    #: the bits that they may have; empty for any number.
    word_bits: ClassVar[tuple[int, ...]] = (8, 16, 32, 64)
    counts: ClassVar[bool] = True  #: whether it has values that change.
    vectors: ClassVar[int] = 0  #: the number of inner loops that are vectors.
    #: an example of an index that a machine gives; empty if it gives none.
    parallel: ClassVar[str] = ""

    def __init__(self, walk: Walk, indices: Mapping[str, str]) -> None:
        self.walk, self.indices = walk, indices
        self.own = self.language()
        known = walk.space.assumptions
        bounds = {one.name: Interval(one.lo, one.hi) for one in known}
        self.widths = Widths(True, self.own.unsigned, bounds) if self.own.has_widths else None
        self.lowering = Lowering(self.own.arithmetic, bounds)
        self.printer = self.own.printer(self.widths)
        self.bases = {value.name for level in walk.plan.values for value in level}
        taken = {*self.bases, *walk.space.names, *(axis.name for axis in walk.axes)}
        self.ends = {axis.name: fresh(f"{axis.name}_end", taken) for axis in walk.axes}

    def require_names(self, *names: str) -> None:
        """Check that the text of the language can use every name."""
        space = self.walk.space
        own = (*names, *(a.name for a in space.accesses), *(axis.name for axis in self.walk.axes))
        for name in (*own, *space.sizes, *space.size_names):
            if not self.is_name(name):
                raise LayoutError(
                    f"{name!r} is not a name in {self.own.title}",
                    "a name has letters, digits and underscores, and is not a reserved word",
                    "rename coordinates by the argument names, the function by the argument name, "
                    "arrays by their keys",
                )

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return self.own.is_name(name)

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
        text = self.printer.write([root], {})[root]
        if kind is None or self.widths is None or self.widths.result(root) == kind:
            return text
        return text if root.op is Op.CONST else self.cast(text, kind)

    def cast(self, text: str, kind: IntType | str) -> str:
        """Return an expression where another type is expected."""
        return text

    def kind(self, *intervals: Interval) -> IntType | None:
        """Return the type that holds some values."""
        return None if self.widths is None else self.widths.kind(*intervals)

    def lines(self, statements: Sequence[Statement], depth: int = 0) -> Iterator[str]:
        """Yield the lines of statements."""
        pad = "    " * depth
        for one in statements:
            match one:
                case Value():
                    if one.about:
                        yield f"{pad}{self.comment} {one.name}: {one.about}"
                    yield pad + self.value(one.name, one.form)
                case Loop() if one.axis.name in self.indices:
                    yield from (pad + line for line in self.at_index(one))
                    yield from self.lines(one.body, depth + 1)
                    yield from [pad + self.end] if self.end else []
                case Loop():
                    yield from (pad + line for line in self.head(one))
                    yield from self.lines(one.body, depth + 1)
                    for counter in one.counters:
                        yield from (f"{pad}    {line}" for line in self.next(counter))
                    yield from [pad + self.end] if self.end else []
                case Guard():
                    parts = [self.below(form, n) for form, n in one.conditions]
                    yield pad + self.condition.format(self.both.join(parts))
                    yield from self.lines(one.body, depth + 1)
                    yield from [pad + self.end] if self.end else []
                case Block():
                    yield from (pad + line for line in self.block(one))
                    yield from self.lines(one.body, depth)
                case Visit():
                    yield from (pad + line for line in self.visit())

    def value(self, name: str, form: AffineExpr) -> str:
        """Return the line that names a value."""
        kind = self.kind(form.interval if form.terms else self.lowering.size(name).interval)
        return self.own.statement(name, self.text(form, kind), kind)

    def below(self, form: AffineExpr, bound: Int) -> str:
        """Return the condition that a form is below a bound."""
        kind = self.kind(form.interval, Interval(bound, bound))
        left, right = (self.text(x, kind) for x in (form, AffineExpr((), bound)))
        return f"{_uncast(left)} < {_uncast(right)}"

    def head(self, loop: Loop) -> list[str]:
        """Return the lines before the body of a loop."""
        name = loop.axis.name
        own = self.kind(Interval(0, loop.axis.size))
        lines = [f"{self.comment} {name}: {loop.about}"] if loop.about else []
        stop = self.end_of(loop, own)
        if len(loop.stops) > 1:
            lines.append(self.own.statement(self.ends[name], stop, own))
            stop = self.ends[name]
        for counter in loop.counters:
            for first, form in counter.starts(loop.axis, loop.start):
                lines.append(self.counter(first, form, counter.digits[first].interval))
        start, kind = self.count(loop.start, own), self.own.type_of(own)
        return [*lines, self.loop.format(v=name, type=kind, start=start, stop=stop)]

    def end_of(self, loop: Loop, own: IntType | None) -> str:
        """Return the end of a loop, in the type of its variable."""
        ends = [Interval(0, stop.interval.hi) for stop in loop.stops]
        kind = own if len(ends) == 1 else self.kind(Interval(0, loop.axis.size), *ends)
        stop = self.count(loop.stops[0], kind)
        for other in loop.stops[1:]:
            stop = self.least.format(a=_closed(stop), b=_closed(self.count(other, kind)))
        is_other = len(ends) > 1 and own is not None and kind != own
        return self.cast(stop, own) if is_other and own is not None else stop

    def at_index(self, loop: Loop) -> list[str]:
        """Return the lines before the body of a loop of which a machine gives the index."""
        name, own = loop.axis.name, self.kind(Interval(0, loop.axis.size))
        about = [f"{self.comment} {name}: {loop.about}"] if loop.about else []
        index = self.own.statement(name, self.indices[name], own)
        return [*about, index, self.condition.format(f"{name} < {_closed(self.end_of(loop, own))}")]

    def block(self, block: Block) -> list[str]:
        """Return the lines before the body of loops that are vectors."""
        raise NotImplementedError

    def counter(self, name: str, form: AffineExpr, values: Interval) -> str:
        """Return the line that names a value which changes, from a form on."""
        kind = self.kind(values)
        text = self.text(form, kind)
        return self.variable.format(name=name, type=self.own.type_of(kind), text=text)

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
        """Return lines under a condition."""
        ends = [self.end] if self.end else []
        inner = (f"    {line}" for line in lines)
        return [self.condition.format(condition), *inner, *ends]

    def function(self, name: str, arguments: str) -> Iterator[str]:
        """Yield the lines of a function; sizes are arguments after those for the arrays."""
        arrays = self.walk.space.accesses
        own = [] if arguments else self.arrays()
        sizes = [self.argument(size) for size in self.walk.space.size_names]
        yield from self.include.splitlines()
        # A backslash at a line's end makes C read the next line as comment too.
        about = (f"{self.comment} {a.name}: {a.source}" for a in arrays if a.source)
        yield from (" ".join(line.split()).rstrip("\\ ") for line in about)
        given = [arguments] if arguments else own
        yield self.opening.format(name=name, arguments=", ".join([*given, *sizes]))
        yield from self.whole(1)
        yield from [self.end] if self.end else []

    def arrays(self) -> list[str]:
        """Return the arguments for the arrays."""
        arrays = self.walk.space.accesses
        heads = [self.array] * (len(arrays) - 1) + [self.written]
        kinds = [
            self.element(a) if "{type}" in head else ""
            for a, head in zip(arrays, heads, strict=True)
        ]
        if len({*kinds}) > 1 and self.is_copy:
            raise UnsupportedError(
                f"a copy needs one type of elements, got {' and '.join(kinds)}",
                "a nest of two arrays without a body copies the first to the second",
                'give for example body="b[{b}] = convert(a[{a}]);"',
            )
        return [
            head.format(name=a.name, type=kind)
            for a, head, kind in zip(arrays, heads, kinds, strict=True)
        ]

    def element(self, access: Access) -> str:
        """Return the type of an array's elements: floats of 32 bits if its map does not tell."""
        kind = access.element or ElementType("f32", 32)
        name = kind.name or ""
        if name in self.elements:
            return self.elements[name]
        if self.word_bits and kind.bits not in self.word_bits:
            raise UnsupportedError(
                f"{access.name}: elements of {kind.bits} bits have no type in {self.own.title}",
                f"integers there have {', '.join(map(str, self.word_bits))} bits",
                f"give the arguments as text, and offsets in bytes: loops({access.name}.address())",
            )
        return self.words[name[:1] not in ("s", "i")].format(kind.bits)

    def whole(self, depth: int = 0) -> Iterator[str]:
        """Yield the lines of the nest."""
        return self.lines(self.walk.statements, depth)

    def argument(self, size: str) -> str:
        """Return the argument for a symbolic size."""
        kind = self.own.type_of(self.kind(self.lowering.size(size).interval))
        return self.typed.format(name=size, type=kind)

    def visit(self) -> list[str]:
        """Return the lines of the body."""
        found = self.walk.plan.results
        texts = {name: self.text(form) for name, form in found.items()}
        body = self.walk.body or self.default()
        return [self.filled(line, texts) for line in body.splitlines()]

    def filled(self, line: str, texts: Mapping[str, str]) -> str:
        """Return a line with texts in place of names in braces; other braces stay."""

        def text(found: re.Match[str]) -> str:
            value = texts.get(found[1])
            if value is None:
                return found[0]
            is_index = line[: found.start()].endswith("[") and line[found.end() :].startswith("]")
            return self.index(value) if is_index else _closed(value)

        return FIELD.sub(text, line)

    def index(self, text: str) -> str:
        """Return an offset between brackets."""
        return text

    @property
    def is_copy(self) -> bool:
        """Whether a nest without a body copies: of two arrays, the second has all coordinates."""
        arrays = self.walk.space.accesses
        return len(arrays) == 2 and {*arrays[0].over} <= {*arrays[1].over} and not self.walk.body

    def default(self) -> str:
        """Return the body of a nest without one: of two arrays, the second is a copy."""
        names = [access.name for access in self.walk.space.accesses]
        parts = [f"{name}[{{{name}}}]" for name in names]
        if self.is_copy:
            return f"{parts[1]} = {parts[0]}{self.stop}"
        return f"{self.comment} {', '.join(parts)}"


def _base_first(node: Node, bases: AbstractSet[str]) -> Node:
    """Return a sum with the value of an outer loop as its first term."""
    if node.op is not Op.SUM or min(node.value) < 0:
        return node
    args = sorted(node.args, key=lambda arg: arg.op is not Op.NAME or arg.value not in bases)
    return Node(Op.SUM, tuple(args), node.interval, node.reach, node.value)


FIELD: Final = re.compile(r"\{([A-Za-z_]\w*)\}", re.ASCII)
"""What a body has in place of an offset or a coordinate."""


def _uncast(text: str) -> str:
    """Return an operand of <, which after a type would begin its arguments in Rust."""
    return f"({text})" if " as " in text else text


def _closed(text: str) -> str:
    return text if re.fullmatch(r"%?\w+", text) else f"({text})"


class CudaWriter(Writer):
    """CUDA C++."""

    language: ClassVar[type[ProgramLanguage]] = CudaLanguage
    opening: ClassVar[str] = 'extern "C" __global__ void {name}({arguments}) {{'
    parallel: ClassVar[str] = "blockIdx.x"


class RustWriter(Writer):
    """Rust."""

    language: ClassVar[type[ProgramLanguage]] = RustLanguage
    loop: ClassVar[str] = "for {v} in {start}..{stop} {{"
    variable: ClassVar[str] = "let mut {name}: {type} = {text};"
    include: ClassVar[str] = ""
    opening: ClassVar[str] = "pub fn {name}({arguments}) {{"
    typed: ClassVar[str] = "{name}: {type}"
    condition: ClassVar[str] = "if {} {{"
    least: ClassVar[str] = "{a}.min({b})"
    array: ClassVar[str] = "{name}: &[{type}]"
    written: ClassVar[str] = "{name}: &mut [{type}]"
    elements: ClassVar[Mapping[str, str]] = {"f32": "f32", "f64": "f64"}
    words: ClassVar[tuple[str, str]] = ("i{}", "u{}")

    def index(self, text: str) -> str:
        """Return an offset between brackets: slices have indices of a type of their own."""
        return self.cast(text, "usize")

    def cast(self, text: str, kind: IntType | str) -> str:
        """Return an expression converted to another type."""
        is_atom = re.fullmatch(r"\w+|.*\.min\(.*\)", text)
        name = kind if isinstance(kind, str) else kind.text
        return f"{text if is_atom else f'({text})'} as {name}"


class PythonWriter(Writer):
    """Python."""

    language: ClassVar[type[ProgramLanguage]] = PythonLanguage
    comment: ClassVar[str] = "#"
    loop: ClassVar[str] = "for {v} in range({start}, {stop}):"
    end: ClassVar[str] = ""
    variable: ClassVar[str] = "{name} = {text}"
    stop: ClassVar[str] = ""
    include: ClassVar[str] = ""
    opening: ClassVar[str] = "def {name}({arguments}):"
    typed: ClassVar[str] = "{name}"
    condition: ClassVar[str] = "if {}:"
    both: ClassVar[str] = " and "
    least: ClassVar[str] = "min({a}, {b})"
    array: ClassVar[str] = "{name}"
    written: ClassVar[str] = "{name}"
    own_words: ClassVar[frozenset[str]] = frozenset(["range", "min"])

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return super().is_name(name) and name not in self.own_words

    def default(self) -> str:
        """Return the body of a nest without one: a comment alone is no statement."""
        body = super().default()
        return f"pass  {body}" if body.startswith(self.comment) else body
