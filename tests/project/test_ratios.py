"""The comparison of two commits: what fails it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tests.benchmarks.ratios import slower


def test_only_what_is_slower_twice_fails() -> None:
    asked: list[tuple[str, ...]] = []
    noise = itertools.count()

    def ask(side: str, names: Iterable[str]) -> dict[str, float]:
        asked.append(tuple(names))
        every = {"same": 2.0, "once": 1.0, "always": 3.0, "faster": 4.0}
        if side == "after":
            every |= {"always": 3.6, "faster": 2.0, "once": 1.5 if next(noise) < 2 else 1.0}
        return {name: taken for name, taken in every.items() if name in (asked[-1] or every)}

    every, worse = slower(ask, 2)
    assert every == {"same": 1.0, "once": 1.0, "always": 1.2, "faster": 0.5}
    assert worse == {"always": 1.2}
    assert set(asked) == {(), ("once", "always")}
