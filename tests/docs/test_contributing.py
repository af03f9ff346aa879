"""The notation of the contributing guide runs as it stands there, and is oneDNN's."""

from __future__ import annotations

import doctest
import re
import sys
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.paths import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def guide() -> dict[str, Any]:
    """What the guide's first block defines."""
    module = sys.modules["contributing"] = ModuleType("contributing")  # dataclasses look it up
    exec(compile(BLOCKS[0], "CONTRIBUTING.md", "exec"), vars(module))
    return vars(module)


@pytest.fixture(name="tag", scope="module")
def _tag() -> Any:
    return guide()["BlockedTag"]


def test_the_notation_has_50_lines() -> None:
    assert "50 lines" in GUIDE
    assert len(BLOCKS[0].splitlines()) <= 50
    assert max(map(len, BLOCKS[0].splitlines())) <= 100


def test_the_examples_are_as_shown() -> None:
    test = doctest.DocTestParser().get_doctest(BLOCKS[1], guide(), "CONTRIBUTING.md", None, 0)
    assert test.examples
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)


def test_offsets_are_those_of_onednn(tag: Any) -> None:
    """offset_nChw16c(n, c, h, w), as oneDNN's developer guide has it for blocks of 8."""
    shape = n, c, h, w = 2, 20, 3, 4
    blocks = -(-c // 16)
    m = ml.index_map(tag("aBcd16b"), shape)
    for at in product(*map(range, shape)):
        i, k, y, x = at
        whole = i * blocks * h * w * 16 + (k // 16) * h * w * 16 + y * w * 16 + x * 16
        assert m(*at) == whole + k % 16
    assert m.size == n * blocks * 16 * h * w


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a", (5,)),
        ("ba", (3, 4)),
        ("acdb", (2, 3, 4, 5)),
        ("aBcd16b", (2, 20, 3, 4)),
        ("AB8b4a", (7, 9)),
        ("ABcd4b16a4b", (20, 18, 2, 3)),
        ("BA2a3b2a", (7, 8)),
        ("aB8b", ("M", "N")),
        ("ABc4b8a2b", ("M", "N", 3)),
    ],
)
def test_recipe_textbook_formula_and_way_back_agree(tag: Any, text: str, shape: Any) -> None:
    m = ml.index_map(tag(text), shape)
    assert ml.verify(m).holds is True
    assert ml.is_injective(m).holds is True


def test_a_wrong_textbook_formula_is_found(tag: Any) -> None:
    class Wrong(tag):  # type: ignore[misc]
        def reference(self, coordinates: Any, shape: Any) -> Any:
            return super().reference(coordinates, shape) + coordinates[0] // 6

    proof = ml.verify(ml.index_map(Wrong("AB4a2b"), (7, 5)))
    assert proof.holds is False
    assert proof.counterexample == (6, 0)


def test_every_function_that_takes_layouts_takes_it(tag: Any) -> None:
    layout, array = tag("aB2b"), np.arange(15).reshape(3, 5)
    assert (ml.unpack(layout, ml.pack(layout, array), (3, 5)) == array).all()
    assert ml.relayout("f32[3,5]{1,0}", layout).source.shape == (3, 5)
    assert ml.are_equivalent(layout, tag("ab"), (3, 5)).counterexample == (1, 0)
    assert ml.is_bitcast("f32[4,6]", tag("aB3b")).holds is True
    assert "d1" in ml.code(ml.index_map(layout, (3, 5)), "c")
    assert "padding" in str(ml.draw(layout, (3, 5)))


def test_assumptions_reach_it(tag: Any) -> None:
    m = ml.index_map(tag("aB8b"), ("M", "N"), assuming="N % 8 == 0")
    assert str(m) == "(d0, d1) -> N*d0 + d1"
    proof = ml.are_equivalent(tag("aB8b"), "f32[M,N]{1,0}")
    assert proof.verdict == "equivalent iff 8 | N, or M = 1"


def test_wrong_tags_and_shapes_are_told_apart(tag: Any) -> None:
    with pytest.raises(ml.LayoutError, match="is not a tag"):
        ml.index_map(tag("a3"), (3,))
    with pytest.raises(ml.ShapeError, match="does not fit"):
        ml.index_map(tag("a"), (3, 5))
    with pytest.raises(ml.ShapeError, match="no shape given"):
        ml.index_map(tag("ab"))
    with pytest.raises(ml.UnsupportedError, match="is not a layout"):
        ml.index_map(tag)
    with pytest.raises(ml.UnsupportedError, match="3 is not a layout"):
        ml.index_map(3, (3,))


def test_what_gives_another_recipe_is_refused() -> None:
    class Other:
        def __init__(self, given: Any) -> None:
            self.given = given

        def recipe(self, shape: Any) -> Any:  # noqa: ARG002
            return self.given

        def reference(self, coordinates: Any, shape: Any) -> Any:  # noqa: ARG002
            return 0

    for given in (None, ml.Recipe((4,)), "[4]"):
        with pytest.raises(ml.ShapeError, match="gives no recipe"):
            ml.index_map(Other(given), (3,))
    assert ml.index_map(Other(ml.Recipe(())), ())() == 0
