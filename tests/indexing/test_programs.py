"""What HLO instructions read, against what changed when XLA ran them, and through layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.xla.shape import XlaTuple
from morello_layouts.programs.hlo import HloInstruction
from morello_layouts.programs.indexing import IndexingMap
from morello_layouts.programs.indexing.programs import OperandRead, instruction_indexing
from tests.support.hlo_reads import recorded
from tests.support.hlo_xla import programs
from tests.support.tables import each_row

RECORDED = recorded()


def runtime_values(m: IndexingMap, indices: dict[str, Any], points: list[Any]) -> list[Any]:
    """Return the values of run-time variables at points of the others, as XLA clamps them."""
    from morello_layouts.programs.indexing.expressions import evaluate

    at = dict(zip(m.variables, points, strict=False))
    found = []
    for one in m.runtimes:
        assert one.source is not None
        array = np.array(indices[one.source.instruction])
        index = tuple(evaluate(x, at) + 0 * points[0] for x in one.source.at)
        found.append(np.clip(array[index], one.lo, one.hi))
    return found


def reads_of(read: OperandRead, indices: dict[str, Any]) -> set[tuple[int, int]]:
    """Return pairs of a place in the result and one in the operand that it reads, row-major."""
    m = read.map
    free = IndexingMap(m.dims, m.ranges, (), (), ())
    points = list(free.points()) or [np.zeros(1, int)]
    if not m.variables:
        values: list[Any] = []
    else:
        values = [*points, *runtime_values(m, indices, points)]
    inside = np.broadcast_to(m.contains(*values), points[0].shape)
    results = [(x + 0 * points[0])[inside] for x in m(*values)]
    dims = [p[inside] for p in points[: len(m.dims)]]
    if not inside.any():
        return set()
    assert read.operand_type is not None
    sizes = (read.result_type.shape, read.operand_type.shape)
    flat = [
        np.ravel_multi_index(index, n) if n else np.zeros(inside.sum(), int)
        for index, n in zip((dims, results), sizes, strict=True)
    ]
    return set(zip(*(f.tolist() for f in flat), strict=True))


@each_row("name", RECORDED)
def test_reads_are_those_that_changed_results_in_xla(name: str) -> None:
    row = RECORDED[name]
    found = ml.indexing_map(ml.read_hlo(row["text"]), "r")
    assert not found.unknown
    for number, (operand, pairs) in enumerate(
        sorted({**row["reads"], **row["indices"]}.items(), key=lambda item: item[0])
    ):
        if operand in row["indices"]:
            continue
        ours: set[tuple[int, int]] = set()
        for read in found.reads:
            if read.number == number:
                ours |= reads_of(read, row["indices"])
        expected = {tuple(pair) for pair in pairs}
        is_updated = "dynamic-update-slice" in row["text"] and number == 0
        is_scalar = all(not read.map.results for read in found.reads if read.number == number)
        if is_updated or is_scalar or ("convolution" in row["text"] and number == 1):
            assert expected <= ours  # no map says that an update hides, or where padding is
        else:
            assert ours == expected, operand


DOCUMENTED = {
    "f32[10,20] add(f32[10,20] %a, f32[10,20] %b)": (
        "(d0, d1) -> (d0, d1), domain: d0 in [0, 9], d1 in [0, 19] / (d0, d1) -> (d0, d1), "
        "domain: d0 in [0, 9], d1 in [0, 19]"
    ),
    "f32[10,20,30] broadcast(f32[20] %a), dimensions={1}": (
        "(d0, d1, d2) -> (d1), domain: d0 in [0, 9], d1 in [0, 19], d2 in [0, 29]"
    ),
    "f32[3,6,128,12288] transpose(f32[3,12288,6,128] %a), dimensions={0,2,3,1}": (
        "(d0, d1, d2, d3) -> (d0, d3, d1, d2), domain: d0 in [0, 2], d1 in [0, 5], d2 in [0, "
        "127], d3 in [0, 12287]"
    ),
    "f32[1,17,9,9] reverse(f32[1,17,9,9] %a), dimensions={1,2}": (
        "(d0, d1, d2, d3) -> (d0, -d1 + 16, -d2 + 8, d3), domain: d0 in [0, 0], d1 in [0, "
        "16], d2 in [0, 8], d3 in [0, 8]"
    ),
    "f32[5,3,25] slice(f32[10,20,50] %a), slice={[5:10:1], [3:20:7], [0:50:2]}": (
        "(d0, d1, d2) -> (d0 + 5, d1 * 7 + 3, d2 * 2), domain: d0 in [0, 4], d1 in [0, 2], d2"
        " in [0, 24]"
    ),
    "f32[32] reshape(f32[4,8] %a)": ("(d0) -> (d0 floordiv 8, d0 mod 8), domain: d0 in [0, 31]"),
    "f32[4,8] reshape(f32[32] %a)": (
        "(d0, d1) -> (d0 * 8 + d1), domain: d0 in [0, 3], d1 in [0, 7]"
    ),
    "f32[32,3,4] reshape(f32[4,8,12] %a)": (
        "(d0, d1, d2) -> (d0 floordiv 8, d0 mod 8, d1 * 4 + d2), domain: d0 in [0, 31], d1 in"
        " [0, 2], d2 in [0, 3]"
    ),
    "f32[2,33,7] concatenate(f32[2,5,7] %a, f32[2,11,7] %b, f32[2,17,7] %c), dimensions={1}": (
        "(d0, d1, d2) -> (d0, d1, d2), domain: d0 in [0, 1], d1 in [0, 4], d2 in [0, 6] / "
        "(d0, d1, d2) -> (d0, d1 - 5, d2), domain: d0 in [0, 1], d1 in [5, 15], d2 in [0, 6] "
        "/ (d0, d1, d2) -> (d0, d1 - 16, d2), domain: d0 in [0, 1], d1 in [16, 32], d2 in [0,"
        " 6]"
    ),
    "f32[4,128,64] dot(f32[4,128,256] %a, f32[4,256,64] %b), lhs_batch_dims={0}, "
    "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}": (
        "(d0, d1, d2)[s0] -> (d0, d1, s0), domain: d0 in [0, 3], d1 in [0, 127], d2 in [0, "
        "63], s0 in [0, 255] / (d0, d1, d2)[s0] -> (d0, s0, d2), domain: d0 in [0, 3], d1 in "
        "[0, 127], d2 in [0, 63], s0 in [0, 255]"
    ),
    "f32[12,16] pad(f32[4,4] %a, f32[] %b), padding=1_4_1x4_8_0": (
        "(d0, d1) -> ((d0 - 1) floordiv 2, d1 - 4), domain: d0 in [1, 7], d1 in [4, 7], (d0 -"
        " 1) mod 2 in [0, 0] / (d0, d1) -> (), domain: d0 in [0, 11], d1 in [0, 15]"
    ),
    "f32[1024,3] reduce-window(f32[1024,514] %a, f32[] %b), window={size=1x512 pad=0_0x0_0}": (
        "(d0, d1)[s0] -> (d0, d1 + s0), domain: d0 in [0, 1023], d1 in [0, 2], s0 in [0, 511]"
        " / (d0, d1) -> (), domain: d0 in [0, 1023], d1 in [0, 2]"
    ),
    "f32[10] reduce(f32[256,10] %a, f32[] %b), dimensions={0}": (
        "(d0)[s0] -> (s0, d0), domain: d0 in [0, 9], s0 in [0, 255] / (d0) -> (), domain: d0 "
        "in [0, 9]"
    ),
    "f32[1806,7,8,4] gather(f32[33,76,70] %a, s32[1806,2] %i), offset_dims={1,2,3}, "
    "collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
    "slice_sizes={7,8,4}": (
        "(d0, d1, d2, d3){rt0, rt1} -> (d1 + rt0, d2 + rt1, d3), domain: d0 in [0, 1805], d1 "
        "in [0, 6], d2 in [0, 7], d3 in [0, 3], rt0 in [0, 26], rt1 in [0, 68] / (d0, d1, d2,"
        " d3)[s0] -> (d0, s0), domain: d0 in [0, 1805], d1 in [0, 6], d2 in [0, 7], d3 in [0,"
        " 3], s0 in [0, 1]"
    ),
    "f32[8,4] all-gather(f32[2,4] %a), dimensions={0}": (
        "(d0, d1) -> (d0 mod 2, d1), domain: d0 in [0, 7], d1 in [0, 3]"
    ),
    "f32[2,4] iota(), iota_dimension=1": "",
}
"""Examples of XLA's docs/indexing.md."""


