"""Vector code in C: the head of a kernel file, and the interleaving micro-kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Final, TypeAlias

from morello_layouts.expr.sizes import Int
from morello_layouts.kernels.nests import Levels, Micro, Transposition, Unzip, Zip, offsets

PREAMBLE: Final = """\
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(RELAYOUT_INLINE)
#if defined(__GNUC__)
#define RELAYOUT_INLINE static inline __attribute__((always_inline, unused))
#else
#define RELAYOUT_INLINE static inline
#endif
#endif

/* Bytes of a vector: what the target has; 0 without the extensions of gcc 12 or clang. */
#if !defined(RELAYOUT_VECTOR)
#define RELAYOUT_VECTOR 0
#if defined(__GNUC__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#undef RELAYOUT_VECTOR
#if defined(__AVX512BW__)
#define RELAYOUT_VECTOR 64
#elif defined(__AVX2__)
#define RELAYOUT_VECTOR 32
#else
#define RELAYOUT_VECTOR 16
#endif
#endif
#endif
#endif

/* Stores past the caches, for targets larger than they are. */
#if RELAYOUT_VECTOR > 0 && defined(__SSE2__)
#include <immintrin.h>
#define RELAYOUT_FENCE() _mm_sfence()
#define RELAYOUT_STREAM_16(t, v) _mm_stream_si128((__m128i *)(void *)(t), (__m128i)(v))
#define RELAYOUT_STREAM_32(t, v) _mm256_stream_si256((__m256i *)(void *)(t), (__m256i)(v))
#define RELAYOUT_STREAM_64(t, v) _mm512_stream_si512((__m512i *)(void *)(t), (__m512i)(v))
#else
#define RELAYOUT_FENCE() ((void)0)
#define RELAYOUT_STREAM_16(t, v) memcpy((t), &(v), 16)
#define RELAYOUT_STREAM_32(t, v) memcpy((t), &(v), 32)
#define RELAYOUT_STREAM_64(t, v) memcpy((t), &(v), 64)
#endif

#if defined(__GNUC__)
#define RELAYOUT_AHEAD(s) __builtin_prefetch((s), 0, 3)
#else
#define RELAYOUT_AHEAD(s) ((void)0)
#endif

/* A loop after the first is not unrolled, after the second it wholly is; what it moves keeps its
   order where it holds the third. */
#if defined(__GNUC__)
#define RELAYOUT_LOOP _Pragma("GCC unroll 1")
#define RELAYOUT_WHOLE _Pragma("GCC unroll 8")
#define RELAYOUT_KEEP() __asm__ volatile("" ::: "memory")
#else
#define RELAYOUT_LOOP
#define RELAYOUT_WHOLE
#define RELAYOUT_KEEP() ((void)0)
#endif

#define RELAYOUT_LEAST(a, b) ((a) < (size_t)(b) ? (a) : (size_t)(b))

/* What a loop of few vectors that only the call counts is unrolled to. */
#if defined(__clang__)
#define RELAYOUT_UNROLL _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__)
#define RELAYOUT_UNROLL _Pragma("GCC unroll 4")
#else
#define RELAYOUT_UNROLL
#endif

/* How many rows a stride apart the first cache holds beside others. */
#define RELAYOUT_STEP(stride) ((stride) & (0 - (size_t)(stride)))
#define RELAYOUT_PLACES(stride) \\
    (RELAYOUT_STEP(stride) <= 64 ? (size_t)384 \\
     : RELAYOUT_STEP(stride) >= 4096 ? (size_t)6 : 6 * (4096 / RELAYOUT_STEP(stride)))

/* Where a part of n steps starts. */
#define RELAYOUT_SHARE(n, part, parts) ((size_t)(n) * (part) / (parts))

/* Where item i of a chain of at most three axes lies. */
#define RELAYOUT_AT(i, n0, s0, n1, s1, s2) \\
    ((size_t)(i) % (n0) * (s0) + (size_t)(i) / (n0) % (n1) * (s1) \\
     + (size_t)(i) / (n0) / (n1) * (s2))
"""

COPY: Final = """\
/* One load after the other: processors fetch ahead of a load that walks through memory. */
RELAYOUT_INLINE void relayout_strip(unsigned char *t, const unsigned char *s, size_t n)
{
#if RELAYOUT_VECTOR > 0
    if (n % RELAYOUT_VECTOR == 0) {
        RELAYOUT_LOOP
        for (size_t i = 0; i < n; i += RELAYOUT_VECTOR) {
            relayout_vector v;
            memcpy(&v, s + i, RELAYOUT_VECTOR);
            memcpy(t + i, &v, RELAYOUT_VECTOR);
            RELAYOUT_KEEP();
        }
        return;
    }
#endif
    memcpy(t, s, n);
}

RELAYOUT_INLINE void relayout_copy(unsigned char *t, const unsigned char *s, size_t n, int stream)
{
#if RELAYOUT_VECTOR > 0
    if (stream && n % RELAYOUT_VECTOR == 0) {
        for (size_t i = 0; i < n; i += RELAYOUT_VECTOR) {
            relayout_vector v;
            memcpy(&v, s + i, RELAYOUT_VECTOR);
            RELAYOUT_STREAM(t + i, v);
        }
        return;
    }
#endif
    (void)stream;
    if (n <= 2048) relayout_strip(t, s, n);
    else memcpy(t, s, n);
}

/* Padding: items of n bytes, one after the other. */
RELAYOUT_INLINE void relayout_fill(
    unsigned char *t, size_t size, const unsigned char *item, size_t n)
{
    if (n == 1) {
        memset(t, item[0], size);
        return;
    }
    for (size_t i = 0; i < size; i += n) memcpy(t + i, item, n);
}

