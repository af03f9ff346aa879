"""How long things may take, asserted: ``python -m pytest tests/benchmarks/test_times.py -n 0``.

The tests proper assert no time, since a busy machine would fail them; run this one on an idle one.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, process_time

import pytest

import morello_layouts as ml
from morello_layouts.interfaces.explorer.server import Server, asked
from morello_layouts.interfaces.explorer.subject import Question
from morello_layouts.outputs.picture import fitted_view
from tests.expr.test_growth import TARGETS, digits_of_many_sums, digits_of_many_variables, one_sum
from tests.hlo.test_errors import rubbish
from tests.notations.test_rubbish import LONG
from tests.support import fuzz_hlo
from tests.support.presets import PRESETS

HUGE = f"u8[{2**62},{2**62},{2**62}]{{2,1,0:T(8,128)(4,1)}}"
ENDLESS = "f32[100000,100000]{1,0:T" + "(3,7)(2,5)" * 20 + "}"


def best(work: Callable[[], object], tries: int = 1) -> float:
    """The least processor time of a few tries, in seconds."""
    times = []
    for _ in range(tries):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def read(text: str) -> None:
    with suppress(ml.LayoutError):
        ml.parse(text)


@pytest.mark.parametrize("name", LONG)
def test_ten_kilobytes_are_read_or_refused_within_a_second(name: str) -> None:
    assert best(lambda: read(LONG[name])) < 1


@pytest.mark.parametrize("part", ["[", "([0", "0 p(4),", "0,", "N", "9", "[0, 1]", "oe(2)", " "])
def test_ten_kilobytes_of_morello_rubbish_are_refused_within_a_second(part: str) -> None:
    assert best(lambda: read((part * 10_000)[:10_000])) < 1


@pytest.mark.parametrize(
    "name", ["many tiles", "many sizes", "a long tile", "a size", "many splits"]
)
def test_index_maps_of_ten_kilobytes_within_a_second(name: str) -> None:
    def mapped() -> None:
        with suppress(ml.LayoutError):
            str(ml.index_map(LONG[name]))

    assert best(mapped) < 1


@pytest.mark.parametrize("text", [*rubbish()], ids=range(32))
def test_long_rubbish_for_the_hlo_reader_is_refused_in_three_seconds(text: str) -> None:
    assert best(lambda: fuzz_hlo.outcome(text)) < 3


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("family", [digits_of_many_variables, digits_of_many_sums, one_sum])
def test_500_terms_are_simplified_in_4_seconds(
    family: Callable[[int], object], target: str
) -> None:
    form = family(500 if family is one_sum else 250)
    assert best(lambda: TARGETS[target](form)) <= 4  # a guard; docs/simplifier.md has the times


def test_32x128_cells_are_drawn_in_half_a_second() -> None:
    m = ml.index_map("bf16[32,128]{1,0:T(8,128)(2,1)}")
    assert best(lambda: ml.draw(m).svg(), 3) < 0.5


def test_pictures_of_huge_arrays_are_quick() -> None:
    picture = ml.draw(HUGE)
    assert best(lambda: (picture.svg(), picture.html())) < 2
    assert best(lambda: fitted_view(ml.index_map(HUGE), ("z", "y", "x"), 100)) < 1


def test_generating_a_kernel_takes_under_50_ms() -> None:
    r = ml.relayout("[0, 1]", "{1,0:T(8,128)(2,1)}", (4001, 3999))
    assert best(lambda: r.kernel("c", "uint16"), 5) < 0.050


def test_the_command_explains_in_two_seconds_of_processor_time() -> None:
    def spent() -> float:
        times = os.times()
        return times.children_user + times.children_system

    before = spent()
    text = "bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)S(1)}"
    command = [sys.executable, "-m", "morello_layouts", "explain", text]
    subprocess.run(command, check=True, capture_output=True)
    assert spent() - before < 2


def seconds(server: Server, question: Question) -> float:
    start = perf_counter()
    asked(server.port, question)
    return perf_counter() - start


def test_the_explorer_answers_popular_layouts_in_a_tenth_of_a_second() -> None:
    with Server(0) as server:
        server.start()
        times = [
            min(seconds(server, Question.of(one["question"])) for _ in range(4)) for one in PRESETS
        ]
        assert statistics.median(times) < 0.1


def test_the_explorer_answers_within_two_seconds_whatever_is_asked() -> None:
    with Server(0) as server:
        server.start()
        assert seconds(server, Question(ENDLESS)) < 2
        assert seconds(server, Question("f32[3,5]{1,0:T(2,2)}")) < 2
