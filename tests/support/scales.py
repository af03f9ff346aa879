"""Layouts of the scale factors of MXFP8 and NVFP4, as the documents of cuBLAS give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import morello_layouts as ml
from morello_layouts.expr import AffineExpr
from morello_layouts.expr.sizes import Int, ceil_quotient, round_up


@dataclass(frozen=True)
class Scales(ml.Layout):
    """Scale factors (row, column) in tiles of 128 by 4, or of 8 by 4; tiles are row-major.

    In a tile of 128 rows the rows 32 apart lie side by side.
    """

    rows: int = 128

    def recipe(self, shape: Sequence[Int]) -> ml.Recipe:
        padded = ml.Pad((round_up(shape[0], self.rows), round_up(shape[1], 4)))
        if self.rows == 8:
            return ml.Recipe((*shape,), (padded, ml.Split((8, 4)), ml.Transpose((0, 2, 1, 3))))
        split = (ml.Split((128, 4)), ml.Split((None, 32, None, None)))
        return ml.Recipe((*shape,), (padded, *split, ml.Transpose((0, 3, 2, 1, 4))))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int]) -> AffineExpr:
        (m, k), columns = coordinates, ceil_quotient(shape[1], 4)
        tile = (m // self.rows) * (4 * self.rows * columns) + (k // 4) * (4 * self.rows) + k % 4
        if self.rows == 8:
            return tile + (m % 8) * 4
        return tile + (m % 32) * 16 + (m % 128 // 32) * 4

    def __str__(self) -> str:
        return f"scales {self.rows}x4"