@each_row("text", DOCUMENTED)
def test_documented_examples_are_printed_as_in_xla(text: str) -> None:
    found = ml.indexing_map(ml.read_hlo(f"%r = {text}"), "r")
    assert " / ".join(str(read.map) for read in found.reads) == DOCUMENTED[text]


def test_a_dynamic_slice_says_where_its_offsets_come_from() -> None:
    text = (
        "%x = s32[1,2,32] dynamic-slice(s32[2,2,258] %a, s32[] %i, s32[] %j, s32[] %k),"
        " dynamic_slice_sizes={1,2,32}"
    )
    found = ml.indexing_map(ml.read_hlo(text), "x")
    assert str(found["a"][0]) == (
        "(d0, d1, d2){rt0, rt1} -> (d0 + rt0, d1, d2 + rt1), domain: d0 in [0, 0], d1 in [0, 1],"
        " d2 in [0, 31], rt0 in [0, 1], rt1 in [0, 226]"
    )
    assert found["%a"] == found[0] != found[1]
    assert found.reads[0].sources == ("rt0 is i[]", "rt1 is k[]")
    assert "rt1 is k[]" in str(found)


def test_offsets_of_the_operand_s_buffer() -> None:
    """A transpose between tiled layouts, in bytes, against the layouts' own index maps."""
    before, after = "bf16[20,300]{1,0:T(8,128)(2,1)}", "bf16[300,20]{1,0:T(8,128)(2,1)}"
    module = ml.read_hlo(f"%t = {after} transpose({before} %x), dimensions={{1,0}}")
    (read,) = ml.indexing_map(module, "t").reads
    x, y = ml.index_map(before), ml.index_map(after)
    offset, from_offset, from_byte = read.offset, read.from_offset, read.from_byte
    assert offset is not None
    assert from_offset is not None
    assert from_byte is not None
    for i, j in [(0, 0), (7, 19), (128, 3), (299, 19), (131, 8)]:
        assert offset(i, j) == (x(j, i),)
        assert from_offset.contains(y(i, j))
        assert from_offset(y(i, j)) == (x(j, i),)
        assert from_byte(y(i, j)) == (2 * x(j, i),)
    slots = np.arange(y.size)
    inside = from_offset.contains(slots)
    assert inside.sum() == 20 * 300
    assert [y.coordinates(int(p)) is not None for p in slots[::97]] == inside[::97].tolist()


