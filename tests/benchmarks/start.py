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
COMMAND = ["-m", "morello_layouts"]
CASES = {
    "`import numpy`": (["-c", "import numpy"], None),
    "`import morello_layouts`": (["-c", "import morello_layouts"], 0.4),
    "`--version`": ([*COMMAND, "--version"], 0.8),
    "`--help`": ([*COMMAND, "--help"], 0.8),
    "an error in a text": ([*COMMAND, "explain", TILED[:-6]], 1.2),
    "`explain`": ([*COMMAND, "explain", TILED], 2.2),
    "`explain`, sizes by name": ([*COMMAND, "explain", "bf16[M,N]{1,0:T(8,128)(2,1)}"], 2.2),
    "`prove`": ([*COMMAND, "prove", TILED], None),
    "`simplify`": ([*COMMAND, "simplify", "(8*i + j)//8", "--bounds", "j=0..7"], None),
    "`code --target c`": ([*COMMAND, "code", TILED, "--target", "c"], None),
    "`draw`": ([*COMMAND, "draw", TILED, "-o", os.devnull], None),
}


def seconds(arguments: list[str], cache: str) -> float:
    """Return the processor time of a process, its children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, *arguments], capture_output=True, env=environment, check=False)
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
