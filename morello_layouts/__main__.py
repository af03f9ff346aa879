"""``python -m morello_layouts`` is the command ``morello-layouts``."""

from morello_layouts.cli import main

main()
