"""Pairs of shardings with their local layouts, for tests that move real arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import morello_layouts as ml
from morello_layouts.core.layout import Layout
from morello_layouts.notations.sharding import Level, Mesh, Sharding
from morello_layouts.notations.sharding.sharding import Cut
from tests.support.naive_resharding import part


@dataclass(frozen=True)
class Case:
    """An array, and how it lies on devices before and after; layouts as texts, "" for row-major."""

    shape: tuple[int, ...]
    source: Sharding
    target: Sharding
    layouts: tuple[str, str] = ("", "")

    def layout(self, side: int) -> Layout | None:
        text = self.layouts[side]
        found = ml.parse(text) if text else None
        assert found is None or isinstance(found, Layout)
        return found

    def local(self, array: np.ndarray[Any, Any], side: int, device: int) -> Any:
        """The local array of a device, in the order of its layout; None off the mesh."""
        sharding = (self.source, self.target)[side]
        if sharding.mesh.coordinate(device) is None:
            return None
        own = part(array, sharding, device)
        return ml.pack(self.layouts[side], own) if self.layouts[side] else own

    def __str__(self) -> str:
        return f"{self.shape} {self.source.cuts} to {self.target.cuts}, {self.layouts}"


def cyclic(axis: str, devices: int, block: int, first: int = 0) -> Cut:
    return (Level((), block * devices), Level((axis,), block, first=first))


def cases(p: int) -> Iterator[Case]:
    """Cases for p devices: odd sizes, cycles, tiles, copies, empty parts, other meshes."""
    line = Mesh((("x", p),))
    rows = Sharding(line, ((Level(("x",)),), ()))
    columns = Sharding(line, ((), (Level(("x",)),)))
    own = Sharding(line, (cyclic("x", p, 3, p - 1), ()), "own")
    whole = Sharding(line, ((), ()))
    tiles = ("{1,0:T(2,4)}", "{1,0:T(4,2)(2,1)}")
    for shape in ((8, 12), (7, 13), (29, 5), (2, 3)):
        yield from (Case(shape, rows, columns), Case(shape, columns, rows, ("", "{0,1}")))
        yield from (Case(shape, own, rows), Case(shape, rows, own, ("{0,1}", "{0,1}")))
        yield from (Case(shape, whole, columns), Case(shape, rows, whole, tiles))
        yield from (Case(shape, rows, rows, tiles), Case(shape, own, columns, tiles))
        yield Case(shape, rows, columns, ("[1, 0]", "[1, 0]"))
    if p % 2 == 0:
        mesh = Mesh((("x", 2), ("y", p // 2)))
        other = Mesh((("x", p // 2), ("y", 2)), tuple(range(p))[::-1])
        grid = Sharding(mesh, ((Level(("x",)),), (Level(("y",)),)))
        blocks = Sharding(mesh, (cyclic("x", 2, 2), cyclic("y", p // 2, 3)), "own")
        copies = Sharding(mesh, ((Level(("y",)),), ()))
        nested = Sharding(other, ((Level((), parts=2), Level(("x", "y"))), ()))
        for a, b in ((grid, blocks), (blocks, grid), (copies, grid), (grid, copies)):
            yield Case((13, 17), a, b)
            yield Case((13, 17), a, b, tiles)
        yield from (Case((19, 4), grid, nested), Case((19, 4), nested, rows))
        half = Sharding(Mesh((("x", p // 2),)), ((Level(("x",)),), ()))
        yield from (Case((9, 5), half, rows), Case((9, 5), columns, half))
