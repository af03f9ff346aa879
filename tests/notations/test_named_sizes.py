"""Packs, tiles and blocks whose sizes are names: the same as the texts with any numbers."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.core.expr.sizes import evaluated
from morello_layouts.notations.expression import parse_number
from tests.support.tables import each_row

MN = ("M", "N")

# The layout, the shape for all sizes, and when every slot holds an element.
LAYOUTS: list[tuple[str, tuple[Any, ...], str]] = [
    ("[0, 1, 0 p(P)]", ("M*P", "N"), "all sizes"),
    ("[1, 0, 1 p(P), 0 p(S)]", ("M*S", "N*P"), "all sizes"),
    ("[0, 0 p(P), 0 p(2)]", ("2*M*P",), "all sizes"),
    ("[0, 1, 0 p(P), 1 p(4), 0 p(2)]", ("2*M*P", "4*N"), "all sizes"),
    ("[1, 0 p(P)]", ("P", "N"), "all sizes"),
    ("{1,0:T(S,T)}", MN, "S | M and T | N"),
    ("{1,0:T(S,T)}", ("S*M", "T*N"), "all sizes"),
    ("{0,1:T(S,T)}", MN, "T | M and S | N"),
    ("{1,0:T(8,T)}", MN, "8 | M and T | N"),
    ("{1,0:T(T,T)}", (6, 7), "T | 6 and T | 7"),
    ("{0:T(T)}", (5,), "T | 5"),
    ("{2,1,0:T(S,T)}", ("M", 3, "N"), "S | 3 and T | N"),
    ("{1,0:T(S,T)(2,1)}", MN, "S | M and T | N and 2 | S"),
    ("{1,0:T(S,T)(T)}", (5, 6), "S | 5 and T | 6"),
    ("{1,0:T(*,T)}", (3, "N"), "T | 3*N"),
    ("{1,0:T(T)}", (2, "N"), "T | N"),
    ("lambda i, j: (i//B, j, i%B)", MN, "B | M"),
    ("lambda i, j: (i//B, j, i%B)", ("B*M", "N"), "all sizes"),
    ("lambda i, j: (j//C, i//B, i%B, j%C)", MN, "B | M and C | N"),
    ("lambda i, j: (i//B, j//8, i%B, j%8)", MN, "B | M and 8 | N"),
    ("lambda i, j: (i//(B*C), j, i//C%B, i%C)", ("B*C*M", "N"), "all sizes"),
    ("lambda i, j: (i//(B*C), j, i%C, i//C%B)", ("B*C*M", 2), "all sizes"),
    ("lambda i: (i%B, i//B)", ("M",), "B | M"),
    ("inner_dims_pos = [0] inner_tiles = [B]", MN, "B | M"),
    ("inner_dims_pos = [1, 0] inner_tiles = [B, C]", MN, "C | M and B | N"),
    (
        "outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [B, 4]",
        MN,
        "4 | M and B | N",
    ),
    ("(h p) w -> h w p, p=P", ("H*P", "W"), "all sizes"),
    ("(h p) w -> h w p, p=P, h=3", ("3*P", "W"), "all sizes"),
    ("(h p q) w -> h w q p, p=P, q=Q", ("H*P*Q", "W"), "all sizes"),
    ("(h p) (w q) -> w h q p, p=P, q=2", ("H*P", "2*W"), "all sizes"),
]


def at_numbers(text: str, shape: tuple[Any, ...], names: dict[str, int]) -> ml.IndexMap | None:
    """The layout with numbers in its text; None if Morello, without packs of 1, has no text."""
    for name, size in names.items():
        text = re.sub(rf"\b{name}\b(?!\()", str(size), text)
    text = re.sub(r"(, )?\d p\(1\)", "", text)
    sizes = [n if isinstance(n, int) else evaluated(parse_number(n), names) for n in shape]
    return None if text == "[1]" else ml.index_map(text, tuple(sizes))


@each_row("text, shape, full", LAYOUTS, fast=10)
def test_formula_inverse_and_padding_are_those_of_numbers(text: str, shape: Any, full: str) -> None:
    m = ml.index_map(text, shape)
    printed = str(ml.parse(text))
    assert ml.index_map(printed, shape) == m
    assert printed == text or text[0] not in "[{"
    condition = ml.is_surjective(m).condition
    assert str(condition) == full
    for values in product((1, 2, 3, 5), repeat=len(m.recipe.names)):
        names = dict(zip(m.recipe.names, values, strict=True))
        sized, expected = m.at(**names), at_numbers(text, shape, names)
        if expected is None:
            continue
        grid, slots = np.indices(expected.shape), np.arange(expected.size)
        assert sized.size == expected.size == evaluated(m.recipe.size, names)
        assert (sized(*grid) == expected(*grid)).all(), names
        general = m.form.evaluate({**names, **{f"d{k}": x for k, x in enumerate(grid)}})
        assert (np.broadcast_to(general, expected.shape) == expected(*grid)).all(), names
        back = expected.coordinates(slots)
        for form, x, y in zip(m.inverse.forms, sized.coordinates(slots), back, strict=True):
            found = np.broadcast_to(form.evaluate({**names, "p": slots}), y.shape)
            assert (x == y).all(), names
            assert ((found == y) | (y < 0)).all(), names
        symbols = {s: names[s.name] for s in condition.expr.free_symbols}
        assert bool(condition.expr.subs(symbols)) is (expected.padding == 0), names


@each_row("text, shape, full", LAYOUTS, fast=10)
def test_what_holds_for_all_sizes(text: str, shape: Any, full: str) -> None:
    m = ml.index_map(text, shape)
    for answer in (ml.is_injective(m), ml.verify(m), ml.are_equivalent(m, text, shape)):
        assert answer.holds is True, answer
        assert str(answer.condition) == "all sizes" or (answer.condition is None and "P" in shape)
    assert ml.agree(m, m).holds
    assert ml.is_bijective(m).holds is (full == "all sizes")


@each_row(
    "one, other, shape",
    [
        ("lambda i, j: (i//S, j//T, i%S, j%T)", "{1,0:T(S,T)}", MN),
        ("inner_dims_pos = [0, 1] inner_tiles = [S, T]", "{1,0:T(S,T)}", MN),
        ("(h p) w -> h w p, p=P", "[0, 1, 0 p(P)]", ("H*P", "W")),
        ("(h p) w -> h w p, p=P", "lambda i, j: (i//P, j, i%P)", ("H*P", "W")),
        ("[0, 1, 0 p(S), 1 p(T)]", "{1,0:T(S,T)}", ("S*M", "T*N")),
    ],
)
def test_notations_agree_for_all_blocks(one: str, other: str, shape: Any) -> None:
    answer = ml.are_equivalent(one, other, shape)
    assert answer.holds, answer
    assert str(answer.condition) == "all sizes"


@each_row(
    "one, other",
    [
        ("{1,0:T(S,T)}", "{1,0:T(T,S)}"),
        ("inner_dims_pos = [0, 1] inner_tiles = [B, C]",
         "inner_dims_pos = [0, 1] inner_tiles = [C, B]"),
    ],
)  # fmt: skip
def test_a_difference_is_found_at_small_sizes(one: str, other: str) -> None:
    answer = ml.are_equivalent(one, other, MN)
    assert answer.holds is False
    assert answer.counterexample is not None
    names, at = dict(answer.counterexample.sizes), answer.counterexample.at
    assert ml.index_map(one, MN).at(**names)(*at) != ml.index_map(other, MN).at(**names)(*at)


def test_what_is_undecided_says_so() -> None:
    """The second is true at all sizes, by reasoning that the simplifier lacks: one row of tiles."""
    one_way = ml.is_injective(ml.index_map("lambda i: (i//B, i%C)", ("M",)))
    assert one_way.holds is not True
    assert one_way.holds is not None or one_way.reason
    answer = ml.are_equivalent("{1,0:T(S,T)}", "{1,0:T(S,T)(1,T)}", MN)
    assert answer.holds is not False
    assert answer.holds or "quotients by names" in answer.reason


def test_a_function_of_python_has_blocks_of_a_named_size() -> None:
    block: Any = parse_number("B")
    m = ml.index_map(lambda i, j: (i // block, j, i % block), MN)
    assert m == ml.index_map("lambda i, j: (i//B, j, i%B)", MN)


def test_named_tiles_agree_with_tiles_that_pad() -> None:
    answer = ml.agree("{1,0:T(S,T)}", "{1,0:T(S,T)}", MN, reads="buffer")
    assert answer.holds is True
    assert answer.covers is False
    assert str(answer.definition.condition) == "S | M and T | N"


def test_code_for_any_tile() -> None:
    m = ml.index_map("{1,0:T(S,T)}", MN)
    names: dict[str, Any] = {"M": 7, "N": 9, "S": 3, "T": 4}
    scope: dict[str, Any] = {}
    exec(ml.code(m, "python", function=True, name="offset"), scope)
    sized = m.at(**names)
    for at in product(range(7), range(9)):
        assert scope["offset"](*at, **names) == sized(*at)
