"""Layouts in words; the sentences are in tests/data/recorded/explanations/words.txt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import morello_layouts as ml
from morello_layouts.core.description import Description, Part, Word, amount, word_of
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.fields import plain
from morello_layouts.core.recipe.digits import index_of
from morello_layouts.interfaces.explanations.report import sizes_of
from morello_layouts.notations.registry import describe
from morello_layouts.notations.xla import ELEMENT_BITS
from morello_layouts.notations.xla.words import type_in_words
from tests.support.tables import each_row


def words(text: str, shape: tuple[int, ...] | None = None) -> Description:
    return describe(ml.parse(text), shape)


def word_in(text: str) -> Word | None:
    layout = ml.parse(text)
    return word_of(describe(layout), layout.element and layout.element.bits)


@pytest.mark.parametrize(
    "text",
    [
        "bf16[16,256]{1,0:T(8,128)(2,1)}",
        "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}",
        "s8[32,128]{0,1:T(8,8)(4,1)}",
        "s8[10,20]{1,0:T(8,4)(4,1)}",
        "bf16[1000]{0:T(512)(128)(2,1)}",
        "u4[3,16,256]{2,1,0:T(8,128)(8,1)E(4)}",
        "pred[40,9]{1,0:T(32,2)(32,1)E(1)}",
    ],
)
def test_words_agree_with_the_index_map(text: str) -> None:
    """Every word of the buffer holds the elements that the offsets say, in their order."""
    m, word = ml.index_map(text), word_in(text)
    assert word is not None
    for start in range(0, min(m.size, 2000), word.slots):
        at = m.coordinates(start)
        if at is None:
            continue
        for slot, step in enumerate(word.offsets):
            found = m.coordinates(start + slot)
            if step is None:
                assert found is None
            elif found is not None:
                assert found == tuple(x + o for x, o in zip(at, step, strict=True))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("bf16[30,300]{1,0:T(8,128)(2,1)}", None),
        ("f32[4,6,5]{0,2,1:T(4,6)(3,1)}", None),
        ("bf16[33,200]{1,0:T(8,128)(2,1,1,1)}", None),
        ("[1, 0, 1 p(4), 0 p(2)]", (6, 8)),
    ],
)
def test_axes_agree_with_the_index_map(text: str, shape: tuple[int, ...] | None) -> None:
    m, axes = ml.index_map(text, shape), words(text, shape).axes
    assert tuple(axis.size for axis in axes) == m.physical_shape
    corner = tuple(n - 1 for n in m.shape)
    physical = m.physical_coordinates(*corner)
    assert tuple(index_of(axis.digits, corner) for axis in axes) == physical


class EvenFirst(ml.Layout):
    """A layout of a notation that says nothing but its recipe and formula."""

    def recipe(self, shape: Sequence[Int], /) -> ml.Recipe:
        return ml.Recipe(tuple(shape), (ml.Split((None, 2)), ml.Transpose((2, 0, 1))))

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        raise NotImplementedError


def test_axes_of_another_notation() -> None:
    assert [axis.label for axis in describe(EvenFirst(), (3, 4)).axes] == ["d1%2", "d0", "d1//2"]


class Uninherited:
    """A layout that inherits nothing."""

    recipe = EvenFirst.recipe

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> AffineExpr:
        (i, j), (m, n) = coordinates, shape
        return (j % 2) * (m * (n // 2)) + i * (n // 2) + j // 2


def test_name_of_a_layout_that_inherits_nothing() -> None:
    lines = str(ml.explain(Uninherited(), (3, 4))).splitlines()
    assert lines[:2] == ["Uninherited", "Uninherited layout: Uninherited"]


def test_very_many_tiles() -> None:
    *_, tile = words(f"f32[2]{{0:T{'(2)' * 101}}}").parts
    assert tile == Part("(2)", "not explained: one tile of very many")


@each_row("name", [*ELEMENT_BITS, "token", "opaque"])
def test_every_type_has_words(name: str) -> None:
    assert len(type_in_words(name)) > 8


def test_sizes() -> None:
    text = "bf16[10,200]{1,0:T(8,128)(2,1)}"
    sizes = sizes_of(ml.parse(text), ml.index_map(text))
    assert plain(sizes) == {
        "elements": 2000,
        "spanned_elements": 4096,
        "element_bits": 16,
        "data_bytes": 4000,
        "spanned_bytes": 8192,
        "reserved_bytes": 8192,
        "padding_elements": 2096,
        "padding_bytes": 4192,
        "factor": 2.048,
    }


@pytest.mark.parametrize(
    ("text", "data", "reserved"),
    [
        ("pred[64,512,2048]{2,1,0:T(8,128)E(32)}", 64 << 20, 256 << 20),
        ("s4[16,256]{1,0:T(8,128)E(4)}", 2048, 2048),
        ("bf16[2048,1,2048,128]{0,1,3,2:T(4,128)(2,1)}", 1 << 30, 4 << 30),
    ],
)
def test_bytes_of_the_compiler_s_reports(text: str, data: int, reserved: int) -> None:
    sizes = sizes_of(ml.parse(text), ml.index_map(text))
    assert (sizes.data_bytes, sizes.reserved_bytes) == (data, reserved)


def test_arrays_of_nested_tuples() -> None:
    value = ml.parse("(f32[2], (s32[], b(u8[3])), token[])")
    found = [(path, str(x)) for path, x in value.arrays()]
    assert found == [
        ((0,), "f32[2]{0}"),
        ((1, 0), "s32[]"),
        ((1, 1), "u8[3]{0}"),
        ((2,), "token[]"),
    ]


def test_amounts_stay_short() -> None:
    assert amount(10**30 - 1) == "999," + "999," * 8 + "999"
    assert amount(10**30) == "about 10^30"


@pytest.mark.parametrize("text", ["d1 x -> x d1", "lambda d1, x: (x, d1)"])
def test_a_text_s_own_name_is_not_that_of_another_dimension(text: str) -> None:
    words = str(ml.explain(text, (3, 4)))
    assert "axes      x, d1\n" in words
    assert "d1  fastest: all of d1, 3" in words
    assert "where      d0 = d1\n  formula    3*x + d0" in words


def test_a_shape_may_be_text() -> None:
    assert str(ml.explain("[1, 0]", "6x8")) == str(ml.explain("[1, 0]", (6, 8)))
    assert "all of d0, 6" in str(ml.explain("[1, 0]", "6x8"))


def test_slots_beside_a_view_are_not_called_padding() -> None:
    m = ml.index_map("f32[16,256]{1,0:T(8,128)}")
    part = m[2:10]
    assert "2,048 in a buffer of 4,096: 2,048 beside the view" in str(ml.explain(part))
    assert "2048 of 4096 slots are not in the view" in str(ml.is_bijective(part))
    assert "padding" not in str(ml.explain(part)) + str(ml.is_surjective(part))
    assert "of padding" in str(ml.explain("f32[3,5]{1,0:T(2,2)}"))
