"""CuTe's own C++: the unit tests of its algebra, and random layouts."""

from __future__ import annotations

from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.notations import cute
from morello_layouts.notations.cute import CuteLayout
from tests.support.paths import rows
from tests.support.tables import each_row

Row = dict[str, Any]


CORE = rows("cute_core_tests.jsonl")
RANDOM = rows("cute_random.jsonl")


def parsed(text: str) -> CuteLayout:
    layout = ml.parse(text, "cute")
    assert isinstance(layout, CuteLayout)
    return layout


def test_the_table_is_complete() -> None:
    assert len(CORE) == 132
    assert len(RANDOM) == 1130
    assert len({row["op"] for row in RANDOM}) == 18


@each_row("row", CORE, ids=lambda row: f"{row['op']} {row['A']} {row.get('B', '')}")
def test_unit_tests(row: Row) -> None:
    name = {"inverse_left": "left_inverse", "inverse_right": "right_inverse"}.get(row["op"])
    arguments = [row[key] for key in ("A", "B", "cotarget") if key in row]
    assert str(getattr(cute, name or row["op"])(*arguments)) == row["R"]
    if row["op"] == "composition" and "Sw<" not in row["A"]:
        a, b = map(parsed, arguments)
        assert [a(b(i)) for i in range(b.size)] == [parsed(row["R"])(i) for i in range(b.size)]


def has_negative_size(text: str) -> bool:
    return "-" in text.partition(":")[0]


def is_composition(a: str, b: str, result: str) -> bool:
    left, right, found = map(parsed, (a, b, result))
    if found.size != right.size or "@" in b:  # a coordinate may have fewer modes than ``left``
        return found.size == right.size
    return all(found(k) == left(right(k)) for k in range(right.size))


@each_row("row", RANDOM, ids=lambda row: f"{row['op']} {row['args']}", fast=8)
def test_random_layouts(row: Row) -> None:
    """Expect what C++ gives; a refusal where it refuses, and where what it gives is wrong.

    It does not see that sizes or strides do not divide each other if they are dynamic, and makes
    negative sizes of the complement of negative strides.
    """
    function, arguments, result = getattr(cute, row["op"]), row["args"], row["R"]
    if row["op"] == "composition" and result is not None and not is_composition(*arguments, result):
        result = None
    if result is not None and has_negative_size(result) and row["op"] != "left_inverse":
        result = None
    if result is None:
        with pytest.raises(ml.LayoutError):
            function(*arguments)
    else:
        assert str(function(*arguments)) == result


@each_row("row", [row for row in RANDOM if row["op"] == "filter"], ids=lambda row: row["args"][0])
def test_layouts_are_read_and_printed(row: Row) -> None:
    (text,) = row["args"]
    assert str(parsed(text)) == text
