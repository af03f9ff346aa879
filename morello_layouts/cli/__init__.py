"""The command ``morello-layouts``."""

from morello_layouts.cli.entry import main

__all__ = ["main"]
