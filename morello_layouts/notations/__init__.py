"""Parse layouts and index expressions; a folder for each notation, all listed in ``registry``."""

from morello_layouts.notations.expression import (
    Facts as Facts,
    parse_assumptions as parse_assumptions,
    parse_bounds as parse_bounds,
    parse_expression as parse_expression,
    parse_facts as parse_facts,
    parse_number as parse_number,
    parse_shape as parse_shape,
)
from morello_layouts.notations.registry import parse as parse