/* The same for rows whose length only the call says. */
RELAYOUT_INLINE void relayout_copy_row(
    unsigned char *t, const unsigned char *s, size_t n, int stream)
{
#if RELAYOUT_VECTOR > 0
    if (n >= RELAYOUT_VECTOR && n <= 1024 && !stream) {
        relayout_vector v;
        for (size_t i = 0; i < n - RELAYOUT_VECTOR; i += RELAYOUT_VECTOR) {
            memcpy(&v, s + i, RELAYOUT_VECTOR);
            memcpy(t + i, &v, RELAYOUT_VECTOR);
        }
        memcpy(&v, s + n - RELAYOUT_VECTOR, RELAYOUT_VECTOR);
        memcpy(t + n - RELAYOUT_VECTOR, &v, RELAYOUT_VECTOR);
        return;
    }
#endif
    relayout_copy(t, s, n, stream);
}
"""

LANES: Final = """\
/* 64 bytes of four rows, as units of the stage: 16 bytes of each row, a step from unit to unit.
   Shuffles are the faster way within the caches, short loads where rows come from memory. */
RELAYOUT_INLINE void relayout_lanes(
    unsigned char *t, size_t step, const unsigned char *s0, const unsigned char *s1,
    const unsigned char *s2, const unsigned char *s3, int far)
{
#if RELAYOUT_VECTOR >= 64
    if (!far) {
        relayout_vector a0, a1, a2, a3;
        memcpy(&a0, s0, 64), memcpy(&a1, s1, 64), memcpy(&a2, s2, 64), memcpy(&a3, s3, 64);
        const relayout_vector
            b0 = __builtin_shufflevector(a0, a1, 0, 1, 2, 3, 8, 9, 10, 11),
            b1 = __builtin_shufflevector(a0, a1, 4, 5, 6, 7, 12, 13, 14, 15),
            b2 = __builtin_shufflevector(a2, a3, 0, 1, 2, 3, 8, 9, 10, 11),
            b3 = __builtin_shufflevector(a2, a3, 4, 5, 6, 7, 12, 13, 14, 15),
            c0 = __builtin_shufflevector(b0, b2, 0, 1, 4, 5, 8, 9, 12, 13),
            c1 = __builtin_shufflevector(b0, b2, 2, 3, 6, 7, 10, 11, 14, 15),
            c2 = __builtin_shufflevector(b1, b3, 0, 1, 4, 5, 8, 9, 12, 13),
            c3 = __builtin_shufflevector(b1, b3, 2, 3, 6, 7, 10, 11, 14, 15);
        memcpy(t, &c0, 64), memcpy(t + step, &c1, 64);
        memcpy(t + 2 * step, &c2, 64), memcpy(t + 3 * step, &c3, 64);
        return;
    }
#endif
    (void)far;
    for (size_t k = 0; k < 4; k++) {
        memcpy(t + k * step, s0 + k * 16, 16);
        memcpy(t + k * step + 16, s1 + k * 16, 16);
        memcpy(t + k * step + 32, s2 + k * 16, 16);
        memcpy(t + k * step + 48, s3 + k * 16, 16);
    }
}
"""

VECTORS: Final = """\
#if RELAYOUT_VECTOR >= 16
typedef uint64_t relayout_u64_16 __attribute__((vector_size(16)));
#endif
#if RELAYOUT_VECTOR >= 32
typedef uint64_t relayout_u64_32 __attribute__((vector_size(32)));
#endif
#if RELAYOUT_VECTOR >= 64
typedef uint64_t relayout_u64_64 __attribute__((vector_size(64)));
typedef relayout_u64_64 relayout_vector;
#define RELAYOUT_STREAM RELAYOUT_STREAM_64
#elif RELAYOUT_VECTOR >= 32
typedef relayout_u64_32 relayout_vector;
#define RELAYOUT_STREAM RELAYOUT_STREAM_32
#elif RELAYOUT_VECTOR >= 16
typedef relayout_u64_16 relayout_vector;
#define RELAYOUT_STREAM RELAYOUT_STREAM_16
#endif

/* 16 bytes of one, two or four rows, a step from row to row. */
#if RELAYOUT_VECTOR >= 16
RELAYOUT_INLINE relayout_u64_16 relayout_rows_16(const unsigned char *s, size_t step)
{
    relayout_u64_16 a;
    (void)step;
    memcpy(&a, s, 16);
    return a;
}
#endif
#if RELAYOUT_VECTOR >= 32
RELAYOUT_INLINE relayout_u64_32 relayout_rows_32(const unsigned char *s, size_t step)
{
    const relayout_u64_16 a = relayout_rows_16(s, 0), b = relayout_rows_16(s + step, 0);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}
#endif
#if RELAYOUT_VECTOR >= 64
RELAYOUT_INLINE relayout_u64_64 relayout_rows_64(const unsigned char *s, size_t step)
{
#if defined(__AVX512DQ__) /* gcc shuffles registers for what these load into lanes */
    __m512i a = _mm512_castsi128_si512(_mm_loadu_si128((const void *)s));
    a = _mm512_inserti64x2(a, _mm_loadu_si128((const void *)(s + step)), 1);
    a = _mm512_inserti64x2(a, _mm_loadu_si128((const void *)(s + 2 * step)), 2);
    a = _mm512_inserti64x2(a, _mm_loadu_si128((const void *)(s + 3 * step)), 3);
    return (relayout_u64_64)a;
#else
    const relayout_u64_32 a = relayout_rows_32(s, step), b = relayout_rows_32(s + 2 * step, step);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}
#endif
"""

# What gives the text of a number.
_Say: TypeAlias = Callable[[Int], str]

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
    levels, left = list[tuple[int, Int]](), 16 // micro.element
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
