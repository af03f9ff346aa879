"""oneDNN's memory format tags."""

from morello_layouts.notations.onednn.layout import OnednnLayout

__all__ = ["OnednnLayout"]
