"""How fast HLO text is read, beside XLA's own parser: writes the table of docs/benchmarks.md.

    python tests/benchmarks/hlo_speed.py --megabytes 50
    python tests/benchmarks/hlo_speed.py --small    # processor time of `hlo` on real dumps

The dump is one real program, repeated with other names. Both readers take it in turns in one
process, the file's reading included; XLA's needs jaxlib.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from simplify_page import table
from start import COMMAND, seconds as of_process

from morello_layouts.programs.hlo import HloModule, read_hlo

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.hlo_xla import programs

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin hlo: hlo_speed.py -->\n", "<!-- end hlo -->"
ROUNDS = 5
PROGRAM = "tpu7x_scan_while"
NAME = re.compile(r"(?<![\w\"])%([A-Za-z_][\w.\-]*)")
# The peak of a child's resource usage starts at its parent's; this one starts at its own.
MEMORY = """
import re, sys
from pathlib import Path
from morello_layouts.programs.hlo import read_hlo
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
module = read_hlo(sys.argv[1])
print(peak() - before)
"""


def large_dump(path: Path, megabytes: float, program: str = PROGRAM) -> int:
    """Write a dump of at least this size, which XLA's parser takes too; how often it repeats."""
    text = programs()[program]
    header, body = text[: text.index("\n\n%") + 2], text[text.index("\n\n%") + 2 :]
    count, size = 0, 0
    with path.open("w", encoding="utf-8") as file:
        size += file.write(header)
        while size < megabytes * 1e6:
            copy = NAME.sub(rf"%\1.r{count}", body).replace("ENTRY %", "%")
            size += file.write(copy.rstrip("\n") + "\n\n")
            count += 1
        file.write(body)
    return count + 1


def ours(paths: list[Path]) -> list[HloModule]:
    return [read_hlo(path) for path in paths]


def xlas() -> Callable[[list[Path]], object] | None:
    """XLA's parser, None if jaxlib is not installed."""
    try:
        from jaxlib._hlo import hlo_module_from_text
    except ImportError:
        return None
    return lambda paths: [hlo_module_from_text(path.read_text("utf-8")) for path in paths]


def seconds(read: Callable[[list[Path]], object], paths: list[Path]) -> float:
    begin = perf_counter()
    read(paths)
    return perf_counter() - begin


def kept_megabytes(path: Path) -> float:
    """How much a process of its own grows by while it reads."""
    command = [sys.executable, "-c", MEMORY, str(path)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(run.stdout) * 1024 / 1e6


def row(name: str, paths: list[Path]) -> list[object]:
    size = sum(path.stat().st_size for path in paths) / 1e6
    modules, xla = ours(paths), xlas()
    times: dict[str, list[float]] = {"ours": [], "xla": []}
    for _ in range(ROUNDS):
        times["ours"].append(seconds(ours, paths))
        if xla is not None:
            times["xla"].append(seconds(xla, paths))
    rates = [f"{size / statistics.median(found):.1f}" if found else "–" for found in times.values()]
    shapes = sum(module.distinct_shapes for module in modules)
    counts = [f"{size:.1f}", f"{sum(map(len, modules)):,}", f"{shapes:,}"]
    kept = f"{kept_megabytes(paths[0]):.0f}" if len(paths) == 1 else "–"
    return [name, *counts, *rates, kept]


def print_small(folder: Path) -> None:
    """Print processor time: of dumps of 20 kB beyond one of five lines, and of a folder."""
    files = {"": ["-"], "a folder": [str(folder)]}
    for name, text in programs().items():
        path = folder / f"{name}.txt"
        path.write_text(text, "utf-8")
        if 19_500 < path.stat().st_size < 23_000:
            files[name] = [str(path)]
    (folder / "again").mkdir()
    least = dict.fromkeys(files, float("inf"))
    for turn in range(2 * ROUNDS + 1):  # the first turn writes the bytecode
        for name, given in files.items():
            found = of_process([*COMMAND, "hlo", *given], str(folder / "again"))
            least[name] = min(least[name], found) if turn else least[name]
    print(f"{1000 * least['']:6.1f} ms: five lines")
    for name in [*files][1:]:
        count = len(programs()) if name == "a folder" else 1
        beyond = 1000 * (least[name] - least[""]) / count
        print(f"{1000 * least[name]:6.1f} ms, {beyond:4.1f} a file beyond five lines: {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        if options.small:
            print_small(Path(folder))
            return
        dump = Path(folder) / "dump.txt"
        count = large_dump(dump, options.megabytes)
        small = []
        for name, text in programs().items():
            small.append(Path(folder) / f"{name}.txt")
            small[-1].write_text(text, "utf-8")
        rows = [row(f"`{PROGRAM}`, {count:,} times", [dump]), row("44 programs, one by one", small)]
    head = [
        "dump",
        "MB",
        "instructions",
        "types analysed",
        "ours, MB/s",
        "XLA's, MB/s",
        "memory, MB",
    ]
    libraries = f"Python {platform.python_version()}, {platform.machine()}"
    if xlas() is not None:
        libraries += f", jaxlib {version('jaxlib')}"
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    text = f"{libraries}; medians of {ROUNDS} runs.\n\n{table(head, rows)}\n\n"
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
