"""Layouts that tables of offsets and functions have; the offsets themselves are the judge."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
import recovered
from hypothesis import given, strategies as st

import morello_layouts as ml
from morello_layouts.outputs.recover import NoLayoutError
from morello_layouts.outputs.recover.tables import _period
from tests.support.packers import awq, q4_0, q4_k_scales

KNOWN: list[tuple[str, tuple[int, ...] | None]] = [
    ("bf16[10,200]{1,0:T(8,128)(2,1)}", None),
    ("f32[1,200]{1,0:T(8,128)}", None),
    ("f32[24,128]{1,0:T(8,128)}", None),
    ("f32[3,5,7]{1,2,0:T(2,4)}", None),
    ("[1, 0, 1 p(4)]", (6, 8)),
    ("[0, 1, 0 oe(8)]", (16, 8)),
    ("(64,64):(72,1)", None),
    ("(4,8):(0,1)", None),
    ("(4,8):(0,0)", None),
    ("Sw<3,3,3> o 0 o (64,64):(64,1)", None),
    ("Sw<3,3,3> o 0 o (10,50):(50,1)", None),
    ("strided<[-8,1], offset: 56>", (8, 8)),
    ("nChw16c", (2, 20, 3, 4)),
    ("BA16a64b2a", (64, 64)),
    ("mx128x4", (130, 7)),
    ("#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>",
     (32, 64)),
]  # fmt: skip


def table_of(layout: Any, shape: tuple[int, ...] | None = None) -> Any:
    m = ml.index_map(layout, shape)
    return m(*np.indices(m.shape))


def offsets(layout: Any, shape: tuple[int, ...]) -> Any:
    carried = layout.sizes is not None
    return table_of(layout, None if carried else shape)


@pytest.mark.parametrize(("text", "shape"), KNOWN, ids=str)
def test_each_layout_has_the_offsets(text: str, shape: tuple[int, ...] | None) -> None:
    table = table_of(text, shape)
    found = ml.recover(table)
    assert 1 <= len(found.layouts) <= 20
    for layout in found.layouts:
        assert np.array_equal(offsets(layout, table.shape), table), layout
        assert np.array_equal(offsets(ml.parse(str(layout)), table.shape), table), layout
    for to, each in found.texts.items():
        assert np.array_equal(offsets(ml.parse(each, to), table.shape), table), each


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("bf16[10,200]{1,0:T(8,128)(2,1)}", None, "{1,0:T(8,128)(2,1)}"),
        ("[0, 1, 0 oe(8)]", (16, 8), "{1,0:T(2,1)(4,1,1,1)}"),
        ("Sw<3,3,3> o 0 o (64,64):(64,1)", None, "Sw<3,3,3> o 0 o (64,64):(64,1)"),
        ("(64,64):(72,1)", None, "(64,64):(72,1)"),
    ],
)
def test_the_best_is_first(text: str, shape: tuple[int, ...] | None, expected: str) -> None:
    assert str(ml.recover(table_of(text, shape)).layouts[0]) == expected


def test_it_is_in_every_notation_that_can_say_it() -> None:
    texts = ml.recover(table_of("[0, 1, 0 oe(8)]", (16, 8))).texts
    assert texts["morello"] == "[0, 1, 0 oe(8)]"
    assert texts["einops"] == "(a0 a1 a2) b -> a0 b a2 a1, a1=4, a2=2"
    assert "pack" not in texts  # linalg.pack tiles a dimension once


def metadata(i: Any, j: Any) -> Any:
    """The order of 2:4 metadata of CUTLASS, as tilelang had it: issue tilelang#2606."""
    i = i // 32 * 32 + (i % 8) * 4 + (i % 32) // 8
    topright = (1 - (i % 2)) & (j % 2)
    bottomleft = (i % 2) & (1 - (j % 2))
    i = i + topright - bottomleft
    j = j - (topright - bottomleft)
    return (j // 2) * 64 * 2 + i * 2 + (j % 2)


def test_a_function_of_coordinates_is_called_on_arrays() -> None:
    found = ml.recover(metadata, (64, 8))
    i, j = np.indices((64, 8))
    assert np.array_equal(offsets(found.layouts[0], (64, 8)), metadata(i, j))
    assert found.texts["einops"].startswith("(a0 a1 a2 a3) (b0 b1) -> b0 a0 a3 a1 b1 a2")


def test_a_function_of_plain_python_is_called_on_numbers() -> None:
    found = ml.recover(lambda i, j: min(i, 100) * 4 + j, (64, 4))
    assert str(found.layouts[0]) == "{1,0}"


def test_several_shapes_leave_fewer_layouts() -> None:
    def pack(a: Any) -> Any:
        m, k = a.shape
        return a.reshape(m // 8, 8, k // 16, 16).swapaxes(1, 2).copy()

    one, several = ml.recover(pack, (8, 16)), ml.recover(pack, [(8, 16), (24, 48)])
    assert len(several.layouts) < len(one.layouts)
    assert str(several.layouts[0]) == "{1,0:T(8,16)}"


def test_a_packer_may_not_write_to_its_argument() -> None:
    def pack(a: Any) -> Any:
        a[1, 0] = 0
        return a.T

    with pytest.raises(ml.LayoutError, match=r"pack writes to its argument, first at \(1, 0\)"):
        ml.recover(pack, (4, 4))


def spoilt(text: str, count: int, shape: tuple[int, ...] | None = None) -> Any:
    table = table_of(text, shape)
    at = np.random.default_rng(1).choice(table.size, count, replace=False)
    table.reshape(-1)[at] += 7
    return table, np.unravel_index(at.min(), table.shape)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("bf16[64,256]{1,0:T(8,128)(2,1)}", None),
        ("Sw<3,3,3> o 0 o (64,64):(64,1)", None),
        ("f32[17,100]{0,1:T(8,128)}", None),
        ("{0}", (1000,)),
        ("{0:T(4)(2,1)}", (4096,)),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_the_nearest_layout_is_named(text: str, shape: Any, count: int) -> None:
    table, first = spoilt(text, count, shape)
    with pytest.raises(NoLayoutError) as caught:
        ml.recover(table)
    error = caught.value
    assert error.unlike == count
    assert f"all but {count} of {table.size:,} elements" in str(error)
    assert str(error).startswith(f"the element at {tuple(map(int, first))} lies at")
    assert error.near is not None
    assert np.count_nonzero(offsets(error.near.layout, table.shape) != table) == count


def test_an_element_of_a_larger_array_decides() -> None:
    """Each decider says where the element lies by each layout, at a shape of its own."""
    found = ml.recover(table_of("bf16[1,200]{1,0:T(8,128)(2,1)}"), size=2048)
    truth = ml.index_map("{1,0:T(8,128)(2,1)}", found.deciders[0].shape)
    for each in found.deciders:
        for layout, offset in zip(found.layouts, each.offsets, strict=True):
            assert offset is not None
            assert ml.index_map(layout, each.shape)(*each.coordinate) == offset
    told = {
        layout for k, layout in enumerate(found.layouts)
        if all(each.offsets[k] == truth(*each.coordinate) for each in found.deciders)
    }  # fmt: skip
    assert str(found.layouts[0]) == "{1,0:T(8,128)(2,1)}"
    assert found.layouts[0] in told
    assert len(told) < len(found.layouts)
    assert found.unknown == ("dimension 0 has size 1: its order and its tiles",)


@given(st.data())
def test_the_period_of_steps_is_the_least(data: st.DataObject) -> None:
    block = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=6))
    size = data.draw(st.integers(1, 30))
    steps = (block * 30)[:size]
    if data.draw(st.booleans()):
        steps[data.draw(st.integers(0, size - 1))] = 3
    least = next(k for k in range(1, size + 1) if steps[k:] == steps[: size - k])
    assert _period(np.array(steps, np.int64)) == least


