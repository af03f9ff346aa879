"""The recipe: what every layout is, and the readings that need nothing but it."""

from morello_layouts.recipe.readings import (
    delinearize,
    elements_of,
    linear_index,
    logical_coordinates,
    pack_array,
    physical_coordinates,
    to_bytes,
    unpack_array,
)
from morello_layouts.recipe.steps import Merge, Pad, Recipe, Split, Step, Transpose, known

__all__ = [
    "Merge",
    "Pad",
    "Recipe",
    "Split",
    "Step",
    "Transpose",
    "delinearize",
    "elements_of",
    "known",
    "linear_index",
    "logical_coordinates",
    "pack_array",
    "physical_coordinates",
    "to_bytes",
    "unpack_array",
]
