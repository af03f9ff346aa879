"""How much memory proofs keep: python tests/benchmarks/proof_memory.py [proofs].

islpy 2026.2.2 frees ISL's objects, but keeps 32 bytes for each one that a call consumes, so memory
grows with the number of ISL's operations; a context is kept too, so a thread has only one.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path

import morello_layouts as ml

SYMBOLIC, OTHER = "f32[M,N]{1,0:T(8,128)}", "f32[M,N]{1,0:T(5,7)}"
NUMBERS = "f32[30,50]{1,0:T(8,128)}"
QUESTIONS: dict[str, Callable[[], object]] = {
    "is_injective": lambda: ml.is_injective(NUMBERS),
    "is_bijective": lambda: ml.is_bijective(NUMBERS),
    "verify": lambda: ml.verify(NUMBERS),
    "are_equivalent": lambda: ml.are_equivalent(NUMBERS, "f32[30,50]{1,0}"),
    "is_surjective, names": lambda: ml.is_surjective(SYMBOLIC),
    "are_equivalent, names": lambda: ml.are_equivalent(SYMBOLIC, OTHER),
    "is_bijective, formula": lambda: ml.is_bijective(
        ml.from_sympy({"shape": (30, 50), "size": 1500}, "50*d0 + d1")
    ),
}


def kilobytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for name, ask in QUESTIONS.items():
        for _ in range(50):
            ask()
        before = kilobytes()
        for _ in range(count):
            ask()
        print(f"{name:24} {(kilobytes() - before) / count:6.2f} KB a question")  # noqa: T201


if __name__ == "__main__":
    main()
