"""The layouts that the TPU compiler chose, row by row."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts import tpu
from tests.support.paths import table

Row = dict[str, str]


def array(text: str) -> ml.XlaShape:
    x = ml.parse(text)
    assert isinstance(x, ml.XlaShape)
    return x


def chosen(row: Row) -> ml.XlaShape:
    """What we say of a row's type, sizes and generation."""
    x = array(row["shape_with_layout"])
    return tpu.default_layout(x.element_type, x.shape, row["generation"])


@pytest.mark.slow
def test_every_parameter() -> None:
    rows = [row for row in table("tpu_buffer_sizes.tsv.gz") if row["kind"] == "default_param"]
    assert len(rows) == 8213
    for row in rows:
        x = chosen(row)
        assert (str(x), x.byte_size) == (row["shape_with_layout"], int(row["bytes"]))


@pytest.mark.slow
def test_fresh_parameters_of_two_compilers() -> None:
    rows = table("tpu_default_layouts.tsv.xz")
    assert {row["libtpu"] for row in rows} == {"0.0.42", "0.0.52"}
    wrong = [
        (row, str(x))
        for row in rows
        if str(x := chosen({**row, "shape_with_layout": row["shape"]})) != row["shape"]
        or x.byte_size != int(row["bytes"])
    ]
    assert wrong == []
    assert sum(0 in array(row["shape"]).shape for row in rows) > 100


@pytest.mark.parametrize(
    ("generation", "text"),
    [
        ("v5e", "s2[16,56,1,1,2560]{4,0,3,2,1:T(16,128)(16,1)E(2)}"),
        ("v4", "s2[1,11,32,24,384]{4,2,3,1,0:T(16,128)(16,1)E(2)}"),
        ("v3", "u2[288,40,512]{2,0,1:T(16,128)(4,1)}"),
        ("v3", "s2[32,33,24,256]{3,0,2,1:T(16,128)(4,1)}"),
        ("v4", "s2[48,40,1,64]{3,1,2,0:T(16,128)(16,1)E(2)}"),  # columns of 64: no whole tiles
        ("v2", "u2[128,1,7,24,8,1,1]{0,4,6,5,3,2,1:T(16,128)(4,1)}"),  # only one tile of columns
        ("v5e", "u2[64,128,40]{1,0,2:T(16,128)(16,1)E(2)}"),  # (1, 2) ties, and pads
        ("v4", "s2[256,24,8]{0,2,1:T(16,128)(16,1)E(2)}"),  # both pad: as if tiles had 8 rows
        ("tpu7x", "u2[56,8,384]{2,1,0:T(16,128)(16,1)E(2)}"),
        ("tpu7x", "s2[12,6,11,384,1]{3,1,4,2,0:T(16,128)(16,1)E(2)}"),
        ("v5e", "s4[0]{0:E(4)}"),
        ("tpu7x", "u2[0,112]{1,0:E(2)}"),
        ("v3", "s4[0,3]{1,0}"),
    ],
)
def test_ties_of_2_bit_types_and_empty_arrays(generation: str, text: str) -> None:
    assert str(chosen({"generation": generation, "shape_with_layout": text})) == text


@pytest.mark.slow
def test_the_data_covers_every_type_generation_and_rank() -> None:
    rows = [row for row in table("tpu_buffer_sizes.tsv.gz") if row["kind"] == "default_param"]
    fresh = table("tpu_default_layouts.tsv.xz")
    arrays = [array(row["shape_with_layout"]) for row in rows]
    six_bits = {array(row["shape"]).element_type for row in fresh if row["shape"].startswith("f6")}
    assert {row["generation"] for row in rows} == set(tpu.GENERATIONS)
    assert {x.element_type for x in arrays} | six_bits == set(tpu.TYPES)
    assert {len(x.dims) for x in arrays} == set(range(7))


