"""Digests of programs: what is kept of each of many dumps, made here or by other processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, Final, TypeAlias

from morello_layouts.core.limits import FLEET_ROWS, FLEET_WAITING
from morello_layouts.errors import LayoutError
from morello_layouts.programs.diagnostics.diagnosis import Diagnosis, diagnose

Digest: TypeAlias = dict[str, Any]
"""What is kept of a program, as JSON: path, totals and rows; or path and error."""

PADDING: Final = "padding"
"""The kind of a row about padding; the other kinds are effects of moves."""


def digest_of(path: str) -> Digest:
    """Return what is kept of a program; of a file that cannot be read, its error."""
    try:
        report = diagnose(Path(path), top=FLEET_ROWS)
    except LayoutError as error:
        return {"path": path, "error": error.what}
    except Exception as error:  # one bad file must not stop the others
        return {"path": path, "error": f"{type(error).__name__}: {error}"}
    for warning in report.warnings:
        if warning.startswith("the text ends "):
            return {"path": path, "error": f"{warning}: not counted"}
    everything = report.totals.parameters + report.totals.results
    return {
        "path": path,
        "instructions": report.totals.instructions,
        "reserved_bytes": everything.reserved_bytes,
        "padding_bytes": everything.padding_bytes,
        "written_bytes": sum(move.written_bytes for move in report.moves),
        "saved_bytes": report.saved_bytes,
        "undecided": report.undecided,
        "rows": _rows(report),
    }


def _rows(report: Diagnosis) -> list[list[Any]]:
    """Return kind, source line, type, bytes and count of what costs most."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for found in report.wasteful:
        source = next((each.source for each in found.places if each.source), None) or ""
        key = (PADDING, source, str(found.waste.shape))
        sums[key] = [found.total_padding, found.count]
    for move in report.moves:
        if move.written_bytes:
            source = move.place.source or ""
            entry = sums.setdefault((move.verdict.effect, source, move.verdict.result), [0, 0])
            entry[0] += move.written_bytes
            entry[1] += 1
    ordered = sorted(sums.items(), key=lambda pair: -pair[1][0])
    return [[*key, *numbers] for key, numbers in ordered[:FLEET_ROWS]]


class DumpReader:
    """A process that reads programs: a path a line in, a digest a line out; it may die over one.

    It is a program of its own, so that it imports nothing of the caller's.
    """

    _COMMAND: Final = "from morello_layouts.programs.diagnostics.digests import serve; serve()"

    def __init__(self) -> None:
        self._process: Popen[str] | None = None

    def ask(self, path: str) -> Digest:
        """Return the digest of a program; a process that dies over it is started once more."""
        for _ in range(2):
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(path) + "\n")
                process.stdin.flush()
                found: Digest = json.loads(process.stdout.readline())
            except (OSError, ValueError):
                self.close()
            else:
                return found
        return {"path": path, "error": "the process that read it died, twice"}

    def _started(self) -> Popen[str]:
        if self._process is None:
            paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._process = Popen(
                [sys.executable, "-c", self._COMMAND],
                stdin=PIPE, stdout=PIPE, env={**os.environ, **paths}, text=True, encoding="utf-8",
            )  # fmt: skip
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()
            self._process.communicate()
            self._process = None


def serve() -> None:
    """Answer each path on standard input with its digest; the other side of a worker."""
    for line in sys.stdin:
        print(json.dumps(digest_of(json.loads(line))), flush=True)  # noqa: T201


def by_processes(paths: Sequence[str], jobs: int) -> Iterator[Digest]:
    """Yield the digests of programs, as processes finish them."""
    idle: SimpleQueue[DumpReader] = SimpleQueue()
    workers = [DumpReader() for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def ask(path: str) -> Digest:
        worker = idle.get()
        try:
            return worker.ask(path)
        finally:
            idle.put(worker)

    rest = iter(paths)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = {pool.submit(ask, path) for path in islice(rest, jobs * FLEET_WAITING)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(ask, path) for path in islice(rest, len(done))}
                yield from (future.result() for future in done)
        finally:
            for worker in workers:
                worker.close()


def by_dask(paths: Sequence[str], address: str) -> Iterator[Digest]:
    """Yield the digests of programs, as the workers of a Dask cluster finish them."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise LayoutError(
            "dask is not installed",
            "a cluster is asked by dask's client",
            "install it: pip install 'morello-layouts[dask]', or use --jobs",
        ) from None
    try:
        client = distributed.Client(address, timeout=30)
    except (OSError, ValueError) as error:
        raise LayoutError(
            f"no Dask scheduler answers at {address}",
            str(error).partition("\n")[0] or "the connection failed",
            "give the address that the scheduler prints, such as tcp://host:8786",
        ) from None
    with client:
        rest = iter(paths)
        most = FLEET_WAITING * max(1, len(client.scheduler_info()["workers"]))
        first = {client.submit(digest_of, path, pure=False): path for path in islice(rest, most)}
        running, queue = dict(first), distributed.as_completed(first)
        for future in queue:
            path = running.pop(future)
            try:
                yield future.result()
            except Exception as error:  # a worker died, or could not read it
                yield {"path": path, "error": f"{type(error).__name__}: {error}"}
            for after in islice(rest, 1):
                new = client.submit(digest_of, after, pure=False)
                running[new] = after
                queue.add(new)
