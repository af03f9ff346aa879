"""Repack weights of GGUF's q4_0 into other formats, beside memcpy and a transposition of bytes.

The last figure is that of the text as it is, by cc -O3 without -march.

python tests/benchmarks/convert_repacking.py 4096 4096    # outputs, inputs
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from ctypes import CDLL, c_void_p
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

import morello_layouts as ml

KEYS = {"awq": "n b l -> (b l) n", "gptq": "n b l -> (b l) n", "marlin": "n b l -> (b l) n"}


def best(call: Callable[[], object]) -> float:
    """The shortest of 15 calls, in seconds."""
    found = []
    for _ in range(15):
        start = perf_counter()
        call()
        found.append(perf_counter() - start)
    return min(found)


def as_text(text: str, data: np.ndarray, out: np.ndarray) -> float:
    """The seconds of a kernel that a user's own build compiles."""
    scratch = np.empty_like(out)
    with TemporaryDirectory() as folder:
        path = Path(folder, "move.c")
        path.write_text(text)
        built = path.with_suffix(".so")
        run(["cc", "-O3", "-fPIC", "-shared", path, "-o", built], check=True)
        move = CDLL(str(built)).relayout
    places = [c_void_p(array.ctypes.data) for array in (out, data, scratch)]
    return best(lambda: move(*places))


def main(rows: int, columns: int) -> None:
    source = ml.record("q4_0[N, B]").at(N=rows, B=columns // 32)
    data = np.random.default_rng(0).integers(0, 256, source.byte_size, np.uint8)
    out = np.empty(rows * columns // 2, np.uint8)
    same = np.empty_like(out)
    copy = best(lambda: np.copyto(out, same))
    turn = ml.relayout("[0, 1]", "[1, 0]", (rows, columns // 2)).compile("uint8")
    bytes_only = best(lambda: turn(same, out))
    print(
        f"{out.nbytes:,} bytes: memcpy {copy * 1e3:.2f} ms, bytes turned {bytes_only * 1e3:.2f} ms"
    )
    for name, pattern in KEYS.items():
        kernel = source.repack(ml.record(name).at(K=columns, N=rows), pattern)
        move = kernel.compile()
        seconds = best(lambda move=move: move(data, out))
        speed = f"{seconds * 1e3:.2f} ms, {out.nbytes / seconds / 1e9:.1f} GB/s"
        beside = f"{seconds / bytes_only:.1f} times the bytes, {seconds / copy:.0f} times memcpy"
        plain = as_text(kernel.text(), data, out)
        print(f"q4_0 to {name}: {speed}, {beside}; as text {plain * 1e3:.2f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3] or (4096, 4096)))
