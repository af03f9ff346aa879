"""Pictures of index maps: views of their offsets, and drawings of these views."""

from typing import TYPE_CHECKING

from morello_layouts.core.lazy import loader

if TYPE_CHECKING:
    from morello_layouts.outputs.picture.panel import Style as Style
    from morello_layouts.outputs.picture.picture import (
        Limits as Limits,
        Picture as Picture,
        picture_of as picture_of,
        unswizzled as unswizzled,
    )
    from morello_layouts.outputs.picture.svg import compact_svg as compact_svg
    from morello_layouts.outputs.picture.terminal import (
        ASCII as ASCII,
        UNICODE as UNICODE,
        Glyphs as Glyphs,
        Line as Line,
        fitted_view as fitted_view,
        panel_lines as panel_lines,
        terminal_lines as terminal_lines,
    )
    from morello_layouts.outputs.picture.view import (
        Cell as Cell,
        Grid as Grid,
        View as View,
        view_of as view_of,
    )

__getattr__ = loader(
    __name__,
    {
        "panel": "Style",
        "picture": "Limits Picture picture_of unswizzled",
        "svg": "compact_svg",
        "terminal": "ASCII UNICODE Glyphs Line fitted_view panel_lines terminal_lines",
        "view": "Cell Grid View view_of",
    },
)
