"""What slow tests ask of a sample, asked of all.

    python -m tests.fuzz.more pairs expressions

Without words, everything: an hour. Ends at the first failure.
"""
# ruff: noqa: T201

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from tests.expr.test_sympy_functions import fuzzed, inverses, require_c_values, wrong
from tests.gpu.test_swizzle import tiles_without_conflicts
from tests.kernels import test_sized
from tests.kernels.test_pairs import CASES
from tests.proof.test_checker import recorded
from tests.support.forgeries import judged
from tests.support.kernel_runs import QUICK, run_all


def pairs() -> None:
    """Compile and run a kernel for every pair and size of element, without vectors too."""
    for part, more in itertools.product(range(16), ((), ("-DRELAYOUT_VECTOR=0",))):
        with TemporaryDirectory() as folder:
            run_all(CASES[part::16], Path(folder), "gcc", *QUICK, *more)


def sized_kernels() -> None:
    """Compile and run a kernel for all sizes of every pair, with streaming stores and without."""
    for stream in (1 << 12, 1 << 60):
        with TemporaryDirectory() as folder:
            run_all(test_sized.CASES, Path(folder), "gcc", *QUICK, near=stream)


def expressions() -> None:
    """Do to random expressions of SymPy what users do."""
    assert wrong(fuzzed(2, 1200)) == []


def c_code() -> None:
    """Compile random expressions as SymPy prints them in C."""
    with TemporaryDirectory() as folder:
        require_c_values(itertools.chain(fuzzed(3, 300), inverses()), Path(folder))


def tiles() -> None:
    """Look for a better swizzle of random tiles."""
    assert 100 < tiles_without_conflicts(200) < 190


def certificates() -> None:
    """Mutate recorded certificates."""
    print(dict(judged(recorded(), range(10_000), 2)))


ALL: dict[str, Callable[[], None]] = {
    act.__name__: act for act in (pairs, sized_kernels, expressions, c_code, tiles, certificates)
}


def main() -> None:
    """Run what is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*ALL, []], default=[*ALL])
    for name in parser.parse_args().names:
        began = process_time()
        ALL[name]()
        print(f"{name}: right, {process_time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
