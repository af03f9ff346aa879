"""Verdicts about one map that random ones do not reach; tests/fuzz judges those by counting."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.recipe import Merge, Pad, Recipe, Split, Transpose, known
from morello_layouts.proof.elements import first_padding
from tests.support.recipes import LARGEST, places, recipes
from tests.support.tables import each_row

Q = {"injective": ml.is_injective, "surjective": ml.is_surjective, "bijective": ml.is_bijective}


SYMBOLIC = [
    ("f32[M,N]{1,0:T(8,128)}", None),
    ("{1,0:T(S,T)}", ("M", "N")),
    ("f32[M,N]", None),
    ("Sw<2,0,2> o 0 o (M,4):(4,1)", None),
    ("f32[M,N], mesh={'x': 2}, spec=P('x')", None),
    ("strided<[16, 1], offset: 5>", ("M", 8)),
    ("strided<[8, 1]>", ("M", 8)),
]


@each_row("text, shape", SYMBOLIC)
def test_answers_name_their_claims(text: str, shape: Any) -> None:
    m = ml.index_map(text, shape)
    answers = {claim: question(m) for claim, question in Q.items()}
    assert [answer.claim for answer in answers.values()] == [*Q]
    assert answers["injective"].holds
    onto, both = answers["surjective"], answers["bijective"]
    assert onto.holds is not None
    assert (both.holds, str(both.condition)) == (onto.holds, str(onto.condition))


SEVERAL = [
    (("d0//2", "d1", "d0%2"), True),
    (("d0//2", "d1"), False),
    (("d0", "(d0 + d1)%6"), True),
    (("d0", "(d0 + d1)%5"), False),
    (("d0 ^ d1", "d1"), True),
    (("d0 ^ d1", "d0 & 1"), False),
]


@each_row("formulas, holds", SEVERAL)
def test_several_coordinates_are_compared_together(formulas: Any, holds: bool) -> None:
    m = ml.from_sympy((4, 6), formulas)
    answer = ml.is_injective(m)
    assert answer.holds is holds
    assert len({m(*at) for at in product(range(4), range(6))}) == 24 or not holds
    if not holds:
        one, other = answer.counterexample
        assert m(*one) == m(*other)
        assert one < other


def test_the_first_empty_slot_of_a_buffer_past_64_bits() -> None:
    found = ml.is_surjective("strided<[4, 2]>", (2**64, 1))
    assert (found.counterexample, found.padding) == (1, 3 * (2**64 - 1))


def test_slots_of_no_elements_are_padding() -> None:
    onto = ml.is_surjective(IndexMap.of(Recipe((0,), (Pad((8,)),)), lambda c, _: c[0]))
    assert (onto.holds, onto.counterexample, onto.padding) == (False, 0, 8)


@st.composite
def blocks_of_blocks(draw: st.DrawFn) -> Recipe:
    """Pads of what was padded, split, transposed and merged before."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    recipe = Recipe(shape)
    for _ in range(draw(st.integers(1, 3))):
        before = known(recipe.physical_shape)
        tiles = [draw(st.integers(1, 4)) for _ in before]
        counts = [-(-n // t) + draw(st.integers(0, 1)) for n, t in zip(before, tiles, strict=True)]
        padded = tuple(map(int.__mul__, counts, tiles))
        order = draw(st.permutations(range(2 * len(before))))
        if prod(padded) > LARGEST:
            break
        steps = [Pad(padded), Split(tuple(tiles)), Transpose(tuple(order))]
        steps += [Merge((2,) * len(before))] * draw(st.booleans())
        recipe = Recipe(shape, (*recipe.steps, *steps))
    return recipe


@settings(max_examples=3 * settings.default.max_examples)
@given(blocks_of_blocks() | recipes())
def test_the_first_slot_that_no_element_takes(recipe: Recipe) -> None:
    box, start = known(recipe.physical_shape), recipe.offset
    taken = {start + np.ravel_multi_index(at, box) for _, held in places(recipe) for at in held}
    free = (slot for slot in range(known((recipe.size,))[0]) if slot not in taken)
    assert first_padding(recipe) == next(free, None)
