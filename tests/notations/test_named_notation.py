"""``notation=`` and ``--notation`` say how a text is read."""

from __future__ import annotations

from typing import Any

import pytest

import morello_layouts as ml
from morello_layouts.cli.main import commands
from morello_layouts.notations.registry import NAMES, NOTATIONS
from tests.notations.test_every_notation import SHAPES


@pytest.mark.parametrize("notation", NOTATIONS, ids=lambda notation: notation.example)
def test_each_example_is_read_by_its_name(notation: ml.notations.registry.Notation) -> None:
    text, shape = notation.example, SHAPES.get(notation.example)
    assert ml.parse(text, notation.name) == ml.parse(text)
    assert ml.index_map(text, shape, notation=notation.name) == ml.index_map(text, shape)
    assert str(ml.explain(text, shape, notation=notation.name)) == str(ml.explain(text, shape))


def test_a_name_keeps_other_readers_away() -> None:
    assert isinstance(ml.parse("nchw", "onednn"), ml.notations.onednn.OnednnLayout)
    with pytest.raises(ml.ParseError, match="a Morello layout lists"):
        ml.parse("aBcd16b", "morello")
    with pytest.raises(ml.ParseError, match="oneDNN"):
        ml.parse("[1, 0]", notation="onednn")


@pytest.mark.parametrize("wrong", ["onednm", "", "XLA ", 3, None.__class__])
def test_wrong_names(wrong: Any) -> None:
    with pytest.raises(ml.LayoutError, match=f"expected {NAMES[0]}, ") as caught:
        ml.parse("[1, 0]", wrong)
    assert ("nearest" in caught.value.fix) == (wrong in {"onednm", "XLA "})


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
