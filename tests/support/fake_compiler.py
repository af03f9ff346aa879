"""A command in place of the TPU compiler: ``python fake_compiler.py DO [FILE] FOLDER``.

``DO`` is a folder whose files become the dumps, with the message in ``error`` if it has one; or a
word for what may go wrong; or ``donation``, which makes donated arguments cost nothing, and with
``FILE`` a number, so many cycles more.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

_PROGRAM = """HloModule jit_f
ENTRY %main (a: f32[8,128]) -> f32[8,128] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %b = f32[8,128]{1,0:T(8,128)} negate(%a)
}
"""


def main(do: str, folder: Path) -> None:
    if do == "crash":
        sys.exit("the compiler has crashed")
    if do == "hang":  # with a child, which has to end too
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(sys.argv[2]).write_text(str(child.pid))
        time.sleep(600)
    if do == "eat":
        eaten = bytearray(1 << 28)
        time.sleep(600)
        del eaten
    dumps = folder / "dumps"
    if do == "slow":  # all dumps but the last, and then code, for long
        write(dumps, 1 << 20)
        (dumps / "m.after_optimizations_after_buffer_assignment.txt").write_text(_PROGRAM)
        time.sleep(600)
    result = {}
    if do == "refuse":
        result = {"error": "INTERNAL: RET_CHECK failure\nin target.cc"}
    elif do == "donation":
        module = (folder / "program.mlir").read_bytes()
        given = b"tf.aliasing_output" in module or b"jax.buffer_donor" in module
        write(dumps, 1 << 19 if given else 1 << 20)
        cycles = 100 + (int(sys.argv[2]) if given and len(sys.argv) > 3 else 0)
        told = f', backend_config={{"estimated_cycles":"{cycles}"}}\n}}\n'
        code = _PROGRAM.replace("\n}\n", told)
        (dumps / "m.after_codegen.txt").write_text(code)
    else:
        shutil.copytree(do, dumps)
        if (dumps / "error").exists():
            result = {"error": (dumps / "error").read_text()}
    (folder / "result.json").write_text(json.dumps(result))


def write(dumps: Path, size: int) -> None:
    dumps.mkdir()
    (dumps / "m.after_optimizations.txt").write_text(_PROGRAM)
    text = f"BufferAssignment:\nallocation 0: size {size}, maybe-live-out:\n"
    (dumps / "m.after_optimizations-buffer-assignment.txt").write_text(text)


def marked(*marks: str) -> list[int]:
    """Return the numbers of processes, other than this one, whose environment has a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            environment = path.read_bytes()
            if any(mark.encode() in environment for mark in marks):
                found.append(int(path.parent.name))
    return [pid for pid in found if pid != os.getpid()]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[-1]))
