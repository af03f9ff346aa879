"""Formulas of offsets as layouts: texts, SymPy expressions, and Python functions.

Functions are called once, with symbolic coordinates. In a text such as ``8*i + j`` only ``d0``,
``d1``, … and the letters from ``i`` on (``i``, ``j``, ``k``, …) stand for dimensions in their
order; in ``row, col -> 8*row + col`` the names have their places.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import partial
from typing import Any, Final, NoReturn, TypeGuard

from morello_layouts.core.checks import shown, whole
from morello_layouts.core.description import listed
from morello_layouts.core.expr import AffineExpr, conversions, variable
from morello_layouts.core.expr.affine import xor
from morello_layouts.core.expr.bitwise import bits_of, either, shift_left, shift_right
from morello_layouts.core.expr.sizes import Int, SizeExpr
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import FORMULA_TEXT
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.coordinates import FormulaLayout, OffsetLayout
from morello_layouts.notations.expression import parse_expression, parse_function

_RULE: Final = "a function of coordinates computes with + - * // % << >> & ^ | and integers only"
_DIMENSION_NAMES: Final = (
    "only d0, d1, … and the letters from i on stand for dimensions without being named"
)
_NAMES: Final = regex(r"\s*(\(\s*)?[A-Za-z_]\w*(\s*,\s*[A-Za-z_]\w*)*+\s*(,\s*)?(\)\s*)?", re.ASCII)
_OPERATOR: Final = regex(r"[-+*/%]|\bfloor\b|\bceil\b|\bMod\b")
_WORD: Final = regex(r"\s*[A-Za-z]+(-[A-Za-z]+)+\s*")  # such as row-major
_TITLE: Final = "formula"


def is_function(value: object) -> TypeGuard[Callable[..., Any]]:
    """Return whether a value is a function, and not a layout or a map that can be called."""
    return inspect.isroutine(value) or isinstance(value, partial)


def layout_of_function(function: Callable[..., Any]) -> FormulaLayout:
    """Return the layout of a function from coordinates to an offset, or to several coordinates.

    The function is called once, with a symbolic coordinate for each parameter without a default.
    One result is the offset in elements, and the buffer ends at the largest; a tuple or list is the
    coordinate in a row-major box.

    >>> print(layout_of_function(lambda i, j: 16 * i + (j & 7)))
    lambda i, j: 16*i + j%8
    >>> layout_of_function(lambda i, j: i if i < j else j)
    Traceback (most recent call last):
    morello_layouts.errors.LayoutError: <lambda>: i < j has no answer, for i and j are any \
coordinates
    a function of coordinates computes with + - * // % << >> & ^ | and integers only
    write one formula for all coordinates, with // and %
    """
    name = getattr(function, "__name__", "the function")
    parameters = _parameters(function, name)
    try:
        result = function(*(Coordinate(variable(each)) for each in parameters))
    except LayoutError as error:
        raise LayoutError(f"{name}: {error.what}", error.why, error.fix) from None
    except Exception as error:
        what = f"{name}: {type(error).__name__}: {error}"
        fix = "let it take and return formulas of its parameters"
        raise LayoutError(what, _RULE, fix) from error
    several = isinstance(result, tuple | list)
    forms = tuple(_form(each, name) for each in (result if several else (result,)))
    kind = FormulaLayout if several else OffsetLayout
    return kind(parameters, forms, title="Python function")


@frozen
class CalledFunction(Layout):
    """A function without a formula, such as one that looks into a table: it is only called.

    Its offsets are those that it gives at a shape of numbers; ``recover`` finds their layout.
    """

    function: Callable[..., Any]
    error: LayoutError = field(compare=False)  #: why it has no formula.

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters; none if they are not known."""
        try:
            return _parameters(self.function, "")
        except LayoutError:
            return ()

    def recipe(self, shape: Sequence[Int], /) -> NoReturn:
        raise self.error

    def reference(self, coordinates: Sequence[AffineExpr], shape: Sequence[Int], /) -> NoReturn:
        raise self.error

    def __str__(self) -> str:
        return getattr(self.function, "__name__", "a function")


def called_or_formula(function: Callable[..., Any]) -> FormulaLayout | CalledFunction:
    """Return the layout of a function, though it has no formula.

    >>> called_or_formula(lambda i: [0, 2, 1][i]).error.what
    '<lambda>: i has no value yet: it is any coordinate'
    """
    try:
        return layout_of_function(function)
    except LayoutError as error:
        return CalledFunction(function, error)


def _parameters(function: Callable[..., Any], name: str) -> tuple[str, ...]:
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        given = None
    needed = [each for each in given or () if each.default is inspect.Parameter.empty]
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if given is None or any(each.kind not in plain for each in needed):
        raise LayoutError(
            f"{name}: expected a parameter for each coordinate, got {shown(function)}",
            "the parameters without defaults are the coordinates",
            "write them out, as in lambda i, j: 16*i + j",
        )
    return tuple(each.name for each in needed)


def _form(value: Any, name: str) -> AffineExpr:
    form = _operand(value)
    if form is None:
        raise LayoutError(
            f"{name}: expected an offset or a tuple of coordinates, got {shown(value)}",
            _RULE,
            "return a formula of the parameters, or a tuple of them",
        )
    return form


