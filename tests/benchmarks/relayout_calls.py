"""Calls and builds of relayout kernels: the section "Calls" of docs/relayout_kernels.md.

``python tests/benchmarks/relayout_calls.py`` prints four tables: calls of small arrays beside
NumPy's; the processor time that a kernel takes to generate and to compile; the first kernel of a
new process; two threads beside one. Times of calls are processor time of the thread, the smallest
of some rounds in which all take turns; threads are timed by the clock.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from time import perf_counter, process_time, thread_time

import numpy as np

import morello_layouts as ml
from morello_layouts.outputs.kernels import build

SHAPES = (
    ("u1", (4, 4)),
    ("f4", (16, 16)),
    ("f4", (8, 128)),
    ("f4", (64, 64)),
    ("u2", (64, 64)),
    ("f4", (128, 128)),
    ("f4", (1, 1000)),
)
BUILDS = (
    ("f32[8,128]{1,0}", "{0,1}"),
    ("f32[2048,2048]{1,0}", "{0,1}"),
    ("bf16[4096,4096]{1,0}", "{1,0:T(8,128)(2,1)}"),
    ("bf16[3999,4003]{1,0}", "{1,0:T(8,128)(2,1)}"),
    ("bf16[512,513,17]{2,1,0}", "{0,2,1:T(8,128)(2,1)}"),
    ("f32[33,57,65,31]{3,2,1,0}", "{1,3,2,0}"),
    ("f32[M,N]{1,0}", "{0,1}"),
    ("u8[M,N]{1,0}", "{0,1}"),
    ("bf16[M,N]{1,0}", "{1,0:T(8,128)(2,1)}"),
    ("s8[M,N]{1,0:T(8,128)(4,1)}", "{0,1:T(8,128)(4,1)}"),
)
PAIRS = (("[0, 1]", "[1, 0]"), ("[0, 1]", "{1,0:T(8,128)}"))
FIRST = """
import resource, time
import numpy
import morello_layouts as ml
ml.relayout, ml.kernels.compiled_relayout  # these import what they need
ml.parse("f32[2]")  # and the reader of layouts
start = time.process_time()
ml.relayout("f32[2048,2048]{1,0}", "{0,1}").compile()
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.process_time() - start + children.ru_utime + children.ru_stime)
"""


def microseconds(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The smallest mean time of a call of each, in microseconds."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            start = thread_time()
            for _ in range(2000):
                run()
            best[name] = min(best[name], (thread_time() - start) / 2000 * 1e6)
    return best


def calls(rounds: int) -> list[str]:
    """Transpositions of small arrays: calls, and what a call takes beside the kernel itself."""
    lines = [
        "| transposed | f(x, out=o) | around the kernel | f(x) | np.copyto(o, x.T) | by NumPy's |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind, shape in SHAPES:
        f = ml.relayout("[0, 1]", "[1, 0]", shape).compile(np.dtype(kind))
        x = np.arange(np.prod(shape), dtype=kind).reshape(shape)
        out = np.empty(shape[::-1], kind)
        flat, target, empty = x.reshape(-1), out.reshape(-1), np.dtype(kind)
        nothing = ml.relayout("[0]", "[0]", (1,)).compile(empty)
        one, other = np.zeros(1, kind), np.zeros(1, kind)
        best = microseconds(
            {
                "out": lambda f=f, x=flat, o=target: f(x, out=o),
                "new": lambda f=f, x=flat: f(x),
                "one": lambda f=nothing, x=one, o=other: f(x, out=o),
                "numpy": lambda x=x, o=out: np.copyto(o, x.T),
            },
            rounds,
        )
        assert (out == x.T).all()
        lines.append(
            f"| {kind} {shape[0]}x{shape[1]} | {best['out']:.2f} | {best['one']:.2f} | "
            f"{best['new']:.2f} | {best['numpy']:.2f} | {best['out'] / best['numpy']:.2f} |"
        )
    return lines


def spent_by_children() -> float:
    told = resource.getrusage(resource.RUSAGE_CHILDREN)
    return told.ru_utime + told.ru_stime


def builds(rounds: int) -> list[str]:
    """The smallest processor time of the compiler for each kernel, and its lines of text."""
    lines = [
        "| kernel | generated, ms | compiled, s | lines | of its own |",
        "|---|---:|---:|---:|---:|",
    ]
    for source, target in BUILDS:
        made, compiled, text = float("inf"), float("inf"), ""
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                os.environ["MORELLO_LAYOUTS_CACHE"] = folder
                build._built.cache_clear()
                began = process_time()
                r = ml.relayout(source, target)
                text = r.kernel("c")
                made = min(made, process_time() - began)
                before = spent_by_children()
                command = build.compiler()
                assert command is not None
                flags = build.FLAGS_OF_SIZES if "M" in source else build.FLAGS
                build.load(text, "relayout", command, flags)
                compiled = min(compiled, spent_by_children() - before)
        start = re.search(
            r"RELAYOUT_INLINE void relayout_(direct|far)\(|/\* " + source.split("[")[0], text
        )
        own = len(text[start.start() if start else 0 :].splitlines())
        lines.append(
            f"| {source} → {target} | {made * 1e3:.1f} | {compiled:.2f} "
            f"| {len(text.splitlines())} | {own} |"
        )
    return lines


def first(rounds: int) -> list[str]:
    """Processor time of a new process's first kernel beside its imports; the cache has it."""
    with tempfile.TemporaryDirectory() as folder:
        given = {**os.environ, "MORELLO_LAYOUTS_CACHE": folder}
        words = [sys.executable, "-c", FIRST]
        taken = []
        for _ in range(rounds + 1):
            run = subprocess.run(words, env=given, check=True, capture_output=True, text=True)
            taken.append(float(run.stdout))
    return [f"First kernel of a process, from the cache: {min(taken[1:]) * 1e3:.0f} ms."]


def threads(rounds: int) -> list[str]:
    """The time of a call with threads=2 by that of one thread, at several sizes."""
    lines = ["| MiB | relayout | one thread, us | two, by one |", "|---:|---|---:|---:|"]
    for size in (64, 128, 256, 512, 1024, 2048, 4096):
        for pair in PAIRS:
            r = ml.relayout(*pair, (size, size))
            one, two = (r.compile("float32", threads=n) for n in (1, 2))
            x, out = (np.zeros(m.size, np.float32) for m in (r.source, r.target))
            ratios, times = [], []
            calls = max(1, 2**20 // size**2)
            for k in range(rounds * 4):
                taken = {}
                for f in (one, two)[:: 1 if k % 2 else -1]:
                    f(x, out)
                    start = perf_counter()
                    for _ in range(calls):
                        f(x, out)
                    taken[f.threads] = (perf_counter() - start) / calls
                ratios.append(taken[2] / taken[1])
                times.append(taken[1])
            lines.append(
                f"| {size * size / 2**18:g} | {' → '.join(pair)} | "
                f"{statistics.median(times) * 1e6:.1f} | {statistics.median(ratios):.2f} |"
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("tables", nargs="*", help="calls, builds, first, threads; all by default")
    given = parser.parse_args()
    for table in (calls, builds, first, threads):
        if not given.tables or table.__name__ in given.tables:
            sys.stdout.write("\n".join(["", *table(given.rounds), ""]))


if __name__ == "__main__":
    main()
