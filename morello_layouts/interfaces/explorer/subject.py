"""The questions that the explorer takes, and their subject: a layout, or a formula."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from math import prod
from typing import Any, Final

from morello_layouts import notations
from morello_layouts.core.expr import standard
from morello_layouts.core.expr.assumptions import meet_all
from morello_layouts.core.fields import frozen
from morello_layouts.core.layout import Layout
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import EXPLORER_ARRAYS, EXPLORER_TEXT
from morello_layouts.core.maps import AffineMap, IndexMap
from morello_layouts.errors import LayoutError, ParseError, ShapeError
from morello_layouts.interfaces.api.formulas import from_sympy
from morello_layouts.interfaces.api.layouts import Shape, assumptions_of, index_map, subject
from morello_layouts.interfaces.explanations.report import ArrayReport, instruction_in, report_of
from morello_layouts.interfaces.explanations.rows import Labelled, instruction_rows
from morello_layouts.notations.expression import values_by_name


class FieldError(Exception):
    """An error in one field of the question."""

    def __init__(self, field: str, error: LayoutError) -> None:
        super().__init__(field, error)
        self.field, self.error = field, error


@frozen
class Question:
    """The texts in the page's fields. Every field but the layout may be empty."""

    layout: str  #: a layout in any notation, or an HLO instruction.
    shape: str = ""  #: the sizes of a layout that carries none: ``6x8``, ``M,N``.
    assuming: str = ""  #: assumptions about symbolic sizes: ``8 | M``.
    at: str = ""  #: sizes at which to draw a layout of symbolic sizes: ``M=16, N=256``.
    other: str = ""  #: layouts to compare with, or formulas over d0, d1, …, a line each.
    array: str = ""  #: the position of an array in a tuple, from 0.
    #: what a warp reads or writes, if the layout is of shared memory: ``column``.
    access: str = ""
    #: what a colour of the picture stands for; the usual if the layout does not have it.
    colour: str = ""
    slice: str = ""  #: the number of the first slice in the picture, from 0.
    #: the room for the picture's memory strip, in pixels; that of a desk if empty.
    width: str = ""

    @staticmethod
    def of(values: Mapping[str, str]) -> Question:
        """Return the question with these fields.

        >>> Question.of({"layout": "f32[3,5]", "other": "{0,1}"}).other
        '{0,1}'
        """
        names = [field.name for field in fields(Question)]
        for name, value in values.items():
            if name not in names:
                what = f"a question does not have a field {name[:40]!r}"
                raise FieldError(
                    "layout",
                    LayoutError(what, f"its fields are {', '.join(names)}", "leave it out"),
                )
            if len(value) > EXPLORER_TEXT:
                what = f"the text is too long: {len(value):,} characters"
                raise FieldError(
                    name,
                    LayoutError(
                        what,
                        f"a field holds at most {EXPLORER_TEXT:,}",
                        "ask about one array at a time; the command takes longer text",
                    ),
                )
        return Question(**{"layout": "", **values})

    def filled(self) -> dict[str, str]:
        """Return the fields that are not empty, by name."""
        texts = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: text for name, text in texts.items() if text}

    @property
    def others(self) -> list[str]:
        return [line for line in self.other.splitlines() if line.strip()]

    @property
    def position(self) -> int:
        """The position in a tuple of the array that the question is about."""
        return self._number("array", "arrays count from 0") or 0

    @property
    def first_slice(self) -> int:
        return self._number("slice", "slices count from 0") or 0

    @property
    def room(self) -> int:
        """The width of the memory strip."""
        return max(self._number("width", "pixels are counted") or 760, 100)

    def _number(self, name: str, why: str) -> int | None:
        text = getattr(self, name).strip()
        if text and not re.fullmatch(r"[0-9]{1,6}", text):
            what = f"{name}: expected a number, got {text[:40]!r}"
            raise FieldError(name, LayoutError(what, why, "write 0"))
        return int(text) if text else None


def error_dict(wrong: FieldError) -> dict[str, Any]:
    """Return an error as the page shows it; ``pointer`` is the wrong line with a caret below it."""
    error = wrong.error
    at = error if isinstance(error, ParseError) else None
    return {
        "field": wrong.field,
        "what": error.what,
        "why": error.why,
        "fix": error.fix,
        "pointer": None if at is None else at.pointer(),
        "position": None if at is None else at.position,
    }


sizes_at: Final = values_by_name(
    "0*[1-9][0-9]{0,18}", int, "a name and its size",
    "a picture needs a number of at least 1 for each name", "M=16, N=256",
)  # fmt: skip


