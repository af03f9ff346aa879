"""Where layouts may stand in a text of any language: spans, that the notations read or refuse.

Nothing here reads a layout. Brackets, quotes and names tell where a text may begin and end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from morello_layouts.core.layout import ELEMENT_BITS
from morello_layouts.core.limits import EDITOR_CANDIDATES, EDITOR_QUESTIONS, EXPLORER_TEXT
from morello_layouts.notations.operations import expanded, pairs


class Span(NamedTuple):
    """A part of a text that may be a layout."""

    start: int
    end: int
    text: str  #: what stands there, with the meaning of aliases in their place.
    shape: str = ""  #: the sizes that stand beside it: ``16,8``.


_ARRAY: Final = rf"(?<![\w.#!])(?:{'|'.join(ELEMENT_BITS)})\[[^\[\]\n]*+\]"
_WHOLE: Final = re.compile(
    rf"{_ARRAY}(?:\{{[^{{}}\n]*+\}})?|#[A-Za-z_]\w*+(?![\w.])|"
    r"\btorch\.(?:contiguous_format|channels_last(?:_3d)?+)\b"
)
_HEAD: Final = re.compile(r"([#!]?)(?<![\w.:])(?:\w++(?:::|\.))*+(\w++)\s*+[<(]")
_NAMES: Final = re.compile(
    r"memref|tensor|vector|affine_map|strided|\w*[Ll]ayout|\w*composition|as_strided|"
    r"empty_strided\w*|assert_size_stride|reinterpret_tensor|ShapeDtypeStruct|Format|"
    r"TensorMetadata|ShapedArray"
)
_COLON: Final = re.compile(r"\s*:\s*(?:_?[0-9]+|(?=\())")
_SWIZZLE: Final = re.compile(r"S(?:w|wizzle)?<[\d,\s-]{5,20}>\s*o\s*(?:[\w{}]+\s*o\s*)?\Z")
_NOT_CUTE: Final = re.compile(r"[?\[{]\s*\Z|[\w)\]]\Z")  # a condition, a slice, a table or a call
_QUOTED: Final = re.compile(r"""(["'`])((?:(?!\1)[^\\\n]|\\.)*+)\1""")
_BESIDE: Final = re.compile(
    r"""\s*+(?:,\s*+)?(?:--)?(?P<said>shape\b\s*+(?:=\s*+)?)?"""
    r"""(?:[(\[](?P<sizes>\s*+["']?\w++["']?\s*+(?:,\s*+["']?\w++["']?\s*+)*+(?:,\s*+)?)[)\]]|"""
    r"""["']?(?P<text>[0-9]+(?:x[0-9]+)+|(?(said)\w+(?:[,x]\w+)*|(?!)))["']?)"""
)
# Without a shape beside it a text in quotes is a layout only if it has a sign that few others have.
_SURE: Final = re.compile(
    rf"\b(?:p|oe)\(\d|<|\A[^(\[{{]*+[(\[{{].*:|{_ARRAY}|\bstride\s*=|\btorch\.|"
    r"(?:[NCDHW]{4,5}|[ncdhw]{4,5}|(?<![A-Za-z])[A-Za-z]{2,}+[0-9]++[A-Za-z]\w*+|channels_last(?:_3d)?)\s*+\Z"
)


def around(text: str, at: int, language: str = "") -> list[Span]:
    """Return the spans around a place that may be layouts: text in quotes, then the smallest first.

    >>> around("%x = f32[8,3]{0,1} copy(%y)", 8)[0].text
    'f32[8,3]{0,1}'
    >>> around('index_map("[0, 1, 0 p(4)]", (16, 8))', 14)
    [Span(start=11, end=25, text='[0, 1, 0 p(4)]', shape='16,8')]
    """
    first = max(0, at - EXPLORER_TEXT)
    near, place = text[first : at + EXPLORER_TEXT], at - first
    quoted = [one for one in _in_quotes(near, place) if len(one.text) <= EXPLORER_TEXT]
    found = {(start, end) for start, end in _spans(near, language) if start <= place <= end}
    smallest = sorted(found, key=lambda span: span[1] - span[0])[:EDITOR_CANDIDATES]
    spans = [
        Span(start, end, _whole(near[start:end], text, first + start)) for start, end in smallest
    ]
    return [
        Span(first + one.start, first + one.end, one.text, one.shape) for one in (*quoted, *spans)
    ]


def _spans(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield where something may be a layout by its name or by its brackets."""
    ends = pairs(text)
    for match in _WHOLE.finditer(text):
        yield match.span()
    for match in _HEAD.finditer(text):
        if (match[1] or _NAMES.fullmatch(match[2])) and match.end() - 1 in ends:
            yield match.start(), ends[match.end() - 1]
    for start, end in ends.items():
        colon = _COLON.match(text, end) if text[start] == "(" else None
        if colon is None or (language == "python" and not _is_said(text, start)):
            continue
        swizzle = _SWIZZLE.search(text, max(0, start - 60), start)
        begin = start if swizzle is None else swizzle.start()
        stop = ends.get(colon.end(), 0) if text[colon.end() - 1] in ": \n" else colon.end()
        if stop and not _NOT_CUTE.search(text, max(0, begin - 9), begin):
            yield begin, stop


def _is_said(text: str, at: int) -> bool:
    """Whether a place in Python stands in a comment or in quotes on its line."""
    before = _QUOTED.sub("", text[text.rfind("\n", 0, at) + 1 : at])
    return any(sign in before for sign in "#\"'")


def _in_quotes(text: str, at: int) -> Iterator[Span]:
    """Yield the text in quotes around a place, with the shape beside it."""
    first, last = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    for match in _QUOTED.finditer(text, first, len(text) if last < 0 else last):
        if match.start() <= at < match.end():
            beside = _BESIDE.match(text, match.end())
            sizes = "" if beside is None else beside["sizes"] or beside["text"]
            shape = ",".join(re.findall(r"\w+", sizes.replace("x", ",")))
            if shape or (_SURE.search(match[2]) and ("->" not in match[2] or "<" in match[2])):
                yield Span(*match.span(2), match[2], shape)


def _whole(span: str, text: str, at: int) -> str:
    """Return a part of a text with the meaning of its aliases, such as ``#blocked = …``, in place.

    That is the last one before the place: each program in a file defines its own.
    """

    def meaning(alias: str) -> str | None:
        head = f"{alias} = "
        before = text.rfind(f"\n{head}", 0, at + len(head)) + 1
        start = before + len(head)
        is_there = text.startswith(head, before)
        return text[start : start + EXPLORER_TEXT].partition("\n")[0] if is_there else None

    return expanded(span, meaning, EXPLORER_TEXT)


class Suspect(NamedTuple):
    """A span of which a warning may be due, and how often the same stands in the text."""

    span: Span
    #: how a warp loads it, or ``statement`` of MLIR that moves elements; empty if padding is asked
    #: about.
    access: str
    places: int


_TILED: Final = re.compile(
    rf"{_ARRAY}\{{[^{{}}\n]*?T\([^{{}}\n]*+\}}|memref<[^<>\n]*#tpu\.tiled<[^<>\n]*>[^<>\n]*>|"
    r"(?P<quoted>[\"'`]\[[^\"'`\n]*p\([^\"'`\n]*[\"'`])"
)
_RESULT: Final = re.compile(r"\s*(?:ROOT )?%?[\w.-]+ = (?!.*?[a-z][\w-]*\()")
_IS_HLO: Final = re.compile(
    r"HloModule|^[ \t]*+(?:ROOT )?%?[\w.-]++ = \(?[a-z0-9]++\[", re.MULTILINE
)
_FUSED: Final = re.compile(r"\bkind=k\w+, calls=%?([\w.-]+)")
_COMPUTATION: Final = re.compile(r"^%?([\w.-]+) [^\n]*\{\n(?:[^}\n][^\n]*\n)*+\}", re.MULTILINE)
_SHARED: Final = re.compile(
    r"memref<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*#gpu\.address_space<workgroup>>"
)
_MOVE: Final = re.compile(
    r"(?P<name>\b(?:ttg|triton_gpu)\.(?:local_(?:load|store|alloc)|async_copy_\w+))\b[^\n]{0,2000}"
)
_MODULE: Final = re.compile(r"^[ \t]*+module\b[^\n]{0,2000}", re.MULTILINE)
STATEMENT: Final = "statement"
"""The question about a statement of MLIR: how it moves elements."""


def questions(text: str) -> list[Suspect]:
    """Return what warnings are asked about: each text once, where it stands first.

    Padding is asked about where tiles are written. In HLO these are results of instructions that
    no fusion holds, for others do not lie in memory. Conflicts are asked about where the text says
    what lies in shared memory and, in TTGIR, which lanes move it.
    """
    found: dict[tuple[str, str, str], Suspect] = {}
    for span, access in (*_padded(text), *_shared(text), *_moved(text)):
        key = span.text, span.shape, access
        first = found.get(key, Suspect(span, access, 0))
        found[key] = first._replace(places=first.places + 1)
        if len(found) >= EDITOR_QUESTIONS:
            break
    return [*found.values()]


def _padded(text: str) -> Iterator[tuple[Span, str]]:
    is_hlo = _IS_HLO.search(text, 0, 1 << 16) is not None
    fused = {*_FUSED.findall(text)} if is_hlo else set()
    inside = [m.span() for m in _COMPUTATION.finditer(text) if m[1] in fused] if fused else []
    k = 0
    for match in _TILED.finditer(text):
        start, end = match.span()
        while k < len(inside) and inside[k][1] <= start:
            k += 1
        if match["quoted"]:
            for one in _in_quotes(text[start : end + 100], 1):
                if one.shape:
                    yield Span(start + 1, end - 1, one.text, one.shape), ""
            continue
        line = text.rfind("\n", max(0, start - EXPLORER_TEXT), start) + 1
        is_inside = k < len(inside) and inside[k][0] <= start
        if not is_hlo or (
            not is_inside and start - line < EXPLORER_TEXT and _RESULT.match(text, line, start)
        ):
            yield Span(start, end, match[0]), ""


def _shared(text: str) -> Iterator[tuple[Span, str]]:
    for match in _SHARED.finditer(text):
        yield Span(*match.span(), _whole(match[0], text, match.start())), "column"


def _moved(text: str) -> Iterator[tuple[Span, str]]:
    """Yield moves between registers and shared memory in TTGIR, with what the module says."""
    module = _MODULE.search(text, 0, 1 << 16)
    head = "" if module is None else f"{module[0]}\n"
    for match in _MOVE.finditer(text):
        line = _whole(match[0], text, match.start())
        yield Span(*match.span("name"), f"{head}{line}\n"), STATEMENT
