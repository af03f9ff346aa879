"""oneDNN's layouts in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from morello_layouts.description import (
    Description,
    Dimension,
    Part,
    axes_in_words,
    memory_axes,
    sizes_in,
)
from morello_layouts.notations.onednn.layout import OnednnLayout

_IMAGES: Final = {"n": "batch", "c": "channels", "d": "depth", "h": "height", "w": "width"}
_WEIGHTS: Final = {**_IMAGES, "g": "group", "o": "output channels", "i": "input channels"}
_STATES: Final = {**_WEIGHTS, "t": "time", "l": "layer", "d": "direction", "g": "gate"}


def describe(layout: OnednnLayout, shape: Sequence[int] | None = None) -> Description:
    """Say what each letter and each block of a tag means.

    Args:
        layout: the layout.
        shape: the sizes of the array; without them less can be said.

    Raises:
        ShapeError: if the layout does not fit the shape.
    """
    sizes = (None,) * len(layout.order) if shape is None else shape
    dims = tuple(
        Dimension(name, f"d{k}", n)
        for k, (name, n) in enumerate(zip(layout.letters, sizes, strict=True))
    )
    axes = memory_axes(layout.recipe(sizes_in(dims)), dims)
    texts = layout.texts
    parts = tuple(map(Part, texts, axes_in_words(axes, dims)))
    return Description(str(layout), "oneDNN layout", _headline(layout), dims, parts, axes)


def _headline(layout: OnednnLayout) -> str:
    """The layout in a few words."""
    names = _STATES if {"t", "l"} & {*layout.letters} else _WEIGHTS
    words = {letter: names.get(letter, letter) for letter in layout.letters}
    if "a" in words:
        words = {letter: letter for letter in words}
    if layout.blocks:
        blocked = dict.fromkeys(layout.letters[dim] for dim, _ in layout.blocks)
        return f"in blocks of {' and '.join(words[letter] for letter in blocked)}"
    return f"{words[layout.letters[layout.order[-1]]]} varies fastest"
