"""A layout held against another, or against a formula: where elements lie, and how to move them."""

from __future__ import annotations

from dataclasses import dataclass

from morello_layouts import api
from morello_layouts.api.layouts import index_maps
from morello_layouts.errors import LayoutError
from morello_layouts.explorer.own_formula import formula_for, is_formula
from morello_layouts.explorer.question import Question
from morello_layouts.explorer.subject import Subject, blaming
from morello_layouts.formula import IndexMap
from morello_layouts.proof import Proof
from morello_layouts.report.rows import Row, verdict_row

__all__ = ["Comparison", "compared"]


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