@pytest.mark.parametrize(
    "part",
    ["atoms", "onednn", "packers", "tables", "sizes", "tpu", "triton", "xla",
     pytest.param("million", marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_sample_of_what_is_measured(part: str) -> None:
    """The whole is measured by ``tests/benchmarks/recovered.py``."""
    count = {"tpu": 20, "triton": 10}.get(part, 40)
    rows = [*islice(recovered.PARTS[part](), count)]
    assert all(fit for _, fit, _ in rows)
    right = ("best", "listed", "all sizes", "3 boxes")
    found = sum(how.startswith(right) for _, _, how in rows)
    assert part in ("tables", "million") or found >= 0.95 * len(rows)


def test_a_buffer_and_its_array_tell_the_layout() -> None:
    array = np.random.default_rng(0).permutation(1000)[:51].reshape(3, 17) + 1
    found = ml.recover(ml.pack("{1,0:T(2,4)}", array), array=array)
    assert "{1,0:T(2,4)}" in map(str, found.layouts)


def test_copies_of_elements_are_a_dimension() -> None:
    """The replicas of an element, in a buffer or by a packer, are the last dimension."""
    found = ml.recover([5, 5, 6, 6, 7, 7], array=[5, 6, 7])
    assert (str(found.layouts[0]), found.shapes) == ("{1,0}", ((3, 2),))
    assert "the last dimension is the copy" in str(found)
    found = ml.recover(lambda a: np.tile(a, 4), [(8,), (24,)])
    assert str(found.layouts[0]) == "{0,1}"


@pytest.mark.parametrize("text", ["{1,0:T(8,128)(2,1)}", "{0,1}", "{1,0:T(2,2)}"])
def test_a_buffer_whose_values_repeat(text: str) -> None:
    """Layouts in common use are tried, and all that fit are named."""
    array = np.random.default_rng(0).integers(0, 5, (24, 200))
    buffer = ml.pack(text, array)
    found = ml.recover(buffer, array=array)
    assert str(found.layouts[0]) == text
    for layout in found.layouts:
        offsets_ = offsets(layout, array.shape)
        assert np.array_equal(buffer[offsets_], array)
    with pytest.raises(ml.LayoutError, match="layouts in common use fits"):
        ml.recover(np.roll(buffer, 1), array=array)


def test_a_few_pairs_tell_a_common_layout() -> None:
    pairs = [((0, 1), 1), ((1, 0), 2), ((2, 0), 256), ((8, 0), 4096), ((0, 128), 1024)]
    truth = ml.index_map("{1,0:T(8,128)(2,1)}", (64, 512))
    pairs = [(at, truth(*at)) for at, _ in pairs]
    found = ml.recover(pairs, (64, 512))
    assert [str(each) for each in found.layouts] == ["{1,0:T(8,128)(2,1)}"]
    few = ml.recover(dict(pairs[3:]), (64, 512))
    assert len(few.layouts) > 1
    at = few.deciders[0]
    assert at.shape == (64, 512)
    for layout, offset in zip(few.layouts, at.offsets, strict=True):
        assert offset is None or ml.index_map(layout, (64, 512))(*at.coordinate) == offset
        assert all(ml.index_map(layout, (64, 512))(*x) == y for x, y in pairs[3:])


def test_narrow_items_are_followed_bit_by_bit() -> None:
    found = ml.recover(q4_0, [(64,), (96,)])
    assert found.given[0].bits == 4
    assert found.texts["einops"] == "(a0 a1 a2) -> a0 a2 a1, a1=2, a2=16"
    found = ml.recover(awq, [(4, 32), (3, 48)])
    assert found.given[0].bits == 4
    assert found.texts["morello"] == "[0, 1, 1 oe(8)]"


def test_fields_of_bits_are_boxes() -> None:
    found = ml.recover(q4_k_scales, (2, 8))
    assert (found.layouts, len(found.boxes)) == ((), 3)
    item = np.zeros((2, 8), int)
    seen = set()
    for box in found.boxes:
        for step in np.ndindex(*box.shape):
            which, k, bit = (x + y for x, y in zip(box.start, step, strict=True))
            item[:] = 0
            item[which, k] = 1 << bit
            buffer = np.unpackbits(q4_k_scales(item), bitorder="little")
            at = box.offset + sum(x * y for x, y in zip(step, box.strides, strict=True))
            assert np.flatnonzero(buffer).tolist() == [at]
            seen.add(at)
    assert len(seen) == 96
    assert "3 boxes" in str(found)


def test_what_two_layouts_have_is_boxes() -> None:
    left, right = np.arange(64).reshape(16, 4), 64 + np.arange(64).reshape(4, 16).T
    found = ml.recover(np.concatenate([left, right], 1))
    assert [(box.start, box.shape) for box in found.boxes] == [((0, 0), (16, 4)), ((0, 4), (16, 4))]
