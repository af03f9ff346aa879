"""Exercises about banks, lanes and devices, and from the documents of layouts."""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import index
from typing import Any, Final

from morello_layouts.api import bank_conflicts
from morello_layouts.description import count
from morello_layouts.exercises.exercise import Exercise, Feedback, number_of
from morello_layouts.gpu import BankConflicts, Lanes
from morello_layouts.lazy import numpy as np
from morello_layouts.maps import AffineMap, IndexMap


def _ways(pitch: int, columns: int, access: str, bits: int) -> int:
    found = bank_conflicts(f"({columns},{columns}):({pitch},1)", access, bits=bits)
    assert isinstance(found, BankConflicts)
    return found.ways


def _two_ways(answer: Any) -> Feedback:
    """Check for a pitch at which a column has two words in each bank."""
    pitch = number_of(answer)
    if not 32 <= pitch <= 1 << 20:
        return Feedback(False, "give a pitch of at least 32 elements, the length of a row")
    ways = _ways(pitch, 32, "column", 32)
    return Feedback(ways == 2, f"with a pitch of {pitch} it takes {count(ways, 'round')}", ways)


two_way_pitch = Exercise(
    "A tile has 32 rows of 32 elements of 32 bits. Its rows begin `LD` elements apart, and a warp "
    "reads a column. Give an `LD` for which that takes exactly 2 rounds.",
    (32, 32),
    "34",
    check=_two_ways,
    hint="Lane l asks for word `LD*l`. After how many lanes does the bank `LD*l % 32` begin again?",
)


def _smallest(answer: Any) -> Feedback:
    """Check for the smallest pitch at which vectors of a column have no conflicts."""
    pitch = number_of(answer)
    if not 64 <= pitch <= 1 << 20:
        return Feedback(False, "give a pitch of at least 64 elements, the length of a row")
    if pitch % 8:
        return Feedback(False, f"row 1 would begin at byte {2 * pitch}, no multiple of 16", pitch)
    ways = _ways(pitch, 64, "column.b128", 16)
    if ways > 1:
        return Feedback(False, f"with a pitch of {pitch} eight lanes take {ways} rounds", ways)
    comment = f"no conflicts, with {pitch - 64} elements of padding in a row"
    return Feedback(pitch == 72, comment if pitch == 72 else f"{comment}; 8 are enough", pitch)


smallest_pitch = Exercise(
    "A tile has 64 rows of 64 elements of 16 bits. Eight lanes read eight rows of one column, each "
    "lane 16 bytes, which must begin at a multiple of 16 bytes. What is the smallest pitch without "
    "conflicts, in elements?",
    (64, 64),
    "72",
    check=_smallest,
    hint="Count in vectors of 16 bytes: the banks hold 8 of them. Which pitch takes eight rows to "
    "eight different places?",
)


def _without_conflicts(*accesses: str, bits: int) -> Callable[[IndexMap | AffineMap], Feedback]:
    """Return a judge of a placement without padding and without conflicts."""

    def judge(given: IndexMap | AffineMap) -> Feedback:
        rows, columns = given.shape
        offsets = np.asarray(given(*np.indices((rows, columns))))
        if sorted(offsets.reshape(-1).tolist()) != list(range(rows * columns)):
            seen, counts = np.unique(offsets, return_counts=True)
            slot = int(seen[counts.argmax()])
            comment = f"{counts.max()} elements lie in slot {slot}"
            if counts.max() == 1:
                slot = int(offsets.max())
                comment = f"the offsets reach {slot}, and the buffer has {rows * columns} slots"
            return Feedback(False, comment, slot)
        vector = 1 if bits == 32 else 8
        if (np.diff(offsets.reshape(rows, -1, vector), axis=2) != 1).any():
            return Feedback(False, f"{vector} elements of a row must stay next to each other")
        for access in accesses:
            found = _ways_of(offsets, access, bits)
            if found.has_conflicts:
                one, other = (each.lanes[0] for each in found.collisions[:2])
                comment = f"{access}: lanes {one} and {other} ask for two words of one bank"
                return Feedback(False, comment, (one, other))
        return Feedback(True, "no padding and no conflicts")

    return judge


