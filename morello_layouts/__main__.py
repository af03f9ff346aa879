"""``python -m morello_layouts`` is the command ``morello-layouts``."""

from morello_layouts.interfaces.cli import main

if __name__ == "__main__":
    main()
