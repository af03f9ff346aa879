"""Exercises of the third notebook: tiles that do not fit, tiles of tiles, and their padding."""

from __future__ import annotations

from itertools import permutations
from math import prod

from morello_layouts.api import are_equivalent, index_map
from morello_layouts.exercises.exercise import Exercise, Feedback
from morello_layouts.formula import FormulaMap, IndexMap

__all__ = ["cheapest_order", "four_bytes", "four_tiles", "joined_rows", "ragged_tiles"]

ragged_tiles = Exercise(
    "`np.pad(a, [(0, 1), (0, 1)]).reshape(3, 2, 2, 4).transpose(0, 2, 1, 3).ravel()` packs an "
    "array `a` of 5 rows and 7 columns. Where does element `(i, j)` lie? A layout will do, or a "
    "formula.",
    (5, 7),
    "{1,0:T(2,4)}",
    names=("i", "j"),
    hint="Which two numbers of the reshape are the tile's sizes? How many tiles are in a row?",
)

four_bytes = Exercise(
    "Elements of 8 bits, in 8 rows and 8 columns, lie in tiles of 4 by 8. In a tile, the four "
    "elements of a column are to share a word of 32 bits. Which layout is that?",
    (8, 8),
    "{1,0:T(4,8)(4,1)}",
    names=("i", "j"),
    hint="The second tile holds what is next to each other in memory: how many rows of how many "
    "columns?",
)

four_tiles = Exercise(
    "Elements of 8 bits, in 16 rows and 8 columns, lie in tiles of 2 by 4. Four elements are to "
    "share a word: those at one place of four tiles that stand one below the other. "
    "Which layout is that?",
    (16, 8),
    "{1,0:T(2,4)(4,1,1,1)}",
    names=("i", "j"),
    hint="After the first tile the axes count rows of tiles, columns of tiles, rows in a tile, and "
    "columns in a tile. Of which of them does a word hold four?",
)

joined_rows = Exercise(
    "Three matrices of 3 rows and 4 columns, an array of 3 by 3 by 4, stand one below the other as "
    "nine rows, which lie in tiles of 2 by 2. Where does `(i, j, k)` lie? A layout will do, or a "
    "formula.",
    (3, 3, 4),
    "{2,1,0:T(*,2,2)}",
    names=("i", "j", "k"),
    hint="Which number has the row among the nine?",
)

_ORDERED = (6, 200, 5)
_FEWEST = 10240  # in tiles of 8 by 128: 5 times 8 times 256


OTHER_TILES = Feedback(False, "give an XLA layout with tiles T(8,128), such as {2,1,0:T(8,128)}")


def slots_in_tiles(given: IndexMap | FormulaMap) -> int | None:
    """Slots of a layout that orders the dimensions in tiles of 8 by 128; None of any other."""
    if isinstance(given, FormulaMap):
        return None
    for order in permutations(range(len(given.shape))):
        layout = index_map(f"{{{','.join(map(str, order))}:T(8,128)}}", given.shape)
        if given.size == layout.size and are_equivalent(given, layout).holds:
            return int(layout.size)
    return None


def _pads_least(given: IndexMap | FormulaMap) -> Feedback:
    """Whether a layout in tiles of 8 by 128 takes as few slots as any order of dimensions does."""
    slots = slots_in_tiles(given)
    if slots is None:
        return OTHER_TILES
    said = f"{slots:,} slots for {prod(_ORDERED):,} elements"
    if slots == _FEWEST:
        return Feedback(True, f"{said}, and no order takes fewer")
    return Feedback(False, f"{said}; {_FEWEST:,} would do", slots)


cheapest_order = Exercise(
    "An array of 6 by 200 by 5 elements lies in tiles of 8 by 128, `T(8,128)`. "
    "Which order of its dimensions takes the fewest slots?",
    _ORDERED,
    "{1,0,2:T(8,128)}",
    judge=_pads_least,
    hint="The first number in the braces is the dimension along the 128 columns of a tile, the "
    "second the one along its 8 rows. What does each become when it is rounded up?",
)
