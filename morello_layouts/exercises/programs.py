"""Exercises about loops, and about buffers that two kernels share."""

from __future__ import annotations

from itertools import product
from operator import index
from typing import Any

from morello_layouts.exercises.exercise import Exercise, Feedback

offset_of_a_loop = Exercise(
    "A matrix of 8 rows and 12 columns lies in tiles of 4 by 3, `{1,0:T(4,3)}`. Four loops run "
    "over it: `i = 4*i0 + i1` and `j = 3*j0 + j1`. Write the offset as a sum of loop variables "
    "times strides.",
    (2, 4, 4, 3),
    "48*i0 + 12*j0 + 3*i1 + j1",
    names=("i0", "j0", "i1", "j1"),
    hint="How many elements does a step of each loop pass: in a row of a tile, a tile, a row of "
    "tiles?",
)

_LOOPS = {"i0": 2, "j0": 2, "i1": 2, "j1": 3}


def _row_by_row(answer: Any) -> Feedback:
    """Check for an order of four loops that visits a matrix of 4 by 6 row by row."""
    order = answer.split() if isinstance(answer, str) else answer
    order = tuple(order) if isinstance(order, list | tuple) else ()
    if sorted(map(str, order)) != sorted(_LOOPS):
        return Feedback(False, "give the four loops, the outermost first, such as 'i0 j0 i1 j1'")
    visited = []
    for values in product(*(range(_LOOPS[name]) for name in order)):
        at = dict(zip(order, values, strict=True))
        visited.append((2 * at["i0"] + at["i1"], 3 * at["j0"] + at["j1"]))
    for k, element in enumerate(visited):
        if element != (expected := divmod(k, 6)):
            return Feedback(False, f"visit {k} is of {element}, not of {expected}", element)
    return Feedback(True, "row by row, each element once")


loops_row_by_row = Exercise(
    "A matrix of 4 rows and 6 columns lies in tiles of 2 by 3. With `i = 2*i0 + i1` and `j = 3*j0 "
    "+ j1`, in which order do the four loops visit it row by row? Give their names, the outermost "
    "first.",
    (4, 6),
    "i0 i1 j0 j1",
    check=_row_by_row,
    hint="Two visits one after the other are of neighbours in a row: which loop is innermost? "
    "When a row ends, which one steps?",
)

rows_of_the_last_tile = Exercise(
    "`M` rows lie in tiles of 8. How many of them are in the last tile? Write a formula of `m = M "
    "- 1`, from 0 to 63, with at most one floor or mod.",
    (64,),
    "m%8 + 1",
    names=("m",),
    value="number of rows",
    most=1,
    hint="In which place of its tile lies the last row, `m`?",
)

offset_in_panels = Exercise(
    "A matrix of `K` rows and `16*P` columns lies in `P` panels of 16 columns, one after the "
    "other, and each panel row by row. At which offset is row `k` of panel `p`, column `c` in the "
    "panel?",
    ("P", "K", 16),
    "16*K*p + 16*k + c",
    names=("p", "k", "c"),
    hint="How many elements has a panel?",
)


def _written(token: int, scale: int) -> int:
    """Return where the notebook's producer puts a scale: 16 tokens of 8, in groups of 4 tokens."""
    return 32 * (token // 4) + 4 * scale + token % 4


def _agreeing(answer: Any) -> Feedback:
    """Check for an element that producer and consumer put in one place, but not the first."""
    try:
        token, scale = map(index, answer)
    except (TypeError, ValueError):
        token = scale = -1
    if not (0 <= token < 16 and 0 <= scale < 8):
        return Feedback(False, "give an element, such as (3, 2), of tokens 0 to 15, scales 0 to 7")
    if (token, scale) == (0, 0):
        return Feedback(False, "the first element is right, but find another one", (0, 0))
    written, read = _written(token, scale), 8 * token + scale
    comment = f"({token}, {scale}) is written at offset {written} and read at offset {read}"
    return Feedback(written == read, comment, (token, scale))


right_by_luck = Exercise(
    "16 tokens have 8 scales each. They are written as `[0, 1, 0 p(4)]` and read as `[0, 1]`. Some "
    "are right by luck. Find one, other than the first: give `(token, scale)`.",
    (16, 8),
    (4, 0),
    check=_agreeing,
    hint="The groups of 4 tokens begin and end at the same offsets on both sides.",
)


def _hiding(answer: Any) -> Feedback:
    """Check for sizes at which a wrong reader of groups of 4 tokens is right."""
    try:
        tokens, scales = map(index, answer)
    except (TypeError, ValueError):
        tokens = scales = 0
    if not (tokens > 0 and tokens % 4 == 0 and scales > 0):
        return Feedback(False, "give sizes as (T, S): T a multiple of 4 above 0, and S above 0")
    if scales == 1:
        return Feedback(True, "one scale a token: both are the tokens in order")
    comment = f"at T = {tokens}, S = {scales} element (0, 1) is written at 4 and read at 1"
    return Feedback(False, comment, (0, 1))


sizes_that_hide_it = Exercise(
    "`T` tokens have `S` scales each, written as `[0, 1, 0 p(4)]`, so 4 divides `T`, and read as "
    "`[0, 1]`. A test passes. At which sizes was it run? Give one pair `(T, S)`.",
    ("T", "S"),
    (8, 1),
    check=_hiding,
    hint="What is left of `4*S*(t//4) + 4*s + t%4 = S*t + s` if `t` is 0?",
)

nobody_wrote = Exercise(
    "A producer writes the elements of a matrix of `M` rows and 6 columns, which lies in tiles of "
    "4 by 8. A consumer reads whole tiles. How many slots does it read that nobody wrote? Write a "
    "formula of `m = M - 1`, from 0 to 63.",
    (64,),
    "2*(m + 1) + 8*(3 - m%4)",
    names=("m",),
    value="number of slots",
    hint="Each row lacks 2 columns, and the last tile lacks rows of 8 slots.",
)

slot_of_the_writer = Exercise(
    "8 tokens have 2 scales each, written as `[0, 1, 0 p(4)]`. They are copied to a buffer in "
    "rows, `[0, 1]`. Which slot of the producer's buffer goes to slot `p` of the new one?",
    (16,),
    "8*(p//8) + 4*(p%2) + (p//2)%4",
    names=("p",),
    value="old slot",
    hint="Slot `p` of the rows holds token `p//2`, scale `p%2`. Where did the producer put that?",
)

token_of_a_slot = Exercise(
    "8 tokens have 2 scales each, in `[0, 1, 0 p(4)]`. A certificate holds the inverse. Which "
    "token does slot `p` belong to?",
    (16,),
    "4*(p//8) + p%4",
    names=("p",),
    value="token",
    hint="A group of 4 tokens takes 8 slots. What is the fastest digit?",
)
