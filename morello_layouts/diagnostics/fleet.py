"""Many dumps: what layouts cost across thousands of programs, by source line, shape and kind.

Each program becomes a digest of a few rows, so memory does not grow with the dumps. Digests may be
kept in a journal, one JSON object a line; a run that was stopped goes on behind them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from glob import glob
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, ClassVar, Final, TypeAlias

from morello_layouts.checks import as_int
from morello_layouts.description import count
from morello_layouts.diagnostics.diagnosis import Diagnosis, diagnose
from morello_layouts.diagnostics.moves import effect_text
from morello_layouts.diagnostics.report import (
    Columns,
    Report,
    Summary,
    Table,
    bytes_cell,
    bytes_text,
    number_cell,
    table_of,
    text_cell,
)
from morello_layouts.errors import LayoutError
from morello_layouts.limits import FLEET_KEYS, FLEET_ROWS, FLEET_WAITING, REPORT_CHANGES

Digest: TypeAlias = dict[str, Any]
"""What is kept of a program, as JSON: path, size, time, module, totals and rows; or an error."""

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the number of programs that are done, and of all."""

PADDING: Final = "padding"
"""The kind of a row about padding; the other kinds are effects of moves."""

_PROGRAMS: Final = ("*after_optimizations.txt", "*oom_intermediate_module.txt")
_NOT_PROGRAMS: Final = ("buffer-assignment", "memory-usage-report", "before_optimizations")


