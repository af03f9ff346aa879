"""XLA's own parser, the TPU compiler's sizes, element orders and programs: every row."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import morello_layouts as ml
from morello_layouts.core.layout import ELEMENT_BITS
from morello_layouts.notations.registry import describe
from morello_layouts.proof.isl import Space, offset_value
from morello_layouts.proof.library import isl
from tests.support.paths import DATA, rows, table
from tests.support.tables import each_row

# XLA's parser takes these, its compiler refuses them: ours is strict.
REFUSED = {
    "f32[2,3]{2,0}": "minor_to_major: expected dimensions 0 to 1, got 2",
    "f32[2,3]{1,0:T(0,128)}": "a tile size: expected an integer from 1, got 0",
    "f32[2,3]{1,0:T(*,*)}": "'*' is in the tile's last place",
    "f32[2,3]{1,0:T(*)}": "'*' is in the tile's last place",
    "f32[2,3]{1,0:T(8,*)}": "'*' is in the tile's last place",
}
# XLA's parser refuses these; its document writes types so.
READ = {"F32[2,3]": "f32[2,3]{1,0}"}


def test_the_parse_oracle_is_complete() -> None:
    rows = table("xla_parse_oracle.tsv")
    assert len(rows) == 90
    assert set(REFUSED) <= {row["input"] for row in rows if row["outcome"] == "accept"}


@each_row("row", table("xla_parse_oracle.tsv"), ids=lambda row: row["input"])
def test_every_string_that_xla_parsed(row: dict[str, str]) -> None:
    text = row["input"]
    printed = row["printed_or_error"] if row["outcome"] == "accept" else READ.get(text)
    if printed is not None and text not in REFUSED:
        assert str(ml.parse(text)) == printed
        return
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.what.startswith(REFUSED.get(text, ""))
    assert 0 <= caught.value.position <= len(text)
    assert caught.value.pointer().endswith("^")


# jaxlib 0.10.2, asked for each type behind each sign: these come back, the others as "invalid",
# and "invalid" itself is refused.
INTEGERS = {f"{sign}{bits}" for sign in "su" for bits in (1, 2, 4, 8, 16, 32, 64)}


@pytest.mark.parametrize("name", [*ELEMENT_BITS, "token", "opaque"])
def test_types_of_sparse_arrays_print_as_xla_prints_them(name: str) -> None:
    shown = name if name in INTEGERS else "invalid"
    found = ml.parse(f"f32[2,3]{{1,0:T(2,128)#({name})*({name})S(1)}}")
    assert str(found) == f"f32[2,3]{{1,0:T(2,128)#({shown})*({shown})S(1)}}"
    assert found.layout.index_primitive_type == found.layout.pointer_primitive_type == name
    described = {part.text for part in describe(found).parts}
    assert {f"#({shown})", f"*({shown})"} <= described


SPARSE_CORE_SCALAR = ("program_value", "s32[]", "4096")


@pytest.mark.slow
def test_every_buffer_size() -> None:
    rows = table("tpu_buffer_sizes.tsv.gz")
    assert len(rows) == 9568
    checked, wrong, left_out = 0, [], 0
    for row in rows:
        text = row["shape_with_layout"]
        if (row["kind"], text, row["bytes"]) == SPARSE_CORE_SCALAR:
            left_out += 1  # the sparse core's own rounding, not the layout's
            continue
        x = ml.parse(text)
        checked += 1
        if x.byte_size != int(row["bytes"]) or str(x) != text:
            wrong.append((text, x.byte_size, row["bytes"]))
    assert not wrong
    assert (checked, left_out) == (9562, 6)


WARNING = re.compile(
    r"XLA reserves (\d+) bytes, the tiles span (\d+): a later tile does not divide the block "
    r"before it, and in XLA's size only the first tile pads"
)


@pytest.mark.slow
def test_a_warning_wherever_the_tiles_span_more_than_xla_reserves() -> None:
    """Both numbers, on the shape and on its index map; and nowhere else a warning of it."""
    warned = 0
    for text in {row["shape_with_layout"] for row in table("tpu_buffer_sizes.tsv.gz")}:
        x = ml.parse(text)
        if "SC(" in text:
            assert x.warnings == (
                "SC splits the array over several buffers; byte_size is that of the largest",
            )
            continue
        m = ml.index_map(x)
        spanned = -(-m.size * x.bits // 8)
        assert x.byte_size <= spanned
        assert m.warnings == x.warnings
        if spanned == x.byte_size:
            assert not any(map(WARNING.match, x.warnings))
            continue
        warned += 1
        (warning,) = x.warnings
        match = WARNING.fullmatch(warning)
        assert match is not None
        assert (int(match[1]), int(match[2])) == (x.byte_size, spanned)
    assert warned == 98


@cache
def orders() -> list[dict[str, Any]]:
    return rows("tpu_element_order.jsonl.gz")


def test_the_element_orders_are_complete() -> None:
    assert len(orders()) == 61
    assert any(-1 in row["order"] for row in orders())


@each_row("row", orders(), ids=lambda row: f"{row['gen']}-{row['shape']}")
def test_every_element_order(row: dict[str, Any]) -> None:
    """By the formula, by pack, by the inverse's judge unpack, and by ISL."""
    m = ml.index_map(row["shape"])
    order = np.array(row["order"])
    count = int(np.prod(m.shape))
    elements = np.arange(count).reshape(m.shape)
    assert len(order) == m.size
    assert (order == -1).sum() == m.padding

    np.testing.assert_array_equal(order[m(*np.indices(m.shape))], elements)
    np.testing.assert_array_equal(ml.pack(m, elements, fill=-1), order)
    np.testing.assert_array_equal(ml.unpack(m, order), elements)
    at = m.coordinates(np.arange(m.size))
    padding = order < 0
    assert all((x[padding] == -1).all() for x in at)
    if at:
        found = np.ravel_multi_index([x[~padding] for x in at], m.shape)
        np.testing.assert_array_equal(found, order[~padding])
    assert ml.verify(m).holds is True
    proof = ml.is_bijective(m)
    assert (proof.holds, proof.padding) == (m.padding == 0, m.padding)
    if m.padding:
        assert proof.counterexample == order.tolist().index(-1)

    relation = isl_offsets(m)
    slots = np.empty(count, dtype=int)
    slots[order[order >= 0]] = np.flatnonzero(order >= 0)
    for at in sampled(m.shape):
        assert relation(at) == slots[np.ravel_multi_index(at, m.shape)]


