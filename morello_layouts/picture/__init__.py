"""Pictures of index maps: which cells are shown, as values, and ways to draw them."""

from morello_layouts.picture.fit import fitted_picture
from morello_layouts.picture.grid import Cell, Grid, Picture, picture_of
from morello_layouts.picture.terminal import ASCII, UNICODE, Glyphs, terminal_lines

__all__ = [
    "ASCII",
    "UNICODE",
    "Cell",
    "Glyphs",
    "Grid",
    "Picture",
    "fitted_picture",
    "picture_of",
    "terminal_lines",
]
