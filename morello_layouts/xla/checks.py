"""Checks of what callers give to the constructors: integers, sequences, element types."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from morello_layouts.errors import LayoutError

__all__ = ["LARGEST", "Part", "elements", "instance", "integer", "shown"]

LARGEST: Final = 2**63 - 1
"""XLA's numbers are signed 64-bit integers."""

Part: TypeAlias = tuple[str | int, ...]


def integer(value: object, least: int, name: str, part: Part, fix: str = "") -> int:
    """An integer of any integer type (NumPy's too, bool not), from ``least`` to 2^63 - 1.

    Raises:
        LayoutError: where it is anything else; ``name`` says which field is wrong.

    >>> integer(True, 0, "memory_space", ())
    Traceback (most recent call last):
    morello_layouts.errors.LayoutError: memory_space is True
    it is an integer
    give an int from 0
    """
    fix = fix or f"give an int from {least}"
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise LayoutError(f"{name} is {shown(value)}", "it is an integer", fix, part=part)
    if not least <= number <= LARGEST:
        why = f"it is at least {least}" if number < least else "numbers here have 64 bits"
        raise LayoutError(f"{name} is {shown(number)}", why, fix, part=part)
    return number


def elements(value: Any, name: str, fix: str, part: Part) -> tuple[Any, ...]:
    """What a list, tuple or array holds.

    Raises:
        LayoutError: where the value is text, or has no elements to iterate over.
    """
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        try:
            return tuple(value)
        except TypeError:  # a NumPy array of no dimensions says that it is iterable
            pass
    raise LayoutError(f"{name} is {shown(value)}", "it is a tuple or list", fix, part=part)


def instance(value: object, kind: type | tuple[type, ...], name: str, fix: str) -> None:
    """Raise a LayoutError where a value is of another type than it must be."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        words = " or ".join(k.__name__ for k in kinds)
        raise LayoutError(f"{name} is {shown(value)}", f"it is of type {words}", fix)


def shown(value: object) -> str:
    """A value in an error: its repr, on one line and cut where it is long.

    >>> shown(-1), shown(2**63)
    ('-1', 'larger than 2^63 - 1')
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "larger than 2^63 - 1" if value > 0 else "below -2^63"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"
