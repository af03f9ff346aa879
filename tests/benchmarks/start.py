"""Processor time of whole processes beside that of ``python -c "import numpy"``, in one run.

``python tests/benchmarks/start.py`` prints the table of docs/benchmarks.md. Turns alternate, and
the least of all turns counts, so a noisy machine gives the same ratios.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile

TILED = "bf16[10,200]{1,0:T(8,128)(2,1)}"
SHARDED = "f32[64,128], mesh={'x': 8}, spec=P('x', None)"
HLO = """HloModule m
ENTRY %e (a: f32[7,3,128]) -> f32[3,7,128] {
  %a = f32[7,3,128]{2,1,0:T(8,128)} parameter(0)
  ROOT %b = f32[3,7,128]{2,0,1:T(8,128)} transpose(%a), dimensions={1,0,2}
}"""
COMMAND = ["-m", "morello_layouts"]
CASES = {
    "`import numpy`": (["-c", "import numpy"], None),
    "`import morello_layouts`": (["-c", "import morello_layouts"], 0.4),
    "`--version`": ([*COMMAND, "--version"], 0.8),
    "`--help`": ([*COMMAND, "--help"], 0.8),
    "an error in a text": ([*COMMAND, "explain", TILED[:-6]], 0.8),
    "`explain`": ([*COMMAND, "explain", TILED], 1.5),
    "`explain`, sizes by name": ([*COMMAND, "explain", "bf16[M,N]{1,0:T(8,128)(2,1)}"], 1.5),
    "`prove`": ([*COMMAND, "prove", TILED], 0.9),
    "`simplify`": ([*COMMAND, "simplify", "(8*i + j)//8", "--bounds", "j=0..7"], None),
    "`code --target c`": ([*COMMAND, "code", TILED, "--target", "c"], None),
    "`draw`": ([*COMMAND, "draw", TILED, "-o", os.devnull], None),
    "`shards`": ([*COMMAND, "shards", SHARDED], 1.6),
    "`hlo`, five lines": ([*COMMAND, "hlo", "-"], 2.0),
}


def seconds(arguments: list[str], cache: str) -> float:
    """Return the processor time of a process, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    subprocess.run(command, capture_output=True, env=environment, check=False, input=HLO.encode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    turns = parser.parse_args().turns
    least = dict.fromkeys(CASES, float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        for turn in range(turns + 1):  # the first turn writes the bytecode
            for name, (arguments, _) in CASES.items():
                found = seconds(arguments, cache)
                least[name] = min(least[name], found) if turn else least[name]
    unit = least["`import numpy`"]
    print("| process | ms | beside NumPy | aim |\n|---|---:|---:|---:|")
    for name, (_, aim) in CASES.items():
        print(f"| {name} | {least[name] * 1000:.0f} | {least[name] / unit:.2f} | {aim or ''} |")


if __name__ == "__main__":
    main()
