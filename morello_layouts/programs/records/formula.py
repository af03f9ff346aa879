"""Formulas of the values of a block: read once, computed by NumPy, printed in languages.

A formula has integers, which are exact, and 32-bit floats; a sum of both is a float.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from morello_layouts.core.expr.bounds import UNBOUNDED, Interval
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import numpy as np
from morello_layouts.core.limits import RECORD_TEXT
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.programs.records.block import Block, BlockValue

_OPERATORS: Final = {
    ast.Add: ("+", 1), ast.Sub: ("-", 1), ast.Mult: ("*", 2), ast.FloorDiv: ("//", 2),
    ast.Mod: ("%", 2),
}  # fmt: skip
FUNCTIONS: Final = {"min": 2, "max": 2, "abs": 1, "exp2": 1}


class Term(NamedTuple):
    """A part of a formula: an operator, an index, a field's name, or a number, and its parts."""

    kind: str  #: ``+ - * // %``, a function, ``index``, ``field``, ``table`` or ``number``.
    of: Any  #: the name or the number; None of others. A table has its index first, then its items.
    parts: tuple[Term, ...]
    is_float: bool
    range: Interval = UNBOUNDED  #: the integers that it may be.

    @property
    def is_nonnegative(self) -> bool:
        """Whether it is known to be an integer from 0."""
        return not self.is_float and isinstance(self.range.lo, int) and self.range.lo >= 0


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
        with warnings.catch_warnings(action="error"):  # such as of 0in
            return ast.parse(text[:RECORD_TEXT].strip(), mode="eval").body
    except (SyntaxError, SyntaxWarning, RecursionError, MemoryError, ValueError) as error:
        raise ParseError(
            "a formula of values: expected an expression",
            "it has fields, indices, integers, + - * // % and min, max, abs, exp2",
            "write for example d*(qs[k] - 8)",
            text=text,
            position=(getattr(error, "offset", 0) or 1) - 1,
        ) from None


@frozen
class _Reader:
    record: Block
    value: BlockValue

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
                    return _number(-part.of)
                return self.made(node, "-", _number(0), part)
            case ast.Constant(int() | float() as value) if abs(value) < 2**31:
                return _number(value)
            case ast.Name(name) if name in dict(self.value.index):
                n = dict(self.value.index)[name]
                last = n - 1 if isinstance(n, int) else None
                return Term("index", name, (), False, Interval(0, last))
            case ast.Name():
                return self.field(node, node, [])
            case ast.Subscript(ast.List(items), index):
                return self.table(node, items, index)
            case ast.Subscript(ast.Name() as name, index):
                several = index.elts if isinstance(index, ast.Tuple) else [index]
                return self.field(node, name, several)
            case ast.Call(ast.Name(name), args, []) if len(args) == FUNCTIONS.get(name):
                parts = tuple(map(self.term, args))
                if name == "exp2" and parts[0].is_float:
                    raise self.fail(args[0], "exp2: expected an integer", "write exp2(e - 127)")
                return self.made(node, name, *parts)
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
        return self.made(left, sign, one, other)

    def made(self, node: ast.expr, kind: str, *parts: Term) -> Term:
        """Return an operation; raise if an integer may not fit into 32 bits."""
        is_float = kind == "exp2" or any(part.is_float for part in parts)
        found = UNBOUNDED if is_float else _range(kind, [part.range for part in parts])
        for end in found:
            if isinstance(end, int) and not -(2**31) <= end < 2**31:
                what = f"{kind}: expected integers of 32 bits, got {found}"
                raise self.fail(node, what, "multiply by a float first, such as 1.0*a[k]")
        return Term(kind, None, parts, is_float, found)

    def index(self, node: ast.expr, size: Int, what: str) -> Term:
        """Return an index; raise unless it is from 0 and below a size."""
        found = self.term(node)
        last = found.range.hi
        is_inside = not isinstance(last, int) or not isinstance(size, int) or last < size
        if not found.is_nonnegative or not is_inside:
            wanted = f"{what}: expected an index from 0 to {size - 1}, got {found.range}"
            raise self.fail(node, wanted, "write for example qs[k]")
        return found

    def field(self, node: ast.expr, name: ast.Name, index: list[ast.expr]) -> Term:
        known = {one.name: one for one in self.record.fields}
        if name.id not in known or len(known[name.id].shape) != len(index):
            sizes = [f"{x.name}{[*x.shape] if x.shape else ''}" for x in self.record.fields]
            what = f"expected a field with its indices, got {ast.unparse(node)[:40]}"
            raise self.fail(node, what, f"the fields are {', '.join(sizes)}")
        one = known[name.id]
        parts = tuple(self.index(x, n, name.id) for x, n in zip(index, one.shape, strict=True))
        half = 1 << one.bits - 1
        values = Interval(-half, half - 1) if one.type[0] == "s" else Interval(0, 2 * half - 1)
        return Term("field", one.name, parts, not one.is_integer, values)

    def table(self, node: ast.expr, items: list[ast.expr], index: ast.expr) -> Term:
        listed = tuple(self.term(one) for one in items)
        if not listed:
            raise self.fail(node, "a table: expected numbers", "write for example [0, 1, 2][qs[k]]")
        is_float = any(one.is_float for one in listed)
        values = UNBOUNDED if is_float else _range("table", [one.range for one in listed])
        at = self.index(index, len(listed), "a table")
        return Term("table", None, (at, *listed), is_float, values)


