"""Worker processes that answer within a deadline."""

from __future__ import annotations

import json
import logging
import multiprocessing
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Final

from morello_layouts.errors import LayoutError
from morello_layouts.explorer.answer import answer
from morello_layouts.explorer.question import failure

ANSWER_SECONDS: Final = 1.2
"""How long a process may work on a question."""

_WAIT_SECONDS: Final = 0.5  # for a process that is free
_START_SECONDS: Final = 60.0  # SymPy and ISL load in one; a slow disk takes its time
_MEMORY: Final = 4 << 30  # bytes of address space of a process
_LONGEST: Final = 16 << 20  # bytes of an answer
_TRIES: Final = 3  # to start a process at first
_PAUSE_SECONDS: Final = 1.0  # before the next try to replace one
_MOST_WAITING: Final = 12  # questions; more are told at once that the explorer is busy

WARMING: Final = {"layout": "f32[M,N]{1,0:T(2,2)}", "other": "[1, 0]", "assuming": "2 | M"}
"""A question that makes a process load what answers need."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection

    def is_idle(self) -> bool:
        """Whether it lives: the end of a pipe whose process is no more can be read."""
        return not self.connection.poll()

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


class Workers:
    """Processes that answer questions, each within a deadline.

    Args:
        count: how many answer at the same time.
        seconds: how long one may work on a question.
    """

    def __init__(self, count: int = 2, seconds: float = ANSWER_SECONDS) -> None:
        # Processes that fork from one where SymPy and ISL are loaded are there at once.
        has_fork = "forkserver" in multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("forkserver" if has_fork else "spawn")
        if has_fork:
            self._context.set_forkserver_preload(["morello_layouts.explorer.worker"])
        self._seconds = seconds
        self._free: queue.LifoQueue[_Worker] = queue.LifoQueue()
        self._all: set[_Worker] = set()
        self._lock = threading.Lock()
        self._places = threading.Semaphore(count + _MOST_WAITING)
        self._is_closed = False
        came = [any(self._add() for _ in range(_TRIES)) for _ in range(count)]
        if not any(came):
            raise LayoutError(
                "no process could be started that answers",
                "questions are answered in processes of their own, which a deadline ends",
                "run the command morello-layouts explore; in a script of your own, start it under "
                'if __name__ == "__main__"',
            )

    def ask(self, values: Mapping[str, str]) -> bytes:
        """The answer to a question, as JSON; in time, whatever is asked."""
        if not self._places.acquire(blocking=False):
            return _busy()
        try:
            return self._answer(json.dumps(dict(values)).encode())
        finally:
            self._places.release()

    def _answer(self, question: bytes) -> bytes:
        worker = self._taken()
        if worker is None:
            return _busy()
        began = time.monotonic()
        found = _asked(worker, question, self._seconds)
        if found is not None:
            self._free.put(worker)
            return found
        took_long = time.monotonic() - began >= self._seconds
        self._replace(worker)
        if took_long:
            why = f"it was ended after {self._seconds:g} seconds, so that nothing hangs"
            return _failure("the answer takes too long", why)
        return _failure("the answer takes too much memory", "the process that worked on it ended")

    def _taken(self) -> _Worker | None:
        """A process that is free and lives; None where none is in time."""
        end = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                worker = self._free.get(timeout=max(end - time.monotonic(), 0))
            except queue.Empty:
                return None
            if worker.is_idle():
                return worker
            self._replace(worker)

    def _replace(self, worker: _Worker) -> None:
        """End a process and start another; a process that answered nothing may hang."""
        self._drop(worker)
        threading.Thread(target=self._add_at_last, daemon=True).start()

    def _drop(self, worker: _Worker) -> None:
        with self._lock:
            self._all.discard(worker)
        worker.end()

    def close(self) -> None:
        """End every process."""
        with self._lock:
            self._is_closed = True
            ended, self._all = self._all, set()
        for worker in ended:
            worker.end()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add_at_last(self) -> None:
        while not self._add() and not self._is_closed:
            time.sleep(_PAUSE_SECONDS)

    def _add(self) -> bool:
        """Start a process, and say whether it came; it is free once it has answered a question."""
        worker = self._started()
        if worker is None:
            return False
        if _asked(worker, json.dumps(WARMING).encode(), _START_SECONDS) is None:
            self._drop(worker)
            return False
        self._free.put(worker)
        return True

    def _started(self) -> _Worker | None:
        """A new process; None where none is wanted any more."""
        with self._lock:
            if self._is_closed:
                return None
            ours, theirs = self._context.Pipe()
            process = self._context.Process(target=_work, args=(theirs,), daemon=True)  # type: ignore[attr-defined]
            process.start()
            theirs.close()
            worker = _Worker(process, ours)
            self._all.add(worker)
            return worker


def _asked(worker: _Worker, question: bytes, seconds: float) -> bytes | None:
    """The answer of a process; None if it gives none in time, or is no more."""
    end = time.monotonic() + seconds
    with suppress(OSError, EOFError):
        worker.connection.send_bytes(question)
        if worker.connection.poll(max(end - time.monotonic(), 0)):
            return worker.connection.recv_bytes(_LONGEST)
    return None


def _work(connection: Connection) -> None:
    """What a process does: answer questions until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its processes
    # Sizes of many dimensions multiply to numbers of more digits than Python prints unasked.
    sys.set_int_max_str_digits(0)
    _limit_memory()
    with suppress(EOFError, OSError):
        while True:
            question = json.loads(connection.recv_bytes())
            with _no_longer_than(_START_SECONDS):
                found = _answered(question)
            connection.send_bytes(found)


@contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    """End this process after so long, even where the server that would end it is no more."""
    has_alarm = hasattr(signal, "alarm")  # not on every system
    if has_alarm:
        signal.alarm(int(seconds))
    try:
        yield
    finally:
        if has_alarm:
            signal.alarm(0)


def _answered(question: dict[str, str]) -> bytes:
    from morello_layouts.explorer.answer import answer

    try:
        found = json.dumps(answer(question), separators=(",", ":")).encode()
    except (MemoryError, RecursionError):
        return _failure("the answer takes too much memory", "what a question may use is bounded")
    except Exception as error:  # a fault of this package, which must not end the explorer
        _log.exception("no answer to %.300s", question)
        return _failure("the explorer failed at this text", f"{type(error).__name__}: a fault")
    if len(found) > _LONGEST:
        return _failure("the answer is too long to show", f"it has {len(found):,} bytes")
    return found


def _failure(what: str, why: str) -> bytes:
    return json.dumps(failure(what, why, "ask about something smaller, or ask again")).encode()


def _busy() -> bytes:
    """An answer after which the page asks again by itself."""
    found = failure("the explorer is busy", "it still works on other questions", "ask again")
    return json.dumps({"busy": True, **found}).encode()


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


answer(WARMING)  # grammars, SymPy and ISL load at the first question
