"""Run the TPU compiler in a process of its own, with bounds on its time and memory."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, Final, TypeAlias

from morello_layouts.core.fields import frozen
from morello_layouts.core.limits import (
    COMPILER_LOG,
    COMPILER_MESSAGE,
    TPU_COMPILER_MEMORY,
    TPU_COMPILER_SECONDS,
)
from morello_layouts.errors import LayoutError

Progress: TypeAlias = Callable[[str], object]
"""What is told, in a line, how far a compilation is."""

_TICK: Final = 0.1  # seconds between two looks at a process
_CHILD: Final = str(Path(__file__).with_name("child.py"))

# libtpu asks the machine which TPU it has, unless it is told.
_ENVIRONMENT: Final = {
    "JAX_PLATFORMS": "cpu",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "2",
}


class Server:
    """A process that forks for each job, and ends what it began when this process ends.

    For libtpu it has imported JAX: that takes 0.8 s, and all of a small compilation after it 0.2 s.
    """

    def __init__(self, command: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [sys.executable, _CHILD, str(os.getpid()), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ENVIRONMENT},
            start_new_session=True,
        )
        self._lock = Lock()

    def begin(self, folder: Path) -> int:
        """Begin the job of a folder, and return the number of its process."""
        sent, told = self.process.stdin, self.process.stdout
        with self._lock:
            try:
                sent.write(f"{folder}\n".encode())  # type: ignore[union-attr]
                sent.flush()  # type: ignore[union-attr]
                return int(told.readline())  # type: ignore[union-attr]
            except (OSError, ValueError):
                raise LayoutError(
                    "the TPU compiler's process has ended",
                    "it imports JAX once, and compiles each program in a process of its own",
                    "try again; the system may have ended it for lack of memory",
                ) from None

    def close(self) -> None:
        """End the process, which ends what it began."""
        self.process.communicate(b"\n")


@contextmanager
def kept_warm(compiler: Compiler) -> Iterator[Compiler]:
    """Give a compiler that has a server for all jobs."""
    if compiler.server is not None:
        yield compiler
        return
    if compiler.command and shutil.which(compiler.command[0]) is None:
        raise LayoutError(
            "the TPU compiler does not start: its program was not found",
            f"its command is {compiler.command[0]}",
            "give the path of a program, or leave the compiler out for that of libtpu",
        )
    server = Server(compiler.command)
    try:
        yield replace(compiler, server=server)
    finally:
        server.close()


@frozen
class Compiler:
    """A command that compiles, and what it may take.

    >>> Compiler(("false",)).seconds
    600
    """

    #: its words, which the folder of a job follows; without words, libtpu's compiler.
    command: tuple[str, ...]
    seconds: float = TPU_COMPILER_SECONDS  #: the time of one compilation.
    memory: int = TPU_COMPILER_MEMORY  #: bytes of memory of its process.
    until: str = ""  #: the ending of a dump; the process is ended as soon as it is there.
    #: the process that runs the command; without one, each job begins its own.
    server: Server | None = field(default=None, compare=False, repr=False)


def libtpu_compiler() -> Compiler:
    """Return the command that compiles with libtpu.

    Raises:
        LayoutError: if JAX or libtpu is not installed.
    """
    missing = [name for name in ("jax", "jaxlib", "libtpu") if find_spec(name) is None]
    if missing:
        raise LayoutError(
            f"the TPU compiler is not installed: no {', '.join(missing)}",
            "libtpu holds the compiler, and JAX calls it; neither needs a TPU",
            "on Linux, python -m pip install 'jax>=0.10.2,<0.11' libtpu flatbuffers",
        )
    return Compiler(())


def bounded(compiler: Compiler, seconds: float | None, gibibytes: float | None) -> Compiler:
    """Return a compiler with other bounds; None leaves one as it is."""
    if seconds is not None:
        compiler = replace(compiler, seconds=seconds)
    return compiler if gibibytes is None else replace(compiler, memory=int(gibibytes * 2**30))


@frozen
class Dumps:
    """What a compilation left, or one that was ended before."""

    folder: Path  #: with the compiler's dumps.
    error: str  #: the compiler's message; empty if it compiled.

    def dump(self, ending: str) -> Path | None:
        """Return the largest dump whose name has an ending: small ones are of helper modules."""
        found = [path for path in self.folder.rglob(f"*{ending}") if path.is_file()]
        return max(found, key=lambda path: path.stat().st_size, default=None)


def _topology(generation: str, devices: int) -> str:
    """Return the name of a generation's smallest topology with this number of devices.

    >>> _topology("v5e", 1), _topology("v5e", 8), _topology("v5p", 8), _topology("v4", 8)
    ('v5e:2x2', 'v5e:2x4', 'v5p:2x2x2', 'v4:2x2x1')
    """
    sides = [2, 2, 1] if generation in _CUBES else [2, 2]
    count = 4 * _CORES.get(generation, 1)
    while count < devices:
        sides[sides.index(min(sides))] *= 2
        sides.sort(reverse=len(sides) == 3 and sides[-1] == 1)
        count *= 2
    return f"{generation}:{'x'.join(map(str, sides))}"


_CUBES: Final = frozenset({"v4", "v5p", "tpu7x"})
_CORES: Final = {"v2": 2, "v3": 2, "v4": 2, "tpu7x": 2}


@contextmanager
def compiled(
    module: bytes,
    generation: str,
    devices: int = 1,
    *,
    compiler: Compiler | None = None,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> Iterator[Dumps]:
    """Compile a StableHLO module ahead of time; the dumps last as long as the context.

    Args:
        module: the module, as text or as bytecode.
        generation: the generation of TPUs.
        devices: the number of devices that the program runs on.
        compiler: the command; by default libtpu's compiler.
        progress: is told, in a line, how far it is.
        keep: a folder that gets a copy of the dumps.
    """
    compiler = libtpu_compiler() if compiler is None else compiler
    with tempfile.TemporaryDirectory(prefix="tpu_compile_") as name:
        folder = Path(name)
        (folder / "program.mlir").write_bytes(module)
        job = {"topology": _topology(generation, devices), "devices": devices}
        (folder / "job.json").write_text(json.dumps(job))
        result = run_in(folder, compiler, f"compiling for {generation}", progress)
        dumps = folder / "dumps"
        if keep is not None and dumps.is_dir():
            shutil.copytree(dumps, keep, dirs_exist_ok=True)
        yield Dumps(dumps, result.get("error", ""))


def run_in(
    folder: Path, compiler: Compiler, what: str, progress: Progress | None = None
) -> dict[str, Any]:
    """Run a compiler on a folder within its bounds, and return the result that it wrote there."""
    with kept_warm(compiler) as warm:
        _run(warm, folder, what, progress)
    if _has_dump(compiler, folder) and not (folder / "result.json").exists():
        return {}
    try:
        result = json.loads((folder / "result.json").read_text())
        if not isinstance(result.get("error", ""), str):
            raise ValueError
        return dict(result)
    except (OSError, ValueError, AttributeError):  # none, or not what the child writes
        said = (folder / "log.txt").read_text(errors="replace").strip()
        raise LayoutError(
            "the TPU compiler ended without an answer",
            said[-COMPILER_MESSAGE:] or "it said nothing",
            "give a smaller program; if that compiles, this one breaks the compiler",
        ) from None


def _run(compiler: Compiler, folder: Path, what: str, progress: Progress | None) -> None:
    """Run a compiler on a folder to its end, or end it and its children."""
    began, most, log = monotonic(), 0, folder / "log.txt"
    log.touch()
    running = compiler.server.begin(folder)  # type: ignore[union-attr]
    try:
        while not _has_ended(running) and not _has_dump(compiler, folder):
            spent, most = monotonic() - began, max(most, _memory(running))
            _require(spent <= compiler.seconds, f"{compiler.seconds:,.0f} seconds")
            _require(most <= compiler.memory, f"{compiler.memory / 2**30:,.1f} GiB of memory")
            _require(log.stat().st_size <= COMPILER_LOG, f"{COMPILER_LOG:,} bytes of log")
            if progress is not None:
                progress(f"{what}: {spent:.0f} s, {most / 2**30:.1f} GiB")
            _wait(running, _TICK)
    finally:
        _end_group(running)
        if compiler.command:
            _end_of(str(folder))


def _has_dump(compiler: Compiler, folder: Path) -> bool:
    """Whether the dump is there that a compiler runs until."""
    return bool(compiler.until) and any((folder / "dumps").glob(f"*{compiler.until}"))


def _require(within: bool, limit: str) -> None:
    if not within:
        raise LayoutError(
            f"the TPU compiler took more than {limit}",
            "a compilation has bounds, and is ended at them",
            "give a smaller program, or larger bounds: seconds=1200, gibibytes=32",
        )


def _memory(pid: int) -> int:
    """Return the bytes of memory of a process; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _has_ended(pid: int) -> bool:
    """Whether the system has forgotten a process that a server began."""
    try:
        os.kill(pid, 0)
    except OSError:
        return True
    return False


def _wait(pid: int, seconds: float) -> None:
    """Wait until a process has ended, or some seconds."""
    until = monotonic() + seconds
    while not _has_ended(pid) and monotonic() < until:
        sleep(0.01)


def _end_group(pid: int) -> None:
    """End a process and what it started."""
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
    _wait(pid, 60)


def _end_of(folder: str) -> None:
    """End what left the group of its process: the name of its folder is in its environment."""
    for found in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"--xla_dump_to={folder}/".encode() in found.read_bytes():
                os.kill(int(found.parent.name), signal.SIGKILL)
