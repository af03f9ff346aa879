"""Random recipes with every step but the scatter, and what they do, place by place."""

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np
from hypothesis import strategies as st

from morello_layouts.core.recipe import (
    Merge,
    Pad,
    Recipe,
    Renumber,
    Replicate,
    Split,
    Step,
    Transpose,
    Xor,
    known,
)

LARGEST = 4096


@st.composite
def recipes(draw: st.DrawFn, *, pad_last: bool = True) -> Recipe:
    """Recipes of up to 8 steps; without ``pad_last``, no pad follows an xor."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    recipe = Recipe(shape)
    for _ in range(draw(st.integers(0, 8))):
        step = draw(steps_on(recipe, pad_last=pad_last))
        if step is not None:
            recipe = Recipe(shape, (*recipe.steps, step))
    if draw(st.booleans()):
        recipe = Recipe(shape, recipe.steps, draw(st.integers(0, 3)), draw(st.integers(0, 3)))
    return recipe


@st.composite
def steps_on(draw: st.DrawFn, recipe: Recipe, *, pad_last: bool) -> Step | None:
    """A step that fits behind a recipe, or None."""
    shape = tuple(n for n in recipe.physical_shape if isinstance(n, int))
    kind = draw(st.sampled_from([Pad, Split, Transpose, Merge, Xor, Xor, Replicate, Renumber]))
    room = LARGEST // prod(shape)
    if kind is Pad and (pad_last or not any(isinstance(s, Xor) for s in recipe.steps)):
        k = draw(st.integers(0, len(shape) - 1))
        size = draw(st.integers(shape[k], min(shape[k] * max(room, 1), shape[k] + 9)))
        return Pad((*shape[:k], size, *shape[k + 1 :]))
    if kind is Split:
        divisors = [[t for t in range(1, n + 1) if n % t == 0] for n in shape]
        return Split(tuple(draw(st.sampled_from([None, *own])) for own in divisors))
    if kind is Transpose:
        return Transpose(tuple(draw(st.permutations(range(len(shape))))))
    if kind is Merge and len(shape) > 1:
        k = draw(st.integers(0, len(shape) - 2))
        return Merge((*(1,) * k, 2, *(1,) * (len(shape) - k - 2)))
    if kind is Replicate and recipe.replicas == 1 and room >= 2:
        return Replicate(tuple(draw(st.lists(st.integers(1, 2), min_size=1, max_size=2))))
    if kind is Renumber:
        k = draw(st.integers(0, len(shape) - 1))
        return Renumber(k, tuple(draw(st.permutations(range(shape[k])))))
    targets = [k for k, n in enumerate(shape) if n.bit_count() == 1]
    if kind is Xor and targets and len(shape) > 1:
        target = draw(st.sampled_from(targets))
        source = draw(st.sampled_from([k for k in range(len(shape)) if k != target]))
        return Xor(target, source, draw(st.integers(0, 2)))
    return None


def places(recipe: Recipe) -> Iterator[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Yield each logical coordinate with the physical coordinates of its holders."""
    for element in np.ndindex(*known(recipe.shape)):
        found: list[tuple[int, ...]] = [element]
        for step, shape in zip(recipe.steps, recipe.shapes, strict=False):
            found = [new for at in found for new in _moved(step, known(shape), at)]
        yield element, found


def _moved(step: Step, shape: tuple[int, ...], at: tuple[int, ...]) -> list[tuple[int, ...]]:
    match step:
        case Pad():
            return [at]
        case Split():
            cuts = zip(at, step.numbers, strict=True)
            parts = ([x] if t is None else [*divmod(x, t)] for x, t in cuts)
            return [tuple(x for part in parts for x in part)]
        case Transpose(order):
            return [tuple(at[k] for k in order)]
        case Merge(counts):
            axes, new = list(zip(at, shape, strict=True)), []
            for count in counts:
                run, axes, total = axes[:count], axes[count:], 0
                for x, n in run:
                    total = total * n + x
                new.append(total)
            return [tuple(new)]
        case Xor(target, source, shift):
            low = (at[source] >> shift) & (shape[target] - 1)
            return [(*at[:target], at[target] ^ low, *at[target + 1 :])]
        case Renumber(axis, numbers):
            return [(*at[:axis], numbers[at[axis]], *at[axis + 1 :])]
        case Replicate(sizes):
            return [(*at, *copy) for copy in product(*map(range, known(sizes)))]
    raise AssertionError(step)
