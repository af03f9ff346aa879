"""Reference formulas that layouts of users give."""

from __future__ import annotations

from typing import Any

import pytest

import morello_layouts as ml


class Given(ml.Layout):
    """A vector with a given reference formula."""

    def __init__(self, formula: Any) -> None:
        self.formula = formula

    def recipe(self, shape: Any, /) -> ml.Recipe:
        return ml.Recipe(shape)

    def reference(self, *_: Any) -> Any:
        return self.formula


def test_a_constant_is_an_offset() -> None:
    m = ml.index_map(Given(0), (1,))
    assert m(0) == 0
    assert ml.verify(m).holds
    assert ml.is_bijective(m).reason == "injective, and the only slot holds an element"


@pytest.mark.parametrize("formula", [None, 1.5, "d0", ()])
def test_other_values_are_refused(formula: Any) -> None:
    with pytest.raises(ml.LayoutError, match="expected an offset, got") as caught:
        ml.index_map(Given(formula), (3,))
    assert caught.value.fix == "return the offset in elements"


def test_a_derivation_without_steps_says_so() -> None:
    m = ml.index_map("f32[2,3]")
    assert str(m.derivation) == "3*d0 + d1   no rule applies: it is already the simplest form"
