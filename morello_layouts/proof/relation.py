"""The reading of recipes and formulas as ISL functions over the integers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from morello_layouts.expr import Linear, Var
from morello_layouts.expr.size import Number
from morello_layouts.proof.space import Space
from morello_layouts.proof.value import Value
from morello_layouts.recipe import Merge, Pad, Recipe, Split, Transpose

__all__ = [
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
