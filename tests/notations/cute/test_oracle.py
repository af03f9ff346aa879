"""CuTe's own C++: the unit tests of its algebra, and random layouts."""

from __future__ import annotations

import json
from typing import Any

import morello_layouts as ml
from morello_layouts.notations import cute
from morello_layouts.notations.cute import CuteLayout
from tests.support.paths import DATA
from tests.support.tables import each_row

Row = dict[str, Any]


def rows_of(name: str) -> list[Row]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


CORE = [row for row in rows_of("cute_core_tests.jsonl") if "Sw<" not in row["A"]]


def parsed(text: str) -> CuteLayout:
    layout = ml.parse(text, "cute")
    assert isinstance(layout, CuteLayout)
    return layout


def test_the_table_is_complete() -> None:
    """Three rows have swizzles, which are not read."""
    assert len(CORE) == 129


@each_row("row", CORE, ids=lambda row: f"{row['op']} {row['A']} {row.get('B', '')}")
def test_unit_tests(row: Row) -> None:
    name = {"inverse_left": "left_inverse", "inverse_right": "right_inverse"}.get(row["op"])
    arguments = [row[key] for key in ("A", "B", "cotarget") if key in row]
    assert str(getattr(cute, name or row["op"])(*arguments)) == row["R"]
    if row["op"] == "composition":
        a, b = map(parsed, arguments)
        assert [a(b(i)) for i in range(b.size)] == [parsed(row["R"])(i) for i in range(b.size)]
