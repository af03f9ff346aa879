"""Parse layouts and index expressions; a folder for each notation, all listed in ``registry``."""

from morello_layouts.notations.expression import (
    parse_assumptions,
    parse_bounds,
    parse_expression,
    parse_number,
    parse_shape,
)
from morello_layouts.notations.morello.reader import parse_morello
from morello_layouts.notations.registry import parse
from morello_layouts.notations.xla.reader import parse_xla, parse_xla_layout

__all__ = [
    "parse",
    "parse_assumptions",
    "parse_bounds",
    "parse_expression",
    "parse_morello",
    "parse_number",
    "parse_shape",
    "parse_xla",
    "parse_xla_layout",
]
