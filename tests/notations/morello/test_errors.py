"""Errors of Morello layouts, by their whole text: what, why, what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.notations.morello import Dynamic, MorelloLayout, OddEven, Packed
from tests.support.tables import each_row

pytestmark = pytest.mark.usefixtures("readers_errors")

PACKED = MorelloLayout([(1, Dynamic()), (0, Dynamic()), (1, Packed(4))])

PACKS_NOTHING = (
    "a Packed holds at least 2 elements, as in Morello",
    "leave it out, or give the number of elements packed together",
)
NO_HALVES = (
    "an OddEven separates even from odd indices, so its size is even",
    "give an even size of at least 2",
)
NO_DIM = ("logical dimensions are numbered 0, 1, … from the left", "count dimensions from 0")


def no_dim(got: str) -> tuple[str, ...]:
    return f"a logical dimension: expected an integer from 0, got {got}", *NO_DIM


NO_PAIR = (
    "each entry pairs a logical dimension with Dynamic(), Packed(n) or OddEven(n)",
    "write for example (0, Dynamic())",
)
NO_PHYS = "a physical dimension is Dynamic(), Packed(n) or OddEven(n)"
NO_LIST = (
    "a MorelloLayout is made of pairs (logical dimension, physical dimension)",
    "give such pairs, as in [(0, Dynamic()), (1, Packed(4))]; text goes to parse",
)
INNER_DYNAMIC = (
    "dimension 0 is Dynamic inside another physical dimension of it",
    (
        "a Dynamic takes all that remains of its dimension, so it must be the outermost one, "
        "and two of them would be ambiguous"
    ),
    "keep the first mention of 0 Dynamic and give the others sizes: 0 p(4)",
)
CONTIG = (
    "it counts the contiguous physical dimensions, from the innermost on",
    "give an int from 0 to 1",
)
NO_BYTES = (
    "both sizes are positive numbers of bytes",
    "give for example element_bytes=4, line_bytes=64",
)

CONSTRUCTIONS = [
    (lambda: Packed(1), "Packed: expected an integer from 2, got 1", *PACKS_NOTHING),
    (lambda: Packed(-4), "Packed: expected an integer from 2, got -4", *PACKS_NOTHING),
    (lambda: Packed("4"), "Packed: expected an integer from 2, got '4'", *PACKS_NOTHING),
    (lambda: Packed(4.0), "Packed: expected an integer from 2, got 4.0", *PACKS_NOTHING),
    (lambda: Packed(True), "Packed: expected an integer from 2, got True", *PACKS_NOTHING),
    (lambda: OddEven(3), "OddEven: expected an even size, got 3", *NO_HALVES),
    (lambda: OddEven(0), "OddEven: expected an integer from 2, got 0", *NO_HALVES),
    (lambda: OddEven(None), "OddEven: expected an integer from 2, got None", *NO_HALVES),
    (
        lambda: MorelloLayout([(0, 4)]),
        "phys_dims: expected a physical dimension, got 4",
        NO_PHYS,
        "write (0, Dynamic()) for all that remains of the dimension, or (0, Packed(4))",
    ),
    (
        lambda: MorelloLayout([(1, 8)]),
        "phys_dims: expected a physical dimension, got 8",
        NO_PHYS,
        "write (1, Dynamic()) for all that remains of the dimension, or (1, Packed(8))",
    ),
    (
        lambda: MorelloLayout([(0, Dynamic)]),
        f"phys_dims: expected a physical dimension, got {Dynamic!r}",
        NO_PHYS,
        "write (0, Dynamic()) for all that remains of the dimension, or (0, Packed(4))",
    ),
    (lambda: MorelloLayout([0, 1]), "phys_dims: expected a pair, got 0", *NO_PAIR),
    (
        lambda: MorelloLayout([(0, Dynamic(), 3)]),
        "phys_dims: expected a pair, got (0, Dynamic(), 3)",
        *NO_PAIR,
    ),
    (
        lambda: MorelloLayout("[0, 1]"),
        "phys_dims: expected a list of pairs, got '[0, 1]'",
        *NO_LIST,
    ),
    (lambda: MorelloLayout(5), "phys_dims: expected a list of pairs, got 5", *NO_LIST),
    (
        lambda: MorelloLayout([(-1, Dynamic())]),
        "a logical dimension: expected an integer from 0, got -1",
        *NO_DIM,
    ),
    (
        lambda: MorelloLayout([(True, Dynamic())]),
        "a logical dimension: expected an integer from 0, got True",
        *NO_DIM,
    ),
    (
        lambda: MorelloLayout([("0", Dynamic())]),
        "a logical dimension: expected an integer from 0, got '0'",
        *NO_DIM,
    ),
    (lambda: MorelloLayout([(0, Dynamic()), (1, Dynamic()), (0, Dynamic())]), *INNER_DYNAMIC),
    (lambda: MorelloLayout([(0, Packed(4)), (0, Dynamic())]), *INNER_DYNAMIC),
    (
        lambda: MorelloLayout([(0, Dynamic())], 2),
        "contig: expected an integer from 0 to 1, got 2",
        *CONTIG,
    ),
    (
        lambda: MorelloLayout([(0, Dynamic())], -1),
        "contig: expected an integer from 0 to 1, got -1",
        *CONTIG,
    ),
    (
        lambda: MorelloLayout([(0, Dynamic())], "1"),
        "contig: expected an integer from 0 to 1, got '1'",
        *CONTIG,
    ),
    (
        lambda: MorelloLayout([], 1),
        "contig: expected an integer from 0 to 0, got 1",
        CONTIG[0],
        "give an int from 0 to 0",
    ),
    (
        lambda: PACKED.drop_dims([-1]),
        "a logical dimension: expected an integer from 0, got -1",
        *NO_DIM,
    ),
    (
        lambda: PACKED.drop_dims(["x"]),
        "a logical dimension: expected an integer from 0, got 'x'",
        *NO_DIM,
    ),
    (
        lambda: PACKED.drop_dims(0),
        "dropped: expected a collection of dimensions, got 0",
        "drop_dims takes the logical dimensions to leave out",
        "give a list: drop_dims([0])",
    ),
    (
        lambda: PACKED.swap_dims(0, -1),
        "a logical dimension: expected an integer from 0, got -1",
        *NO_DIM,
    ),
    (
        lambda: PACKED.swap_dims(1.5, 0),
        "a logical dimension: expected an integer from 0, got 1.5",
        *NO_DIM,
    ),
    (
        lambda: PACKED.estimate_cache_lines((6, 8), 0),
        "cache lines: expected positive sizes, got 0 and 64 bytes",
        *NO_BYTES,
    ),
    (
        lambda: PACKED.estimate_cache_lines((6, 8), 4, "x"),
        "cache lines: expected positive sizes, got 4 and 'x' bytes",
        *NO_BYTES,
    ),
]


@each_row(("make", "what", "why", "fix"), CONSTRUCTIONS)
def test_values_that_mean_nothing(make: Any, what: str, why: str, fix: str) -> None:
    with pytest.raises(ml.LayoutError) as error:
        make()
    assert type(error.value) is ml.LayoutError
    assert str(error.value) == f"{what}\n{why}\n{fix}"


NUMBERED = "logical dimensions are numbered from 0, from the left"
SIZES = ("sizes are integers, one for each dimension", "give a tuple of ints, such as (6, 8)")
NO_SHAPE = (
    "a shape is a sequence of sizes, one for each dimension",
    "give a tuple of ints, such as (6, 8), or (6,) for one dimension",
)
ONE_AND_MORE = ("Morello's dimensions have at least one element", "use sizes of 1 and more")
ONLY_ONE = "1 is left for it, and only one of a dimension's packs may be larger than that"

SHAPES = [
    ("[0, 1]", (6, 0), "dimension 1 of the shape 6x0 has size 0", *ONE_AND_MORE),
    ("[]", (0,), "dimension 0 of the shape 0 has size 0", *ONE_AND_MORE),
    (
        "[0, 1]",
        (6,),
        "the layout names dimension 1, which the shape 6 does not have",
        NUMBERED,
        "give a shape of at least 2 dimensions",
    ),
    (
        "[0]",
        (),
        "the layout names dimension 0, which the shape () does not have",
        NUMBERED,
        "give a shape of at least 1 dimensions",
    ),
    (
        "[1, 0, 1 p(4)]",
        (6, 10),
        "1 p(4) does not fit dimension 1 of the shape 6x10",
        "4 does not divide the remaining extent 10 of dimension 1",
        "pad dimension 1 to 12, or choose a size that divides 10",
    ),
    (
        "[0, 0 p(3), 1, 0 p(2)]",
        (14, 3),
        "0 p(3) does not fit dimension 0 of the shape 14x3",
        "3 does not divide the remaining extent 7 of dimension 0",
        "pad dimension 0 to 18, or choose a size that divides 7",
    ),
    (
        "[0, 1]",
        (6, 8, 2),
        "the layout leaves out part of dimension 2 of the shape 6x8x2",
        "a dimension without physical dimensions must be of size 1",
        "add dimension 2 to the layout: [2, …]",
    ),
    (
        "[0 p(2), 1, 0 p(4)]",
        (24, 3),
        "the layout leaves out part of dimension 0 of the shape 24x3",
        "its physical dimensions cover 8 of 24 elements",
        "put a Dynamic outside them: [0, …], or make them larger",
    ),
    (
        "[0 p(2), 1, 0 p(3)]",
        (8, 3),
        "0 p(3) does not fit dimension 0 of the shape 8x3",
        "3 does not divide the remaining extent 8 of dimension 0",
        "put a Dynamic outside: [0, …], and pad dimension 0 to 12",
    ),
    (
        "[0 p(2), 1, 0 p(4)]",
        (3, 3),
        "0 p(2) does not fit dimension 0 of the shape 3x3",
        ONLY_ONE,
        "pad dimension 0 to 4, or leave 0 p(2) out",
    ),
    (
        "[0 oe(2), 1, 0 p(4)]",
        (3, 3),
        "0 oe(2) does not fit dimension 0 of the shape 3x3",
        ONLY_ONE,
        "pad dimension 0 to 4, or leave 0 oe(2) out",
    ),
    (
        "[0, 0 oe(4)]",
        (2,),
        "0 oe(4) does not fit dimension 0 of the shape 2",
        "2 is left for it, and an OddEven takes less than its size only where 1 is left",
        "pad dimension 0 to 4, or choose an even size that divides 2",
    ),
    (
        "[0, 0 oe(4)]",
        (3,),
        "0 oe(4) does not fit dimension 0 of the shape 3",
        "3 is left for it, and an OddEven takes less than its size only where 1 is left",
        "pad dimension 0 to 4",
    ),
    (
        "[0, 0 oe(4)]",
        (6,),
        "0 oe(4) does not fit dimension 0 of the shape 6",
        "4 does not divide the remaining extent 6 of dimension 0",
        "pad dimension 0 to 8, or choose an even size that divides 6",
    ),
]


@each_row(("text", "shape", "what", "why", "fix"), SHAPES)
def test_shapes_that_do_not_fit(text: str, shape: Any, what: str, why: str, fix: str) -> None:
    layout = ml.parse(text)
    assert layout.applies_to(shape) is False
    for ask in (layout.physical_shape, layout.recipe, lambda s: ml.index_map(text, s)):
        with pytest.raises(ml.ShapeError) as error:
            ask(shape)
        assert str(error.value) == f"{what}\n{why}\n{fix}"


@pytest.mark.parametrize(
    ("shape", "what", "why", "fix"),
    [
        (6, "a shape: expected a sequence of sizes, got 6", *NO_SHAPE),
        (None, "a shape: expected a sequence of sizes, got None", *NO_SHAPE),
        ("68", "size 0 of the shape: expected an integer, got '6'", *SIZES),
        ((6, 8.0), "size 1 of the shape: expected an integer, got 8.0", *SIZES),
        ((6, None), "size 1 of the shape: expected an integer, got None", *SIZES),
        ((6, True), "size 1 of the shape: expected an integer, got True", *SIZES),
        (([1, 2], 6), "size 0 of the shape: expected an integer, got [1, 2]", *SIZES),
        (
            (6, np.zeros(2, int)),
            "size 1 of the shape: expected an integer, got array([0, 0])",
            *SIZES,
        ),
    ],
)
def test_what_is_no_shape(shape: Any, what: str, why: str, fix: str) -> None:
    asks = (
        PACKED.physical_shape,
        PACKED.applies_to,
        PACKED.canonicalize,
        ml.morello.row_major,
        ml.morello.nhwc,
    )
    for ask in asks:
        with pytest.raises(ml.ShapeError) as error:
            ask(shape)
        assert str(error.value) == f"{what}\n{why}\n{fix}"


@pytest.mark.parametrize(
    ("parent", "tile", "what", "why", "fix"),
    [
        (
            (6, 8),
            (7, 4),
            "the tile has 7 elements along dimension 0, the array 6",
            "a tile is a part of its array",
            "give at most 6",
        ),
        (
            (6, 8),
            (6,),
            "the tile has 1 dimensions, the array 2",
            "a tile has a size along each dimension of its array",
            "give 2 sizes, 1 if the tile takes one element",
        ),
        ((6, 8), (0, 8), "dimension 0 of the shape 0x8 has size 0", *ONE_AND_MORE),
        ((6, 8), (6, None), "size 1 of the shape: expected an integer, got None", *SIZES),
        (
            (6, 8),
            (6, 6),
            "1 p(4) does not fit dimension 1 of the shape 6x6",
            "4 does not divide the remaining extent 6 of dimension 1",
            "pad dimension 1 to 8, or choose a size that divides 6",
        ),
        (
            (6, 10),
            (6, 4),
            "1 p(4) does not fit dimension 1 of the shape 6x10",
            "4 does not divide the remaining extent 10 of dimension 1",
            "pad dimension 1 to 12, or choose a size that divides 10",
        ),
    ],
)
def test_tiles_that_do_not_fit(parent: Any, tile: Any, what: str, why: str, fix: str) -> None:
    with pytest.raises(ml.ShapeError) as error:
        PACKED.for_tile(parent, tile)
    assert str(error.value) == f"{what}\n{why}\n{fix}"


def test_a_negative_size() -> None:
    with pytest.raises(ml.ShapeError) as error:
        ml.parse("[0]").recipe((-3,))
    assert error.value.what == "dimension 0 of the shape -3 has size -3"


def test_builders_refuse_shapes() -> None:
    with pytest.raises(ml.ShapeError) as error:
        ml.morello.nhwc((2, 3))
    assert str(error.value) == (
        "NHWC takes 4 sizes, not 2\n"
        "they are batch, channels, height and width, in this order\n"
        "give a shape such as (2, 32, 14, 14)"
    )
    for builder in (ml.morello.row_major, ml.morello.col_major, ml.morello.batched_col_major):
        with pytest.raises(ml.ShapeError) as error:
            builder((3, 0))
        assert str(error.value).startswith("dimension 1 of the shape 3x0 has size 0\n")


def test_a_layout_without_its_shape() -> None:
    with pytest.raises(ml.ShapeError) as error:
        ml.index_map("[1, 0, 1 p(4)]")
    assert str(error.value) == (
        "no shape given for [1, 0, 1 p(4)]\n"
        "the layout's text does not carry the sizes of the array\n"
        "give the sizes, such as shape=(6, 8)"
    )


def test_integers_of_numpy_become_pythons() -> None:
    layout = MorelloLayout([[np.int64(1), Packed(np.int8(4))]], np.int64(1))
    assert repr(layout.phys_dims) == "((1, Packed(size=4)),)"
    assert repr(layout.contig) == "1"
    assert repr(layout.physical_shape(np.array([1, 3]))) == "(3,)"
    assert hash(layout) == hash(MorelloLayout([(1, Packed(4))]))


FORM = "a Morello layout lists physical dimensions, outermost first: d, d p(n) or d oe(n)"
EXAMPLE = "write for example [1, 0, 1 p(4)]"

# text, what, the column of the caret (from 0) in the line that is wrong, why, fix
TEXTS = [
    ("[1, 0", "expected ',' or ']', found the end of the text", 5, FORM, EXAMPLE),
    (
        "[0, 1 P(4)]",
        "expected ',', ']', oe(…) or p(…), found 'P(4)]'",
        6,
        FORM,
        "packing is written in lower case: 1 p(4)",
    ),
    (
        "[d0, d1]",
        "expected ']' or a number, found 'd0,'",
        1,
        FORM,
        "write dimensions as numbers: [1, 0]",
    ),
    ("[", "expected ']' or a number, found the end of the text", 1, FORM, EXAMPLE),
    ("[0", "expected ',' or ']', found the end of the text", 2, FORM, EXAMPLE),
    ("[0, , 1]", "expected a number, found ','", 4, FORM, EXAMPLE),
    ("[0; 1]", "expected ',', ']', oe(…) or p(…), found ';'", 2, FORM, EXAMPLE),
    ("[0, 1 q(4)]", "expected ',', ']', oe(…) or p(…), found 'q(4)]'", 6, FORM, EXAMPLE),
    ("[0, 1 p(4]", "expected ')', found ']'", 9, FORM, EXAMPLE),
    ("[0, 1 p4]", "expected '(', found '4]'", 7, FORM, EXAMPLE),
    ("[0, 1 p(-4)]", "expected a name or a number, found '-4)]'", 8, FORM, EXAMPLE),
    ("[0, 1 p(4.5)]", "expected ')', found '.5)]'", 9, FORM, EXAMPLE),
    ("[0, 1 p(4) p(2)]", "expected ',' or ']', found 'p(2)]'", 11, FORM, EXAMPLE),
    ("[0, 1 oe]", "expected '(', found ']'", 8, FORM, EXAMPLE),
    ("[0, 1 oe()]", "expected a number, found ')]'", 9, FORM, EXAMPLE),
    ("[0, 1 oe(N)]", "expected a number, found 'N)]'", 9, FORM, EXAMPLE),
    (
        "[0, 1 p(0)]",
        "Packed: expected an integer from 2, got 0",
        8,
        "a Packed holds at least 2 elements, as in Morello",
        "leave it out, or give the number of elements packed together",
    ),
    (
        "[0 oe(0)]",
        "OddEven: expected an integer from 2, got 0",
        6,
        "an OddEven separates even from odd indices, so its size is even",
        "give an even size of at least 2",
    ),
    ("[0, 1]]", "expected the end of the text, found ']'", 6, FORM, EXAMPLE),
    ("[[0, 1]]", "expected ']' or a number, found '[0,'", 1, FORM, EXAMPLE),
    ("[0 1]", "expected ',', ']', oe(…) or p(…), found '1]'", 3, FORM, EXAMPLE),
    (
        "([0, 1], 1)",
        "expected the number of contiguous dimensions, such as c2, found '1)'",
        9,
        FORM,
        EXAMPLE,
    ),
    (
        "([0, 1], c)",
        "expected the number of contiguous dimensions, such as c2, found 'c)'",
        9,
        FORM,
        EXAMPLE,
    ),
    ("([0, 1], c1", "expected ')', found the end of the text", 11, FORM, EXAMPLE),
    ("[0, 1], c1", "expected the end of the text, found ','", 6, FORM, EXAMPLE),
    (
        "[99999999999999999999]",
        "the number is too large",
        1,
        "numbers here are signed 64-bit integers",
        "write at most 9223372036854775807",
    ),
    ("[0, 0]", INNER_DYNAMIC[0], 4, *INNER_DYNAMIC[1:]),
    ("[0 p(4), 0]", INNER_DYNAMIC[0], 9, *INNER_DYNAMIC[1:]),
    (
        "NHW",
        "a name: expected NHWC or NCHW, got NHW",
        0,
        "the names are NHWC and NCHW",
        "write the list of physical dimensions: [0, 2, 3, 1]",
    ),
    ("NCHWc", "expected the end of the text, found 'c'", 4, FORM, EXAMPLE),
    ("[1.0]", "expected ',', ']', oe(…) or p(…), found '.0]'", 2, FORM, EXAMPLE),
    (
        "[0,1 P4]",
        "expected ',', ']', oe(…) or p(…), found 'P4]'",
        5,
        FORM,
        "packing is written in lower case: 1 p(4)",
    ),
    ("[0,]", "expected a number, found ']'", 3, FORM, EXAMPLE),
    ("[-1]", "expected ']' or a number, found '-1]'", 1, FORM, EXAMPLE),
    ("0 1", "expected ',', oe(…), p(…) or the end of the text, found '1'", 2, FORM, EXAMPLE),
    ("[0, 1] x", "expected the end of the text, found 'x'", 7, FORM, EXAMPLE),
    ("[0 p()]", "expected a name or a number, found ')]'", 5, FORM, EXAMPLE),
    ("[0 p 4]", "expected '(', found '4]'", 5, FORM, EXAMPLE),
    ("([0, 1])", "expected ',', found ')'", 7, FORM, EXAMPLE),
    (
        "([0], x)",
        "expected the number of contiguous dimensions, such as c2, found 'x)'",
        6,
        FORM,
        EXAMPLE,
    ),
    ("([0], c9)", "contig: expected an integer from 0 to 1, got 9", 6, *CONTIG),
    ("[0, 1, 0]", INNER_DYNAMIC[0], 7, *INNER_DYNAMIC[1:]),
    ("[0 p(1)]", "Packed: expected an integer from 2, got 1", 5, *PACKS_NOTHING),
    ("[1, 0 oe(3)]", "OddEven: expected an even size, got 3", 9, *NO_HALVES),
    (
        "[0 p(9223372036854775808)]",
        "the number is too large",
        5,
        "numbers here are signed 64-bit integers",
        "write at most 9223372036854775807",
    ),
    (
        "NHWX",
        "a name: expected NHWC or NCHW, got NHWX",
        0,
        "the names are NHWC and NCHW",
        "write the list of physical dimensions: [0, 2, 3, 1]",
    ),
]


@each_row(("text", "what", "column", "why", "fix"), TEXTS)
def test_text_that_is_no_layout(text: str, what: str, column: Any, why: str, fix: str) -> None:
    with pytest.raises(ml.ParseError) as error:
        ml.parse(text)
    assert str(error.value) == f"{what}\n  {text}\n  {' ' * column}^\n{why}\n{fix}"


def test_the_caret_stands_in_the_line_that_is_wrong() -> None:
    with pytest.raises(ml.ParseError) as error:
        ml.parse("[1,\n 0 q(4)]")
    assert (error.value.line, error.value.column) == (2, 4)
    assert "\n   0 q(4)]\n     ^\n" in str(error.value)
