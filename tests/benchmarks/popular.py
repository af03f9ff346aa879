"""The layouts of ``formats.py`` that are measured, and the measures that the benchmarks share.

Times are processor time. The work runs on one thread, so that is the time that passes on an idle
machine, and other work on the machine matters less.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from time import process_time

from sympy.core.cache import clear_cache

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap

sys.path.append(str(Path(__file__).parent))

from formats import FORMATS

Layout = tuple[str, str, tuple[int, ...] | None]

POPULAR: tuple[Layout, ...] = tuple(
    (one.name, *one.sized(one.large)) for one in FORMATS if one.large is not None
)


def formula(layout: Layout) -> IndexMap:
    """From text to the simplified formula; nothing is kept from one call to the next."""
    _, text, shape = layout
    m = ml.index_map(text, shape)
    m.form  # noqa: B018
    return m


def expression(layout: Layout) -> object:
    """From text to the simplified formula as SymPy has it."""
    return formula(layout).expr


def forget() -> None:
    """Empty SymPy's cache, the only one on the way."""
    clear_cache()


def median_seconds(call: object, *, rounds: int, before: object = None) -> float:
    """The median time of one call, ``before`` called in advance of each and not counted."""
    assert callable(call)
    times = []
    for _ in range(rounds):
        if callable(before):
            before()
        start = process_time()
        call()
        times.append(process_time() - start)
    return statistics.median(times)
