"""The notebooks' exercises: questions about layouts that check an answer.

Call an exercise with an answer; a wrong answer gets a counterexample.

>>> import morello_layouts as ml
>>> ml.exercises.row_by_row("4*i + j")
Right: the same offset at every coordinate
>>> ml.exercises.row_by_row("i + 3*j")
Not yet: at i = 0, j = 1 the offset is 1, yours is 3
This goes column by column: neighbours in a row are 3 apart.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from morello_layouts.interfaces.exercises import judges
from morello_layouts.interfaces.exercises.exercise import Exercise as Exercise, Feedback as Feedback


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _exercise(fields: dict[str, Any]) -> Exercise:
    named = {key: getattr(judges, fields[key]) for key in ("judge", "check") if key in fields}
    return Exercise(**{key: _frozen(value) for key, value in fields.items()} | named)


_TABLE = tomllib.loads(files(__name__).joinpath("exercises.toml").read_text("utf-8"))
_EXERCISES = {name: _exercise(fields) for name, fields in _TABLE.items()}

__all__ = ["Exercise", "Feedback", *_EXERCISES]  # noqa: PLE0604


def __getattr__(name: str) -> Exercise:
    try:
        return _EXERCISES[name]
    except KeyError:
        near = get_close_matches(name, _EXERCISES, 3, 0.5)
        use = f": use {' or '.join(near)}" if near else ""
        raise AttributeError(f"module {__name__!r} has no exercise {name!r}{use}") from None
