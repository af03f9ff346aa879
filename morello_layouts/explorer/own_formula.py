"""A formula of the user's own where a second layout may be, to learn whether it is right."""

from __future__ import annotations

import re
from typing import Final

from morello_layouts import api
from morello_layouts.errors import ParseError
from morello_layouts.formula import FormulaMap, IndexMap

__all__ = ["formula_for", "is_formula"]

# Every layout has a bracket, but for names of orders such as NHWC.
_BRACKET: Final = re.compile(r"[\[{]")
_COORDINATE: Final = re.compile(r"\bd[0-9]", re.ASCII)
_SIGN: Final = re.compile(r"[-+*/%]")
_CHARACTERS: Final = re.compile(r"[\s(+-]*\w[\w\s()+*/%,-]*", re.ASCII)
_NAME: Final = re.compile(r"(?<![0-9A-Za-z_])[A-Za-z_]\w*", re.ASCII)
_FUNCTIONS: Final = {"floor", "ceil", "ceiling", "Mod"}


def is_formula(text: str) -> bool:
    """Whether a text means a formula rather than a layout; it may be a wrong one.

    >>> [is_formula(text) for text in ("5*d0 + d1", "d0 >> 3", "f32[d0]{0:T(2)}", "NHWC")]
    [True, True, False, False]
    """
    if _COORDINATE.search(text):
        return _BRACKET.search(text) is None
    return bool(_SIGN.search(text) and _CHARACTERS.fullmatch(text))


def formula_for(m: IndexMap, text: str) -> FormulaMap:
    """The map that a formula gives over the array of another map.

    Raises:
        ParseError: with a caret at what is wrong.

    >>> formula_for(api.index_map("f32[3,5]"), "5*d0 + d1")(2, 3)
    13
    """
    coordinates = [f"d{k}" for k in range(len(m.recipe.shape))]
    known = {*coordinates, *m.recipe.names, *_FUNCTIONS}
    for match in _NAME.finditer(text):
        if match[0] not in known:
            names = ", ".join(coordinates) or "none, since the array has no dimensions"
            sizes = f"; sizes are {', '.join(m.recipe.names)}" if m.recipe.names else ""
            raise ParseError(
                f"{match[0][:40]} is no coordinate",
                f"the coordinates are {names}{sizes}",
                "write the offset in these, for example 8*d0 + d1",
                text=text,
                position=match.start(),
            )
    return api.from_sympy({"shape": m.shape}, text)
