"""Shifts and masks in expressions mean what Python's integers do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import pytest

import morello_layouts as ml
from morello_layouts.expr import Interval
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


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("6i + j", "expected an operator behind 6, got i"),
        ("6(i + 1)", "expected an operator behind 6, got ("),
        ("i << j", "<<: expected a number from 0 to 1024, got j"),
        ("i >> -1", ">>: expected a number from 0 to 1024, got -1"),
        ("i & j", "&: expected a number on one side, got i and j"),
        ("8*i | j", "|: expected sides without a common bit, got 8*i and j"),
        ("i & 0x5555 & 0x5555", "& with 21845: expected a mask with fewer runs of ones, got 8"),
        ("i && 7", "found '&'"),
    ],
)
def test_what_has_no_digits_is_told(text: str, what: str) -> None:
    with pytest.raises(ml.ParseError) as refused:
        parse_expression(text, BOUNDS)
    assert what in str(refused.value)


def test_sides_without_a_common_bit_are_added() -> None:
    assert str(ml.simplify("(i << 3) | (j & 7)", {"j": (0, 63)})) == "8*i + Mod(j, 8)"
    assert str(ml.simplify("j | i*32", {"j": (0, 31)})) == "32*i + j"


@pytest.mark.parametrize(
    ("text", "lo", "hi"),
    [("0<=i<8", 0, 7), ("-4 < i <= 4", -3, 4), ("i in range(32)", 0, 31), ("i=range(1)", 0, 0)],
)
def test_other_ways_to_write_bounds(text: str, lo: int, hi: int) -> None:
    bounds: dict[str, Any] = {"i": range(lo, hi + 1)}
    assert parse_bounds(text) == {"i": Interval(lo, hi)}
    assert ml.simplify("i % 99", bounds) == ml.simplify("i % 99", {"i": (lo, hi)})


@pytest.mark.parametrize("text", ["i<8", "i=0:7", "i=32", "i in 3", "0<=i<=j<8", "range(3)"])
def test_unclear_bounds_are_told(text: str) -> None:
    with pytest.raises(ml.ParseError, match=r"a bound: expected name=low\.\.high"):
        parse_bounds(text)
