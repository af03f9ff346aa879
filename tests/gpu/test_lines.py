"""Sectors, lines and vectors against counting bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.fields import plain
from morello_layouts.core.maps import IndexMap
from morello_layouts.machines.gpu.access import Lanes
from tests.fuzz import banks
from tests.support.tables import each_row


def units(asked: banks.Question, unit: int) -> int:
    """The different units that hold a byte of a lane, counted byte by byte."""
    width = asked.vector * asked.element
    firsts = [asked.tile.offset(*at) * asked.element for at in asked.at if at is not None]
    return len({byte // unit for first in firsts for byte in range(first, first + width)})


@each_row("number", range(60))
def test_units_are_those_of_counting_bytes(number: int) -> None:
    asked = banks.question(7, number)
    access = Lanes(lambda lane: asked.at[lane], asked.vector)
    moved = ml.coalescing(asked.tile.layout, access, bits=8 * asked.element)
    assert (moved.sectors.worst, moved.lines.worst) == (units(asked, 32), units(asked, 128))
    assert moved.wanted_bytes == units(asked, 1)
    assert moved.sectors.least == -(-units(asked, 1) // 32)
    cached = ml.cache_lines(asked.tile.layout, access, bits=8 * asked.element, line=48, lanes=32)
    assert cached.lines.worst == units(asked, 48)


@each_row(
    "layout, access, sectors, lines",
    [
        ("f32[64,64]", "row", 4, 1),
        ("f32[64,64]", "column", 32, 32),
        ("f32[64,128]", "row.b128", 16, 4),
        ("u8[64,64]", "row", 1, 1),
        ("f32[64,64]{0,1}", "column", 4, 1),
        ("f32[64,33]", "rows", 4, 1),  # the next row follows
        ("(32,32):(33,1)", "row", 5, 2),  # rows begin in the middle of a sector
    ],
)
def test_known_accesses(layout: str, access: str, sectors: int, lines: int) -> None:
    found = ml.coalescing(layout, access, bits=None if "[" in layout else 32)
    assert (found.sectors.worst, found.lines.worst) == (sectors, lines)
    assert found.sectors.is_best == (found.verdict == "coalesced")


def test_elements_of_no_whole_bytes() -> None:
    assert ml.coalescing("s4[8,64]", "row").sectors.worst == 1
    assert ml.coalescing("f32[3,0]", "row").sectors.total == 0
    far = ml.coalescing(f"strided<[{2**47}, 1]>", "column", (2, 5000), bits=1024)
    assert (far.sectors.worst, far.lines.worst) == (8, 2)
    assert ml.cache_lines("f32[8,64]", "row").lines.worst == 4
    assert ml.coalescing("(8,64):(64,1)", "row", bits=96).sectors.worst == 12


@each_row("ask", [ml.coalescing, ml.cache_lines])
def test_sizes_and_pitches_by_name_are_refused(ask: Any) -> None:
    for text, shape in (("{1,0}", ("LD", 4)), ("strided<[LD, 1]>", (4, 4))):
        with pytest.raises(ml.UnsupportedError, match="symbolic: LD"):
            ask(text, "row", shape, bits=32)


def test_values_read_well() -> None:
    moved = ml.coalescing("f32[64,64]", "column")
    assert repr(moved).startswith("<Coalescing: not coalesced: 12% of the bytes moved are used")
    assert json.loads(json.dumps(plain(moved)))["sectors"]["worst"] == 32
    cached = ml.cache_lines("f32[64,64]", "column", lanes=16)
    assert cached.verdict == "16 lines of 64 bytes: 1 at best"
    assert json.loads(json.dumps(plain(cached)))["efficiency"] == 0.0625


def vector_by_counting(offsets: np.ndarray, dim: int, most: int) -> int:
    """The widest vector along a dimension, by looking at every element."""
    along = np.moveaxis(offsets, dim, -1)
    width = 1
    while 2 * width <= most and along.shape[-1] % (2 * width) == 0:
        groups = along.reshape(*along.shape[:-1], -1, 2 * width)
        if (groups - groups[..., :1] - np.arange(2 * width)).any() or (
            groups[..., 0] % (2 * width)
        ).any():
            break
        width *= 2
    return width


def maps() -> Iterator[IndexMap]:
    """Layouts of all kinds."""
    for text in (
        *("f16[8,64]", "f16[8,24]{0,1}", "f16[8,50]", "f16[12,20]{1,0:T(4,8)(2,1)}"),
        *("f16[16,32]{1,0:T(8,8)}", "f16[3,48]{1,0:T(2,16)}", "f16[7]{0:T(4)}"),
    ):
        yield ml.index_map(text)
    for text in (
        *(
            "(8,64):(72,1)",
            "(8,64):(128,1)",
            "(8,64):(66,1)",
            "((4,2),(8,4)):((8,128),(1,32))",
            "(8,8):(1,8)",
        ),
        *("((2,4),8):((1,16),2)", "strided<[40, 1], offset: 4>", "strided<[32, -1], offset: 31>"),
    ):
        yield ml.index_map(text, (8, 32) if text.startswith("strided") else None)
    for vector, shift in ((1, 0), (2, 0), (8, 1), (4, 2)):
        steps = (ml.Split((None, 8 * vector)), ml.Split((None, None, vector)),
                 ml.recipe.Xor(2, 0, shift), ml.Merge((1, 3)))  # fmt: skip
        yield IndexMap(ml.Recipe((12, 16 * vector), steps), AffineExpr((), 0), f"xor {vector}")
    reverse = (ml.Split((None, 8)), ml.Transpose((1, 0, 2)), ml.recipe.Xor(1, 2, 1))
    yield IndexMap(ml.Recipe((16, 16), reverse), AffineExpr((), 0), "xor with the inner index")


def test_vectors_are_those_of_counting() -> None:
    seen = set()
    for m in maps():
        offsets = np.array([m(*at) if "xor" not in m.source else banks_offset(m, at)
                            for at in np.ndindex(m.shape)]).reshape(m.shape)  # fmt: skip
        for dim in range(len(m.shape)):
            for most, bits in ((8, 16), (1 << 20, None)):
                given = bits if m.element_type is None else 16
                expected = vector_by_counting(offsets, dim, most if given else 1 << 20)
                expected = min(expected, 128 // given) if given else expected
                assert ml.vector_width(m, dim, bits=given) == expected, (m.source, dim, most)
                seen.add(expected)
    assert {1, 2, 4, 8, 64} <= seen


def banks_offset(m: IndexMap, at: tuple[int, ...]) -> int:
    """The offset of a recipe with an xor, by moving an array of numbers."""
    elements = np.arange(prod(m.shape)).reshape(m.shape)
    buffer = ml.recipe.pack_array(m.recipe, elements, -1)
    return int(np.flatnonzero(buffer == elements[at])[0])


@each_row(
    "layout, assuming, width",
    [
        ("f16[M,N]", None, 1),
        ("f16[M,N]", "N % 2 == 0", 2),
        ("f16[M,N]", "N % 8 == 0", 8),
        ("f16[M,N]", "N % 24 == 0", 8),
        ("f16[M,N]", "M % 8 == 0", 1),
        ("f16[M,64]", None, 8),
        ("f16[M,N]{1,0:T(8,128)}", None, 1),  # the last columns may be padding
        ("f16[M,N]{1,0:T(8,128)}", "N % 4 == 0", 4),
    ],
)
def test_symbolic_sizes_count_through_what_divides_them(
    layout: str, assuming: str | None, width: int
) -> None:
    assert ml.vector_width(layout, -1, assuming=assuming) == width
