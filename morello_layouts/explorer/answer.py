"""The answer to a question as plain values: what the page shows, and nothing about HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from morello_layouts import api
from morello_layouts.codegen import TARGETS
from morello_layouts.errors import LayoutError
from morello_layouts.explorer.comparison import Comparison, compared
from morello_layouts.explorer.question import FieldError, Question, error_dict
from morello_layouts.explorer.subject import Subject, numbers_for, subject_of
from morello_layouts.formula import IndexMap
from morello_layouts.picture import Picture
from morello_layouts.picture.page import page_data, page_parts
from morello_layouts.report.derivations import derivation_steps
from morello_layouts.report.rows import (
    Row,
    place_rows,
    proof_rows,
    size_rows,
    tpu_rows,
    word_rows,
)

__all__ = ["answer"]

# What a browser draws at once, and a person takes in.
_ONE_SLICE: Final = (20, 26)  # rows and columns
_EACH_SLICE: Final = (12, 18)
_SLICES: Final = 2
_SLOTS: Final = 128

_EXPRESSIONS: Final = {"latex", "sympy"}  # targets without functions
_NO_SIZES: Final = (
    "this notation writes the layout without the sizes of the array: give them in the field "
    "Sizes, as 6x8 or M,N, and see the picture, the formula, the proof and the code"
)


def answer(values: Mapping[str, str]) -> dict[str, Any]:
    """What the page shows for the fields of a :class:`Question`.

    Never raises a LayoutError: ``errors`` lists what is wrong with which field. Where the layout
    itself is right, the other keys are there too: ``source``, ``instruction``, ``arrays``,
    ``array``, ``headline``, ``kind``, ``words``, ``memory``, ``sizes``, ``tpu``, ``notes``, and,
    where sizes are known, ``formula``, ``proofs``, ``code``, ``picture``, ``comparison``.

    >>> found = answer({"layout": "f32[3,5]{1,0:T(2,2)}"})
    >>> found["formula"]["simplified"], found["errors"]
    ('12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2', [])
    >>> answer({"layout": "f32[3,x!]"})["errors"][0]["field"]
    'layout'
    """
    try:
        question = Question.of(values)
        subject = subject_of(question)
    except FieldError as wrong:
        return {"errors": [error_dict(wrong)]}
    errors: list[dict[str, Any]] = []
    found = {"errors": errors, **_said(subject, question)}
    m = subject.report.index
    if m is None:
        return found
    comparison = None
    with _noting(errors, "other"):
        comparison = compared(subject, question)
    with _noting(errors, "layout"):
        found["formula"] = _formula(m, subject)
    found |= {
        "proofs": _rows(proof_rows(subject.report.proofs)) if subject.report.proofs else [],
        "code": [_code(m, target) for target in TARGETS],
        "comparison": None if comparison is None else _comparison(comparison),
    }
    with _noting(errors, "at"):
        found["picture"] = _picture(m, comparison, question.at if subject.is_symbolic else "")
    return found


@contextmanager
def _noting(errors: list[dict[str, Any]], field: str) -> Iterator[None]:
    """Note errors; the other parts of the answer stand."""
    try:
        yield
    except FieldError as wrong:
        errors.append(error_dict(wrong))
    except LayoutError as error:
        errors.append(error_dict(FieldError(field, error)))


def _said(subject: Subject, question: Question) -> dict[str, Any]:
    """What is said of the layout without its index map."""
    report = subject.report
    words = report.explanation
    lacks_sizes = subject.shape is None and not subject.carries_sizes
    return {
        "source": subject.source,
        "instruction": _rows(subject.instruction),
        "arrays": [{"place": place, "text": text} for place, text in subject.arrays],
        "array": subject.position,
        "text": words.source,
        "kind": words.kind,
        "headline": words.headline,
        "words": _rows(word_rows(words)),
        "memory": _rows(place_rows(report)),
        "sizes": _rows(size_rows(report)),
        "tpu": [] if report.tpu is None else _rows(tpu_rows(report.tpu)),
        "notes": [_NO_SIZES] if lacks_sizes else list(report.notes),
        "unused": _unused(subject, question),
    }


def _unused(subject: Subject, question: Question) -> dict[str, str]:
    """The fields that hold something but do not matter here, and why."""
    found = {}
    if subject.carries_sizes and question.shape.strip():
        found["shape"] = "the layout's text has its own sizes"
    if not subject.is_symbolic:
        typed = {"assuming": question.assuming, "at": question.at}
        found |= {name: "no size is a name" for name, text in typed.items() if text.strip()}
    return found


def _rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    return [
        {"label": row.label, "text": row.text, "alarming": row.style == "red", "dim": row.is_dim}
        for row in rows
    ]


def _formula(m: IndexMap, subject: Subject) -> dict[str, Any]:
    names = [
        {"symbol": dim.symbol, "name": dim.name}
        for dim in subject.report.explanation.dimensions
        if dim.symbol != dim.name
    ]
    return {
        "names": names,
        "symbols": list(m.recipe.names),
        "textbook": str(m.textbook_form),
        "simplified": str(m.form),
        "derivation": derivation_steps(m.derivation),
        "inverse": _attempted(lambda: str(m.inverse)),
    }


def _code(m: IndexMap, target: str) -> dict[str, str]:
    is_function = target not in _EXPRESSIONS
    return {
        "target": target,
        "offset": _attempted(lambda: api.code(m, target, function=is_function)),
        "coordinates": _attempted(lambda: api.code(m.inverse, target, function=is_function)),
    }


def _attempted(make: Callable[[], str]) -> str:
    """A text, or why there is none."""
    try:
        return make()
    except LayoutError as error:
        return str(error)


def _picture(m: IndexMap, comparison: Comparison | None, at: str) -> dict[str, Any]:
    """The interactive picture, or why there is none."""
    maps, wrong = [m], None
    if comparison is not None:
        maps = [x for x in (comparison.first, comparison.second) if x is not None]
        wrong = comparison.counterexample if comparison.second is None else None
    known, sizes = numbers_for(maps, at)
    try:
        picture = _drawn(known, wrong)
    except LayoutError as error:
        return {"reason": f"{error.what}: {error.why}", "at": sizes}
    panels = picture.panels
    markup, style = page_parts(panels)
    return {"markup": markup, "style": style, "panels": page_data(panels), "at": sizes}


def _drawn(maps: list[IndexMap], wrong: tuple[int, ...] | None) -> Picture:
    """The picture of one or two maps, with a dot where a formula is wrong."""
    rows, columns = _ONE_SLICE if len(maps[0].shape) <= 2 else _EACH_SLICE
    return api.draw(
        maps[0],
        maps[1] if len(maps) > 1 else None,
        dots=() if wrong is None else [wrong],
        max_rows=rows,
        max_columns=columns,
        max_slices=_SLICES,
        max_slots=_SLOTS,
    )


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "text": found.text,
        "is_formula": found.second is None,
        "sign": found.sign,
        "verdict": found.verdict,
        "rows": _rows(found.rows),
        "relayout": found.relayout,
        "way_back": found.way_back,
        "notes": list(found.notes),
    }
