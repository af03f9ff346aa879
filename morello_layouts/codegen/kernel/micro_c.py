"""The micro-kernels in C: vector extensions of gcc and clang, and plain loops where there are none.

A helper works on rows of 16, 32 or 64 bytes. Where the machine's vectors are shorter, it is two
calls of the helper for half the row. Helpers take constants only and are always inlined, so every
address in them is known when compiling.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import TypeAlias

from morello_layouts.codegen.kernel.micro import (
    Levels,
    Micro,
    Transposition,
    Unzip,
    Zip,
    offsets,
)
from morello_layouts.expr.size import Number

__all__ = ["call", "helper_names", "helper_text", "transposition_lines"]

# What gives the text of a number.
_Say: TypeAlias = Callable[[Number], str]

# Blocks of 16 columns by a vector that the compiler is to unroll, within the caches: each load and
# store then moves by equal steps from block to block, which processors see ahead.
_MOST_UNROLLED = 16

_PARAMETERS = "size_t n0, size_t s0, size_t n1, size_t s1, size_t s2"
_NAMES = "n0, s0, n1, s1, s2"
_HEAD = (
    "RELAYOUT_INLINE void {name}(\n    unsigned char *t, const unsigned char *s, {more}int stream)"
)


def helper_names(micro: Micro) -> list[str]:
    """The helpers that a micro-kernel calls, those that it calls through others included."""
    match micro:
        case Zip() | Unzip():
            kind = "zip" if isinstance(micro, Zip) else "unzip"
            stem = f"relayout_{kind}_{micro.element}x{micro.rows}"
        case Transposition():
            kind = "across" if micro.direct else "transpose"
            stem = f"relayout_{kind}_{micro.element}"
        case _:
            return []
    widths = [w for w in (16, 32, 64) if micro.element < w <= micro.width]
    return [f"{stem}_{w}" for w in widths]


def call(micro: Micro, target: str, source: str, stream: str, say: _Say = str) -> str:
    """The call of a micro-kernel's helper."""
    name = helper_names(micro)[-1]
    match micro:
        case Zip():
            return f"{name}({target}, {source}, {_levels(micro.source, say)}, {stream});"
        case Unzip():
            return f"{name}({target}, {source}, {_levels(micro.target, say)}, {stream});"
    raise AssertionError(micro)


