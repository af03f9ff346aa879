"""Answer a question of the explorer: one layout, or two compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from morello_layouts import api
from morello_layouts.api.layouts import index_maps
from morello_layouts.codegen import TARGETS
from morello_layouts.errors import LayoutError
from morello_layouts.explanations.rows import (
    Row,
    derivation_steps,
    place_rows,
    proof_rows,
    size_rows,
    tpu_rows,
    verdict_row,
    word_rows,
)
from morello_layouts.explorer.question import FieldError, Question, error_dict
from morello_layouts.explorer.subject import (
    Subject,
    blaming,
    formula_for,
    is_formula,
    numbers_for,
    subject_of,
)
from morello_layouts.maps import IndexMap
from morello_layouts.picture import Picture
from morello_layouts.picture.page import page_data, page_parts
from morello_layouts.proof import Proof


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is said of a layout and another one, or a formula.

    Attributes:
        text: the second layout, or the formula, as it is printed.
        first: the index map of the first, under what the second assumes too.
        second: the index map of the second; None where it is a formula.
        sign: "=" where no element moves, "≠" where one does at all sizes, "?" between.
        verdict: the same in a few words.
        rows: what was proved.
        relayout: the offset in the first buffer of what lies at offset p of the second; empty
            where it is a formula.
        way_back: the other direction.
        counterexample: the first element that lies elsewhere; None where sizes are names.
        notes: what could not be said.
    """

    text: str
    first: IndexMap
    second: IndexMap | None
    sign: str
    verdict: str
    rows: tuple[Row, ...]
    relayout: str
    way_back: str
    notes: tuple[str, ...] = ()
    counterexample: tuple[int, ...] | None = None


def compared(subject: Subject, question: Question) -> Comparison | None:
    """The comparison that a question asks for; None if it asks for none.

    Raises:
        FieldError: where the other layout or the formula means nothing, or is of another shape.
    """
    if not question.other.strip() or subject.report.index is None:
        return None
    first = subject.report.index
    if is_formula(question.other):
        return _with_formula(first, question.other)
    with blaming("other"):
        one, other = index_maps(first, question.other, None, None)
        same = api.are_equivalent(one, other)
        relayout = str(api.relayout(one, other))
        way_back = str(api.relayout(other, one))
    notes: tuple[str, ...] = ()
    rows = _same_places(same)
    try:
        bitcast = api.is_bitcast(one, other)
        rows.append(verdict_row("same bytes", bitcast, {True: "yes", False: "no"}))
    except LayoutError as error:
        notes = (f"whether the same bytes serve both is not known: {error.what}",)
    rows.append(Row("buffers", f"{one.size} and {other.size} elements"))
    return Comparison(
        other.source, one, other, *_verdict(same), tuple(rows), relayout, way_back, notes
    )


def _with_formula(m: IndexMap, text: str) -> Comparison:
    """Whether a formula gives each element's offset in a layout."""
    with blaming("other"):
        mine = formula_for(m, text)
        same = api.are_equivalent(m, mine)
    at = None if m.recipe.names else same.counterexample
    both = Row("formula", f"{mine.form}   (simplified)"), Row("layout", str(m.form))
    rows = [*_same_places(same), *both]
    if at is not None:
        rows[1] = Row(
            "counterexample", f"the element at {at} lies at {m(*at)}; the formula gives {mine(*at)}"
        )
    sign, verdict = _verdict(same)
    if same.holds is False and sign == "≠":
        verdict = "wrong: some element has another place"
    elif same.holds:
        verdict = "right: it gives the place of every element"
    return Comparison(
        " ".join(text.split()), m, None, sign, verdict, tuple(rows), "", "", counterexample=at
    )


def _same_places(same: Proof) -> list[Row]:
    rows = [verdict_row("same places", same, {True: "yes", False: "no"})]
    if same.counterexample is not None:
        rows.append(Row("counterexample", f"the element at {same.counterexample}"))
    return rows


def _verdict(same: Proof) -> tuple[str, str]:
    """A sign, and what it stands for in words."""
    if same.holds:
        return "=", "equivalent: every element has the same place in both"
    if same.holds is None:
        return "?", "undecided: ISL did not find out within its budget"
    if same.when is not None and same.condition != False:  # noqa: E712
        return "?", f"equivalent {same.when}"
    return "≠", "different: some element has another place"


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
        "reference": str(m.reference_form),
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
