"""Named formats: recorded values of real systems, and formulas written apart from the table."""

from __future__ import annotations

import json
import lzma
from itertools import product
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.named import FORMATS, NamedLayout
from tests.support.paths import DATA
from tests.support.tables import each_row


def lines_of(name: str) -> list[str]:
    return lzma.decompress((DATA / name).read_bytes()).decode().splitlines()


BRICKS = [json.loads(line) for line in lines_of("ethosu_nhcwb16.jsonl.xz")]
SCALES = [line.split("\t") for line in lines_of("cutlass_blockscale_sf.tsv.xz")]


def test_the_tables_are_complete() -> None:
    assert (len(BRICKS), len(SCALES), len(FORMATS)) == (15, 25, 29)


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


# The documents' own formulas of an offset: of coordinates in small letters, sizes in capitals.
OFFSETS = [
    ("row-major", "m n", "m*N + n"),
    ("column-major", "m n", "m + n*M"),
    ("mx128x4", "m k",
     "(m//128 * -(-K//4) + k//4)*512 + m%32*16 + m%128//32*4 + k%4"),
    ("mx8x4", "m k",
     "(m//8 * -(-K//4) + k//4)*32 + m%8*4 + k%4"),
    ("COL32", "m n",
     "n//32*32*M + m*32 + n%32"),
    # As FasterTransformer's kernels compute it with shifts, panels of whole tiles.
    ("COL4_4R2_8C", "m n",
     "n//32*-(-M//8)*256 + (m//8*8 + m%2*4 + n%32//8)*32 + (n%8//4*4 + m%8//2)*4 + n%4"),
    # As cublasLt.h gives it for a tile.
    ("COL32_2R_4R4", "m n",
     "n//32*32*(-(-M//32)*32) + m//32*1024 + ((m%32%8//2*4 + m%32//8)*2 + m%2)*32 + n%32"),
    ("FRACTAL_NZ", "m n", "(n//16*(-(-M//16)*16) + m)*16 + n%16"),
    ("FRACTAL_NZ_C0_32", "m n", "(n//32*(-(-M//16)*16) + m)*32 + n%32"),
    ("NC1HWC0", "n c h w", "(((n * -(-C//16) + c//16)*H + h)*W + w)*16 + c%16"),
    ("FRACTAL_Z", "n c h w", "(((c//16*H + h)*W + w) * -(-N//16) + n//16)*256 + n%16*16 + c%16"),
    # As MindSpore's NcdhwToFracZ3D computes it: per depth d all channels, places and rows of 16.
    ("FRACTAL_Z_3D", "n c d h w",
     "(((d * -(-C//16) + c//16)*H*W + h*W + w) * (-(-N//16)*16) + n)*16 + c%16"),
    # As nnacl's PackNCHWToNC4HW4Fp32 steps from image to image.
    ("NC4HW4", "n c h w", "n*H*W*(-(-C//4)*4) + c//4*H*W*4 + 4*(h*W + w) + c%4"),
    # As MNN's converter calls MNNPackC4: images 4*H*W apart, blocks N times that.
    ("C4NHW4", "n c h w", "n*4*H*W + c//4*N*H*W*4 + 4*(h*W + w) + c%4"),
    ("CHW32", "c h w", "(c//32*H + h)*W*32 + w*32 + c%32"),
    ("HWC8", "c h w", "(h*W + w)*(-(-C//8)*8) + c"),
]  # fmt: skip
SHAPES = {
    2: [(1, 1), (130, 70), (33, 9), (8, 40)],
    3: [(5, 3, 2), (33, 2, 3)],
    4: [(17, 18, 2, 3)],
    5: [(17, 18, 2, 1, 3)],
}


@each_row(("name", "names", "formula"), OFFSETS, ids=[row[0] for row in OFFSETS])
def test_formulas_of_the_documents(name: str, names: str, formula: str) -> None:
    letters = names.split()
    offset = compile(formula, name, "eval")  # a row of this table
    for shape in SHAPES[len(letters)]:
        m = ml.index_map(name, shape)
        sizes = dict(zip(names.upper().split(), shape, strict=True))
        for at in product(*({0, 1, n // 2, n // 3, n - 1} & {*range(n)} for n in shape)):
            expected = eval(offset, sizes | dict(zip(letters, at, strict=True)))
            assert m(*at) == expected, (shape, at)
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


@pytest.mark.parametrize(
    ("name", "shape", "what"),
    [
        ("morton", (4, 6), "morton: expected sizes that are powers of two, got 6 for dimension 1"),
        (
            "morton",
            ("N", 4),
            "morton: expected sizes that are powers of two, got N for dimension 0",
        ),
        ("COL32", (5,), "COL32: expected at least 2 sizes, got 1"),
        ("NDC1HWC0", (1, 2, 3, 4), "NDC1HWC0: expected at least 5 sizes, got 4"),
    ],
)
def test_shapes_that_do_not_fit(name: str, shape: tuple[Any, ...], what: str) -> None:
    with pytest.raises(ml.ShapeError) as caught:
        ml.index_map(name, shape)
    assert caught.value.what == what


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


def test_a_wrong_name() -> None:
    with pytest.raises(ml.LayoutError, match="expected a named format, got 'COL33'"):
        NamedLayout("COL33")