def programs_in(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the programs in folders, behind patterns, or named by themselves; each once.

    In a folder these are the compiler's optimised programs, at any depth; if it has none, all text
    files that may be programs.

    Raises:
        LayoutError: if there are none.
    """
    found: dict[Path, None] = {}
    for path in paths:
        text = os.fspath(path)
        every = sorted(map(Path, glob(text, recursive=True))) if is_pattern(text) else [Path(text)]
        for each in every:
            found.update(dict.fromkeys(_in_folder(each) if each.is_dir() else [each]))
    if not found:
        raise LayoutError(
            "there are no programs here",
            "a folder of dumps has files *after_optimizations.txt",
            "give a folder, a pattern such as 'dumps/**/*.txt', or files",
        )
    return list(found)


def is_pattern(text: str) -> bool:
    """Return whether a text stands for many files; a path may have brackets.

    >>> is_pattern("dumps/**/*.txt"), is_pattern("f32[8].txt")
    (True, False)
    """
    return "*" in text or "?" in text


def _in_folder(folder: Path) -> list[Path]:
    named = {path for pattern in _PROGRAMS for path in folder.rglob(pattern)}
    if not named:
        every = (path for end in ("*.txt", "*.hlo") for path in folder.rglob(end))
        named = {p for p in every if not any(word in p.name for word in _NOT_PROGRAMS)}
    return sorted(named)


def digest_of(path: str) -> Digest:
    """Return what is kept of a program; of a file that cannot be read, its error.

    >>> digest_of("no such file")["error"].startswith("'no such file' cannot be read")
    True
    """
    digest: Digest = {"path": path, **_stamp(path)}
    try:
        report = diagnose(Path(path), top=FLEET_ROWS)
    except LayoutError as error:
        return {**digest, "error": error.what}
    except Exception as error:  # one bad file must not stop the others
        return {**digest, "error": f"{type(error).__name__}: {error}"}
    everything = report.totals.parameters + report.totals.results
    return {
        **digest,
        "module": report.name,
        "platform": report.platform,
        "instructions": report.totals.instructions,
        "reserved_bytes": everything.reserved_bytes,
        "padding_bytes": everything.padding_bytes,
        "written_bytes": sum(move.written_bytes for move in report.moves),
        "saved_bytes": report.saved_bytes,
        "hbm_bytes": None if report.memory is None else report.memory.total,
        "undecided": report.undecided,
        "rows": _rows(report),
    }


def _stamp(path: str) -> Digest:
    try:
        status = Path(path).stat()
    except OSError:
        return {"size": None, "time": None}
    return {"size": status.st_size, "time": status.st_mtime_ns}


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


@dataclass(slots=True)
class Sum:
    """The cost of one key over the programs.

    Attributes:
        bytes: the bytes.
        count: the arrays or moves.
        programs: the programs that have it.
    """

    bytes: int = 0
    count: int = 0
    programs: int = 0


class _Sums(dict[str, Sum]):
    """Sums by key; of too many keys those of the fewest bytes are dropped."""

    def add(self, key: str, size: int, times: int) -> None:
        entry = self.setdefault(key, Sum())
        entry.bytes += size
        entry.count += times

    def see(self, keys: Iterable[str]) -> None:
        for key in keys:
            self[key].programs += 1
        if len(self) > FLEET_KEYS:
            kept = sorted(self.items(), key=lambda pair: -pair[1].bytes)[: FLEET_KEYS // 2]
            self.clear()
            self.update(kept)


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A row of a table over many programs.

    Attributes:
        key: the source line, the type, the kind or the program.
        bytes: the bytes that it costs in all programs together.
        count: the arrays or moves.
        programs: the programs that have it.
    """

    json_keys: ClassVar = ("*",)

    key: str
    bytes: int
    count: int
    programs: int


@dataclass(frozen=True, slots=True, repr=False)
class FleetReport(Report):
    """What layouts cost across many programs. ``print`` it, or let a notebook show it.

    Attributes:
        programs: the number of programs that were read.
        instructions: the instructions of all of them.
        reserved_bytes: bytes of all parameters and results together.
        padding_bytes: bytes of them that hold no data.
        written_bytes: bytes that copies and relayouts write.
        saved_bytes: bytes that parameters and outputs could take less.
        undecided: moves whose effect is unknown.
        by_source: the cost by source line, the most bytes first.
        by_shape: the cost by type and layout.
        by_kind: the cost by kind: padding, and the effects of moves.
        by_program: the cost by program.
        failures: the files that could not be read, and why.
    """

    json_keys: ClassVar = ("*",)

    programs: int
    instructions: int
    reserved_bytes: int
    padding_bytes: int
    written_bytes: int
    saved_bytes: int
    undecided: int
    by_source: tuple[FleetRow, ...]
    by_shape: tuple[FleetRow, ...]
    by_kind: tuple[FleetRow, ...]
    by_program: tuple[FleetRow, ...]
    failures: tuple[tuple[str, str], ...]

    def summary(self) -> Summary:
        """Return the verdict over all programs."""
        lines = [
            (
                f"padding: {bytes_text(self.padding_bytes)} of the "
                f"{bytes_text(self.reserved_bytes)} of all parameters and results"
            ),
            f"copies and relayouts write {bytes_text(self.written_bytes)}",
            f"parameters and outputs could take {bytes_text(self.saved_bytes)} less",
            f"{self.instructions:,} instructions; moves that are not decided: {self.undecided:,}",
        ]
        warnings = [f"{path}: {why}" for path, why in self.failures[:REPORT_CHANGES]]
        if len(self.failures) > len(warnings):
            warnings.append(f"and {len(self.failures) - len(warnings):,} more files")
        return Summary(count(self.programs, "program"), tuple(lines), tuple(warnings))

    def tables(self) -> tuple[Table, ...]:
        """Return the cost by kind, source line, type and program."""
        parts = (
            ("By kind", self.by_kind),
            ("By source line", self.by_source),
            ("By type", self.by_shape),
            ("By program", self.by_program),
        )
        return tuple(table_of(t, _COLUMNS, rows, limit=REPORT_CHANGES) for t, rows in parts)

    def write_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write all rows into a Parquet file: table, key, bytes, count, programs.

        Raises:
            LayoutError: if pyarrow is not installed, or the file cannot be written.
        """
        try:
            pyarrow: Any = import_module("pyarrow")
            parquet: Any = import_module("pyarrow.parquet")
        except ImportError:
            raise LayoutError(
                "pyarrow is not installed",
                "it writes Parquet files",
                "install it: pip install 'morello-layouts[dask]', or write JSON",
            ) from None
        names = ("source", "shape", "kind", "program")
        rows = [
            {
                "table": name,
                "key": r.key,
                "bytes": r.bytes,
                "count": r.count,
                "programs": r.programs,
            }
            for name in names
            for r in getattr(self, f"by_{name}")
        ]
        try:
            parquet.write_table(pyarrow.Table.from_pylist(rows, _schema(pyarrow)), os.fspath(path))
        except OSError as error:
            raise LayoutError(
                f"{os.fspath(path)} cannot be written: {error.strerror or error}",
                "a Parquet file is written into an existing folder",
                "give another path",
            ) from None


def _schema(pyarrow: Any) -> Any:
    numbers = [(name, pyarrow.int64()) for name in ("bytes", "count", "programs")]
    return pyarrow.schema([("table", pyarrow.string()), ("key", pyarrow.string()), *numbers])


_COLUMNS: Final[Columns[FleetRow]] = (
    ("bytes", lambda row: bytes_cell(row.bytes)),
    ("count", lambda row: number_cell(row.count)),
    ("programs", lambda row: number_cell(row.programs)),
    ("of", lambda row: text_cell(row.key)),
)

NO_SOURCE: Final = "(no source line)"


@dataclass(slots=True)
class _Fleet:
    """The sums as far as digests came."""

    totals: dict[str, int] = field(default_factory=dict)
    programs: int = 0
    tables: tuple[_Sums, _Sums, _Sums, _Sums] = field(
        default_factory=lambda: (_Sums(), _Sums(), _Sums(), _Sums())
    )
    failures: list[tuple[str, str]] = field(default_factory=list)

    def add(self, digest: Digest) -> None:
        """Add a program."""
        if "error" in digest:
            self.failures.append((digest["path"], digest["error"]))
            return
        self.programs += 1
        for name in _TOTALS:
            self.totals[name] = self.totals.get(name, 0) + (digest[name] or 0)
        seen: tuple[set[str], ...] = (set(), set(), set(), set())
        for kind, source, shape, size, times in digest["rows"]:
            words = kind if kind == PADDING else effect_text(kind)
            keys = (source or NO_SOURCE, shape, words, digest["path"])
            for table, key, own in zip(self.tables, keys, seen, strict=True):
                table.add(key, size, times)
                own.add(key)
        for table, own in zip(self.tables, seen, strict=True):
            table.see(own)

    def report(self) -> FleetReport:
        """Return the report."""
        tables = (
            tuple(
                FleetRow(key, each.bytes, each.count, each.programs)
                for key, each in sorted(table.items(), key=lambda pair: (-pair[1].bytes, pair[0]))
            )
            for table in self.tables
        )
        by_source, by_shape, by_kind, by_program = tables
        totals = {name: self.totals.get(name, 0) for name in _TOTALS}
        failures = tuple(sorted(self.failures))
        return FleetReport(
            self.programs,
            **totals,
            by_source=by_source,
            by_shape=by_shape,
            by_kind=by_kind,
            by_program=by_program,
            failures=failures,
        )


_TOTALS: Final = (
    *("instructions", "reserved_bytes", "padding_bytes", "written_bytes", "saved_bytes"),
    "undecided",
)


def diagnose_many(
    paths: Iterable[str | os.PathLike[str]],
    *,
    jobs: int = 1,
    journal: str | os.PathLike[str] | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> FleetReport:
    """Return what layouts cost across many programs.

    A file that cannot be read is reported and loses nothing. With a journal, a run that was stopped
    goes on where it stopped: programs that are in it and did not change are not read again.

    Args:
        paths: folders, patterns and files of programs.
        jobs: the number of processes.
        journal: a file for the digests of programs, or None.
        dask: the address of a Dask scheduler whose workers see the same files, or None.
        progress: called with the number of programs that are done, and of all.

    Raises:
        LayoutError: if there are no programs, the journal cannot be written, or Dask is not
            installed.

    >>> from morello_layouts.diagnostics import diagnose_many
    >>> diagnose_many(["no such file"]).failures[0][0]
    'no such file'
    """
    jobs = as_int(jobs, "jobs", 1, fix="give the number of processes, from 1")
    every = [str(path) for path in programs_in(paths)]
    fleet, done = _Fleet(), _journal_of(journal)
    todo: list[str] = []
    for path in every:
        kept = done.get(path)
        if kept is not None and {k: kept[k] for k in ("size", "time")} == _stamp(path):
            fleet.add(kept)
        else:
            todo.append(path)
    finished = len(every) - len(todo)
    if dask is not None:
        digests = _by_dask(todo, dask)
    else:
        digests = map(digest_of, todo) if jobs == 1 else _by_processes(todo, jobs)
    with _appending(journal) as write:
        for digest in digests:
            write(digest)
            fleet.add(digest)
            finished += 1
            if progress is not None:
                progress(finished, len(every))
    return fleet.report()


def _journal_of(path: str | os.PathLike[str] | None) -> dict[str, Digest]:
    """Return the digests of a journal by path; a line that was cut off is left out."""
    found: dict[str, Digest] = {}
    if path is None or not Path(path).exists():
        return found
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with suppress(ValueError, TypeError, KeyError):
                digest = json.loads(line)
                if "error" not in digest and {"size", "time", "rows"} <= digest.keys():
                    found[digest["path"]] = digest
    return found


class _appending:  # noqa: N801  (a context manager, used like a function)
    """Writes digests to the end of a journal, each whole line at once."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> Callable[[Digest], None]:
        if self._path is not None:
            try:
                self._file = Path(self._path).open("a", encoding="utf-8")
                self._file.write("\n")  # behind a line that was cut off
            except OSError as error:
                raise LayoutError(
                    f"{os.fspath(self._path)} cannot be written: {error.strerror or error}",
                    "the journal keeps what is done, so that a run may go on",
                    "give the path of a file in an existing folder",
                ) from None
        return self._write

    def _write(self, digest: Digest) -> None:
        if self._file is not None:
            self._file.write(json.dumps(digest) + "\n")
            self._file.flush()

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


class _Worker:
    """A process that reads programs: a path a line in, a digest a line out; it may die over one.

    It is a program of its own, so that it imports nothing of the caller's.
    """

    _COMMAND: Final = "from morello_layouts.diagnostics.fleet import serve; serve()"

    def __init__(self) -> None:
        self._process: Popen[str] | None = None

    def ask(self, path: str) -> Digest:
        """Return the digest of a program."""
        if self._process is None:
            paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            self._process = Popen(
                [sys.executable, "-c", self._COMMAND],
                stdin=PIPE, stdout=PIPE, env={**os.environ, **paths}, text=True, encoding="utf-8",
            )  # fmt: skip
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(path) + "\n")
            process.stdin.flush()
            found: Digest = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            self.close()
            return {"path": path, **_stamp(path), "error": "the process that read it died"}
        return found

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


def _by_processes(paths: Sequence[str], jobs: int) -> Iterator[Digest]:
    """Yield the digests of programs, as processes finish them."""
    idle: SimpleQueue[_Worker] = SimpleQueue()
    workers = [_Worker() for _ in range(jobs)]
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


def _by_dask(paths: Sequence[str], address: str) -> Iterator[Digest]:
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
                yield {"path": path, **_stamp(path), "error": f"{type(error).__name__}: {error}"}
            for after in islice(rest, 1):
                new = client.submit(digest_of, after, pure=False)
                running[new] = after
                queue.add(new)