def _ways_of(offsets: np.ndarray[Any, np.dtype[np.int64]], access: str, bits: int) -> BankConflicts:
    """Return the conflicts of an access to elements at these offsets, of one instruction."""
    rows, columns = offsets.shape
    vector = 8 if bits == 16 else 1
    across = columns // vector

    def at(lane: int) -> tuple[int]:
        i, j = (lane % rows, 0) if access == "column" else divmod(lane, across)
        return (int(offsets[i, j * vector]),)

    size = rows * columns
    found = bank_conflicts(f"({size}):(1)", Lanes(at, vector), bits=bits)
    assert isinstance(found, BankConflicts)
    return found


swizzle_by_hand = Exercise(
    "A tile of 32 rows and 32 columns of 32-bit elements is to lie in 1,024 slots, without "
    "padding. Neither a row nor a column may have conflicts. Where does element `(i, j)` lie?",
    (32, 32),
    "32*i + (i ^ j)",
    names=("i", "j"),
    size=1024,
    judge=_without_conflicts("row", "column", bits=32),
    hint="Row `i` stays in slots `32*i` to `32*i + 31`. In another order in each row: `i ^ j`.",
)

half_rows = Exercise(
    "Rows of 64 bytes: a tile has 64 rows of 32 elements of 16 bits. Lanes read 16 bytes each, "
    "eight lanes at a time, along the rows or down a column. Write an offset without conflicts "
    "and without padding.",
    (64, 32),
    "32*i + (j ^ 8*((i//2)%4))",
    names=("i", "j"),
    size=2048,
    judge=_without_conflicts("row", "column", bits=16),
    hint="A row has 4 vectors, and two rows fill the banks. So rows 0 and 1 need not differ, and "
    "rows 0 and 2 must.",
)

_SWIZZLE: Final = re.compile(r"\s*+(?:Sw|Swizzle)?\s*+<\s*(\d)\s*,\s*(\d)\s*,\s*(\d)\s*>\s*")


def _on_bytes(answer: Any) -> Feedback:
    """Check for the swizzle of bytes that moves elements of 16 bits as ``Sw<3,3,3>`` does."""
    found = _SWIZZLE.fullmatch(answer) if isinstance(answer, str) else None
    if found is None:
        return Feedback(False, "give a swizzle, such as Sw<3,3,3>")
    bits, base, shift = map(int, found.groups())

    def swizzled(x: int, base: int) -> int:
        return x ^ ((x >> base + shift) % (1 << bits)) << base

    for x in range(1 << 12):
        right = 2 * (x ^ ((x >> 6) % 8) << 3)
        if swizzled(2 * x, base) != right:
            comment = f"element {x}, byte {2 * x}, goes to byte {right}, by yours to "
            return Feedback(False, f"{comment}{swizzled(2 * x, base)}", x)
    return Feedback(True, "each element goes to the same place")


swizzle_of_bytes = Exercise(
    "`Sw<3,3,3>` changes the number of an element of 16 bits: bits 3 to 5 by bits 6 to 8. Write "
    "the swizzle that moves the same elements if it acts on addresses in bytes.",
    (64, 64),
    "Sw<3,4,3>",
    check=_on_bytes,
    hint="An element's number times 2 is its address. Which of B, M and S counts bits from bit 0?",
)


