"""Record blocks of GGUF's packed formats and the values that its own package computes.

python -m pip install gguf && python tests/benchmarks/convert_gguf.py

Writes tests/data/records/gguf.npz: by format, random blocks as bytes, and their values.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

from morello_layouts.programs.records import formats

HERE = Path(__file__).parents[1] / "data" / "records" / "gguf.npz"


def main() -> None:
    random, found = np.random.default_rng(2026), {}
    known = {name.lower(): kind for name, kind in GGMLQuantizationType.__members__.items()}
    for name in formats():
        if name.lower() in known:
            kind = known[name.lower()]
            blocks = random.integers(0, 256, (8, GGML_QUANT_SIZES[kind][1]), dtype=np.uint8)
            with np.errstate(all="ignore"):
                found[f"{name}.blocks"], found[f"{name}.values"] = blocks, dequantize(blocks, kind)
    np.savez_compressed(HERE, **found)
    print(f"{len(found) // 2} formats")


if __name__ == "__main__":
    main()