BITCASTS = [
    ("f32[8,128]{1,0:T(8,128)}", "f32[1,1,8,128]{3,2,1,0:T(8,128)}"),
    ("f32[16,256]{1,0:T(8,128)}", "f32[2,2,8,128]{3,2,1,0}"),
    ("bf16[4,8,128]{2,1,0:T(8,128)(2,1)}", "bf16[32,128]{1,0:T(8,128)(2,1)}"),
    ("f32[5,7]{0,1}", "f32[7,5]{1,0}"),
    ("f32[6,20]{1,0:T(8,128)}", "f32[1,6,20]{2,1,0:T(8,128)}"),
]


@each_row("before, after", BITCASTS)
def test_a_bitcast_keeps_each_element_s_offset(before: str, after: str) -> None:
    module = ml.read_hlo(f"%b = {after} bitcast({before} %x)")
    (m,) = ml.indexing_map(module, "b")["x"]
    x, y = ml.index_map(before), ml.index_map(after)
    at = m.points()
    assert len(at[0]) == np.prod([one.hi + 1 for one in m.dims])
    assert np.array_equal(x(*m(*at)), y(*at))


def unknown_fusions(names: tuple[str, ...]) -> tuple[int, int]:
    """Return how many results of fusions there are, and of how many something is not known."""
    known = unknown = 0
    for name, text in programs().items():
        if name.startswith(names):
            for instruction in ml.read_hlo(text).instructions:
                shape = instruction.shape
                results = len(shape.shapes) if isinstance(shape, XlaTuple) else 1
                for k in range(results if instruction.opcode == "fusion" else 0):
                    found = instruction_indexing(instruction, k)
                    known += 1
                    unknown += bool(found.unknown) or not all(r.map.dims for r in found.reads)
    return known, unknown


def test_every_fusion_of_two_programs_has_indexing_maps() -> None:
    assert unknown_fusions(("v5e_attention", "v5e_conv")) == (18, 0)


@pytest.mark.slow
def test_every_fusion_of_the_programs_has_indexing_maps() -> None:
    assert unknown_fusions(("v5e", "v3", "v5p", "tpu7x")) == (250, 0)


