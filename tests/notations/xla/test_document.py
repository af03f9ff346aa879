"""XLA's document "Tiled layout" and a blog post on shapes, layouts and tiling, all they show."""

from __future__ import annotations

import numpy as np
import pytest

import morello_layouts as ml


def test_figure_1_element_and_its_tile_coordinates() -> None:
    m = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    assert m.physical_shape == (2, 3, 2, 2)
    assert m.physical_coordinates(2, 3) == (1, 1, 0, 1)
    assert m(2, 3) == 17
    assert m.coordinates(17) == (2, 3)


def test_figure_1_cell_by_cell() -> None:
    x = -1  # padding
    buffer = ml.pack("f32[3,5]{1,0:T(2,2)}", np.arange(15).reshape(3, 5), fill=x)
    assert buffer.tolist() == [
        *(0, 1, 5, 6), *(2, 3, 7, 8), *(4, x, 9, x),
        *(10, 11, x, x), *(12, 13, x, x), *(14, x, x, x),
    ]  # fmt: skip


def test_tiling_is_pad_reshape_transpose() -> None:
    recipe = ml.index_map("f32[3,5]{1,0:T(2,2)}").recipe
    assert recipe.shapes == ((3, 5), (4, 6), (2, 2, 3, 2), (2, 3, 2, 2))
    assert recipe.steps == (ml.Pad((4, 6)), ml.Split((2, 2)), ml.Transpose((0, 2, 1, 3)))
    assert str(recipe) == "[3,5] → pad [4,6] → split [2,2,3,2] → transpose [2,3,2,2]"


def test_the_reference_formula_is_the_documents() -> None:
    """linear_index((⌊e/t⌋, e mod t), (⌈d/t⌉, t)), at each level."""
    one = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    assert str(one.reference_form) == "12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2"
    two = ml.index_map("f32[16,256]{1,0:T(8,128)(2,4)}")
    assert str(two.reference_form) == (
        "2048*(d0//8) + 1024*(d1//128) + 256*((d0%8)//2) + 8*((d1%128)//4) + 4*((d0%8)%2) + "
        "(d1%128)%4"
    )


def test_figure_2_cell_by_cell() -> None:
    m = ml.index_map("u16[4,8]{1,0:T(2,4)(2,1)}")
    rows = m(*np.indices((4, 8)))
    assert rows.tolist() == [
        [0, 2, 4, 6, 8, 10, 12, 14],
        [1, 3, 5, 7, 9, 11, 13, 15],
        [16, 18, 20, 22, 24, 26, 28, 30],
        [17, 19, 21, 23, 25, 27, 29, 31],
    ]


def test_figure_4_element_through_both_tiles() -> None:
    once = ml.index_map("bf16[8,8]{1,0:T(2,4)}")
    twice = ml.index_map("bf16[8,8]{1,0:T(2,4)(2,1,1,1)}")
    assert once.physical_shape == (4, 2, 2, 4)
    assert once.physical_coordinates(6, 5) == (3, 1, 0, 1)
    assert twice.physical_shape == (2, 2, 2, 4, 2, 1, 1, 1)
    assert twice.physical_coordinates(6, 5) == (1, 1, 0, 1, 1, 0, 0, 0)
    assert twice(6, 5) == 51


def test_figure_3_tiles_that_reach_the_cross_tile_dimensions() -> None:
    m = ml.index_map("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}")
    assert (4, 2, 8, 128) in m.recipe.shapes
    assert m.physical_shape == (2, 2, 8, 128, 2, 1, 1, 1)
    assert tuple(n for n in m.physical_shape if n != 1) == (2, 2, 8, 128, 2)


def test_combined_dimensions() -> None:
    combined = ml.index_map("f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}")
    plain = ml.index_map("f32[112,110]{1,0:T(2,3)}")
    assert combined.physical_shape == plain.physical_shape == (56, 37, 2, 3)
    assert combined.size == plain.size
    array = np.arange(112 * 110)
    packed = ml.pack(combined, array.reshape(2, 7, 8, 11, 10), fill=-1)
    np.testing.assert_array_equal(packed, ml.pack(plain, array.reshape(112, 110), fill=-1))


def test_combined_dimensions_in_the_api_are_a_named_constant() -> None:
    star = ml.xla.COMBINE
    layout = ml.XlaLayout((4, 3, 2, 1, 0), tiles=((star, star, 2, star, 3),))
    assert str(layout) == "{4,3,2,1,0:T(*,*,2,*,3)}"
    assert layout == ml.parse("{4,3,2,1,0:T(*,*,2,*,3)}")


