"""MLIR: affine maps and sets, functions over ``index``, and loops of ``scf``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Final

from morello_layouts.core.expr import AffineExpr, Call, Digit, Var, digit, variable
from morello_layouts.core.expr.substitution import replace_atoms, substitute
from morello_layouts.errors import UnsupportedError
from morello_layouts.outputs.codegen.language import (
    PADDING_LAST,
    Below,
    Formulas,
    Guard,
    Loop,
    PrintedNest,
    Statement,
    words,
)
from morello_layouts.outputs.codegen.operations import Lowering, Op, use_counts
from morello_layouts.outputs.codegen.printer import IntType, Printer, Widths, fresh_names
from morello_layouts.outputs.codegen.programs import LoopLanguage

_INDEX: Final = Widths(unsigned=False)


def _require_xor(atom: Call) -> None:
    if atom.kind != "xor":
        raise UnsupportedError(
            f"MLIR's affine maps have no {atom}",
            "they are made of +, *, floordiv, ceildiv and mod",
            "choose another target, such as c, or write the maps of both cases",
        )


class MlirLanguage(LoopLanguage):
    """MLIR. Maps are affine expressions over 64-bit integers; every number is an ``index``."""

    name: ClassVar[str] = "mlir"
    title: ClassVar[str] = "MLIR"
    reserved: ClassVar[frozenset[str]] = words(
        "mod floordiv ceildiv affine_map affine_set symbol max min true false index"
    )
    symbols: ClassVar[Mapping[Op, str]] = {Op.MUL: " * ", Op.DIV: " floordiv ", Op.MOD: " mod "}
    floors: ClassVar[bool] = True
    indent: ClassVar[str] = "  "
    opening: ClassVar[str] = "func.func @{name}({arguments}) {{"
    typed: ClassVar[str] = "%{name}: index"
    array: ClassVar[str] = "%{name}: memref<?x{type}>"
    written: ClassVar[str] = array
    elements: ClassVar[Mapping[str, str]] = {x: x for x in ("f16", "bf16", "f32", "f64")}
    integers: ClassVar[tuple[str, str]] = ("i{}", "i{}")
    integer_bits: ClassVar[tuple[int, ...]] = ()
    counts: ClassVar[bool] = False
    xors: dict[Call, AffineExpr] | None  #: values of exclusive ors so far; None in nests.

    def literal(self, value: int, kind: IntType | None) -> str:
        # As in C, the smallest integer is a negated one that is out of range.
        return f"{value + 1} - 1" if value == -(2**63) else super().literal(value, kind)

    # ---- formulas

    def expression(self, formulas: Formulas) -> str:
        """Return the map from variables and sizes to the results."""
        names = [var.name for var in formulas.variables]
        return self._map(names, formulas.sizes, [form for _, form in formulas.results])

    def statements(self, formulas: Formulas) -> str:
        """Return the map to the results, then the set of the offsets that hold elements."""
        lines = [self.expression(formulas)]
        if formulas.limits is not None:
            names = [var.name for var in formulas.variables]
            lines.append(self._set(names, formulas.sizes, formulas.limits))
        return "\n".join(lines)

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """Return a ``func.func`` over ``index``; the padding condition is the last result."""
        lines, names = list[str](), [var.name for var in formulas.variables]
        xors = self.xors = dict[Call, AffineExpr]()
        self.fresh = fresh_names(formulas.arguments, "r")

        def inputs() -> tuple[list[str], str]:
            """The values that a map takes: variables, then exclusive ors so far."""
            taken = [*names, *map(str, xors.values())]
            return taken, _values(taken, formulas.sizes)

        def applied(form: AffineExpr, lines: list[str]) -> str:
            affine = self._without_xors(form, lines, applied)
            name, (taken, values) = f"%{next(self.fresh)}", inputs()
            text = self._map(taken, formulas.sizes, [affine])
            lines.append(f"{name} = affine.apply {text}{values}")
            return name

        results = [applied(form, lines) for _, form in formulas.results]
        types = ["index"] * len(results)
        if formulas.limits is not None:
            limits = [(self._without_xors(x, lines, applied), n) for x, n in formulas.limits]
            results.append(f"%{next(self.fresh)}")
            taken, values = inputs()
            elements = self._set(taken, formulas.sizes, limits)
            lines += [
                "%true = arith.constant true",
                "%false = arith.constant false",
                f"{results[-1]} = affine.if {elements}{values} -> i1 {{",
                "  affine.yield %false : i1",
                "} else {",
                "  affine.yield %true : i1",
                "}",
            ]
            types.append("i1")
        returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
        arguments = ", ".join(f"%{name}: index" for name in formulas.arguments)
        lines = [
            *(f"// {line}" for line in formulas.comment(PADDING_LAST)),
            f"func.func @{formulas.name}({arguments}) -> {returned} {{",
            *(f"  {line}" for line in lines),
            f"  return {', '.join(results)} : {', '.join(types)}",
            "}",
        ]
        return "\n".join(lines)

    def _without_xors(
        self, form: AffineExpr, lines: list[str], value_of: Callable[[AffineExpr, list[str]], str]
    ) -> AffineExpr:
        """Return a form over the values of its exclusive ors, after the lines that compute them."""

        def change(atom: Digit | Call) -> AffineExpr:
            if isinstance(atom, Digit):
                operand = self._without_xors(atom.operand, lines, value_of)
                return digit(operand, atom.divisor, atom.modulus)
            _require_xor(atom)
            if self.xors is not None and atom in self.xors:
                return self.xors[atom]
            total, *parts = [value_of(part, lines) for part in atom.parts]
            for part in parts:
                name = next(self.fresh)
                lines.append(f"%{name} = arith.xori {total}, {part} : index")
                total = f"%{name}"
            found = variable(total[1:], *atom.interval)
            if self.xors is not None:
                self.xors[atom] = found
            return found

        return replace_atoms(form, change)

    def _map(self, names: Sequence[str], sizes: Sequence[str], forms: Sequence[AffineExpr]) -> str:
        return f"affine_map<{_inputs(names, sizes)} -> ({', '.join(map(self._text, forms))})>"

    def _set(self, names: Sequence[str], sizes: Sequence[str], limits: Sequence[Below]) -> str:
        conditions = [f"{self._text(-form + (n - 1))} >= 0" for form, n in limits]
        return f"affine_set<{_inputs(names, sizes)} : ({', '.join(conditions) or '0 == 0'})>"

    def _text(self, form: AffineExpr) -> str:
        xors = [atom for atom in form.atoms() if isinstance(atom, Call)]
        if xors:
            _require_xor(xors[0])
            raise UnsupportedError(
                f"MLIR's affine maps have no {xors[0]}",
                "a function computes it by arith.xori, between two maps",
                "ask for a function: function=True, or --function",
            )
        root = Lowering(self.arithmetic).form(form)
        for node in use_counts([root]):
            _INDEX.operation(node)  # raises an UnsupportedError if 64 bits do not hold a value
        return Printer(self, None).write([root], {})[root]

    # ---- loop nests

    def begin(self, nest: PrintedNest, indices: Mapping[str, str]) -> None:
        super().begin(nest, indices)
        taken = {*self.bases, *nest.space.names, *self.ends, *self.ends.values()}
        self.fresh, self.xors = fresh_names(taken, "t"), None
        self.constants = dict[int, str]()
        self.prefix = "c"
        while any(re.fullmatch(rf"{self.prefix}n?\d+", name) for name in taken):
            self.prefix += "_"

    def module(self, name: str, arguments: str) -> Iterator[str]:
        *lines, end = super().module(name, arguments)
        yield from [*lines, "  return", end]

    def lines(self, statements: Sequence[Statement], depth: int = 0) -> Iterator[str]:
        """Yield the lines of statements; before all of them, the constants that they need."""
        is_first = not self.constants
        self.constants.update({n: self.constant(n) for n in (0, 1)})
        found = [*super().lines(statements, depth)]
        if is_first:
            for number, name in self.constants.items():
                yield f"{self.indent * depth}{name} = arith.constant {number} : index"
        yield from found

    def value(self, name: str, form: AffineExpr) -> list[str]:
        lines: list[str] = []
        self._apply([form], lines, name)
        return lines

    def head(self, loop: Loop) -> list[str]:
        name, lines = loop.axis.name, list[str]()
        start = self.operand(loop.start, lines)
        if len(loop.stops) == 1:
            stop = self.operand(loop.stops[0], lines)
        else:
            stop = self._apply(loop.stops, lines, self.ends[name], "affine.min")
        return [*lines, f"scf.for %{name} = {start} to {stop} step {self.constant(1)} {{"]

    def constant(self, number: int) -> str:
        """Return the name of a constant; no value of the nest has it."""
        return f"%{self.prefix}{number}".replace("-", "n")

    def guard(self, guard: Guard) -> list[str]:
        lines, total = list[str](), ""
        for form, n in guard.conditions:
            one, other = self.operand(form, lines), self.operand(AffineExpr((), n), lines)
            below = f"%{next(self.fresh)}"
            lines.append(f"{below} = arith.cmpi slt, {one}, {other} : index")
            if total:
                both = f"%{next(self.fresh)}"
                lines.append(f"{both} = arith.andi {total}, {below} : i1")
                below = both
            total = below
        return [*lines, f"scf.if {total} {{"]

    def operand(self, form: AffineExpr, lines: list[str]) -> str:
        """Return the name of a form's value, after the lines that compute it."""
        atom = form.as_atom()
        if isinstance(atom, Var):
            return f"%{atom.name}"
        if not form.terms and f"{form.const}".isidentifier():
            return f"%{form.const}"
        if not form.terms and isinstance(form.const, int):
            return self.constants.setdefault(form.const, self.constant(form.const))
        return self._apply([form], lines, next(self.fresh))

    def _apply(
        self, forms: Sequence[AffineExpr], lines: list[str], name: str, by: str = "affine.apply"
    ) -> str:
        affine = [_unbounded(self._without_xors(form, lines, self.operand)) for form in forms]
        names = [*dict.fromkeys(v.name for form in affine for v in form.variables())]
        sizes = sorted({size for form in affine for size in form.sizes()})
        text = self._map(names, sizes, affine)
        lines.append(f"%{name} = {by} {text}{_values(names, sizes)}")
        return f"%{name}"

    def visit(self) -> list[str]:
        """Return the lines of the body, after those that compute what it uses."""
        lines: list[str] = []
        body, results = self.body, self.nest.plan.results.items()
        texts = {n: self.operand(form, lines) for n, form in results if f"{{{n}}}" in body}
        return [*lines, *(self.filled(line, texts) for line in body.splitlines())]

    def default(self) -> str:
        if not self.nest.is_copy:
            return super().default()
        arrays = self.nest.space.accesses
        one, other = (f"%{a.name}[{{{a.name}}}] : memref<?x{self.element(a)}>" for a in arrays)
        value = f"%{next(self.fresh)}"
        return f"{value} = memref.load {one}\nmemref.store {value}, {other}"

    def argument(self, size: str) -> str:
        return self.typed.format(name=size)


def _inputs(names: Sequence[str], sizes: Sequence[str]) -> str:
    dims = f"({', '.join(names)})"
    return f"{dims}[{', '.join(sizes)}]" if sizes else dims


def _values(names: Sequence[str], sizes: Sequence[str]) -> str:
    """Return the values that a map takes, in MLIR."""
    return _inputs([f"%{name}" for name in names], [f"%{size}" for size in sizes])


def _unbounded(form: AffineExpr) -> AffineExpr:
    """Return a form whose variables have no bounds, so that a map takes no sizes for them."""
    return substitute(form, {v.name: variable(v.name) for v in form.variables()})
