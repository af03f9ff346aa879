"""``python -m morello_layouts`` is the command ``morello-layouts``."""

import atexit
import gc
from typing import NoReturn


def main() -> NoReturn:
    """Run the command in a process of its own."""
    # What a command loads stays. To look for garbage in it takes a fifth of a short command's time:
    gc.set_threshold(100_000)  # while it loads,
    atexit.register(gc.freeze)  # and at the end of the process.
    from morello_layouts.interfaces.cli import main as run

    run()


if __name__ == "__main__":
    main()
