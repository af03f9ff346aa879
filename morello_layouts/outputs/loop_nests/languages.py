"""The languages of nests: MLIR with loops of ``scf``, Triton with blocks, and the table of all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from morello_layouts.core.expr import AffineExpr, BitXor, Digit, Var, digit, variable
from morello_layouts.core.expr.substitution import replace_atoms, substitute
from morello_layouts.core.limits import TRITON_BLOCK
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.outputs.codegen.language import Formulas, ProgramLanguage
from morello_layouts.outputs.codegen.mathematics import MlirLanguage
from morello_layouts.outputs.codegen.printer import fresh_names
from morello_layouts.outputs.codegen.targets import TritonLanguage
from morello_layouts.outputs.loop_nests.hoist import Value
from morello_layouts.outputs.loop_nests.space import Axis
from morello_layouts.outputs.loop_nests.text import CudaWriter, PythonWriter, RustWriter, Writer
from morello_layouts.outputs.loop_nests.tree import Block, Guard, Loop, Statement, Visit, Walk


class MlirWriter(Writer):
    """MLIR; every number is an ``index``."""

    counts: ClassVar[bool] = False
    include: ClassVar[str] = ""
    opening: ClassVar[str] = "func.func @{name}({arguments}) {{"
    typed: ClassVar[str] = "%{name}: index"
    array: ClassVar[str] = "%{name}: memref<?x{type}>"
    written: ClassVar[str] = array
    elements: ClassVar[Mapping[str, str]] = {x: x for x in ("f16", "bf16", "f32", "f64")}
    words: ClassVar[tuple[str, str]] = ("i{}", "i{}")
    word_bits: ClassVar[tuple[int, ...]] = ()

    def __init__(self, walk: Walk, indices: Mapping[str, str]) -> None:
        super().__init__(walk, indices)
        taken = {*self.bases, *walk.space.names, *self.ends, *self.ends.values()}
        self.fresh = fresh_names(taken, "t")
        self.constants: dict[int, str] = {}
        self.prefix = "c"
        while any(re.fullmatch(rf"{self.prefix}n?\d+", name) for name in taken):
            self.prefix += "_"

    def is_name(self, name: str) -> bool:
        """Whether a text may name a variable or a function."""
        return MlirLanguage().is_name(name)

    def function(self, name: str, arguments: str) -> Iterator[str]:
        """Yield the lines of a function; sizes are arguments after those for the arrays."""
        head, *lines = super().function(name, arguments)
        while head.startswith(self.comment):
            yield head
            head, *lines = lines
        yield from [head, *lines[:-1], "  return", "}"]

    def lines(self, statements: Sequence[Statement], depth: int = 0) -> Iterator[str]:
        """Yield the lines of statements; before all of them, the constants that they need."""
        is_first = not self.constants
        self.constants.update({n: self.constant(n) for n in (0, 1)})
        found = [line for one in statements for line in self._statement(one, depth)]
        if is_first:
            pad = "  " * depth
            for number, name in self.constants.items():
                yield f"{pad}{name} = arith.constant {number} : index"
        yield from found

    def _statement(self, one: Statement, depth: int) -> Iterator[str]:
        pad, lines = "  " * depth, list[str]()
        match one:
            case Value():
                lines = [f"{self.comment} {one.name}: {one.about}"] if one.about else []
                self._apply([one.form], lines, one.name)
            case Loop():
                lines = self.head(one)
            case Guard():
                lines = self._guard(one)
            case Visit():
                lines = self.visit()
        yield from (pad + line for line in lines)
        if isinstance(one, Loop | Guard):
            yield from self.lines(one.body, depth + 1)
            yield pad + "}"

    def head(self, loop: Loop) -> list[str]:
        """Return the lines before the body of a loop."""
        name = loop.axis.name
        lines = [f"{self.comment} {name}: {loop.about}"] if loop.about else []
        start = self.operand(loop.start, lines)
        if len(loop.stops) == 1:
            stop = self.operand(loop.stops[0], lines)
        else:
            stop = self._apply(loop.stops, lines, self.ends[name], "affine.min")
        return [*lines, f"scf.for %{name} = {start} to {stop} step {self.constant(1)} {{"]

    def constant(self, number: int) -> str:
        """Return the name of a constant; no value of the nest has it."""
        return f"%{self.prefix}{number}".replace("-", "n")

    def _guard(self, guard: Guard) -> list[str]:
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
        affine = [_unbounded(self._without_xors(form, lines)) for form in forms]
        used = {v.name: v for form in affine for v in form.variables()}
        results = tuple((f"r{k}", form) for k, form in enumerate(affine))
        formulas = Formulas("f", "", tuple(used.values()), results)
        sizes = ", ".join(f"%{size}" for size in formulas.sizes)
        inputs = f"({', '.join(f'%{v}' for v in used)})" + (f"[{sizes}]" if sizes else "")
        lines.append(f"%{name} = {by} {MlirLanguage().expression(formulas)}{inputs}")
        return f"%{name}"

    def _without_xors(self, form: AffineExpr, lines: list[str]) -> AffineExpr:
        """Return a form over the values of its exclusive ors, after the lines that compute them."""

        def change(atom: Digit | BitXor) -> AffineExpr:
            if isinstance(atom, Digit):
                operand = self._without_xors(atom.operand, lines)
                return digit(operand, atom.divisor, atom.modulus)
            total, *parts = [self.operand(part, lines) for part in atom.parts]
            for part in parts:
                name = next(self.fresh)
                lines.append(f"%{name} = arith.xori {total}, {part} : index")
                total = f"%{name}"
            return variable(total[1:], *atom.interval)

        return replace_atoms(form, change)

    def visit(self) -> list[str]:
        """Return the lines of the body, after those that compute what it uses."""
        lines: list[str] = []
        body = self.walk.body or self.default()
        results = self.walk.plan.results.items()
        texts = {n: self.operand(form, lines) for n, form in results if f"{{{n}}}" in body}
        return [*lines, *(self.filled(line, texts) for line in body.splitlines())]

    def default(self) -> str:
        """Return the body of a nest without one: of two arrays, the second is a copy."""
        arrays = self.walk.space.accesses
        if not self.is_copy:
            return super().default()
        one, other = (f"%{a.name}[{{{a.name}}}] : memref<?x{self.element(a)}>" for a in arrays)
        value = f"%{next(self.fresh)}"
        return f"{value} = memref.load {one}\nmemref.store {value}, {other}"

    def argument(self, size: str) -> str:
        """Return the argument for a symbolic size."""
        return self.typed.format(name=size)


def _unbounded(form: AffineExpr) -> AffineExpr:
    """Return a form whose variables have no bounds, so that a map takes no sizes for them."""
    return substitute(form, {v.name: variable(v.name) for v in form.variables()})


class TritonWriter(PythonWriter):
    """Triton."""

    language: ClassVar[type[ProgramLanguage]] = TritonLanguage
    counts: ClassVar[bool] = False
    vectors: ClassVar[int] = 2
    parallel: ClassVar[str] = "tl.program_id(0)"
    include: ClassVar[str] = "import triton\nimport triton.language as tl\n\n\n"
    opening: ClassVar[str] = "@triton.jit\ndef {name}({arguments}):"

    own_words: ClassVar[frozenset[str]] = frozenset(["range", "min", "mask", "triton"])

    def whole(self, depth: int = 0) -> Iterator[str]:
        """Yield the lines of the nest; a size is an argument of any width."""
        for size in self.walk.space.size_names:
            yield f"{'    ' * depth}{size} = tl.cast({size}, tl.int64)"
        yield from super().whole(depth)

    def block(self, block: Block) -> list[str]:
        """Return the vectors of the inner loops, and the masks that the body uses."""
        lines, conditions = [], [(form, self.below(form, n)) for form, n in block.conditions]
        total = 1
        for k, axis in enumerate(block.axes):
            size = _power_of_two(axis)
            total *= size
            at = "" if len(block.axes) == 1 else "[:, None]" if k == 0 else "[None, :]"
            lines.append(f"{axis.name} = tl.arange(0, {size}){at}")
            if size != axis.size:
                conditions.append((axis.variable, f"{axis.name} < {axis.size}"))
        if total > TRITON_BLOCK:
            raise UnsupportedError(
                f"a block: expected up to {TRITON_BLOCK} elements, got {total}",
                "Triton has no larger blocks",
                "give tiles, such as tile={'i': 32, 'j': 128}",
            )
        body = self.walk.body or self.default()
        without = "False" if 0 in self.walk.space.sizes.values() else ""
        masks = {"mask": None, **{f"mask_{a}": a for a in self.walk.plan.results}}
        for name, access in masks.items():
            if f"{{{name}}}" in body:
                own = (
                    f"({x})" for form, x in conditions if access is None or self.uses(access, form)
                )
                lines.append(f"{name} = {without or ' & '.join(own) or None}")
        return lines

    def uses(self, access: str, form: object) -> bool:
        """Whether an array depends on the coordinates in a condition."""
        names = [a.name for a in self.walk.space.accesses]
        if access not in names:
            return True
        own = {v.name for v in self.walk.digits.forms[names.index(access)].variables()}
        return any(v.name in own for v in form.variables())  # type: ignore[attr-defined]

    def visit(self) -> list[str]:
        """Return the lines of the body; masks have their names in it."""
        masks = {"mask", *(f"mask_{name}" for name in self.walk.plan.results)}
        return [self.filled(line, {name: name for name in masks}) for line in super().visit()]

    def default(self) -> str:
        """Return the body of a nest without one."""
        inner = {axis.name for axis in self.walk.axes[-self.vectors :]}
        masks, names = {}, [access.name for access in self.walk.space.accesses]
        for name, form in zip(names, self.walk.digits.forms, strict=True):
            is_whole = inner <= {v.name for v in form.variables()}
            masks[name] = "mask" if is_whole else f"mask_{name}"  # as many dimensions as pointers
        values = [f"tl.load({name} + {{{name}}}, mask={{{masks[name]}}})" for name in names]
        if self.is_copy:
            to = names[1]
            return f"tl.store({to} + {{{to}}}, {values[0]}, mask={{{masks[to]}}})"
        pairs = zip(names, values, strict=True)
        return "\n".join(f"{name}_values = {value}" for name, value in pairs)


def _power_of_two(axis: Axis) -> int:
    if not isinstance(axis.size, int):
        raise UnsupportedError(
            f"{axis.name}: expected a number of turns, got {axis.size}",
            "a block of Triton has a size that is known when it is compiled",
            f"give tile={{{axis.coordinate!r}: 128}}, or numbers for sizes",
        )
    return 1 << max(axis.size - 1, 0).bit_length()


WRITERS: Final[Mapping[str, type[Writer]]] = {
    "c": Writer,
    "cuda": CudaWriter,
    "rust": RustWriter,
    "python": PythonWriter,
    "mlir": MlirWriter,
    "triton": TritonWriter,
}
"""The writer of each language."""


def writer_of(target: str) -> type[Writer]:
    """Return the writer of a language."""
    name = target.lower() if isinstance(target, str) else ""
    if name not in WRITERS:
        raise LayoutError(
            f"target: expected one of {', '.join(WRITERS)}, got {target!r}",
            "nests are printed in these languages",
            "name one of them",
        )
    return WRITERS[name]
