"""Blocks whose sizes are names, in the texts of TVM, MLIR and einops: the same for any numbers."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.expr.sizes import evaluated
from morello_layouts.notations.expression import parse_number
from tests.support.tables import each_row

MN = ("M", "N")
PACK = "outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [B, 4]"

# The layout, the shape for all sizes, and when every slot holds an element.
LAYOUTS: list[tuple[str, tuple[Any, ...], str]] = [
    ("lambda i, j: (i//B, j, i%B)", MN, "B | M"),
    ("lambda i, j: (i//B, j, i%B)", ("B*M", "N"), "all sizes"),
    ("lambda i, j: (j//C, i//B, i%B, j%C)", MN, "B | M and C | N"),
    ("lambda i, j: (i//B, j//8, i%B, j%8)", MN, "B | M and 8 | N"),
    ("lambda i, j: (i//(B*C), j, i//C%B, i%C)", ("B*C*M", "N"), "all sizes"),
    ("lambda i, j: (i//(B*C), j, i%C, i//C%B)", ("B*C*M", 2), "all sizes"),
    ("lambda i: (i%B, i//B)", ("M",), "B | M"),
    ("inner_dims_pos = [0] inner_tiles = [B]", MN, "B | M"),
    ("inner_dims_pos = [1, 0] inner_tiles = [B, C]", MN, "C | M and B | N"),
    (PACK, MN, "4 | M and B | N"),
    ("(h p) w -> h w p, p=P", ("H*P", "W"), "all sizes"),
    ("(h p) w -> h w p, p=P, h=3", ("3*P", "W"), "all sizes"),
    ("(h p q) w -> h w q p, p=P, q=Q", ("H*P*Q", "W"), "all sizes"),
    ("(h p) (w q) -> w h q p, p=P, q=2", ("H*P", "2*W"), "all sizes"),
]


@pytest.mark.slow
@each_row("text, shape, full", LAYOUTS)
def test_formula_and_inverse_are_those_of_numbers(text: str, shape: Any, full: str) -> None:  # noqa: ARG001
    m = ml.index_map(text, shape)
    assert ml.index_map(str(ml.parse(text)), shape) == m
    for values in product((1, 2, 3), repeat=len(m.recipe.names)):
        names = dict(zip(m.recipe.names, values, strict=True))
        numbers = text
        for name, size in names.items():
            numbers = re.sub(rf"\b{name}\b", str(size), numbers)
        sizes = [n if isinstance(n, int) else evaluated(parse_number(n), names) for n in shape]
        sized, expected = m.at(**names), ml.index_map(numbers, tuple(sizes))
        grid, slots = np.indices(sizes), np.arange(expected.size)
        assert sized.size == expected.size, names
        assert (sized(*grid) == expected(*grid)).all(), names
        general = m.form.evaluate({**names, **{f"d{k}": x for k, x in enumerate(grid)}})
        assert (general == expected(*grid)).all(), names
        for x, y in zip(sized.coordinates(slots), expected.coordinates(slots), strict=True):
            assert (x == y).all(), names


@pytest.mark.slow
@each_row("text, shape, full", LAYOUTS)
def test_what_holds_for_all_sizes(text: str, shape: Any, full: str) -> None:
    m = ml.index_map(text, shape)
    for answer in (ml.is_injective(m), ml.verify(m), ml.are_equivalent(m, text, shape)):
        assert answer.holds is True, answer
        assert str(answer.condition) == "all sizes"
    assert ml.agree(m, m).holds
    onto = ml.is_surjective(m)
    assert str(onto.condition) == full
    assert ml.is_bijective(m).holds is (full == "all sizes")


@each_row(
    "one, other, shape",
    [
        ("lambda i, j: (i//S, j//T, i%S, j%T)", "{1,0:T(S,T)}", MN),
        ("inner_dims_pos = [0, 1] inner_tiles = [S, T]", "{1,0:T(S,T)}", MN),
        ("(h p) w -> h w p, p=P", "[0, 1, 0 p(P)]", ("H*P", "W")),
        ("(h p) w -> h w p, p=P", "lambda i, j: (i//P, j, i%P)", ("H*P", "W")),
    ],
)
def test_notations_agree_for_all_blocks(one: str, other: str, shape: Any) -> None:
    answer = ml.are_equivalent(one, other, shape)
    assert answer.holds, answer
    assert str(answer.condition) == "all sizes"


def test_a_difference_is_found_at_small_blocks() -> None:
    one, other = (f"inner_dims_pos = [0, 1] inner_tiles = [{tiles}]" for tiles in ("B, C", "C, B"))
    answer = ml.are_equivalent(one, other, MN)
    assert answer.holds is False
    assert answer.counterexample is not None
    names, at = dict(answer.counterexample.sizes), answer.counterexample.at
    assert ml.index_map(one, MN).at(**names)(*at) != ml.index_map(other, MN).at(**names)(*at)


def test_a_function_of_python_has_blocks_of_a_named_size() -> None:
    block: Any = parse_number("B")
    m = ml.index_map(lambda i, j: (i // block, j, i % block), MN)
    assert m == ml.index_map("lambda i, j: (i//B, j, i%B)", MN)


def test_undecided_injectivity_says_so() -> None:
    answer = ml.is_injective(ml.index_map("lambda i: (i//B, i%C)", ("M",)))
    assert answer.holds is not True
    assert answer.holds is not None or answer.reason
