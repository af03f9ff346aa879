"""The command ``morello-layouts``."""

from morello_layouts.interfaces.cli.main import main

__all__ = ["main"]