# An index map, and names such as row-major.
_NO_FORMULA: Final = regex(r"\s*(lambda\b|[A-Za-z]+(-[A-Za-z]+)+\s*\Z)")
# Every layout has a bracket, except names of orders such as NHWC.
_BRACKET: Final = regex(r"[\[{<]")
_COORDINATE: Final = regex(r"\bd[0-9]", re.ASCII)
_SIGN: Final = regex(r"[-+*/%]")
_CHARACTERS: Final = regex(r"[\s(+-]*\w[\w\s()+*/%,-]*", re.ASCII)
_NAME: Final = regex(r"(?<![0-9A-Za-z_])[A-Za-z_]\w*", re.ASCII)
_FUNCTIONS: Final = {"floor", "ceil", "ceiling", "Mod"}


def is_formula(text: str) -> bool:
    """Return True if a text is meant as a formula, right or wrong, rather than as a layout.

    >>> [is_formula(text) for text in ("5*d0 + d1", "f32[d0]{0:T(2)}", "row-major")]
    [True, False, False]
    """
    if _NO_FORMULA.match(text):
        return False
    if _COORDINATE.search(text):
        return _BRACKET.search(text) is None
    return bool(_SIGN.search(text) and _CHARACTERS.fullmatch(text))


def formula_for(m: IndexMap, text: str) -> AffineMap:
    """Return the map of a formula, over the array of another map.

    >>> formula_for(index_map("f32[3,5]"), "5*d0 + d1")(2, 3)
    13
    """
    plain = standard(len(m.recipe.shape))
    coordinates = plain if _COORDINATE.search(text) else m.coordinate_names
    known = {*coordinates, *m.recipe.names, *_FUNCTIONS}
    for match in _NAME.finditer(text):
        if match[0] not in known:
            names = ", ".join(coordinates) or "none, since the array has no dimensions"
            sizes = f"; sizes are {', '.join(m.recipe.names)}" if m.recipe.names else ""
            raise ParseError(
                f"{match[0][:40]} is not a coordinate",
                f"the coordinates are {names}{sizes}",
                f"write the offset in these, for example 8*{' + '.join(coordinates) or 0}",
                text=text,
                position=match.start(),
            )
    return from_sympy({"shape": m.shape, "names": coordinates}, text)


_QUOTED: Final = regex(r"\s*([\"'`])(.*)\1[\s,;]*", re.DOTALL)
_SEPARATOR: Final = regex(r"(?<=[\]})])[ \t]*[,;]\s*$")
# In an out-of-memory message the shape is one of several fields; the page joins their lines.
_FIELDS: Final = r"Size|Operator|Shape|Unpadded size|Extra memory|XLA label|Allocation type|===="
_SHAPE: Final = regex(
    rf"[^=]*?\b(?:Shape|XLA label):\s*+(.*?)\s*(?:\b(?:{_FIELDS})\b.*)?", re.DOTALL
)
_MESSAGE: Final = regex(rf"\s*(?:[0-9]+\.\s*)?(?:{_FIELDS})\b[\w ]*:")
_OPERATOR: Final = regex(r'Operator:\s*(?:op_name="[^"]*")?')


def without_wrapping(text: str) -> str:
    """Return the layout or instruction in a text that was copied with its surroundings.

    >>> without_wrapping("Shape: f32[2,128]{1,0:T(8,128)} Unpadded size: 1.0K")
    'f32[2,128]{1,0:T(8,128)}'
    >>> [without_wrapping(text) for text in ("'f32[3,5]',", "f32[3,5]{1,0},", "f32[3,")]
    ['f32[3,5]', 'f32[3,5]{1,0}', 'f32[3,']
    """
    if quoted := _QUOTED.fullmatch(text):
        text = quoted[2]
    if _MESSAGE.match(text):
        found = _SHAPE.fullmatch(_OPERATOR.sub("", text))
        text = text if found is None else found[1]
    return _SEPARATOR.sub("", text)


# Default numbers for symbolic sizes in pictures: the first for which the buffer is not mostly
# padding, changed to meet the assumptions.
_TRIED: Final = (10, 20, 40, 100, 200, 400)


@frozen
class Shown:
    """The layout that a question is about."""

    source: str  #: the whole text, as it is printed.
    instruction: tuple[Labelled, ...]  #: rows about the HLO instruction whose result this is.
    #: every array of a tuple with its place in the tuple; otherwise one array.
    arrays: tuple[tuple[str, str], ...]
    position: int  #: the position of the layout among them.
    #: the sizes from the page's field, or those of the other layout; None if there are none, or the
    #: text carries its own.
    shape: Shape | None
    carries_sizes: bool  #: whether the text carries the sizes.
    is_symbolic: bool  #: whether a size is symbolic.
    report: ArrayReport  #: the report on the layout.


