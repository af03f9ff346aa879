"""einops' patterns of rearrange."""

from morello_layouts.notations.einops.layout import EinopsLayout

__all__ = ["EinopsLayout"]
