"""The pictures that hand-written pages show, drawn from the layouts' text alone.

The ``xla`` ones are the figures of XLA's document on tiled layouts, the ``morello`` ones the
matrices of the Morello book's page on data layouts. The ``step`` ones show a recipe step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import morello_layouts as ml
from morello_layouts.core.maps import IndexMap
from morello_layouts.outputs.picture import Picture


def pictures() -> dict[str, str]:
    """Return each picture as SVG, by the name of its file."""
    of_layouts = {name: picture.svg() for name, picture in (layouts() | steps()).items()}
    return of_layouts | {"q4_K": ml.record("q4_K").svg()}


def layouts() -> dict[str, Picture]:
    """Return the pictures of single layouts, and of two side by side."""
    return {
        "xla_figure_1": ml.draw("f32[3,5]{1,0:T(2,2)}"),
        "xla_figure_2": ml.draw("bf16[4,8]{1,0:T(2,4)(2,1)}", box_tiles=2),
        "xla_figure_3": ml.draw("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", colour="word"),
        "xla_figure_4": ml.draw("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}", dots=[(6, 5)]),
        "morello_row_major": ml.draw("[0, 1]", (6, 8)),
        "morello_packed": ml.draw("[1, 0, 1 p(4)]", (6, 8)),
        "beside": ml.draw("f32[6,8]{1,0:T(2,4)}", "[1, 0, 1 p(4)]"),
        "odd_even": ml.draw("[0, 1, 1 oe(16)]", (4, 16)),
        "words_by_row": ml.draw("bf16[4,8]{1,0:T(4,4)}", colour="word"),
        "words_by_column": ml.draw("bf16[4,8]{1,0:T(4,4)(2,1)}", colour="word"),
    }


def steps() -> dict[str, Picture]:
    """Return the pictures of a recipe, one after each step."""
    recipe = ml.index_map("f32[3,5]{1,0:T(2,2)}").recipe
    names = ("row_major", "pad", "split", "transpose")
    return {f"step_{k}_{name}": ml.draw(first_steps(recipe, k)) for k, name in enumerate(names)}


def first_steps(recipe: ml.Recipe, count: int) -> IndexMap:
    """Return the index map of a recipe's first steps."""
    first = ml.Recipe(recipe.shape, recipe.steps[:count])
    sizes = first.physical_shape
    titles = (
        "f32[3,5], no step",
        "padded to [4,6]",
        "split to [2,2,3,2]",
        "transposed to [2,3,2,2]",
    )

    def reference(d: Sequence[Any], _: object) -> Any:
        if count < 2:
            return sizes[1] * d[0] + d[1]
        if count == 2:
            return 12 * (d[0] // 2) + 6 * (d[0] % 2) + 2 * (d[1] // 2) + d[1] % 2
        return 12 * (d[0] // 2) + 4 * (d[1] // 2) + 2 * (d[0] % 2) + d[1] % 2

    return IndexMap.of(first, reference, titles[count])
