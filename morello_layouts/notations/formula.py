"""Formulas of offsets: ``row, col -> 8*row + col``, ``8*i + j``, and SymPy expressions.

A formula alone does not say which name is which dimension. Only ``d0``, ``d1``, … and the letters
from ``i`` on (``i``, ``j``, ``k``, …) stand for dimensions in their order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from morello_layouts.core.expr import AffineExpr
from morello_layouts.core.expr.conversions import form_from_sympy
from morello_layouts.core.fields import frozen
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import FORMULA_TEXT
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.coordinates import FormulaLayout, OffsetLayout
from morello_layouts.notations.expression import parse_expression, parse_function

_RULE: Final = "only d0, d1, … and the letters from i on stand for dimensions without being named"
_NAMES: Final = regex(r"\s*(\(\s*)?[A-Za-z_]\w*(\s*,\s*[A-Za-z_]\w*)*+\s*(,\s*)?(\)\s*)?", re.ASCII)
_OPERATOR: Final = regex(r"[-+*/%]|\bfloor\b|\bceil\b|\bMod\b")
_WORD: Final = regex(r"\s*[A-Za-z]+(-[A-Za-z]+)+\s*")  # such as row-major
_TITLE: Final = "formula"


@frozen
class OffsetFormula(OffsetLayout):
    """The formula of an offset, whose dimensions have names: ``row, col -> 8*row + col``."""

    def __str__(self) -> str:
        return f"{', '.join(self.parameters)} -> {self.forms[0]}"


def parse_formula(text: str) -> FormulaLayout:
    """Parse a formula, with the names of its dimensions before ``->``, or without.

    >>> print(parse_formula("row, col -> 8*row + col"), "|", parse_formula("8*i + j"))
    row, col -> 8*row + col | i, j -> 8*i + j
    """
    names, arrow, _ = text.partition("->")
    if arrow:
        return _of_function(text, names)
    if len(text) > FORMULA_TEXT or not _OPERATOR.search(text) or _WORD.fullmatch(text):
        raise _not_one(text)
    form: AffineExpr | None = None
    try:
        form = parse_expression(text, {})
    except ParseError as error:
        error.reached = -1  # other readers know more
        if not _has_sizes(text):
            raise
    order = dict.fromkeys(re.findall(r"[A-Za-z_]\w*+(?!\s*\()", text, re.ASCII))
    try:
        return formula_layout(form, order, " ".join(text.split()))
    except LayoutError as error:
        found = ParseError(error.what, error.why, error.fix, text=text, position=0)
        found.reached = len(text)
        raise found from None


def _has_sizes(text: str) -> bool:
    """Return whether a text is a formula of i, j, … with sizes as factors, such as N*i + j."""
    names = {*re.findall(r"\b[i-p]\b", text)}
    try:
        parse_function(f"lambda {', '.join(sorted(names))}: {text}")
    except ParseError:
        return False
    return True


def _not_one(text: str) -> ParseError:
    found = ParseError(
        "expected a formula of coordinates",
        _RULE,
        "write for example i, j -> 8*i + j",
        text=text,
        position=0,
    )
    found.reached = -1
    return found


def _of_function(text: str, names: str) -> FormulaLayout:
    """Read ``names -> formulas`` as the function that it is, with carets in the text itself."""
    if not _NAMES.fullmatch(names):
        raise _not_one(text)
    head, cut = "lambda ", len(names)
    own = names.replace("(", " ").replace(")", " ")
    try:
        parameters, forms = parse_function(f"{head}{own}:{text[cut + 2 :]}")
    except ParseError as error:
        at = error.position - len(head)
        at += at > cut  # the arrow is one longer than the colon
        found = ParseError(
            error.what,
            "the names before -> are the dimensions; after it comes the offset in elements",
            error.fix if "lambda" not in error.fix else "write for example i, j -> 8*i + j",
            text=text,
            position=at,
        )
        has_formula = _OPERATOR.search(text[cut + 2 :]) or "," not in text[cut:]
        found.reached = at if "," in names and has_formula else -1
        raise found from None
    if len(forms) == 1:
        return OffsetFormula(parameters, forms, title=_TITLE)
    own = f"{', '.join(parameters)} -> ({', '.join(map(str, forms))})"
    return FormulaLayout(parameters, forms, own, title=_TITLE)


def formula_layout(form: AffineExpr | None, names: Iterable[str], text: str) -> OffsetFormula:
    """Return the layout of the formula of an offset, whose names say which dimension is which.

    Args:
        form: the offset; None if its text has names of sizes, too.
        names: the names in it, in the order of the text.
        text: the formula, for errors.

    Raises:
        LayoutError: if the names do not tell the order of the dimensions.
    """
    found = tuple(names)
    for run in ([f"d{k}" for k in range(len(found))], "ijklmnop"[: len(found)]):
        if form is not None and found and {*found} == {*run}:
            return OffsetFormula(tuple(run), (form,), title=_TITLE)
    shown = text if len(text) <= 60 else "…"
    if form is None:
        found = tuple(name for name in found if re.fullmatch("[i-p]", name))
    raise LayoutError(
        f"the formula {shown} does not say which dimension is which"
        if found
        else f"{shown} has no coordinates",
        _RULE,
        f"name them in their order: {', '.join(found or ('i', 'j'))} -> {shown}",
    )


def layout_of_sympy(expr: Any) -> OffsetFormula:
    """Return the layout of a SymPy expression; as :func:`formula_layout`."""
    names = sorted(str(symbol) for symbol in expr.free_symbols)
    return formula_layout(form_from_sympy(expr, {}), names, str(expr))
