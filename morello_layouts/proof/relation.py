"""The reading of recipes and formulas as ISL relations over the integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import islpy as isl

from morello_layouts.errors import UnsupportedError
from morello_layouts.expr import Interval, Linear, Var
from morello_layouts.expr.size import Number, Size
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose

__all__ = [
    "Space",
    "offset_of_expr",
    "offset_of_form",
    "offset_of_recipe",
    "physical_coordinates",
    "physical_map",
]


_MOST_BITS = 10_000


@dataclass(frozen=True)
class Space:
    """Integer variables within bounds, in an ISL context of their own.

    Attributes:
        context: the context, which holds the budget.
        domain: the values that the variables may have together.
        variables: each variable, by name, as an affine function on the domain.
    """

    context: isl.Context
    domain: isl.BasicSet
    variables: Mapping[str, isl.Aff]

    @staticmethod
    def of(shape: Sequence[int], context: isl.Context) -> Space:
        """The coordinates of an array: ``d0, d1, …`` with 0 ≤ d_k < shape[k]."""
        return Space.within({f"d{k}": Interval(0, n - 1) for k, n in enumerate(shape)}, context)

    @staticmethod
    def within(bounds: Mapping[str, Interval], context: isl.Context) -> Space:
        """Named variables within their bounds, either of which may be absent."""
        space = isl.Space.set_alloc(context, 0, len(bounds))
        box = isl.BasicSet.universe(space)
        for k, (lo, hi) in enumerate(bounds.values()):
            if lo is not None:
                box = box.lower_bound_val(isl.dim_type.set, k, _val(context, lo))
            if hi is not None:
                box = box.upper_bound_val(isl.dim_type.set, k, _val(context, hi))
        local = isl.LocalSpace.from_space(space)
        variables = {
            name: isl.Aff.var_on_domain(local, isl.dim_type.set, k) for k, name in enumerate(bounds)
        }
        return Space(context, box, variables)

    @property
    def coordinates(self) -> tuple[isl.Aff, ...]:
        """The variables in order."""
        return tuple(self.variables.values())

    def number(self, value: Number) -> isl.Aff:
        """A constant function on the domain."""
        local = isl.LocalSpace.from_space(self.domain.get_space())
        return isl.Aff.val_on_domain(local, _val(self.context, value))

    def val(self, value: Number) -> isl.Val:
        """A number of the context."""
        return _val(self.context, value)


def _val(context: isl.Context, value: Number) -> isl.Val:
    if isinstance(value, Size):
        raise UnsupportedError(
            f"ISL cannot decide with the symbolic factor or bound {value}",
            "products of symbols are outside of Presburger arithmetic",
            "ask at given sizes",
        )
    if value.bit_length() > _MOST_BITS:
        raise UnsupportedError(
            f"a number of {value.bit_length()} bits is too large for a proof",
            f"numbers are handed to ISL as text, up to {_MOST_BITS} bits",
            "ask at smaller sizes",
        )
    # ISL's own integers are unbounded; only text carries one past 64 bits.
    return isl.Val.read_from_str(context, str(value))


def physical_coordinates(recipe: Recipe, space: Space) -> list[isl.Aff]:
    """The coordinate over each physical axis as a quasi-affine function of the logical ones."""
    at: list[Any] = list(space.coordinates)
    for step, shape in zip(recipe.steps, recipe.shapes, strict=False):
        match step:
            case Pad():
                pass
            case Split(tiles):
                at = [
                    part
                    for x, t in zip(at, tiles, strict=True)
                    for part in ((x,) if t is None else _divmod(x, space.val(t)))
                ]
            case Transpose(order):
                at = [at[axis] for axis in order]
            case Merge():
                pairs = list(zip(at, shape, strict=True))
                runs = step.groups(range(len(pairs)))
                at = [_row_major([pairs[i] for i in run], space) for run in runs]
    return at


def physical_map(recipe: Recipe, space: Space) -> isl.Map:
    """The relation from logical to physical coordinates, on the array's coordinates."""
    axes = physical_coordinates(recipe, space)
    target = isl.Space.alloc(space.context, 0, len(space.variables), len(axes))
    functions = isl.AffList.alloc(space.context, len(axes))
    for axis in axes:
        functions = functions.add(axis)
    relation = isl.BasicMap.from_multi_aff(isl.MultiAff.from_aff_list(target, functions))
    return relation.intersect_domain(space.domain).to_map()


def offset_of_recipe(recipe: Recipe, space: Space) -> isl.Aff:
    """The offset in the buffer: row-major order of the physical coordinates."""
    axes = physical_coordinates(recipe, space)
    return _row_major(list(zip(axes, recipe.physical_shape, strict=True)), space)


def offset_of_form(form: Linear, space: Space) -> isl.Aff:
    """A linear form over the space's variables as a quasi-affine function."""
    total = space.number(form.const)
    for atom, coefficient in form.terms:
        if isinstance(atom, Var):
            value = space.variables[atom.name]
        else:
            value = offset_of_form(atom.of, space)
            if atom.divisor != 1:
                value = value.scale_down_val(space.val(atom.divisor)).floor()
            if atom.modulus is not None:
                value = value.mod_val(space.val(atom.modulus))
        total = total.add(value.scale_val(space.val(coefficient)))
    return total


def offset_of_expr(expr: Any, space: Space) -> isl.Aff:
    """A SymPy expression over the space's variables as a quasi-affine function.

    It reads SymPy's tree on its own, so that what is proved is what the user was given.
    """
    if expr.is_Rational:
        return space.number(int(expr.p)).scale_down_val(space.val(int(expr.q)))
    if expr.is_Symbol:
        return space.variables[expr.name]
    args = expr.args
    if expr.is_Add:
        total = offset_of_expr(args[0], space)
        for arg in args[1:]:
            total = total.add(offset_of_expr(arg, space))
        return total
    if expr.is_Mul and len(args) == 2 and args[0].is_Rational:
        scaled = offset_of_expr(args[1], space).scale_val(space.val(int(args[0].p)))
        return scaled.scale_down_val(space.val(int(args[0].q)))
    match expr.func.__name__:
        case "floor":
            return offset_of_expr(args[0], space).floor()
        case "Mod" if args[1].is_Integer:
            return offset_of_expr(args[0], space).mod_val(space.val(int(args[1])))
    raise UnsupportedError(
        f"ISL cannot read {expr}",
        "it decides on sums of coordinates, integer factors, floor and Mod by integers",
        "write the formula with these",
    )


def _divmod(x: isl.Aff, t: isl.Val) -> tuple[isl.Aff, isl.Aff]:
    return x.scale_down_val(t).floor(), x.mod_val(t)


def _row_major(pairs: Sequence[tuple[isl.Aff, int]], space: Space) -> isl.Aff:
    sizes = [size for _, size in pairs]
    total = space.number(0)
    for k, (x, _) in enumerate(pairs):
        total = total.add(x.scale_val(space.val(prod(sizes[k + 1 :]))))
    return total
