"""Names of formats: ``mx128x4``, ``COL32``, ``row-major``, in any case."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import takewhile
from typing import Final

from morello_layouts.checks import shown
from morello_layouts.errors import ParseError
from morello_layouts.notations.named.layout import FORMATS, NamedLayout
from morello_layouts.notations.strided.layout import MEMORY_FORMATS

_LONGEST: Final = 40


def _key(name: str) -> str:
    return name.lower().replace("_", "-")


_NAMES: Final = {_key(name): each.name for each in FORMATS for name in (each.name, *each.aliases)}


_KNOWN: Final = _NAMES | {_key(name): name for name in MEMORY_FORMATS}


def _nearest(key: str) -> list[str]:
    """Return the names that begin with a word, or the one that is nearest to it, if any."""
    begun = [name for name in _NAMES if len(key) > 2 and name.startswith(key)]
    return begun or get_close_matches(key, _KNOWN, 1, 0.75)


def _shared(one: str, other: str) -> int:
    """Return the length of the beginning that two words share."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def parse_named(text: str) -> NamedLayout:
    """Parse the name of a format."""
    word = text.strip()
    name = _NAMES.get(_key(word[:_LONGEST]))
    if name is not None and len(word) <= _LONGEST:
        return NamedLayout(name)
    key = "-".join(_key(word).split())
    near = _nearest(key) if len(word) <= _LONGEST else []
    is_typo = "-" in key and get_close_matches(key, near, 1, 0.85)
    start = len(text) - len(text.lstrip())
    raise ParseError(
        f"no format has the name {shown(word)}",
        f"named formats are {', '.join(each.name for each in FORMATS)}",
        f"the nearest name is {_KNOWN[near[0]]}" if near else "write for example mx128x4",
        text=text,
        position=start,
        reached=start + (len(word) if is_typo else _shared(near[0], key)) if near else -1,
    )
