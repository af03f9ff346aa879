"""oneDNN's layouts in words."""

from __future__ import annotations

from collections.abc import Sequence

from morello_layouts.description import (
    Description,
    Part,
    axes_in_words,
    dimensions,
    listed,
    memory_axes,
    sizes_in,
)
from morello_layouts.notations.blocks import NAMES
from morello_layouts.notations.onednn.layout import OnednnLayout


def describe(layout: OnednnLayout, shape: Sequence[int] | None = None) -> Description:
    """Say what each letter and each block of a tag means."""
    dims = dimensions(shape or (None,) * len(layout.order), names=layout.letters)
    axes = memory_axes(layout.recipe(sizes_in(dims) if shape is None else shape), dims)
    kind = "oneDNN layout"
    if (letters := layout.letters) != "".join(letters[dim] for dim in layout.order):
        kind = f"{kind} of an array ({', '.join(letters)})"
    parts = tuple(map(Part, layout.texts, axes_in_words(axes, dims)))
    return Description(str(layout), kind, _headline(layout), dims, parts, axes)


def _headline(layout: OnednnLayout) -> str:
    names = {} if "a" in layout.letters else NAMES
    words = [names.get(letter, letter) for letter in layout.letters]
    if not layout.blocks:
        letter, word = layout.letters[layout.order[-1]], words[layout.order[-1]]
        return f"{letter} varies fastest" if word == letter else f"{letter} ({word}) varies fastest"
    return f"in blocks of {listed([words[dim] for dim in dict(layout.blocks)])}"
