"""Shifts and masks in expressions mean what Python's integers do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import pytest

import morello_layouts as ml
from morello_layouts.core.expr import Interval
from morello_layouts.notations import parse_bounds, parse_expression

BOUNDS = {"i": Interval(0, 63), "j": Interval(-9, 20)}

Value: TypeAlias = Callable[[dict[str, int]], int]

SIGNS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "|": (0, operator.or_),
    "^": (1, operator.xor),
    "&": (2, operator.and_),
    "<<": (3, operator.lshift),
    ">>": (3, operator.rshift),
    "+": (4, operator.add),
    "-": (4, operator.sub),
    "*": (5, operator.mul),
    "//": (5, operator.floordiv),
    "mod": (5, operator.mod),
}
NUMBERS = {"<<": (0, 4), ">>": (0, 4), "*": (-9, 9), "//": (1, 9), "mod": (1, 9)}


def number(n: int) -> tuple[str, int, Value]:
    """Return a number as a text that binds tightly: negative ones are complements."""
    return (str(n) if n >= 0 else f"~{~n}"), 7 if n >= 0 else 6, lambda _: n


def drawn(random: Random, depth: int) -> tuple[str, int, Value]:
    """Return a text, how tightly its operator binds, and what it means."""
    if depth == 0:
        n = random.randint(0, 99)
        return random.choice(
            [("i", 7, lambda at: at["i"]), ("j", 7, lambda at: at["j"]), (hex(n), 7, lambda _: n)]
        )
    text, binds, value = drawn(random, depth - 1)
    if random.random() < 0.15:
        return f"~{text}" if binds > 5 else f"~({text})", 6, lambda at: ~value(at)
    sign = random.choice([*SIGNS])
    level, meaning = SIGNS[sign]
    left = text if binds >= level else f"({text})"
    if sign in ("+", "-", "^"):
        right, other, second = drawn(random, depth - 1)
    else:
        right, other, second = number(random.randint(*NUMBERS.get(sign, (-40, 300))))
    right = right if other > level else f"({right})"
    return f"{left} {sign} {right}", level, lambda at: meaning(value(at), second(at))


def test_random_expressions_mean_what_python_computes() -> None:
    random = Random(3)
    read = 0
    for _ in range(600):
        text, _, value = drawn(random, random.randint(1, 4))
        try:
            form = parse_expression(text, BOUNDS)
        except ml.ParseError as refused:
            if "fewer runs" in refused.what or "common bit" in refused.what:
                continue
            raise
        read += 1
        for _ in range(3):
            at = {"i": random.randint(0, 63), "j": random.randint(-9, 20)}
            assert form.evaluate(at) == value(at), (text, at)
    assert read > 500


def test_sides_without_a_common_bit_are_added() -> None:
    assert str(ml.simplify("(i << 3) | (j & 7)", {"j": (0, 63)})) == "8*i + Mod(j, 8)"
    assert str(ml.simplify("j | i*32", {"j": (0, 31)})) == "32*i + j"


@pytest.mark.parametrize(
    ("text", "lo", "hi"),
    [
        *[("0<=i<8", 0, 7), ("-4 < i <= 4", -3, 4), ("7 >= i > -1", 0, 7), ("i == 5", 5, 5)],
        *[("i in range(32)", 0, 31), ("i=range(1)", 0, 0), ("i = range(-2, 3)", -2, 2)],
        *[("i=-3..4", -3, 4), ("i: 0..7", 0, 7), ("i in [0, 7]", 0, 7), ("i=[0,8)", 0, 7)],
        *[("i=32", 0, 31), ("i>0 and i<8", 1, 7), ("9>i; i>=3\ni<7", 3, 6)],
        *[("3 > i < 9, i=-2..", -2, 2), ("4 < i > 1, i<8", 5, 7), ("5 == i < 9", 5, 5)],
    ],
)
def test_other_ways_to_write_bounds(text: str, lo: int, hi: int) -> None:
    bounds: dict[str, Any] = {"i": range(lo, hi + 1)}
    assert parse_bounds(text) == {"i": Interval(lo, hi)}
    for same in (bounds, text):
        assert ml.simplify("i % 6", same) == ml.simplify("i % 6", {"i": (lo, hi)})


def test_bounds_on_one_side_and_symbolic() -> None:
    assert parse_bounds("i<8, 0<=j") == {"i": Interval(None, 7), "j": Interval(0, None)}
    assert {k: str(v) for k, v in parse_bounds("i<N, j=N, k in range(2*N)").items()} == {
        "i": "-∞..N - 1", "j": "0..N - 1", "k": "0..2*N - 1",
    }  # fmt: skip
    assert str(ml.simplify("(8*i + j)//8", {"j": 8})) == "i"
    assert ml.code("(N*i + j)//N", bounds="j < N, j >= 0", target="c") == "i"
