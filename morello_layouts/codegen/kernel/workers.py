"""Threads that help with parts of a call; they wait for the next one in between.

To start a thread takes ten times as long as to wake one. Nobody waits for a helper that has not
begun: whoever is free takes the next part, the caller too, so a call ends where no helper comes.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import RLock, Thread
from typing import TypeAlias

__all__ = ["run_parts"]

# What to do with a part, the parts that nobody has taken, and where to tell that one is done.
_Job: TypeAlias = "tuple[Callable[[int], object], deque[int], SimpleQueue[int]]"

_jobs: SimpleQueue[_Job] = SimpleQueue()
_helpers: list[Thread] = []
_hiring = RLock()  # a handler of signals may call a relayout too


def run_parts(call: Callable[[int], object], parts: int) -> None:
    """Do each part once, by as many threads as there are parts, the caller's among them.

    Args:
        call: does a part, given its number; raises nothing. It holds what it works on: where the
            user interrupts, a helper still ends its part.
        parts: how many there are.

    >>> done = []
    >>> run_parts(done.append, 3)
    >>> sorted(done)
    [0, 1, 2]
    """
    left, told = deque(range(parts)), SimpleQueue[int]()
    _hire(parts - 1)
    for _ in range(parts - 1):
        _jobs.put((call, left, told))
    own = _done(call, left)
    for _ in range(parts - own):
        told.get()


def _done(
    call: Callable[[int], object], left: deque[int], told: SimpleQueue[int] | None = None
) -> int:
    """Take part after part; how many they were."""
    count = 0
    while True:
        try:
            part = left.popleft()
        except IndexError:
            return count
        call(part)
        count += 1
        if told is not None:
            told.put(part)


def _help() -> None:
    while True:
        _done(*_jobs.get())


def _hire(most: int) -> None:
    if len(_helpers) >= most:
        return
    with _hiring:
        try:
            while len(_helpers) < most:
                helper = Thread(target=_help, name="relayout", daemon=True)
                helper.start()
                _helpers.append(helper)
        except RuntimeError:  # the system has no more threads: there are fewer helpers
            return


def _forget() -> None:
    """A forked process has none of the threads of the one before."""
    global _jobs, _hiring
    _jobs, _hiring = SimpleQueue(), RLock()
    _helpers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
