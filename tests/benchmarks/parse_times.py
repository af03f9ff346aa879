"""Print what parse and index_map cost beside another version of the package, by processor time.

    python tests/benchmarks/parse_times.py FOLDER [notation …]

FOLDER is a checkout of the other version. Two processes answer in turns of some milliseconds, so
that both have the same share of a busy machine; each time is the least of many turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from math import exp, log
from pathlib import Path

BLOCKED = (
    "tensor<32x16xf32, #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], "
    "warpsPerCTA = [4, 1], order = [1, 0]}>>"
)
TEXTS = {
    "xla": [
        ("bf16[10,200]{1,0:T(8,128)(2,1)}", None), ("f32[2,3]", None),
        ("{1,0:T(8,128)}", (10, 200)),
        ("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)S(1)}", None), ("f32[M,N]{1,0:T(8,128)}", None),
        ("f32[4,6,5]{2,1,0:T(*,2,3)}", None), ("s32[4,<=8]{1,0:T(8,128)L(128)E(4)}", None),
    ],
    "onednn": [
        ("aBcd16b", (2, 20, 3, 4)), ("nChw16c", (2, 20, 3, 4)), ("OIhw4i16o4i", (20, 20, 3, 4)),
        ("abcd", (2, 3, 4, 5)),
    ],
    "tvm": [
        ("NCHW16c", (2, 20, 3, 4)), ("NCHW", (2, 20, 3, 4)), ("OIHW16i16o", (20, 20, 3, 3)),
        ("lambda i, j: (i//16, j, i%16)", (20, 4)),
    ],
    "einops": [
        ("(h p) w -> h w p, p=2", (6, 5)), ("b h w -> (w b) h", (2, 3, 4)),
        ("b (h p) (w q) c -> b (h w) (p q c), p=2, q=2", (2, 4, 4, 3)),
    ],
    "strided": [
        ("strided<[5, 1], offset: 2>", (3, 4)), ("channels_last", (2, 3, 4, 4)),
        ("strided<[LD, 1]>", (3, 4)),
    ],
    "named": [("mx128x4", (40, 36)), ("COL32", (40, 36)), ("row-major", (3, 4))],
    "mlir": [
        ("memref<3x5xf32, affine_map<(d0, d1) -> (d1, d0)>>", None),
        ("memref<3x5xf32, strided<[5, 1]>>", None),
        ("outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]", (13, 15)),
    ],
    "cute": [
        ("((4,2),8):((1,32),4)", None), ("(4,3):(2@1,1@0)", None),
        ("Sw<3,3,3> o 0 o (8,64):(64,1)", None),
    ],
    "morello": [("[1, 0, 1 p(4)]", (6, 8)), ("[0, 1, 0 p(2), 1 p(3)]", (8, 9)),
                ("[0 oe(4), 1]", (4, 3))],
    "triton": [(BLOCKED, None)],
    "fragment": [("SM80_16x8x16_F32F16F16F32_TN A", None)],
    "sharding": [("f32[10,16]{1,0:T(8,128)}, {devices=[4,2]<=[8]}", None)],
}  # fmt: skip
TURNS = 40
SECONDS = 0.004


def serve(folder: str) -> None:
    """Answer questions with the package of a folder: a function, a text and a shape a line."""
    sys.path.insert(0, folder)
    import morello_layouts as ml
    from morello_layouts.notations.registry import parse

    for line in sys.stdin:
        name, text, shape = json.loads(line)

        def ask(name: str = name, text: str = text, shape: object = shape) -> object:
            return parse(text) if name == "parse" else ml.index_map(text, shape)

        times = []
        spent = 0.0
        while spent < SECONDS:
            before = time.thread_time()
            ask()
            times.append(time.thread_time() - before)
            spent += times[-1]
        sys.stdout.write(f"{min(times)}\n")
        sys.stdout.flush()


def main() -> None:
    """Print a line for each notation and function: both times, and the mean of their ratios."""
    other, *names = sys.argv[1:]
    folders = (str(Path(other).resolve()), str(Path(__file__).resolve().parents[2]))
    both = [
        subprocess.Popen(
            [sys.executable, __file__, "--serve", folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
        )
        for folder in folders
    ]  # fmt: skip
    for notation in names or TEXTS:
        for function in ("parse", "index_map"):
            ratios, sums, slowest = [], [0.0, 0.0], (0.0, "")
            for text, shape in TEXTS[notation]:
                best = [1.0, 1.0]
                for _ in range(TURNS):
                    for k, process in enumerate(both):
                        assert process.stdin is not None
                        assert process.stdout is not None
                        process.stdin.write(json.dumps([function, text, shape]) + "\n")
                        process.stdin.flush()
                        best[k] = min(best[k], float(process.stdout.readline()))
                ratios.append(best[1] / best[0])
                slowest = max(slowest, (ratios[-1], text))
                sums = [one + more * 1e6 for one, more in zip(sums, best, strict=True)]
            mean = exp(sum(map(log, ratios)) / len(ratios))
            before, after = (total / len(ratios) for total in sums)
            sys.stdout.write(
                f"{notation:9} {function:9} {before:8.1f} {after:8.1f} us, "
                f"ratio {mean:.2f}, worst {slowest[0]:.2f} {slowest[1][:40]}\n"
            )
            sys.stdout.flush()
    for process in both:
        process.kill()
        process.wait()


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1] == "--serve" else main()
