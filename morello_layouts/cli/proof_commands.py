"""``prove`` and ``equal``: questions that ISL decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from morello_layouts import api
from morello_layouts.cli.options import json_option, layouts_with_shape, shape_option, text_argument
from morello_layouts.cli.screen import print_json, print_text
from morello_layouts.cli.status import Status, status_of

if TYPE_CHECKING:
    from morello_layouts.proof import Proof

__all__ = ["equal", "prove"]

_QUESTIONS = {
    "bijective": api.is_bijective,
    "injective": api.is_injective,
    "onto": api.is_surjective,
    "formula": api.verify,
}


@click.command(
    epilog="""\b
Examples:
  morello-layouts prove "[1, 0, 1 p(4)]" --shape 6x8
  morello-layouts prove --injective "f32[3,5]{1,0:T(2,2)}"

\b
JSON: question, holds (true, false, or null for undecided), reason, counterexample, condition,
padding. Exit status: 0 proved, 1 disproved, 2 bad input, 3 undecided.
"""
)
@text_argument("text")
@shape_option
@click.option(
    "--bijective", "question", flag_value="bijective", default="bijective",
    help="One-to-one and onto the buffer: no element shares an offset, no padding. The default.",
)  # fmt: skip
@click.option(
    "--injective", "question", flag_value="injective",
    help="One-to-one: no two elements share an offset.",
)  # fmt: skip
@click.option(
    "--onto", "question", flag_value="onto", help="Every offset holds an element: no padding."
)
@click.option(
    "--formula", "question", flag_value="formula",
    help="The simplified and the textbook formula equal the layout everywhere.",
)  # fmt: skip
@json_option
def prove(text: str, shape: tuple[int, ...] | None, question: str, as_json: bool) -> Status:
    """Prove or disprove that the layout TEXT is one-to-one and onto its buffer."""
    (layout,) = layouts_with_shape([text], shape)
    return _answer(_QUESTIONS[question](layout, shape), as_json)


@click.command(
    epilog="""\b
Examples:
  morello-layouts equal "f32[6,8]{1,0:T(6,4)}" "[1, 0, 1 p(4)]"
  morello-layouts equal "[0, 1]" "{1,0}" --shape 6x8

\b
JSON and exit status as of prove.
"""
)
@text_argument("a")
@text_argument("b")
@shape_option
@json_option
def equal(a: str, b: str, shape: tuple[int, ...] | None, as_json: bool) -> Status:
    """Prove or disprove that layouts A and B give every element the same offset.

    A layout whose text carries no shape takes that of the other one.
    """
    first, second = layouts_with_shape([a, b], shape)
    return _answer(api.are_equivalent(first, second, shape), as_json)


def _answer(proof: Proof, as_json: bool) -> Status:
    if as_json:
        print_json(proof.to_dict())
    else:
        print_text(str(proof))
    return status_of([proof.holds])
