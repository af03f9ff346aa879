"""What is easily got wrong about Triton's layouts."""

from __future__ import annotations

import pytest

import morello_layouts as ml

BLOCKED = "sizePerThread = [1, 2], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]"


def test_hardware_to_logical_is_the_way_back() -> None:
    """Triton maps places to coordinates: lane 1 has (0, 4), and element (0, 1) is not on lane 4."""
    text = "#ttg.linear<{register = [[0, 2]], lane = [[0, 1], [1, 0]], warp = []}>"
    m = ml.index_map(text, (2, 4))
    assert m.coordinates(1) == (0, 2)
    assert m.coordinates(2) == (0, 1)
    assert m(0, 1) == 2


def test_a_shape_smaller_than_the_tile_is_held_several_times() -> None:
    layout = ml.parse(f"#ttg.blocked<{{{BLOCKED}}}>")
    bases = layout.bases((2, 4))
    assert bases["lane"] == ((0, 2), (0, 0), (0, 0), (1, 0), (0, 0))
    assert layout.recipe((2, 4)).replicas == 8
    assert bases["register"] == ((0, 1),)


def test_the_only_warp_needs_no_name() -> None:
    m = ml.index_map(
        "#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = []}>", (2, 4)
    )
    assert m.element(lane=3, register=1) == m.element(warp=0, lane=3, register=1) == (1, 3)
    assert dict(m.place(1, 3)) == {"warp": 0, "lane": 3, "register": 1}


def test_very_many_holders_are_not_listed() -> None:
    wide = BLOCKED.replace("[4, 8]", f"[{1 << 40}, 8]")
    m = ml.index_map(f"#ttg.blocked<{{{wide}}}>", (4, 16))
    assert m(3, 1) == 3 * 16 + 1


def test_verified_with_several_holders() -> None:
    m = ml.index_map(f"#ttg.blocked<{{{BLOCKED}}}>", (2, 4))
    found = ml.verify(m)
    assert found.holds, found.reason
    assert m.size == 64


def test_a_shape_larger_than_the_tile_takes_more_registers_in_order() -> None:
    layout = ml.parse(f"#ttg.blocked<{{{BLOCKED}}}>")
    assert layout.bases((8, 32))["register"] == ((0, 1), (0, 16), (4, 0))
    other = ml.parse(f"#ttg.blocked<{{{BLOCKED.replace('[1, 0]', '[0, 1]')}}}>")
    assert other.bases((8, 32))["register"] == ((0, 1), (4, 0), (0, 16))


def test_zero_bases_of_registers_go_with_slices_and_blocks_but_not_with_operands() -> None:
    small = f"#ttg.slice<{{dim = 1, parent = #ttg.blocked<{{{BLOCKED}}}>}}>"
    assert ml.parse(small).bases((4,)) == {
        "warp": (), "lane": ((0,), (0,), (0,), (1,), (2,)), "register": (),
    }  # fmt: skip
    mma = "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    operand = ml.parse(f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 4}}>")
    assert operand.bases((16, 8))["register"] == ((0, 1), (0, 2), (8, 0), (0, 0))


def test_an_operand_of_64x4_has_a_layout_where_its_result_has_none() -> None:
    mfma = (
        "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [64, 4, 16], "
        "isTransposed = false}>"
    )
    operand = ml.parse(f"#ttg.dot_op<{{opIdx = 1, parent = {mfma}, kWidth = 8}}>")
    assert operand.bases((64, 64))["warp"] == ((0, 4), (0, 0))


def test_swizzles_are_in_elements_here() -> None:
    text = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    m = ml.index_map(text, (8, 64))
    assert [m(i, 0) for i in range(4)] == [0, 64 + 8, 128 + 16, 192 + 24]


def test_paddings_add_up() -> None:
    """The example of triton's own documentation, for offsets in order."""
    text = "#ttg.padded_shared<[2:+1, 4:+2] {order = [0], shape = [8]}>"
    m = ml.index_map(text, (8,))
    assert [m(k) for k in range(8)] == [0, 1, 3, 4, 8, 9, 11, 12]
    assert m.size == 13  # nothing after the last element
    assert ml.verify(m).holds


def test_paddings_after_bases() -> None:
    text = "#ttg.padded_shared<[2:+2] {offset = [[2], [1]], block = []}>"
    m = ml.index_map(text, (4,))
    assert [m(k) for k in (0, 2, 1, 3)] == [0, 1, 4, 5]


def test_four_bit_floats_leave_gaps() -> None:
    text = (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, "
        "fp4Padded = true}>"
    )
    m = ml.index_map(text, (8, 64))
    assert [m(0, k) for k in (0, 7, 8, 15, 16)] == [0, 7, 16, 23, 32]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            (
                "#triton_gpu.shared<{vec = 4, perPhase = 2, maxPhase = 4, order = [1, 0], "
                "hasLeadingOffset = false}>"
            ),
            "#ttg.swizzled_shared<{vec = 4, perPhase = 2, maxPhase = 4, order = [1, 0]}>",
        ),
        (
            (
                "#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [0, 1], "
                "hasLeadingOffset = true}>"
            ),
            (
                "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, "
                "elementBitWidth = 16}>"
            ),
        ),
        (
            (
                "#triton_gpu.amd_mfma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [2, 2], "
                "instrShape = [32, 32], isTransposed = false}>"
            ),
            (
                "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32], "
                "isTransposed = false}>"
            ),
        ),
    ],
)
def test_older_spellings(old: str, new: str) -> None:
    assert str(ml.parse(old)) == new


