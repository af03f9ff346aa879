"""Pictures of index maps: views of their offsets, and drawings of these views."""

from morello_layouts.picture.panel import Style
from morello_layouts.picture.picture import Limits, Picture, picture_of
from morello_layouts.picture.svg import compact_svg
from morello_layouts.picture.terminal import (
    ASCII,
    UNICODE,
    Glyphs,
    fitted_view,
    panel_lines,
    terminal_lines,
)
from morello_layouts.picture.view import Cell, Grid, View, view_of

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