def test_every_parameter_and_output_of_the_programs() -> None:
    rows = table("hlo_entry_layouts.tsv")
    assert len(rows) == 388
    assert {row["kind"] for row in rows} == {"parameter", "output"}
    wrong = [(row, str(x)) for row in rows if str(x := chosen(row)) != row["shape_with_layout"]]
    assert not wrong


@pytest.mark.parametrize(
    ("element_type", "shape", "generation", "expected"),
    [
        ("f32", (), "v5e", "f32[]{:T(128)}"),
        ("f32", (), "v3", "f32[]{:T(256)}"),
        ("s2", (), "v5e", "s2[]{:T(2048)E(2)}"),
        ("s2", (), "v2", "s2[]{:T(1024)}"),
        ("f32", (0, 5), "v5e", "f32[0,5]{1,0}"),
        ("s4", (0,), "v5e", "s4[0]{0:E(4)}"),
        ("bf16", (1,), "tpu7x", "bf16[1]{0:T(256)(128)(2,1)}"),
        ("f64", (3, 5), "v4", "f64[3,5]{1,0:T(4,128)}"),
    ],
)
def test_small_arrays(
    element_type: str, shape: tuple[int, ...], generation: str, expected: str
) -> None:
    assert str(tpu.default_layout(element_type, shape, generation)) == expected


def test_a_scalar_takes_one_row_of_lanes() -> None:
    """Bytes as the data's description gives them."""
    assert tpu.default_layout("f32", (), "v5e").byte_size == 512
    assert tpu.default_layout("f32", (), "v3").byte_size == 1024


def test_sizes_of_any_integer_type() -> None:
    np = pytest.importorskip("numpy")
    x = tpu.default_layout("f32", np.array([3, 5]), "v5e")
    assert x.dims == (3, 5)
    assert all(type(n) is int for n in x.dims)


GENERATIONS = st.sampled_from(tpu.GENERATIONS)
# Of 2-bit arrays with padding the order is chosen as if they had other tiles than they get.
TYPES = st.sampled_from([name for name in tpu.TYPES if name not in ("s2", "u2")])
SIZES = st.one_of(st.integers(1, 40), st.integers(1, 300), st.sampled_from([64, 128, 1024]))
SHAPES = st.lists(SIZES, min_size=2, max_size=4).map(tuple)


@given(TYPES, SHAPES, GENERATIONS)
def test_no_order_of_the_dimensions_takes_fewer_bytes(
    element_type: str, shape: tuple[int, ...], generation: str
) -> None:
    """Against the tile that the compiler takes for an array of those two dimensions alone."""
    x = tpu.default_layout(element_type, shape, generation)
    for order in permutations(range(len(shape))):
        # A minor dimension of whole tiles, longer than the rows of any other.
        alone = tpu.default_layout(element_type, (shape[order[1]], 2**40), generation).layout
        assert alone is not None
        assert alone.minor_to_major == (1, 0)
        layout = ml.XlaLayout(order, alone.tiles, element_size_in_bits=alone.element_size_in_bits)
        assert x.byte_size <= ml.XlaShape(element_type, shape, layout).byte_size


@given(TYPES, SHAPES, GENERATIONS, st.data())
def test_transposing_the_array_changes_no_bytes(
    element_type: str, shape: tuple[int, ...], generation: str, data: st.DataObject
) -> None:
    transposed = tuple(data.draw(st.permutations(shape)))
    a = tpu.default_layout(element_type, shape, generation)
    assert a.byte_size == tpu.default_layout(element_type, transposed, generation).byte_size


@given(st.sampled_from(tpu.TYPES), st.lists(SIZES, max_size=4).map(tuple), GENERATIONS)
def test_the_text_is_read_back_and_holds_every_element(
    element_type: str, shape: tuple[int, ...], generation: str
) -> None:
    x = tpu.default_layout(element_type, shape, generation)
    assert ml.parse(str(x)) == x
    assert not x.warnings
    assert tpu.waste(x).factor >= 1
