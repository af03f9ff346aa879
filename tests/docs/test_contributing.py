"""The notation in the contributing guide runs as it appears there."""

from __future__ import annotations

import doctest
import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from tests.support.paths import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def guide() -> dict[str, Any]:
    """Return the names that the guide's first block defines."""
    module = sys.modules["contributing"] = ModuleType("contributing")  # dataclasses look it up
    exec(compile(BLOCKS[0], "CONTRIBUTING.md", "exec"), vars(module))
    return vars(module)


@pytest.fixture(name="pitched", scope="module")
def _pitched() -> Any:
    return guide()["Pitched"]


def test_the_examples_are_as_shown() -> None:
    test = doctest.DocTestParser().get_doctest(BLOCKS[1], guide(), "CONTRIBUTING.md", None, 0)
    assert test.examples
    report: list[str] = []
    doctest.DocTestRunner().run(test, out=report.append)
    assert not report, "".join(report)


def test_rows_begin_at_multiples_of_the_pitch(pitched: Any) -> None:
    array = np.arange(1, 3 * 200 + 1).reshape(3, 200)
    padded = np.zeros((3, 256), int)
    padded[:, :200] = array
    assert (ml.pack(pitched(128), array) == padded.reshape(-1)).all()
    assert (ml.unpack(pitched(128), padded.reshape(-1), (3, 200)) == array).all()


def test_every_function_takes_it(pitched: Any) -> None:
    layout, shape = pitched(4), (3, 6)
    assert ml.is_injective(layout, shape).holds
    assert "8*d0 + d1" in ml.code(ml.index_map(layout, shape), "python")
    assert ml.draw(layout, shape).svg().startswith("<svg")
    moved = ml.relayout(layout, "[1, 0]", shape).compile("int32")
    assert list(moved(range(24))) == [8 * i + j for j in range(6) for i in range(3)]
    assert "pitched(4)" in str(ml.explain(layout, shape))


def test_a_wrong_reference_formula_is_found(pitched: Any) -> None:
    class Wrong(pitched):  # type: ignore[misc]
        def reference(self, coordinates: Any, shape: Any) -> Any:
            return super().reference(coordinates, shape) + coordinates[0] // 2

    assert ml.verify(Wrong(4), (3, 6)).holds is False


def test_values_without_the_base_class_are_taken() -> None:
    class Reversed:
        def recipe(self, shape: Any) -> ml.Recipe:
            return ml.Recipe(shape, (ml.Transpose((1, 0)),))

        def reference(self, coordinates: Any, shape: Any) -> Any:
            return coordinates[1] * shape[0] + coordinates[0]

    assert ml.verify(Reversed(), (3, 4)).holds
    with pytest.raises(ml.UnsupportedError, match="expected a layout"):
        ml.index_map(Reversed, (3, 4))  # the class, not a value


@pytest.mark.parametrize("given", [None, ml.Recipe((4,)), "[4]"])
def test_another_recipe_is_refused(given: Any) -> None:
    class Other(ml.Layout):
        def recipe(self, shape: Any) -> Any:
            return given

        def reference(self, coordinates: Any, shape: Any) -> Any:
            return 0

    with pytest.raises(ml.ShapeError, match="recipe"):
        ml.index_map(Other(), (3,))


def test_the_formula_of_a_scalar_may_be_a_number() -> None:
    class Scalar(ml.Layout):
        def recipe(self, shape: Any) -> ml.Recipe:
            return ml.Recipe(shape)

        def reference(self, coordinates: Any, shape: Any) -> Any:
            return 0

    assert ml.index_map(Scalar(), ())() == 0
