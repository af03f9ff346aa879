"""Mutants of a module: the side conditions of its functions loosened, one in each.

A mutant is the module's source with one expression replaced:

- a comparison: ``<`` by ``<=`` and back, ``==`` by "equal or next to each other", and each
  comparison by True and by False;
- ``lo // n == hi // n`` by ``hi - lo < n``: at most as long as a block, but maybe across its end;
- a test of an ``if`` or of a filter by True and by False;
- an operand of ``and`` and ``or``: dropped;
- an operand of an arithmetic operation: dropped, so that ``x - 1`` becomes ``x``;
- an integer by the next one either way.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from morello_layouts.core.expr import AffineExpr

__all__ = ["Mutant", "mutants_of"]

_SWAPPED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
_NO_CODE = {"annotation", "returns", "decorator_list"}
_SKIPPED = ast.Assert | ast.Raise | ast.FunctionDef  # functions in functions have their own turn
_NEAR = "_is_near"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one expression of one function replaced.

    Attributes:
        function: the name of the function that holds the expression.
        change: the expression and its replacement.
        copy: a copy of the module, which the mutants of the module share.
        path: where the copy has the function, or the one that it is defined in.
        code: the mutated code of the function at the path.
    """

    function: str
    change: str
    copy: types.ModuleType
    path: tuple[str, ...]
    code: types.CodeType

    @property
    def name(self) -> str:
        """The function and the replacement."""
        return f"{self.function}: {self.change}"

    @contextmanager
    def applied(self) -> Iterator[types.ModuleType]:
        """Give the copy, in which the function is mutated for the time."""
        found: Any = self.copy
        for name in self.path:
            found = vars(found)[name]
        clear = getattr(found, "cache_clear", lambda: None)
        function = getattr(found, "fget", None) or getattr(found, "__wrapped__", found)
        own = function.__code__
        function.__code__ = self.code
        clear()
        try:
            yield self.copy
        finally:
            function.__code__ = own
            clear()


def mutants_of(module: types.ModuleType) -> Iterator[Mutant]:
    """Yield every mutant of the functions of a module."""
    source = inspect.getsource(module)
    copy = types.ModuleType(module.__name__)
    copy.__dict__[_NEAR] = _is_near
    exec(compile(source, module.__name__, "exec"), copy.__dict__)
    for path, outer in _functions_in(ast.parse(source)):
        for function in [f for f in ast.walk(outer) if isinstance(f, ast.FunctionDef)]:
            for slot in list(_slots_in(function)):
                original = slot.get()
                for other in _replacements(original, is_test=slot.is_test):
                    shown = slot.parent if _is_number(original) and slot.in_expression else None
                    before = ast.unparse(shown or original)
                    slot.put(ast.fix_missing_locations(ast.copy_location(other, original)))
                    code = _code_of(outer)
                    change = f"{before} -> {ast.unparse(shown or other)}"
                    slot.put(original)
                    if isinstance(original, ast.BoolOp) and not isinstance(other, ast.Constant):
                        change = f"without {_dropped(original, other)}"
                    yield Mutant(function.name, change, copy, path, code)


def _functions_in(
    body: ast.Module | ast.ClassDef, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes, each with its path."""
    for node in body.body:
        if isinstance(node, ast.ClassDef):
            yield from _functions_in(node, (*path, node.name))
        elif isinstance(node, ast.FunctionDef):
            yield (*path, node.name), node


def _code_of(function: ast.FunctionDef) -> types.CodeType:
    module = ast.Module([function], [])
    flags = __future__.annotations.compiler_flag
    code = compile(module, f"<{function.name}>", "exec", flags, dont_inherit=True)
    codes = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return next(c for c in codes if c.co_name == function.name)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A place in the tree that holds an expression: a field of a node, or an item of the field."""

    parent: ast.AST
    field: str
    index: int | None

    @property
    def is_test(self) -> bool:
        return self.field in ("test", "ifs")

    @property
    def in_expression(self) -> bool:
        return isinstance(self.parent, ast.expr)

    def get(self) -> Any:
        value = getattr(self.parent, self.field)
        return value if self.index is None else value[self.index]

    def put(self, value: ast.expr) -> None:
        if self.index is None:
            setattr(self.parent, self.field, value)
        else:
            getattr(self.parent, self.field)[self.index] = value


def _slots_in(node: ast.AST) -> Iterator[_Slot]:
    """Yield the places of expressions: no annotations, docstrings, assertions or errors."""
    for field, value in ast.iter_fields(node):
        if field in _NO_CODE or isinstance(value, ast.arguments):
            continue
        listed = isinstance(value, list)
        for k, child in enumerate(value if listed else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, _SKIPPED):
                continue
            if isinstance(child, ast.expr):
                yield _Slot(node, field, k if listed else None)
            yield from _slots_in(child)


def _is_number(place: ast.expr) -> bool:
    return isinstance(place, ast.Constant) and type(place.value) is int


def _replacements(place: ast.expr, *, is_test: bool) -> Iterator[ast.expr]:
    match place:
        case ast.Compare(left, [operator], [right]):
            yield from _loosened(left, operator, right)
            yield from (ast.Constant(True), ast.Constant(False))
        case ast.BoolOp(operator, values):
            for k in range(len(values)):
                kept = values[:k] + values[k + 1 :]
                yield kept[0] if len(kept) == 1 else ast.BoolOp(operator, kept)
        case ast.BinOp(left, operator, right) if isinstance(operator, _ARITHMETIC):
            yield from (left, right)
        case ast.Constant(number) if _is_number(place):
            assert isinstance(number, int)
            yield from (ast.Constant(number + 1), ast.Constant(number - 1))
    if is_test and not isinstance(place, ast.Compare):
        yield from (ast.Constant(True), ast.Constant(False))


def _dropped(condition: ast.BoolOp, left: ast.expr) -> str:
    kept = left.values if isinstance(left, ast.BoolOp) else [left]
    return ast.unparse(next(v for v in condition.values if v not in kept))


def _loosened(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Iterator[ast.expr]:
    if type(operator) in _SWAPPED:
        yield ast.Compare(left, [_SWAPPED[type(operator)]()], [right])
    if isinstance(operator, ast.Eq):
        yield ast.Call(ast.Name(_NEAR, ast.Load()), [left, right], [])
    match operator, left, right:
        case ast.Eq(), ast.BinOp(lo, ast.FloorDiv(), n), ast.BinOp(hi, ast.FloorDiv(), _):
            yield ast.Compare(ast.BinOp(hi, ast.Sub(), lo), [ast.Lt()], [n])


def _is_near(a: object, b: object) -> bool:
    """Return whether numbers or constants of forms differ by at most one, or values are equal."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a - b) <= 1
    if isinstance(a, AffineExpr) and isinstance(b, AffineExpr):
        return a.terms == b.terms and _is_near(a.const, b.const)
    return a == b
