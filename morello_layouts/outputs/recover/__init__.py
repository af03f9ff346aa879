"""What layout is this? From tables, code and buffers back to texts."""

from morello_layouts.outputs.recover.answer import (
    Decider as Decider,
    Recovered as Recovered,
    recovered as recovered,
)
from morello_layouts.outputs.recover.decidable import decidable as decidable
from morello_layouts.outputs.recover.few import held as held, of_pairs as of_pairs
from morello_layouts.outputs.recover.functions import observed as observed, table_of as table_of
from morello_layouts.outputs.recover.layouts import Found as Found, Observed as Observed
from morello_layouts.outputs.recover.nearest import Box as Box, NoLayoutError as NoLayoutError