def _holder(answer: Any) -> Feedback:
    """Check for the lane and the register of element (9, 6)."""
    try:
        lane, register = map(index, answer)
    except (TypeError, ValueError):
        return Feedback(False, "give a lane and a register, such as (0, 3)")
    if not (0 <= lane < 32 and 0 <= register < 8):
        return Feedback(False, "lanes go from 0 to 31, registers from 0 to 7")
    # PTX: row = lane // 4 + 8 for a1 and a3; column = 2 * (lane % 4) + half + 8 for a2 and a3.
    row = lane // 4 + 8 * (register // 2 % 2)
    column = lane % 4 * 2 + register % 2 + 8 * (register // 4)
    here = f"register {register} of lane {lane} has element ({row}, {column})"
    return Feedback((row, column) == (9, 6), here, (row, column))


holder_of_an_element = Exercise(
    "Operand A of `mma.m16n8k16` has 16 by 16 elements of 16 bits, 8 in each lane. Which lane and "
    "which register, counted from 0, hold element (9, 6)?",
    (16, 16),
    (7, 2),
    check=_holder,
    hint="Four lanes share a row, two neighbours each. Registers 2 and 3 are 8 rows further down.",
)


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


position_of_any_element = Exercise(
    "An array has `A` by `B` by `C` elements, without tiles, in major to minor order. At which "
    "position is element `(i, j, k)`?",
    ("A", "B", "C"),
    "B*C*i + C*j + k",
    names=("i", "j", "k"),
    hint="How many elements does a step of `i` pass, and how many a step of `j`?",
)

tile_and_place_in_it = Exercise(
    "An array `f32[3,5]` lies in tiles of 2 by 2, three tiles beside each other. Write the "
    "position of element `(i, j)` as the number of its tile times 4, and its place in the tile.",
    (3, 5),
    "4*(3*(i//2) + j//2) + 2*(i%2) + j%2",
    names=("i", "j"),
    hint="The tile is `(i//2, j//2)`, of 2 by 3 tiles. The place in it is `(i%2, j%2)`.",
)

bit_of_a_boolean = Exercise(
    "The document proposes the tiles `(32,128)(32,1)` for arrays of one bit: the 32 elements of a "
    "column of a tile share a word. Which bit of the buffer has element `(i, j)` of 64 rows and "
    "128 columns?",
    (64, 128),
    "4096*(i//32) + 32*j + i%32",
    names=("i", "j"),
    value="bit",
    hint="A tile has 32 by 128 bits. In it, how far apart are two columns?",
)


def _length(answer: Any) -> Feedback:
    """Check for the length of a buffer that ends at a multiple of 16."""
    given = number_of(answer)
    comment = "whole tiles take 24 elements, and 32 is the next multiple of 16"
    return Feedback(given == 32, comment if given == 32 else f"not {given}: {comment[:28]}", given)


length_of_a_buffer = Exercise(
    "An array `f32[3,5]` lies in tiles of 2 by 2, and `tail_padding_alignment_in_elements` is 16, "
    "written `f32[3,5]{1,0:T(2,2)L(16)}`. How many elements does the buffer have?",
    (3, 5),
    "32",
    check=_length,
    hint="First complete the tiles. Then append elements up to a multiple of 16.",
)

operand_in_fast_memory = Exercise(
    "In `%fusion.3 = bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)} fusion(…)`, where does element "
    "`(i, j, k)` of the result lie, in elements from the start of its buffer in VMEM?",
    (32, 32, 4096),
    "131072*i + 32768*(j//8) + 1024*(k//128) + 256*(j//2%4) + 2*(k%128) + j%2",
    names=("i", "j", "k"),
    hint="The memory space does not change the order. Each `i` has 4 by 32 tiles of 8 by 128.",
)

without_division = Exercise(
    "Within its bounds, `(8*(i//8) + i%8)//64` of `i` from 0 to 63 is a number. Which one? SymPy "
    "alone does not know the bounds.",
    (64,),
    "0",
    names=("i",),
    value="value",
    most=0,
    hint="What is `8*(i//8) + i%8`?",
)


def _rounded(answer: Any) -> Feedback:
    """Check for a quotient that is wrong if it is computed as a product with a rounded number."""
    try:
        p, d = map(index, answer)
    except (TypeError, ValueError):
        p = d = -1
    if not (0 <= p < 1000 and 1 < d < 100 and d != 49):
        return Feedback(False, "give (p, d): p from 0 to 999, d from 2 to 99, not 49")
    rounded, exact = int((1 / d) * p), p // d
    comment = f"floor((1/{d})*{p}) is {rounded} in floats, and {p}//{d} is {exact}"
    return Feedback(rounded != exact, comment, (p, d))


rounded_quotient = Exercise(
    "`floor((1/49)*p)` in floats is wrong at `p = 49`. It is not alone: give another `(p, d)`, "
    "with `p` below 1000 and `d` below 100, at which `floor((1/d)*p)` is not `p//d`.",
    (1000, 100),
    (98, 98),
    check=_rounded,
    hint="Only a multiple of `d` can fail, and twice a number is rounded as the number itself is.",
)


def _rows(answer: Any) -> Feedback:
    """Check for the largest row length at which rows of stride 8 do not meet."""
    given = number_of(answer)
    if given == 8:
        return Feedback(True, "rows of 8 fill their stride, and the first of 9 meets the next row")
    if given > 8:
        comment = f"(0, 8) and (1, 0) share offset 8 if rows have {given}"
        return Feedback(False, comment, ((0, 8), (1, 0)))
    return Feedback(False, f"rows of {given + 1} do not meet either")


longest_row = Exercise(
    "A matrix of 4 rows of `N` elements is stored by `8*i + j`. ISL gives the set of all `N` for "
    "which two elements share an offset. Which is the largest `N` outside of it?",
    (4, 8),
    "8",
    check=_rows,
    hint="Which element of row 0 would lie where row 1 begins?",
)
