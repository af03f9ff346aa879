"""Each step against NumPy, and shapes that it does not fit."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from morello_layouts.core.expr import variable
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.recipe.steps import Pad, Renumber, Scatter, Split, Step, Window, Xor
from morello_layouts.errors import ShapeError
from tests.support.tables import each_row

M = SizeExpr.named("M")


def fits(n: int, m: int, start: int, stride: int) -> bool:
    return stride != 0 and all(0 <= start + stride * x < m for x in range(n))


WINDOWS = [*product(range(4), (1, 3, 6), range(-1, 6), (-2, -1, 0, 1, 2, 3))]


def test_windows_are_slices_of_numpy() -> None:
    for n, m, start, stride in WINDOWS:
        step = Window((m,), (start,), (stride,))
        if not fits(n, m, start, stride):
            with pytest.raises(ShapeError):
                step.apply((n,))
            continue
        assert step.apply((n,)) == (m,)
        places = [step.outer([x])[0] for x in range(n)]
        assert np.arange(m)[step.slices((n,))].tolist() == places
        assert [start + stride * x for x in range(n)] == places
        assert all(large >= small for large, small in step.requires((n,)))
        for y in range(m) if n else ():
            (found,), limits = step.inner([y], (n,))
            held = all(x < end for x, end in limits)
            assert held is (y in places)
            assert not held or places[found] == y


def test_windows_that_leave_their_axis_do_not_meet_what_they_require() -> None:
    for n, m, start, stride in WINDOWS:
        meets = all(a >= b for a, b in Window((m,), (start,), (stride,)).requires((n,)))
        assert n == 0 or stride == 0 or meets is fits(n, m, start, stride)


def test_a_window_leaves_more_axes_as_they_are() -> None:
    step = Window((6,), (1,), (2,)).with_axes((4, 5), (7,))
    assert step.apply((4, 5, 2, 7)) == (4, 5, 6, 7)
    assert step.outer((3, 4, 1, 6)) == [3, 4, 3, 6]
    assert step.inner((3, 4, 3, 6), (4, 5, 2, 7))[0] == [3, 4, 1, 6]


D0 = variable("d0", 0, 5)


@each_row(
    ("step", "text"),
    [
        (Scatter((D0,), (6,)), "scatter d0 in [6]"),
        (Scatter((D0, D0), (6, M)), "scatter (d0, d0) in [6,M]"),
        (Xor(0, 1), "xor axis 0 with axis 1"),
        (Xor(0, 1, 2), "xor axis 0 with (axis 1 >> 2)"),
        (Renumber(1, (2, 0, 1)), "renumber axis 1 as 2,0,1"),
        (Renumber(0, tuple(range(16))), f"renumber axis 0 as {','.join(map(str, range(16)))}"),
        (Renumber(0, tuple(range(17))), f"renumber axis 0 as {','.join(map(str, range(16)))},…"),
        (Window((8, M), (6, 0), (-2, 1)), "window (-2*d0 + 6, d1) in [8,M]"),
    ],
)
def test_a_step_says_what_it_does(step: Step, text: str) -> None:
    assert str(step) == text


def test_numbers_of_places_are_taken_back() -> None:
    step = Renumber(0, (2, 0, 3, 1))
    assert [step.inverse.value(step.value(k)) for k in range(4)] == [0, 1, 2, 3]
    assert step.inverse.numbers == (1, 3, 0, 2)
    assert Pad((4,), cut=True).apply((7,)) == (4,)
    assert Split((2, None)).numbers == (2, None)
