"""The process that compiles: a StableHLO module in, the compiler's dumps out.

``python child.py FOLDER`` reads ``program.mlir`` and ``job.json`` (topology, devices) there, and
writes ``result.json``; XLA writes its dumps as ``XLA_FLAGS`` says. It imports nothing of this
package, so that it starts with the compiler alone.

``python child.py`` imports JAX once, which takes most of the time of a small compilation, and then
forks for each folder in a line of its input; it prints the process's number. At the end of its
input, as when its parent has died, it ends what it began.
"""

from __future__ import annotations

import json
import os
import signal
import sys
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
    """Compile the job of a folder, and write what came of it."""
    job, result = json.loads((folder / "job.json").read_text()), {}
    try:
        compiled(folder, job["topology"], job["devices"])
    except Exception as error:
        result = {"error": str(error) or type(error).__name__}
    (folder / "result.json").write_text(json.dumps(result))


def serve() -> None:
    """Compile the job of each folder that the input names, in a process that is forked for it."""
    from jax._src.interpreters import mlir  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets what has ended
    begun: list[int] = []
    for line in sys.stdin:
        folder = Path(line.rstrip("\n"))
        process = os.fork()
        if process == 0:
            os.setsid()
            os.chdir(folder)
            log = os.open("log.txt", os.O_WRONLY | os.O_CREAT)
            for stream in (1, 2):
                os.dup2(log, stream)
            flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder / 'dumps'}"
            os.environ["XLA_FLAGS"] = flags.strip()
            main(folder)
            os._exit(0)
        begun.append(process)
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()
    for process in begun:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)


if __name__ == "__main__":
    serve() if len(sys.argv) < 2 else main(Path(sys.argv[1]))
