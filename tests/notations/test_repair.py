"""Wrong texts are met by the one that was meant; recorded/notations/mended.txt has which."""

from __future__ import annotations

import random
import re

import pytest

import morello_layouts as ml
from morello_layouts.core.limits import REPAIRED_TEXT
from morello_layouts.notations.registry import NOTATIONS, Notation
from tests.support.recorded import RECORDED
from tests.support.tables import each_row


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


def test_what_was_meant_is_read() -> None:
    recorded = (RECORDED / "notations" / "mended.txt").read_text("utf-8")
    meant = re.findall(r"did you mean (.*)\?$", recorded, re.MULTILINE)
    assert len(meant) > 20
    for text in meant:
        ml.parse(text)


def test_long_texts_are_not_repaired() -> None:
    text = f"f32[{'1,' * REPAIRED_TEXT}1"
    with pytest.raises(ml.ParseError) as caught:
        ml.parse(text)
    assert caught.value.fix.startswith("write for example")
