"""The command ``morello-layouts``."""

from morello_layouts.cli.main import main

__all__ = ["main"]
