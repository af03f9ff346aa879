"""The links from the documentation's code to the explorer."""

from __future__ import annotations

import importlib.util

import pytest

from morello_layouts.explorer.subject import Question
from tests.support.paths import ROOT
from tests.support.tables import each_row

pytest.importorskip("docutils", reason="the group docs is not installed")

_spec = importlib.util.spec_from_file_location(
    "explorer_links", ROOT / "docs" / "_ext" / "explorer_links.py"
)
assert _spec is not None
assert _spec.loader is not None
links = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(links)


@each_row(
    ("block", "questions"),
    [
        ('>>> ml.draw("f32[3,5]{1,0:T(2,2)}")', [Question("f32[3,5]{1,0:T(2,2)}")]),
        ('ml.index_map("[1, 0, 1 p(4)]", (6, 8))', [Question("[1, 0, 1 p(4)]", shape="6x8")]),
        ("f('[0, 1]', shape=('M', 'N'))", [Question("[0, 1]", shape="M,N")]),
        ('$ morello-layouts explain "[1, 0]" --shape 6x8', [Question("[1, 0]", shape="6x8")]),
        ('g("f32[2,3]", "f32[2,3]", "u8[4]")', [Question("f32[2,3]"), Question("u8[4]")]),
        ('ml.parse("[1, 0]")', []),  # no sizes
        ('print("no layout", "d0 + 1", "f32[3,")', []),
    ],
)
def test_layouts_in_a_block_of_code(block: str, questions: list[Question]) -> None:
    assert links.questions(block) == questions
