"""Answer an editor's questions as JSON, in a worker process; the explorer's questions, too."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from morello_layouts import notations
from morello_layouts.core.lazy import importing
from morello_layouts.core.limits import EDITOR_PADDING, EXPLANATION_WIDTH
from morello_layouts.core.maps.subject import Subject
from morello_layouts.errors import LayoutError
from morello_layouts.interfaces.api.gpu import banks
from morello_layouts.interfaces.api.layouts import subject
from morello_layouts.interfaces.editor.occurrences import STATEMENT
from morello_layouts.interfaces.explanations.report import ArrayReport, report_of, sizes_of
from morello_layouts.interfaces.explanations.rows import (
    Labelled,
    Medium,
    byte_row,
    line,
    section_lines,
    sections_of,
)
from morello_layouts.interfaces.explorer import engine
from morello_layouts.outputs.picture import UNICODE, terminal_lines


def answered(fields: Mapping[str, str]) -> Iterator[str]:
    """Yield the parts of an answer: about spans of text, about warnings, or the explorer's.

    >>> [*answered({"warnings": '[["f32[9,1024,1]{2,1,0:T(8,128)}", "", "", 1]]'})]
    ['{"0":"bytes: 36,864 of data in 4,718,592 (4.5 MiB): 4,681,728 of padding, 128.00× the data"}']
    """
    if "spans" in fields:
        yield from _hover(json.loads(fields["spans"]))
    elif "warnings" in fields:
        for k, question in enumerate(json.loads(fields["warnings"])):
            yield _part({str(k): _warning(*question)})
    else:
        yield from engine.answered(fields)


def _part(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _hover(spans: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the explanation of the first span that has a formula, or else of the first layout."""
    reports: dict[int, ArrayReport] = {}
    for k, span in enumerate(spans):
        with suppress(LayoutError):
            reports[k] = report_of(_one(*span), prove=False)
            if reports[k].index is not None:
                break
    place = next(
        (k for k, report in reports.items() if report.index is not None), min(reports, default=-1)
    )
    if place < 0:
        return
    layout, shape = spans[place]
    text = _text(reports[place])
    yield _part({"place": place, "layout": layout, "shape": shape, "text": text})
    if _SHARED.match(layout) and reports[place].sizes is not None:
        with suppress(LayoutError):
            rows = [Labelled(x, banks(layout, x).verdict) for x in ("row", "column")]
            found = section_lines("A warp of an NVIDIA GPU that loads a", rows, _MEDIUM)
            yield _part({"banks": "\n".join(one.plain for one in found)})


_SHARED: Final = re.compile(r"memref<.*#gpu\.address_space<workgroup>\s*>|!\w+\.memdesc<")
_MEDIUM: Final = Medium(EXPLANATION_WIDTH)
_SECTIONS: Final = ("Memory", "Axes", "Offset", "Place", "Note")


def _one(text: str, shape: str) -> Subject:
    """Return the array of a text; a tuple has several, each of which stands in the text alone."""
    arrays = [array for _, array in notations.parse(text).arrays()]
    if len(arrays) != 1:
        raise LayoutError(f"{text[:40]}: expected one array", "a hover is about one", "name it")
    return subject(
        arrays[0], notations.parse_shape(shape) if arrays[0].sizes is None and shape else None
    )


def _text(report: ArrayReport) -> str:
    words = report.description
    lines = [line(words.source, _MEDIUM), line(f"{words.kind}: {words.headline}", _MEDIUM)]
    for title, rows in sections_of(report):
        if report.index is None or title in _SECTIONS:
            lines += section_lines(title, rows, _MEDIUM)
    if report.index is not None and report.picture is not None:
        picture = terminal_lines(report.picture, report.names, UNICODE)
        lines += [line("", _MEDIUM), *picture]
    return "\n".join(one.plain.rstrip() for one in lines)


def _warning(text: str, shape: str, access: str, places: int) -> str | None:
    """Return what is wrong with a text, in words; None if nothing is, or it cannot be told."""
    told = None
    with suppress(LayoutError):
        if access == STATEMENT:
            with importing:
                from morello_layouts.programs.mlir import read_mlir
            moves = getattr(read_mlir(text), "moves", ())
            told = next((move.words for move in moves if (move.ways or 1) > 1), None)
        elif access:
            found = banks(text, access)  # a formula of open sizes has no ways
            is_one = getattr(found, "ways", 1) == 1
            told = None if is_one else f"a warp that loads a {access}: {found.verdict}"
        else:
            told = _padding(_one(text, shape))
    return told and told + (f"; {places} places have this text" if places > 1 else "")


def _padding(one: Subject) -> str | None:
    m = one.map()
    sizes = None if m.is_part else sizes_of(one.layout, m)
    if sizes is None:
        return None
    data, whole = sizes.data_bytes, sizes.reserved_bytes
    if data is not None and whole is not None:
        words = f"bytes: {byte_row(data, whole, '').text}"
    else:
        data, whole = sizes.elements, sizes.spanned_elements
        words = f"elements: {data:,} in {whole:,} slots"
    return words if whole > 2 * data and whole - data >= EDITOR_PADDING else None
