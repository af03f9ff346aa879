"""Formulas as MathML, which browsers typeset without a script: from the LaTeX that forms print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from morello_layouts.core.lazy import escape, regex
from morello_layouts.core.limits import TYPESET

_TOKEN: Final = regex(r"\\[A-Za-z]+|[A-Za-z](?:[A-Za-z0-9]|\\_)*|\d+|\s+|.", re.DOTALL)
_SIGNS: Final = {
    r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lceil": "⌈", r"\rceil": "⌉", r"\bmod": "mod",
    r"\oplus": "⊕", r"\mapsto": "↦", "-": "−",
}  # fmt: skip
_SCRIPTS: Final = {"_": "msub", "^": "msup"}


def mathml(latex: str) -> str:
    """Return a formula as a ``<math>`` element; as code if it is very long.

    >>> mathml("2 x + 1")
    '<math display="block"><mn>2</mn><mspace width="0.17em"/><mi>x</mi><mo>+</mo><mn>1</mn></math>'
    """
    text = latex.strip().strip("$").strip()
    if len(text) > TYPESET:
        return f"<code>{escape(text)}</code>"
    tokens = (match[0] for match in _TOKEN.finditer(text))
    return f'<math display="block">{"".join(_row(tokens))}</math>'


def _row(tokens: Iterator[str]) -> list[str]:
    """Return the elements up to a closing brace or bracket, or to the end."""
    found: list[str] = []
    gap = False
    for token in tokens:
        if token in ("}", r"\right"):
            break
        if token.isspace():
            gap = True
        elif token in _SCRIPTS:
            found.append(f"<{_SCRIPTS[token]}>{found.pop()}{_group(tokens)}</{_SCRIPTS[token]}>")
        else:
            element = _element(token, tokens)
            if gap and found and not any("<mo>" in each[:4] for each in (element, found[-1])):
                found.append('<mspace width="0.17em"/>')  # a product
            found.append(element)
            gap = False
    return found


def _group(tokens: Iterator[str]) -> str:
    next(tokens, None)  # the opening brace
    return f"<mrow>{''.join(_row(tokens))}</mrow>"


def _element(token: str, tokens: Iterator[str]) -> str:
    if token == r"\frac":
        return f"<mfrac>{_group(tokens)}{_group(tokens)}</mfrac>"
    if token == r"\left":
        opening, inside = _element(next(tokens), tokens), "".join(_row(tokens))
        return f"<mrow>{opening}{inside}{_element(next(tokens), tokens)}</mrow>"
    if token[0].isdecimal():
        return f"<mn>{token}</mn>"
    if token[0].isalpha():
        return f"<mi>{token.replace(chr(92), '')}</mi>"
    return f"<mo>{escape(_SIGNS.get(token, token))}</mo>"
