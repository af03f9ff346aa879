"""A large dump: one real program, repeated with other names until it is long enough."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.hlo_xla import programs

PROGRAM = "tpu7x_scan_while"
NAME = re.compile(r"(?<![\w\"])%([A-Za-z_][\w.\-]*)")


def large_dump(path: Path, megabytes: float, program: str = PROGRAM) -> int:
    """Write a dump of at least this size, which XLA's parser takes too; how often it repeats."""
    text = programs()[program]
    header, body = text[: text.index("\n\n%") + 2], text[text.index("\n\n%") + 2 :]
    count, size = 0, 0
    with path.open("w", encoding="utf-8") as file:
        size += file.write(header)
        while size < megabytes * 1e6:
            copy = NAME.sub(rf"%\1.r{count}", body).replace("ENTRY %", "%")
            size += file.write(copy.rstrip("\n") + "\n\n")
            count += 1
        file.write(body)
    return count + 1
