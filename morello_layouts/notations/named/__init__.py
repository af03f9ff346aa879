"""Formats that other systems know by a name, such as ``mx128x4``."""

from morello_layouts.notations.named.layout import FORMATS, Format, NamedLayout

__all__ = ["FORMATS", "Format", "NamedLayout"]
