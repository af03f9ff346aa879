"""A chain of five steps in one pass, beside memcpy and beside NumPy's five steps.

``python tests/benchmarks/relayout_chain.py`` reshapes, transposes, slices, pads and tiles an array:
the first three are views of the source, the pad is what lies beside a view of the target, and the
target has tiles. A figure is the median over the rounds of a multiple of the time that a copy of
the target's bytes takes in the same round, as processor time of one thread.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np
from relayout_cases import room

import morello_layouts as ml


@dataclass(frozen=True)
class Chain:
    """The shapes of a chain, and the slice of the transposed array.

    Attributes:
        name: what moves.
        flat: the shape of the source.
        split: the shape that it is reshaped to.
        part: the slices after dimensions 0 and 1 are exchanged.
        pads: elements before and after, along each dimension.
        target: the layout of the padded array, with its shape.
    """

    name: str
    flat: tuple[int, ...]
    split: tuple[int, ...]
    part: tuple[slice, ...]
    pads: tuple[tuple[int, int], ...]
    target: str


ALL = slice(None)
EIGHT = ((2, 2), (4, 4), (0, 0))
CHAINS = (
    Chain("whole lines, 8 MiB", (4096, 512), (64, 64, 512), (slice(2, 62), slice(4, 60), ALL),
          EIGHT, "f32[64,64,512]{2,1,0:T(8,128)}"),
    Chain("whole lines, 64 MiB", (8192, 2048), (64, 128, 2048), (slice(4, 124), slice(4, 60), ALL),
          ((4, 4), (4, 4), (0, 0)), "f32[128,64,2048]{2,1,0:T(8,128)}"),
    Chain("whole lines, 0.5 MiB", (256, 512), (16, 16, 512), (slice(2, 14), slice(4, 12), ALL),
          EIGHT, "f32[16,16,512]{2,1,0:T(8,128)}"),
    Chain("rows that begin at element 3, 8 MiB", (4096, 520), (64, 64, 520),
          (slice(2, 62), slice(4, 60), slice(3, 513)), ((2, 2), (4, 4), (1, 1)),
          "f32[64,64,512]{2,1,0:T(8,128)}"),
    Chain("pairs of rows, 4 MiB", (4096, 512), (64, 64, 512), (slice(2, 62), slice(4, 60), ALL),
          EIGHT, "bf16[64,64,512]{2,1,0:T(8,128)(2,1)}"),
)  # fmt: skip


def moves(chain: Chain) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    """Return the copy, the kernel and NumPy's steps, after comparing the last two."""
    whole = ml.index_map(chain.target)
    bits = whole.element_type.bits if whole.element_type else 32
    rows = ml.index_map(f"[{', '.join(map(str, range(len(chain.flat))))}]", chain.flat)
    source = rows.view(reshape=chain.split, transpose=(1, 0, 2), index=chain.part)
    ends = zip(chain.pads, whole.shape, strict=True)
    target = whole[tuple(slice(low, n - high) for (low, high), n in ends)]
    kind = np.dtype(f"u{bits // 8}")
    kernel = ml.relayout(source, target).compile(kind, fill=0)
    given, out, flat = (room(n * bits // 8).view(kind) for n in (rows.size, *(whole.size,) * 2))
    given[...] = np.arange(rows.size)

    def steps() -> Any:
        moved = given.reshape(chain.split).transpose(1, 0, 2)[chain.part]
        return ml.pack(whole, np.pad(moved, chain.pads))

    kernel(given, out)
    if (out != steps()).any():
        raise SystemExit(f"{chain.name}: an element moved to a wrong place")
    return (lambda: np.copyto(out, flat)), (lambda: kernel(given, out)), steps


def measure(chain: Chain, rounds: int) -> tuple[float, float]:
    """Return the times of the kernel and of NumPy's steps, by that of the copy."""
    runs = moves(chain)
    calls = 20 if chain.name.endswith("0.5 MiB") else 1
    ratios: list[tuple[float, float]] = []
    for _ in range(rounds):
        taken = []
        for run in runs:
            run()
            start = thread_time()
            for _ in range(calls):
                run()
            taken.append(thread_time() - start)
        ratios.append((taken[1] / taken[0], taken[2] / taken[0]))
    kernel, steps = (statistics.median(each) for each in zip(*ratios, strict=True))
    return kernel, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    sys.stdout.write("| chain | one pass | NumPy's steps |\n|---|---:|---:|\n")
    for chain in CHAINS:
        kernel, steps = measure(chain, given.rounds)
        sys.stdout.write(f"| {chain.name} | {kernel:.2f} | {steps:.1f} |\n")


if __name__ == "__main__":
    main()
