"""The worker process that answers questions, each within a deadline."""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from morello_layouts.errors import LayoutError
from morello_layouts.explorer.subject import failure
from morello_layouts.limits import EXPLORER_ANSWER, EXPLORER_SECONDS

_READY: Final = b"ready\n"

WARMING: Final = {"layout": "f32[M,N]{1,0:T(2,2)}", "other": "[1, 0]", "assuming": "2 | M"}
"""A question that loads the grammars, SymPy and ISL before anyone waits for them."""

_log = logging.getLogger(__name__)


class Worker:
    """A process that answers one question at a time, and a spare that takes over when it ends.

    Args:
        seconds: how long the process may take for one question.

    Raises:
        LayoutError: if no process can be started.
    """

    def __init__(self, seconds: float = EXPLORER_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._processes = [_Process(seconds), _Process(seconds)]
        if not self._processes[0].is_ready():
            self.close()
            raise LayoutError(
                "the explorer's worker process did not start",
                "questions are answered in a process of their own, which a deadline can end",
                "see its error output; python -m morello_layouts explore must run",
            )

    def ask(self, fields: Mapping[str, str], is_wanted: Callable[[], bool] = lambda: True) -> bytes:
        """Return the answer to a question as JSON, or at the deadline an error that says so.

        Args:
            fields: the question's fields by name.
            is_wanted: whether someone still waits for the answer when its turn comes.
        """
        question = json.dumps(dict(fields)).encode() + b"\n"
        with self._lock:
            if not self._processes or not is_wanted():
                return _failure("the question was withdrawn", "its sender waits no longer")
            if not self._processes[0].is_alive():
                self._replace()
            process = self._processes[0]
            answer = process.answer(question)
            if answer.endswith(b"\n"):
                return answer[:-1]
            is_late = process.is_late()
            self._replace()
        if is_late:
            why = f"the explorer ends work on a question after {self._seconds:g} seconds"
            return _failure("the answer takes too long", why)
        return _failure(
            "the worker process ended without an answer", "the answer may need too much memory"
        )

    def close(self) -> None:
        """End the processes, after the answer that is under way."""
        with self._lock:
            for process in self._processes:
                process.end()
            self._processes = []

    def _replace(self) -> None:
        """End the process, and let the spare one take over."""
        ended, spare = self._processes
        self._processes = [spare, _Process(self._seconds)]
        ended.end()


class _Process:
    """A process that reads questions and writes answers, one line of JSON each."""

    def __init__(self, seconds: float) -> None:
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(seconds)],
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
        """Whether the deadline of its last question has passed.

        The exit status does not say so: at the deadline a process may also crash, because the
        watchdog reads the stack of a thread that goes on.
        """
        return self._asked is not None and time.monotonic() - self._asked >= self._seconds

    def answer(self, question: bytes) -> bytes:
        """Return the answer as a line; only its beginning if the process ends."""
        with suppress(OSError):
            if self.is_ready():
                self._asked = time.monotonic()
                self._questions.write(question)
                self._questions.flush()
                return self._answers.readline()
        return b""

    def end(self) -> None:
        """End the process if it has not ended itself."""
        with suppress(OSError), self._popen:  # OSError: it ended before it read the question
            self._popen.kill()
        self._popen.wait()


def work(questions: IO[bytes], answers: IO[bytes], seconds: float) -> None:
    """Answer questions, a line each, until their sender has gone.

    At the deadline of a question the process exits. The watchdog that does this is a thread
    without Python code, so it works inside ISL too.
    """
    # Sizes of many dimensions multiply to numbers of more digits than Python prints by default.
    sys.set_int_max_str_digits(0)
    _answered(WARMING)
    with Path(os.devnull).open("w") as nowhere, suppress(BrokenPipeError):
        answers.write(_READY)
        answers.flush()
        for line in questions:
            faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
            answer = _answered(json.loads(line))
            faulthandler.cancel_dump_traceback_later()
            answers.write(answer + b"\n")
            answers.flush()


def _answered(fields: dict[str, str]) -> bytes:
    from morello_layouts.explorer.answer import answer

    try:
        found = json.dumps(answer(fields), separators=(",", ":")).encode()
    except (MemoryError, RecursionError):
        return _failure("the answer takes too much memory", "a question's memory is limited")
    except Exception as error:  # a fault of this package, which must not end the explorer
        _log.exception("no answer to %.300s", fields)
        return _failure(
            "the explorer failed at this text", f"{type(error).__name__}: a fault of this package"
        )
    if len(found) > EXPLORER_ANSWER:
        return _failure("the answer is too long to show", f"it has {len(found):,} bytes")
    return found


def _failure(what: str, why: str) -> bytes:
    return json.dumps(failure(what, why, "ask about something smaller, or ask again")).encode()


if __name__ == "__main__":
    output, sys.stdout = sys.stdout.buffer, sys.stderr  # only answers go to the server
    work(sys.stdin.buffer, output, float(sys.argv[1]))
