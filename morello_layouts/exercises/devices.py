"""Exercises about arrays on many devices."""

from __future__ import annotations

from typing import Any

from morello_layouts.description import count
from morello_layouts.exercises.exercise import Exercise, Feedback, number_of

device_of_a_row = Exercise(
    "14 rows are cut in 4 blocks of `ceil(14/4)`, and 6 columns in 2 blocks. The 8 parts lie on "
    "devices 0 to 7, row by row. Which device has element `(i, j)`?",
    (14, 6),
    "2*(i//4) + j//3",
    names=("i", "j"),
    value="device",
    hint="How many devices does a step to the next block of rows pass?",
)


def _empty(answer: Any) -> Feedback:
    """Check for a number of rows that leaves the last of 8 devices empty."""
    rows = number_of(answer)
    if not 33 <= rows <= 40:
        return Feedback(False, "give a number of rows from 33 to 40")
    block = -(-rows // 8)
    left = max(rows - 7 * block, 0)
    comment = f"{rows} rows in blocks of {block}: the last device has {count(left, 'row')}"
    return Feedback(left == 0, comment, left)


empty_device = Exercise(
    "Rows lie on 8 devices in blocks of `ceil(n/8)`. Give a number of rows from 33 to 40 for which "
    "the last device has none, although there are rows enough for all.",
    (40,),
    "34",
    check=_empty,
    hint="How many rows do the first 7 devices take?",
)

row_on_its_process = Exercise(
    "20 rows go around 3 processes in blocks of 2: rows 0 and 1 to process 0, 2 and 3 to process "
    "1, 4 and 5 to process 2, 6 and 7 to process 0 again. Which row of its process's own array is "
    "row `i`, counted from 0?",
    (20,),
    "2*(i//6) + i%2",
    names=("i",),
    value="row",
    hint="Each turn of 6 rows leaves 2 on a process.",
)


def _moved(answer: Any) -> Feedback:
    """Check for the elements that move from rows to blocks of a 12 by 12 matrix."""
    given = number_of(answer)
    comment = "a device keeps what it has and needs: 3 rows of its 6 columns"
    if given == 72:
        return Feedback(True, f"{comment}, so 18 of 36 elements")
    if given == 144:
        return Feedback(False, f"not all of them: {comment}", given)
    return Feedback(False, f"each of the 144 elements is needed once; {comment}", given)


least_moved = Exercise(
    "A matrix of 12 by 12 lies on 4 devices, 3 rows on each. It is to lie in 4 blocks of 6 by 6, "
    "numbered row by row. How many elements must move to another device?",
    (12, 12),
    "72",
    check=_moved,
    hint="Device 1 has rows 3 to 5, and needs rows 0 to 5 of the columns from 6 on.",
)
