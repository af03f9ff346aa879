"""Layouts in words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import morello_layouts as ml
from morello_layouts.core.description import Description, Part, Word, amount, word_of
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.plain import plain
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


def meaning(text: str, part: str, shape: tuple[int, ...] | None = None) -> str:
    found = {p.text: p.meaning for p in words(text, shape).parts}
    return found[part]


@each_row(
    ("text", "part", "expected"),
    [
        ("bf16[10,200]", "bf16", "brain floating point of 16 bits, 2 bytes each"),
        ("s4[8]", "s4", "signed integers of 4 bits, a whole byte each"),
        ("pred[8]", "pred", "truth values, 1 byte each"),
        ("f32[]", "[]", "a scalar: one element"),
        ("f32[8,1,3]", "[8,1,3]", "d0 8, d1 1, d2 3; the true number of dimensions is 2"),
        ("f32[0,3]", "[0,3]", "d0 0, d1 3; no elements"),
        ("f32[?,<=5,M]", "[?,<=5,M]", "d0 unbounded, d1 at most 5 (dynamic), d2 M (symbolic)"),
        ("f32[7]", "{0}", "d0 is the only dimension"),
        ("f32[2,3]{1,0}", "{1,0}", "row-major: d1 varies fastest, then d0"),
        ("f32[2,3]{0,1}", "{0,1}", "column-major: d0 varies fastest, then d1"),
        (
            "f32[2,3,4]{1,2,0}",
            "{1,2,0}",
            "neither row- nor column-major: d1 varies fastest, then d2, then d0",
        ),
        (
            "bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}",
            "{3,2,0,1}",
            ("row-major but for dimensions of size 1: "
            "d3 varies fastest, then d2, then d0, then d1"),
        ),
        (
            "f32[3,5]{1,0:T(2,2)}",
            "T(2,2)",
            "2 × 2 tiles over (d0, d1): 2 × 3 of them; pads d0 from 3 to 4 and d1 from 5 to 6",
        ),
        ("f32[99]{0:T(64)}", "T(64)", "tiles of 64 over d0: 2 of them; pads d0 from 99 to 128"),
        (
            "f32[10]{0:T(8,128)}",
            "T(8,128)",
            ("adds 1 leading dimension of 1; 8 × 128 tiles over (an added one, d0): one of them; "
            "pads an added one from 1 to 8 and d0 from 10 to 128"),
        ),
        (
            "bf16[16,128]{1,0:T(8,128)(2,1)}",
            "(2,1)",
            "within each tile of 8 × 128: 2 × 1 blocks of (d0%8, d1%128), each in one piece",
        ),
        (
            "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}",
            "(2,1,1,1)",
            "across tiles: 2 neighbours along d0//8 interleaved element by element",
        ),
        (
            "f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}",
            "T(*,*,2,*,3)",
            ("takes d0, d1 and d2 as one dimension of 112; takes d3 and d4 as one dimension of "
            "110; 2 × 3 tiles over ((d0,d1,d2), (d3,d4)): 56 × 37 of them; pads (d3,d4) from 110 "
            "to 111"),
        ),
        (
            "f32[4,6]{1,0:T(4,6)(3,1)}",
            "(3,1)",
            ("within each tile of 4 × 6: 3 × 1 blocks of (d0%4, d1%6), each in one piece; "
            "pads d0%4 from 4 to 6"),
        ),
        (
            "f32[8,256]{1,0:T(8,128)(*,*,2)}",
            "(*,*,2)",
            ("takes d1//128, d0%8 and d1%128 as one dimension of 2,048; blocks of 2 over "
            "(d1//128,d0%8,d1%128)"),
        ),
        (
            "f32[3,5]{1,0:T(2,2)L(32)}",
            "L(32)",
            "the buffer's end is padded to a multiple of 32 elements",
        ),
        (
            "f32[3,5]{1,0:L(32)}",
            "L(32)",
            "tail padding; XLA ignores it if there are no tiles",
        ),
        (
            "pred[64,128]{1,0:T(32,128)(32,1)E(1)}",
            "E(1)",
            "each element is stored in 1 bit: 8 to a byte, the first in the lowest bits",
        ),
        (
            "pred[64,128]{1,0:E(32)}",
            "E(32)",
            "each element is stored in 32 bits, wider than pred itself",
        ),
        ("f32[8]{0:SC(0:4)}", "SC(0:4)", "cut along d0 at 4, each piece a buffer"),
        (
            "f32[8]{0:M(16)}",
            "M(16)",
            "16 bytes of metadata about dynamic sizes before the data",
        ),
        ("f32[8]{0:#(u32)}", "#(u32)", "indices of a sparse array are u32"),
    ],
)  # fmt: skip
def test_parts_of_xla_text(text: str, part: str, expected: str) -> None:
    assert meaning(text, part) == expected


@pytest.mark.parametrize(
    ("space", "start"),
    [(1, "VMEM"), (2, "SMEM"), (3, "a memory space that is specific"), (4, "host"), (5, "host")],
)
def test_memory_spaces(space: int, start: str) -> None:
    assert meaning(f"f32[8]{{0:S({space})}}", f"S({space})").startswith(start)


def test_hbm_is_implied() -> None:
    (part,) = [p for p in words("f32[8]{0:T(1024)}").parts if p.text == "S(0)"]
    assert part.is_implied
    assert "S(0)" not in {p.text for p in words("f32[8,4]{1,0:T(2,2)}").parts}  # not a TPU's tiles
    assert part.meaning.startswith("HBM")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bf16[16,128]{1,0:T(8,128)(2,1)}", "(2r, c) and (2r+1, c) share a 32-bit word"),
        (
            "bf16[32,256]{1,0:T(8,128)(2,1,1,1)}",
            "(r, c) and (r+8, c), for r%16 < 8, share a 32-bit word",
        ),
        (
            "s8[16,128]{1,0:T(8,128)(4,1)}",
            "(4r, c), (4r+1, c), (4r+2, c) and (4r+3, c) share a 32-bit word",
        ),
        (
            "pred[64,128]{1,0:T(32,128)(32,1)E(1)}",
            "(32r, c), (32r+1, c), (32r+2, c), …, (32r+31, c) share a 32-bit word",
        ),
        (
            "bf16[1000]{0:T(512)(128)(2,1)}",
            "c and c+128, for c%256 < 128, share a 32-bit word",
        ),
        ("bf16[2,16,128]{2,1,0:T(8,128)}", "(…, r, 2c) and (…, r, 2c+1) share a 32-bit word"),
        (
            "bf16[1,128]{1,0:T(2,128)(2,1)}",
            "each 32-bit word holds one element and 1 slot of padding",
        ),
        (
            "s8[3,128]{1,0:T(4,128)(4,1)}",
            "(4r, c), (4r+1, c) and (4r+2, c) share a 32-bit word with 1 slot of padding",
        ),
    ],
)  # fmt: skip
def test_elements_that_share_a_word(text: str, expected: str) -> None:
    word = word_in(text)
    assert word is not None
    assert word.text.removesuffix(", the first in its lowest bits") == expected


@pytest.mark.parametrize(
    "text",
    [
        "s8[12,128]{1,0:T(6,128)(4,1)}",
        "f32[8,128]{1,0:T(8,128)}",
        "bf16[8,128]",
        "bf16[6,9]{1,0:T(2,3)}",
        "f64[8]{0:T(8)}",
    ],
)
def test_complicated_words_are_left_out(text: str) -> None:
    assert word_in(text) is None


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


def test_axes_of_unknown_sizes() -> None:
    axes = words("f32[?,N]{1,0:T(*,8)(2,1)}").axes
    labels = ["(d0,d1)//16", "(d0,d1)%8", "((d0,d1)//8)%2", "0"]
    assert [(axis.label, axis.size) for axis in axes] == list(
        zip(labels, [None, 8, 2, 1], strict=True)
    )


def test_very_many_tiles() -> None:
    *_, tile = words(f"f32[2]{{0:T{'(2)' * 101}}}").parts
    assert tile == Part("(2)", "not explained: one tile of very many")


def test_axes_of_morello_layouts() -> None:
    axes = words("[1, 0 oe(4), 1 p(4), 0 p(2)]", (8, 8)).axes
    assert [axis.label for axis in axes] == ["d1//4", "((d0//2)%2,d0//4)", "d1%4", "d0%2"]
    axes = words("[1, 0 oe(4), 1 p(4), 0 p(2)]").axes
    assert [(axis.label, axis.size) for axis in axes] == [
        ("d1//4", None),
        ("((d0//2)%2,d0//4)", 4),
        ("d1%4", 4),
        ("d0%2", 2),
    ]
    assert not words("[]").axes
    axes = words("[7, 1000000, 7 p(4)]").axes
    assert [axis.label for axis in axes] == ["d7//4", "d1000000", "d7%4"]


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        (
            "[1, 0, 1 p(4)]",
            (6, 8),
            [
                ("1", "slowest: what remains of d1: 2 blocks of 4"),
                ("0", "all of d0, 6"),
                ("1 p(4)", "fastest: 4 neighbours along d1"),
            ],
        ),
        (
            "[0, 0 oe(4)]",
            None,
            [
                ("0", "slowest: what remains of d0: blocks of 4"),
                ("0 oe(4)", "fastest: 4 neighbouring indices of d0, even before odd: 0 2 1 3"),
            ],
        ),
        (
            "[0 oe(16), 1, 0 p(2)]",
            (32, 3),
            [
                (
                    "0 oe(16)",
                    (
                        "slowest: 16 neighbouring blocks of 2 of d0, even before odd: "
                        "0 2 4 … 14, then 1 3 5 … 15"
                    ),
                ),
                ("1", "all of d1, 3"),
                ("0 p(2)", "fastest: 2 neighbours along d0"),
            ],
        ),
        (
            "[0, 0 p(2), 0 p(2)]",
            (8,),
            [
                ("0", "slowest: what remains of d0: 2 blocks of 4"),
                ("0 p(2)", "2 blocks of 2 along d0"),
                ("0 p(2)", "fastest: 2 neighbours along d0"),
            ],
        ),
        ("0 p(8)", (3,), [("0 p(8)", "3 neighbours along d0 (8 asked for, 3 left)")]),
        (
            "([0, 1], c1)",
            None,
            [
                ("0", "slowest: all of d0"),
                ("1", "fastest: all of d1"),
                (
                    "c1",
                    (
                        "only the innermost physical dimension lies contiguously in memory; "
                        "the offsets here leave the gaps out"
                    ),
                ),
            ],
        ),
    ],
)
def test_parts_of_morello_text(
    text: str, shape: tuple[int, ...] | None, expected: list[tuple[str, str]]
) -> None:
    assert [(p.text, p.meaning) for p in words(text, shape).parts] == expected


@each_row(
    ("text", "expected"),
    [
        ("f32[3,5]", "row-major, untiled"),
        ("f32[8,128]{1,0:T(8,128)}", "row-major, TPU tile format"),
        ("f32[2,128]{1,0:T(2,128)}", "row-major, TPU small tile format (compact second minor)"),
        ("bf16[8,128]{1,0:T(8,128)(2,1)}", "row-major, TPU 16 bit tile format"),
        ("bf16[8,128]{1,0:T(8,128)(2,1,1,1)}", "row-major, alternative TPU 16 bit tile format"),
        ("s8[8,128]{1,0:T(8,128)(4,1)}", "row-major, TPU 8 bit tile format"),
        ("pred[8,128]{1,0:T(32,128)(32,1)E(1)}", "row-major, TPU 1 bit tile format"),
        ("f32[]", "scalar, untiled"),
        ("token[]", "a token: it orders side effects and holds no data"),
        ("[0, 1]", "row-major"),
        ("[1, 0]", "column-major"),
        ("NHWC", "NHWC: the channels, dimension 1, vary fastest"),
        ("[0, 1, 2, 3, 1 p(16)]", "packed"),
        ("0 oe(8)", "even indices before odd ones"),
    ],
)
def test_headlines(text: str, expected: str) -> None:
    assert words(text).headline == expected


def test_size_1_counts_under_a_tile() -> None:
    assert words("f32[8,1,9]{2,0,1:T(8,128)}").headline.startswith("row-major but")
    assert words("f32[8,1,9]{2,1,0:T(8,128)}").headline.startswith("row-major,")
    assert words("f32[8,1,9]{1,2,0:T(8,128)}").headline.startswith("neither")


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
