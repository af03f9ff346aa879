"""Answer a question of the explorer: one layout, or two compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final, TypeAlias

from morello_layouts.core.description import count
from morello_layouts.core.fields import frozen, plain
from morello_layouts.core.lazy import importing, regex
from morello_layouts.core.limits import EXPLORER_COMPARED
from morello_layouts.core.maps import IndexMap
from morello_layouts.core.maps.names import renamed
from morello_layouts.errors import LayoutError, UnsupportedError
from morello_layouts.interfaces.api import gpu, layouts, proofs
from morello_layouts.interfaces.api.code import code
from morello_layouts.interfaces.api.layouts import index_maps
from morello_layouts.interfaces.explanations.report import proofs_of
from morello_layouts.interfaces.explanations.rows import (
    Labelled,
    place_rows,
    proof_rows,
    size_rows,
    tpu_rows,
    verdict_row,
    word_rows,
)
from morello_layouts.interfaces.explorer.subject import (
    FieldError,
    Question,
    Shown,
    at_numbers,
    error_dict,
    formula_for,
    in_field,
    is_formula,
    subject_of,
)
from morello_layouts.machines.gpu import BankConflicts, BankFormula
from morello_layouts.outputs.codegen import LANGUAGES, TARGETS
from morello_layouts.outputs.picture import Limits, Style, picture_of, unswizzled
from morello_layouts.outputs.picture.page import page_data, page_parts
from morello_layouts.outputs.picture.panel import COLOURS
from morello_layouts.outputs.picture.view import levels_of
from morello_layouts.proof import Proof


@frozen
class LayoutComparison:
    """A layout compared with another one, or with a formula."""

    json_keys: ClassVar = (
        "text", "is_formula", "sign", "verdict=proof.verdict", "rows", "relayout", "way_back",
    )  # fmt: skip
    text: str  #: the second layout, or the formula, as it is printed.
    #: the index maps of both layouts; of a formula's comparison only the layout's.
    maps: tuple[IndexMap, ...]
    proof: Proof  #: whether the offsets are the same.
    rows: tuple[Labelled, ...]  #: further results.
    #: the offset in the first buffer of the element at offset p of the second; empty for a formula.
    relayout: str = ""
    way_back: str = ""  #: the relayout in the other direction.

    @property
    def is_formula(self) -> bool:
        return len(self.maps) == 1

    @property
    def sign(self) -> str:
        """The sign = if the offsets are the same, ≠ if they differ at all sizes, otherwise ?."""
        condition = self.proof.condition
        if self.proof.holds is False and (condition is None or condition.is_never):
            return "≠"
        return "=" if self.proof.holds else "?"

    @property
    def dots(self) -> list[tuple[int, ...]]:
        """The first element whose offset a formula misses; none for symbolic sizes."""
        at = self.proof.counterexample
        return [at] if self.is_formula and isinstance(at, tuple) else []


_Pair: TypeAlias = tuple[IndexMap, IndexMap]
_Other: TypeAlias = LayoutComparison | _Pair
"""A formula that is compared already, or a layout that is drawn before it is compared."""


def _pair(m: IndexMap, text: str) -> _Pair:
    return index_maps(m, text, None)


def _with_layout(one: IndexMap, other: IndexMap) -> LayoutComparison:
    same = proofs.equal(one, other)
    try:
        bitcast = verdict_row("bitcast", proofs.bitcast(one, other))
    except LayoutError as error:
        bitcast = Labelled("bitcast", f"unknown: {error.what}")
    rows = (
        *_counterexample(same),
        bitcast,
        Labelled("buffers", f"{one.size} and {other.size} elements"),
        *_resharding(one, other),
    )
    back, forth = str(layouts.relayout(one, other)), str(layouts.relayout(other, one))
    return LayoutComparison(other.source, (one, other), same, rows, back, forth)


def _resharding(one: IndexMap, other: IndexMap) -> Iterator[Labelled]:
    """Yield what moves between two layouts on devices."""
    if all("device" in m.recipe.axis_names for m in (one, other)):
        with importing:
            from morello_layouts.interfaces.api import shardings
        with suppress(UnsupportedError):
            lines = str(shardings.reshard(one, other)).splitlines()
            yield from (Labelled("" if k else "resharding", x.strip()) for k, x in enumerate(lines))


def _with_formula(m: IndexMap, text: str) -> LayoutComparison:
    mine = formula_for(m, text)
    same = proofs.equal(m, mine)
    own = str(renamed(mine.form, mine.names))
    both = (
        Labelled("formula", f"{own}   (simplified)"),
        Labelled("layout", str(renamed(m.form, m.names))),
    )
    return LayoutComparison(" ".join(text.split()), (m,), same, (*_counterexample(same), *both))


def _counterexample(same: Proof) -> list[Labelled]:
    """Return a row for the sizes at which offsets differ; the verdict has all else."""
    found = same.counterexample
    if found is None or isinstance(found, tuple):
        return []
    return [Labelled("counterexample", str(found))]


# A picture that a browser draws at once.
_ONE_SLICE: Final = (20, 26)  # rows and columns
_EACH_SLICE: Final = (12, 18)
_SLICES: Final = 2
_SLOTS: Final = 128

_EXPRESSIONS: Final = {"latex", "sympy"}  # targets without functions
_NO_SIZES: Final = (
    "this notation does not carry the array's sizes: give them in the field Sizes, as 6x8 or M,N, "
    "to see the picture, the formula, the proof and the code"
)


def answer(values: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page shows for the fields of a :class:`Question`.

    It does not raise LayoutErrors: ``errors`` lists them with their fields. If the layout is
    valid, the other keys are there too: ``source``, ``instruction``, ``arrays``,
    ``array``, ``headline``, ``kind``, ``words``, ``memory``, ``sizes``, ``tpu``, ``notes``, and,
    if the sizes are known, ``formula``, ``proofs``, ``deciders``, ``code``, ``picture``,
    ``compared`` and ``comparisons``, and ``banks``.

    >>> found = answer({"layout": "f32[3,5]{1,0:T(2,2)}"})
    >>> found["formula"]["simplified"], found["errors"]
    ('12*(d0//2) + 4*(d1//2) + 2*(d0%2) + d1%2', [])
    >>> answer({"layout": "f32[3,x!]"})["errors"][0]["field"]
    'layout'
    """
    found: dict[str, Any] = {}
    for part in parts(values):
        found |= part
    return found


