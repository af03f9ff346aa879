"""Wrong texts are met by the one that was meant: each is a slip away from a text that is read."""

from __future__ import annotations

import random

import pytest

import morello_layouts as ml
from morello_layouts.core.limits import REPAIRED_TEXT
from morello_layouts.notations.registry import NOTATIONS, Notation
from tests.support.tables import each_row

MEANT = [
    ("T(8,128)(2,1)", "{1,0:T(8,128)(2,1)}"),
    ("{1,0;T(8,128)}", "{1,0:T(8,128)}"),
    ("{1,0:t(8,128)}", "{1,0:T(8,128)}"),
    ("{0,1:T(8x128)}", "{0,1:T(8,128)}"),
    ("bf16[10,200]{1,0:T(8,128)(2,1}", "bf16[10,200]{1,0:T(8,128)(2,1)}"),
    ("bf16[10,200](1,0)", "bf16[10,200]{1,0}"),
    ("bf16[10 200]", "bf16[10, 200]"),
    ("bf16(10,200)", "bf16[10,200]"),
    ("bf61[10,200]", "bf16[10,200]"),
    ("[10,200]{1,0}", "f32[10,200]{1,0}"),
    ("[1, 0, 1 p4]", "[1, 0, 1 p(4)]"),
    ("[1 0 1 p(4)]", "[1, 0, 1 p(4)]"),
    ("NCHW16", "NCHW16c"),
    ("NCHW16C", "NCHW16c"),
    ("aBcd16", "aBcd16b"),
    ("8,4:4,1", "(8,4):(4,1)"),
    ("(8,4)(4,1)", "(8,4):(4,1)"),
    ("h w => w h", "h w -> w h"),
    ("nchw -> nhwc", "n c h w -> n h w c"),
    ("lambda i j: (j, i)", "lambda i, j: (j, i)"),
    ("memref<4x8xf32, affine_map<(d0, d1) > (d1, d0)>>",
     "memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>"),
    ("strided<[5, 1] offset: 2>", "strided<[5, 1], offset: 2>"),
    ("{device=[4,2]<=[8]}", "{devices=[4,2]<=[8]}"),
]  # fmt: skip


@each_row("text, meant", MEANT)
def test_what_was_meant(text: str, meant: str) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.fix == f"did you mean {meant}?"
    assert ml.parse(meant)
    assert caught.value.text == text


@each_row(
    ("text", "what", "fix"),
    [
        ("T(8,128)", "expected an XLA layout in braces, got 'T(8,128)'",
         "did you mean {1,0:T(8,128)}?"),
        ("10x200", "expected a layout, got the sizes of an array",
         "give a layout, such as row-major, beside shape=(10, 200), or f32[10, 200]"),
        ("tensor<32x16xf32, #blocked>", "expected an encoding, got its alias #blocked",
         "write what the alias stands for"),
        ("{register = [[0,1]], lan = [[1,0]]}", "linear has no field lan", "write lane"),
        ("f32[10,200]{0}", "minor_to_major: expected 2 dimensions, got 1",
         "order the dimensions 0 to 1, the fastest varying first"),
        ("hello(8)", "no layout begins like this", None),
        ("Shard(0)", "no layout begins like this", None),
    ],
)  # fmt: skip
def test_errors_that_know_better(text: str, what: str, fix: str | None) -> None:
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.what == what
    assert fix is None or caught.value.fix == fix


@each_row("text", ["RM", "rowmajor", "row_major", "CM", "colmajor"])
def test_short_names(text: str) -> None:
    order = "{0,1}" if text.lower().startswith("c") else "{1,0}"
    assert ml.are_equivalent(text, order, (4, 8)).holds


@each_row("notation", NOTATIONS)
def test_what_is_suggested_is_read(notation: Notation) -> None:
    """Slips in every notation's example: a suggestion is a text that is read."""
    example, rng = notation.example, random.Random(1)
    for _ in range(20):
        k, sign = rng.randrange(len(example)), rng.choice("()[]{}<>,:;=-x0 aZ")
        text = example[:k] + rng.choice(["", sign]) + example[k + 1 :]
        try:
            ml.parse(text)
        except ml.ParseError as error:
            if error.fix.startswith("did you mean "):
                ml.parse(error.fix.removeprefix("did you mean ")[:-1])


def test_long_texts_are_not_repaired() -> None:
    text = f"f32[{'1,' * REPAIRED_TEXT}1"
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.fix.startswith("write for example")
