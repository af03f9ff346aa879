"""Record blocks of GGUF's packed formats and the values that its own package computes.

python -m pip install gguf && python tests/benchmarks/convert_gguf.py

Writes tests/data/records/gguf.npz: by format, random blocks as bytes, and their values. With a
number, ``convert_gguf.py 100000``, it compares the values of so many random blocks instead.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from morello_layouts import record
from morello_layouts.programs.records import formats

HERE = Path(__file__).parents[1] / "data" / "records" / "gguf.npz"
KNOWN = {name.lower(): kind for name, kind in GGMLQuantizationType.__members__.items()}


def main(count: int) -> None:
    random, found = np.random.default_rng(2026), {}
    for name in formats():
        kind = KNOWN.get(name.lower())
        if kind is None:
            continue
        size = GGML_QUANT_SIZES[kind][1]
        blocks = random.integers(0, 256, (count or 8, size), dtype=np.uint8)
        try:
            with np.errstate(all="ignore"):
                values = dequantize(blocks, kind)
        except NotImplementedError:  # blocks that no file stores
            continue
        found[f"{name}.blocks"], found[f"{name}.values"] = blocks, values
        if count:
            start = process_time()
            own = record(name).decode(blocks).reshape(values.shape)
            seconds = process_time() - start
            same = own.view(np.uint32) == values.view(np.uint32)
            same |= np.isnan(own) & np.isnan(values)
            print(
                f"{name}: {count} blocks, {np.count_nonzero(~same)} values differ, {seconds:.2f} s"
            )
            found.clear()
    if not count:
        np.savez_compressed(HERE, **found)
        print(f"{len(found) // 2} formats")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
