"""The reading of recipes and formulas as ISL functions over the integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import Linear, Var
from morello_layouts.expr.assumption import under
from morello_layouts.expr.size import Number, exact_quotient
from morello_layouts.proof.space import Space
from morello_layouts.proof.value import NotAffineError, Value, differ
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose

__all__ = [
    "offset_of_expr",
    "offset_of_recipe",
    "physical_coordinates",
    "row_major",
    "value_of_form",
]


def physical_coordinates(recipe: Recipe, space: Space) -> list[Value]:
    """The coordinate over each physical axis as a function of the logical ones.

    Raises:
        NotAffineError: where a product of symbolic sizes is split.
    """
    at = [Value.of(x, space) for x in space.coordinates]
    for step, shape in zip(recipe.steps, recipe.shapes, strict=False):
        match step:
            case Pad():
                pass
            case Split(tiles):
                at = [
                    part
                    for x, t in zip(at, tiles, strict=True)
                    for part in ((x,) if t is None else (x // t, x % t))
                ]
            case Transpose(order):
                at = [at[axis] for axis in order]
            case Merge():
                runs = step.groups(range(len(at)))
                at = [
                    row_major([at[i] for i in run], [shape[i] for i in run], space) for run in runs
                ]
    return at


def row_major(coordinate: Sequence[Value], sizes: Sequence[Number], space: Space) -> Value:
    """The row-major position of a coordinate in a box, as a sum of coordinates times strides."""
    total = Value.of(space.number(0), space)
    for k, x in enumerate(coordinate):
        total = total + x * prod(sizes[k + 1 :])
    return total


def offset_of_recipe(recipe: Recipe, space: Space) -> Value:
    """The offset in the buffer: row-major order of the physical coordinates."""
    return row_major(physical_coordinates(recipe, space), recipe.physical_shape, space)


def value_of_form(form: Linear, space: Space) -> Value:
    """A linear form over the space's variables and sizes as a value.

    Raises:
        NotAffineError: where it divides by a symbolic size, or a product of one.
    """
    total = Value.constant(form.const, space)
    for atom, coefficient in form.terms:
        if isinstance(atom, Var):
            value = Value.of(space.variables[atom.name], space)
        else:
            value = value_of_form(atom.of, space)
            if atom.divisor != 1:
                value = value // atom.divisor
            if atom.modulus is not None:
                value = value % atom.modulus
        total = total + value * coefficient
    return total


def offset_of_expr(expr: Any, space: Space) -> Value:
    """A SymPy expression over the space's variables and sizes as a value.

    It reads SymPy's tree on its own, so that what is proved is what the user was given.

    Raises:
        UnsupportedError: where it is no quasi-affine function times sizes.
    """
    if expr.is_Rational:
        return _over(Value.constant(int(expr.p), space), int(expr.q))
    if expr.is_Symbol and expr.name in space.variables:
        return Value.of(space.variables[expr.name], space)
    if expr.free_symbols and not _varies(expr, space):
        return _size(expr, space)
    if expr.is_Add:
        total = offset_of_expr(expr.args[0], space)
        for arg in expr.args[1:]:
            total = total + offset_of_expr(arg, space)
        return total
    if expr.is_Mul:
        (varying,), factors = _sorted_by_kind(expr, space)
        product = offset_of_expr(varying, space)
        for factor in factors:
            product = _scaled(product, factor, space)
        return product
    match expr.func.__name__:
        case "floor":
            return _floor(offset_of_expr(expr.args[0], space))
        case "Mod":
            return offset_of_expr(expr.args[0], space) % _modulus(expr.args[1], space)
    raise _unreadable(expr)


def _sorted_by_kind(expr: Any, space: Space) -> tuple[list[Any], list[Any]]:
    """A product's factors that vary over the space, of which there may be one, and the others."""
    varying: list[Any] = []
    fixed: list[Any] = []
    for arg in expr.args:
        constant = not arg.free_symbols and not arg.is_Rational  # such as Mod(0, 128)
        (varying if constant or _varies(arg, space) else fixed).append(arg)
    if len(varying) != 1:
        raise _unreadable(expr)
    return varying, fixed


def _varies(expr: Any, space: Space) -> bool:
    return any(s.name in space.variables for s in expr.free_symbols)


def _scaled(value: Value, factor: Any, space: Space) -> Value:
    if factor.is_Rational:
        return _over(value * int(factor.p), int(factor.q))
    from morello_layouts.expr.sympy_bridge import number_from_sympy

    return value * under(space.parameters.assumptions, number_from_sympy(factor))


def _size(expr: Any, space: Space) -> Value:
    """A sum or product of sizes, with the rational factors that exact quotients have."""
    if expr.is_Add:
        total = Value.of(space.number(0), space)
        for arg in expr.args:
            total = total + _size(arg, space)
        return total
    product = Value.constant(1, space)
    for factor in expr.args if expr.is_Mul else (expr,):
        product = _scaled(product, factor, space)
    return product


def _modulus(expr: Any, space: Space) -> Number:
    from morello_layouts.expr.sympy_bridge import number_from_sympy

    numerator, denominator = expr.as_numer_denom()
    if not denominator.is_Integer:
        raise _unreadable(expr)
    size = under(space.parameters.assumptions, number_from_sympy(numerator))
    return exact_quotient(size, int(denominator))


def _over(value: Value, divisor: int) -> Value:
    val = value.space.val(divisor)
    return Value({m: f.scale_down_val(val) for m, f in value.parts.items()}, value.space)


def _floor(value: Value) -> Value:
    for monomial, function in value.parts.items():
        if monomial and not differ(function, function.floor(), value.space.domain).is_empty():
            raise _unreadable("a floor of a product of symbolic sizes")
    return Value({m: f.floor() for m, f in value.parts.items()}, value.space)


def _unreadable(expr: Any) -> UnsupportedError:
    return NotAffineError(
        f"ISL cannot read {expr}",
        "it decides on sums of coordinates, integer factors, floor and Mod by integers",
        "write the formula with these, or ask at given sizes",
    )
