"""Ask all pairs of public functions first, from two threads, each pair in a fresh process.

``python tests/benchmarks/cold_starts.py`` asks all pairs, ``--sample 300`` some of them, at random.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
import random
import subprocess
import sys
from itertools import combinations_with_replacement

HLO = "HloModule m\\n\\nENTRY e {\\n  p = f32[8,16]{1,0:T(8,128)} parameter(0)\\n}\\n"
TILED, SHARDED = "'f32[10,200]{1,0:T(8,128)}'", "'f32[8,16], {devices=[2,1]<=[2]}'"
QUESTIONS = (
    *(
        f"{name}({TILED})"
        for name in ("prove", "is_injective", "is_surjective", "is_bijective", "verify")
    ),
    *(f"{name}({TILED})" for name in ("index_map", "explain", "code", "parse", "loops", "draw")),
    *(f"{name}({TILED})" for name in ("certificate", "convert_all")),
    "is_bijective('f32[M,N]{1,0:T(8,3)}')",
    "agree('[0, 1, 0 p(4)]', '[0, 1]', (16, 8))",
    "equal('[0, 1]', '{1,0}', (4, 6))",
    "alignment('f32[4,6]{1,0}')",
    "bitcast('f32[4,6]{1,0}', 'f32[24]{0}')",
    "convert('{1,0}', 'cute', (4, 8))",
    "from_sympy({'i': 4}, 'i + 1')",
    "simplify('(8*i + j)//8', {'j': (0, 7)})",
    "indexing_map('(d0) -> (d0 floordiv 2), domain: d0 in [0, 7]')",
    "pack('{1,0:T(2,4)}', __import__('numpy').zeros((4, 8)))",
    "relayout('{1,0}', '{0,1}', (4, 8))",
    "banks('f32[32,32]', 'column')",
    "best_swizzle((64, 64), 16, ['row.b128', 'ldmatrix'])",
    "coalescing('f32[32,32]', 'column')",
    "vector_width('f32[8,32]{1,0}', 1)",
    "fragments('mma.m16n8k16')",
    f"shards({SHARDED})",
    f"reshard({SHARDED}, {SHARDED})",
    "rematerializations('')",
    "sharding('{devices=[2,1]<=[2]}')",
    f"read_hlo('{HLO}')",
    f"diagnose('{HLO}')",
    f"hlo('{HLO}')",
    f"memory('{HLO}')",
    r"read_mlir('module {\n}\n')",
    f"compare_hlo('{HLO}', '{HLO}')",
    "oom('out of memory')",
    "tpu.default_layout('f32', (8, 128), 'v5e')",
    "cache_lines('f32[8,32]{1,0}', 'row')",
    "register_relayout('mma.m16n8k16 A', 'mma.m16n8k16 A')",
    "unpack('{1,0:T(2,4)}', __import__('numpy').zeros(32), (4, 8))",
    "record('q4_0[B]')",
    "recover([0, 1, 2, 3])",
    "read_weights('model.safetensors.index.json')",
    "diagnose_many([])",
    "exercises.row_by_row('4*i + j')",
    "gpu",
    "picture.Picture",
    "MorelloLayout",
)

_CODE = """
import sys, threading, traceback
import morello_layouts as ml
start, failed = threading.Barrier(2), []
def ask(question):
    code = compile("ml." + question, question, "eval")
    start.wait()
    try:
        eval(code)
    except (ml.LayoutError, TypeError, ValueError, OSError):
        pass
    except BaseException:
        failed.append(traceback.format_exc())
threads = [threading.Thread(target=ask, args=(q,), daemon=True) for q in sys.argv[1:]]
for each in threads: each.start()
for each in threads: each.join(100)
if failed or any(each.is_alive() for each in threads):
    sys.exit("".join(failed) or "a thread hangs")
"""


def failure(one: str, other: str) -> str | None:
    """Return how two questions failed that two threads ask first; None if both have an answer."""
    run = subprocess.run(
        [sys.executable, "-c", _CODE, one, other], capture_output=True, text=True, check=False
    )
    return (run.stderr or "it ended") if run.returncode else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="pairs; by default all")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    pairs = [*combinations_with_replacement(QUESTIONS, 2)]
    if given.sample:
        pairs = random.Random(given.seed).sample(pairs, given.sample)
    failed = 0
    for pair in pairs:
        found = failure(*pair)
        if found is not None:
            failed += 1
            print(*pair, found, sep="\n", flush=True)
    print(f"{failed} of {len(pairs)} pairs failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