@pytest.mark.parametrize(
    ("text", "physical_shape"),
    [
        ("f32[2,3,5]{2,1,0:T(2,2)}", (2, 2, 3, 2, 2)),
        ("f32[3,5]{0,1:T(2,2)}", (3, 2, 2, 2)),
        ("f32[3]{0:T(2,4)}", (1, 1, 2, 4)),  # leading 1s for a tile of more dimensions
        ("f32[]{:T(128)}", (1, 128)),
        ("f32[5]{0}", (5,)),
    ],
)
def test_tiles_of_other_ranks_and_orders(text: str, physical_shape: tuple[int, ...]) -> None:
    assert ml.index_map(text).physical_shape == physical_shape


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "per_word", "rows_apart"),
    [
        ("bf16[16,256]{1,0:T(8,128)(2,1)}", 2, 1),  # (2r, c) and (2r + 1, c)
        ("bf16[32,256]{1,0:T(8,128)(2,1,1,1)}", 2, 8),  # (r, c) and (r + 8, c)
        ("s8[16,256]{1,0:T(8,128)(4,1)}", 4, 1),
        ("pred[64,256]{1,0:T(32,128)(32,1)E(1)}", 32, 1),
    ],
)
def test_what_lies_in_one_word(text: str, per_word: int, rows_apart: int) -> None:
    m = ml.index_map(text)
    assert per_word * ml.parse(text).bits == 32
    for word in range(m.size // per_word):
        at = [m.coordinates(per_word * word + k) for k in range(per_word)]
        row, column = at[0]
        assert row % (per_word * rows_apart) < rows_apart
        assert at == [(row + k * rows_apart, column) for k in range(per_word)]


@pytest.mark.parametrize(
    ("text", "elements", "byte_size"),
    [
        ("f32[3,5]{1,0:T(2,2)}", 24, 96),
        ("f32[3,5]{1,0:T(2,2)L(32)}", 32, 128),
        ("f32[3,5]{1,0:T(2,2)L(24)}", 24, 96),
        ("f32[3,5]{1,0:L(32)}", 15, 60),  # without tiles XLA ignores L
        ("f32[0,5]{1,0:T(2,2)L(32)}", 0, 0),
        ("f32[]{:T(128)}", 128, 512),
        ("pred[32,128]{1,0}", 4096, 4096),  # the document's 4 bytes are out of date
        ("pred[32,128]{1,0:E(32)}", 4096, 16384),
        ("pred[32,128]{1,0:T(32,128)(32,1)E(1)}", 4096, 512),
    ],
)
def test_sizes_with_padding(text: str, elements: int, byte_size: int) -> None:
    assert ml.index_map(text).size == elements
    assert ml.parse(text).byte_size == byte_size


def test_tail_padding_comes_last() -> None:
    m = ml.index_map("f32[3,5]{1,0:T(2,2)L(32)}")
    without = ml.index_map("f32[3,5]{1,0:T(2,2)}")
    array = np.arange(15).reshape(3, 5)
    packed = ml.pack(m, array, fill=-1)
    np.testing.assert_array_equal(packed[:24], ml.pack(without, array, fill=-1))
    assert packed[24:].tolist() == [-1] * 8
    assert m.coordinates(24) is None
    assert str(m.recipe).endswith(" → tail pad to 32 elements")


@pytest.mark.parametrize(
    "text", ["f32[3,5]{1,0:T(2,2)}", "f32[5,3]{0,1:T(4,4)(3,1)L(50)}", "f32[2,3,5]{0,2,1:T(*,4)}"]
)
def test_unpack_is_the_same_whatever_padding_holds(text: str) -> None:
    m = ml.index_map(text)
    array = np.arange(np.prod(m.shape), dtype=np.float32).reshape(m.shape)
    for fill in (0, 1e30, np.nan):
        buffer = ml.pack(m, array, fill=fill)
        assert np.isnan(buffer).sum() == (m.padding if np.isnan(fill) else 0)
        np.testing.assert_array_equal(ml.unpack(m, buffer), array)


def test_blog_row_and_column_major() -> None:
    assert ml.index_map("f32[2,3]{1,0}")(1, 2) == 5
    letters = [list("abc"), list("def")]
    assert "".join(ml.pack("{1,0}", letters)) == "abcdef"
    assert "".join(ml.pack("{0,1}", letters)) == "adbecf"


def test_blog_shapes_and_memory_spaces() -> None:
    add = ml.parse("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}")
    assert add.element_type == "bf16"
    assert add.dims == (8, 1, 1280, 16384)
    assert add.true_rank == 3
    assert add.layout.minor_to_major == (3, 2, 0, 1)
    assert add.layout.tiles == ((8, 128), (2, 1))
    assert add.layout.memory_space == 0
    fusion = ml.parse("bf16[32,32,4096]{2,1,0:T(8,128)(2,1)S(1)}")
    assert fusion.layout.memory_space == 1
    assert ml.parse("f32[2]{0:S(5)}").layout.memory_space == 5
