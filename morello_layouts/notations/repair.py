"""The text that somebody meant: one that is read, and differs by a slip from one that is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from morello_layouts.core.limits import REPAIRED_TEXT, REPAIRS

_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_SIGNS: Final = ")]}>,:({[<-"
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_CROSS: Final = re.compile(r"(?<=\d)\s*[x×]\s*(?=\d)")
_GAP: Final = re.compile(r"(?<=[\d)])\s+(?=\d)")
_SPACE: Final = re.compile(r"(?<!\s)\s++,\s*")
_WORDS: Final = (
    *("devices", "replicated", "maximal", "mesh", "register", "lane", "warp", "block", "offset"),
    *("bf16", "f32", "memref", "affine_map", "strided", "lambda", "floordiv", "blocked", "order"),
    *("sizePerThread", "threadsPerWarp", "warpsPerCTA", "inner_dims_pos", "inner_tiles"),
    *("outer_dims_perm", "channels_last", "contiguous_format"),
)
"""Words that notations begin with or hold in braces."""


def repaired(text: str, position: int, is_read: Callable[[str], bool]) -> str | None:
    """Return a text that is read, a slip away from one that is not; None if there is none near.

    Args:
        text: the text that was refused.
        position: where its error has the caret.
        is_read: whether a text is read.

    >>> from morello_layouts import LayoutError
    >>> from morello_layouts.notations import parse_morello
    >>> def is_read(text):
    ...     try:
    ...         return bool(parse_morello(text))
    ...     except LayoutError:
    ...         return False
    >>> repaired("[1, 0, 1 p(4]", 12, is_read)
    '[1, 0, 1 p(4)]'
    """
    if not text.strip() or len(text) > REPAIRED_TEXT:
        return None
    tried = {text}
    for candidate in (_SPACE.sub(", ", each) for each in _candidates(text, position)):
        if candidate not in tried:
            tried.add(candidate)
            if len(tried) > REPAIRS:
                return None
            if is_read(candidate):
                return candidate
    return None


def _candidates(text: str, at: int) -> Iterator[str]:
    """Yield texts that differ by what people mistype, the likeliest first."""
    yield text[:at] + _closing(text[:at]) if at == len(text) else text
    yield from _whole(text)
    yield from _words(text)
    before, here, after = text[:at], text[at : at + 1], text[at + 1 :]
    yield before + _closing(before)[:1] + here + after
    yield before + here.swapcase() + after
    yield before + re.sub(r"^(\d+)", r"(\1)", here + after)
    yield from _other_brackets(text, at)
    for sign in (*_SIGNS, *(_letters(text) if before[-1:].isdigit() and not here else "")):
        yield before + sign + here + after
    if here and not here.isalnum():
        yield before + after
        for sign in _SIGNS:
            yield before + sign + after


def _letters(text: str) -> list[str]:
    """Return a text's letters; first channels or the second dimension, which come in blocks."""
    return sorted({x for x in text.lower() if "a" <= x <= "z"}, key=lambda x: (x not in "cb", x))


def _closing(text: str) -> str:
    """Return the brackets that a text leaves open, closed."""
    opened: list[str] = []
    for sign in text.replace("->", "  ").replace("<=", "  "):
        if sign in _PAIRS:
            opened.append(_PAIRS[sign])
        elif opened and sign == opened[-1]:
            opened.pop()
    return "".join(reversed(opened))


def _whole(text: str) -> Iterator[str]:
    """Yield the text with a sign of another notation in place of its own, or what is around it."""
    for wrong, right in (("=>", "->"), ("->", ":"), (";", ","), ("×", "x"), (" over ", " ")):
        yield text.replace(wrong, right)
    yield _CROSS.sub(",", text)
    yield _GAP.sub(", ", text)
    if "->" in text:
        yield re.sub(r"\b[A-Za-z]{2,6}\b", lambda word: " ".join(word[0].lower()), text)
    if text[0] in "Tt(":
        yield f"{{1,0:{text}}}"
    if text[0] == "[":
        yield f"f32{text}"
    sizes, colon, strides = text.partition(":")
    if colon:
        yield f"({sizes}):({strides})"


def _words(text: str) -> Iterator[str]:
    """Yield the text with a known word in place of one that resembles it."""
    from difflib import get_close_matches

    for word in _WORD.finditer(text):
        for near in get_close_matches(word[0], _WORDS, 1, 0.7) if len(word[0]) > 2 else ():
            yield text[: word.start()] + near + text[word.end() :]


def _other_brackets(text: str, at: int) -> Iterable[str]:
    """Yield the text with other brackets in place of the pair that opens at a place."""
    if text[at : at + 1] not in ("(", "["):
        return
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] in "([{") - (text[end] in ")]}")
        if depth == 0:
            for left, right in _PAIRS.items():
                yield text[:at] + left + text[at + 1 : end] + right + text[end + 1 :]
            return
