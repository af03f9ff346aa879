"""``notation=`` and ``--notation`` say how a text is read."""

from __future__ import annotations

import pytest

import morello_layouts as ml
from morello_layouts.interfaces.cli.main import commands
from morello_layouts.notations.registry import NOTATIONS
from tests.notations.test_every_notation import SHAPES


@pytest.mark.parametrize("notation", NOTATIONS, ids=lambda notation: notation.example)
def test_each_example_is_read_by_its_name(notation: ml.notations.registry.Notation) -> None:
    text, shape = notation.example, SHAPES.get(notation.example)
    assert ml.parse(text, notation.name) == ml.parse(text)
    assert ml.index_map(text, shape, notation=notation.name) == ml.index_map(text, shape)
    assert str(ml.explain(text, shape, notation=notation.name)) == str(ml.explain(text, shape))


def test_a_name_keeps_other_readers_away() -> None:
    assert isinstance(ml.parse("nchw", "onednn"), ml.notations.onednn.OnednnLayout)


def test_wherever_a_text_is_taken() -> None:
    named, shape = "OI8i16o", (20, 9)
    layout = ml.parse(named, "tvm")
    for ask in (ml.verify, ml.is_injective, ml.is_surjective, ml.is_bijective):
        assert str(ask(named, shape, notation="tvm")) == str(ask(layout, shape))
    assert ml.are_equivalent(named, "OI8i16o", shape, notation="tvm").holds
    assert ml.is_bitcast(named, named, shape, notation="tvm").kind == "same"
    assert str(ml.relayout(named, named, shape, notation="tvm")) == "p -> p"
    array = [[1, 2], [3, 4]]
    buffer = ml.pack("ab", array, notation="onednn")
    assert ml.unpack("ab", buffer, (2, 2), notation="onednn").tolist() == array
    assert ml.code("ba", "c", shape=(2, 3), notation="onednn") == "2 * b + a"
    assert ml.convert("ba", "morello", (2, 3), notation="onednn") == ml.parse("[1, 0]")
    picture = ml.draw("ab", "ba", (2, 3), notation="onednn")
    assert [panel.map.source for panel in picture.panels] == ["ab at 2x3", "ba at 2x3"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("explain", "nchw", "--shape", "2x3x4x5", "--notation", "onednn"), 0),
        (("draw", "[0, 1]", "[1, 0]", "--shape", "2x3", "--notation", "morello"), 0),
        (("equal", "[0, 1]", "{1,0}", "--shape", "2x3", "--notation", "xla"), 2),
        (("prove", "[0, 1]", "--shape", "2x3", "--notation", "moreIlo"), 2),
        (("convert", "ab", "--shape", "2x3", "--to", "xla", "--notation", "onednn"), 0),
        (("relayout", "ab", "ba", "--shape", "2x3", "--dtype", "f32", "--notation", "onednn"), 0),
        (("code", "ab", "--shape", "2x3", "--notation", "onednn"), 0),
        (("bitcast", "ab", "ba", "--shape", "2x1", "--notation", "onednn"), 0),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_the_option(arguments: tuple[str, ...], status: int) -> None:
    with pytest.raises(SystemExit) as ended:
        commands.main(list(arguments))
    assert ended.value.code == status
