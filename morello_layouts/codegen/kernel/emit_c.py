"""Relayout kernels in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from morello_layouts.codegen.kernel import micro_c
from morello_layouts.codegen.kernel.micro import Copy, Fill, Move, Transposition, Unzip
from morello_layouts.codegen.kernel.moves import Apart, Moves
from morello_layouts.codegen.kernel.plan import WIDEST, Nest, Stage
from morello_layouts.codegen.kernel.text import Text, offset_text

__all__ = ["CFile", "c_file"]

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class CFile:
    """A kernel in parts, so that several can share one file.

    Attributes:
        helpers: names of the micro-kernels it calls.
        function: the functions that are the kernel's own.
    """

    helpers: tuple[str, ...]
    function: str

    def __str__(self) -> str:
        return join([self])


def join(files: Sequence[CFile]) -> str:
    """One file of several kernels."""
    names = dict.fromkeys(name for file in files for name in file.helpers)
    parts = [
        micro_c.PREAMBLE,
        micro_c.VECTORS,
        micro_c.COPY,
        micro_c.FLUSH,
        *(micro_c.helper_text(name) for name in names),
        *(file.function for file in files),
    ]
    return "\n".join(parts)


def c_file(moves: Moves, name: str, comment: str) -> CFile:
    """The kernel as a C function ``void name(void *target, const void *source)``."""
    helpers = [h for nest in moves.nests for h in micro_c.helper_names(nest.micro)]
    body: list[str] = []
    for nest in moves.fills:
        body += _nest_lines(nest, moves)
    for nest in moves.nests:
        body += _nest_lines(nest, moves)
    if moves.apart:
        body += _apart_lines(moves.apart, moves.itemsize)
    inner = "\n".join(_INDENT + line for line in body)
    head = "unsigned char *restrict t, const unsigned char *restrict s"
    lines = [
        f"RELAYOUT_INLINE void {name}_loops(\n    {head}, const int stream)",
        "{",
        f"{_INDENT}(void)t, (void)s, (void)stream;",
        *([inner] if inner else []),
        "}",
        "",
        f"/* {comment} */"
        if "\n" not in comment
        else "/* " + comment.replace("\n", "\n * ") + " */",
        f"void {name}(void *restrict target, const void *restrict source);",
        f"void {name}(void *restrict target, const void *restrict source)",
        "{",
    ]
    if moves.streams:
        lines += [
            f"{_INDENT}if ((uintptr_t)target % {WIDEST} == 0) {{",
            f"{_INDENT * 2}{name}_loops(target, source, 1);",
            f"{_INDENT * 2}RELAYOUT_FENCE();",
            f"{_INDENT * 2}return;",
            f"{_INDENT}}}",
        ]
    lines.append(f"{_INDENT}{name}_loops(target, source, 0);")
    if any(nest.stage for nest in moves.nests):
        lines.append(f"{_INDENT}RELAYOUT_FENCE();")
    lines += ["}", ""]
    return CFile(tuple(dict.fromkeys(helpers)), "\n".join(lines))


def _nest_lines(nest: Nest, moves: Moves) -> list[str]:
    stage = nest.stage
    outside = len(nest.loops) - (stage.loops if stage else 0)
    heads = [
        f"for (size_t i{k} = 0; i{k} < {a.count}; i{k}++) {{" for k, a in enumerate(nest.loops)
    ]
    source = "".join(f" + i{k} * {axis.source}" for k, axis in enumerate(nest.loops))
    terms = [f" + i{k} * {axis.target}" for k, axis in enumerate(nest.loops)]
    s0 = f"const unsigned char *s0 = s + {nest.source}{source};"
    if stage:
        target = f"stage{''.join(terms[outside:])}"
        size = stage.length * prod(count for count, _ in stage.rows)
        buffer = [f"_Alignas({WIDEST}) unsigned char stage[{size}];"]
        flush = _flush_lines(stage, f"t + {nest.target}{''.join(terms[:outside])}")
    else:
        target = f"t + {nest.target}{''.join(terms)}"
        buffer = flush = []
    inner = [] if isinstance(nest.micro, Fill) else [s0]
    inner += [f"unsigned char *t0 = {target};", *_micro_lines(nest, moves)]
    return _looped(heads[:outside], [*buffer, *_looped(heads[outside:], inner), *flush])


def _looped(heads: list[str], body: list[str]) -> list[str]:
    """Lines within loops, or within a block where there is no loop."""
    heads = heads or ["{"]
    lines = [_INDENT * k + head for k, head in enumerate(heads)]
    lines += [_INDENT * len(heads) + line for line in body]
    return lines + [_INDENT * k + "}" for k in reversed(range(len(heads)))]


def _flush_lines(stage: Stage, target: str) -> list[str]:
    heads = [f"for (size_t r{k} = 0; r{k} < {n}; r{k}++) {{" for k, (n, _) in enumerate(stage.rows)]
    to = "".join(f" + r{k} * {stride}" for k, (_, stride) in enumerate(stage.rows))
    size, of = stage.length, "stage"
    for k, (count, _) in enumerate(stage.rows):
        of += f" + r{k} * {size}"
        size *= count
    return _looped(heads[::-1], [f"relayout_flush({target}{to}, {of}, {stage.length});"])


def _micro_lines(nest: Nest, moves: Moves) -> list[str]:
    stream = "stream" if nest in moves.streams else "0"
    match nest.micro:
        case Transposition():
            return micro_c.transposition_lines(nest.micro, stream)
        case Copy(size):
            return [f"relayout_copy(t0, s0, {size}, {stream});"]
        case Move(size):
            return [f"memcpy(t0, s0, {size});"]
        case Fill(size):
            return [_fill_line(size, moves.fill or b"")]
        case Unzip(element, rows, width) if nest.stage:
            micro = Unzip(element, rows, width, ((rows, nest.stage.length),))
            return [micro_c.call(micro, "t0", "s0", "0")]
        case micro:
            return [micro_c.call(micro, "t0", "s0", stream)]


def _fill_line(size: int, pattern: bytes) -> str:
    if len(set(pattern)) == 1:
        return f"memset(t0, {pattern[0]}, {size});"
    values = ", ".join(map(str, pattern))
    n = len(pattern)
    return (
        f"{{ static const unsigned char v[{n}] = {{{values}}}; "
        f"for (size_t j = 0; j < {size}; j += {n}) memcpy(t0 + j, v, {n}); }}"
    )


def _apart_lines(apart: Apart, itemsize: int) -> list[str]:
    coordinates = [Text(f"d{k}") for k in range(len(apart.source.shape))]
    lines = []
    for k, n in enumerate(apart.source.shape):
        lines.append(f"{_INDENT * k}for (size_t d{k} = 0; d{k} < {n}; d{k}++)")
    pad = _INDENT * len(apart.source.shape)
    t = offset_text(apart.target, coordinates)
    s = offset_text(apart.source, coordinates)
    lines.append(
        f"{pad}memcpy(t + {itemsize} * ({t}),\n{pad}    s + {itemsize} * ({s}), {itemsize});"
    )
    return lines
