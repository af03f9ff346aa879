"""Many dumps: what layouts cost across thousands of programs, by source line, shape and kind.

Each program becomes a digest of a few rows, so memory does not grow with the dumps.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from glob import glob
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, ClassVar, Final, TypeAlias

from morello_layouts.core.checks import as_int
from morello_layouts.core.description import count
from morello_layouts.core.fields import frozen
from morello_layouts.core.files import written
from morello_layouts.core.limits import (
    FLEET_BLOCK,
    FLEET_BYTES,
    FLEET_KEYS,
    FLEET_ROWS,
    FLEET_WAITING,
    REPORT_CHANGES,
)
from morello_layouts.errors import LayoutError
from morello_layouts.programs.diagnostics.comparison import HloComparison, compare_hlo
from morello_layouts.programs.diagnostics.diagnosis import Diagnosis, diagnose
from morello_layouts.programs.diagnostics.moves import effect_text
from morello_layouts.programs.hlo import HloModule
from morello_layouts.programs.report import (
    Columns,
    Report,
    Summary,
    Table,
    bytes_cell,
    bytes_text,
    first_rows,
    number_cell,
    text_cell,
)

Progress: TypeAlias = Callable[[int, int], object]
"""Called with the number of programs that are done, and of all."""

Digest: TypeAlias = dict[str, Any]
"""What is kept of a program, as JSON: path, totals and rows; or path and error."""

PADDING: Final = "padding"
"""The kind of a row about padding; the other kinds are effects of moves."""

_PROGRAMS: Final = ("*after_optimizations.txt", "*oom_intermediate_module.txt")
_NOT_PROGRAMS: Final = ("buffer-assignment", "memory-usage-report", "before_optimizations")


def programs_in(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the programs in folders, behind patterns, or named by themselves; each once.

    In a folder these are the compiler's optimised programs, at any depth; if it has none, all text
    files that may be programs.
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


def is_many(text: str) -> bool:
    r"""Return whether a text is a folder, or stands for many files; HLO itself is neither.

    >>> is_many("dumps/*.txt"), is_many("%a = f32[8] parameter(0)\n/* one */")
    (True, False)
    """
    if "\n" in text or " = " in text:
        return False
    try:
        return is_pattern(text) or Path(text).is_dir()
    except (OSError, ValueError):  # too long, or no path at all
        return False


def _in_folder(folder: Path) -> list[Path]:
    named = {path for pattern in _PROGRAMS for path in folder.rglob(pattern)}
    if not named:
        every = (path for end in ("*.txt", "*.hlo") for path in folder.rglob(end))
        named = {p for p in every if not any(word in p.name for word in _NOT_PROGRAMS)}
    return sorted(named)


@dataclass(slots=True)
class KeyCost:
    """The cost of one key over the programs."""

    bytes: int = 0  #: the bytes.
    count: int = 0  #: the arrays or moves.
    programs: int = 0  #: the programs that have it.


class _Sums(dict[str, KeyCost]):
    """Sums by key; of too many keys those of the fewest bytes are dropped."""

    def add(self, key: str, size: int, times: int) -> None:
        entry = self.setdefault(key, KeyCost())
        entry.bytes += size
        entry.count += times

    def see(self, keys: Iterable[str]) -> None:
        for key in keys:
            self[key].programs += 1
        if len(self) > FLEET_KEYS:
            kept = sorted(self.items(), key=lambda pair: -pair[1].bytes)[: FLEET_KEYS // 2]
            self.clear()
            self.update(kept)


@frozen
class FleetRow:
    """A row of a table over many programs."""

    json_keys: ClassVar = ("*",)

    key: str  #: the source line, the type, the kind or the program.
    bytes: int  #: the bytes that it costs in all programs together.
    count: int  #: the arrays or moves.
    programs: int  #: the programs that have it.


@frozen
class FleetReport(Report):
    """What layouts cost across many programs. ``print`` it, or let a notebook show it."""

    json_keys: ClassVar = ("*",)

    programs: int  #: the number of programs that were read.
    instructions: int  #: the instructions of all of them.
    reserved_bytes: int  #: bytes of all parameters and results together.
    padding_bytes: int  #: bytes of them that hold no data.
    written_bytes: int  #: bytes that copies and relayouts write.
    saved_bytes: int  #: bytes that parameters and outputs could take less.
    undecided: int  #: moves whose effect is unknown.
    by_source: tuple[FleetRow, ...]  #: the cost by source line, the most bytes first.
    by_shape: tuple[FleetRow, ...]  #: the cost by type and layout.
    by_kind: tuple[FleetRow, ...]  #: the cost by kind: padding, and the effects of moves.
    by_program: tuple[FleetRow, ...]  #: the cost by program.
    failures: tuple[tuple[str, str], ...]  #: the files that could not be read, and why.

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
        return tuple(first_rows(t, _COLUMNS, rows) for t, rows in parts)

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
            {"table": name, **asdict(row)} for name in names for row in getattr(self, f"by_{name}")
        ]
        kinds = dict.fromkeys(("table", "key"), pyarrow.string())
        kinds |= dict.fromkeys(("bytes", "count", "programs"), pyarrow.int64())
        with written(path) as beside:
            table = pyarrow.Table.from_pylist(rows, pyarrow.schema(kinds))
            parquet.write_table(table, str(beside))


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
        """Return the tables, the most bytes first."""
        tables = (
            tuple(
                FleetRow(key, **asdict(each))
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

    _COMMAND: Final = (
        "import gc; gc.set_threshold(100_000); "
        "from morello_layouts.programs.diagnostics.fleet import serve; serve()"
    )

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
    """Yield the digests of programs, as processes finish them.

    Neighbours, often alike, go to one process, which keeps what it found of their types.
    """
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait  # with logging

    idle: SimpleQueue[DumpReader] = SimpleQueue()
    workers = [DumpReader() for _ in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def ask(block: Sequence[str]) -> list[Digest]:
        worker = idle.get()
        try:
            return [worker.ask(path) for path in block]
        finally:
            idle.put(worker)

    length = max(1, min(FLEET_BLOCK, len(paths) // (FLEET_WAITING * FLEET_WAITING * jobs)))
    rest = (paths[k : k + length] for k in range(0, len(paths), length))
    with ThreadPoolExecutor(jobs) as pool:
        try:
            running = {pool.submit(ask, block) for block in islice(rest, jobs * FLEET_WAITING)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {pool.submit(ask, block) for block in islice(rest, len(done))}
                yield from (digest for future in done for digest in future.result())
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


def diagnose_many(
    paths: Iterable[str | os.PathLike[str]],
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> FleetReport:
    """Return what layouts cost across many programs.

    A file that cannot be read is reported and loses nothing.

    Args:
        paths: folders, patterns and files of programs.
        jobs: the number of processes at most; one reads few bytes sooner than two would start.
        dask: the address of a Dask scheduler whose workers see the same files, or None.
        progress: called with the number of programs that are done, and of all.

    Raises:
        LayoutError: if there are no programs, or Dask is not installed.

    >>> from morello_layouts.programs.diagnostics import diagnose_many
    >>> diagnose_many(["no such file"]).failures[0][0]
    'no such file'
    """
    jobs = as_int(jobs, "jobs", 1, fix="give the number of processes, from 1")
    every = [str(path) for path in programs_in(paths)]
    if dask is not None:
        digests = by_dask(every, dask)
    else:
        jobs = min(jobs, sum(map(_size, every)) // FLEET_BYTES)
        digests = by_processes(every, jobs) if jobs > 1 else map(digest_of, every)
    fleet = _Fleet()
    for finished, digest in enumerate(digests, 1):
        fleet.add(digest)
        if progress is not None:
            progress(finished, len(every))
    return fleet.report()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):  # the error is told when it is read
        return 0


def hlo(
    program: HloModule | str | os.PathLike[str] | Any,
    after: HloModule | str | os.PathLike[str] | None = None,
    *,
    generation: str | None = None,
    top: int | None = 10,
    jobs: int = 1,
) -> Diagnosis | HloComparison | FleetReport:
    """Report the cost of the layouts of a program, of many, or of a change, as the command does.

    Args:
        program: what ``diagnose`` takes; a folder, or a pattern such as ``dumps/*.txt``, is many
            programs, as for ``diagnose_many``.
        after: the program after a change, as for ``compare_hlo``.
        generation: the generation of TPUs for alternatives, as for ``diagnose``.
        top: the number of most wasteful arrays to list; None for all.
        jobs: the number of processes that read many programs, at most.

    Raises:
        LayoutError: if a text is not HLO, or there are no programs.

    >>> print(hlo("%a = f32[8]{0} negate(%b)", "%c = f32[8]{0} negate(%d)"))
    no difference in bytes, layouts and copies
    instructions: 1, then 1
    """
    if after is not None:
        return compare_hlo(program, after)
    if isinstance(program, str | os.PathLike) and is_many(path := os.fspath(program)):
        return diagnose_many([path], jobs=jobs)
    return diagnose(program, generation, top=top)
