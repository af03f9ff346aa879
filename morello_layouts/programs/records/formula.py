"""Formulas of the values of a block: read once, computed by NumPy, printed in languages.

A formula has integers, which are exact, and 32-bit floats; a sum of both is a float.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import RECORD_TEXT
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.programs.records.block import Block, Value

_OPERATORS: Final = {
    ast.Add: ("+", 1), ast.Sub: ("-", 1), ast.Mult: ("*", 2), ast.FloorDiv: ("//", 2),
    ast.Mod: ("%", 2),
}  # fmt: skip
FUNCTIONS: Final = {"min": 2, "max": 2, "abs": 1, "exp2": 1}


class Term(NamedTuple):
    """A part of a formula: an operator, an index, a field's name, or a number, and its parts."""

    kind: str  #: ``+ - * // %``, a function, ``index``, ``field``, ``table`` or ``number``.
    of: Any  #: the name, the number, or the table's numbers; None of operators.
    parts: tuple[Term, ...]
    is_float: bool
    is_nonnegative: bool  #: whether it is known to be an integer from 0.


def read_formula(record: Block) -> Term:
    """Return the formula of a record's values.

    Raises:
        ParseError: if it has something else than a formula may have.
    """
    value = record.value
    if value is None:
        raise LayoutError(
            f"{record.name or 'the record'} has no values",
            "a block stands for numbers if the text has a formula of them",
            "add for example value[k:32] = d*(qs[k] - 8)",
        )
    return _Reader(record, value).term(_tree(value.formula))


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text[:RECORD_TEXT].strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        raise ParseError(
            "a formula of values: expected an expression",
            "it has fields, indices, integers, + - * // % and min, max, abs, exp2",
            "write for example d*(qs[k] - 8)",
            text=text,
            position=0,
        ) from None


@frozen
class _Reader:
    record: Block
    value: Value

    def fail(self, node: ast.expr, what: str, fix: str) -> ParseError:
        return ParseError(
            what,
            "it has fields, indices, integers, + - * // % and min, max, abs, exp2",
            fix,
            text=self.value.formula,
            position=node.col_offset,
        )

    def term(self, node: ast.expr) -> Term:
        match node:
            case ast.BinOp(left, operator, right) if type(operator) in _OPERATORS:
                return self.binary(_OPERATORS[type(operator)][0], left, right)
            case ast.UnaryOp(ast.USub(), operand):
                part = self.term(operand)
                if part.kind == "number":
                    return Term("number", -part.of, (), part.is_float, False)
                zero = Term("number", 0, (), False, True)
                return Term("-", None, (zero, part), part.is_float, False)
            case ast.Constant(int() | float() as value) if abs(value) < 2**31:
                return Term("number", value, (), isinstance(value, float), value >= 0)
            case ast.Name(name) if name in dict(self.value.index):
                return Term("index", name, (), False, True)
            case ast.Name():
                return self.field(node, node, [])
            case ast.Subscript(ast.List(items), index):
                return self.table(node, items, index)
            case ast.Subscript(ast.Name() as name, index):
                several = index.elts if isinstance(index, ast.Tuple) else [index]
                return self.field(node, name, several)
            case ast.Call(ast.Name(name), args, []) if len(args) == FUNCTIONS.get(name):
                parts = tuple(map(self.term, args))
                is_float = name == "exp2" or any(p.is_float for p in parts)
                if name == "exp2" and parts[0].is_float:
                    raise self.fail(args[0], "exp2: expected an integer", "write exp2(e - 127)")
                known = name == "abs" or all(p.is_nonnegative for p in parts)
                return Term(name, None, parts, is_float, not is_float and known)
        what = f"a formula of values: {ast.unparse(node)[:40]!r} is not a part of one"
        raise self.fail(node, what, "write for example d*(qs[k] - 8)")

    def binary(self, sign: str, left: ast.expr, right: ast.expr) -> Term:
        one, other = self.term(left), self.term(right)
        is_float = one.is_float or other.is_float
        if sign in ("//", "%") and not (
            one.is_nonnegative and other.kind == "number" and not is_float and other.of > 0
        ):
            what = f"{sign}: expected an integer from 0 and a positive number"
            raise self.fail(left, what, "subtract after dividing")
        known = sign != "-" and one.is_nonnegative and other.is_nonnegative
        return Term(sign, None, (one, other), is_float, known)

    def index(self, node: ast.expr, size: int, what: str) -> Term:
        found = self.term(node)
        if not found.is_nonnegative:
            raise self.fail(node, f"{what}: expected an index from 0", "write for example qs[k]")
        return found

    def field(self, node: ast.expr, name: ast.Name, index: list[ast.expr]) -> Term:
        known = {one.name: one for one in self.record.fields}
        if name.id not in known or len(known[name.id].shape) != len(index):
            sizes = [f"{x.name}{[*x.shape] if x.shape else ''}" for x in self.record.fields]
            what = f"expected a field with its indices, got {ast.unparse(node)[:40]}"
            raise self.fail(node, what, f"the fields are {', '.join(sizes)}")
        one = known[name.id]
        parts = tuple(self.index(x, 0, name.id) for x in index)
        is_float = one.type[0] not in "us"
        return Term("field", one.name, parts, is_float, one.type[0] == "u")

    def table(self, node: ast.expr, items: list[ast.expr], index: ast.expr) -> Term:
        numbers = [self.term(one) for one in items]
        if not numbers or any(one.kind != "number" for one in numbers):
            raise self.fail(node, "a table: expected numbers", "write for example [0, 1, 2][qs[k]]")
        is_float = any(one.is_float for one in numbers)
        known = not is_float and all(one.is_nonnegative for one in numbers)
        part = self.index(index, len(numbers), "a table")
        return Term("table", tuple(one.of for one in numbers), (part,), is_float, known)


def computed(term: Term, index: Mapping[str, Any], fields: Mapping[str, Any]) -> Any:
    """Return the value of a formula.

    Args:
        term: the formula.
        index: arrays of the indices, which broadcast.
        fields: arrays with blocks as first dimension, then the dimensions of the field.
    """
    parts = [computed(part, index, fields) for part in term.parts]
    if term.is_float and term.kind not in ("table", "field", "exp2"):
        parts = [np.asarray(x).astype(np.float32) for x in parts]
    match term.kind:
        case "number":
            return np.array(term.of)
        case "index":
            return index[term.of]
        case "field":
            return _looked_up(fields[term.of], parts, len(index))
        case "table":
            numbers = np.array(term.of, np.float32 if term.is_float else np.int64)
            return numbers[np.minimum(parts[0], len(numbers) - 1)]
        case "exp2":
            return np.ldexp(np.float32(1), parts[0].astype(np.int32))
    functions = {"+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide,
                 "%": np.mod, "min": np.minimum, "max": np.maximum, "abs": np.abs}  # fmt: skip
    return functions[term.kind](*parts)


def _looked_up(array: Any, index: list[Any], rank: int) -> Any:
    """Return a field's numbers at indices, which may differ from block to block."""
    if not index:
        return array.reshape(len(array), *(1,) * rank)
    if all(x.shape[0] == 1 for x in index):
        return array[(slice(None), *(x[0] for x in index))]
    blocks = np.arange(len(array)).reshape(-1, *(1,) * rank)
    return array[(blocks, *index)]
