"""CuTe's text: ``((4,2),8):((1,16),4)``, with ``_4`` for static integers; and in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from morello_layouts.core.description import (
    Description,
    Dimension,
    Part,
    amount,
    count,
    dimensions,
    memory_axes,
)
from morello_layouts.core.expr.sizes import SizeExpr
from morello_layouts.core.layout import ELEMENT_BITS, nearest_type
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import CUTE_LEAVES, NESTED_TUPLES
from morello_layouts.errors import LayoutError, ParseError
from morello_layouts.notations.cute.layout import MODE, CuteLayout, ScaledBasis, Static
from morello_layouts.notations.cute.swizzle import ComposedLayout, Swizzle
from morello_layouts.notations.grammar import Source, Syntax, Terminal, integer
from morello_layouts.notations.text import ABSENT, Note, Rule, Sign, field, made, many, word

_SYNTAX: Final = Syntax(
    form="a CuTe layout is sizes:strides, nested alike, as in ((4,2),8):((1,16),4)",
    example="write for example (4,2):(1,4), or (_4,_2):(_1,_4) for static integers",
)

_SWIZZLED: Final = replace(
    _SYNTAX,
    form="a swizzle comes before a layout: Sw<B,M,S> o offset o layout, in elements; or in bytes "
    "Sw<B,M,S> o smem_ptr[16b](unset) o layout",
    example="write for example Sw<3,3,3> o 0 o (8,64):(64,1)",
)

_SWIZZLE: Final = Terminal("a swizzle", r"Swizzle|Sw|S(?=\s*<)")
_INTEGER: Final = Terminal("an integer", "-?[0-9]+")
_NAME: Final = Terminal("a name", "[A-Za-z][A-Za-z0-9_]*")

_OPEN: Final = Terminal("'?'", r"\?(?:\{[^{}]*\})?")
# What CuTe prints before the layout of a tensor, or of none; it says nothing of the offsets.
_BEFORE_LAYOUT: Final = regex(
    r"\s*(?:Layout\s*:|(?:tensor<\s*)?(?:raw_ptr|[gsr]?(?:mem_)?ptr|tmem_ptr)[^\s:]*?[(<\[]"
    r"[^()]*?[\])>]\S*?(?:\([^()]*\))?\s+o\s)"
)
# A pointer with a swizzle of addresses, as CuTe prints it in C++ and in Python.
_THREE: Final = r"\s*[0-9]{1,2}\s*,\s*[0-9]{1,2}\s*,\s*[0-9]{1,2}\s*"
_SWIZZLED_POINTER: Final = regex(
    rf"\s*(?:Sw<(?P<cpp>{_THREE})>_smem_ptr\[(?P<bits>[0-9]+)b\]\((?P<at>0x[0-9a-fA-F]{{1,16}})\)|"
    rf"tensor<\s*ptr<(?P<type>\w+),[^<>]*?(?:align<(?P<align>[0-9]+)>)?[^<>]*?S<(?P<py>{_THREE})>\s*>)"
    r"\s*o\s"
)
# A swizzle before a layout as Python packages print it.
_CALLED: Final = regex(rf"\s*\(?Swizzle\(({_THREE})\)\)?\s+o\s+\((.*)\)\s*")

_NO_NAME: Final = regex(r"d[0-9]+|p")

_MODES: Final = many(
    made(
        lambda mode: MODE(mode, "", ("mode",)),
        Sign("@", "'@'", "@", quiet=True),
        field("mode", word(Terminal("the number of a mode", "[0-9]+"), integer)),
    )
)


def _nested(source: Source, note: Note | None = None, _: bool = True) -> Any:
    """Read nested tuples of integers, names and scaled basis elements."""
    if note:
        note.mark(source.at)
    if source.take("("):
        return tuple(source.series(lambda: _nested(source), ")", least=1, trailing=True))
    value = _leaf(source)
    while isinstance(value, int | SizeExpr) and source.take("*", optional=True):
        at, factor = source.at, _leaf(source)
        if isinstance(factor, ScaledBasis):
            raise _SYNTAX.error("expected a size", _SYNTAX.example, source.text, at)
        value = value * factor  # a product of sizes, such as N*K
    return value


def _leaf(source: Source) -> Any:
    static = source.take("_")
    leaf = source.need(_INTEGER) if static else source.need(_INTEGER, _NAME, _OPEN)
    if leaf.kind is _OPEN:
        sizes, colon, strides = source.text[: leaf.start].partition(":")
        return SizeExpr.named(f"S{strides.count('?')}" if colon else f"N{sizes.count('?')}")
    if leaf.kind is _NAME:
        if _NO_NAME.fullmatch(leaf):
            what = f"expected a name such as M, got {leaf}, which is a coordinate or an offset"
            raise _SYNTAX.error(what, _SYNTAX.example, source.text, leaf.start)
        return SizeExpr.named(str(leaf))
    value = integer(leaf, source.text)
    value = Static(value) if static else value
    path = _MODES.read(source, None, False)
    return ScaledBasis(value, path[::-1]) if path else value


def _offset(source: Source, note: Note | None, _: bool) -> Any:
    """Read what stands between a swizzle and its layout, with the sign behind it."""
    if source.text.startswith("(", source.at):  # CuTe leaves out an offset of 0
        return {"offset": Static(0)}
    found = _number_or_pointer(source, note)
    if found is not ABSENT:
        source.need("o")
    return found


def _number_or_pointer(source: Source, note: Note | None) -> Any:
    pointer = _POINTER.read(source, note, False)
    if pointer is not ABSENT:
        return pointer
    static = source.take("_")
    number = source.need(_INTEGER) if static else source.take(_INTEGER)
    if number is None:
        return ABSENT
    value = integer(number, source.text)
    return {"offset": Static(value) if static else value}


def _composed(swizzles: tuple[dict[str, Any], ...], layout: CuteLayout) -> Any:
    found: CuteLayout | ComposedLayout = layout
    for k, own in reversed([*enumerate(swizzles)]):
        try:
            found = ComposedLayout(own["swizzle"], layout=found, **own["middle"])
        except LayoutError as error:
            error.part = (
                "swizzles",
                k,
                *(("middle", "bits") if error.part == ("bits",) else ("swizzle",)),
            )
            raise
    return found


_NUMBER: Final = word(_INTEGER, integer)
_POINTER: Final = made(
    lambda bits: {"offset": Static(0), "bits": bits},
    *("smem_ptr", "[", field("bits", _NUMBER), "b", "]", "(", "unset", ")"),
)
_BEFORE: Final = made(
    dict,
    field(
        "swizzle",
        made(
            Swizzle,
            *(_SWIZZLE, "<", field("bits", _NUMBER), ",", field("base", _NUMBER), ","),
            *(field("shift", _NUMBER), ">"),
        ),
    ),
    "o",
    field("middle", Rule(_offset)),
)
_PLAIN: Final = made(
    CuteLayout,
    field("shape", Rule(_nested)),
    field("stride", ":", Rule(_nested), default=None),
)
_LAYOUT: Final = made(
    _composed, field("swizzles", many(_BEFORE), default=()), field("layout", _PLAIN)
)


def parse_cute(text: str) -> CuteLayout | ComposedLayout:
    """Parse a layout as CuTe prints it, with any swizzles before it.

    Names stand for dynamic integers: ``(M,K):(K,1)``. So does ``?``: sizes are then N0, N1, … and
    strides S0, S1, …, until a shape beside the layout says the sizes.
    """
    _limit(text)
    if (called := _CALLED.fullmatch(text)) is not None:
        text = f"Sw<{called[1]}> o {called[2]}"
    if (pointer := _SWIZZLED_POINTER.match(text)) is not None:
        text = _of_pointer(text, pointer)
    before = _BEFORE_LAYOUT.match(text)
    if before is not None:
        inner = text[before.end() :]
        if "tensor<" in before[0]:
            inner = re.sub(r">(\s*)\Z", r" \1", inner)
        text = " " * before.end() + inner
    found: CuteLayout | ComposedLayout
    found = _LAYOUT.parse(text, _SWIZZLED if "<" in text else _SYNTAX, r"\s*")
    return found


def _of_pointer(text: str, found: re.Match[str]) -> str:
    """Return a layout behind a swizzled pointer as one whose buffer begins at address 0.

    The swizzle is one of addresses, so the buffer must begin where its pattern does.
    """
    numbers = [int(n) for n in (found["cpp"] or found["py"]).split(",")]
    period = 1 << sum(numbers)
    begins = int(found["at"], 16) if found["at"] else int(found["align"] or 1)
    if sum(numbers) > 32 or begins % period:
        raise ParseError(
            f"the address: expected a multiple of {period} bytes",
            "a swizzle of a pointer changes bits of the address, not of the offset",
            f"align the buffer to {period} bytes",
            text=text,
            position=found.start() + len(found[0]) - len(found[0].lstrip()),
            reached=len(text),
        )
    element = nearest_type(found["type"]) if found["type"] else None
    bits = found["bits"] or (element and ELEMENT_BITS[element])
    if bits is None:
        raise _SYNTAX.error(f"{found['type']} is not a type known here", _SYNTAX.example, text, 0)
    layout = text[found.end() :]
    layout = re.sub(r">\s*\Z", "", layout) if found["type"] else layout
    return f"Sw<{','.join(map(str, numbers))}> o smem_ptr[{bits}b](unset) o {layout}"


def parse_plain(text: str) -> CuteLayout:
    found = parse_cute(text)
    if isinstance(found, CuteLayout):
        return found
    raise ParseError(
        "expected a layout without a swizzle",
        "a swizzle changes bits of offsets, which sizes and strides do not say",
        "give the layout after the last o",
        text=text,
        position=len(text) - len(text.lstrip()),
    )


def _limit(text: str) -> None:
    """Refuse text that is deeper or longer than any layout, before the grammar reads it."""
    if text.count("(") <= NESTED_TUPLES and text.count(",") + text.count("@") <= CUTE_LEAVES:
        return
    depth = commas = modes = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        commas = 0 if character == ":" else commas + (character == ",")
        modes = 0 if character == "," else modes + (character == "@")
        for found, most, what in (
            (depth, NESTED_TUPLES, "parentheses inside each other"),
            (commas, CUTE_LEAVES, "sizes or strides"),
            (modes, CUTE_LEAVES, "modes of a stride"),
        ):
            if found > most:
                raise ParseError(
                    f"expected at most {most} {what}",
                    _SYNTAX.form,
                    _SYNTAX.example,
                    text=text,
                    position=position,
                    reached=position,
                )


# ---- words


def describe(
    layout: CuteLayout | ComposedLayout,
    sizes: Sequence[int] | None = None,  # noqa: ARG001
) -> Description:
    """Say what each swizzle, size and stride means."""
    dims = dimensions(layout.sizes)
    parts, plain = list[Part](), layout
    while isinstance(plain, ComposedLayout):
        parts.append(Part(str(plain.swizzle), plain.words))
        if plain.offset:
            parts.append(Part(str(plain.offset), "added to the offset before the swizzle"))
        plain = plain.layout
    pairs = zip(plain.modes, dims, strict=True)
    parts += (part for mode, dim in pairs for part in _parts(mode, dim))
    axes = () if plain is not layout else memory_axes(layout.recipe(layout.sizes), dims)
    modes, kind = count(plain.rank, "mode"), "CuTe layout"
    headline = f"{modes}, {amount(plain.size)} elements in {amount(plain.cosize)} slots"
    if isinstance(layout, ComposedLayout):
        kind = "CuTe layout with a swizzle"
    return Description(str(layout), kind, headline, dims, tuple(parts), axes)


def _parts(mode: CuteLayout, dim: Dimension) -> list[Part]:
    """Each size of a mode with its stride: a digit of the coordinate, the fastest first."""
    found, unit = list[Part](), 1
    for size, stride in mode.leaves:
        if size == mode.size:
            what = f"all {amount(size)} of {dim.name}"
        else:
            things = (
                _count(size, "neighbour") if unit == 1 else f"{_count(size, 'block')} of {unit}"
            )
            what = f"{things} along {dim.name}"
        slots = _count(stride, "slot") if "@" not in str(stride) else stride  # @: a coordinate
        where = f"{slots} apart" if stride != 0 else "in one slot"
        found.append(Part(f"{size}:{stride}", f"{what}, {where}"))
        unit = size * unit
    return found


def _count(n: Any, noun: str) -> str:
    return count(n, noun) if isinstance(n, int) else f"{n} {noun}s"
