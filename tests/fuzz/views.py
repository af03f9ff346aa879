"""Random chains of views, and relayouts between them, beside NumPy's own indexing.

``python -m tests.fuzz.views --count 100000`` asks for each chain of five views whether the formula,
the simplified formula and the inverse say what NumPy's indexing of the offsets says; every
twentieth time also whether the kernel in Python moves the elements between two chains.
"""

from __future__ import annotations

import argparse
import sys
from time import process_time

from tests.kernels.test_views import check as check_move
from tests.maps.test_view import check_chain
from tests.support.moves import random_move

MOVES_EVERY = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    start = process_time()
    for seed in range(given.first, given.first + given.count):
        check_chain(seed, 5)
        if seed % MOVES_EVERY == 0:
            check_move(random_move(seed))
    sys.stdout.write(f"{given.count} chains agree, {process_time() - start:.0f} s of CPU\n")


if __name__ == "__main__":
    main()
