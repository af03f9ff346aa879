"""What decides about the answers of exercises that have more than one right answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.description import count
from morello_layouts.core.lazy import numpy as np, regex
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.interfaces.api import (
    banks,
    bitcast,
    equal,
    index_map,
    is_bijective,
    is_surjective,
)
from morello_layouts.interfaces.exercises.exercise import Feedback, number_of
from morello_layouts.machines.gpu import BankConflicts, Lanes

if TYPE_CHECKING:
    from morello_layouts.proof import Proof


def middle_is_fastest(given: IndexMap | AffineMap) -> Proof | Feedback:
    """Check for a bijection with stride 1 along the middle dimension."""
    offsets = given(*np.indices((2, 3, 4)))
    wrong = np.argwhere(offsets[:, 1:] - offsets[:, :-1] != 1)
    if len(wrong):
        i, j, k = map(int, wrong[0])
        here, there = given(i, j, k), given(i, j + 1, k)
        comment = (
            f"({i}, {j}, {k}) lies at {here}, and its neighbour ({i}, {j + 1}, {k}) at {there}"
        )
        return Feedback(False, comment, ((i, j, k), (i, j + 1, k)))
    return is_bijective(given)


def slots(answer: Any) -> Feedback:
    """Check that two elements lie in one slot of ``63*i + j``."""
    try:
        (i, j), (k, m) = (map(index, element) for element in answer)
    except (TypeError, ValueError):
        i = j = k = m = -1
    if not all(0 <= x < 64 for x in (i, j, k, m)):
        comment = "give two elements, such as ((0, 1), (2, 3)), of rows and columns 0 to 63"
        return Feedback(False, comment)
    if (i, j) == (k, m):
        return Feedback(False, f"expected two elements, got ({i}, {j}) twice")
    slots = 63 * i + j, 63 * k + m
    comment = f"({i}, {j}) lies in slot {slots[0]}, ({k}, {m}) in slot {slots[1]}"
    return Feedback(slots[0] == slots[1], comment, slots)


def even_heights(given: IndexMap | AffineMap) -> Feedback:
    """Check that a layout has no padding if and only if 2 divides M."""
    if given.recipe is None:
        return Feedback(False, "give a layout, such as {1,0:T(8,128)}")
    proof = is_surjective(given)
    # A Morello layout exists only for sizes that meet its assumptions, so these are the condition.
    found = "; ".join(proof.assumptions) or str(proof.condition)
    right = found in {"2 | M", "2 divides M"}
    comment = f"your layout has no padding if and only if {found}"
    return Feedback(right, comment, None if right else proof.counterexample)


_ORDERED = (6, 200, 5)


_FEWEST = 10240  # in tiles of 8 by 128: 5 times 8 times 256


OTHER_TILES = Feedback(False, "give an XLA layout with tiles T(8,128), such as {2,1,0:T(8,128)}")


def slots_in_tiles(given: IndexMap | AffineMap) -> int | None:
    """Return the slots of a layout in tiles of 8 by 128, in any order; None for other layouts."""
    if given.recipe is None:
        return None
    for order in permutations(range(len(given.shape))):
        layout = index_map(f"{{{','.join(map(str, order))}:T(8,128)}}", given.shape)
        if given.size == layout.size and equal(given, layout).holds:
            return int(layout.size)
    return None


def pads_least(given: IndexMap | AffineMap) -> Feedback:
    """Check that a layout in tiles of 8 by 128 takes the fewest slots of any order."""
    slots = slots_in_tiles(given)
    if slots is None:
        return OTHER_TILES
    comment = f"{slots:,} slots for {prod(_ORDERED):,} elements"
    if slots == _FEWEST:
        return Feedback(True, f"{comment}, and no order takes fewer")
    return Feedback(False, f"{comment}; {_FEWEST:,} are enough", slots)


def is_full(given: IndexMap | AffineMap) -> Feedback:
    """Check that a layout in tiles of 8 by 128 has no padding."""
    slots = slots_in_tiles(given)
    if slots is None:
        return OTHER_TILES
    data = 4 * prod(given.shape)
    comment = f"it reserves {4 * slots:,} bytes for {data:,} bytes of data"
    return Feedback(4 * slots == data, comment, 4 * slots)


def is_free(given: IndexMap | AffineMap) -> Proof | Feedback:
    """Check that the transpose of the program's parameter is a bitcast."""
    if given.recipe is None:
        return Feedback(False, "give a layout, such as {1,0:T(32,128)(4,1)}")
    return bitcast("s8[128,256]{1,0:T(32,128)(4,1)}", given, correspondence=(1, 0))


