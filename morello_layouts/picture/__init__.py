"""Pictures of index maps: which cells are shown, as values, and ways to draw them."""

from morello_layouts.picture.fit import fitted_view
from morello_layouts.picture.grid import Cell, Grid, View, view_of
from morello_layouts.picture.terminal import ASCII, UNICODE, Glyphs, terminal_lines

__all__ = [
    "ASCII",
    "UNICODE",
    "Cell",
    "Glyphs",
    "Grid",
    "View",
    "fitted_view",
    "terminal_lines",
    "view_of",
]
