"""``prove``, ``equal`` and ``bitcast``: properties that ISL decides."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import click

from morello_layouts import api
from morello_layouts.api.arguments import Shape
from morello_layouts.api.layouts import LayoutLike
from morello_layouts.checks import as_permutation
from morello_layouts.cli.certificate_commands import certificate_option, write_certificate
from morello_layouts.cli.options import (
    assuming_option,
    json_option,
    names_option,
    notation_option,
    shape_option,
    text_argument,
)
from morello_layouts.cli.results import Status, status_of
from morello_layouts.cli.terminal import print_json, print_text
from morello_layouts.errors import LayoutError

if TYPE_CHECKING:
    from morello_layouts.api.agreements import Touched
    from morello_layouts.api.certificates import Claim
    from morello_layouts.proof import Proof
    from morello_layouts.proof.bitcast import Correspondence

_QUESTIONS = {
    "bijective": api.is_bijective,
    "injective": api.is_injective,
    "surjective": api.is_surjective,
    "verify": api.verify,
}


@click.command(
    epilog="""\b
Examples:
  morello-layouts prove "[1, 0, 1 p(4)]" --shape 6x8
  morello-layouts prove --injective "f32[3,5]{1,0:T(2,2)}"
  morello-layouts prove --surjective "bf16[M,N]{1,0:T(8,128)(2,1)}"

\b
JSON: claim, holds (true, false, or null for undecided), verdict, reason, decider, counterexample,
condition (for symbolic sizes), padding, assumptions, judged.
Exit status: 0 proved, 1 disproved, 2 bad input, 3 undecided.
In Python: is_bijective, is_injective, is_surjective, verify.
"""
)
@text_argument("text")
@shape_option
@notation_option
@click.option(
    "--bijective", "question", flag_value="bijective", default="bijective",
    help="Injective and surjective. The default.",
)  # fmt: skip
@click.option(
    "--injective", "question", flag_value="injective", help="No two elements share an offset."
)
@click.option(
    "--surjective", "question", flag_value="surjective",
    help="Every slot holds an element: no padding.",
)  # fmt: skip
@click.option(
    "--verify", "question", flag_value="verify",
    help="The formulas and the inverse agree with the layout everywhere.",
)  # fmt: skip
@assuming_option
@names_option
@certificate_option
@json_option
def prove(  # noqa: PLR0917  click gives each option by its name
    text: LayoutLike,
    shape: Shape | None,
    question: str,
    assuming: str | None,
    names: str | None,
    certificate: str | None,
    as_json: bool,
) -> Status:
    """Prove or disprove that the layout TEXT is bijective.

    Sizes may be names; the answer then says for which sizes the layout is bijective.
    """
    answer = _QUESTIONS[question](api.index_map(text, shape, assuming=assuming, names=names))
    claim: Claim = "verified" if question == "verify" else question  # type: ignore[assignment]
    make = partial(api.certificate, text, None, shape, assuming=assuming)
    hint = _weaker(make, question) if certificate and not answer.holds else ""
    return _answer(answer, as_json, certificate, partial(make, claim=claim), hint)


def _weaker(make: Callable[..., object], question: str) -> str:
    """Return what to ask instead of a question, if that has a certificate."""
    if question not in {"bijective", "surjective"}:
        return ""
    try:
        make(claim="injective")
    except LayoutError:
        return ""
    return "it is injective, which has a certificate: add --injective"


@click.command(
    epilog="""\b
Examples:
  morello-layouts equal "f32[6,8]{1,0:T(6,4)}" "[1, 0, 1 p(4)]"
  morello-layouts equal "[0, 1]" "{1,0}" --shape 6x8
  morello-layouts equal "f32[M,N]{1,0:T(2,128)}" "f32[M,N]{1,0:T(8,128)}"

\b
JSON and exit status as of prove. In Python: are_equivalent.
"""
)
@text_argument("a")
@text_argument("b")
@shape_option
@notation_option
@assuming_option
@certificate_option
@json_option
def equal(  # noqa: PLR0917  click gives each option by its name
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None,
    assuming: str | None,
    certificate: str | None,
    as_json: bool,
) -> Status:
    """Prove or disprove that layouts A and B give every element the same offset.

    A layout whose text carries no shape takes that of the other one.
    """
    answer = api.are_equivalent(a, b, shape, assuming=assuming)
    make = partial(api.certificate, a, b, shape, assuming=assuming)
    return _answer(answer, as_json, certificate, make)


@click.command(
    epilog="""\b
Examples:
  morello-layouts bitcast "f32[4,6]{1,0}" "f32[2,2,3,2]{3,2,1,0}"
  morello-layouts bitcast "f32[2,3]{1,0}" "f32[3,2]{0,1}" --transpose 1,0
  morello-layouts bitcast "bf16[64,64]{1,0:T(8,128)(2,1)}" "bf16[64,64]{0,1:T(8,128)(2,1)}" --any

