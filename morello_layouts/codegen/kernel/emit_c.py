"""Relayout kernels in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from morello_layouts.codegen.kernel import c_head, micro_c
from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.fusion import Shared, Tree
from morello_layouts.codegen.kernel.micro import Copy, Fill, Move, Transposition
from morello_layouts.codegen.kernel.moves import (
    HASTE,
    STREAM_FROM,
    Apart,
    Kernel,
    Moves,
    moves_of,
)
from morello_layouts.codegen.kernel.names import Values, argument
from morello_layouts.codegen.kernel.plan import WIDEST, Nest
from morello_layouts.codegen.kernel.text import Text, offset_text
from morello_layouts.expr.size import Number

__all__ = ["CFile", "c_file"]

_INDENT = "    "
_Say: TypeAlias = Callable[[Number], str]


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
        c_head.PREAMBLE,
        c_head.VECTORS,
        c_head.COPY,
        c_head.LANES,
        *(micro_c.helper_text(name) for name in names),
        *(file.function for file in files),
    ]
    return "\n".join(parts)


def c_file(kernel: Kernel, stream_from: int = STREAM_FROM) -> CFile:
    """The kernel as a C function ``void name(void *target, const void *source)``.

    Symbolic sizes are further arguments, ``size_t`` in the order of their names.

    Args:
        kernel: what is asked for.
        stream_from: bytes of a target from which stores go past the caches.
    """
    if kernel.names:
        return _sized_file(kernel, stream_from)
    moves, name = moves_of(kernel, stream_from), kernel.name
    body = []
    if moves.streams:
        body += [
            f"{_INDENT}if ((uintptr_t)target % {WIDEST} == 0) {{",
            f"{_INDENT * 2}{name}_loops(target, source, 1);",
            f"{_INDENT * 2}RELAYOUT_FENCE();",
            f"{_INDENT * 2}return;",
            f"{_INDENT}}}",
        ]
    body.append(f"{_INDENT}{name}_loops(target, source, 0);")
    lines = [*_loops(f"{name}_loops", moves, ()), *_function(kernel, body)]
    return CFile(_helpers(moves), "\n".join(lines))


def _sized_file(kernel: Kernel, stream_from: int) -> CFile:
    """One function for all sizes: loops for small targets, and for those past the caches."""
    name, say = kernel.name, Values()
    near, far = (moves_of(kernel, stream_from, large=large) for large in (False, True))
    streaming = [nest for nest in far.nests if nest.stream]
    hasty = any(isinstance(nest.micro, Transposition) for nest in streaming)
    steady = any(not isinstance(nest.micro, Transposition) for nest in streaming)
    planned = [nest.micro for nest in near.nests] != [nest.micro for nest in far.nests]
    arguments = "".join(f", {argument(size)}" for size in kernel.names)
    reach = say(kernel.target.size * kernel.itemsize) if planned or streaming else ""
    whole = " | ".join(["(uintptr_t)target", *map(say, far.conditions)])

    def run(loops: str, stream: int) -> str:
        return f"{name}_{loops}(target, source{arguments}, {stream});"

    def streams(from_bytes: int, level: int) -> list[str]:
        return [
            f"if ({reach} >= {from_bytes} && ({whole}) % {WIDEST} == 0) {{",
            f"{_INDENT}{run('far', level)}",
            f"{_INDENT}RELAYOUT_FENCE();",
            f"{_INDENT}return;",
            "}",
        ]

    body = [
        *(streams(stream_from, 2) if steady else []),
        *(streams(stream_from // HASTE, 1) if hasty else []),
    ]
    if planned:
        body += [f"if ({reach} >= {stream_from // HASTE}) {{", _INDENT + run("far", 0)]
        body += [f"{_INDENT}return;", "}"]
    body.append(run("near" if planned or not streaming else "far", 0))
    body = [_INDENT + line for line in (*say.lines, *body)]
    lines = []
    if planned or streaming:
        lines += _loops(f"{name}_far", far, kernel.names)
    if planned or not streaming:
        lines += _loops(f"{name}_near", near, kernel.names)
    helpers = dict.fromkeys([*_helpers(far), *_helpers(near)])
    return CFile(tuple(helpers), "\n".join([*lines, *_function(kernel, body)]))


def _helpers(moves: Moves) -> tuple[str, ...]:
    found = (h for nest in moves.nests for h in micro_c.helper_names(nest.micro))
    return tuple(dict.fromkeys(found))


def _function(kernel: Kernel, body: list[str]) -> list[str]:
    said = "\n".join([kernel.comment, *map(str, kernel.assumptions)]).strip()
    comment = said.replace("*/", "* /").replace("\n", "\n * ")
    sizes = "".join(f", size_t {argument(size)}" for size in kernel.names)
    head = f"void {kernel.name}(void *restrict target, const void *restrict source{sizes})"
    return [*([f"/* {comment} */"] if comment else []), f"{head};", head, "{", *body, "}", ""]


def _loops(name: str, moves: Moves, names: Sequence[str]) -> list[str]:
    say = Values()
    body = [line for tree in moves.trees for line in _lines(tree, moves, say)]
    if moves.apart:
        body += _apart_lines(moves.apart, moves.itemsize)
    head = "unsigned char *restrict t, const unsigned char *restrict s"
    sizes = "".join(f"size_t {argument(size)}, " for size in names)
    unused = ", ".join(f"(void){word}" for word in ["t", "s", "stream", *map(argument, names)])
    return [
        f"RELAYOUT_INLINE void {name}(\n    {head}, {sizes}const int stream)",
        "{",
        f"{_INDENT}{unused};",
        *(_INDENT + line for line in (*say.lines, *body)),
        "}",
        "",
    ]


def _lines(
    tree: Tree, moves: Moves, say: _Say, at: tuple[str, str] = ("t", "s"), depth: int = 0
) -> list[str]:
    t, s = at
    if isinstance(tree, Shared):
        heads, t, s = _over((tree.axis,), t, s, depth, say)
        inner = [line for part in tree.body for line in _lines(part, moves, say, (t, s), depth + 1)]
        return _looped(heads, inner)
    nest = tree
    t, s = f"{t} + {say(nest.target)}", f"{s} + {say(nest.source)}"
    heads, t, s = _over(nest.loops, t, s, depth, say)
    reads = [] if isinstance(nest.micro, Fill) else [f"const unsigned char *s0 = {s};"]
    body = [*reads, f"unsigned char *t0 = {t};", *_micro_lines(nest, moves, say)]
    return _looped(heads, body)


def _over(
    loops: Sequence[Axis], t: str, s: str, first: int, say: _Say
) -> tuple[list[str], str, str]:
    """Heads of loops, and the pointers within."""
    heads = []
    for k, axis in enumerate(loops, first):
        i = f"i{k}"
        head = f"for (size_t {i} = 0; {i} < {say(axis.count)}; {i}++) {{"
        if axis.clamp is not None:
            start, last = say(axis.clamp.first), say(axis.clamp.last)
            at = f"{start} + {i} * {axis.clamp.unit}"
            head += f" const size_t p{k} = {at} < {last} ? {at} : {last};"
            i = f"p{k}"
        heads.append(head)
        t += f" + {i} * {say(axis.target)}" if axis.target != 0 else ""
        s += f" + {i} * {say(axis.source)}" if axis.source != 0 else ""
    return heads, t, s


def _looped(heads: list[str], body: list[str]) -> list[str]:
    """Lines within loops, or within a block where there is no loop."""
    heads = heads or ["{"]
    lines = [_INDENT * k + head for k, head in enumerate(heads)]
    lines += [_INDENT * len(heads) + line for line in body]
    return lines + [_INDENT * k + "}" for k in reversed(range(len(heads)))]


def _micro_lines(nest: Nest, moves: Moves, say: _Say) -> list[str]:
    stream = "stream" if nest.stream else "0"
    match nest.micro:
        case Transposition():
            return micro_c.transposition_lines(nest.micro, stream, say)
        case Copy(size):
            copy = "relayout_copy" if isinstance(size, int) else "relayout_copy_row"
            return [f"{copy}(t0, s0, {say(size)}, {stream});"]
        case Move(size):
            return [f"memcpy(t0, s0, {size});"]
        case Fill(size):
            return [_fill_line(say(size), moves.fill or b"")]
        case micro:
            return [micro_c.call(micro, "t0", "s0", stream, say)]


def _fill_line(size: str, pattern: bytes) -> str:
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
