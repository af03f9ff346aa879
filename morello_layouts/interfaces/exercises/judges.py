"""What decides about the answers of exercises that have more than one right answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations, product
from math import prod
from typing import TYPE_CHECKING, Any, Final

from morello_layouts.core.description import count
from morello_layouts.core.lazy import regex
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.interfaces.api.layouts import index_map
from morello_layouts.interfaces.api.proofs import bitcast, equal, is_bijective, is_surjective
from morello_layouts.interfaces.exercises.exercise import Feedback, numbers_of

if TYPE_CHECKING:
    from morello_layouts.proof import Proof


def middle_is_fastest(given: IndexMap | AffineMap) -> Proof | Feedback:
    """Check for a bijection with stride 1 along the middle dimension."""
    for i, j, k in product(range(2), range(2), range(4)):
        here, there = given(i, j, k), given(i, j + 1, k)
        if there != here + 1:
            comment = (
                f"({i}, {j}, {k}) lies at {here}, its neighbour ({i}, {j + 1}, {k}) at {there}"
            )
            return Feedback(False, comment, ((i, j, k), (i, j + 1, k)))
    return is_bijective(given)


def slots(answer: Any) -> Feedback:
    """Check that two elements lie in one slot of ``63*i + j``."""
    i, j, k, m = numbers_of(answer, 4)
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
    parameter = "s8[64,128,256]{2,1,0:T(32,128)(4,1)}"
    return bitcast(parameter, given, correspondence=(2, 0, 1))


def _busiest(starts: Sequence[int], bits: int) -> list[int]:
    """Return the lanes that ask the busiest bank for different words in one round.

    Lanes read 4 bytes of 32-bit elements, 32 lanes in a round, or 16 bytes of 16-bit elements, 8
    lanes in a round.
    """
    lanes, words = (32, 1) if bits == 32 else (8, 4)
    busiest: list[int] = []
    for first in range(0, len(starts), lanes):
        asked: dict[int, dict[int, int]] = {}
        for lane, start in enumerate(starts[first : first + lanes], first):
            word = start * bits // 32
            for each in range(word, word + words):
                asked.setdefault(each % 32, {}).setdefault(each, lane)
        busiest = max([busiest, *map(list, map(dict.values, asked.values()))], key=len)
    return busiest


def two_ways(answer: Any) -> Feedback:
    """Check for a pitch at which a column has two words in each bank."""
    (pitch,) = numbers_of(answer)
    if not 32 <= pitch <= 1 << 20:
        return Feedback(False, "give a pitch of at least 32 elements, the length of a row")
    ways = len(_busiest(range(0, 32 * pitch, pitch), 32))
    return Feedback(ways == 2, f"with a pitch of {pitch} it takes {count(ways, 'round')}", ways)


def smallest(answer: Any) -> Feedback:
    """Check for the smallest pitch at which vectors of a column have no conflicts."""
    (pitch,) = numbers_of(answer)
    if not 64 <= pitch <= 1 << 20:
        return Feedback(False, "give a pitch of at least 64 elements, the length of a row")
    if pitch % 8:
        return Feedback(False, f"row 1 would begin at byte {2 * pitch}, no multiple of 16", pitch)
    ways = len(_busiest(range(0, 64 * pitch, pitch), 16))
    if ways > 1:
        return Feedback(False, f"with a pitch of {pitch} eight lanes take {ways} rounds", ways)
    comment = f"no conflicts, with {pitch - 64} elements of padding in a row"
    return Feedback(pitch == 72, comment if pitch == 72 else f"{comment}; 8 are enough", pitch)


def without_conflicts(*accesses: str, bits: int) -> Callable[[IndexMap | AffineMap], Feedback]:
    """Return a judge of a placement without padding and without conflicts."""

    def judge(given: IndexMap | AffineMap) -> Feedback:
        rows, columns = given.shape
        offsets = {at: int(given(*at)) for at in product(range(rows), range(columns))}
        held = Counter(offsets.values())
        slot, most = held.most_common(1)[0]
        if most > 1:
            return Feedback(False, f"{most} elements lie in slot {slot}", slot)
        if {min(held), max(held)} != {0, rows * columns - 1}:
            slot = max(held)
            told = f"the offsets reach {slot}, and the buffer has {rows * columns} slots"
            return Feedback(False, told, slot)
        vector = 1 if bits == 32 else 8
        if any(offsets[i, j] != offsets[i, j - 1] + 1 for i, j in offsets if j % vector):
            return Feedback(False, f"{vector} elements of a row must stay next to each other")
        starts = [at for at in offsets if at[1] % vector == 0]
        for access in accesses:
            order = sorted(starts, key=lambda at: at[1]) if access == "column" else starts
            for k in range(0, len(order), 32):
                lanes = _busiest([offsets[at] for at in order[k : k + 32]], bits)
                if len(lanes) > 1:
                    comment = f"{access} from {order[k]}: lanes {lanes[0]} and {lanes[1]} ask"
                    told = f"{comment} for two words of one bank"
                    return Feedback(False, told, (lanes[0], lanes[1]))
        return Feedback(True, "no padding and no conflicts")

    return judge


_SWIZZLE: Final = regex(r"\s*+(?:Sw|Swizzle)?\s*+<\s*(\d)\s*,\s*(\d)\s*,\s*(\d)\s*>\s*")


def on_bytes(answer: Any) -> Feedback:
    """Check for the swizzle of bytes that moves elements of 32 bits as ``Sw<2,2,3>`` does."""
    found = _SWIZZLE.fullmatch(answer) if isinstance(answer, str) else None
    if found is None:
        return Feedback(False, "give a swizzle, such as Sw<2,2,3>")
    bits, base, shift = map(int, found.groups())

    def swizzled(x: int, base: int) -> int:
        return x ^ ((x >> base + shift) % (1 << bits)) << base

    for x in range(1 << 12):
        right = 4 * (x ^ ((x >> 5) % 4) << 2)
        if swizzled(4 * x, base) != right:
            comment = f"element {x}, byte {4 * x}, goes to byte {right}, by yours to "
            return Feedback(False, f"{comment}{swizzled(4 * x, base)}", x)
    return Feedback(True, "each element goes to the same place")


def holder(answer: Any) -> Feedback:
    """Check for the lane and the register of element (9, 6)."""
    lane, register = numbers_of(answer, 2)
    if not (0 <= lane < 32 and 0 <= register < 8):
        return Feedback(False, "lanes go from 0 to 31, registers from 0 to 7")
    # PTX: row = lane // 4 + 8 for a1 and a3; column = 2 * (lane % 4) + half + 8 for a2 and a3.
    row = lane // 4 + 8 * (register // 2 % 2)
    column = lane % 4 * 2 + register % 2 + 8 * (register // 4)
    here = f"register {register} of lane {lane} has element ({row}, {column})"
    return Feedback((row, column) == (9, 6), here, (row, column))


def empty(answer: Any) -> Feedback:
    """Check for a number of rows that leaves the last of 8 devices empty."""
    (rows,) = numbers_of(answer)
    if not 33 <= rows <= 40:
        return Feedback(False, "give a number of rows from 33 to 40")
    block = -(-rows // 8)
    left = max(rows - 7 * block, 0)
    comment = f"{rows} rows in blocks of {block}: the last device has {count(left, 'row')}"
    return Feedback(left == 0, comment, left)


def moved(answer: Any) -> Feedback:
    """Check for the elements that move from rows to blocks of a 12 by 12 matrix."""
    (given,) = numbers_of(answer)
    comment = "a device keeps what it has and needs: 3 rows of its 6 columns, 18 of 36 elements"
    return Feedback(given == 72, comment if given == 72 else f"not {given}", given)


def rounded(answer: Any) -> Feedback:
    """Check for a quotient that is wrong if it is computed as a product with a rounded number."""
    p, d = numbers_of(answer, 2)
    if not (0 <= p < 1000 and 1 < d < 100):
        return Feedback(False, "give (p, d): p from 0 to 999, d from 2 to 99")
    if (p, d) == (49, 49):
        return Feedback(False, "(49, 49) is the one of the question; give another", (p, d))
    rounded, exact = int((1 / d) * p), p // d
    comment = f"floor((1/{d})*{p}) is {rounded} in floats, and {p}//{d} is {exact}"
    return Feedback(rounded != exact, comment, (p, d))


def rows(answer: Any) -> Feedback:
    """Check for the largest row length at which rows of stride 8 do not meet."""
    (given,) = numbers_of(answer)
    if given == 8:
        return Feedback(True, "rows of 8 fill their stride, and the first of 9 meets the next row")
    if given > 8:
        comment = f"(0, 8) and (1, 0) share offset 8 if rows have {given}"
        return Feedback(False, comment, ((0, 8), (1, 0)))
    return Feedback(False, f"rows of {given + 1} do not meet either")


_LOOPS = {"i0": 2, "j0": 2, "i1": 2, "j1": 3}


def column_by_column(answer: Any) -> Feedback:
    """Check for an order of four loops that visits a matrix of 4 by 6 column by column."""
    order = answer.replace(",", " ").split() if isinstance(answer, str) else answer
    order = tuple(order) if isinstance(order, list | tuple) else ()
    if sorted(map(str, order)) != sorted(_LOOPS):
        return Feedback(False, "give the four loops, the outermost first, such as 'i0 j0 i1 j1'")
    visited = []
    for values in product(*(range(_LOOPS[name]) for name in order)):
        at = dict(zip(order, values, strict=True))
        visited.append((2 * at["i0"] + at["i1"], 3 * at["j0"] + at["j1"]))
    for k, element in enumerate(visited):
        if element != (expected := (k % 4, k // 4)):
            return Feedback(False, f"visit {k} is of {element}, not of {expected}", element)
    return Feedback(True, "column by column, each element once")


def _written(token: int, scale: int) -> int:
    """Return where the notebook's producer puts a scale: 16 tokens of 8, in groups of 4 tokens."""
    return 32 * (token // 4) + 4 * scale + token % 4


def agreeing(answer: Any) -> Feedback:
    """Check for an element that producer and consumer put in one place, but not the first."""
    token, scale = numbers_of(answer, 2)
    if not (0 <= token < 16 and 0 <= scale < 8):
        return Feedback(False, "give an element, such as (3, 2), of tokens 0 to 15, scales 0 to 7")
    if (token, scale) == (0, 0):
        return Feedback(False, "the first element is right, but find another one", (0, 0))
    written, read = _written(token, scale), 8 * token + scale
    comment = f"({token}, {scale}) is written at offset {written} and read at offset {read}"
    return Feedback(written == read, comment, (token, scale))


def hiding(answer: Any) -> Feedback:
    """Check for sizes at which a wrong reader of groups of 4 scales is right."""
    tokens, scales = numbers_of(answer, 2)
    if not (tokens > 1 and scales > 0 and scales % 4 == 0):
        return Feedback(False, "give sizes as (T, S): T above 1, and S a multiple of 4")
    if scales == 4:
        return Feedback(True, "one group: both have the four scales of each token in order")
    comment = (
        f"at T = {tokens}, S = {scales} element (0, 4) is written at {4 * tokens} and read at 4"
    )
    return Feedback(False, comment, (0, 4))


without_conflicts_in_words = without_conflicts("row", "column", bits=32)
without_conflicts_in_halves = without_conflicts("row", "column", bits=16)
