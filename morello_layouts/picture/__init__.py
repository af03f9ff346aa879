"""Pictures of index maps: what is shown, as values, and ways to draw it."""

from morello_layouts.picture.drawing import Limits, Picture, picture_of
from morello_layouts.picture.fit import fitted_view
from morello_layouts.picture.grid import Cell, Grid, View, view_of
from morello_layouts.picture.style import Style
from morello_layouts.picture.svg import compact_svg
from morello_layouts.picture.terminal import ASCII, UNICODE, Glyphs, terminal_lines
from morello_layouts.picture.terminal_panel import panel_lines

__all__ = [
    "ASCII",
    "UNICODE",
    "Cell",
    "Glyphs",
    "Grid",
    "Limits",
    "Picture",
    "Style",
    "View",
    "compact_svg",
    "fitted_view",
    "panel_lines",
    "picture_of",
    "terminal_lines",
    "view_of",
]
