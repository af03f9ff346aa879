"""The text of fragments: ``SM80_16x8x16_F32F16F16F32_TN A``, or CuTe's over a shape; in words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import cache
from math import prod
from os.path import commonprefix
from typing import Final

from morello_layouts.core.checks import shown
from morello_layouts.core.description import (
    Description,
    MemoryAxis,
    Part,
    count,
    dimensions,
    listed,
)
from morello_layouts.core.lazy import regex
from morello_layouts.core.limits import FRAGMENT_PLACES, MAP_TEXT
from morello_layouts.core.recipe import DimDigit, known
from morello_layouts.core.recipe.digits import AxisDigit, axis_text
from morello_layouts.errors import LayoutError, ParseError, UnsupportedError
from morello_layouts.notations.cute.layout import CuteLayout
from morello_layouts.notations.cute.text import parse_plain
from morello_layouts.notations.fragments.instructions import instructions
from morello_layouts.notations.fragments.layout import Axis, FragmentLayout, Instruction
from morello_layouts.notations.fragments.templates import key, templated
from morello_layouts.notations.grammar import integer

_FORM: Final = (
    "a fragment is an instruction and one of its operands, or threads and values over a shape"
)
_EXAMPLE: Final = (
    "write for example SM80_16x8x16_F32F16F16F32_TN A, "
    "or ((4,8),(2,2,2)):((32,1),(16,8,128)) over 16x16; fragments lists all names"
)
# Parts of names that change the arithmetic, and not the fragments.
_IGNORED: Final = regex(
    r"\bcute::|_(?:SATURATE|ANDPOPC|XORPOPC)\b|_|<[^<>]*>|::(?:GMMA|BLOCKSCALED)::(?!SPARSE)(?:(?:MMA|SM\d+)(?=_))?"
    r"|\.(?:satfinite|block_scale|kind::\w+|scale_vec::\w+|(?:and|xor)\.popc|ue8m0|ue4m3)\b"
    r"|\.(?:shared(?:::cta)?|pack::16b|unpack::16b)\b|(?<=gfx1[12])\w\w\b|\bgfx9\w+\s+",
    re.IGNORECASE,
)
# Keys of copies of which no lane of a warp has a part.
_MOVES: Final = regex(r"sm\d+(?:tma|bulkcopy|cpasync|utccp|(?:load|store)256bit)|tcgen05\.cp\b")
_WORDS: Final = regex(r"\s*((?:(?:gfx|[sz]vl)\w+\s+(?:e\d+\s+)?)?\S*)\s*(\S*)\s*(\S*)\s*")
_OVER: Final = regex(r"(.*?)\bover\b", re.DOTALL)
_SHAPE: Final = regex(r"\s*(\d+(?:\s*x\s*\d+)*)\s*")
_ENOUGH: Final = 12
_CANDIDATES: Final = 200
_LONGEST: Final = 80
_TELLING: Final = 4
_WARP: Final = 32
_WAVE64: Final = " wave64"


def parse_fragment(text: str) -> FragmentLayout:
    if len(text) > MAP_TEXT:
        what = f"the text: expected up to {MAP_TEXT:,} characters, got {len(text):,}"
        raise ParseError(what, _FORM, _EXAMPLE, text=text, position=MAP_TEXT, reached=0)
    if over := _OVER.match(text):
        return _over_shape(text, over)
    try:
        own = templated(text)
    except LayoutError as error:
        start = len(text) - len(text.lstrip())
        raise ParseError(error.what, error.why, error.fix, text=text, position=start) from None
    if own:
        rest = text[own[1] :]
        return _layout(own[0], rest.strip(), text, len(text) - len(rest.lstrip()))
    ignored = {i for found in _IGNORED.finditer(text) for i in range(*found.span())}
    at = [i for i in range(len(text)) if i not in ignored]
    squeezed = "".join(text[i] for i in at)
    at.append(len(text.rstrip()))
    words = _WORDS.match(squeezed)
    assert words is not None
    name, operand, wave = words.groups()
    places = [at[words.start(k)] for k in (2, 3)]
    if operand.lower().startswith("wave"):
        operand, wave, places = wave, operand, places[::-1]
    if name.isalpha() and name.lower() not in instructions():  # such as mma m16n8k16 f16 A
        raise _unknown(name.lower(), text.strip(), text, range(len(text)))
    if wave.lower() not in ("", "wave32", "wave64"):
        raise _error(f"expected the end of the text, found {shown(wave)}", text, places[1])
    if words.end() < len(squeezed):
        raise _error("expected the end of the text, found more", text, at[words.end()])
    full = " ".join(name.lower().split()) + (_WAVE64 if wave.lower() == "wave64" else "")
    found = instructions().get(full)
    if found is None and full.endswith(_WAVE64) and full[: -len(_WAVE64)] in instructions():
        raise _error("expected the end of the text, found 'wave64'", text, places[1])
    if found is None:
        written = text[at[words.start(1)] : at[words.end(1)]].strip()
        raise _unknown(full, written, text, at[words.start(1) :])
    return _layout(found, operand, text, places[0])


def instruction_of(text: str) -> Instruction | None:
    """Return the instruction that a text names without an operand, or None."""
    with suppress(LayoutError):
        if own := templated(text):
            return None if text[own[1] :].strip() else own[0]
    return instructions().get(key(text.strip()))


def _error(what: str, text: str, position: int, fix: str = _EXAMPLE) -> ParseError:
    return ParseError(what, _FORM, fix, text=text, position=position, reached=position)


@cache
def _names() -> tuple[list[str], list[str]]:
    """The keys of all instructions in order, and their names."""
    pairs = sorted(instructions().items())
    return [k for k, _ in pairs], [each.name for _, each in pairs]


def _unknown(name: str, written: str, text: str, at: Sequence[int]) -> ParseError:
    if _MOVES.match(name):
        what = f"{shown(written)} has no operand in the registers of lanes"
        why = "it moves bytes from one memory to another, or a thread's own"
        fix = "give the layout in that memory"
        return ParseError(what, why, fix, text=text, position=at[0])
    keys, names = _names()
    near = bisect_left(keys, name)
    length = max(len(commonprefix([name, each])) for each in keys[max(0, near - 1) : near + 1])  # noqa: RUF071  of words
    like = get_close_matches(name[:_LONGEST], _beginning_alike(name[:length]), 3, 0.5)
    like = like or _with_all_parts(written)
    nearest = listed([names[bisect_left(keys, each)] for each in like], "and")
    fix = f"the nearest {'is' if len(like) == 1 else 'are'} {nearest}"
    what = f"no instruction has the name {shown(written)}"
    if name.startswith("vwmma"):
        what = "the generation: expected gfx11 or gfx12 before the name, got none"
        like, fix, length = [name], f"write gfx12 {written}, with the operand after it", 0
    is_word = name.startswith("t") and length < _TELLING  # of another notation, perhaps
    return ParseError(
        what,
        _FORM,
        fix if like else _EXAMPLE,
        text=text,
        position=at[min(length, len(at) - 1)],
        reached=-1 if is_word else None,
    )


def _with_all_parts(text: str) -> list[str]:
    """Three keys that begin with the first part of a text and hold the others, as often as can be.

    >>> _with_all_parts("mma m16n8k16 bf16 A")[0]
    'mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32'
    """
    parts = [part for part in re.split(r"[\s._]+", text[:_LONGEST].lower()) if len(part) > 1]
    found = [each for each in _names()[0] if parts and each.startswith(parts[0])]
    found = [each for each in found if all(part in each for part in parts)]
    return sorted(found, key=lambda each: (-sum(map(each.count, parts)), len(each)))[:3]


def _beginning_alike(prefix: str) -> list[str]:
    """The keys that begin with a text; or with a part of it, as long as they are few."""
    keys, _ = _names()
    found: list[str] = []
    while len(found) < _ENOUGH and prefix:
        first = bisect_left(keys, prefix)
        near = [each for each in keys[first : first + _CANDIDATES] if each.startswith(prefix)]
        if found and len(near) == _CANDIDATES:  # there are more, and these are not the nearest
            break
        found, prefix = near, prefix[:-1]
    return found


def _layout(instruction: Instruction, operand: str, text: str, position: int) -> FragmentLayout:
    """The fragment of an operand, or the error that the operand is missing or unknown."""
    letter = operand or instruction.default or ""
    for name, place in instruction.elsewhere.items():
        if letter.lower() == name.lower():
            raise _error(f"operand {name} of {instruction.name} lies in {place}", text, position)
    operands = instruction.operands()
    found = next((name for name in operands if name.lower() == letter.lower()), None)
    if found is None:
        got = f"got {shown(operand)}" if operand else "got none"
        what = f"operand of {instruction.name}: expected {listed([*operands], 'or')}, {got}"
        raise _error(what, text, position, f"write {instruction.name} {next(iter(operands))}")
    chosen = operands[found]
    return FragmentLayout(
        " ".join(text.split()),
        chosen.shape,
        chosen.axes,
        chosen.element,
        chosen.dims,
        chosen.document,
        f"{found} of a {instruction.words}",
        (instruction.remark,) if instruction.remark else (),
    )


# ---- threads and values over a shape


def _over_shape(text: str, over: re.Match[str]) -> FragmentLayout:
    """A CuTe layout from threads and values to the column-major places of a shape."""
    layout = parse_plain(over[1])
    sizes = _SHAPE.fullmatch(text, over.end())
    if sizes is None:
        position = over.end() + len(text[over.end() :]) - len(text[over.end() :].lstrip())
        raise _error("the shape: expected sizes such as 16x16", text, position)
    shape = tuple(integer(n.strip(), text, sizes.start(1)) for n in sizes[1].split("x"))
    start = len(text) - len(text.lstrip())
    try:
        axes = _axes(layout, shape)
        if prod(axis.size for axis in axes) > FRAGMENT_PLACES:
            raise UnsupportedError(
                f"threads and values: expected up to {FRAGMENT_PLACES:,} places, got more",
                "a fragment is what one instruction reads or writes",
                "give the layout of one instruction",
            )

        def element(thread: int, register: int) -> tuple[int, ...]:
            place, found = int(layout((thread, register))), list[int]()
            for n in shape:
                found.append(place % n)
                place //= n
            return tuple(found)

        dims = ("m", "n", "k") if len(shape) > 2 else ("m", "k")
        words = "threads and values of a CuTe layout"
        return FragmentLayout(
            " ".join(text.split()), shape, axes, None, dims[: len(shape)], element, words
        )
    except LayoutError as error:
        raise ParseError(error.what, error.why, error.fix, text=text, position=start) from None


def _axes(layout: CuteLayout, shape: tuple[int, ...]) -> tuple[Axis, ...]:
    """The lanes and registers of a layout of two modes; warps if there are several."""
    if layout.rank != 2 or not all(isinstance(d, int) for _, d in layout.leaves):
        raise LayoutError(
            f"{layout}: expected two modes, threads and values, with integers as strides",
            "the first mode is the thread, the second one the value that it holds",
            "write for example ((4,8),2):((16,1),8) over 8x8",
        )
    threads, values = (
        [part for n, d in mode.leaves for part in _digits(int(n), int(d), shape, layout)]
        for mode in layout.modes
    )
    register = Axis("register", tuple(reversed(values)))
    lane, warp, room = list[DimDigit](), list[DimDigit](), _WARP
    count = prod(known([digit.radix for digit in threads]))
    if count <= _WARP or count % _WARP:
        return Axis("lane", tuple(reversed(threads))), register
    for digit in threads:
        (size,) = known((digit.radix,))
        own = min(size, room)
        if room % own or size % own:
            raise LayoutError(
                f"{layout}: expected threads in warps of {_WARP}",
                "a part of the threads divides a warp, or is a multiple of it",
                "give the layout of one warp",
            )
        lane.append(DimDigit(digit.dim, digit.unit, own))
        warp.append(DimDigit(digit.dim, digit.unit * own, size // own))
        room //= own
    return Axis("warp", tuple(reversed(warp))), Axis("lane", tuple(reversed(lane))), register


def _digits(n: int, stride: int, shape: tuple[int, ...], layout: CuteLayout) -> Iterator[DimDigit]:
    """The digits of the dimensions that a size and its stride walk over, the fastest first."""
    if stride == 0 or n == 1:
        yield DimDigit(None, 1, n)
        return
    before = 1
    for dim, size in enumerate(shape):
        if before <= stride < before * size and n > 1:
            unit, rest = divmod(stride, before)
            count = min(n, size // unit)
            if rest or size % unit or n % count:
                break
            yield DimDigit(dim, unit, count)
            n, stride = n // count, before * size
        before *= size
    if n > 1:
        raise LayoutError(
            f"{layout}: {n} of stride {stride} do not walk over rows and columns of "
            f"{'x'.join(map(str, shape))}",
            "places are column-major: the first size varies fastest, and each part lies inside",
            "check the shape: A is M by K, B is N by K, C is M by N",
        )


# ---- words

_REGISTER: Final = 32  # bits


def describe(layout: FragmentLayout, sizes: Sequence[int] | None = None) -> Description:
    if sizes is not None:
        layout.recipe(tuple(sizes))
    dims = dimensions(layout.shape, names=layout.dims)
    axes = tuple(_memory_axis(axis, layout) for axis in layout.axes)
    parts = tuple(Part(f"{axis.name}s", _meaning(axis, layout)) for axis in layout.axes)
    return Description(str(layout), "fragment", _headline(layout), dims, parts, axes)


def _memory_axis(axis: Axis, layout: FragmentLayout) -> MemoryAxis:
    digits = tuple(
        AxisDigit(
            digit.dim, unit, radix, None if unit * radix == layout.shape[digit.dim] else radix
        )
        for digit in axis.digits
        if digit.dim is not None and digit.radix != 1
        for unit, radix in [known(digit[1:3])]
    )
    return MemoryAxis(f"{axis.name} {axis_text(digits, layout.dims)}", axis.size, digits)


def _meaning(axis: Axis, layout: FragmentLayout) -> str:
    own = _memory_axis(axis, layout)
    formula = axis_text(own.digits, layout.dims)
    copies = prod(known([digit.radix for digit in axis.digits if digit.dim is None]))
    same = f"; {count(copies, axis.name)} hold the same element" if copies > 1 else ""
    (held,) = known([prod(digit.radix for digit in axis.digits)])
    some = f"; {held} of them hold elements" if held < axis.size else ""
    order = ", the first part slowest" if len(own.digits) > 1 else ""
    return f"{count(axis.size, axis.name)}: {formula}{order}{same}{some}"


def _headline(layout: FragmentLayout) -> str:
    """The operand, its type, and how elements are packed into registers."""
    size = " by ".join(map(str, layout.shape))
    if layout.type is None:
        return f"{layout.words}: {size}"
    names = [axis.name for axis in layout.axes]
    if "path" in names:
        columns = next((axis.size for axis in layout.axes if axis.name == "column"), 1)
        return f"{layout.words}: {size} of {layout.type}, in {count(columns, 'column')} of 32 bits"
    bits, per = layout.type.bits, layout.axes[-1].size
    what = f"{layout.words}: {size} of {layout.type}, {per} in each {layout.axes[-2].name}"
    if names[-1] in ("element", "offset"):  # of vectors, and of partitions
        return what
    if bits >= _REGISTER:
        registers = bits // _REGISTER
        held = "each in a register" if registers == 1 else f"each in {registers} registers"
        return f"{what}, {held} of {_REGISTER} bits"
    return f"{what}, {min(per, _REGISTER // bits)} in a register of {_REGISTER} bits"
