"""Values as JSON, by one encoder, and as notebooks show them.

A class says how it is encoded in a class variable, its only list of keys::

    json_keys: ClassVar = ("*", "factor", "module=metadata.name", "*sizes")

A key is ``*`` for all fields, the name of an attribute, a name of its own with the path of an
attribute (null if an attribute on the way is None), or ``*`` with the path of a value whose keys
are spliced in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from html import escape
from math import isfinite
from numbers import Integral
from typing import Any, Final

from morello_layouts.errors import LayoutError

_REPR: Final = 160  # characters of a repr, so that it stays one line
_LINES: Final = 100  # lines that a notebook shows


class Told:
    """A value that also goes out as dictionaries and tables."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the value as JSON writes it; null for what is unknown, the text if it has no keys.

        >>> import morello_layouts as ml
        >>> ml.is_bijective("f32[3,5]{1,0:T(2,2)}").to_dict()["counterexample"]
        9
        """
        found = plain(self)
        return dict(found) if isinstance(found, dict) else {"text": str(found)}

    def to_frame(self, key: str | None = None) -> Any:
        """Return a table of pandas: a row for each item of a list, or one row of all values.

        Args:
            key: the list, a key of :meth:`to_dict`; by default the first list of objects.

        Raises:
            LayoutError: if the value does not have such a list, or pandas is not installed.
        """
        facts = self.to_dict()
        lists = [name for name, each in facts.items() if _is_rows(each)]
        if key is not None and key not in lists:
            raise LayoutError(
                f"to_frame: expected the key of a list, got {key!r}",
                "a row of the table is an item of a list of objects",
                f"give {', '.join(map(repr, lists))}" if lists else "leave the key out",
            )
        chosen = key or next(iter(lists), None)
        try:
            from pandas import json_normalize
        except ImportError:
            raise LayoutError(
                "pandas is not installed", "a table of rows is pandas's", "pip install pandas"
            ) from None
        return json_normalize(facts if chosen is None else facts[chosen])


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


class Displayed(Told):
    """A value with a text, whose ``repr`` is its first line and which notebooks show as text."""

    __slots__ = ()

    def __repr__(self) -> str:
        text = str(self).partition("\n")[0]
        return f"<{type(self).__name__}: {text if len(text) <= _REPR else f'{text[:_REPR]}…'}>"

    def _repr_html_(self) -> str:
        lines = str(self).splitlines()
        more = ["…"] if len(lines) > _LINES else []
        return f"<pre>{escape(chr(10).join([*lines[:_LINES], *more]))}</pre>"


def plain(value: object) -> Any:
    """Return a value as JSON writes it: null, booleans, numbers, strings, lists and objects.

    A class with ``json_keys`` gives an object of these keys. Otherwise a value that has a text of
    its own (``__str__``) gives this text: a layout, a SymPy expression. A dataclass or a named
    tuple without one gives an object of all its fields. A float that is not finite gives null.

    >>> from morello_layouts.tpu import waste
    >>> from morello_layouts.notations import parse
    >>> plain({"padding": waste(parse("f32[7]{0:T(8)}")).reasons, "shape": parse("f32[7]{0:T(8)}")})
    {'padding': [{'dimensions': [0], 'size': 7, 'padded': 8, 'text': 'minor dimension d0 of size 7 \
is padded to 8: tiles (8) have 8 elements'}], 'shape': 'f32[7]{0:T(8)}'}
    """
    kind = type(value)
    keys: Iterable[str] | None = getattr(kind, "json_keys", None)
    if keys is None and kind.__str__ is object.__str__:
        if is_dataclass(value):
            keys = ("*",)
        elif isinstance(value, tuple):
            keys = getattr(kind, "_fields", None)
    if keys is not None:
        return _object(value, keys)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value)


def _object(value: Any, keys: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in keys:
        if key == "*":
            found |= {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        elif key.startswith("*"):
            found |= plain(_attribute(value, key[1:])) or {}
        else:
            name, _, path = key.partition("=")
            found[name] = plain(_attribute(value, path or name))
    return found


def _attribute(value: Any, path: str) -> Any:
    """Return the attribute at a path such as ``metadata.name``; None behind a None."""
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value
