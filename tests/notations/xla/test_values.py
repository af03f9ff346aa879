"""XlaShape and XlaLayout as values: what they take, refuse, print, and say about sizes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from morello_layouts.notations.xla import ELEMENT_BITS, bits_of
from tests.support.tables import each_row

L, S = ml.XlaLayout, ml.XlaShape
F32 = S("f32", (2, 3))
LATER_TILE = (
    "a later tile does not divide the block before it, and in XLA's size only the first tile pads"
)


class TestWhatTheConstructorsTake:
    def test_lists_arrays_and_numpy_integers(self) -> None:
        x = S("f32", [np.int64(3), np.uint8(5)], L(np.array([1, 0]), [[np.int32(2), 2]]))
        assert x == ml.parse("f32[3,5]{1,0:T(2,2)}")
        assert {type(n) for n in x.dims} == {int}
        assert isinstance(x.layout.tiles[0], tuple)
        assert hash(x) == hash(ml.parse("f32[3,5]{1,0:T(2,2)}"))

    def test_dims_of_an_array(self) -> None:
        assert S("f32", np.zeros((3, 5)).shape).dims == (3, 5)
        assert S("f32", iter((3, 5))).dims == (3, 5)

    def test_a_layout_by_default(self) -> None:
        assert F32.layout == L((1, 0))
        assert S("f32", ()).layout == L(())
        assert S("token", ()).layout is None
        assert S("f32", ()) == ml.parse("f32[]") == ml.parse("f32[]{:}")

    def test_unbounded_sizes_are_dynamic(self) -> None:
        assert S("f32", (None, 3)).dynamic_dimensions == (True, False)
        assert S("f32", (None, 3)) == ml.parse("f32[?,3]")
        assert S("f32", (2, 3), None, (np.True_, False)) == ml.parse("f32[<=2,3]")

    def test_values_are_frozen_and_equal_by_parts(self) -> None:
        with pytest.raises(AttributeError):
            F32.dims = (1,)  # type: ignore[misc]
        others = [S("f32", (2, 3), L((0, 1))), S("f16", (2, 3)), ml.parse("f32[<=2,3]")]
        assert F32 not in others
        assert len({F32, S("f32", [2, 3], L([1, 0]))}) == 1
        assert pickle.loads(pickle.dumps(F32)) == F32
        assert copy.deepcopy(F32) == F32


REFUSED: dict[str, tuple[Any, ...]] = {
    "a float in the order": (
        lambda: L((1.0, 0)),
        "minor_to_major[0]: expected an integer from 0, got 1.0",
        "name each dimension once, the fastest varying first, such as (1, 0)",
    ),
    "a bool in the order": (
        lambda: L((True, 0)),
        "minor_to_major[0]: expected an integer from 0, got True",
        "name each dimension once, the fastest varying first, such as (1, 0)",
    ),
    "a negative dimension": (
        lambda: L((-1, 0)),
        "minor_to_major[0]: expected an integer from 0, got -1",
        "name each dimension once, the fastest varying first, such as (1, 0)",
    ),
    "text for an order": (
        lambda: L("10"),
        "minor_to_major: expected a tuple or list, got '10'",
        "name each dimension once, the fastest varying first, such as (1, 0)",
    ),
    "a number for an order": (
        lambda: L(2),
        "minor_to_major: expected a tuple or list, got 2",
        "name each dimension once, the fastest varying first, such as (1, 0)",
    ),
    "an array of no dimensions": (
        lambda: L(np.array(1)),
        "minor_to_major: expected a tuple or list, got array(1)",
        "name each dimension once, the fastest varying first, such as (1, 0)",
    ),
    "one tile instead of tiles": (
        lambda: L((1, 0), (8, 128)),
        "tile 0: expected a tuple or list, got 8",
        "give a tuple of tiles, such as ((8, 128), (2, 1))",
    ),
    "text for a tile": (
        lambda: L((1, 0), ("8,128",)),
        "tile 0: expected a tuple or list, got '8,128'",
        "give a tuple of tiles, such as ((8, 128), (2, 1))",
    ),
    "a star as text": (
        lambda: L((1, 0), (("*", 2),)),
        "a tile size: expected an integer from 1, got '*'",
        "a tile holds at least one element in each dimension",
        "write a size from 1, or '*' (COMBINE) to join the next more minor dimension",
    ),
    "a negative tile": (
        lambda: L((1, 0), ((-2, 8),)),
        "a tile size: expected an integer from 1, got -2",
        "a tile holds at least one element in each dimension",
        "write a size from 1, or '*' (COMBINE) to join the next more minor dimension",
    ),
    "a trailing star": (
        lambda: L((1, 0), ((8, ml.xla.COMBINE),)),
        "'*' is in the tile's last place",
        "'*' combines a dimension with the next more minor one, and there is none",
        "end the tile with a size",
    ),
    "a huge tile": (
        lambda: L((0,), ((10**5000,),)),
        "a tile size: expected a 64-bit integer, got larger than 2^63 - 1",
        "a tile holds at least one element in each dimension",
        "write a size from 1, or '*' (COMBINE) to join the next more minor dimension",
    ),
    "no memory space": (
        lambda: L((0,), memory_space=None),
        "memory_space: expected an integer from 0, got None",
        "give an int from 0",
    ),
    "a bool for bits": (
        lambda: L((0,), element_size_in_bits=True),
        "element_size_in_bits: expected an integer from 0, got True",
        "give an int from 0",
    ),
    "a tail of nothing": (
        lambda: L((0,), tail_padding_alignment_in_elements=0),
        "tail_padding_alignment_in_elements: expected an integer from 1, got 0",
        "give an int from 1",
    ),
    "negative metadata": (
        lambda: L((0,), dynamic_shape_metadata_prefix_bytes=-1),
        "dynamic_shape_metadata_prefix_bytes: expected an integer from 0, got -1",
        "give an int from 0",
    ),
    "a pair for a split": (
        lambda: L((0,), split_configs=((0, (1,)),)),
        "split_configs[0]: expected SplitConfig, got (0, (1,))",
        "give a tuple of SplitConfig(dimension, split_indices)",
    ),
    "a split without its dimension": (
        lambda: L((), split_configs=(ml.xla.SplitConfig(0, (1,)),)),
        "SC: expected one of 0 dimensions, got dimension 0",
        "SC names a physical dimension, 0 the most major",
        "leave SC out",
    ),
    "a split at a float": (
        lambda: ml.xla.SplitConfig(0, (1.5,)),
        "split index 0: expected an integer from 1, got 1.5",
        "start a new piece at 1 or more",
    ),
    "a split at one number": (
        lambda: ml.xla.SplitConfig(0, 5),
        "split_indices: expected a tuple or list, got 5",
        "give a tuple of ints",
    ),
    "a split of a negative dimension": (
        lambda: ml.xla.SplitConfig(-1, (5,)),
        "the split dimension: expected an integer from 0, got -1",
        "give an int from 0",
    ),
    "a list for a pointer type": (
        lambda: L((0,), pointer_primitive_type=["u8"]),
        "['u8'] is not an XLA element type",
        "XLA has its own names for types, all in lower case",
        f"write one of {', '.join(ELEMENT_BITS)}",
    ),
    "a NumPy type": (
        lambda: S(np.float32, (2,)),
        "<class 'numpy.float32'> is not an XLA element type",
        "XLA has its own names for types, all in lower case",
        f"write one of {', '.join(ELEMENT_BITS)}",
    ),
    "one number for dims": (
        lambda: S("f32", 5),
        "dims: expected a tuple or list, got 5",
        "give a tuple of sizes, such as (3, 5)",
    ),
    "a negative size": (
        lambda: S("f32", (2, -3)),
        "the size of dimension 1: expected an integer from 0, got -3",
        "give an int from 0, a name, or None for an unbounded size",
    ),
    "a bool for a size": (
        lambda: S("f32", (True,)),
        "the size of dimension 0: expected an integer from 0, got True",
        "give an int from 0, a name, or None for an unbounded size",
    ),
    "a huge size": (
        lambda: S("f32", (2**63,)),
        "the size of dimension 0: expected a 64-bit integer, got larger than 2^63 - 1",
        "give an int from 0, a name, or None for an unbounded size",
    ),
    "a name that is none": (
        lambda: S("f32", ("M+1",)),
        "the size of dimension 0: expected a name, got 'M+1'",
        "a symbolic size is a name: letters, digits and '_'",
        "give an int from 0, a name, or None for an unbounded size",
    ),
    "a SymPy sum for a size": (
        lambda: S("f32", (sympy.Symbol("M") + 1,)),
        "the size of dimension 0: expected an integer from 0, got M + 1",
        "give an int from 0, a name, or None for an unbounded size",
    ),
    "text for a layout": (
        lambda: S("f32", (2, 3), "{1,0}"),
        "layout: expected XlaLayout, got '{1,0}'",
        "give an XlaLayout; ml.parse reads text",
    ),
    "a layout of another rank": (
        lambda: S("f32", (2, 3), L((0,))),
        "minor_to_major: expected 2 dimensions, got 1",
        "minor_to_major names every dimension once",
        "order the dimensions 0 to 1, the fastest varying first",
    ),
    "too few dynamic flags": (
        lambda: S("f32", (2, 3), None, (True,)),
        "dynamic_dimensions: expected 2 flags, got 1",
        "there is one flag for each dimension",
        "give one bool for each dimension, or leave them out",
    ),
    "a number for a flag": (
        lambda: S("f32", (2, 3), None, (0, 2)),
        "dynamic_dimensions[0]: expected a bool, got 0",
        "give one bool for each dimension, or leave them out",
    ),
    "a dynamic name": (
        lambda: S("f32", ("M",), None, (True,)),
        "dimension 0 is dynamic and has the symbolic size M",
        "a dynamic size has a number as its bound",
        "give one bool for each dimension, or leave them out",
    ),
    "a token with sizes": (
        lambda: S("token", (1,)),
        "token has no dimensions and no layout",
        "it is not an array",
        "write token[]",
    ),
    "text in a tuple": (
        lambda: ml.xla.XlaTuple(("f32[2]",)),
        "shapes[0]: expected XlaShape or XlaTuple or XlaBuffer, got 'f32[2]'",
        "give a tuple of shapes; ml.parse reads text",
    ),
    "a shape for a tuple": (
        lambda: ml.xla.XlaTuple(F32),
        f"shapes: expected a tuple or list, got {F32!r}",
        "give a tuple of shapes; ml.parse reads text",
    ),
    "a tuple in a buffer": (
        lambda: ml.xla.XlaBuffer(ml.xla.XlaTuple(())),
        "shape: expected XlaShape, got <XlaTuple: ()>",
        "give an XlaShape; ml.parse reads text",
    ),
}


@each_row("name", REFUSED)
def test_what_the_constructors_refuse(name: str) -> None:
    build, *lines = REFUSED[name]
    with pytest.raises(ml.LayoutError) as caught:
        build()
    assert str(caught.value) == "\n".join(lines)


@pytest.mark.parametrize(
    ("shape", "question", "what", "why", "fix"),
    [
        (
            "f32[M,?]",
            lambda x: x.byte_size,
            "f32[M,?]{1,0} has sizes that are not numbers: M, ?",
            "offsets and sizes are computed for sizes that are known",
            "write a number for each",
        ),
        (
            "f32[M,N]{1,0:T(8,128)}",
            lambda x: x.byte_size,
            "f32[M,N]{1,0:T(8,128)} has sizes that are not numbers: M, N",
            "offsets and sizes are computed for sizes that are known",
            "write a number for each",
        ),
        (
            "token[]",
            lambda x: x.byte_size,
            "token[] is not an array",
            "it has no elements, no layout and no size",
            "ask about an array shape",
        ),
        (
            "opaque[]",
            ml.index_map,
            "opaque[] is not an array",
            "it has no elements, no layout and no size",
            "ask about an array shape",
        ),
        (
            "f32[40,300]{1,0:T(8,128)SC(0:8)}",
            ml.index_map,
            "{1,0:T(8,128)SC(0:8)} splits the array over several buffers",
            "SC gives each piece a buffer of its own, so no single formula gives the offsets",
            "leave SC out to see the layout inside a piece; byte_size counts SC",
        ),
        (
            f"f32[2]{{0:T{'(2)' * 101}}}",
            ml.index_map,
            "the layout has 101 tiles, one within the other",
            "offsets are computed through at most 100",
            "leave out tiles of ones, which change nothing",
        ),
        (
            "(f32[2], s32[])",
            ml.index_map,
            "expected one array, got (f32[2]{0}, s32[])",
            "an index map belongs to one array",
            "ask about each array by itself",
        ),
    ],
)
def test_questions_without_an_answer(
    shape: str, question: Callable[[Any], object], what: str, why: str, fix: str
) -> None:
    with pytest.raises(ml.UnsupportedError) as caught:
        question(ml.parse(shape))
    assert str(caught.value) == f"{what}\n{why}\n{fix}"


def test_a_layout_at_a_shape_of_another_rank() -> None:
    with pytest.raises(ml.ShapeError, match="minor_to_major: expected 1 dimension, got 2"):
        ml.index_map("{1,0}", (3,))
    with pytest.raises(ml.ShapeError, match="minor_to_major: expected 3 dimensions, got 2"):
        L((1, 0)).physical_sizes((1, 2, 3))


def test_dynamic_sizes_count_as_their_bounds() -> None:
    x = ml.parse("f32[<=3,5]{1,0:T(2,2)}")
    assert (x.shape, x.byte_size) == ((3, 5), 96)
    assert ml.index_map(x).expr == ml.index_map("f32[3,5]{1,0:T(2,2)}").expr


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("bf16[8,1,1280,16384]", 3),
        ("f32[]", 0),
        ("f32[1,1]", 0),
        ("f32[0,2]", 1),
        ("f32[?,N,1]", 2),
    ],
)
def test_true_rank_counts_sizes_above_one(text: str, rank: int) -> None:
    assert ml.parse(text).true_rank == rank


@pytest.mark.parametrize("space", [0, 1, 2, 4, 5, 17])
def test_memory_spaces_are_kept(space: int) -> None:
    x = ml.parse(f"f32[2]{{0:S({space})}}")
    assert x.layout.memory_space == space
    assert str(x) == (f"f32[2]{{0:S({space})}}" if space else "f32[2]{0}")
    assert ml.are_equivalent(x, "f32[2]").holds is True


@each_row(
    ("text", "byte_size"),
    [
        ("s4[3]", 3),  # a byte each where E does not pack them
        ("s4[3]{0:E(4)}", 2),
        ("u1[9]{0:E(1)}", 2),
        ("c128[3]", 48),
        ("f8e4m3b11fnuz[7]", 7),
        ("f32[40,300]{0,1:T(8,128)SC(0:128)}", 90112),  # pieces of 128 and 172
        ("f32[40,300]{1,0:T(8,128)SC(0:8)(1:128)}", 32768),
        ("f32[64,3]{1,0:SC(0:48,24)}", 576),  # XLA takes the cuts as they are written
        ("f32[64,3]{1,0:SC(0:)}", 768),
        ("f32[64,3]{1,0:SC(0:16)(0:32)}", 576),  # of two cuts of one dimension the first
        ("f32[0,3]{1,0:T(8,128)}", 0),
    ],
)
def test_byte_sizes(text: str, byte_size: int) -> None:
    assert ml.parse(text).byte_size == byte_size


def test_bits_of_types() -> None:
    assert {t: bits_of(t) for t in ("pred", "s1", "u4", "bf16", "f32", "c64", "c128")} == {
        "pred": 8, "s1": 8, "u4": 8, "bf16": 16, "f32": 32, "c64": 64, "c128": 128,
    }  # fmt: skip
    assert ml.parse("pred[8]{0:E(1)}").bits == 1
    for wrong in ("token", "F32", 3):
        with pytest.raises(ml.LayoutError, match="is not an XLA element type"):
            bits_of(wrong)


def test_a_split_without_cuts_splits_nothing() -> None:
    x = ml.parse("f32[64,3]{1,0:SC(0:)}")
    assert str(x) == "f32[64,3]{1,0:SC(0:)}"
    assert (x.warnings, ml.index_map(x)(1, 1)) == ((), 4)


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("bf16[10,200]{1,0:T(8,128)(2,1)}", ()),
        ("f32[M,3]{1,0:T(2,2)(3,1)}", ()),
        ("token[]", ()),
        (
            "f32[8,8]{1,0:T(4,4)(3,1)}",
            (f"XLA reserves 256 bytes, the tiles span 384: {LATER_TILE}",),
        ),
        (
            "f32[3,5]{1,0:L(32)}",
            ("XLA ignores L(32) if there are no tiles: the buffer does not grow",),
        ),
        (
            "f32[40,300]{1,0:SC(0:8)}",
            ("SC splits the array over several buffers; byte_size is that of the largest",),
        ),
    ],
)
def test_warnings(text: str, warnings: tuple[str, ...]) -> None:
    assert ml.parse(text).warnings == warnings


def test_a_warning_reaches_the_index_map() -> None:
    m = ml.index_map("f32[8,8]{1,0:T(4,4)(3,1)}")
    assert m.size == 96
    assert m.warnings == ml.parse("f32[8,8]{1,0:T(4,4)(3,1)}").warnings != ()


@each_row(
    ("text", "printed"),
    [
        ("f32[2,3]", "f32[2,3]{1,0}"),
        ("f32[2,3]{1,0:L(1)E(0)S(0)}", "f32[2,3]{1,0}"),
        ("f32[2,3]{1,0:}", "f32[2,3]{1,0}"),
        ("f32[2,3]{1,0:D(D+,C~)T(8,128)}", "f32[2,3]{1,0:T(8,128)}"),
        ("f32[2,3]{1,0:M(-1)}", "f32[2,3]{1,0}"),
        ("b ( f32 [ 2 ] )", "b(f32[2]{0})"),
        ("( )", "()"),
        ("(f32[2],/*index=1*/(s8[]),token[])", "(f32[2]{0}, (s8[]), token[])"),
        ("{ 0 : T( 8 ) }", "{0:T(8)}"),
        ("f32[007]", "f32[7]{0}"),
        ("f32[b,pred,T]{2,1,0}", "f32[b,pred,T]{2,1,0}"),
    ],
)
def test_printing_is_canonical(text: str, printed: str) -> None:
    assert str(ml.parse(text)) == printed
