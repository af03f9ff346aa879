"""The recipe of a layout, its steps, and what can be read off it alone."""

from morello_layouts.core.recipe.bases import (
    bases_of_recipe as bases_of_recipe,
    recipe_of_bases as recipe_of_bases,
)
from morello_layouts.core.recipe.digits import (
    DimDigit as DimDigit,
    recipe_of_axes as recipe_of_axes,
)
from morello_layouts.core.recipe.readings import (
    coordinates_at as coordinates_at,
    delinearize as delinearize,
    elements_at as elements_at,
    elements_by_slot as elements_by_slot,
    from_bytes as from_bytes,
    has_inverse as has_inverse,
    is_inside as is_inside,
    linear_index as linear_index,
    logical_coordinates as logical_coordinates,
    named_forms as named_forms,
    occupied as occupied,
    offset_of as offset_of,
    pack_array as pack_array,
    physical_coordinates as physical_coordinates,
    require_own_slots as require_own_slots,
    to_bytes as to_bytes,
    unpack_array as unpack_array,
)
from morello_layouts.core.recipe.recognize import (
    recipe_of_coordinates as recipe_of_coordinates,
    recipe_of_formula as recipe_of_formula,
)
from morello_layouts.core.recipe.steps import (
    Merge as Merge,
    Pad as Pad,
    Recipe as Recipe,
    Renumber as Renumber,
    Replicate as Replicate,
    Scatter as Scatter,
    Split as Split,
    Step as Step,
    Transpose as Transpose,
    Window as Window,
    Xor as Xor,
    known as known,
)
