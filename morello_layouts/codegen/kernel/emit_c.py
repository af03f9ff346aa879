"""Relayout kernels in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from morello_layouts.codegen.kernel import c_head, micro_c
from morello_layouts.codegen.kernel.boxes import Axis
from morello_layouts.codegen.kernel.fusion import Shared, Tree
from morello_layouts.codegen.kernel.micro import Copy, Fill, Move, Transposition
from morello_layouts.codegen.kernel.moves import STREAM_FROM, Apart, Kernel, Moves, moves_of
from morello_layouts.codegen.kernel.plan import WIDEST, Nest
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

    Args:
        kernel: what is asked for.
        stream_from: bytes of a target from which stores go past the caches.
    """
    moves, name = moves_of(kernel, stream_from), kernel.name
    comment = kernel.comment.replace("*/", "* /").replace("\n", "\n * ")
    helpers = [h for nest in moves.nests for h in micro_c.helper_names(nest.micro)]
    body = [line for tree in moves.trees for line in _lines(tree, moves, "t", "s", 0)]
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
        *([f"/* {comment} */"] if comment else []),
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
    lines += ["}", ""]
    return CFile(tuple(dict.fromkeys(helpers)), "\n".join(lines))


def _lines(tree: Tree, moves: Moves, t: str, s: str, depth: int) -> list[str]:
    if isinstance(tree, Shared):
        heads, t, s = _over("i", (tree.axis,), t, s, depth)
        inner = [line for part in tree.body for line in _lines(part, moves, t, s, depth + 1)]
        return _looped(heads, inner)
    nest = tree
    heads, t, s = _over("i", nest.loops, f"{t} + {nest.target}", f"{s} + {nest.source}", depth)
    reads = [] if isinstance(nest.micro, Fill) else [f"const unsigned char *s0 = {s};"]
    body = [*reads, f"unsigned char *t0 = {t};", *_micro_lines(nest, moves)]
    return _looped(heads, body)


def _over(
    index: str, loops: Sequence[Axis], t: str, s: str, first: int = 0
) -> tuple[list[str], str, str]:
    """Heads of loops, and the pointers within."""
    heads = []
    for k, axis in enumerate(loops, first):
        i = f"{index}{k}"
        heads.append(f"for (size_t {i} = 0; {i} < {axis.count}; {i}++) {{")
        t += f" + {i} * {axis.target}"
        s += f" + {i} * {axis.source}"
    return heads, t, s


def _looped(heads: list[str], body: list[str]) -> list[str]:
    """Lines within loops, or within a block where there is no loop."""
    heads = heads or ["{"]
    lines = [_INDENT * k + head for k, head in enumerate(heads)]
    lines += [_INDENT * len(heads) + line for line in body]
    return lines + [_INDENT * k + "}" for k in reversed(range(len(heads)))]


def _micro_lines(nest: Nest, moves: Moves) -> list[str]:
    stream = "stream" if nest.stream else "0"
    match nest.micro:
        case Transposition():
            return micro_c.transposition_lines(nest.micro, stream)
        case Copy(size):
            return [f"relayout_copy(t0, s0, {size}, {stream});"]
        case Move(size):
            return [f"memcpy(t0, s0, {size});"]
        case Fill(size):
            return [_fill_line(size, moves.fill or b"")]
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
