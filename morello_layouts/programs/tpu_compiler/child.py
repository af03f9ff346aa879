"""The process that compiles, and compares: a StableHLO module in, the compiler's dumps out.

``python child.py PARENT`` imports JAX, which takes most of the time of a small compilation, and
then forks for each folder in a line of its input; it prints the process's number. A folder with
``program.mlir`` and ``job.json`` (topology, devices) is compiled; one with functions is compared by
``compare.py``. Both write ``result.json`` there. A command after the parent's number is run on each
folder instead. This imports nothing of this package, so that it starts with the compiler alone.

At an empty line it ends what it began. At the end of its input without one its parent has died, and
it removes the folders too.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import shutil
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any


def compiled(folder: Path, topology: str, devices: int) -> Any:
    """Compile ``program.mlir`` for some devices of a topology, and return the executable.

    The compiler takes a module, so that the program is the one that JAX lowered, wrapped in
    nothing. JAX has no public function for that; these are what its own ``compile`` calls.
    """
    import numpy as np
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    from jax.experimental import topologies
    from jaxlib import _jax

    chosen = topologies.get_topology_desc(platform="tpu", topology_name=topology).devices[:devices]
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = 1, devices
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = True
    numbers = np.array([[device.id for device in chosen]])
    options.device_assignment = xla_client.DeviceAssignment.create(numbers)
    with mlir.make_ir_context():
        module = ir.Module.parse((folder / "program.mlir").read_bytes())
        return chosen[0].client.compile(module, _jax.DeviceList(tuple(chosen)), options)


def main(folder: Path) -> None:
    """Do the job of a folder, and write what came of it."""
    if not (folder / "job.json").exists():
        runpy.run_path(str(Path(__file__).with_name("compare.py")))["main"](folder)
        return
    job, result = json.loads((folder / "job.json").read_text()), {}
    try:
        compiled(folder, job["topology"], job["devices"])
    except Exception as error:
        result = {"error": str(error) or type(error).__name__}
    (folder / "result.json").write_text(json.dumps(result))


def begun(folder: Path, command: list[str]) -> int:
    """Begin the job of a folder in a process of its own, and return its number."""
    if process := os.fork():
        return process
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(folder)
    nothing, log = os.open(os.devnull, os.O_RDONLY), os.open("log.txt", os.O_WRONLY | os.O_CREAT)
    for stream, file in enumerate((nothing, log, log)):
        os.dup2(file, stream)
    if (folder / "job.json").exists():
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder / 'dumps'}"
        os.environ["XLA_FLAGS"] = flags.strip()
    try:
        if command:
            os.execvp(command[0], [*command, str(folder)])
        main(folder)
    except BaseException:  # what follows belongs to the server
        traceback.print_exc()
    os._exit(0)


def _end_with_parent(how: int) -> None:
    """Let the system send this process a signal when its parent dies; 0 for none."""
    with suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(1, how)


def serve(parent: int, command: list[str]) -> None:
    """Do the job of each folder that the input names, until an empty line or its end."""
    if not command:
        _end_with_parent(signal.SIGKILL)  # the import takes a second
        if os.getppid() != parent:
            return  # it died before
        from jax._src.interpreters import mlir  # noqa: F401

        _end_with_parent(0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets what has ended
    folders: dict[Path, int] = {}
    line = ""
    try:
        while (line := sys.stdin.readline()).strip():
            folder = Path(line.rstrip("\n"))
            folders[folder] = begun(folder, command)
            sys.stdout.write(f"{folders[folder]}\n")
            sys.stdout.flush()
    finally:
        for folder, process in folders.items():
            with suppress(ChildProcessError):  # it has ended, and its number may be another's
                os.waitpid(process, os.WNOHANG)
                for end in (os.killpg, os.kill):  # it may not lead its group yet
                    with suppress(ProcessLookupError, PermissionError):
                        end(process, signal.SIGKILL)
                os.waitpid(process, 0)  # from now on it writes nothing
            if line != "\n":
                shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2:])
