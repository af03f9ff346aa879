"""CuTe layouts beside counting by hand, and laws of the algebra."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import morello_layouts as ml
from morello_layouts.interfaces.explorer.answer import answer
from morello_layouts.notations import cute
from morello_layouts.notations.cute import CuteLayout, Static
from morello_layouts.notations.morello import row_major
from tests.support.notations import counted, cute as layouts
from tests.support.tables import each_row


def colexicographic(coordinates: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return sorted(coordinates, key=lambda at: at[::-1])


@given(layouts())
def test_layouts_count(layout: CuteLayout) -> None:
    wanted = counted(layout)
    if isinstance(layout.shape, tuple):
        assert {at: layout(at) for at in wanted} == wanted
    assert [layout(k) for k in range(layout.size)] == [wanted[at] for at in colexicographic(wanted)]
    assert layout.cosize == max(wanted.values()) + 1


@given(layouts())
def test_what_coalesce_and_flatten_keep(layout: CuteLayout) -> None:
    found = [layout(k) for k in range(layout.size)]
    for other in (cute.coalesce(layout), layout.flatten()):
        assert other.depth <= 1
        assert [other(k) for k in range(layout.size)] == found


@given(layouts(), layouts())
def test_compositions_compose_or_are_refused(a: CuteLayout, b: CuteLayout) -> None:
    try:
        found = cute.composition(a, b)
    except ml.LayoutError:
        return
    assert found.size == b.size
    assert [found(k) for k in range(b.size)] == [a(b(k)) for k in range(b.size)]


@given(layouts())
def test_right_inverses(layout: CuteLayout) -> None:
    inverse = cute.right_inverse(layout)
    assert [layout(inverse(k)) for k in range(inverse.size)] == [*range(inverse.size)]


def test_arrays_of_coordinates() -> None:
    layout = CuteLayout(((4, 2), 8), ((1, 16), 4))
    assert layout(np.arange(64)).tolist() == [layout(k) for k in range(64)]


# A layout, a tiler; elements in no tile, places without an element, and the first of each.
LEFT = [
    ("(_6,_2):(_1,_10)", "_4", (0, None, 4, 6)),
    ("10:1", "4", (0, None, 2, 10)),
    ("(8,8):(8,1)", ("4", "2"), (0, None, 0, None)),
]


@each_row(("layout", "tiler", "wanted"), LEFT)
def test_left_over(layout: str, tiler: Any, wanted: tuple[int | None, ...]) -> None:
    found = cute.left_over(layout, cute.zipped_divide(layout, tiler))
    assert (found.dropped, found.first_dropped, found.outside, found.first_outside) == wanted
    assert bool(found) == (wanted[0] + wanted[2] > 0)


def test_modes_without_a_partner_are_kept_by_coalesce_and_not_by_composition() -> None:
    layout = "((_2,_4),(_2,_2),(_5,_2)):((_1,_2),(_8,_16),(_32,_160))"
    assert str(cute.coalesce(layout, (1, 1))) == "(_8,_4,(_5,_2)):(_1,_8,(_32,_160))"
    found = cute.composition("(_4,_6,_5):(_1,_4,_24)", ("_2:_1", "_3:_1"))
    assert str(found) == "(_2,_3):(_1,_4)"


def test_static_and_dynamic_layouts_differ() -> None:
    assert CuteLayout(4, 1) != CuteLayout(Static(4), Static(1))
    assert len({CuteLayout(4, 1), CuteLayout(4, 1), CuteLayout(Static(4), 1)}) == 2


@each_row(
    ("text", "assuming", "sizes"),
    [
        ("(M,N):(16,4)", "N % 3 == 0", {"M": 2, "N": 6}),
        ("(M,N):(16,4)", "N == 4", {"M": 3, "N": 4}),
        ("(M,N):(N,1)", "N % 8 == 0, M <= 3", {"M": 3, "N": 16}),
        ("((M,2),N):((N,1),16)", "M % 3 == 0", {"M": 3, "N": 2}),
        ("((M,2),N):((N,1),16)", "M == 5, N == 2", {"M": 5, "N": 2}),
    ],
)
def test_sizes_as_they_are_assumed(text: str, assuming: str, sizes: dict[str, int]) -> None:
    m = ml.index_map(text, assuming=assuming).at(**sizes)
    numbers = ml.index_map(re.sub("[MN]", lambda name: str(sizes[name[0]]), text))
    assert (m.shape, m.size) == (numbers.shape, numbers.size)
    assert all(m(*x) == numbers(*x) for x in np.ndindex(*m.shape))


def test_coordinates_are_places_in_their_box() -> None:
    m = ml.index_map("(4,8):(1@1,1@0)")
    assert m(3, 5) == 5 + 8 * 3
    assert ml.are_equivalent("(4,8):(1@1,1@0)", "(4,8):(8,1)").holds
    nested = CuteLayout((2, 3), (cute.ScaledBasis(1, (1, 0)), cute.ScaledBasis(1, (1, 1))))
    assert str(nested) == "(2,3):(1@0@1,1@1@1)"
    assert ml.parse(str(nested), "cute") == nested
    assert nested((1, 2)) == (0, (1, 2))
    assert ml.index_map(nested)(1, 2) == 1 + 2 * 2


OVERLAPS = ["(4,4):(1,1)", "(4,3):(_0,1)", "((4,2),8):((1,16),4)", "(3,(2,5)):(2,(7,3))"]


@each_row("text", OVERLAPS)
def test_overlaps_are_read_but_not_written(text: str) -> None:
    m = ml.index_map(text)
    at = np.indices(m.shape)
    buffer = np.arange(m.size, dtype=np.int32) * 7
    wanted = buffer[m(*at)]
    assert np.array_equal(ml.unpack(text, buffer), wanted)
    moved = ml.relayout(text, row_major(m.shape), m.shape).compile("int32")(buffer)
    assert np.array_equal(moved.reshape(m.shape), wanted)
    with pytest.raises(ml.LayoutError, match="share slot"):
        ml.pack(text, wanted)
    assert not ml.is_injective(text).holds
    assert ml.draw(text).svg().startswith("<svg")
    assert "not injective" in str(ml.explain(text))
    answered = answer({"layout": text, "shape": ""})
    assert not answered["errors"]


@each_row("text", ["(M,1,1):(2,P,1)", "(M,(4,1)):(8,(2,P))", "(1,M):(P,1)"])
def test_a_stride_by_name_along_one_element_is_never_used(text: str) -> None:
    m = ml.index_map(text)
    assert m.recipe.names == ("M",)
    assert ml.verify(m).holds
    numbers = ml.index_map(text.replace("M", "5").replace("P", "77"))
    for at in np.ndindex(*numbers.shape):
        assert m.at(M=5)(*at) == numbers(*at)
