"""The command ``morello-layouts``."""

import atexit
import gc

# What a command loads stays. To look for garbage in it takes a fifth of a short command's time:
gc.set_threshold(100_000)  # while it loads,
atexit.register(gc.freeze)  # and at the end of the process.

from morello_layouts.interfaces.cli.main import main  # noqa: E402

__all__ = ["main"]