def transposition_lines(micro: Transposition, stream: str, say: _Say = str) -> list[str]:
    """A transposition from ``s0`` to ``t0``, in two steps unless rows are read where they lie.

    First the rows are cut into pieces of 16 bytes. A unit of the stage is ``width`` bytes: the same
    piece of rows i, i + across, i + 2 across, …, which are the lanes of one vector. Then blocks of
    ``across`` units are transposed within their lanes.
    """
    if micro.direct:
        return _direct_lines(micro, stream, say)
    name = helper_names(micro)[-1]
    across, lanes, width = 16 // micro.element, micro.width // 16, micro.width
    pieces = micro.columns // across
    group = pieces * across * width
    far = int(stream == "stream")
    lines = [f"_Alignas({width}) unsigned char stage[{micro.rows // (across * lanes) * group}];"]
    listed = len(micro.source) > 1
    if listed:
        places = offsets(micro.source)
        kind = "static const" if all(isinstance(at, int) for at in places) else "const"
        rows = ", ".join(map(say, places))
        lines.append(f"{kind} size_t rows[{micro.rows}] = {{{rows}}};")
    lines += [
        f"for (size_t g = 0; g < {micro.rows // (across * lanes)}; g++)",
        f"for (size_t i = 0; i < {across}; i++) {{",
        f"    unsigned char *u = stage + g * {group} + i * {width};",
    ]
    # Where strides are in registers, addresses ahead cost as much as they gain, but for 16 bits.
    most = 16 if all(isinstance(stride, int) for _, stride in micro.source) else 4
    for lane in range(lanes):
        row = f"g * {across * lanes} + {lane * across} + i"
        row = f"rows[{row}]" if listed else f"({row}) * {say(micro.source[0][1])}"
        lines.append(f"    const unsigned char *r{lane} = s0 + {row};")
        if micro.ahead != 0 and (far or 1 < micro.element < most):
            ahead = [say(micro.ahead + at) for at in range(0, pieces * 16, 64)]
            lines += [f"    RELAYOUT_AHEAD(r{lane} + {at});" for at in ahead]
    piece = 0
    while piece < pieces:
        unit = f"u + {piece * across * width}"
        if lanes == 4 and piece + 4 <= pieces:
            from_rows = ", ".join(f"r{lane} + {piece * 16}" for lane in range(4))
            lines.append(f"    relayout_lanes({unit}, {across * width}, {from_rows}, {far});")
            piece += 4
            continue
        for lane in range(lanes):
            lines.append(f"    memcpy({unit} + {lane * 16}, r{lane} + {piece * 16}, 16);")
        piece += 1
    lines.append("}")
    levels = _pieces(micro)
    lines.append("const unsigned char *column = stage;")
    lines += _over("j", levels, "unsigned char *t1 = t0", 1, say)
    indent = "    " * len(levels)
    to = _levels(micro.target, say)
    at = f"t1 + g * {width}, column + g * {group}"
    groups = micro.rows // (across * lanes)
    unroll = not far and pieces * groups <= _MOST_UNROLLED
    if unroll:
        lines = [line.replace("for (size_t j", "RELAYOUT_WHOLE for (size_t j") for line in lines]
    lines.append(f"{indent}{'RELAYOUT_WHOLE ' * unroll}for (size_t g = 0; g < {groups}; g++) {{")
    lines.append(f"{indent}    {name}({at}, {width}, {to}, {stream});")
    lines += [f"{indent}    RELAYOUT_KEEP();"] * unroll
    lines += [f"{indent}}}", f"{indent}column += {across * width};"]
    return lines + ["    " * k + "}" for k in reversed(range(len(levels)))]


