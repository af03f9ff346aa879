"""What an answer may be, read as a map from coordinates to offsets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Final

from morello_layouts.api import from_sympy, index_map
from morello_layouts.api.layouts import needs_shape
from morello_layouts.api.sizes import Shape
from morello_layouts.errors import LayoutError, ParseError, ShapeError
from morello_layouts.formula import FormulaMap, IndexMap
from morello_layouts.notation import parse, parse_expression

__all__ = ["Reader"]

_LONGEST: Final = 2000  # characters; what learners write has a few dozen
_TILES: Final = re.compile(r"(?=T|.*,)T?\s*(\(\s*[\d*]+(\s*,\s*[\d*]+)*\s*\)\s*)+")
_OUR_NAMES: Final = re.compile(r"\bd\d+\b")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads answers about one array.

    Attributes:
        shape: the sizes of the array, in elements; symbolic ones as names.
        names: how formulas call the coordinates; ``d0, d1, …`` where empty, and always besides.
        size: elements of the buffer, which a formula alone does not say.

    >>> print(Reader((3, 4), ("i", "j")).read("4*i + j"))
    (d0, d1) -> 4*d0 + d1
    """

    shape: Shape
    names: tuple[str, ...] = ()
    size: int | None = None

    def read(self, answer: Any) -> IndexMap | FormulaMap:
        """The map that an answer gives: text, a SymPy expression, a map, or a function.

        Raises:
            LayoutError: where it is none of these, or one of another array.
        """
        if isinstance(answer, str):
            return self._text(answer)
        if isinstance(answer, FormulaMap):
            return self._one_formula(answer)
        if _is_function(answer):
            answer = self._called(answer)
        if _is_formula(answer):
            return self._formula(answer)
        return self._layout(answer)

    def _text(self, text: str) -> IndexMap | FormulaMap:
        if len(text) > _LONGEST:
            raise LayoutError(
                f"the answer has {len(text):,} characters",
                f"an answer has {_LONGEST:,} at most",
                "a layout, or a formula of a few terms, will do",
            )
        if _TILES.fullmatch(text.strip()):
            raise self._tiles_alone(text.strip())
        return self._layout(text) if _is_layout(text) else self._formula(text)

    def _layout(self, layout: Any) -> IndexMap:
        given = index_map(layout, self.shape if needs_shape(layout) else None)
        self._require_same_array(given)
        return given

    def _formula(self, formula: Any) -> FormulaMap:
        # Formulas elsewhere are of d0, d1, …; an answer may be, whatever the question calls them.
        named = {"names": self.names} if self.names and not _is_ours(formula) else {}
        return self._one_formula(from_sympy({"shape": self.shape, **named}, formula))

    def _one_formula(self, given: FormulaMap) -> FormulaMap:
        """A formula's map, with the question's buffer where it says nothing of one."""
        self._require_same_array(given)
        if len(given.given) != 1:
            raise LayoutError(
                f"the answer has {len(given.given)} formulas",
                "each element has one number",
                "give one formula",
            )
        return given if given.buffer_size is not None else replace(given, buffer_size=self.size)

    def _require_same_array(self, given: IndexMap | FormulaMap) -> None:
        # As text: a layout whose packs divide M has the size 2*(M//2), which shows itself as M.
        here, asked = (",".join(map(str, shape)) for shape in (given.shape, self.shape))
        if here != asked:
            raise ShapeError(
                f"the answer is about an array of shape [{here}]",
                f"the array of the question has the shape [{asked}]",
                "leave the shape out, or give that one",
            )

    def _called(self, function: Callable[..., Any]) -> Any:
        """What a function gives for coordinates that are symbols, so for all at once."""
        symbols = from_sympy({"shape": self.shape}, "0").symbols
        names = ", ".join(self.names or map(str, symbols))
        try:
            signature(function).bind(*symbols)
        except TypeError:
            raise LayoutError(
                f"your function does not take {len(symbols)} coordinates",
                f"an element of the array has {names}",
                f"write it as: lambda {names}: …",
            ) from None
        except ValueError:
            pass  # a builtin that does not say what it takes
        try:
            return function(*symbols)
        except TypeError as error:
            raise LayoutError(
                f"your function does not take symbols: {error}",
                "it is called once, with a SymPy symbol for each coordinate, and gives a formula",
                "write it with + - * // % alone, without if, or give text",
            ) from None

    def _tiles_alone(self, tiles: str) -> LayoutError:
        order = ",".join(str(k) for k in reversed(range(len(self.shape))))
        return LayoutError(
            f"{tiles} are tiles alone",
            "a layout says in which order the dimensions lie, from fast to slow, before its tiles",
            f"write for example {{{order}:T{tiles.removeprefix('T').strip()}}}",
        )


def _is_function(answer: Any) -> bool:
    return callable(answer) and not isinstance(answer, type) and not isinstance(answer, IndexMap)


def _is_formula(answer: Any) -> bool:
    number = isinstance(answer, int) and not isinstance(answer, bool)
    return number or isinstance(answer, str | tuple) or hasattr(answer, "free_symbols")


def _is_ours(formula: Any) -> bool:
    """Whether a formula calls its coordinates d0, d1 and so on."""
    return _OUR_NAMES.search(str(formula)) is not None


def _is_layout(text: str) -> bool:
    """Whether a text is a layout rather than a formula; where it is neither, what it resembles."""
    if text.strip().isdecimal():
        return False  # Morello's short form of one dimension, but nobody means that here
    try:
        parse(text)
    except ParseError as layout:
        try:
            parse_expression(text, {})
        except ParseError as formula:
            return layout.position > formula.position
        return False
    return True
