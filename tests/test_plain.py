"""The encoder for JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
import sympy

import morello_layouts as ml
from morello_layouts.core.fields import plain


class Colour(Enum):
    RED = "red"


class Pair(NamedTuple):
    left: int
    right: float


@dataclass(frozen=True)
class Fields:
    name: str
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Text:
    number: int

    def __str__(self) -> str:
        return f"no. {self.number}"


@dataclass(frozen=True, slots=True)
class Keys:
    json_keys: ClassVar[tuple[str, ...]] = ("number=text.number", "twice", "*fields")

    text: Text | None
    fields: Fields | None = None

    @property
    def twice(self) -> int:
        return 2 * (0 if self.text is None else self.text.number)

    def __str__(self) -> str:
        return "text that the keys overrule"


@dataclass(frozen=True, slots=True)
class MoreKeys(Keys):
    json_keys: ClassVar[tuple[str, ...]] = (*Keys.json_keys, "*")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ("é", "é"),
        (1 << 70, 1 << 70),
        (np.int64(7), 7),
        (sympy.Integer(7), 7),
        (sympy.Symbol("M") + 1, "M + 1"),
        (2.5, 2.5),
        (np.float64(2.5), 2.5),
        (float("inf"), None),
        (float("nan"), None),
        (Colour.RED, "red"),
        ({1: (2, [3])}, {"1": [2, [3]]}),
        (Pair(1, 2.0), {"left": 1, "right": 2.0}),
        (Fields("f", (Pair(1, 0.5),)), {"name": "f", "pairs": [{"left": 1, "right": 0.5}]}),
        (Text(3), "no. 3"),
        (Keys(Text(3), Fields("f")), {"number": 3, "twice": 6, "name": "f", "pairs": []}),
        (Keys(None), {"number": None, "twice": 0}),
        (MoreKeys(Text(3)), {"number": 3, "twice": 6, "text": "no. 3", "fields": None}),
        (ml.parse("f32[8,128]{1,0:T(8,128)}"), "f32[8,128]{1,0:T(8,128)}"),
        (ml.parse("[0, 1]"), "[0, 1]"),
    ],
    ids=repr,
)
def test_plain(value: object, expected: Any) -> None:
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(found, allow_nan=False)) == expected