def _ways(pitch: int, columns: int, access: str, bits: int) -> int:
    found = banks(f"({columns},{columns}):({pitch},1)", access, bits=bits)
    assert isinstance(found, BankConflicts)
    return found.ways


def two_ways(answer: Any) -> Feedback:
    """Check for a pitch at which a column has two words in each bank."""
    pitch = number_of(answer)
    if not 32 <= pitch <= 1 << 20:
        return Feedback(False, "give a pitch of at least 32 elements, the length of a row")
    ways = _ways(pitch, 32, "column", 32)
    return Feedback(ways == 2, f"with a pitch of {pitch} it takes {count(ways, 'round')}", ways)


def smallest(answer: Any) -> Feedback:
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


def without_conflicts(*accesses: str, bits: int) -> Callable[[IndexMap | AffineMap], Feedback]:
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
            for first, found in _instructions(offsets, access, bits):
                if found.has_conflicts:
                    one, other = (each.lanes[0] for each in found.collisions[:2])
                    comment = f"{access} from {first}: lanes {one} and {other} ask for two words"
                    return Feedback(False, f"{comment} of one bank", (one, other))
        return Feedback(True, "no padding and no conflicts")

    return judge


def _instructions(
    offsets: np.ndarray[Any, np.dtype[np.int64]], access: str, bits: int
) -> Iterator[tuple[tuple[int, int], BankConflicts]]:
    """Yield the first element and the conflicts of each instruction of a warp."""
    rows, columns = offsets.shape
    vector = 8 if bits == 16 else 1
    starts = [*product(range(rows), range(0, columns, vector))]
    if access == "column":
        starts.sort(key=lambda element: element[1])
    for k in range(0, len(starts), 32):
        lanes = [(int(offsets[element]),) for element in starts[k : k + 32]]
        reading = Lanes(lambda lane, at=lanes: at[lane], vector)  # type: ignore[misc]
        found = banks(f"({rows * columns}):(1)", reading, bits=bits)
        assert isinstance(found, BankConflicts)
        yield starts[k], found


_SWIZZLE: Final = regex(r"\s*+(?:Sw|Swizzle)?\s*+<\s*(\d)\s*,\s*(\d)\s*,\s*(\d)\s*>\s*")


def on_bytes(answer: Any) -> Feedback:
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


def holder(answer: Any) -> Feedback:
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


def empty(answer: Any) -> Feedback:
    """Check for a number of rows that leaves the last of 8 devices empty."""
    rows = number_of(answer)
    if not 33 <= rows <= 40:
        return Feedback(False, "give a number of rows from 33 to 40")
    block = -(-rows // 8)
    left = max(rows - 7 * block, 0)
    comment = f"{rows} rows in blocks of {block}: the last device has {count(left, 'row')}"
    return Feedback(left == 0, comment, left)


def moved(answer: Any) -> Feedback:
    """Check for the elements that move from rows to blocks of a 12 by 12 matrix."""
    given = number_of(answer)
    comment = "a device keeps what it has and needs: 3 rows of its 6 columns"
    if given == 72:
        return Feedback(True, f"{comment}, so 18 of 36 elements")
    if given == 144:
        return Feedback(False, f"not all of them: {comment}", given)
    return Feedback(False, f"each of the 144 elements is needed once; {comment}", given)


def length(answer: Any) -> Feedback:
    """Check for the length of a buffer that ends at a multiple of 16."""
    given = number_of(answer)
    comment = "whole tiles take 24 elements, and 32 is the next multiple of 16"
    return Feedback(given == 32, comment if given == 32 else f"not {given}: {comment[:28]}", given)


def rounded(answer: Any) -> Feedback:
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


def rows(answer: Any) -> Feedback:
    """Check for the largest row length at which rows of stride 8 do not meet."""
    given = number_of(answer)
    if given == 8:
        return Feedback(True, "rows of 8 fill their stride, and the first of 9 meets the next row")
    if given > 8:
        comment = f"(0, 8) and (1, 0) share offset 8 if rows have {given}"
        return Feedback(False, comment, ((0, 8), (1, 0)))
    return Feedback(False, f"rows of {given + 1} do not meet either")


_LOOPS = {"i0": 2, "j0": 2, "i1": 2, "j1": 3}


def row_by_row(answer: Any) -> Feedback:
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


def _written(token: int, scale: int) -> int:
    """Return where the notebook's producer puts a scale: 16 tokens of 8, in groups of 4 tokens."""
    return 32 * (token // 4) + 4 * scale + token % 4


def agreeing(answer: Any) -> Feedback:
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


def hiding(answer: Any) -> Feedback:
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


without_conflicts_in_words = without_conflicts("row", "column", bits=32)
without_conflicts_in_halves = without_conflicts("row", "column", bits=16)
