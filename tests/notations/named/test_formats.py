"""Named formats: recorded values of real systems, and formulas written apart from the table."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.named import FORMATS, NamedLayout
from tests.support.paths import rows
from tests.support.tables import each_row

BRICKS = rows("ethosu_nhcwb16.jsonl.xz")
SCALES = rows("cutlass_blockscale_sf.tsv.xz")


def test_the_tables_are_complete() -> None:
    assert (len(BRICKS), len(SCALES), len(FORMATS)) == (15, 25, 36)


@each_row("row", SCALES, ids=[" ".join(row[:4]) for row in SCALES])
def test_every_scale_of_cutlass(row: list[str]) -> None:
    _, vector, rows, columns, _, size, offsets = row
    shape = int(rows), -(-int(columns) // int(vector))
    m = ml.index_map("mx128x4", shape)
    assert m.size == int(size)
    assert m(*np.indices(shape)).reshape(-1).tolist() == [int(x) for x in offsets.split()]


@each_row("row", BRICKS, ids=[f"{row['shape']} {row['elem_bytes']}" for row in BRICKS])
def test_every_brick_of_ethos_u(row: dict[str, Any]) -> None:
    shape, width = tuple(row["shape"]), row["elem_bytes"]
    m = ml.index_map("NHCWB16", shape)
    assert (m(*np.indices(shape)) * width).reshape(-1).tolist() == row["byte_offsets"]
    # Elements from one index to the next; of channels, from one brick to the next.
    bricks, wide = -(-shape[3] // 16), shape[2] * 16
    strides = (shape[1] * bricks * wide, wide, bricks * wide, 16, 1)
    assert [width * n for n in strides] == row["byte_strides_N_C_H_W_c"]


SHAPES = {
    2: [(1, 1), (130, 70), (33, 9), (8, 40)],
    3: [(5, 3, 2), (33, 2, 3)],
    4: [(17, 18, 2, 3), (2, 3, 4, 20)],
    5: [(17, 18, 2, 1, 3)],
}


@each_row("name", [each.name for each in FORMATS if each.name != "morton"])
def test_formulas_of_the_documents(name: str) -> None:
    layout = NamedLayout(name)
    for shape in SHAPES[len(layout.names(0))]:
        m = ml.index_map(layout, shape)
        for at in product(*({0, 1, n // 2, n // 3, n - 1} & {*range(n)} for n in shape)):
            assert layout.by_document(at, shape) == (m(*at), m.size), (shape, at)
        assert ml.verify(m).holds


def test_scales_for_all_sizes() -> None:
    formula = ml.from_sympy(
        {"shape": ("M", "K")},
        "(d0//128)*512*ceil(K/4) + (d1//4)*512 + (d0%32)*16 + ((d0%128)//32)*4 + d1%4",
    )
    assert ml.are_equivalent(formula, "mx128x4").holds
    assert str(ml.is_surjective("mx128x4", ("M", "K")).condition) == "4 | K and 128 | M"


def bits_interleaved(at: tuple[int, ...], shape: tuple[int, ...]) -> int:
    offset, place = 0, 0
    for level in range(64):
        for x, n in zip(reversed(at), reversed(shape), strict=True):
            if 1 << level < n:
                offset |= (x >> level & 1) << place
                place += 1
    return offset


@each_row("shape", [(4,), (8, 8), (2, 16), (16, 2), (4, 8, 2), (2, 2, 2, 2), (1, 4), (1, 1)])
def test_morton(shape: tuple[int, ...]) -> None:
    m = ml.index_map("morton", shape)
    for at in product(*map(range, shape)):
        assert m(*at) == bits_interleaved(at, shape)
    assert ml.is_bijective(m).holds
    assert ml.verify(m).holds


@pytest.mark.parametrize("each", FORMATS, ids=lambda each: each.name)
def test_names_and_words(each: Any) -> None:
    for name in (each.name, each.name.upper(), each.name.replace("_", "-"), *each.aliases):
        assert ml.parse(f" {name} ", "named") == NamedLayout(each.name)
    assert ml.parse(each.name) == NamedLayout(each.name)
    found = ml.explain(each.name).arrays[0].description
    assert each.source in found.headline
    assert len(found.dimensions) >= 2


def test_batches_lie_one_after_the_other() -> None:
    one, batched = ml.index_map("nz", (17, 18)), ml.index_map("nz", (2, 3, 17, 18))
    assert batched(1, 2, 16, 17) == 5 * one.size + one(16, 17)
    names = [dim.name for dim in ml.explain("nz", (2, 3, 17, 18)).arrays[0].description.dimensions]
    assert names == ["b0", "b1", "m", "n"]


def test_a_face_of_tenstorrent() -> None:
    """Bytes of bf16: rows 0 to 15 and columns 16 to 31 of a tile begin at 512, the next at 1024."""
    m = ml.index_map("TILE_LAYOUT", (64, 64))
    assert [2 * m(*at) for at in ((0, 16), (16, 0), (16, 16), (0, 32), (32, 0))] == [
        512, 1024, 1536, 2048, 4096,
    ]  # fmt: skip


def test_croutons_of_hexagon_by_reshapes() -> None:
    """As TVM's tests make them: reshape, then transpose; 2 KiB of 16 bits each."""
    data = np.arange(16 * 8 * 64).reshape(1, 16, 8, 64)
    wanted = data.reshape(1, 2, 8, 2, 2, 2, 2, 32).transpose(0, 1, 3, 6, 2, 4, 7, 5)
    m = ml.index_map("nhwc-8h2w32c2w-2d", data.shape)
    assert (ml.pack(m, data).reshape(-1) == wanted.reshape(-1)).all()
