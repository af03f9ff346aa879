"""Permutations of a tile's bytes in registers, by a table: interleaved, reversed, stepped runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from textwrap import wrap
from typing import Final, TypeAlias

from morello_layouts.core.expr.sizes import Int, is_nonnegative
from morello_layouts.core.fields import frozen
from morello_layouts.outputs.kernels.c_vectors import Hoist
from morello_layouts.outputs.kernels.domains import CopyAxis, Domain, estimate, peel, remaining_axes
from morello_layouts.outputs.kernels.nests import CACHE_LINE, Nest, Permutation, loop_order, nest_of

# Bytes of a tile, and shuffles, at most: both are as many lines of C.
_MOST_BYTES: Final = 1024
_MOST_SHUFFLES: Final = 120
# How much longer than its items a stepped run of the source may be: all of it is loaded.
_STEPPED: Final = 4
# The lengths to which a run grows in the target, and in the source.
_RUNS: Final = tuple(product((16, 32, 64), (8, 16, 32, 64)))

# What a byte of a target's piece is picked from, if from no byte of the source.
_PADDING: Final = -2
_ANYTHING: Final = -1

# The axes of a tile, and how many steps of each.
_Taken: TypeAlias = "list[tuple[CopyAxis, int]]"


@frozen
class PaddedAxis:
    """The axis of a domain after whose last step padding follows in the target."""

    axis: CopyAxis
    steps: int  #: its steps and those of the padding.

    def steps_of(self, axis: CopyAxis, count: int) -> int:
        """Return the steps of an axis in the target."""
        return self.steps if axis is self.axis else count


_UNPADDED: Final = PaddedAxis(CopyAxis(1, 0, 0), 1)


def permute(
    domain: Domain, axes: Sequence[CopyAxis], element: int, padded: PaddedAxis = _UNPADDED
) -> Nest | list[Domain] | None:
    """Return loops over tiles whose bytes registers permute, or the domains to vectorize instead.

    None if no tile saves enough loads and stores. The padding after an axis is written, too.

    >>> reversed_rows = [CopyAxis(64, -1, 1), CopyAxis(9, 64, 64)]
    >>> nest = permute(Domain(63, 0, tuple(reversed_rows)), reversed_rows, 1)
    >>> nest.loops, nest.micro.loads, nest.micro.stores, nest.micro.picks[:3]
    ((CopyAxis(count=9, source=64, target=64, clamp=None),), (-63,), (0,), (63, 62, 61))
    """
    if element > 8 or any(axis.clamp for axis in axes):
        return None
    found: tuple[_Taken, Permutation] | None = None
    choices = (_tile(axes, element, *runs, padded) for runs in _RUNS)
    for taken in {tuple(sorted((id(a), n) for a, n in one)): one for one in choices}.values():
        size = element * prod(padded.steps_of(axis, count) for axis, count in taken)
        if size > _MOST_BYTES or size < 16:
            continue
        micro = _permutation(taken, element, padded)
        if micro is not None and micro.cost < (found[1].cost if found else 1 / element):
            found = taken, micro
    if found is None:
        return None
    taken, micro = found
    for axis, count in taken:
        domains = peel(domain, axis, count, count)
        if domains:
            return domains
    return nest_of(domain, sorted(remaining_axes(list(axes), taken), key=loop_order), micro)


def _tile(
    axes: Sequence[CopyAxis], element: int, target: int, source: int, padded: PaddedAxis
) -> _Taken:
    """Return a tile with runs of at most so many bytes in the target, and in the source."""
    taken: _Taken = []
    for side, most in ((False, target), (True, source)):
        run = element
        while True:
            axis = next((a for a in axes if _stride(a, source=side) == run), None)
            if axis is None:
                break
            count = next((n for a, n in taken if a is axis), None)
            if count is None:
                count = _steps(axis, most // run)
                if count < 2 and axis.count != 1:
                    break
                taken.append((axis, count))
            run *= count if side else padded.steps_of(axis, count)
            if count != axis.count:
                break
    return taken


def _stride(axis: CopyAxis, *, source: bool) -> Int:
    stride = axis.source if source else axis.target
    return abs(stride) if isinstance(stride, int) else stride


def _steps(axis: CopyAxis, most: int) -> int:
    """Return how many steps of an axis a tile takes: all, or a power of two."""
    if isinstance(axis.count, int) and axis.count <= most:
        return axis.count
    steps = 1 << max(most, 1).bit_length() - 1
    fits = isinstance(axis.count, int) or axis.count % steps == 0
    return steps if fits else 0


def _permutation(taken: _Taken, element: int, padded: PaddedAxis) -> Permutation | None:
    """Return the micro-kernel of a tile; None if some offset of it may be below 0 at run time."""
    if padded is not _UNPADDED and (padded.axis, padded.axis.count) not in taken:
        return None
    if any(not isinstance(a.source, int) and not is_nonnegative(a.source) for a, _ in taken):
        return None
    run, low, span = element, 0, element
    rows: list[int] = []  # the numbers of the axes between runs
    for k in sorted(range(len(taken)), key=lambda k: _order(taken[k][0].target)):
        axis, count = taken[k]
        if axis.target != run:
            rows.append(k)
        run *= padded.steps_of(axis, count) if axis.target == run else 1
    apart: list[int] = []
    for k in sorted(range(len(taken)), key=lambda k: _order(taken[k][0].source)):
        axis, count = taken[k]
        if not isinstance(axis.source, int) or abs(axis.source) > _STEPPED * span:
            apart.append(k)
            continue
        low += min(0, (count - 1) * axis.source)
        span += (count - 1) * abs(axis.source)
    (load, pieces), (store, parts) = _pieces(span), _pieces(run)
    starts = {at: n for n, at in enumerate(product(*(range(taken[k][1]) for k in apart)))}
    at_target: dict[tuple[tuple[int, ...], int], int] = {}
    for at in product(*(range(count) for _, count in taken)):
        near = [k for k in range(len(taken)) if k not in apart]
        place = sum(at[k] * estimate(taken[k][0].source) for k in near) - low
        piece = min(place // load, len(pieces) - 1)
        if place + element > pieces[piece] + load and pieces[piece + 1] < pieces[piece] + load:
            piece += 1  # the last piece, which starts early
            if place < pieces[piece]:
                return None
        number = starts[tuple(at[k] for k in apart)] * len(pieces) + piece
        within = sum(
            at[k] * estimate(taken[k][0].target) for k in range(len(taken)) if k not in rows
        )
        row = tuple(at[k] for k in rows)
        for byte in range(element):
            at_target[row, within + byte] = number * load + place - pieces[piece] + byte
    loads = [
        _moved(taken, apart, at, source=True) + low + piece for at in starts for piece in pieces
    ]
    every = list(product(*(range(padded.steps_of(*taken[k])) for k in rows)))
    stores = [_moved(taken, rows, at, source=False) + part for at in every for part in parts]
    picks = (
        at_target.get((at, part + x), _PADDING)
        for at in every
        for part in parts
        for x in range(store)
    )
    made = Permutation(element, load, tuple(loads), store, tuple(stores), tuple(picks))
    return replace(made, cost=_cost(made))


def _order(stride: Int) -> float:
    return abs(stride) if isinstance(stride, int) else float("inf")


def _pieces(size: int) -> tuple[int, list[int]]:
    """Return the bytes of pieces, a power of two, and where they begin; the last may start early.

    >>> _pieces(36), _pieces(190)
    ((32, [0, 4]), (64, [0, 64, 126]))
    """
    width = 1 << min(size, CACHE_LINE).bit_length() - 1
    return width, [*range(0, size - width, width), size - width]


def _moved(taken: _Taken, axes: Sequence[int], at: Sequence[int], *, source: bool) -> Int:
    moved: Int = 0
    for k, x in zip(axes, at, strict=True):
        moved += x * (taken[k][0].source if source else taken[k][0].target)
    return moved


def _cost(micro: Permutation) -> float:
    """Return about how many instructions move a byte, with vectors of a line."""
    shuffles = sum(max(1, len(one) - 1) for one, _ in _shuffled(micro, CACHE_LINE))
    if shuffles > _MOST_SHUFFLES:
        return float("inf")
    joins = len(micro.loads) * (micro.load < CACHE_LINE)
    stores = len(micro.stores) * (1 if micro.store == CACHE_LINE else 1.5)
    return (len(micro.loads) + joins + 1.5 * shuffles + stores) / len(micro.picks)


def _shuffled(micro: Permutation, width: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield for each vector of the target the vectors that it is made of, and its picks."""
    for start in range(0, len(micro.picks), width):
        picks = list(micro.picks[start : start + width])
        picks += [_ANYTHING] * (width - len(picks))
        # The padding comes last, as a vector of the number -1.
        of = {max(x // width, -1) for x in picks if x != _ANYTHING}
        yield sorted(of, key=lambda number: (number < 0, number)), picks


@frozen
class _Width:
    """The text of a permutation with vectors of one width."""

    micro: Permutation
    width: int
    hoist: Hoist

    def lines(self) -> Iterator[str]:
        width, micro = self.width, self.micro
        yield f"typedef relayout_bytes_{width} vector;"
        for k in sorted({k for of, _ in _shuffled(micro, width) for k in of}):
            load = self._load(width, k * width) if k >= 0 else f"relayout_load_{width}(fill_line)"
            yield f"const vector {_named(k)} = {load};"
        if micro.store < min(width, 16):
            kind = f"uint{8 * micro.store}_t"
            yield f"typedef {kind} lanes __attribute__((vector_size({width})));"
        for k, (of, picks) in enumerate(_shuffled(micro, width)):
            yield from self._shuffle(k, of, picks)
            for at in range(0, min(width, len(micro.picks) - k * width), min(micro.store, width)):
                yield self._store(f"b{k}", k * width + at, at)

    def _load(self, width: int, at: int) -> str:
        """Return the text of the vector at a byte of the loads, of which the last is repeated."""
        micro = self.micro
        if micro.load >= width:
            number, rest = divmod(at, micro.load)
            number = min(number, len(micro.loads) - 1)
            return f"relayout_load_{width}({self._from(number, rest)})"
        if width > 16:
            half = width // 2
            parts = self._load(half, at), self._load(half, at + half)
            return f"relayout_join_{width}({', '.join(parts)})"
        numbers = range(at // micro.load, at // micro.load + 16 // micro.load)
        places = (self._from(min(n, len(micro.loads) - 1)) for n in numbers)
        return f"relayout_words_{micro.load}({', '.join(places)})"

    def _from(self, number: int, more: int = 0) -> str:
        at = self.micro.loads[number] + more
        return f"s0 + {self.hoist(at)}" if at != 0 else "s0"

    def _shuffle(self, number: int, of: list[int], picks: list[int]) -> Iterator[str]:
        width, name = self.width, f"b{number}"
        first, *others = of
        before = _named(first)
        # Which vector each byte comes from, and which of its bytes it is: of padding, the same one.
        places = [
            (-1, j) if x == _PADDING else None if x == _ANYTHING else divmod(x, width)
            for j, x in enumerate(picks)
        ]
        chosen = [place[1] if place and place[0] == first else -1 for place in places]
        if not others and all(x in (-1, k) for k, x in enumerate(chosen)):
            yield f"const vector {name} = {before};"
            return
        steps = others or [first]
        for k, other in enumerate(steps):
            done = name if k == len(steps) - 1 else f"{name}_{k}"
            if others:
                chosen = [
                    width + place[1]
                    if place and place[0] == other
                    else (y if k == 0 or y == -1 else j)
                    for j, (place, y) in enumerate(zip(places, chosen, strict=True))
                ]
            picked = ", ".join(map(str, chosen))
            text = f"__builtin_shufflevector({before}, {_named(other)}, {picked});"
            yield f"const vector {done} ="
            yield from (f"    {line}" for line in wrap(text, 90))
            before = done

    def _store(self, name: str, at: int, within: int) -> str:
        micro, width = self.micro, self.width
        number, rest = divmod(at, micro.store)
        place = micro.stores[number] + rest
        to = f"t0 + {self.hoist(place)}" if place != 0 else "t0"
        if micro.store >= width:
            return f"memcpy({to}, &{name}, {width});"
        if micro.store < 16:
            lane = within // micro.store
            return f"RELAYOUT_PUT(uint{8 * micro.store}_t, {to}, ((lanes){name})[{lane}]);"
        words = ", ".join(str(within // 8 + k) for k in range(micro.store // 8))
        whole = f"(relayout_u64_{width}){name}"
        part = f"__builtin_shufflevector({whole}, {whole}, {words})"
        return f"RELAYOUT_PUT(relayout_u64_{micro.store}, {to}, ({part}));"


def _named(number: int) -> str:
    return f"a{number}" if number >= 0 else "padding"


def permutation_lines(micro: Permutation, hoist: Hoist = str) -> list[str]:
    """Return the loads, shuffles and stores of a tile from ``s0`` to ``t0``."""
    least = max(1, len(micro.picks).bit_length() - 1)
    widths = [width for width in (64, 32, 16) if width <= max(16, 1 << least)]
    lines = list[str]()
    for k, width in enumerate(widths):
        test = f"RELAYOUT_VECTOR >= {width}" + " && RELAYOUT_SHUFFLES" * (width == 16)
        lines.append(f"#{'el' * (k > 0)}if {test}")
        lines += _Width(micro, width, hoist).lines()
    e, size = micro.element, len(micro.loads) * micro.load
    pads = micro.has_padding
    table = ", ".join(str(x) if x >= 0 else str(size) for x in micro.picks[::e])
    lines += [
        "#else",
        f"static const unsigned short picks[{len(micro.picks) // e}] = {{",
        *(f"    {line}" for line in wrap(table, 90)),
        "};",
        f"unsigned char tile[{size + e * pads}], done[{len(micro.picks)}];",
        *[f"memcpy(tile + {size}, fill_line, {e});"] * pads,
    ]
    for k, at in enumerate(micro.loads):
        lines.append(f"memcpy(tile + {k * micro.load}, s0 + {hoist(at)}, {micro.load});")
    lines.append(f"for (size_t k = 0; k < {len(micro.picks) // e}; k++)")
    lines.append(f"    memcpy(done + k * {e}, tile + picks[k], {e});")
    for k, at in enumerate(micro.stores):
        lines.append(f"memcpy(t0 + {hoist(at)}, done + {k * micro.store}, {micro.store});")
    return [*lines, "#endif"]