def test_clusters_of_older_versions() -> None:
    """CTASplitNum of CTAsPerCGA blocks have parts of their own, in CTAOrder."""
    old = "CTAsPerCGA = [2, 2], CTASplitNum = [1, 2], CTAOrder = [1, 0]"
    text = f"#triton_gpu.blocked<{{{BLOCKED}, {old}}}>"
    new = f"#ttg.blocked<{{{BLOCKED}, CGALayout = [[0, 1], [0, 0]]}}>"
    assert ml.parse(text).bases((8, 64)) == ml.parse(new).bases((8, 64))


def test_aliases_and_types() -> None:
    text = f"#b = #ttg.blocked<{{{BLOCKED}}}>\n!ttg.memdesc<8x8xf16, #s>"
    shared = "#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>\n"
    assert ml.parse(shared + text).element.bits == 16
    pointers = ml.parse(f"tensor<8x16x!tt.ptr<f16>, #ttg.blocked<{{{BLOCKED}}}>>")
    assert (pointers.sizes, pointers.element.bits) == ((8, 16), 64)
    assert str(ml.parse(str(pointers))) == str(pointers)


def test_a_memory_space_has_an_alias_as_in_files() -> None:
    """What is not of tensor memory's element is a gap: of 64 rows each second 16."""
    space = "#smem = #ttg.shared_memory\n"
    text = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    layout = ml.parse(f"{space}#s = {text}\n!ttg.memdesc<8x8xf16, #s, #smem, mutable>")
    assert str(layout) == f"!ttg.memdesc<8x8xf16, {text}, #ttg.shared_memory, mutable>"
    assert str(ml.parse(f"{space}#s = {text}")) == text
    m = ml.index_map(
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 8, colStride = 2>", (64, 8)
    )
    assert dict(m.place(17, 3)) == {"row": 33, "col": 6}
    assert m.element(row=16, col=0) is None
    assert m.element(row=33, col=7) is None
    assert ml.verify(m).holds


def test_results_of_48_columns_have_operands_in_registers() -> None:
    mma = (
        "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
        "instrShape = [16, 48, 16]}>"
    )
    operand = ml.parse(f"#ttg.dot_op<{{opIdx = 0, parent = {mma}, kWidth = 2}}>")
    fragment = "wgmma.mma_async.sync.aligned.m64n48k16.f32.f16.f16 A"
    assert ml.are_equivalent(fragment, operand, (64, 16)).holds
    with pytest.raises(ml.UnsupportedError, match="48 columns have no layout of bits"):
        ml.index_map(mma, (64, 64))


def test_bases_alone_and_in_lines() -> None:
    text = """- register=1 -> (0, 1)
- lane=1 -> (0, 2)
  lane=2 -> (1, 0)
- warp is a size 1 dimension
where out dims are: [dim0 (size 2), dim1 (size 4)]"""
    lines, braces = ml.parse(text), ml.parse("{register = [[0, 1]], lane = [[0, 2], [1, 0]]}")
    assert lines.sizes == (2, 4)
    assert str(lines) == text
    assert lines.bases((2, 4)) == braces.bases((2, 4))
    assert ml.parse("{offset = [[0, 1], [1, 1]]}").bases((2, 2)) == {"offset": ((0, 1), (1, 1))}


@pytest.mark.parametrize(
    ("source", "shape", "text"),
    [
        (f"#ttg.blocked<{{{BLOCKED}}}>", (4, 16),
         ("#ttg.linear<{register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], "
         "warp = [], block = []}>")),
        ("f32[64,32]{0,1}", None,
         "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>"),
        ("f32[2,4,8]", None,
         "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [2, 1, 0]}>"),
        ("aBc4b", (2, 8, 4),
         ("#ttg.shared_linear<{offset = [[0, 1, 0], [0, 2, 0], [0, 0, 1], [0, 0, 2], [0, 4, 0], "
         "[1, 0, 0]]}>")),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>",
         (8, 32),
         "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>"),
    ],
)  # fmt: skip
def test_written(source: str, shape: tuple[int, ...] | None, text: str) -> None:
    found = ml.convert(source, "triton", shape)
    assert str(found) == text
    sizes = ml.index_map(source, shape).shape
    assert ml.are_equivalent(source, found, sizes).holds


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("f32[]", "#ttg.shared_linear<{offset = []}>"),
        ("f32[8]", "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"),
        ("f32[1,8]", "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"),
    ],
)
def test_small_arrays_are_written(source: str, text: str) -> None:
    assert str(ml.convert(source, "triton")) == text


def test_an_xor_that_is_no_swizzle_stays_linear() -> None:
    """Row 1 changes two bits of the column at once: no vec does that."""
    text = "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 3], [2, 0]]}>"
    assert str(ml.convert(text, "triton", (4, 4))) == text


VIEW = (
    "!ttg.memdesc<{}f16, #ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = 8, "
    "order = [1, 0]}}>, #ttg.shared_memory, mutable{}>"
)


def test_a_view_has_the_strides_of_its_buffer() -> None:
    """Columns 0 to 15 of 64: a row of the view begins where the buffer's row does."""
    whole, view = (ml.index_map(VIEW.format(*x)) for x in (("16x64x", ""), ("16x16x", ", 16x64")))
    staged = ml.index_map(VIEW.format("16x16x", ", 3x16x64"))
    for i in range(16):
        for j in range(16):
            assert view(i, j) == staged(i, j) == 64 * i + (j ^ (i % 8 * 8)) == whole(i, j)
    assert ml.verify(view).holds
    with pytest.raises(ml.LayoutError, match="a view of 8x64: got 16x16"):
        ml.index_map(VIEW.format("16x16x", ", 8x64"))
