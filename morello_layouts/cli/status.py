"""Exit statuses."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

__all__ = ["Status", "status_of"]


class Status(IntEnum):
    """What the command's exit status says."""

    DONE = 0
    DISPROVED = 1
    BAD_INPUT = 2
    UNDECIDED = 3


def status_of(verdicts: Iterable[bool | None]) -> Status:
    """The status of some proofs together: one disproved outweighs one undecided.

    >>> status_of([True, None, False])
    <Status.DISPROVED: 1>
    """
    found = set(verdicts)
    if False in found:
        return Status.DISPROVED
    return Status.UNDECIDED if None in found else Status.DONE
