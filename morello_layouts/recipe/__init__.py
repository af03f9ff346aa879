"""The recipe of a layout, its steps, and what can be read off it alone."""

from morello_layouts.recipe.readings import (
    delinearize,
    from_bytes,
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
    "from_bytes",
    "known",
    "linear_index",
    "logical_coordinates",
    "pack_array",
    "physical_coordinates",
    "to_bytes",
    "unpack_array",
]