def parts(values: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield an answer in parts, the slow ones last; if one has errors, it has all so far."""
    try:
        question = Question.of(values)
        subject = subject_of(question)
    except FieldError as wrong:
        yield {"errors": [error_dict(wrong)]}
        return
    errors: list[dict[str, Any]] = []
    found = {"errors": errors, **_description(subject, question)}
    m = subject.report.index
    if m is None:
        yield found | _example(subject, question)
        return
    with _noting(errors, "layout"):
        found["formula"] = _formula(m, subject)
    others: list[_Other] = []
    with _noting(errors, "other"):
        for text in question.others[:EXPLORER_COMPARED]:
            compare = _with_formula if is_formula(text) else _pair
            others.append(compare(m, text))
    yield found | _shown(m, others, question, subject, errors)
    comparisons = []
    with _noting(errors, "other"):
        for one in others:
            comparisons.append(_with_layout(*one) if isinstance(one, tuple) else one)
    yield {"comparisons": plain(comparisons), "errors": errors}
    yield {"code": [_code(m, target) for target in TARGETS]}
    proofs = proofs_of(m)
    deciders = {one.decider for one in (proofs.bijective, proofs.injective, proofs.verified)}
    yield {"proofs": plain(proof_rows(proofs)), "deciders": sorted(deciders - {""})}


# Sizes of an example: the first that a layout takes, whose packs must divide them.
_EXAMPLES: Final = (
    (6, 8), (8, 16), (64, 128), (2, 6, 8), (2, 8, 16), (48,), (2, 3, 6, 8), (2, 16, 4, 8),
    (2, 32, 8, 8), (64, 64, 3, 3), (2, 2, 3, 4, 6), (2, 16, 2, 4, 8),
)  # fmt: skip


def _example(subject: Shown, question: Question) -> dict[str, Any]:
    """Return a picture at sizes of our own, of a layout whose sizes nobody gave."""
    for shape in _EXAMPLES:
        with suppress(LayoutError):
            m = layouts.index_map(subject.arrays[subject.position][1], shape)
            found = _picture([m], (), None, "", question)
            if "reason" not in found:
                return {"picture": {**found, "example": "x".join(map(str, shape))}}
    return {}


def _shown(
    m: IndexMap,
    others: list[_Other],
    question: Question,
    subject: Shown,
    errors: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the picture, the other layouts in it, and banks."""
    banks = None
    if question.access.strip():
        with _noting(errors, "access"):
            banks = banks_of(m, question.access.strip())
    found: dict[str, Any] = {"banks": plain(banks), "compared": len(others)}
    marked = [one for one in (*others, banks) if isinstance(one, LayoutComparison | Banks)]
    dots = tuple(dot for one in marked for dot in one.dots)
    with _noting(errors, "at"):
        at = question.at if subject.is_symbolic else ""
        maps = [m, *(one[1] for one in others if isinstance(one, tuple))]
        found["picture"] = _picture(maps, dots, banks, at, question)
    return found


@contextmanager
def _noting(errors: list[dict[str, Any]], field: str) -> Iterator[None]:
    """Note errors; the other parts of the answer stay."""
    try:
        with in_field(field):
            yield
    except FieldError as error:
        errors.append(error_dict(error))


def _description(subject: Shown, question: Question) -> dict[str, Any]:
    report = subject.report
    words = report.description
    lacks_sizes = subject.shape is None and not subject.carries_sizes
    return {
        "source": subject.source,
        "instruction": plain(subject.instruction),
        "arrays": [{"place": place, "text": text} for place, text in subject.arrays],
        "array": subject.position,
        "text": words.source,
        "kind": words.kind,
        "headline": words.headline,
        "words": plain(word_rows(words)),
        "memory": plain(place_rows(report)),
        "sizes": plain(size_rows(report)),
        "tpu": [] if report.tpu is None else plain(tpu_rows(report.tpu)),
        "notes": [_NO_SIZES] if lacks_sizes else list(report.notes),
        "unused": _unused(subject, question),
    }


def _unused(subject: Shown, question: Question) -> dict[str, str]:
    """Return the fields that hold text but do not matter here, and why."""
    found = {}
    if subject.carries_sizes and question.shape.strip():
        found["shape"] = "the layout's text has its own sizes"
    if not subject.is_symbolic:
        typed = {"assuming": question.assuming, "at": question.at}
        found |= {name: "no size is symbolic" for name, text in typed.items() if text.strip()}
    return found


def _formula(m: IndexMap, subject: Shown) -> dict[str, Any]:
    names = [
        {"symbol": dim.symbol, "name": dim.name}
        for dim in subject.report.description.dimensions
        if dim.symbol != dim.name
    ]
    return {
        "names": names,
        "symbols": list(m.recipe.names),
        "coordinates": m.coordinate_names,
        "reference": str(renamed(m.reference_form, m.names)),
        "simplified": str(renamed(m.form, m.names)),
        "derivation": plain(m.derivation.steps),
        "inverse": _attempted(lambda: str(m.inverse)),
    }


def _code(m: IndexMap, target: str) -> dict[str, str]:
    is_function = target not in _EXPRESSIONS
    return {
        "target": target,
        "title": LANGUAGES[target].title,
        "offset": _attempted(lambda: code(m, target, function=is_function)),
        "coordinates": _attempted(lambda: code(m.inverse, target, function=is_function)),
    }


def _attempted(make: Callable[[], str]) -> str:
    """Return a text, or the error that says why it does not exist."""
    try:
        return make()
    except LayoutError as error:
        return str(error)


def _picture(
    maps: list[IndexMap],
    dots: tuple[tuple[int, ...], ...],
    banks: Banks | None,
    at: str,
    question: Question,
) -> dict[str, Any]:
    """Return the interactive picture, or why it does not exist."""
    m = maps[0]
    known, sizes = at_numbers(maps, at)
    bits = banks.bits if banks else None if m.element_type is None else m.element_type.bits
    colours = colours_of(known[0], bits)
    default = "bank" if banks else usual_colour(colours)
    style = Style(
        colour=question.colour if question.colour in colours else default,
        element_bits=bits,
        dots=dots,
        strip=question.room,
        formula=len(maps) > 1 or bool(m.recipe.names),
    )
    found: dict[str, Any] = {"at": sizes, "colours": colours, "colour": style.colour}
    rows, columns = _ONE_SLICE if len(m.shape) <= 2 else _EACH_SLICE
    try:
        limits = Limits(rows, columns, _SLICES, _SLOTS, question.first_slice)
        panels = picture_of(known, style, limits).panels
    except LayoutError as error:
        return {"reason": f"{error.what}: {error.why}", **found}
    markup, style_text = page_parts(panels)
    view = panels[0].view
    slices = {"first": question.first_slice, "last": view.hidden_slices}
    found |= {"markup": markup, "style": style_text, "panels": page_data(panels), "slices": slices}
    return found


_USUAL: Final = ("lane", "device", "swizzle", "tile")
"""What a colour stands for by default: the first that a layout has."""


def usual_colour(colours: Sequence[str]) -> str:
    """Return what a colour stands for by default, of all that it may stand for."""
    return next(x for x in (*_USUAL, "offset") if x in colours)


def colours_of(m: IndexMap, bits: int | None) -> list[str]:
    sizes = zip(m.recipe.axis_names, m.recipe.physical_shape, strict=False)
    axes = [name for name, n in sizes if n != 1 and name not in COLOURS]
    left_out = {"tile"} if m.recipe.axis_names or not levels_of(m.recipe) else set()
    if unswizzled(m) is None:
        left_out.add("swizzle")
    if bits is None or m.recipe.axis_names:
        left_out |= {"word", "bank"}
    return [*(x for x in COLOURS if x not in left_out), *axes]


_BITS: Final = regex(r"(.*?)(?:,|(?<!\s))\s++([0-9]{1,4}) bits?\s*", re.ASCII | re.DOTALL)
_DEFAULT: Final = 32  # bits of an element, if nothing tells


@frozen
class Banks:
    """The conflicts of an access, for the page."""

    json_keys: ClassVar = ("access", "verdict", "rows", "bits", "assumed_for")

    access: str  #: the access in words.
    verdict: str  #: the answer in words.
    rows: tuple[Labelled, ...]  #: why, and which lanes collide.
    bits: int  #: bits of an element.
    dots: tuple[tuple[int, ...], ...] = ()  #: the elements that colliding lanes ask for.
    assumed_for: str = ""  #: the access as typed, if nothing tells the bits; else empty.


def banks_of(m: IndexMap, text: str) -> Banks:
    """Return the conflicts of an access such as ``column, 16 bits``.

    >>> found = banks_of(layouts.index_map("f32[32,32]"), "column")
    >>> found.verdict, found.rows[0].text
    ('32-way conflict', 'bank 0 gives one after the other the words 0, 32, 64, 96, …')
    >>> found.dots[:2]
    ((0, 0), (1, 0))
    """
    typed = _BITS.fullmatch(text)
    if typed is not None:
        bits = int(typed[2])
    else:
        bits = _DEFAULT if m.element_type is None else m.element_type.bits
    found = gpu.banks(m, text if typed is None else typed[1], bits=bits)
    assumed = text if typed is None and m.element_type is None else ""
    bits_row = Labelled("elements", f"of {bits} bits", is_dim=bool(assumed))
    if isinstance(found, BankFormula):
        rows = [Labelled(f"{found.pitch} % {len(found.ways)}", _by_remainder(found)), bits_row]
        return Banks(found.access, found.verdict, tuple(rows), bits, assumed_for=assumed)
    own = (*_rows(found), bits_row)
    dots = tuple(each.coordinate for each in found.collisions if found.has_conflicts)
    return Banks(found.access, found.verdict, own, bits, dots, assumed)


def _rows(found: BankConflicts) -> list[Labelled]:
    rows = [Labelled("why", found.reason), Labelled("wavefronts", found.cost)]
    if found.past_edge:
        rows.append(
            Labelled("edge", f"the vectors of {count(found.past_edge, 'lane')} reach past it")
        )
    if not found.has_conflicts:
        return rows
    words = [str(each.word) for each in found.collisions]
    shown = ", ".join(words if len(words) <= 8 else [*words[:4], "…"])
    where = f"bank {found.bank} gives one after the other the words {shown}"
    lanes = ", ".join(str(each.lanes[0]) for each in found.collisions)
    return [Labelled("bank", where, "red"), Labelled("lanes", lanes), *rows]


def _by_remainder(found: BankFormula) -> str:
    shown = [f"{k}: {ways}" for k, ways in enumerate(found.ways[:16])]
    return ", ".join(shown if len(found.ways) <= 16 else [*shown, "…"])