@contextmanager
def in_field(field: str) -> Iterator[None]:
    """Name the field of the page to which the errors inside belong."""
    try:
        yield
    except LayoutError as error:
        raise FieldError(field, error) from None


def subject_of(question: Question) -> Shown:
    """Return the layout that a question is about, with its report.

    >>> subject_of(Question("[1, 0, 1 p(4)]", shape="6x8")).report.sizes.elements
    48
    """
    with in_field("layout"):
        if is_formula(question.layout):
            raise ParseError(
                "expected a layout, got a formula",
                "a formula is compared with a layout, since it does not carry the array's shape",
                "write the layout here, and the formula in the field Compare with",
                text=question.layout,
                position=0,
            )
        text = without_wrapping(question.layout)
        instruction = instruction_in(text)
        value = notations.parse(text if instruction is None else str(instruction.shape))
        arrays = [("".join(f"[{k}]" for k in path), x) for path, x in value.arrays()]
        if not arrays:
            raise LayoutError(f"{value} is a tuple without arrays", "it holds no data", "add one")
    position = min(question.position, len(arrays) - 1)
    array = arrays[position][1]
    carries_sizes = array.sizes is not None
    shape = None if carries_sizes else _shape(question)
    sizes = array.sizes or shape or ()
    is_symbolic = not all(isinstance(n, int | None) for n in sizes)
    return Shown(
        str(value),
        () if instruction is None else tuple(instruction_rows(instruction)),
        tuple((place, str(one)) for place, one in arrays[:EXPLORER_ARRAYS]),
        position,
        shape,
        carries_sizes,
        is_symbolic,
        _report(array, shape, question.assuming if is_symbolic else ""),
    )


def _shape(question: Question) -> Shape | None:
    """Return the sizes from the page's field, or those of the layout to compare with."""
    if not question.shape.strip():
        shapes = (_shape_of_other(other) for other in question.others)
        return next((shape for shape in shapes if shape is not None), None)
    with in_field("shape"):
        return notations.parse_shape(question.shape)


def _shape_of_other(other: str) -> Shape | None:
    """Return the shape of the layout to compare with, if its text carries one."""
    try:
        return index_map(other).recipe.shape
    except LayoutError:
        return None  # it carries none; or else the comparison reports the error


def _report(array: Layout, shape: Shape | None, assuming: str) -> ArrayReport:
    with in_field("assuming"):
        known = assumptions_of(assuming) if assuming.strip() else ()
    try:
        report = report_of(subject(array, shape, assuming=assuming if known else None), prove=False)
    except LayoutError as error:
        if not known:
            raise FieldError("layout" if shape is None else "shape", error) from None
        _report(array, shape, "")  # raises if the error is not in the assumptions
        raise FieldError("assuming", error) from None
    return report


def at_numbers(maps: Sequence[IndexMap], at: str) -> tuple[list[IndexMap], dict[str, int]]:
    """Return index maps at numbers for their symbolic sizes, and these numbers.

    Numbers from the page's field come first; for other sizes numbers are chosen.

    >>> m = index_map("f32[M,N]{1,0:T(8,128)}", assuming="16 | M")
    >>> at_numbers([m], "N=200")[1]
    {'M': 16, 'N': 200}
    """
    with in_field("at"):
        typed = sizes_at(at) if at.strip() else {}
        names = sorted({name for m in maps for name in m.recipe.names})
        unknown = next((name for name in typed if name not in names), None)
        if unknown is not None:
            raise ShapeError(
                f"{unknown[:40]} is not a symbolic size",
                f"the symbolic sizes are {', '.join(names) or 'none'}",
                "give numbers for these",
            )
        for n in (*_TRIED, _TRIED[0]):
            numbers = {name: _allowed(maps, name, n) for name in names} | typed
            found = [_at(m, numbers) for m in maps]
            if all(m.size <= 2 * prod(m.shape) for m in found):
                break
        return found, numbers


def _at(m: IndexMap, sizes: dict[str, int]) -> IndexMap:
    return m.at(**{name: sizes[name] for name in m.recipe.names}) if m.recipe.names else m


def _allowed(maps: Sequence[IndexMap], name: str, n: int) -> int:
    """Return a number from n on that meets the assumptions about a name; below n if it must."""
    for one in meet_all([one for m in maps for one in m.assumptions]):
        if one.name == name:
            n = -(-max(n, one.lo) // one.divisor) * one.divisor
            if one.hi is not None and n > one.hi:
                n = one.hi // one.divisor * one.divisor
    return n