def _operand(value: Any) -> AffineExpr | None:
    """Return a coordinate, an integer or a size as a form; None for other values."""
    if isinstance(value, Coordinate):
        return value.form
    number: Int | None = whole(value)
    if isinstance(value, SizeExpr):
        number = value
    elif number is None and hasattr(value, "free_symbols"):
        number = conversions.number_from_sympy(value)
    return None if number is None else AffineExpr((), number)


def _binary(sign: str, operation: Callable[[AffineExpr, AffineExpr], AffineExpr]) -> Any:
    """Return the methods of an operator, from the left and from the right."""

    def apply(left: Any, right: Any, /) -> Coordinate:
        forms = _operand(left), _operand(right)
        if forms[0] is None or forms[1] is None:
            what = f"{_shown(left)} {sign} {_shown(right)} is not an integer"
            raise LayoutError(what, _RULE, "compute with integers")
        return Coordinate(operation(forms[0], forms[1]))

    return apply, lambda right, left: apply(left, right)


def _shown(value: Any) -> str:
    return str(value.form) if isinstance(value, Coordinate) else shown(value)


def _product(left: AffineExpr, right: AffineExpr) -> AffineExpr:
    if left.terms and right.terms:
        what = f"({left}) * ({right}) is a product of two coordinates"
        raise LayoutError(what, _RULE, "multiply by an integer or a size")
    return left * right.const if left.terms else right * left.const


def _by(operation: Callable[[AffineExpr, Int], AffineExpr]) -> Any:
    def apply(left: AffineExpr, right: AffineExpr) -> AffineExpr:
        if right.terms:
            what = f"({left}) divided by ({right})"
            raise LayoutError(what, _RULE, "divide by an integer or a size")
        return operation(left, right.const)

    return apply


def _unknown(sign: str) -> Any:
    def compare(left: Any, right: Any, /) -> NoReturn:
        names = sorted({v.name for x in (left, right) if isinstance(x, Coordinate)
                        for v in x.form.variables()})  # fmt: skip
        are = "are any coordinates" if len(names) > 1 else "is any coordinate"
        raise LayoutError(
            f"{_shown(left)} {sign} {_shown(right)} has no answer, for {listed(names)} {are}",
            _RULE,
            "write one formula for all coordinates, with // and %",
        )

    return compare


class Coordinate:
    """A symbolic coordinate, or a formula of some, as a function of coordinates computes with it.

    >>> i = Coordinate(variable("i"))
    >>> print((16 * i + 5 >> 2).form, ((i % 8) << 1).form)
    (16*i + 5)//4 2*(i%8)
    """

    __slots__ = ("form",)
    __array_ufunc__ = None  # NumPy's integers leave operators to this class
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, form: AffineExpr) -> None:
        self.form = form

    __add__, __radd__ = _binary("+", lambda a, b: a + b)
    __sub__, __rsub__ = _binary("-", lambda a, b: a - b)
    __mul__, __rmul__ = _binary("*", _product)
    __floordiv__, __rfloordiv__ = _binary("//", _by(conversions.divide))
    __mod__, __rmod__ = _binary("%", _by(conversions.remainder))
    __and__, __rand__ = _binary("&", bits_of)
    __or__, __ror__ = _binary("|", either)
    __xor__, __rxor__ = _binary("^", xor)
    __lshift__, __rlshift__ = _binary("<<", shift_left)
    __rshift__, __rrshift__ = _binary(">>", shift_right)
    __lt__, __le__, __gt__, __ge__ = (_unknown(sign) for sign in ("<", "<=", ">", ">="))
    __eq__, __ne__ = _unknown("=="), _unknown("!=")

    def __invert__(self) -> Coordinate:
        return Coordinate(-self.form - 1)

    def __neg__(self) -> Coordinate:
        return Coordinate(-self.form)

    def __pos__(self) -> Coordinate:
        return self

    def __divmod__(self, other: Any) -> tuple[Coordinate, Coordinate]:
        return self // other, self % other

    def __truediv__(self, other: Any) -> NoReturn:
        what = f"{_shown(self)} / {_shown(other)} is not always an integer"
        raise LayoutError(what, _RULE, "write //, which rounds down")

    __rtruediv__ = __truediv__

    def _no_number(self) -> NoReturn:
        what = f"{self.form} has no value yet: it is any coordinate"
        raise LayoutError(what, _RULE, "write one formula for all coordinates, with // and %")

    # Neither __float__ nor __int__: SymPy would call them instead of the operators here.
    __bool__ = __index__ = _no_number


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
        _DIMENSION_NAMES,
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
        _DIMENSION_NAMES,
        f"name them in their order: {', '.join(found or ('i', 'j'))} -> {shown}",
    )


def layout_of_sympy(expr: Any) -> OffsetFormula:
    """Return the layout of a SymPy expression; as :func:`formula_layout`."""
    names = sorted(str(symbol) for symbol in expr.free_symbols)
    return formula_layout(conversions.form_from_sympy(expr, {}), names, str(expr))
