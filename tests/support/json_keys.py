"""The keys of JSON in words, as the help of commands lists them, compared with JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Keys = dict[str, Any]

NAMED_BY_USERS = {"attributes", "bounds", "sizes", "places", "about", "coordinates", "maps", "runs"}
"""Objects whose keys are names in the user's texts."""


def told_keys(text: str) -> Keys:
    """Return the keys that a text lists, each with those of its objects.

    >>> told_keys("a, b (c, d (e)), f (as b)")
    {'a': {}, 'b': {'c': {}, 'd': {'e': {}}}, 'f': {'c': {}, 'd': {'e': {}}}}
    """
    known: Keys = {}
    found: list[Keys] = [{}]
    name = ""
    for part in re.findall(r"[(),]|[^(),]+", text):
        word = part.strip()
        if word == "(":
            found.append(found[-1][name])
            known[name] = found[-1]
        elif word == ")":
            found.pop()
        elif word.startswith("as "):
            found[-1] |= known[word[3:]]
        elif word not in {"", ","}:
            name = word
            found[-1][name] = {}
    return found[0]


def untold(value: Any, told: Keys, path: str = "") -> Iterator[str]:
    """Yield the keys of a value that are not told."""
    if isinstance(value, list):
        for each in value:
            yield from untold(each, told, path)
    elif isinstance(value, Mapping) and path.rpartition(".")[2] not in NAMED_BY_USERS:
        for key, inner in value.items():
            if key == "counterexample" and not told.get(key):
                continue  # coordinates, or with symbolic sizes what one of its own says
            if key in told:
                yield from untold(inner, told[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