def _direct_lines(micro: Transposition, stream: str, say: _Say) -> list[str]:
    """Each piece of 16 bytes of all rows, one after the other: rows of the target grow in order.

    The last piece, and the last vector of a row, start early where they do not divide it.
    """
    name, ((rows, row),), ((columns, column),) = helper_names(micro)[-1], micro.source, micro.target
    element, lines = micro.element, list[str]()
    for k, (i, count, unit) in enumerate(
        (("x", columns, 16 // element), ("y", rows, micro.width // element))
    ):
        indent, last = "    " * k, count - unit
        lines.append(f"{indent}for (size_t j{k} = 0; j{k} < {-(-count // unit)}; j{k}++) {{")
        at = f"j{k} * {unit}" if count % unit == 0 else f"RELAYOUT_LEAST(j{k} * {unit}, {last})"
        lines.append(f"{indent}    const size_t {i} = {at};")
    places = f"t0 + x * {say(column)} + y * {element}, s0 + y * {say(row)} + x * {element}"
    to = _levels(((16 // element, column),), say)
    return [*lines, f"        {name}({places}, {say(row)}, {to}, {stream});", "    }", "}"]


def _pieces(micro: Transposition) -> Levels:
    """Where the first rows of the target lie that pieces of 16 bytes of the source become."""
    levels, left = list[tuple[int, Number]](), 16 // micro.element
    for count, stride in micro.target:
        step = min(left, count)
        left //= step
        levels.append((count // step, stride * step))
    return tuple(levels)


def _over(index: str, levels: Levels, start: str, first: int, say: _Say) -> list[str]:
    """Heads of loops over a chain of axes, the slowest outermost, and the pointer within."""
    lines = []
    for k, (count, _) in reversed(list(enumerate(levels, first))):
        indent = "    " * (len(levels) - (k - first) - 1)
        i = f"{index}{k}"
        lines.append(f"{indent}for (size_t {i} = 0; {i} < {count}; {i}++) {{")
    terms = "".join(f" + {index}{k} * {say(stride)}" for k, (_, stride) in enumerate(levels, first))
    return [*lines, f"{'    ' * len(levels)}{start}{terms};"]


def _levels(levels: Levels, say: _Say) -> str:
    absent: Levels = ((1 << 20, 0),) * 3
    (n0, s0), (n1, s1), (_, s2) = (*levels, *absent)[:3]
    return f"{n0}, {say(s0)}, {n1}, {say(s1)}, {say(s2)}"


def helper_text(name: str) -> str:
    """The definition of a helper."""
    kind, *sizes = name.removeprefix("relayout_").split("_")
    width = int(sizes[-1])
    if kind in ("transpose", "across"):
        return _transposition(name, int(sizes[0]), width, direct=kind == "across")
    element, rows = map(int, sizes[0].split("x"))
    return (_zip if kind == "zip" else _unzip)(name, element, rows, width)


def _definition(name: str, more: str, *, vector: str, halves: str, plain: str) -> str:
    width = name.rpartition("_")[2]
    head = _HEAD.format(name=name, more=more)
    parts = [f"{head}\n{{\n#if RELAYOUT_VECTOR >= {width}\n{vector}"]
    if halves:
        parts.append(f"#elif RELAYOUT_VECTOR > 0\n{halves}")
    parts.append(f"#else\n    (void)stream;\n{plain}#endif\n}}\n")
    return "".join(parts)


def _shuffle(name: str, a: str, b: str, picks: list[int], vector: str) -> str:
    chosen = ", ".join(map(str, picks))
    return f"    const {vector} {name} = __builtin_shufflevector({a}, {b},\n        {chosen});\n"


def _type(element: int, width: int) -> str:
    return (
        f"    typedef uint{8 * element}_t vector __attribute__((vector_size({width})));\n"
        if element <= 8
        else f"    typedef relayout_u64_{width} vector;\n"
    )


def _pairs(element: int, width: int) -> tuple[list[int], list[int]]:
    """The picks that interleave the first, and the second halves of two vectors."""
    n = width // element
    low = [x for i in range(n // 2) for x in (i, n + i)]
    return _words(low, element), _words([x + n // 2 for x in low], element)


def _words(picks: list[int], element: int) -> list[int]:
    """Picks of elements of 16 bytes as picks of their halves."""
    return [2 * x + k for x in picks for k in (0, 1)] if element == 16 else picks


def _store(at: str, name: str, width: int) -> str:
    return (
        f"    if (stream) RELAYOUT_STREAM_{width}({at}, {name});\n"
        f"    else memcpy({at}, &{name}, {width});\n"
    )


def _zip(name: str, element: int, rows: int, width: int) -> str:
    text = [_type(element, width)]
    for r in range(rows):
        text.append(f"    vector a0_{r};\n")
        text.append(f"    memcpy(&a0_{r}, s + RELAYOUT_AT({r}, {_NAMES}), {width});\n")
    low, high = _pairs(element, width)
    rounds = int(log2(rows))
    for k in range(rounds):
        for i in range(rows // 2):
            a, b = f"a{k}_{i}", f"a{k}_{i + rows // 2}"
            text.append(_shuffle(f"a{k + 1}_{2 * i}", a, b, low, "vector"))
            text.append(_shuffle(f"a{k + 1}_{2 * i + 1}", a, b, high, "vector"))
    for r in range(rows):
        text.append(_store(f"t + {r * width}", f"a{rounds}_{r}", width))
    half = width // 2
    below = name.removesuffix(str(width)) + str(half)
    halves = (
        f"    {below}(t, s, {_NAMES}, stream);\n"
        f"    {below}(t + {rows * half}, s + {half}, {_NAMES}, stream);\n"
    )
    plain = (
        f"    for (size_t i = 0; i < {width // element}; i++)\n"
        f"        for (size_t r = 0; r < {rows}; r++)\n"
        f"            memcpy(t + (i * {rows} + r) * {element},\n"
        f"                   s + RELAYOUT_AT(r, {_NAMES}) + i * {element}, {element});\n"
    )
    halves = halves if half >= 16 and half > element else ""
    return _definition(name, f"{_PARAMETERS}, ", vector="".join(text), halves=halves, plain=plain)


def _unzip(name: str, element: int, rows: int, width: int) -> str:
    text = [_type(element, width)]
    for r in range(rows):
        text.append(f"    vector a0_{r};\n    memcpy(&a0_{r}, s + {r * width}, {width});\n")
    n = width // element
    even, odd = (_words(list(range(k, 2 * n, 2)), element) for k in (0, 1))
    rounds = int(log2(rows))
    for k in range(rounds):
        for i in range(rows // 2):
            a, b = f"a{k}_{2 * i}", f"a{k}_{2 * i + 1}"
            text.append(_shuffle(f"a{k + 1}_{i}", a, b, even, "vector"))
            text.append(_shuffle(f"a{k + 1}_{i + rows // 2}", a, b, odd, "vector"))
    for r in range(rows):
        text.append(_store(f"t + RELAYOUT_AT({r}, {_NAMES})", f"a{rounds}_{r}", width))
    half = width // 2
    below = name.removesuffix(str(width)) + str(half)
    halves = (
        f"    {below}(t, s, {_NAMES}, stream);\n"
        f"    {below}(t + {half}, s + {rows * half}, {_NAMES}, stream);\n"
    )
    plain = (
        f"    for (size_t r = 0; r < {rows}; r++)\n"
        f"        for (size_t i = 0; i < {width // element}; i++)\n"
        f"            memcpy(t + RELAYOUT_AT(r, {_NAMES}) + i * {element},\n"
        f"                   s + (i * {rows} + r) * {element}, {element});\n"
    )
    halves = halves if half >= 16 and half > element else ""
    return _definition(name, f"{_PARAMETERS}, ", vector="".join(text), halves=halves, plain=plain)


def _transposition(name: str, element: int, width: int, *, direct: bool) -> str:
    across, lanes = 16 // element, width // 16
    text = [_type(element, width)]
    for i in range(across):
        if direct:
            rows = f"relayout_rows_{width}(s + {i} * row, {across} * row)"
            text.append(f"    const vector a0_{i} = (vector){rows};\n")
        else:
            text.append(f"    vector a0_{i};\n    memcpy(&a0_{i}, s + {i} * row, {width});\n")
    low, high = (
        [
            (x if x < across else x - across + width // element) + lane * across
            for lane in range(lanes)
            for x in picks
        ]
        for picks in _pairs(element, 16)
    )
    rounds = int(log2(across))
    for k in range(rounds):
        for i in range(across // 2):
            a, b = f"a{k}_{i}", f"a{k}_{i + across // 2}"
            text.append(_shuffle(f"a{k + 1}_{2 * i}", a, b, low, "vector"))
            text.append(_shuffle(f"a{k + 1}_{2 * i + 1}", a, b, high, "vector"))
    for i in range(across):
        text.append(_store(f"t + RELAYOUT_AT({i}, {_NAMES})", f"a{rounds}_{i}", width))
    half = width // 2
    second = f"{half // element} * row" if direct else str(half)
    below = name.removesuffix(str(width)) + str(half)
    halves = (
        f"    {below}(t, s, row, {_NAMES}, stream);\n"
        f"    {below}(t + {half}, s + {second}, row, {_NAMES}, stream);\n"
    )
    place = "y * row" if direct else f"y % {across} * row + y / {across} * 16"
    plain = (
        f"    for (size_t x = 0; x < {across}; x++)\n"
        f"        for (size_t y = 0; y < {width // element}; y++)\n"
        f"            memcpy(t + RELAYOUT_AT(x, {_NAMES}) + y * {element},\n"
        f"                   s + {place} + x * {element}, {element});\n"
    )
    halves = halves if half >= 16 else ""
    more = f"size_t row, {_PARAMETERS}, "
    return _definition(name, more, vector="".join(text), halves=halves, plain=plain)
