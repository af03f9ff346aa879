"""Random layouts with symbolic sizes, and their offsets by enumeration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import ceil, lcm, prod
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings, strategies as st

import morello_layouts as ml

NAMES = ("M", "N", "K")
POINTS = {0: (), 1: range(1, 14), 2: range(1, 9), 3: range(1, 6)}
"""Sizes tried for each name, by how many names there are; times what must divide them."""


def examples(count: int) -> settings:
    """Return settings for a least number of random cases: tests bound the share of each answer."""
    return settings(
        max_examples=max(count, settings().max_examples),
        phases=[Phase.generate],  # shrinking takes minutes, and cases are small
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


@dataclass(frozen=True)
class Case:
    """A layout at a shape in which some sizes are names.

    Attributes:
        layout: the layout alone.
        shape: sizes, a name for each symbolic one.
        divisors: the divisor of a name's size, by the layout or by assumption.
        ranges: the least and largest sizes of names, by assumption.
    """

    layout: ml.XlaLayout | ml.MorelloLayout
    shape: tuple[int | str, ...]
    divisors: tuple[tuple[str, int], ...] = ()
    ranges: tuple[tuple[str, tuple[int, int | None]], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of the shape."""
        return tuple(dict.fromkeys(n for n in self.shape if isinstance(n, str)))

    @property
    def fixed(self) -> dict[str, int]:
        """The sizes to which the assumptions leave no choice."""
        found = {}
        for name, (lo, hi) in self.ranges:
            step = dict(self.divisors).get(name, 1)
            if hi is not None and -(-lo // step) == hi // step:
                found[name] = hi // step * step
        return found

    @property
    def free_names(self) -> tuple[str, ...]:
        """The names of the other sizes."""
        return tuple(name for name in self.names if name not in self.fixed)

    @property
    def assuming(self) -> list[object]:
        """The assumptions, of two kinds."""
        return [*(f"{n} % {d} == 0" for n, d in self.divisors), dict(self.ranges)]

    def symbolic(self) -> ml.IndexMap:
        """The map for all sizes."""
        return index_map(self.layout, self.shape, self.assuming)

    def concrete(self, sizes: Mapping[str, int]) -> ml.IndexMap:
        """The map at sizes, made without the symbolic one."""
        return index_map(self.layout, self.at(sizes), None)

    def at(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape at sizes."""
        return tuple(sizes[n] if isinstance(n, str) else n for n in self.shape)

    def grid(self, largest: int = 20_000) -> Iterator[dict[str, int]]:
        """Small sizes that are as assumed, in lexicographic order."""
        divisors, ranges = dict(self.divisors), dict(self.ranges)
        columns = []
        for name in self.names:
            lo, hi = ranges.get(name, (1, None))
            step = divisors.get(name, 1)
            # The grid begins at the least size of the range.
            tried = (-(-lo // step) + k - 1 for k in POINTS[len(self.names)])
            columns.append([n * step for n in tried if hi is None or n * step <= hi])
        for values in product(*columns):
            sizes = dict(zip(self.names, values, strict=True))
            if prod(self.at(sizes)) <= largest:
                yield sizes

    def __str__(self) -> str:
        assumed = f", assuming={self.assuming}" if self.divisors or self.ranges else ""
        return f'ml.index_map("{self.layout}", {self.shape}{assumed})'

    __repr__ = __str__


def index_map(
    layout: ml.XlaLayout | ml.MorelloLayout, shape: Sequence[int | str], assuming: object
) -> ml.IndexMap:
    """Return the map of a layout in either notation."""
    if isinstance(layout, ml.XlaLayout):
        return ml.index_map(ml.XlaShape("f32", tuple(shape), layout), assuming=assuming)
    return ml.index_map(layout, tuple(shape), assuming=assuming)


def held(m: ml.IndexMap) -> np.ndarray:
    """Return the row-major index of the element in each slot of a concrete map, -1 for padding."""
    count = prod(m.shape)
    return ml.pack(m, np.arange(count, dtype=np.int32).reshape(m.shape), fill=-1)


def offsets(m: ml.IndexMap) -> np.ndarray:
    """Return the offset of each element of a concrete map, found in the packed array."""
    buffer = held(m)
    places = np.flatnonzero(buffer >= 0)
    found = np.empty(prod(m.shape), dtype=np.int64)
    found[buffer[places]] = places
    return found.reshape(m.shape)


TILE_SIZES = st.one_of(st.integers(1, 9), st.sampled_from([1, 2, 4, 8]), st.just(ml.xla.COMBINE))
TAILS = st.sampled_from([1, 1, 1, 1, 7, 32])


@st.composite
def tiles(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    """Draw a tile of at most one size more than the array has dimensions."""
    majors = draw(st.integers(0, rank))
    sizes = draw(st.lists(TILE_SIZES, min_size=majors, max_size=majors))
    return (*sizes, draw(st.integers(1, 9)))


@st.composite
def xla_layouts(draw: st.DrawFn, rank: int) -> ml.XlaLayout:
    """Draw a layout with up to three tiles and a tail."""
    count = draw(st.sampled_from([0, 1, 1, 1, 2, 2, 3]))
    order = tuple(draw(st.permutations(range(rank))))
    tail = draw(TAILS) if count else 1
    chosen = tuple(draw(tiles(rank)) for _ in range(count))
    return ml.XlaLayout(order, tiles=chosen, tail_padding_alignment_in_elements=tail)


@st.composite
def symbolic_shapes(draw: st.DrawFn, rank: int) -> tuple[int | str, ...]:
    """Draw sizes of which at least one is a name; a name may appear twice."""
    shape: list[int | str] = [draw(st.integers(1, 9)) for _ in range(rank)]
    chosen = draw(st.sets(st.sampled_from(range(rank)), min_size=1))
    for k in sorted(chosen):
        again = draw(st.integers(0, 9)) == 9
        shape[k] = NAMES[0] if again else NAMES[k]
    return tuple(shape)


@st.composite
def assumptions(draw: st.DrawFn, names: Sequence[str]) -> tuple[Any, Any]:
    """Draw divisors and ranges of some names; most often none."""
    divisors: list[tuple[str, int]] = []
    ranges: list[tuple[str, tuple[int, int | None]]] = []
    for name in names:
        kind = draw(st.sampled_from(["", "", "", "divisor", "range", "least", "both"]))
        if kind in ("divisor", "both"):
            divisors.append((name, draw(st.sampled_from([2, 3, 4, 6, 8]))))
        if kind in ("range", "both"):
            lo = draw(st.integers(1, 4))
            ranges.append((name, (lo, draw(st.integers(max(lo, 8), 16)))))
        if kind == "least":
            ranges.append((name, (draw(st.integers(2, 6)), None)))
    return tuple(divisors), tuple(ranges)


@st.composite
def xla_cases(draw: st.DrawFn) -> Case:
    """Draw an XLA layout at a shape with names."""
    rank = draw(st.sampled_from([1, 2, 2, 2, 3]))
    shape = draw(symbolic_shapes(rank))
    names = tuple(dict.fromkeys(n for n in shape if isinstance(n, str)))
    divisors, ranges = draw(assumptions(names))
    return Case(draw(xla_layouts(rank)), shape, divisors, ranges)


FIXED = st.one_of(
    st.sampled_from([2, 3, 4, 5]).map(ml.morello.Packed),
    st.sampled_from([2, 4, 6]).map(ml.morello.OddEven),
)


@st.composite
def morello_cases(draw: st.DrawFn, rank: int | None = None) -> Case:
    """Draw a Morello layout at a shape with names, which its packs divide."""
    rank = draw(st.sampled_from([1, 2, 2, 3])) if rank is None else rank
    columns = [draw(st.lists(FIXED, max_size=2)) for _ in range(rank)]
    chosen = draw(st.sets(st.sampled_from(range(rank)), min_size=1))
    shape: list[int | str] = []
    divisors = []
    for dim, physes in enumerate(columns):
        demand = prod(phys.number for phys in physes)
        if dim in chosen:
            shape.append(NAMES[dim])
            columns[dim] = [ml.morello.Dynamic(), *physes]  # type: ignore[list-item]
            more = draw(st.sampled_from([1, 1, 1, 2, 3]))
            if demand * more > 1:
                divisors.append((NAMES[dim], lcm(demand, more)))
        else:
            size = demand * draw(st.integers(1, 3))
            shape.append(size)
            if size > demand or not physes:
                columns[dim] = [ml.morello.Dynamic(), *physes]  # type: ignore[list-item]
    order = draw(st.permutations([d for d, physes in enumerate(columns) for _ in physes]))
    next_of = [iter(physes) for physes in columns]
    layout = ml.MorelloLayout([(dim, next(next_of[dim])) for dim in order])
    return Case(layout, tuple(shape), tuple(divisors))


CASES = st.one_of(xla_cases(), xla_cases(), morello_cases())


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Case, Case]:
    """Draw two layouts at one shape with names; the second is most often a variant of the first."""
    one = draw(CASES)
    change = _changed_xla if isinstance(one.layout, ml.XlaLayout) else _changed_morello
    return one, replace(one, layout=change(draw, one))


def _changed_morello(draw: st.DrawFn, one: Case) -> ml.XlaLayout | ml.MorelloLayout:
    assert isinstance(one.layout, ml.MorelloLayout)
    dims = one.layout.phys_dims
    if draw(st.integers(0, 2)) == 0:
        return draw(xla_layouts(len(one.shape)))
    # Another order of the logical dimensions; each keeps its own order, so the layout still fits.
    order = draw(st.permutations([dim for dim, _ in dims]))
    own = {dim: iter([phys for d, phys in dims if d == dim]) for dim, _ in dims}
    return ml.MorelloLayout([(dim, next(own[dim])) for dim in order])


def _changed_xla(draw: st.DrawFn, one: Case) -> ml.XlaLayout:
    assert isinstance(one.layout, ml.XlaLayout)
    rank, order, kept = len(one.shape), one.layout.minor_to_major, list(one.layout.tiles)
    kind = draw(st.sampled_from(["any", "order", "size", "less", "more", "lead"]))
    if kind == "any":
        return draw(xla_layouts(rank))
    if kind == "order":
        order = tuple(draw(st.permutations(range(rank))))
    elif kind == "more" or not kept:
        kept.insert(draw(st.integers(0, len(kept))), draw(tiles(rank)))
    else:
        k = draw(st.integers(0, len(kept) - 1))
        if kind == "less":
            del kept[k]
        elif kind == "size":
            size = draw(st.integers(0, len(kept[k]) - 1))
            kept[k] = (*kept[k][:size], draw(st.integers(1, 9)), *kept[k][size + 1 :])
        else:
            kept[k] = (draw(st.sampled_from([1, ml.xla.COMBINE])), *kept[k])
    return ml.XlaLayout(order, tiles=tuple(kept))


def at_sizes(expr: Any, sizes: Mapping[str, int]) -> Any:
    """Return a SymPy expression or an int with numbers in place of the names of sizes."""
    if isinstance(expr, int):
        return expr
    return expr.subs({s: sizes[s.name] for s in expr.free_symbols if s.name in sizes})


def text_holds(condition: str, sizes: Mapping[str, int]) -> bool:
    """Return whether a condition is true at given sizes, judged by its text."""
    if condition in {"all sizes", "no sizes"}:
        return condition == "all sizes"
    parts = condition.split(", or ")
    return any(all(_fact_holds(one, sizes) for one in part.split(" and ")) for part in parts)


def _fact_holds(fact: str, sizes: Mapping[str, int]) -> bool:
    def value(text: str) -> int:
        return int(eval(text, {"ceil": ceil}, dict(sizes)))

    if found := re.fullmatch(r"(\d+) \| (.+)", fact):
        return value(found[2]) % int(found[1]) == 0
    said = re.fullmatch(r"(.+) (=|<=|>=) (.+)", fact)
    assert said is not None, fact
    left, sign, right = said.groups()
    difference = value(left) - value(right)
    return {"=": difference == 0, "<=": difference <= 0, ">=": difference >= 0}[sign]