def test_what_is_not_known_says_so() -> None:
    text = """HloModule m
    f { p = f32[8] parameter(0)
        q = f32[8] parameter(1)
        c = f32[8] custom-call(p), custom_call_target="x"
        ROOT a = f32[8] add(c, q) }
    ENTRY e { x = f32[8] parameter(0)
      y = f32[8] parameter(1)
      ROOT r = f32[8] fusion(x, y), kind=kLoop, calls=f }"""
    found = ml.indexing_map(ml.read_hlo(text), "r")
    assert [operand for operand, _ in found.unknown] == ["x"]
    assert "c: a custom-call has no indexing map" in str(found)
    assert str(found["y"][0]) == "(d0) -> (d0), domain: d0 in [0, 7]"


def test_a_batched_product_that_the_tpu_compiler_writes_as_a_dilated_convolution() -> None:
    """Dilation and stride make each window see its own batch and head alone."""
    text = (
        "%c = f32[2,16,8,16]{3,2,1,0} convolution(f32[2,16,8,4] %a, f32[2,16,16,4] %b),"
        " window={size=2x16 stride=1x15 lhs_dilate=2x16}, dim_labels=01bf_01oi->01bf"
    )
    found = ml.indexing_map(ml.read_hlo(text), "c")
    assert found["a"][0].function == "(d0, d1, d2, d3)[s0] -> (d0, d1, d2, s0)"
    assert not found["a"][0].constraints


def test_computations_that_call_each_other_are_refused() -> None:
    text = """HloModule m
    f { p = f32[8] parameter(0)
        ROOT c = f32[8] call(p), to_apply=f }
    ENTRY e { x = f32[8] parameter(0)
      ROOT r = f32[8] fusion(x), kind=kLoop, calls=f }"""
    (found,) = ml.indexing_map(ml.read_hlo(text), "r").unknown
    assert "a call has no indexing map" in found[1]


def test_offsets_of_a_transpose_are_sums_of_digits() -> None:
    """The cheapest form has a product modulo 2^20 - 1, which 32 bits do not hold."""
    text = (
        "%t = f32[8192,96]{1,0:T(8,128)} transpose(f32[96,8192]{1,0:T(8,128)} %x), dimensions={1,0}"
    )
    reads = ml.indexing_map(ml.read_hlo(text), "t")
    assert repr(reads) == "<InstructionIndexing: t reads x>"
    found = reads.reads[0].from_offset
    assert found is not None
    assert "1048575)" not in found.function
    x, t = (ml.index_map(f"f32[{n}]{{1,0:T(8,128)}}") for n in ("96,8192", "8192,96"))
    i, j = np.indices((8192, 96))
    assert np.array_equal(found(t(i, j))[0], x(j, i))


def test_a_run_time_variable_is_told_over_variables_of_the_map() -> None:
    """A dot contracts the rows that a gather picked: the map keeps the number of the row."""
    module = ml.read_hlo("""
%f (x: f32[100,16], i: s32[8,1], w: f32[8,4]) -> f32[16,4] {
  %x = f32[100,16]{1,0} parameter(0)
  %i = s32[8,1]{1,0} parameter(1)
  %w = f32[8,4]{1,0} parameter(2)
  %g = f32[8,16]{1,0} gather(%x, %i), offset_dims={1}, collapsed_slice_dims={0},
    start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}
  ROOT %r = f32[16,4]{1,0} dot(%g, %w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
}
ENTRY %main (a: f32[100,16], b: s32[8,1], c: f32[8,4]) -> f32[16,4] {
  %a = f32[100,16]{1,0} parameter(0)
  %b = s32[8,1]{1,0} parameter(1)
  %c = f32[8,4]{1,0} parameter(2)
  ROOT %q = f32[16,4]{1,0} fusion(%a, %b, %c), kind=kLoop, calls=%f
}
""")
    text = str(ml.indexing_map(module, "q"))
    assert "a: (d0, d1)[s0]{rt0} -> (rt0, d0)" in text
    assert "s0 in [0, 7], rt0 in [0, 99]\n    rt0 is b[s0, 0]" in text


def test_operands_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    of, asked = HloInstruction.operands.fget, []
    monkeypatch.setattr(HloInstruction, "operands", property(lambda i: asked.append(i) or of(i)))
    text = f"%x = f32[4] parameter(0)\nROOT %a = f32[4] add({', '.join(['%x'] * 99)})"
    assert len(ml.indexing_map(ml.read_hlo(text), "a").reads) == 99
    assert len(asked) < 9
