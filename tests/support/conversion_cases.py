"""Sixty layouts of all families, which tests and a script write in every notation."""

from __future__ import annotations

from typing import NamedTuple

import morello_layouts as ml
from morello_layouts.interfaces.api.conversions import Conversion


class Case(NamedTuple):
    """A layout with what ``convert_all`` takes beside it."""

    family: str
    layout: str
    shape: tuple[int | str, ...] | None = None
    assuming: str | None = None
    notation: str | None = None


CASES = (
    Case("order", "[0]", (7,)),
    Case("order", "{1,0}", (6, 8)),
    Case("order", "{0,1}", (6, 8)),
    Case("order", "NHWC", (2, 3, 4, 5)),
    Case("order", "{2,0,4,1,3}", (2, 3, 4, 5, 6)),
    Case("order", "[0, 1]", (1, 1)),
    Case("order", "f32[]"),
    Case("TPU tiles", "f32[1000,1000]{1,0:T(8,128)}"),
    Case("TPU tiles", "bf16[10,200]{1,0:T(8,128)(2,1)}"),
    Case("TPU tiles", "bf16[64,256]{1,0:T(8,128)(2,1)}"),
    Case("TPU tiles", "s8[64,256]{1,0:T(8,128)(4,1)}"),
    Case("TPU tiles", "f32[16,256]{1,0:T(8,128)}"),
    Case("TPU tiles", "f32[1000]{0:T(1024)}"),
    Case("TPU tiles", "f32[3,4,9,130]{3,2,1,0:T(2,128)}"),
    Case("TPU tiles", "bf16[2048]{0:T(1024)(128)(2,1)}"),
    Case("TPU tiles", "f32[5,3]{0,1:T(4,8)}"),
    Case("TPU tiles", "f32[3,5]{1,0:T(2,2)}"),
    Case("uneven tiles", "f32[12]{0:T(6)(4)}"),
    Case("uneven tiles", "f32[2,6]{1,0:T(*,4)(3,1)}"),
    Case("uneven tiles", "f32[4,6]{1,0:T(*,8)}"),
    Case("oneDNN", "aBcd16b", (2, 20, 3, 4)),
    Case("oneDNN", "nChw16c", (2, 32, 3, 4)),
    Case("oneDNN", "ABcd16b16a2b", (20, 40, 2, 3)),
    Case("oneDNN", "OIhw4i16o4i", (32, 32, 3, 3)),
    Case("oneDNN", "gOIhw4i16o4i", (2, 20, 18, 3, 3)),
    Case("oneDNN", "BA4b8a", (9, 5)),
    Case("Morello packs", "[1, 0, 1 p(4)]", (6, 8)),
    Case("Morello packs", "[0, 1, 0 p(4), 1 p(128), 0 p(2)]", (64, 1024)),
    Case("Morello packs", "[0, 0 oe(16)]", (32,)),
    Case("Morello packs", "[0, 1, 1 oe(8), 0 p(2)]", (4, 32)),
    Case("Morello packs", "[0, 1, 0 p(2), 1 p(2), 0 p(2), 1 p(2)]", (8, 8)),
    Case("pitched rows", "f32[3,200]{1,0:T(1,128)}"),
    Case("pitched rows", "memref<3x5xf32, strided<[8, 1]>>"),
    Case("pitched rows", "memref<3x5xf32, strided<[7, 1], offset: 2>>"),
    Case("pitched rows", "memref<4x4x4xf32, strided<[40, 9, 2]>>"),
    Case("strides", "memref<4x8xf32, strided<[0, 1]>>"),
    Case("strides", "memref<4x8xf32, strided<[1, 1]>>"),
    Case("strides", "memref<4x8xf32, strided<[8, -1], offset: 7>>"),
    Case("affine maps", "affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>", (6, 10)),
    Case("affine maps", "affine_map<(d0, d1) -> (d0 + d1, d1)>", (4, 4)),
    Case("linalg.pack", "inner_dims_pos = [0, 1] inner_tiles = [8, 2]", (13, 15)),
    Case("linalg.pack", "inner_dims_pos = [1, 0] inner_tiles = [16, 16]", (32, 48)),
    Case(
        "linalg.pack",
        "outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [8, 2]",
        (13, 15),
    ),
    Case("CuTe", "((4,2),8):((1,16),4)"),
    Case("CuTe", "((2,4),(3,5)):((1,30),(2,6))"),
    Case("CuTe", "(4,8):(0,1)"),
    Case("CuTe", "(4,6):(3,12)"),
    Case("CuTe", "((2,2),6):((6,48),1)"),
    Case("TVM", "lambda n, c: (c//16, n, c%16)", (3, 20)),
    Case("TVM", "NCHW16c", (2, 20, 3, 4)),
    Case("einops", "(h p) w -> h w p, p=2", (8, 5)),
    Case("named", "mx128x4", (200, 10)),
    Case("named", "mx8x4", (20, 10)),
    Case("named", "NHCWB16", (1, 5, 4, 20)),
    Case("named", "COL32", (5, 40)),
    Case("named", "morton", (8, 8)),
    Case("named", "column-major", (2, 3, 4)),
    Case("strides", "strided<[12, 1, 3], offset: 1>", (2, 3, 4)),
    Case("strides", "channels_last", (2, 3, 4, 5)),
    Case("symbolic", "strided<[LD, 1]>", ("M", 8)),
    Case("symbolic", "{1,0}", ("M", "N")),
    Case("symbolic", "[1, 0]", ("M", "N")),
    Case("symbolic", "f32[M,N]{1,0:T(8,128)}"),
    Case("symbolic", "f32[M,N]{1,0:T(8,128)}", None, "M % 8 == 0, N % 128 == 0"),
    Case("symbolic", "bf16[M,N]{1,0:T(8,128)(2,1)}"),
    Case("symbolic", "[1, 0, 1 p(4)]", ("M", "N")),
    Case("symbolic", "aBcd16b", ("N", "C", "H", "W")),
    Case("symbolic", "NHWC", ("N", "C", "H", "W")),
    Case("symbolic", "inner_dims_pos = [1] inner_tiles = [16]", ("M", "N")),
    Case("symbolic", "mx128x4", ("M", "K")),
    Case("symbolic", "[0, 0 oe(4), 1, 0 p(2)]", ("M", "N")),
)


def converted(case: Case) -> tuple[Conversion, ...]:
    return ml.convert_all(case.layout, case.shape, assuming=case.assuming, notation=case.notation)


def map_of(case: Case) -> ml.IndexMap:
    return ml.index_map(case.layout, case.shape, assuming=case.assuming, notation=case.notation)
