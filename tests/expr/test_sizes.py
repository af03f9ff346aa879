"""Symbolic sizes under ``//`` and ``%``: the integers' answer or a loud error, never another."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.core.expr.sizes import Int, SizeExpr
from tests.support.tables import each_row

N = SizeExpr.named("N")
VALUES = {
    f"{a}*N + {b}": (a, b) for a, b in itertools.product((-16, -3, -1, 1, 4, 16), (-5, 0, 3, 19))
}
DIVISORS = (1, 2, 3, 4, 8, 16)


def at(value: Int, n: int) -> int:
    return value.evaluate({"N": n}) if isinstance(value, SizeExpr) else value


@pytest.mark.slow
@each_row("text", VALUES)
@each_row("by", DIVISORS)
def test_a_quotient_is_rounded_down_or_refused(text: str, by: int) -> None:
    a, b = VALUES[text]
    value = a * N + b
    if a % by:
        with pytest.raises(ml.UnsupportedError, match="ceil_quotient"):
            value // by
    else:
        quotients = [at(value // by, n) for n in range(1, 40)]
        assert quotients == [(a * n + b) // by for n in range(1, 40)]


@each_row("text", VALUES)
@each_row("by", DIVISORS)
def test_a_remainder_is_right_or_can_only_be_held_against_zero(text: str, by: int) -> None:
    a, b = VALUES[text]
    rest = (a * N + b) % by
    if isinstance(rest, int):
        assert {(a * n + b) % by for n in range(1, 40)} == {rest}
        return
    assert a % by != 0, "the remainder is a number"
    assert rest != 0
    assert rest
    for use in (
        lambda: rest + 1,
        lambda: 1 + rest,
        lambda: N + rest,
        lambda: rest - N,
        lambda: N - rest,
        lambda: 2 * rest,
        lambda: rest * N,
        lambda: -rest,
        lambda: rest // 2,
        lambda: N % rest,
        lambda: divmod(5, rest),
    ):
        with pytest.raises(ml.UnsupportedError, match="ceil_quotient"):
            use()


def test_an_int_over_a_size() -> None:
    assert 16 % N != 0
    assert (8 * N * N) // N == 8 * N
    assert (8 * N * N) % N == 0


@pytest.mark.parametrize(
    "round_up",
    [lambda n: -(-n // 16) * 16, lambda n: n + (-n) % 16, lambda n: (n + 15) // 16 * 16],
    ids=["by floors", "by a remainder", "by adding 15"],
)
def test_a_notation_that_rounds_up_by_hand_is_told_so(round_up: object) -> None:
    """It is right for numbers and where 16 divides N; for all N it is refused, not wrong."""

    class Blocks:
        def recipe(self, shape: tuple[Int, ...]) -> ml.Recipe:
            steps = (ml.Pad((round_up(shape[0]),)), ml.Split((16,)), ml.Transpose((1, 0)))
            return ml.Recipe(shape, steps)

        def reference(self, coordinates: tuple[Any, ...], shape: tuple[Int, ...]) -> object:
            (d,) = coordinates
            return d % 16 * (round_up(shape[0]) // 16) + d // 16

    assert ml.index_map(Blocks(), (20,)).size == 32
    assert ml.verify(Blocks(), (20,)).holds
    blocks = ml.index_map(Blocks(), ("N",), assuming="16 divides N")
    assert ml.is_bijective(blocks).holds
    assert [blocks.at(N=32)(d) for d in (0, 1, 16, 17)] == [0, 2, 1, 3]
    with pytest.raises(ml.UnsupportedError, match="ceil_quotient"):
        ml.index_map(Blocks(), ("N",))
