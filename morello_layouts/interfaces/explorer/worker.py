"""The worker process that answers questions, each within a deadline."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Final

from morello_layouts.core.limits import EXPLORER_SECONDS, EXPLORER_STARTS, EXPLORER_WAIT
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.explorer.engine import WARMING, joined, trouble

_READY: Final = b"ready\n"
_END: Final = b"\n"
"""The line after the last part of an answer."""
_EXPLORER: Final = "morello_layouts.interfaces.explorer.engine"


class Worker:
    """A process that answers one question at a time, and a spare that takes over when it ends.

    Args:
        seconds: how long the process may take for one question.
        engine: the module whose ``answered`` yields the parts of an answer.
    """

    def __init__(self, seconds: float = EXPLORER_SECONDS, engine: str = _EXPLORER) -> None:
        self._seconds, self._engine = seconds, engine
        self._unstarted = 0  # processes in a row that did not load
        self._lock = threading.Lock()
        self._processes = [_Process(seconds, engine), _Process(seconds, engine)]
        if not self._processes[0].is_ready():
            self.close()
            raise LayoutError(
                "the explorer's worker process did not start",
                "questions are answered in a process of their own, which a deadline can end",
                "see its error output; python -m morello_layouts explore must run",
            )

    def ask(self, fields: Mapping[str, str], is_wanted: Callable[[], bool] = lambda: True) -> bytes:
        """Return the answer to a question as JSON; at the deadline what is there, and that it is.

        A question that is late is asked once more: the machine may have been busy.

        Args:
            fields: the question's fields by name.
            is_wanted: whether someone still waits for the answer when its turn comes.
        """
        question = json.dumps(dict(fields)).encode() + b"\n"
        with self._lock:
            for is_last in (False, True):
                if self._unstarted >= EXPLORER_STARTS:
                    return _BROKEN.encode()
                if not self._processes or not is_wanted():
                    return trouble("the question was withdrawn", "its sender is gone").encode()
                if not self._processes[0].is_alive():
                    self._replace()
                process = self._processes[0]
                found, is_whole = process.answer(question)
                if is_whole:
                    break
                self._replace()
                if not process.is_late():
                    why = "the answer may need too much memory"
                    found.append(trouble("the worker process ended without an answer", why))
                    break
                if is_last:
                    why = f"it took over {self._seconds:g} seconds of processor time, twice"
                    found.append(trouble("the answer takes too long", why))
        return joined(found).encode()

    def close(self) -> None:
        """End the processes, after the answer that is under way."""
        with self._lock:
            for process in self._processes:
                process.end()
            self._processes = []

    def _replace(self) -> None:
        """End the process, and let the spare one take over."""
        ended, spare = self._processes
        ended.end()
        self._unstarted = 0 if ended.has_loaded else self._unstarted + 1
        self._processes = [spare, _Process(self._seconds, self._engine)]


_BROKEN: Final = trouble(
    "the explorer's worker processes cannot start",
    "was the package installed again meanwhile? the terminal has their error output",
    "end the explorer and start it again: morello-layouts explore",
)


class _Process:
    """A process that reads questions and writes answers, one line of JSON each."""

    def __init__(self, seconds: float, engine: str = _EXPLORER) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(seconds), engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,  # an interrupt at the terminal goes only to the server
        )
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._questions, self._answers = self._popen.stdin, self._popen.stdout
        self._seconds = seconds
        self._asked: float | None = None
        self.has_loaded = False

    def is_ready(self) -> bool:
        """Wait until the process has loaded its libraries; return False if it ended before."""
        self.has_loaded = self.has_loaded or self._answers.readline() == _READY
        return self.has_loaded

    def is_alive(self) -> bool:
        return self._popen.poll() is None

    def is_late(self) -> bool:
        """Whether the process ended at its deadline: by a signal, or after the wall clock's."""
        waited = self._asked is not None and time.monotonic() - self._asked
        return self._popen.returncode == _LATE or waited >= EXPLORER_WAIT * self._seconds

    def answer(self, question: bytes) -> tuple[list[str], bool]:
        """Return the parts of an answer, and whether they are all."""
        found: list[str] = []
        with suppress(OSError):
            if self.is_ready():
                self._asked = time.monotonic()
                self._questions.write(question)
                self._questions.flush()
                while (line := self._answers.readline()).endswith(b"\n"):
                    if line == _END:
                        return found, True
                    found.append(line[:-1].decode())
        return found, False

    def end(self) -> None:
        """End the process if it has not ended itself."""
        with suppress(OSError), self._popen:  # OSError: it ended before it read the question
            self._popen.kill()
        self._popen.wait()


_LATE: Final = -getattr(signal, "SIGPROF", 0) or None
"""The exit status of a process that worked until its deadline."""


def work(questions: IO[bytes], answers: IO[bytes], seconds: float, engine: str = _EXPLORER) -> None:
    """Answer questions, a line each, until their sender has gone.

    The process ends after some seconds of its own work on a question: the system's timer ends it
    inside ISL too. A watchdog by the wall clock, a thread without Python code, serves where there
    is no such timer, and for a process that waits.
    """
    answered = import_module(engine).answered
    list(answered(WARMING))
    has_timer = hasattr(signal, "setitimer")
    longest = EXPLORER_WAIT * seconds if has_timer else seconds
    with Path(os.devnull).open("w") as nowhere, suppress(BrokenPipeError):
        answers.write(_READY)
        answers.flush()
        for line in questions:
            faulthandler.dump_traceback_later(longest, exit=True, file=nowhere)
            if has_timer:
                signal.setitimer(signal.ITIMER_PROF, seconds)
            for part in answered(json.loads(line)):
                answers.write(part.encode() + b"\n")
                answers.flush()
            if has_timer:
                signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            answers.write(_END)
            answers.flush()


if __name__ == "__main__":
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # only answers go to the server
    work(sys.stdin.buffer, output, float(sys.argv[1]), *sys.argv[2:])
