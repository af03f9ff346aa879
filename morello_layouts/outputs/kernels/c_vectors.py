"""Vector code in C: the head of a kernel's file, and the helpers that run micro-kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from itertools import product
from math import log2
from textwrap import wrap
from typing import Final, Literal, NamedTuple, TypeAlias

from morello_layouts.core.expr.sizes import Int
from morello_layouts.core.lazy import regex
from morello_layouts.outputs.kernels.nests import (
    CACHE_LINE,
    Deinterleave,
    Interleave,
    LargeTransposition,
    Levels,
    MicroKernel,
    Transposition,
    offsets,
)

# A function that returns the text of a number, and hoists its computation if it needs one.
Hoist: TypeAlias = Callable[[Int], str]

_WORD: Final = regex(r"\w+")
_PARAMETERS: Final = "size_t n0, size_t s0, size_t n1, size_t s1, size_t s2"
_NAMES: Final = "n0, s0, n1, s1, s2"


# The names that a part of the head defines: macros, types, and functions.
_DEFINED: Final = regex(
    r"^#define (?!__)(\w+)|^typedef .*?(\w+)(?: __attribute__.*)?;"
    r"|^RELAYOUT_(?:INLINE|CALLED) .*?(\w+)\(",
    re.MULTILINE,
)


@cache
def _head_parts() -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the parts of the head, and the names that each defines; none if all files need it."""
    text = files("morello_layouts.outputs.kernels").joinpath("relayout.h").read_text("utf-8")
    parts = re.split(r"\n\n(?=\S)", text.rstrip("\n"))
    return tuple((part, frozenset(filter(None, sum(_DEFINED.findall(part), ())))) for part in parts)


def head_text(body: str) -> str:
    """Return the head of a file: the macros, vector types and copies of runs that its text names.

    >>> head_text("RELAYOUT_LEAST(n, 8)").splitlines()[-1]
    '#define RELAYOUT_LEAST(a, b) ((a) < (size_t)(b) ? (a) : (size_t)(b))'
    >>> "relayout_strip" in head_text("RELAYOUT_LEAST(n, 8)")
    False
    """
    names, kept = set(_WORD.findall(body)), list[str]()
    for part, defined in reversed(_head_parts()):  # a part names only parts before it
        if not defined or defined & names:
            kept.append(part)
            names.update(_WORD.findall(part))
    return "\n\n".join(reversed(kept)) + "\n"


_ABOUT: Final = {
    "zip": "Interleave {rows} rows of {width} bytes, whose places are levels, into one run.",
    "unzip": "Distribute one run over {rows} rows of {width} bytes, whose places are levels.",
    "transpose": "Transpose each 16 bytes of {rows} units to {rows} rows, whose places are\n"
    "   levels, and which are lines of the target if they go past the caches.",
    "across": "Transpose 16 bytes of each row to {rows} rows of {width}, whose places are levels.",
}