def isl_offsets(m: ml.IndexMap) -> Any:
    """The offset at a coordinate, read from ISL's function of the recipe."""
    space = Space.of(m.shape, isl.Context())
    function = offset_value(m.recipe, space).function

    def at(coordinate: tuple[int, ...]) -> int:
        point = space.domain
        for k, x in enumerate(coordinate):
            point = point.fix_val(isl.dim_type.set, k, space.val(x))
        return int(point.max_val(function).to_python())

    return at


def sampled(shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    """The corners, and forty coordinates from inside."""
    corners = set(product(*({0, n - 1} for n in shape)))
    generator = np.random.default_rng(0)
    inside = {tuple(int(generator.integers(n)) for n in shape) for _ in range(40)}
    return corners | inside


COMMENT = re.compile(r"/\*.*?\*/")


def test_every_shape_of_the_hlo_programs_round_trips() -> None:
    texts = (DATA / "hlo_shapes.txt").read_text().splitlines()
    assert len(texts) == 318
    bare = 0
    for text in texts:
        x = ml.parse(text)
        assert ml.parse(str(x)) == x
        plain = COMMENT.sub("", text)
        if str(x) != plain:  # a computation's header writes shapes without their layouts
            bare += 1
            assert "{" not in plain
            assert re.sub(r"\{[^}]*\}", "", str(x)) == plain
    assert bare == 12
