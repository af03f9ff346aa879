"""oneDNN's own memory descriptors, and its names for particular primitives: every row."""

from __future__ import annotations

import morello_layouts as ml
from morello_layouts.notations.onednn import OnednnLayout
from tests.support.paths import rows
from tests.support.tables import each_row


def numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def parsed(text: str) -> OnednnLayout:
    layout = ml.parse(text)
    assert isinstance(layout, OnednnLayout)
    return layout


DESCRIPTORS = rows("onednn_tags.tsv")
NAMES = rows("onednn_names.tsv")
# Names that oneDNN defines against its own rule: the rule reads these as other tags, or not at all.
IRREGULAR = {"OhwI24o", "OhwI32o", "gOhwI24o", "gOhwI32o", "gIOhw2i8o16i2o", "gIOdhw2i8o16i2o"}


def test_the_tables_are_complete() -> None:
    assert (len(DESCRIPTORS), len(NAMES)) == (1309, 798)
    assert len({row[0] for row in DESCRIPTORS}) == 873
    assert {name for name, _ in NAMES} >= IRREGULAR


@each_row("row", DESCRIPTORS, ids=lambda row: f"{row[0]} {row[1]}")
def test_every_memory_descriptor(row: list[str]) -> None:
    tag, dims, padded, strides, inner, size = row
    layout, shape = parsed(tag), numbers(dims)
    m = ml.index_map(layout, shape)
    assert str(layout) == tag
    assert layout.padded_dims(shape) == numbers(padded)
    assert layout.strides(shape) == numbers(strides)
    assert ",".join(f"{n}@{dim}" for dim, n in layout.blocks) == inner.replace("-", "")
    assert 4 * m.size == int(size)
    # The offsets of the last element and of one step along each dimension, as the strides say.
    last = tuple(n - 1 for n in shape)
    blocks = [1] * len(shape)
    for dim, n in layout.blocks:
        blocks[dim] *= n
    for dim, stride in enumerate(numbers(strides)):
        if shape[dim] > blocks[dim]:
            step = tuple(blocks[dim] if k == dim else 0 for k in range(len(shape)))
            assert m(*step) == stride
    assert m.coordinates(m(*last)) == last


@each_row(("name", "tag"), NAMES, ids=[name for name, _ in NAMES])
def test_every_name(name: str, tag: str) -> None:
    named, plain = parsed(name), parsed(tag)
    assert (named.order, named.blocks) == (plain.order, plain.blocks)
    assert name in IRREGULAR or str(named) == name
    assert parsed(str(named)) == named