class Helper(NamedTuple):
    """A function in C that moves one block in registers."""

    #: ``"near"`` is a transposition without a staging buffer, ``"across"`` a vector of it,
    #: ``"turn"`` one to a target beyond the caches, ``"tile"`` 64 by 64 bytes of either.
    kind: Literal["zip", "unzip", "transpose", "across", "tile", "near", "turn"]
    element: int  #: bytes of an element.
    rows: int  #: rows that are interleaved; of a transposition those of 16 bytes.
    width: int  #: bytes of a vector.

    @property
    def name(self) -> str:
        """The name of the function.

        >>> Helper("zip", 2, 4, 64).name, Helper("across", 2, 8, 16).name
        ('relayout_zip_2x4_64', 'relayout_across_2_16')
        """
        if self.kind in ("tile", "turn"):
            return f"relayout_{self.kind}_{self.element}"
        rows = f"x{self.rows}" if self.kind in ("zip", "unzip") else ""
        return f"relayout_{self.kind}_{self.element}{rows}_{self.width}"

    @property
    def text(self) -> str:
        """The definition of the function, for vectors of its width or less, and for none."""
        if self.kind in ("tile", "near", "turn"):
            name = f"relayout_{self.kind}.h"
            text = files("morello_layouts.outputs.kernels").joinpath(name).read_text("utf-8")
            return text.replace("SIZE", str(self.element)).replace("WIDTH", str(self.width))
        transposes = self.kind in ("transpose", "across")
        body = self._transpose() if transposes else self._interleave()
        row = {"transpose": " size_t row, int past,", "across": " size_t row,"}.get(self.kind, "")
        about = _ABOUT[self.kind].format(rows=self.rows, width=self.width)
        head = (
            f"/* {about} */\n"
            f"RELAYOUT_INLINE void {self.name}(\n    unsigned char *t, const unsigned char *s,"
            f"{row}\n    {_PARAMETERS})\n{{\n"
        )
        head += "    (void)past;\n" if self.kind == "transpose" else ""
        vector = self._merged(body) if self.merges else self._rounds(body)
        return f"{head}{vector}#else\n{body.scalar}#endif\n}}\n"

    @property
    def merges(self) -> bool:
        """Whether each vector is picked from all rows: their number is not a power of two."""
        return self.rows & (self.rows - 1) != 0

    def _interleave(self) -> _Body:
        _, element, rows, width = self
        n, inverse = width // element, self.kind == "unzip"
        run = [f"k * {rows} + {r} * RELAYOUT_WIDTH" for r in range(rows)]
        apart = [f"RELAYOUT_AT({r}, {_NAMES}) + k" for r in range(rows)]
        loads, stores = (run, apart) if inverse else (apart, run)
        row, item = f"RELAYOUT_AT(r, {_NAMES}) + i * {element}", f"(i * {rows} + r) * {element}"
        i, r = (f"for (size_t {k} = 0; {k} < {m}; {k}++)" for k, m in (("i", n), ("r", rows)))
        loops, to, of = ((r, i), row, item) if inverse else ((i, r), item, row)
        return _Body([f"s + {at}" for at in loads], stores, _scalar(loops, to, of, element))

    def _transpose(self) -> _Body:
        kind, element, across, width = self
        direct = kind == "across"
        loads = [
            f"s + (k / {element} + {i}) * row" if direct else f"s + {i} * row + k"
            for i in range(across)
        ]
        stores = [f"RELAYOUT_AT({i}, {_NAMES}) + k" for i in range(across)]
        loops = (
            f"for (size_t x = 0; x < {across}; x++)",
            f"for (size_t y = 0; y < {width // element}; y++)",
        )
        place = "y * row" if direct else f"y % {across} * row + y / {across} * 16"
        target = f"RELAYOUT_AT(x, {_NAMES}) + y * {element}"
        return _Body(loads, stores, _scalar(loops, target, f"{place} + x * {element}", element))

    def _rounds(self, body: _Body) -> str:
        """Return rounds of shuffles: each interleaves pairs of vectors, or undoes that."""
        kind, element, rows, width = self
        widths = [w for w in (64, 32, 16) if element < w <= width]
        text = [f"#if RELAYOUT_VECTOR >= {widths[-1]}"]
        for k, w in enumerate(widths):
            if len(widths) > 1:
                last = w == widths[-1]
                text.append("#else" if last else f"#{'el' * (k > 0)}if RELAYOUT_VECTOR >= {w}")
            text.append(f"#define RELAYOUT_WIDTH {w}")
            for name, picks in zip(("LOW", "HIGH"), self._picks(w), strict=True):
                shuffle = f"__builtin_shufflevector(a, b, {', '.join(map(str, picks))})"
                text.append(" \\\n    ".join(wrap(f"#define RELAYOUT_{name}(a, b) {shuffle}", 94)))
            if kind == "across":
                text.append(f"#define RELAYOUT_ROWS relayout_rows_{w}")
        text += ["#endif"] * (len(widths) > 1)
        loads = [f"memcpy(&a0_{r}, {at}, RELAYOUT_WIDTH);" for r, at in enumerate(body.loads)]
        if kind == "across":
            parts = [f"RELAYOUT_ROWS({at}, {rows} * row)" for at in body.loads]
            loads = [f"a0_{r} = (vector){part};" for r, part in enumerate(parts)]
        inner = [f"vector {', '.join(f'a0_{r}' for r in range(rows))};", *_flow(loads)]
        rounds = int(log2(rows))
        for k, i in product(range(rounds), range(rows // 2)):
            whole, halves = (2 * i, 2 * i + 1), (i, i + rows // 2)
            before, after = (whole, halves) if kind == "unzip" else (halves, whole)
            pair = ", ".join(f"a{k}_{r}" for r in before)
            low, high = (f"a{k + 1}_{r}" for r in after)
            inner.append(
                f"const vector {low} = RELAYOUT_LOW({pair}), {high} = RELAYOUT_HIGH({pair});"
            )
        stores = enumerate(body.stores)
        write = "memcpy({}, &{}, RELAYOUT_WIDTH);"
        if kind == "transpose" and width == CACHE_LINE:
            write = "RELAYOUT_WRITE({}, {}, past);"
        inner += _flow([write.format(f"t + {at}", f"a{rounds}_{r}") for r, at in stores])
        kept = "#undef RELAYOUT_WIDTH\n#undef RELAYOUT_LOW\n#undef RELAYOUT_HIGH\n"
        return (
            "\n".join(text) + f"\n{_vector_type(element, 'RELAYOUT_WIDTH')}"
            f"    for (size_t k = 0; k < {width}; k += RELAYOUT_WIDTH) {{\n"
            + "".join(f"        {line}\n" for line in inner)
            + f"    }}\n{kept}{'#undef RELAYOUT_ROWS' + chr(10) if kind == 'across' else ''}"
        )

    def _picks(self, width: int) -> tuple[list[int], list[int]]:
        """Return the picks of the two shuffles of a round."""
        kind, element, across, _ = self
        if kind == "zip":
            return _pairs(element, width)
        if kind == "unzip":
            odd = (list(range(k, 2 * width // element, 2)) for k in (0, 1))
            first, second = (_words(picks, element) for picks in odd)
            return first, second
        n = width // element
        first, second = (
            [
                (x if x < across else x - across + n) + lane
                for lane in range(0, n, across)
                for x in chosen
            ]
            for chosen in _pairs(element, 16)
        )
        return first, second

    def _merged(self, body: _Body) -> str:
        """Return the shuffles of rows not a power of two in number; for less, a call of two."""
        _, element, rows, width = self
        inverse, half = self.kind == "unzip", width // 2
        text = f"#if RELAYOUT_VECTOR >= {width}\n{_vector_type(element, str(width))}"
        text += f"    enum {{ RELAYOUT_WIDTH = {width}, k = 0 }};\n"
        for r, at in enumerate(body.loads):
            text += f"    vector a0_{r};\n    memcpy(&a0_{r}, {at}, {width});\n"
        text += _merges(rows, width // element, element, inverse=inverse)
        for r, at in enumerate(body.stores):
            text += f"    memcpy(t + {at}, &a{rows - 1}_{r}, {width});\n"
        if half >= 16 and half > element:
            below, far = self._replace(width=half).name, rows * half
            second = f"t + {half}, s + {far}" if inverse else f"t + {far}, s + {half}"
            text += (
                f"#elif RELAYOUT_VECTOR > 0\n    {below}(t, s, {_NAMES});\n"
                f"    {below}({second}, {_NAMES});\n"
            )
        return text


class _Body(NamedTuple):
    """What a helper loads, the places in the target, and its body without vectors."""

    loads: Sequence[str]
    stores: Sequence[str]
    scalar: str


def _flow(statements: Sequence[str]) -> list[str]:
    """Return lines of as many statements as fit."""
    lines = [""]
    for one in statements:
        if lines[-1] and len(lines[-1]) + len(one) > 90:
            lines.append("")
        lines[-1] += f" {one}" if lines[-1] else one
    return lines


def _vector_type(element: int, width: str) -> str:
    kind = f"uint{8 * min(element, 8)}_t"
    return f"    typedef {kind} vector __attribute__((vector_size({width})));\n"


def _pairs(element: int, width: int) -> tuple[list[int], list[int]]:
    """Return the picks that interleave the first, and the second halves of two vectors."""
    n = width // element
    low = [x for i in range(n // 2) for x in (i, n + i)]
    return _words(low, element), _words([x + n // 2 for x in low], element)


def _words(picks: list[int], element: int) -> list[int]:
    """Return picks of elements of 16 bytes as picks of their halves."""
    return [2 * x + k if x >= 0 else x for x in picks for k in (0, 1)] if element == 16 else picks


def _merges(rows: int, n: int, element: int, *, inverse: bool) -> str:
    """Return the shuffles that pick each vector of n elements from one row after the other."""
    lines = []
    for r in range(rows):
        items = [r * n + j if not inverse else j * rows + r for j in range(n)]
        places = [divmod(k, rows)[::-1] if not inverse else divmod(k, n) for k in items]
        for k in range(1, rows):
            old = [j if k > 1 else at if row == 0 else -1 for j, (row, at) in enumerate(places)]
            chosen = [n + at if row == k else x for x, (row, at) in zip(old, places, strict=True)]
            chosen = [x if row <= k else -1 for x, (row, _) in zip(chosen, places, strict=True)]
            before = "a0_0" if k == 1 else f"a{k - 1}_{r}"
            lines.append(_shuffle(f"a{k}_{r}", before, f"a0_{k}", _words(chosen, element)))
    return "".join(lines)


def _shuffle(name: str, a: str, b: str, picks: list[int]) -> str:
    return (
        f"    const vector {name} = __builtin_shufflevector({a}, {b},\n"
        f"        {', '.join(map(str, picks))});\n"
    )


def _scalar(loops: tuple[str, str], target: str, source: str, element: int) -> str:
    """Return the loops that move element by element."""
    outer, inner = loops
    return (
        f"    {outer}\n        {inner}\n            memcpy(t + {target},\n"
        f"                   s + {source}, {element});\n"
    )


def helpers_of(micro: MicroKernel) -> list[Helper]:
    """Return the helpers that a micro-kernel calls, directly or through others; its own last."""
    match micro:
        case Interleave():
            widest = Helper("zip", micro.element, micro.rows, micro.width)
        case Deinterleave():
            widest = Helper("unzip", micro.element, micro.rows, micro.width)
        case Transposition(direct=True, element=element, width=width):
            across = Helper("across", element, 16 // element, width)
            tile = _tile_helpers(element) if width == CACHE_LINE else []
            return [across, *tile, across._replace(kind="near")]
        case Transposition():
            widest = Helper("transpose", micro.element, 16 // micro.element, micro.width)
        case LargeTransposition(element=element):
            return [*(tile := _tile_helpers(element)), tile[-1]._replace(kind="turn")]
        case _:
            return []
    if not widest.merges:
        return [widest]
    return [widest._replace(width=w) for w in (16, 32, 64) if micro.element < w <= micro.width]


def _tile_helpers(element: int) -> list[Helper]:
    transpose = Helper("transpose", element, 16 // element, CACHE_LINE)
    return [transpose, transpose._replace(kind="tile")]


def interleave_call(micro: Interleave | Deinterleave, hoist: Hoist = str) -> str:
    """Return the call that interleaves from ``s0`` to ``t0``, or the other way round."""
    levels = micro.source if isinstance(micro, Interleave) else micro.target
    return f"{helpers_of(micro)[-1].name}(t0, s0, {_levels(levels, hoist)});"


def turn_lines(micro: LargeTransposition, hoist: Hoist = str, *, shared: bool = False) -> list[str]:
    """Return a transposition from ``s0`` to ``t0``, or a thread's share of the columns."""
    rows, columns = hoist(micro.rows), hoist(micro.columns)
    places = [
        f"{n}, {_digits(x, hoist)}" for n, x in ((rows, micro.source), (columns, micro.target))
    ]
    share = f"0, {columns}"
    if shared:
        share = ", ".join(
            f"RELAYOUT_SPLIT({columns}, {part}, parts)" for part in ("part", "part + 1")
        )
    apart = [_apart(levels, hoist) for levels in (micro.source, micro.target)]
    swizzle = ", ".join(map(str, (*micro.swizzle, int(micro.of_source))))
    call = f"{helpers_of(micro)[-1].name}(t0, s0, {', '.join(places)}, {share}, {swizzle});"
    return [
        f"/* Rows of the source become columns: {apart[0]}. */",
        f"/* Its columns become rows: {apart[1]}. */",
        call,
    ]


def _apart(levels: tuple[tuple[Int, Int], ...], hoist: Hoist) -> str:
    """Return how far rows lie apart, in words; of several levels the call takes no last count."""
    *inner, (count, step) = levels
    last = "others" if inner and not isinstance(count, int) else hoist(count)
    texts = [f"{hoist(n)}, {hoist(by)} bytes apart" for n, by in inner]
    return " by ".join([*texts, f"{last}, {hoist(step)} bytes apart"])


def _digits(levels: tuple[tuple[Int, Int], ...], hoist: Hoist) -> str:
    """Return levels as arguments of a turn, whose items may be of any number."""
    if len(levels) == 1:
        return f"0, {hoist(levels[0][1])}, 0, 0, 0"
    (n0, s0), (n1, s1), (_, s2) = (*levels, (1, 0))[:3]
    return ", ".join(map(hoist, (n0, s0, n1, s1, s2)))


def transposition_lines(
    micro: Transposition, hoist: Hoist = str, *, shared: bool = False
) -> list[str]:
    """Return a transposition from ``s0`` to ``t0``, in two steps unless it is direct.

    First the rows are divided into pieces of 16 bytes. A unit of the staging buffer is ``width``
    bytes: the same piece of rows i, i + across, i + 2 across, …, which are the lanes of one vector.
    Then blocks of ``across`` units are transposed within their lanes.
    """
    if micro.direct:
        return _direct_lines(micro, hoist, shared=shared)
    across, lanes, width = 16 // micro.element, micro.width // 16, micro.width
    pieces, groups = micro.columns // across, micro.rows // (across * lanes)
    size, levels = pieces * across * width, _pieces(micro)
    names = [f"piece{k}" if k else "piece" for k in range(len(levels))]
    named = list(zip(names, levels, strict=True))
    heads = [(name, count, "16 bytes of each row") for name, (count, _) in reversed(named)]
    to = "".join(f" + {name} * {hoist(stride)}" for name, (n, stride) in named if n > 1)
    at, group = f"t0{to}", ""
    if groups > 1:
        heads.append(("group", groups, f"{width // micro.element} rows"))
        at, group = f"{at} + group * {width}", f" + group * {size}"
    places = _levels(micro.target, hoist)
    call = f"{helpers_of(micro)[-1].name}({at}, units{group}, {width}, 0, {places});"
    last = sum(count > 1 for count, _ in levels)
    return [
        f"/* {micro.rows} rows of {micro.columns} columns, by way of a staging buffer. */",
        f"_Alignas({width}) unsigned char stage[{groups * size}];",
        *_staging_lines(micro, groups, hoist),
        "const unsigned char *units = stage;",
        *_within(heads, [call], f"units += {across * width};", last),
    ]


def _direct_lines(micro: Transposition, hoist: Hoist, *, shared: bool) -> list[str]:
    """Return the call of a direct transposition, or of a thread's share of the tiles of columns."""
    (_, row), (_, column) = micro.source[0], micro.target[0]
    rows, columns, name = hoist(micro.rows), hoist(micro.columns), helpers_of(micro)[-1].name
    if not shared:
        return [f"{name}(t0, s0, {rows}, {hoist(row)}, {columns}, {hoist(column)});"]
    line = CACHE_LINE // micro.element
    first, end = (
        f"RELAYOUT_SPLIT({columns} / {line}, {part}, parts) * {line}"
        for part in ("part", "part + 1")
    )
    t, s = f"t0 + x * {hoist(column)}", f"s0 + x * {micro.element}"
    return [
        f"const size_t x = {first}, end = part + 1 < parts ? {end} : {columns};",
        f"{name}({t}, {s}, {rows}, {hoist(row)}, end - x, {hoist(column)});",
    ]


def _within(
    loops: Sequence[tuple[str, int, str]], body: list[str], after: str = "", depth: int = 0
) -> list[str]:
    """Return lines within loops of more than one step, and a line at the end of one of them."""
    kept = [loop for loop in loops if loop[1] > 1]
    for k, (name, count, walk) in reversed(list(enumerate(kept, 1))):
        if k == depth:
            body = [*body, after]
        head = f"for (size_t {name} = 0; {name} < {count}; {name}++) {{ /* {walk} */"
        body = [head, *(f"    {line}" for line in body), "}"]
    return body


def _staging_lines(micro: Transposition, groups: int, hoist: Hoist) -> list[str]:
    """Return the copy of a block's rows to the staging buffer."""
    across, lanes, width = 16 // micro.element, micro.width // 16, micro.width
    pieces, lines = micro.columns // across, list[str]()
    listed = len(micro.source) > 1
    if listed:
        places = offsets(micro.source)
        kind = "static const" if all(isinstance(at, int) for at in places) else "const"
        rows = ", ".join(map(hoist, places))
        lines.append(f"{kind} size_t rows[{micro.rows}] = {{{rows}}};")
    of_group = groups > 1
    start = f" + group * {pieces * across * width}" * of_group
    body = [f"unsigned char *units = stage{start} + row * {width};"]
    for lane in range(lanes):
        row = f"group * {across * lanes} + " * of_group + f"{lane * across} + " * (lane > 0) + "row"
        row = f"rows[{row}]" if listed else f"({row}) * {hoist(micro.source[0][1])}"
        body.append(f"const unsigned char *row{lane} = s0 + {row};")
    piece = 0
    while piece < pieces:
        unit = f"units{f' + {piece * across * width}' * (piece > 0)}"
        at = f" + {piece * 16}" * (piece > 0)
        if lanes == 4 and piece + 4 <= pieces:
            from_rows = ", ".join(f"row{lane}{at}" for lane in range(4))
            body.append(f"relayout_lanes({unit}, {across * width}, {from_rows});")
            piece += 4
            continue
        for lane in range(lanes):
            to = f"{unit}{f' + {lane * 16}' * (lane > 0)}"
            body.append(f"memcpy({to}, row{lane}{at}, 16);")
        piece += 1
    others = f"the first of {lanes} lanes; the others are {across} rows apart" if lanes > 1 else ""
    loops = [
        ("group", groups, f"{width // micro.element} rows"),
        ("row", across, others or "each of them"),
    ]
    return lines + _within(loops, body)


def _pieces(micro: Transposition) -> Levels:
    """Return the addresses of the first rows of the target that each piece of 16 bytes becomes."""
    levels, left = list[tuple[int, Int]](), 16 // micro.element
    for count, stride in micro.target:
        step = min(left, count)
        left //= step
        levels.append((count // step, stride * step))
    return tuple(levels)


def _levels(levels: Levels, hoist: Hoist) -> str:
    """Return levels as arguments of a helper, absent ones with a count that none reaches."""
    absent: Levels = ((1 << 20, 0),) * 3
    (n0, s0), (n1, s1), (_, s2) = (*levels, *absent)[:3]
    return f"{n0}, {hoist(s0)}, {n1}, {hoist(s1)}, {hoist(s2)}"
