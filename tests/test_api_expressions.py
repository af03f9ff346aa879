"""What simplify refuses, by its text."""

from __future__ import annotations

from typing import Any

import pytest

import morello_layouts as ml


@pytest.mark.parametrize(
    ("expr", "bounds", "text"),
    [
        (
            None,
            {},
            (
                "None is no expression\n"
                "an index expression is text or a SymPy expression\n"
                'give for example "(32*i + j)//8"'
            ),
        ),
        (
            "i",
            {"i": 3},
            (
                "the bounds of i are 3\n"
                "bounds are a pair: the smallest and the largest value\n"
                "give for example (0, 31), None for an end that is open"
            ),
        ),
        (
            "i",
            {"i": (0, 1.5)},
            (
                "1.5 is no bound\n"
                "a bound is an integer, or a size as text or SymPy\n"
                'give for example 31, "N - 1" or None'
            ),
        ),
        ("i", {"i": (3, 1)}, "i has no values\n3 is above 1\ngive the smaller end first"),
    ],
)
def test_refused(expr: Any, bounds: Any, text: str) -> None:
    with pytest.raises(ml.LayoutError) as caught:
        ml.simplify(expr, bounds)
    assert str(caught.value) == text


def test_verified_results_are_proved() -> None:
    found = ml.simplify("(32*i + j)//8", {"i": (0, 31), "j": (0, 31)}, verify=True)
    assert str(found) == "4*i + floor(j/8)"
    with pytest.raises(ml.UnsupportedError, match="symbolic"):
        ml.simplify("(N*i + j)//N", {"i": (0, 7), "j": (0, "N - 1")}, verify=True)


def test_sizes_are_not_multiplied_out_without_end() -> None:
    names = [f"N{k}" for k in range(14)]
    product = "*".join(f"({name} + 1)" for name in names)
    with pytest.raises(ml.LayoutError, match="products of sizes are multiplied out"):
        ml.simplify(f"{product}*i", dict.fromkeys(names, (1, None)))
