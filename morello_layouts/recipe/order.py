"""In which order the dimensions of an array come in memory."""

from __future__ import annotations

from morello_layouts.recipe.steps import Merge, Pad, Recipe, Split, Transpose

__all__ = ["major_order"]


def major_order(recipe: Recipe) -> tuple[int, ...]:
    """The logical dimensions by their first axis in memory, the most major first.

    >>> major_order(Recipe((6, 8), (Split((None, 4)), Transpose((1, 0, 2)))))
    (1, 0)
    """
    axes: list[tuple[int, ...]] = [(dim,) for dim in range(len(recipe.shape))]
    for step in recipe.steps:
        match step:
            case Pad():
                pass
            case Split(tiles):
                pairs = zip(axes, tiles, strict=True)
                axes = [axis for axis, t in pairs for _ in range(1 if t is None else 2)]
            case Transpose(order):
                axes = [axes[k] for k in order]
            case Merge():
                groups = step.groups(range(len(axes)))
                axes = [tuple(dim for k in group for dim in axes[k]) for group in groups]
    return tuple(dict.fromkeys(dim for axis in axes for dim in axis))
