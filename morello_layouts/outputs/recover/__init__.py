"""What layout is this? From tables, code and buffers back to texts."""

from morello_layouts.outputs.recover.answer import (
    Box as Box,
    Decider as Decider,
    NoLayoutError as NoLayoutError,
    Recovered as Recovered,
    decidable as decidable,
    recovered as recovered,
)
from morello_layouts.outputs.recover.functions import (
    held as held,
    observed as observed,
    of_pairs as of_pairs,
    table_of as table_of,
)
from morello_layouts.outputs.recover.layouts import Found as Found, Observed as Observed
