"""Random loop nests, and the order in which each must visit its elements, by NumPy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.outputs.loop_nests import LoopNest

EDGES = ("bounds", "guards", "peel")
NAMES = ("i", "j", "k")


@dataclass(frozen=True)
class Case:
    """A layout at numbers, and the arguments of a nest over it; with symbolic sizes, their numbers.

    Attributes:
        text: the layout, perhaps with symbolic sizes.
        sizes: the numbers of symbolic sizes.
        arguments: the other arguments of ``ml.loops``.
    """

    text: Any
    sizes: dict[str, int]
    arguments: dict[str, Any]

    def nest(self, body: str = "") -> LoopNest:
        """The nest of the layout."""
        return ml.loops(self.text, body=body, **self.arguments)

    @property
    def at_numbers(self) -> ml.IndexMap:
        m = self.text if isinstance(self.text, ml.IndexMap) else ml.index_map(self.text)
        return m.at(**self.sizes) if self.sizes else m

    def expected(self) -> tuple[Any, Any]:
        """The coordinates in the order of the nest, and their offsets."""
        physical = "order" not in self.arguments
        return expected(self.nest(), self.at_numbers, self.sizes, is_physical=physical)

    def __str__(self) -> str:
        return f"{getattr(self.text, 'source', self.text)} {self.sizes or ''} {self.arguments}"


def expected(
    nest: LoopNest, m: ml.IndexMap, sizes: dict[str, int], *, is_physical: bool
) -> tuple[Any, Any]:
    """The coordinates in the order of a nest's digits, and their offsets in a map."""
    shape = m.shape
    at = np.indices(shape, dtype=np.int64).reshape(len(shape), -1)
    turned = [is_physical and _falls(m, k) for k in range(len(shape))]
    value = [n - 1 - x if back else x for x, n, back in zip(at, shape, turned, strict=True)]
    rest = dict(zip(nest.space.sizes, value, strict=True))
    digits = {}
    for axis in nest.digits.axes.values():  # of a coordinate the highest unit first
        unit = axis.unit if isinstance(axis.unit, int) else axis.unit.evaluate(sizes)
        digits[axis.name], rest[axis.coordinate] = np.divmod(rest[axis.coordinate], unit)
    keys = [digits[axis.name] for axis in nest.axes]
    order = np.lexsort(keys[::-1]) if keys else np.zeros(1, np.int64)
    at = at[:, order]
    return at, (m(*at) if at.size else np.zeros(at.shape[1], np.int64))


def _falls(m: ml.IndexMap, dim: int) -> bool:
    """Whether offsets fall along a dimension."""
    first, last = (
        [n - 1 if k == dim else 0 for k in range(len(m.shape))] for n in (1, m.shape[dim])
    )
    return bool(m(*first) > m(*last))


def random_cases(count: int, seed: int) -> Iterator[Case]:
    """Random layouts of all kinds with random orders, tiles and edges."""
    draw = random.Random(seed)
    for _ in range(count):
        yield _case(draw)


def _case(draw: random.Random) -> Case:
    rank = draw.choice((1, 2, 2, 2, 3))
    shape = [draw.randint(1, 24) for _ in range(rank)]
    text, sizes = draw.choice((_tiled, _tiled, _symbolic, _view, _formula))(draw, shape)
    rank = len((text if isinstance(text, ml.IndexMap) else ml.index_map(text)).shape)
    names = NAMES[:rank]
    arguments: dict[str, Any] = {"names": names, "edges": draw.choice(EDGES)}
    if draw.random() < 0.5:
        arguments["order"] = tuple(draw.sample(names, rank))
    if draw.random() < 0.4:
        arguments["tile"] = {
            name: draw.choice((2, 3, 4, 5, 8, (6, 2), (7, 3)))
            for name in draw.sample(names, draw.randint(1, rank))
        }
    case = Case(text, sizes, arguments)
    if "order" in arguments and draw.random() < 0.5:  # any order of the loops themselves
        loops = list(case.nest().order)
        draw.shuffle(loops)
        arguments["order"] = tuple(loops)
    return case


def _tiled(draw: random.Random, shape: list[int]) -> tuple[Any, dict[str, int]]:
    order = draw.sample(range(len(shape)), len(shape))
    tiles = ""
    if draw.random() < 0.8:
        sizes = [draw.choice((2, 4, 8, 3)) for _ in range(draw.randint(1, len(shape)))]
        tiles = f":T({','.join(map(str, sizes))})"
        tiles += draw.choice(("", "(2,1)")) if len(sizes) == 2 else ""
    sizes_text = ",".join(map(str, shape))
    return f"f32[{sizes_text}]{{{','.join(map(str, order))}{tiles}}}", {}


def _symbolic(draw: random.Random, shape: list[int]) -> tuple[Any, dict[str, int]]:
    text, _ = _tiled(draw, shape)
    names = ("L", "M", "N")[: len(shape)]
    inner = text[text.index("{") :]
    return f"f32[{','.join(names)}]{inner}", dict(zip(names, shape, strict=True))


def _view(draw: random.Random, shape: list[int]) -> tuple[Any, dict[str, int]]:
    text, _ = _tiled(draw, shape)
    m = ml.index_map(text)
    index = []
    for n in shape:
        start = draw.randint(0, n - 1)
        index.append(slice(start, draw.randint(start + 1, n), draw.choice((1, 1, 2))))
    m = m[tuple(index)]
    if draw.random() < 0.4:
        m = m.view(reverse=draw.randrange(len(shape)))
    if draw.random() < 0.3:
        total = int(np.prod(m.shape))
        m = m.view(reshape=draw.choice([(total,), (1, total)]))
    return m, {}


def _formula(draw: random.Random, shape: list[int]) -> tuple[Any, dict[str, int]]:
    n = int(np.prod(shape[:2]))
    a, b = draw.choice(((2, 3), (4, 6), (3, 12), (5, 4)))
    rest = draw.choice(("", f" + {n}*(d0//{b}%2)", f" + ((d0//{a}) ^ (d0%{a}))"))
    return ml.index_map(
        ml.from_sympy({"shape": (n,)}, f"{a}*(d0//{b}) + d0%{b} + {n}*(d0%{a}){rest}")
    ), {}
