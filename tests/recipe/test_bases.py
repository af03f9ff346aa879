"""Layouts from their bases: each place holds the exclusive or of the bases of its bits."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

import pytest
from hypothesis import given

from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Split,
    Transpose,
    Window,
    Xor,
    bases_of_recipe,
    delinearize,
    known,
    linear_index,
    offset_of,
    recipe_of_bases,
)
from tests.support.recipes import places, recipes

Bases = Mapping[str, Sequence[Sequence[int]]]


def random_layouts(count: int, seed: int = 3) -> Iterator[tuple[tuple[int, ...], Bases]]:
    """Layouts of small arrays: mixed bits, bits that repeat others, axes with and without names."""
    source = random.Random(seed)
    for _ in range(count):
        shape = tuple(1 << source.randrange(4) for _ in range(source.randrange(1, 4)))
        bits = prod(shape).bit_length() - 1
        vectors = [1 << k for k in range(bits)]
        for _ in range(source.randrange(6) if bits > 1 else 0):
            one, other = source.sample(range(bits), 2)
            vectors[one] ^= vectors[other]
        for _ in range(source.randrange(3)):
            vectors.append(source.choice([0, source.randrange(1 << bits)]))
        source.shuffle(vectors)
        coordinates = [tuple(delinearize(v, shape)) for v in vectors]
        if source.random() < 0.4:
            yield shape, {"offset": coordinates}
        else:
            low, high = sorted(source.randrange(len(vectors) + 1) for _ in range(2))
            parts = coordinates[:low], coordinates[low:high], coordinates[high:]
            yield shape, dict(zip(("warp", "lane", "register"), parts, strict=True))


def by_definition(shape: tuple[int, ...], bases: Bases) -> list[int]:
    """The element at each offset, as a row-major number, the offset's bits one by one."""
    elements = [0]
    for name in reversed([*bases]):
        for basis in bases[name]:
            elements += [element ^ linear_index(basis, shape, 0) for element in elements]
    return elements


def test_round_trip() -> None:
    for shape, bases in random_layouts(500):
        found = bases_of_recipe(recipe_of_bases(shape, bases))
        assert found == {name: tuple(part) for name, part in bases.items()}, (shape, bases)


def test_every_place_holds_what_its_bits_say() -> None:
    for shape, bases in random_layouts(100, seed=4):
        recipe = recipe_of_bases(shape, bases)
        elements = by_definition(shape, bases)
        assert recipe.size == len(elements)
        for at in product(*map(range, shape)):
            number = linear_index(at, shape, 0)
            replicas = product(*map(range, recipe.replica_sizes))
            places = {offset_of(recipe, at, 0, replica) for replica in replicas}
            assert places == {k for k, x in enumerate(elements) if x == number}
            assert offset_of(recipe, at, 0) == min(places)


@given(recipes())
def test_any_recipe_that_is_linear_comes_back_from_its_bases(recipe: Recipe) -> None:
    """Place by place; and a recipe without bases is not linear."""
    shape, size = known(recipe.physical_shape), known((recipe.size,))[0]
    slots = {p: at for at, held in places(recipe) for p in (_slot(recipe, place) for place in held)}
    bases = bases_of_recipe(recipe)
    numbers = [linear_index(slots[p], recipe.shape, 0) if p in slots else -1 for p in range(size)]
    if bases is None:
        is_power = size.bit_count() == 1 and all(n.bit_count() == 1 for n in known(recipe.shape))
        assert not (is_power and _is_linear(numbers))
    else:
        assert by_definition(known(recipe.shape), bases) == numbers
        back = recipe_of_bases(known(recipe.shape), bases)
        assert {_slot(back, place): at for at, held in places(back) for place in held} == slots
        assert prod(shape) == size


def _slot(recipe: Recipe, place: tuple[int, ...]) -> int:
    return linear_index(place, known(recipe.physical_shape), 0) + known((recipe.offset,))[0]


def _is_linear(numbers: list[int]) -> bool:
    """Whether each slot's element is the exclusive or of those of its bits."""
    pairs = ((p, p & -p) for p in range(1, len(numbers)))
    return (
        -1 not in numbers
        and numbers[0] == 0
        and all(numbers[p] == numbers[p ^ low] ^ numbers[low] for p, low in pairs)
    )


def test_names_are_the_axes() -> None:
    for shape, bases in random_layouts(300, seed=5):
        recipe = recipe_of_bases(shape, bases)
        if "offset" in bases:
            assert recipe.axis_names == ()
        else:
            assert recipe.axis_names == tuple(bases)
            assert recipe.physical_shape == tuple(1 << len(bases[name]) for name in bases)


@pytest.mark.parametrize(
    ("bases", "steps"),
    [
        ([(0, 1), (0, 2), (1, 0), (2, 0)], ()),
        ([(1, 0), (2, 0), (0, 1), (0, 2)], (Transpose((1, 0)),)),
        ([(0, 1), (0, 2), (1, 1), (2, 2)], (Xor(1, 0),)),
        ([(0, 1), (0, 2), (1, 2), (2, 0)], None),
    ],
)
def test_the_steps_are_as_few_as_one_would_write(
    bases: list[tuple[int, int]], steps: tuple[object, ...] | None
) -> None:
    found = recipe_of_bases((4, 4), {"offset": bases}).steps
    assert sum(isinstance(step, Xor) for step in found) <= 1
    assert steps is None or found == steps


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe((2, 3)),
        Recipe((2, 3), (Pad((2, 4)),)),
        Recipe((2, 2), (Pad((2, 4)),)),
        Recipe((6,), (Split((2,)), Transpose((1, 0)), Merge((2,)))),
        Recipe((4,), offset=4),
        Recipe((4,), tail_padding=4),
    ],
    ids=str,
)
def test_other_layouts_have_no_bases(recipe: Recipe) -> None:
    assert bases_of_recipe(recipe) is None


def test_reversed_and_renumbered_axes_are_not_linear() -> None:
    for step in (Window((8,), (7,), (-1,)), Renumber(0, (1, 2, 3, 0, 4, 5, 6, 7))):
        assert bases_of_recipe(Recipe((8,), (step,))) is None
