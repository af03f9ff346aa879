"""Into oneDNN's tags: judged by offsets, and by which tags are the shortest."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import morello_layouts as ml
from tests.support.paths import DATA
from tests.support.tables import each_row
from tests.support.translation_judges import offsets


@each_row(
    ("text", "shape", "expected"),
    [
        ("{1,0}", (6, 8), "ab"),
        ("{0,1}", (6, 8), "ba"),
        ("NHWC", (2, 3, 4, 5), "acdb"),
        ("nchw", (2, 3, 4, 5), "abcd"),
        ("{1,0:T(8,128)}", (16, 256), "AB8a128b"),
        ("{1,0:T(8,128)(2,1)}", (10, 200), "AB4a128b2a"),
        ("{1,0:T(8,128)}", ("M", "N"), "AB8a128b"),
        ("{1,0:T(1,8)}", (3, 5), "aB8b"),  # rows begin at multiples of 8
        ("{1,0:T(2)}", (1, 5), "aB6b"),  # padding after the last element
        ("{0,1:T(4,8)}", (5, 3), "AB4b8a"),
        ("{2,1,0:T(4,1)}", (2, 3, 5), "aBc4b"),
        ("[1, 0, 1 p(4)]", (6, 8), "Ba4b"),
        ("[0, 1 p(8)]", (6, 8), "ab"),
        ("[]", (1, 1), "ab"),
        ("nChw16c", (2, 16, 1, 1), "abcd"),
        ("OIhw4i16o4i", (32, 32, 3, 3), "ABcd4b16a4b"),
    ],
)
def test_the_tags_that_people_write(text: str, shape: tuple[int | str, ...], expected: str) -> None:
    found = ml.convert(text, "onednn", shape)
    assert str(found) == expected
    assert ml.are_equivalent(found, text, shape).holds


def tags() -> list[str]:
    rows = (DATA / "onednn_tags.tsv").read_text().splitlines()
    return sorted({row.split("\t")[0] for row in rows if not row.startswith("#")})


@pytest.mark.slow
def test_every_tag_of_onednn_is_found_again() -> None:
    """At sizes that fill two blocks of each dimension, and at sizes that pad."""
    kept = same_size = 0
    for tag in tags():
        layout = ml.parse(tag, "onednn")
        rank = len(layout.order)
        filled = layout.padded_dims((1,) * rank)
        full = tuple(2 * n + n % 2 for n in filled)
        found = ml.convert(layout, "onednn", full)
        assert len(found.blocks) <= len(layout.blocks), f"{tag} is {found}"
        kept += str(found) == "".join(layout.texts)
        padded = tuple(n + k + 1 for k, n in enumerate(filled))
        found = ml.convert(layout, "onednn", padded)
        assert len(found.blocks) <= len(layout.blocks), f"{tag} is {found}"
        same_size += ml.index_map(found, padded).size == ml.index_map(layout, padded).size
    assert (kept, same_size) == (657, 873)


@given(st.data())
def test_random_tags(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    dims = st.integers(0, rank - 1)
    blocks = data.draw(st.lists(st.tuples(dims, st.sampled_from([1, 2, 3, 4])), max_size=4))
    layout = ml.onednn.OnednnLayout(tuple(data.draw(st.permutations(range(rank)))), tuple(blocks))
    found = ml.convert(layout, "onednn", shape)
    assert offsets(found, shape) == offsets(layout, shape)
    assert len(found.blocks) <= len(blocks)
