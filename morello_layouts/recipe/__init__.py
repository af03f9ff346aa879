"""The recipe of a layout, its steps, and what can be read off it alone."""

from morello_layouts.recipe.readings import (
    coordinates_at,
    delinearize,
    elements_at,
    elements_by_slot,
    from_bytes,
    has_inverse,
    linear_index,
    logical_coordinates,
    occupied,
    offset_of,
    pack_array,
    physical_coordinates,
    require_own_slots,
    to_bytes,
    unpack_array,
)
from morello_layouts.recipe.recognize import recipe_of_coordinates, recipe_of_formula
from morello_layouts.recipe.steps import Merge, Pad, Recipe, Scatter, Split, Step, Transpose, known

__all__ = [
    "Merge",
    "Pad",
    "Recipe",
    "Scatter",
    "Split",
    "Step",
    "Transpose",
    "coordinates_at",
    "delinearize",
    "elements_at",
    "elements_by_slot",
    "from_bytes",
    "has_inverse",
    "known",
    "linear_index",
    "logical_coordinates",
    "occupied",
    "offset_of",
    "pack_array",
    "physical_coordinates",
    "recipe_of_coordinates",
    "recipe_of_formula",
    "require_own_slots",
    "to_bytes",
    "unpack_array",
]
