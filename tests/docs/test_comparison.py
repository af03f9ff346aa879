"""The comparison with other systems is of the formats that there are, and its sums are right."""

from __future__ import annotations

import re

import numpy as np
import peer_tasks
import pytest
from formats import FORMATS, Format
from layout_peers import (
    PAGE,
    SHOWN,
    NoDigitsError,
    by_unit,
    digits_of,
    marks,
    recorded,
    term_parts,
    terms,
)

import morello_layouts as ml
from tests.support.tables import each_row


def part(name: str) -> str:
    """A generated part of the page."""
    before, after = marks(name)
    return PAGE.read_text(encoding="utf-8").partition(before)[2].partition(after)[0].strip()


def prose() -> str:
    """Both pages about other systems, in one line."""
    return " ".join(" ".join(each.read_text("utf-8").split()) for each in (PAGE, peer_tasks.PAGE))


def rows() -> dict[str, list[str]]:
    """The cells of the table of formats, by name."""
    lines = [line for line in part("formats").splitlines() if line.startswith("| ")][2:]
    return {cells[1]: cells[2:6] for cells in (re.split(r"\s*\|\s*", line) for line in lines)}


def test_the_table_has_formats_of_the_gallery() -> None:
    assert list(rows()) == [one.name for one in FORMATS if one.name in SHOWN], (
        "run: python tests/benchmarks/layout_peers.py --write, with the peers installed"
    )


def test_the_recorded_costs_are_those_of_the_cases() -> None:
    assert part("recorded") == recorded()


def test_the_page_counts_as_its_table_does() -> None:
    table, outside = rows(), "combined dims"  # "All but one"
    without = [{name for name in table if table[name][k].startswith("no")} for k in (2, 3)]
    assert without == [{outside}] * 2
    within = len(FORMATS) - 1
    counts = f"{len(FORMATS)} formats: CuTe says {within} of them in one layout, einops {within} in"
    assert counts in part("formats")
    assert not any("wrong" in cell for cells in table.values() for cell in cells)


def test_numbers_of_the_prose_are_those_of_the_simplifier_s_table() -> None:
    """Cost and median of each simplifier, by the table of docs/simplifier_measured.md."""
    table = (PAGE.parent / "simplifier_measured.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| ([\w]+) \| [^|]+ \|[^|]*\| (\d+) \| 0 \| (\d+) \|", table, re.M)
    cost = {name: int(n) for name, n, _ in found}
    median = {name: int(n) for name, _, n in found}
    page = prose()
    ours = f"{cost['readable']} (`readable`) and {cost['cheapest']} (`cheapest`)"
    assert f"Ours cost {ours}" in page
    assert (
        f"{cost['TVM']} against {cost['readable']}, and {cost['cheapest']} for `cheapest`" in page
    )
    assert f"{cost['ISL']} on the 54 cases" in page
    assert f"against our {cost['cheapest']}" in page
    assert f"its answers cost {cost['tinygrad']}, and it is slower" in page
    assert median["TVM"] < median["readable"] < median["tinygrad"]  # "faster", "slower"


def test_versions_of_the_prose_are_those_that_ran() -> None:
    """By the line above the table of formats, and for tinygrad by the simplifier's table."""
    table = (PAGE.parent / "simplifier_measured.md").read_text(encoding="utf-8")
    page = prose()
    heads = part("formats").split("\n\n")[0] + " " + tasks()[0] + " "
    ran = dict(re.findall(r"([a-z-]+) (\d[\w.]+)(?=[,.] )", heads))
    ran |= dict(re.findall(r"\| (tinygrad) ([\d.]+) \|", table))
    said = dict(re.findall(r"Run: `?([a-z-]+)`? (\d[\w.]*\w)", page))
    assert set(said) >= {"tensor-layouts", "apache-tvm", "islpy", "tinygrad", "einops", "triton"}
    assert {name: version for name, version in said.items() if name in ran} == {
        name: ran[name] for name in said if name in ran
    }
    assert set(said) - set(ran) <= {"oneDNN"}


def tasks() -> list[str]:
    """The lines that peer_tasks.py wrote: versions, an empty one, and two tables."""
    page = peer_tasks.PAGE.read_text(encoding="utf-8")
    made = re.search(r"<!-- begin tasks: .*? -->\n(.*?)\n<!-- end tasks", page, re.DOTALL)
    assert made
    return made[1].splitlines()


def test_the_page_has_the_tasks_and_systems_of_the_script() -> None:
    head, _, *rows = (line[2:-2].split(" | ") for line in tasks()[2:])
    assert head[1:] == list(peer_tasks.SYSTEMS)
    said = [row[0] for row in rows[: len(peer_tasks.TASKS)]]
    assert said == list(peer_tasks.TASKS.values())


def test_our_column_of_the_tasks() -> None:
    ours = peer_tasks.ours()
    assert {peer_tasks.answer(ours, name) for name in peer_tasks.TASKS if name != "C"} == {"yes"}


@each_row("one", FORMATS, ids=lambda one: one.slug)
def test_digits_are_those_of_the_offsets(one: Format) -> None:
    """What CuTe and einops are given: the digits of each dimension, with their strides."""
    m = one.index_map(one.at)
    try:
        digits = digits_of(m.recipe)
    except NoDigitsError:
        assert one.name == "combined dims"
        return
    coordinates, offset = np.indices(m.shape), np.zeros(m.shape, int)
    for digit in digits:
        offset += coordinates[digit.dim] // digit.unit % digit.radix * digit.stride
    assert np.array_equal(offset, m(*np.indices(m.shape)))
    for dim in range(len(m.shape)):
        low = by_unit(digits, dim)
        assert [d.unit for d in low] == [
            int(np.prod([e.radix for e in low[:k]])) for k in range(len(low))
        ]


@each_row("one", FORMATS, ids=lambda one: one.slug)
def test_terms_are_those_of_the_formula(one: Format) -> None:
    """What TVM is given: factor, variable, divisor and modulus of each term."""
    m = one.index_map(one.at)
    if one.name == "combined dims":
        with pytest.raises(ValueError, match="d3"):
            [term_parts(text) for text in terms(m)]
        return
    coordinates, offset = np.indices(m.shape), np.zeros(m.shape, int)
    for factor, dim, divisor, modulus in map(term_parts, terms(m)):
        value = coordinates[dim] // divisor
        offset += factor * (value % modulus if modulus else value)
    assert np.array_equal(offset, m(*np.indices(m.shape)))


def test_a_joint_is_not_cut_across() -> None:
    halves = digits_of(ml.index_map("f32[4,6]{1,0:T(*,6)}").recipe)
    assert [(str(digit), digit.radix) for digit in halves] == [("d0", 4), ("d1%6", 6)]
    with pytest.raises(NoDigitsError, match="cuts across"):
        digits_of(ml.index_map("f32[4,6]{1,0:T(*,4)}").recipe)
    with pytest.raises(NoDigitsError, match="pads"):
        digits_of(ml.index_map("f32[4,6]{1,0:T(*,5)}").recipe)
