"""Memrefs against a walk over each element that knows only MLIR's documents."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.mlir import MlirMap, MlirType
from morello_layouts.notations.mlir.types import bits_of
from tests.support.mlir_bindings import mlir
from tests.support.paths import rows
from tests.support.tables import each_row

NORMALIZED = rows("memref_normalized.tsv")

# MLIR drops rows of a box that no element of the array reaches, if it can tell: they are those of
# a quotient of a remainder whose own quotient is zero. Its bound of a sum is closer, too.
TIGHTER = {
    "(d0 floordiv 16 * 32 + d0 mod 16)",
    "(d0 floordiv 6 * 4 + (d0 mod 6) floordiv 2, d0 mod 2)",
}


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))


def evaluated(results: str, values: dict[str, int]) -> tuple[int, ...]:
    """The results of a map at a point, by Python's own // and %, which round as MLIR's do."""
    text = re.sub(r"\((\w+)\) ceildiv (\d+)|(\w+) ceildiv (\d+)", r"(-(-(\1\3) // \2\4))", results)
    text = text.replace("floordiv", "//").replace("mod", "%")
    return tuple(eval(f"{text[:-1]},)", {}, values))


def test_the_table_is_complete() -> None:
    assert len(NORMALIZED) == 74


@each_row("row", NORMALIZED, ids=lambda row: row[0])
def test_every_normalized_memref(row: list[str]) -> None:
    text, sizes = row
    if "(-d0, d1)" in text:  # its second half lies before the buffer
        with pytest.raises(ml.ShapeError, match="may be -3"):
            ml.index_map(text)
        return
    memref = ml.parse(text)
    assert isinstance(memref, MlirType)
    assert isinstance(memref.layout, MlirMap)
    shape = numbers(text[7 : text.index("xf32")])
    results = text[text.index("-> ") + 3 : -2]
    box = memref.layout.box(shape)
    if box != numbers(sizes):
        nested = re.search(r"mod \d+\) floordiv", results)
        assert results in TIGHTER or nested
        assert all(ours >= theirs for ours, theirs in zip(box, numbers(sizes), strict=True))
    names = [f"d{k}" for k in range(len(shape))]
    points = list(itertools.product(*map(range, shape)))
    some = points if len(points) < 500 else points[:: len(points) // 499]
    at = [evaluated(results, dict(zip(names, point, strict=True))) for point in some]
    wanted = np.ravel_multi_index(np.transpose(at), box)
    m = ml.index_map(text)
    assert m.size == math.prod(box)
    assert np.array_equal(m(*np.transpose(some)), wanted)


# The text, and what it is read as and printed as; nothing if the same.
READ = [
    ("memref<4x8xf32>", ""),
    ("memref<f32>", ""),
    ("memref<4x?xf32, strided<[?, 1], offset: ?>, 3>", ""),
    ("memref<4xf32, 3 : i32>", ""),
    ("memref<4xf32, #gpu.address_space<workgroup>>", ""),
    ('memref<4xf32, "shared">', ""),
    ("tensor<?x16xf8E4M3FN>", ""),
    ("vector<4x[8]xf32>", None),
    ("vector<4x8xbf16>", ""),
    ("memref<2xvector<4xf32>>", ""),
    ("memref<2xcomplex<f64>>", ""),
    ("memref< 4 x 8 x f32 >", "memref<4x8xf32>"),
    ("memref<4x8xf32, strided<[8, 1], offset: 0>>", "memref<4x8xf32, strided<[8, 1]>>"),
    ("#t = affine_map<(i, j) -> (j, i)>\nmemref<4x8xf32, #t>",
     "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>"),
    ("#t = affine_map<(i, j) -> (j, i)>", "affine_map<(d0, d1) -> (d1, d0)>"),
    ("affine_map<(d1, d0)[n] -> (d0 * n + d1, n)>",
     "affine_map<(d0, d1)[s0] -> (s0*d1 + d0, s0)>"),
    ("affine_map<(i) -> (-i ceildiv 4 + 8, i mod 2 floordiv 3)>",
     "affine_map<(d0) -> (-(d0 floordiv 4) + 8, (d0 mod 2) floordiv 3)>"),
]  # fmt: skip


@each_row("text, printed", READ, ids=[row[0] for row in READ])
def test_texts(text: str, printed: str | None) -> None:
    if printed is None:
        with pytest.raises(ml.ParseError):
            ml.parse(text)
        return
    value = ml.parse(text)
    assert str(value) == (printed or text)
    assert ml.parse(str(value)) == value


def test_mlir_reads_what_we_print() -> None:
    ir = mlir()
    printed = [str(ml.parse(text)) for text, shown in READ if shown is not None]
    printed += [str(ml.parse(row[0])) for row in NORMALIZED]
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        for text in printed:
            parser = ir.Attribute if text.startswith("affine_map") else ir.Type
            ours, theirs = ml.parse(text), ml.parse(str(parser.parse(text)))
            if ours == theirs or not isinstance(ours, MlirType) or "(-d0, d1)" in text:
                continue  # MLIR simplifies the results of a map
            assert isinstance(theirs, MlirType)
            assert replace(ours, layout=None) == replace(theirs, layout=None)
            assert ml.are_equivalent(ours, theirs).holds


# Memory spaces of dialects. jaxlib's parser was asked for those of Mosaic, and refuses others; the
# rest stand in tests of MLIR and IREE.
SPACES = """
    #gpu.address_space<global> #gpu.address_space<workgroup> #gpu.address_space<private>
    #nvvm.memory_space<shared> #nvvm.memory_space<shared_cluster> #amdgpu.address_space<buffer_rsrc>
    #amdgpu.address_space<fat_raw_buffer> #spirv.storage_class<StorageBuffer> #llvm.address_space<3>
    #spirv.storage_class<Function> #ptr.generic_space #mosaic_gpu.tmem #iree_codegen.workgroup_local
    #tpu.memory_space<any> #tpu.memory_space<vmem> #tpu.memory_space<smem> #tpu.memory_space<hbm>
    #tpu.memory_space<cmem> #tpu.memory_space<semaphore_mem> #tpu.memory_space<vmem_shared>
    #tpu.memory_space<host> #hal.descriptor_type<storage_buffer>
    #hal.descriptor_type<uniform_buffer>