\b
JSON as of prove, and kind (same, retile, reshape, transpose, padding, copy, unknown),
correspondence, slot (the first that differs), memory_spaces.
Exit status: 0 a bitcast, 1 not a bitcast, 2 bad input, 3 undecided. In Python: is_bitcast.
"""
)
@text_argument("a")
@text_argument("b")
@shape_option
@notation_option
@click.option(
    "--transpose", metavar="1,0", help="B is A with its dimensions in this order, as in NumPy."
)
@click.option("--any", "in_any_way", is_flag=True, help="Any reshape or transpose that is free.")
@assuming_option
@certificate_option
@json_option
def bitcast(  # noqa: PLR0917  click gives each option by its name
    a: LayoutLike,
    b: LayoutLike,
    shape: Shape | None,
    transpose: str | None,
    in_any_way: bool,
    assuming: str | None,
    certificate: str | None,
    as_json: bool,
) -> Status:
    """Prove or disprove that the bytes of an array of layout A serve as one of layout B.

    Elements correspond in row-major order unless an option says otherwise.
    """
    correspondence: Correspondence = "any" if in_any_way else "row-major"
    if transpose is not None:
        correspondence = _order(transpose)
    answer = api.is_bitcast(a, b, shape, correspondence=correspondence, assuming=assuming)
    order = None if isinstance(correspondence, str) else tuple(correspondence)
    make = partial(
        api.certificate, a, b, shape, claim="bitcast", transpose=order, assuming=assuming
    )
    return _answer(answer, as_json, certificate, make)


def _order(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.strip().strip("()[]{}").split(",")]
    if not all(part.isdecimal() for part in parts):
        raise LayoutError(
            f"--transpose: expected an order of dimensions, got {text!r}",
            "a transpose names each dimension once, from 0",
            "write for example --transpose 1,0",
        )
    return as_permutation(list(map(int, parts)), "--transpose", fix="write for example 1,0")


_TOUCHED = click.Choice(["elements", "buffer"])


@click.command(
    epilog="""\b
Examples:
  morello-layouts agree "[0, 1, 0 p(4)]" "[0, 1]" --shape 16x8
  morello-layouts agree "[0, 1, 0 p(4)]" "[0, 1]" --shape T,S
  morello-layouts agree mx128x4 mx128x4 --shape M,K --reads buffer
  morello-layouts agree mx128x4 mx128x4 --shape M,K --producer-bytes "M*4*ceil(K/4)"

\b
JSON: holds, verdict, when, counterexample (sizes, at, written, read, written_byte, read_byte),
fits, covers, undefined, first_undefined, advice, and four proofs as of prove: offsets, writes,
reads, definition.
Exit status: 0 offsets agree, all fits, and all that is read is written; 1 one of these is
disproved; 2 bad input; 3 undecided. In Python: agree.
"""
)
@text_argument("producer")
@text_argument("consumer")
@shape_option
@notation_option
@click.option(
    "--reads", type=_TOUCHED, default="elements",
    help="What the consumer reads: elements, or its whole buffer with padding.",
)  # fmt: skip
@click.option("--writes", type=_TOUCHED, default="elements", help="What the producer writes.")
@click.option(
    "--producer-bytes", metavar="BYTES",
    help='Bytes allocated for the producer: a number, or of sizes, such as "M*ceil(K/32)".',
)  # fmt: skip
@click.option("--consumer-bytes", metavar="BYTES", help="Bytes allocated for the consumer.")
@assuming_option
@json_option
def agree(  # noqa: PLR0917  click gives each option by its name
    producer: LayoutLike,
    consumer: LayoutLike,
    shape: Shape | None,
    reads: Touched,
    writes: Touched,
    producer_bytes: str | None,
    consumer_bytes: str | None,
    assuming: str | None,
    as_json: bool,
) -> Status:
    """Prove or disprove that a consumer of layout CONSUMER finds what a PRODUCER wrote.

    Each element is read where it is written, all lies inside the allocations, and all that is read
    was written.
    """
    answer = api.agree(
        producer, consumer, shape, assuming=assuming, reads=reads, writes=writes,
        producer_bytes=producer_bytes, consumer_bytes=consumer_bytes,
    )  # fmt: skip
    if as_json:
        print_json(answer)
    else:
        print_text(str(answer))
    return status_of([answer.holds, answer.fits, answer.covers])


def _answer(
    proof: Proof,
    as_json: bool,
    certificate: str | None,
    make: Callable[[], object],
    hint: str = "",
) -> Status:
    """Print a proof, and write its certificate to a file if one is named."""
    if as_json:
        print_json(proof)
    else:
        print_text(str(proof))
    write_certificate(certificate, proof.holds, make, hint)
    return status_of([proof.holds])
