"""Text to layouts and expressions. Each value prints itself; this is the way back."""

from morello_layouts.notation.assumption import parse_assumptions
from morello_layouts.notation.dispatch import parse
from morello_layouts.notation.expression import parse_bounds, parse_expression, parse_number
from morello_layouts.notation.morello import parse_morello
from morello_layouts.notation.shape import parse_shape
from morello_layouts.notation.xla import parse_xla, parse_xla_layout

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
