"""MLIR: affine maps of the formulas, and affine sets of the offsets that hold elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from morello_layouts.codegen.language import PADDING_LAST, Formulas, Language, unsupported, words
from morello_layouts.codegen.operations import Arithmetic, Lowering, Node, Op, users
from morello_layouts.codegen.printer import Printer, names_besides
from morello_layouts.codegen.widths import Kind, Widths
from morello_layouts.expr import AffineExpr

_INDEX = Widths(unsigned=False)


class _MlirPrinter(Printer):
    symbols: ClassVar[Mapping[Op, str]] = {
        Op.MUL: " * ",
        Op.DIV: " floordiv ",
        Op.MOD: " mod ",
    }

    def literal(self, value: int, kind: Kind | None) -> str:
        # As in C, the smallest integer is a negated one that is out of range.
        return f"{value + 1} - 1" if value == -(2**63) else super().literal(value, kind)


class MlirLanguage(Language):
    """MLIR's affine expressions, over 64-bit integers; division rounds down."""

    name: ClassVar[str] = "mlir"
    title: ClassVar[str] = "MLIR"
    reserved: ClassVar[frozenset[str]] = words(
        "mod floordiv ceildiv affine_map affine_set symbol max min true false index"
    )

    def __init__(self, *, shift: bool = False) -> None:
        if shift:
            raise unsupported(self.title, "shifts", "leave shift=True out; MLIR lowers to shifts")

    def expression(self, formulas: Formulas) -> str:
        """The map from variables and sizes to the results."""
        forms = [form for _, form in formulas.results]
        return f"affine_map<{_inputs(formulas)} -> ({', '.join(map(_written, forms))})>"

    def statements(self, formulas: Formulas) -> str:
        """The map to the results; then the set of what is not padding."""
        lines = [self.expression(formulas)]
        if formulas.limits is not None:
            lines.append(self.elements(formulas))
        return "\n".join(lines)

    def elements(self, formulas: Formulas) -> str:
        """The set of offsets that hold elements."""
        conditions = [f"{_written(-form + (n - 1))} >= 0" for form, n in formulas.limits or ()]
        return f"affine_set<{_inputs(formulas)} : ({', '.join(conditions) or '0 == 0'})>"

    def function(self, formulas: Formulas, *, asserts: bool) -> str:
        """A ``func.func`` over ``index``; the last result of several is whether p is padding."""
        if asserts:
            raise unsupported(self.title, "asserts here", "leave asserts=True out")
        dims = ", ".join(f"%{var.name}" for var in formulas.variables)
        symbols = f"[{', '.join(f'%{name}' for name in formulas.sizes)}]" if formulas.sizes else ""
        fresh = names_besides(formulas.arguments, "r")
        body, names, types = [], [], []
        for _, form in formulas.results:
            text = f"affine_map<{_inputs(formulas)} -> ({_written(form)})>"
            names.append(f"%{next(fresh)}")
            body.append(f"{names[-1]} = affine.apply {text}({dims}){symbols}")
            types.append("index")
        if formulas.limits is not None:
            names.append(f"%{next(fresh)}")
            body += [
                "%true = arith.constant true",
                "%false = arith.constant false",
                f"{names[-1]} = affine.if {self.elements(formulas)}({dims}){symbols} -> i1 {{",
                "  affine.yield %false : i1",
                "} else {",
                "  affine.yield %true : i1",
                "}",
            ]
            types.append("i1")
        returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
        arguments = ", ".join(f"%{name}: index" for name in formulas.arguments)
        about = formulas.comment(PADDING_LAST)
        return "\n".join(
            [
                *(f"// {line}" for line in about),
                f"func.func @{formulas.name}({arguments}) -> {returned} {{",
                *(f"  {line}" for line in body),
                f"  return {', '.join(names)} : {', '.join(types)}",
                "}",
            ]
        )


def _inputs(formulas: Formulas) -> str:
    dims = ", ".join(var.name for var in formulas.variables)
    sizes = ", ".join(formulas.sizes)
    return f"({dims})[{sizes}]" if sizes else f"({dims})"


def _written(form: AffineExpr) -> str:
    root = Lowering(Arithmetic(floors=True)).form(form)
    for node in users([root]):
        _fits(node)
    return _MlirPrinter(None).write([root], {})[root]


def _fits(node: Node) -> None:
    """Affine expressions are computed in 64 bits; raises UnsupportedError where a value is not."""
    _INDEX.operation(node)