""".split()  # noqa: SIM905


@each_row("space", SPACES, ids=SPACES)
def test_memory_spaces_that_dialects_define(space: str) -> None:
    for layout in ("", ", strided<[1, 4]>", ", affine_map<(d0, d1) -> (d1, d0)>"):
        text = f"memref<4x8xf32{layout}, {space}>"
        value = ml.parse(text)
        assert str(value) == text
        assert isinstance(value, MlirType)
        assert value.space == space
        plain = ml.index_map(f"memref<4x8xf32{layout}>")
        assert ml.are_equivalent(text, plain).holds
    assert ml.parse(
        text.replace("<", "< ").replace(">>", " > >").replace("(d1, d0) >", "(d1, d0)>")
    )


BITS = {
    "i1": 8, "i4": 8, "i8": 8, "ui8": 8, "si16": 16, "i24": 32, "i48": 64, "i128": 128, "i256": 256,
    "index": 64, "f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f80": 128, "f4E2M1FN": 8,
    "f8E4M3B11FNUZ": 8, "complex<f32>": 64, "complex<i4>": 16, "vector<4xf32>": 128,
    "vector<3xf32>": 128, "vector<2x4xi1>": 8, "vector<8xf32>": 256,
}  # fmt: skip


def test_bits() -> None:
    assert {name: bits_of(name) for name in BITS} == BITS
    assert ml.explain("memref<4x8xbf16>").arrays[0].sizes.data_bytes == 64


def test_symbols_and_unknown_sizes() -> None:
    m = ml.index_map("memref<?x?xf32, affine_map<(i, j) -> (j floordiv 16, i, j mod 16)>>")
    assert str(m.size) == "16*N0*ceiling(N1/16)"
    assert ml.is_injective(m).holds
    assert ml.verify(m).holds
    assert ml.index_map("affine_map<(i, j)[s] -> (i * s + j)>", (4, 5)).at(s0=7)(3, 4) == 25
    assert ml.index_map("memref<2x?xf32>").at(N1=5)(1, 3) == 8