def _number(value: float) -> Term:
    return Term("number", value, (), isinstance(value, float), Interval(value, value)
                if isinstance(value, int) else UNBOUNDED)  # fmt: skip


def _range(kind: str, parts: list[Interval]) -> Interval:
    """Return the integers that an operation may give; only products need all ends."""
    if kind in ("+", "-"):
        return parts[0] + parts[1].scale(1 if kind == "+" else -1)
    if kind in ("//", "%"):
        divisor = parts[1].lo or 1
        return parts[0].floordiv(divisor) if kind == "//" else parts[0].mod(divisor)
    ends = [[end for end in part if isinstance(end, int)] for part in parts]
    is_known = all(len(each) == 2 for each in ends)
    if kind == "*":
        products = [a * b for a in ends[0] for b in ends[1]]
        least = 0 if all(each and each[0] >= 0 for each in ends) else None
        return Interval(min(products), max(products)) if is_known else Interval(least, None)
    if kind == "abs":
        return Interval(0, max(map(abs, ends[0])) if is_known else None)
    if not is_known:
        return UNBOUNDED
    low, high = zip(*ends, strict=True)
    if kind == "table":
        return Interval(min(low), max(high))
    pick = min if kind == "min" else max
    return Interval(pick(low), pick(high))


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
            return _chosen(parts, np.float32 if term.is_float else np.int64)
        case "exp2":
            return np.ldexp(np.float32(1), parts[0].astype(np.int32))
    functions = {"+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide,
                 "%": np.mod, "min": np.minimum, "max": np.maximum, "abs": np.abs}  # fmt: skip
    return functions[term.kind](*parts)


def read_at(term: Term, index: Mapping[str, int]) -> dict[tuple[str, tuple[int, ...]], None]:
    """Return the numbers that a value is made of: each field with its indices, as keys.

    A table whose index is known counts with the item there. Fields whose index depends on another
    number are left out.

    >>> from morello_layouts import record
    >>> list(read_at(read_formula(record("q2_K")), {"k": 100}))
    [('d', ()), ('scales', (6,)), ('qs', (100,)), ('dmin', ()), ('mins', (6,))]
    """
    parts = term.parts
    if term.kind == "table":
        at = _known(parts[0], index)
        parts = (parts[0], *parts[1:]) if at is None else (parts[1 + at],)
    found: dict[tuple[str, tuple[int, ...]], None] = {}
    if term.kind == "field":
        known = [_known(part, index) for part in parts]
        if None not in known:
            found[term.of, tuple(n for n in known if n is not None)] = None
    for part in parts:
        found |= read_at(part, index)
    return found


def _known(term: Term, index: Mapping[str, int]) -> int | None:
    """Return the value of a formula of indices alone; None if it reads a field."""
    return None if _reads(term) else int(computed(term, index, {}))


def _reads(term: Term) -> bool:
    return term.kind == "field" or any(map(_reads, term.parts))


def _chosen(parts: list[Any], kind: Any) -> Any:
    """Return items of a table at indices."""
    index, *items = parts
    if all(np.ndim(one) == 0 for one in items):
        return np.array(items, kind)[index]
    found = np.asarray(items[-1]).astype(kind)
    for k, one in enumerate(items[:-1]):
        found = np.where(index == k, np.asarray(one).astype(kind), found)
    return found


def _looked_up(array: Any, index: list[Any], rank: int) -> Any:
    """Return a field's numbers at indices, which may differ from block to block."""
    if not index:
        return array.reshape(len(array), *(1,) * rank)
    if all(x.shape[0] == 1 for x in index):
        return array[(slice(None), *(x[0] for x in index))]
    blocks = np.arange(len(array)).reshape(-1, *(1,) * rank)
    return array[(blocks, *index)]
