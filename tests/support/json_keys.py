"""The keys of JSON in words, as the help of commands lists them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def keys_text(value: Any, seen: dict[tuple[str, ...], str] | None = None) -> str:
    """Return the keys of an object, those of nested objects in parentheses.

    Keys that an earlier object has are "as" that object.

    >>> keys_text({"a": 1, "b": [{"c": 1, "d": None}], "e": {"c": 2, "d": 3}})
    'a, b (c, d), e (as b)'
    """
    known = {} if seen is None else seen
    return ", ".join(
        f"{key} ({inner})" if (inner := _inner_text(key, each, known)) else key
        for key, each in value.items()
    )


def _inner_text(key: str, value: Any, seen: dict[tuple[str, ...], str]) -> str:
    found = list(_objects(value))
    if not found:
        return ""
    keys = tuple(found[0])
    assert all(tuple(each) == keys for each in found), key
    if keys in seen:
        return f"as {seen[keys]}"
    seen[keys] = key
    whole = {k: [each[k] for each in found] for k in keys}
    return keys_text(whole, seen)


def _objects(value: Any) -> Iterable[dict[str, Any]]:
    """Return the objects in a value: itself, or the elements of its lists."""
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _objects(each)
