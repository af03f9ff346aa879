"""How long the main job takes; needs the extra ``bench``.

Run it by ``python -m pytest tests/benchmarks/test_benchmarks.py``.

The aims are those of docs/benchmarks.md. They are asserted loosely, on the median over all
layouts, so that a slow machine fails only where something has grown slow.
"""

from __future__ import annotations

import statistics
from time import process_time
from typing import Any

import pytest
from popular import POPULAR, expression, forget, formula, median_seconds

import morello_layouts as ml

pytestmark = pytest.mark.benchmark(timer=process_time)

by_layout = pytest.mark.parametrize("layout", POPULAR, ids=[name for name, *_ in POPULAR])


@by_layout
def test_formula(benchmark: Any, layout: Any) -> None:
    benchmark.pedantic(formula, (layout,), rounds=100, warmup_rounds=3)


@by_layout
def test_expression(benchmark: Any, layout: Any) -> None:
    benchmark.pedantic(expression, (layout,), setup=forget, rounds=50, warmup_rounds=2)


@by_layout
def test_is_bijective(benchmark: Any, layout: Any) -> None:
    m = formula(layout)
    proof = benchmark.pedantic(ml.is_bijective, (m,), rounds=50, warmup_rounds=2)
    assert proof.holds is not None
    assert benchmark.stats["median"] < 0.010


def test_the_median_formula_takes_half_a_millisecond() -> None:
    medians = [median_seconds(lambda x=x: formula(x), rounds=30) for x in POPULAR]
    assert statistics.median(medians) < 0.0005


def test_the_median_expression_takes_three_milliseconds() -> None:
    medians = [median_seconds(lambda x=x: expression(x), rounds=20, before=forget) for x in POPULAR]
    assert statistics.median(medians) < 0.003
